"""Epochs through an input pipeline, on the fake framework."""

import itertools
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.render.document import Table
from photofinish.render.quantities import plain
from photofinish.reports import epochs as epochs_report
from photofinish.reports import frame
from photofinish.reports import json as reports_json
from photofinish.reports import verdict as verdict_report
from photofinish.runner import launch as launch_module
from photofinish.runner.epochs import EpochLaunch
from photofinish.stats import paired, positions
from photofinish.values import Epoch, Progress, Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
FAST = "fake:steady[compile=0.5,noise=0.01,step=0.010]"
SLOW = "fake:steady[noise=0.01,step=0.013]"
SAMPLES, BATCH = 44, 8  # five batches and half a one


def epochs(store: Path, *contenders: str, **options: object) -> Result:
    settings: dict[str, object] = {"data": f"patterns:{SAMPLES}", "epochs": 4, "launches": 3, "batch": BATCH, "seed": 1,
                                   "store": store, "certify": False}
    (result,) = api.race(MODEL, contenders, "epoch", **{**settings, **options})  # type: ignore[arg-type]
    return result


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return epochs(tmp_path_factory.mktemp("store"), FAST, SLOW, certify=True)


def test_what_is_left_out_of_a_folder_of_pictures_is_told(tmp_path: Path) -> None:
    for part, number in itertools.product(("train", "val"), range(4)):
        (tmp_path / part / str(number)).mkdir(parents=True)
        for i in range(4):
            np.save(tmp_path / part / str(number) / f"{i}.npy", np.full((3, 6, 6), number, np.float32))
    (tmp_path / "val" / "3" / "more.heic").touch()
    told: list[Progress] = []
    epochs(tmp_path / "store", FAST, SLOW, data=f"folder:{tmp_path}", epochs=2, launches=1, listener=told.append)
    (warning,) = (each.text for each in told if each.stage == "warning" and "left out" in each.text)
    assert warning.startswith("left out in the folders of classes: 1 file, .heic")


def test_later_epochs_are_compared_and_the_first_stands_apart(result: Result) -> None:
    (verdict,) = result.verdicts
    assert verdict.verdict == "FASTER" and verdict.ratio == pytest.approx(1.3, rel=0.03)
    first = [each for each in result.race.epochs if each.contender == FAST and each.number == 1]
    assert all(each.first_step > 0.5 and each.seconds > 0.5 for each in first)  # what it compiles
    assert result.standings[0].time is not None and result.standings[0].time.value == pytest.approx(0.06, rel=0.03)
    assert "trains epochs of" in plain(verdict_report.sentence(result))
    table, phases = [each for each in epochs_report.section(result).blocks if isinstance(each, Table)]
    assert [plain((row[1],)) for row in phases.rows] == ["first", "later"] * 2
    titles = [column.title for column in table.columns]
    for row in table.rows:
        cells = dict(zip(titles, row))
        assert (cells["First over later"] > 5) == (cells["Contender"].text == FAST)  # type: ignore[operator, union-attr]


def test_all_samples_are_passed_and_the_short_step_is_told(result: Result) -> None:
    assert {each.steps for each in result.race.epochs} == {6}
    assert all(each.last_step is not None and each.last_step > 0 for each in result.race.epochs)
    assert all(each.waited is not None and each.waited >= (each.first_batch or 0.0) for each in result.race.epochs)
    assert all(each.first_batch is not None and each.validation_accuracy is None for each in result.race.epochs)


def test_its_samples_are_its_epochs(result: Result) -> None:
    found = api.Outcome([result]).to_pandas(samples=True)
    assert tuple(found.columns) == frame.EPOCH_COLUMNS and len(found) == len(result.race.epochs)
    later = found[(found["epoch"] > 1) & (found["contender"] == SLOW)]
    assert later["seconds"].median() == pytest.approx(6 * 0.013, rel=0.03) and set(later["task"]) == {"epoch"}


def test_its_json_conforms_to_the_schema(result: Result) -> None:
    found = reports_json.race(result)
    jsonschema.validate(found, reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    assert found["contenders"][0]["seconds_per_epoch"]["value"] == pytest.approx(0.06, rel=0.03)
    assert found["agreements"] == [] and found["contenders"][0]["seconds_of_training"] is None


@pytest.mark.parametrize("as_listed", [False, True])
def test_the_order_of_the_list_changes_nothing_unless_turns_follow_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                      as_listed: bool) -> None:
    """The machine is planted to be a tenth slower for whoever comes second: turns drawn anew take that away."""
    quick, slow = (each.replace("noise=0.01", "noise=0.001") for each in (FAST, SLOW))
    plain_epoch = EpochLaunch._epoch

    def planted(launch: EpochLaunch, name: str, number: int, position: int, reply: dict[str, Any]) -> Epoch:
        found = plain_epoch(launch, name, number, position, reply)
        return replace(found, seconds=found.seconds * (1 + 0.1 * position))

    monkeypatch.setattr(EpochLaunch, "_epoch", planted)
    if as_listed:
        monkeypatch.setattr(EpochLaunch, "_order", lambda launch, number: list(launch.workers))
        monkeypatch.setattr(launch_module, "balanced_order", lambda names, number, seed: list(names))
    named, turned = (epochs(tmp_path, *contenders, data=f"patterns:{2 * BATCH}", epochs=3, launches=4).race
                     for contenders in ((quick, slow), (slow, quick)))
    found = positions.of_list(named, turned)
    assert {each.figure for each in found} == {"first epoch", "later epochs"}
    assert {each.word == "DEPENDS" for each in found} == {as_listed}
    for each in found:
        assert each.effect.value == pytest.approx(1.1 ** 2 if as_listed else 1.0, rel=0.01)
        assert each.named.value / each.turned.value == pytest.approx(each.effect.value)


def test_a_field_that_does_not_fit_in_memory_trains_in_groups_that_share_the_fastest(tmp_path: Path) -> None:
    field = {f"fake:steady[memory=200,noise=0,step={step}]": step for step in (0.013, 0.010, 0.020)}
    room = 590 * 2**20  # two of 200 MiB and what Python and NumPy take; not three
    race = epochs(tmp_path, *field, data=f"patterns:{2 * BATCH}", launches=2, epochs=2, memory=room).race
    fastest = min(field, key=field.__getitem__)
    for launch in race.launches:
        assert len(launch.groups) == 2 and all(fastest in group and len(group) == 2 for group in launch.groups)
    assert len([each for each in race.epochs if each.contender == fastest]) == 2 * 2 * 2  # launches, groups, epochs
    for a, b in combinations(field, 2):
        ratio = paired.estimate_ratio(race, a, b)
        assert ratio is not None and ratio.value == pytest.approx(field[b] / field[a])


def test_a_set_without_a_rest_has_no_short_step(tmp_path: Path) -> None:
    found = epochs(tmp_path, FAST, SLOW, data=f"patterns:{2 * BATCH}", epochs=2, launches=1)
    assert {(each.steps, each.last_step) for each in found.race.epochs} == {(2, None)}


@pytest.mark.parametrize(("options", "said"), [({"epochs": 1}, "--epochs 2"), ({"target": 0.5}, "--task fit")])
def test_wrong_use_is_told(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        epochs(tmp_path, FAST, SLOW, **options)
