"""A command of Photofinish as a job of a cluster: of Slurm, through submitit; of Ray as a task; of this machine.

The job runs the command in this folder, with this Python, both of which the cluster's machines see at the same paths.
What it says goes into two files beside the store, which whoever waits for it reads as they grow; how it ended, into a
third, since a cluster notices the end of a job late, and that of all its tasks later.
"""

import codecs
import math
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from photofinish.errors import UsageError
from photofinish.store import DEFAULT_STORE, reading

CLUSTERS = ("slurm", "ray", "local")
ALLOCATED = "allocated"  # in a command: the machines that the job was given
REACH = "srun --overlap --nodes=1 --ntasks=1 --nodelist={host}"  # another machine of a job of Slurm's
PAUSE = 0.5  # seconds between two looks at a job
LAST_WORDS = 60.0  # seconds for those of one that was cancelled


@dataclass(frozen=True)
class Job:
    """One that was submitted; `wait` gives its exit code once the cluster has `ended` it, or raises what did so."""

    name: str
    files: "Files"
    ended: Callable[[], bool]
    wait: Callable[[], int]
    cancel: Callable[[], None]

    def follow(self, said: IO[str], complained: IO[str], begun: Callable[[], None] = lambda: None,
               cancelled: Callable[[], None] = lambda: None) -> int:
        """Copies what it says, until it ends; its exit code. Calls `begun` once it has a machine. At KeyboardInterrupt
        it is cancelled, which `cancelled` is called to tell, and its last words are copied before that goes on. Raises
        UsageError if it ended without an exit code."""
        copies = [_Copy(self.files.said, said), _Copy(self.files.complained, complained)]
        try:
            self._copy(copies, begun)
            return self._code()
        except KeyboardInterrupt:
            self.cancel()
            cancelled()
            self._copy(copies, limit=LAST_WORDS)
            raise

    def _copy(self, copies: Sequence["_Copy"], begun: Callable[[], None] = lambda: None,
              limit: float = math.inf) -> None:
        """Until it has ended, or for so many seconds."""
        deadline, waiting = time.monotonic() + limit, True
        while True:
            last = self.files.code.exists() or self.ended() or time.monotonic() > deadline
            if waiting and self.files.said.exists():
                begun()
                waiting = False
            for each in copies:
                each.go_on()
            if last:
                return
            time.sleep(PAUSE)

    def _code(self) -> int:
        if self.files.code.exists():
            return int(self.files.code.read_text())
        try:
            return self.wait()
        except Exception as error:
            store = self.files.said.parent.parent
            kept = reading("report --list", None if store == DEFAULT_STORE.absolute() else store)
            hint = f"see {self.files.complained}; what was measured is kept: {kept}"
            raise UsageError(f"job {self.name} ended without a result: {_lines(error)[0]}", hint) from error


@dataclass(frozen=True)
class Files:
    """What a job writes."""

    said: Path
    complained: Path
    code: Path  # the exit code of its command, once that has ended

    @classmethod
    def new(cls, folder: Path) -> "Files":
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        return cls(*((folder / f"{name}.{each}").absolute() for each in ("out", "err", "code")))

    def end(self, code: int) -> None:
        """Whoever sees the code's file sees the whole of it."""
        whole = self.code.with_suffix(".writing")
        whole.write_text(str(code))
        whole.replace(self.code)


@dataclass
class _Copy:
    """What a file has, onto a stream, as it grows. A letter may be half written: it is kept until the rest has come."""

    path: Path
    stream: IO[str]
    begin: int = 0
    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))

    def go_on(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self.begin)
            new = file.read()
        self.begin += len(new)
        self.stream.write(self.decoder.decode(new))
        self.stream.flush()


def submit(words: Sequence[str], cluster: str, folder: Path, nodes: int = 1, cpus: int | None = None,
           hours: float = 24.0, settings: Mapping[str, str] | None = None) -> Job:
    """Submits `photofinish WORDS`, in whose words `allocated` stands for the machines of the job. `cpus` are those of
    each of its `nodes`: all of a node that it does not share with others, by default. `settings` are sbatch's.

    Raises UsageError where the cluster, or what speaks to it, is not there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"what the job says cannot be kept in {folder}: {error.strerror}",
                         "choose a folder you may write to with --store FOLDER") from error
    if nodes > 1 and cluster != "slurm":
        raise UsageError(f"a job of {cluster} is on one machine here, not on {nodes}", "leave --nodes out, or use "
                         "--to slurm")
    if settings and cluster != "slurm":
        raise UsageError(f"--set {next(iter(settings))} is an option of Slurm's, not of {cluster}", "leave it out")
    if cpus and cluster == "local":
        raise UsageError("--cpus is for jobs of Slurm and Ray: one of this machine has all cores that it may use here",
                         "leave it out, and give contenders fewer with --threads")
    if cluster == "ray":
        return _to_ray(words, folder, cpus)
    minutes = math.ceil(round(60 * hours, 6))  # 0 would be no limit, or the end at once
    if cluster == "local":
        return _to_this_machine(words, folder, minutes)
    return _to_slurm(words, folder, nodes, cpus, minutes, settings or {})


def run(words: Sequence[str], cwd: str, files: Files, nodes: int = 1, limit: str = "") -> int:
    """In the job: the command, on the first of its machines; its exit code. It ends before the job does, which by its
    `limit` it is told by an exception, of submitit's a little earlier."""
    if nodes > 1 and int(os.environ.get("SLURM_PROCID", "0")):  # of one machine it may be what Ray was started by
        return 0  # the first reaches this machine itself
    variables = dict(os.environ)
    if "SLURM_JOB_ID" in os.environ:
        variables.setdefault("PHOTOFINISH_REACH", REACH)
    with files.said.open("ab") as out, files.complained.open("ab") as errors:
        process = subprocess.Popen([sys.executable, "-m", "photofinish", *_placed(words)], cwd=cwd, env=variables,
                                   stdout=out, stderr=errors, stdin=subprocess.DEVNULL)
        try:
            code = process.wait()
        except BaseException as error:  # the job is cancelled, or moved to other machines, or its time is up
            process.send_signal(signal.SIGINT)
            code = process.wait()
            if not isinstance(error, Exception):
                raise
            errors.write(f"photofinish: the job was stopped at its time limit{limit}: --time gives it more\n".encode())
    files.end(code)
    return code


