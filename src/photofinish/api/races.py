"""One race of contenders on one model, and queries under load."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from photofinish import models
from photofinish.api.stored import Interrupted
from photofinish.errors import UsageError
from photofinish.outcome import Outcome
from photofinish.runner.arrange import (
    check_counts,
    check_run,
    check_tasks,
    check_training,
    link_of,
    make_case,
    make_training,
    own_weights,
    training_source,
)
from photofinish.runner.epochs import EpochSession
from photofinish.runner.groups import default_room
from photofinish.runner.largest import fixed_batch, limit_of, meet_at_the_smallest
from photofinish.runner.meet import Listener, Meet, Places
from photofinish.runner.notary import Notary
from photofinish.runner.rehearsal import Rehearsal
from photofinish.runner.serving import ServeSession, make_load
from photofinish.runner.session import Session
from photofinish.store import DEFAULT_STORE
from photofinish.values import MAX, SERVE, WHOLE, Link, Progress


def race(model: str, contenders: Sequence[str] = (), task: str | Sequence[str] = "train", *,
         batch: int | str | None = None, shape: tuple[int, ...] | None = None, classes: int | None = None,
         weights: Path | str | None = None, optimizer: str = "", regime: str = "matched", device: str = "cpu",
         threads: int | None = None, memory_limit: int | None = None, budget: float = 300.0, precision: float = 0.01,
         margin: float = 0.02, memory: int | None = None, time_all: bool = False, launches: int | None = None,
         resize: bool = False, certify: bool = True, recertify: bool = False, store: Path | str | None = None,
         seed: int | None = None, listener: Listener | None = None, timeout: float | None = None,
         command: str | None = None, environments: Places = (), make_environments: bool | None = None, data: str = "",
         epochs: int | None = None, target: float | None = None, tolerance: float = 0.01,
         seeds: int | None = None, energy: bool = True, link: Link | str | None = None, hosts: Sequence[str] = (),
         profile: bool = False) -> Outcome:
    """Races contenders on one model and judges them, one Result per task. Who lacks a task (an inference engine cannot
    train) is left out of that race, which says so.

    `batch` "max" is the smallest of the contenders' largest batches under `memory_limit` (see `largest_batch`);
    `shape` is channels first without the batch; `weights` a file of the user's own (drawn otherwise);
    `budget` in seconds for the launches, of which there are two in any case;
    `precision` the half-width of the ratio's interval to aim at; `margin` what counts as equivalent;
    `memory` the bytes that the contenders of a launch may hold together (half of the machine's otherwise): a larger
    field races in groups that share an anchor; `time_all` to time also those to the end that are more than 10 times
    slower than the leader after the pilot; `energy` to measure joules where there is a sensor; `recertify` to prove
    again what the store knows to be proven;
    `timeout` the seconds of running time after which a silent worker counts as hung; `environments` the user's own, by
    framework ({"torch": "/path/to/venv"}); what is missing otherwise is made unless `make_environments` is False;
    `profile` to look into a few steps of each launch, by each framework's own profiler;
    `resize` to see, too, what another batch size costs; `link` ("100mbit") to put the processes of a contender on hosts
    of their own that are joined so, `hosts` the machines for them.
    Of tasks "epoch" and "fit": `data` is a set by name ("digits", "cifar10:/path"; otherwise one that fits the model)
    or the path of a text, trained on for `epochs`, `seeds` times; `target` the validation accuracy that is raced for;
    `tolerance` what counts as equally accurate at the end.
    Raises UsageError (wrong use) and Interrupted (Ctrl-C; carries the results so far).
    """
    tasks = (task,) if isinstance(task, str) else tuple(task)
    check_tasks(tasks)
    check_counts(launches=launches, epochs=epochs, seeds=seeds)
    check_run(seed, budget)
    check_training(tasks, data=data, epochs=epochs, seeds=seeds, target=target)
    source = training_source(data, model, shape, classes) if tasks[0] in WHOLE else None
    if source is not None:
        shape, classes = shape or source.shape, classes or source.classes
    if profile and source is not None:
        raise UsageError("what is looked into are steps, not whole trainings", "leave --profile out")
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
        training = make_training(tasks[0], samples, graph, data, case.batch, epochs, target, tolerance)
        case = replace(case, training=training)
    races = meet.begin({each: replace(case, task=each) for each in tasks})
    room = default_room() if memory is None else memory
    with meet.course(races, graph, chosen, given, room) as course:
        course.resize = resize
        meet.tell_skips()
        for each in source.left_out if source is not None else ():
            course.listener(Progress("warning", each))
        session = EpochSession(course, meet.store, races, budget, samples, seeds or launches, energy) \
            if samples is not None else \
            Session(course, meet.store, races, budget, precision, launches, time_all, energy, profile)
        notary = Notary(course, meet.store, recertify) if certify else None
        try:
            session.run(Rehearsal(course, notary).run)
        except KeyboardInterrupt:
            meet.stopped(races.values())
            raise Interrupted(Outcome(session.results())) from None
        return Outcome(session.results())


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
    check_counts(queries=queries, launches=launches)
    check_run(seed, budget)
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
            meet.stopped(races.values())
            raise Interrupted(Outcome(session.results())) from None
        return Outcome(session.results())
