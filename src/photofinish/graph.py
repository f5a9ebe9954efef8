"""A model as a value: the nodes recorded by running a plain function on symbolic tensors.

`record` runs the function once; `Graph` is what everything else stands on: shapes, parameter and MAC
counts, weight names, the digest that makes two results comparable, JSON, and every native model.
"""

import hashlib
import json
import re
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from photofinish.layers import KINDS, Add, Layer, Multiply, Parameter, Shape, Spec, layer_fields


@dataclass(frozen=True)
class Node:
    """One use of a layer. `name` is its scope path and the name of its first output.

    `parameters` and `state` map the layer's own names to names in the graph: two nodes that share a
    parameter name the same one.
    """

    name: str
    layer: Layer
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    parameters: Tuple[Tuple[str, str], ...] = ()
    state: Tuple[Tuple[str, str], ...] = ()
    training_only: bool = False


@dataclass(frozen=True)
class Loss:
    """A term of the training loss: `weight` times the mean of `layer(prediction, target)`."""

    layer: Layer
    prediction: str
    target: str
    weight: float = 1.0


@dataclass(frozen=True)
class Graph:
    """A recorded model. `inputs` and `targets` are (name, Spec) pairs; nodes are in running order."""

    inputs: Tuple[Tuple[str, Spec], ...]
    nodes: Tuple[Node, ...]
    outputs: Tuple[str, ...]
    targets: Tuple[Tuple[str, Spec], ...] = ()
    losses: Tuple[Loss, ...] = ()
    _cache: Dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def specs(self) -> "Dict[str, Spec]":
        """Every tensor of the graph by name."""
        if "specs" not in self._cache:
            specs = OrderedDict(self.inputs + self.targets)
            for node in self.nodes:
                specs.update(zip(node.outputs, node.layer.outputs(*(specs[name] for name in node.inputs))))
            self._cache["specs"] = specs
        return self._cache["specs"]  # type: ignore[no-any-return]

    def spec(self, tensor: str) -> Spec:
        return self.specs[tensor]

    def input_specs(self, node: Node) -> Tuple[Spec, ...]:
        return tuple(self.specs[name] for name in node.inputs)

    @property
    def parameters(self) -> "Dict[str, Parameter]":
        """Every trainable parameter by its name in the graph; a shared one appears once."""
        return self._declared("parameters")

    @property
    def state(self) -> "Dict[str, Parameter]":
        """Every array that training updates without a gradient (BatchNorm's running statistics)."""
        return self._declared("state")

    def _declared(self, what: str) -> "Dict[str, Parameter]":
        if what not in self._cache:
            found: OrderedDict[str, Parameter] = OrderedDict()
            for node in self.nodes:
                own = {each.name: each for each in getattr(node.layer, what)(*self.input_specs(node))}
                for local, name in getattr(node, what):
                    found.setdefault(name, replace(own[local], name=name))
            self._cache[what] = found
        return self._cache[what]  # type: ignore[no-any-return]

    @property
    def parameter_count(self) -> int:
        """Trainable values, shared ones counted once."""
        return sum(_count(each.shape) for each in self.parameters.values())

    @property
    def state_count(self) -> int:
        return sum(_count(each.shape) for each in self.state.values())

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one sample's inference: convolution, linear and attention products."""
        return sum(node.layer.macs(*self.input_specs(node)) for node in self.nodes if not node.training_only)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON: equal digests mean the same computation and the same names."""
        if "digest" not in self._cache:
            text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
            self._cache["digest"] = hashlib.sha256(text.encode()).hexdigest()
        return self._cache["digest"]  # type: ignore[no-any-return]

    @property
    def random_nodes(self) -> Tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.layer.random)

    def with_layers(self, change: Callable[[Node], Layer]) -> "Graph":
        """The same wiring with each node's layer replaced by `change(node)`; names stay."""
        return replace(self, nodes=tuple(replace(node, layer=change(node)) for node in self.nodes))

    def without_randomness(self) -> "Graph":
        """The same model with every dropout rate at zero: what the certificate compares step by step."""
        def calm(node: Node) -> Layer:
            return replace(node.layer, rate=0.0) if node.layer.random else node.layer  # type: ignore[type-var, call-arg, return-value]
        return self.with_layers(calm)

    def to_json(self) -> Dict[str, Any]:
        return {
            "inputs": [[name, _spec_json(spec)] for name, spec in self.inputs],
            "targets": [[name, _spec_json(spec)] for name, spec in self.targets],
            "nodes": [_node_json(node) for node in self.nodes],
            "outputs": list(self.outputs),
            "losses": [{"layer": _layer_json(loss.layer), "prediction": loss.prediction,
                        "target": loss.target, "weight": loss.weight} for loss in self.losses],
        }

    @classmethod
    def from_json(cls, data: Dict[str, Any]) -> "Graph":
        return cls(
            inputs=tuple((name, _spec(spec)) for name, spec in data["inputs"]),
            targets=tuple((name, _spec(spec)) for name, spec in data["targets"]),
            nodes=tuple(_node(node) for node in data["nodes"]),
            outputs=tuple(data["outputs"]),
            losses=tuple(Loss(_layer(loss["layer"]), loss["prediction"], loss["target"], loss["weight"])
                         for loss in data["losses"]),
        )


