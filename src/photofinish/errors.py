"""Wrong use, told once and clearly: what is wrong, the nearest thing that is right, and what to do."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from photofinish.likeness import nearest

FEW = 12  # names that are all told beside the nearest


class UsageError(Exception):
    """Something the user can put right. `hint` says how; the command line prints both and exits with 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class Stopped(KeyboardInterrupt):
    """Work of several races that was stopped by hand; `found` is what had been measured says, None if nothing had."""

    def __init__(self, found: Any) -> None:
        super().__init__("interrupted")
        self.found = found


def at_home(path: Path | str, hint: str = "") -> Path:
    """The path, with the home folder that a ~ at its beginning stands for. Raises UsageError where nobody knows it: of
    a user that there is not, or of one without an account (as containers are often started)."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(f"{path}: where is that home folder? this machine does not know it",
                         hint or "write the path without ~") from error


def unknown(what: str, given: str, valid: Iterable[str], hint: str = "", meant: Sequence[str] = ()) -> UsageError:
    """The error for a name that is none of `valid`: "no task is called 'trian'; did you mean train? choose from: ..."
    (all of them beside the nearest only where they are few). `meant` are those that others call so."""
    names = list(valid)
    near = [each for each in meant if each in names] or nearest(given, names)
    told = [f"did you mean {' or '.join(near)}?"] if near else []
    if names and (not near or len(near) < len(names) <= FEW):
        told.append(f"choose from: {', '.join(names)}")
    suggestion = " ".join(told) or "there is none to choose from"
    return UsageError(f"no {what} is called {given!r}", suggestion + (f" ({hint})" if hint else ""))
