"""A training step of resnet18 on an NVIDIA H200, as the profilers of PyTorch 2.11.0 and JAX 0.11.2 told it in November
2026: where it goes agrees with what is counted of its streams alone.

traces/*.json.gz are that step's events, times in nanoseconds. Of PyTorch: name, device, begin, length, thread, stream,
correlation; of JAX: plane, line, name, begin, length.
"""

import gzip
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish.frameworks import Unsupported
from photofinish.frameworks._jax import profile as of_jax
from photofinish.frameworks._ranks.intervals import union
from photofinish.frameworks._torch import profile as of_torch
from photofinish.measure.profile import placed
from photofinish.values import Event, ProfiledStep
from photofinish.values.profile import COMPILING, COPIES, DISPATCH, KERNELS, OPTIMIZER, STEP, UNPLACED

Rows = list[list[Any]]


def rows(name: str) -> Rows:
    found: Rows = json.loads(gzip.decompress((Path(__file__).parent / "traces" / f"{name}.json.gz").read_bytes()))
    return found


class Kineto:
    """One event of PyTorch's profiler."""

    def __init__(self, row: list[Any]) -> None:
        self.row = row

    def __getattr__(self, name: str) -> Callable[[], Any]:
        place = ("name", "device_type", "start_ns", "duration_ns", "start_thread_id", "device_resource_id",
                 "correlation_id").index(name)
        value = self.row[place]
        return lambda: SimpleNamespace(name=value) if name == "device_type" else value


def planes(of: Rows) -> SimpleNamespace:
    """What JAX's profiler writes."""
    found: dict[str, dict[str, list[SimpleNamespace]]] = {}
    for plane, line, name, begin, length in of:
        event = SimpleNamespace(name=name, start_ns=begin, duration_ns=length)
        found.setdefault(plane, {}).setdefault(line, []).append(event)
    return SimpleNamespace(planes=[
        SimpleNamespace(name=plane, lines=[SimpleNamespace(name=line, events=events) for line, events in lines.items()])
        for plane, lines in found.items()])


def of(name: str) -> tuple[list[Event], ProfiledStep]:
    """The events of that trace, and where its step goes."""
    rules, told = (of_jax, list(of_jax.told(planes(rows(name))))) if name.startswith("jax") else \
        (of_torch, of_torch.told([Kineto(row) for row in rows(name)]))
    (step,) = placed(told, rules.RULES, rules.FUSED)
    return told, step


@pytest.mark.parametrize("name", ["torch-eager", "torch-cudagraphs", "jax-jit"])
def test_kernels_are_what_runs_on_streams(name: str) -> None:
    told, step = of(name)
    (begin, end), = ((each.begin, each.begin + each.seconds) for each in told if each.name == STEP)
    streamed = union((each.begin, each.begin + each.seconds) for each in told if each.thread < 0)
    busy = sum(min(stop, end) - max(start, begin) for start, stop in streamed if start < end and stop > begin)
    computed = step.where[KERNELS] + step.where[COPIES]
    assert 0 < computed <= busy + 1e-9 <= computed + step.where[OPTIMIZER] + 2e-9
    assert step.where[DISPATCH] > 0.1 * step.seconds  # a small step: the host cannot keep a H200 busy
    assert step.where[UNPLACED] < 0.01 * step.seconds and step.where[COMPILING] == 0
    assert sum(step.where.values()) == pytest.approx(step.seconds)


def test_operators_of_pytorch_launch_kernels_and_are_none() -> None:
    told, step = of("torch-eager")
    kernels = [each for each in rows("torch-eager") if each[1] == "CUDA" and each[0] != STEP]
    annotated = {each[0] for each in rows("torch-eager") if each[1] == "CPU"}
    updates = sum(each.name.startswith("Optimizer.") and each.thread >= 0 for each in told)  # steps and zeroing
    assert step.kernels == sum(each[0] not in annotated for each in kernels) + updates
    assert sum(each.name.startswith("Optimizer.") and each.thread < 0 for each in told) > 0


def test_what_jax_converts_for_cudnn_is_layout() -> None:
    """Its images are channels last, the kernels of strict float32 are not."""
    told, step = of("jax-jit")
    assert sum("nhwcToNchw" in each.name for each in told if each.thread < 0) > 50 and step.where[COPIES] > 0
    assert step.fused is not None and 0 < step.fused < step.kernels


@pytest.mark.parametrize(("framework", "contestant"), [
    ("tensorflow", SimpleNamespace(setup=SimpleNamespace(device="cuda"))),
    ("onnxruntime", SimpleNamespace(kind="cuda"))])
def test_who_would_take_launches_for_kernels_tells_nothing(framework: str, contestant: SimpleNamespace) -> None:
    watch = import_module(f"photofinish.frameworks._{framework}.profile").watch
    with pytest.raises(Unsupported, match="on a GPU nobody has seen one"):
        watch(contestant, lambda batch: None, [None])
