"""How many launches and rounds: a pilot, one look at it, and one end planned from the pilot's spread.

Whoever looks after every launch and stops when the answer pleases claims a difference between identical
contenders in 27 % of races at a nominal 5 %. Here a race is looked at twice at most: after the pilot, at
a strict level, so that a clear race stops early; and at the end the pilot planned. `verdict.SPENDING`
divides the 5 % between the two. An end forced by the budget is no look: it does not depend on the result.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np

from photofinish.stats import paired, student, verdict
from photofinish.stats.paired import location_variance
from photofinish.stats.standings import judge
from photofinish.values import Block, Race

PILOT = 4  # launches: even, so that each of two contenders starts first as often as the other
FEWEST = 2  # launches: fewer say nothing of how much they differ
LEAST_TOTAL = 6  # launches of a race that goes on after its pilot
ASSURANCE = 0.8  # the chance with which the planned end reaches the precision, budget permitting
FEWEST_ROUNDS, MOST_ROUNDS = 3, 40
BLOCK_SECONDS = 0.4  # how long the timed steps of a block should take
MOST_STEPS = 1000
USUAL_STEP = 0.2  # seconds, where no estimate is known yet


@dataclass(frozen=True)
class Plan:
    """What to run next: `launches` more (0: stop), each of `rounds` rounds, for about `seconds`, and why.

    `looks` is what to save as `Race.looks`: the verdict's level follows from it.
    """

    launches: int
    rounds: int
    reason: str
    looks: tuple[int, ...] = ()
    seconds: float = 0.0


def block_steps(step_seconds: float, seconds: float = BLOCK_SECONDS, most: int = MOST_STEPS, period: int = 1) -> int:
    """The timed steps of a block of a contender whose step takes `step_seconds`; of one of another length; of one whose
    steps come in periods, which are not divided."""
    steps = max(1, min(most, math.ceil(seconds / max(step_seconds, 1e-9))))
    return math.ceil(steps / period) * period


def pilot(contenders: int, tasks: int, budget: float, steps: Iterable[float] = (), preparation: float = 0.0,
          periods: Iterable[int] = ()) -> Plan:
    """The first launches, whose rounds take about an eighth of the budget in all, as many as it pays for. `steps` are
    seconds per step of each contender in each task, and `periods` how many of them make a period, as far as known;
    `preparation` what a launch takes besides."""
    known = list(steps)
    known += [USUAL_STEP] * (contenders * tasks - len(known))
    round_seconds = sum(each * (block_steps(each, period=period) + 1)  # the first step after waking is not timed
                        for each, period in zip(known, chain(periods, repeat(1))))
    rounds = _within(budget / (8 * PILOT * round_seconds), FEWEST_ROUNDS, MOST_ROUNDS // 2)
    cost = preparation + rounds * round_seconds
    launches = max(FEWEST, min(PILOT, int(budget // cost)))
    reason = f"a pilot of {launches} launches of about {cost:.3g} s, {rounds} rounds each, shows how much they differ"
    if launches < PILOT:
        reason += f"; {PILOT} would take {PILOT * cost:.3g} s of a budget that has {max(budget, 0.0):.3g} s left"
    return Plan(launches, rounds, reason + overrun(launches * cost, budget), seconds=launches * cost)


def another(number: int, launches: int | None, usual: int, left: float, longest: float) -> bool:
    """Whether there is a launch (or a pass) of that number: as many as were asked for; else the `usual` number, or what
    the seconds left allow of them, FEWEST at least."""
    if launches is not None:
        return number <= launches
    return number <= FEWEST or (number <= usual and left > longest)


def overrun(seconds: float, left: float) -> str:
    """What to say before the fewest launches that tell anything, which are run whether the budget has so much left or
    not; "" if it has."""
    over = seconds - max(left, 0.0)
    return f"; fewer than {FEWEST} tell nothing, so the budget is overrun by about {over:.3g} s" if over > 0 else ""


def after(race: Race, budget_left: float, precision: float, margin: float | None = None, tasks: int = 1) -> Plan:
    """What to run after the launches in `race`, within `budget_left` seconds.

    `precision` is the half-width of the ratio's interval to aim at (0.01: ±1 %), `tasks` how many races
    share the launches. The same race gives the same plan, so a race that was killed resumes it.
    """
    race = race if margin is None else replace(race, margin=margin)
    numbers = sorted({block.launch for block in paired.timed_blocks(race)})
    done = len(numbers)
    if not done:
        return Plan(0, FEWEST_ROUNDS, "nothing was timed")
    costs = _costs(race, tasks)
    affordable = int(budget_left // costs.launch(costs.rounds))
    if affordable < 1:
        return Plan(0, costs.rounds, f"the budget allows no launch after {done}", race.looks)
    if done < PILOT and not race.looks:
        more = min(PILOT - done, affordable)
        return Plan(more, costs.rounds, f"the pilot takes {more} more launch{'es' * (more != 1)}", (),
                    more * costs.launch(costs.rounds))
    looks = race.looks or (done,)
    return _after_look(_first(race, numbers[:looks[0]], looks), done, budget_left, precision, costs)


@dataclass(frozen=True)
class _Costs:
    """Seconds of a launch without its rounds, and of one round of all contenders; rounds so far."""

    preparation: float
    round: float
    rounds: int

    def launch(self, rounds: int) -> float:
        return self.preparation + rounds * self.round

    def most_rounds(self, seconds: float) -> int:
        """Of a launch that takes no longer."""
        return int((seconds - self.preparation) / self.round)


def _costs(race: Race, tasks: int) -> _Costs:
    """Of the launches to come, in which stragglers take no part."""
    left = {each.contender for each in race.stragglers}
    blocks = [block for block in paired.timed_blocks(race) if block.contender not in left]
    turns = {(block.launch, block.round) for block in blocks}
    launches = {launch for launch, _ in turns}
    rounds = round(len(turns) / len(launches))
    one = tasks * _seconds(blocks) / len(turns)
    whole = verdict.launch_seconds(race)
    if whole is None:
        return _Costs(0.0, one, rounds)
    whole -= sum(_seconds_of(race, name) for name in left) / len(race.launches)
    return _Costs(max(whole - rounds * one, 0.0), one, rounds)


def _seconds(blocks: Iterable[Block]) -> float:
    return sum(sum(block.seconds) + block.resume for block in blocks)


def _seconds_of(race: Race, name: str) -> float:
    """What this task of a contender took in all launches: its first steps, warm-ups and blocks."""
    phases = (f"first_step:{race.case.task}", f"warm_up:{race.case.task}")
    return _seconds(paired.timed_blocks(race, name)) + sum(
        each.seconds for each in race.phases if each.contender == name and each.launch and each.name in phases)


def _first(race: Race, numbers: Sequence[int], looks: tuple[int, ...]) -> Race:
    """The race as it stood at its look."""
    return replace(race, looks=looks, blocks=tuple(block for block in race.blocks if block.launch in numbers),
                   launches=tuple(launch for launch in race.launches if launch.number in numbers))


def _after_look(seen: Race, done: int, budget_left: float, precision: float, costs: _Costs) -> Plan:
    left = {each.contender for each in seen.stragglers}
    undecided = [(each.a, each.b) for each in judge(seen).verdicts
                 if each.verdict == "UNDECIDED" and each.launches > 1 and not left & {each.a, each.b}]
    if not undecided:
        return Plan(0, costs.rounds, f"every pair that can be compared was decided after {seen.looks[0]} launches",
                    seen.looks)
    spread = measure_spread(seen, undecided)
    room = costs.most_rounds(budget_left / max(1, LEAST_TOTAL - done))  # with more the fewest launches would not fit
    rounds = min(optimal_rounds(spread, costs.preparation, costs.round), max(costs.rounds, room))
    contenders = len({name for pair in undecided for name in pair})
    degrees = (seen.looks[0] - 1) * (contenders - 1)
    level = verdict.ALPHA * verdict.SPENDING[1] / len(undecided)
    need = student.launches_needed(student.assured(spread.of_launch(rounds), degrees, ASSURANCE),
                                   math.log1p(precision), level / 2)
    total = max(LEAST_TOTAL, need + need % 2)
    affordable = int(budget_left // costs.launch(rounds))
    more = max(0, min(total - done, affordable))
    reason = (f"±{100 * precision:.3g} % takes {total} launches of {costs.launch(rounds):.3g} s: "
              f"they differ by {100 * spread.of_launch(rounds):.2g} % (s.d.)")
    if total <= done:
        reason = f"the planned end, {total} launches, is reached"
    elif affordable < total - done:
        reason += f"; the budget allows {more} more"
    return Plan(more, rounds, reason, seen.looks, more * costs.launch(rounds))


@dataclass(frozen=True)
class Spread:
    """Variances of the log ratio: of one round within a launch, of launches beyond that, of launches as
    they were, with `rounds` rounds; where launches were compared as one, a round is one of either's own."""

    within: float
    between: float
    observed: float
    rounds: float

    def of_launch(self, rounds: int) -> float:
        """The standard deviation expected between launches of `rounds` rounds."""
        changed = self.observed + self.within * (location_variance(rounds) - location_variance(self.rounds))
        return math.sqrt(max(changed, self.within * location_variance(rounds)))


