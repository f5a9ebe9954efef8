"""The rehearsal (launch 0): each contender alone in a fresh process with an empty compile cache and the
default allocator. It gives cold phases, memory, the audit's probes and the arrays of the certificate.
"""

import random
import time
from dataclasses import replace
from statistics import median
from typing import Any

from photofinish.measure import proof
from photofinish.referee import audit, certificate
from photofinish.runner.course import Course, Entry
from photofinish.runner.launch import WARM_SECONDS, describe_phases
from photofinish.runner.parcel import adapter_digest
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.store import Store
from photofinish.values import Certificate, Phase, Progress, WarmUp

REFERENCE = "numpy"


class Rehearsal:
    """Runs launch 0 of a course and tells the course what it found."""

    def __init__(self, course: Course, python: str, certify: bool, store: Store | None = None) -> None:
        self.course = course
        self.python = python  # for the referee's reference
        self.certify = certify
        self.store = store
        self.probes: dict[str, dict[str, Any]] = {}
        self.reference_ready = False

    def run(self) -> None:
        course = self.course
        entries = list(course.live)
        random.Random(course.seed).shuffle(entries)
        for entry in entries:
            try:
                self._rehearse(entry)
            except WorkerFailed as error:
                course.failed(entry, error, 0, "rehearsal")
        course.record(None, "audit", *audit.findings(self.probes, course.case))

    def _rehearse(self, entry: Entry) -> None:
        course, patience = self.course, self.course.patience
        self._say(entry, "starting")
        worker = course.start(entry, 0, keep_memory=False)
        try:
            self._phase(entry, "start", worker.start_seconds, worker.hello)
            reply = worker.ask("load", patience.load, **course.load_arguments(entry))
            course.facts[entry.name] = reply["facts"]
            self._phase(entry, "import", reply["seconds"], reply)
            reply = worker.ask("build", patience.build, **course.build_arguments())
            self._phase(entry, "build", reply["seconds"], reply)
            reply = worker.ask("weights", patience.weights, **course.weights_arguments())
            self._phase(entry, "weights", reply["seconds"], reply)
            for task in sorted(course.tasks):  # infer before train: its peak memory must not hold training's
                self._warm(worker, entry, task)
            self._say(entry, "probing what it really runs")
            self.probes[entry.name] = worker.ask("probe", patience.probe)["probes"]
            if self.certify:
                self._certify(worker, entry)
        finally:
            worker.kill()

    def _warm(self, worker: WorkerProcess, entry: Entry, task: str) -> None:
        course = self.course
        self._say(entry, f"first steps ({task})")
        reply = worker.ask("warm", course.patience.warm, task=task, limit=WARM_SECONDS)
        series = reply["series"]
        course.record(task, "warm_ups", WarmUp(0, entry.name, task, tuple(series[1:]), "", 0))
        for name, seconds in describe_phases(series).items():
            self._phase(entry, f"{name}:{task}", seconds, reply, task)
        course.estimates.setdefault(task, {})[entry.name] = median(series[1:] or series)
        self._say(entry, f"{course.estimates[task][entry.name]:.3g} s a step ({task}), so far")

    def _certify(self, worker: WorkerProcess, entry: Entry) -> None:
        course = self.course
        key = self._key(entry)
        known = self.store.certificate(key) if self.store is not None else None
        if known is not None:
            self._settle(entry, replace(known, contender=entry.name))
            return
        begin = time.monotonic()
        self._prepare_reference()
        self._say(entry, "proving that it computes the same")
        folder = self.course.folder / "proof"
        label = f"contender-{course.entries.index(entry)}"
        worker.ask("prove", course.patience.prove, folder=str(folder), label=label)
        earned = certificate.judge(folder, label, entry.name)
        earned = replace(earned, seconds=time.monotonic() - begin, versions=course.facts.get(entry.name, {}))
        if self.store is not None:
            self.store.keep_certificate(key, earned)
        self._settle(entry, earned)

    def _settle(self, entry: Entry, earned: Certificate) -> None:
        self.course.record(None, "certificates", earned)
        if not earned.passed:
            worst = next(check for check in earned.checks if not check.passed)
            raise WorkerFailed("wrong answer", f"{worst.group}: error {worst.error:.3g}, allowed {worst.allowed:.3g}"
                                               f" (worst: {worst.worst})")

    def _prepare_reference(self) -> None:
        """The reference runs once, first, in a worker of its own."""
        if self.reference_ready:
            return
        course = self.course
        folder = course.folder / "proof"
        self.course.listener(Progress("certify", "computing the float64 reference"))
        proof.prepare(folder, course.graph, seed=course.seed)
        worker = course.start_reference(self.python)
        try:
            setup = {"mode": "reference", "precision": "float64"}
            worker.ask("load", course.patience.load, framework=REFERENCE, setup=setup, sabotage={})
            worker.ask("prove", course.patience.prove, folder=str(folder), label=proof.REFERENCE)
        finally:
            worker.kill()
        self.reference_ready = True

    def _key(self, entry: Entry) -> str:
        """What a certificate depends on: graph, adapter, contender, versions, threads, device."""
        facts = self.course.facts.get(entry.name, {})
        case = self.course.case
        base = replace(entry.contender, copy=1).name
        return "/".join([self.course.graph.digest, adapter_digest(entry.contender.framework), base, case.device,
                         case.precision, case.regime, str(case.threads), str(facts.get("version", facts))])

    def _say(self, entry: Entry, text: str) -> None:
        self.course.listener(Progress("certify", f"rehearsal: {entry.name}: {text}", entry.name,
                                      estimates=dict(self.course.estimates.get(self.course.tasks[0], {}))))

    def _phase(self, entry: Entry, name: str, seconds: float, reply: dict[str, Any], task: str | None = None) -> None:
        self.course.record(task, "phases", Phase(0, entry.name, name, seconds, reply.get("memory", 0),
                                                 reply.get("device_memory"), "cold"))
