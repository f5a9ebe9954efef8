"""Energy through the whole house: fake contenders that say what they spend, and a scripted sensor that counts it."""

from pathlib import Path

import jsonschema
import pytest

from photofinish import api, sensors
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


@pytest.fixture(scope="module")
def results(script: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(sensors.SCRIPT, str(script))
        patch.setattr(energy, "IDLE_SECONDS", 0.1)
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
