"""Layers that draw random numbers are certified apart: the rate, the scaling, the same mask in the backward pass,
a fresh one at each step, none in inference.

Bounds on counts are quantiles of the binomial distribution: a sound framework fails one comparison in a million.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from scipy import special, stats

from families.common import CLASSES, head
from parity.contenders import contenders, make
from parity.rule import MULTIPLE, ROUNDING, longest_sum, rms
from photofinish import data, weights
from photofinish.frameworks import Arrays, Unsupported
from photofinish.graph import Tensor, record
from photofinish.layers import Spec
from photofinish.optimizers import SGD
from photofinish.values import Contender
from photofinish.vocabulary import concat, conv, dropout, flatten, stochastic_depth

BATCH, CHANNELS, STEPS = 64, 30, 10
RATES = {"dropout": 0.3, "stochastic-depth": 0.4}
CHANCE = 1e-6
ULPS = 4 * ROUNDING  # of a product and a sum, each rounded in an order of the framework's own
CONTENDERS = contenders(cheap=True) + [
    pytest.param(each, marks=pytest.mark.compiled) for each in contenders(cheap=False)]


def model(x: Tensor) -> tuple[Tensor, ...]:
    """Each channel has a bias of its own, whose gradient shows where the mask of the backward pass is zero."""
    x = conv(x, CHANNELS, 1, groups=CHANNELS, bias=True, name="entry")
    dropped, skipped = dropout(x, RATES["dropout"]), stochastic_depth(x, RATES["stochastic-depth"])
    return dropped, skipped, head(concat(flatten(dropped), flatten(skipped)))


GRAPH = record(model, {"image": Spec("CHW", (CHANNELS, 1, 1))})
OUTPUTS = dict(zip(RATES, GRAPH.outputs, strict=False))
STATE = weights.perturbed_state(GRAPH, seed=1)
BATCH_ARRAYS = data.draw_batch(GRAPH, BATCH, seed=2)


@dataclass(frozen=True)
class Seen:
    """What a contender showed: outputs and gradients of STEPS passes, losses of as many steps, an inference."""

    passes: tuple[Arrays, ...]
    losses: tuple[float, ...]
    inference: Arrays

    def outputs(self, layer: str) -> np.ndarray:
        """What the layer gave in training: (steps, samples, channels)."""
        return np.stack([each["output/" + OUTPUTS[layer]] for each in self.passes])[..., 0, 0]

    def masks(self, layer: str) -> np.ndarray:
        return self.outputs(layer) != 0

    def draws(self, layer: str) -> np.ndarray:
        """The independent ones of its masks: a value a sample for StochasticDepth."""
        masks = self.masks(layer)
        return masks[..., :1] if layer == "stochastic-depth" else masks


def entered() -> np.ndarray:
    """What enters both layers: (samples, channels)."""
    return (BATCH_ARRAYS["image"][..., 0, 0] * STATE["parameter/entry.weight"].ravel()
            + STATE["parameter/entry.bias"])


@lru_cache(maxsize=None)
def look(contender: Contender) -> Seen | str:
    """One build for all tests, since some modes compile for long; or why the contender lacks these layers.

    The learning rate is zero: a loss can differ from the one before only by the mask.
    """
    contestant = make(contender)
    try:
        contestant.build(GRAPH, BATCH, SGD(learning_rate=0.0, momentum=0.0))
    except Unsupported as gap:
        return str(gap)
    contestant.put(STATE)
    fed = contestant.feed(BATCH_ARRAYS)
    return Seen(tuple(contestant.gradients(fed) for _ in range(STEPS)),
                tuple(float(contestant.read(contestant.train_step(fed))["loss"]) for _ in range(STEPS)),
                contestant.read(contestant.infer(fed)))


@pytest.fixture(params=CONTENDERS, ids=lambda each: each.name)
def seen(request: pytest.FixtureRequest) -> Seen:
    found = look(request.param)
    if isinstance(found, str):
        pytest.xfail(f"{request.param.name}: {found}")
    return found


def assert_binomial(count: int, trials: int, probability: float) -> None:
    distribution = stats.binom(trials, probability)
    assert distribution.ppf(CHANCE / 2) <= count <= distribution.isf(CHANCE / 2)


@pytest.mark.parametrize("layer", RATES)
def test_the_rate(seen: Seen, layer: str) -> None:
    draws = seen.draws(layer)
    assert_binomial(np.count_nonzero(draws), draws.size, 1 - RATES[layer])


@pytest.mark.parametrize("layer", RATES)
def test_what_is_kept_is_scaled(seen: Seen, layer: str) -> None:
    scaled = seen.masks(layer) * entered() / (1 - RATES[layer])
    np.testing.assert_allclose(seen.outputs(layer), scaled, rtol=0, atol=ULPS * np.abs(scaled).max())


def test_stochastic_depth_drops_whole_samples(seen: Seen) -> None:
    masks = seen.masks("stochastic-depth")
    assert np.array_equal(masks, np.broadcast_to(masks[..., :1], masks.shape))


AXES = ("steps", "samples", "channels")
INDEPENDENT = [(layer, axis) for layer in RATES for axis in AXES if (layer, axis) != ("stochastic-depth", "channels")]


@pytest.mark.parametrize(("layer", "axis"), INDEPENDENT)
def test_masks_are_drawn_afresh(seen: Seen, layer: str, axis: str) -> None:
    """Neighbours along the axis agree as often as independent draws do."""
    draws = np.moveaxis(seen.draws(layer), AXES.index(axis), 0)
    agree = draws[0::2] == draws[1::2]
    rate = RATES[layer]
    assert_binomial(np.count_nonzero(agree), agree.size, rate**2 + (1 - rate)**2)


def test_each_training_step_draws_afresh(seen: Seen) -> None:
    assert len(set(seen.losses)) == STEPS


def test_the_backward_pass_uses_the_mask_of_the_forward_pass(seen: Seen) -> None:
    """The gradient of the biases by hand, from the logits and the masks seen."""
    weight = np.split(STATE["parameter/head.weight"].astype(np.float64), 2, axis=1)
    wanted = np.eye(CLASSES)[BATCH_ARRAYS["label"]]
    for step, arrays in enumerate(seen.passes):
        logits = arrays["output/" + GRAPH.outputs[2]].astype(np.float64)
        into_logits = (special.softmax(logits, axis=1) - wanted) / BATCH
        expected = sum((into_logits @ part * seen.masks(layer)[step] / (1 - RATES[layer])).sum(0)
                       for part, layer in zip(weight, RATES, strict=True))
        error = rms(arrays["gradient/entry.bias"] - expected)
        assert error <= MULTIPLE * ROUNDING * np.sqrt(longest_sum(GRAPH)) * rms(expected)


def test_inference_drops_nothing(seen: Seen) -> None:
    for name in OUTPUTS.values():
        outputs = seen.inference["output/" + name][..., 0, 0]
        np.testing.assert_allclose(outputs, entered(), rtol=0, atol=ULPS * np.abs(entered()).max())
