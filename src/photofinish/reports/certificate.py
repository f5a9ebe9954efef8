"""What was proven: that each contender computes what the reference computes, group by group."""

from __future__ import annotations

import math
from collections.abc import Sequence

from photofinish.referee.tolerance import APPROXIMATED
from photofinish.render.document import Block, Cell, Column, Fold, Note, Paragraph, Quantity, Section, Span, Table
from photofinish.render.quantities import write
from photofinish.reports.reading import contender, listed, sent
from photofinish.values import Certificate, Check, Contender, Result

LOOSE = 0.1  # of a tensor's size: what is allowed more tells little

def section(result: Result) -> Section:
    certificates = result.race.certificates
    if not certificates:
        return Section("certificate", "Certificate", (Note(("No certificate was made for this race.",), "warning"),))
    blocks: list[Block] = [Paragraph((
        "Each contender was given the same weights and batches as the reference (",
        *listed(sorted({each.reference for each in certificates if each.reference} or {"none was needed"})),
        f", batch {certificates[0].batch}). A group passes when its worst error is no more than float32 itself makes "
        "in that contender; errors are root mean square, relative to the reference."))]
    blocks += [Note((contender(each.contender), f" is certified at {each.precision}: its code is proven in float32 "
                     "(as ", contender(each.exact), "), its results by what the reference makes of values rounded to "
                     f"{each.precision}.")) for each in certificates if each.exact and not each.gradients]
    blocks += [Note((contender(each.contender), f" {_sent(each)} Without that its code is proven as ",
                     contender(each.exact), ".")) for each in certificates if each.gradients]
    blocks += refused(certificates)
    blocks += [differences(each) for each in certificates if each.differences]
    blocks += [forward_only(certificates)] if any(each.forward_only for each in certificates) else []
    blocks += [Note((contender(each.contender), f" takes {' and '.join(each.of_slices)} of each of {each.slices} parts "
                     f"of a batch: so does the reference it was compared with (batch {each.batch}), but one process "
                     "with the whole batch does not.")) for each in certificates if each.slices > 1]
    blocks += [reused(certificates)] if any(each.reused for each in certificates) else []
    blocks += loose(certificates)
    blocks += [overview(certificates), Fold("Every group, side by side", (summary(certificates),))]
    for each in sorted(certificates, key=lambda each: each.passed):
        blocks.append(Fold(f"{each.contender}: every group", _details(each)))
    return Section("certificate", "Certificate", tuple(blocks))


def refused(certificates: Sequence[Certificate]) -> list[Note]:
    """Who failed, by how much, and whether the model can be to blame."""
    return [Note((contender(each.contender), " is not proven: " if each.unknown else " failed: ", *_worst(each),
                  *_other_mode(each, certificates)), "warning")
            for each in certificates if not each.passed]


def forward_only(certificates: Sequence[Certificate]) -> Note:
    """Of whom nothing but inference was proven."""
    return Note(("Proven forward only, by outputs in inference, since their training is not raced here or failed: ",
                 *listed([each.contender for each in certificates if each.forward_only]), "."))


def reused(certificates: Sequence[Certificate]) -> Note:
    """Which proofs are of an earlier race, and when they were earned."""
    parts = [Span(f"{each.contender} ({each.created[:16].replace('T', ' ') or 'before dates were kept'})")
             for each in certificates if each.reused]
    return Note(("Proven in an earlier race or verify, with the same model, code, versions and machine: ",
                 *listed(parts), ". --recertify proves anew."))


def loose(certificates: Sequence[Certificate]) -> list[Note]:
    """Where float32 makes so much of rounding that passing tells little: deep networks before they are trained."""
    most: dict[str, Check] = {}
    for each in certificates:
        for check in each.checks:
            if check.passed and check.group != "dropout" and check.allowed > LOOSE:  # a share of masks is no error
                most[check.group] = max(check, most.get(check.group, check), key=lambda check: check.allowed)
    if not most:
        return []
    top = max(most.values(), key=lambda check: check.allowed)
    where = (" of ", Span(top.worst, "code")) if top.worst else ()
    size = Quantity(top.allowed, "percent" if top.allowed < 1 else "ratio")
    return [Note(("Rounding alone is loud in ", *listed(list(most)), ": more than ", Quantity(LOOSE, "percent"),
                  " of a tensor's size is allowed there (most in the ", top.group, *where, ": ", size, "), and a "
                  "mistake that small would pass. The other groups are judged more closely."))]


