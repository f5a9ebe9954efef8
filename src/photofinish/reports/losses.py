"""Whether the contenders learn alike: the certificates' ten losses, overlaid."""

from __future__ import annotations

from photofinish.render.document import Axis, Block, Chart, Column, Fold, Section, Series, Span, Table
from photofinish.values import Certificate, Result

_TITLES = {"sgd": "SGD", "adam": "Adam"}


def section(result: Result) -> Section:
    shown = [each for each in result.race.certificates if each.curves]
    blocks: list[Block] = []
    for optimizer in dict.fromkeys(name for each in shown for name in each.curves):
        curves = [each for each in shown if optimizer in each.curves]
        blocks += [_chart(optimizer, curves), Fold(f"Losses with {_title(optimizer)}", (_table(optimizer, curves),))]
    return Section("losses", "Loss curves", tuple(blocks))


def _chart(optimizer: str, certificates: list[Certificate]) -> Chart:
    series = [_series(each.contender, each.curves[optimizer]) for each in certificates]
    exact = certificates[0].reference_curves.get(optimizer, ())
    series = ([_series(certificates[0].reference, exact)] if exact else []) + series
    return Chart("lines", f"Training loss with {_title(optimizer)}", "From the same weights on the same batches; "
                 "lines that agree lie on top of each other.", tuple(series), Axis("step", "count"), Axis("loss"),
                 overlaid=True)


def _title(optimizer: str) -> str:
    return _TITLES.get(optimizer, optimizer)


def _series(name: str, losses: tuple[float, ...]) -> Series:
    return Series(name, tuple(float(i + 1) for i in range(len(losses))), losses)


def _table(optimizer: str, certificates: list[Certificate]) -> Table:
    exact = certificates[0].reference_curves.get(optimizer, ())
    columns = [Column("Step", "count")]
    columns += [Column(certificates[0].reference)] if exact else []
    columns += [Column(each.contender) for each in certificates]
    longest = max(len(each.curves[optimizer]) for each in certificates)
    curves = ([exact] if exact else []) + [each.curves[optimizer] for each in certificates]
    rows = tuple((i + 1, *(_seven(curve, i) for curve in curves)) for i in range(longest))
    return Table(f"losses_{optimizer}", tuple(columns), rows)


def _seven(curve: tuple[float, ...], i: int) -> Span | None:
    """Seven digits: enough to see where float32 parts from the reference."""
    return Span(f"{curve[i]:.7g}") if i < len(curve) else None
