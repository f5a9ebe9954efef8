"""Energy through the whole house: fake contenders that say what they spend, and a scripted sensor that counts it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from photofinish import api, sensors
from photofinish.render import html
from photofinish.reports import frame
from photofinish.reports import json as reports_json
from photofinish.runner import energy
from photofinish.values import Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
BATCH = 8
FRUGAL = "fake:steady[joules=4,step=0.1]"
LAVISH = "fake:steady[joules=10,step=0.1]"
IDLE = 30.0  # watts


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sensor")
    (folder / "idle").write_text(str(IDLE))
    (folder / "range").write_text("1500")  # joules: it starts again in every third run or so
    return folder


def meter(patch: pytest.MonkeyPatch, script: Path) -> None:
    patch.setenv(sensors.SCRIPT, str(script))
    patch.setattr(energy, "IDLE_SECONDS", 0.1)


@pytest.fixture(scope="module")
def results(script: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    with pytest.MonkeyPatch.context() as patch:
        meter(patch, script)
        return list(api.race(MODEL, (FRUGAL, LAVISH), ("train", "infer"), launches=3, batch=BATCH, seed=1,
                             store=tmp_path_factory.mktemp("store"), certify=False))


def test_joules_are_recovered(results: list[Result]) -> None:
    for result, share in zip(results, (1, 1 / 3)):
        found = {each["name"]: each["energy"] for each in reports_json.race(result)["contenders"]}
        for name, joules in ((FRUGAL, 4), (LAVISH, 10)):
            assert found[name]["net"]["value"] == pytest.approx(joules * share / BATCH, rel=0.01), name
            assert found[name]["launches"] == 3
            total = found[name]["net"]["value"] + found[name]["idle"]
            assert found[name]["joules"]["value"] == pytest.approx(total)


@pytest.fixture
def metered(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the verbs of the API are given where the script is the sensor."""
    meter(monkeypatch, script)
    yield {"launches": 1, "seed": 1, "store": tmp_path, "certify": False}


def agrees(told: dict[str, Any], joules: float) -> None:
    """That much an item, less idle power, which stands in a column of its own."""
    assert told["net"]["value"] == pytest.approx(joules, rel=0.01)
    assert told["idle"] == pytest.approx(told["joules"]["value"] - told["net"]["value"]) and told["idle"] > 0
    assert told["launches"] == 1 and told["seconds"] > 0


@pytest.mark.parametrize(("task", "steps", "items", "runs"), [
    ("epoch", 6, 44, 2), ("fit", 5, 40, 3)])  # of 44 samples: five batches, and half a one that task fit drops
def test_joules_of_whole_trainings_are_those_of_their_epochs(metered: dict[str, Any], task: str, steps: int, items: int,
                                                             runs: int) -> None:
    """Later epochs alone count where the first stands apart; looks at validation samples cost nothing that counts."""
    (result,) = api.race(MODEL, (FRUGAL, LAVISH), task, data="patterns:44", epochs=3, batch=BATCH, **metered)
    found = {each["name"]: each["energy"] for each in reports_json.race(result)["contenders"]}
    for name, joules in ((FRUGAL, 4), (LAVISH, 10)):
        agrees(found[name], joules * steps / items)
    assert len(result.race.energies) == 2 * 3 and "Less idle" in str(api.Outcome([result]))
    assert min(each.seconds for each in result.race.energies) * runs < found[FRUGAL]["seconds"]
    jsonschema.validate(reports_json.race(result), reports_json.schema("race"), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("load", [{"rate": 5.0}, {"clients": 3}])
def test_joules_under_a_load_are_those_of_its_queries(metered: dict[str, Any], load: dict[str, Any]) -> None:
    (result,) = api.serve(MODEL, (LAVISH,), batch=BATCH, queries=40, **load, **metered)
    (told,) = reports_json.race(result)["contenders"]
    agrees(told["energy"], 10 / 3 / BATCH)
    assert {each.steps for each in result.race.energies} <= ({25} if "rate" in load else set(range(100, 200)))
    assert "under the same load" in str(api.Outcome([result]))


def test_joules_of_a_sweep_stand_at_each_batch(metered: dict[str, Any]) -> None:
    found = api.sweep(MODEL, (LAVISH,), batches=(4, 8), **metered)
    (told,) = found.to_json()
    for point in told["curves"][0]["points"]:
        agrees(point["energy"], 10 / 3 / point["batch"])
    jsonschema.validate(told, reports_json.schema("sweep"), cls=jsonschema.Draft202012Validator)
    assert list(found.to_pandas().net_joules) == pytest.approx(
        [point["energy"]["net"]["value"] for curve in told["curves"] for point in curve["points"]])
    assert "Energy per image by batch" in str(found) and "Less idle" in html.render(found.documents())


def test_idle_power_is_measured_before_the_race(results: list[Result]) -> None:
    for result in results:
        assert result.race.metering is not None
        assert result.race.metering.idle == {"scripted": pytest.approx(IDLE, rel=1e-3)}


def test_every_launch_has_one_run_of_each_and_its_rounds_know_nothing_of_it(results: list[Result]) -> None:
    for result in results:
        assert sorted((each.launch, each.contender) for each in result.race.energies) == [
            (launch, name) for launch in (1, 2, 3) for name in sorted((LAVISH, FRUGAL))]
        assert all(len(block.seconds) < 20 for block in result.race.blocks)
        assert all(each.steps > 40 for each in result.race.energies)


def test_it_is_in_the_report_and_the_json_and_the_frame(results: list[Result]) -> None:
    told = str(api.Outcome(results[:1]))
    assert "By a script" in told and "Less idle" in told
    jsonschema.validate(reports_json.race(results[0]), reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    assert list(frame.standings(results).net_joules) == pytest.approx(
        [each["energy"]["net"]["value"] for result in results for each in reports_json.race(result)["contenders"]])


def test_without_a_sensor_nothing_is_measured_and_the_reason_is_said(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sensors.SCRIPT, raising=False)
    monkeypatch.setattr(sensors, "survey", lambda device: {"powercap": sensors.Absent("a reason", "a cure")})
    (result,) = api.race(MODEL, (FRUGAL, LAVISH), launches=2, batch=BATCH, seed=1, store=tmp_path, certify=False)
    assert not result.race.energies
    assert "not measured (no sensor: a reason). a cure" in str(api.Outcome([result]))
    found = reports_json.race(result)
    assert {each["energy"] for each in found["contenders"]} == {None} and found["metering"]["reason"] == "a reason"


def test_nobody_asks_for_it(tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sensors.SCRIPT, str(script))
    (result,) = api.race(MODEL, (FRUGAL, LAVISH), launches=2, batch=BATCH, seed=1, store=tmp_path, certify=False,
                         energy=False)
    assert result.race.metering is None and not result.race.energies
