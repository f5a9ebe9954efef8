"""Certificates through worker processes: the float64 reference once, then one contender at a time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from photofinish.measure import proof
from photofinish.referee import certificate
from photofinish.runner.course import Course, Entry
from photofinish.runner.parcel import adapter_digest
from photofinish.runner.process import WorkerProcess
from photofinish.store import Store
from photofinish.values import Certificate, Progress

DRAWS = 3  # perturbed runs that give the self-noise
LARGE = 2_000_000  # parameters from which one run has elements enough to show it
REFERENCE = "numpy"
REFERENCE_SETUP = {"mode": "reference", "precision": "float64"}


class Notary:
    """Earns certificates for the contenders of a course; `store` keeps them for the next race."""

    def __init__(self, course: Course, python: str, store: Store | None = None) -> None:
        self.course = course
        self.python = python  # the interpreter of the reference
        self.store = store
        self.draws = 1 if course.graph.parameter_count > LARGE else DRAWS
        self.folder: Path = course.folder / "proof"
        self.ready = False

    def known(self, entry: Entry) -> Certificate | None:
        """A certificate earned before for the same graph, adapter, contender, versions and threads."""
        found = self.store.certificate(self._key(entry)) if self.store is not None else None
        return None if found is None else replace(found, contender=entry.name)

    def certify(self, worker: WorkerProcess, entry: Entry, say: Callable[[str], None]) -> Certificate:
        """Proves the contender loaded in `worker`. Raises WorkerFailed if it cannot run the exercises."""
        self._prepare_reference()
        say("proving that it computes the same")
        label = f"contender-{self.course.entries.index(entry)}"
        worker.ask("prove", self.course.patience.prove, folder=str(self.folder), label=label)
        earned = certificate.judge(self.folder, label, entry.name, versions=self._versions(entry))
        if self.store is not None:
            self.store.keep_certificate(self._key(entry), earned)
        return earned

    def _prepare_reference(self) -> None:
        if self.ready:
            return
        course = self.course
        course.listener(Progress("certify", "computing the float64 reference"))
        proof.prepare(self.folder, course.graph, draws=self.draws, seed=course.seed)
        worker = course.start_reference(self.python)
        try:
            worker.ask("load", course.patience.load, framework=REFERENCE, setup=REFERENCE_SETUP, sabotage={})
            worker.ask("prove", course.patience.prove, folder=str(self.folder), label=proof.REFERENCE)
        finally:
            worker.kill()
        self.ready = True

    def _versions(self, entry: Entry) -> dict[str, str]:
        facts = self.course.facts.get(entry.name, {})
        return {key: value for key, value in facts.items() if "version" in key and isinstance(value, str)}

    def _key(self, entry: Entry) -> str:
        case, facts = self.course.case, self.course.facts.get(entry.name, {})
        return "/".join([self.course.graph.digest, adapter_digest(REFERENCE), adapter_digest(entry.contender.framework),
                         replace(entry.contender, copy=1).name, case.device, case.precision, case.regime,
                         str(case.threads), str(self.draws), str(sorted(facts.items()))])
