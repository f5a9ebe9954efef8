"""How long your job takes: start, compile, warm-up and n steps, and where one contender overtakes another."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from photofinish.render.document import (
    Axis,
    Block,
    Calculator,
    Cell,
    Chart,
    Column,
    Job,
    Note,
    Paragraph,
    Quantity,
    Section,
    Series,
    Table,
    Text,
)
from photofinish.reports.reading import between, contender, finished, phase_seconds
from photofinish.values import Result

_BEFORE = ("start", "import", "build", "weights")
_POINTS = 41
_LENGTHS = (100, 10_000, 1_000_000)


def section(result: Result) -> Section:
    jobs = lines(result)
    if not jobs or not result.comparable:
        return Section("total-time", "", ())
    turns = overtakings(jobs, lambda a, b: _is_faster(result, a, b))
    steps = _round(max([10 * turns[-1][0]] if turns else [1000]))
    blocks: list[Block] = [Paragraph(_story(jobs, turns)),
                           Calculator(jobs, max(1000, steps), result.race.case.batch, result.race.case.unit),
                           _curves(jobs, turns), _table(jobs)]
    if any(each.warm is not None for each in jobs):
        blocks.append(Note(("Compilation is counted as for a first run, with nothing cached; later runs of the same "
                            "program start sooner, by the difference of the two columns of fixed cost.",)))
    return Section("total-time", "The total time of your job", tuple(blocks))


def lines(result: Result) -> tuple[Job, ...]:
    """Each contender's job as fixed + n * step seconds, the fastest step first.

    Fixed: process start, import, build, weights, compile or trace, and what warm-up costs beyond steady steps.
    """
    phases = phase_seconds(result)
    jobs = []
    for standing in finished(result):
        spent, step = phases.get(standing.contender, {}), standing.step
        if not spent or step is None:
            continue
        base = sum(spent.get(each, 0.0) for each in _BEFORE) + _warm_up(result, standing.contender, step.value)
        warm = spent.get("compile", max(0.0, spent.get("first_step", 0.0) - step.value))
        cold = spent.get("compile cold")
        jobs.append(Job(standing.contender, base + (warm if cold is None else cold), step.value, step.low, step.high,
                        None if cold is None else base + warm))
    return tuple(jobs)


def _warm_up(result: Result, name: str, step: float) -> float:
    extra = [sum(each.seconds[:each.steps]) - step * min(each.steps, len(each.seconds))
             for each in result.race.warm_ups if (each.contender, each.task) == (name, result.race.case.task)]
    return max(0.0, median(extra)) if extra else 0.0


def _is_faster(result: Result, a: str, b: str) -> bool:
    verdict = between(result, a, b)
    return verdict is not None and verdict.verdict == "FASTER"


def overtakings(jobs: tuple[Job, ...], faster: Callable[[str, str], bool]) -> list[tuple[float, Job, Job]]:
    """Where the lead changes as the job gets longer: (steps, who led before, who leads after).

    `faster(a, b)` says whether a's steps are shown to be shorter; a chance difference never overtakes.
    """
    leader = min(jobs, key=lambda job: (job.fixed, job.step))
    turns: list[tuple[float, Job, Job]] = []
    while True:
        later = [((job.fixed - leader.fixed) / (leader.step - job.step), job) for job in jobs
                 if job.step < leader.step and faster(job.name, leader.name)]
        if not later:
            return turns
        steps, after = min(later, key=lambda turn: (turn[0], turn[1].step))
        turns.append((steps, leader, after))
        leader = after


def _story(jobs: tuple[Job, ...], turns: list[tuple[float, Job, Job]]) -> Text:
    if not turns:
        first = min(jobs, key=lambda job: (job.fixed, job.step))
        return (contender(first.name), " is ready first, and no other is shown to overtake it however long the job.")
    text: Text = ("In a short job ", contender(turns[0][1].name), " finishes first.")
    for steps, before, after in turns:
        text += (" From ", Quantity(max(1.0, steps), "count"), " steps (",
                 Quantity(before.fixed + steps * before.step, "duration"), ") on it is ", contender(after.name), ".")
    return text


def _curves(jobs: tuple[Job, ...], turns: list[tuple[float, Job, Job]]) -> Chart:
    last = max([100.0, *(steps for steps, _, _ in turns)])
    steps = tuple((last * 100) ** (i / (_POINTS - 1)) for i in range(_POINTS))
    series = tuple(Series(job.name, steps, tuple(job.fixed + n * job.step for n in steps)) for job in jobs)
    return Chart("lines", "Total time by number of steps", "The lowest line finishes first; vertical rules mark where "
                 "the lead changes. Both axes are logarithmic.", series, Axis("steps", "count", log=True),
                 Axis("total time", "duration", log=True), tuple(steps for steps, _, _ in turns if steps >= 1))


def _table(jobs: tuple[Job, ...]) -> Table:
    columns = [Column("Contender", "contender"), Column("Fixed cost, first run", "duration"),
               Column("Fixed cost, cached", "duration"), Column("Each step", "duration")]
    columns += [Column(f"{steps:,} steps", "duration") for steps in _LENGTHS]
    return Table("total_time", tuple(columns), tuple(_costs(job) for job in jobs))


def _costs(job: Job) -> tuple[Cell, ...]:
    lengths = tuple(job.fixed + steps * job.step for steps in _LENGTHS)
    return (contender(job.name), job.fixed, job.fixed if job.warm is None else job.warm, job.step, *lengths)


def _round(steps: float) -> int:
    """To one significant digit: a number a reader might have typed."""
    return int(float(f"{max(1.0, steps):.0e}"))
