"""Advice on the fake framework: raced, repeated, read from the store, refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from photofinish.advise import HELD
from photofinish.advise.goals import Goal
from photofinish.stats import plan
from photofinish.verbs import advise

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
FAST, SLOW = "fake:steady[noise=0.001]", "fake:steady[noise=0.001,step=0.02]"


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is scripted: more rounds cost real time and say the same."""
    monkeypatch.setattr(plan, "MOST_ROUNDS", 4)
    monkeypatch.setattr(advise, "LAUNCHES", 2)


def test_it_is_raced_repeated_and_read_again(command: Callable[..., Any], tmp_path: Path) -> None:
    found = advise.run(MODEL, Goal("throughput"), (SLOW, FAST), batch=8, launches=3, store=tmp_path / "store")
    assert found.chosen is not None and found.chosen.contender == FAST and found.held == HELD
    assert found.gain == pytest.approx(2, rel=0.02)
    first = found.result.race.id
    again = command("advise", "--from", first, "--goal", "throughput", "--store", "store", "--json")
    told = json.loads(again.out)
    assert again.code == 0 and told["take"] == FAST and told["repeated"] is None and told["race"] == first
    shown = command("advise", "--from", first, "--goal", "job", "--steps", "10", "--per-hour", "2", "--store", "store")
    assert shown.code == 0 and "TAKE" in shown.out and "Money" in shown.out
    rows = command("advise", "--from", first, "--goal", "throughput", "--store", "store", "--csv").out.splitlines()
    assert len(rows) == 3 and FAST in rows[1] and SLOW in rows[2]
    nobody = command("advise", "--from", first, "--goal", "energy", "--store", "store")
    assert nobody.code == 1 and "NO ADVICE" in nobody.out


@pytest.mark.parametrize(("asked", "said"), [
    (("--goal", "fastest"), "goal"), (("--goal", "job"), "--steps 50000"),
    (("--goal", "memory", "--steps", "5"), "has no length"), (("--goal", "memory", "--keep", "torhc"), "torch"),
    (("--goal", "memory", "--from", "last"), "a race in the store"),
    (("--goal", "memory", "--task", "epoch"), "task to be advised on")])
def test_wrong_use_is_told(command: Callable[..., Any], asked: tuple[str, ...], said: str) -> None:
    refused = command("advise", MODEL, *asked)
    assert refused.code == 2 and said in refused.err


@pytest.mark.parametrize("asked", [("-c", FAST), ("--task", "train"), ("--no-repeat",), ("--no-certify",)])
def test_what_only_a_race_obeys_is_refused_where_one_is_read(command: Callable[..., Any], asked: tuple[str, ...],
                                                             ) -> None:
    refused = command("advise", "--from", "last", "--goal", "memory", *asked)
    assert refused.code == 2 and "does nothing here" in refused.err
