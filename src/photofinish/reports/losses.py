"""Whether the contenders learn alike: the certificates' ten losses, overlaid."""

from __future__ import annotations

import math
from collections.abc import Sequence

from photofinish.render.document import Axis, Block, Chart, Column, Fold, Section, Series, Span, Table
from photofinish.values import Certificate, Result

Curves = dict[str, tuple[float, ...]]  # name -> a loss for each step

_ALIKE = "From the same weights on the same batches; lines that agree lie on top of each other."
_AGAIN = "On other weights and batches than above: who is refused once is tried again on others."
_TITLES = {"sgd": "SGD", "adam": "Adam"}


def section(result: Result) -> Section:
    blocks: list[Block] = []
    for optimizer in dict.fromkeys(name for each in result.race.certificates for name in each.curves):
        for number, shown in enumerate(_by_data(result.race.certificates, optimizer)):
            curves, title = _curves(shown, optimizer), _title(optimizer) + (", on other data" if number else "")
            table = _table(f"{optimizer}_{number + 1}" if number else optimizer, curves)
            blocks += [_chart(title, curves, _AGAIN if number else _ALIKE), Fold(f"Losses with {title}", (table,))]
    return Section("losses", "Loss curves", tuple(blocks))


def _by_data(certificates: Sequence[Certificate], optimizer: str) -> list[list[Certificate]]:
    """Those that were proven on the same weights and batches together, most of them first: the first loss that the
    reference had tells."""
    found: dict[str, list[Certificate]] = {}
    for each in certificates:
        if optimizer in each.curves:
            exact = each.reference_curves.get(optimizer) or each.curves[optimizer]
            found.setdefault(f"{exact[0]:.5g}", []).append(each)
    return sorted(found.values(), key=len, reverse=True)


def _curves(shown: Sequence[Certificate], optimizer: str) -> Curves:
    """The references' first: certificates of several sittings may have been judged against several."""
    exact = {each.reference: each.reference_curves[optimizer] for each in shown if each.reference_curves.get(optimizer)}
    return {**exact, **{each.contender: each.curves[optimizer] for each in shown}}


def _chart(title: str, curves: Curves, caption: str) -> Chart:
    series = tuple(Series(name, tuple(float(i + 1) for i in range(len(losses))), losses)
                   for name, losses in curves.items())
    return Chart("lines", f"Training loss with {title}", caption, series, Axis("step", "count"), Axis("loss"),
                 overlaid=True)


def _title(optimizer: str) -> str:
    return _TITLES.get(optimizer, optimizer)


def _table(name: str, curves: Curves) -> Table:
    columns = (Column("Step", "count"), *map(Column, curves))
    rows = tuple((i + 1, *(_seven(losses, i) for losses in curves.values()))
                 for i in range(max(map(len, curves.values()))))
    return Table(f"losses_{name}", columns, rows)


def _seven(losses: tuple[float, ...], i: int) -> Span | None:
    """Seven digits: enough to see where float32 parts from the reference."""
    return Span(f"{losses[i]:.7g}") if i < len(losses) and math.isfinite(losses[i]) else None
