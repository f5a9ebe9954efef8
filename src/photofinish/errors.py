"""Wrong use, told once and clearly: what is wrong, the nearest thing that is right, and what to do."""

import difflib
from collections.abc import Iterable

FEW = 12  # names that are all told beside the nearest

class UsageError(Exception):
    """Something the user can put right. `hint` says how; the command line prints both and exits with 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def unknown(what: str, given: str, valid: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that is none of `valid`: "no task is called 'trian'; did you mean train? choose from: ..."
    (all of them beside the nearest only where they are few)."""
    names = list(valid)
    near = difflib.get_close_matches(given, names, n=2, cutoff=0.6)
    told = [f"did you mean {' or '.join(near)}?"] if near else []
    if names and (not near or len(near) < len(names) <= FEW):
        told.append(f"choose from: {', '.join(names)}")
    suggestion = " ".join(told) or "there is none to choose from"
    return UsageError(f"no {what} is called {given!r}", suggestion + (f" ({hint})" if hint else ""))
