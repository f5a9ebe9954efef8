"""PyTorch on a CUDA device: the same code, held to the CPU's double precision."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from photofinish import data, models, weights  # noqa: E402
from photofinish.frameworks import Contestant, Setup, load  # noqa: E402
from photofinish.optimizers import SGD, Adam, Optimizer  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no CUDA device")

BATCH = 8
GRAPH = models.find("digits_cnn").small()
LAYOUTS = ["contiguous", "channels_last"]


def built(device: str, precision: str = "float32", mode: str = "eager", layout: str = "contiguous",
          optimizer: Optimizer = SGD()) -> Contestant:  # noqa: B008
    contestant = load("torch")(Setup(mode, {"layout": layout}, device, precision=precision))
    contestant.build(GRAPH, BATCH, optimizer)
    contestant.put(weights.perturbed_state(GRAPH))
    return contestant


def assert_close(seen: dict[str, np.ndarray], exact: dict[str, np.ndarray], tolerance: float) -> None:
    assert seen.keys() == exact.keys()
    for name, values in exact.items():
        np.testing.assert_allclose(seen[name], values, rtol=0, err_msg=name,
                                   atol=tolerance * max(1.0, float(np.abs(values).max())))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=["sgd", "adam"])
def test_ten_steps_in_double_precision(optimizer: Optimizer, layout: str) -> None:
    ours = built("cuda", "float64", layout=layout, optimizer=optimizer)
    exact = built("cpu", "float64", optimizer=optimizer)
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    batch, same = ours.feed(arrays), exact.feed(arrays)
    for _ in range(10):
        assert_close(ours.read(ours.train_step(batch)), exact.read(exact.train_step(same)), 1e-10)
    assert_close(ours.get(), exact.get(), 1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", ["eager", "compile"])
def test_gradients_in_float32_are_not_tf32(mode: str, layout: str) -> None:
    """TF32 keeps 10 bits: it would be off by about 1e-3."""
    ours, exact = built("cuda:0", mode=mode, layout=layout), built("cpu", "float64")
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    assert_close(ours.gradients(ours.feed(arrays)), exact.gradients(exact.feed(arrays)), 5e-5)


def test_the_batch_is_on_the_device_and_memory_is_counted() -> None:
    contestant = built("cuda")
    batch = contestant.feed(data.draw_batch(GRAPH, BATCH, seed=1))
    assert all(tensor.is_cuda for tensor in batch.all)
    contestant.wait(contestant.train_step(batch))
    memory = contestant.device_memory()
    assert memory is not None
    assert memory["peak"] >= memory["now"] > 0
    assert contestant.facts()["device"] == torch.cuda.get_device_name(0)
    assert any("cudnn" in kernel for kernel in contestant.evidence()["kernels"])
