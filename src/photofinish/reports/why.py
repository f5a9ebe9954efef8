"""Where the gap between contenders comes from: in plain words, as a table, and as a picture of the model."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from photofinish.explain import Explanation
from photofinish.explain.anatomy import CHAIN
from photofinish.explain.epochs import EpochComparison
from photofinish.explain.layers import Comparison, Line
from photofinish.render.document import (
    Banner,
    Block,
    Code,
    Column,
    Document,
    Fold,
    Note,
    Quantity,
    Section,
    Shade,
    Table,
    Text,
    Tiles,
)
from photofinish.render.quantities import counted, write
from photofinish.reports import causes, certificate, failures, profile, roofline, verdict
from photofinish.reports.json import estimated, profiled
from photofinish.reports.race import describe
from photofinish.reports.reading import TASKS, attributed, contender, interval, names
from photofinish.runner import again
from photofinish.stats.standings import no_certificate
from photofinish.stats.student import confidence
from photofinish.values import Estimate, to_json

FIRST = 3  # layers that the paragraph names one by one
FULL_COLOUR = 4.0  # times as long
_FAINT = 0.3  # of full colour: one of the two takes too little for a ratio


def document(explanation: Explanation, brief: bool = False) -> Document:
    """A section for each contender that is compared with the fastest."""
    result, case = explanation.result, explanation.result.race.case
    sections = [_section(each, brief) for each in explanation.comparisons] or [
        _of_epochs(each) for each in explanation.epochs]
    said: Text = (_nothing(explanation),)
    if explanation.comparisons or explanation.epochs:
        said = sentence(explanation.comparisons[0]) if explanation.comparisons else _waited(explanation.epochs[0])
    if not sections:
        sections = [Section("why", "", (Banner("bad", "NO EXPLANATION", said),))]
    notes: list[Block] = [Note(warning, "warning") for warning in attributed(result, result.warnings)]
    notes += [Note(each, "warning") for each in verdict.left_out(result.race.skipped)]
    notes += [Note((_PROOF,))] if explanation.comparisons else []
    notes += [Note((contender(name), " is compared with nobody: what its loop waited for is not told."))
              for name in _silent(explanation) if explanation.epochs]
    if explanation.roofline is not None:
        sections.append(roofline.section(explanation.roofline))
    rest = (profile.section(explanation.profiles), _next(explanation),
            Section("notes", "What it rests on", tuple(notes)), failures.section(result), certificate.section(result))
    series = tuple(dict.fromkeys([*names(result), *result.race.contenders]))
    return Document(f"{case.model}, {TASKS[case.task]}: why", describe(case), "why", said, series,
                    tuple(each for each in (*sections, *rest) if each.blocks))


def _next(explanation: Explanation) -> Section:
    """The commands that remove a cause, and that reverse the ranking of the pair told of first, if it differs."""
    case = explanation.result.race.case
    # On a processor every contender has an allocator; what else they differ in is named by whoever asks.
    levels = "keep,default" if case.regime == "matched" else "default,keep"  # as it stands first
    setting = (("factors", ("--factor", f"allocator={levels}"), "How much a setting makes of the gap, removed and "
                "raced again; add more by --factor NAME=LOW,HIGH"),) if case.device == "cpu" else ()
    change = ("flip", (), "The smallest change that puts the slower one ahead")
    blocks = tuple(Code(shlex.join(["photofinish", command, *again.same(case), "-c", f"{each.a},{each.b}", *more]),
                        caption)
                   for each in explanation.comparisons[:1] if each.causes
                   for command, more, caption in (*setting, change))
    return Section("next", "What would prove a cause", blocks)


_PROOF = ("The layers rest on the certificate of the whole model: what a contender runs of a layer alone is written by "
          "the same rule as within the model that was proven. Each is timed between a learned factor per channel and a "
          "loss, so that it has gradients to take and to give; what these take on their own is subtracted.")


def _nothing(explanation: Explanation) -> str:
    result = explanation.result
    if any(each.failure is None and no_certificate(result.race, each.contender) for each in result.standings):
        return "Nothing is explained: the contenders are not proven to compute the same."
    if result.race.case.task == "epoch":
        return "Nothing is explained: no two contenders " + (
            "tell what their loops waited for." if _silent(explanation) else
            "have trained an epoch after the first in every launch.")
    return "Nothing is explained: no two contenders have timed the model and its layers in one launch to its end."


def _silent(explanation: Explanation) -> list[str]:
    """Those whose loops do not tell what they waited for, in a race of epochs."""
    race = explanation.result.race
    found = {each.contender for each in race.epochs if each.number > 1 and each.waited is None}
    return [name for name in race.contenders if name in found and race.case.task == "epoch"]


def sentence(comparison: Comparison) -> Text:
    """Who is faster by how much, the first cause, and which layers it comes from: only what is shown."""
    a, b = comparison.accounts
    text: Text = ("A step of ", contender(b.contender), " takes ",
                  Quantity(b.step.value, "duration"), ", one of ", contender(a.contender), " ",
                  Quantity(a.step.value, "duration"), ". ", *causes.first(comparison))
    named = comparison.named
    if not named:
        return (*text, "No layer is shown to make a difference.")
    text = (*text, f"{_count(len(named))} of {_count(len(comparison.lines)).lower()} distinct layers "
                   f"{'is' if len(named) == 1 else 'are'} shown to make a difference: ")
    first = [_told(line) for line in named[:FIRST]]
    for i, each in enumerate(first):
        text += ((" and " if i == len(first) - 1 else ", ") if i else "", *each)
    if len(named) > FIRST:
        others = [line.gap.value for line in named[FIRST:]]
        text += (f"; the other {len(others)} together " if len(others) > 1 else "; the other one ",
                 Quantity(sum(others), "difference"))
    return (*text, ".")


def _count(number: int) -> str:
    words = ("None", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return words[number] if number < len(words) else str(number)


def _told(line: Line) -> Text:
    times = f", {line.part.count} times in the model," if line.part.count > 1 else ""
    verb = "adds" if line.gap.value > 0 else "takes back"
    return (f"{line.part.name} ({causes.layer(line.part)}){times} {verb} ",
            *causes.between(_size(line.gap), "duration"))


def _size(estimate: Estimate) -> Estimate:
    """The same without its sign, of one that is shown to have one."""
    return estimate if estimate.value > 0 else Estimate(-estimate.value, -estimate.high, -estimate.low, estimate.level)


def _section(comparison: Comparison, brief: bool) -> Section:
    a, b = comparison.a, comparison.b
    blocks: list[Block] = [causes.banner(comparison, sentence(comparison), tuple(_details(comparison))),
                           *causes.tables(comparison.causes, comparison.lines, brief), _sums(comparison),
                           *_overhead(comparison)]
    if comparison.lacking:
        blocks.append(Note(("Not timed in both: ", ", ".join(comparison.lacking),
                            ". The sums lack them."), "warning"))
    lines = comparison.lines[:causes.BRIEF] if brief else comparison.lines
    blocks += [_picture(comparison), _table(comparison, lines), _seconds(comparison, lines),
               Fold("The layers in full", (_fields(comparison),))]
    return Section(f"why-{b}", f"{a} and {b}", tuple(blocks))


def _waited(comparison: EpochComparison) -> Text:
    one, other = comparison.accounts
    text: Text = ("An epoch of ", contender(other.contender), " takes ", Quantity(other.epoch.value, "duration"),
                  ", one of ", contender(one.contender), " ", Quantity(one.epoch.value, "duration"), ". ",
                  *causes.first(comparison))
    return text if comparison.causes else (*text, "Nothing is shown to make a difference.")


def _of_epochs(comparison: EpochComparison) -> Section:
    columns = (Column("Contender", "contender"), Column("Epoch", "duration"), Column("Waits for batches", "duration"),
               Column("Steps", "duration"))
    rows = tuple((contender(each.contender), interval(each.epoch), interval(each.waited), interval(each.steps))
                 for each in comparison.accounts)
    table = Table("epochs", columns, rows, "Later epochs. What a loop waits is what it sees itself: an input pipeline "
                  "that works beside the steps counts as far as it is late. 95 % intervals.")
    more = ("What the steps take longer is explained by photofinish why --task train.",)
    return Section(f"why-{comparison.b}", f"{comparison.a} and {comparison.b}",
                   (causes.banner(comparison, _waited(comparison), (more,)),
                    *causes.tables(comparison.causes, (), False), table))


def _details(comparison: Comparison) -> Iterator[Text]:
    share = _share(comparison)
    yield ("The gap is ", *causes.between(comparison.gap, "difference"), "; all layers one by one add ",
           *causes.between(comparison.layers, "difference"),
           *(() if share is None else (", ", Quantity(share, "percent"), " of it")),
           ". The start of a step adds ", *causes.between(comparison.start, "difference"), ", what is left ",
           *causes.between(comparison.rest, "difference"), ".")
    if comparison.launches < 2:
        yield ("One launch does not show how launches differ: run at least two.",)


def _share(comparison: Comparison) -> float | None:
    """What part of a gap the layers are, where there is a gap."""
    gap = comparison.gap
    return comparison.layers.value / gap.value if gap.level and (gap.low > 0 or gap.high < 0) else None


def _sums(comparison: Comparison) -> Table:
    columns = (Column("Contender", "contender"), Column("Step", "duration"), Column("Its layers", "duration"),
               Column("Start of a step", "duration"), Column("The rest", "difference"))
    rows = tuple((contender(each.contender), interval(each.step), interval(each.layers), interval(each.start),
                  interval(each.rest)) for each in comparison.accounts)
    rests = "; that ".join(f"of {each.contender} is {rest_is(each.rest, comparison.lacking)}"
                           for each in comparison.accounts)
    return Table("sums", columns, rows, "The layers are each as often as they stand in the model, with the update of "
                 f"their parameters. The start is a step that computes next to nothing. The rest {rests}. 95 % "
                 "intervals.")


def _overhead(comparison: Comparison) -> Iterator[Table]:
    """What an operation costs; none where it was not timed."""
    found = [each for each in comparison.accounts if each.operation]
    if found:
        forward = any(each.forward_operation for each in found)
        columns = (Column("Contender", "contender"), Column("An operation on one value", "duration"),
                   *([Column("forward", "duration")] if forward else []))
        rows = tuple((contender(each.contender), interval(each.operation),
                      *([interval(each.forward_operation)] if forward else [])) for each in found)
        yield Table("overhead", columns, rows, f"One of {CHAIN} in a row: what any operation costs that has next to "
                    "nothing to compute. It is in the time of each layer. 95 % intervals.")


def rest_is(rest: Estimate, lacking: Sequence[str] = ()) -> str:
    """The name of what is left of a step, as far as it is shown; `lacking` are the layers that were not timed."""
    if not rest.level or rest.low <= 0 <= rest.high:
        return "not shown to be anything"
    if rest.low > 0 and lacking:
        return "work outside of the layers that were timed"
    return "work of the step outside of its layers (loss, bookkeeping)" if rest.low > 0 else \
        "saved by running layers together (fusion, data still in caches)"


def _table(comparison: Comparison, lines: tuple[Line, ...]) -> Table:
    a, b = comparison.a, comparison.b
    columns = (Column("Layer"), Column("What"), Column("Times", "count"), Column("Adds to the gap", "difference"),
               Column("Shown"), Column("Ratio", "ratio"))
    rows = tuple((line.part.name, causes.layer(line.part), line.part.count, interval(line.gap),
                  "yes" if line.shown else "no", interval(line.ratio)) for line in lines)
    left = len(comparison.lines) - len(lines)
    more = f" The HTML report and --csv have {counted(left, 'more layer')}." if left else ""
    first = f" (in the first line {confidence(lines[0].gap.level)})" if lines and lines[0].gap.level else ""
    return Table("layers", columns, rows, f"What all uses of a layer add is {b}'s time less {a}'s, shown where its "
                 "interval excludes zero: at the level that Holm's procedure reaches over all layers"
                 f"{first}, and widened by what the layers together leave of the gap; the ratio is {b} / {a}, "
                 f"at 95 %.{more}")


def _seconds(comparison: Comparison, lines: tuple[Line, ...]) -> Table:
    names = (comparison.a, comparison.b)
    ahead = names if any(line.forward for line in lines) else ()
    columns = (Column("Layer"), *(Column(name, "duration") for name in names),
               *(Column(f"{name}, forward", "duration") for name in ahead))
    rows = tuple((line.part.name, line.a.value, line.b.value,
                  *(line.forward[name].value if name in line.forward else None for name in ahead)) for line in lines)
    return Table("seconds", columns, rows, "Time of one use of a layer, with the update of its parameters where it "
                 "is trained; forward is its inference. Taking off what its scaffold takes leaves less than nothing "
                 "where a layer takes too little to be told.")


def _fields(comparison: Comparison) -> Table:
    return Table("parts", (Column("Layer"), Column("Kind"), Column("Fields"), Column("Input"), Column("Nodes")),
                 tuple((line.part.name, line.part.kind, line.part.fields, " and ".join(line.part.shapes),
                        ", ".join(line.part.nodes)) for line in comparison.lines))


def _picture(comparison: Comparison) -> Tiles:
    """Its rows are the model's outermost scopes."""
    rows = groupby(comparison.order, key=lambda each: each[0].partition(".")[0] if "." in each[0] else "")
    drawn = tuple((scope, tuple(_tile(line, comparison) for _, line in nodes)) for scope, nodes in rows)
    return Tiles("The model, layer by layer", "Each block is a layer, in running order, in the colour of who is faster "
                 f"in it: the stronger the farther apart, up to {FULL_COLOUR:g} times; blank where no difference is "
                 "shown.", drawn)


