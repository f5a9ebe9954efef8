"""The rehearsal (launch 0): each contender alone in a fresh process with an empty compile cache and the
default allocator. It gives cold phases, memory, what the audit probes, and the certificate.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from photofinish.environments import TASKS
from photofinish.referee import audit
from photofinish.referee.certificate import GROUPS
from photofinish.runner import remote
from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.course import STEP_OF, Course
from photofinish.runner.entry import Entry
from photofinish.runner.groups import crowd_device
from photofinish.runner.launch import FOREIGN_LIMIT, WARM_SECONDS, describe_phases
from photofinish.runner.notary import Notary
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.stats.steady import steady
from photofinish.values import Certificate, Finding, Memory, Phase, Progress, Resize, WarmUp

STEADY_STEPS = 2  # beside which memory is looked at, when nothing is compiled any more
REFERENCE = 120  # bytes of a parameter that the reference may take: with some 100 left, VGG-19's was killed for memory
OUTPUTS = GROUPS["output"].format("inference")
SEEN = 0.1  # seconds from which the CPU time of others can be told: it is counted in hundredths


class Rehearsal:
    """Runs launch 0 of a course: first everybody's steps, so that there is something to see early, then the
    proofs. Without a notary nothing is proven, and nothing will be comparable."""

    def __init__(self, course: Course, notary: Notary | None) -> None:
        self.course = course
        self.notary = notary
        self.workers: dict[str, Worker] = {}
        self.probes: dict[str, dict[str, Any]] = {}
        self.unproven: list[str] = []
        self.quiet = True

    def run(self) -> None:
        course = self.course
        entries = list(course.live)  # in the order given: each is alone here, and the first figures come early
        try:
            for entry in entries:
                self._guarded(entry, self._rehearse)
                self._guarded(entry, self._part)
            hazards = {entry.name: entry.hazards(course.case.device) for entry in entries if entry.name in self.probes}
            unused = {entry.name: entry.unused for entry in entries
                      if entry.name in self.probes and course.case.device == "cpu"}
            formats = {entry.name: entry.coarse[0] for entry in entries if entry.coarse}
            for task in course.tasks:  # whose contenders alone are compared
                probes = {entry.name: self.probes[entry.name] for entry in entries
                          if entry.name in self.probes and task in entry.tasks}
                course.record(task, "audit", *audit.findings(probes, course.case, formats))
            course.record(None, "audit", *audit.builds(hazards), *audit.kernels(self.probes, unused))
            for entry in sorted(entries, key=lambda each: each.rests_on is not None):  # which rest on others' proofs
                if entry.name in self.unproven:
                    self._guarded(entry, self._certify)
        finally:
            while self.workers:
                self.workers.popitem()[1].kill()

    def _guarded(self, entry: Entry, act: Callable[[Entry], None]) -> None:
        if entry.name in self.course.out:
            return
        try:
            act(entry)
        except WorkerFailed as error:
            self.course.failed(entry, error, 0, "rehearsal")
            if entry.name in self.workers:
                self.workers.pop(entry.name).kill()

    def _rehearse(self, entry: Entry) -> None:
        course, patience, begin = self.course, self.course.patience, time.monotonic()
        self._say(entry, "starting")
        worker = self.workers[entry.name] = course.start(entry, 0, memory=AS_IT_LIKES)
        self._phase(entry, "start", worker.start_seconds, worker.hello)
        reply = course.load(worker, entry)
        self._phase(entry, "import", reply["seconds"], reply)
        reply = worker.ask("build", patience.build, **course.build_arguments())
        self._phase(entry, "build", reply["seconds"], reply)
        reply = worker.ask("weights", patience.weights, **course.weights_arguments())
        self._phase(entry, "weights", reply["seconds"], reply)
        for task in (tasks := sorted(set(course.tasks) & set(entry.tasks))):  # infer first: its peak must not hold
            try:                                                               # training's
                self._warm(worker, entry, task)
            except WorkerFailed as error:
                if task == tasks[0]:
                    raise
                worker = self._without(entry, task, error)
        course.record(None, "audit", _cache(entry, course.cache(entry)))
        course.preparation[entry.name] = time.monotonic() - begin
        self._say(entry, "probing what it really runs")
        self.probes[entry.name] = remote.probe(worker, patience.probe, course.facts[entry.name], course.folder)
        for task in tasks if course.resize else ():
            if course.runs(entry, task):
                self._resize(worker, entry, task)
        worker.stop()

    def _without(self, entry: Entry, task: str, error: WorkerFailed) -> Worker:
        """What fails in training may still be raced in inference: a fresh worker for what is left of its tasks."""
        course = self.course
        course.failed(entry, error, 0, "rehearsal", task)
        self.workers.pop(entry.name).kill()
        worker = self._again(entry)
        worker.ask("build", course.patience.build, **course.build_arguments())
        worker.ask("weights", course.patience.weights, **course.weights_arguments())
        return worker

    def _part(self, entry: Entry) -> None:
        """Its certificate may be known already. Whoever is still to be proven waits, where memory allows it."""
        known = self.notary.known(entry) if self.notary is not None else None
        if self.notary is not None and known is None:
            self.unproven.append(entry.name)
            waiting = sum(self.course.peaks.get(name, 0) for name in self.workers)
            waiting += REFERENCE * self.course.graph.parameter_count  # which is computed beside them
            linked = entry.processes > 1 and self.course.hosts  # proofs take many steps, and say nothing of links
            fits = self.course.room is None or waiting <= self.course.room
            if not linked and fits and not crowd_device(self.course, list(self.workers)):
                return
        self.workers.pop(entry.name).kill()
        if known is not None:
            self._settle(entry, known)

    def _certify(self, entry: Entry) -> None:
        assert self.notary is not None
        if not self.quiet and entry.name in self.workers:
            self.workers.pop(entry.name).kill()
        worker = self.workers.get(entry.name) or self._again(entry)
        worker.wake()
        known = self.notary.known(entry)  # by now, if it is a copy of one before it
        earned = known or self.notary.certify(worker, entry, lambda text: self._say(entry, text))
        self.workers.pop(entry.name).kill()
        self._settle(entry, earned)

    def _again(self, entry: Entry) -> Worker:
        """A fresh worker for the proof of one whose worker could not wait, or would wait for cores that others use."""
        worker = self.workers[entry.name] = self.course.start(entry, 0, memory=AS_IT_LIKES, timed=False)
        worker.ask("load", self.course.patience.load, **self.course.load_arguments(entry))
        return worker

    def _warm(self, worker: Worker, entry: Entry, task: str) -> None:
        course = self.course
        self._say(entry, f"first steps ({task})")
        reply = worker.ask("warm", course.patience.warm, task=STEP_OF.get(task, task), limit=WARM_SECONDS)
        series = reply["series"]
        course.record(task, "warm_ups", WarmUp(0, entry.name, task, tuple(series[1:]), *steady(series[1:])))
        for name, seconds in describe_phases(series).items():
            self._phase(entry, f"{name}:{task}", seconds, reply, task, look=name == "warm_up")
        reply = worker.ask("block", course.patience.block, task=STEP_OF.get(task, task), steps=STEADY_STEPS)
        self._phase(entry, f"steady:{task}", sum(reply["seconds"]), reply, task)
        course.periods[task, entry.name] = reply.get("period", 1)
        if self.quiet and crowd(reply):  # said once, before the long proofs
            self.quiet = False
            course.listener(Progress("warning", crowd(reply), entry.name, task))
        course.estimates.setdefault(STEP_OF.get(task, task), {})[entry.name] = median(series[1:] or series)

    def _resize(self, worker: Worker, entry: Entry, task: str) -> None:
        """To another batch size and back. Who takes no other is none the worse for it."""
        course, batch = self.course, self.course.case.batch
        sizes = [batch - 1 if batch > 2 else batch + 1, batch]  # BatchNorm has no variance of one
        self._say(entry, f"batches of {sizes[0]} ({task})")
        try:
            reply = worker.ask("resize", course.patience.warm, task=STEP_OF.get(task, task), sizes=sizes,
                               batches=str(course.batches_file))
            found = [Resize(entry.name, task, size, tuple(seen["seconds"]), seen["compilations"])
                     for size, seen in zip(sizes, reply["sizes"])]
        except WorkerFailed as error:
            if error.kind in ("hang", "protocol") or not worker.alive:  # it may still be at it
                raise
            found = [Resize(entry.name, task, sizes[0], (), refused=error.message)]
        course.record(task, "resizes", *found)

    def _settle(self, entry: Entry, earned: Certificate) -> None:
        """A refused contender is out of the race: its time would be the time of something else. Of inference it is not
        if its outputs passed."""
        course = self.course
        refused = [check for check in earned.checks if not check.passed]
        if not refused:
            for task in course.tasks:
                if course.runs(entry, task):
                    course.record(task, "certificates", earned)
            return
        first = refused[0]
        error = WorkerFailed("wrong answer", f"{first.group}: error {first.error:.3g} where {first.allowed:.3g} is "
                                             f"allowed (worst: {first.worst})")
        outputs = of_outputs(earned, error.message)
        if outputs is None or not all(task in course.tasks and course.runs(entry, task) for task in TASKS):
            course.record(None, "certificates", earned)
            raise error
        course.record("train", "certificates", earned)
        course.record("infer", "certificates", outputs)
        course.failed(entry, error, 0, "rehearsal", "train")

    def _say(self, entry: Entry, text: str) -> None:
        task = next(each for each in self.course.tasks if each in entry.tasks)
        self.course.listener(Progress("certify", f"rehearsal: {entry.name}: {text}", entry.name, task,
                                      estimates=dict(self.course.estimates.get(task, {}))))

    def _phase(self, entry: Entry, name: str, seconds: float, reply: dict[str, Any], task: str | None = None,
               look: bool = True) -> None:
        self.course.seen(entry, reply)
        device = reply.get("device_memory") or {}
        self.course.record(task, "phases", Phase(0, entry.name, name, seconds, reply.get("memory", 0),
                                                 device.get("peak"), "cold"))
        if look:
            self.course.record(task, "memory", Memory(entry.name, name, reply.get("memory", 0), **reply.get("held", {}),
                                                      device=device.get("now"), device_peak=device.get("peak"),
                                                      each=reply.get("memory_of_each", ())))


def of_outputs(refused: Certificate, why: str) -> Certificate | None:
    """What a refusal leaves: the certificate of inference alone, where that is what passed. None for a mode that rests
    on another's certificate, which speaks of both together."""
    passed = tuple(check for check in refused.checks if check.group == OUTPUTS and check.passed)
    if not passed or refused.exact:
        return None
    return replace(refused, passed=True, checks=passed, forward_only=True, curves={}, reference_curves={},
                   listed=(("all of training", f"refused: {why}"),))


def crowd(block: dict[str, Any]) -> str:
    """What to say of the other programs on this machine; nothing if they leave a block of steps alone."""
    share = block["foreign"]
    if share is None or share <= FOREIGN_LIMIT or block["wall"] < SEEN:
        return ""
    return (f"other programs use {share:.0%} of this machine: steps and verdicts take longer, the more so where "
            "threads wait for each other; stop them, or give a larger --budget")


def _cache(entry: Entry, folder: Path) -> Finding:
    """What the compiler keeps for the next process."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Finding(entry.name, "compile cache", f"{size / 2**20:.1f} MiB" if size else "none is kept",
                   how="size of its folder after the first steps")
