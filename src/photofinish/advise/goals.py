"""What somebody may want of a model: how a race's records become the cost of each contender, and who is ruled out."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from photofinish.referee.tolerance import APPROXIMATED
from photofinish.stats import energy, jobs, paired, tails
from photofinish.stats.standings import REHEARSAL, no_certificate
from photofinish.values import Contender, Race, Result

CONFIDENCE = 0.99  # with which a latency must be shown to be kept

Costs = dict[str, dict[int, float]]  # {contender: {launch: cost}}


@dataclass(frozen=True)
class Goal:
    """What is wanted, and within which bounds.

    `name` is one of GOALS; `steps` is the length of the job ("job"; None is one step); `latency` in seconds is what
    `share` of the steps must keep; `memory` the bytes that all processes of a contender may hold together; `frameworks`
    those one stays with, all if none; `formats` the coarser formats that are allowed, of gradients too; `per_hour` the
    price of the machine; `defaults` maps each framework to the mode that users get who ask for none.
    """

    name: str
    steps: int | None = None
    latency: float | None = None
    share: float = 0.99
    memory: int | None = None
    frameworks: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    per_hour: float | None = None
    defaults: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """What it is a cost of."""
        return GOALS[self.name].what

    @property
    def hint(self) -> str:
        """How a cost is written."""
        return GOALS[self.name].hint


@dataclass(frozen=True)
class Kind:
    """`cost` reads the costs of a race; `what` they are of; `told` is the goal in words, `hint` how a figure is
    written."""

    cost: Callable[[Race, Goal], Costs]
    what: str
    told: str
    hint: str


def costs(race: Race, goal: Goal) -> Costs:
    """Of every contender of which they were measured, launch by launch. What costs nothing was not: counters of some
    virtual machines stand still."""
    return {name: found for name, found in GOALS[goal.name].cost(race, goal).items()
            if found and min(found.values()) > 0}


def barred(result: Result, goal: Goal) -> dict[str, str]:
    """Why a contender may not be advised: contender -> reason."""
    race, found = result.race, {}
    for standing in result.standings:
        reason = _unfit(result, standing.contender) or _refused(race, standing.contender, goal)
        memory = standing.memory if race.case.device == "cpu" else standing.device_memory
        if not reason and goal.memory is not None and (memory is None or memory > goal.memory):
            reason = "its peak memory is not known" if memory is None else "it holds more memory than is allowed"
        if reason:
            found[standing.contender] = reason
    return found


def _unfit(result: Result, name: str) -> str:
    standing = next(each for each in result.standings if each.contender == name)
    if standing.failure is not None:
        return f"it failed: {standing.failure.kind}"
    if no_certificate(result.race, name):
        return "it is not proven to compute the same"
    if standing.time is None:
        return "it was not timed"
    if not result.comparable or standing.place is None:
        return "who raced with it is not proven to compute the same"
    if any(each.contender == name for each in result.race.stragglers):
        return "it was far behind in the pilot and was timed no further"
    return ""


def _refused(race: Race, name: str, goal: Goal) -> str:
    contender = Contender.parse(name)
    if goal.frameworks and contender.framework not in goal.frameworks:
        return f"you stay with {' and '.join(goal.frameworks)}"
    coarse = next((each.precision for each in race.certificates
                   if each.contender == name and each.precision != race.case.precision), "")
    if coarse and coarse not in goal.formats:
        return f"it computes in {coarse}, which was not allowed"
    sent = next((each.gradients for each in race.certificates if each.contender == name), "")
    if sent and sent not in goal.formats:
        return f"its gradients are {sent if sent == APPROXIMATED else f'sent in {sent}'}, which was not allowed"
    if goal.latency is None:
        return ""
    seconds = list(paired.timed_launches(race, name).values())
    claim = tails.claim(seconds, goal.latency, goal.share, CONFIDENCE)
    if claim.word == "MET":
        return ""
    seen = f"{claim.over} of {claim.seen} steps took longer than is allowed"
    if claim.word == "MISSED":
        return seen
    if len(seconds) < 2:
        return f"{seen}, in one launch, which says nothing of others: race two or more"
    why = "too few were seen" if claim.more else "its launches differ too much"
    return f"{seen}: {why} to show that {100 * goal.share:g} % keep to it"


def _job(race: Race, goal: Goal) -> Costs:
    return jobs.first_run(race, 1 if goal.steps is None else goal.steps)


def _step(race: Race, goal: Goal) -> Costs:
    return {name: {launch: math.exp(log) for launch, log in paired.by_launch(steps).items()}
            for name, steps in paired.log_steps(race).items()}


def _memory(race: Race, goal: Goal) -> Costs:
    found: Costs = {}
    for phase in race.phases:
        held = phase.memory if race.case.device == "cpu" else phase.device_memory
        if phase.launch != REHEARSAL and held:
            launches = found.setdefault(phase.contender, {})
            launches[phase.launch] = max(launches.get(phase.launch, 0.0), float(held))
    return found


def _energy(race: Race, goal: Goal) -> Costs:
    return energy.per_unit(race)


GOALS: dict[str, Kind] = {
    "job": Kind(_job, "time for the whole job", "finish a job soonest", "duration"),
    "throughput": Kind(_step, "time per step", "run the most in steady state", "duration"),
    "first-result": Kind(_job, "time to the first result", "have the first result soonest", "duration"),
    "memory": Kind(_memory, "peak memory", "hold the least memory", "bytes"),
    "energy": Kind(_energy, "energy per item", "use the least energy", "energy"),
}
