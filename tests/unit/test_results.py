"""What is committed under docs/results speaks of the present: certificates of today's graphs, adapters and reference,
judgements of today's ledger and studies."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.certify import FULL, LEGACY, REDUCED, Ledger, Row, settled

from photofinish import claims, study, study_run
from photofinish.reports import claims as report

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


STUDIES = Path("docs/results/studies")
DECIDED = [row for row in json.loads((STUDIES / "claims.json").read_text())
           if row["study"] and row["judgement"] in ("CONFIRMED", "REFUTED", "MIXED")]


def test_there_are_judgements() -> None:
    assert DECIDED


@pytest.mark.parametrize("row", DECIDED, ids=[row["id"] for row in DECIDED])
def test_a_committed_judgement_is_what_the_committed_races_say(row: dict[str, Any]) -> None:
    (claim,) = claims.chosen([row["id"]], "small")
    races = study_run.outcome(study.find(claim.study, "small"), STUDIES)
    (again,) = report.as_json([claims.judge(claim, races)])
    assert again == row, f"photofinish claims --scale small --store {STUDIES} --json > {STUDIES}/claims.json"
