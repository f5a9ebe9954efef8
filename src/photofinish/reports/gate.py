"""Did it get slower: a gate's checks, for people, for a pull request and for what reads JUnit's XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from photofinish.gate import FAILED, NOT_JUDGED, OPEN, PASSED, Check, Gate
from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Fold,
    Interval,
    Note,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import counted
from photofinish.reports import failures, race
from photofinish.reports.json import estimated
from photofinish.reports.reading import TASKS, attributed, contender, listed
from photofinish.stats.regression import OPEN as UNDECIDED
from photofinish.stats.regression import SLOWER, WITHIN, Regression
from photofinish.stats.student import confidence
from photofinish.values import Result

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TONES = {PASSED: "good", OPEN: "open", FAILED: "bad", NOT_JUDGED: "bad"}
_WORDS = {SLOWER: "beyond the limit", WITHIN: "within the limit", UNDECIDED: "undecided", NOT_JUDGED: "not judged"}


def documents(gate: Gate) -> list[Document]:
    """The gate, then the report of each race."""
    return [document(gate), *(race.document(each.result) for each in gate.checks)]


def document(gate: Gate) -> Document:
    """What was checked and what came of it."""
    said = sentence(gate)
    blocks: list[Block] = [Banner(_TONES[gate.outcome], gate.outcome, said, tuple(_details(gate)))]
    warnings = [text for each in _results(gate) for text in attributed(each, each.warnings)]
    blocks += [Note(each, "warning") for each in dict.fromkeys(warnings)]
    blocks += [Note((contender(each.contender), f" was not checked: {each.reason}",
                     *((f" ({each.cure})",) if each.cure else ()))) for each in gate.skipped]
    checks: tuple[Block, ...] = (*_chart(gate), _table(gate), *_changes(gate)) if gate.checks else ()
    sections = [Section("gate", "", tuple(blocks)), Section("checks", "Every check", checks)]
    sections += [failures.section(each) for each in _results(gate)]
    about = race.describe(gate.checks[0].result.race.case) if gate.checks else ""
    name = gate.checks[0].result.race.case.model if gate.checks else "Nothing"
    return Document(f"{name} against {gate.baseline}", about, "regression gate", said, (),
                    tuple(each for each in sections if each.blocks))


def _results(gate: Gate) -> list[Result]:
    """The races of all checks, each once, that of the model as it stood before that of it now."""
    raced = [each for check in gate.checks for each in (check.before, check.result) if each is not None]
    return list({id(each): each for each in raced}.values())


def as_json(gate: Gate) -> dict[str, Any]:
    """The documented object of `photofinish gate --json`."""
    return {"outcome": gate.outcome, "baseline": gate.baseline, "max_slowdown": gate.limit,
            "checks": [_check_json(each) for each in gate.checks],
            "skipped": [{"contender": each.contender, "reason": each.reason} for each in gate.skipped]}


def junit(gate: Gate) -> str:
    """The checks as a test suite in the XML that JUnit made common: a failure is a slow-down that was shown, an error
    what could not be judged; what is undecided has passed and says so in its output."""
    outcomes = [each.outcome for each in gate.checks]
    suite = ElementTree.Element("testsuite", name="photofinish gate",
                                tests=str(len(gate.checks) + len(gate.skipped)), failures=str(outcomes.count(SLOWER)),
                                errors=str(outcomes.count(NOT_JUDGED)), skipped=str(len(gate.skipped)))
    for check in gate.checks:
        case = check.result.race.case
        test = ElementTree.SubElement(suite, "testcase", classname=f"{case.model}.{case.task}", name=check.candidate)
        told = _printable(_told(check))
        if check.outcome == SLOWER:
            ElementTree.SubElement(test, "failure", message=told)
        elif check.outcome == NOT_JUDGED:
            ElementTree.SubElement(test, "error", message=told)
        ElementTree.SubElement(test, "system-out").text = told
    for skip in gate.skipped:
        test = ElementTree.SubElement(suite, "testcase", classname="photofinish", name=skip.contender)
        ElementTree.SubElement(test, "skipped", message=_printable(skip.reason))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Without what XML cannot hold: a worker's last words may have colours and cut-off characters."""
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def sentence(gate: Gate) -> Text:
    """The whole outcome in one sentence."""
    limit = Quantity(gate.limit, "percent")
    slower = [each for each in gate.checks if each.outcome == SLOWER]
    if slower:
        return (*listed([contender(each.candidate) for each in slower]), " got ", Span("slower", "strong"), " than ",
                gate.baseline, " by more than ", limit, ", surely.")
    if gate.outcome == NOT_JUDGED:
        why = "not everything could be compared" if gate.checks else "there was nothing to compare"
        return Span("Nothing is said", "strong"), f" of {gate.baseline}: {why}."
    if gate.outcome == OPEN:
        return ("It is ", Span("undecided", "strong"), f" whether something is slower than {gate.baseline} by more "
                "than ", limit, ".")
    left = [contender(each.contender) for each in gate.skipped]
    return ("Nothing ", *(["that was checked "] if left else []), "is slower than ", gate.baseline, " by more than ",
            limit, ", surely", *(["; not checked: ", *listed(left)] if left else []), ".")


