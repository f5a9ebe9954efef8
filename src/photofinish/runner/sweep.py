"""A sweep over batches, or over links: a session for each, whose launches take turns in random order, so that whatever
drifts meets all alike, and figures of one launch number can be paired across them."""

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
    """Runs the sessions of a sweep by name, each with a course of its own. A certificate that the first earns serves
    the others: it is of the graph, whatever the batch and the link."""

    def __init__(self, sessions: Mapping[str, Session], budget: float, launches: int | None, seed: int,
                 listener: Callable[[Progress], None]) -> None:
        self.sessions = dict(sessions)
        self.budget = budget
        self.launches = launches
        self.seed = seed
        self.listener = listener

    def run(self, rehearsals: Mapping[str, Callable[[], None]]) -> None:
        """Raises whatever interrupts it; what was measured is saved by then. `budget` counts from the first launch."""
        for name, session in self.sessions.items():
            session.prepare(rehearsals[name])
        begin, longest = time.monotonic(), 0.0
        for session in self.sessions.values():
            session.begin = begin  # from which it tells what is left
        for number in count(1):
            live = [name for name in self._order(number) if self.sessions[name].course.contested]
            left = self.budget - (time.monotonic() - begin)
            if not live or not plan.another(number, self.launches, LAUNCHES, left, longest):
                return
            late = plan.overrun(longest, left) if self.launches is None and number <= plan.FEWEST else ""
            self.listener(Progress("plan", f"pass {number}: {', '.join(live)}{late}",
                                   done=number - 1, total=self.launches or LAUNCHES, seconds_left=left))
            started = time.monotonic()
            for name in live:
                self.sessions[name].launch(number, ROUNDS)
                self.sessions[name].tell(number, self.launches or LAUNCHES)
            longest = max(longest, time.monotonic() - started)

    def _order(self, number: int) -> list[str]:
        """A random order for an odd pass, its reverse for the next: every place is shared fairly."""
        order = list(self.sessions)
        random.Random(f"{self.seed}/sweep/{(number + 1) // 2}").shuffle(order)
        return order if number % 2 else order[::-1]
