"""A meet: the contenders that one command brings together, and the races it begins in the store."""

import secrets
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from photofinish import machine
from photofinish.environments import Choice
from photofinish.errors import UsageError
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.runner.arrange import (
    SEEDS,
    check_links,
    check_shares,
    find_entries,
    find_hosts,
    left_out,
    named,
    open_course,
)
from photofinish.runner.course import Course, Recorder
from photofinish.runner.entry import Entry
from photofinish.store import Store
from photofinish.values import Case, Failure, LargestBatch, Progress, Race, Skip
from photofinish.weights import Arrays

_MEASURED = "what had been measured until then is here"
KILLED = Failure("", "interrupted", f"the process that ran it was killed; {_MEASURED}")
STOPPED = Failure("", "interrupted", f"stopped by hand; {_MEASURED}")
Listener = Callable[[Progress], None]
Places = Mapping[str, Path | str] | Sequence[str]


@dataclass(frozen=True)
class Meet:
    """Contenders with their environments; `skipped` are those left out, by task; `largest` their largest batches, where
    these were looked for."""

    store: Store
    entries: list[Entry]
    skipped: dict[str, tuple[Skip, ...]]
    margin: float
    seed: int
    command: str
    session: str
    listener: Listener
    timeout: float | None
    least: int
    largest: tuple[LargestBatch, ...] = ()

    @classmethod
    def of(cls, contenders: Sequence[str], tasks: Sequence[str], device: str, store: Path | str, *, margin: float,
           seed: int | None, command: str | None, listener: Listener | None, timeout: float | None,
           environments: Places, make_environments: bool | None, least: int = 2) -> "Meet":
        """Finds the contenders, in environments made now where they must be; at least `least` of them must be found.

        Raises UsageError.
        """
        choice = Choice.of(environments, make_environments)
        kept = Store(Path(store))
        lacking = left_out(tasks, named(contenders, device, choice), least)  # before an environment is made for anybody
        entries, absent = find_entries(contenders, device, choice, listener, tasks)
        if len(entries) < least:
            raise UsageError("a race needs two contenders", "name them with --contenders torch:eager,tensorflow:graph; "
                                                            "see: photofinish list contenders")
        skipped = {each: tuple({skip.contender: skip for skip in absent + skips}.values())
                   for each, skips in lacking.items()}
        return cls(kept, entries, skipped, margin, secrets.randbelow(SEEDS) if seed is None else seed,
                   command or "photofinish " + shlex.join(sys.argv[1:]),
                   time.strftime("%Y%m%d-%H%M%S-") + secrets.token_hex(2), listener or (lambda progress: None), timeout,
                   least)

    def begin(self, cases: Mapping[str, Case], ending: str = "") -> dict[str, Race]:
        """Enters a race for each case (one per task) in the store; `ending` tells its id from those of other cases.

        Raises UsageError.
        """
        check_shares(self.entries, cases.values())
        check_links(self.entries, cases.values())
        if any(case.hosts for case in cases.values()):  # before anything is in the store
            self.store.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.store.folder) as folder:
                find_hosts(self.entries, cases, Path(folder).resolve())
        facts, created = machine.facts(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
        homes = {entry.name: entry.home.record() for entry in self.entries}
        races = {task: Race(f"{self.session}-{task}{ending}", case,
                            tuple(entry.name for entry in self.entries if task in entry.tasks), self.margin, created,
                            self.command, facts, skipped=self.skipped[task], environments=homes, largest=self.largest)
                 for task, case in cases.items()}
        for race in races.values():
            self.store.begin(race, self.session)
        return races

    @contextmanager
    def course(self, races: Mapping[str, Race], graph: Graph, optimizer: Optimizer, weights: Arrays | None,
               room: int | None, name: str = "") -> Iterator[Course]:
        """The course of those races; progress is told under its `name`, where there are several. If this process is
        killed meanwhile, each of them says so."""
        cases = {task: race.case for task, race in races.items()}
        listener = self.listener if not name else lambda progress: self.listener(
            replace(progress, text=f"{name}: {progress.text}" if progress.text else "", task=name))
        with open_course(self.store, cases, graph, optimizer, self.entries, _recorder(self.store, races), self.seed,
                         listener, self.timeout, weights, room, self.least) as course:
            for race in races.values():
                course.watchdog.will(self.store.path.resolve(), *self.store.appending(race.id, "failures", KILLED))
            yield course

    def stopped(self, races: Iterable[Race]) -> None:
        """Writes down that they were stopped by hand: whoever reads them later was not there."""
        for race in races:
            self.store.append(race.id, "failures", STOPPED)

    def tell_skips(self) -> None:
        """Says who is left out of what."""
        for task, skips in self.skipped.items():
            for skip in skips:
                self.listener(Progress("plan", f"{skip.contender} is left out of task {task}: {skip.reason}",
                                       skip.contender, task))


def _recorder(store: Store, races: Mapping[str, Race]) -> Recorder:
    def record(task: str | None, kind: str, *records: object) -> None:
        for each in races if task is None else (task,):
            skipped = {skip.contender for skip in races[each].skipped}
            store.append(races[each].id, kind,
                         *(record for record in records if getattr(record, "contender", "") not in skipped))
    return record
