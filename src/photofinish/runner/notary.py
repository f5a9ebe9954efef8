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
EXACT_DRAWS = 6  # of the reference
ATTEMPTS = 2
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
        self.prepared: set[int] = set()

    def known(self, entry: Entry) -> Certificate | None:
        """A certificate earned before for the same graph, adapter, contender, versions and threads."""
        found = self.store.certificate(self._key(entry)) if self.store is not None else None
        return None if found is None else replace(found, contender=entry.name)

    def certify(self, worker: WorkerProcess, entry: Entry, say: Callable[[str], None]) -> Certificate:
        """Proves the contender loaded in `worker`. Raises WorkerFailed if it cannot run the exercises.

        A refusal is confirmed on other weights and data: a rounding that tips a ReLU over where no draw of
        the reference did is rare and does not happen twice; what computes something else is refused each time.
        """
        for attempt in range(ATTEMPTS):
            folder = self._reference(self.course.seed + attempt)
            say("proving that it computes the same" if attempt == 0 else "refused: proving it again on other data")
            label = f"contender-{self.course.entries.index(entry)}"
            worker.ask("prove", self.course.patience.prove, folder=str(folder), label=label)
            earned = certificate.judge(folder, label, entry.name, versions=self._versions(entry))
            if earned.passed:
                break
        if self.store is not None:
            self.store.keep_certificate(self._key(entry), earned)
        return earned

    def _reference(self, seed: int) -> Path:
        """The folder of the proof on this seed's weights and data, the reference's part of it done."""
        course = self.course
        folder = course.folder / f"proof-{seed}"
        if seed in self.prepared:
            return folder
        course.listener(Progress("certify", "computing the float64 reference"))
        proof.prepare(folder, course.graph, draws=self.draws, exact_draws=EXACT_DRAWS, seed=seed)
        worker = course.start_reference(self.python)
        try:
            worker.ask("load", course.patience.load, framework=REFERENCE, setup=REFERENCE_SETUP, sabotage={})
            worker.ask("prove", course.patience.prove, folder=str(folder), label=proof.REFERENCE)
        finally:
            worker.kill()
        self.prepared.add(seed)
        return folder

    def _versions(self, entry: Entry) -> dict[str, str]:
        facts = self.course.facts.get(entry.name, {})
        return {key: value for key, value in facts.items() if "version" in key and isinstance(value, str)}

    def _key(self, entry: Entry) -> str:
        case, facts = self.course.case, self.course.facts.get(entry.name, {})
        return "/".join([self.course.graph.digest, adapter_digest(REFERENCE), adapter_digest(entry.contender.framework),
                         replace(entry.contender, copy=1).name, case.device, case.precision, case.regime,
                         str(case.threads), str(self.draws), str(sorted(facts.items()))])
