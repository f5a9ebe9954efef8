"""Every contender that says it runs on CUDA: the same code there, held to NumPy's double precision."""

import os

import numpy as np
import pytest

from parity.contenders import contenders, engines, make
from photofinish import data, environments, models, weights
from photofinish.frameworks import Arrays, Contestant, Setup, Unsupported
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.machine import gpus
from photofinish.measure import probes
from photofinish.optimizers import SGD, Adam, Optimizer
from photofinish.referee import audit
from photofinish.values import Contender
from remote import Remote

DEVICE = "cuda"
pytestmark = [pytest.mark.skipif(not gpus(), reason="there is no NVIDIA GPU"),
              pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")]  # PyTorch's own, of graphs it warms up with
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # as a worker of JAX has it

BATCH = 8
GRAPH = models.find("digits_cnn").small()


TRAINING = contenders(cheap=True, device=DEVICE) + contenders(cheap=False, device=DEVICE)
EVERY = TRAINING + engines(device=DEVICE) + engines(cheap=False, device=DEVICE)
COARSER = [(Contender(info.name, mode), info.precisions[mode][0]) for info in environments.frameworks().values()
           for mode in info.modes if mode in info.precisions and info.precisions[mode][0] != "int8"
           and DEVICE in info.devices_of(mode) and not info.in_house]
ROUNDED = {"TF32": 2.0 ** -11, "float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}  # the most that an operand loses


def built(contestant: Contestant, optimizer: Optimizer = SGD()) -> Contestant:  # noqa: B008
    contestant.build(GRAPH, BATCH, optimizer)
    contestant.put(weights.perturbed_state(GRAPH))
    return contestant


def there(contender: Contender, precision: str = "float32", optimizer: Optimizer = SGD()) -> Contestant:  # noqa: B008
    """On the device, or skipped with the framework's reason."""
    try:
        return built(make(contender, device=DEVICE, precision=precision), optimizer)
    except Unsupported as reason:
        pytest.skip(str(reason))


def exactly(optimizer: Optimizer = SGD()) -> Contestant:  # noqa: B008
    return built(Reference(Setup("reference", precision="float64")), optimizer)


def assert_close(seen: Arrays, exact: Arrays, tolerance: float) -> None:
    assert seen.keys() == exact.keys()
    for name, values in exact.items():
        np.testing.assert_allclose(seen[name], values, rtol=0, err_msg=name,
                                   atol=tolerance * max(1.0, float(np.abs(values).max())))


@pytest.mark.parametrize("contender", TRAINING, ids=str)
@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=["sgd", "adam"])
def test_ten_steps_in_double_precision(optimizer: Optimizer, contender: Contender) -> None:
    ours, exact = there(contender, "float64", optimizer), exactly(optimizer)
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    batch, same = ours.feed(arrays), exact.feed(arrays)
    for _ in range(10):
        assert_close(ours.read(ours.train_step(batch)), exact.read(exact.train_step(same)), 1e-10)
    assert_close(ours.get(), exact.get(), 1e-9)


@pytest.mark.parametrize("contender", TRAINING, ids=str)
def test_gradients_in_float32_are_not_tf32(contender: Contender) -> None:
    """TF32 keeps 10 bits: it would be off by about 1e-3."""
    ours, exact = there(contender), exactly()
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    assert_close(ours.gradients(ours.feed(arrays)), exact.gradients(exact.feed(arrays)), 5e-5)


@pytest.mark.parametrize("contender", EVERY, ids=str)
def test_outputs_in_float32_are_not_tf32(contender: Contender) -> None:
    ours, exact = there(contender), exactly()
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    assert_close(ours.read(ours.infer(ours.feed(arrays))), exact.read(exact.infer(exact.feed(arrays))), 5e-5)


@pytest.mark.parametrize("contender", TRAINING, ids=str)
def test_the_device_is_named_and_its_memory_is_counted(contender: Contender) -> None:
    ours = there(contender)
    assert ours.facts()["device"] != "cpu"
    if isinstance(ours, Remote):
        pytest.skip("the protocol tells a device's memory with a block, not by itself")
    ours.wait(ours.train_step(ours.feed(data.draw_batch(GRAPH, BATCH, seed=1))))
    memory = ours.device_memory()
    assert memory is not None
    assert 0 < memory["now"] <= memory["peak"] < 2**30  # nothing is taken in advance


@pytest.mark.parametrize(("contender", "form"), COARSER, ids=str)
def test_a_coarser_mode_is_as_coarse_as_it_says(contender: Contender, form: str) -> None:
    ours, exact = there(contender), exactly()
    arrays = data.draw_batch(GRAPH, BATCH, seed=1)
    assert_close(ours.read(ours.infer(ours.feed(arrays))), exact.read(exact.infer(exact.feed(arrays))),
                 16 * ROUNDED[form])
    if isinstance(ours, Remote):
        pytest.skip("the protocol probes a contender in a worker of a race")
    seen = probes.run(ours)
    assert audit._precision(seen["matmul"]) == form
    assert seen["denormals"] == {"results_kept": True, "operands_kept": True}
    assert "unsupported" not in seen["evidence"]
