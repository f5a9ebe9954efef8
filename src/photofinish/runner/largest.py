"""The largest batch that fits: fresh processes take a few steps of ever better chosen batches, under a stated limit.

That memory runs out is what is looked for, and no failure. Each trial is in the store before the next begins, so that a
search that was stopped goes on, and one that is known is not made again.
"""

import hashlib
import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from photofinish import machine
from photofinish.environments import switches
from photofinish.errors import UsageError
from photofinish.graph import Graph
from photofinish.measure.engine import RESIZED
from photofinish.optimizers import Optimizer
from photofinish.runner import limit
from photofinish.runner.allocator import GIVE_BACK
from photofinish.runner.arrange import check_links, open_course
from photofinish.runner.course import STEP_OF, Course
from photofinish.runner.entry import Entry
from photofinish.runner.groups import default_room
from photofinish.runner.meet import Meet
from photofinish.runner.parcel import adapter_digest
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.stats import largest
from photofinish.store import Store
from photofinish.values import MAX, Case, LargestBatch, Progress, Skip, Trial, to_json
from photofinish.weights import Arrays

DEVICE = "device"
OUT = "out of memory"
RACED = 0.9  # of the largest batch on a device: a race keeps three batches there, the search one
BREAKS = (OUT, "crash")  # what a batch that is too large ends in: not everybody bears being refused memory


def fixed_batch(batch: int | str | None, memory_limit: int | None, device: str) -> int | None:
    """The batch that was asked for, None where it is still open. Raises UsageError."""
    if isinstance(batch, str) and batch != MAX:
        raise UsageError(f"{batch!r} is not a batch", f"write a number, or {MAX}")
    if memory_limit is not None and batch != MAX:
        raise UsageError("a memory limit is that of a search for the largest batch", f"race with --batch {MAX}")
    if memory_limit is not None and device != "cpu":
        raise UsageError(f"the limit on {device} is the device's own memory", "leave --memory-limit out")
    most = machine.usable_memory()
    if memory_limit is not None and most is not None and memory_limit > most:
        raise UsageError(f"a memory limit of {_told(memory_limit)} is more than this machine has, {_told(most)}",
                         "choose less, or leave --memory-limit out: half of the machine's")
    return batch if isinstance(batch, int) else None


def _told(size: int) -> str:
    return f"{size / 2**30:,.1f} GiB"


def limit_of(memory_limit: int | None, device: str) -> int | None:
    """What a process may hold: what was asked for, or on a CPU as much as the contenders of a race together."""
    return memory_limit if memory_limit is not None or device != "cpu" else default_room()


def meet_at_the_smallest(meet: Meet, tasks: Sequence[str], case: Case, graph: Graph, optimizer: Optimizer,
                         weights: Arrays | None, size: int | None) -> tuple[Meet, Case]:
    """Those that can race at the smallest of their largest batches, and that case. Raises UsageError if that leaves
    nobody to race with."""
    cases = {task: replace(case, task=task) for task in tasks}
    check_links(meet.entries, cases.values())
    with open_course(meet.store, cases, graph, optimizer, meet.entries, lambda task, kind, *records: None, meet.seed,
                     meet.listener, meet.timeout, weights) as course:
        found = Search(course, meet.store, size).run()
    sizes = {each.contender: each.batch for each in found if each.batch}
    why = {each.contender: "not even one sample of it fits into memory" for each in found if not each.batch}
    out = tuple(Skip(entry.name, why.get(entry.name, "its largest batch could not be found"),
                     "photofinish largest-batch says why") for entry in meet.entries if entry.name not in sizes)
    if len(sizes) < meet.least:
        told = "; ".join(f"{each.contender}: {each.reason}" for each in out)
        more = "give them more with --memory-limit, or " if case.device == "cpu" else ""
        raise UsageError(f"fewer than two contenders are left to race ({told})", f"{more}choose a smaller --input")
    able = [entry for entry in meet.entries if entry.name in sizes]
    return replace(meet, entries=able, skipped={task: skips + out for task, skips in meet.skipped.items()},
                   largest=found), replace(case, batch=raced_at(min(sizes.values()), case.device))


