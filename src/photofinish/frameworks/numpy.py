# /// script
# requires-python = ">=3.6"
# dependencies = ["numpy"]
# [tool.photofinish]
# title = "NumPy (the referee's reference)"
# modes = ["reference"]
# devices = ["cpu"]
# options = {}
# ///
"""The referee's reference: a graph walked node by node, there and back, in float64 unless asked otherwise.

What each layer computes is in _numpy/.
"""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from photofinish import frameworks, layers, optimizers
from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._numpy import RULES as LAYER_RULES
from photofinish.frameworks._numpy.base import Pull, Ruled, Rules, Use
from photofinish.graph import Graph, Node


def _accumulate(total: Arrays, name: str, gradient: Optional[np.ndarray]) -> None:
    if gradient is not None:
        total[name] = total[name] + gradient if name in total else gradient


class Pass:
    """A run over a graph's nodes. In training it remembers how to walk back, once."""

    def __init__(self, graph: Graph, tensors: Arrays, parameters: Arrays, state: Arrays, training: bool,
                 generator: np.random.RandomState) -> None:
        self.tensors = dict(tensors)
        self.new_state: Arrays = {}
        self.tape: List[Tuple[Node, Use, Pull]] = []
        for node in graph.nodes:
            if node.training_only and not training:
                continue
            use = Use(node.layer, graph.input_specs(node), {own: parameters[name] for own, name in node.parameters},
                      {own: state[name] for own, name in node.state}, training, generator)
            result, pull = RULES[type(node.layer)](use, *(self.tensors[name] for name in node.inputs))
            self.tensors.update(zip(node.outputs, result if isinstance(result, tuple) else (result,)))
            if training:
                self.new_state.update({name: use.new_state[own] for own, name in node.state})
                self.tape.append((node, use, pull))

    def back(self, seeds: Arrays) -> Tuple[Arrays, Arrays]:
        """From gradients of tensors to gradients of (tensors, parameters), where any reach them."""
        tensors, parameters = dict(seeds), {}  # type: Tuple[Arrays, Arrays]
        while self.tape:  # emptied on the way, so that memory is freed
            node, use, pull = self.tape.pop()
            if not any(name in tensors for name in node.outputs):
                continue
            arriving = [tensors[name] if name in tensors else np.zeros_like(self.tensors[name])
                        for name in node.outputs]
            for name, gradient in zip(node.inputs, pull(*arriving)):
                _accumulate(tensors, name, gradient)
            for own, name in node.parameters:
                _accumulate(parameters, name, use.gradients.get(own))
        return tensors, parameters