def _placed(words: Sequence[str]) -> list[str]:
    """The command with the machines of the job, by themselves or as an option's (--hosts=allocated)."""
    options = (word.rpartition("=") for word in words)
    return [option + equals + ",".join(_allocated()) if value == ALLOCATED else option + equals + value
            for option, equals, value in options]


def _allocated() -> Sequence[str]:
    if os.environ.get("SUBMITIT_EXECUTOR") != "slurm":
        return [socket.gethostname()]
    from submitit import JobEnvironment
    return list(JobEnvironment().hostnames)


def _to_this_machine(words: Sequence[str], folder: Path, minutes: int) -> Job:
    """In a session of its own: Ctrl-C at the terminal is for whoever waits, who then tells it once."""
    files = Files.new(folder)
    told = map(str, (files.said, files.complained, files.code, minutes))
    with files.complained.open("ab") as errors:
        process = subprocess.Popen([sys.executable, "-m", "photofinish.submission", *told, *words], stderr=errors,
                                   stdout=errors, stdin=subprocess.DEVNULL, start_new_session=True)
    return Job(str(process.pid), files, lambda: process.poll() is not None, process.wait,
               lambda: process.send_signal(signal.SIGINT))


def main(arguments: Sequence[str]) -> int:
    """The process of a job of this machine: `_to_this_machine` starts it."""
    said, complained, code, minutes, *words = arguments

    def over(*_: object) -> None:
        raise TimeoutError
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 60 * int(minutes))
    try:
        return run(words, str(Path.cwd()), Files(Path(said), Path(complained), Path(code)), limit=f" of {minutes} min")
    except KeyboardInterrupt:
        return 130


def _to_slurm(words: Sequence[str], folder: Path, nodes: int, cpus: int | None, minutes: int,
              settings: Mapping[str, str]) -> Job:
    if not shutil.which("sbatch"):
        raise UsageError("there is no Slurm here: sbatch is not on PATH", "submit from a machine of the cluster, or "
                         "run it on this one: --to local")
    try:
        import submitit
    except ImportError as error:
        raise UsageError("jobs of Slurm take submitit, which is not installed for this Python",
                         "pip install submitit") from error
    executor = submitit.AutoExecutor(folder=folder / "%j", cluster="slurm")
    executor.update_parameters(name="photofinish", timeout_min=minutes, nodes=nodes, tasks_per_node=1)
    asked: dict[str, Any] = {"exclusive": True, **{name: value or True for name, value in settings.items()}}
    executor.update_parameters(slurm_additional_parameters=asked)
    if cpus:
        executor.update_parameters(cpus_per_task=cpus)
    files = Files.new(folder)
    try:
        job = executor.submit(run, list(words), str(Path.cwd()), files, nodes, f" of {minutes} min")
    except Exception as error:  # of sbatch, whose own words are in it
        raise UsageError(f"slurm did not take the job: {_lines(error)[-1]}",
                         "--set NAME=VALUE says what sbatch asks for: --set partition=short") from error
    return Job(str(job.job_id), files, lambda: bool(job.done()), lambda: int(job.results()[0]),
               lambda: job.cancel(check=False))


def _to_ray(words: Sequence[str], folder: Path, cpus: int | None) -> Job:
    try:
        import ray
    except ImportError as error:
        raise UsageError("jobs of Ray take ray, which is not installed for this Python",
                         "pip install ray") from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False, logging_level="ERROR")
    most = max(node["Resources"].get("CPU", 0) for node in ray.nodes())
    if cpus and cpus > most:
        raise UsageError(f"no machine of this Ray has {cpus} cores: the largest has {most:.0f}",
                         "ask for fewer: --cpus")
    files = Files.new(folder)
    task = ray.remote(num_cpus=cpus or most, max_retries=0)(run).remote(list(words), str(Path.cwd()), files)

    def ended() -> bool:
        return bool(ray.wait([task], timeout=0)[0])

    return Job(task.hex()[:12], files, ended, lambda: int(ray.get(task)), lambda: ray.cancel(task))


def _lines(error: Exception) -> Sequence[str]:
    return str(error).strip().splitlines() or [type(error).__name__]


def shown(words: Sequence[str]) -> str:
    return shlex.join(["photofinish", *words])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
