"""Whether the contenders learn alike: the certificates' ten losses, overlaid."""

from __future__ import annotations

from photofinish.render.document import Axis, Block, Chart, Column, Fold, Section, Series, Span, Table
from photofinish.values import Result

Curves = dict[str, tuple[float, ...]]  # name -> a loss for each step

_TITLES = {"sgd": "SGD", "adam": "Adam"}


def section(result: Result) -> Section:
    blocks: list[Block] = []
    for optimizer in dict.fromkeys(name for each in result.race.certificates for name in each.curves):
        curves = _curves(result, optimizer)
        blocks += [_chart(optimizer, curves), Fold(f"Losses with {_title(optimizer)}", (_table(optimizer, curves),))]
    return Section("losses", "Loss curves", tuple(blocks))


def _curves(result: Result, optimizer: str) -> Curves:
    """The references' first: certificates of several sittings may have been judged against several."""
    shown = [each for each in result.race.certificates if optimizer in each.curves]
    exact = {each.reference: each.reference_curves[optimizer] for each in shown if each.reference_curves.get(optimizer)}
    return {**exact, **{each.contender: each.curves[optimizer] for each in shown}}


def _chart(optimizer: str, curves: Curves) -> Chart:
    series = tuple(Series(name, tuple(float(i + 1) for i in range(len(losses))), losses)
                   for name, losses in curves.items())
    return Chart("lines", f"Training loss with {_title(optimizer)}", "From the same weights on the same batches; "
                 "lines that agree lie on top of each other.", series, Axis("step", "count"), Axis("loss"),
                 overlaid=True)


def _title(optimizer: str) -> str:
    return _TITLES.get(optimizer, optimizer)


def _table(optimizer: str, curves: Curves) -> Table:
    columns = (Column("Step", "count"), *map(Column, curves))
    rows = tuple((i + 1, *(_seven(losses, i) for losses in curves.values()))
                 for i in range(max(map(len, curves.values()))))
    return Table(f"losses_{optimizer}", columns, rows)


def _seven(losses: tuple[float, ...], i: int) -> Span | None:
    """Seven digits: enough to see where float32 parts from the reference."""
    return Span(f"{losses[i]:.7g}") if i < len(losses) else None
