"""What was proven: that each contender computes what the reference computes, group by group."""

from __future__ import annotations

from photofinish.render.document import Block, Column, Fold, Note, Paragraph, Quantity, Section, Span, Table
from photofinish.reports.reading import contender, listed
from photofinish.values import Certificate, Check, Result


def section(result: Result) -> Section:
    certificates = result.race.certificates
    if not certificates:
        return Section("certificate", "Certificate", (Note(("No certificate was made for this race.",), "warning"),))
    wrong = [each for each in certificates if not each.passed]
    blocks: list[Block] = [Paragraph((
        "Each contender was given the same weights and batches as the reference (",
        *listed(sorted({each.reference for each in certificates})),
        f", batch {certificates[0].batch}). A group passes when its worst error is no more than float32 itself makes "
        "in that contender; errors are root mean square, relative to the reference."))]
    if wrong:
        blocks += [Note((contender(each.contender), " failed: ", *_worst(each)), "warning") for each in wrong]
    blocks += [summary(certificates)]
    for each in sorted(certificates, key=lambda each: each.passed):
        blocks.append(Fold(f"{each.contender}: every group", _details(each)))
    return Section("certificate", "Certificate", tuple(blocks))


def _worst(certificate: Certificate) -> tuple[str | Span | Quantity, ...]:
    failed = [check for check in certificate.checks if not check.passed]
    if not failed:
        return ("it could not be checked.",)
    worst = max(failed, key=lambda check: check.error / check.allowed if check.allowed else float("inf"))
    where = (" of ", Span(worst.worst, "code")) if worst.worst else ()
    return (worst.group, *where, ": off by ", Quantity(worst.error, "scientific"), " where ",
            Quantity(worst.allowed, "scientific"), " is allowed.")


def summary(certificates: tuple[Certificate, ...]) -> Table:
    """The error of each group as a share of what is allowed, all contenders side by side."""
    groups = list(dict.fromkeys(check.group for each in certificates for check in each.checks))
    columns = (Column("Contender", "contender"), Column("Certified", "check"), *(Column(group) for group in groups))
    rows = []
    for each in certificates:
        checks = {check.group: check for check in each.checks}
        rows.append((contender(each.contender), each.passed, *(_cell(checks, group) for group in groups)))
    return Table("certificate", columns, tuple(rows), "The worst error of each group in parts of the error allowed.")


def _cell(checks: dict[str, Check], group: str) -> Span | None:
    check = checks.get(group)
    if check is None:
        return None
    share = check.error / check.allowed if check.allowed else (0.0 if check.error == 0 else float("inf"))
    return Span(f"{share:.2f}" if share < 10 else f"{share:,.0f}", "good" if check.passed else "bad")


def _details(certificate: Certificate) -> tuple[Block, ...]:
    columns = (Column("Group"), Column("Tensors", "count"), Column("Worst error", "scientific"),
               Column("Allowed", "scientific"), Column("Result", "check"), Column("Worst tensor", "code"))
    rows = tuple((check.group, check.tensors, check.error, check.allowed, check.passed, check.worst or None)
                 for check in certificate.checks)
    name = f"certificate_{certificate.contender}"
    blocks: tuple[Block, ...] = (Table(name, columns, rows),)
    if certificate.listed:
        reasons = tuple((tensor, reason) for tensor, reason in certificate.listed)
        blocks += (Table(name + "_listed", (Column("Not compared", "code"), Column("Why")), reasons),)
    return blocks
