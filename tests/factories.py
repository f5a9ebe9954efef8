"""Results such as a real race gives, made from a seed without any framework: for tests of reports and faces.

`SCENARIOS` maps a name to a function that makes a `Result`; together they cover every outcome.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from photofinish.stats import judge
from photofinish.values import (
    Block,
    Case,
    Certificate,
    Check,
    Failure,
    Finding,
    Launch,
    Phase,
    Race,
    Result,
    WarmUp,
)

MARGIN = 0.02
MIB = 2**20
GROUPS = ("inference outputs", "gradients", "training outputs", "loss", "SGD losses", "SGD weights", "Adam losses",
          "Adam weights", "running statistics")


@dataclass(frozen=True)
class Runner:
    """How a simulated contender behaves: seconds per step and phases, scatter within and between launches."""

    name: str
    step: float
    start: float = 0.09
    load: float = 1.4
    build: float = 0.06
    cold: float = 0.0
    warm: float | None = None
    settle: int = 6
    between: float = 0.006
    within: float = 0.02
    memory: int = 900 * MIB
    faults: float = 0.0
    cores: float = 1.96


FIELD = (
    Runner("torch:compile", 0.0371, cold=21.4, warm=4.6, load=1.6, memory=1180 * MIB),
    Runner("torch:eager", 0.0482, cold=0.02, load=1.5, memory=940 * MIB, faults=3.2),
    Runner("tensorflow:graph", 0.0489, cold=1.9, load=3.1, build=0.9, memory=1420 * MIB, settle=12),
    Runner("tensorflow:xla", 0.0552, cold=9.7, load=3.1, build=0.9, memory=1390 * MIB),
    Runner("tensorflow:eager", 0.0937, cold=0.3, load=3.2, build=0.9, memory=1510 * MIB, cores=1.71),
)


def case(model: str = "resnet18", task: str = "train", **changes: object) -> Case:
    values: dict[str, object] = {
        "model": model, "digest": "9f2c" * 16, "task": task, "batch": 8, "shape": (3, 224, 224), "threads": 2,
        "optimizer": {"kind": "SGD", "rate": 0.01, "momentum": 0.9} if task == "train" else {}}
    return Case(**{**values, **changes})  # type: ignore[arg-type]


def certificate(name: str, digest: str, *, passed: bool = True, task: str = "train", seed: int = 0) -> Certificate:
    noise = np.random.default_rng(seed + sum(map(ord, name)))
    groups = GROUPS if task == "train" else GROUPS[:1]
    checks = []
    for group in groups:
        allowed = float(4e-7 * (10 if "weights" in group else 3))
        good = passed or group in ("inference outputs", "loss")
        error = allowed * float(noise.uniform(0.1, 0.5)) * (1 if good else 9000)
        checks.append(Check(group, 1 if "loss" in group else 62, error, allowed, good,
                            "" if "loss" in group else "stage1.basic1.conv1.weight"))
    exact = {kind: tuple(float(6.9 * math.exp(-rate * i) + 0.05) for i in range(10))
             for kind, rate in (("SGD", 0.11), ("Adam", 0.24))}
    drift = 1e-7 if passed else 0.03
    curves = {kind: tuple(each * (1 + drift * i) for i, each in enumerate(losses)) for kind, losses in exact.items()}
    trains = task == "train"
    return Certificate(
        name, digest, passed, tuple(checks), "numpy float64", 8,
        listed=(("stage1.basic1.conv1.bias", "its exact gradient is zero before a BatchNorm"),) if trains else (),
        curves=curves if trains else {}, reference_curves=exact if trains else {}, seconds=14.2,
        versions={name.partition(":")[0]: "2.13.0"})


def findings(name: str) -> tuple[Finding, ...]:
    return (
        Finding(name, "matmul precision", "float32", "float32", "error of a product against float64"),
        Finding(name, "convolution precision", "float32", "float32", "error of a convolution against float64"),
        Finding(name, "threads", "2", "2", "CPU seconds over wall seconds of a large product"),
        Finding(name, "denormals", "kept", "", "product of two small numbers"),
        Finding(name, "layout", "NHWC" if name.startswith("tensorflow") else "NCHW", "", "strides of the batch"),
    )


def race(field: tuple[Runner, ...] = FIELD, *, of: Case | None = None, launches: int = 5, rounds: int = 8,
         steps: int = 8, seed: int = 1) -> Race:
    """The raw figures of a race: launch effects, drift shared by a round, noise of each step."""
    of = of or case()
    noise = np.random.default_rng(seed)
    blocks, warm_ups, made = [], [], []
    phases = [phase for each in field for phase in _phases(each, each.step, 0, of.task, noise)]
    for number in range(1, launches + 1):
        order = [field[i].name for i in noise.permutation(len(field))]
        made.append(Launch(number, seed + number, tuple(order), tuple(reversed(order)), 61.0))
        own = {each.name: each.step * math.exp(noise.normal(0, each.between)) for each in field}
        for each in field:
            phases += _phases(each, own[each.name], number, of.task, noise)
            warm_ups.append(_warm_up(each, own[each.name], number, of.task, noise))
        for turn in range(1, rounds + 1):
            drift = math.exp(noise.normal(0, 0.01))
            for position, index in enumerate(noise.permutation(len(field))):
                each = field[index]
                times = own[each.name] * drift * np.exp(noise.normal(0, each.within, steps))
                times[noise.random(steps) < 0.02] *= 1.3
                blocks.append(Block(
                    number, turn, position, each.name, of.task, tuple(map(float, times)),
                    cpu=float(times.sum() * each.cores), faults=int(each.faults * steps),
                    foreign=float(abs(noise.normal(0, 0.01))), resume=float(times[0] * 1.2), loss=2.31))
    names = tuple(each.name for each in field)
    return Race(
        id="resnet18-{}-8f3a1c".format(of.task), case=of, contenders=names, margin=MARGIN,
        created="2026-11-20T14:03:07+00:00",
        command="photofinish race {} --task {} --batch {} {}".format(of.model, of.task, of.batch, " ".join(names)),
        machine={"cpu": "AMD EPYC 9B14", "cores": 2, "memory": 16 * 1024 * MIB, "kernel": "Linux 6.1",
                 "governor": "not visible", "noise": 0.011},
        versions={name: {"python": "3.11.7", name.partition(":")[0]: "2.13.0" if "torch" in name else "2.21.0",
                         "numpy": "2.3.1"} for name in names},
        launches=tuple(made), blocks=tuple(blocks), phases=tuple(phases), warm_ups=tuple(warm_ups),
        certificates=tuple(certificate(name, of.digest, task=of.task) for name in names),
        audit=tuple(itertools.chain.from_iterable(map(findings, names))))


def _phases(each: Runner, step: float, launch: int, task: str, noise: np.random.Generator) -> list[Phase]:
    """Launch 0 is the rehearsal: an empty compile cache, the default allocator."""
    wobble = math.exp(noise.normal(0, 0.05))
    compiling = each.cold if launch == 0 or each.warm is None else each.warm
    memory = each.memory if launch == 0 else each.memory * 1.3
    phases = (("start", each.start, 0.06), ("import", each.load, 0.35), ("build", each.build, 0.45),
              ("weights", 0.03, 0.5), ("compile:" + task, compiling, 0.95),
              ("first_step:" + task, compiling + step, 0.97), ("warm_up:" + task, step * each.settle * 1.3, 1.0))
    return [Phase(launch, each.name, name, seconds * wobble, int(memory * share),
                  cache="warm" if launch else "cold") for name, seconds, share in phases]


def _warm_up(each: Runner, step: float, launch: int, task: str, noise: np.random.Generator) -> WarmUp:
    curve = [step * (1 + 1.2 * math.exp(-i / (each.settle / 3))) * math.exp(noise.normal(0, each.within))
             for i in range(30)]
    return WarmUp(launch, each.name, task, tuple(curve), "warmup", each.settle)


FAILURES = (
    Failure("keras-jax:jit", "missing", "jax is not installed: pip install jax flax", phase="environment"),
    Failure("tensorflow:xla", "out of memory", "killed by the kernel at 15.2 GiB", 1, "compile:train",
            log="2026-11-20 14:05:11 W compilation is slow\nAllocation of 411041792 exceeds 10% of free memory\n"
                "Killed",
            command="photofinish race resnet18 tensorflow:xla --task train --batch 8"),
)


def decided() -> Result:
    return judge(race())


def inference() -> Result:
    field = tuple(replace(each, step=each.step * 0.31, cold=each.cold * 0.5,
                          warm=each.warm and each.warm * 0.5) for each in FIELD)
    return judge(race(field, of=case(task="infer"), seed=4))


def failures() -> Result:
    field = tuple(each for each in FIELD if each.name != "tensorflow:xla")
    of = race(field)
    names = of.contenders + tuple(each.contender for each in FAILURES)
    return judge(replace(of, contenders=names, failures=FAILURES))


def not_comparable() -> Result:
    of = race(FIELD[:3])
    certificates = tuple(certificate(name, of.case.digest, passed=name != "tensorflow:graph")
                         for name in of.contenders)
    return judge(replace(of, certificates=certificates))


def undecided() -> Result:
    field = tuple(replace(each, step=0.048, between=0.03) for each in FIELD[:2])
    return judge(race(field, launches=4, seed=3))


def equivalent() -> Result:
    field = (replace(FIELD[1], step=0.048, between=0.001), replace(FIELD[2], step=0.0481, between=0.001))
    return judge(race(field, launches=8, seed=5))


def placebo() -> Result:
    field = (replace(FIELD[1], between=0.001), replace(FIELD[1], name="torch:eager#2", between=0.001))
    return judge(race(field, launches=8, seed=6))


def mismatch() -> Result:
    of = race(FIELD[:3])
    odd = Finding("torch:eager", "matmul precision", "TF32", "float32", "error of a product against float64",
                  warning="torch:eager ran matrix products in TF32 in a matched race.")
    blind = Finding("torch:eager", "result type", "", "float32", warning="could not be probed")
    return judge(replace(of, audit=of.audit + (odd, blind)))


def alone() -> Result:
    of = race(FIELD[:1])
    names = of.contenders + tuple(each.contender for each in FAILURES)
    return judge(replace(of, contenders=names, failures=FAILURES))


def nobody() -> Result:
    of = replace(race(()), contenders=tuple(each.contender for each in FAILURES), failures=FAILURES)
    return judge(of)


def one_launch() -> Result:
    return judge(race(FIELD[:3], launches=1))


def crashed() -> Result:
    """One contender stopped in a late launch: it was timed, but is compared with nobody."""
    of = race(FIELD[:3])
    crash = Failure("tensorflow:graph", "crash", "signal 11", 5, "block:train", log="Segmentation fault",
                    command="photofinish race resnet18 tensorflow:graph")
    return judge(replace(of, failures=(crash,)))


def fallen() -> Result:
    """All were timed, and all stopped in a late launch."""
    of = race(FIELD[:2])
    return judge(replace(of, failures=tuple(Failure(name, "out of memory", "", 5, "block:train")
                                            for name in of.contenders)))


def uncertified() -> Result:
    return judge(replace(race(FIELD[:2]), certificates=()))


def crowd() -> Result:
    """More contenders than there are colours, with long names."""
    field = tuple(Runner("framework{}:mode[layout=channels_last,threads={}]".format(i, i), 0.03 * 1.09**i)
                  for i in range(1, 13))
    return judge(race(field, launches=3, rounds=3, steps=4))


SCENARIOS: dict[str, Callable[[], Result]] = {each.__name__: each for each in (
    decided, inference, failures, not_comparable, undecided, equivalent, placebo, mismatch, alone, nobody, one_launch,
    crashed, fallen, uncertified, crowd)}
