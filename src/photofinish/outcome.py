"""What `photofinish.race` returns: the results of a session, one per task, that draw and tabulate themselves."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from photofinish.values import Link, Result, Verdict

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
        """A row per contender and task, or with `samples` a row per timed step (of whole trainings: per epoch)."""
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
        target.write_text(html.render(self.documents()), encoding="utf-8", errors="replace")  # paths may be in no code
        return target

    def documents(self, brief: bool = False) -> "list[Document]":
        """The reports, whole or as a terminal shows them."""
        from photofinish.reports import race

        return [race.document(result, race.BRIEF if brief else None) for result in self]

    def __str__(self) -> str:
        from rich.console import Console

        from photofinish.render import terminal

        console = Console(width=100, no_color=True)
        with console.capture() as captured:
            for document in self.documents(brief=True):
                terminal.show(document, console)
        return captured.get()

    def _repr_html_(self) -> str:
        from photofinish.render import html

        return html.embedded(self.documents())


class Sweep(Outcome):
    """What `photofinish.sweep` returns: the results in the order of the batches. `bound` is the latency in seconds that
    `share` of the steps should keep, None where nobody asked."""

    bound: float | None
    share: float

    def __new__(cls, results: Iterable[Result], bound: float | None = None, share: float = 0.9) -> "Sweep":
        self = super().__new__(cls, results)
        self.bound, self.share = bound, share
        return self

    def to_pandas(self, samples: bool = False) -> "pandas.DataFrame":
        """A row per contender and batch, or with `samples` a row per timed step."""
        from photofinish.reports import frame

        return frame.samples(self) if samples else frame.batches(self, self.bound, self.share)

    def to_json(self) -> list[dict[str, Any]]:
        """The documented object that `photofinish sweep --json` prints."""
        from photofinish.reports import sweep

        return [sweep.as_json(self, self.bound, self.share)]

    def documents(self, brief: bool = False) -> "list[Document]":
        """The report, whole or as a terminal shows it."""
        from photofinish.reports import sweep

        return [sweep.document(self, self.bound, self.share, brief)]


class LinkSweep(Outcome):
    """What `photofinish.sweep` over links returns: the results from the fastest link on. Of the links in `predict` the
    report says what a race over them would come to."""

    predict: tuple[Link, ...]

    def __new__(cls, results: Iterable[Result], predict: Iterable[Link] = ()) -> "LinkSweep":
        self = super().__new__(cls, results)
        self.predict = tuple(predict)
        return self

    def to_pandas(self, samples: bool = False) -> "pandas.DataFrame":
        """A row per contender and link, or with `samples` a row per timed step."""
        from photofinish.reports import frame

        return frame.samples(self) if samples else frame.links(self)

    def to_json(self) -> list[dict[str, Any]]:
        """The documented object that `photofinish sweep --links --json` prints."""
        from photofinish.reports import links

        return [links.as_json(self, self.predict)]

    def documents(self, brief: bool = False) -> "list[Document]":
        """The report, whole or as a terminal shows it."""
        from photofinish.reports import links

        return [links.document(self, self.predict, brief)]
