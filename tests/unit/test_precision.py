"""A certificate at a coarser format: what computes by its rounding passes, what has fewer bits or learns in it does
not, and what lies below it only the float32 certificate sees."""

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish import environments
from photofinish.data import draw_batch
from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks import numpy as reference
from photofinish.frameworks._flax import bf16, source
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import Conv, Linear, SoftmaxCrossEntropy, Spec
from photofinish.measure import proof
from photofinish.measure.quantised import Quantised, channels, movable, operands, weights
from photofinish.measure.rounded import Rounded
from photofinish.optimizers import SGD
from photofinish.referee import certificate
from photofinish.referee.mutants import loadable, mutants
from photofinish.referee.tolerance import FLOAT32, FLOOR, FORMATS, NOISE, Format
from photofinish.runner.reference import moved
from photofinish.values import Certificate, Check
from photofinish.vocabulary import batch_norm, conv, dropout, global_average_pool, linear, relu
from photofinish.weights import initial_state
from roundings import coarse, integer, prepared, rounding


def model(image: Tensor) -> Tensor:
    """Layers enough for roundings to spread, and a dropout."""
    x = relu(batch_norm(conv(image, 6, 3)))
    for _ in range(2):
        x = x + relu(batch_norm(conv(x, 6, 3, stride=1)))
    logits = linear(dropout(global_average_pool(x), 0.4), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


GRAPH = record(model, OrderedDict(image=Spec("CHW", (3, 8, 7))))
BFLOAT16 = FORMATS["bfloat16"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: prepared(tmp_path_factory.mktemp(name), GRAPH, FORMATS[name])
            for name in ("bfloat16", "float16", "int8")}


def judged(folder: Path, form: Format, make: Callable[[Setup], Contestant] = Contestant,
           graph: Graph | None = None) -> Certificate:
    proof.run(lambda: make(Setup("reference")), folder, "contender", graph, forward_only=form.equal)
    return certificate.judge(folder, "contender", "numpy", form=form, moved=moved(form))


def in_bits(patch: pytest.MonkeyPatch, bits: int) -> None:
    for kind in (Conv, Linear):
        patch.setitem(reference.RULES, kind, coarse(kind, bits))


def refused(earned: Certificate) -> set[str]:
    return {check.group for check in earned.checks if not check.passed}


def test_mixed_precision_is_written_for_flax_beside_the_code_that_it_runs() -> None:
    mixed, exact = bf16.native_source(GRAPH), source.native_source(GRAPH)
    assert "model = in_bfloat16(Model(rngs=nnx.Rngs(0)))" in mixed and mixed.count("in_float32(model(image))") == 2
    for helper in bf16.HELPERS.values():
        assert helper in mixed
        mixed = mixed.replace(helper + "\n\n", "")
    assert re.sub(r"in_\w+32\((model\(image\))\)|in_\w+16\((.*)\)", r"\1\2", mixed) == exact


def test_float32_is_judged_as_it_ever_was() -> None:
    assert (FLOAT32.noise, FLOAT32.floor) == (NOISE, FLOOR)
    assert all(FLOAT32.of_sum(terms) == FLOOR * np.sqrt(terms) for terms in (1, 7, 8 * 56 * 56))
    assert moved(FLOAT32) == []


@pytest.mark.parametrize(("form", "bits"), [("bfloat16", 7), ("float16", 10)])
def test_products_of_that_format_are_certified(
        folders: dict[str, Path], form: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_bits(monkeypatch, bits)
    earned = judged(folders[form], FORMATS[form])
    assert refused(earned) == set() and earned.precision == form


@pytest.mark.parametrize(("form", "bits"), [("bfloat16", 4), ("float16", 7)], ids=["less than bfloat16", "bfloat16"])
def test_products_in_fewer_bits_are_refused(
        folders: dict[str, Path], form: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    in_bits(monkeypatch, bits)
    assert "inference outputs" in refused(judged(folders[form], FORMATS[form]))


def swapped(weight: np.ndarray) -> np.ndarray:
    """Each channel times the scale of the next."""
    scales = channels(weight)
    return np.asarray(weight / scales * np.roll(scales, 1, axis=0))


def without_its_loudest(weight: np.ndarray) -> np.ndarray:
    """Cut at half its range, as by a scale that is too small."""
    half = channels(weight) / 4
    return np.clip(weight, -half, half)


INT8 = FORMATS["int8"]
SPOILT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "scales swapped": swapped, "weights zeroed": np.zeros_like, "a scale off by a tenth": lambda weight: weight * 1.1,
    "saturated": without_its_loudest, "signs lost": np.abs}


@pytest.mark.parametrize(("bits", "passes"), [(8, True), (5, False), (4, False)])
def test_products_of_integers_are_certified_and_of_shorter_ones_refused(
        folders: dict[str, Path], bits: int, passes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Conv, Linear):
        monkeypatch.setitem(reference.RULES, kind, integer(kind, bits))
    earned = judged(folders["int8"], INT8)
    assert (earned.passed, earned.precision, earned.forward_only) == (passes, "int8", True)


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_integers_of_a_wrong_scale_are_refused(
        folders: dict[str, Path], spoil: Callable[[np.ndarray], np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reference.RULES, Linear, integer(Linear, 8, spoil))
    monkeypatch.setitem(reference.RULES, Conv, integer(Conv, 8))
    assert "inference outputs" in refused(judged(folders["int8"], INT8))


class Forgetful(Contestant):
    """Keeps what it learns in bfloat16, where an update of a thousandth of a weight is lost."""

    def train_step(self, batch: Any) -> Any:
        found = super().train_step(batch)
        self.parameters = {name: rounding(7)(values) for name, values in self.parameters.items()}
        return found


class Unscaled(Contestant):
    """Forgets to take the scale of its loss out of its gradients again."""

    def _backward(self, run: Any) -> tuple[np.ndarray, Arrays]:
        loss, gradients = super()._backward(run)
        return loss, {name: values * 2 for name, values in gradients.items()}


@pytest.mark.parametrize(("make", "group"), [
    (Forgetful, "weights after step 1 (sgd)"), (Forgetful, "weights after step 1 (adam)"), (Unscaled, "gradients"),
    (Unscaled, "weights after step 1 (sgd)")])
def test_what_mixed_precision_gets_wrong_is_refused(
        folders: dict[str, Path], make: Callable[[Setup], Contestant], group: str) -> None:
    assert group in refused(judged(folders["bfloat16"], BFLOAT16, make))


def test_rounding_leaves_what_is_learnt_exact() -> None:
    """The update that a rounded step makes is added to the exact weights: they differ by nothing else."""
    exact = Contestant(Setup("reference", precision="float64"))
    exact.build(GRAPH.without_randomness(), 8, SGD(0.0, 0.9))
    rounded, state = Rounded(exact, BFLOAT16.noise, 1), initial_state(GRAPH, 0)
    rounded.put(state)
    rounded.train_step(rounded.feed(draw_batch(GRAPH, 8, 0)))
    kept = rounded.get()
    for name in (name for name in state if name.startswith("parameter/")):
        np.testing.assert_allclose(kept[name], state[name], rtol=0, atol=1e-12)
    assert int(kept["step"]) == 1


def test_what_lies_below_the_format_is_left_to_the_float32_certificate(folders: dict[str, Path]) -> None:
    """Alone, a proof at bfloat16 refuses a wrong layer but no wrong epsilon; resting on float32's it refuses both."""
    found = {each.name: each.graph for each in mutants(GRAPH, ()) if loadable(each.graph, GRAPH)}
    gross = next(graph for name, graph in found.items() if ".stride" in name)
    fine = next(graph for name, graph in found.items() if "BatchNorm.epsilon" in name)
    assert not judged(folders["bfloat16"], BFLOAT16, graph=gross).passed
    alone = judged(folders["bfloat16"], BFLOAT16, graph=fine)
    assert alone.passed
    exact = Certificate("torch:eager", GRAPH.digest, False, alone.checks, "numpy float64", 8)
    both = certificate.resting_on(exact, alone)
    assert not both.passed and both.exact == "torch:eager" and both.precision == "bfloat16"


def test_the_worst_of_a_float32_certificate_is_what_nothing_was_allowed_to() -> None:
    fine, bare = Check("loss", 1, 0.5, 1.0, True, "loss"), Check("gradients", 1, 0.1, 0.0, False, "bias")
    exact = Certificate("torch:eager", GRAPH.digest, False, (fine, bare), "numpy float64", 8)
    coarse = replace(exact, contender="torch:bf16", passed=True, checks=(fine,), precision="bfloat16")
    assert certificate.resting_on(exact, coarse).checks[0].worst == "bias"


def test_every_header_names_a_format_the_referee_knows() -> None:
    for info in environments.frameworks().values():
        assert {form for form, _ in info.precisions.values()} <= set(FORMATS), info.name


def test_a_graph_whose_operands_can_be_moved_is_the_same_model() -> None:
    """Moves of nothing change nothing; and what the exact function is fed is what it would be, half a step off."""
    exact = Contestant(Setup("reference", precision="float64"))
    state, batch = initial_state(GRAPH, 0), draw_batch(GRAPH, 8, 0)
    plain = Quantised(exact, 0.0, 1)
    plain.build(GRAPH.without_randomness(), 8)
    plain.put(state)
    found = plain.infer(plain.feed(batch))
    exact.build(GRAPH.without_randomness(), 8)
    exact.put(state)
    expected = exact.read(exact.infer(exact.feed(batch)))
    assert set(found) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)
    assert set(movable(GRAPH, operands(GRAPH)).parameters) == set(GRAPH.parameters)
    assert set(weights(GRAPH)) == {f"parameter/{each}" for each in GRAPH.parameters
                                   if each.endswith("weight") and "norm" not in each}


def test_zero_lies_on_a_step_and_everything_else_moves_by_half_of_one() -> None:
    rounded = Quantised(None, 0.5 / 255, 1)
    values = np.array([0.0, -1.0, 3.0, 0.5])
    np.testing.assert_allclose(np.abs(rounded._off("x", values) - values), np.array([0, 1, 1, 1]) * 4.0 / 510)
