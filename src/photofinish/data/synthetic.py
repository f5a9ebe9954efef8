"""Synthetic batches, seeded by name and shaped like what they stand for.

Floating inputs are standard normal (images and features are fed normalised); ids that a table looks up follow
Zipf's law, as words and items do (Zipf 1949; exponent 1); a mask marks the positions up to a length, drawn evenly
from half the positions to all of them; a square matrix over positions, with the axes "TU", is the normalised
adjacency of a sparse graph; labels are drawn as their loss asks.
"""

from typing import Callable, Dict, Tuple

import numpy as np

from photofinish.graph import Graph
from photofinish.layers import CTC, BinaryCrossEntropy, SoftmaxCrossEntropy, Spec
from photofinish.weights import Arrays, stream

MASKED = 0.15  # share of positions whose word is asked for: Devlin et al. 2018, arXiv 1810.04805
NEIGHBOURS = 4.0  # of a node of a graph, on average, as in Cora


def draw_batch(graph: Graph, batch: int, seed: int) -> Arrays:
    """Inputs and targets of one batch by name, in canonical layout, batch axis first."""
    tables = {node.inputs[0]: node.layer.vocabulary for node in graph.nodes if hasattr(node.layer, "vocabulary")}
    drawn = {name: draw_input(name, spec, batch, seed, tables.get(name, 2)) for name, spec in graph.inputs}
    for loss in graph.losses:
        generator = stream(seed, "input " + loss.target)
        shape = (batch,) + graph.spec(loss.target).shape
        drawn[loss.target] = TARGETS[type(loss.layer)](loss.layer, graph.spec(loss.prediction), shape, generator)
    return drawn


def draw_input(name: str, spec: Spec, batch: int, seed: int, vocabulary: int = 2) -> np.ndarray:
    """One input (batch, *shape): normal values, a mask that is true up to a length, ids below `vocabulary`, or a
    normalised adjacency."""
    generator = stream(seed, "input " + name)
    shape = (batch,) + spec.shape
    if spec.dtype == "bool":
        return np.arange(shape[-1]) < lengths(shape[-1], shape[:-1], generator)[..., None]
    if spec.dtype.startswith("int"):
        return zipf(vocabulary, shape, generator)
    if spec.axes == "TU" and spec.size("T") == spec.size("U"):
        return adjacency(shape, generator)
    return generator.standard_normal(shape).astype(np.float32)


def zipf(vocabulary: int, shape: Tuple[int, ...], generator: np.random.RandomState) -> np.ndarray:
    """Ids below `vocabulary`, int32: id k with a probability in proportion to 1 / (k + 1)."""
    cumulative = np.cumsum(1.0 / np.arange(1, vocabulary + 1))
    return np.searchsorted(cumulative, generator.uniform(0, cumulative[-1], shape), side="right").astype(np.int32)


def adjacency(shape: Tuple[int, ...], generator: np.random.RandomState) -> np.ndarray:
    """Matrices (batch, nodes, nodes) of random graphs without direction: D^-1/2 (A + I) D^-1/2, with D the degrees of
    A + I (Kipf & Welling 2016, arXiv 1609.02907)."""
    linked = generator.uniform(size=shape) < NEIGHBOURS / 2 / shape[-1]
    linked = linked | linked.swapaxes(-1, -2) | np.eye(shape[-1], dtype=bool)
    share = 1 / np.sqrt(linked.sum(-1))
    return np.asarray(linked * share[..., None, :] * share[..., None], np.float32)


def lengths(longest: int, shape: Tuple[int, ...], generator: np.random.RandomState) -> np.ndarray:
    """Lengths from half of `longest` (rounded up) to all of it, each as likely."""
    return generator.randint((longest + 1) // 2, longest + 1, size=shape)


def _classes(layer: SoftmaxCrossEntropy, prediction: Spec, shape: Tuple[int, ...],
             generator: np.random.RandomState) -> np.ndarray:
    """Classes, each as likely; where labels stand for words (a sequence), by Zipf's law. A label to ignore fills
    the positions behind a sequence's length, or all but MASKED of them where it is no class at all."""
    classes = prediction.size("C")
    if prediction.axes != "TC":
        return generator.randint(0, classes, size=shape).astype(np.int32)
    labels = zipf(classes, shape, generator)
    if layer.ignore is None:
        return labels
    if layer.ignore < 0:
        counted = generator.uniform(size=shape) < MASKED
        counted[..., 0] = True  # a batch without a label has no mean
    else:
        counted = np.arange(shape[-1]) < lengths(shape[-1], shape[:-1], generator)[..., None]
        labels = np.where(labels == layer.ignore, (layer.ignore + 1) % classes, labels)
    return np.where(counted, labels, layer.ignore).astype(np.int32)


def _yes_or_no(layer: BinaryCrossEntropy, prediction: Spec, shape: Tuple[int, ...],
               generator: np.random.RandomState) -> np.ndarray:
    return generator.randint(0, 2, size=shape).astype(np.float32)


def _transcript(layer: CTC, prediction: Spec, shape: Tuple[int, ...], generator: np.random.RandomState) -> np.ndarray:
    """Symbols 1 to C - 1, each as likely, up to a length; blanks behind."""
    symbols = generator.randint(1, prediction.size("C"), size=shape)
    spoken = np.arange(shape[-1]) < lengths(shape[-1], shape[:-1], generator)[..., None]
    return np.where(spoken, symbols, 0).astype(np.int32)


TARGETS: Dict[type, Callable[..., np.ndarray]] = {
    SoftmaxCrossEntropy: _classes, BinaryCrossEntropy: _yes_or_no, CTC: _transcript}
