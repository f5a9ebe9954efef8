"""What training by several processes costs in code: the printed program of a contender against that of one process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from photofinish import models, scripts
from photofinish.errors import UsageError
from photofinish.frameworks import Unsupported
from photofinish.graph import ModelError
from photofinish.render.document import Column, Table
from photofinish.reports.reading import contender, names
from photofinish.values import Contender, Result

CAPTION = ("Of the training programs that photofinish show MODEL --script prints, with and without --parallel: lines "
           "that are added or changed, and by how much the rest grows. A countable proxy of ease, not ease itself.")


@dataclass(frozen=True)
class CodeCost:
    """What a contender's way to train asks for in the program of one process, which has the counts of `alone`."""

    contender: str
    form: str
    way: str
    alone: scripts.Counts
    changes: scripts.Changes


def costs(result: Result) -> tuple[CodeCost, ...]:
    """Of each contender whose way is written; () for a model in a file of the user's, which reading does not run, for
    one that the zoo has no longer, and where the package that counts is missing."""
    case = result.race.case
    ways = [(name, way) for name in names(result) if (way := scripts.way_of(Contender.parse(name)))]
    if not ways or ".py" in case.model:
        return ()
    try:
        return tuple(_costs(result, ways))
    except (UsageError, ModelError):
        return ()


def _costs(result: Result, ways: list[tuple[str, tuple[str, str]]]) -> Iterator[CodeCost]:
    case = result.race.case
    graph = models.find(case.model).graph(case.shape or None, case.classes)
    for name, (form, way) in ways:
        try:
            alone = scripts.program(form, case.model, graph, case.batch)
            parallel = scripts.parallel_program(form, case.model, graph, case.batch, way)
        except Unsupported:
            continue
        yield CodeCost(name, form, way, scripts.counts(alone), scripts.changes(alone, parallel))


def table(found: tuple[CodeCost, ...]) -> Table:
    columns = (Column("Contender", "contender"), Column("Program"), Column("Lines of code", "count"),
               Column("Lines added or changed", "count"), Column("More tokens", "count"), Column("More calls", "count"),
               Column("More complexity", "count"))
    rows = tuple((contender(each.contender), f"--as {each.form} --parallel {each.way}", each.alone.lines,
                  each.changes.lines, each.changes.tokens, each.changes.calls, each.changes.complexity)
                 for each in found)
    return Table("code_cost", columns, rows, CAPTION)
