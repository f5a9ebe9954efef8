"""`python -m photofinish.conformance` as whoever writes a worker types it."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from photofinish import conformance
from photofinish.conformance import command
from photofinish.environments import Environment, frameworks
from photofinish.values import Contender

PYTHON = shlex.quote(sys.executable)
GOOD = "import photofinish.worker as worker\nworker.main()\n"
REFUSING = """
import photofinish.worker as worker
honest = worker.answer
def answer(holder, request):
    if request["do"] in {refused}:
        return {{"ok": False, "kind": "wrong use", "message": "WrongUse: there is no such thing"}}
    return honest(holder, request)
worker.answer = answer
worker.main()
"""


LOSSLESS = """
from photofinish.models import model
from photofinish.graph import Spec
from photofinish.vocabulary import linear

@model(inputs=(("x", Spec("C", (4,))),), objective=None, classes=None)
def net(x):
    return linear(x, 3)
"""
BARE = """
import numpy as np
import photofinish.worker as worker
honest = worker.answer
def answer(holder, request):
    reply = honest(holder, request)
    if reply["ok"] and "outputs" in request:
        with open(request["outputs"], "wb") as file:
            np.save(file, np.zeros(3))
    return reply
worker.answer = answer
worker.main()
"""


MUTE = """
import time
import photofinish.worker as worker
honest = worker.answer
worker.answer = lambda holder, request: time.sleep(3600) if request["do"] == "warm" else honest(holder, request)
worker.main()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is typed."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examined(command: str, capsys: pytest.CaptureFixture[str], contender: str = "fake:steady") -> tuple[int, str]:
    code = conformance.main([*([command] if command else []), "--contender", contender, "--tasks", "infer"])
    return code, capsys.readouterr().out


def test_a_worker_is_found_where_its_command_is_typed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "good.py").write_text(GOOD)
    code, said = examined(f"{PYTHON} good.py", capsys)
    assert (code, said.count("BROKEN")) == (0, 0) and "ok      ends when standard input closes" in said
    assert [path.name for path in here.iterdir()] == ["good.py"]  # what is written for it lies elsewhere


def test_a_program_is_found_where_its_command_is_typed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "worker").write_text(f"#!/bin/sh\nexec {PYTHON} -c 'from photofinish.worker import main; main()'\n")
    (here / "worker").chmod(0o755)
    assert examined("./worker", capsys)[0] == 0


def test_what_nobody_can_examine_is_wrong_use(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "good.py").write_text(GOOD)
    (here / "net.py").write_text(LOSSLESS)
    for more, said in ((["--contender", "fake:steady[threads=abc]"], "threads=abc"),
                       (["--contender", "fake:steady[threads=0]"], "threads=0"),
                       (["--contender", "fake:steady", "--patience", "nan"], "--patience nan"),
                       (["--contender", "fake:steady", "--model", "./net.py:net"], "has no loss")):
        with pytest.raises(SystemExit) as ended:
            conformance.main([f"{PYTHON} good.py", *more])
        assert ended.value.code == 2
        assert said in capsys.readouterr().err


def test_of_a_worker_that_leaves_another_kind_of_file_that_is_said(here: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bare.py").write_text(BARE)
    code, said = examined(f"{PYTHON} bare.py", capsys)
    assert code == 1 and "BROKEN  predict: it left no arrays that can be read in" in said


def test_of_a_worker_that_does_not_start_the_last_words_are_shown(here: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    code, said = examined(f"{PYTHON} nowhere.py", capsys)
    broken, *words = said.splitlines()
    assert (code, broken) == (1, "BROKEN  says hello in this version: ended with exit code 2")
    assert "nowhere.py" in words[-1] and "No such file or directory" in words[-1]


def test_who_infers_alone_is_not_asked_to_train() -> None:
    assert command.tasks_of(Contender("onnxruntime", "default")) == ["infer"]
    for each in (Contender("torch", "eager"), Contender("mine", "fast")):
        assert tuple(command.tasks_of(each)) == ("train", "infer")


def test_who_does_not_answer_in_time_is_asked_no_more(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "mute.py").write_text(MUTE)
    code = conformance.main([f"{PYTHON} mute.py", "--contender", "fake:steady", "--tasks", "infer", "--patience", "8"])
    assert (code, capsys.readouterr().out.splitlines()[-1]) == (
        1, "BROKEN  warm (infer): gave no answer to 'warm' within 8 s")


def test_a_worker_may_refuse_as_wrong_use(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "refusing.py").write_text(REFUSING.format(refused=["nothing of the kind"]))
    code, said = examined(f"{PYTHON} refusing.py", capsys)
    assert code == 0
    assert "ok      an unknown request is refused: wrong use: there is no such thing\n" in said


def test_what_a_worker_wrongly_refuses_as_wrong_use_is_broken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "refusing.py").write_text(REFUSING.format(refused=["predict"]))
    code, said = examined(f"{PYTHON} refusing.py", capsys)
    assert code == 1 and "BROKEN  predict: there is no such thing\n" in said
    assert "ok      ends when standard input closes" in said  # it lives, so it is asked all the rest


def test_what_is_planted_in_a_contender_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = examined("", capsys, "fake:steady[fault=wrong,step=0.002]")
    assert code == 1 and "BROKEN  prove" in said


@pytest.mark.parametrize("command", ["", "x"])
@pytest.mark.parametrize(("contender", "hint"), [("fake:steady+mean[2]", "leave +mean out"),
                                                 ("torch:eager[build=timm:resnet18]", "leave build out")])
def test_what_would_not_be_examined_is_refused(contender: str, hint: str, command: str,
                                               capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        examined(command, capsys, contender)
    assert ended.value.code == 2 and hint in capsys.readouterr().err


def test_an_old_version_is_loaded_with_what_drives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = frameworks()["torch"]
    monkeypatch.setattr(conformance.command, "resolve",
                        lambda _: Environment(Path(sys.executable), torch, "1.0.0", "made"))
    asked = [_loaded(conformance.found(command, f"torch@1.0.0:eager[threads={usable}]", tmp_path), tmp_path)
             for command, usable in (("", 2), (f"{PYTHON} worker.py", 1))]
    assert [(each["driver"], each["setup"]["threads"], each["setup"]["options"]) for each in asked] == [
        ("_torch.older", 2, {}), ("_torch.older", 1, {})]


def _loaded(candidate: conformance.Candidate, folder: Path) -> dict[str, Any]:
    """What it is asked to load."""
    asked: dict[str, Any] = {}

    class Silent:
        def ask(self, do: str, patience: float, **arguments: Any) -> dict[str, Any]:
            asked.update(arguments)
            return {"facts": {"version": "1"}}
    examination = conformance.Examination(candidate, ("train",), conformance.MODEL, folder, 1.0)
    examination.worker = Silent()  # type: ignore[assignment]
    examination.load()
    return asked


def test_whoever_reads_no_more_is_not_answered_by_a_traceback(here: Path) -> None:
    (here / "good.py").write_text(GOOD)
    command = [sys.executable, "-m", "photofinish.conformance", f"{PYTHON} good.py", "--contender", "fake:steady",
               "--tasks", "infer"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("ok      says hello")
        process.stdout.close()
        complained = process.stderr.read()
    assert (process.returncode, complained) == (141, "")
