"""JAX on a CUDA device: the same code, held to NumPy's double precision."""

import importlib.util
import os

import numpy as np
import pytest

if importlib.util.find_spec("jax") is None or importlib.util.find_spec("flax") is None:
    pytest.skip("JAX and flax are not installed", allow_module_level=True)

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # as a worker has it

from photofinish import data, models, weights
from photofinish.frameworks import Contestant, Setup, Unsupported, load
from photofinish.optimizers import SGD, Adam, Optimizer

BATCH = 8
GRAPH = models.find("digits_cnn").small()
MODES = ["jit", "plain"]


def built(framework: str, mode: str, precision: str = "float32", optimizer: Optimizer = SGD()) -> Contestant:  # noqa: B008
    try:
        contestant = load(framework)(Setup(mode, device="cuda" if framework == "jax" else "cpu", precision=precision))
    except Unsupported as reason:
        pytest.skip(str(reason))
    contestant.build(GRAPH, BATCH, optimizer)
    contestant.put(weights.perturbed_state(GRAPH))
    return contestant


def assert_close(seen: dict[str, np.ndarray], exact: dict[str, np.ndarray], tolerance: float) -> None:
    assert seen.keys() == exact.keys()
    for name, values in exact.items():
        np.testing.assert_allclose(seen[name], values, rtol=0, err_msg=name,
                                   atol=tolerance * max(1.0, float(np.abs(values).max())))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=["sgd", "adam"])
def test_ten_steps_in_double_precision(optimizer: Optimizer, mode: str) -> None:
    ours = built("jax", mode, "float64", optimizer)
    exact = built("numpy", "reference", "float64", optimizer)
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    batch, same = ours.feed(arrays), exact.feed(arrays)
    for _ in range(10):
        assert_close(ours.read(ours.train_step(batch)), exact.read(exact.train_step(same)), 1e-10)
    assert_close(ours.get(), exact.get(), 1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_in_float32_are_not_tf32(mode: str) -> None:
    """TF32 keeps 10 bits: it would be off by about 1e-3."""
    ours, exact = built("jax", mode), built("numpy", "reference", "float64")
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    assert_close(ours.gradients(ours.feed(arrays)), exact.gradients(exact.feed(arrays)), 5e-5)


def test_the_batch_is_on_the_device_and_memory_grows_with_use() -> None:
    contestant = built("jax", "jit")
    batch = contestant.feed(data.draw_batch(GRAPH, BATCH, seed=1))
    assert all(array.devices() == {contestant.device} for array in batch)  # type: ignore[attr-defined]
    contestant.wait(contestant.train_step(batch))
    memory = contestant.device_memory()
    assert memory is not None
    assert 0 < memory["now"] <= memory["peak"] < 2**30  # nothing is taken in advance
