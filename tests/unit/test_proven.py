"""A case that was proven before counts as proven only while nothing that decides it is another."""

from pathlib import Path

import pytest

from parity import proven
from photofinish import models
from photofinish.values import Contender

GRAPH = models.find("digits_cnn").small()
EAGER, GRAPHED = Contender("torch", "eager"), Contender("tensorflow", "graph")


def test_the_digest_hangs_on_the_graph_and_the_contender() -> None:
    other = models.find("lenet5").small()
    assert len({proven.digest(graph, each) for graph in (GRAPH, other) for each in (EAGER, GRAPHED)}) == 4
    assert proven.digest(GRAPH, EAGER) == proven.digest(models.find("digits_cnn").small(), EAGER)


def test_the_digest_hangs_on_what_judges_and_on_what_a_framework_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    today = proven.digest(GRAPH, GRAPHED)
    monkeypatch.setattr(proven, "_versions", lambda framework: ("keras 0",))
    other_keras = proven.digest(GRAPH, GRAPHED)
    monkeypatch.setattr(proven, "rules_digest", lambda: "other rules")
    assert len({today, other_keras, proven.digest(GRAPH, GRAPHED)}) == 3


def test_what_passes_is_kept_beside_what_did_before_and_what_fails_is_not(
        monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(proven, "FILE", tmp_path / "proven.json")
    proven.before.cache_clear()
    try:
        proven.keep({"a": "1", "b": "2"})
        proven.before.cache_clear()
        proven.keep({"b": "3"})
        proven.before.cache_clear()
        assert proven.before() == {"a": "1", "b": "3"}
        proven.keep({}, failed=["a"])
        proven.before.cache_clear()
        assert proven.before() == {"b": "3"}
    finally:
        proven.before.cache_clear()