def scan(use: Use, carry: np.ndarray, sequence: np.ndarray) -> Ruled:
    body, time = use.layer.body, 1 + use.specs[1].axes.index("T")
    (carry_in, _), (step_in, _) = body.inputs
    carry_out, step_out = body.outputs
    steps: List[Pass] = []
    for x in np.moveaxis(sequence, time, 0):
        steps.append(Pass(body, {carry_in: carry, step_in: x}, use.parameters, {}, use.training, use.generator))
        carry = steps[-1].tensors[carry_out]

    def pull(gradient: np.ndarray, outputs: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        inputs = np.zeros_like(sequence)
        slices = np.moveaxis(inputs, time, 0)  # a view: filling it fills `inputs`
        for t in reversed(range(len(steps))):
            seeds: Arrays = {}
            _accumulate(seeds, carry_out, gradient)
            _accumulate(seeds, step_out, outputs[:, t])
            tensors, parameters = steps[t].back(seeds)
            gradient = tensors.get(carry_in, np.zeros_like(gradient))
            slices[t] = tensors.get(step_in, 0)
            for name in parameters:
                _accumulate(use.gradients, name, parameters[name])
        return gradient, inputs

    return (carry, np.stack([step.tensors[step_out] for step in steps], 1)), pull


RULES: Rules = dict(LAYER_RULES)
RULES[layers.Scan] = scan


# Updates: the new parameter; slots are replaced in the dictionary given

def sgd(rule: optimizers.SGD, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
    slots["velocity"] = rule.momentum * slots["velocity"] + gradient
    return value - rule.learning_rate * slots["velocity"]


def adam(rule: optimizers.Adam, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
    slots["moment1"] = rule.beta1 * slots["moment1"] + (1 - rule.beta1) * gradient
    slots["moment2"] = rule.beta2 * slots["moment2"] + (1 - rule.beta2) * gradient * gradient
    mean = slots["moment1"] / (1 - rule.beta1 ** step)
    square = slots["moment2"] / (1 - rule.beta2 ** step)
    return value - rule.learning_rate * mean / (np.sqrt(square) + rule.epsilon)


UPDATES: Dict[type, Callable[..., np.ndarray]] = {optimizers.SGD: sgd, optimizers.Adam: adam}


class Contestant(frameworks.Contestant):
    """Runs a graph node by node, in the precision of its setup."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode != "reference" or setup.device != "cpu":
            raise Unsupported("numpy runs in mode reference on the cpu, not {} on {}".format(setup.mode, setup.device))
        if setup.precision not in ("float32", "float64"):
            raise Unsupported("numpy computes in float32 or float64, not {}".format(setup.precision))
        self.dtype = np.dtype(setup.precision)
        self.generator = np.random.RandomState(setup.seed)
        self.parameters: Arrays = {}
        self.state: Arrays = {}
        self.slots: Dict[str, Arrays] = {}
        self.step = 0

    def facts(self) -> Dict[str, Any]:
        return {"version": np.__version__, "device": "cpu", "precision": self.setup.precision}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        for node in graph.nodes:
            if isinstance(node.layer, layers.Scan) and node.layer.body.state:
                raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        self.graph = graph
        self.optimizer = optimizer

    def put(self, arrays: Given) -> None:
        def loaded(group: str, name: str) -> np.ndarray:
            return np.array(arrays["{}/{}".format(group, name)], self.dtype)

        self.parameters = {name: loaded("parameter", name) for name in self.graph.parameters}
        self.state = {name: loaded("state", name) for name in self.graph.state}
        self.step = int(arrays.get("step", 0))
        slots = self.optimizer.slots if self.optimizer else ()
        self.slots = {name: {slot: loaded(slot, name) if slot + "/" + name in arrays else np.zeros_like(value)
                             for slot in slots} for name, value in self.parameters.items()}

    def get(self) -> Arrays:
        arrays = {"parameter/" + name: value.copy() for name, value in self.parameters.items()}
        arrays.update({"state/" + name: value.copy() for name, value in self.state.items()})
        for name, slots in self.slots.items():
            arrays.update({"{}/{}".format(slot, name): value.copy() for slot, value in slots.items()})
        arrays["step"] = np.array(self.step, np.int64)
        return arrays

    def feed(self, arrays: Arrays) -> Arrays:
        return {name: np.array(value, self.dtype if value.dtype.kind == "f" else value.dtype)
                for name, value in arrays.items()}

    def _forward(self, batch: Arrays, training: bool) -> Pass:
        return Pass(self.graph, batch, self.parameters, self.state, training, self.generator)

    def _backward(self, run: Pass) -> Tuple[np.ndarray, Arrays]:
        """The training loss, and its gradient for every parameter (zero where none arrives)."""
        loss, seeds = np.zeros((), self.dtype), {}  # type: Tuple[np.ndarray, Arrays]
        for term in self.graph.losses:
            use = Use(term.layer, (self.graph.spec(term.prediction), self.graph.spec(term.target)), {}, {}, True,
                      self.generator)
            values, pull = RULES[type(term.layer)](use, run.tensors[term.prediction], run.tensors[term.target])
            loss = loss + (term.weight * values.mean()).astype(self.dtype)
            _accumulate(seeds, term.prediction, pull(np.full_like(values, term.weight / values.size))[0])
        _, gradients = run.back(seeds)
        return loss, {name: gradients.get(name, np.zeros_like(value)) for name, value in self.parameters.items()}

    def train_step(self, batch: Arrays) -> Arrays:
        if self.optimizer is None:
            raise Unsupported("a training step needs an optimizer: give build one")
        run = self._forward(batch, training=True)
        loss, gradients = self._backward(run)
        self.state.update(run.new_state)
        self.step += 1
        update = UPDATES[type(self.optimizer)]
        for name, value in self.parameters.items():
            self.parameters[name] = update(self.optimizer, self.step, value, gradients[name], self.slots[name])
        return {"loss": loss}

    def infer(self, batch: Arrays) -> Arrays:
        run = self._forward(batch, training=False)
        return {"output/" + name: run.tensors[name] for name in self.graph.outputs if name in run.tensors}

    def gradients(self, batch: Arrays) -> Arrays:
        run = self._forward(batch, training=True)
        loss, gradients = self._backward(run)
        arrays = {"gradient/" + name: value for name, value in gradients.items()}
        arrays.update({"output/" + name: run.tensors[name] for name in self.graph.outputs})
        return dict(arrays, loss=loss)

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: NumPy has finished when it returns."""

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.array(value) for name, value in handle.items()}
