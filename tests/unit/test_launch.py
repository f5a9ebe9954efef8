"""What the first steps of a process say."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish.runner import again
from photofinish.runner.course import Patience
from photofinish.runner.launch import LaunchRun, describe_phases
from photofinish.values import Block, Case, Link, Training


@pytest.mark.parametrize(("series", "compiling"), [([60.0, 10.0], 50.0), ([60.0], 0.0), ([2.0] + [1.0] * 8, 1.0),
                                                   ([9.0, 1.0, 1.0], 8.0)])
def test_what_compiling_took_is_told_from_a_step(series: list[float], compiling: float) -> None:
    """However few steps followed: of a step that takes ten seconds there is one."""
    assert describe_phases(series)["compile"] == pytest.approx(compiling)


def test_the_command_that_shows_a_failure_again_says_all_that_was_asked() -> None:
    case = Case("resnet18", "digest", "fit", 8, (3, 32, 32), classes=10, device="cuda", regime="out-of-the-box",
                threads=2, optimizer={"kind": "adam"}, link=Link(1e8),
                training=Training("patterns", "digest", 60, 20, 3, 0.97, 0.01, "seeded"))
    words = again.command(case, "torch:eager[layout=channels_last]", seed=7, proven=True)
    assert words == ("photofinish race resnet18 --contenders 'torch:eager[layout=channels_last],"
                     "torch:eager[layout=channels_last]' --batch 8 --input 3x32x32 --classes 10 --device cuda "
                     "--threads 2 --regime out-of-the-box --seed 7 --optimizer adam --task fit --data patterns "
                     "--epochs 3 --target 0.97 --link 100mbit --no-certify")
    assert "--no-certify" not in again.command(case, "torch:eager", seed=7, proven=False)
    yours = again.command(case, "torch:eager", seed=7, proven=True, weights=True, given=True)
    assert yours.endswith("--weights FILE --env torch:eager=PATH --no-certify")
    assert "--timeout" not in yours
    assert again.command(case, "torch:eager", seed=7, proven=False, timeout=90.5).endswith(" --timeout 90.5s")


def test_what_was_not_raced_is_shown_again_by_its_proof() -> None:
    case = Case("resnet18", "digest", "train", 8, (3, 32, 32), threads=2)
    assert again.proof(case, "torch:eager", reduced=False, timeout=90.0) == (
        "photofinish verify resnet18 --contenders torch:eager --input 3x32x32 --threads 2 --timeout 90s")
    assert again.proof(case, "torch:eager", reduced=True, given=True) == (
        "photofinish verify resnet18 --contenders torch:eager --reduced --threads 2 --env torch:eager=PATH")


def test_a_time_out_that_was_asked_for_is_told_from_the_usual_ones() -> None:
    assert Patience().asked is None and Patience.of(None).asked is None
    assert Patience.of(20.0).asked == 20.0


def test_it_does_all_that_the_processes_did_that_failed() -> None:
    """Whoever fails at inference after it was trained may need both for it."""
    case = Case("resnet18", "digest", "train", 8, (3, 32, 32), threads=2)
    assert "--task" not in again.command(case, "torch:eager", seed=7, proven=False, tasks=["train"])
    both = again.command(case, "torch:eager", seed=7, proven=False, tasks=["train", "infer"])
    assert both.endswith("--task train --task infer")


def test_a_block_that_others_disturbed_is_repeated_and_kept_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Block] = []
    run: Any = LaunchRun.__new__(LaunchRun)
    run.course = SimpleNamespace(tasks=["train"], seed=1, out=set(), sign_of_life=lambda: None,
                                 record=lambda task, kind, block: kept.append(block), listener=lambda progress: None)
    run.number, run.part, run.rounds, run.title, run.workers = 1, "", 1, "", {"a": None}

    @contextmanager
    def guard(*about: object) -> Iterator[object]:
        yield object()

    disturbed = iter([0.5, 0.0])

    def block(*about: object) -> Block:
        foreign = next(disturbed)
        return Block(1, 1, 0, "a", "train", (1.0 + foreign,), 0.1, 0, foreign, 0.01)

    monkeypatch.setattr(run, "_runs", lambda entry, task: True)
    monkeypatch.setattr(run, "_guard", guard)
    monkeypatch.setattr(run, "_block", block)
    run._round({"a": None}, 1)
    assert [(each.seconds, each.repeated) for each in kept] == [((1.5,), True), ((1.0,), False)]
