"""Which settings make the difference, by how much, and whether that holds once the cause is removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from photofinish.factors import (
    CONFIRMED,
    Effect,
    Findings,
    Gap,
    Recommended,
    Share,
)
from photofinish.factors.plan import BATCH
from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Chart,
    Column,
    Document,
    Fold,
    Note,
    Paragraph,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES, counted, tells, write
from photofinish.reports import failures
from photofinish.reports.json import estimated
from photofinish.reports.race import describe
from photofinish.reports.reading import TASKS, attributed, contender, interval, listed
from photofinish.stats import effects
from photofinish.stats.paired import estimate_step
from photofinish.values import Estimate

NAMED, NONE, NOTHING = "CAUSE NAMED", "NO CAUSE NAMED", "NOT COMPARABLE"


def document(found: Findings, brief: bool = False) -> Document:
    """The paragraph, then what it rests on; if `brief` without the combinations, and interactions only if one is
    shown."""
    case = next((each.race.case for each in found.results if each.race.case.batch == found.experiments[0].batch),
                found.results[0].race.case)  # as the contenders stand
    label, told = outcome(found), paragraph(found)
    tone = {CONFIRMED: "good", NOTHING: "bad"}.get(label, "open")
    blocks: list[Block] = [Banner(tone, label, told)]
    warnings = [Note(each, "warning") for result in found.results for each in attributed(result, result.warnings)]
    if warnings:
        ids = " and ".join(each.race.id for each in found.results)
        title = f"{counted(len(warnings), 'warning')} on these figures"
        blocks.append(Note((f"{title}: photofinish report {ids}",), "warning") if brief
                      else Fold(title, tuple(warnings)))
    blocks += [Note((contender(name), f" has no figures that count: {reason}."), "warning")
               for name, reason in found.missing.items()]
    together = [each for each in found.effects if len(each.alike[0]) == 2 and (each.shown or not brief)]
    sections = [Section("factors", "", tuple(blocks)),
                Section("gap", "What makes the gap", tuple(_gap(found.gap)) if found.gap else ()),
                Section("check", "The cause removed, on fresh launches", tuple(_check(found))),
                Section("recommended", "What to set", tuple(_recommended(found.recommended))),
                Section("effects", "What each setting does", tuple(_effects(found, [each for each in found.effects
                                                                                  if len(each.alike[0]) == 1]))),
                Section("interactions", "What two settings do together", tuple(_effects(found, together))),
                Section("cells", "Every combination", () if brief else (_cells(found),)),
                *(failures.section(each) for each in (*found.results, *([found.again] if found.again else [])))]
    names = " and ".join(each.name for each in found.contenders)
    return Document(f"{case.model}, {TASKS[case.task]}: what makes the difference", f"{names}; {describe(case)}",
                    "factors", told, tuple(each.name for each in found.contenders),
                    tuple(each for each in sections if each.blocks))


def outcome(found: Findings) -> str:
    """One of CONFIRMED, NOT CONFIRMED, NAMED, NONE, NOTHING."""
    if not found.effects:
        return NOTHING
    if found.cause is None:
        return NONE
    return NAMED if found.check is None else found.check.outcome


def paragraph(found: Findings) -> Text:
    """What was found in plain words, with its figures; nothing is called a cause without them."""
    if not found.effects:
        reason = "some combinations have no figures that count" if found.missing else \
            "fewer than two launches have every combination"
        return Span("Nothing is said", "strong"), f" of any setting: {reason}."
    return (*(_of_gap(found.gap) if found.gap else ()), *_of_cause(found), *_of_check(found),
            *(part for each in found.recommended if not found.cause
              or (each.own, each.taken) != (found.cause.slower, found.cause.changed)
              for part in _of_recommended(each)))


def as_json(found: Findings) -> dict[str, Any]:
    """The documented object of `photofinish factors --json`."""
    case = found.results[0].race.case
    gap, cause, check = found.gap, found.cause, found.check
    return {
        "races": [each.race.id for each in found.results], "model": case.model, "task": case.task,
        "contenders": [each.name for each in found.contenders], "launches": found.launches, "outcome": outcome(found),
        "experiments": [{"contender": each.base.name, "full": each.full, "factors": [
            {"name": factor.name, "own": factor.own, "other": factor.other} for factor in each.factors],
            "cells": [{"contender": name, "batch": batch} for name, batch in each.cells]}
            for each in found.experiments],
        "effects": [{"contender": each.contender, "factors": [list(group) for group in each.alike],
                     "ratio": leveled(each.ratio), "shown": each.shown} for each in found.effects],
        "gap": gap and {"slower": gap.slower.name, "faster": gap.faster.name, "ratio": leveled(gap.ratio), "shares": [
            {"factor": share.factor and share.factor.name, "slower": share.factor and share.factor.own,
             "faster": share.factor and share.factor.other, "ratio": leveled(share.ratio), "part": share.part}
            for share in gap.shares]},
        "cause": cause and {"factor": cause.factor.name, "slower": cause.slower.name, "changed": cause.changed.name,
                            "predicted": leveled(cause.predicted)},
        "check": check and {"race": found.again and found.again.race.id, "outcome": check.outcome,
                            "observed": check.observed and leveled(check.observed),
                            "over_predicted": check.apart and leveled(check.apart),
                            "gap_left": check.gap and leveled(check.gap), "reason": check.reason},
        "recommended": [{"contender": each.own.name, "take": each.taken.name, "settings": [
            {"name": factor.name, "own": factor.own, "other": factor.other} for factor in each.moved],
            "predicted": leveled(each.predicted), "observed": each.observed and leveled(each.observed),
            "reason": each.reason}
            for each in found.recommended],
        "missing": [{"contender": name, "reason": reason} for name, reason in found.missing.items()]}


def leveled(ratio: Estimate) -> dict[str, Any]:
    """A ratio with the level of its interval."""
    return {**(estimated(ratio) or {}), "level": ratio.level}


def ratio_text(ratio: Estimate) -> Text:
    """A ratio in a sentence, with its interval."""
    if not ratio.level:
        return Span(f"{ratio.value:.3g}{TIMES}", "strong"), " (one launch)"
    span = f"{ratio.low:.3f} to {ratio.high:.3f}" if tells(ratio.low, ratio.high) else "too wide to tell anything yet"
    return (Span(f"{ratio.value:.3f}{TIMES}", "strong"), f" ({span})")


def told(level: str | None) -> str:
    return "its default" if level is None else level


def _of_gap(gap: Gap) -> Iterator[str | Span | Quantity]:
    yield from (contender(gap.slower.name), " takes ", *ratio_text(gap.ratio), " the time of ",
                contender(gap.faster.name))
    if not effects.shown(gap.ratio):
        yield ": no gap is shown. "
        return
    parts = [Span(f"{_name(each)} {each.ratio.value:.3f}{TIMES} ({write(each.part or 0.0, 'percent')})")
             for each in gap.shares]
    yield from (". Of that gap ", *listed(parts), ". ")


def _name(share: Share) -> str:
    if share.factor is None:
        return "what no setting explains makes"
    return f"{share.factor.name} ({told(share.factor.own)} instead of {told(share.factor.other)}) makes"


def _of_cause(found: Findings) -> Iterator[str | Span | Quantity]:
    cause = found.cause
    if cause is not None:
        name, own, other = cause.factor.name, told(cause.factor.own), told(cause.factor.other)
        yield from ("The first cause is ", Span(f"{name} {own}", "strong"), f": with {other} instead, ",
                    contender(cause.slower.name), " is predicted to be ", *ratio_text(cause.predicted), " as fast. ")
    elif found.gap is not None and not effects.shown(found.gap.ratio):
        yield "So there is nothing to explain, and no cause is named."
    elif found.gap is not None and any(each.slows for each in found.gap.shares):
        yield from ("No setting is shown to make ", contender(found.gap.slower.name), " faster when it alone is "
                    "changed, only several together, and ", Span("no cause is named", "strong"), ".")
    elif found.gap is not None:
        yield from ("No setting is shown to make any of it, and ", Span("no cause is named", "strong"), ".")
    elif any(each.shown for each in found.effects if _alone(each)):
        yield from ("Settings make a difference in the mean over the others, but none is shown to when it alone is "
                    "changed, and ", Span("no cause is named", "strong"), ".")
    else:
        alone = [each.ratio for each in found.effects if _alone(each)]
        widest = max((max(each.high, 1 / each.low) for each in alone), default=1.0) - 1
        yield from ("No setting by itself is shown to make a difference, and ", Span("no cause is named", "strong"))
        yield from ("; one of more than ", Quantity(widest, "percent"), " would hardly have escaped.") if alone else \
            (": the batch, which alone was tried, is none of a contender's.",)


def _alone(effect: Effect) -> bool:
    return len(effect.alike[0]) == 1 and effect.alike[0][0] != BATCH


def _of_check(found: Findings) -> Iterator[str | Span | Quantity]:
    check, again = found.check, found.again
    if found.cause is None:
        return
    if check is None or again is None:
        yield "That was not raced again."
        return
    if check.observed is None:
        yield from ("Raced again on fresh launches, the cause is ", Span(check.outcome.lower(), "strong"),
                    f": {check.reason}.")
        return
    launches = len({each.number for each in again.race.launches})
    yield from (f"Raced again on {launches} fresh launches it is ", *ratio_text(check.observed),
                " as fast: the cause is ", Span(check.outcome.lower(), "strong"))
    if check.gap is not None:
        yield from ("; what is left of the gap is ", *ratio_text(check.gap))
    yield "."


def _of_recommended(each: Recommended) -> Iterator[str | Span | Quantity]:
    if each.reason:
        yield from (" ", contender(each.taken.name), ", predicted to be ", *ratio_text(each.predicted), " as fast as ",
                    contender(each.own.name), f", was not compared with it when raced again ({each.reason}), and is ",
                    Span("not recommended", "strong"), ".")
        return
    if each.observed is not None and not each.holds:
        yield from (" ", contender(each.taken.name), ", predicted to be ", *ratio_text(each.predicted), " as fast as ",
                    contender(each.own.name), ", was ", *ratio_text(each.observed), " when raced again: no gain is "
                    "shown there, and it is ", Span("not recommended", "strong"), ".")
        return
    yield from (" Rather than ", contender(each.own.name), " take ", contender(each.taken.name), ", predicted to be ",
                *ratio_text(each.predicted), " as fast")
    if each.observed is not None:
        yield from (" and ", *ratio_text(each.observed), " when raced again")
    yield "."


def _recommended(found: Sequence[Recommended]) -> Iterator[Block]:
    columns = (Column("Rather than", "contender"), Column("Take", "contender"), Column("Gain, predicted", "ratio"),
               Column("Raced again", "ratio"))
    rows = tuple((contender(each.own.name), contender(each.taken.name), interval(each.predicted),
                  interval(each.observed)) for each in found if each.holds)
    if rows:
        yield Table("recommended", columns, rows, "Every setting that is shown to be faster at its other level, there, "
                                                  "where all of them together are.")


def _gap(gap: Gap) -> Iterator[Block]:
    rows = tuple((each.factor.name if each.factor else "the rest", told(each.factor.own) if each.factor else None,
                  told(each.factor.other) if each.factor else None, interval(each.ratio), each.part)
                 for each in gap.shares)
    columns = (Column("Setting"), Column("Slower has"), Column("Moved to"), Column("Makes", "ratio"),
               Column("Of the gap", "percent"))
    yield _chart("Parts of the gap", "Right of the line: makes the slower one slow.",
                 [(str(row[0]), each.ratio) for row, each in zip(rows, gap.shares)])
    yield Table("gap", columns, rows, "Shapley values: the mean over all orders in which the slower one may take over "
                                      "the settings; their product is the gap. A setting that the faster one does not "
                                      "have is moved to its other level.")


def _check(found: Findings) -> Iterator[Block]:
    cause, check = found.cause, found.check
    if cause is None or check is None or check.observed is None:
        return
    rows = [("Predicted gain", interval(cause.predicted)), ("Observed gain", interval(check.observed)),
            ("Observed over predicted", interval(check.apart))]
    rows += [("Gap left", interval(check.gap))] if check.gap is not None else []
    yield Table("check", (Column("Of " + cause.changed.name), Column("Ratio", "ratio")), tuple(rows))


def _effects(found: Findings, chosen: list[Effect]) -> Iterator[Block]:
    """Of one order."""
    if not chosen:
        return
    order, several = len(chosen[0].alike[0]), len(found.experiments) > 1
    title = "The other level over its own" if order == 1 else "Both together, beyond what each does"
    yield _chart(title, "Left of the line: faster.", [(_label(found, each), each.ratio) for each in chosen])
    columns = (*((Column("Contender", "contender"),) if several else ()), Column("Setting"),
               *((Column("From"), Column("To")) if order == 1 else ()), Column("Takes, of the time", "ratio"),
               Column("Is"))
    yield Table("effects" if order == 1 else "interactions", columns, tuple(
        (*((contender(each.contender),) if several else ()), _settings(each), *_ends(found, each), interval(each.ratio),
         "shown" if each.shown else "not shown") for each in chosen),
        f"{_family(len(found.effects))} in 95 % of cases, over {found.launches} launches.")
    if any(len(each.alike) > 1 for each in chosen):
        yield Paragraph(("Settings joined by \N{LEFT RIGHT DOUBLE ARROW} cannot be told apart: not every combination "
                         "was raced.",))


def _family(effects: int) -> str:
    return f"All {effects} effects and interactions hold together" if effects > 1 else "The interval holds"


def _label(found: Findings, effect: Effect) -> str:
    return f"{_settings(effect)}, {effect.contender}" if len(found.experiments) > 1 else _settings(effect)


def _settings(effect: Effect) -> str:
    return " \N{LEFT RIGHT DOUBLE ARROW} ".join(f" {TIMES} ".join(group) for group in effect.alike)


def _ends(found: Findings, effect: Effect) -> tuple[str, ...]:
    """From and to which level, of an effect."""
    if len(effect.alike[0]) > 1:
        return ()
    of = next(each for each in found.experiments if each.base.name == effect.contender)
    factor = next(each for each in of.factors if each.name == effect.alike[0][0])
    return told(factor.own), told(factor.other)


def _chart(title: str, summary: str, rows: list[tuple[str, Estimate]]) -> Chart:
    return Chart("intervals", title, summary,
                 tuple(Series(name, (each.value,), low=(each.low,), high=(each.high,)) for name, each in rows),
                 Axis("ratio of times", "ratio"), marks=(1.0,))


def _cells(found: Findings) -> Fold:
    several = len(found.results) > 1
    rows = tuple((contender(name), *((result.race.case.batch,) if several else ()),
                  interval(estimate_step(result.race, name)))
                 for result in found.results for name in result.race.contenders)
    columns = (Column("Contender", "contender"), *((Column("Batch", "count"),) if several else ()),
               Column("Time per step", "duration"))
    return Fold(f"{len(rows)} combinations", (Table("cells", columns, rows),))
