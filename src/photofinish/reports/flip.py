"""What would flip the verdict, and everything that was tried and does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from photofinish.factors import CONFIRMED, NOT_CONFIRMED
from photofinish.factors.flip import SETTING, Answer, Flips, Look
from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Chart,
    Column,
    Document,
    Note,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES
from photofinish.reports.factors import leveled, ratio_text
from photofinish.reports.race import describe
from photofinish.reports.reading import TASKS, contender, interval, listed
from photofinish.stats import effects

FLIPPED, NEVER, NO_RANKING = "FLIPPED", "NOTHING TRIED FLIPS IT", "NO RANKING"
SEEMS = "SEEMS FLIPPED"  # nothing that did it was raced again


def document(flips: Flips) -> Document:
    """The answer in a sentence, then every try."""
    case, said = flips.start.case, sentence(flips)
    tone = {FLIPPED: "good", NEVER: "good", NO_RANKING: "bad"}.get(outcome(flips), "open")
    blocks: list[Block] = [Banner(tone, outcome(flips), said, tuple(map(_told, flips.answers)))]
    blocks += [Note((f"Not everything was tried: {flips.left}.",), "warning")] if flips.left else []
    sections = [Section("flip", "", tuple(blocks)), Section("tries", "Everything that was tried", tuple(_tries(flips)))]
    return Document(f"{case.model}, {TASKS[case.task]}: what would flip the verdict",
                    f"{flips.slower} {'behind' if flips.ranked else 'and'} {flips.faster}; {describe(case)}", "flip",
                    said, (flips.faster, flips.slower), tuple(each for each in sections if each.blocks))


def outcome(flips: Flips) -> str:
    """FLIPPED if an answer held on fresh launches, else NOT CONFIRMED if one was raced again, or SEEMS; NEVER,
    NO_RANKING."""
    if not flips.ranked:
        return NO_RANKING
    if not flips.answers:
        return NEVER
    if all(each.again is None for each in flips.answers):
        return SEEMS
    return FLIPPED if any(each.outcome == CONFIRMED for each in flips.answers) else NOT_CONFIRMED


def as_json(flips: Flips) -> dict[str, Any]:
    """The documented object of `photofinish flip --json`."""
    case = flips.start.case
    return {"race": flips.start.id, "model": case.model, "task": case.task, "batch": case.batch,
            "slower": flips.slower, "faster": flips.faster, "ratio": flips.ratio and leveled(flips.ratio),
            "outcome": outcome(flips), "reason": flips.reason, "left": flips.left,
            "tries": [_look(each) for each in flips.looks],
            "answers": [{**_look(each.look), "short": each.short, "confirmed": each.outcome or None,
                         "again": each.again and _look(each.again)} for each in flips.answers]}


def _look(look: Look) -> dict[str, Any]:
    change = look.change
    return {"kind": change.kind, "change": change.told, "slower": change.slower, "faster": change.faster,
            "race": look.race, "ratio": look.ratio and leveled(look.ratio), "reversed": look.reversed,
            "reason": look.reason}


def sentence(flips: Flips) -> Text:
    """What would flip it, with the figures; or that nothing tried does, and what that was."""
    start: Text = (contender(flips.slower), " takes ", *(ratio_text(flips.ratio) if flips.ratio else ()),
                   " the time of ", contender(flips.faster))
    if flips.ratio is None:
        return Span("There is no ranking", "strong"), f" to reverse: {flips.reason}."
    if not flips.ranked:
        return (*start, ": neither is shown to be ahead, so ", Span("there is nothing to reverse", "strong"), ".")
    if not flips.answers:
        tried: list[str | Span] = [each.change.told for each in flips.looks if each.ratio is not None]
        failed: list[str | Span] = [each.change.told for each in flips.looks if each.ratio is None]
        unsettled = sum(each.ratio is not None and not effects.shown(each.ratio) for each in flips.looks)
        return (*start, ", and ", Span("nothing that was tried is shown to reverse that", "strong"),
                *((": neither " if len(tried) > 1 else ": not ", *listed(tried, "nor")) if tried else ()),
                f"; of {unsettled} it stays open, more --launches would tell" if unsettled else "",
                *(("; no comparison came of ", *listed(failed)) if failed else ()), ".")
    return (*start, ".", *_answered(flips.answers))


def _answered(answers: Sequence[Answer]) -> Iterator[str | Span | Quantity]:
    """What reverses it on fresh launches too, then what was not raced again, then what seemed to only."""
    ways = {each: listed([_named(answer) for answer in answers if answer.outcome == each], "or")
            for each in (CONFIRMED, "", NOT_CONFIRMED)}
    if ways[CONFIRMED]:
        yield from (" ", Span("It is reversed", "strong"), " by ", *ways[CONFIRMED], ".")
    if ways[""]:
        yield from (" It seemed reversed by ", *ways[""], ", not raced again.")
    if ways[NOT_CONFIRMED]:
        yield from (" What seemed to reverse it is not confirmed on fresh launches: ", *ways[NOT_CONFIRMED], ".")


def _named(answer: Answer) -> Span:
    return Span(answer.look.change.told, "strong")


def _told(answer: Answer) -> Text:
    change, ratio = answer.look.change, answer.look.ratio
    way = "" if change.kind == SETTING else f", {change.factor:.3g}{TIMES} the start's"
    text: Text = (_named(answer), way, ": ", contender(change.slower), " then takes ",
                  *(ratio_text(ratio) if ratio else ()), " the time of ", contender(change.faster),
                  *((f"; at {answer.short} it is not shown to be ahead",) if answer.short else ()))
    if answer.again is None:
        return (*text, "; that was not raced again.")
    again = answer.again.ratio
    seen: Text = ratio_text(again) if again else (answer.again.reason,)
    return (*text, "; on fresh launches ", *seen, ": ", Span(answer.outcome.lower(), "strong"), ".")


def _tries(flips: Flips) -> Iterator[Block]:
    if not flips.looks:
        return
    timed = [(each.change.told, each.ratio) for each in flips.looks if each.ratio is not None]
    start = [("as they stand", flips.ratio)] if flips.ratio else []
    series = tuple(Series(told, (ratio.value,), low=(ratio.low,), high=(ratio.high,)) for told, ratio in
                   [*start, *timed])
    yield Chart("intervals", "The slower one's time over the faster one's",
                "Left of the line: the ranking is reversed.", series, Axis("ratio of times", "ratio"), marks=(1.0,))
    columns = (Column("Change"), Column("Slower over faster", "ratio"), Column("Ranking"))
    yield Table("tries", columns, tuple(
        (each.change.told, interval(each.ratio),
         "reversed" if each.reversed else each.reason or "not shown to be reversed") for each in flips.looks),
        "The intervals of all settings hold together in 95 % of cases, and those along a line of batches or sizes.")
