"""What is committed under docs/results speaks of the present: certificates of today's graphs, adapters and reference,
judgements of today's ledger and studies."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.certify import FULL, LEGACY, REDUCED, Ledger, Row, all_models, settled

from photofinish import claims, models, study
from photofinish.render import markdown
from photofinish.reports import claims as report
from photofinish.reports import study as of_study
from photofinish.verbs import study as verb

LEDGERS = [Ledger(path) for path in (FULL, REDUCED, LEGACY)]
ROWS = [(ledger, row) for ledger in LEDGERS for row in ledger.rows()]
every_row = pytest.mark.parametrize(("ledger", "row"), ROWS, ids=[
    f"{row['model']} {row['contender']}" + " reduced" * ledger.reduced for ledger, row in ROWS])


@every_row
def test_a_committed_certificate_is_current(ledger: Ledger, row: Row) -> None:
    assert ledger.current(row), f"stale: run `make certify` and commit {ledger.path}"


@every_row
def test_a_committed_certificate_was_earned_or_its_absence_is_explained(ledger: Ledger, row: Row) -> None:
    assert settled(row) and all(check["passed"] for check in row.get("checks", []))


def test_there_are_certificates() -> None:
    assert LEDGERS[0].rows()


def test_every_model_has_a_size_to_be_certified_at() -> None:
    assert sorted(all_models()) == sorted(models.all_models())


STUDIES = Path("docs/results/studies")
DECIDED = [row for row in json.loads((STUDIES / "claims.json").read_text())
           if row["study"] and row["judgement"] in ("CONFIRMED", "REFUTED", "MIXED")]


def test_there_are_judgements() -> None:
    assert DECIDED


def test_the_report_of_a_study_of_whole_trainings_says_who_ends_how_accurate() -> None:
    found = study.find("simmons-2019", "small")
    shown = markdown.render([of_study.document(found, verb.outcome(found, STUDIES))])
    assert len(re.findall(r"patterns.*torch:eager.*tensorflow:graph.*EQUIVALENT", shown)) == 1


@pytest.mark.parametrize("row", DECIDED, ids=[row["id"] for row in DECIDED])
def test_a_committed_judgement_is_what_the_committed_races_say(row: dict[str, Any]) -> None:
    (claim,) = claims.chosen([row["id"]], "small")
    races = verb.outcome(study.find(claim.study, "small"), STUDIES)
    (again,) = report.as_json([claims.judge(claim, races)])
    assert again == row, f"photofinish claims --scale small --store {STUDIES} --json > {STUDIES}/claims.json"