class Tensor:
    """A symbolic tensor: what a model function receives and returns while it is recorded."""

    def __init__(self, name: str, spec: Spec) -> None:
        self.name = name
        self.spec = spec

    @property
    def channels(self) -> int:
        return self.spec.size("C")

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    def __add__(self, other: "Tensor") -> "Tensor":
        return apply(Add(), self, other)[0]

    def __mul__(self, other: "Tensor") -> "Tensor":
        return apply(Multiply(), self, other)[0]

    def __repr__(self) -> str:
        return "Tensor({}, {}{})".format(self.name, self.spec.axes, self.spec.shape)


class ModelError(ValueError):
    """A model function that cannot be recorded: names the layer and what did not fit."""


class _Recorder:
    def __init__(self, inputs: Iterable[str]) -> None:
        self.names = set(inputs)  # of the tensors so far
        self.shapes: Dict[str, Shape] = {}  # of the parameters so far
        self.nodes: List[Node] = []
        self.losses: List[Loss] = []
        self.targets: OrderedDict[str, Spec] = OrderedDict()
        self.scopes: List[str] = []
        self.counts: Dict[str, int] = {}
        self.training_only = False

    def path(self, name: str) -> str:
        return ".".join(self.scopes + [name])

    def number(self, base: str) -> str:
        """`base` with the next free number in this scope: conv1, conv2, ..."""
        key = self.path(base)
        self.counts[key] = self.counts.get(key, 0) + 1
        return "{}{}".format(base, self.counts[key])


_recorders: List[_Recorder] = []


def _recorder() -> _Recorder:
    if not _recorders:
        raise ModelError("layers can only be called while a model is recorded: pass the function to record()")
    return _recorders[-1]


def apply(layer: Layer, *inputs: Tensor, name: str = "", share: Optional[Dict[str, str]] = None) -> Tuple[Tensor, ...]:
    """Records one use of a layer; returns its output tensors.

    `name` defaults to the kind and a number. `share` maps the layer's own parameter names to names of
    parameters that exist already (tied weights). Raises ModelError if inputs, name or shares do not fit.
    """
    recorder = _recorder()
    path = recorder.path(name or recorder.number(_snake(type(layer).__name__)))
    if path in recorder.names:
        raise ModelError("two tensors are named {}: give one of them another name".format(path))
    specs = tuple(tensor.spec for tensor in inputs)
    try:
        outputs = layer.outputs(*specs)
        parameters = layer.parameters(*specs)
    except (ValueError, KeyError) as error:
        raise ModelError("{} ({}): {}".format(path, type(layer).__name__, error.args[0])) from error
    names = (path,) + tuple("{}:{}".format(path, i) for i in range(1, len(outputs)))
    shared = share or {}
    own = tuple((each.name, shared.get(each.name, path + "." + each.name)) for each in parameters)
    for each, (_, parameter) in zip(parameters, own):
        if each.name in shared and recorder.shapes.get(parameter) != each.shape:
            raise ModelError("{} ({}): the {} it shares, {}, should have shape {} but is {}".format(
                path, type(layer).__name__, each.name, parameter, each.shape,
                recorder.shapes.get(parameter, "absent")))
        recorder.shapes.setdefault(parameter, each.shape)
    recorder.names.update(names)
    recorder.nodes.append(Node(
        path, layer, tuple(tensor.name for tensor in inputs), names, own,
        tuple((each.name, path + "." + each.name) for each in layer.state(*specs)),
        recorder.training_only))
    return tuple(Tensor(each, spec) for each, spec in zip(names, outputs))


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Layers recorded inside are named `name.<layer>`; a name used twice is numbered."""
    recorder = _recorder()
    key = recorder.path(name)
    seen = recorder.counts.get("scope " + key, 0)
    recorder.counts["scope " + key] = seen + 1
    recorder.scopes.append(name if not seen else "{}_{}".format(name, seen + 1))
    try:
        yield
    finally:
        recorder.scopes.pop()


def block(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: each call of the function is a numbered scope of its own (bottleneck1, bottleneck2)."""
    def call(*args: Any, **kwargs: Any) -> Any:
        with scope(_recorder().number(function.__name__)):
            return function(*args, **kwargs)
    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    return call


