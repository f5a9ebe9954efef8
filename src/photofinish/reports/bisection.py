"""In which release it got slower: what a search found, look by look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Interval,
    Note,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES
from photofinish.reports import failures, verdict
from photofinish.reports.json import estimated
from photofinish.reports.race import describe
from photofinish.reports.reading import TASKS, contender, listed
from photofinish.timeline import BRACKET, FOUND, NOT_SLOWER, SEARCHING, UNDECIDED, Look, Search
from photofinish.timeline.versions import Dated
from photofinish.values import Verdict, to_json

_TONES = {FOUND: "good", NOT_SLOWER: "good", BRACKET: "open", UNDECIDED: "open", SEARCHING: "open"}
_SIDES = {"fast": "before the change", "slow": "after the change"}


def document(search: Search) -> Document:
    """What is known so far. The race of the two ends must have been run."""
    assert search.ends is not None
    case = search.ends.race.case
    title = f"{case.model}, {TASKS[case.task]}: since when {search.versions[0].line} is slower"
    said = sentence(search)
    blocks: list[Block] = [Banner(_TONES.get(search.outcome, "bad"), search.outcome, said, tuple(_details(search)))]
    blocks += [Note((warning,), "warning") for warning in search.ends.warnings]
    looks = [each.result for each in search.looks if each.result is not None]
    sections = [Section("search", "", tuple(blocks)), Section("looks", "Every look", (*_chart(search), _table(search)))]
    sections += [failures.section(each) for each in (search.ends, *looks)]
    return Document(title, describe(case), title, said, (), tuple(each for each in sections if each.blocks))


def as_json(search: Search) -> dict[str, Any]:
    """The documented object of `photofinish bisect --json`."""
    low, high = search.bracket
    return {"outcome": search.outcome, "line": search.versions[0].line,
            "versions": [{"contender": each.contender, "version": each.version, "released": each.day.isoformat()}
                         for each in search.versions],
            "ends": to_json(search.whole), "fast": low.version, "slow": high.version,
            "between": [each.version for each in search.between], "change": to_json(search.change),
            "looks": [_look_json(search, each) for each in search.looks],
            "races": [each.race.id for each in (search.ends, *(look.result for look in search.looks), search.closing)
                      if each is not None]}


def _look_json(search: Search, look: Look) -> dict[str, Any]:
    where = look.position
    return {"version": search.versions[look.number].version, "side": look.side or None,
            "over_the_middle": {**(estimated(where.over) or {}), "level": where.over.level} if where else None,
            "launches": where.launches if where else 0,
            "seconds_to_decide": where.seconds_to_decide if where else None, "reason": look.reason}


def sentence(search: Search) -> Text:
    """The whole outcome in one sentence."""
    whole = search.whole
    good, bad = search.versions[0], search.versions[-1]
    if whole is None or whole.low is None:
        return (Span("Nothing can be searched for", "strong"), ": ", *_pair(good, bad), " could not be compared",
                f" ({whole.reason})." if whole is not None and whole.reason else ".")
    if search.outcome == NOT_SLOWER:
        return (*_named(bad), " is ", Span("not slower", "strong"), " than ", *_named(good),
                f" here (ratio {verdict.ratio_of(whole)[0]}, {verdict.interval_of(whole)}).")
    if search.outcome == UNDECIDED:
        return ("It is ", Span("undecided", "strong"), " whether ", *_named(bad), " is slower than ", *_named(good),
                f" here (ratio {verdict.ratio_of(whole)[0]}, {verdict.interval_of(whole)}).")
    low, high = search.bracket
    change = search.change
    if change is None or change.low is None:
        return ("It got slower ", Span("between ", "strong"), *_pair(low, high), ", as far as is known.")
    took = f"{verdict.ratio_of(change)[0]}{TIMES}"
    if search.outcome == FOUND:
        return (*_named(high), " is where it got slower: it takes ", Span(took, "strong"), " as long as ",
                contender(low.contender), f" here ({verdict.interval_of(change)}).")
    return ("It got slower ", Span("between ", "strong"), *_pair(low, high), f": the second takes {took} as long as "
            f"the first ({verdict.interval_of(change)}).")


def _details(search: Search) -> Iterator[Text]:
    """The whole slow-down, what was left open and what would settle it."""
    whole, change = search.whole, search.change
    if whole is None or whole.low is None:
        return
    if whole.verdict == UNDECIDED:
        yield from _more(whole.seconds_to_decide)
    if whole.verdict != "FASTER":
        return
    yield ("From ", contender(search.versions[0].contender), " to ", contender(search.versions[-1].contender),
           f" in all: {verdict.ratio_of(whole)[0]}{TIMES} ({verdict.interval_of(whole)}).")
    if change is not None and not search.between and change.verdict != "FASTER":
        yield ("Half of that is passed between these neighbours, which alone are not shown to differ: the slow-down is "
               "spread over several releases, or this race needs more time.",)
        yield from _more(change.seconds_to_decide)
    open_ = [each for each in search.looks if not each.side and search.versions[each.number] in search.between]
    if open_:
        yield ("Of those between, not known: ",
               *listed([contender(search.versions[each.number].contender) for each in open_]), ".")
        yield from _more(max((each.position.seconds_to_decide or 0.0 for each in open_ if each.position), default=0.0))


def _more(seconds: float | None) -> Iterator[Text]:
    if seconds:
        yield ("About ", Quantity(seconds, "duration"), " more for a race would decide it: give a larger --budget; "
               "what is decided is not raced again.")


def _chart(search: Search) -> Iterator[Chart]:
    """Where each version lies between the ends."""
    series = [Series(search.versions[each.number].contender, (each.position.over.value,), low=(each.position.over.low,),
                     high=(each.position.over.high,)) for each in _in_order(search) if each.position]
    if series:
        yield Chart("intervals", "Each version over the middle of the first and the last",
                    "Left of 1: before the change; right of it: after.", tuple(series),
                    Axis("seconds over the geometric mean of both ends'", "ratio"), marks=(1.0,))


def _table(search: Search) -> Table:
    columns = (Column("Version", "contender"), Column("Released"), Column("Lies"), Column("Times the first", "ratio"),
               Column("Over the middle", "ratio"), Column("Launches", "count"), Column("Why not"))
    rows = {0: _end(search, 0, "the first: faster"), len(search.versions) - 1: _end(search, -1, "the last: slower")}
    rows.update({each.number: _row(search, each) for each in search.looks})
    return Table("looks", columns, tuple(rows[number] for number in sorted(rows)))


def _in_order(search: Search) -> list[Look]:
    return sorted(search.looks, key=lambda each: each.number)


def _end(search: Search, number: int, lies: str) -> tuple[Cell, ...]:
    version, whole = search.versions[number], search.whole
    known = whole is not None and whole.verdict == "FASTER"
    return (contender(version.contender), version.day.isoformat(), lies if known else None,
            _span(whole) if number and known else None, None, whole.launches if whole else None, None)


def _row(search: Search, look: Look) -> tuple[Cell, ...]:
    version, where = search.versions[look.number], look.position
    over = Interval(where.over.value, where.over.low, where.over.high) if where else None
    return (contender(version.contender), version.day.isoformat(), _SIDES.get(look.side, "not known"),
            _span(look.result.verdicts[0]) if look.result else None, over, where.launches if where else None,
            look.reason or None)


def _span(found: Verdict | None) -> Cell:
    return Interval(found.ratio, found.low, found.high) if found and found.ratio and found.low and found.high else None


def _named(version: Dated) -> Text:
    return contender(version.contender), f" ({version.day.isoformat()})"


def _pair(first: Dated, second: Dated) -> Text:
    return (*_named(first), " and ", *_named(second))
