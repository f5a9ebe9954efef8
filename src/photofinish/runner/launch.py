"""One launch: a fresh process per contender, warmed up one after another, then rounds in random order in
which exactly one contender is awake."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from statistics import median
from typing import Any

from photofinish.runner import energy
from photofinish.runner.course import STEP_OF, Course
from photofinish.runner.entry import Entry
from photofinish.runner.groups import gather
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.stats.plan import BLOCK_SECONDS, block_steps
from photofinish.stats.steady import steady
from photofinish.values import Block, Launch, Phase, Progress, Trace, TracedStep, WarmUp, from_json

WARM_SECONDS = 8.0  # the longest a contender may take to settle after its first step
TRACED = 5  # steps of processes that are looked into after the timed ones
FOREIGN_LIMIT = 0.10  # a block in which others used more of the machine is repeated once, whoever it belongs to


def balanced_order(names: list[str], number: int, seed: int | str) -> list[str]:
    """A random order for an odd `number`, its reverse for the next: every position is shared fairly."""
    order = list(names)
    random.Random(f"{seed}/{(number + 1) // 2}").shuffle(order)
    return order if number % 2 else order[::-1]


def describe_phases(series: list[float]) -> dict[str, float]:
    """What the first call and the steps after it say, in seconds: compile, first step, warm-up."""
    _, before = steady(series[1:])
    return {"first_step": series[0], "compile": max(0.0, series[0] - typical_of(series)),
            "warm_up": sum(series[1:1 + before])}


def typical_of(series: list[float]) -> float:
    """Seconds of a step once settled, of the first step and those after it: of all after the first where they have not
    settled, of the first alone only where nothing came after it."""
    _, before = steady(series[1:])
    return median(series[1 + before:] or series[1:] or series)


class LaunchRun:
    """Runs one launch of a course, a group at a time. Records go out as they are made; a contender that fails is
    recorded and left behind."""

    def __init__(self, course: Course, number: int, rounds: int) -> None:
        self.course = course
        self.number = number
        self.rounds = rounds
        self.group = 0
        self.title = f"launch {number}"
        self.workers: dict[str, Worker] = {}
        self.typical: dict[tuple[str, str], float] = {}  # seconds per step, as they came out of the warm-up
        self.part = ""  # what is being timed, where it is not the model
        self.block_seconds = BLOCK_SECONDS

    def run(self) -> Launch:
        course, begin, title = self.course, time.monotonic(), self.title
        groups = gather(course, self.number)
        started = [balanced_order(group, self.number, course.seed) for group in groups]
        warmed = [balanced_order(group, self.number, course.seed + 1) for group in groups]
        for self.group in range(len(groups)):
            if len(groups) > 1:
                self.title = f"{title}, group {self.group + 1} of {len(groups)}"
            self._run_group(started[self.group], warmed[self.group])
        launch = Launch(self.number, course.seed, tuple(chain(*started)), tuple(chain(*warmed)),
                        time.monotonic() - begin, tuple(map(tuple, groups)) if len(groups) > 1 else ())
        course.record(None, "launches", launch)
        return launch

    def _run_group(self, started: list[str], warmed: list[str]) -> None:
        course = self.course
        entries = {entry.name: entry for entry in course.live if entry.name in started}
        if len(entries) < min(course.least, len(started)):  # the anchor failed in the group before: there is nobody
            return                                          # to compare with
        try:
            for name in started:
                if name in entries:
                    self._prepare(entries[name])
            self._get_ready(entries, warmed)
            for number in range(1, self.rounds + 1):
                self._round(entries, number)
            self._traces(entries)
            self._energies(entries)
            self._more(entries)
        finally:
            while self.workers:
                self.workers.popitem()[1].kill()

    def _more(self, entries: dict[str, Entry]) -> None:
        """What else is asked of the processes before they end."""

    def _prepare(self, entry: Entry) -> None:
        course = self.course
        course.listener(Progress("launch", f"{self.title}: starting {entry.name}", entry.name))
        with self._guard(entry, "start"):
            worker = course.start(entry, self.number)
            self.workers[entry.name] = worker
            self._phase(entry, "start", worker.start_seconds, worker.hello)
            reply = worker.ask("load", course.patience.load, **course.load_arguments(entry))
            self._phase(entry, "import", reply["seconds"], reply)
            reply = worker.ask("build", course.patience.build, **course.build_arguments())
            self._phase(entry, "build", reply["seconds"], reply)
            self._fill(entry, worker)
            worker.stop()

    def _fill(self, entry: Entry, worker: Worker) -> None:
        """Gives a contender that was built its weights and what it works on."""
        reply = worker.ask("weights", self.course.patience.weights, **self.course.weights_arguments())
        self._phase(entry, "weights", reply["seconds"], reply)
        self._phase(entry, "transfer", reply["transfer"], reply)

    def _get_ready(self, entries: dict[str, Entry], warmed: list[str]) -> None:
        for task in sorted(self.course.tasks):  # infer before train: its peak memory must not hold training's
            for name in warmed:
                if name in entries and self.course.runs(entries[name], task):
                    self._warm(entries[name], task)

    def _warm(self, entry: Entry, task: str) -> None:
        course = self.course
        course.listener(Progress("launch", f"{self.title}: warming up {entry.name} ({task})", entry.name, task))
        with self._guard(entry, "warm_up", task) as worker:
            if worker is None:
                return
            reply = worker.ask("warm", course.patience.warm, task=STEP_OF.get(task, task), limit=WARM_SECONDS)
            series = reply["series"]
            kind, before = steady(series[1:])
            course.record(task, "warm_ups", WarmUp(self.number, entry.name, task, tuple(series[1:]), kind, before))
            for name, seconds in describe_phases(series).items():
                self._phase(entry, f"{name}:{task}", seconds, reply, task)
            self.typical[entry.name, task] = typical_of(series)
            course.estimates.setdefault(task, {}).setdefault(entry.name, typical_of(series))

    def _round(self, entries: dict[str, Entry], number: int) -> None:
        course, kind = self.course, "part_blocks" if self.part else "blocks"
        for task in course.tasks:
            able = sorted(name for name in self.workers if self._runs(entries[name], task))
            order = balanced_order(able, number, f"{course.seed * 1000 + self.number}{self.part}")
            for position, name in enumerate(order):
                if name in course.out:
                    continue
                with self._guard(entries[name], "block", task) as worker:
                    if worker is None:
                        continue
                    block = self._block(worker, name, task, number, position)
                    if block.foreign is not None and block.foreign > FOREIGN_LIMIT:
                        again = self._block(worker, name, task, number, position)
                        course.record(task, kind, Block(**{**vars(block), "repeated": True}))
                        block = again
                    course.record(task, kind, block)
                course.sign_of_life()
        course.listener(Progress("block", f"{self.title}, round {number} of {self.rounds}", done=number,
                                 total=self.rounds))

    def _traces(self, entries: dict[str, Entry]) -> None:
        """What the processes of a strategy do in a step, which some cannot tell."""
        course = self.course
        for name in [each for each in sorted(self.workers) if entries[each].contender.strategy]:
            for task in [each for each in course.tasks if course.runs(entries[name], each)]:
                with self._guard(entries[name], "trace", task) as worker:
                    if worker is not None:
                        reply = worker.ask("trace", course.patience.block, task=task, steps=TRACED)
                        course.record(task, "traces", *(
                            Trace(self.number, name, rank, tuple(from_json(TracedStep, each) for each in steps))
                            for rank, steps in enumerate(reply["steps"]) if steps))

    def _energies(self, entries: dict[str, Entry]) -> None:
        """A run of several seconds of each, where there is a sensor."""
        course = self.course
        for task in course.tasks if course.meter else ():
            able = sorted(name for name in self.workers if course.runs(entries[name], task))
            for position, name in enumerate(balanced_order(able, self.number, course.seed + 2)):
                with self._guard(entries[name], "energy", task) as worker:
                    if worker is not None and course.meter is not None:
                        course.listener(Progress("launch", f"{self.title}: energy of {name} ({task})", name, task))
                        block = partial(self._timed, worker, name, task, self.rounds + 1, position)
                        self._energy(block, name, task)

    def _energy(self, block: Callable[[int], Block], name: str, task: str) -> None:
        """A disturbed run is repeated once, as blocks are."""
        run = partial(energy.measure, block=block, steps=energy.run_steps(self._pace(name, task)))
        taken = energy.ask(self.course, run)
        if taken is not None and taken.foreign is not None and taken.foreign > FOREIGN_LIMIT:
            taken = energy.ask(self.course, run)
        if taken is not None:
            self.course.record(task, "energies", taken)

    def _pace(self, name: str, task: str) -> float:
        """Seconds from one step to the next."""
        return self.typical[name, task]

    def _block(self, worker: Worker, name: str, task: str, number: int, position: int) -> Block:
        steps = block_steps(self.typical[name, task], self.block_seconds)
        return self._timed(worker, name, task, number, position, steps)

    def _timed(self, worker: Worker, name: str, task: str, number: int, position: int, steps: int) -> Block:
        reply = worker.ask("block", self.course.patience.block, task=task, steps=steps)
        return Block(self.number, number, position, name, task, tuple(reply["seconds"]), reply["cpu"], reply["faults"],
                     reply["foreign"], reply["resume"], reply["loss"], group=self.group, part=self.part,
                     period=reply.get("period", 1))

    @contextmanager
    def _guard(self, entry: Entry, phase: str, task: str = "") -> Iterator[Worker | None]:
        """Wakes the contender for what is inside and stops it afterwards; a failure is recorded."""
        worker = self.workers.get(entry.name)
        alive = worker if entry.name not in self.course.out else None
        try:
            if alive is not None:
                alive.wake()
            yield alive
            if alive is not None:
                alive.stop()
        except WorkerFailed as error:
            self._failed(entry, error, phase, task)

    def _failed(self, entry: Entry, error: WorkerFailed, phase: str, task: str) -> None:
        """Records it as the contender's result, which ends its race; in that of another task it is there again from
        the next launch on."""
        others = any(self.course.runs(entry, each) for each in self.course.tasks if each != task)
        self.course.failed(entry, error, self.number, f"{phase}:{task}" if task else phase,
                           task if others else "")
        self._end(entry.name)

    def _end(self, name: str) -> None:
        worker = self.workers.pop(name, None)
        if worker is not None:
            worker.kill()

    def _runs(self, entry: Entry, task: str) -> bool:
        """Whether it takes part in the blocks of a task."""
        return self.course.runs(entry, task)

    def _phase(self, entry: Entry, name: str, seconds: float, reply: dict[str, Any], task: str | None = None) -> None:
        self.course.seen(entry, reply)
        device = reply.get("device_memory")
        self.course.record(task, "phases", Phase(self.number, entry.name, name, seconds, reply.get("memory", 0),
                                                 device and device["peak"], "warm"))
