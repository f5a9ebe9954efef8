"""Why one contender is faster than another, with the race it rests on: the model and each of its layers, timed in the
same processes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from photofinish import api
from photofinish.environments import TASKS, expand
from photofinish.errors import Stopped, UsageError
from photofinish.explain import Explanation, apart, explain
from photofinish.explain.anatomy import anatomy
from photofinish.explain.roofline import with_probes
from photofinish.outcome import Outcome
from photofinish.runner.arrange import check_counts, make_case, one_of, own_weights
from photofinish.runner.groups import default_room
from photofinish.runner.layers import LayerSession
from photofinish.runner.meet import Listener, Meet, Places
from photofinish.runner.notary import Notary
from photofinish.runner.rehearsal import Rehearsal

EPOCH = "epoch"
EVERY = {"train": ("train", "infer"), "infer": ("infer",)}  # what is timed of each layer, by the task that is explained


def why(model: str, contenders: Sequence[str] = (), task: str = "train", *, batch: int | None = None,
        shape: tuple[int, ...] | None = None, classes: int | None = None, weights: Path | str | None = None,
        optimizer: str = "", regime: str = "matched", device: str = "cpu", threads: int | None = None,
        budget: float = 900.0, margin: float = 0.02, launches: int | None = None, certify: bool = True,
        recertify: bool = False, store: Path | str | None = None, seed: int | None = None,
        listener: Listener | None = None, timeout: float | None = None, command: str | None = None,
        environments: Places = (), make_environments: bool | None = None, data: str = "",
        epochs: int | None = None) -> Explanation:
    """Where the gap between contenders comes from: races them on the model, times every distinct layer of it in the
    same processes, forward and in a training step, and compares the fastest with each other one. With two that differ
    in several settings those race too that have some of them, which tells what each does.

    Of task "epoch", on a CPU, no layers are timed: contenders race over `data` for `epochs`, and waiting for batches is
    told from what their steps take.

    `budget` in seconds for the launches, of which there are 6 if it allows, unless `launches` says how many. The rest
    is as in `race`. Raises UsageError (wrong use) and Stopped (Ctrl-C; carries what the measurements so far say).
    """
    one_of("task to explain", task, (*TASKS, EPOCH))
    check_counts(launches=launches, epochs=epochs)
    if task == EPOCH and device != "cpu":
        raise UsageError("what a loop waits for is not told on a GPU, which works off its queue meanwhile",
                         "explain its steps: --task train")
    asked = expand(*contenders, device=device)
    for each in asked:
        if each.strategy:
            raise UsageError(f"{each.name}: several processes have no layer to themselves",
                             f"explain what one does: {each.name.partition('+')[0]}")
    others = apart(asked, device)
    field = (*contenders, *others)
    if task == EPOCH:
        try:
            return _explained(api.race(
                model, field, task, batch=batch, shape=shape, classes=classes, weights=weights, optimizer=optimizer,
                regime=regime, device=device, threads=threads, budget=budget, margin=margin, launches=launches,
                certify=certify, recertify=recertify, store=store, seed=seed, listener=listener, timeout=timeout,
                command=command, environments=environments, make_environments=make_environments, data=data,
                epochs=epochs, energy=False))
        except api.Interrupted as stopped:
            raise Stopped(_explained(stopped.results)) from None
    if data or epochs:
        raise UsageError("data and epochs are those of whole trainings", "explain --task epoch")
    graph, case, chosen = make_case(model, batch, shape, classes, optimizer, regime, device, threads)
    given = own_weights(weights, model, graph)
    tasks = EVERY[task]
    meet = Meet.of(field, tasks, device, store or api.DEFAULT_STORE, margin=margin, seed=seed,
                   command=command, listener=listener, timeout=timeout, environments=environments,
                   make_environments=make_environments)
    taken = with_probes(anatomy(graph, task == "train"), case.batch, case.device)
    races = {each: replace(race, parts=taken.parts)
             for each, race in meet.begin({each: replace(case, task=each) for each in tasks}).items()}
    for race in races.values():
        meet.store.update(race)
    meet.tell_skips()
    with meet.course(races, graph, chosen, given, default_room()) as course:
        session = LayerSession(course, meet.store, races, budget, launches, taken.graphs, task, others)
        try:
            session.run(Rehearsal(course, Notary(course, meet.store, recertify) if certify else None).run)
        except KeyboardInterrupt:
            meet.stopped(races.values())
            raise Stopped(_explained(Outcome(session.results()))) from None
        return _explained(Outcome(session.results()))


def read(session: str = "last", store: Path | str | None = None) -> Explanation:
    """What was measured before says. Raises UsageError."""
    return _explained(api.load(session, store))


def _explained(results: Outcome) -> Explanation:
    """Raises UsageError for races whose layers were not timed."""
    tasks = {result.race.case.task: result for result in results}
    found = {task: result for task, result in tasks.items() if result.race.parts or task == EPOCH}
    main = found.get("train", found.get("infer", found.get(EPOCH)))
    if main is None:
        raise UsageError("the layers of that race were not timed", "photofinish why MODEL --contenders A,B times them")
    return explain(main, found.get("infer") if "train" in found else None)
