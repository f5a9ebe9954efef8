"""What to take, why, and at what risk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from photofinish.advise import HELD, NOT_HELD, UNTOLD, Advice
from photofinish.advise.goals import GOALS
from photofinish.advise.lines import Lines
from photofinish.render.document import (
    Banner,
    Block,
    Cell,
    Code,
    Column,
    Document,
    Interval,
    Note,
    Quantity,
    Section,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES, counted
from photofinish.reports import failures
from photofinish.reports.json import estimated
from photofinish.reports.race import describe
from photofinish.reports.reading import TASKS, attributed, contender
from photofinish.stats.choice import Option
from photofinish.stats.jobs import BreakEven
from photofinish.values import to_json

_HOUR = 3600.0
_AGAIN = {HELD: "it held", NOT_HELD: "it did not hold", UNTOLD: "which does not tell whether it holds"}


def document(advice: Advice) -> Document:
    """The advice in one sentence, then what it rests on."""
    result = advice.result
    case = result.race.case
    said = sentence(advice)
    label = "TAKE" if advice.chosen else "NO ADVICE"
    blocks: list[Block] = [Banner("good" if advice.chosen else "bad", label, said, tuple(_details(advice)))]
    blocks += [Note(warning, "warning") for warning in attributed(result, result.warnings)]
    blocks += [Note((contender(name), f" was ruled out: {reason}.")) for name, reason in advice.barred.items()]
    title = f"{case.model}, {TASKS[case.task]}: {GOALS[advice.goal.name].told}"
    sections = [Section("advice", "", tuple(blocks)),
                Section("lines", "To have it so", tuple(block for each in advice.lines for block in _pasted(each))),
                Section("options", "Every option", (_table(advice),) if advice.options else ()),
                failures.section(result)]
    return Document(title, describe(case), "advice", said, tuple(each.contender for each in advice.options),
                    tuple(each for each in sections if each.blocks))


def as_json(advice: Advice) -> dict[str, Any]:
    """The documented object of `photofinish advise --json`."""
    goal, case = advice.goal, advice.result.race.case
    return {"race": advice.result.race.id, "model": case.model, "task": case.task, "goal": goal.name,
            "steps": goal.steps, "latency": goal.latency, "share": goal.share, "memory_limit": goal.memory,
            "per_hour": goal.per_hour, "take": advice.chosen.contender if advice.chosen else None,
            "gain": advice.gain, "unit": {"bytes": "bytes", "energy": "joules"}.get(goal.hint, "seconds"),
            "options": [{"contender": each.contender, "cost": estimated(each.cost), "money": _money(advice, each),
                         "chance": each.chance, "regret": each.regret, "worst_regret": each.worst_regret}
                        for each in advice.options],
            "lines": [to_json(each) for each in advice.lines],
            "turns": [to_json(each) for each in advice.turns],
            "ruled_out": [{"contender": name, "reason": reason} for name, reason in advice.barred.items()],
            "repeated": advice.repeated.race.id if advice.repeated else None, "held": advice.held or None,
            "observed_regret": advice.observed_regret,
            "observed_ratio": estimated(advice.again) if advice.again else None}


def sentence(advice: Advice) -> Text:
    """What to take, by how much, how surely."""
    chosen, goal = advice.chosen, advice.goal
    if chosen is None:
        return (Span("Nothing can be advised", "strong"), f" to {GOALS[goal.name].told}: nobody was left.")
    text: Text = ("Take ", Span(chosen.contender, "contender"), f" to {GOALS[goal.name].told}: ",
                  Quantity(chosen.cost.value, goal.hint), *_of(advice))
    if advice.gain is None:
        return (*text, ", the only one left.")
    return (*text, ". The runner-up, ", contender(advice.options[1].contender), ", takes ",
            Span(f"{advice.gain:.2f}{TIMES}", "strong"), " as much", *_chance(chosen), ".")


def _chance(chosen: Option) -> Text:
    if chosen.chance is None:
        return (" (so few launches do not tell how surely)",)
    return "; the chance that the first is the best is ", Quantity(chosen.chance, "percent")


def _of(advice: Advice) -> Text:
    goal, case = advice.goal, advice.result.race.case
    if goal.name == "job" and goal.steps is not None:
        return (f" for {counted(goal.steps, 'step')}, start and compilation included",)
    return {"throughput": (" a step",), "memory": (" at its peak",), "energy": (f" for each of the {case.unit}",),
            "first-result": (" from its start",)}.get(goal.name, ())


def _details(advice: Advice) -> Iterator[Text]:
    chosen, unit = advice.chosen, advice.goal
    if chosen is None:
        return
    if len(advice.options) > 1 and chosen.regret is not None:
        yield ("What is lost if another is better after all: ", Quantity(chosen.regret, "percent"),
               " expected; in 19 of 20 cases it is at most ", Quantity(chosen.worst_regret, "percent"), ".")
    money = _money(advice, chosen)
    if money is not None:
        yield (f"At {unit.per_hour:g} an hour that is {money:.4g}.",)
    for turn in advice.turns:
        yield _turn(turn)
    for framework, (best, usual) in advice.within.items():
        gain = usual.cost.value / best.cost.value
        yield (f"If you stay with {framework}: ", contender(best.contender), " takes the least, ",
               contender(usual.contender), " ", Span(f"{gain:.2f}{TIMES}", "strong"), " as much.")
    if advice.unrepeated:
        yield ("Raced again on fresh launches, the first two alone, ", Span(_AGAIN[advice.held], "strong"),
               f": {advice.unrepeated}.")
    if advice.again is not None:
        ratio = advice.again
        surely = f" ({ratio.low:.3f} to {ratio.high:.3f})" if ratio.level else ""
        yield ("Raced again on fresh launches, the first two alone, ", Span(_AGAIN[advice.held], "strong"), ": it cost "
               f"{ratio.value:.3f}{TIMES}{surely} as much as the runner-up.")


def _pasted(told: Lines) -> Iterator[Block]:
    """What of it goes where, as it was raced."""
    for place, written in (("in the shell, before the program starts", told.shell), ("in the program", told.program)):
        if written:
            yield Code("\n".join(written), f"{told.contender}, {place}")
    if not told.shell and not told.program:
        yield Note((contender(told.contender), " is what one has who writes nothing for it."))


def _turn(turn: BreakEven) -> Text:
    """Who would be ahead, or may be where the interval does not end: the steps are then not shown to differ."""
    end: Text = (" or more",) if turn.high is None else (" to ", Quantity(turn.high, "count"))
    bounds: Text = () if turn.low is None else (" (95 % interval ", Quantity(turn.low, "count"), *end, ")")
    where = "longer" if turn.ahead == "from" else "shorter"
    return ("In a job ", where, " than ", Quantity(turn.steps, "count"), " steps", *bounds, " ",
            contender(turn.contender), f" {'may' if turn.high is None else 'would'} be ahead of ",
            contender(turn.against), ".")


def _table(advice: Advice) -> Table:
    goal = advice.goal
    columns = (Column("Contender", "contender"), Column(goal.what.capitalize(), goal.hint),
               *((Column("Money", "number"),) if _priced(advice) else ()), Column("Over the first", "ratio"),
               Column("Best with chance", "percent"), Column("Expected regret", "percent"),
               Column("Worst of 20", "percent"))
    caption = "Chances are upper ones where many are alike: who seems the best was lucky, too."
    if goal.name == "memory":
        caption += " Of the processes that were timed; the table of the race has the rehearsal's peak."
    return Table("options", columns, tuple(_row(advice, each) for each in advice.options), caption)


def _row(advice: Advice, option: Option) -> tuple[Cell, ...]:
    cost, first = option.cost, advice.options[0].cost.value
    figure: Cell = Interval(cost.value, cost.low, cost.high) if cost.level else cost.value
    return (contender(option.contender), figure, *((_money(advice, option),) if _priced(advice) else ()),
            cost.value / first if first else None, option.chance, option.regret, option.worst_regret)


def _priced(advice: Advice) -> bool:
    return advice.goal.per_hour is not None and advice.goal.hint == "duration"


def _money(advice: Advice, option: Option) -> float | None:
    """What the time costs, in whatever the price of an hour was given in."""
    price = advice.goal.per_hour
    return None if price is None or not _priced(advice) else price * option.cost.value / _HOUR
