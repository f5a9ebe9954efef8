"""A worker that lies, floods or dies is told by name, does no harm to the others, and leaves nothing behind."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from photofinish import api, conformance
from photofinish.conformance import Candidate
from photofinish.data import draw_batch
from photofinish.models import find
from photofinish.optimizers import SGD, optimizer_json
from photofinish.runner import process, remote, watchdog
from photofinish.runner.allocator import KEEP
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.predict import Prediction
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.store import Store
from photofinish.values import Contender
from photofinish.weights import initial_state

HERE = Path(__file__).parent
MODEL = f"{HERE / 'tiny.py'}:tiny"
GOOD, ALSO_GOOD, BAD = "fake:steady[step=0.010]", "fake:steady[step=0.012]", "fake:steady[step=0.011]"
HONEST = [sys.executable, "-c", "from photofinish.worker import main; main()"]
REFERENCE = Contender("numpy", "reference")
PATIENCE = 60.0


def command(fault: str) -> list[str]:
    return [sys.executable, str(HERE / "bad_worker.py"), fault]


def started(fault: str, folder: Path) -> WorkerProcess:
    return WorkerProcess(command(fault), {"PATH": ""}, folder / "log", watchdog.mark_of(f"bad-{fault}"), PATIENCE)


def up_to_a_block(worker: WorkerProcess, folder: Path) -> dict[str, Any]:
    """Everything a launch asks, on the smallest model."""
    graph = find(MODEL).graph()
    (folder / "graph.json").write_text(json.dumps(graph.to_json()))
    np.savez(folder / "state.npz", **initial_state(graph, 0))  # type: ignore[arg-type]
    batch = {f"0/{name}": values for name, values in draw_batch(graph, 8, 0).items()}
    np.savez(folder / "batches.npz", **batch)  # type: ignore[arg-type]
    worker.ask("load", PATIENCE, framework="fake", setup={"mode": "steady", "options": {}}, sabotage={})
    worker.ask("build", PATIENCE, graph=str(folder / "graph.json"), batch=8, optimizer=optimizer_json(SGD()))
    worker.ask("weights", PATIENCE, state=str(folder / "state.npz"), batches=str(folder / "batches.npz"), count=1)
    worker.ask("warm", PATIENCE, task="train", limit=1.0)
    return worker.ask("block", PATIENCE, task="train", steps=3)


@pytest.mark.parametrize(("fault", "kind", "said"), [
    ("protocol", "protocol", "speaks protocol 99, not 1"),
    ("nan", "protocol", "has [nan, nan, nan] as seconds, where a list of a finite number above 0 is due"),
    ("huge", "protocol", "finite number above 0"),
    ("negative", "protocol", "finite number above 0"),
    ("zero", "protocol", "finite number above 0"),
    ("few", "protocol", "has 2 times, where 3 steps were asked for"),
    ("words", "protocol", "['fast', 'fast', 'fast']"),
    ("silent", "protocol", "its answer to load lacks seconds"),
    ("wordy", "protocol", "null) and no more is due"),
    ("list", "protocol", "where an object was due"),
    ("garbage", "protocol", "not JSON: b'this is no JSON'"),
    ("nested", "protocol", "not JSON"),
    ("endless", "protocol", "flooded its output"),
    ("chatty", "protocol", "said something unasked"),
    ("noisy", "protocol", "flooded its log"),
    ("exit", "crash", "ended with exit code 3"),
    ("killed", "crash", "was killed by SIGKILL"),
    ("nameless", "crash", "was killed by signal 37"),
    ("kind", "protocol", "no"),
])
def test_a_bad_worker_is_told_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: Callable[[], list[int]],
                                      fault: str, kind: str, said: str) -> None:
    monkeypatch.setattr(process, "LOG_LIMIT", 1 << 20)
    monkeypatch.setattr(process, "LOOK", 0.2)
    worker = None
    with pytest.raises(WorkerFailed) as failed:
        worker = started(fault, tmp_path)
        up_to_a_block(worker, tmp_path)
    if worker is not None:
        worker.kill()
    assert failed.value.kind == kind and said in failed.value.message
    assert begun() == []
    assert (tmp_path / "log").stat().st_size <= 1 << 20  # what it flooded is gone from the disk


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Contenders that the scripted worker runs, in every course, and its fault for each."""
    faults: dict[str, str] = {}
    honest = Course.start

    def start(self: Course, entry: Entry, launch: int, memory: Mapping[str, str] = KEEP,
              timed: bool = True) -> WorkerProcess:
        if entry.name not in faults:
            return honest(self, entry, launch, memory, timed)
        fault = faults[entry.name]
        mark = watchdog.mark_of(f"{self.folder.name}-{launch}-{fault}")
        self.watchdog.watch(mark)
        return WorkerProcess(command(fault), {"PATH": ""}, self.folder / f"{launch}-{fault}.log", mark, PATIENCE)
    monkeypatch.setattr(Course, "start", start)
    return faults


