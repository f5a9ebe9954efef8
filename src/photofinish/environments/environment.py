"""One environment that a contender can run in."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish.environments import interpreters
from photofinish.environments.framework import FrameworkInfo

OWN, GIVEN, MADE = "this Python", "given", "made"


@dataclass(frozen=True)
class Environment:
    """Where a contender can run. `origin` is one of OWN, GIVEN and MADE; `packages` are empty for OWN, whose record
    reads them when they are wanted."""

    python: Path
    framework: FrameworkInfo
    version: str
    origin: str = OWN
    python_version: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def driver(self) -> str:
        """The module of a part that drives this version, "" where the framework's own file does."""
        return self.framework.driver_of(self.version)

    @property
    def hazards(self) -> str:
        """What to know of this version before one believes a race of it."""
        return self.framework.recipe_for(self.version).hazards

    def record(self) -> dict[str, Any]:
        """What a result keeps of it: where it came from, and the exact version of everything in it. No path: that
        would name a person."""
        if self.origin == OWN:
            return {"origin": OWN, "python": sys.version.split()[0], "packages": _own_packages()}
        return {"origin": self.origin, "python": self.python_version, "packages": dict(self.packages)}


def is_asked(version: str, wanted: str) -> bool:
    """Whether that is the version asked for; "" asks for none."""
    return not wanted or version.partition("+")[0] == wanted


@lru_cache(maxsize=1)
def _own_packages() -> dict[str, str]:
    return interpreters.own().packages()
