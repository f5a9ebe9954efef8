"""The certificates committed under docs/results speak of the present graphs, adapters and reference."""

import pytest
from benchmarks import certify

ROWS = certify.stored()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']} {row['contender']}")
def test_a_committed_certificate_is_current(row: certify.Row) -> None:
    now = certify.digests(row["model"], row["contender"])
    assert row["digests"] == now, "stale: run `make certify` and commit docs/results/certificates.json"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']} {row['contender']}")
def test_a_committed_certificate_was_earned(row: certify.Row) -> None:
    assert row["certified"] and all(check["passed"] for check in row["checks"])


def test_there_are_certificates() -> None:
    assert ROWS
