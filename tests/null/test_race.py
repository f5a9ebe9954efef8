"""Whole races on the fake framework: scripted clocks and faults through real processes, nothing installed."""

import errno
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from photofinish import api
from photofinish.errors import UsageError
from photofinish.runner import course
from photofinish.runner.entry import Entry
from photofinish.runner.launch import LaunchRun, balanced_order
from photofinish.runner.watchdog import MARK, Watchdog
from photofinish.store import Store
from photofinish.values import Progress, Result, Verdict

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
FAST = "fake:steady[noise=0.01,step=0.010]"
SLOW = "fake:steady[noise=0.01,step=0.013]"


def race(store: Path, *contenders: str, **options: object) -> Result:
    settings: dict[str, object] = {"launches": 3, "budget": 120.0, "seed": 1, "store": store, "batch": 8}
    (result,) = api.race(MODEL, contenders, **{**settings, **options})  # type: ignore[arg-type]
    return result


def only_verdict(result: Result) -> Verdict:
    (verdict,) = result.verdicts
    return verdict


def survivors(store: Path) -> list[int]:
    """Workers of the races kept in that folder that are still there; other races may run on this machine."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
            if f"{store}/race-".encode() in command and f"{MARK}=".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_faster_contender_is_found_with_its_size(tmp_path: Path) -> None:
    result = race(tmp_path, FAST, SLOW)
    verdict = only_verdict(result)
    assert result.comparable and verdict.verdict == "FASTER"
    assert verdict.low is not None and verdict.high is not None and verdict.low < verdict.high
    # the noise is drawn anew, so one interval in twenty misses 1.3; ten standard errors of the ratio do not
    assert verdict.ratio == pytest.approx(1.3, rel=0.03)
    assert [standing.contender for standing in result.standings] == [FAST, SLOW]
    assert all(certificate.passed for certificate in result.race.certificates)


def test_a_contender_against_itself_is_never_called_faster(tmp_path: Path) -> None:
    assert only_verdict(race(tmp_path, FAST, FAST)).verdict in ("EQUIVALENT", "UNDECIDED")


def test_a_wrong_contender_is_not_comparable(tmp_path: Path) -> None:
    result = race(tmp_path, FAST, "fake:steady[fault=wrong]")
    assert not result.comparable and only_verdict(result).verdict == "NOT COMPARABLE"
    (failure,) = result.race.failures
    assert failure.kind == "wrong answer" and "inference outputs" in failure.message


@pytest.mark.parametrize(("fault", "kind"), [("crash", "crash"), ("memory", "out of memory"), ("nan", "nan"),
                                             ("hang", "hang")])
def test_a_fault_is_a_result_and_the_others_go_on(tmp_path: Path, fault: str, kind: str) -> None:
    broken = f"fake:steady[at=40,fault={fault}]"
    result = race(tmp_path, FAST, SLOW, broken, certify=False, timeout=15.0)
    (failure,) = result.race.failures
    assert (failure.contender, failure.kind) == (broken, kind)
    assert failure.command.startswith("photofinish race")
    assert {block.contender for block in result.race.blocks if block.launch == 3} == {FAST, SLOW}
    assert survivors(tmp_path) == []


@pytest.mark.parametrize("contender", ["fake:steady", "fake:forward"])
def test_what_cannot_be_proven_is_shown_again_by_its_proof(tmp_path: Path, contender: str) -> None:
    (failure,) = api.verify(MODEL, [f"{contender}[fault=crash]"], threads=1, seed=7, store=tmp_path).failures
    assert failure.command == (f"photofinish verify {MODEL} --contenders '{contender}[fault=crash]' --input 3x6x6 "
                               "--threads 1")


def test_a_race_that_loses_everyone_in_the_rehearsal_ends_with_their_failures(tmp_path: Path) -> None:
    result = race(tmp_path, "fake[fault=crash]", "fake[fault=crash,step=0.02]", launches=None, certify=False)
    assert [each.kind for each in result.race.failures] == ["crash", "crash"] and not result.race.launches


def test_a_course_that_cannot_be_laid_out_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path) -> Path:
        folder.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("photofinish.runner.course.pack", full)
    with pytest.raises(OSError, match="No space left"):
        race(tmp_path, FAST, SLOW)
    assert not list(tmp_path.glob("race-*"))


def test_one_launch_serves_both_tasks(tmp_path: Path) -> None:
    results = api.race(MODEL, [FAST, SLOW], ["train", "infer"], launches=2, seed=1, store=tmp_path, batch=8)
    assert [result.race.case.task for result in results] == ["train", "infer"]
    assert results[0].race.launches == results[1].race.launches
    assert all({block.task for block in result.race.blocks} == {result.race.case.task} for result in results)


@pytest.mark.parametrize(("fault", "kind"), [("gradient", "wrong answer"), ("memory,task=train", "out of memory")])
def test_who_fails_in_training_is_raced_in_inference(tmp_path: Path, fault: str, kind: str) -> None:
    broken = f"fake:steady[fault={fault},step=0.02]"
    field = [FAST, SLOW, broken]
    train, infer = api.race(MODEL, field, ["train", "infer"], launches=2, seed=1, store=tmp_path, batch=8)
    (failure,) = train.race.failures
    assert (failure.contender.partition(",")[0], failure.kind) == (broken.partition(",")[0], kind)
    assert not infer.race.failures and infer.comparable
    assert [each.contender for each in infer.standings] == [FAST, SLOW, failure.contender]
    assert {each.contender for each in train.race.blocks} == {FAST, SLOW}
    assert not [each for each in train.race.certificates if each.passed and each.contender == failure.contender]
    (proof,) = [each for each in infer.race.certificates if each.contender == failure.contender]
    assert proof.passed and proof.forward_only and [check.group for check in proof.checks] == ["inference outputs"]


FORWARD = "fake:forward[noise=0.01,step=0.012]"


def test_who_trains_nothing_races_in_inference_alone(tmp_path: Path) -> None:
    field = [FAST, SLOW, FORWARD]
    train, infer = api.race(MODEL, field, ["train", "infer"], launches=2, seed=1, store=tmp_path, batch=8)
    assert train.race.contenders == (FAST, SLOW) and infer.race.contenders == (FAST, SLOW, FORWARD)
    (skip,) = train.race.skipped
    assert (skip.contender, skip.reason) == (FORWARD, "inference only") and infer.race.skipped == ()
    assert {block.contender for block in infer.race.blocks} == {FAST, SLOW, FORWARD}
    for kind in ("blocks", "phases", "certificates", "audit", "warm_ups"):  # nothing of it in a race it is not in
        assert {each.contender for each in getattr(train.race, kind)} == {FAST, SLOW}, kind
    assert {each.contender: each.forward_only for each in infer.race.certificates} == {
        FAST: False, SLOW: False, FORWARD: True}
    assert train.comparable and infer.comparable and not train.race.failures + infer.race.failures
    assert f"{FORWARD} was left out: inference only (--task infer)" in str(api.Outcome([train]))
    assert "forward only" in str(api.Outcome([infer]))


def test_engines_alone_need_no_more_of_the_reference_than_its_outputs(tmp_path: Path) -> None:
    result = race(tmp_path, FORWARD, FORWARD, task="infer", launches=2)
    assert result.comparable and all(each.forward_only for each in result.race.certificates)


def test_every_round_has_every_contender_once_and_positions_are_shared(tmp_path: Path) -> None:
    blocks = [block for block in race(tmp_path, FAST, SLOW, certify=False).race.blocks if not block.repeated]
    seen = {(block.launch, block.round, block.contender) for block in blocks}
    assert len(seen) == len(blocks)
    firsts = [block.contender for block in blocks if block.position == 0]
    assert abs(firsts.count(FAST) - firsts.count(SLOW)) <= 3  # an odd number of rounds in each of three launches


def test_orders_come_in_mirrored_pairs() -> None:
    for number in (1, 3, 5):
        assert balanced_order(["a", "b", "c"], number, 7) == balanced_order(["a", "b", "c"], number + 1, 7)[::-1]


def test_ctrl_c_saves_and_reports_what_was_measured(tmp_path: Path) -> None:
    def stop_after_first_launch(progress: Progress) -> None:
        if progress.stage == "block" and progress.text.startswith("launch 2"):
            raise KeyboardInterrupt

    with pytest.raises(api.Interrupted) as stopped:
        race(tmp_path, FAST, SLOW, certify=False, listener=stop_after_first_launch)
    (result,) = stopped.value.results
    assert {block.launch for block in result.race.blocks} >= {1}
    assert survivors(tmp_path) == []
    (later,) = api.load("last", store=tmp_path)
    for each in (result, later):
        assert "The race: interrupted: stopped by hand" in str(api.Outcome([each]))
    assert api.Outcome([later]).to_json()[0]["interrupted"].startswith("stopped by hand")


def test_killing_the_parent_leaves_no_worker_and_loses_nothing(tmp_path: Path) -> None:
    code = (f"from photofinish import api; api.race({MODEL!r}, [{FAST!r}, {SLOW!r}], launches=50, "
            f"store={str(tmp_path)!r}, batch=8, certify=False)")
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        store = Store(tmp_path)
        wait_until(lambda: bool(store.sessions()) and len(store.read(store.sessions()[0][2][0]).blocks) > 10)
        os.kill(parent.pid, signal.SIGKILL)
    wait_until(lambda: survivors(tmp_path) == [])
    wait_until(lambda: bool(store.read(store.sessions()[0][2][0]).failures))
    (result,) = api.load("last", store=tmp_path)
    assert len(result.race.blocks) > 10
    assert [(each.contender, each.kind) for each in result.race.failures] == [("", "interrupted")]
    assert "The race: interrupted" in str(api.Outcome([result]))


def test_a_watchdog_executes_the_will_of_who_was_killed_and_no_other(tmp_path: Path) -> None:
    store = Store(tmp_path)
    code = """if True:
        import os, signal, sys
        from photofinish.runner.watchdog import Watchdog
        watchdog = Watchdog()
        watchdog.will(sys.argv[1], "INSERT INTO settled VALUES (?, ?, ?)", [(sys.argv[2], "", "")])
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        watchdog.close()
    """
    for how in ("closed", "killed"):
        subprocess.run([sys.executable, "-c", code, str(store.path), how], check=False)
    wait_until(lambda: bool(store.settled()))
    assert list(store.settled()) == ["killed"]


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_watchdog_removes_the_scratch_folder(how: str, tmp_path: Path) -> None:
    (tmp_path / "race-1" / "worker").mkdir(parents=True)
    code = """if True:
        import os, pathlib, signal, sys
        from photofinish.runner.watchdog import Watchdog
        watchdog = Watchdog()
        watchdog.clear(pathlib.Path(sys.argv[1]))
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        watchdog.close()
    """
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "race-1"), how], check=False)
    wait_until(lambda: not (tmp_path / "race-1").exists())


def test_killed_while_it_draws_a_race_leaves_no_scratch_folder(tmp_path: Path) -> None:
    code = """if True:
        import os, signal, sys
        from photofinish import api
        from photofinish.runner import course
        course.draw_batch = lambda *drawn: os.kill(os.getpid(), signal.SIGKILL)
        api.race(sys.argv[1], sys.argv[2:4], store=sys.argv[4], batch=8, certify=False)
    """
    done = subprocess.run([sys.executable, "-c", code, MODEL, FAST, SLOW, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: not list(tmp_path.glob("race-*")))


def test_interrupted_while_it_draws_a_race_leaves_no_watchdog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watchdogs: list[Watchdog] = []

    def drawn(*_: object) -> None:
        raise KeyboardInterrupt
    monkeypatch.setattr(course, "draw_batch", drawn)
    monkeypatch.setattr(course, "Watchdog", lambda: watchdogs.append(Watchdog()) or watchdogs[-1])
    with pytest.raises(KeyboardInterrupt):
        race(tmp_path, FAST, SLOW, certify=False)
    assert [each._process.returncode for each in watchdogs] == [0] and not list(tmp_path.glob("race-*"))


def test_killing_a_worker_is_reported_and_the_race_ends_clean(tmp_path: Path) -> None:
    def kill_one(progress: Progress) -> None:
        if progress.stage == "block" and survivors(tmp_path):
            os.kill(survivors(tmp_path)[0], signal.SIGKILL)

    result = race(tmp_path, FAST, SLOW, certify=False, listener=kill_one)
    assert result.race.failures[0].kind == "crash" and "SIGKILL" in result.race.failures[0].message
    assert survivors(tmp_path) == []


@pytest.mark.parametrize(("asked", "said"), [
    ({"seed": -1}, "a seed is a number"), ({"seed": 2**31}, "a seed is a number"),
    ({"budget": math.inf}, "not for ever"), ({"budget": math.nan}, "not for ever"), ({"budget": 0.0}, "not for ever")])
def test_what_nobody_can_draw_from_or_wait_for_is_refused(tmp_path: Path, asked: dict[str, float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        race(tmp_path, FAST, SLOW, **asked)


def test_who_crashes_in_training_is_still_raced_in_inference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the next launch on; it is out of the race it crashed in, and the other has nothing against it."""
    warm = LaunchRun._warm

    def killed(self: LaunchRun, entry: Entry, task: str) -> None:
        if (self.number, entry.name, task) == (1, SLOW, "train"):
            os.kill(self.workers[SLOW].pid, signal.SIGKILL)  # type: ignore[attr-defined]
        warm(self, entry, task)
    monkeypatch.setattr(LaunchRun, "_warm", killed)
    train, infer = api.race(MODEL, [FAST, SLOW], ["train", "infer"], launches=3, seed=1, store=tmp_path, batch=8,
                            certify=False)
    assert [each.phase for each in train.race.failures] == ["warm_up:train"] and infer.race.failures == ()
    assert {each.contender for each in train.race.blocks} == {FAST}
    assert {each.launch for each in infer.race.blocks if each.contender == SLOW} == {2, 3}


def test_who_says_nothing_for_longer_than_the_time_out_is_out(command: Callable[..., Any], tmp_path: Path) -> None:
    """And nobody else, nor the reference, which takes its own time."""
    hanging = SLOW.replace("[", "[fault=hang,")
    told = command("race", MODEL, "-c", f"{FAST},{SLOW},{hanging}", "--timeout", "20s", "--launches", "1", "--json")
    result = json.loads(told.out)
    assert {each["name"]: each["failure"] and each["failure"]["message"] for each in result["contenders"]} == {
        FAST: None, SLOW: None, hanging: "gave no answer to 'warm' within 20 s"}
    assert result["comparable"]


def test_two_races_write_to_one_store_at_once(tmp_path: Path) -> None:
    code = (f"from photofinish import api; api.race({MODEL!r}, [{FAST!r}, {SLOW!r}], launches=2, "
            f"store={str(tmp_path)!r}, batch=8, certify=False)")
    both = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(Store(tmp_path).sessions()) == 2


def wait_until(condition: object, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
