"""A session: the rehearsal, then launches until the verdicts are settled, the budget is spent or the user
stops it. Everything is in the store before the next thing starts."""

import time
from collections.abc import Callable
from dataclasses import replace

from photofinish import stats
from photofinish.referee import audit
from photofinish.runner.course import Course
from photofinish.runner.launch import LaunchRun
from photofinish.stats import plan
from photofinish.store import Store
from photofinish.values import Progress, Race, Result


def judged(race: Race) -> Result:
    """The result of a race, with what its timed blocks say to the audit."""
    result = stats.judge(race)
    faults = {each.contender: each.faults_per_step for each in result.standings if each.faults_per_step is not None}
    seen = audit.page_faults(faults, race.case.regime)
    return replace(result, race=replace(race, audit=race.audit + seen))


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
        coming = self._pilot()
        done = 0
        while coming.launches and self.course.contested:
            planned = done + coming.launches
            while done < planned and self.course.contested and self._affords(done):
                done += 1
                self._launch(done, coming.rounds)
                self._tell(done, planned)
            if self.launches is not None or done < planned:
                return
            coming = self._next_plan()
            self.course.listener(Progress("plan", coming.reason, done=done, total=done + coming.launches,
                                          seconds_left=self._left()))

    def results(self) -> list[Result]:
        """The races as judged from what the store holds now."""
        return [judged(self.store.read(race.id)) for race in self.races.values()]

    def _launch(self, number: int, rounds: int) -> None:
        LaunchRun(self.course, number, rounds).run()

    def _pilot(self) -> plan.Plan:
        steps = [seconds for known in self.course.estimates.values() for seconds in known.values()]
        turns = sum(len(self.course.field_of(task)) for task in self.course.tasks)
        first = plan.pilot(turns, 1, self._left(), steps)
        return first if self.launches is None else replace(first, launches=self.launches)

    def _affords(self, done: int) -> bool:
        """Two launches are the least that says anything; after them a launch must fit into what is left."""
        costs = [launch.seconds for launch in self.store.read(next(iter(self.races.values())).id).launches]
        return self.launches is not None or done < 2 or self._left() > max(costs, default=0.0)

    def _next_plan(self) -> plan.Plan:
        """The race that still needs most launches decides for all: a launch serves every task."""
        plans = {task: plan.after(self.store.read(race.id), self._left(), self.precision, race.margin, len(self.races))
                 for task, race in self.races.items()}
        for task, each in plans.items():
            self.races[task] = replace(self.races[task], looks=each.looks)
            self.store.update(self.races[task])
        return max(plans.values(), key=lambda each: each.launches)

    def _keep_facts(self) -> None:
        for task, race in self.races.items():
            self.races[task] = replace(race, versions=dict(self.course.facts))
            self.store.update(self.races[task])

    def _tell(self, done: int, planned: int) -> None:
        for task, race in self.races.items():
            result = stats.judge(self.store.read(race.id))
            steps = {each.contender: each.step.value for each in result.standings if each.step is not None}
            self.course.estimates[task] = steps
            self.course.listener(Progress("launch", f"{done} launches done ({task})", task=task, done=done,
                                          total=planned, seconds_left=self._left(), estimates=steps))

    def _left(self) -> float:
        return self.budget - (time.monotonic() - self.begin)


