"""Running statistics that fit a proof's weights, where those drawn make inference amplify rounding.

A batch normalises itself in training; in inference a deep network is scaled by running statistics, and drawn ones let
its activations grow from layer to layer until gates (sigmoids of squeeze-and-excitation) do nothing but switch. Float64
is then rounded to six digits and float32 to none: any output would pass. Those of the batch, a little off, keep the
activations in range and still tell who ignores them. Data-dependent initialisation is as old as LSUV (Mishkin & Matas
2015, arXiv 1511.06422).
"""

from pathlib import Path

import numpy as np

from photofinish.layers import BatchNorm
from photofinish.measure import proof
from photofinish.measure.proof import FORCED, REFERENCE, Plan, kind, load
from photofinish.referee.tolerance import size
from photofinish.weights import Arrays, stream

# Of an output: where two float64 computations lie so far apart, float32's, 2^29 times as coarse, share three digits.
AMPLIFIED = 1e-12
# Of a standard deviation and of a variance. In inference by the batch's own a layer is off by a hundred thousand units
# in the last place; twice as much lets the outputs of a network of 163 such layers grow nearly four times.
OFF = 2.0**-7


def amplifies(folder: Path, label: str) -> bool:
    """Whether rounding is amplified in inference: the reference's outputs and those under `label` lie too far apart."""
    expected, seen = (load(folder / side / "draw0" / "inference.npz") for side in (REFERENCE, label))
    common = [name for name, values in expected.items() if name in seen and seen[name].shape == values.shape]
    return any(size(seen[name] - expected[name]) > AMPLIFIED * size(expected[name]) for name in common)


def fit(folder: Path, label: str) -> Arrays:
    """Writes the proof's weights and plan anew, the running statistics in them those of the first batch, a little off,
    and returns these. The batch's are what the first step under `label` moved the drawn ones towards."""
    plan = Plan.read(folder)
    weights = {name: values for name, values in load(folder / "given.npz").items() if not name.startswith("batch")}
    after = load(folder / label / "draw0" / f"{kind(plan.optimizers[0])}-step{FORCED[0]}.npz")
    fitted: Arrays = {}
    for node in plan.graph.nodes:
        if not isinstance(node.layer, BatchNorm) or node.layer.momentum == 1:  # those of the second never move
            continue
        kept = node.layer.momentum
        mean, variance = (f"state/{path}" for _, path in node.state)
        of_batch = {name: (after[name] - kept * weights[name]) / (1 - kept) for name in (mean, variance)}
        deviation = np.sqrt(np.maximum(of_batch[variance], 0.0))
        fitted[mean] = (of_batch[mean] + deviation * _off(plan.seed, mean, deviation)).astype(np.float32)
        fitted[variance] = (of_batch[variance] * (1 + _off(plan.seed, variance, deviation))).astype(np.float32)
    proof.prepare(folder, plan.graph, plan.batch, plan.optimizers, plan.draws, plan.exact_draws, plan.seed,
                  {**weights, **fitted})
    return fitted


def _off(seed: int, name: str, like: np.ndarray) -> np.ndarray:
    return stream(seed, f"fitted {name}").uniform(-OFF, OFF, like.shape)
