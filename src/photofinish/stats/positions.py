"""Position effects: does a contender that starts second, or comes second in a round, look slower?

Measured on placebo races (the same contender twice): what is found there is the machine's, not theirs.
"""

from collections.abc import Iterable

import numpy as np

from photofinish.stats import paired
from photofinish.values import Estimate, Race


def of_start(races: Iterable[Race]) -> Estimate | None:
    """Seconds per step of the contender started second over the first; None with fewer than two launches."""
    logs = []
    for race in races:
        started = {launch.number: launch.started for launch in race.launches}
        steps = paired.log_steps(race)
        for number, order in started.items():
            if len(order) == 2 and all(number in steps[name] for name in order):
                logs.append(paired.location(paired.round_differences(steps, *order)[number]))
    return paired.interval(np.array(logs)) if len(logs) > 1 else None


def in_round(races: Iterable[Race]) -> Estimate | None:
    """Seconds per step of the second in a round over the first of the same round."""
    logs = []
    for race in races:
        at: dict[tuple[int, int], dict[int, float]] = {}
        for block in paired.timed_blocks(race):
            at.setdefault((block.launch, block.round), {})[block.position] = float(np.log(np.median(block.seconds)))
        by_launch: dict[int, list[float]] = {}
        for (launch, _), found in at.items():
            if {0, 1} <= found.keys():
                by_launch.setdefault(launch, []).append(found[1] - found[0])
        logs += [float(np.mean(values)) for values in by_launch.values()]
    return paired.interval(np.array(logs)) if len(logs) > 1 else None
