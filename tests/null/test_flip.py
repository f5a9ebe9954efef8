"""What would flip a verdict, on the fake framework: a planted crossing is found, and nothing where there is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from photofinish.cli.present import _FORMATS
from photofinish.errors import Stopped, UsageError
from photofinish.factors.flip import brackets, candidate, looks
from photofinish.reports import flip as report
from photofinish.reports.json import schema
from photofinish.verbs import flip

pytestmark = pytest.mark.usefixtures("few_rounds")
MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
SMALL = "fake:steady[noise=0.0001,sample=0.001,step=0.010]"  # ahead of the other below a batch of 8
LARGE = "fake:steady[noise=0.0001,step=0.018]"


def test_a_planted_crossing_is_found_and_confirmed(store: Path, command: Callable[..., Any]) -> None:
    told = command("flip", MODEL, "-c", f"{SMALL},{LARGE}", "--batch", "6", "--batches", "6..10", "--setting",
                   "step=0.005", "--launches", "2", "--store", str(store), "--quiet", "--json")
    found = json.loads(told.out)
    jsonschema.validate(found, schema("flip"), cls=jsonschema.Draft202012Validator)
    assert told.code == 0 and found["outcome"] == report.FLIPPED and found["slower"] == LARGE
    setting, batch = found["answers"]
    assert setting["change"] == f"step=0.005 for {LARGE}" and setting["confirmed"] == "CONFIRMED"
    assert (batch["change"], batch["short"], batch["confirmed"]) == ("batch=9", "batch=8", "CONFIRMED")
    assert [each["change"] for each in found["tries"] if not each["reversed"]] == [
        f"step=0.005 for {SMALL}", "batch=8"]


def test_that_nothing_flips_it_is_an_answer(store: Path) -> None:
    found = flip.run(MODEL, [SMALL, LARGE], settings=["memory=1"], batches=(4, 4), batch=4, launches=2, store=store)
    assert report.outcome(found) == report.NEVER and len(found.looks) == 2
    said = str(report.sentence(found))
    assert "nothing that was tried" in said and f"memory=1 for {LARGE}" in said
    assert len(_FORMATS["csv"]([report.document(found)]).splitlines()) == 1 + len(found.looks)


def test_a_batch_that_processes_cannot_share_is_no_end(store: Path) -> None:
    shared = "fake:steady+mean[2,noise=0.0001,step=0.018]"
    found = flip.run(MODEL, [SMALL, shared], settings=["memory=1"], batches=(3, 4), batch=4, launches=2,
                         threads=2, store=store)
    (refused,) = (each for each in found.looks if each.change.told == "batch=3")
    assert found.ranked and not refused.reversed and "cannot share a batch of 3" in refused.reason


def test_stopped_by_hand_it_keeps_what_was_tried(store: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.text == "trying batch=12":
            raise KeyboardInterrupt
    with pytest.raises(Stopped) as stopped:
        flip.run(MODEL, [SMALL, LARGE], settings=["step=0.005"], batches=(4, 12), batch=4, launches=2, store=store,
                     listener=stop)
    flips = stopped.value.found
    assert flips is not None and flips.ranked and [each.outcome for each in flips.answers] == [""]


def test_a_line_is_halved_until_the_nearest_is_known() -> None:
    for crossing in (4, 9, 40, 63):
        turned: dict[int, bool] = {}
        while (at := candidate(64, 3, turned)) is not None:
            turned[at] = at >= crossing
        assert list(brackets(3, turned)) == [(crossing - 1, crossing)] and len(turned) <= looks(64, 3) == 10
    turned = {}
    while (at := candidate(64, 3, turned)) is not None:
        turned[at] = False
    assert sorted(turned) == [0, 63] and not list(brackets(3, turned))
    assert list(brackets(3, {0: True, 2: False, 63: True, 30: True})) == [(2, 0), (3, 30)]
    assert candidate(1, 0, {}) is None


@pytest.mark.parametrize(("asked", "said"), [
    (("-c", "fake"), "two contenders"), (("-c", f"fake,{LARGE}", "--setting", "step"), "not a setting"),
    (("-c", f"fake,{LARGE}", "--setting", "stpe=1"), "did you mean step"),
    (("-c", "fake,fake:steady[step=0.02]", "--setting", "step=0.02"), "step=0.02 only makes one of the two the other"),
    (("-c", f"fake,{LARGE}", "--batches", "1..20000000"), "more than can be looked through"),
    (("-c", f"fake,{LARGE}", "--task", "epoch"), "task of this search")])
def test_wrong_use_is_told(command: Callable[..., Any], asked: tuple[str, ...], said: str) -> None:
    refused = command("flip", MODEL, *asked)
    assert refused.code == 2 and said in refused.err


@pytest.mark.parametrize("asked", [{"batches": (0, 8)}, {"batch": 0}, {"launches": 0}])
def test_what_cannot_be_raced_is_told_before_anything_is(tmp_path: Path, asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="=0: it counts from 1"):
        flip.run(MODEL, [SMALL, LARGE], store=tmp_path / "store", **asked)
    assert not (tmp_path / "store").exists()
