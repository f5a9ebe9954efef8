"""From what a user asks for to a course: contenders with interpreters, the case, the scratch folder."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from photofinish import environments, machine, models
from photofinish.data.sets import DataSet
from photofinish.environments import PIPELINE_TASKS, STRATEGY_TASKS, TASKS
from photofinish.errors import UsageError, at_home, unknown
from photofinish.files import datasets, texts
from photofinish.files.datasets import Source
from photofinish.files.weights import read
from photofinish.graph import Graph
from photofinish.optimizers import OPTIMIZERS, Optimizer, optimizer_json
from photofinish.runner import links, machines
from photofinish.runner.course import BATCHES, Course, Patience, Recorder, too_large
from photofinish.runner.entry import Entry
from photofinish.runner.scratch import scratch
from photofinish.store import Store
from photofinish.values import (
    REGIMES,
    SERVE,
    WHOLE,
    Case,
    Contender,
    Link,
    Progress,
    Skip,
    SpellingError,
    Training,
    misfit,
)
from photofinish.weights import Arrays

EPOCHS = {"epoch": 5, "fit": 10}  # of a training, unless somebody says otherwise
RACES = TASKS + WHOLE
SEEDS = 2**31  # NumPy takes 2**32, and numbers are added to them
LEARNERS = {"CHW": ("classification", "images"), "T": ("language modelling", "words")}  # by the axes of their input


def find_entries(contenders: Sequence[str], device: str, choice: environments.Choice | None = None,
                 listener: Callable[[Progress], None] | None = None,
                 tasks: Sequence[str] = TASKS, lenient: bool = False) -> tuple[list[Entry], tuple[Skip, ...]]:
    """The contenders that have any of the tasks, with their interpreters, in environments made now where that is needed
    and allowed; of `all`, or if `lenient`, those that cannot be had here are skipped. Raises UsageError for another one
    that cannot."""
    choice = choice or environments.Choice()
    lenient = lenient or environments.ALL in environments.split(contenders)
    entries = []
    everyone = named(contenders, device, choice)
    wanted = [each for each in everyone if set(tasks_of(each)) & set(tasks)]
    skipped = [_skip(each, tasks[0]) for each in everyone if each not in wanted]
    for contender in wanted:
        _check_threads(int(dict(contender.options).get("threads", "1")), f"{contender.name}: ")
    for contender in () if lenient else wanted:  # before the first is made, which may take minutes
        _insist(contender, environments.able(environments.foresee(contender, choice), device))
    for contender in wanted:
        foreseen = environments.able(environments.foresee(contender, choice), device)
        found = foreseen if isinstance(foreseen, environments.Missing) else \
            environments.obtain(contender, choice, listener or (lambda progress: None))
        if isinstance(found, environments.Environment):
            entries.append(Entry(contender, found, tasks_of(contender)))
        elif lenient:
            skipped.append(Skip(contender.name, found.reason, found.cure))
        else:
            _insist(contender, found)
    if not entries:
        if skipped:
            first = skipped[0]
            raise UsageError(f"{first.contender} cannot be tried here: {first.reason}",
                             f"try {first.cure}" if first.cure.startswith("-") else first.cure)
        raise UsageError("no framework is installed for this Python",
                         "have environments made for them: --contenders all, or photofinish env create torch")
    return entries, tuple(skipped)


def _insist(contender: Contender, found: object) -> None:
    """Raises UsageError if that is the reason why the contender cannot run."""
    if isinstance(found, environments.Missing):
        raise UsageError(f"{contender.name}: {found.reason}", found.cure)


def named(contenders: Sequence[str], device: str, choice: environments.Choice) -> list[Contender]:
    """Those that were asked for; all that can run at once if nobody was."""
    return environments.expand(*contenders, device=device) if contenders else environments.installed(choice, device)


def tasks_of(contender: Contender) -> tuple[str, ...]:
    framework = environments.frameworks()[contender.framework]
    if framework.stepping(contender).options != contender.options:
        return PIPELINE_TASKS
    if contender.strategy:
        return STRATEGY_TASKS
    tasks = framework.tasks_of(contender.mode)
    if framework.language != "python":  # whose workers have no more than steps
        return tasks
    return tasks + (WHOLE if set(TASKS) <= set(tasks) else ()) + ((SERVE,) if "infer" in tasks else ())


def left_out(tasks: Sequence[str], contenders: Sequence[Contender], least: int = 2) -> dict[str, tuple[Skip, ...]]:
    """Task -> the contenders that lack it. Raises UsageError for a task that fewer than `least` of them have."""
    found = {}
    for task in tasks:
        lacking = [each for each in contenders if task not in tasks_of(each)]
        skips = [_skip(each, task) for each in lacking]
        if skips and len(contenders) - len(skips) < least:
            told = "; ".join(f"{each.contender}: {each.reason}" for each in skips)
            many = "two contenders that have it" if least == 2 else "a contender that has it"
            raise UsageError(f"task {task} needs {many} ({told})",
                             f"try them with {skips[0].cure}, or name others; see: photofinish list contenders")
        found[task] = tuple(skips)
    return found


def _skip(contender: Contender, task: str) -> Skip:
    """Why a contender lacks a task, and what to write instead."""
    able = tasks_of(contender)
    if able == PIPELINE_TASKS:
        steps = environments.frameworks()[contender.framework].stepping(contender)
        return Skip(contender.name, "fed a data set in a way that is part of epochs only", steps.name)
    if task == SERVE:
        return Skip(contender.name, "no queries under a load", "photofinish race --task infer")
    if contender.strategy:
        return Skip(contender.name, "several processes share training steps only", "--task train")
    if task in WHOLE and "train" in able:
        return Skip(contender.name, "no input pipeline and no data sets", f"--task {able[0]}")
    return Skip(contender.name, f"{_spoken(able)} only", f"--task {able[0]}")


def _spoken(tasks: Sequence[str]) -> str:
    return " and ".join({"train": "training", "infer": "inference"}[each] for each in tasks if each in TASKS)


def make_case(model: str, batch: int | None, shape: tuple[int, ...] | None, classes: int | None, optimizer: str,
              regime: str, device: str, threads: int | None, reduced: bool = False) -> tuple[Graph, Case, Optimizer]:
    """The recorded model, the case (its task still open) and the optimizer. Raises UsageError, ModelError."""
    one_of("regime", regime, REGIMES)
    check_counts(batch=batch)
    entry = models.find(model)
    if reduced and (shape or classes):
        raise UsageError("the reduced model has a size of its own", "leave --input and --classes out, or --reduced")
    graph = entry.small() if reduced else entry.graph(shape, classes)
    _check_room(graph, batch or entry.batch)
    if optimizer:
        one_of("optimizer", optimizer, tuple(OPTIMIZERS))
    chosen: Optimizer = OPTIMIZERS[optimizer]() if optimizer else entry.optimizer
    environments.check_device(device)
    device = device.removesuffix(":0")  # the first, by its other name
    lacking = machine.lacks(device)
    if lacking:
        raise UsageError(f"--device {device}: {lacking}", "leave it out to race on the CPU; see: photofinish doctor")
    threads = machine.usual_threads() if threads is None else threads
    _check_threads(threads)
    case = Case(entry.name, graph.digest, "", batch or entry.batch, graph.inputs[0][1].shape,
                entry.classes if classes is None else classes, "float32", device, regime, threads,
                optimizer_json(chosen), entry.unit, entry.units(graph))
    return graph, case, chosen


def _check_room(graph: Graph, batch: int) -> None:
    """Raises UsageError where the inputs of the batches that rotate are sure to fill this machine's memory, before
    anything is in the store."""
    sample = sum(math.prod(spec.shape) * np.dtype(spec.dtype).itemsize for _, spec in graph.inputs)
    most = machine.usable_memory()
    if most is not None and BATCHES * batch * sample > most:
        raise too_large(batch)


def _check_threads(threads: int, whose: str = "") -> None:
    cores = len(machine.usable_cores())
    if not 1 <= threads <= cores:
        many = f"{threads} thread{'' if threads == 1 else 's'}"
        raise UsageError(f"{whose}{many} asked for, this process may use {cores} core{'' if cores == 1 else 's'}",
                         f"choose 1 to {cores}" if cores > 1 else "choose 1")


def check_shares(entries: Sequence[Entry], cases: Iterable[Case]) -> None:
    """Raises UsageError where the processes (or devices) of a strategy cannot have equal parts of the batch and of the
    threads."""
    for entry in entries:
        world = entry.contender.world
        many = f"{world} {'devices' if entry.processes == 1 else 'processes'}"
        slices = entry.home.framework.slices_of(entry.contender)
        for case in cases if world > 1 else ():
            if case.batch % slices:
                each = f" in {slices // world} parts each" if slices > world else ""
                raise UsageError(f"{entry.name}: {many} cannot share a batch of {case.batch} equally{each}",
                                 f"choose --batch {max(slices, case.batch - case.batch % slices)}, say")
            threads = entry.contender.threads(case.threads)
            if threads % world:
                option = "threads=" if "threads" in dict(entry.contender.options) else "--threads "
                raise UsageError(f"{entry.name}: {many} cannot share {threads} "
                                 f"thread{'' if threads == 1 else 's'} equally",
                                 f"choose {option}{max(world, threads - threads % world)}"
                                 if world <= len(machine.usable_cores()) else f"choose fewer than {many}")
            if entry.home.driver:
                raise UsageError(f"{entry.name}: {entry.contender.strategy} has never been run in version "
                                 f"{entry.home.version}", "race it in the usual version")


def _throttling(entries: Sequence[Entry], cases: Iterable[Case]) -> str:
    """What to say of a container that gives less time than the threads would take; nothing if it gives enough."""
    quota = machine.limits(Path("/"))["cpus"]
    most = max((entry.contender.threads(case.threads) for entry in entries for case in cases), default=0)
    if quota is None or most <= quota:
        return ""
    return (f"this container (or job) may use {quota:g} cores' time, and contenders have {most} "
            f"thread{'' if most == 1 else 's'}: they are held up again and again, and their times show it; "
            f"{f'choose --threads {int(quota)}' if quota >= 1 else 'give it a whole core'}")


def link_of(link: Link | str | None) -> Link | None:
    """As it was spelled. Raises UsageError."""
    try:
        return Link.parse(link) if isinstance(link, str) else link
    except SpellingError as error:
        raise UsageError(*str(error).split(": ", 1)) from None


def check_links(entries: Sequence[Entry], cases: Iterable[Case]) -> None:
    """Raises UsageError where a case has a link that nobody would use, or that this machine cannot have."""
    for link in dict.fromkeys(case.link for case in cases if case.link):
        if all(entry.processes == 1 for entry in entries):
            raise UsageError(f"a link of {link} joins processes, and each of these contenders is one",
                             "add one that is several, such as torch:eager+ddp[2]; see: photofinish list contenders")
        links.check(link)


def find_hosts(entries: Sequence[Entry], cases: Mapping[str, Case], folder: Path) -> tuple[machines.Machine, ...]:
    """The machines that the cases name, seen to be of use. Raises UsageError."""
    case = next(iter(cases.values()))
    if not case.hosts:
        return ()
    if all(entry.processes == 1 for entry in entries):
        raise UsageError("hosts are for the processes of a contender, and each of these contenders is one",
                         "add one that is several, such as torch:eager+ddp[2]; see: photofinish list contenders")
    most = max(entries, key=lambda entry: entry.processes)
    if most.processes > len(case.hosts):
        raise UsageError(f"{most.name} is {most.processes} processes, and {len(case.hosts)} hosts are named",
                         "name as many, separated by commas; one may be named again")
    if case.link:
        raise UsageError("a link joins hosts within this machine", "leave --link or --hosts out")
    pythons = dict.fromkeys(entry.home.python for entry in entries if entry.processes > 1)
    return machines.find(case.hosts[:most.processes], folder, pythons)


def check_tasks(tasks: Sequence[str]) -> None:
    """Raises UsageError for a task that there is not, or a whole one beside others, or where there is none."""
    if not tasks:
        raise UsageError("a race is of a task", f"name one: {', '.join(RACES)}")
    if SERVE in tasks:
        raise UsageError("queries under a load have a command of their own", "photofinish serve MODEL --rate 20")
    for each in tasks:
        one_of("task", each, RACES)
    check_training(tasks)


def check_training(tasks: Sequence[str], **figures: Any) -> None:
    """Raises UsageError for a whole training beside other tasks, and for figures of one (data, epochs, seeds, target)
    that make no sense or are of no such task."""
    wrong = misfit(tasks, **figures)
    if wrong is not None:
        raise UsageError(wrong.message, "write --{} {}".format(*wrong.cure))


def training_source(data: str, model: str, shape: tuple[int, ...] | None, classes: int | None) -> Source:
    """Where the data of a training comes from: the set of that name, or the one that fits the model. Raises
    UsageError, ModelError."""
    entry = models.find(model)
    spec = entry.inputs[0][1]
    if len(entry.inputs) != 1 or LEARNERS.get(spec.axes, ("", ""))[0] != entry.task:
        raise UsageError(f"{entry.name} neither tells classes of images apart nor predicts the next word",
                         "tasks epoch and fit are for models that do")
    if not data and spec.axes == "T":
        raise UsageError(f"{entry.name} learns from a text: which?", f"write --data FILE.txt ({texts.PUBLISHED})")
    if datasets.is_text(data) and spec.axes != "T":  # before it is looked for: no text would do
        raise UsageError(f"{data} is spelled as a text, and {entry.name} takes {LEARNERS[spec.axes][1]}",
                         f"write --data {' or '.join(datasets.BUILT_IN)}, or NAME:FOLDER of those on your disk: "
                         f"{', '.join(datasets.ON_DISK)}")
    source = datasets.find(data or ("digits" if (shape or spec.shape) == datasets.BUILT_IN["digits"].shape
                                    else "patterns"))
    if source.axes != spec.axes:
        raise UsageError(f"{source.name} holds {LEARNERS[source.axes][1]}, {entry.name} takes {LEARNERS[spec.axes][1]}",
                         "name another with --data")
    source = source.within(spec.shape, entry.preparation.border)
    if shape and source.shape and shape != source.shape:
        raise UsageError(f"{source.name} has samples of {'x'.join(map(str, source.shape))}", "leave --input out")
    if classes and source.classes and classes < (source.fewest or source.classes):
        raise UsageError(f"{source.name} has {source.classes} classes", "leave --classes out")
    return source if entry.classes is not None else replace(source, classes=None)  # its own head decides


def make_training(task: str, data: DataSet, graph: Graph, spelled: str, batch: int, epochs: int | None,
                  target: float | None, tolerance: float) -> Training:
    """Raises UsageError if the data does not fill a batch, or has more classes than the model has outputs."""
    if len(data.train.labels) < batch:
        raise UsageError(f"{data.name} has {len(data.train.labels)} samples to train on, fewer than a batch of {batch}",
                         "choose a smaller --batch")
    told_apart = graph.spec(graph.outputs[0]).size("C")
    highest = max(int(np.max(part.labels, initial=0)) for part in (data.train, data.validation))
    if highest >= told_apart:
        raise UsageError(f"{data.name} has a class {highest}, the model tells {told_apart} apart, counted from 0",
                         f"give the model {highest + 1} outputs, or choose other --data")
    aim = data.target if target is None and task == "fit" else target
    return Training(spelled or data.name, data.digest, len(data.train.labels), len(data.validation.labels),
                    epochs or EPOCHS[task], aim, tolerance, data.source)


def own_weights(path: Path | str | None, model: str, graph: Graph) -> Arrays | None:
    """The arrays of a file of the user's, None without one. Raises UsageError if they do not fit the graph."""
    return None if path is None else read(at_home(path), models.find(model), graph)