def test_an_interpreter_that_is_gone_is_a_failure_of_that_contender(tmp_path: Path) -> None:
    gone = str(tmp_path / "bin" / "python")
    with pytest.raises(WorkerFailed) as told:
        WorkerProcess([gone], {}, tmp_path / "log", watchdog.mark_of("gone"), PATIENCE)
    assert told.value.kind == "crash"
    assert told.value.message == f"{gone} cannot be started: No such file or directory"


def test_a_race_goes_on_without_the_bad_ones(tmp_path: Path, bad: dict[str, str],
                                             begun: Callable[[], list[int]]) -> None:
    kinds = {"nan": "protocol", "exit": "crash", "protocol": "protocol", "shape": "wrong answer",
             "vanishing": "protocol", "wordy": "protocol"}
    bad.update({f"fake:steady[step=0.02{number}]": fault for number, fault in enumerate(kinds)})
    (result,) = api.race(MODEL, [GOOD, *bad, ALSO_GOOD], launches=1, seed=1, store=tmp_path, batch=8)
    assert {bad[each.contender]: each.kind for each in result.race.failures} == kinds
    assert {block.contender for block in result.race.blocks} == {GOOD, ALSO_GOOD}
    assert result.comparable and begun() == []


def test_guesses_of_the_wrong_shape_are_not_counted(tmp_path: Path, bad: dict[str, str]) -> None:
    bad[BAD] = "shape"
    graph, case, optimizer = make_case(MODEL, 8, None, None, "", "matched", "cpu", None)
    entries, _ = find_entries([GOOD, BAD], "cpu")
    failures: list[Any] = []
    with open_course(Store(tmp_path), {"infer": case}, graph, optimizer, entries,
                     lambda task, kind, *records: failures.extend(records), 0) as course:
        images = np.zeros((8, 3, 6, 6), np.float32)
        guesses = Prediction(course).run(iter([images]), 8)
    assert set(guesses) == {GOOD} and guesses[GOOD].shape == (8,)
    assert [(each.contender, each.kind) for each in failures] == [(BAD, "protocol")]
    assert "gave outputs of shape (1, 4), not (8, 4)" in failures[0].message


# The conformance test that any worker can be run against


@pytest.mark.parametrize("model", [conformance.MODEL, "lstm_lm_medium"])  # which has dropout
def test_our_own_worker_keeps_the_protocol(model: str) -> None:
    checks = list(conformance.run(Candidate(HONEST, Contender("fake", "steady")), model=model))
    assert [(each.name, each.seen) for each in checks if not each.passed] == []
    assert checks[-1].name == "ends when standard input closes"


LEAVING = """
import json
import photofinish.worker as worker
left = ["probe", "prove", "confirm", "free_runs"]
dumps = json.dumps
worker.json.dumps = lambda told: dumps({**told, "leaves": left} if "protocol" in told else told)
for each in left:
    del worker.COMMANDS[each]
worker.main()
"""


