"""What each framework's own profiler sees of a step, in the same words for all, and what the system counted."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.explain.profile import Whereabouts, whereabouts
from photofinish.render.document import Axis, Block, Chart, Column, Paragraph, Quantity, Section, Series, Table, Text
from photofinish.render.quantities import write
from photofinish.reports.reading import contender, interval, listed, names
from photofinish.values import Estimate, Result
from photofinish.values.profile import PLACES, UNPLACED

FIRST = 3  # places that the paragraph names
NOTHING = 0.005  # of a step: what it does not mention


def of_race(result: Result) -> Section:
    """Empty where no step of the race was looked into."""
    return section(whereabouts(result.race, names(result)))


def section(found: Sequence[Whereabouts]) -> Section:
    """Empty where nobody looked into a step."""
    seen = [each for each in found if each.profiler]
    blocks: list[Block] = [Paragraph(_sentence(each)) for each in seen]
    if seen:
        blocks += [_stacked(seen), _places(seen)]
    if found:
        blocks += [_lengths(found), _counted(found)]
    return Section("profile", "Where the step goes", tuple(blocks))


def _sentence(each: Whereabouts) -> Text:
    """The largest parts of one contender's step, and what is not known of it."""
    told = sorted(((share.value, place) for place, share in each.shares.items() if share and place != UNPLACED),
                  reverse=True)
    parts = [f"{write(share, 'percent')} {place}" for share, place in told[:FIRST] if share >= NOTHING]
    unplaced, names = 1 - (each.placed or 0.0), f" ({', '.join(each.unplaced)})" if each.unplaced else ""
    rest: Text = ("; ", Quantity(unplaced, "percent"), f" of it could not be placed{names}.")
    return ("A step of ", contender(each.contender), " is ", *listed(parts or ["nothing known"]),
            f" by {each.profiler}", *(rest if unplaced >= NOTHING else (".",)))


def _stacked(seen: Sequence[Whereabouts]) -> Chart:
    places = [place for place in PLACES if any(share and share.value > 0 for share in _shares(seen, place))]
    series = tuple(Series(each.contender, (share.value * each.profiled.value if share and each.profiled else 0.0,),
                          group=place) for each in seen for place in places for share in _shares([each], place))
    return Chart("bars", "A step under the profiler", "What its seconds went to; what that profiler cannot tell is not "
                 "drawn apart.", series, Axis("time of a step", "duration"))


def _shares(seen: Sequence[Whereabouts], place: str) -> list[Estimate | None]:
    return [each.shares[place] for each in seen]


def _places(seen: Sequence[Whereabouts]) -> Table:
    columns = (Column("Where"), *(Column(each.contender, "percent") for each in seen))
    rows = tuple((place, *(interval(each.shares[place]) for each in seen)) for place in PLACES)
    return Table("where", columns, rows, "Each moment of a step is at one place, so that the shares sum to one: "
                 "at what computes, if any thread does. A dash: that profiler cannot tell it, and counts it elsewhere. "
                 "Batches lie on the device already. 95 % intervals.")


def _lengths(found: Sequence[Whereabouts]) -> Table:
    columns = (Column("Contender", "contender"), Column("Profiler"), Column("A plain step", "duration"),
               Column("A profiled step", "duration"), Column("Kernels", "number"), Column("of them fused", "number"))
    rows = tuple((contender(each.contender), each.profiler or "none here", interval(each.plain),
                  interval(each.profiled), each.kernels, each.fused) for each in found)
    return Table("profiled", columns, rows, "Kernels are the operations of a step in which the profiler sees something "
                 "computed or moved; what a compiler made of a graph may be one. Fused ones do the work of several "
                 "operations of the model; a dash: their names do not tell.")


def _counted(found: Sequence[Whereabouts]) -> Table:
    columns = (Column("Contender", "contender"), Column("Page faults", "number"), Column("Waits", "number"),
               Column("Preempted", "number"), Column("Cores busy", "number"), Column("in the system", "percent"))
    rows = tuple((contender(each.contender), each.faults, each.waits, each.preempted, each.busy,
                  each.system / each.busy if each.busy else None) for each in found)
    return Table("counted", columns, rows, "What the operating system counts of a plain step: a thread waits when it "
                 "gives its core up, and is preempted when it loses it. In the system: the share of CPU time in which "
                 "page faults, among other things, are served.")