@contextmanager
def training_only() -> Iterator[None]:
    """Layers recorded inside exist in training and are left out of inference (an auxiliary head)."""
    recorder = _recorder()
    before, recorder.training_only = recorder.training_only, True
    try:
        yield
    finally:
        recorder.training_only = before


def loss(layer: Layer, prediction: Tensor, target: str, target_spec: Spec, weight: float = 1.0) -> None:
    """Adds a term to the training loss; `target` names an input that exists in training only."""
    recorder = _recorder()
    try:
        layer.outputs(prediction.spec, target_spec)
    except ValueError as error:
        raise ModelError("{} of {}: {}".format(type(layer).__name__, prediction.name, error)) from error
    if recorder.targets.setdefault(target, target_spec) != target_spec:
        raise ModelError("target {} is used with two shapes".format(target))
    recorder.losses.append(Loss(layer, prediction.name, target, weight))


def record(function: Callable[..., Any], inputs: Dict[str, Spec]) -> Graph:
    """Runs `function(*tensors)` on symbolic inputs and returns the graph of what it did.

    Raises ModelError, naming the layer, when a layer's inputs do not fit it.
    """
    recorder = _Recorder(inputs)
    tensors = [Tensor(name, spec) for name, spec in inputs.items()]
    _recorders.append(recorder)
    try:
        result = function(*tensors)
    finally:
        _recorders.pop()
    outputs = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(each, Tensor) for each in outputs):
        raise ModelError("the model must return a tensor or a tuple of tensors, not {!r}".format(result))
    return Graph(tuple(inputs.items()), tuple(recorder.nodes), tuple(each.name for each in outputs),
                 tuple(recorder.targets.items()), tuple(recorder.losses))


def _snake(word: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", word).lower()


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _spec_json(spec: Spec) -> List[Any]:
    return [spec.axes, list(spec.shape), spec.dtype, list(spec.flattened)]


def _spec(data: Sequence[Any]) -> Spec:
    return Spec(data[0], tuple(data[1]), data[2], tuple(data[3]))


def _layer_json(layer: Layer) -> Dict[str, Any]:
    values = {name: {"graph": value.to_json()} if isinstance(value, Graph) else value
              for name, value in layer_fields(layer).items()}
    return dict(values, kind=type(layer).__name__)


def _layer(data: Dict[str, Any]) -> Layer:
    values = {name: _field(value) for name, value in data.items() if name != "kind"}
    return KINDS[data["kind"]](**values)


def _field(value: Any) -> Union[Graph, Tuple[Any, ...], Any]:
    if isinstance(value, dict) and "graph" in value:
        return Graph.from_json(value["graph"])
    return tuple(value) if isinstance(value, list) else value


def _node_json(node: Node) -> Dict[str, Any]:
    return {"name": node.name, "layer": _layer_json(node.layer), "inputs": list(node.inputs),
            "outputs": list(node.outputs), "parameters": [list(pair) for pair in node.parameters],
            "state": [list(pair) for pair in node.state], "training_only": node.training_only}


def _node(data: Dict[str, Any]) -> Node:
    return Node(data["name"], _layer(data["layer"]), tuple(data["inputs"]), tuple(data["outputs"]),
                tuple((local, name) for local, name in data["parameters"]),
                tuple((local, name) for local, name in data["state"]), data["training_only"])
