"""The certificate passes what computes the same in float32 and refuses what does not, for whatever reason."""

import json
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish.data import draw_batch
from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks import numpy as reference
from photofinish.frameworks._numpy import activation
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import BatchNorm, Conv, Dropout, Embedding, Linear, SoftmaxCrossEntropy, Spec, StochasticDepth
from photofinish.measure import proof, thinning
from photofinish.measure.moved import Moved
from photofinish.models import find
from photofinish.optimizers import SGD, Adam
from photofinish.referee import certificate, parameters, replicas, tolerance
from photofinish.values import Certificate, Check, from_json, to_json
from photofinish.vocabulary import (
    attention,
    batch_norm,
    conv,
    dropout,
    global_average_pool,
    layer_norm,
    linear,
    max_pool,
    relu,
    scale,
    select,
    stochastic_depth,
)
from roundings import coarse


def model(image: Tensor) -> Tensor:
    """A bias before a BatchNorm (no gradient), two random layers, and depth enough for errors to spread."""
    x = relu(batch_norm(conv(image, 6, 3, bias=True)))
    for _ in range(2):
        x = x + stochastic_depth(relu(batch_norm(conv(x, 6, 3))), 0.2)
    logits = linear(dropout(global_average_pool(x), 0.4), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


GRAPH = record(model, OrderedDict(image=Spec("CHW", (3, 8, 7))))
ZERO_GRADIENT = "conv1.bias"


def proven(folder: Path, make: Callable[[Setup], Contestant] = Contestant, label: str = "contender") -> Certificate:
    proof.run(lambda: make(Setup("reference")), folder, label)
    return certificate.judge(folder, label, "numpy:reference")


def planned(folder: Path, graph: Graph = GRAPH, **options: Any) -> Path:
    proof.prepare(folder, graph, **options)
    proof.run(lambda: Contestant(Setup("reference", precision="float64")), folder, proof.REFERENCE)
    return folder


def refused(earned: Certificate) -> dict[str, Check]:
    assert earned.passed == all(check.passed for check in earned.checks)
    return {check.group: check for check in earned.checks if not check.passed}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("proof"), draws=1)


@pytest.fixture(scope="module")
def honest(folder: Path) -> Certificate:
    return proven(folder, label="honest")


def test_honest_float32_is_certified_in_every_group(honest: Certificate) -> None:
    groups = ["inference outputs", "gradients", "training outputs", "loss", "running statistics", "dropout"]
    for optimizer in ("sgd", "adam"):
        groups.append(f"losses of 10 steps ({optimizer})")
        groups += [f"{what} after step {step} ({optimizer})" for what in ("weights", "optimizer state")
                   for step in (1, 2, 10)]
    assert sorted(check.group for check in honest.checks) == sorted(groups)
    assert refused(honest) == {}
    assert honest.digest == GRAPH.digest


def test_float32_shows_an_error_and_a_bound_of_its_own_size(honest: Certificate) -> None:
    gradients = next(check for check in honest.checks if check.group == "gradients")
    assert 0 < gradients.error < gradients.allowed < 1e-4
    assert gradients.tensors == len(GRAPH.parameters)


def test_curves_are_the_ten_losses(honest: Certificate) -> None:
    assert {name: len(curve) for name, curve in honest.curves.items()} == {"sgd": 10, "adam": 10}
    assert honest.curves["sgd"] == pytest.approx(honest.reference_curves["sgd"], rel=1e-5)
    assert honest.curves["sgd"] != honest.curves["adam"]


def test_a_gradient_that_is_exactly_zero_is_listed_with_its_reason(honest: Certificate) -> None:
    assert [name for name, _ in honest.listed] == [ZERO_GRADIENT]
    assert "a bias before a BatchNorm" in honest.listed[0][1]


def attentive(x: Tensor) -> Tensor:
    seen = attention(*(linear(x, 4, name=name) for name in ("query", "key", "value")), heads=2)
    logits = linear(select(seen, 0), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("keys"), record(attentive, {"x": Spec("TC", (5, 6))}), draws=1)


