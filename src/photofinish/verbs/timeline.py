"""Racing the versions of a framework: all in one race (history), or two or three at a time (search). A race is run once
and found in the store from then on, so that what interrupts a search loses at most the race it was in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from photofinish import api
from photofinish.environments import TASKS, Choice
from photofinish.errors import UsageError
from photofinish.reports import provenance
from photofinish.runner.arrange import find_entries, make_case, one_of
from photofinish.runner.largest import fixed_batch
from photofinish.stats import bisection
from photofinish.study import PlannedRace
from photofinish.timeline import NOT_COMPARABLE, UNDECIDED, History, Look, Search
from photofinish.timeline.versions import HOW, Dated
from photofinish.values import Progress, Result, Skip
from photofinish.verbs import study

Listener = Callable[[Progress], None]


@dataclass(frozen=True)
class Races:
    """Where races are kept, who is told of them, which environments they may use. `asked` is what all have in common:
    a planned race that lacks its contenders. `warn` is told, once, what the reader of a result must know of where it is
    from."""

    asked: PlannedRace
    store: Path | str | None = None
    listener: Listener | None = None
    environments: Sequence[str] = ()
    make_environments: bool | None = None
    command: str | None = None
    warn: Callable[[str], None] = lambda text: None
    warned: set[str] = field(default_factory=set)

    def check(self) -> None:
        """Raises UsageError or ModelError for a race that cannot be, before an environment is made for anybody."""
        asked = self.asked
        for each in asked.tasks:
            one_of("task", each, TASKS)
        make_case(asked.located, fixed_batch(asked.batch, None, asked.device), asked.shape, asked.classes,
                  asked.optimizer, asked.regime, asked.device, asked.threads)

    def available(self, contenders: Sequence[str]) -> tuple[tuple[str, ...], tuple[Skip, ...]]:
        """Those that can race, in environments made now if need be, and why the others cannot. Raises UsageError if
        none can."""
        choice = Choice.of(self.environments, self.make_environments)
        entries, skipped = find_entries(contenders, self.asked.device, choice, self.listener, self.asked.tasks,
                                        lenient=True)
        return tuple(each.name for each in entries), skipped

    def results(self, contenders: Sequence[str],
                enough: Callable[[tuple[Result, ...]], bool] = lambda results: False) -> tuple[Result, ...]:
        """Of the race between these, run now unless it was before in the same environments of the user's own, with the
        same budget, or with another one if that was `enough`. Raises UsageError and Interrupted."""
        given = Choice.of(self.environments).given
        planned = replace(self.asked, contenders=tuple(contenders),
                          environments=tuple(sorted(f"{name}={python}" for name, python in given.items())))
        whatever = replace(planned, budget=0.0)  # the key of a race that no budget would change
        kept = study.open_store(self.store)
        for known in study.settled_of([whatever, planned], kept):
            if known.results:
                self._shown_again(known.results)
                return known.results
        own, of_any = planned.key, whatever.key  # as the model is now: it may be edited meanwhile
        session = study.race(planned, store=self.store, listener=self.listener, environments=self.environments,
                             make_environments=self.make_environments, command=self.command)
        kept.settle(own, session)
        found = tuple(api.load(session, self.store))
        if enough(found):
            kept.settle(of_any, session)
        return found

    def _shown_again(self, results: tuple[Result, ...]) -> None:
        days = " and ".join(dict.fromkeys(each.race.created[:10] for each in results))
        others = provenance.of_others(results)
        again = f"Note: shown again from the store: raced on {days}. To race anew, name another store (--store)."
        for text in (again, *([f"Warning: {others}"] if others else [])):
            if text not in self.warned:
                self.warned.add(text)
                self.warn(text)

    def tell(self, text: str) -> None:
        if self.listener is not None:
            self.listener(Progress("plan", text))


def history(versions: Sequence[Dated], races: Races) -> History:
    """Raises UsageError, and Interrupted with the results so far."""
    races.check()
    if len(versions) < 2:
        named = "only " + versions[0].contender if versions else "no version"
        raise UsageError(f"a history needs two versions, and {named} can run without an environment being made", HOW)
    able, skipped = races.available([each.contender for each in versions])
    if len(able) < 2:
        told = "; ".join(f"{each.contender}: {each.reason}" for each in skipped)
        raise UsageError(f"a history needs two versions that can run here ({told})",
                         skipped[0].cure if skipped else HOW)
    return History(tuple(versions), races.results(able), skipped)


def search(versions: Sequence[Dated], races: Races) -> Iterator[Search]:
    """What is known after each race, the last of them everything. What the store has is not raced again: interrupted,
    it goes on where it was. Raises UsageError and Interrupted."""
    races.check()
    found = Search(tuple(versions))
    good, bad = versions[0].contender, versions[-1].contender
    _, skipped = races.available([good, bad])
    if skipped:
        raise UsageError(f"{skipped[0].contender}: {skipped[0].reason}", skipped[0].cure)
    found = replace(found, ends=races.results((good, bad), _decided)[0])
    yield found
    if found.whole is None or found.whole.verdict != "FASTER":
        return
    while (number := bisection.candidate(len(versions), found.sides)) is not None:
        low, high = found.bracket
        races.tell(f"between {low.version} and {high.version}: {versions[number].contender}")
        found = replace(found, looks=(*found.looks, _look(number, len(found.looks), versions, races)))
        yield found
    if found.bracket == (versions[0], versions[-1]):  # nothing lies between, or no look told
        yield replace(found, closing=found.ends)
    else:
        yield replace(found, closing=races.results([each.contender for each in found.bracket], _decided)[0])


def _look(number: int, before: int, versions: Sequence[Dated], races: Races) -> Look:
    """At the version of that number, after so many other looks."""
    good, name, bad = (versions[each].contender for each in (0, number, -1))
    _, skipped = races.available([good, name, bad])
    if skipped:
        return Look(number, reason=skipped[0].reason)

    def read(results: tuple[Result, ...]) -> Look:
        (result,) = results
        barred = next((each.reason for each in result.verdicts if each.verdict == NOT_COMPARABLE), "")
        where = None if barred else bisection.position(result.race, good, name, bad, before, len(versions))
        return Look(number, result, where, barred or ("" if where else "fewer than two launches compare it"))
    return read(races.results((good, name, bad), lambda results: bool(read(results).side)))


def _decided(results: tuple[Result, ...]) -> bool:
    return results[0].verdicts[0].verdict not in (UNDECIDED, NOT_COMPARABLE)
