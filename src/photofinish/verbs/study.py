"""Running a study: its races one after the other in random order, each settled in the store when it is done, so that
whatever stops it loses at most the race it was in."""

import random
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from photofinish import api
from photofinish.environments import Choice
from photofinish.errors import UsageError
from photofinish.graph import ModelError
from photofinish.render.quantities import about
from photofinish.runner.session import judged
from photofinish.store import Store
from photofinish.study import PlannedRace, Settled, Study, find
from photofinish.values import Progress

Listener = Callable[[Progress], None]


def outcome(study: Study, store: Path | str | None = None) -> list[Settled]:
    """What the store knows of the study's races, in the order of the file."""
    return settled_of(study.races, open_store(store, only_read=True))


def run(study: Study, *, only: Sequence[str] = (), store: Path | str | None = None, seed: int | None = None,
        listener: Listener | None = None, environments: Sequence[str] = (),
        make_environments: bool | None = None) -> list[Settled]:
    """Runs what is not settled yet, and what could not be raced before, and returns what became of all; `only` keeps
    races whose title or group has each of these words. The order is drawn from `seed`, so that no model always runs on
    the warmed-up machine. Of a race of several days one is run; the others wait for another date. A race that another
    process has in hand is left to it.

    Raises UsageError (no race has those words, an environment is none) and Interrupted (Ctrl-C): what was settled
    stays, and running again goes on from there.
    """
    asked = narrowed(study, only)
    Choice.of(environments, make_environments)  # what is wrong there is wrong for all races, and no reason of one
    kept = open_store(store)
    pending = due_today(asked, settled_of(study.races, kept))
    random.Random(seed).shuffle(pending)
    tell = listener or (lambda progress: None)
    begin, tried = time.monotonic(), 0
    for number, planned in enumerate(pending, 1):
        key = planned.key  # as its model is now: it may be edited meanwhile
        with kept.alone(key) as ours:
            if not ours:
                tell(Progress("plan", f"left to another process, which is racing it: {planned.title}"))
                continue
            if kept.settled().get(key, ("", ""))[0]:
                continue  # another process that runs the same study has raced it since
            left = _left(time.monotonic() - begin, tried, len(pending) - number + 1)
            tried += 1
            tell(Progress("plan", f"race {number} of {len(pending)}{left}: {planned.title}", done=number - 1,
                          total=len(pending)))
            try:
                session = race(planned, store=store, listener=listener, environments=environments,
                               make_environments=make_environments, command=f"photofinish study run {study.name}")
            except (UsageError, ModelError) as error:
                kept.settle(key, reason=str(error).partition("\n")[0])
            else:
                kept.settle(key, session)
    return settled_of(study.races, kept)


def race(planned: PlannedRace, *, store: Path | str | None = None, listener: Listener | None = None,
         environments: Sequence[str] = (), make_environments: bool | None = None, command: str | None = None) -> str:
    """Runs one planned race and returns the session it is in. Raises UsageError and Interrupted."""
    found = api.race(
        planned.located, planned.contenders, planned.tasks, batch=planned.batch, shape=planned.shape,
        classes=planned.classes, optimizer=planned.optimizer, regime=planned.regime, device=planned.device,
        threads=planned.threads, budget=planned.budget, precision=planned.precision, margin=planned.margin,
        launches=planned.launches, data=planned.data, epochs=planned.epochs, seeds=planned.seeds,
        target=planned.target, link=planned.link, profile=planned.profile, store=store, listener=listener,
        environments=environments, make_environments=make_environments, command=command)
    return found[0].race.id.rpartition("-")[0]


def narrowed(study: Study, only: Sequence[str]) -> Study:
    """The study with the races that have each of these words in their title or group. Raises UsageError if none has."""
    races = tuple(each for each in study.races if _wanted(each, only))
    if not races:
        nobody = [word for word in only if not any(_wanted(each, [word]) for each in study.races)]
        groups, models = (", ".join(dict.fromkeys(getattr(each, what) for each in study.races))
                          for what in ("group", "model"))
        raise UsageError(f"no race of {study.name} has {' and '.join(nobody or only)!r} in its title or group",
                         f"its groups are: {groups}; its models: {models}")
    return replace(study, races=races)


def open_store(store: Path | str | None, only_read: bool = False) -> Store:
    return Store(Path(store) if store is not None else api.DEFAULT_STORE, only_read)


def stored(study: Study, store: Path | str | None = None) -> dict[str, list[PlannedRace]]:
    """The races of a built-in study that the store has, by every other scale than this."""
    settled = open_store(store, only_read=True).settled()
    return {scale: [each for each in find(study.name, scale).races if settled.get(each.key, ("", ""))[0]]
            for scale in ("", *study.scales) if scale != study.scale}


def _left(seconds: float, done: int, others: int) -> str:
    """How long the others take if they are like those that are done."""
    return f" (about {about(seconds / done * others)} left)" if done else ""


def due_today(asked: Study, races: Sequence[Settled]) -> list[PlannedRace]:
    """Those asked for that are still to be run and may be today, by what is known of all the `races` of the study."""
    return list(_due(races, {each.key for each in asked.races}))


def _due(races: Sequence[Settled], wanted: Container[str]) -> Iterator[PlannedRace]:
    today = date.today().isoformat()
    taken = {replace(each.planned, day=None) for each in races if each.planned.day is not None and any(
        result.race.created.startswith(today) for result in each.results)}
    for each in races:
        race = replace(each.planned, day=None)
        if each.due and each.planned.key in wanted and (each.planned.day is None or race not in taken):
            taken.add(race)
            yield each.planned


def _wanted(planned: PlannedRace, only: Sequence[str]) -> bool:
    return all(word.lower() in f"{planned.group} {planned.title}".lower() for word in only)


def settled_of(planned_races: Sequence[PlannedRace], store: Store) -> list[Settled]:
    """What the store knows of each."""
    settled = store.settled()
    races = {session: ids for session, _, ids in store.sessions()}
    found = []
    for planned in planned_races:
        session, reason = settled.get(planned.key, ("", ""))
        kept = () if planned.excepted else races.get(session, ())
        results = tuple(judged(store.read(each)) for each in kept)
        found.append(Settled(planned, results, "" if results else planned.skip or reason))
    return found
