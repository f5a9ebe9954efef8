"""The results of races on their way out: to the screen, to standard output in a chosen format, to a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from photofinish.api import Interrupted
from photofinish.cli import output
from photofinish.errors import Stopped, UsageError
from photofinish.outcome import Outcome
from photofinish.render import csv, html, markdown
from photofinish.render.document import Document
from photofinish.reports import json
from photofinish.reports.reading import nobody_left
from photofinish.store import reading
from photofinish.values import Result

SAME = "the same command again"  # of those that read the store, or go on from what is in it


@dataclass(frozen=True)
class Choice:
    """What the user asked to get: a format on standard output and perhaps an HTML file."""

    format: str
    html: Path | None

    @classmethod
    def of(cls, html: Path | None, as_json: bool, as_csv: bool, as_markdown: bool) -> "Choice":
        """Raises UsageError for two formats at once or a file that cannot be written, before anything runs."""
        chosen = [name for name, wanted in (("json", as_json), ("csv", as_csv), ("markdown", as_markdown)) if wanted]
        if len(chosen) > 1:
            raise UsageError(f"--{chosen[0]} and --{chosen[1]} both want standard output", "choose one of them")
        if html is not None:
            check_writable(html)
        return cls(chosen[0] if chosen else "terminal", html)


def check_writable(path: Path) -> None:
    """Raises UsageError unless the file can be made or overwritten; leaves no trace."""
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file for the report") from error
    if not existed:
        path.resolve().unlink()  # of a link that led nowhere, what it led to


def present(results: Outcome, choice: Choice, full: bool = False, again: str = SAME) -> None:
    """Prints the results in the chosen format and writes the HTML report if one was asked for."""
    whole = results.documents()
    short = whole if full else results.documents(brief=True)
    documents(whole, choice, full, short, lambda: json.text(results.to_json()), again)


def raced(verb: Callable[..., Outcome], *about: Any, chosen: Choice, quiet: bool, every: bool = True,
          **asked: Any) -> int:
    """Calls a verb of the API that races, shows its progress and what it came to, and returns the exit code: 0 where
    `every` race timed somebody, or at least one, and all that did are of who is proven equal."""
    with output.watching(quiet) as listener:
        try:
            results, interrupted = verb(*about, listener=listener, **asked), False
        except Interrupted as stopped:
            results, interrupted = stopped.results, True
    if interrupted and chosen.format == "terminal" and not any(map(_timed, results)):
        return stopped_by_hand("interrupted before anything was timed.")
    present(results, chosen, again=reading("report last --html FILE", asked.get("store")))
    if interrupted:
        return stopped_by_hand("this is what had been measured. See it again: "
                               + reading("report last", asked.get("store")))
    counted = [each for each in results if every or not nobody_left(each)]
    return 0 if counted and all(map(settled, counted)) else 1


def found(verb: Callable[..., Any], *about: Any, quiet: bool, **asked: Any) -> tuple[Any, bool]:
    """What a verb of several races finds, its progress shown; or had found when it was stopped by hand, and whether it
    was."""
    with output.watching(quiet) as listener:
        try:
            return verb(*about, listener=listener, **asked), False
        except Stopped as stop:
            if stop.found is None:
                raise
            return stop.found, True


def stopped_by_hand(told: str) -> int:
    """Says what a command shows that was stopped by hand, and is its exit code."""
    click.echo(f"Stopped by hand: {told}", err=True)
    return 130


def documents(found: Sequence[Document], choice: Choice, full: bool = True, short: Sequence[Document] = (),
              as_json: Callable[[], str] = lambda: "null", again: str = SAME,
              also: Sequence[tuple[Path, str]] = ()) -> None:
    """Writes the HTML report if one was asked for, and `also` what else goes to files; then prints documents in the
    chosen format (`short` ones in a terminal). Raises UsageError last for a file that cannot be written, which is made
    by `again`."""
    files = [*also, *([(choice.html, html.render(found))] if choice.html is not None else [])]
    refused = [error for path, text in files if (error := write_report(path, text, again)) is not None]
    if choice.format == "terminal":
        for document in short or found:
            output.show(document, full)
    else:
        click.echo(as_json() if choice.format == "json" else _FORMATS[choice.format](found))
    if refused:
        raise refused[0]
    if choice.html is not None:
        click.echo(f"Report: {choice.html}", err=choice.format != "terminal")


# The table that CSV is of: the first of these that there is. What is about races goes before the tables of a race.
_MAIN = ("checks", "standings", "plan", "races", "batches", "links", "claims", "versions", "looks", "layers", "options",
         "tries", "effects", "cells", "epochs")

_FORMATS: dict[str, Callable[[Sequence[Document]], str]] = {
    "csv": lambda found: next(filter(None, (csv.render(found, name) for name in _MAIN)), "").rstrip("\n"),
    "markdown": lambda found: markdown.render(found).rstrip("\n"),
}


def write_report(path: Path, text: str, again: str) -> UsageError | None:
    """What is wrong if it cannot be written, saying that nothing measured is lost."""
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        return UsageError(f"cannot write {path}: {error.strerror}",
                          f"what was raced is kept: make room, or choose another file, then {again}")
    return None


def settled(result: Result) -> bool:
    """True if at least one contender was timed and all that were are proven equal."""
    return result.comparable and _timed(result)


def _timed(result: Result) -> bool:
    return any(standing.time is not None for standing in result.standings)
