"""What a program that calls a verb learns from its exit code, of what was found."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import photofinish.verbs.factors
import photofinish.verbs.flip
import photofinish.verbs.timeline
from photofinish.cli import present
from photofinish.reports import bisection, factors, flip


@pytest.fixture(autouse=True)
def silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shown of what stands in for findings."""
    for report in (factors, flip, bisection):
        monkeypatch.setattr(report, "document", lambda found, **how: None)
    monkeypatch.setattr(present, "documents", lambda *shown, **how: None)


@pytest.mark.parametrize(("outcome", "code"), [
    (flip.FLIPPED, 0), (flip.NEVER, 0), ("NOT CONFIRMED", 1), (flip.NO_RANKING, 3)])
def test_of_a_flip(outcome: str, code: int, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photofinish.verbs.flip, "run", lambda *asked, **options: outcome)
    monkeypatch.setattr(flip, "outcome", lambda found: found)
    assert command("flip", "resnet18", "-c", "torch:eager,tensorflow:graph").code == code


@pytest.mark.parametrize(("outcome", "code"), [
    ("CONFIRMED", 0), (factors.NAMED, 0), (factors.NONE, 0), ("NOT CONFIRMED", 1), (factors.NOTHING, 3)])
def test_of_factors(outcome: str, code: int, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photofinish.verbs.factors, "run", lambda *asked, **options: outcome)
    monkeypatch.setattr(factors, "outcome", lambda found: found)
    assert command("factors", "resnet18", "-c", "torch:eager", "--factor", "threads=1,2").code == code


@pytest.mark.parametrize(("outcome", "code"), [("FOUND", 0), ("NOT SLOWER", 0), ("BRACKET", 1), ("UNDECIDED", 1)])
def test_of_a_bisection(outcome: str, code: int, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(ends=None, outcome=outcome)
    monkeypatch.setattr(photofinish.verbs.timeline, "search", lambda versions, races: iter([found]))
    told = command("bisect", "resnet18", "--framework", "torch", "--good", "2.0.0", "--bad", "2.13.0")
    assert told.code == code, told.err