def _tile(line: Line, comparison: Comparison) -> Shade:
    ratio = line.ratio.value if line.ratio is not None else None
    told = f" {write(max(ratio, 1 / ratio), 'ratio')}" if ratio and line.shown else ""
    strength = min(1.0, abs(math.log(ratio)) / math.log(FULL_COLOUR)) if ratio else _FAINT
    faster = comparison.a if line.gap.value > 0 else comparison.b
    return Shade(f"{line.part.kind}{told}", series=faster if line.shown else "", strength=strength)


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The documented object of `photofinish why --json`."""
    case = explanation.result.race.case
    return {"race": explanation.result.race.id,
            "forward_race": explanation.forward.race.id if explanation.forward else None,
            "model": case.model, "task": case.task, "batch": case.batch,
            "skipped": [to_json(each) for each in explanation.result.race.skipped],
            "comparisons": [_compared(each) for each in explanation.comparisons],
            "epochs": [_epochs(each) for each in explanation.epochs],
            "roofline": roofline.as_json(explanation.roofline),
            "profiles": [profiled(each) for each in explanation.profiles]}


def _compared(comparison: Comparison) -> dict[str, Any]:
    return {"a": comparison.a, "b": comparison.b, "launches": comparison.launches,
            **{name: estimated(getattr(comparison, name)) for name in ("gap", "layers", "start", "rest")},
            "contenders": [{"contender": each.contender, "rest_is": rest_is(each.rest, comparison.lacking),
                            **{name: estimated(getattr(each, name)) for name in _ACCOUNT}}
                           for each in comparison.accounts],
            "lines": [_line(each) for each in comparison.lines], "lacking": list(comparison.lacking),
            "causes": causes.ranked(comparison.causes),
            "named": [each.part.name for each in comparison.named]}


_ACCOUNT = ("step", "layers", "start", "rest", "operation", "forward_operation")


def _epochs(comparison: EpochComparison) -> dict[str, Any]:
    return {"a": comparison.a, "b": comparison.b, "launches": comparison.launches, "gap": estimated(comparison.gap),
            "causes": causes.ranked(comparison.causes),
            "contenders": [{"contender": each.contender, **{name: estimated(getattr(each, name))
                            for name in ("epoch", "waited", "steps")}} for each in comparison.accounts]}


def _line(line: Line) -> dict[str, Any]:
    return {**to_json(line.part), "count": line.part.count, "a": estimated(line.a), "b": estimated(line.b),
            "ratio": estimated(line.ratio), "gap": causes.decided(line.gap),
            "shown": line.shown, "forward": {name: estimated(each) for name, each in line.forward.items()}}
