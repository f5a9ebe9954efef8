"""The values that rooms pass to each other: frozen, complete, JSON in and out. Times are in seconds,
memory in bytes; nothing here is computed from anything else here."""

import re
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Dict, Optional, Tuple, Type, TypeVar

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """A dataclass (or a tuple, list or dict of them) as plain JSON data."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    if isinstance(value, dict):
        return {str(key): to_json(each) for key, each in value.items()}
    return value


def from_json(cls: Type[T], data: Any) -> T:
    """The inverse of `to_json` for a dataclass. Unknown keys are refused with TypeError."""
    hints = typing.get_type_hints(cls)
    return cls(**{name: _restore(hints.get(name, Any), value) for name, value in data.items()})


def _restore(hint: Any, value: Any) -> Any:
    arguments: Tuple[Any, ...] = getattr(hint, "__args__", None) or ()
    if value is None:
        return None
    if isinstance(hint, type) and is_dataclass(hint):
        return from_json(hint, value)
    if isinstance(value, list):
        inner = next(iter(arguments), None)
        return tuple(_restore(inner, each) for each in value)
    if isinstance(value, dict) and len(arguments) == 2 and type(None) not in arguments:
        return {key: _restore(arguments[1], each) for key, each in value.items()}
    if type(None) in arguments:  # Optional
        return _restore(next(each for each in arguments if each is not type(None)), value)
    return value


class SpellingError(ValueError):
    """A contender that cannot be read; the message shows the form."""


_CONTENDER = re.compile(r"^(?P<framework>[a-z][a-z0-9_-]*)(@(?P<version>[0-9][^:\[]*))?"
                        r"(:(?P<mode>[a-z0-9_-]+))?(\[(?P<options>[^\]]*)\])?$")


@dataclass(frozen=True)
class Contender:
    """A framework in a mode with settings: torch@2.13.0:eager[layout=channels_last,threads=1].

    `copy` tells two entries of the same contender apart (a placebo race): torch:eager#2.
    """

    framework: str
    mode: str = ""
    options: Tuple[Tuple[str, str], ...] = ()
    version: str = ""
    copy: int = 1

    @classmethod
    def parse(cls, text: str) -> "Contender":
        """Raises SpellingError with an example."""
        base, _, copy = text.partition("#")
        match = _CONTENDER.match(base.strip())
        if not match or (copy and not copy.isdigit()):
            raise SpellingError("{!r} is not a contender: write framework:mode[option=value,...], "
                                "such as torch:eager or torch:eager[layout=channels_last]".format(text))
        options = tuple(sorted(_option(each, text) for each in (match.group("options") or "").split(",") if each))
        return cls(match.group("framework"), match.group("mode") or "", options,
                   match.group("version") or "", int(copy or 1))

    @property
    def name(self) -> str:
        text = self.framework
        text += "@" + self.version if self.version else ""
        text += ":" + self.mode if self.mode else ""
        text += "[{}]".format(",".join("=".join(pair) for pair in self.options)) if self.options else ""
        return text + ("#{}".format(self.copy) if self.copy > 1 else "")

    def __str__(self) -> str:
        return self.name


def _option(text: str, whole: str) -> Tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip() or not value.strip():
        raise SpellingError("{!r} in {!r} is not an option: write option=value".format(text, whole))
    return key.strip(), value.strip()


SERVE = "serve"  # queries under a load: whoever infers has it, in a race of its own
WHOLE = ("epoch", "fit")  # tasks that are no step: who trains and infers has them too, and each is a race of its own
REGIMES = ("matched", "out-of-the-box")  # same numerics, threads and allocation; each framework's own defaults


@dataclass(frozen=True)
class Training:
    """A whole training as it was asked for: `epochs` passes over the `samples` of a data set (its arrays' SHA-256 is
    `digest`), each followed by a look at its `validation` samples.

    `target` is the validation accuracy to reach, None where only the passes are timed; accuracies within `tolerance` of
    each other at the end count as equivalent.
    """

    data: str
    digest: str
    samples: int
    validation: int
    epochs: int
    target: Optional[float] = None
    tolerance: float = 0.01
    source: str = ""


@dataclass(frozen=True)
class Load:
    """How queries come to a contender that answers them one at a time: `queries` in each block, `rate` a second at
    moments drawn beforehand (Poisson), or from `clients` that each send the next as soon as they have an answer.

    Latency counts from a query's arrival. With `latency` seconds the claim is raced for that `share` of all queries are
    answered within them; it is looked at up to `looks` times, after a launch each, and holds with `confidence`.
    """

    queries: int
    rate: Optional[float] = None
    clients: Optional[int] = None
    latency: Optional[float] = None
    share: float = 0.99
    confidence: float = 0.99
    looks: int = 1


@dataclass(frozen=True)
class Case:
    """What is computed: model x task x batch x input shape x precision x device.

    `shape` is that of the first input, channels first without the batch: () where it is a single value. A sample has
    `units` of what throughput counts (tokens, say). `training` is that of tasks
    epoch and fit, `load` that of task serve, in which a query is a batch.
    """

    model: str
    digest: str
    task: str
    batch: int
    shape: Tuple[int, ...]
    classes: Optional[int] = 1000
    precision: str = "float32"
    device: str = "cpu"
    regime: str = "matched"
    threads: int = 1
    optimizer: Dict[str, Any] = field(default_factory=dict)
    unit: str = "images"
    units: float = 1.0
    training: Optional[Training] = None
    load: Optional[Load] = None


@dataclass(frozen=True)
class Phase:
    """One stage of a launch of one contender: start, import, build, weights, compile:<task>,
    first_step:<task>, warm_up:<task>. `cache` is "cold" or "warm" where a compile cache matters.

    `memory` is the peak resident set (bytes) reached by the end of the phase; `device_memory` the
    device allocator's peak where there is one.
    """

    launch: int
    contender: str
    name: str
    seconds: float
    memory: int = 0
    device_memory: Optional[int] = None
    cache: str = ""


@dataclass(frozen=True)
class Block:
    """The timed steps of one contender in one round of one launch, one figure per step.

    `position` is the place within the round (0 first), `group` who of a launch was alive together (0 where all were);
    `resume` the untimed first step after being woken; `faults` minor page faults over the timed steps; `cpu` own CPU
    seconds over them; `foreign` the share of the machine's CPU time that others used meanwhile (None: not known).

    In task serve a figure is the latency of a query, `service` the part of it in which it was worked on, and `wall` the
    seconds of the block, pauses included in which nobody asked.
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


