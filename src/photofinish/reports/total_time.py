"""How long your job takes: start, compile, warm-up and n steps (in task epoch, n epochs), where one contender overtakes
another, and from when on compiling has paid for itself."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from photofinish.render.document import (
    Axis,
    Block,
    Calculator,
    Cell,
    Chart,
    Column,
    Fold,
    Job,
    Note,
    Paragraph,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import DASH, counted
from photofinish.reports.reading import contender, phase_seconds, ranked
from photofinish.stats import jobs as job_lines
from photofinish.stats import student
from photofinish.values import Result

_POINTS = 41
_ROWS = 12  # of pairs, that are shown unasked
_LENGTHS = {"steps": (100, 10_000, 1_000_000), "epochs": (10, 100, 1000)}


@dataclass(frozen=True)
class Turn:
    """The lead passes from `before` to `after` at so many steps; `low` and `high` bound them where known."""

    steps: float
    before: Job
    after: Job
    low: float | None = None
    high: float | None = None


def section(result: Result) -> Section:
    jobs = lines(result)
    if not jobs:
        return Section("total-time", "", ())
    turns = [_bounded(result, turn) for turn in overtakings(jobs, job_lines.shorter(result.race))]
    case, many = result.race.case, _many(result)
    blocks: list[Block] = [Paragraph(_story(result, jobs, turns))] if len(jobs) > 1 else []
    if case.training is None:
        steps = _round(10 * turns[-1].steps if turns else 1000)
        most = max(len(job.launches) for job in jobs)
        blocks.append(Calculator(jobs, max(1000, steps), case.batch * case.units, case.unit,
                                 tuple(student.quantile(0.975, freedom) for freedom in range(1, most)),
                                 max(each.settled_after for each in job_lines.jobs(result.race))))
    blocks += [_curves(result, jobs, turns, many), _table(result, jobs, many), *_break_evens(result, jobs)]
    if any(each.warm is not None for each in jobs):
        blocks.append(Note(("The first run compiles with nothing cached; later runs of the same program start sooner, "
                            "by the difference of the two columns of fixed cost.",)))
    return Section("total-time", "The total time of your job", tuple(blocks))


def lines(result: Result) -> tuple[Job, ...]:
    """Each ranked contender's job as fixed + n * step seconds, in the order of finish.

    Fixed: process start, import, build, weights, compile or trace, and what warm-up costs beyond steady steps. The step
    is the mean one, which may put them in another order than the verdict's medians do.
    """
    known = {each.contender: each for each in job_lines.jobs(result.race)}
    launches = job_lines.launch_lines(result.race)
    jobs = []
    for standing in ranked(result):
        line = known.get(standing.contender)
        if line is not None:
            jobs.append(Job(line.contender, line.seconds(0, cold=True), line.step.value,
                            line.fixed if line.cold else None, launches[line.contender]))
    return tuple(jobs)


def overtakings(jobs: tuple[Job, ...], shorter: Collection[tuple[str, str]]) -> list[Turn]:
    """Where the lead changes as a first run that is past its warm-up gets longer.

    `shorter` has (a, b) where a's steps are shown to be shorter than b's; a chance difference never overtakes.
    """
    leader = _leader(jobs)
    turns: list[Turn] = []
    while True:
        later = [Turn((job.fixed - leader.fixed) / (leader.step - job.step), leader, job) for job in jobs
                 if job.step < leader.step and (job.name, leader.name) in shorter]
        if not later:
            return turns
        turn = min(later, key=lambda turn: (turn.steps, turn.after.step))
        if turns and turn.steps <= turns[-1].steps:  # undecided against who led before, and ahead of who came after
            last = turns.pop()
            turn = Turn(last.steps, last.before, turn.after)
        turns.append(turn)
        leader = turn.after


def _leader(jobs: tuple[Job, ...]) -> Job:
    """Whose line is the lowest at its beginning."""
    return min(jobs, key=lambda job: (job.fixed + job.step, job.step))


def _first(result: Result, jobs: tuple[Job, ...]) -> Job:
    """Who finishes the shortest job first, which is one step: it ends before the warm-up that its line has in it."""
    seconds = _seconds(result, 1)
    return min(jobs, key=lambda job: (seconds[job.name], job.step))


def _seconds(result: Result, steps: int) -> dict[str, float]:
    """Of a first run of so many steps, which the lines tell from the end of the warm-up on."""
    return {name: fmean(runs.values()) for name, runs in job_lines.first_run(result.race, steps).items()}


def _rivals(result: Result, jobs: tuple[Job, ...]) -> list[str]:
    """Who may finish the shortest job before the one that does by these figures."""
    names = {job.name for job in jobs}
    return [name for name in job_lines.rivals(result.race, _first(result, jobs).name) if name in names]


def _bounded(result: Result, turn: Turn) -> Turn:
    """The turn with the interval of its crossing point, where the two lines have one."""
    for each in job_lines.break_evens(result.race, cold=True):
        if (each.ahead, each.against, each.contender) == ("from", turn.before.name, turn.after.name):
            return Turn(each.steps or turn.steps, turn.before, turn.after, each.low, each.high)
    return turn


def _many(result: Result) -> str:
    """What the length of a job is counted in."""
    return "steps" if result.race.case.training is None else "epochs"


def _story(result: Result, jobs: tuple[Job, ...], turns: list[Turn]) -> Text:
    rivals, many = _rivals(result, jobs), _many(result)
    first, leader = contender(_first(result, jobs).name), contender(_leader(jobs).name)
    warming = leader != first and leader.text not in rivals  # who is ready first warms up the longest
    if not turns:
        ready: Text = (*_unshown(first, rivals), " shown to be ready first. By these figures it is ", first) if rivals \
            else (first, " is ready first")
        ahead: Text = ("; past the warm-up ", leader, " is ahead") if leader != first else ()  # of whom turns are told
        return (*ready, *ahead, ", and no other is shown to overtake it however long the job.")
    text: Text = (*_unshown(first, rivals), " shown to finish a short job first.") if rivals else \
        ("In a short job ", first, " finishes first.")
    if warming:
        text += (" Past the warm-up it is ", leader, ".")
    for turn in turns:
        bounds: Text = ()
        if turn.low is not None and turn.high is not None:
            bounds = ("95 % interval ", Quantity(turn.low, "count"), " to ", Quantity(turn.high, "count"), "; ")
        seconds = turn.before.fixed + turn.steps * turn.before.step
        text += (" From ", counted(math.ceil(turn.steps), many[:-1]), " (", *bounds,
                 Quantity(seconds, "duration"), ") on it is ", contender(turn.after.name), ".")
    return text


def _unshown(first: Span, rivals: Sequence[str]) -> Text:
    if len(rivals) == 1:
        return ("Neither ", first, " nor ", contender(rivals[0]), " is")
    return ("None of ", first, f" and {len(rivals)} others is")


def _curves(result: Result, jobs: tuple[Job, ...], turns: list[Turn], many: str) -> Chart:
    last = max([100.0, *(turn.steps for turn in turns)])
    steps = sorted({round((last * 100) ** (i / (_POINTS - 1))) for i in range(_POINTS)})
    seconds, along = [_seconds(result, n) for n in steps], tuple(map(float, steps))
    series = tuple(Series(job.name, along, tuple(each[job.name] for each in seconds)) for job in jobs)
    return Chart("lines", f"Total time of a first run by number of {many}", "The lowest line finishes first; vertical "
                 "rules mark where the lead changes. Both axes are logarithmic.", series,
                 Axis(many, "count", log=True), Axis("total time", "duration", log=True),
                 tuple(turn.steps for turn in turns if turn.steps >= 1))


def _table(result: Result, jobs: tuple[Job, ...], many: str) -> Table:
    columns = (Column("Contender", "contender"), Column("Fixed cost, first run", "duration"),
               Column("Fixed cost, cached", "duration"), Column(f"Mean {many[:-1]}", "duration"),
               *(Column(f"{length:,} {many}, first run", "duration") for length in _LENGTHS[many]))
    caption = f"A job takes its slow {many}, too: means count here, where standings and verdicts pass over slow ones."
    totals = [_seconds(result, length) for length in _LENGTHS[many]]
    return Table("total_time", columns, tuple(_costs(job, totals) for job in jobs), caption)


def _costs(job: Job, totals: Sequence[dict[str, float]]) -> tuple[Cell, ...]:
    return (contender(job.name), job.fixed, job.fixed if job.warm is None else job.warm, job.step,
            *(each[job.name] for each in totals))


def _break_evens(result: Result, jobs: tuple[Job, ...]) -> tuple[Block, ...]:
    """Of each contender that spends most of what a first run costs before its steps on compiling, against those that
    are ready sooner."""
    found = {(each.contender, each.against, each.cold): each for cold in (True, False)
             for each in job_lines.break_evens(result.race, cold)}
    phases, many = phase_seconds(result), _many(result)
    compiled = [job.name for job in jobs if phases.get(job.name, {}).get("compile (cold)", 0.0) > job.fixed / 2]
    pairs = [(name, other.name) for name in compiled for other in jobs
             if (first := found.get((name, other.name, True))) and first.ahead in ("from", "never")]
    rows = tuple((contender(a), contender(b), _told(found[a, b, True]), _told(found[a, b, False])) for a, b in pairs)
    columns = (Column("Compiled", "contender"), Column("Against", "contender"), Column("Ahead in a first run"),
               Column("Ahead with a filled cache"))
    size = result.race.case.batch * result.race.case.units
    each = f" A step takes {size:,.0f} {result.race.case.unit}." if many == "steps" else ""
    launches = max(map(len, job_lines.launch_lines(result.race).values()))
    sure = "one launch shows no interval." if launches < 2 else \
        "in brackets the 95 % interval over launches, into which a first run's compile time, seen once, goes as it was."
    caption = f"From how many {many} on compiling has paid for itself: {sure}{each}"
    table = Table("break_even", columns, rows, caption)
    if len(rows) > _ROWS:
        return (Fold("From when on compiling has paid for itself, of every pair", (table,)),)
    return (table,) if rows else ()


def _told(found: job_lines.BreakEven) -> str:
    if found.steps is None:
        return _bounded_lead(found)
    bounds = "" if found.low is None else f" ({found.low:,.0f} or more)" if found.high is None else \
        f" ({found.low:,.0f}{DASH}{found.high:,.0f})"
    return f"{found.ahead} {found.steps:,.0f}{bounds}"


def _bounded_lead(found: job_lines.BreakEven) -> str:
    """Of one that leads at every length by its means, or at none: where that may be otherwise."""
    lead = found.ahead == "always"
    if found.high is not None:
        return f"from the start, or from {found.high:,.0f} at the latest" if lead else \
            f"never, or until {found.high:,.0f} at the latest"
    if found.low is None:
        return "from the start" if lead else "never"
    if not found.low:
        return "not shown"
    return f"from the start, as far as shown (until {found.low:,.0f} at the earliest)" if lead else \
        f"not shown (from {found.low:,.0f} at the earliest)"


def _round(steps: float) -> int:
    """To one significant digit: a number a reader might have typed."""
    return int(float(f"{max(1.0, steps):.0e}"))
