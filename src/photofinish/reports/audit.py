"""What each contender really ran with, found by probing rather than by reading flags."""

from __future__ import annotations

from photofinish.referee.audit import RECORDS
from photofinish.render.document import Block, Cell, Column, Fold, Note, Paragraph, Section, Span, Table
from photofinish.reports.reading import attributed, contender
from photofinish.values import Finding, Result

_RECORDED = tuple(f"({part})" for part in RECORDS)  # how topics end that are not probed
_REGIMES = {"matched": "All contenders were asked for the same numerics, threads and allocator effect (matched).",
            "out-of-the-box": "Every framework ran with its own defaults (out-of-the-box): differences are part of "
                              "the result."}


def section(result: Result) -> Section:
    findings = result.race.audit
    if not findings:
        return Section("audit", "", ())
    blocks: list[Block] = [Paragraph((_REGIMES.get(result.race.case.regime, ""),))]
    warnings = attributed(result, (each.warning for each in findings if each.warning))
    blocks += [Note(warning, "warning") for warning in warnings]
    recorded = tuple(each for each in findings if each.topic.endswith(_RECORDED))
    probed = tuple(each for each in findings if each not in recorded)
    blocks += [_table(probed, result.race.contenders), Fold("How each was found", (_how(findings),))]
    if recorded:
        blocks.append(Fold("What each framework says and records", (_recorded(recorded, result.race.contenders),)))
    return Section("audit", "Audit", tuple(blocks))


def _table(findings: tuple[Finding, ...], contenders: tuple[str, ...]) -> Table:
    """What was found of each contender, topic by topic."""
    found: dict[tuple[str, str], Finding] = {}
    for each in sorted(findings, key=lambda finding: bool(finding.warning)):  # what warns has the last word
        found[each.topic, each.contender] = each
    topics = list(dict.fromkeys(each.topic for each in findings))
    rows = tuple((contender(name), *(_cell(found.get((topic, name))) for topic in topics)) for name in contenders
                 if any((topic, name) in found for topic in topics))
    columns = (Column(topic[:1].upper() + topic[1:]) for topic in topics)
    return Table("audit", (Column("Contender", "contender"), *columns), rows)


def _recorded(findings: tuple[Finding, ...], contenders: tuple[str, ...]) -> Table:
    """A row for each fact, for there are many and most are of one framework alone."""
    rows = tuple((contender(name), each.topic, each.found) for name in contenders for each in findings
                 if each.contender == name)
    return Table("audit_recorded", (Column("Contender", "contender"), Column("What"), Column("Value")), rows)


def _cell(finding: Finding | None) -> Cell:
    if finding is None:
        return None
    if not finding.warning:
        return finding.found or None
    asked = f" (asked: {finding.expected})" if finding.expected else ""
    return Span((finding.found or "not known") + asked, "bad")


def _how(findings: tuple[Finding, ...]) -> Table:
    ways = dict.fromkeys((each.topic, each.how) for each in findings if each.how)
    return Table("audit_how", (Column("Topic"), Column("How")), tuple(ways))