@dataclass(frozen=True)
class Epoch:
    """One epoch of one contender in one launch: training over the whole set, then a look at the validation samples.

    `number` counts from 1; `position` is the place among the contenders in that epoch. `seconds` are those of `steps`
    training steps with their batches, `first_step` those of the first of them. `loss` is the mean of their losses,
    `first_losses` those of the first twenty; `accuracy` is of as many training samples as there are validation
    samples, at the end. In task epoch nothing is validated; there `first_batch` are the seconds until it was there, and
    `last_step` those of the step on what does not fill a batch. `cpu`, `faults` and `foreign` are as in Block.
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
    cpu: float = 0.0
    faults: int = 0
    foreign: Optional[float] = None
    first_losses: Tuple[float, ...] = ()


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
    "wrong answer", "unsupported", "missing", "protocol" or "interrupted"."""

    contender: str
    kind: str
    message: str
    launch: int = 0
    phase: str = ""
    log: str = ""
    command: str = ""


@dataclass(frozen=True)
class Check:
    """One group of tensors of a certificate. Errors are root-mean-square, relative to the reference's
    scale; `allowed` follows from the contender's own float32 self-noise. `worst` names the tensor."""

    group: str
    tensors: int
    error: float
    allowed: float
    passed: bool
    worst: str = ""


