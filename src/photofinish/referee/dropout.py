"""The part of a certificate that cannot be compared number by number: rate, scaling and freshness of
what random layers draw, and that the backward pass uses the mask of the forward pass."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np

from photofinish.graph import Graph
from photofinish.layers import StochasticDepth
from photofinish.measure.proof import COPIES, DROPOUT_STEPS, dropout_graph, random_layers
from photofinish.referee.tolerance import FLOAT32, INFINITE, UNIT, Comparison, Format, size
from photofinish.values import Check

SIGMAS = 5.0  # an honest rate lies beyond so many standard deviations once in two million tries
SAME = 4 * UNIT  # a product by 1 / (1 - rate) in float32
MASKED = 1e-4  # a gradient through another mask is off by about its own size
# In a coarse format: what comes in, the factor and what comes out are each rounded; a gradient has some more of these.
SAME_ROUNDINGS, MASKED_ROUNDINGS = 3, 8

Results = Mapping[str, np.ndarray]


def check(graph: Graph, exercises: Mapping[str, Results], form: Format = FLOAT32, sent: float = 0.0) -> Check:
    """Judges the exercises "dropout-*" of `measure.proof`; the figures are those of the worst comparison. `sent` is the
    rounding of gradients on their way between processes."""
    steps = [exercises[f"dropout-step{step}"] for step in range(DROPOUT_STEPS)]
    inference, given, losses = (exercises["dropout-" + name] for name in ("inference", "given", "losses"))
    if all(np.isfinite(each[name]).all() for each in (*steps, inference, losses) for name in each):
        comparisons = list(_compare(graph, steps, inference, given, losses["loss"], form.stored, sent))
    else:
        comparisons = [_part("a result is not finite", INFINITE, 0.0)]
    worst = max(comparisons, key=lambda each: each.badness)
    return Check("dropout", len(comparisons), worst.error, worst.allowed, all(each.passed for each in comparisons),
                 worst.tensor)


def _compare(graph: Graph, steps: Sequence[Results], inference: Results, given: Results,
             losses: np.ndarray, stored: float, sent: float) -> Iterable[Comparison]:
    same, masked = max(SAME, SAME_ROUNDINGS * stored), max(MASKED, MASKED_ROUNDINGS * max(stored, sent))
    hidden, *dropped, _ = dropout_graph(graph).outputs
    for number, layer in enumerate(random_layers(graph)):
        rate, kind = layer.rate, f"{type(layer).__name__}({layer.rate})"  # type: ignore[attr-defined]
        names = dropped[number * COPIES:(number + 1) * COPIES]
        masks = {name: [step["output/" + name] != 0 for step in steps] for name in names}
        for name in names:
            drift = np.subtract(inference["output/" + name], inference["output/" + hidden])
            yield _part(f"{kind} changes inference", size(drift), same * size(inference["output/" + hidden]))
            for step, mask in zip(steps, masks[name], strict=True):
                survivors = step["output/" + name][mask] / np.float64(step["output/" + hidden][mask])
                yield _part(f"{kind} scaling", float(np.abs(survivors * (1 - rate) - 1).max(initial=0.0)), same)
            if isinstance(layer, StochasticDepth):
                torn = np.mean([mask.any(axis=1) != mask.all(axis=1) for mask in masks[name]])
                yield _part(f"{kind} tears samples apart", float(torn), 0.0)
                masks[name] = [mask[:, :1] for mask in masks[name]]
        yield _fraction(f"{kind} rate", [~mask for name in names for mask in masks[name]], rate)
        draws = [pair for name in names for pair in pairwise(masks[name])]
        draws += combinations((masks[name][0] for name in names), 2)
        for first, second in draws:  # fresh masks agree as often as chance has it
            yield _fraction(f"{kind} repeats a mask", [first == second], rate ** 2 + (1 - rate) ** 2)
    for step in steps:
        expected = _gradient(graph, step, given)
        error = size(np.subtract(step["gradient/hidden.weight"], expected))
        yield _part("the gradient passes another mask", error, masked * size(expected))
    yield _part("train_step repeats a loss", float(len(losses) - len(np.unique(losses))), 0.0)


def _gradient(graph: Graph, step: Results, given: Results) -> np.ndarray:
    """What the gradient of hidden.weight must be, by the masks seen and the logits reported."""
    hidden, *dropped, logits = dropout_graph(graph).outputs
    exponents = np.exp(np.float64(step["output/" + logits]) - np.max(step["output/" + logits], axis=1, keepdims=True))
    slope = exponents / exponents.sum(axis=1, keepdims=True)
    slope[np.arange(len(slope)), given["batch/label"]] -= 1
    slope = slope / len(slope) @ np.float64(given["parameter/logits.weight"])
    parts = np.split(slope, len(dropped), axis=1)
    through = sum(part * np.float64(step["output/" + name]) / np.float64(step["output/" + hidden])
                  for part, name in zip(parts, dropped, strict=True))
    return np.asarray(np.transpose(through) @ np.float64(given["batch/x"]))


def _fraction(what: str, draws: Sequence[np.ndarray], probability: float) -> Comparison:
    """Whether the fraction of true values is that of so many independent tries."""
    tries = sum(each.size for each in draws)
    found = sum(int(each.sum()) for each in draws) / tries
    spread = np.sqrt(probability * (1 - probability) / tries)
    return _part(what, abs(found - probability), SIGMAS * float(spread))


def _part(what: str, error: float, allowed: float) -> Comparison:
    return Comparison("dropout", what, error, allowed, 1.0)
