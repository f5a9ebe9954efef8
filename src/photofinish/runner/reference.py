"""Whom the referee believes: the float64 results that contenders are compared with.

NumPy, plain enough to be read, is the reference of every model it can compute in reasonable time. For a larger one
PyTorch in float64 takes its place on three conditions: NumPy has certified it on the same model at reduced size; it has
so certified TensorFlow, too; and the two agree on this very model. So no framework is ever the only witness for itself.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from photofinish import environments, models
from photofinish.graph import Graph, ModelError
from photofinish.measure import proof
from photofinish.referee import certificate
from photofinish.runner.course import Course, Entry
from photofinish.runner.parcel import adapter_digest
from photofinish.store import Store
from photofinish.values import Certificate, Contender, Progress

NUMPY = Contender("numpy", "reference")
WITNESSES = (Contender("torch", "eager"), Contender("tensorflow", "graph"))
LARGE = 40_000_000  # multiply-accumulates of a sample: NumPy takes about half a minute over so many
EXACT_DRAWS = 6  # of the reference
WITNESS = "witness"


class Reference:
    """The reference of one course. `draws` are the perturbed runs that contenders will make."""

    def __init__(self, course: Course, python: str, store: Store | None, draws: int) -> None:
        self.course = course
        self.python = python  # the interpreter that NumPy runs under
        self.store = store
        self.draws = draws
        self.prepared: set[int] = set()
        self.witnesses: Sequence[Entry] | None = None  # not asked for yet

    @property
    def name(self) -> str:
        """What certificates say of it."""
        if not self.witnesses:
            return "numpy float64"
        first, *others = (each.contender.framework for each in self.witnesses)
        return f"{first} float64, confirmed by {' and '.join(others)} float64"

    def folder(self, seed: int) -> Path:
        """The folder of the proof on this seed's weights and data, the reference's part of it done.

        Raises WorkerFailed if the reference itself fails.
        """
        folder = self.course.folder / f"proof-{seed}"
        if seed in self.prepared:
            return folder
        if self.witnesses is None:
            self.witnesses = self._trusted()
        proof.prepare(folder, self.course.graph, self._batch(), draws=self.draws, exact_draws=EXACT_DRAWS, seed=seed,
                      weights=self.course.weights)
        if self.witnesses:
            self._say("computing the reference in float64, twice")
            first, second = self.witnesses
            self._run(first, folder, proof.REFERENCE)
            self._run(second, folder, WITNESS)
            if not certificate.judge(folder, WITNESS, second.name).passed:
                self._say("the two references disagree: asking NumPy")
                self.witnesses = ()
        if not self.witnesses:
            self._say("computing the float64 reference")
            self._run(Entry(NUMPY, self.python), folder, proof.REFERENCE)
        self.prepared.add(seed)
        return folder

    def _batch(self) -> int:
        """How many samples a proof takes: fewer than usual where a sample is so large (a whole graph of nodes) that the
        model's own batch has fewer, and nothing is normalised over the batch."""
        if self.course.graph.state:
            return proof.LEAST_BATCH
        return min(proof.LEAST_BATCH, models.find(self.course.case.model).batch)

    def _trusted(self) -> Sequence[Entry]:
        """The two frameworks that may stand in for NumPy here, none where one of them may not."""
        small = self._small()
        if self.course.graph.macs < LARGE or small is None:
            return ()
        found = []
        for contender in WITNESSES:
            environment = environments.resolve(contender)
            if isinstance(environment, environments.Missing):
                return ()
            found.append(Entry(contender, str(environment.python), environment.framework.environment))
        return found if all(self._certified(entry, small) for entry in found) else ()

    def _small(self) -> Graph | None:
        """The model at reduced size, if it has every kind of layer of this one."""
        try:
            entry = models.find(self.course.case.model)
            if not entry.reduced:
                return None
            small = entry.small()
        except ModelError:
            return None
        missing = {type(node.layer) for node in self.course.graph.nodes} - {type(node.layer) for node in small.nodes}
        return None if missing else small

    def _certified(self, entry: Entry, small: Graph) -> bool:
        """Whether NumPy certifies this framework, in float64, on the reduced model."""
        key = "/".join(["float64", small.digest, adapter_digest("numpy", small),
                        adapter_digest(entry.contender.framework, small), entry.name, entry.python])
        earned: Certificate | None = self.store.certificate(key) if self.store is not None else None
        if earned is None:
            self._say(f"certifying {entry.contender.framework} in float64 on the reduced model")
            folder = self.course.folder / "proof-reduced"
            if not folder.exists():
                proof.prepare(folder, small, draws=1, exact_draws=EXACT_DRAWS)
                self._run(Entry(NUMPY, self.python), folder, proof.REFERENCE)
            self._run(entry, folder, entry.contender.framework)
            earned = certificate.judge(folder, entry.contender.framework, entry.name)
            if self.store is not None:
                self.store.keep_certificate(key, earned)
        return earned.passed

    def _run(self, entry: Entry, folder: Path, label: str) -> None:
        course = self.course
        worker = course.start_reference(entry)
        try:
            worker.ask("load", course.patience.load, **self._load_arguments(entry))
            worker.ask("prove", course.patience.prove, folder=str(folder), label=label)
        finally:
            worker.kill()

    def _load_arguments(self, entry: Entry) -> dict[str, Any]:
        setup = {"mode": entry.contender.mode, "precision": "float64", "threads": self.course.case.threads}
        return {"framework": entry.contender.framework, "setup": setup, "sabotage": {}}

    def _say(self, text: str) -> None:
        self.course.listener(Progress("certify", text))
