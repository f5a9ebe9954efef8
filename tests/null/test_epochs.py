"""Epochs through an input pipeline, on the fake framework."""

from pathlib import Path

import jsonschema
import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.render.document import Table
from photofinish.render.quantities import plain
from photofinish.reports import epochs as epochs_report
from photofinish.reports import json as reports_json
from photofinish.reports import verdict as verdict_report
from photofinish.values import Result

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


def test_later_epochs_are_compared_and_the_first_stands_apart(result: Result) -> None:
    (verdict,) = result.verdicts
    assert verdict.verdict == "FASTER" and verdict.ratio == pytest.approx(1.3, rel=0.03)
    first = [each for each in result.race.epochs if each.contender == FAST and each.number == 1]
    assert all(each.first_step > 0.5 and each.seconds > 0.5 for each in first)  # what it compiles
    assert result.standings[0].step is not None and result.standings[0].step.value == pytest.approx(0.06, rel=0.03)
    assert "trains epochs of" in plain(verdict_report.sentence(result))
    (table,) = [each for each in epochs_report.section(result).blocks if isinstance(each, Table)]
    titles = [column.title for column in table.columns]
    for row in table.rows:
        cells = dict(zip(titles, row))
        assert (cells["First over later"] > 5) == (cells["Contender"].text == FAST)  # type: ignore[operator, union-attr]


def test_all_samples_are_passed_and_the_short_step_is_told(result: Result) -> None:
    assert {each.steps for each in result.race.epochs} == {6}
    assert all(each.last_step is not None and each.last_step > 0 for each in result.race.epochs)
    assert all(each.first_batch is not None and each.validation_accuracy is None for each in result.race.epochs)


def test_its_json_conforms_to_the_schema(result: Result) -> None:
    found = reports_json.race(result)
    jsonschema.validate(found, reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    assert found["contenders"][0]["seconds_per_epoch"]["value"] == pytest.approx(0.06, rel=0.03)
    assert found["agreements"] == [] and found["contenders"][0]["seconds_of_training"] is None


def test_the_order_of_the_list_changes_nothing(tmp_path: Path, result: Result) -> None:
    (verdict,) = result.verdicts
    (turned,) = epochs(tmp_path, SLOW, FAST, certify=True, launches=2).verdicts
    assert turned.verdict == "SLOWER" and verdict.ratio is not None and turned.ratio is not None
    assert verdict.ratio * turned.ratio == pytest.approx(1, rel=0.03)


def test_a_set_without_a_rest_has_no_short_step(tmp_path: Path) -> None:
    found = epochs(tmp_path, FAST, SLOW, data=f"patterns:{2 * BATCH}", epochs=2, launches=1)
    assert {(each.steps, each.last_step) for each in found.race.epochs} == {(2, None)}


@pytest.mark.parametrize(("options", "said"), [({"epochs": 1}, "--epochs 2"), ({"target": 0.5}, "--task fit")])
def test_wrong_use_is_told(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        epochs(tmp_path, FAST, SLOW, **options)
