# /// script
# requires-python = ">=3.6"
# dependencies = ["numpy"]
# [tool.photofinish]
# title = "Fake (computes with the reference, tells the time it is told)"
# modes = ["steady", "forward", "coarse"]
# tasks = { forward = ["infer"] }
# precisions = { coarse = ["bfloat16", "steady"] }
# devices = ["cpu"]
# [tool.photofinish.options]
# step = []
# sample = []
# noise = []
# launch = []
# compile = []
# memory = []
# item = []
# fits = []
# device = []
# joules = []
# node = []
# slow = []
# [tool.photofinish.strategies]
# mean = { modes = ["steady"], devices = ["cpu"], options = { sync = [] } }
# ///
"""A contender that computes with the referee's reference and whose clock follows a script.

It runs the whole house end to end with nothing installed. Options: `step` seconds of a training step, and `sample`
seconds more for each sample of its batch (an inference takes a third), `noise` and `launch` the standard deviations of
log time within and between launches, `compile` seconds added to the first step of each batch size, `memory` MiB that it
holds besides, `item` MiB more for each sample of a batch, `fits` the largest batch before it says that memory is out,
`device` MiB that it says a device's allocator has, and twice as much at most, `joules` what a training step spends (an
inference a third), which a scripted sensor then counts, `node` seconds more for each node of the graph, `slow` a kind
of layer with how many times as long its nodes take (Conv:3). Of a strategy `sync` is what its processes add to a step.
In mode forward it is an inference engine: it trains nothing. In mode coarse it computes with weights and inputs rounded
to bfloat16, as mixed precision does.
"""

import os
from pathlib import Path
from typing import Any, Dict, Optional, Set

import numpy as np

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.frameworks.numpy import Pass
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

SENSOR = "PHOTOFINISH_SENSOR"  # the folder in which it says what it spends


class Contestant(Reference):
    """The NumPy reference with a clock of its own."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(Setup("reference", {}, setup.device, setup.threads, setup.precision, setup.regime, setup.seed))
        self.trains = setup.mode != "forward"
        self.coarse = setup.mode == "coarse"
        script = setup.options
        self.random = np.random.RandomState(int.from_bytes(os.urandom(4), "little"))
        self.noise = float(script.get("noise", "0.01"))
        self.speed = float(np.exp(float(script.get("launch", "0")) * self.random.standard_normal()))
        self.start_seconds = float(script.get("step", "0.01"))
        self.node_seconds = float(script.get("node", "0"))
        self.slow, _, times = script.get("slow", "").partition(":")
        self.times = float(times or "1")
        self.copying = 0.0  # seconds of a step in copies that were planted
        self.sample_seconds = float(script.get("sample", "0"))
        self.compiling = float(script.get("compile", "0"))  # what the first step of a batch size pays on top
        self.compiled: Set[int] = set()
        self.held = np.ones(int(script.get("memory", "0")) << 20, np.uint8)  # written, so that it is resident
        self.item = float(script.get("item", "0"))
        self.device_now = int(script["device"]) << 20 if "device" in script else None
        self.fits = int(script.get("fits", str(1 << 30)))
        self.joules = float(script.get("joules", "0"))
        self.spent, self.ledger = 0.0, "{}.joules".format(os.urandom(8).hex())
        self.now = 0.0
        self.clock = lambda: self.now

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        nodes = sum(self.times if type(node.layer).__name__ == self.slow else 1.0 for node in graph.nodes)
        self.step_seconds = self.speed * (self.start_seconds + batch * self.sample_seconds + nodes * self.node_seconds)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), title="fake")

    def train_step(self, batch: Any) -> Any:
        self._refuse()
        self._pass_time(1.0, batch)
        return super().train_step(batch)

    def gradients(self, batch: Any) -> Arrays:
        self._refuse()
        return super().gradients(batch)

    def infer(self, batch: Any) -> Any:
        self._pass_time(1.0 / 3.0, batch)
        return super().infer(batch)

    def device_memory(self) -> Optional[Dict[str, int]]:
        return None if self.device_now is None else {"now": self.device_now, "peak": 2 * self.device_now}

    def rest_until(self, moment: float) -> None:
        self.now = max(self.now, moment)

    def _forward(self, batch: Arrays, training: bool) -> Pass:
        exact = self.parameters
        if self.coarse:
            self.parameters, batch = _rounded(exact), _rounded(batch)
        try:
            return super()._forward(batch, training)
        finally:
            self.parameters = exact

    def _refuse(self) -> None:
        if not self.trains:
            raise Unsupported("fake:forward runs inference only")

    def compilations(self) -> int:
        return len(self.compiled) if self.compiling else 0

    def _pass_time(self, share: float, batch: Arrays) -> None:
        size = len(next(iter(batch.values())))
        if size > self.fits:
            raise MemoryError("a batch of {} where {} fit".format(size, self.fits))
        np.ones(int(self.item * size * 2 ** 20), np.uint8)
        noise = float(np.exp(self.noise * self.random.standard_normal()))
        coming = 0.0 if size in self.compiled else self.compiling
        self.compiled.add(size)
        self.now += share * self.step_seconds * noise + coming
        if self.joules and SENSOR in os.environ:
            self.spent += share * self.joules
            (Path(os.environ[SENSOR]) / self.ledger).write_text(repr(self.spent))


def _rounded(arrays: Arrays) -> Arrays:
    """Every float to the nearest bfloat16."""
    return {name: _bfloat16(values) if values.dtype.kind == "f" else values for name, values in arrays.items()}


def _bfloat16(values: np.ndarray) -> np.ndarray:
    fraction, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(fraction, 8)), exponent - 8).astype(values.dtype))