@pytest.mark.parametrize("tasks", [("train", "infer"), ("infer",)])
def test_what_a_worker_leaves_to_its_parent_is_done_verb_by_verb(tasks: tuple[str, ...],
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[str] = []

    def scratch(prefix: str, dir: Path) -> "TemporaryDirectory[str]":
        places.append(f"{dir}/")
        return TemporaryDirectory(prefix=prefix, dir=dir)
    monkeypatch.setattr(remote, "TemporaryDirectory", scratch)
    checks = list(conformance.run(Candidate([sys.executable, "-c", LEAVING], REFERENCE), tasks))
    assert [(each.name, each.seen) for each in checks if not each.passed] == []
    assert places and all("/photofinish-" in place for place in places)  # of who examines it, or of a race: gone after
    seen = {each.name: each.seen for each in checks}
    assert "groups of tensors are right" in seen["prove"]
    assert seen["probe"].startswith("matmul: not probed")  # which NumPy lacks, as it says itself


@pytest.mark.parametrize(("bad", "where", "said"), [
    ('worker.COMMANDS["verb"] = lambda self, name, given, result: {}', "probe", "FileNotFoundError"),
    ('worker.VERBS["train_step"] = lambda *_: {}', "prove", "KeyError: 'loss'"),
    ('import numpy; worker.VERBS["train_step"] = lambda *_: {"loss": numpy.zeros(3)}', "prove", "TypeError")])
def test_what_it_leaves_of_those_verbs_is_its_own_fault(bad: str, where: str, said: str) -> None:
    """A race goes on without it: what raises this ended the race."""
    worker = [sys.executable, "-c", LEAVING.replace("worker.main()", f"{bad}\nworker.main()")]
    wrong = next(each for each in conformance.run(Candidate(worker, REFERENCE)) if not each.passed)
    assert wrong.name == where and f"left arrays that cannot be used: {said}" in wrong.seen


def test_whoever_reads_no_more_of_a_long_proof_is_not_the_worker_s_fault(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), remote._driven(SimpleNamespace(), 1.0, {}, tmp_path):  # type: ignore[arg-type]
        raise BrokenPipeError


def test_a_worker_cannot_leave_what_only_it_can_do() -> None:
    code = LEAVING.replace('"prove"', '"block"')
    (check,) = conformance.run(Candidate([sys.executable, "-c", code], REFERENCE))
    assert not check.passed and "as leaves, where a list of one of probe, prove" in check.seen


def test_a_worker_that_runs_inference_only_is_asked_for_nothing_else() -> None:
    checks = list(conformance.run(Candidate(HONEST, REFERENCE), tasks=("infer",)))
    assert all(each.passed for each in checks)
    assert not any("train" in each.name for each in checks)


@pytest.mark.parametrize(("fault", "broken", "alive"), [
    ("protocol", "says hello in this version", False), ("negative", "block (train)", True), ("shape", "predict", True),
    ("exit", "block (train)", False), ("forgetful", "an epoch in a given order (for task fit; may be lacking)", True)])
def test_a_worker_that_breaks_it_is_told_where(fault: str, broken: str, alive: bool,
                                               begun: Callable[[], list[int]]) -> None:
    checks = list(conformance.run(Candidate(command(fault), Contender("fake", "steady")), tasks=("train",)))
    assert next(each.name for each in checks if not each.passed) == broken
    assert (checks[-1].name != broken) == alive
    assert begun() == []


def test_the_conformance_test_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    line = " ".join(command("chatty"))
    assert conformance.main([line, "--contender", "fake:steady", "--tasks", "infer"]) == 1
    assert "BROKEN  build: said something unasked" in capsys.readouterr().out


def test_a_long_request_gives_signs_of_life_and_a_block_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LOOK", 0.02)
    slow = ("import sys, time\n"
            "print('{\"ok\": true, \"protocol\": 1, \"python\": \"3\", \"memory\": 1}', flush=True)\n"
            "for line in sys.stdin:\n"
            "    time.sleep(0.3)\n"
            "    print('{\"ok\": false, \"kind\": \"unsupported\"}', flush=True)")
    signs: list[int] = []
    worker = WorkerProcess([sys.executable, "-c", slow], {"PATH": ""}, tmp_path / "log", watchdog.mark_of("slow"),
                           PATIENCE, lambda: signs.append(1))
    try:
        for request, lively in (("prove", True), ("block", False)):
            signs.clear()
            with pytest.raises(WorkerFailed):
                worker.ask(request, PATIENCE)
            assert bool(signs) is lively
    finally:
        worker.kill()


def test_last_words_have_no_colours_and_a_message_is_a_line(tmp_path: Path) -> None:
    coloured = ("import json, sys\n"
                "print('{\"ok\": true, \"protocol\": 1, \"python\": \"3\", \"memory\": 1}', flush=True)\n"
                "sys.stdin.readline()\n"
                "print('\\033[2K\\033[1;31mfatal:\\033[0m 3 \\xb5s\\a\\0', file=sys.stderr, flush=True)\n"
                "told = '\\033[31mno\\033[0m \\ud800room\\nat line 1'\n"
                "print(json.dumps({'ok': False, 'kind': 'crash', 'message': told}))")
    worker = WorkerProcess([sys.executable, "-X", "utf8", "-c", coloured], {"PATH": ""}, tmp_path / "log",
                           watchdog.mark_of("coloured"), PATIENCE)
    try:
        with pytest.raises(WorkerFailed) as caught:
            worker.ask("load", PATIENCE)
    finally:
        worker.kill()
    assert (caught.value.message, caught.value.log) == ("no room", "at line 1\nfatal: 3 \xb5s")


@pytest.mark.parametrize(("arguments", "said"), [
    (["x", "--contender", "???"], "is not a contender"),
    (["x", "--model", "nosuch"], "no model is called 'nosuch'"),
    (["x", "--tasks", "train,foo"], "no task is called 'foo'"),
    (['node "x'], "No closing quotation"),
    ([" "], "is blank"),
])
def test_the_examination_refuses_what_is_no_question(arguments: list[str], said: str,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        conformance.main(arguments)
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_a_model_that_makes_no_sense_is_refused_before_the_worker_starts(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.py").write_text("from photofinish.vocabulary import linear as model\n")
    with pytest.raises(SystemExit):
        conformance.main(["x", "--model", f"{tmp_path}/net.py:model"])
    assert "net.py: linear(" in capsys.readouterr().err


def test_the_examination_of_what_cannot_be_started_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["/nowhere/worker"]) == 1
    assert "/nowhere/worker cannot be started" in capsys.readouterr().out


@pytest.mark.parametrize("written", [b"", b"PK\x03\x04 cut short"])
def test_arrays_that_cannot_be_read_are_the_worker_s_fault(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "outputs.npz").write_bytes(written)
    examination = conformance.Examination(Candidate([], REFERENCE), ("infer",), conformance.MODEL, tmp_path, 1.0)
    with pytest.raises(conformance.Broken, match="no arrays that can be read"):
        examination._read(tmp_path / "outputs.npz")


@pytest.mark.parametrize(("struck", "said", "kind"), [(0, "", "crash"), (1, "", "out of memory"),
                                                      (0, "std::bad_alloc", "out of memory")])
def test_whom_the_kernel_kills_for_memory_is_told_from_whom_a_signal_ends(
        struck: int, said: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = ("import os, signal, sys\n"
             "print('{\"ok\": true, \"protocol\": 1, \"python\": \"3\", \"memory\": 1}', flush=True)\n"
             f"sys.stdin.readline(); print('{said}', file=sys.stderr, flush=True)\n"
             "os.kill(os.getpid(), signal.SIGKILL)")
    counts = iter([3, 3, 3 + struck])
    monkeypatch.setattr(process, "_oom_kills", lambda: next(counts))
    worker = WorkerProcess([sys.executable, "-c", dying], {"PATH": ""}, tmp_path / "log", watchdog.mark_of("killed"),
                           PATIENCE)
    with pytest.raises(WorkerFailed) as failed:
        worker.ask("load", PATIENCE)
    worker.kill()
    assert failed.value.kind == kind
