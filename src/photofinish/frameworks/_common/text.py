"""How values are spelled in native source."""

import json
from typing import Any, Sequence


def show(value: Any) -> str:
    """A Python literal, strings in double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def call(function: str, *arguments: Any, **options: Any) -> str:
    """The text of a call; options that are None are left out."""
    given = [show(each) for each in arguments]
    given += ["{}={}".format(key, show(value)) for key, value in options.items() if value is not None]
    return "{}({})".format(function, ", ".join(given))


class Code(str):
    """The value of an option that is an expression, not a text."""

    __repr__ = str.__str__


def write(function: str, *arguments: Any, **options: Any) -> str:
    """As `call`, but a string argument is code, and a size per axis is written once where both agree."""
    words = [each if isinstance(each, str) else repr(short(each)) for each in arguments]
    words += ["{}={!r}".format(key, short(value)) for key, value in options.items() if value is not None]
    return "{}({})".format(function, ", ".join(words))


def short(value: Any) -> Any:
    """One number for a pair of equal ones."""
    return value[0] if isinstance(value, tuple) and value == value[:1] * 2 else value


def square(pair: Sequence[int], default: int = 0) -> Any:
    """A size per axis as short as can be: one number if they agree, None if that is the default."""
    return tuple(pair) if pair[0] != pair[1] else (pair[0] if pair[0] != default else None)
