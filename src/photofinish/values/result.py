"""What is concluded from races."""

from dataclasses import dataclass, field
from typing import Dict, Optional, Tuple

from photofinish.values.race import Race
from photofinish.values.records import Failure


@dataclass(frozen=True)
class Estimate:
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float
    level: float = 0.95

    def scaled(self, factor: float) -> "Estimate":
        """Of something that is so many times as much."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.level)

    def rate(self, units: float) -> "Estimate":
        """The units over it: of seconds, units a second."""
        return Estimate(units / self.value, units / self.high, units / self.low, self.level)


@dataclass(frozen=True)
class Verdict:
    """ratio = seconds(b) / seconds(a), above 1 where a is faster; `verdict` is one of FASTER (a is),
    SLOWER, EQUIVALENT, UNDECIDED, NOT COMPARABLE. `seconds_to_decide` is 0 when decided; `level` is the
    confidence of the interval from `low` to `high`."""

    a: str
    b: str
    ratio: Optional[float]
    low: Optional[float]
    high: Optional[float]
    verdict: str
    seconds_to_decide: Optional[float] = None
    launches: int = 0
    reason: str = ""
    level: float = 0.95


@dataclass(frozen=True)
class Agreement:
    """Whether two contenders end equally accurate: `difference` = accuracy(a) - accuracy(b) at the end, the mean over
    launches. `verdict` is EQUIVALENT, HIGHER (a is), LOWER or UNDECIDED; `level` is the confidence from `low` to
    `high`. `same` is the share of validation samples to which both give the same class at the end, the mean over
    launches, `same_least` and `same_most` its range; None where that was not counted."""

    a: str
    b: str
    difference: float
    low: Optional[float]
    high: Optional[float]
    verdict: str
    launches: int
    reason: str = ""
    level: float = 0.95
    same: Optional[float] = None
    same_least: Optional[float] = None
    same_most: Optional[float] = None


@dataclass(frozen=True)
class Scaling:
    """What `processes` that share one `batch` make of it: how many times the throughput of `against`, which is one of
    them, and that in parts of the number of processes. The one has the same batch to itself (strong scaling), or its
    share of it (weak scaling): `against_batch`."""

    contender: str
    against: str
    processes: int
    batch: int
    against_batch: int
    launches: int
    speedup: Estimate
    efficiency: Estimate


@dataclass(frozen=True)
class TimeSplit:
    """Where the seconds of a traced step of process `rank` go, the mean over `steps`: `computing`, `waiting` in a
    collective for the last process to be ready for it, and communicating while it computes nothing, which with
    `overlap`, the part beside computing, is all `communicating`. `sent` are the bytes it gives to collectives. `behind`
    is how long after the first of them it is ready for a collective, the mean, and `last` the share for which it is the
    last to be ready: a process that is so again and again is a straggler."""

    contender: str
    rank: int
    steps: int
    seconds: float
    computing: float
    waiting: float
    communicating: float
    overlap: float
    sent: float
    behind: float
    last: float


@dataclass(frozen=True)
class Consumption:
    """What a contender's work took: joules per unit of throughput, `idle` of them what the machine draws anyway in the
    time it takes, `net` what is left; the mean `watts` and `seconds` of a launch's run; the most that others used of
    the machine meanwhile, and how busy the device was."""

    contender: str
    launches: int
    joules: Estimate
    idle: float
    net: Estimate
    watts: float
    seconds: float
    foreign: Optional[float] = None
    busy: Optional[float] = None


@dataclass(frozen=True)
class Standing:
    """One contender's line in the result of a race. `place` is 1 for the fastest; contenders in one tie
    group (0 is the leaders') are not shown to differ. `time` is what the race compares: seconds of a step, in task
    epoch of a later epoch, in task fit until the target is reached. Phases are medians over launches."""

    contender: str
    place: Optional[int]
    tie_group: Optional[int]
    time: Optional[Estimate]
    throughput: Optional[Estimate] = None
    cpu_per_wall: Optional[float] = None
    faults_per_step: Optional[float] = None
    memory: Optional[int] = None
    spread: Optional[float] = None  # s.d. of the log step time between launches
    phases: Dict[str, float] = field(default_factory=dict)
    failure: Optional[Failure] = None
    device_memory: Optional[int] = None  # the peak of what its framework gave out on a device of its own memory


@dataclass(frozen=True)
class Result:
    """A race as judged: what reports draw and `--json` prints."""

    race: Race
    comparable: bool
    standings: Tuple[Standing, ...]
    verdicts: Tuple[Verdict, ...]
    warnings: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Accuracy:
    """How often a contender's first guess was the class of the image. `unlike` maps each other contender to how many
    images the two guess differently."""

    contender: str
    images: int
    right: int
    top1: Estimate
    unlike: Dict[str, int] = field(default_factory=dict)
