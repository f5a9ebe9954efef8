"""The verbs of Photofinish for Python; the command line calls the same ones."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from photofinish import models
from photofinish.environments import TASKS
from photofinish.errors import UsageError
from photofinish.files import images
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.outcome import LinkSweep, Outcome, Sweep
from photofinish.runner.allocator import AS_IT_LIKES
from photofinish.runner.arrange import (
    check_tasks,
    link_of,
    make_case,
    make_training,
    one_of,
    own_weights,
    training_source,
)
from photofinish.runner.course import Course, Entry
from photofinish.runner.epochs import EpochSession
from photofinish.runner.groups import default_room
from photofinish.runner.largest import Search, fixed_batch, limit_of, meet_at_the_smallest
from photofinish.runner.meet import Listener, Meet, Places
from photofinish.runner.notary import Notary
from photofinish.runner.predict import Prediction
from photofinish.runner.process import WorkerFailed
from photofinish.runner.rehearsal import Rehearsal
from photofinish.runner.serving import ServeSession, make_load
from photofinish.runner.session import Session, judged
from photofinish.runner.sweep import Sweep as Passes
from photofinish.runner.trial import trial
from photofinish.stats import batches as stats_batches
from photofinish.stats import communication
from photofinish.stats.proportion import judge_guesses
from photofinish.store import Store
from photofinish.values import (
    MAX,
    SERVE,
    WHOLE,
    Accuracy,
    Case,
    Certificate,
    Failure,
    LargestBatch,
    Link,
    Progress,
    Result,
)
from photofinish.weights import Arrays

DEFAULT_STORE = Path(".photofinish")


class Interrupted(KeyboardInterrupt):
    """The race was stopped by hand; `results` hold what had been measured."""

    def __init__(self, results: Outcome) -> None:
        super().__init__("interrupted")
        self.results = results


def race(model: str, contenders: Sequence[str] = (), task: str | Sequence[str] = "train", *,
         batch: int | str | None = None, shape: tuple[int, ...] | None = None, classes: int | None = None,
         weights: Path | str | None = None, optimizer: str = "", regime: str = "matched", device: str = "cpu",
         threads: int | None = None, memory_limit: int | None = None, budget: float = 300.0, precision: float = 0.01,
         margin: float = 0.02, memory: int | None = None, time_all: bool = False, launches: int | None = None,
         resize: bool = False, certify: bool = True, recertify: bool = False, store: Path | str | None = None,
         seed: int | None = None, listener: Listener | None = None, timeout: float | None = None,
         command: str | None = None, environments: Places = (), make_environments: bool | None = None, data: str = "",
         epochs: int | None = None, target: float | None = None, tolerance: float = 0.01,
         seeds: int | None = None, energy: bool = True, link: Link | str | None = None, hosts: Sequence[str] = ()
         ) -> Outcome:
    """Races contenders on one model and judges them, one Result per task. Who lacks a task (an inference engine cannot
    train) is left out of that race, which says so.

    `batch` "max" is the smallest of the contenders' largest batches under `memory_limit` (see `largest_batch`);
    `shape` is channels first without the batch; `weights` a file of the user's own (drawn otherwise);
    `budget` in seconds for everything after set-up;
    `precision` the half-width of the ratio's interval to aim at; `margin` what counts as equivalent;
    `memory` the bytes that the contenders of a launch may hold together (half of the machine's otherwise): a larger
    field races in groups that share an anchor; `time_all` to time also those to the end that are more than 10 times
    slower than the leader after the pilot; `energy` to measure joules where there is a sensor; `recertify` to prove
    again what the store knows to be proven;
    `timeout` the seconds of running time after which a silent worker counts as hung; `environments` the user's own, by
    framework ({"torch": "/path/to/venv"}); what is missing otherwise is made unless `make_environments` is False;
    `resize` to see, too, what another batch size costs; `link` ("100mbit") to put the processes of a contender on hosts
    of their own that are joined so, `hosts` the machines for them.
    Of tasks "epoch" and "fit": `data` is a set by name ("digits", "cifar10:/path"; otherwise one that fits the model)
    or the path of a text, trained on for `epochs`, `seeds` times; `target` the validation accuracy that is raced for;
    `tolerance` what counts as equally accurate at the end.
    Raises UsageError (wrong use) and Interrupted (Ctrl-C; carries the results so far).
    """
    tasks = (task,) if isinstance(task, str) else tuple(task)
    check_tasks(tasks)
    source = training_source(data, model, shape, classes) if tasks[0] in WHOLE else None
    if source is not None:
        shape, classes = shape or source.shape, classes or source.classes
    elif data or epochs or seeds or target is not None:
        raise UsageError("data, epochs, target and seeds are those of whole trainings", "race with --task fit or epoch")
    wanted = fixed_batch(batch, memory_limit, device)
    joined = link_of(link)
    graph, case, chosen = make_case(model, wanted, shape, classes, optimizer, regime, device, threads)
    case = replace(case, link=joined, hosts=tuple(hosts))
    given = own_weights(weights, model, graph)
    meet = Meet.of(contenders, tasks, device, store or DEFAULT_STORE, margin=margin, seed=seed, command=command,
                   listener=listener, timeout=timeout, environments=environments, make_environments=make_environments)
    if batch == MAX:
        meet, case = meet_at_the_smallest(meet, tasks, case, graph, chosen, given, limit_of(memory_limit, device))
    samples = source.read(graph, models.find(model).preparation) if source is not None else None
    if samples is not None:
        case = replace(case, training=make_training(tasks[0], samples, data, case.batch, epochs, target, tolerance))
    races = meet.begin({each: replace(case, task=each) for each in tasks})
    room = default_room() if memory is None else memory
    with meet.course(races, graph, chosen, given, room) as course:
        course.resize = resize
        meet.tell_skips()
        session = Session(course, meet.store, races, budget, precision, launches, time_all, energy) if samples is None \
            else EpochSession(course, meet.store, races, budget, samples, seeds or launches, energy)
        notary = Notary(course, meet.store, recertify) if certify else None
        try:
            session.run(Rehearsal(course, notary).run)
        except KeyboardInterrupt:
            raise Interrupted(Outcome(session.results())) from None
        return Outcome(session.results())


BATCHES = (1, 2, 4, 8, 16, 32)


def sweep(model: str, contenders: Sequence[str] = (), task: str = "infer", *,
          batches: Sequence[int] | None = None, links: Sequence[Link | str] = (), predict: Sequence[Link | str] = (),
          latency: float | None = None, share: float = 0.9, shape: tuple[int, ...] | None = None,
          classes: int | None = None, weights: Path | str | None = None, optimizer: str = "", regime: str = "matched",
          device: str = "cpu", threads: int | None = None, budget: float = 900.0, margin: float = 0.02,
          memory: int | None = None, launches: int | None = None, certify: bool = True, recertify: bool = False,
          store: Path | str | None = None, seed: int | None = None, listener: Listener | None = None,
          timeout: float | None = None, command: str | None = None, environments: Places = (),
          make_environments: bool | None = None, energy: bool = True) -> Sweep | LinkSweep:
    """Throughput and latency of contenders at each of `batches` (BATCHES), in task "train" or "infer": a race for each
    batch, whose launches take turns in random order. One contender alone may be swept.

    Or how long steps take over each of `links` ("100mbit") that join the processes of a contender: then of one batch at
    most, in task "train". Of the links in `predict` the result says what a race over them would come to.

    `latency` in seconds is what `share` of the steps should keep; the best batch is then the one of highest throughput
    that is shown to. `budget` in seconds for the launches, of which there are 6 of each batch if it allows, unless
    `launches` says how many. The rest is as in `race`.
    Raises UsageError (wrong use) and Interrupted (Ctrl-C; carries the results so far).
    """
    one_of("task of a sweep", task, TASKS)
    joined, others = ([found for each in some if (found := link_of(each))] for some in (links, predict))
    if others and not joined:
        raise UsageError("what is predicted are steps over links", "write --links 100mbit,200mbit,1gbit, too")
    if latency is not None and joined:
        raise UsageError("a bound of latency is for the sweep of a model over batches", "leave --latency out")
    graph, case, chosen = make_case(model, None, shape, classes, optimizer, regime, device, threads)
    cases = _over_links(case, joined, others, batches) if joined else _over_batches(case, batches)
    given = own_weights(weights, model, graph)
    meet = Meet.of(contenders, (task,), device, store or DEFAULT_STORE, margin=margin, seed=seed, command=command,
                   listener=listener, timeout=timeout, environments=environments, make_environments=make_environments,
                   least=1)
    parts = {name: Part(graph, each, chosen, given) for name, each in cases.items()}

    def told(results: Sequence[Result]) -> Sweep | LinkSweep:
        return LinkSweep(results, others) if joined else Sweep(results, latency, share)

    try:
        return told(_in_turns(meet, parts, task, budget, launches, memory, certify, recertify, energy))
    except Interrupted as stopped:
        raise Interrupted(told(stopped.results)) from None


def side_by_side(models: Mapping[str, str], contenders: Sequence[str], task: str = "train", *, batch: int | None = None,
                 shape: tuple[int, ...] | None = None, classes: int | None = None, optimizer: str = "",
                 regime: str = "matched", device: str = "cpu", threads: int | None = None, budget: float = 300.0,
                 margin: float = 0.02, launches: int | None = None, certify: bool = True, recertify: bool = False,
                 store: Path | str | None = None, seed: int | None = None, listener: Listener | None = None,
                 timeout: float | None = None, command: str | None = None, environments: Places = (),
                 make_environments: bool | None = None, energy: bool = True) -> Outcome:
    """Contenders on each of several models, by what these are called: a race of each, whose launches take turns in
    random order. Each model has a proof of its own. The rest is as in `sweep`.

    Raises UsageError (wrong use) and Interrupted (Ctrl-C; carries the results so far).
    """
    one_of("task of models side by side", task, TASKS)
    parts = {name: Part(*make_case(model, batch, shape, classes, optimizer, regime, device, threads), None)
             for name, model in models.items()}
    meet = Meet.of(contenders, (task,), device, store or DEFAULT_STORE, margin=margin, seed=seed, command=command,
                   listener=listener, timeout=timeout, environments=environments, make_environments=make_environments,
                   least=1)
    return _in_turns(meet, parts, task, budget, launches, None, certify, recertify, energy)


class Part(NamedTuple):
    """One of several races whose launches take turns."""

    graph: Graph
    case: Case
    optimizer: Optimizer
    weights: Arrays | None


def _in_turns(meet: Meet, parts: Mapping[str, Part], task: str, budget: float, launches: int | None,
              memory: int | None, certify: bool, recertify: bool, energy: bool) -> Outcome:
    """Raises Interrupted, which carries the results so far."""
    meet.tell_skips()
    room = default_room() if memory is None else memory
    with ExitStack() as courses:
        sessions: dict[str, Session] = {}
        for name, part in parts.items():
            races = meet.begin({task: replace(part.case, task=task)}, f"-{name.rpartition(' ')[2]}")
            course = courses.enter_context(meet.course(races, part.graph, part.optimizer, part.weights, room, name))
            sessions[name] = Session(course, meet.store, races, budget, 0.0, launches, metered=energy)
        first = next(iter(sessions.values()))
        rehearsals = {name: Rehearsal(session.course, Notary(session.course, meet.store, recertify and session is first)
                                      if certify else None).run for name, session in sessions.items()}

        def results() -> Outcome:
            return Outcome([result for session in sessions.values() for result in session.results()])

        try:
            Passes(sessions, budget, launches, meet.seed, meet.listener).run(rehearsals)
        except KeyboardInterrupt:
            raise Interrupted(results()) from None
        return results()


def _over_batches(case: Case, batches: Sequence[int] | None) -> dict[str, Case]:
    """The smallest first: where memory ends, what fits is known. Raises UsageError."""
    sizes = sorted(set(BATCHES if batches is None else batches))
    if len(sizes) < 2 or sizes[0] < 1:
        raise UsageError(f"a sweep needs two batches at least, not {', '.join(map(str, sizes)) or 'none'}",
                         "write --batch 1..32 or --batch 1,2,4,8")
    return {f"batch {size}": replace(case, batch=size) for size in sizes}


def _over_links(case: Case, links: Sequence[Link], others: Sequence[Link],
                batches: Sequence[int] | None) -> dict[str, Case]:
    """The fastest first: its rehearsal takes least. Raises UsageError."""
    if len({each.rate for each in links}) < 2:
        raise UsageError("a sweep needs links of two rates at least", "write --links 100mbit,200mbit,500mbit,1gbit")
    if len({each.delay for each in (*links, *others)}) > 1 or len(set(links)) > len({each.rate for each in links}):
        raise UsageError("the links of a sweep differ in their rate alone", "give all of them the same delay")
    if batches is not None and len(batches) > 1:
        raise UsageError("a sweep is over batches or over links", "write one --batch beside --links")
    size = batches[0] if batches else case.batch
    return {f"link {each.name}": replace(case, link=each, batch=size)
            for each in sorted(set(links), key=lambda each: -each.rate)}


def serve(model: str, contenders: Sequence[str] = (), *, rate: float | None = None, clients: int | None = None,
          latency: float | None = None, share: float = 0.99, confidence: float = 0.99, queries: int | None = None,
          batch: int = 1, shape: tuple[int, ...] | None = None, classes: int | None = None,
          weights: Path | str | None = None, regime: str = "matched", device: str = "cpu", threads: int | None = None,
          budget: float = 600.0, margin: float = 0.02, memory: int | None = None, launches: int | None = None,
          certify: bool = True, recertify: bool = False, store: Path | str | None = None, seed: int | None = None,
          listener: Listener | None = None, timeout: float | None = None, command: str | None = None,
          environments: Places = (), make_environments: bool | None = None, energy: bool = True) -> Outcome:
    """Latency of contenders that answer queries of `batch` samples one at a time: `rate` of them a second at random
    moments, or from so many `clients` that each wait for their answer. The race compares median latencies. One
    contender alone may be tried.

    With `latency` seconds it stops as soon as it is known, with `confidence`, whether `share` of all queries are
    answered within them; `queries` of each contender, in `launches` fresh processes, are the most it takes. The rest is
    as in `race`.
    Raises UsageError (wrong use) and Interrupted (Ctrl-C; carries the results so far).
    """
    load = make_load(rate, clients, latency, share, confidence, queries, launches)
    graph, case, chosen = make_case(model, batch, shape, classes, "", regime, device, threads)
    given = own_weights(weights, model, graph)
    meet = Meet.of(contenders, (SERVE,), device, store or DEFAULT_STORE, margin=margin, seed=seed, command=command,
                   listener=listener, timeout=timeout, environments=environments, make_environments=make_environments,
                   least=1)
    meet.tell_skips()
    races = meet.begin({SERVE: replace(case, task=SERVE, load=load)})
    with meet.course(races, graph, chosen, given, default_room() if memory is None else memory) as course:
        session = ServeSession(course, meet.store, races, budget, energy)
        try:
            session.run(Rehearsal(course, Notary(course, meet.store, recertify) if certify else None).run)
        except KeyboardInterrupt:
            raise Interrupted(Outcome(session.results())) from None
        return Outcome(session.results())


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
    graph, case, optimizer = make_case(model, None, shape, classes, "", regime, device, threads, reduced)
    given = own_weights(weights, model, graph)
    certificates: list[Certificate] = []
    with trial(contenders, {"train": case}, graph, optimizer, store or DEFAULT_STORE, listener=listener,
               timeout=timeout, environments=environments, make_environments=make_environments, weights=given,
               seed=seed) as tried:
        course, notary = tried.course, Notary(tried.course, tried.store, recertify)
        for number, entry in enumerate(course.entries):
            course.listener(Progress("certify", entry.name, entry.name, done=number, total=len(course.entries)))
            try:
                certificates.append(_certificate(course, notary, entry))
            except WorkerFailed as error:
                course.failed(entry, error, 0, "certificate")
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
    """What `accuracy` found: the top-1 of each contender that could be tried, a failure for the rest."""

    model: str
    digest: str
    images: int
    contenders: tuple[Accuracy, ...]
    failures: tuple[Failure, ...]


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
    if output.axes != "C" or len(graph.inputs) != 1:
        raise UsageError(f"{case.model} does not tell classes of images apart", "accuracy is for models that do")
    pictures = images.find(Path(data), output.size("C"))
    given = own_weights(weights, model, graph)
    prepared = images.batches(pictures, graph.inputs[0][1], models.find(model).preparation, case.batch)
    with trial(contenders, {"infer": case}, graph, optimizer, store or DEFAULT_STORE, listener=listener,
               timeout=timeout, environments=environments, make_environments=make_environments, weights=given,
               tasks=["infer"]) as tried:
        found = Prediction(tried.course).run(prepared, len(pictures))
    counted = judge_guesses(found, [each.label for each in pictures])
    return Accuracies(case.model, graph.digest, len(pictures), counted, tuple(tried.failures))


def _certificate(course: Course, notary: Notary, entry: Entry) -> Certificate:
    worker = course.start(entry, 0, memory=AS_IT_LIKES)
    try:
        course.load(worker, entry)
        tell = lambda text: course.listener(Progress("certify", f"{entry.name}: {text}", entry.name))  # noqa: E731
        return notary.known(entry) or notary.certify(worker, entry, tell)
    finally:
        worker.kill()


def load(session: str = "last", store: Path | str | None = None, latency: float | None = None,
         share: float = 0.9, predict: Sequence[Link | str] = ()) -> Outcome:
    """The results of one session ("last", its name, or one race's id), judged anew from raw records; `latency`, `share`
    and `predict` are as in `sweep`, if that is what it was.

    Raises UsageError if there is none.
    """
    kept = Store(Path(store) if store is not None else DEFAULT_STORE, only_read=True)
    sessions = kept.sessions()
    if not sessions:
        raise UsageError(f"no race has been run with the store {kept.folder}", "run one: photofinish race resnet18")
    for name, _, races in reversed(sessions):
        if session in ("last", name) or session in races:
            chosen = [session] if session in races else races
            results = [judged(kept.read(each)) for each in chosen]
            swept = stats_batches.swept([each.race for each in results])
            if latency is not None and not swept:
                raise UsageError("a bound of latency is for the sweep of a model over batches", "leave --latency out")
            linked = communication.linked([each.race for each in results])
            if predict and not linked:
                raise UsageError("what is predicted are steps over links", "leave --predict out")
            if linked:
                return LinkSweep(results, [found for each in predict if (found := link_of(each))])
            return Sweep(results, latency, share) if swept else Outcome(results)
    raise UsageError(f"no session {session!r} in {kept.path}", "see them with: photofinish report --list")