def test_a_bias_of_the_keys_of_attention_is_listed_with_its_reason(keys: Path) -> None:
    earned = proven(keys)
    assert earned.passed
    ((name, why),) = [each for each in earned.listed if "bounded" in each[1]]
    assert name == "key.bias"
    assert "attention's keys" in why


def altering(change: Callable[[Arrays], Any]) -> Callable[[Setup], Contestant]:
    """A contestant that computes honestly, then gives back other gradients of the model."""
    class Altered(Contestant):
        def gradients(self, batch: Any) -> Arrays:
            arrays = super().gradients(batch)
            if "gradient/hidden.weight" not in arrays:  # of the small graph of the dropout exercise
                change(arrays)
            return arrays
    return Altered


@pytest.mark.parametrize(("times", "passed"), [(1.5, True), (5.0, False)])
def test_a_lost_bias_may_err_as_the_weight_beside_it(keys: Path, times: float, passed: bool) -> None:
    exact = [np.load(keys / proof.REFERENCE / f"draw{draw}" / "training.npz") for draw in range(2)]
    beside = tolerance.size(exact[1]["gradient/key.weight"] - exact[0]["gradient/key.weight"])
    assert beside > tolerance.FLOOR * np.sqrt(8 * 5) * tolerance.size(exact[0]["gradient/key.weight"])

    class Altered(Contestant):
        def gradients(self, batch: Any) -> Arrays:
            arrays = super().gradients(batch)
            arrays["gradient/key.bias"] = arrays["gradient/key.bias"] + np.float32(times * beside)
            return arrays
    assert ("gradients" not in refused(proven(keys, Altered))) == passed


def faintly(image: Tensor) -> Tensor:
    """A convolution that sees little: its weight's gradient is that much smaller than the terms of its bias'."""
    return model(scale(image, 1 / 64))


@pytest.mark.parametrize(("times", "passed"), [(0.0, True), (64.0, False)])
def test_a_lost_bias_may_err_as_float64s_zero_tells(tmp_path: Path, times: float, passed: bool) -> None:
    """What it may err by is far more than the weight beside it, and far less than that one's gradient."""
    planned(tmp_path, record(faintly, OrderedDict(image=Spec("CHW", (3, 8, 7)))), draws=1)
    exact = np.load(tmp_path / proof.REFERENCE / "draw0" / "training.npz")
    zero = tolerance.size(exact["gradient/" + ZERO_GRADIENT])
    assert 0 < zero < tolerance.ZERO * tolerance.size(exact["gradient/conv1.weight"])

    def drift(arrays: Arrays) -> None:
        if "gradient/" + ZERO_GRADIENT in arrays:
            arrays["gradient/" + ZERO_GRADIENT] += np.float32(times * tolerance.COARSER * zero)
    earned = proven(tmp_path, altering(drift))
    assert (refused(earned) == {}) == passed


def test_one_lucky_zero_tells_less_than_the_loudest_of_the_draws(tmp_path: Path) -> None:
    planned(tmp_path, record(faintly, OrderedDict(image=Spec("CHW", (3, 8, 7)))), draws=1, exact_draws=6)
    name = "gradient/" + ZERO_GRADIENT
    zeros = [tolerance.size(np.load(tmp_path / proof.REFERENCE / f"draw{draw}" / "training.npz")[name])
             for draw in range(7)]
    lucky = min(zeros) / max(zeros)
    assert lucky < 0.8
    folder = tmp_path / proof.REFERENCE / "draw0" / "training.npz"
    plain = dict(np.load(folder))
    np.savez(folder, **{**plain, name: plain[name] * (min(zeros) / zeros[0])})

    def drift(arrays: Arrays) -> None:
        if name in arrays:
            arrays[name] += np.float32(tolerance.CAP * tolerance.COARSER * (min(zeros) + max(zeros)) / 2)
    assert refused(proven(tmp_path, altering(drift))) == {}


