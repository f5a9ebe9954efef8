"""When each version of a framework came out: a dated table that lies beside this file, so that nobody has to be asked.

A day that an environment could tell (of its files) is that of its making, and an index of one's own need not say any;
the table says where and when it was read.
"""

import sys
from bisect import bisect_left
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_suffix(".toml")


@lru_cache(maxsize=1)
def tables() -> dict[str, dict[str, date]]:
    """Framework -> version -> day."""
    found: dict[str, Any] = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return found


def of(framework: str) -> dict[str, date]:
    """The final releases of a framework with their days, the lowest version first; none where it has no table."""
    return dict(sorted(tables().get(framework, {}).items(), key=lambda each: Version(each[0])))


def unheard_of(framework: str, version: str) -> bool:
    """Whether there is no such release: none of a table that goes beyond it. Of pre-releases no table is kept."""
    known = list(of(framework))
    return bool(known) and version not in known and not Version(version).is_prerelease and \
        Version(version) < Version(known[-1])


def around(framework: str, version: str) -> list[str]:
    """The releases that may have been meant: those of that series (2.0 -> 2.0.0, 2.0.1), else the one before and the
    one after."""
    known = list(of(framework))
    series = [each for each in known if each.startswith(f"{version}.")]
    place = bisect_left(known, Version(version), key=Version)
    return series[-2:] or known[max(0, place - 1):place + 1]
