"""What queries waited for their answers under a load, and what may be claimed of the slowest of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from photofinish.render.document import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Note,
    Paragraph,
    Section,
    Series,
    Table,
    Text,
)
from photofinish.render.quantities import write
from photofinish.reports.reading import contender, interval, names, queries, without_empty
from photofinish.stats.paired import timed_blocks
from photofinish.stats.serving import SHARES, Served, served
from photofinish.stats.tails import Claim
from photofinish.values import Estimate, Load, Result

POINTS = 60  # of a curve


def section(result: Result) -> Section:
    load, race = result.race.case.load, result.race
    found = {each.contender: each for each in served(race)} if load is not None else {}
    if load is None or not found:
        return Section("serving", "", ())
    order = [found[name] for name in dict.fromkeys([*names(result), *found])]
    blocks: list[Block] = [Paragraph(_story(load, race.case.batch, race.case.device))]
    blocks += [Note(_behind(each), "warning") for each in order if each.offered is not None and each.offered >= 1]
    blocks += [_curves(result, order, load), _latencies(order), _work(order)]
    if any(each.claim is not None for each in order):
        blocks.append(_claims(order, load))
    return Section("serving", "Latency under load", tuple(blocks))


def sentences(result: Result) -> tuple[Text, ...]:
    """What is known of the bound, if one was tried, for each that has not failed."""
    load = result.race.case.load
    if load is None or load.latency is None:
        return ()
    return tuple(_said(each, each.claim, load) for each in served(result.race) if each.claim is not None)


def _said(each: Served, claim: Claim, load: Load) -> Text:
    assert load.latency is not None
    share, bound = write(load.share, "percent"), write(load.latency, "duration")
    told = {"MET": f" answers {share} of the queries within {bound}",
            "MISSED": f" answers fewer than {share} of the queries within {bound}"}.get(claim.word)
    seen = f"{claim.over:,} of {claim.seen:,} came later"
    if each.behind:
        return (contender(each.contender), f" cannot keep up: sooner or later no query is answered within {bound} "
                f"({write(load.confidence, 'percent')} confidence; so far {seen}).")
    if told is None:
        return (contender(each.contender), f": it is open whether {share} of the queries are answered within {bound} "
                f"({seen}; {_lacking(each, claim)}).")
    return (contender(each.contender), told, f" ({write(load.confidence, 'percent')} confidence; {seen}).")


def _lacking(each: Served, claim: Claim) -> str:
    if each.launches < 2:
        return "one launch says nothing of others: run two or more"
    if claim.more:
        return f"{claim.more:,} more in time would be needed to show it"
    if each.lasting is not None and each.lasting > 1 - claim.share:
        return f"were the load to last, {write(each.lasting, 'percent')} would, for the queue still grows"
    return "its launches differ too much to say so of others"


def _story(load: Load, batch: int, device: str) -> Text:
    what = f"{queries(load)[0].upper()}{queries(load)[1:]}, each of {batch} sample{'s' if batch > 1 else ''}. "
    if device != "cpu":
        what += "They lie on the device before they come, and answers stay there: no latency has a copy in it. "
    if load.rate is not None:
        return (what + "All contenders meet the same arrivals, drawn beforehand. A query's latency counts from its "
                "arrival, also while others are before it in the queue.",)
    return (what + "Each client sends its next query as soon as it has an answer, so a slow contender is asked less: "
            "latencies here must not be read as those of users who come when they like.",)


def _behind(each: Served) -> Text:
    word, by = ("cannot", "") if each.behind else ("may not be able to", ", by the mean of what was seen")
    return (contender(each.contender), f" {word} keep up: in every second {each.offered:.3g} seconds of work come in"
            f"{by}. The queue grows as long as the load lasts, and its latencies say how long that was.")


def _curves(result: Result, order: Sequence[Served], load: Load) -> Chart:
    """Latency against how rare it is, which shows the tail."""
    series = []
    for each in order:
        ordered = sorted(latency for block in timed_blocks(result.race, each.contender) for latency in block.seconds)
        count = len(ordered)
        ranks = sorted({min(count - 1, math.floor(count * (1 - count ** (-i / POINTS)))) for i in range(POINTS + 1)})
        series.append(Series(each.contender, tuple(count / (count - rank) for rank in ranks),
                             tuple(ordered[rank] for rank in ranks)))
    if load.latency is not None:
        longest = max(series, key=lambda each: each.x[-1]).x
        series.append(Series("the bound", longest, (load.latency,) * len(longest)))
    return Chart("lines", "Latency of the slowest query in so many", "At 100 stands what 99 % of the queries stayed "
                 "within. Both axes are logarithmic.", tuple(series), Axis("one query in so many", "count", log=True),
                 Axis("seconds from arrival to answer", "duration", log=True))


def _latencies(order: Sequence[Served]) -> Table:
    columns = (Column("Contender", "contender"), Column("Queries", "count"),
               *(Column(f"{write(share, 'percent')} within", "duration") for share in SHARES))
    rows = tuple((contender(each.contender), each.queries, *(_bounded(each.latencies[share]) for share in SHARES))
                 for each in order)
    return without_empty(Table("latency", columns, rows, (
        "95 % intervals, of the latencies seen and of how launches differ (docs/concepts/latency.md); a dash where "
        "there are too few queries for one.")))


def _bounded(estimate: Estimate) -> Cell:
    return interval(estimate) if math.isfinite(estimate.high) else None


def _work(order: Sequence[Served]) -> Table:
    columns = (Column("Contender", "contender"), Column("Answered", "rate"), Column("Busy", "percent"),
               Column("Service", "duration"), Column("Wait", "duration"), Column("Wait expected", "duration"))
    rows = tuple((contender(each.contender), each.answered, each.busy, each.service, each.waiting, each.expected)
                 for each in order)
    caption = "Means. Service: what a query takes once it is taken up."
    if any(each.expected is not None for each in order):
        caption += " Expected: of a load that lasts, by Pollaczek and Khinchine, from rate and service alone."
    return without_empty(Table("service", columns, rows, caption))


def _claims(order: Sequence[Served], load: Load) -> Table:
    assert load.latency is not None
    columns = (Column("Contender", "contender"), Column("Bound is"), Column("Queries", "count"),
               Column("Later than the bound", "count"), Column("In the long run", "percent"),
               Column("Queries still needed", "count"))
    rows = tuple((contender(each.contender), each.claim.word, each.claim.seen, each.claim.over, each.lasting,
                  each.claim.more or None if each.claim.word == "UNDECIDED" else None)
                 for each in order if each.claim is not None)
    return without_empty(Table("claim", columns, rows, (
        f"Whether {write(load.share, 'percent')} of all queries are answered within {write(load.latency, 'duration')}, "
        f"with {write(load.confidence, 'percent')} confidence, shared among {load.looks} looks at most. In the long "
        "run: the share later than the bound were the load to last, by Lindley's recursion. Where it is "
        "undecided and no more queries are needed, that is too large, or launches differ too much.")))