@dataclass(frozen=True)
class Certificate:
    """The proof that one contender computes what the reference computes.

    `reference` says which (for example "numpy float64"); `listed` are tensors shown but not compared,
    each with its reason; `differences` are what tells another package's model, which cannot be proven, from the
    graph: what, the graph's, the contender's; `curves` maps an optimizer to the contender's ten losses; `forward_only`
    is the proof of a contender that runs inference and nothing else. `created` is when it was earned (ISO 8601),
    `reused` says that this was in an earlier race or `verify`.
    """

    contender: str
    digest: str
    passed: bool
    checks: Tuple[Check, ...]
    reference: str
    batch: int
    listed: Tuple[Tuple[str, str], ...] = ()
    curves: Dict[str, Tuple[float, ...]] = field(default_factory=dict)
    reference_curves: Dict[str, Tuple[float, ...]] = field(default_factory=dict)
    seconds: float = 0.0
    versions: Dict[str, str] = field(default_factory=dict)
    differences: Tuple[Tuple[str, str, str], ...] = ()
    forward_only: bool = False
    created: str = ""
    reused: bool = False


@dataclass(frozen=True)
class Finding:
    """One line of the audit: what a contender really ran with, found by probing.

    `how` says what was done to find out; `expected` is what the regime asks for ("" if nothing).
    """

    contender: str
    topic: str
    found: str
    expected: str = ""
    how: str = ""
    warning: str = ""


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
class Race:
    """Everything recorded of one race: raw figures only, every summary is computed when read.

    `looks` are the numbers of launches after which the plan looked at the result and could have
    stopped on it; none for a number fixed beforehand. The verdict's level depends on them. Whoever is `skipped` is none
    of the `contenders`; `stragglers` are, and were timed in the pilot only. `environments` are those the contenders ran
    in: "origin" (this Python, given by the user, or made), "python" and "packages", with exact versions.
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
    epochs: Tuple[Epoch, ...] = ()
    phases: Tuple[Phase, ...] = ()
    warm_ups: Tuple[WarmUp, ...] = ()
    failures: Tuple[Failure, ...] = ()
    certificates: Tuple[Certificate, ...] = ()
    audit: Tuple[Finding, ...] = ()
    skipped: Tuple[Skip, ...] = ()
    environments: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    stragglers: Tuple[Straggler, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """A figure with its confidence interval."""

    value: float
    low: float
    high: float
    level: float = 0.95


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
    `high`."""

    a: str
    b: str
    difference: float
    low: Optional[float]
    high: Optional[float]
    verdict: str
    launches: int
    reason: str = ""
    level: float = 0.95


@dataclass(frozen=True)
class Standing:
    """One contender's line in the result of a race. `place` is 1 for the fastest; contenders in one tie
    group (0 is the leaders') are not shown to differ. `step` is the time that the race compares: of a step, in task
    epoch of a later epoch, in task fit until the target is reached. Phases are medians over launches."""

    contender: str
    place: Optional[int]
    tie_group: Optional[int]
    step: Optional[Estimate]
    throughput: Optional[Estimate] = None
    cpu_per_wall: Optional[float] = None
    faults_per_step: Optional[float] = None
    memory: Optional[int] = None
    spread: Optional[float] = None  # s.d. of the log step time between launches
    phases: Dict[str, float] = field(default_factory=dict)
    failure: Optional[Failure] = None


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


@dataclass(frozen=True)
class Progress:
    """What a long job tells whoever watches it. `stage` is "environment", "making" (how far an installer is, in bytes),
    "certify", "launch", "block", "plan", "predict", "failure", "waiting" (no news: a long request goes on) or "done";
    `total` None means not known yet. `estimates` are the running seconds per step by contender; `seconds_left` is
    against the budget."""

    stage: str
    text: str = ""
    contender: str = ""
    task: str = ""
    done: int = 0
    total: Optional[int] = None
    seconds_left: Optional[float] = None
    estimates: Dict[str, float] = field(default_factory=dict)
