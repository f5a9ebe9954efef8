"""Experiments on the fake framework: a planted cause is named, with its size, and confirmed; a placebo names none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from photofinish import api
from photofinish.cli.present import _FORMATS
from photofinish.errors import Stopped
from photofinish.factors import CONFIRMED, NOT_CONFIRMED
from photofinish.reports import factors as report
from photofinish.reports.json import schema
from photofinish.verbs import factors

pytestmark = pytest.mark.usefixtures("few_rounds")
MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
FAST, SLOW = "fake:steady[noise=0.001,step=0.010]", "fake:steady[memory=1,noise=0.001,step=0.012]"


def test_a_planted_cause_is_named_with_its_size_and_confirmed(store: Path, command: Callable[..., Any]) -> None:
    asked = ("factors", MODEL, "-c", f"{FAST},{SLOW}", "--batch", "8", "--launches", "3", "--store", str(store),
             "--quiet")
    told = command(*asked, "--json", "--html", "factors.html")
    found = json.loads(told.out)
    jsonschema.validate(found, schema("factors"), cls=jsonschema.Draft202012Validator)
    assert [each["factor"] for each in found["gap"]["shares"]] == ["step", "memory"]
    first = found["gap"]["shares"][0]["ratio"]
    assert first["value"] == pytest.approx(1.2, rel=0.02) and first["low"] <= first["value"] <= first["high"] < 1.25
    assert found["cause"]["factor"] == "step"
    assert found["cause"]["changed"] == "fake:steady[memory=1,noise=0.001,step=0.010]"
    check = found["check"]
    assert check["observed"]["value"] == pytest.approx(1.2, rel=0.02)
    assert check["over_predicted"]["value"] == pytest.approx(1.0, rel=0.02)
    # one interval in twenty misses the truth (the noise is drawn anew): then it is not confirmed, and says so
    holds = check["over_predicted"]["low"] <= 1 <= check["over_predicted"]["high"]
    assert (told.code, found["outcome"]) == ((0, CONFIRMED) if holds else (1, NOT_CONFIRMED))
    assert found["outcome"] in Path("factors.html").read_text()


def test_a_placebo_names_no_cause_and_races_nothing_again(store: Path, command: Callable[..., Any]) -> None:
    same = "fake:steady[noise=0,step=0.010]"  # with noise one placebo in thirty would be shown to do something
    told = command("factors", MODEL, "-c", same, "--factor", "memory=0,1", "--factor", "batch=4,8", "--task", "infer",
                   "--launches", "2", "--store", str(store), "--quiet")
    assert told.code == 0 and "NO CAUSE NAMED" in told.out and "no cause is named" in told.out


def test_stopped_by_hand_it_says_what_the_launches_say(store: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.stage == "launch" and progress.done == 2:
            raise KeyboardInterrupt
    with pytest.raises(Stopped) as stopped:
        factors.run(MODEL, [FAST], ["step=0.010,0.011"], batch=8, launches=4, store=store, listener=stop)
    found = stopped.value.found
    assert found.launches == 2 and found.cause is not None and found.check is None
    assert report.outcome(found) == report.NAMED
    assert ",step,0.010,0.011," in _FORMATS["csv"]([report.document(found)])
    assert api.load(found.results[0].race.id, store)[0].verdicts


def test_who_fails_is_told_and_nothing_is_said_of_settings(store: Path) -> None:
    found = factors.run(MODEL, [FAST], ["fault=crash,nan"], batch=8, launches=2, store=store, certify=False)
    assert report.outcome(found) == report.NOTHING and not found.effects
    assert "fault=nan" in _FORMATS["csv"]([report.document(found)])
    jsonschema.validate(report.as_json(found), schema("factors"), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(("asked", "said"), [
    (("--factor", "stpe=1,2"), "did you mean step"), (("--factor", "step"), "two levels"), ((), "no factor to try"),
    (("--factor", "step=1,2", "--task", "fit"), "task of an experiment"),
    (("--factor", "batch=4,8", "--batch", "16"), "batch=16,4")])
def test_wrong_use_is_told(command: Callable[..., Any], asked: tuple[str, ...], said: str) -> None:
    refused = command("factors", MODEL, "-c", "fake", *asked)
    assert refused.code == 2 and said in refused.err
