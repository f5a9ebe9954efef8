"""What all launches of one session share: the scratch folder with graph, weights and batches, the
interpreters, the environment that workers are started in, and where records go."""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from photofinish import models
from photofinish.data import draw_batch
from photofinish.environments import GIVEN, start, switches
from photofinish.errors import UsageError
from photofinish.files.names import translated
from photofinish.graph import Graph
from photofinish.machine import usable_cores
from photofinish.measure import sabotage
from photofinish.optimizers import Optimizer, optimizer_json
from photofinish.runner import again, allocator
from photofinish.runner.entry import Entry
from photofinish.runner.headway import Headway
from photofinish.runner.links import Host
from photofinish.runner.machines import Machine
from photofinish.runner.parcel import pack
from photofinish.runner.process import Worker, WorkerFailed, WorkerProcess
from photofinish.runner.ranks import Ranks, share
from photofinish.runner.watchdog import Watchdog, mark_of
from photofinish.sensors import Meter
from photofinish.values import SERVE, Case, Failure, Progress
from photofinish.weights import Arrays, initial_state

BATCHES = 3  # input batches that rotate
STEP_OF = {"epoch": "train", "fit": "train", SERVE: "infer"}  # what other tasks do over and over: it is tried first

# What the shell says about Python reaches a worker in this Python alone (`start`), which is seen with it, too.
NOT_INHERITED = (*start.NODE_VARIABLES, *dict(start.SETTINGS.values()), *allocator.KEEP, *switches.THREADS)
# Where nothing is timed, OpenMP's threads that wait for others soon leave their cores to whoever has work, as those of
# GCC's library (GOMP) do not by themselves: beside another program a proof in PyTorch took eight times as long.
CALM: Mapping[str, str] = {"GOMP_SPINCOUNT": "5000", "OMP_WAIT_POLICY": "PASSIVE"}


class Recorder(Protocol):
    """Where records go, at once. `task` None means every race of the session."""

    def __call__(self, task: str | None, kind: str, *records: Any) -> None: ...


@dataclass(frozen=True)
class Patience:
    """Seconds before a silent worker counts as hung, by what it was asked; running time only."""

    start: float = 120.0
    load: float = 600.0
    build: float = 600.0
    weights: float = 300.0
    warm: float = 1800.0
    block: float = 600.0
    probe: float = 300.0
    prove: float = 7200.0
    epoch: float = 7200.0
    serve: float = 7200.0

    @classmethod
    def of(cls, seconds: float | None) -> "Patience":
        """The same limit for every request, or the defaults."""
        return cls() if seconds is None else cls(*([seconds] * len(fields(cls))))

    @property
    def asked(self) -> float | None:
        """The limit that is the same for every request; None where each has its own."""
        limits = set(astuple(self))
        return limits.pop() if len(limits) == 1 else None


UNHURRIED = Patience()  # with the referee's own work, which a time-out of contenders does not end


def too_large(batch: int) -> UsageError:
    """The error for a batch that cannot even be drawn here."""
    return UsageError(f"a batch of {batch} does not fit in this machine's memory",
                      "choose a smaller --batch; the largest that fits is found by: photofinish largest-batch MODEL")


@dataclass(frozen=True)
class Work:
    """What contenders are built from and fed with, as files: a graph, its weights, `count` batches."""

    graph: Path
    state: Path
    batches: Path
    count: int

    @classmethod
    def write(cls, folder: Path, graph: Graph, batch: int, seed: int, weights: Arrays | None = None,
              name: str = "model", count: int = BATCHES) -> "Work":
        """Draws what is not given. What was written under that name before is gone."""
        work = cls(folder / f"{name}.json", folder / f"{name}-state.npz", folder / f"{name}-batches.npz", count)
        work.graph.write_text(json.dumps(graph.to_json()))
        state = initial_state(graph, seed) if weights is None else weights
        np.savez(work.state, **state)  # type: ignore[arg-type]
        try:
            batches = {f"{i}/{name}": values for i in range(count)
                       for name, values in draw_batch(graph, batch, seed + i).items()}
        except MemoryError as error:
            raise too_large(batch) from error
        np.savez(work.batches, **batches)  # type: ignore[arg-type]
        return work


