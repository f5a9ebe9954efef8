"""The certificates committed under docs/results speak of the present graphs, adapters and reference."""

import pytest
from benchmarks.certify import FULL, LEGACY, REDUCED, Ledger, Row, settled

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
