"""Why one contender is faster than another: read from a race whose layers were timed one by one, and from nothing else.
Nothing is a cause unless its interval says so."""

from dataclasses import dataclass

from photofinish.explain.epochs import EpochComparison
from photofinish.explain.epochs import compare as compare_epochs
from photofinish.explain.layers import Comparison, compare
from photofinish.explain.profile import Whereabouts, whereabouts
from photofinish.explain.roofline import Roofline, distance
from photofinish.values import Result


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
        return Explanation(result, None, (), epochs=compare_epochs(result.race, _sound(result)))
    timed = {block.contender for block in result.race.part_blocks}  # others raced to tell settings apart
    sound = [name for name in _sound(result) if name in timed]
    race = None if forward is None else forward.race
    return Explanation(result, forward, compare(result.race, sound, race) if len(sound) > 1 else (),
                       distance(race or result.race, sound), whereabouts(result.race, sound))


def _sound(result: Result) -> list[str]:
    return [each.contender for each in result.standings if each.place is not None] if result.comparable else []