@dataclass
class Course:
    """One session: the same model, batch and contenders for each of its cases (one per task)."""

    cases: dict[str, Case]
    graph: Graph
    optimizer: Optimizer
    entries: list[Entry]
    folder: Path
    record: Recorder
    seed: int
    patience: Patience = field(default_factory=Patience)
    listener: Callable[[Progress], None] = lambda progress: None
    out: set[str] = field(default_factory=set)  # contenders that failed: their failure is their result
    estimates: dict[str, dict[str, float]] = field(default_factory=dict)  # task -> contender -> seconds per step
    periods: dict[tuple[str, str], int] = field(default_factory=dict)  # (task, contender) -> steps that go together
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)  # contender -> what its framework says of itself
    weights: Arrays | None = None  # the user's own instead of drawn ones
    room: int | None = None  # bytes that the workers of a launch may hold together; None: no limit
    least: int = 2  # contenders without which nothing is run: fewer than two cannot be compared
    anchor: str = ""  # who is in every group where they do not fit (`runner.groups`)
    peaks: dict[str, int] = field(default_factory=dict)  # contender -> the most bytes it was seen to hold
    device_peaks: dict[str, int] = field(default_factory=dict)  # ... and its framework to give out on the device
    preparation: dict[str, float] = field(default_factory=dict)  # contender -> seconds until warmed up, caches cold
    resize: bool = False  # whether the rehearsal also tries another batch size
    retired: set[tuple[str, str]] = field(default_factory=set)  # (task, contender): too slow, or failed in it
    hosts: tuple[Host | Machine, ...] = ()  # of the processes of a contender, where the case has a link, or machines
    meter: Meter | None = None  # of energy, where there is one and it is asked for
    headway: Headway | None = None  # of the proof that now runs

    def __post_init__(self) -> None:
        self.watchdog = Watchdog()
        self.watchdog.clear(self.folder)  # first of all: what is drawn into it may be large, and take its time
        try:
            self.rooms = pack(self.folder / "worker")
            self.work = Work.write(self.folder, self.graph, self.case.batch, self.seed, self.weights)
        except BaseException:
            self.watchdog.close()
            raise
        self.batches_file = self.work.batches

    @property
    def case(self) -> Case:
        """What the cases of the session have in common (any of them)."""
        return next(iter(self.cases.values()))

    @property
    def tasks(self) -> list[str]:
        return list(self.cases)

    @property
    def trains(self) -> bool:
        """Whether anything is raced that takes training steps."""
        return any(STEP_OF.get(task, task) == "train" for task in self.tasks)

    def forward_only(self, entry: Entry) -> bool:
        """Whether its outputs in inference are all that is proven of it: there is nothing else that it, or anybody
        here, is raced at, or its training has failed."""
        return entry.forward_only or not any(
            STEP_OF.get(task, task) == "train" and (task, entry.name) not in self.retired for task in self.tasks)

    @property
    def live(self) -> list[Entry]:
        """The contenders still in a race."""
        return [entry for entry in self.entries if any(self.runs(entry, task) for task in self.tasks)]

    def field_of(self, task: str) -> list[Entry]:
        """Those of them that run in the race of a task."""
        return [entry for entry in self.entries if self.runs(entry, task)]

    def runs(self, entry: Entry, task: str) -> bool:
        """Whether it is still in the race of a task."""
        return task in entry.tasks and entry.name not in self.out and (task, entry.name) not in self.retired

    def seen(self, entry: Entry, reply: dict[str, Any]) -> None:
        """Remembers the most memory that it was seen to hold."""
        self.peaks[entry.name] = max(self.peaks.get(entry.name, 0), reply.get("memory", 0))
        if on_device := reply.get("device_memory"):
            self.device_peaks[entry.name] = max(self.device_peaks.get(entry.name, 0), on_device["peak"])

    @property
    def contested(self) -> bool:
        """Whether there is a race left with contenders enough."""
        return any(len(self.field_of(task)) >= self.least for task in self.tasks)

    def start(self, entry: Entry, launch: int, memory: Mapping[str, str] = allocator.KEEP,
              timed: bool = True) -> Worker:
        """A fresh worker, pinned to the case's cores; of a strategy one for each rank, if they are `timed` on hosts of
        their own where the case has a link or machines. `memory` is what becomes of what it frees. Raises
        WorkerFailed."""
        place = f"{launch}-{self.place(entry)}"
        if not entry.contender.strategy:
            return self._process(entry, place, self._environment(entry, memory, timed=timed))
        apart = timed and self.hosts and entry.processes > 1
        hosts: Sequence[Host | Machine | None] = self.hosts[:entry.processes] if apart else [None] * entry.processes
        seen = self.case.device == "cpu" and not any(isinstance(host, Machine) for host in hosts)
        return Ranks(entry.processes, lambda rank: self._process(
            entry, f"{place}-rank{rank}",
            self._environment(entry, memory, *_place_on(hosts, rank), timed), hosts[rank], greets=False),
            tempfile.mkdtemp(prefix="meeting-", dir=self.folder), self.sign_of_life, entry.contender.world,
            seen, [host.name if isinstance(host, Machine) else "" for host in hosts])

    def _process(self, entry: Entry, place: str, variables: dict[str, str], host: Host | Machine | None = None,
                 greets: bool = True) -> WorkerProcess:
        mark = mark_of(f"{self.folder.name}-{place}")
        self.watchdog.watch(mark)
        command = start.command(entry.home, self.rooms)
        if host is not None:
            command, variables = host.started(command, variables, self.folder / f"{place}.sh")
        return WorkerProcess(command, variables, self.folder / f"{place}.log", mark, self.patience.start,
                             self.sign_of_life, greets=greets)

    def place(self, entry: Entry) -> str:
        """What its files here are called by: its number in the field; of one that is none of the field but proven for
        the sake of another, its name in letters."""
        if entry in self.entries:
            return str(self.entries.index(entry))
        return re.sub(r"\W", "-", entry.name)

    def cache(self, entry: Entry) -> Path:
        """Where its compiler keeps what it has made."""
        return self.folder / "cache" / self.place(entry)

    def start_reference(self, entry: Entry) -> WorkerProcess:
        """A worker for the referee's reference, which is no contender of the race: it keeps what memory it has. Raises
        WorkerFailed."""
        mark = mark_of(f"{self.folder.name}-reference")
        self.watchdog.watch(mark)
        variables = {**CALM, **start.variables(entry.home, os.environ, self.folder / "cache" / "reference"),
                     **allocator.KEEP}
        return WorkerProcess(start.command(entry.home, self.rooms), variables, self.folder / "reference.log", mark,
                             UNHURRIED.start, self.sign_of_life)

    def load_arguments(self, entry: Entry) -> dict[str, Any]:
        """What a worker needs to make this contender: its framework, Setup, and what was planted in it."""
        case, of = self.case, entry.stepping
        options = entry.home.framework.options_told(of.options)
        threads = int(options.pop("threads", case.threads))
        options.pop("allocator", None)  # which is its process's
        planted = {key: options.pop(key) for key in sabotage.OPTIONS if key in options}
        source = options.get("build", "").partition(":")[0]
        known = models.find(case.model).names.get(source, ()) if source else ()
        names = translated(self.graph, known)
        setup = {"mode": of.mode, "options": options, "device": case.device, "threads": threads,
                 "precision": case.precision, "regime": case.regime, "seed": self.seed, "names": names}
        driver = {"driver": entry.driver} if entry.driver else {}
        return {"framework": of.framework, **driver, "setup": setup, "sabotage": planted}

    def load(self, worker: Worker, entry: Entry) -> dict[str, Any]:
        """Makes the contender in its worker. Its facts are known from then on, and what the user's own environment
        tells frameworks is one of them: a certificate earned under a switch speaks of that switch. Returns the
        worker's reply. Raises WorkerFailed."""
        reply = worker.ask("load", self.patience.load, **self.load_arguments(entry))
        told = switches.told(os.environ, NOT_INHERITED + tuple(
            entry.home.framework.environment_with(entry.contender.options)))
        self.facts[entry.name] = {**reply["facts"], **({"environment": told} if told else {})}
        return reply

    def build_arguments(self, work: Work | None = None) -> dict[str, Any]:
        """Of the model, or of other work. An optimizer is for who trains: inference holds no slots, and may be of a
        single sample."""
        return {"graph": str((work or self.work).graph), "batch": self.case.batch,
                "optimizer": optimizer_json(self.optimizer) if self.trains else None}

    def weights_arguments(self, work: Work | None = None) -> dict[str, Any]:
        work = work or self.work
        return {"state": str(work.state), "batches": str(work.batches), "count": work.count}

    def failed(self, entry: Entry, error: WorkerFailed, launch: int, phase: str, task: str = "",
               shown: str = "") -> None:
        """Records a failure as a result and takes the contender out of the race, of that task alone where one is
        named; `shown` is the command that shows it again where that is no race."""
        self.out.update(() if task else [entry.name])
        self.retired.update([(task, entry.name)] if task else ())
        tried = [task] if task else [each for each in self.tasks if each in entry.tasks]
        failure = Failure(entry.name, error.kind, error.message, launch, phase, error.log, shown or again.command(
            self.case, entry.name, self.seed, proven=launch > 0, weights=self.weights is not None,
            given=entry.home.origin == GIVEN, tasks=tried or entry.tasks[:1], timeout=self.patience.asked))
        self.record(task or None, "failures", failure)
        left = f" ({task} alone: it stays in the other race)" if task else ""
        self.listener(Progress("failure", f"{entry.name}: {error.kind}: {error.message}{left}", entry.name, task))

    @contextmanager
    def proving(self, folder: Path, label: str, do: str = "prove", forward_only: bool = False) -> Iterator[None]:
        """Signs of life say how far that part of a proof is, meanwhile."""
        self.headway = Headway(folder, label, do, forward_only)
        try:
            yield
        finally:
            self.headway = None

    def sign_of_life(self) -> None:
        """Tells whoever watches that a long request goes on, and keeps up with counters of energy."""
        if self.meter is not None:
            with suppress(OSError):  # the next reading that somebody needs will say so
                self.meter.follow()
        self.listener(self.headway.told() if self.headway else Progress("waiting"))

    def close(self) -> None:
        self.watchdog.close()

    def _environment(self, entry: Entry, memory: Mapping[str, str], rank: int = 0, ranks: int = 1, timed: bool = True
                     ) -> dict[str, str]:
        """`rank` is which it is of those `ranks` that share the cores of its machine."""
        case = self.case
        threads = entry.contender.threads(case.threads) // entry.processes
        cores = share(usable_cores(), threads, rank, ranks)
        inherited = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
        environment = start.variables(entry.home, inherited, self.cache(entry), entry.contender.options)
        environment["PHOTOFINISH_CORES"] = ",".join(map(str, cores))
        if case.regime == "matched":
            environment.update({name: str(threads) for name in switches.THREADS})
        return {**({} if timed else CALM), **environment, **allocator.variables(entry.contender, case, memory)}


def _place_on(hosts: Sequence[Host | Machine | None], rank: int) -> tuple[int, int]:
    """Which of the ranks it is that share the cores of its machine, and how many they are."""
    host = hosts[rank]
    return (hosts[:rank].count(host), hosts.count(host)) if isinstance(host, Machine) else (rank, len(hosts))
