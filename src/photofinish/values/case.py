"""What is computed in a race."""

from dataclasses import dataclass, field
from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from photofinish.values.link import Link

SERVE = "serve"  # queries under a load: whoever infers has it, in a race of its own
WHOLE = ("epoch", "fit")  # tasks that are no step: who trains and infers has them too, and each is a race of its own
REGIMES = ("matched", "out-of-the-box")  # same numerics, threads and allocation; each framework's own defaults


# Which key of a race does not go with the others, why, and what would: a key and its value.
Misfit = NamedTuple("Misfit", [("key", str), ("message", str), ("cure", Tuple[str, str])])


def misfit(tasks: Sequence[str], data: str = "", epochs: Optional[int] = None, seeds: Optional[int] = None,
           target: Optional[float] = None) -> Optional[Misfit]:
    """What does not go together among tasks and figures of whole trainings; None if all does."""
    whole = [each for each in tasks if each in WHOLE]
    figures = (("data", data), ("epochs", epochs), ("seeds", seeds), ("target", target))
    astray = [key for key, value in figures if value]
    if whole and len(tasks) > 1:
        return Misfit("task", "task {} is a race of its own: one alone".format(whole[0]), ("task", whole[0]))
    if astray and not whole:
        return Misfit(astray[0], "data, epochs, target and seeds are those of whole trainings", ("task", "fit"))
    if target is not None and not 0 < target <= 1:
        return Misfit("target", "{} is no accuracy".format(target), ("target", "0.97"))
    if "epoch" in whole and epochs == 1:
        return Misfit("epochs", "the first epoch is a phase of its own, and the later ones are compared",
                      ("epochs", "2"))
    if "epoch" in whole and target is not None:
        return Misfit("target", "task epoch has no target", ("task", "fit"))
    return None


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
    epoch and fit, `load` that of task serve, in which a query is a batch. `link` joins the hosts of contenders that are
    several processes; None where these are in touch within this machine. `hosts` are the machines that these run on,
    one for each; () where that is this one.
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
    link: Optional[Link] = None
    hosts: Tuple[str, ...] = ()