def _details(gate: Gate) -> Iterator[Text]:
    for check in gate.checks:
        found = check.regression
        if found is not None and (more := _more(found)):
            yield (contender(check.candidate), f": {more}.")
        if found is None:
            yield (contender(check.candidate), f": {check.reason}")


def _told(check: Check) -> str:
    """A check in one line of plain text."""
    found = check.regression
    if found is None:
        return f"{check.candidate} against {check.baseline}: {check.reason}"
    ratio = found.ratio
    more = _more(found)
    span = f"{confidence(ratio.level)} interval {ratio.low:.3f} to {ratio.high:.3f}, {found.launches} launches"
    return (f"{check.candidate} takes {ratio.value:.3f} of the time of {check.baseline} ({span}): "
            f"{_WORDS[check.outcome]}{more and f'; {more}'}")


def _more(found: Regression) -> str:
    """What would decide it; "" of what is decided."""
    if found.outcome != UNDECIDED:
        return ""
    return f"about --launches {found.needed} would decide it" if found.needed else \
        "it is so close to the limit that no number of launches would decide it"


def _check_json(check: Check) -> dict[str, Any]:
    found = check.regression
    return {"race": check.result.race.id, "model": check.result.race.case.model, "task": check.result.race.case.task,
            "baseline": check.baseline, "candidate": check.candidate, "outcome": check.outcome,
            "ratio": {**(estimated(found.ratio) or {}), "level": found.ratio.level} if found else None,
            "launches": found.launches if found else 0, "launches_to_decide": found.needed if found else None,
            "reason": check.reason, "changed": [{"package": name, "baseline": before, "candidate": after}
                                                for name, before, after in check.changed]}


def _chart(gate: Gate) -> Iterator[Chart]:
    """Every ratio beside the limit."""
    series = [Series(f"{each.candidate}, {TASKS[each.result.race.case.task]}", (each.regression.ratio.value,),
                     low=(each.regression.ratio.low,), high=(each.regression.ratio.high,))
              for each in gate.checks if each.regression]
    if series:
        levels = confidence(*(each.regression.ratio.level for each in gate.checks if each.regression))
        yield Chart("intervals", "Each candidate over its baseline",
                    f"Right of the last line: slower than is allowed. Intervals of {levels}: "
                    "the checks share the 5 % by which one may be wrong.",
                    tuple(series), Axis("seconds over the baseline's", "ratio"), marks=(1.0, 1 + gate.limit))


def _table(gate: Gate) -> Table:
    columns = (Column("Candidate", "contender"), Column("Baseline", "contender"), Column("Task"),
               Column("Takes, of the baseline's time", "ratio"), Column("Is"), Column("Launches", "count"))
    return Table("checks", columns, tuple(map(_row, gate.checks)))


def _row(check: Check) -> tuple[Cell, ...]:
    found = check.regression
    ratio = Interval(found.ratio.value, found.ratio.low, found.ratio.high) if found else None
    return (contender(check.candidate), contender(check.baseline), TASKS[check.result.race.case.task], ratio,
            _WORDS[check.outcome], found.launches if found else None)


def _changes(gate: Gate) -> Iterator[Fold]:
    """What is not the same in both environments, told once for each pair."""
    pairs = {(each.baseline, each.candidate): each for each in gate.checks if each.changed}
    for check in pairs.values():
        columns = (Column("Package"), Column("Baseline"), Column("Candidate"))
        verb = "is" if len(check.changed) == 1 else "are"
        yield Fold(f"{counted(len(check.changed), 'package')} {verb} not the same for {check.candidate}",
                   (Table("changed", columns, check.changed),))
