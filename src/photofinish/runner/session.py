"""A session: the rehearsal, then launches until the verdicts are settled, the budget is spent or the user
stops it. Everything is in the store before the next thing starts."""

import time
from collections.abc import Callable
from dataclasses import replace

from photofinish import stats
from photofinish.runner.course import Course
from photofinish.runner.launch import LaunchRun
from photofinish.stats import plan
from photofinish.store import Store
from photofinish.values import Progress, Race, Result


class Session:
    """Runs the races of one course (one per task) and judges them from the store."""

    def __init__(self, course: Course, store: Store, races: dict[str, Race], budget: float, precision: float,
                 launches: int | None = None) -> None:
        self.course = course
        self.store = store
        self.races = races
        self.budget = budget
        self.precision = precision
        self.launches = launches
        self.begin = time.monotonic()

    def run(self, rehearse: Callable[[], None]) -> None:
        """Raises whatever interrupts it; what was measured is saved by then."""
        rehearse()
        self._keep_facts()
        done = 0
        coming = plan.pilot(len(self.course.live), len(self.course.tasks), self._left())
        more = self.launches or coming.launches
        while more > 0 and len(self.course.live) > 1:
            for _ in range(more):
                done += 1
                LaunchRun(self.course, done, coming.rounds).run()
                self._tell(done)
                if self.launches is None and self._left() <= 0:
                    return
            if self.launches is not None:
                return
            coming = self._next_plan()
            more = coming.launches
            self.course.listener(Progress("plan", coming.reason, done=done, total=done + more,
                                          seconds_left=self._left()))

    def results(self) -> list[Result]:
        """The races as judged from what the store holds now."""
        return [stats.judge(self.store.read(race.id)) for race in self.races.values()]

    def _next_plan(self) -> plan.Plan:
        """The race that still needs most launches decides for all: a launch serves every task."""
        plans = [plan.after(self.store.read(race.id), self._left(), self.precision, race.margin)
                 for race in self.races.values()]
        return max(plans, key=lambda each: each.launches)

    def _keep_facts(self) -> None:
        for task, race in self.races.items():
            self.races[task] = replace(race, versions=dict(self.course.facts))
            self.store.update(self.races[task])

    def _tell(self, done: int) -> None:
        for task, race in self.races.items():
            result = stats.judge(self.store.read(race.id))
            steps = {each.contender: each.step.value for each in result.standings if each.step is not None}
            self.course.estimates[task] = steps
            self.course.listener(Progress("launch", f"{done} launches done ({task})", task=task, done=done,
                                          total=self.launches, seconds_left=self._left(), estimates=steps))

    def _left(self) -> float:
        return self.budget - (time.monotonic() - self.begin)


