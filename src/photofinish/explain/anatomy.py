"""A model taken apart: its distinct layers, each as a graph of its own that can be timed alone.

A layer stands in a scaffold, because a training step needs something to train on both sides: before each input whose
gradient the model needs, a learned factor per channel (ChannelScale); behind each output that the model uses, a mean
over the positions of an image and one learned logit with its loss. What the scaffold takes is timed on its own, for
each shape (`scaffold`), and for the smallest of each kind of shape (`tiny`) with and without the factor before it, from
which `explain.layers` knows what to subtract. A chain of operations on one value (CHAIN) tells what any operation costs
before it has computed anything.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from photofinish.graph import Graph, Node, Tensor, apply, loss, record
from photofinish.layers import (
    BinaryCrossEntropy,
    ChannelScale,
    Flatten,
    GlobalAveragePool,
    Layer,
    Linear,
    Sigmoid,
    Spec,
    layer_fields,
)
from photofinish.values import Part

SIMPLEST = "C"  # the axes of the scaffold that has one operation before a layer and one behind it
LINKS = 32
CHAIN = f"{LINKS} operations on one value"  # in the scaffold of one


@dataclass(frozen=True)
class Anatomy:
    """The distinct layers of a model in graph order, and the graph of each and of each scaffold by name. `untimed` are
    the nodes that only move integers, which no loss can follow."""

    parts: tuple[Part, ...]
    graphs: Mapping[str, Graph]
    untimed: tuple[str, ...] = ()


def spelled(spec: Spec) -> str:
    """A shape as the scaffold of it is called: "CHW 64x56x56"."""
    return f"{spec.axes} {'x'.join(map(str, spec.shape))}".strip()


def axes_of(edge: str) -> str:
    """CHW 64x56x56 -> CHW."""
    return edge.partition(" ")[0]


def tiny(axes: str, head: bool = True) -> str:
    """What the smallest scaffold of a kind of shape is called."""
    return spelled(_smallest(axes)) + ("" if head else " without its factor")


def _smallest(axes: str) -> Spec:
    return Spec(axes, (1,) * len(axes))


def anatomy(graph: Graph, training: bool) -> Anatomy:
    """Of what a training step runs, or only of what inference does."""
    learned, used = _learned(graph), _used(graph)
    found: dict[str, list[Node]] = {}
    graphs: dict[str, Graph] = {}
    untimed: list[str] = []
    for node in graph.nodes:
        if node.training_only and not training:
            continue
        outputs = _outputs(node, graph, used)
        if not outputs:
            untimed.append(node.name)
            continue
        alone = _alone(node.layer, graph.input_specs(node), _heads(node, graph, learned), outputs)
        key = f"{alone.digest}{node.training_only}"
        found.setdefault(key, []).append(node)
        graphs.setdefault(key, alone)
    parts = tuple(_part(nodes, graph, _heads(nodes[0], graph, learned), _outputs(nodes[0], graph, used))
                  for nodes in found.values())
    named = {part.name: graphs[key] for part, key in zip(parts, found)}
    return Anatomy(parts, {**named, **dict(_scaffolds(graph, parts))}, tuple(untimed))


def _learned(graph: Graph) -> set[str]:
    """The tensors that hang on a parameter: a step needs their gradients."""
    found: set[str] = set()
    for node in graph.nodes:
        if node.parameters or found & set(node.inputs):
            found.update(node.outputs)
    return found


def _used(graph: Graph) -> set[str]:
    return {*graph.outputs, *(name for node in graph.nodes for name in node.inputs),
            *(term.prediction for term in graph.losses)}


def _heads(node: Node, graph: Graph, learned: set[str]) -> tuple[bool, ...]:
    """Which inputs get a learned factor before them. A tensor without channels has no gradient here."""
    return tuple(name in learned and _scalable(graph.spec(name)) for name in node.inputs)


def _scalable(spec: Spec) -> bool:
    return "C" in spec.axes and spec.dtype.startswith("float")


def _outputs(node: Node, graph: Graph, used: set[str]) -> tuple[int, ...]:
    """Which outputs something is made of."""
    return tuple(i for i, name in enumerate(node.outputs)
                 if name in used and graph.spec(name).dtype.startswith("float"))


def _alone(layer: Layer, specs: tuple[Spec, ...], heads: tuple[bool, ...], outputs: tuple[int, ...]) -> Graph:
    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        fed = [_head(tensor, i) if head else tensor for i, (tensor, head) in enumerate(zip(tensors, heads))]
        results = apply(layer, *fed, name="layer")
        return tuple(_tail(results[i], i) for i in outputs)

    return record(run, OrderedDict((f"input{i}", _plain(spec)) for i, spec in enumerate(specs)))


def scaffold(spec: Spec, head: bool = True) -> Graph:
    """What a layer of one input and one output of that shape stands in, without the layer."""
    def run(tensor: Tensor) -> Tensor:
        return _tail(_head(tensor, 0) if head else tensor, 0)

    return record(run, {"input0": _plain(spec)})


def chain() -> Graph:
    """LINKS operations one after another in the smallest scaffold. No compiler makes fewer of them: a sigmoid of a
    sigmoid is nothing simpler."""
    def run(tensor: Tensor) -> Tensor:
        tensor = _head(tensor, 0)
        for link in range(LINKS):
            tensor, = apply(Sigmoid(), tensor, name=f"link{link}")
        return _tail(tensor, 0)

    return record(run, {"input0": _smallest(SIMPLEST)})


def _head(tensor: Tensor, i: int) -> Tensor:
    return apply(ChannelScale(), tensor, name=f"factor{i}")[0]


def _tail(tensor: Tensor, i: int) -> Tensor:
    """A loss of all values, so that none can be left uncomputed."""
    if tensor.spec.axes == "CHW":
        tensor, = apply(GlobalAveragePool(), tensor, name=f"mean{i}")
    elif not tensor.spec.axes.endswith("C"):
        tensor, = apply(Flatten(), tensor, name=f"flat{i}")
    logit, = apply(Linear(1), tensor, name=f"logit{i}")
    loss(BinaryCrossEntropy(), logit, f"target{i}", Spec(logit.spec.axes, logit.spec.shape))
    return logit


def _plain(spec: Spec) -> Spec:
    """Where its features came from does not matter to one layer."""
    return Spec(spec.axes, spec.shape, spec.dtype)


def _scaffolds(graph: Graph, parts: tuple[Part, ...]) -> Iterator[tuple[str, Graph]]:
    wanted = {name for part in parts for name in (*part.inputs, *part.outputs)}
    yield CHAIN, chain()
    for axes in sorted({SIMPLEST, *map(axes_of, wanted)}):
        for head in (True, False):
            yield tiny(axes, head), scaffold(_smallest(axes), head and "C" in axes)
    for spec in graph.specs.values():
        if spelled(spec) in wanted:
            yield spelled(spec), scaffold(spec, head=_scalable(spec))


def _part(nodes: list[Node], graph: Graph, heads: tuple[bool, ...], outputs: tuple[int, ...]) -> Part:
    node = nodes[0]
    described = _described(node.name, node.layer, graph.input_specs(node), heads, outputs)
    return replace(described, nodes=tuple(each.name for each in nodes), training_only=node.training_only,
                   places=tuple(map(graph.nodes.index, nodes)))


def _described(name: str, layer: Layer, specs: tuple[Spec, ...], heads: tuple[bool, ...],
               outputs: tuple[int, ...]) -> Part:
    """A layer that stands nowhere."""
    results = layer.outputs(*specs)
    fields = ", ".join(f"{field} {_told(value)}" for field, value in layer_fields(layer).items()
                       if not isinstance(value, Graph))
    return Part(name, type(layer).__name__, fields, tuple(map(spelled, specs)), (), (),
                tuple(spelled(spec) for spec, head in zip(specs, heads) if head),
                tuple(spelled(results[i]) for i in outputs), layer.macs(*specs),
                sum(prod(spec.shape) for spec in (*specs, *results)),
                sum(prod(each.shape) for each in layer.parameters(*specs)))


def with_part(taken: Anatomy, name: str, layer: Layer, spec: Spec) -> Anatomy:
    """The anatomy with one layer more, of one input and one output of that shape, which stands nowhere in the model."""
    part, alone = _described(name, layer, (spec,), (True,), (0,)), _alone(layer, (spec,), (True,), (0,))
    edges = {spelled(spec): spec, tiny(spec.axes): _smallest(spec.axes)}
    scaffolds = {edge: scaffold(of) for edge, of in edges.items()}
    bare = {tiny(spec.axes, head=False): scaffold(_smallest(spec.axes), head=False)}
    return replace(taken, parts=(*taken.parts, part), graphs={**taken.graphs, name: alone, **scaffolds, **bare})


def _told(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
