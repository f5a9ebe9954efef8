"""What each contender really ran with, found by probing rather than by reading flags."""

from __future__ import annotations

from photofinish.render.document import Block, Cell, Column, Fold, Note, Paragraph, Section, Span, Table
from photofinish.reports.reading import attributed
from photofinish.values import Finding, Result

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
    blocks += [_table(findings, result.race.contenders), Fold("How each was found", (_how(findings),))]
    return Section("audit", "Audit", tuple(blocks))


def _table(findings: tuple[Finding, ...], contenders: tuple[str, ...]) -> Table:
    """What was found of each topic, contender by contender."""
    found: dict[tuple[str, str], Finding] = {}
    for each in sorted(findings, key=lambda finding: bool(finding.warning)):  # what warns has the last word
        found[each.topic, each.contender] = each
    probed = [name for name in contenders if any(name == contender for _, contender in found)]
    rows = tuple((topic, *(_cell(found.get((topic, name))) for name in probed))
                 for topic in dict.fromkeys(each.topic for each in findings))
    return Table("audit", (Column("Topic"), *(Column(name) for name in probed)), rows)


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
