"""What a long job shows meanwhile: a live view in a terminal, a line per event elsewhere.

The screen is written when an event comes and at no other time (no refresh thread): events come between
blocks, and every few seconds from the wait for any other long request, so that drawing never shares the machine
with a block.
"""

import time
from collections import deque
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from photofinish.render.document import printable
from photofinish.render.quantities import about, duration
from photofinish.values import Progress

KEPT_NOTICES = 4
MOMENT = 1.0  # seconds between two drawings that only move the clock
MINUTE = 60.0  # seconds without a line after which a quarter of a long request is worth one
BAR = 20  # characters
RARE = ("environment", "certify", "launch", "plan", "warning", "failure", "done")  # told where lines are kept
TITLES = {"environment": "Preparing", "making": "Preparing", "certify": "Certifying", "launch": "Racing",
          "block": "Racing", "plan": "Planning", "predict": "Predicting", "warning": "Certifying",
          "failure": "Racing", "done": "Done"}
NOTICES = {"warning": "yellow", "failure": "red"}


class Watcher:
    """Called with each Progress; shows the latest state until the `with` block ends."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.begin = time.monotonic()
        self.latest = Progress("environment", "starting")
        self.done = self.total = 0
        self.launches = self.rounds = self.left = ""
        self.estimates: dict[str, dict[str, float]] = {}
        self.notices: deque[Text] = deque(maxlen=KEPT_NOTICES)
        self.headway = ""  # of the request that now runs, and how many quarters of it are done
        self.quarters = 0
        self.told = ""
        self.told_at = self.begin
        self.drawn = 0.0
        self.live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None

    def __enter__(self) -> "Watcher":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, progress: Progress) -> None:
        progress = printable(progress)  # what it tells of a file or a worker may hold what a terminal obeys
        if progress.stage == "waiting":
            self._wait(progress)
            return
        self.headway, self.quarters = "", 0
        news = progress.estimates if progress.estimates != self.estimates.get(progress.task) else {}
        self._remember(progress)
        self._draw()
        if not self.live and progress.stage in RARE:
            self._tell(progress.text, news)

    def _wait(self, progress: Progress) -> None:
        """The clock goes on, and how far a long request is where that is known: elsewhere a line for each quarter."""
        if progress.total and progress.seconds_left is not None:
            share = progress.done / progress.total
            self.headway = f"{share:.0%}, about {about(progress.seconds_left)} left"
            if not self.live and int(4 * share) > self.quarters and time.monotonic() - self.told_at > MINUTE:
                self.quarters = int(4 * share)
                self._tell(self._text(), {})
        if time.monotonic() - self.drawn > MOMENT:
            self._draw()

    def _text(self) -> str:
        return ": ".join(part for part in (self.latest.text, self.headway) if part)

    def _draw(self) -> None:
        if self.live:
            self.live.update(self.view(), refresh=True)
            self.drawn = time.monotonic()

    def _remember(self, progress: Progress) -> None:
        self.latest = progress
        if progress.stage in NOTICES:
            self.notices.append(Text(f"! {progress.text}", style=NOTICES[progress.stage]))
        if progress.estimates:
            self.estimates[progress.task] = progress.estimates
        count = f"{progress.done}" + (f" of {progress.total}" if progress.total else "")
        if progress.stage in ("plan", "launch", "certify", "predict") and progress.total:
            self.done, self.total = progress.done, progress.total
        elif progress.stage in ("environment", "making"):  # an installer's bar is gone when it has ended
            self.done, self.total = progress.done, progress.total or 0
        if progress.stage == "launch" and not progress.total:  # another is being started
            self.rounds = ""
        if progress.stage in ("plan", "launch") and progress.total:
            self.launches = f"{count} launches"
        elif progress.stage == "predict":
            self.launches = f"{count} {progress.text}"
        elif progress.stage == "block":
            self.rounds = f"round {count}"
        if progress.seconds_left is not None:
            self.left = f"{duration(max(0.0, progress.seconds_left))} of the budget left"

    def _tell(self, text: str, estimates: dict[str, float]) -> None:
        """A line with the time since the start; figures after it when they are news."""
        figures = ", ".join(f"{name} {duration(value)}" for name, value in estimates.items())
        line = ": ".join(part for part in (text, figures) if part)
        if line and line != self.told:
            self.told, self.told_at = line, time.monotonic()
            self.console.print(Text(f"[{self._elapsed()}] {line}"), soft_wrap=True)

    def _elapsed(self) -> str:
        minutes, seconds = divmod(int(time.monotonic() - self.begin), 60)
        return f"{minutes:d}:{seconds:02d}"

    def view(self) -> Group:
        """What is being done, how far it is, and the running estimates."""
        head = Text.assemble((TITLES[self.latest.stage], "bold"), f"  {self._elapsed()}",
                             *(f"  ·  {part}" for part in (self.launches, self.rounds, self.left) if part))
        parts: list[RenderableType] = [head, Text(self._text(), style="dim", no_wrap=True, overflow="ellipsis")]
        if self.total:
            parts.append(Padding(ProgressBar(self.total, self.done, width=BAR), 0))
        if self.estimates:
            parts += [Text(), Text("time so far, not yet a verdict", style="dim"), self._table()]
        return Group(*parts, *self.notices)

    def _table(self) -> Table:
        """Seconds so far; the bars compare them in the first task that has any."""
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=len(self.estimates) > 1)
        table.add_column("")
        for task in self.estimates:
            table.add_column(Text(task), justify="right", no_wrap=True)
        table.add_column("")
        first = next(iter(self.estimates.values()))
        for name in dict.fromkeys(name for steps in self.estimates.values() for name in steps):
            cells = [Text(duration(steps[name]) if name in steps else "") for steps in self.estimates.values()]
            bar = Text("━" * max(1, round(BAR * first[name] / max(first.values()))) if name in first else "")
            table.add_row(Text(name, overflow="ellipsis"), *cells, bar)
        return table
