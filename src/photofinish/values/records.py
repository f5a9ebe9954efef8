"""What a race writes down as it goes: raw figures, and what stopped a contender."""

from dataclasses import dataclass
from typing import Dict, Optional, Tuple


@dataclass(frozen=True)
class Launch:
    """One fresh process per contender. `started` and `warmed` are the orders drawn for it. `groups` are those who were
    alive together where not all fitted in memory, one group after another: the anchor is in each, in a fresh process.
    """

    number: int
    seed: int
    started: Tuple[str, ...]
    warmed: Tuple[str, ...]
    seconds: float = 0.0
    groups: Tuple[Tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Phase:
    """One stage of a launch of one contender: start, import, build, weights, compile:<task>, first_step:<task>,
    warm_up:<task>; of whole epochs data, first_batch:<task>, last_epoch:<task>. `cache` is "cold" or "warm" where a
    compile cache matters.

    `memory` is the peak resident set (bytes) within the phase, 0 where none was taken; `device_memory` the device
    allocator's peak where there is one.
    """

    launch: int
    contender: str
    name: str
    seconds: float
    memory: int = 0
    device_memory: Optional[int] = None
    cache: str = ""


@dataclass(frozen=True)
class Memory:
    """What a process holds when a phase of the rehearsal is over, in bytes: `peak` is the most that was resident within
    the phase, the others are of its end. `resident` counts shared pages whole, `proportional` by those who share them;
    `allocated` is what malloc has handed out (glibc's), `device` and `device_peak` what the device's allocator has.
    None where it cannot be known. Of several processes all is their sum, and `each` the peak of every one."""

    contender: str
    phase: str
    peak: int
    resident: Optional[int] = None
    proportional: Optional[int] = None
    allocated: Optional[int] = None
    device: Optional[int] = None
    device_peak: Optional[int] = None
    each: Tuple[int, ...] = ()


@dataclass(frozen=True)
class Observation:
    """What a program saw that decides a claim: `where` it ran, what was seen as words (`told`), whether the claim
    `holds` there (None: neither way), or the `failure` that kept it from seeing anything."""

    where: str
    told: str = ""
    holds: Optional[bool] = None
    failure: str = ""


@dataclass(frozen=True)
class Resize:
    """The first steps of a batch of another size than those before, in the rehearsal: seconds of each, and how often
    the framework says that it traced or compiled for them (None: it does not count). `refused` is why it takes none."""

    contender: str
    task: str
    batch: int
    seconds: Tuple[float, ...]
    compilations: Optional[int] = None
    refused: str = ""


@dataclass(frozen=True)
class Block:
    """The timed steps of one contender in one round of one launch, one figure per step: where only every so many do
    something that the others do not (`period`), the mean of as many.

    `position` is the place within the round (0 first), `group` who of a launch was alive together (0 where all were);
    `resume` the untimed first step after being woken; `faults` minor page faults over the timed steps; `cpu` own CPU
    seconds over them; `foreign` the share of the machine's CPU time that others used meanwhile (None: not known).

    In task serve a figure is the latency of a query, `service` the part of it in which it was worked on, and `wall` the
    seconds of the block, pauses included in which nobody asked. `part` names what was timed, where it is not the model:
    a `Part` of it, or the scaffold of a shape (`Part.inputs`).
    """

    launch: int
    round: int
    position: int
    contender: str
    task: str
    seconds: Tuple[float, ...]
    cpu: float
    faults: int
    foreign: Optional[float]
    resume: float
    loss: Optional[float] = None
    repeated: bool = False
    group: int = 0
    service: Tuple[float, ...] = ()
    wall: Optional[float] = None
    part: str = ""
    period: int = 1


@dataclass(frozen=True)
class TracedStep:
    """What one process of several did in one step: seconds on a clock that all of them share. `sent` are the
    collectives from when this process was ready for one until it was over, with the bytes that it gave;
    `exposed` are the stretches of them in which it computed nothing meanwhile."""

    begin: float
    end: float
    sent: Tuple[Tuple[float, float, int], ...]
    exposed: Tuple[Tuple[float, float], ...]


@dataclass(frozen=True)
class Trace:
    """Traced steps of one process of a contender in one launch, outside the timed blocks. Those of all its processes
    are the same steps."""

    launch: int
    contender: str
    rank: int
    steps: Tuple[TracedStep, ...]


@dataclass(frozen=True)
class Energy:
    """What one run of several seconds of one contender took in one launch, all others stopped: `joules` by domain of
    the sensors, idle power included, over `seconds` and `steps`. In task serve a step is a query; in tasks epoch and
    fit the run is the training of one `epoch`, whatever it takes.

    `foreign` is as in Block; `busy` the share of the time in which the device worked (None: not counted).
    """

    launch: int
    contender: str
    task: str
    joules: Dict[str, float]
    seconds: float
    steps: int
    foreign: Optional[float] = None
    busy: Optional[float] = None
    epoch: Optional[int] = None


@dataclass(frozen=True)
class Epoch:
    """One epoch of one contender in one launch: training over the whole set, then a look at the validation samples.

    `number` counts from 1; `position` is the place among the contenders in that epoch. `seconds` are those of `steps`
    training steps with their batches, `first_step` those of the first of them. `loss` is the mean of their losses,
    `first_losses` those of the first twenty; `accuracy` is of as many training samples as there are validation
    samples, at the end. In task epoch nothing is validated; there `first_batch` are the seconds until it was there,
    `waited` those in which the loop waited for any batch (None in a loop of the framework's own), and `last_step` those
    of the step on what does not fill a batch. `cpu`, `faults`, `foreign` and `group` are as in Block.
    """

    launch: int
    number: int
    position: int
    contender: str
    seconds: float
    steps: int
    first_step: float
    loss: float
    accuracy: Optional[float] = None
    validation_seconds: Optional[float] = None
    validation_loss: Optional[float] = None
    validation_accuracy: Optional[float] = None
    first_batch: Optional[float] = None
    last_step: Optional[float] = None
    waited: Optional[float] = None
    cpu: float = 0.0
    faults: int = 0
    foreign: Optional[float] = None
    first_losses: Tuple[float, ...] = ()
    group: int = 0


@dataclass(frozen=True)
class SameGuesses:
    """On how many of the `asked` validation samples, or words in them, two contenders of one launch guessed the same
    class after the last epoch."""

    launch: int
    a: str
    b: str
    same: int
    asked: int


@dataclass(frozen=True)
class WarmUp:
    """Every step from the second to steady state, with the class found ("flat", "warmup", "slowdown",
    "no steady state") and how many steps came before the steady ones."""

    launch: int
    contender: str
    task: str
    seconds: Tuple[float, ...]
    kind: str
    steps: int


@dataclass(frozen=True)
class Failure:
    """What stopped a contender, as a result: kind is "crash", "hang", "out of memory", "nan",
    "wrong answer", "unsupported", "missing", "protocol" or "interrupted". One of no contender ("") stopped the whole
    race."""

    contender: str
    kind: str
    message: str
    launch: int = 0
    phase: str = ""
    log: str = ""
    command: str = ""
