"""What a store holds: a line for each race, with what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from photofinish.render.document import Column, Document, Section, Span, Table
from photofinish.reports import verdict
from photofinish.values import Result


def document(races: Sequence[tuple[str, Result]], where: str) -> Document:
    """Of (session, result), the oldest first."""
    columns = (Column("Id", "code"), Column("Date"), Column("Model"), Column("Task"), Column("Contenders"),
               Column("Came to"))
    rows = tuple((Span(each.race.id, "code"), each.race.created[:10], each.race.case.model, each.race.case.task,
                  ", ".join(each.race.contenders), verdict.outcome(each)) for _, each in races)
    caption = "A race without its task at the end is its session: all races of one command."
    blocks = (Table("races", columns, rows, caption),)
    return Document(f"Races in {where}", "", "races", (), (), (Section("races", "", blocks),))


def as_json(races: Sequence[tuple[str, Result]]) -> list[dict[str, Any]]:
    """The documented list of `photofinish report --list --json`."""
    return [{"id": each.race.id, "session": session, "created": each.race.created, "model": each.race.case.model,
             "task": each.race.case.task, "contenders": list(each.race.contenders), "outcome": verdict.outcome(each)}
            for session, each in races]
