"""What each contender really ran with, found by probing rather than by reading flags."""

from __future__ import annotations

from photofinish.render.document import Block, Cell, Column, Fold, Note, Paragraph, Section, Span, Table
from photofinish.reports.reading import contender
from photofinish.values import Finding, Result

_REGIMES = {"matched": "All contenders were asked for the same numerics, threads and allocator effect (matched).",
            "out-of-the-box": "Every framework ran with its own defaults (out-of-the-box): differences are part of "
                              "the result."}


def section(result: Result) -> Section:
    findings = result.race.audit
    if not findings:
        return Section("audit", "", ())
    blocks: list[Block] = [Paragraph((_REGIMES.get(result.race.case.regime, ""),))]
    blocks += [Note((each.warning,), "warning") for each in findings if each.warning]
    blocks += [_table(findings, result.race.contenders), Fold("How each was found", (_how(findings),))]
    return Section("audit", "Audit", tuple(blocks))


def _table(findings: tuple[Finding, ...], contenders: tuple[str, ...]) -> Table:
    topics = list(dict.fromkeys(each.topic for each in findings))
    found: dict[tuple[str, str], Finding] = {}
    for each in findings:
        if not found.get((each.contender, each.topic), each).warning:  # a warning is never overwritten
            found[each.contender, each.topic] = each
    probed = [name for name in contenders if any((name, topic) in found for topic in topics)]
    rows = tuple((contender(name), *(_cell(found.get((name, topic))) for topic in topics)) for name in probed)
    columns = (Column("Contender", "contender"), *(Column(topic[:1].upper() + topic[1:]) for topic in topics))
    return Table("audit", columns, rows)


def _cell(finding: Finding | None) -> Cell:
    if finding is None:
        return None
    if finding.expected and finding.found != finding.expected:
        return Span(f"{finding.found} (asked: {finding.expected})", "bad")
    return Span(finding.found, "bad" if finding.warning else "")


def _how(findings: tuple[Finding, ...]) -> Table:
    ways = dict.fromkeys((each.topic, each.how) for each in findings if each.how)
    return Table("audit_how", (Column("Topic"), Column("How")), tuple(ways))
