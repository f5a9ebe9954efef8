"""Why one contender is faster than another, with the race it rests on: the model and each of its layers, timed in the
same processes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from photofinish import api
from photofinish.environments import TASKS, expand
from photofinish.errors import Stopped, UsageError
from photofinish.explain import Explanation, explain
from photofinish.explain.anatomy import anatomy
from photofinish.explain.roofline import with_probes
from photofinish.outcome import Outcome
from photofinish.runner.arrange import make_case, one_of, own_weights
from photofinish.runner.groups import default_room
from photofinish.runner.layers import LayerSession
from photofinish.runner.meet import Listener, Meet, Places
from photofinish.runner.notary import Notary
from photofinish.runner.rehearsal import Rehearsal

EVERY = {"train": ("train", "infer"), "infer": ("infer",)}  # what is timed of each layer, by the task that is explained


def why(model: str, contenders: Sequence[str] = (), task: str = "train", *, batch: int | None = None,
        shape: tuple[int, ...] | None = None, classes: int | None = None, weights: Path | str | None = None,
        optimizer: str = "", regime: str = "matched", device: str = "cpu", threads: int | None = None,
        budget: float = 900.0, margin: float = 0.02, launches: int | None = None, certify: bool = True,
        recertify: bool = False, store: Path | str | None = None, seed: int | None = None,
        listener: Listener | None = None, timeout: float | None = None, command: str | None = None,
        environments: Places = (), make_environments: bool | None = None) -> Explanation:
    """Where the gap between contenders comes from: races them on the model, times every distinct layer of it in the
    same processes, forward and in a training step, and compares the fastest with each other one.

    `budget` in seconds for the launches, of which there are 6 if it allows, unless `launches` says how many. The rest
    is as in `race`. Raises UsageError (wrong use) and Stopped (Ctrl-C; carries what the measurements so far say).
    """
    one_of("task to explain", task, TASKS)
    for each in expand(*contenders, device=device):
        if each.strategy:
            raise UsageError(f"{each.name}: several processes have no layer to themselves",
                             f"explain what one does: {each.name.partition('+')[0]}")
    graph, case, chosen = make_case(model, batch, shape, classes, optimizer, regime, device, threads)
    given = own_weights(weights, model, graph)
    tasks = EVERY[task]
    meet = Meet.of(contenders, tasks, device, store or api.DEFAULT_STORE, margin=margin, seed=seed, command=command,
                   listener=listener, timeout=timeout, environments=environments, make_environments=make_environments)
    taken = with_probes(anatomy(graph, task == "train"), case.batch)
    races = {each: replace(race, parts=taken.parts)
             for each, race in meet.begin({each: replace(case, task=each) for each in tasks}).items()}
    for race in races.values():
        meet.store.update(race)
    meet.tell_skips()
    with meet.course(races, graph, chosen, given, default_room()) as course:
        session = LayerSession(course, meet.store, races, budget, launches, taken.graphs, task)
        try:
            session.run(Rehearsal(course, Notary(course, meet.store, recertify) if certify else None).run)
        except KeyboardInterrupt:
            raise Stopped(_explained(Outcome(session.results()))) from None
        return _explained(Outcome(session.results()))


def read(session: str = "last", store: Path | str | None = None) -> Explanation:
    """What was measured before says. Raises UsageError."""
    return _explained(api.load(session, store))


def _explained(results: Outcome) -> Explanation:
    """Raises UsageError for races whose layers were not timed."""
    found = {result.race.case.task: result for result in results if result.race.parts}
    main = found.get("train", found.get("infer"))
    if main is None:
        raise UsageError("the layers of that race were not timed", "photofinish why MODEL --contenders A,B times them")
    return explain(main, found.get("infer") if "train" in found else None)
