"""Why one contender is faster than another: read from a race whose layers were timed one by one, and from nothing else.
Nothing is a cause unless its interval says so."""

from collections.abc import Sequence
from dataclasses import dataclass

from photofinish.environments import checked
from photofinish.errors import UsageError
from photofinish.explain.causes import between
from photofinish.explain.epochs import EpochComparison
from photofinish.explain.epochs import compare as compare_epochs
from photofinish.explain.layers import Comparison, compare
from photofinish.explain.profile import Whereabouts, whereabouts
from photofinish.explain.roofline import Roofline, distance
from photofinish.values import Contender, Race, Result


@dataclass(frozen=True)
class Explanation:
    """A race, the inference that was timed beside a training, the leader compared with each other contender that may be
    compared, how far the inference is from what the machine can do, and where each contender's step goes; or of a race
    of epochs, these compared."""

    result: Result
    forward: Result | None
    comparisons: tuple[Comparison, ...]
    roofline: Roofline | None = None
    profiles: tuple[Whereabouts, ...] = ()
    epochs: tuple[EpochComparison, ...] = ()


def explain(result: Result, forward: Result | None = None) -> Explanation:
    """Nobody is compared who is not proven to compute the same."""
    if result.race.case.task == "epoch":
        asked = _asked(result.race)
        sound = [name for name in _sound(result) if name in asked]
        return Explanation(result, None, (), epochs=compare_epochs(result.race, sound))
    timed = {block.contender for block in result.race.part_blocks}  # others raced to tell settings apart
    sound = [name for name in _sound(result) if name in timed]
    race = None if forward is None else forward.race
    return Explanation(result, forward, compare(result.race, sound, race) if len(sound) > 1 else (),
                       distance(race or result.race, sound), whereabouts(result.race, sound))


def _sound(result: Result) -> list[str]:
    return [each.contender for each in result.standings if each.place is not None] if result.comparable else []


def apart(asked: Sequence[Contender], device: str) -> tuple[str, ...]:
    """Who else must race so that the settings of two can be told apart, of those whose settings go together."""
    return tuple(each.name for each in between(*asked) if _stands(each, device)) if len(asked) == 2 else ()


def _stands(contender: Contender, device: str) -> bool:
    try:
        return bool(checked(contender.name, device))
    except UsageError:
        return False


def _asked(race: Race) -> tuple[str, ...]:
    """All contenders, but for those who race to tell the settings of the first two apart: they come after these."""
    first, others = race.contenders[:2], race.contenders[2:]
    known = apart([Contender.parse(name) for name in first], race.case.device) if others else ()
    return first if others and set(others) == set(known) else race.contenders
