"""Wrong models made on purpose: every field of every layer, loss and optimizer changed, one at a time.

A certificate is only as good as what it refuses, so each mutant must be refused. Changes are small on
purpose: a real mistake (another default, a field left out) is larger.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from photofinish.graph import Graph, Loss, Node
from photofinish.layers import Spec, layer_fields
from photofinish.optimizers import Optimizer


@dataclass(frozen=True)
class Mutant:
    """One wrong model. `name` spells the change: "conv1 Conv.stride[0] 1 -> 2"."""

    name: str
    graph: Graph
    optimizers: tuple[Optimizer, ...]


def _kept_fraction(value: float) -> float:
    """What is forgotten each step grows by 1 %."""
    return 1 - (1 - value) * 1.01


def _more(value: float) -> float:
    return value * 1.01 or 0.01


# float fields by name; any other grows by 1 %, or from 0 to 0.01
FLOATS: Mapping[str, Callable[[float], float]] = {
    "epsilon": lambda value: 2 * value,
    "momentum": _kept_fraction, "beta1": _kept_fraction, "beta2": _kept_fraction,
}
WORDS: Mapping[str, Sequence[str]] = {"running_variance": ("sample", "population"), "approximate": ("none", "tanh")}


def mutants(graph: Graph, optimizers: Sequence[Optimizer]) -> Iterator[Mutant]:
    """Every mutant whose shapes still work; the others are refused by `graph.record` already."""
    for name, mutated in _graphs(graph):
        yield Mutant(name, mutated, tuple(optimizers))
    for index, optimizer in enumerate(optimizers):
        for change, mutated_optimizer in changed(optimizer, vars(optimizer)):
            others = tuple(optimizers[:index]) + (mutated_optimizer,) + tuple(optimizers[index + 1:])
            yield Mutant(change, graph, others)


def loadable(mutant: Graph, graph: Graph) -> bool:
    """Whether the graph's weights can be loaded into the mutant; where not, loading refuses it."""
    return all(_shapes(getattr(mutant, part)) == _shapes(getattr(graph, part)) for part in ("parameters", "state"))


def changed(value: Any, fields: Mapping[str, Any], specs: Sequence[Spec] = ()) -> Iterator[tuple[str, Any]]:
    """A frozen value with one field changed at a time, and how to spell the change."""
    for name, old in fields.items():
        for place, new in _changes(name, old, specs):
            where = f"{type(value).__name__}.{name}{place}"
            told = where if isinstance(old, Graph) else f"{where} {old} -> {new}"
            yield told, replace(value, **{name: new})


def _changes(name: str, old: Any, specs: Sequence[Spec]) -> Iterator[tuple[str, Any]]:
    if old is None:
        return  # a field left out: what it stands for when given is mutated where it is given
    if isinstance(old, bool):
        yield "", not old
    elif isinstance(old, int):
        least = 0 if name == "padding" else 1
        yield from (("", new) for new in (old + 1, old - 1) if new >= least)
    elif isinstance(old, float):
        yield "", FLOATS.get(name, _more)(old)
    elif isinstance(old, str):
        words = WORDS.get(name) or sorted({axis for spec in specs for axis in spec.axes})
        yield from (("", word) for word in words if word != old)
    elif isinstance(old, tuple):
        for index, item in enumerate(old):
            for place, new in _changes(name, item, specs):
                yield f"[{index}]{place}", old[:index] + (new,) + old[index + 1:]
    elif isinstance(old, Graph):
        yield from ((f"/{change}", body) for change, body in _graphs(old))
    else:
        raise TypeError(f"no mutation is known for {name} = {old!r}: add one")


def _graphs(graph: Graph) -> Iterator[tuple[str, Graph]]:
    for index, node in enumerate(graph.nodes):
        for change, layer in changed(node.layer, layer_fields(node.layer), graph.input_specs(node)):
            nodes = graph.nodes[:index] + (_rewired(node, layer, graph),) + graph.nodes[index + 1:]
            yield from _working(f"{node.name} {change}", replace(graph, nodes=nodes))
    for index, term in enumerate(graph.losses):
        for change, mutated in _losses(term):
            losses = graph.losses[:index] + (mutated,) + graph.losses[index + 1:]
            yield from _working(f"loss of {term.prediction}: {change}", replace(graph, losses=losses))


def _losses(term: Loss) -> Iterator[tuple[str, Loss]]:
    for change, layer in changed(term.layer, layer_fields(term.layer)):
        yield change, replace(term, layer=layer)
    yield from changed(term, {"weight": term.weight})


def _rewired(node: Node, layer: Any, graph: Graph) -> Node:
    """The node with another layer, and with the parameters that layer declares."""
    try:
        declared = [each.name for each in layer.parameters(*graph.input_specs(node))]
    except (ValueError, KeyError, ZeroDivisionError):
        declared = [local for local, _ in node.parameters]
    known = dict(node.parameters)
    return replace(node, layer=layer,
                   parameters=tuple((local, known.get(local, f"{node.name}.{local}")) for local in declared))


def _working(name: str, graph: Graph) -> Iterator[tuple[str, Graph]]:
    try:
        _ = graph.specs, graph.parameters, [loss.layer.outputs(graph.spec(loss.prediction), graph.spec(loss.target))
                                            for loss in graph.losses]
    except (ValueError, KeyError, ZeroDivisionError):
        return
    if all(_fits(graph, node) for node in graph.nodes):
        yield name, graph


def _fits(graph: Graph, node: Node) -> bool:
    """Whether the parameters it shares with other nodes have the shape that its layer declares."""
    declared = {each.name: each.shape for each in node.layer.parameters(*graph.input_specs(node))}
    return all(graph.parameters[name].shape == declared[own] for own, name in node.parameters)


def _shapes(declared: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: each.shape for name, each in declared.items()}