def measure_spread(race: Race, pairs: Sequence[tuple[str, str]]) -> Spread:
    """Means over the pairs. The variance between launches is that observed less what the rounds explain:
    T2^2 = S2^2 - S1^2 / rounds (Kalibera & Jones 2013, as corrected in libkalibera). Means and not the widest: of six
    pairs that scatter alike the widest seems to need three times the launches."""
    found, steps = [], paired.log_steps(race)
    for a, b in pairs:
        launches = paired.round_differences(steps, a, b)
        observed = float(np.var([paired.location(rounds) for rounds in launches.values()], ddof=1))
        inside = [_inside(rounds, *([*steps[name][launch].values()] for name in (a, b)))
                  for launch, rounds in launches.items()]
        found.append((*np.mean(inside, axis=0), observed))
    within, rounds_each, observed = (float(each) for each in np.mean(found, axis=0))
    return Spread(within, max(0.0, observed - within * location_variance(rounds_each)), observed, rounds_each)


def _inside(rounds: np.ndarray, of_a: Sequence[float], of_b: Sequence[float]) -> tuple[float, float]:
    """The variance of a round of a launch, and how many there were. A launch that was compared as one scatters by the
    rounds of both, which nothing pairs."""
    if len(rounds) > 1:
        return _robust_variance(rounds), len(rounds)
    return sum(_robust_variance(np.array(own)) for own in (of_a, of_b)), min(len(of_a), len(of_b))


def _robust_variance(values: np.ndarray) -> float:
    """By the median absolute deviation: rounds hit by foreign load are trimmed from the location too."""
    return float((1.4826 * np.median(np.abs(values - np.median(values)))) ** 2)


def optimal_rounds(spread: Spread, preparation: float, round_seconds: float) -> int:
    """Rounds per launch that give the narrowest interval for the time (Kalibera & Jones 2013, equation 4):
    the root of (cost of a launch / cost of a round) x (variance within / variance between)."""
    if spread.between <= 0 or round_seconds <= 0:
        return MOST_ROUNDS
    return _within(math.sqrt(preparation / round_seconds * spread.within / spread.between), FEWEST_ROUNDS, MOST_ROUNDS)


def _within(value: float, low: int, high: int) -> int:
    return max(low, min(high, math.ceil(value)))
