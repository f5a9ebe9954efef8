"""Contenders so slow that more launches would say nothing new of them: they are reported as such and timed no further.

Whoever takes ten times as long as the leader takes most of the budget, and is last however long the race. What the
pilot measured of it stands, with the interval that so many launches give.
"""

from photofinish.stats.paired import estimate_ratio, estimate_step
from photofinish.stats.standings import failure_of
from photofinish.values import Race, Straggler

SLOW = 10.0  # times the leader's step


def stragglers(race: Race) -> tuple[Straggler, ...]:
    """Those of the race so far, the leader being who took least time a step of all that did not fail."""
    steps = {name: step.value for name in race.contenders
             if (step := estimate_step(race, name)) and not failure_of(race, name)}
    leader = min(steps, key=steps.__getitem__, default="")
    ratios = {name: ratio.value for name in steps if (ratio := estimate_ratio(race, leader, name))}
    return tuple(Straggler(name, leader, ratio, len(race.launches)) for name, ratio in ratios.items() if ratio > SLOW)
