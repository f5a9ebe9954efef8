"""A sweep over batch sizes: a session for each, whose launches take turns in random order, so that whatever drifts
meets all sizes alike, and figures of one launch number can be paired across them."""

import random
import time
from collections.abc import Callable, Mapping
from itertools import count

from photofinish.runner.session import Session
from photofinish.stats import plan
from photofinish.values import Progress

LAUNCHES = 6  # of each batch, if the budget allows
ROUNDS = 6  # of a launch: with so many launches a 90 % quantile has an interval even where a block is one step


class Sweep:
    """Runs the sessions of a sweep, one per batch size, each with a course of its own. A certificate that the first
    earns serves the others: it is of the graph, whatever the batch."""

    def __init__(self, sessions: Mapping[int, Session], budget: float, launches: int | None, seed: int,
                 listener: Callable[[Progress], None]) -> None:
        self.sessions = dict(sorted(sessions.items()))
        self.budget = budget
        self.launches = launches
        self.seed = seed
        self.listener = listener

    def run(self, rehearsals: Mapping[int, Callable[[], None]]) -> None:
        """Raises whatever interrupts it; what was measured is saved by then. `budget` counts from the first launch."""
        for batch, session in self.sessions.items():  # the smallest first: where memory ends, what fits is known
            session.prepare(rehearsals[batch])
        begin, longest = time.monotonic(), 0.0
        for number in count(1):
            live = [batch for batch in self._order(number) if self.sessions[batch].course.contested]
            left = self.budget - (time.monotonic() - begin)
            if not live or not self._goes_on(number, left, longest):
                return
            late = plan.overrun(longest, left) if self.launches is None and number <= plan.FEWEST else ""
            self.listener(Progress("plan", f"pass {number} over the batches: {', '.join(map(str, live))}{late}",
                                   done=number - 1, total=self.launches or LAUNCHES, seconds_left=left))
            started = time.monotonic()
            for batch in live:
                self.sessions[batch].launch(number, ROUNDS)
                self.sessions[batch].tell(number, self.launches or LAUNCHES)
            longest = max(longest, time.monotonic() - started)

    def _order(self, number: int) -> list[int]:
        """A random order for an odd pass, its reverse for the next: every place is shared fairly."""
        order = list(self.sessions)
        random.Random(f"{self.seed}/sweep/{(number + 1) // 2}").shuffle(order)
        return order if number % 2 else order[::-1]

    def _goes_on(self, number: int, left: float, longest: float) -> bool:
        """As many passes as were asked for; else LAUNCHES, or what the budget allows of them, two at least."""
        if self.launches is not None:
            return number <= self.launches
        return number <= plan.FEWEST or (number <= LAUNCHES and left > longest)
