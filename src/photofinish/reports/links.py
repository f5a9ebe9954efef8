"""Steps of several processes over links of several rates: what was measured, the line through it, what that predicts,
and the rates at which two contenders are equally fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Note,
    Paragraph,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import write
from photofinish.reports import audit, certificate, failures, machine, scaling, verdict
from photofinish.reports.json import estimated, finite, scaled
from photofinish.reports.race import describe
from photofinish.reports.reading import PREDICTION, TASKS, contender, interval, timed, unproven, without_empty
from photofinish.stats.communication import FEWEST, Crossing, Model
from photofinish.stats.scaling import scalings
from photofinish.stats.student import confidence
from photofinish.values import Estimate, Link, Result, to_json

LAW = ("seconds of a step = fixed + bits / rate. Fixed is the computing, and what a message takes whatever its length; "
       "the bits are those that a step waits for: what computing hides is not among them. Intervals of 95 % are over "
       "the rates, by how much they miss the line.")
MBIT = 1e6


def document(results: Sequence[Result], predict: Sequence[Link] = (), brief: bool = False) -> Document:
    """The report of the races of one sweep over links. `predict` are others to say something of."""
    results = _ordered(results)
    model = Model([each.race for each in results])
    case = results[0].race.case
    sections = [_headline(results, model), _steps(model), _predictions(model, predict), _law(model), _crossings(model),
                scaling.over_links(results), *_failures(results),
                certificate.section(next((each for each in results if each.race.certificates), results[0]))]
    if not brief:
        probed = next((each for each in results if each.race.audit), results[0])
        sections += [audit.section(probed), machine.section(probed)]
    what = TASKS[case.task]
    rates = "links of " + ", ".join(str(each.race.case.link) for each in results)
    return Document(f"{case.model}, {what} by link", describe(case).replace(f"links of {case.link}", rates, 1),
                    f"{what} by link", _sentence(model), tuple(model.steps),
                    tuple(each for each in sections if each.blocks))


def _ordered(results: Sequence[Result]) -> list[Result]:
    return sorted(results, key=lambda each: each.race.case.link.rate if each.race.case.link else 0.0)


def _headline(results: Sequence[Result], model: Model) -> Section:
    label, tone = ("NOTHING TIMED", "bad") if not any(map(timed, results)) else \
        ("NOT COMPARABLE", "bad") if unproven(results) else \
        ("BREAK-EVEN", "good") if any(each.raced and each.shown for each in model.crossings()) else \
        ("NO BREAK-EVEN", "open")
    said = _sentence(model)
    others = tuple(told for told in map(_told, model.crossings()) if told != said)
    return Section("links", "", (Banner(tone, label, said, others), *verdict.remarks(results)))


def _sentence(model: Model) -> Text:
    if not model.steps:
        return ("No contender was proven and timed over every link.",)
    if not model.lines:
        return (f"A line takes links of {FEWEST} rates at least: nothing is predicted.",)
    raced = next((each for each in model.crossings() if each.raced and each.shown), None)
    return ("No two contenders are shown to cross among the rates raced.",) if raced is None else _told(raced)


def _told(each: Crossing) -> Text:
    if not each.shown:
        return ("From which rate on ", contender(each.fast), " is faster than ", contender(each.slow),
                ", or the other way round, is not shown.")
    if each.rate is None:
        return (contender(each.slow), " is faster than ", contender(each.fast), " over all of these links.")
    outside = "" if each.raced else ", which is none of the rates raced"
    return (contender(each.slow), " is faster than ", contender(each.fast), " over links slower than ",
            Span(write(each.rate.value, "speed"), "strong"),
            f" ({PREDICTION}{outside}; {confidence(each.rate.level)}: {_range(each.rate)}).")


def _range(rate: Estimate) -> str:
    """300 Mbit/s to 1.2 Gbit/s; an end that is not known is left open."""
    low, high = write(rate.low, "speed"), write(rate.high, "speed")
    if math.isinf(rate.high):
        return f"{low} or more" if rate.low else "any rate"
    return f"{low} to {high}"


def _steps(model: Model) -> Section:
    if not model.steps:
        return Section("steps", "", ())
    found = model.measured()
    series = tuple(_series(name, list(steps.items())) for name, steps in model.steps.items())
    chart = Chart("lines", "Time per step by the rate of the links", "The band is the 95 % interval over launches.",
                  series, Axis("Mbit/s", "number", log=True), Axis("seconds of a step", "duration", log=True))
    columns = (Column("Contender", "contender"), Column("Link", "speed"), Column("Time per step", "duration"),
               Column(f"{PREDICTION} from the other links", "duration"), Column("Measured within"))
    rows = tuple((contender(each.contender), each.rate, interval(each.step), interval(each.held_out),
                  {None: None, True: "yes", False: Span("no", "bad")}[each.inside]) for each in found)
    caption = ("Intervals of 95 %: of what was measured over launches, of what was predicted over the other links, by "
               "a line drawn without this one.")
    blocks: list[Block] = [chart, without_empty(Table("links", columns, rows, caption))]
    if len(model.rates) <= FEWEST:
        blocks.append(Note((f"With links of {FEWEST + 1} rates or more each is predicted from the others, too.",)))
    return Section("steps", "Time per step", tuple(blocks))


def _series(name: str, steps: Sequence[tuple[float, Estimate]]) -> Series:
    told = all(each.level for _, each in steps)
    return Series(name, tuple(rate / MBIT for rate, _ in steps), tuple(each.value for _, each in steps),
                  tuple(each.low for _, each in steps) if told else (),
                  tuple(each.high for _, each in steps) if told else ())


def _predictions(model: Model, predict: Sequence[Link]) -> Section:
    found = model.predictions([each.rate for each in predict])
    columns = (Column("Contender", "contender"), Column("Link", "speed"), Column(PREDICTION, "duration"))
    rows = tuple((contender(each.contender), each.rate, interval(each.step)) for each in found)
    return Section("predictions", "Over links that were not raced", (Table(
        "predictions", columns, rows, "By the line through the links that were; 95 % intervals."),) if rows else ())


def _law(model: Model) -> Section:
    columns = (Column("Contender", "contender"), Column("Fixed", "duration"), Column("Waits for", "bytes"),
               Column("Gives to collectives", "bytes"))
    rows = tuple((contender(each.contender), interval(each.fixed), interval(_bytes(each.bits)), each.sent)
                 for each in model.laws())
    return Section("law", "What a step costs", (Paragraph((LAW,)), without_empty(Table("law", columns, rows, (
        "Bytes of a step of one process. Those that it waits for hold the headers of packets, too.")))) if rows else ())


def _bytes(bits: Estimate) -> Estimate:
    return Estimate(bits.value / 8, bits.low / 8, bits.high / 8, bits.level)


def _crossings(model: Model) -> Section:
    columns = (Column("Faster over slow links", "contender"), Column("Than", "contender"),
               Column(f"Equal at ({PREDICTION})", "speed"), Column("Interval"), Column("Among the rates raced"))
    rows: list[tuple[Cell, ...]] = []
    for each in model.crossings():
        at = (None, "they do not cross" if each.shown else "not shown", None) if each.rate is None else (
            each.rate.value, _range(each.rate), "yes" if each.raced else "no")
        rows.append((contender(each.slow), contender(each.fast), *at))
    caption = "The intervals of all pairs hold together in 95 % of cases (Bonferroni)."
    return Section("break_even", "Break-even", (Table("break_even", columns, tuple(rows), caption),) if rows else ())


def _failures(results: Sequence[Result]) -> list[Section]:
    return [Section(f"failures-{each.race.case.link.name}", f"What failed over {each.race.case.link}", found.blocks)
            for each in results if each.race.case.link and (found := failures.section(each)).blocks]


def as_json(results: Sequence[Result], predict: Sequence[Link] = ()) -> dict[str, Any]:
    """The documented object of `photofinish sweep --links --json`."""
    results = _ordered(results)
    model = Model([each.race for each in results])
    case = results[0].race.case
    return dict(finite({
        "model": case.model, "digest": case.digest, "task": case.task, "batch": case.batch, "regime": case.regime,
        "device": case.device, "threads": case.threads,
        "links": [to_json(each.race.case.link) for each in results],
        "comparable": any(each.comparable for each in results) and not unproven(results),
        "steps": [{"contender": each.contender, "rate": each.rate, "seconds_per_step": estimated(each.step),
                   "held_out": estimated(each.held_out), "inside": each.inside} for each in model.measured()],
        "laws": [{"contender": each.contender, "fixed": estimated(each.fixed), "bits": estimated(each.bits),
                  "sent": each.sent} for each in model.laws()],
        "predictions": [{"contender": each.contender, "rate": each.rate, "seconds_per_step": estimated(each.step)}
                        for each in model.predictions([each.rate for each in predict])],
        "break_even": [{"slow": each.slow, "fast": each.fast, "rate": estimated(each.rate), "shown": each.shown,
                        "raced": each.raced}
                       for each in model.crossings()],
        "races": [{"id": each.race.id, "link": to_json(each.race.case.link), "outcome": verdict.outcome(each),
                   "verdicts": to_json(each.verdicts), "scaling": [scaled(one) for one in scalings(each.race)],
                   "warnings": list(each.warnings), "skipped": to_json(each.race.skipped)}
                  for each in results],
    }))
