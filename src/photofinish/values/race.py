"""A race, and who was left out of it."""

from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

from photofinish.values.case import Case
from photofinish.values.largest import LargestBatch
from photofinish.values.parts import Part
from photofinish.values.profile import Profile
from photofinish.values.proof import Certificate, Finding
from photofinish.values.records import (
    Block,
    Energy,
    Epoch,
    Failure,
    Launch,
    Memory,
    Phase,
    Resize,
    SameGuesses,
    Trace,
    WarmUp,
)


@dataclass(frozen=True)
class Skip:
    """A contender that was asked for and is left out of a race: why, and what would put it right."""

    contender: str
    reason: str
    cure: str = ""


@dataclass(frozen=True)
class Straggler:
    """A contender that was timed no further: over `launches` launches it took `ratio` times as long as `leader`."""

    contender: str
    leader: str
    ratio: float
    launches: int


@dataclass(frozen=True)
class Metering:
    """What could measure energy: the `sensors` and the `idle` watts by domain before the race; or the `reason` why
    nothing could, and what would put that right."""

    sensors: str = ""
    idle: Dict[str, float] = field(default_factory=dict)
    reason: str = ""
    cure: str = ""


@dataclass(frozen=True)
class Race:
    """Everything recorded of one race: raw figures only, every summary is computed when read.

    `looks` are the numbers of launches after which the plan looked at the result and could have
    stopped on it; none for a number fixed beforehand. The verdict's level depends on them. Whoever is `skipped` is none
    of the `contenders`; `stragglers` are, and were timed in the pilot only. `largest` are the largest batches of which
    the case's is the smallest, where that was asked for. `environments` are those the contenders ran in: "origin" (this
    Python, given by the user, or made), "python" and "packages", with exact versions. `metering` is None where nobody
    asked for energy. `parts` are the distinct layers of the model, where these were timed one by one as well, in
    `part_blocks`; `profiles` say where the steps went.
    """

    id: str
    case: Case
    contenders: Tuple[str, ...]
    margin: float = 0.02
    created: str = ""
    command: str = ""
    machine: Dict[str, Any] = field(default_factory=dict)
    versions: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    launches: Tuple[Launch, ...] = ()
    looks: Tuple[int, ...] = ()
    blocks: Tuple[Block, ...] = ()
    energies: Tuple[Energy, ...] = ()
    epochs: Tuple[Epoch, ...] = ()
    same_guesses: Tuple[SameGuesses, ...] = ()
    phases: Tuple[Phase, ...] = ()
    memory: Tuple[Memory, ...] = ()
    resizes: Tuple[Resize, ...] = ()
    warm_ups: Tuple[WarmUp, ...] = ()
    traces: Tuple[Trace, ...] = ()
    failures: Tuple[Failure, ...] = ()
    certificates: Tuple[Certificate, ...] = ()
    audit: Tuple[Finding, ...] = ()
    skipped: Tuple[Skip, ...] = ()
    environments: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    stragglers: Tuple[Straggler, ...] = ()
    largest: Tuple[LargestBatch, ...] = ()
    metering: Optional[Metering] = None
    parts: Tuple[Part, ...] = ()
    part_blocks: Tuple[Block, ...] = ()
    profiles: Tuple[Profile, ...] = ()
