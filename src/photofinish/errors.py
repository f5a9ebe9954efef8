"""Wrong use, told once and clearly: what is wrong, the nearest thing that is right, and what to do."""

import difflib
from collections.abc import Iterable


class UsageError(Exception):
    """Something the user can put right. `hint` says how; the command line prints both and exits with 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


def unknown(what: str, given: str, valid: Iterable[str], hint: str = "") -> UsageError:
    """The error for a name that is none of `valid`: "no model is called 'resnt18'; did you mean resnet18?"."""
    names = list(valid)
    near = difflib.get_close_matches(given, names, n=2, cutoff=0.6)
    if near:
        suggestion = f"did you mean {' or '.join(near)}?"
    elif names:
        suggestion = f"choose from: {', '.join(names)}"
    else:
        suggestion = "there is none to choose from"
    return UsageError(f"no {what} is called {given!r}", suggestion + (f" ({hint})" if hint else ""))
