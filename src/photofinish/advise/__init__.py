"""What to take for a goal: read from a race that has been run, and from nothing else. Whoever was not raced is not
advised."""

from dataclasses import dataclass

from photofinish.advise.goals import Goal, barred, costs
from photofinish.advise.lines import Lines, lines
from photofinish.stats import jobs
from photofinish.stats.choice import Option, options, over
from photofinish.stats.jobs import BreakEven
from photofinish.values import Contender, Estimate, Result

HELD, NOT_HELD, UNTOLD = "HELD", "DID NOT HOLD", "UNDECIDED"


@dataclass(frozen=True)
class Advice:
    """The contenders that serve the goal, the best first, and why the others do not. `repeated` is a race of the first
    two on fresh launches, None where there was none."""

    goal: Goal
    result: Result
    options: tuple[Option, ...]
    barred: dict[str, str]
    repeated: Result | None = None

    @property
    def chosen(self) -> Option | None:
        return self.options[0] if self.options else None

    @property
    def gain(self) -> float | None:
        """What the runner-up costs over the chosen one."""
        if len(self.options) < 2 or not self.options[0].cost.value:
            return None
        return self.options[1].cost.value / self.options[0].cost.value

    @property
    def within(self) -> dict[str, tuple[Option, Option]]:
        """Framework -> its best option and its default mode without options, where these are two that were raced."""
        found: dict[str, tuple[Option, Option]] = {}
        for each in self.options:
            contender = Contender.parse(each.contender)
            best = next(other for other in self.options
                        if Contender.parse(other.contender).framework == contender.framework)
            if contender.mode == self.goal.defaults.get(contender.framework) and not contender.options \
                    and not contender.version and best is not each:
                found[contender.framework] = best, each
        return found

    @property
    def lines(self) -> tuple[Lines, ...]:
        """What makes a program run as the chosen one did, and as the best of each framework did that one may stay with.
        """
        names = [each.contender for each in self.options[:1]] + [best.contender for best, _ in self.within.values()]
        return tuple(lines(name, self.result.race.case) for name in dict.fromkeys(names))

    @property
    def turns(self) -> tuple[BreakEven, ...]:
        """For which lengths of the job another one is ahead of the chosen one in a first run: of those past the warm-up
        of both, where the lines hold."""
        chosen, length = self.chosen, self.goal.steps
        if chosen is None or length is None:
            return ()
        serving = {each.contender for each in self.options}
        settled = {each.contender: each.settled_after for each in jobs.jobs(self.result.race)}
        return tuple(each for each in jobs.break_evens(self.result.race, cold=True)
                     if each.against == chosen.contender and each.contender in serving and each.steps is not None
                     and each.steps >= max(settled[each.contender], settled[each.against])
                     and (each.ahead == "from") == (each.steps > length))

    @property
    def unrepeated(self) -> str:
        """Why the repetition compares nobody: one of the two failed in it; "" if it does, or there was none."""
        found = self.repeated.verdicts if self.repeated is not None else ()
        return next((each.reason for each in found if each.verdict == "NOT COMPARABLE"), "")

    @property
    def again(self) -> Estimate | None:
        """What the chosen one cost over the runner-up in the repetition; None where it does not compare them."""
        if self.repeated is None or len(self.options) < 2 or self.unrepeated:
            return None
        return over(costs(self.repeated.race, self.goal), *(each.contender for each in self.options[:2]))

    @property
    def observed_regret(self) -> float | None:
        """By what share the chosen one cost more than the runner-up in the repetition, 0 if it did not."""
        return None if self.again is None else max(0.0, self.again.value - 1)

    @property
    def held(self) -> str:
        """Whether what was lost in the repetition is within what was stated, or is shown to be more; "" without one."""
        seen = self.again
        if self.unrepeated:
            return UNTOLD
        if seen is None:
            return ""
        stated = max(self.options[0].worst_regret or 0.0, self.result.race.margin)
        if seen.value - 1 <= stated:
            return HELD
        return NOT_HELD if seen.level and seen.low - 1 > stated else UNTOLD


def advise(result: Result, goal: Goal) -> Advice:
    """What the race says of the goal."""
    out = barred(result, goal)
    found = {name: each for name, each in costs(result.race, goal).items() if name not in out}
    unknown = {name: f"its {goal.what} was not measured" for name in result.race.contenders
               if name not in out and not found.get(name)}
    return Advice(goal, result, options({name: each for name, each in found.items() if each}), {**out, **unknown})
