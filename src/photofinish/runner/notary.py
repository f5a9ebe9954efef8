"""Certificates through worker processes: the float64 reference once, then one contender at a time."""

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from zipfile import BadZipFile

from photofinish import machine
from photofinish.files.weights import digest
from photofinish.measure import quantised, rounded, split
from photofinish.referee import certificate, replicas
from photofinish.referee.tolerance import FLOAT32, FORMATS, Format
from photofinish.runner import reference, remote
from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.parcel import adapter_digest, rules_digest
from photofinish.runner.process import Worker, WorkerFailed
from photofinish.runner.ranks import label_of
from photofinish.runner.reference import Reference, moved, sent_in
from photofinish.store import Store
from photofinish.values import Certificate

DRAWS = 3  # perturbed runs that give the self-noise
UNREADABLE = (OSError, KeyError, ValueError, EOFError, BadZipFile)  # what files that are missing or make no sense raise
LARGE = 2_000_000  # parameters from which one run has elements enough to show it


class Notary:
    """Earns certificates for the contenders of a course. `store` keeps them for the next race, which uses them again
    unless it is told to earn its own (`anew`). Proofs draw weights and data from `seed`, the same in every race: who is
    proven later finds the reference of those before."""

    def __init__(self, course: Course, store: Store | None = None, anew: bool = False, seed: int = 0) -> None:
        self.course = course
        self.seed = seed
        self.store = store
        self.anew = anew
        self.earned: set[str] = set()  # the keys of those earned here
        self.draws = (1 if course.graph.parameter_count > LARGE else DRAWS, DRAWS)  # of each trial
        self.reference = Reference(course, store, self.draws, anew, seed)
        self.weights = [] if course.weights is None else [digest(course.weights)]

    def known(self, entry: Entry) -> Certificate | None:
        """A certificate earned before: by a copy of this contender here, or in an earlier race for the same graph,
        adapter, rules, contender, versions, machine and threads. One that proves training proves inference, too."""
        key = self._key(entry)
        here = key in self.earned
        if self.store is None or (self.anew and not here):
            return None
        found = self.store.certificate(key)
        if found is not None and not found.passed:
            found = self.store.certificate(_of_these_trials(key))
        if found is None and self.course.forward_only(entry):
            whole = self.store.certificate(self._key(entry, trains=True))
            found = whole if whole is not None and whole.passed else None
        return None if found is None else replace(found, contender=entry.name, reused=not here)

    def certify(self, worker: Worker, entry: Entry, say: Callable[[str], None]) -> Certificate:
        """Proves the contender loaded in `worker`. Raises WorkerFailed if it cannot run the exercises.

        A refusal is confirmed on other weights and data, and with draws enough to know the contender's own noise: a
        rounding that tips a ReLU over where no draw did is rare and does not happen twice; what computes something else
        is refused each time.
        Another package's model that cannot take the graph's weights is refused at once, with how it differs. A mode of
        a coarser format is proven twice: its code in float32, and what it computes by that format's own rounding. So
        are processes that compress their gradients: without doing so, and by what the reference makes of gradients so
        rounded, or where that is no rounding by what must hold (`certificate.approximated`).
        """
        if "build" in dict(entry.contender.options):
            built = worker.ask("build", self.course.patience.build, **self.course.build_arguments())
            if built["differences"]:
                return Certificate(entry.name, self.course.graph.digest, False, (), "", self.course.case.batch,
                                   versions=self._versions(entry), differences=tuple(map(tuple, built["differences"])))
        form = FORMATS[entry.coarse[0] if entry.coarse else FLOAT32.name]
        structure = self._exact(entry.rests_on, say) if entry.rests_on is not None else None
        sent, _ = entry.compressed or ("", None)
        for attempt in range(len(self.draws)):
            folder = self.reference.folder(self.seed + attempt, form, entry.parts)
            if sent in FORMATS:
                self.reference.sent(self.seed + attempt, entry.parts, sent)
            say("proving that it computes the same" if attempt == 0 else "refused: proving it again on other data")
            label, forward_only = f"contender-{self.course.place(entry)}", self.course.forward_only(entry)
            with self.course.proving(folder, label, forward_only=forward_only):
                remote.prove(worker, self.course.patience.prove, self.course.facts.get(entry.name, {}), folder, label,
                             forward_only=forward_only)
            earned = self._judged(worker, entry, folder, label, form)
            if form is FLOAT32 and certificate.hangs_on_free_runs(earned):
                self.reference.more_free_runs(self.seed + attempt, entry.parts)
                earned = self._judged(worker, entry, folder, label, form)
            if earned.passed:
                break
        if structure is not None:
            earned = certificate.resting_on(structure, earned)
        earned = replace(earned, created=time.strftime("%Y-%m-%dT%H:%M:%S%z"))
        if self.store is not None:
            key = self._key(entry)
            self.store.keep_certificate(key, earned)
            if not earned.passed:
                self.store.keep_certificate(_of_these_trials(key), earned)
            self.earned.add(key)
        return earned

    def _exact(self, entry: Entry, say: Callable[[str], None]) -> Certificate:
        """The certificate on which another's rests, known or earned now. Raises WorkerFailed."""
        known = self.known(entry) if entry.name in self.course.facts else None
        if known is not None:
            return known
        worker = self.course.start(entry, 0, memory=AS_IT_LIKES, timed=False)
        try:
            self.course.load(worker, entry)
            return self.known(entry) or self.certify(worker, entry, lambda text: say(f"{entry.name}: {text}"))
        finally:
            worker.kill()

    def _judged(self, worker: Worker, entry: Entry, folder: Path, label: str, form: Format) -> Certificate:
        """Raises WorkerFailed if what the worker left cannot be judged."""
        parts, (sent, _) = entry.parts, entry.compressed or ("", None)
        others = [sent_in(sent)] if sent in FORMATS else moved(form)
        try:
            earned = [certificate.judge(folder, label_of(label, rank), entry.name, self.reference.name(folder),
                                        self._versions(entry), form, others, sent) for rank in range(entry.processes)]
            return replicas.together(earned, parts, self.reference.of_each if parts > 1 else ())
        except UNREADABLE as error:
            raise WorkerFailed("protocol", f"left no proof that can be judged: {type(error).__name__}: {error}",
                               worker.log_tail()) from error

    def _versions(self, entry: Entry) -> dict[str, str]:
        facts = self.course.facts.get(entry.name, {})
        return {key: value for key, value in facts.items() if "version" in key and isinstance(value, str)}

    def _key(self, entry: Entry, trains: bool | None = None) -> str:
        trains = not self.course.forward_only(entry) if trains is None else trains
        case, graph, facts = self.course.case, self.course.graph, self.course.facts.get(entry.name, {})
        of, coarse = replace(entry.stepping, copy=1), entry.coarse
        rounding = [] if coarse is None else [coarse[0], *_text(rounded, quantised), adapter_digest(
            of.framework, graph, coarse[1].contender.mode, of.options)]
        divided = _text(split, replicas) if of.strategy else []
        return "/".join([graph.digest, adapter_digest("numpy", graph),
                         adapter_digest(of.framework, graph, of.mode, of.options, entry.home.version, of.strategy),
                         rules_digest(),
                         of.name,
                         machine.hardware(case.device), case.device, case.precision, case.regime, str(case.threads),
                         str(self.draws), str(sorted(facts.items())), *self.weights, *rounding,
                         *divided, *([] if trains or entry.forward_only else ["forward only"])])


def _of_these_trials(key: str) -> str:
    """Of a refusal, which other trials than those of this module and of the reference might not have come to."""
    trials = "".join(Path(str(each)).read_text() for each in (__file__, reference.__file__))
    return f"{key}/refused by {sha256(trials.encode()).hexdigest()}"


def _text(*modules: ModuleType) -> list[str]:
    """What their files hold."""
    return [Path(str(each.__file__)).read_text() for each in modules]