def _sent(certificate: Certificate) -> str:
    """What of its proof hangs on gradients that are compressed on their way."""
    if certificate.gradients == APPROXIMATED:
        return ("updates by an approximation of the mean gradient, or each process by its own: its steps are not the "
                "reference's, and are not compared. What its processes send and what they keep add up to the "
                "reference's gradient, and ten steps lower the loss about as much.")
    return (f"rounds gradients to {certificate.gradients} on their way: they, and updates, are allowed twice what that "
            "makes of the reference's; everything else what float32 does.")


def _worst(certificate: Certificate) -> tuple[str | Span | Quantity, ...]:
    failed = [check for check in certificate.checks if not check.passed]
    if certificate.unknown:
        return ("no map of names says which of its arrays are the graph's.",)
    if certificate.differences:
        return ("it computes something else than the graph: see how it differs.",)
    if not failed:
        return ("it could not be checked.",)
    worst = max(failed, key=share)
    where = (" of ", Span(worst.worst, "code")) if worst.worst else ()
    if worst.worst.endswith(")"):  # says itself why nothing could be compared: missing, not finite, of another shape
        return (worst.group, *where, ".")
    return (worst.group, *where, ": off by ", Quantity(worst.error, "scientific"), " where ",
            Quantity(worst.allowed, "scientific"), " is allowed.")


def _other_mode(certificate: Certificate, certificates: Sequence[Certificate]) -> tuple[str | Span, ...]:
    """Who of its framework shows that the model is not to blame, if anybody does."""
    of = Contender.parse(certificate.contender)
    for each in certificates:
        other = Contender.parse(each.contender)
        if each.passed and (other.framework, other.version) == (of.framework, of.version) and other.mode != of.mode:
            return (" ", contender(each.contender), f" is certified: not the model is wrong, but what mode {of.mode} "
                    "makes of it. That is worth a report to the framework's makers.")
    return ()


def differences(certificate: Certificate) -> Table:
    """How what cannot be proven (another package's model, another precision) differs from the graph."""
    columns = (Column(f"How {certificate.contender} differs"), Column("The graph"), Column("The contender"))
    return Table(f"differences_{certificate.contender}", columns, certificate.differences)


def share(check: Check) -> float:
    """The error in parts of the error allowed: above 1 fails."""
    if math.isnan(check.error) or (check.error and not check.allowed):
        return math.inf
    return check.error / check.allowed if check.error else 0.0


def overview(certificates: tuple[Certificate, ...]) -> Table:
    """One line per contender: whether it passed, and the group that came closest to its limit."""
    columns = (Column("Contender", "contender"), Column("Certified", "check"), Column("Groups passed"),
               Column("Closest to its limit"), Column("Error in parts of the allowed", "number"))
    return Table("certificate", columns, tuple(_line(each) for each in certificates))


def _line(certificate: Certificate) -> tuple[Cell, ...]:
    checks = certificate.checks
    worst = max(checks, key=share) if checks else None
    return (contender(certificate.contender), None if certificate.unknown else certificate.passed,
            f"{sum(check.passed for check in checks)} of {len(checks)}{_scope(certificate)}",
            worst.group if worst else None,
            share(worst) if worst else None)


def _scope(certificate: Certificate) -> str:
    scopes = [*(["forward only"] if certificate.forward_only else []),
              *([f"at {certificate.precision}"] if certificate.exact and not certificate.gradients else []),
              *([f"gradients {sent(certificate)}"] if certificate.gradients else []),
              *([f"in {certificate.slices} parts"] if certificate.slices > 1 else [])]
    return f" ({', '.join(scopes)})" if scopes else ""


def summary(certificates: tuple[Certificate, ...]) -> Table:
    """The worst error and the error allowed of each group, all contenders side by side."""
    groups = list(dict.fromkeys(check.group for each in certificates for check in each.checks))
    found = {(each.contender, check.group): check for each in certificates for check in each.checks}
    columns = (Column("Group"), *(Column(each.contender + _scope(each)) for each in certificates))
    rows = tuple((group, *(_cell(found.get((each.contender, group))) for each in certificates)) for group in groups)
    return Table("certificate_groups", columns, rows, "The worst error of each group, and the error allowed.")


def _cell(check: Check | None) -> Span | None:
    if check is None:
        return None
    text = f"{write(check.error, 'scientific')} of {write(check.allowed, 'scientific')}"
    return Span(text if check.passed else f"{text} FAILED", "good" if check.passed else "bad")


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
