"""Reading the values of a study file, and saying where in it one is wrong."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from photofinish.errors import UsageError, unknown
from photofinish.graph import ModelError
from photofinish.models import UnknownModel
from photofinish.values import MAX, Link, SpellingError

MORE = "see docs/reference/studies.md"
Where = tuple[Any, ...]  # the tables down to a key: ("races", 0, "scale", "small")
Reader = Callable[[Any], Any]  # raises ValueError (what it should be) or UsageError (a name that is none)


@dataclass(frozen=True)
class Source:
    """A study file, to say the lines of."""

    path: Path
    words: str

    def line(self, where: Where, key: str) -> int:
        """Of the key in that table; of the table if it is not written as `key = ...` there; of where the table above it
        has it; else 1."""
        names = [each for each in where if isinstance(each, str)]
        number = next((each for each in where if isinstance(each, int)), 0)
        best, seen, inside = 0, -1, not where
        for count, words in enumerate(self.words.splitlines(), 1):
            header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", words)
            if header and "=" not in words.partition("]")[0]:
                path = [each.strip().strip('"') for each in header.group(1).split(".")]
                if not where and path == [key]:
                    return count
                seen += path == names[:1]
                inside = path == names and seen in (number, -1 if len(names) == 1 else number)
                best = count if inside else best
            elif inside and key and re.match(rf'\s*"?{re.escape(key)}"?\s*[=.]', words):
                return count
        return best or (self.line(where[:-1], names[-1]) if len(names) > 1 else 1)

    def only(self, table: dict[str, Any], where: Where, allowed: Sequence[str]) -> None:
        """Raises Malformed for a key that does not belong there, with the nearest that does."""
        for key in table:
            if key not in allowed:
                wrong = unknown("key here", key, allowed)
                raise Malformed(self, where, key, wrong.message, wrong.hint)

    def value(self, table: dict[str, Any], where: Where, key: str, reader: Reader) -> Any:
        return self.told(where, key, reader, table[key])

    def table(self, given: Any, where: Where, readers: dict[str, Reader]) -> dict[str, Any]:
        """An inline table, such as an exception; it needs a reason."""
        if not isinstance(given, dict) or "reason" not in given:
            raise Malformed(self, where[:-1], where[-1], "is a list of tables that have a reason",
                            'write { model = "vgg16", batch = 32, reason = "..." }')
        self.only(given, where, tuple(readers))
        return {key: self.told(where[:-1], where[-1], readers[key], value) for key, value in given.items()}

    def told(self, where: Where, key: str, reader: Reader, value: Any) -> Any:
        """What the reader makes of the value; its complaint as Malformed, at the key."""
        try:
            return reader(value)
        except UsageError as wrong:
            raise Malformed(self, where, key, wrong.message, wrong.hint or MORE) from wrong
        except (UnknownModel, SpellingError) as wrong:  # "what is wrong: what is right"
            message, _, hint = str(wrong).rpartition(": ")
            raise Malformed(self, where, key, message, hint) from wrong
        except ModelError as wrong:
            raise Malformed(self, where, key, str(wrong), MORE) from wrong
        except ValueError as wrong:
            raise Malformed(self, where, key, f"should be {wrong}", MORE) from wrong


class Malformed(UsageError):
    """What is wrong in a study file, with file, line and key."""

    def __init__(self, source: Source, where: Where, key: str, message: str, hint: str) -> None:
        line = source.line(where, key)
        named = ".".join(str(each) for each in (*where, key) if isinstance(each, str) and each)
        super().__init__(f"{source.path}, line {line}: {named}: {message}", hint)


def text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"a text, not {value!r}")
    return value


def many(reader: Reader) -> Reader:
    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise ValueError(f"a list with something in it, not {value!r}")
        return tuple(map(reader, value))
    return read


def several(reader: Reader) -> Reader:
    """Of which none is there twice: it would be the same race again."""
    def read(value: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = many(reader)(value)
        for count, each in enumerate(found):
            if each in found[:count]:
                raise ValueError(f"a list of different ones; {value[count]!r} is in it twice")
        return found
    return read


def scaled(value: Any) -> dict[str, dict[str, Any]]:
    """Scale -> what it says instead."""
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise ValueError(f"tables by the name of a scale, such as small, not {value!r}")
    return value


def choice(what: str, choices: Sequence[str]) -> Reader:
    def read(value: Any) -> str:
        if text(value) not in choices:
            raise unknown(what, value, choices)
        return str(value)
    return read


def shape_of(value: Any) -> tuple[int, ...]:
    """"3x224x224", as --input takes it; a length may be a number."""
    words = str(value).lower().split("x") if isinstance(value, (str, int)) and not isinstance(value, bool) else [""]
    if not all(word.isdecimal() and int(word) for word in words):
        raise ValueError(f'a size such as "3x224x224" or 128, not {value!r}')
    return tuple(map(int, words))


def count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"a whole number from 1 on, not {value!r}")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false, not {value!r}")
    return value


def batch_of(value: Any) -> int | str:
    """Samples of a step, or "max"."""
    if value == MAX:
        return MAX
    try:
        return count(value)
    except ValueError as wrong:
        raise ValueError(f'{wrong}; or "{MAX}", the smallest of the contenders\' largest batches') from None


def link_of(value: Any) -> Link:
    """"100mbit", as --link takes it."""
    return Link.parse(text(value))


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise ValueError(f"seconds, not {value!r}")
    return float(value)


def fraction(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise ValueError(f"a fraction such as 0.02, not {value!r}")
    return float(value)


def fractions(value: Any) -> dict[str, float]:
    """Model -> a fraction, such as an accuracy."""
    if not isinstance(value, dict) or not value:
        raise ValueError(f"fractions by model, not {value!r}")
    return {name: fraction(each) for name, each in value.items()}


def ratios(value: Any) -> Any:
    """Model -> input -> batch -> a ratio, or words such as "out of memory"; a model's alone, where no size was told."""
    told = _tables(value)
    inputs = [each for each in told if isinstance(each, dict)]
    figures = [each for each in told if not isinstance(each, dict)]
    figures += [each for of_input in inputs for batches in _tables(of_input) for each in _tables(batches)]
    for figure in figures:
        if isinstance(figure, bool) or not isinstance(figure, (str, int, float)) or not (
                figure if isinstance(figure, str) else 0 < figure < math.inf):
            raise ValueError(f"ratios by model, input and batch, not {figure!r}")
    return value


def _tables(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        raise ValueError(f"tables by model, input and batch, not {value!r}")
    return list(value.values())
