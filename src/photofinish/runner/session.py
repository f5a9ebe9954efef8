"""A session: the rehearsal, then launches until the verdicts are settled, the budget is spent or the user
stops it. Everything is in the store before the next thing starts."""

import time
from collections.abc import Callable
from dataclasses import replace

from photofinish import stats
from photofinish.referee import audit
from photofinish.runner import energy
from photofinish.runner.course import Course
from photofinish.runner.groups import gather
from photofinish.runner.launch import LaunchRun
from photofinish.runner.profiled import ProfiledLaunch
from photofinish.stats import plan
from photofinish.stats.stragglers import stragglers
from photofinish.store import Store
from photofinish.values import Launch, Progress, Race, Result


def judged(race: Race) -> Result:
    """The result of a race, with what its timed blocks say to the audit."""
    result = stats.judge(race)
    faults = {each.contender: each.faults_per_step for each in result.standings if each.faults_per_step is not None}
    return replace(result, race=replace(race, audit=race.audit + audit.page_faults(faults)))


class Session:
    """Runs the races of one course (one per task) and judges them from the store. The `budget` is for the launches, not
    for what comes before them: else a long proof would leave two, and the next race, which knows it, another verdict.
    With `time_all`, contenders that are far behind after the pilot are timed to the end as well; with `metered`, energy
    is measured where it can be; with `profiled`, each launch ends with a look into some steps."""

    def __init__(self, course: Course, store: Store, races: dict[str, Race], budget: float, precision: float,
                 launches: int | None = None, time_all: bool = False, metered: bool = False,
                 profiled: bool = False) -> None:
        self.course = course
        self.store = store
        self.races = races
        self.budget = budget
        self.precision = precision
        self.launches = launches
        self.time_all = time_all
        self.metered = metered
        self.profiled = profiled
        self.broken: set[tuple[str, str]] = set()  # (contender, part) that failed, and is not tried again
        self.begin = time.monotonic()  # of what the budget is for, once the rehearsal is over

    def run(self, rehearse: Callable[[], None]) -> None:
        """Raises whatever interrupts it; what was measured is saved by then."""
        self.prepare(rehearse)
        if not self.course.contested:
            return
        coming = self._pilot()
        done = 0
        while coming.launches and self.course.contested:
            self._announce(coming, done)
            planned = done + coming.launches
            costs = [coming.seconds / coming.launches]
            while done < planned and self.course.contested and self._affords(done, costs):
                self._warn(done, max(costs[1:] or costs))
                done += 1
                costs.append(self.launch(done, coming.rounds).seconds)
                self.tell(done, planned)
            if self.launches is not None or done < planned:
                return
            if done >= plan.PILOT and not self.time_all:
                self._leave_behind()
            coming = self._next_plan()
        if not coming.launches:
            self._announce(coming, done)

    def results(self) -> list[Result]:
        """The races as judged from what the store holds now."""
        return [judged(self.store.read(race.id)) for race in self.races.values()]

    def prepare(self, rehearse: Callable[[], None]) -> None:
        if self.metered:
            self._meter()
        rehearse()
        self._keep_facts()
        self.begin = time.monotonic()

    def launch(self, number: int, rounds: int) -> Launch:
        if not self.profiled:
            return LaunchRun(self.course, number, rounds).run()
        return ProfiledLaunch(self.course, number, rounds, sorted(self.course.tasks), self.broken).run()

    def _pilot(self) -> plan.Plan:
        """From what the rehearsal took, which is more than a launch takes where compilers have a cache."""
        course = self.course
        ready = [name for group in gather(course, 1) for name in group]
        runs = {entry.name: [task for task in course.tasks if course.runs(entry, task)] for entry in course.live}
        steps = [course.estimates.get(task, {}).get(name, plan.USUAL_STEP) for name in ready for task in runs[name]]
        periods = [course.periods.get((task, name), 1) for name in ready for task in runs[name]]
        preparation = sum(course.preparation.get(name, 0.0) for name in ready)
        if course.meter is not None:
            preparation += sum(each * (energy.run_steps(each) + 3) for each in steps)
        first = plan.pilot(len(steps), 1, self._left(), steps, preparation, periods)
        return first if self.launches is None else replace(first, launches=self.launches, reason="")

    def _announce(self, coming: plan.Plan, done: int) -> None:
        groups = gather(self.course, done + 1) if coming.launches else []
        sharing = [group for group in groups if self.course.anchor in group]
        divided = (f"; all do not fit in memory together: {len(sharing)} groups with {self.course.anchor} in each"
                   if len(sharing) > 1 else "")
        self.course.listener(Progress("plan", coming.reason + divided, done=done, total=done + coming.launches,
                                      seconds_left=self._left()))

    def _affords(self, done: int, costs: list[float]) -> bool:
        """Two launches are the least that says anything; after them a launch must fit into what is left. `costs` are of
        the launches of the present plan, first what it expects, which their own take the place of."""
        return not self._is_bounded() or done < plan.FEWEST or self._left() > max(costs[1:] or costs)

    def _is_bounded(self) -> bool:
        """Whether the budget may end it; not where a number of launches was asked for."""
        return self.launches is None

    def _warn(self, done: int, cost: float) -> None:
        """Says that the next launch will not fit into the budget, which the plan did not foresee."""
        late = plan.overrun(cost, self._left()) if self._is_bounded() and 0 < done < plan.FEWEST else ""
        if late:
            self.course.listener(Progress("plan", f"launch {done + 1}{late}", seconds_left=self._left()))

    def _leave_behind(self) -> None:
        """After the pilot, whoever is far too slow is timed no further."""
        for task, race in self.races.items():
            if race.looks:
                continue
            slow = stragglers(self.store.read(race.id))
            for each in slow:
                self.course.retired.add((task, each.contender))
                self.course.listener(Progress("plan", f"{each.contender} takes {each.ratio:.0f} times as long as "
                                                      f"{each.leader} ({task}): it is timed no further",
                                              each.contender, task))
            self.races[task] = replace(race, stragglers=slow)

    def _next_plan(self) -> plan.Plan:
        """The race that still needs most launches decides for all: a launch serves every task."""
        plans = {}
        for task, race in self.races.items():
            seen = replace(self.store.read(race.id), stragglers=race.stragglers)
            plans[task] = plan.after(seen, self._left(), self.precision, race.margin, len(self.races))
            self.races[task] = replace(race, looks=plans[task].looks)
            self.store.update(self.races[task])
        return max(plans.values(), key=lambda each: each.launches)

    def _meter(self) -> None:
        metering = energy.prepare(self.course)
        for task, race in self.races.items():
            self.races[task] = replace(race, metering=metering)
            self.store.update(self.races[task])

    def _keep_facts(self) -> None:
        field = {entry.name for entry in self.course.entries}  # and not whoever was proven for another's sake
        versions = {name: facts for name, facts in self.course.facts.items() if name in field}
        for task, race in self.races.items():
            self.races[task] = replace(race, versions=versions)
            self.store.update(self.races[task])

    def tell(self, done: int, planned: int) -> None:
        """Says how far it is, and the seconds so far."""
        for task, race in self.races.items():
            result = stats.judge(self.store.read(race.id))
            steps = {each.contender: each.time.value for each in result.standings if each.time is not None}
            self.course.estimates[task] = steps
            self.course.listener(Progress("launch", f"{done} launch{'es' * (done != 1)} done ({task})", task=task,
                                          done=done, total=planned, seconds_left=self._left(), estimates=steps))

    def _left(self) -> float:
        return self.budget - (time.monotonic() - self.begin)
