"""What is found of each contender without a race: its certificate, its largest batch, its accuracy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from photofinish import models
from photofinish.environments import GIVEN, TASKS, expand
from photofinish.errors import UsageError, at_home
from photofinish.files import images
from photofinish.files import weights as own
from photofinish.graph import Graph
from photofinish.layers import BinaryCrossEntropy
from photofinish.models import Model
from photofinish.runner.again import proof
from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.arrange import check_run, make_case, one_of, own_weights
from photofinish.runner.course import Course
from photofinish.runner.entry import Entry
from photofinish.runner.largest import Search, fixed_batch, limit_of
from photofinish.runner.meet import Listener, Places
from photofinish.runner.notary import Notary
from photofinish.runner.predict import Prediction
from photofinish.runner.process import WorkerFailed
from photofinish.runner.trial import trial
from photofinish.stats.proportion import judge_guesses
from photofinish.store import DEFAULT_STORE
from photofinish.values import MAX, Accuracy, Certificate, Failure, LargestBatch, Progress


@dataclass(frozen=True)
class Verification:
    """What `verify` found: a certificate for each contender that could be tried, a failure for the rest."""

    model: str
    digest: str
    certificates: tuple[Certificate, ...]
    failures: tuple[Failure, ...]

    @property
    def certified(self) -> bool:
        return bool(self.certificates) and not self.failures and all(each.passed for each in self.certificates)


def verify(model: str, contenders: Sequence[str] = (), *, shape: tuple[int, ...] | None = None,
           classes: int | None = None, weights: Path | str | None = None, reduced: bool = False,
           regime: str = "matched", device: str = "cpu", threads: int | None = None,
           recertify: bool = False, store: Path | str | None = None, seed: int = 0, listener: Listener | None = None,
           timeout: float | None = None, environments: Places = (),
           make_environments: bool | None = None) -> Verification:
    """Certifies contenders without timing them; `weights` is a file of the user's own, to prove it with these;
    `reduced` takes the model at reduced depth and size; `environments` and `make_environments` are as in `race`.

    Certificates earned before under the same conditions are taken from the store, unless `recertify`.
    Raises UsageError.
    """
    check_run(seed)
    graph, case, optimizer = make_case(model, None, shape, classes, "", regime, device, threads, reduced)
    for each in expand(*contenders, device=device) if reduced else ():
        if "build" in dict(each.options):
            raise UsageError(f"{each.name}: a twin has no reduced form",
                             "leave out --reduced, or give a smaller --input")
    given = own_weights(weights, model, graph)
    certificates: list[Certificate] = []
    with trial(contenders, {"train": case}, graph, optimizer, store or DEFAULT_STORE, listener=listener,
               timeout=timeout, environments=environments, make_environments=make_environments, weights=given,
               seed=seed) as tried:
        course, notary = tried.course, Notary(tried.course, tried.store, recertify, seed)
        for number, entry in enumerate(course.entries):
            course.listener(Progress("certify", entry.name, entry.name, done=number, total=len(course.entries)))
            try:
                certificates.append(_certificate(course, notary, entry))
            except WorkerFailed as error:
                course.failed(entry, error, 0, "certificate", shown=proof(
                    case, entry.name, reduced, given is not None, entry.home.origin == GIVEN, timeout))
    return Verification(case.model, graph.digest, tuple(certificates), tuple(tried.failures))


@dataclass(frozen=True)
class LargestBatches:
    """What `largest_batch` found: that of each contender that could be tried, a failure for the rest."""

    model: str
    digest: str
    task: str
    contenders: tuple[LargestBatch, ...]
    failures: tuple[Failure, ...]


def largest_batch(model: str, contenders: Sequence[str] = (), task: str = "train", *, memory_limit: int | None = None,
                  shape: tuple[int, ...] | None = None, classes: int | None = None, optimizer: str = "",
                  regime: str = "matched", device: str = "cpu", threads: int | None = None, again: bool = False,
                  store: Path | str | None = None, listener: Listener | None = None, timeout: float | None = None,
                  environments: Places = (), make_environments: bool | None = None) -> LargestBatches:
    """Finds the largest batch of each contender that fits into `memory_limit` bytes (half of the machine's otherwise;
    on a GPU its own memory is the limit), in at most twelve fresh processes each. What was tried before is taken from
    the store, unless `again`. Raises UsageError.
    """
    one_of("task", task, TASKS)
    fixed_batch(MAX, memory_limit, device)
    graph, case, chosen = make_case(model, None, shape, classes, optimizer, regime, device, threads)
    with trial(contenders, {task: replace(case, task=task)}, graph, chosen, store or DEFAULT_STORE, listener=listener,
               timeout=timeout, environments=environments, make_environments=make_environments, tasks=[task]) as tried:
        found = Search(tried.course, tried.store, limit_of(memory_limit, device), again).run()
    return LargestBatches(case.model, graph.digest, task, found, tuple(tried.failures))


@dataclass(frozen=True)
class Accuracies:
    """What `accuracy` found: the top-1 of each contender that could be tried, a failure for the rest. `warnings` tell
    what of the data was left out, `preparation` how pictures became inputs."""

    model: str
    digest: str
    images: int
    contenders: tuple[Accuracy, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[str, ...] = ()
    preparation: str = ""


def accuracy(model: str, weights: Path | str, data: Path | str, contenders: Sequence[str] = (), *,
             batch: int | None = None, shape: tuple[int, ...] | None = None, classes: int | None = None,
             device: str = "cpu", threads: int | None = None, store: Path | str | None = None,
             listener: Listener | None = None, timeout: float | None = None, environments: Places = (),
             make_environments: bool | None = None) -> Accuracies:
    """Counts how often each contender's first guess is right on the pictures in `data`/<class>/, prepared as the
    model's source prepares them. Raises UsageError.
    """
    graph, case, optimizer = make_case(model, batch, shape, classes, "", "matched", device, threads)
    output = graph.spec(graph.outputs[0])
    binary = any(isinstance(each.layer, BinaryCrossEntropy) for each in graph.losses)  # each output is a yes or no
    words = graph.inputs[0][1].dtype != "float32"
    if output.axes != "C" or len(graph.inputs) != 1 or binary or words:
        raise UsageError(f"{case.model} does not tell classes of images apart", "accuracy is for models that do")
    folder = at_home(data)
    pictures, warnings = images.find(folder, output.size("C")), images.left_out(folder)
    given = own_weights(weights, model, graph)
    entry, spec = models.find(model), graph.inputs[0][1]
    warnings += tuple(otherwise(at_home(weights), entry, graph))
    prepared = images.batches(pictures, spec, entry.preparation, case.batch)
    with trial(contenders, {"infer": case}, graph, optimizer, store or DEFAULT_STORE, listener=listener,
               timeout=timeout, environments=environments, make_environments=make_environments, weights=given,
               tasks=["infer"]) as tried:
        for each in warnings:
            tried.course.listener(Progress("warning", each))
        found = Prediction(tried.course).run(prepared, len(pictures))
    counted = judge_guesses(found, [each.label for each in pictures])
    return Accuracies(case.model, graph.digest, len(pictures), counted, tuple(tried.failures), warnings,
                      images.told(spec, entry.preparation))


def otherwise(weights: Path, model: Model, graph: Graph) -> Iterator[str]:
    """A warning where weights are named by another library than that as which the model's pictures are prepared."""
    source, usual = own.source(weights, model, graph), next(iter(model.names), "")
    if source not in ("", usual):
        yield (f"the weights are named as {source} names them, and pictures are prepared as {usual} does: those that "
               "were trained on pictures prepared otherwise are right less often here")


def _certificate(course: Course, notary: Notary, entry: Entry) -> Certificate:
    worker = course.start(entry, 0, memory=AS_IT_LIKES, timed=False)
    try:
        course.load(worker, entry)
        tell = lambda text: course.listener(Progress("certify", f"{entry.name}: {text}", entry.name))  # noqa: E731
        return notary.known(entry) or notary.certify(worker, entry, tell)
    finally:
        worker.kill()
