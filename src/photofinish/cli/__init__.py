"""The shell's way in: one command per file. `photofinish --help` must answer at once, so a command
imports what it needs when it runs, and the options are plain click (Typer alone takes as long again)."""

import errno
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from photofinish import __version__
from photofinish.cli import (
    accuracy,
    advise,
    bisect,
    claims,
    doctor,
    env,
    factors,
    flip,
    gate,
    history,
    largest_batch,
    listing,
    race,
    report,
    selftest,
    serve,
    show,
    study,
    submit,
    sweep,
    verify,
    why,
)
from photofinish.errors import UsageError, unknown

WRONG_USE = 2
INTERRUPTED = 130
UNREAD = 141  # what a shell says of a program that SIGPIPE stopped (128 + 13): nobody reads its output any more
KEEP = ("race", "why", "advise", "sweep", "serve", "study", "history", "bisect", "gate", "factors", "flip")  # races
_NOT_OURS = {  # what the system refuses, and what the user can do about it
    errno.ENOSPC: "free some disk space, or choose another place with --store FOLDER",
    errno.EDQUOT: "free some of your disk quota, or choose another place with --store FOLDER",
    errno.EFBIG: "this file may not grow further (ulimit -f); choose another place with --store FOLDER",
    errno.EROFS: "choose a place that can be written with --store FOLDER",
    errno.EACCES: "choose a place you may write to with --store FOLDER",
    errno.EPERM: "choose a place you may write to with --store FOLDER",
}
UNREADABLE = "make it readable for you, or name another"
_CUT_SHORT = "requested and"  # "442368 requested and 107488 written": NumPy, of a full disk, keeps no number of it


class Commands(click.Group):
    """Shown in telling order; a misspelt command is told the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str],
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise unknown("command", args[0], self.commands, "see: photofinish --help")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            if error.ctx is None and name is not None:  # click does not say whose option lacks its argument
                error.ctx = click.Context(self.commands[name], parent=ctx, info_name=name)
            raise
        except BrokenPipeError:  # click would say 1, which is NOT COMPARABLE
            return UNREAD


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
             epilog="\b\nStart here:\n  photofinish doctor\n  photofinish race digits_cnn\n  photofinish report last")
@click.version_option(__version__, prog_name="photofinish")
def photofinish() -> None:
    """Judge races between deep-learning frameworks.

    Which of them runs a model fastest on this machine, by how much, how surely, and whether all of them
    computed the same thing.
    """


for each in (race, why, advise, sweep, serve, verify, accuracy, largest_batch, study, history, bisect, gate, factors,
             flip, claims, report, listing, show, submit, env, doctor, selftest):
    photofinish.add_command(each.command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and exits: 0 done, 1 no comparable result, 2 wrong use, 130 interrupted, 141 unread."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")  # a locale without lines and dashes, a path that is in none
    code = run(arguments)
    if code == UNREAD:  # or Python, at its end, complains of what could not be written
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; every foreseeable mistake is one clear message on standard error."""
    try:
        result: Any = photofinish.main(arguments, prog_name="photofinish", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (click.Abort, KeyboardInterrupt):
        from photofinish.store import reading
        words = sys.argv[1:] if arguments is None else arguments
        keeps = next((each for each in words if not each.startswith("-")), "") in KEEP
        kept = "what was measured before is kept: " + reading("report --list", store_among(words)) if keeps else ""
        return complain("interrupted", kept, INTERRUPTED)
    except Exception as error:
        told = explain(error)
        if told is None:
            raise
        return complain(*told)


def store_among(words: Sequence[str]) -> str | None:
    """The folder that a command line names with --store."""
    for word, following in zip(words, (*words[1:], "")):
        if word == "--store":
            return following
        if word.startswith("--store="):
            return word.partition("=")[2]
    return None


def explain(error: Exception) -> tuple[str, str] | None:
    """Message and hint for a mistake that can be put right by the user; None for a fault of ours."""
    import sqlite3

    from photofinish.graph import ModelError
    from photofinish.store import remedy
    if isinstance(error, UsageError):
        return error.message, error.hint
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        group = error.ctx.command_path.partition(" ")[2]
        return f"{group + ' needs' if group else 'say'} a command\n\n{error.format_message()}", ""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        return error.format_message(), f"see: {context.command_path if context else 'photofinish'} --help"
    if isinstance(error, ModelError):
        return str(error), ""
    if isinstance(error, sqlite3.OperationalError) and "could not decode" not in str(error).lower():  # which is damage
        return f"the store cannot be used: {error}", remedy(error, "make room there, or choose another with --store "
                                                                   "FOLDER")
    if isinstance(error, sqlite3.DatabaseError):
        return f"the store cannot be read: {error}", "move it away, or choose another with --store FOLDER"
    if isinstance(error, OSError) and error.errno is None and _CUT_SHORT in str(error):
        return f"a file could not be written to its end: {error}", _NOT_OURS[errno.ENOSPC]
    if isinstance(error, OSError) and error.errno in _NOT_OURS:
        place = error.filename2 or error.filename  # of two files the one that is written
        where = f": {place}" if place else ""
        return f"{error.strerror}{where}", UNREADABLE if place and _unreadable(place) else _NOT_OURS[error.errno]
    return None


def _unreadable(place: str) -> bool:
    """Whether it is reading that is not allowed there, rather than writing."""
    if os.access(place, os.F_OK):
        return not os.access(place, os.R_OK)
    return not os.access(Path(place).parent, os.X_OK)


def complain(message: str, hint: str = "", code: int = WRONG_USE) -> int:
    from photofinish.render.document import printable
    print(printable(f"photofinish: {message}" + (f"\n  {hint}" if hint else "")), file=sys.stderr)
    return code
