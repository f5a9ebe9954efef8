"""Which versions of a framework are meant, and when each came out."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from packaging.version import Version

from photofinish import environments
from photofinish.environments import Choice, releases
from photofinish.errors import UsageError, unknown
from photofinish.values import Contender

HOW = "write --versions 1.13.1,2.13.0, or torch@1.13.1,tensorflow@2.12.0 of several frameworks"


@dataclass(frozen=True)
class Dated:
    """A contender of one version, and the day on which that came out. `line` is the contender without its version: what
    all versions of a history have in common."""

    contender: str
    line: str
    version: str
    day: date


def choose(lines: Sequence[str], versions: Sequence[str] = (), *, device: str = "cpu",
           choice: Choice | None = None) -> list[Dated]:
    """The versions that were named of the `lines` (torch, tensorflow:xla), the lowest first; those that can race at
    once if none was. A version is written 2.13.0 or torch@2.13.0, followed by =2026-07-08 if it is in no table.

    Raises UsageError.
    """
    known = _lines(lines, device)
    asked = [each for text in environments.split(versions) for each in _asked(text, known)]
    for one, other in itertools.combinations(asked, 2):
        if one[0] == other[0] and Version(one[1]) == Version(other[1]):  # 2.0 is 2.0.0
            raise UsageError(f"version {other[1]} of {one[0].name} is named twice", "name it once in --versions")
    if not versions:
        asked = [(line, version, None) for line in known
                 for version in environments.at_hand(line.framework, choice or Choice())
                 if version in releases.of(line.framework)]
    found = [dated(line, version, day) for line, version, day in asked]
    return sorted(found, key=lambda each: (each.line, Version(each.version)))


def between(line: str, good: str, bad: str, versions: Sequence[str] = (), *, device: str = "cpu") -> list[Dated]:
    """The final releases of a framework from `good` to `bad`, the lowest first; of those between, only the `versions`
    that were named, if any was. Raises UsageError."""
    lines = _lines([line], device)
    if len(lines) != 1:
        raise UsageError("a search follows one framework", "write --framework torch, or torch:compile")
    ends = [dated(*each) for text in (good, bad) for each in _asked(text, lines)]
    first, last = (Version(each.version) for each in ends)
    if not first < last:
        raise UsageError(f"{ends[0].version} does not come before {ends[1].version}",
                         "--good is the earlier version, which was faster")
    inner = choose([line], versions, device=device) if versions else \
        [dated(lines[0], version) for version in releases.of(lines[0].framework)]
    for each in inner if versions else ():
        if not first <= Version(each.version) <= last:
            raise UsageError(f"{each.version} is not between {ends[0].version} and {ends[1].version}",
                             "leave it out of --versions, or move --good or --bad")
    return [ends[0], *(each for each in inner if first < Version(each.version) < last), ends[1]]


def dated(line: Contender, version: str, day: date | None = None) -> Dated:
    """Raises UsageError if nobody says when that version came out."""
    table = releases.of(line.framework)
    day = day or table.get(version)
    if day is None:
        near = " or ".join(releases.around(line.framework, version))
        raise UsageError(f"no release of {line.framework} is called {version!r}",
                         f"did you mean {near}? if there is one, say when it came out: {version}=2026-07-08"
                         if table else f"no table says when it came out; write {version}=2026-07-08, say")
    return Dated(replace(line, version=version).name, line.name, version, day)


def _lines(texts: Sequence[str], device: str) -> list[Contender]:
    found = [environments.checked(text, device) for text in environments.split(texts)]
    for each in found:
        if each.version:
            raise UsageError(f"{each.name} names a version, and a history has several", HOW)
    for one, other in itertools.combinations(found, 2):
        if one == other:
            raise UsageError(f"{one.name} is named twice", "name it once, with its --versions")
    return found


def _asked(text: str, lines: Sequence[Contender]) -> list[tuple[Contender, str, date | None]]:
    """[NAME@]VERSION[=DAY] of each line that it is of."""
    name, _, rest = text.rpartition("@")
    version, _, day = rest.partition("=")
    whose = [each for each in lines if name in ("", each.framework, each.name)]
    if not whose:
        raise unknown("framework of this history", name, [each.framework for each in lines])
    if len({each.framework for each in whose}) > 1:
        raise UsageError(f"{text} may be of {' or '.join(each.name for each in whose)}", HOW)
    environments.check_version(whose[0].framework, version)
    try:
        return [(each, version, date.fromisoformat(day) if day else None) for each in whose]
    except ValueError as error:
        raise UsageError(f"{day!r} is not a day", f"write {version}=2026-07-08") from error
