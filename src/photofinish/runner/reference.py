"""Whom the referee believes: the float64 results that contenders are compared with.

NumPy, plain enough to be read, is the reference of every model it can compute in reasonable time. For a larger one
a framework in float64, several times as fast, takes its place on two conditions: NumPy has certified it on the same
model at reduced size, and agrees with it on this very model in the outputs, the loss, every gradient and the running
statistics. So no framework is ever the only witness for itself.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from photofinish import machine, models
from photofinish.environments.make import told
from photofinish.errors import UsageError
from photofinish.graph import Graph, ModelError
from photofinish.measure import proof
from photofinish.measure.proof import REFERENCE, Plan
from photofinish.measure.split import of_each_part
from photofinish.referee import certificate
from photofinish.referee.cancelled import disagreement
from photofinish.referee.tolerance import FLOAT32, Format
from photofinish.referee.witness import AGREED, runs_away
from photofinish.runner import fitted, kept
from photofinish.runner.course import UNHURRIED, Course
from photofinish.runner.paces import PACES, Paces, went_too_far
from photofinish.runner.parcel import adapter_digest, rules_digest
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.runner.witnesses import CPU, NUMPY, Witness, numpy, stand_ins
from photofinish.store import Store
from photofinish.values import Progress
from photofinish.weights import Arrays, perturbed_state

LARGE = 10_000_000  # multiply-accumulates of a sample: NumPy takes some ten seconds over all that is asked of it
EXACT_DRAWS = 6  # of the reference, and again of each coarser format
# At least: each parameter once in float32, and in float64 with one slot and with two before two steps each.
KEPT = 4 + 2 * 8 * (2 + 3)


class Reference:
    """The reference of one course. `draws` are the perturbed runs that contenders will make: on `seed`, on the next
    one, ..."""

    def __init__(self, course: Course, store: Store | None, draws: Sequence[int], anew: bool = False,
                 seed: int = 0) -> None:
        self.course = course
        self.seed = seed
        self.store = store
        self.anew = self.afresh = anew  # certified again, whatever the store knows; computed again, whatever is kept
        self.draws = draws
        self.numpy = numpy()
        self.stand_ins = self._stand_ins()
        self.of_each = of_each_part(course.graph)
        self.prepared: set[Path] = set()
        self.by: dict[Path, Witness] = {}  # who computed the reference of a proof: on another seed it may be another
        self.failure: WorkerFailed | None = None  # of NumPy: once is enough
        self.widened: set[Path] = set()
        self.fitted: dict[int, Arrays] = {}  # running statistics that fit a seed's weights, where those drawn do not

    def name(self, folder: Path) -> str:
        """What certificates say of the reference of that proof."""
        given = ", running statistics fitted to the batch" if Plan.read(folder).seed in self.fitted else ""
        return self.by[folder].credit + given

    @property
    def forward_only(self) -> bool:
        """Whether nobody here trains: then outputs are all that contenders are compared in."""
        proven = [*self.course.entries, *(each.rests_on for each in self.course.entries if each.rests_on)]
        return all(self.course.forward_only(entry) for entry in proven)

    def folder(self, seed: int, form: Format = FLOAT32, world: int = 1) -> Path:
        """The folder of the proof on this seed's weights and data, the reference's part of it done: what `world`
        processes compute that share each batch.

        Raises WorkerFailed if NumPy fails, which is no contender's fault; it is not tried again for the next.
        """
        batch, parts = self._batch(world), self.parts(world)
        folder = self._place(seed, form, batch, parts)
        if self.failure is not None:
            raise self.failure
        if folder not in self.prepared:
            again = seed != self.seed and went_too_far(self.folder(self.seed, form, world))
            try:
                self._prepare(folder, seed, form, batch, parts, PACES[1:] if again else PACES)
            except WorkerFailed as error:
                self.failure = WorkerFailed(error.kind, f"of the referee's reference, not of this contender: "
                                                        f"{error.message}", error.log)
                raise self.failure from error
            self.prepared.add(folder)
        return folder

    def _place(self, seed: int, form: Format, batch: int, parts: int) -> Path:
        return self.course.folder / f"proof-{seed}-{form.name}-{batch}-{parts}"

    def _prepare(self, folder: Path, seed: int, form: Format, batch: int, parts: int, paces: Paces) -> None:
        self._check_room()
        exactly = self._place(seed, FLOAT32, batch, parts)
        if exactly in self.prepared:  # the same reference, for another format: at the pace that it took
            paces = [Plan.read(exactly).optimizers]
        own, exact = (self.draws[seed - self.seed], EXACT_DRAWS) if form is FLOAT32 else (0, 0)
        for optimizers in paces:
            proof.prepare(folder, self.course.graph, batch, optimizers, own, exact, seed, self._weights(seed))
            shutil.rmtree(folder / REFERENCE, ignore_errors=True)  # of another pace: its files may be kept
            if not (self._shared(exactly, folder) or self._adopted(folder, parts)):
                self._compute(folder, parts)
                self._keep(folder, parts)
            lost = runs_away(folder)
            if not lost:
                break
            if optimizers is paces[-1]:
                raise WorkerFailed("nan", f"{lost}, the smallest that are tried: nothing can be compared")
            self._say(f"{lost}: again with smaller ones")
        if form is not FLOAT32:
            self._round(folder, form)

    def _weights(self, seed: int) -> Arrays | None:
        """Those that a proof on that seed is given; None for those that it draws itself."""
        if seed not in self.fitted:
            return self.course.weights
        return {**perturbed_state(self.course.graph, seed), **self.fitted[seed]}

    def _shared(self, exactly: Path, folder: Path) -> bool:
        """Whether float32's proof on the same weights and data has left the reference."""
        if exactly not in self.prepared:
            return False
        kept.share(exactly / REFERENCE, folder / REFERENCE)
        self.by[folder] = self.by[exactly]
        return True

    def _adopted(self, folder: Path, parts: int) -> bool:
        """Whether an earlier proof has left the same reference."""
        where = kept.root()
        if where is None or self.afresh:
            return False
        found = kept.adopt(self._key(folder, parts), folder, where)
        if found is None:
            return False
        names = [each.name for each in self.stand_ins]
        self.stand_ins = self.stand_ins[names.index(found.by):] if found.by in names else []
        self.by[folder] = {each.name: each for each in self._stand_ins()}.get(found.by, self.numpy)
        if found.widened:
            self.widened.add(folder)
        self._say(f"the reference is that of an earlier proof, computed by {found.by}")
        return True

    def _keep(self, folder: Path, parts: int) -> None:
        where = kept.root()
        if where is not None:
            found = kept.Found(self.by[folder].name, folder in self.widened)
            kept.keep(self._key(folder, parts), folder, found, where)

    def _key(self, folder: Path, parts: int) -> str:
        able = [self.numpy, *self._stand_ins()]
        return kept.key(folder, self.course.graph, able, self.course.case.device, parts, self.forward_only)

    def _check_room(self) -> None:
        """Raises UsageError where the proof is sure to fill the disk, rather than after an hour."""
        needed = 0 if self.forward_only else KEPT * self.course.graph.parameter_count
        free = shutil.disk_usage(self.course.folder).free
        if free < needed:
            raise UsageError(f"the proof of {self.course.case.model} writes {told(needed)} and more into "
                             f"{self.course.folder.parent}, and {told(free)} are free there",
                             "free some disk space, or choose another place with --store FOLDER")

    def _compute(self, folder: Path, parts: int) -> None:
        """The reference's part of the proof, by the first stand-in that is believed; where one had too little of this
        machine's memory none is left to NumPy, which takes as much, for hours. Raises WorkerFailed."""
        full = None
        while self.stand_ins:
            fast = self.stand_ins[0]
            try:
                if self._certified(fast):
                    believed = self._believed(fast, folder, parts)
                    if self._refitted(folder, parts):
                        if self._adopted(folder, parts):
                            return
                        continue
                    if believed:
                        self._say(f"computing the reference with {fast.title} in float64")
                        self._run(fast, folder, REFERENCE, parts=parts, forward_only=self.forward_only)
                        self.by[folder] = fast
                        return
            except WorkerFailed as error:
                short = error.kind == "out of memory"
                self._say(f"{fast.title} is no reference here ({f'{error.kind}: ' if short else ''}{error.message})")
                if short and fast.device == CPU:
                    full = WorkerFailed(error.kind, f"{fast.title} in float64 {error.message}", error.log)
            del self.stand_ins[0]
        if full is not None:
            raise full
        self._say("computing the float64 reference")
        self._run(self.numpy, folder, REFERENCE, parts=parts, forward_only=self.forward_only)
        self.by[folder] = self.numpy

    def more_free_runs(self, seed: int, world: int = 1) -> None:
        """The free runs of all its draws are in the folder of the proof, which `folder` has prepared."""
        folder = self.folder(seed, world=world)
        if folder not in self.widened:
            self._say("more free runs of the reference: ten steps amplify rounding here")
            self._run(self.by[folder], folder, REFERENCE, "free_runs", self.parts(world))
            self.widened.add(folder)
            self._keep(folder, self.parts(world))

    def sent(self, seed: int, world: int, form: str) -> None:
        """What the reference makes of it where `world` processes send their gradients in that format of NumPy's is in
        the folder of the proof, too. Raises WorkerFailed."""
        folder = self.folder(seed, world=world)
        if not (folder / sent_in(form) / "about.json").exists():
            self._say(f"the reference sends gradients in {form}")
            with self._loaded(self.by[folder]) as worker, self.course.proving(folder, sent_in(form)):
                worker.ask("prove", UNHURRIED.prove, folder=str(folder), label=sent_in(form), parts=world,
                           sent=form)

    def parts(self, world: int) -> int:
        """Into how many parts each batch is divided: as many as there are processes, where it makes a difference."""
        return world if self.of_each else 1

    def _batch(self, world: int = 1) -> int:
        """How many samples a proof takes: fewer than usual where a sample is so large (a whole graph of nodes) that the
        model's own batch has fewer, and nothing is normalised over the batch; as many for each process where something
        is."""
        if self.course.graph.state:
            return proof.LEAST_BATCH * world
        usual = min(proof.LEAST_BATCH, models.find(self.course.case.model).batch)
        return -(-usual // world) * world

    def _stand_ins(self) -> list[Witness]:
        """The frameworks that may stand in for NumPy here, if it is worth it."""
        if self.course.graph.macs < LARGE or self._small() is None:
            return []
        return stand_ins(self.course.case.device, self.course.entries)

    def _believed(self, fast: Witness, folder: Path, parts: int) -> bool:
        """Whether NumPy bears out its first step, a hundredth of all that a reference computes. Raises WorkerFailed."""
        if not (folder / NUMPY.framework / "about.json").exists():  # for one before, or at another pace
            self._say("what NumPy makes of the model")
            self._run(self.numpy, folder, NUMPY.framework, "confirm", parts, forward_only=self.forward_only)
        self._say(f"whether {fast.title} makes the same of it")
        self._run(fast, folder, REFERENCE, "confirm", parts, forward_only=self.forward_only)
        worst, tensor = disagreement(folder, NUMPY.framework)
        if worst > AGREED:
            self._say(f"{fast.title} and NumPy differ by {worst:.1g} in {tensor}")
        return worst <= AGREED

    def _refitted(self, folder: Path, parts: int) -> bool:
        """Whether the proof's weights were given other running statistics, for drawn ones amplify rounding: once for a
        seed. Raises WorkerFailed."""
        if not self.course.graph.state or self.course.weights is not None:
            return False
        seed = Plan.read(folder).seed
        if seed in self.fitted or not fitted.amplifies(folder, NUMPY.framework):
            return False
        self._say("drawn running statistics amplify rounding: those of the batch take their place")
        if self.forward_only:  # NumPy has not been asked for a step
            self._run(self.numpy, folder, NUMPY.framework, "confirm", parts)
        self.fitted[seed] = fitted.fit(folder, NUMPY.framework)
        for label in (REFERENCE, NUMPY.framework):
            shutil.rmtree(folder / label)
        return True

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

    def _certified(self, fast: Witness) -> bool:
        """Whether NumPy certifies this framework, in float64, on the reduced model."""
        small = self._small()
        assert small is not None
        framework = fast.contender.framework
        key = "/".join(["float64", small.digest, adapter_digest(NUMPY.framework, small),
                        adapter_digest(framework, small, fast.contender.mode), rules_digest(), fast.name,
                        str(fast.home.python), *([] if fast.device == CPU else [machine.hardware(fast.device)])])
        earned = self.store.certificate(key) if self.store is not None and not self.anew else None
        if earned is None:
            self._say(f"certifying {fast.title} in float64 on the reduced model")
            folder = self.course.folder / "proof-reduced"
            proof.prepare(folder, small, draws=1, exact_draws=EXACT_DRAWS)
            self._run(self.numpy, folder, REFERENCE)
            self._run(fast, folder, framework)
            earned = certificate.judge(folder, framework, fast.name)
            self.anew = False  # once is enough
            if self.store is not None:
                self.store.keep_certificate(key, earned)
        return earned.passed

    def _round(self, folder: Path, form: Format) -> None:
        """The reference's draws with what it computes with rounded to that format. Raises WorkerFailed."""
        with self._loaded(self.by[folder]) as worker:
            for draw, label in enumerate(moved(form), 1):
                self._say(f"the reference rounds to {form.name}: draw {draw} of {EXACT_DRAWS}")
                forward_only = self.forward_only or form.equal
                with self.course.proving(folder, label, forward_only=forward_only):
                    worker.ask("prove", UNHURRIED.prove, folder=str(folder), label=label,
                               forward_only=forward_only, unit=form.noise, draw=draw, equal=form.equal)

    def _run(self, entry: Witness, folder: Path, label: str, command: str = "prove", parts: int = 1,
             **options: bool) -> None:
        with self._loaded(entry) as worker, self.course.proving(folder, label, command, **options):
            worker.ask(command, UNHURRIED.prove, folder=str(folder), label=label, parts=parts, **options)

    @contextmanager
    def _loaded(self, entry: Witness) -> Iterator[WorkerProcess]:
        """A worker of its own, gone afterwards. Raises WorkerFailed."""
        worker = self.course.start_reference(entry)
        try:
            worker.ask("load", UNHURRIED.load, **self._load_arguments(entry))
            yield worker
        finally:
            worker.kill()

    def _load_arguments(self, entry: Witness) -> dict[str, Any]:
        setup = {"mode": entry.contender.mode, "device": entry.device, "precision": "float64",
                 "threads": len(machine.usable_cores())}
        return {"framework": entry.contender.framework, "setup": setup, "sabotage": {}}

    def _say(self, text: str) -> None:
        self.course.listener(Progress("certify", text))


def moved(form: Format) -> list[str]:
    """The labels of the draws in which the reference rounds to a format; none for float32, whose draws are its own."""
    return [] if form is FLOAT32 else [f"{form.name}-{draw}" for draw in range(1, EXACT_DRAWS + 1)]


def sent_in(form: str) -> str:
    """The label under which its processes send their gradients in that format, in every draw."""
    return f"gradients-{form}"