@contextmanager
def open_course(store: Store, cases: dict[str, Case], graph: Graph, optimizer: Optimizer, entries: list[Entry],
                record: Recorder, seed: int, listener: Callable[[Progress], None] | None = None,
                timeout: float | None = None, weights: Arrays | None = None, room: int | None = None,
                least: int = 2) -> Iterator[Course]:
    """A course with its scratch folder and watchdog; both are gone afterwards, whatever happens."""
    with ExitStack() as stack:
        folder = stack.enter_context(scratch(store.folder))
        link, most = next(iter(cases.values())).link, max((entry.processes for entry in entries), default=1)
        hosts = stack.enter_context(links.hosts(link, most)) if link else find_hosts(entries, cases, folder)
        course = Course(cases, graph, optimizer, entries, folder, record, seed, patience=Patience.of(timeout),
                        listener=listener or (lambda progress: None), weights=weights, room=room, least=least,
                        hosts=hosts)
        stack.callback(course.close)
        throttling = _throttling(entries, cases.values())
        if throttling:
            course.listener(Progress("warning", throttling))
        yield course


def check_counts(**counts: int | None) -> None:
    """Raises UsageError for one that is none, named as Python's verbs name it. The shell refuses them by itself."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise UsageError(f"{name}={count}: it counts from 1", "leave it out to have the usual")


def check_run(seed: int | None, budget: float | None = None) -> None:
    """Raises UsageError for a seed from which not everybody can draw, and for a budget that is no time."""
    if seed is not None and not 0 <= seed < SEEDS:
        raise UsageError(f"seed={seed}: a seed is a number from 0 to {SEEDS - 1}", "leave it out to have a new one")
    if budget is not None and not 0 < budget < math.inf:
        raise UsageError(f"budget={budget}: the launches take some seconds, and not for ever", "say budget=300.0")


def one_of(what: str, value: str, choices: Sequence[str]) -> None:
    """Raises UsageError, with the nearest choice, if `value` is none of them."""
    if value not in choices:
        raise unknown(what, value, choices)
