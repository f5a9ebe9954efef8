"""Several races whose launches take turns: sweeps over batches or links, and models side by side."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from photofinish.api.stored import Interrupted
from photofinish.environments import TASKS
from photofinish.errors import UsageError
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.outcome import LinkSweep, Outcome, Sweep
from photofinish.runner.arrange import (
    check_counts,
    check_links,
    check_run,
    check_shares,
    link_of,
    make_case,
    one_of,
    own_weights,
)
from photofinish.runner.groups import default_room
from photofinish.runner.meet import Listener, Meet, Places
from photofinish.runner.notary import Notary
from photofinish.runner.rehearsal import Rehearsal
from photofinish.runner.session import Session
from photofinish.runner.sweep import Sweep as Passes
from photofinish.store import DEFAULT_STORE
from photofinish.values import Case, Link, Race, Result
from photofinish.weights import Arrays

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
    check_counts(launches=launches)
    check_run(seed, budget)
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
    check_counts(launches=launches)
    check_run(seed, budget)
    if not models:
        raise UsageError("no model is named", 'write {"what it is called": "MODEL"}, two of them to compare')
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
    """Raises UsageError before anything is in the store, and Interrupted, which carries the results so far."""
    check_shares(meet.entries, [part.case for part in parts.values()])
    check_links(meet.entries, [part.case for part in parts.values()])
    meet.tell_skips()
    room = default_room() if memory is None else memory
    with ExitStack() as courses:
        sessions: dict[str, Session] = {}
        begun: list[Race] = []
        last = [name.rpartition(" ")[2] for name in parts]
        tails = last if len(set(last)) == len(last) else [str(number) for number in range(1, len(last) + 1)]
        for tail, (name, part) in zip(tails, parts.items()):
            races = meet.begin({task: replace(part.case, task=task)}, f"-{tail}")
            begun += races.values()
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
            meet.stopped(begun)
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