def raced_at(smallest: int, device: str) -> int:
    """The batch of a race of those whose smallest largest batch that is."""
    return smallest if device == "cpu" else max(1, int(RACED * smallest))


class Search:
    """Searches for the contenders of a course, whose workers have `size` bytes each (None: what the device has): in
    training, which needs more, where a contender has it and it was asked for."""

    def __init__(self, course: Course, store: Store, size: int | None, anew: bool = False) -> None:
        """Raises UsageError for a contender that is several processes."""
        several = [entry.name for entry in course.entries if entry.contender.strategy]
        if several:
            raise UsageError(f"{several[0]}: the largest batch is looked for in one process",
                             "look for that of the contender without its strategy")
        self.course = course
        self.store = store
        self.size = size
        self.device_size = machine.device_memory() if course.case.device != "cpu" else None  # foretells, and ends none
        self.anew = anew

    def run(self) -> tuple[LargestBatch, ...]:
        """Of each contender that could be tried; a failure of another kind takes a contender out of the course."""
        return tuple(found for entry in list(self.course.live) if (found := self._largest(entry)) is not None)

    def _largest(self, entry: Entry) -> LargestBatch | None:
        task = max(STEP_OF.get(each, each) for each in self.course.tasks if each in entry.tasks)  # train, then infer
        key = self._key(entry, task)
        trials = () if self.anew else self.store.trials(key)
        try:
            while (batch := largest.next_batch(trials, self.size or self.device_size)) is not None:
                self._say(entry, task, trials, batch)
                trials += (self._trial(entry, task, batch, bool(largest.largest(trials))),)
                self.store.keep_trials(key, trials)
        except WorkerFailed as error:
            self.course.failed(entry, error, 0, "largest batch")
            return None
        fits, beyond = largest.largest(trials), largest.smallest_beyond(trials)
        return LargestBatch(entry.name, fits, beyond, largest.exact(trials), self.size, task, trials)

    def _trial(self, entry: Entry, task: str, batch: int, one_fits: bool) -> Trial:
        """Raises WorkerFailed if it fails for another reason than its size: where not even one sample fits, only memory
        is that."""
        course, patience, begin = self.course, self.course.patience, time.monotonic()
        how = DEVICE
        with ExitStack() as stack:
            try:
                worker = course.start(entry, 0, memory=GIVE_BACK)
                assert isinstance(worker, WorkerProcess)  # as `Search` sees to
                stack.callback(worker.kill)
                if self.size is not None:
                    how = stack.enter_context(limit.held(worker.pid, self.size))
                    stack.callback(worker.kill)  # before its group is removed
                worker.ask("load", patience.load, **course.load_arguments(entry))
                worker.ask("build", patience.build, **dict(course.build_arguments(), batch=batch))
                worker.ask("weights", patience.weights, **dict(course.weights_arguments(), count=0))
                reply = worker.ask("resize", patience.warm, task=task, batches=str(course.batches_file),
                                   sizes=[batch])
            except WorkerFailed as error:
                if error.kind == OUT or (error.kind in BREAKS and one_fits):
                    return Trial(batch, False, seconds=time.monotonic() - begin, kind=error.kind,
                                 message=error.message, held=how)
                raise
        device = reply["device_memory"]
        return Trial(batch, True, reply["memory"], device and device["peak"], time.monotonic() - begin, held=how)

    def _say(self, entry: Entry, task: str, trials: tuple[Trial, ...], batch: int) -> None:
        fits = largest.largest(trials)
        known = f", {fits} fits" if fits else ""
        self.course.listener(Progress("launch", f"largest batch of {entry.name}: trying {batch}{known} (trial "
                                      f"{len(trials) + 1} of up to {largest.MOST_TRIALS})", entry.name, task))

    def _key(self, entry: Entry, task: str) -> str:
        """Everything that memory depends on."""
        course = self.course
        of = replace(entry.contender, copy=1)
        told = [course.graph.digest, adapter_digest(of.framework, course.graph, of.mode, of.options), of.name,
                entry.home.record(), to_json(replace(course.case, batch=0, model="", task=task)), self.size, RESIZED,
                GIVE_BACK, machine.hardware(course.case.device), *filter(None, [switches.told(os.environ)])]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
