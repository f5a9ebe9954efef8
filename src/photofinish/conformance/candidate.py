"""Who is examined, and what is found."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from photofinish.values import Contender


@dataclass(frozen=True)
class Check:
    """One thing asked of a worker, whether it was done as the protocol has it, and what was seen."""

    name: str
    passed: bool
    seen: str
    log: str = ""  # the last words of a worker that it ended


@dataclass(frozen=True)
class Candidate:
    """A worker to be examined: what starts it, and what it is loaded as; of one of the house, what a race gives it."""

    command: Sequence[str]
    contender: Contender
    driver: str = ""  # of an old version, in the place of its framework's file
    feeding: Mapping[str, Any] = field(default_factory=dict)  # the loop and the options of its own input pipeline
    variables: Mapping[str, str] = field(default_factory=os.environ.copy)
    folder: Path = field(default_factory=Path.cwd)  # where it is started


class Broken(Exception):
    """The worker did something else than the protocol asks for; the message says what."""