def test_a_listed_gradient_is_still_bounded(folder: Path) -> None:
    def drift(arrays: Arrays) -> None:
        arrays["gradient/" + ZERO_GRADIENT] = arrays["gradient/" + ZERO_GRADIENT] + np.float32(1e-4)
    assert refused(proven(folder, altering(drift)))["gradients"].worst == "gradient/" + ZERO_GRADIENT


def stem(image: Tensor) -> Tensor:
    """Of DenseNet: the second BatchNorm undoes the first, of whose values the max-pool keeps what ReLU let through."""
    x = max_pool(relu(batch_norm(conv(image, 8, 7, stride=2))), 3, stride=2, padding=1)
    logits = linear(global_average_pool(relu(conv(relu(batch_norm(x)), 8, 3))), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


@pytest.fixture(scope="module")
def undone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = record(stem, OrderedDict(image=Spec("CHW", (3, 32, 32))))
    return planned(tmp_path_factory.mktemp("undone"), graph, draws=1, seed=2)


def test_what_is_left_of_terms_that_cancel_has_the_rounding_of_the_terms(undone: Path) -> None:
    earned = proven(undone)
    assert refused(earned) == {}
    assert [name for name, reason in earned.listed if "undo" in reason] == ["batch_norm1.bias", "batch_norm1.weight"]


def test_a_gradient_of_another_size_is_still_refused_there(undone: Path) -> None:
    def double(arrays: Arrays) -> None:
        arrays["gradient/batch_norm1.weight"] = 2 * arrays["gradient/batch_norm1.weight"]
    assert refused(proven(undone, altering(double)))["gradients"].worst == "gradient/batch_norm1.weight"


def averaged(image: Tensor) -> Tensor:
    """As Inception ends: what comes back to the BatchNorm is nearly the same at every position, and is centred."""
    logits = linear(global_average_pool(relu(batch_norm(conv(relu(image), 6, 1)))), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


def collapsed(x: Tensor) -> Tensor:
    """What attention that looks everywhere makes of a sequence is alike at every position (Dong et al. 2021)."""
    for _ in range(6):
        x = attention(linear(x, 16), linear(x, 16), linear(x, 16), heads=2)
    logits = linear(select(x, 0), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


LAST_QUERIES = "linear16.weight"


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("alike"), record(collapsed, OrderedDict(x=Spec("TC", (12, 16)))), draws=1)


def test_what_softmax_takes_out_of_scores_has_the_rounding_of_the_values(
        alike: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    earned = proven(alike)
    assert refused(earned) == {}
    assert LAST_QUERIES in [name for name, reason in earned.listed if "softmax" in reason]
    monkeypatch.setattr(parameters, "_attended", lambda graph: {})
    assert refused(proven(alike))["gradients"].worst.startswith("gradient/linear")


def smoothed(x: Tensor) -> Tensor:
    """As a translator ends: a LayerNorm, and a label smoothed over many words."""
    logits = linear(layer_norm(x + linear(x, 16)), 20_000)
    loss(SoftmaxCrossEntropy(label_smoothing=0.1), logits, "label", Spec("", (), "int32"))
    return logits


@pytest.fixture(scope="module")
def over_words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("words"), record(smoothed, OrderedDict(x=Spec("C", (16,)))), draws=1)


def adding_labels(lanes: int, smoothing: float = 0.1) -> Callable[..., Any]:
    """The pass back of a cross entropy as PyTorch has it: the prediction times the sum of the smoothed label, each lane
    of which is added up in float32, one class after another."""
    def rule(use: Any, logits: np.ndarray, label: np.ndarray) -> Any:
        values, _ = reference_loss(use, logits, label)
        shifted = np.exp(logits - logits.max(1, keepdims=True))
        wanted = np.full_like(logits, smoothing / logits.shape[1])
        wanted[np.arange(len(label)), label] += 1 - smoothing
        by_lane = wanted.reshape(len(label), -1, lanes).cumsum(1, dtype=np.float32)[:, -1]
        mean = by_lane.sum(1, keepdims=True) * shifted / shifted.sum(1, keepdims=True) - wanted
        return values, lambda gradient: (np.expand_dims(gradient, 1) * mean, None)
    reference_loss = reference.RULES[SoftmaxCrossEntropy]
    return rule


@pytest.mark.parametrize("lanes", [8, 16])
def test_a_smoothed_label_added_up_in_float32_is_certified_and_said_to_be(
        over_words: Path, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.RULES, SoftmaxCrossEntropy, adding_labels(lanes))
    earned = proven(over_words)
    assert refused(earned) == {}
    assert ["20,000 classes" in reason for name, reason in earned.listed if name == "every gradient"] == [True]
    monkeypatch.setattr(parameters, "_smoothed", lambda graph: 0)
    assert refused(proven(over_words))


@pytest.mark.parametrize("smoothing", [0.099, 0.0])
def test_another_smoothing_is_refused(over_words: Path, smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.RULES, SoftmaxCrossEntropy, adding_labels(16, smoothing))
    assert "gradients" in refused(proven(over_words))


def test_scores_that_keep_what_softmax_takes_out_are_refused(alike: Path) -> None:
    def kept(arrays: Arrays) -> None:
        arrays[f"gradient/{LAST_QUERIES}"] = arrays[f"gradient/{LAST_QUERIES}"] + 1e-4 * np.std(
            arrays["gradient/linear18.weight"])
    assert refused(proven(alike, altering(kept)))["gradients"].worst == f"gradient/{LAST_QUERIES}"


def passing_back(mean: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Any]:
    """NumPy's BatchNorm, which passes back what it should but for how it takes the mean of each channel."""
    honest_rule = reference.RULES[BatchNorm]

    def rule(use: Any, x: np.ndarray) -> Any:
        y, honest_pull = honest_rule(use, x)
        wide = (1, -1, 1, 1)
        weight, bias = (use.parameters[name].reshape(wide) for name in ("weight", "bias"))
        deviation = np.sqrt(x.var((0, 2, 3), keepdims=True) + use.layer.epsilon)

        def pull(gradient: np.ndarray) -> Any:
            honest_pull(gradient)
            normal, scaled = (y - bias) / weight, gradient * weight
            common, along = (mean(np.moveaxis(each, 1, 0).reshape(x.shape[1], -1)).reshape(wide)
                             for each in (scaled, scaled * normal))
            return ((scaled - common - normal * along) / deviation,)
        return y, pull
    return rule


@pytest.fixture(scope="module")
def centred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = record(averaged, OrderedDict(image=Spec("CHW", (3, 32, 32))))
    return planned(tmp_path_factory.mktemp("centred"), graph, draws=1)


def test_a_mean_added_up_one_after_another_in_float32_is_certified(
        centred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.RULES, BatchNorm, passing_back(
        lambda rows: np.cumsum(rows, axis=1, dtype=rows.dtype)[:, -1] / rows.shape[1]))
    assert refused(proven(centred)) == {}


def test_a_mean_of_one_less_is_refused(centred: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.RULES, BatchNorm, passing_back(
        lambda rows: rows.sum(axis=1) / (rows.shape[1] - 1)))
    assert refused(proven(centred))["gradients"].worst == "gradient/conv1.weight"


@pytest.mark.parametrize(("change", "group", "words"), [
    (lambda a: a["gradient/conv2.weight"].flat.__setitem__(0, np.nan), "gradients", "not finite"),
    (lambda a: a["gradient/conv2.weight"].flat.__setitem__(0, np.inf), "gradients", "not finite"),
    (lambda a: a.update({"output/linear1": a["output/linear1"].T}), "training outputs", "shape"),
    (lambda a: a.pop("gradient/conv2.weight"), "gradients", "missing"),
    (lambda a: a.pop("loss"), "loss", "missing"),
    (lambda a: a.update(loss=a["loss"] * np.float32(1 + 1e-5)), "loss", "loss"),
    (lambda a: a.update({"gradient/more": np.ones(3)}), "gradients", "unexpected"),
])
def test_a_result_that_cannot_stand_is_refused_by_name(
        folder: Path, change: Callable[[Arrays], Any], group: str, words: str) -> None:
    earned = proven(folder, altering(change))
    assert words in refused(earned)[group].worst
    text = json.dumps(to_json(earned), allow_nan=False)
    assert from_json(Certificate, json.loads(text)) == earned


@pytest.mark.parametrize("kind", [Conv, Linear])
@pytest.mark.parametrize("bits", [7, 10, 15], ids=["bfloat16", "tf32", "15 bits"])
def test_products_in_less_than_float32_are_refused(
        folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type, bits: int) -> None:
    monkeypatch.setitem(reference.RULES, kind, coarse(kind, bits))
    found = refused(proven(folder))
    assert found
    assert bits == 15 or "gradients" in found


def test_noise_cannot_vouch_for_itself() -> None:
    """A contender in bfloat16 moves as far between draws as it errs: only the exact response bounds it."""
    generator = np.random.RandomState(0)
    exact = generator.standard_normal(1000)
    expected = [exact, exact * (1 + tolerance.NOISE)]
    noisy = [exact + 1e-3 * generator.standard_normal(1000) for _ in range(3)]
    assert tolerance.response(noisy) > tolerance.size(noisy[0] - exact)
    assert not tolerance.compare("gradients", "weight", expected, noisy, 0.0, 1.0).passed


def keras_adam(rule: Adam, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
    """Epsilon added before the bias correction, as Keras has it."""
    scale = np.sqrt(1 - rule.beta2 ** step)
    shifted = Adam(rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon / scale)
    return reference.adam(shifted, step, value, gradient, slots)


def damped_sgd(rule: SGD, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
    """The gradient enters the velocity times 1 - momentum."""
    return reference.sgd(rule, step, value, gradient * (1 - rule.momentum), slots)


def stateless_adam(rule: Adam, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
    return reference.adam(rule, 1, value, gradient, slots)


@pytest.mark.parametrize(("kind", "update", "group"), [
    (Adam, keras_adam, "weights after step 1 (adam)"), (Adam, keras_adam, "weights after step 10 (adam)"),
    (SGD, damped_sgd, "weights after step 1 (sgd)"), (Adam, stateless_adam, "weights after step 10 (adam)")])
def test_another_update_is_refused(
        folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type, update: Any, group: str) -> None:
    monkeypatch.setitem(reference.UPDATES, kind, update)
    found = refused(proven(folder))
    assert group in found
    assert "gradients" not in found


class Constant(Contestant):
    """Compiled the first batch it was ever fed into its step."""

    def build(self, *arguments: Any) -> None:
        super().build(*arguments)
        self.first: Any = None

    def train_step(self, batch: Arrays) -> Arrays:
        self.first = self.first or batch
        return super().train_step(self.first)


class Frozen(Contestant):
    """Never updates running statistics."""

    def train_step(self, batch: Arrays) -> Arrays:
        before = dict(self.state)
        result = super().train_step(batch)
        self.state = before
        return result


class Summing(Contestant):
    """Adds up statistics one term after another: always off by the same, however the terms are moved."""

    off = 1e-6  # of 448 terms

    def train_step(self, batch: Arrays) -> Arrays:
        result = super().train_step(batch)
        self.state = {name: np.asarray(values * (1 + self.off), values.dtype) for name, values in self.state.items()}
        return result


class Biased(Summing):
    """Divides by the number of samples for the variance, not by one less; a tenth of that goes into a statistic."""

    off = -0.1 / 448


@pytest.mark.parametrize(("contestant", "groups"), [(Summing, set()), (Biased, {"running statistics"})])
def test_statistics_may_be_rounded_as_sums_are(contestant: type[Contestant], groups: set[str], folder: Path) -> None:
    assert set(refused(proven(folder, contestant))) == groups


@pytest.mark.parametrize(("contestant", "group"), [
    (Constant, "losses of 10 steps (sgd)"), (Frozen, "running statistics")])
def test_a_step_that_leaves_something_out_is_refused(
        folder: Path, contestant: Callable[[Setup], Contestant], group: str) -> None:
    assert group in refused(proven(folder, contestant))


def test_normalising_by_the_sample_variance_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest_rule = reference.RULES[BatchNorm]

    def rule(use: Any, x: np.ndarray) -> Any:
        result, pull = honest_rule(use, x)
        count = x.size // x.shape[1]
        return (result * x.dtype.type(np.sqrt((count - 1) / count)) if use.training else result), pull
    monkeypatch.setitem(reference.RULES, BatchNorm, rule)
    assert "training outputs" in refused(proven(folder))


def wrong_rate(use: Any, x: np.ndarray, shape: Any) -> Any:
    kept = use.generator.uniform(size=shape) >= use.layer.rate - 0.05
    return _scaled(x, kept, 1 / (1 - use.layer.rate))


def unscaled(use: Any, x: np.ndarray, shape: Any) -> Any:
    return _scaled(x, use.generator.uniform(size=shape) >= use.layer.rate, 1.0)


def one_mask(use: Any, x: np.ndarray, shape: Any) -> Any:
    kept = np.random.RandomState(0).uniform(size=shape) >= use.layer.rate
    return _scaled(x, kept, 1 / (1 - use.layer.rate))


def absent(use: Any, x: np.ndarray, shape: Any) -> Any:
    return x, lambda gradient: (gradient,)


def other_mask_back(use: Any, x: np.ndarray, shape: Any) -> Any:
    scale = 1 / (1 - use.layer.rate)
    forward = _scaled(x, use.generator.uniform(size=shape) >= use.layer.rate, scale)[0]
    return forward, _scaled(x, use.generator.uniform(size=shape) >= use.layer.rate, scale)[1]


def elementwise(use: Any, x: np.ndarray, shape: Any) -> Any:
    return _scaled(x, use.generator.uniform(size=x.shape) >= use.layer.rate, 1 / (1 - use.layer.rate))


def _scaled(x: np.ndarray, kept: np.ndarray, scale: float) -> Any:
    factor = kept.astype(x.dtype) * x.dtype.type(scale)
    return x * factor, lambda gradient: (gradient * factor,)


@pytest.mark.parametrize(("kind", "drop", "words"), [
    (Dropout, wrong_rate, "rate"), (Dropout, unscaled, "scaling"), (Dropout, one_mask, "repeats a mask"),
    (Dropout, absent, "scaling"), (Dropout, other_mask_back, "gradient passes another mask"),
    (StochasticDepth, wrong_rate, "rate"), (StochasticDepth, elementwise, "tears samples apart"),
    (StochasticDepth, one_mask, "repeats a mask")])
def test_dropout_that_is_not_dropout_is_refused(
        folder: Path, monkeypatch: pytest.MonkeyPatch, kind: type, drop: Any, words: str) -> None:
    def rule(use: Any, x: np.ndarray) -> Any:
        if not (use.training and use.layer.random):
            return x, lambda gradient: (gradient,)
        return drop(use, x, x.shape if kind is Dropout else x.shape[:1] + (1,) * (x.ndim - 1))
    monkeypatch.setitem(reference.RULES, kind, rule)
    found = refused(proven(folder))
    assert set(found) == {"dropout"}
    assert words in found["dropout"].worst


def test_dropout_in_inference_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rule(use: Any, x: np.ndarray) -> Any:
        use.training = True
        return activation.dropout(use, x)
    monkeypatch.setitem(reference.RULES, Dropout, rule)
    assert "changes inference" in refused(proven(folder))["dropout"].worst


class Repeating(Contestant):
    """Draws afresh in `gradients`, but its compiled step holds one mask for ever."""

    def train_step(self, batch: Arrays) -> Arrays:
        self.generator = np.random.RandomState(1)
        return super().train_step(batch)


def test_a_step_with_one_mask_for_ever_is_refused(folder: Path) -> None:
    assert refused(proven(folder, Repeating))["dropout"].worst == "train_step repeats a loss"


def test_adam_with_a_tiny_epsilon_is_compared_in_every_element(tmp_path: Path) -> None:
    """Its update turns round with the sign of a tiny gradient; beside what its own moments make it does not."""
    earned = proven(planned(tmp_path, draws=1, optimizers=(Adam(),)))
    assert refused(earned) == {}
    assert not [name for name, _ in earned.listed if "step" in name]


def test_an_update_that_is_not_of_its_own_moments_is_refused_in_one_element(
        folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def update(rule: Adam, step: int, value: np.ndarray, gradient: np.ndarray, slots: Arrays) -> np.ndarray:
        after = np.array(reference.adam(rule, step, value, gradient, slots))
        after.flat[0] = 2 * value.flat[0] - after.flat[0]  # the other way round
        return after
    monkeypatch.setitem(reference.UPDATES, Adam, update)
    assert "weights after step 1 (adam)" in refused(proven(folder))


def test_batch_norm_is_proven_with_enough_samples_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 8"):
        proof.prepare(tmp_path, GRAPH, batch=4)


def test_a_proof_that_did_not_run_is_not_judged(tmp_path: Path) -> None:
    proof.prepare(tmp_path, GRAPH)
    with pytest.raises(FileNotFoundError):
        certificate.judge(tmp_path, "contender", "numpy:reference")


def test_draws_move_floats_by_a_few_ulps_and_leave_integers() -> None:
    arrays = {"image": np.array([1.0, -3.0, 0.0], np.float32), "label": np.array([4], np.int32)}
    moved = Moved(arrays, 1, 0)
    assert np.abs(moved["image"] - arrays["image"]) / np.array([1, 3, 1]) == pytest.approx(
        np.array([1, 1, 0]) * tolerance.NOISE, rel=0.1)
    assert (moved["label"] == arrays["label"]).all()


def test_large_results_are_thinned_alike_for_one_parameter() -> None:
    """Wherever their elements lie: of an array in another order the same ones are kept."""
    kept = thinning.Thinning(0, {})
    values = np.arange(2 * thinning.SAMPLE).reshape(2, -1)
    first, second = (kept(part + "/conv1.weight", values) for part in ("gradient", "moment1"))
    assert first.shape == (thinning.SAMPLE,)
    assert (first == second).all()
    assert (first == kept("gradient/conv1.weight", np.asfortranarray(values))).all()
    assert (first != kept("gradient/conv2.weight", values)).any()
    assert kept("gradient/conv1.weight", values[:, 1::2]).shape == (2, thinning.SAMPLE // 2)


def test_half_of_what_is_kept_of_a_table_was_looked_at() -> None:
    graph = find("ncf_ml_20m").graph()
    batches = [draw_batch(graph, 4, seed) for seed in range(2)]
    rows = thinning.touched_rows(graph, batches)
    assert set(rows) == {name for node in graph.nodes if isinstance(node.layer, Embedding)
                         for _, name in node.parameters}
    name, (table, *_) = next((name, each.shape) for name, each in graph.parameters.items() if name in rows)
    ids = np.broadcast_to(np.arange(table)[:, None], (table, 16))
    kept = thinning.Thinning(0, rows)("gradient/" + name, ids)
    assert np.isin(kept[:thinning.SAMPLE // 2], rows[name]).all()
    assert set(kept[:thinning.SAMPLE // 2]) == set(rows[name])
    assert not np.isin(kept[thinning.SAMPLE // 2:], rows[name]).all()


def test_of_several_processes_the_one_that_failed_is_shown() -> None:
    """What nothing is allowed of has no share of what is allowed to go by."""
    close, repeated = Check("dropout", 9, 0.9e-3, 1e-3, True, "scaling"), Check("dropout", 9, 1.0, 0.0, False, "a loss")
    ranks = [Certificate("c", "digest", each.passed, (each,), "numpy", 8) for each in (close, repeated)]
    found = replicas.together(ranks, 2)
    assert not found.passed and found.checks == (Check("dropout", 9, 1.0, 0.0, False, "a loss (rank 1)"),)
    assert replicas.together(ranks[:1] * 2, 2).checks == (close,)
