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
    assert len({today, other_keras, proven.digest(GRAPH, GRAPHED), proven.digest(GRAPH, GRAPHED, "a judge")}) == 4


def test_a_case_is_tried_again_when_what_decides_it_is_another_or_all_is_asked_for(
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proven, "before", lambda: {"a": "1"})
    monkeypatch.delenv(proven.AGAIN, raising=False)
    told: list[object] = []
    with pytest.raises(pytest.skip.Exception, match="proven before"):
        proven.unless_before("a", "1", lambda name, value: told.append(value))
    proven.unless_before("a", "2", lambda name, value: told.append(value))
    monkeypatch.setenv(proven.AGAIN, "all")
    proven.unless_before("a", "1", lambda name, value: told.append(value))
    assert told == [("a", "2"), ("a", "1")]


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
