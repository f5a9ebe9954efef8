"""Commands as jobs: of this machine, of a Slurm made of scripts, of a Ray of this machine where it is installed."""

import importlib.util
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from photofinish import submission
from photofinish.cli.submit import _in_store
from photofinish.errors import UsageError

LIST = ("list", "models", "--json")
SCRIPTS = {  # what submitit asks of Slurm, of a job of two nodes that starts at once
    "sbatch": """#!/bin/sh
asked="$(dirname "$0")/asked"  # submitit moves the script away when this has ended
cp "$1" "$asked"
export SLURM_JOB_ID=12 SLURM_JOB_NODELIST=nowhere[1-2] SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=2
sh "$asked" > /dev/null 2>&1 &
echo Submitted batch job 12
""",
    "srun": """#!/bin/sh
while test "${1#*python}" = "$1"; do shift; done
for rank in 0 1; do SLURM_PROCID=$rank SLURM_LOCALID=0 SLURM_NODEID=$rank "$@" & done
wait
""",
    "sacct": "#!/bin/sh\necho 'JobID|State|NodeList'\necho '12|RUNNING|nowhere[1-2]'\n",
    "scancel": "#!/bin/sh\n"}


def submitted(*words: str, cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Whatever it started dies with it if it does not end."""
    command = [sys.executable, "-m", "photofinish", "submit", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                               env={**os.environ, **variables}, start_new_session=True)
    try:
        said, complained = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)  # for its job, which is not of its session
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=2 * submission.LAST_WORDS)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, said, complained)


@pytest.fixture
def slurm(tmp_path: Path) -> Mapping[str, str]:
    if importlib.util.find_spec("submitit") is None:
        pytest.skip("submitit is not installed: pip install submitit")
    folder = tmp_path / "slurm"
    folder.mkdir()
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def test_a_job_says_here_what_its_command_says(tmp_path: Path) -> None:
    done = submitted("--to", "local", "--", *LIST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resnet50" in {each["name"] for each in json.loads(done.stdout)}
    assert "has begun" in done.stderr
    assert sorted(each.suffix for each in (tmp_path / ".photofinish/jobs").iterdir()) == [".code", ".err", ".out"]


def test_a_job_fails_as_its_command_does_and_has_its_store(tmp_path: Path) -> None:
    done = submitted("--to", "local", "--store", "kept", "--", "report", "last", cwd=tmp_path)
    assert done.returncode == 2
    assert "report --store kept last" in done.stderr
    assert list((tmp_path / "kept/jobs").glob("*.err"))


@pytest.mark.parametrize("own", [("--store", "mine"), ("--store=mine",)])
def test_a_store_that_the_command_names_itself_is_its_own(own: tuple[str, ...], command: Callable[..., Any],
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    submitted: list[tuple[Sequence[str], Path]] = []

    def submit(words: Sequence[str], cluster: str, folder: Path, *_: Any) -> None:
        submitted.append((words, folder))
        raise UsageError("there is no cluster")
    monkeypatch.setattr(submission, "submit", submit)
    for elsewhere in (("--store", "kept"), ()):
        assert command("submit", *elsewhere, "--", "report", "last", *own).code == 2
    assert submitted == [(["report", "last", *own], Path("mine/jobs"))] * 2


@pytest.mark.parametrize(("words", "placed"), [
    ("race m --hosts allocated", "race m --hosts n1,n2"), ("race m --hosts=allocated", "race m --hosts=n1,n2"),
    ("race m --store=allocated/it -c a[b=c]", "race m --store=allocated/it -c a[b=c]")])
def test_a_command_is_told_the_machines_of_its_job(words: str, placed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "_allocated", lambda: ["n1", "n2"])
    assert submission._placed(words.split()) == placed.split()


def test_a_job_of_one_machine_has_that_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUBMITIT_EXECUTOR", raising=False)
    assert submission._placed(["--hosts=allocated"]) == [f"--hosts={socket.gethostname()}"]


@pytest.mark.parametrize(("words", "placed"), [
    ("race a", "race --store kept a"), ("race -- a", "race --store kept -- a"),
    ("study run a", "study run --store kept a"), ("study list", "study list"), ("list models", "list models"),
    ("show a --as torch", "show a --as torch"), ("env", "env"),
    ("doctor --json", "doctor --json")])
def test_a_store_is_for_commands_that_have_one(words: str, placed: str) -> None:
    assert _in_store(words.split(), Path("kept")) == placed.split()


def test_what_a_job_says_is_whole_however_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "PAUSE", 0.0)
    files = submission.Files.new(tmp_path)
    parts, said = list("3 µs".encode()), io.StringIO()

    def ended() -> bool:  # a byte between two looks
        with files.said.open("ab") as file:
            file.write(bytes([parts.pop(0)]))
        return not parts
    assert submission.Job("1", files, ended, lambda: 0, lambda: None).follow(said, io.StringIO()) == 0
    assert said.getvalue() == "3 µs"


def test_a_job_of_one_machine_is_run_whatever_number_slurm_gave_it(tmp_path: Path) -> None:
    """It need not be a job of Slurm's: Ray, too, may have been started by a step of several tasks."""
    done = submitted("--to", "local", "--", *LIST, cwd=tmp_path, SLURM_PROCID="1")
    assert done.returncode == 0 and "resnet50" in done.stdout


def test_a_store_that_can_be_none_is_told(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = command("submit", "--to", "local", "--store", "file", "--", *LIST)
    assert said.code == 2 and "file/jobs: Not a directory" in said.err


def test_a_job_of_slurm_knows_its_machines(tmp_path: Path, slurm: Mapping[str, str]) -> None:
    done = submitted("--nodes", "2", "--time", "90s", "--set", "partition=long", "--", "race", "digits_cnn", "-c",
                     "fake:steady,fake:steady+mean[2]", "--hosts", "allocated", cwd=tmp_path, **slurm)
    assert done.returncode == 2
    assert "there is no machine called nowhere1" in done.stderr
    asked = (tmp_path / "slurm/asked").read_text()
    for option in ("--nodes=2", "--time=2", "--partition=long", "--exclusive"):
        assert f"#SBATCH {option}\n" in asked
    assert "Job 12 (slurm)" in done.stderr


def test_ctrl_c_cancels_the_job_whose_last_words_are_shown(tmp_path: Path) -> None:
    race = ("race", "digits_cnn", "-c", "fake:steady,fake:steady", "--no-certify", "--launches", "500", "--quiet")
    process = subprocess.Popen([sys.executable, "-m", "photofinish", "submit", "--to", "local", "--", *race],
                               cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    store = tmp_path / ".photofinish" / "photofinish.sqlite"
    try:
        deadline = time.monotonic() + 240
        while not store.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert store.exists()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, complained = process.communicate(timeout=240)
    finally:
        process.kill()  # left alone, it would be the failure of another test
        process.communicate()
    assert process.returncode == 130
    _, cancelled, last_words = complained.partition("is cancelled. What it had measured is kept.\n")
    assert cancelled and "Traceback" not in complained
    assert "interrupted" in last_words or "Stopped by hand" in last_words  # of the race


@pytest.mark.parametrize("cluster", ["slurm", "local"])
def test_at_its_time_limit_a_job_ends_its_command_and_says_so(cluster: str, tmp_path: Path,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    """submitit tells a job of it by an exception from a signal's handler; one of this machine has an alarm."""
    race = ("race", "digits_cnn", "-c", "fake:steady,fake:steady", "--no-certify", "--no-energy", "--launches", "500")
    store, files = tmp_path / ".photofinish" / "photofinish.sqlite", submission.Files.new(tmp_path)
    number = {"slurm": signal.SIGUSR2, "local": signal.SIGALRM}[cluster]
    over = threading.Event()
    monkeypatch.chdir(tmp_path)

    def time_is_up(*_: object) -> None:
        raise RuntimeError("Job not requeued because: timed-out and not checkpointable.")

    def watch() -> None:
        while not over.wait(0.2):
            if store.exists():
                os.kill(os.getpid(), number)
                return

    before, clock = signal.signal(number, time_is_up), threading.Thread(target=watch)
    clock.start()
    try:
        if cluster == "slurm":
            code = submission.run(race, str(tmp_path), files, limit=" of 60 min")
        else:
            code = submission.main([*map(str, (files.said, files.complained, files.code)), "60", *race])
    finally:
        over.set()
        clock.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(number, before)
    assert code == 130 and files.code.read_text() == "130"
    said = files.complained.read_text()
    assert said.endswith("photofinish: the job was stopped at its time limit of 60 min: --time gives it more\n")
    assert "interrupted" in said or "Stopped by hand" in said  # by the race itself


@pytest.mark.parametrize(("words", "message"), [
    (("--to", "slum", "--", *LIST), "slurm"),
    (("--to", "local", "--", "rac"), "race"),
    (("--to", "local", "--nodes", "2", "--", *LIST), "leave --nodes out"),
    (("--to", "local", "--set", "partition=long", "--", *LIST), "leave it out"),
    (("--to", "local", "--cpus", "2", "--", *LIST), "fewer with --threads"),
    (("--set", "=long", "--", *LIST), "--set partition=long"),
    (("--", *LIST), "--to local")])
def test_wrong_use_is_told(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = submitted(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr and "Traceback" not in done.stderr


def test_a_job_of_ray_says_here_what_its_command_says(tmp_path: Path) -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed: pip install ray")
    done = submitted("--to", "ray", "--cpus", "1", "--", *LIST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resnet50" in {each["name"] for each in json.loads(done.stdout)}
    refused = submitted("--to", "ray", "--cpus", "100000", "--", *LIST, cwd=tmp_path)
    assert refused.returncode == 2 and "cores" in refused.stderr


@pytest.mark.parametrize(("error", "told"), [(RuntimeError("the node went away\nat noon"), "the node went away"),
                                             (RuntimeError(), "RuntimeError")])
def test_a_job_that_ends_without_an_exit_code_says_where_to_look(tmp_path: Path, error: Exception, told: str) -> None:
    def lost() -> int:
        raise error
    job = submission.Job("7", submission.Files.new(tmp_path / "jobs"), lambda: True, lost, lambda: None)
    with pytest.raises(UsageError, match=f"job 7 ended without a result: {told}\n") as told_of:
        job.follow(sys.stdout, sys.stderr)
    assert told_of.value.hint.endswith(f"photofinish report --list --store {tmp_path}")


def test_a_job_has_ended_with_its_command_whatever_its_cluster_says(tmp_path: Path) -> None:
    def never() -> int:
        raise AssertionError("it waited for the cluster")
    files = submission.Files.new(tmp_path)
    files.end(3)
    assert submission.Job("7", files, lambda: False, never, lambda: None).follow(sys.stdout, sys.stderr) == 3
