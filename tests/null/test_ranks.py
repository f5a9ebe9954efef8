"""Several processes that train one model, on the fake framework: one contender to a race, whatever becomes of them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from benchmarks.kills import LAUNCHER, ranks, strike

from photofinish import api, models
from photofinish.errors import UsageError
from photofinish.render.document import Table
from photofinish.render.quantities import plain
from photofinish.reports import json, verdict
from photofinish.reports import scaling as scaling_report
from photofinish.runner import idle
from photofinish.runner import ranks as rank_processes
from photofinish.runner.launch import TRACED
from photofinish.runner.process import WorkerFailed
from photofinish.stats.scaling import scalings
from photofinish.values import Contender, Progress, Result

FOLDER = Path(__file__).parent
PLAIN, NORMALISED = f"{FOLDER / 'tiny.py'}:tiny_plain", f"{FOLDER / 'tiny.py'}:tiny"
SCRIPT = "noise=0.001,sample=0.1,step=0.1"  # so long that a block is one step
ONE, TWO = f"fake:steady[{SCRIPT}]", f"fake:steady+mean[2,{SCRIPT}]"


def race(store: Path, *contenders: str, model: str = PLAIN, **options: object) -> Result:
    settings: dict[str, object] = {"launches": 2, "budget": 120.0, "seed": 1, "store": store, "batch": 8, "threads": 2}
    (result,) = api.race(model, contenders, **{**settings, **options})  # type: ignore[arg-type]
    return result


@pytest.fixture(autouse=True)
def two_cores() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")


def test_two_processes_are_one_contender_that_takes_turns_with_the_others(tmp_path: Path) -> None:
    cores: list[set[int]] = []

    def look(progress: Progress) -> None:
        if progress.stage == "block":
            cores.extend(os.sched_getaffinity(pid) for _, pid in sorted(ranks(tmp_path).items()))

    result = race(tmp_path, ONE, TWO, listener=look)
    (found,) = result.verdicts
    assert result.comparable and found.verdict == "SLOWER" and found.launches == 2
    assert found.ratio == pytest.approx(5 / 9, rel=0.02)  # 0.1 s and 4 or 8 samples of 0.1 s
    first, second = (each.groups for each in result.race.launches)
    assert set(first) == {(ONE,), (TWO,)} and second == first[::-1]
    assert cores[0] and cores[1] and not cores[0] & cores[1]
    assert "launches took turns with theirs" in " ".join(str(api.Outcome([result])).split())
    assert scalings(result.race) == ()  # ONE has the threads of both
    assert all(each.passed and each.slices == 1 for each in result.race.certificates)


def test_batch_norm_is_proven_with_the_statistics_of_each_part_and_a_verdict_says_so(tmp_path: Path) -> None:
    one = ONE.replace("]", ",threads=1]")
    two = Contender.parse(TWO.replace("]", ",sync=0.1]")).name
    result = race(tmp_path, one, two, model=NORMALISED)
    assert {each.contender: (each.passed, each.slices, each.batch) for each in result.race.certificates} == {
        one: (True, 1, 8), two: (True, 2, 16)}
    assert f"{two} with BatchNorm's statistics of each of 2 parts of the batch" in plain(verdict.sentence(result))
    (scaling,) = scalings(result.race)
    assert (scaling.contender, scaling.against, scaling.processes) == (two, one, 2)
    assert scaling.efficiency.value == pytest.approx(0.75, rel=0.02)  # 0.9 s alone, 0.6 s together
    told = json.race(result)
    jsonschema.validate(told, json.schema("race"))
    interval = told["scaling"][0]["efficiency"]
    assert interval["low"] <= interval["value"] <= interval["high"] and interval["value"] == scaling.efficiency.value
    held = {each.phase: each.each for each in result.race.memory if each.contender == two}
    assert held and all(len(each) == 2 and min(each) > 0 for each in held.values())
    assert told["scaling"][0]["memory"] == max(max(each) for each in held.values()) > 0
    assert told["scaling"][0]["memory_alone"] == max(each.peak for each in result.race.memory if each.contender == one)
    assert {"memory_of_each", "behind"} <= {block.name for block in scaling_report.section(result).blocks
                                            if isinstance(block, Table)}
    first, second = told["time_split"]
    assert (first["rank"], second["rank"], first["steps"]) == (0, 1, 2 * TRACED)
    for each in (first, second):
        assert each["seconds"] == pytest.approx(0.6, rel=0.02)  # who is ready first waits for the other, then 0.1 s
        assert each["seconds"] - each["computing"] - each["waiting"] == pytest.approx(0.1, rel=0.02)
        assert each["overlap"] == pytest.approx(0.0, abs=1e-9)
        assert each["sent"] == 4 * models.find(NORMALISED).graph().parameter_count
    assert "an efficiency of 75 %" in " ".join(str(api.Outcome([result])).replace("\u2502", "").split())


FAULTS = {"crash": ("crash", "rank 1 of 2: was killed by SIGABRT"), "nan": ("nan", "rank 1 of 2: NotFinite"),
          "hang": ("hang", "within 8 s")}


def test_a_rank_that_fails_is_the_failure_of_all_and_leaves_nobody(tmp_path: Path) -> None:
    broken = {Contender.parse(TWO.replace("]", f",at=5,fault={fault},rank=1]")).name: fault for fault in FAULTS}
    struck: list[int] = []

    def strike(progress: Progress) -> None:
        """Kills rank 0 of the one that is sound, between two of its blocks."""
        alive = ranks(tmp_path)
        if progress.stage == "block" and 0 in alive and not struck:
            struck.append(alive[0])
            os.kill(alive[0], signal.SIGKILL)

    result = race(tmp_path, ONE, TWO, *broken, certify=False, timeout=8.0, listener=strike)
    failures = {each.contender: each for each in result.race.failures}
    assert failures.keys() == {TWO, *broken}
    assert struck and "rank 0 of 2: was killed by SIGKILL" in failures.pop(TWO).message
    for name, failure in failures.items():
        kind, said = FAULTS[broken[name]]
        assert failure.kind == kind and said in failure.message
    assert ranks(tmp_path) == {}


def test_ranks_that_do_nothing_are_not_waited_for_until_the_time_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                       ) -> None:
    for module, name, seconds in ((idle, "BEGIN", 0.2), (idle, "LIMIT", 1.0), (rank_processes, "LOOK", 0.2)):
        monkeypatch.setattr(module, name, seconds)
    result = race(tmp_path, ONE, TWO.replace("]", ",at=5,fault=hang,rank=1]"), certify=False)
    (failure,) = result.race.failures
    assert failure.kind == "hang" and "of 2: nothing was computed or sent for 1 s" in failure.message
    assert ranks(tmp_path) == {}


@pytest.mark.parametrize("role", [LAUNCHER, "1"])
def test_whoever_is_killed_leaves_nobody_and_a_rank_its_failure(role: str, tmp_path: Path) -> None:
    slow = "fake:steady+mean[2,noise=0.001]"
    assert strike(role, 0.5, PLAIN, f"{ONE},{slow}", tmp_path, 120.0, ("--batch", "8", "--launches", "20")) == ""


def test_a_rank_that_computes_something_else_is_refused(tmp_path: Path) -> None:
    result = race(tmp_path, ONE, TWO.replace("]", ",fault=wrong,rank=1]"))
    (failure,) = result.race.failures
    assert failure.kind == "wrong answer" and not result.comparable


def test_a_rank_that_has_answered_is_not_said_to_hang() -> None:
    told = [SimpleNamespace(hello={}, answers=0, listen=lambda reply=reply: reply, log_tail=lambda: "",
                            greet=lambda: None, checked=lambda do, asked, reply: reply, send=lambda do, asked: None)
            for reply in (None, {"ok": True})]
    both = rank_processes.Ranks(2, lambda number: told[number], "")  # type: ignore[arg-type, return-value]
    with pytest.raises(WorkerFailed, match="rank 0 of 2: no answer to 'warm' within 0 s"):
        both.ask("warm", 0.0)


def wrong_use(*contenders: str, **options: object) -> Callable[[Path], str]:
    def said(store: Path) -> str:
        with pytest.raises(UsageError) as error:
            race(store, *contenders, **options)
        return str(error.value)
    return said


@pytest.mark.parametrize(("use", "said"), [
    (wrong_use("fake:steady+mean", ONE), "write fake:steady+mean[2]"),
    (wrong_use("fake:steady+meen[2]", ONE), "did you mean mean?"),
    (wrong_use("fake:coarse+mean[2]", ONE), "mean has never been run in mode coarse"),
    (wrong_use("numpy+mean[2]", ONE), "those there are: fake+mean"),
    (wrong_use("torch:eager+ddp[2,hook=fp32]", ONE), "choose from: fp16, powersgd"),
    (wrong_use("torch:eager+zero[2,hook=fp16]", ONE), "option of torch"),
    (wrong_use(TWO, ONE, batch=7), "2 processes cannot share a batch of 7 equally\nchoose --batch 6, say"),
    (wrong_use(TWO, ONE, threads=1), "2 processes cannot share 1 thread equally\nchoose --threads 2"),
    (wrong_use("fake:steady+mean[2,threads=1]", ONE), "2 processes cannot share 1 thread equally\nchoose threads=2"),
    (wrong_use("fake:steady+mean[2,rank=2,fault=crash]", ONE), "there is no rank 2"),
    (wrong_use("tensorflow:graph+mirrored[2,rank=1,fault=crash]", ONE), "it is one process: choose 0"),
    (wrong_use("tensorflow:xla+multiworker[2]", ONE), "multiworker has never been run in mode xla"),
    (wrong_use(TWO, ONE, task="infer"), "several processes share training steps only"),
    (wrong_use(TWO, ONE, batch="max"), "the largest batch is looked for in one process")])
def test_wrong_use_is_told_once(tmp_path: Path, use: Callable[[Path], str], said: str) -> None:
    assert said in use(tmp_path)
