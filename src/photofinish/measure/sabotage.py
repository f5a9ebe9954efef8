"""Faults planted on purpose in any contender, so that the instrument can be tested on real frameworks.

Contender options: `handicap` makes every step longer by that share (0: by no more than looking at the clock costs, so
that two handicaps differ by nothing else); `fault` is one of FAULTS, from step number `at` on (counted from 1 over all
steps of the process, or over those of `task` alone: train or infer), in the process of `rank` alone where there are
several; `copies` is how often each layer copies its output needlessly; `float64` a layer that computes in that
precision, by its kind and its first input's shape (Conv:32x8x8); `input` milliseconds more until a batch comes out of
the input pipeline.

Layers are changed in the native model by frameworks/_<framework>/planted.py, found by that name: `copy(contestant,
graph, times)` and `widen(contestant, graph, nodes)`, called after each build. Either computes what it did before.
"""

import os
import resource
import time
from typing import Any, Dict, Iterator, List, Optional

import numpy as np

from photofinish.frameworks import Arrays, Given, Unsupported, beside
from photofinish.graph import Graph, Node
from photofinish.optimizers import Optimizer

OPTIONS = ("handicap", "fault", "at", "task", "rank", "copies", "float64", "input")
# crash: the process aborts; hang: a step never ends; memory: an allocation fails; nan: results are not
# numbers; wrong: one parameter is 0.1 % too large; gradient: all gradients are; bfloat16: products lose mantissa bits
# unannounced.
FAULTS = ("crash", "hang", "memory", "nan", "wrong", "gradient", "bfloat16")


class Sabotaged:
    """A contestant that behaves as the one inside it, apart from what was planted."""

    def __init__(self, contestant: Any, plan: Dict[str, str], framework: str = "") -> None:
        """Raises Unsupported where no layer of that framework can be changed."""
        self._contestant = contestant
        self._planted = beside(framework, "planted") if framework else None
        self._copies, self._widened = int(plan.get("copies", "0")), plan.get("float64", "")
        self._pause = float(plan.get("input", "0")) / 1000
        if (self._copies or self._widened) and self._planted is None:
            raise Unsupported("in {} nothing can be planted in a layer".format(framework))
        self._fault = plan.get("fault", "")
        self._at = int(plan.get("at", "1"))
        self._task = plan.get("task", "")
        self._handicap = float(plan["handicap"]) if "handicap" in plan else None
        self._steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._contestant, name)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self._contestant.build(graph, batch, optimizer)
        if self._planted is not None and self._copies:
            self._planted.copy(self._contestant, graph, self._copies)
        if self._planted is not None and self._widened:
            self._planted.widen(self._contestant, graph, meant(graph, self._widened))

    def fed(self, pipeline: Any) -> Any:
        """The input pipeline that this contender is given in the place of its own."""
        return Slow(pipeline, self._contestant, self._pause) if self._pause else pipeline

    def train_step(self, batch: Any) -> Any:
        return self._step(self._contestant.train_step, batch, "train")

    def gradients(self, batch: Any) -> Arrays:
        arrays = self._contestant.gradients(batch)
        if self._fault == "gradient":
            arrays = {name: values * np.float32(1.001) if name.startswith("gradient/") else values
                      for name, values in arrays.items()}
        return arrays  # type: ignore[no-any-return]

    def infer(self, batch: Any) -> Any:
        return self._step(self._contestant.infer, batch, "infer")

    def put(self, arrays: Given) -> None:
        if self._fault == "wrong":
            name = next(key for key in sorted(arrays) if key.startswith("parameter/"))
            arrays = dict(arrays, **{name: arrays[name] * np.float32(1.001)})
        self._contestant.put(arrays)

    def read(self, handle: Any) -> Arrays:
        arrays = self._contestant.read(handle)
        return {name: values * np.nan for name, values in arrays.items()} if self._due("nan") else arrays

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if self._fault == "bfloat16":
            arrays = {key: _to_bfloat16(values) for key, values in arrays.items()}
        return self._contestant.probe(name, arrays)  # type: ignore[no-any-return]

    def _step(self, run: Any, batch: Any, task: str) -> Any:
        if self._task in ("", task):
            self._steps += 1
            self._fail()
        begin = time.perf_counter()
        handle = run(batch)
        if self._handicap is not None:
            self._contestant.wait(handle)
            until = begin + (time.perf_counter() - begin) * (1 + self._handicap)
            while time.perf_counter() < until:
                pass
        return handle

    def _fail(self) -> None:
        if self._due("crash"):
            os.abort()
        if self._due("hang"):
            time.sleep(3600)
        if self._due("memory"):
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, resource.RLIM_INFINITY))
            np.ones(1 << 36)  # far beyond the limit just set: the allocator itself refuses

    def _due(self, fault: str) -> bool:
        return self._fault == fault and self._steps >= self._at


class Slow:
    """An input pipeline that hands out each batch so many seconds late."""

    def __init__(self, pipeline: Any, contestant: Any, seconds: float) -> None:
        self._pipeline = pipeline
        self._contestant = contestant
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pipeline, name)

    def batches(self) -> Iterator[Any]:
        for batch in self._pipeline.batches():
            self._contestant.rest_until(self._contestant.clock() + self._seconds)
            yield batch


def meant(graph: Graph, told: str) -> List[Node]:
    """The layers of a kind with a first input of that shape: none in the graph of another layer."""
    kind, _, shape = told.partition(":")
    return [node for node in graph.nodes if type(node.layer).__name__ == kind
            and shape in ("", "x".join(map(str, graph.input_specs(node)[0].shape)))]


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    """Keeps 8 bits of the significand, as a bfloat16 unit does with its inputs."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32)
