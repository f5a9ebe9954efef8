"""What a coarser format buys and costs: speed, and how far results are from the exact ones."""

from __future__ import annotations

from photofinish.render.document import Column, Paragraph, Section, Table
from photofinish.reports.reading import certified, contender, formats, names, without_empty
from photofinish.reports.standings import over_leader
from photofinish.values import Certificate, Result

_SHOWN = ("inference outputs", "loss", "losses of 10 steps (sgd)", "losses of 10 steps (adam)")


def section(result: Result) -> Section:
    """Empty where all are certified at the precision of the race."""
    coarse = formats(result)
    proofs = {each.contender: each for each in result.race.certificates}
    order = [name for name in names(result) if name in certified(result) and name.partition("#")[0] in proofs]
    if not coarse or not order:
        return Section("precision", "", ())
    text = ("Errors are root mean square, relative to the float64 reference, on the weights and batches of the "
            "certificate. How a whole training ends is compared by --task fit, and first guesses on pictures of yours "
            "by photofinish accuracy.")
    columns = (Column("Contender", "contender"), Column("Certified at"), Column("Time over fastest", "ratio"),
               *(Column(f"Error of {each}", "scientific") for each in _SHOWN))
    rows = tuple((contender(name), coarse.get(name, result.race.case.precision), over_leader(result, name),
                  *_errors(proofs[name.partition("#")[0]])) for name in order)
    return Section("precision", "Precision", (Paragraph((text,)), without_empty(Table("precision", columns, rows))))


def _errors(proof: Certificate) -> tuple[float | None, ...]:
    found = {check.group: check.error for check in proof.checks}
    return tuple(found.get(group) for group in _SHOWN)
