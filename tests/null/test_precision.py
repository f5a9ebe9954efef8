"""A race of precisions, from the proofs to the words: the fake framework in a mode that rounds to bfloat16."""

from pathlib import Path

import jsonschema
import pytest

from photofinish import api
from photofinish.reports import json as reports_json
from photofinish.reports.race import document
from photofinish.values import Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
EXACT = "fake:steady[noise=0.01,step=0.013]"
COARSE = "fake:coarse[noise=0.01,step=0.010]"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    (found,) = api.race(MODEL, (COARSE, EXACT), launches=3, batch=8, seed=1, store=tmp_path_factory.mktemp("store"))
    return found


def test_it_is_certified_at_its_own_format_and_compared(result: Result) -> None:
    certificates = {each.contender: each for each in result.race.certificates}
    assert result.comparable and {each.passed for each in certificates.values()} == {True}
    coarse, exact = certificates[COARSE], certificates[EXACT]
    assert (coarse.precision, coarse.exact) == ("bfloat16", COARSE.replace("coarse", "steady"))
    assert (exact.precision, exact.exact) == ("float32", "")
    assert coarse.checks[0].group == f"everything in float32, as {coarse.exact}"
    (verdict,) = result.verdicts
    assert verdict.verdict == "FASTER"


def test_the_label_stands_wherever_a_verdict_does(result: Result) -> None:
    found = reports_json.race(result)
    jsonschema.validate(found, reports_json.schema("race"), cls=jsonschema.Draft202012Validator)
    assert {each["name"]: each["precision"] for each in found["contenders"]} == {COARSE: "bfloat16", EXACT: "float32"}
    assert f"{COARSE} certified at bfloat16" in found["sentence"]
    for name in ("verdict", "standings", "precision", "certificate"):
        assert "bfloat16" in repr(document(result, (name,))), name


def test_it_loses_accuracy_that_is_told_beside_the_speed(result: Result) -> None:
    (table,) = [each for section in document(result, ("precision",)).sections for each in section.blocks
                if getattr(each, "name", "") == "precision"]
    errors = {row[0].text: row[3] for row in table.rows}  # type: ignore[union-attr]
    assert 1e-4 < errors[COARSE] < 0.1 and errors[EXACT] < 1e-5  # type: ignore[operator]


def test_a_wrong_one_is_refused_in_float32_too(tmp_path: Path) -> None:
    wrong = "fake:coarse[fault=wrong]"  # a parameter 0.1 % too large: less than bfloat16 rounds
    found = api.verify(MODEL, (wrong,), store=tmp_path)
    (certificate,) = found.certificates
    assert not certificate.passed and not certificate.checks[0].passed


def test_its_reference_is_that_of_float32_or_the_same_computed_alone(tmp_path: Path) -> None:
    told: list[str] = []
    api.verify(MODEL, ("fake:steady",), store=tmp_path / "known")
    alone, beside = (api.verify(MODEL, ("fake:coarse",), store=tmp_path / store,
                                listener=lambda progress: told.append(progress.text)).certificates
                     for store in ("known", "new"))
    assert [each.passed for each in (*alone, *beside)] == [True, True]
    assert sum("computing the float64 reference" in text for text in told) == 2  # once in each
    assert sum("rounds to bfloat16" in text for text in told) == 2 * 6
    assert alone[0].checks == beside[0].checks


def test_whom_it_rests_on_is_proven_once(tmp_path: Path) -> None:
    found = api.verify(MODEL, ("fake:coarse", "fake:steady"), store=tmp_path)
    assert [each.reused for each in found.certificates] == [False, False] and found.certified
    assert [each.reused for each in api.verify(MODEL, ("fake:coarse",), store=tmp_path).certificates] == [True]
