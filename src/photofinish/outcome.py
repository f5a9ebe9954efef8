"""What `photofinish.race` returns: the results of a session, one per task, that draw and tabulate themselves."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from photofinish.values import Result, Verdict

if TYPE_CHECKING:
    import pandas

    from photofinish.render.document import Document


class Outcome(tuple[Result, ...]):
    """The results in the order of the tasks. In a notebook it shows the whole report."""

    __slots__ = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every pair's verdict, task by task."""
        return tuple(verdict for result in self for verdict in result.verdicts)

    def to_pandas(self, samples: bool = False) -> "pandas.DataFrame":
        """A row per contender and task, or with `samples` a row per timed step."""
        from photofinish.reports import frame

        return frame.samples(self) if samples else frame.standings(self)

    def to_json(self) -> list[dict[str, Any]]:
        """The documented objects that `photofinish race --json` prints, one per task."""
        from photofinish.reports import json

        return [json.race(result) for result in self]

    def save(self, path: Path | str) -> Path:
        """Writes the self-contained HTML report and returns where. Raises OSError."""
        from photofinish.render import html

        target = Path(path)
        target.write_text(html.render(self._documents()), encoding="utf-8")
        return target

    def __str__(self) -> str:
        from rich.console import Console

        from photofinish.render import terminal
        from photofinish.reports import race

        console = Console(width=100, no_color=True)
        with console.capture() as captured:
            for result in self:
                terminal.show(race.document(result, race.BRIEF), console)
        return captured.get()

    def _repr_html_(self) -> str:
        from photofinish.render import html

        return html.embedded(self._documents())

    def _documents(self) -> "list[Document]":
        from photofinish.reports import race

        return [race.document(result) for result in self]
