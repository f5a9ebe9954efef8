"""The values that rooms pass to each other: frozen, complete, JSON in and out. Times are in seconds,
memory in bytes; nothing here is computed from anything else here."""

from photofinish.values.case import REGIMES, SERVE, WHOLE, Case, Load, Training, misfit
from photofinish.values.contender import MODE, Contender, SpellingError
from photofinish.values.json import from_json, to_json
from photofinish.values.largest import MAX, LargestBatch, Trial
from photofinish.values.link import Link
from photofinish.values.parts import Part
from photofinish.values.profile import Event, Profile, ProfiledStep
from photofinish.values.progress import Progress
from photofinish.values.proof import Certificate, Check, Finding, unnamed
from photofinish.values.race import Metering, Race, Skip, Straggler
from photofinish.values.records import (
    Block,
    Energy,
    Epoch,
    Failure,
    Launch,
    Memory,
    Observation,
    Phase,
    Resize,
    SameGuesses,
    Trace,
    TracedStep,
    WarmUp,
)
from photofinish.values.result import (
    Accuracy,
    Agreement,
    Consumption,
    Estimate,
    Result,
    Scaling,
    Standing,
    TimeSplit,
    Verdict,
)

__all__ = [
    "MAX", "MODE", "REGIMES", "SERVE", "WHOLE", "Accuracy", "Agreement", "Block", "Case", "Certificate", "Check",
    "Consumption", "Contender", "Energy", "Epoch", "Estimate", "Event", "Failure", "Finding", "LargestBatch", "Launch",
    "Link", "Load", "Memory", "Metering", "Observation", "Part", "Phase", "Profile", "ProfiledStep", "Progress", "Race",
    "Resize", "Result", "SameGuesses", "Scaling", "Skip", "SpellingError", "Standing", "Straggler", "TimeSplit",
    "Trace", "TracedStep", "Training", "Trial", "Verdict", "WarmUp", "from_json", "misfit", "to_json", "unnamed",
]
