"""Keras code for a graph that Keras' own trainer runs: compile(), then train_on_batch and predict_on_batch. The text is
the same on every backend, but for helpers that one has of its own (see table.py)."""

from typing import Dict, List, Optional

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import show
from photofinish.frameworks._keras import losses, optimizers
from photofinish.frameworks._keras.source import PLAIN, Module, function
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

MODES = {"jit": True, "nojit": False}  # compile()'s jit_compile
BACKEND = 'import os\n\nos.environ["KERAS_BACKEND"] = "{}"  # before Keras is imported\n\n'


def compiled_source(backend: str, graph: Graph, optimizer: Optional[Optimizer] = PLAIN, jit: bool = False,
                    shipped: str = "") -> str:
    """A module with `model` (compiled) and `infer`, and `train_step` unless the optimizer is None or the graph has no
    loss. `shipped` is the code of another model of one input and one output, to stand in its place. Raises Unsupported,
    naming the layer.
    """
    module = Module(graph, "xla" if jit and backend == "tensorflow" else "", shipped, backend)
    trains = bool(graph.losses) and optimizer is not None
    written = optimizers.written(optimizer) if trains and optimizer is not None else "None"
    lines = ["optimizer={},".format(written)] + _losses(graph) + ["jit_compile={},".format(jit)]
    module.parts.append("model.compile(\n{})\n".format("".join("    {}\n".format(line) for line in lines)))
    if module.inference != "model":
        module.parts.append("{}.compile(jit_compile={})\n".format(module.inference, jit))
    if trains:
        labels = ", ".join("{}: {}".format(show(term.prediction), module.writer.variables[term.target])
                           for term in graph.losses)
        module.parts.append(function("train_step", module.inputs + module.targets, [
            'return model.train_on_batch({}, {{{}}}, return_dict=True)["loss"]'.format(module.argument, labels)]))
    module.parts.append(function("infer", module.inputs, [
        "return {}.predict_on_batch({})".format(module.inference, module.argument)]))
    return module.text("A Keras model, compiled to be trained", BACKEND.format(backend))


def _losses(graph: Graph) -> List[str]:
    """The arguments of compile() that say what is minimised."""
    objects: Dict[str, str] = {}
    for term in graph.losses:
        kind = type(term.layer)
        if kind not in losses.OBJECTS:
            raise Unsupported("the loss {} has no Keras form here".format(kind.__name__))
        if term.prediction in objects:
            raise Unsupported("{}: an output of a Keras model has one loss".format(term.prediction))
        objects[term.prediction] = losses.OBJECTS[kind](term.layer)
    if not objects:
        return []
    weights = {term.prediction: term.weight for term in graph.losses}
    lines = ["loss={{{}}},".format(", ".join("{}: {}".format(show(name), text) for name, text in objects.items()))]
    return lines if set(weights.values()) == {1} else lines + ["loss_weights={{{}}},".format(", ".join(
        "{}: {!r}".format(show(name), float(weight)) for name, weight in weights.items()))]
