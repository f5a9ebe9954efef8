"""What commands put on the screen: short documents, and progress while something runs."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console

from photofinish.cli.live import Watcher
from photofinish.render import terminal
from photofinish.render.document import Block, Document, Note, Section, Span
from photofinish.values import Failure, Progress


def show(document: Document, full: bool = False) -> None:
    terminal.show(document, _console(), full)


class _Screen(Console):
    """Standard output. That nobody reads it any more is told to who writes; rich would end the program, with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class _Aside(Console):
    """Standard error, for progress: where nobody reads that, the race goes on all the same."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


def _console() -> Console:
    """As wide as the terminal; wide enough for tables where there is none."""
    return _Screen(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120, highlight=False)


def sheet(title: str, subtitle: str, *blocks: Block) -> Document:
    """A short document of one section."""
    return Document(title, subtitle, title, (), (), (Section("", "", blocks),))


def untried(failures: Iterable[Failure]) -> list[Block]:
    """Why contenders could not be tried."""
    return [Note((Span(each.contender, "contender"), f" could not be tried: {each.kind}: {each.message}"), "warning")
            for each in failures]


@contextmanager
def watching(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """What shows progress on standard error while the body runs; None if nothing is wanted."""
    if quiet:
        yield None
        return
    with Watcher(_Aside(stderr=True, highlight=False)) as watcher:
        yield watcher
