"""What the place in a launch and in a round costs, on blocks in which it is planted."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish.stats import positions
from photofinish.values import Block, Launch, Race
from stats_races import World

STARTED, IN_ROUND = 1.05, 1.1  # times as long, of who is the second


def raced(launches: int = 6) -> Race:
    orders = [("a", "b"), ("b", "a")] * (launches // 2)
    blocks = []
    for number, order in enumerate(orders, 1):
        for turn in range(1, 5):
            for position, name in enumerate(order if turn % 2 else order[::-1]):
                seconds = 0.1 * (STARTED if name == order[1] else 1.0) * (IN_ROUND if position else 1.0)
                blocks.append(Block(number, turn, position, name, "train", (seconds * (1 + number * turn / 1e5),), 0.1,
                                    0, 0.0, 0.01))
    race = World().race(np.random.default_rng(0), (1.0, 1.0), 0)
    return replace(race, blocks=tuple(blocks), launches=tuple(
        Launch(number, 0, order, order, 1.0) for number, order in enumerate(orders, 1)))


def test_what_was_planted_is_found() -> None:
    started, in_round = positions.of_start([raced()]), positions.in_round([raced()])
    assert started is not None and started.value == pytest.approx(STARTED, rel=1e-3)
    assert in_round is not None and in_round.value == pytest.approx(IN_ROUND, rel=1e-3)


def test_of_no_race_nothing_is_said() -> None:
    assert positions.of_start([]) is None and positions.in_round([]) is None
