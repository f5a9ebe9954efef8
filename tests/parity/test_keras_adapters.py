"""What is particular to Keras' own trainer on its three backends. A process imports Keras once, with one backend: each
has a worker of its own (contenders.make)."""

import importlib.util
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is not installed", allow_module_level=True)

from families import FAMILIES
from families.common import BATCH, Case
from parity.contenders import make
from parity.rule import Expectation, Maker, prepared
from parity.test_layers import UPDATED, expected_steps, steps
from parity.test_layers import cases as layer_cases
from photofinish import data, frameworks, models, weights
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._keras.compiled import compiled_source
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import BinaryCrossEntropy, SoftmaxCrossEntropy, Spec
from photofinish.optimizers import SGD, Adam, Optimizer
from photofinish.referee.audit import mantissa_bits
from photofinish.values import Contender
from photofinish.vocabulary import batch_norm, conv, flatten, linear, relu, scope
from remote import Remote

BACKENDS = ("tensorflow", "torch", "jax")
QUICKEST = {"tensorflow": "nojit", "torch": "nojit", "jax": "jit"}  # to compile; what jit_compile="auto" is on a CPU
LABEL = Spec("", (), "int32")


def small_network(image: Tensor) -> Tensor:
    with scope("block"):  # so that layers have names with a dot
        x = relu(batch_norm(conv(image, 4, 3, stride=2)))
    logits = linear(flatten(x), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
    return logits


SMALL = record(small_network, {"image": Spec("CHW", (3, 8, 6))})


def contender(backend: str, mode: str = "") -> Contender:
    return Contender(f"keras-{backend}", mode or QUICKEST[backend])


def built(backend: str, mode: str = "", graph: Graph = SMALL, optimizer: Optimizer | None = SGD()) -> Any:  # noqa: B008
    state = weights.perturbed_state(graph)
    return prepared(lambda: make(contender(backend, mode)), graph, state, optimizer)


def passed(maker: Maker, graph: Graph, state: Arrays, batch: Arrays) -> Arrays:
    """Outputs, loss and gradients of a pass in training mode."""
    contestant = prepared(maker, graph.without_randomness(), state)
    return contestant.gradients(contestant.feed(batch))


def stepped(maker: Maker, graph: Graph, state: Arrays, batch: Arrays) -> Arrays:
    """Every array after a step of Adam."""
    contestant = prepared(maker, graph, state, Adam())
    contestant.wait(contestant.train_step(contestant.feed(batch)))
    return contestant.get()


@lru_cache(maxsize=None)
def expected(graph: Graph, look: Callable[..., Arrays]) -> tuple[Case, Expectation]:
    case = Case(graph)
    return case, Expectation(lambda make, state, batch: look(make, graph, state, batch), graph, case.state, case.batch)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.split(".")[-1])
def test_every_layer_of_a_family(family: ModuleType, backend: str) -> None:
    case, expectation = expected(family.COMPACT, passed)
    seen = passed(lambda: make(contender(backend)), case.graph, case.state, case.batch)
    assert not expectation.complaints(seen)


@pytest.mark.compiled
@pytest.mark.parametrize(("backend", "mode"), [("tensorflow", "jit"), ("jax", "nojit")])
def test_the_other_mode(backend: str, mode: str) -> None:
    """Not keras-torch:jit: torch.compile takes over a minute for the least of Keras' steps."""
    case, expectation = expected(layer_cases()["linear"].graph, stepped)
    seen = stepped(lambda: make(contender(backend, mode)), case.graph, case.state, case.batch)
    assert not expectation.complaints(seen)


@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_update(backend: str, optimizer: Optimizer) -> None:
    case = layer_cases()[UPDATED]
    seen = steps(lambda: make(contender(backend)), optimizer, case.state, case.batch)
    assert not expected_steps(optimizer).complaints(seen)


@pytest.mark.parametrize("backend", BACKENDS)
def test_update_of_an_embedding(backend: str) -> None:
    """Whose ids come more than once: TensorFlow's gradient of a table is slices that must be added up."""
    case, expectation = expected(layer_cases()["embedding"].graph, stepped)
    seen = stepped(lambda: make(contender(backend)), case.graph, case.state, case.batch)
    assert not expectation.complaints(seen)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_audit_sees_float32_and_what_became_of_the_step(backend: str) -> None:
    contestant = built(backend)
    assert isinstance(contestant, Remote)
    batch = contestant.feed(data.draw_batch(SMALL, BATCH, seed=1))
    for _ in range(3):
        contestant.train_step(batch)
    probes = contestant.link.ask("probe")["probes"]
    assert all(17 <= mantissa_bits(probes[product]) <= 30 for product in ("matmul", "conv"))
    assert probes["facts"]["backend"] == backend
    evidence = probes["evidence"]
    assert evidence["compiled"] == (QUICKEST[backend] == "jit")
    assert evidence["train_step"] == {
        "tensorflow": {"traces": 1, "xla": False}, "torch": {}, "jax": {"programs": 1}}[backend]


@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=str)
def test_a_state_put_elsewhere_continues(optimizer: Optimizer) -> None:
    """From one backend to the next, slots, step count and half-converted variances included."""
    batch, arrays = data.draw_batch(SMALL, BATCH, seed=1), weights.perturbed_state(SMALL)
    found = {}
    for backend in BACKENDS:
        contestant = prepared(lambda backend=backend: make(contender(backend)), SMALL, arrays, optimizer)
        contestant.train_step(contestant.feed(batch))
        arrays = contestant.get()
        found[backend] = arrays
    alone = built("tensorflow", optimizer=optimizer)
    for _ in BACKENDS:
        alone.train_step(alone.feed(batch))
    for name, values in alone.get().items():
        scale = np.abs(values).max() or 1.0
        np.testing.assert_allclose(arrays[name], values, rtol=0, atol=1e-5 * scale, err_msg=name)


# The text


@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_the_text_is_the_same_on_every_backend(backend: str) -> None:
    texts = [compiled_source(each, SMALL).replace(f'"{each}"', "") for each in ("tensorflow", backend)]
    assert texts[0] == texts[1]


def test_the_backend_is_chosen_before_keras_is_imported() -> None:
    text = compiled_source("jax", SMALL)
    assert text.index('os.environ["KERAS_BACKEND"] = "jax"') < text.index("import keras")
    assert "import tensorflow" not in text


def test_a_loss_for_each_output_with_its_weight() -> None:
    def model(x: Tensor) -> tuple[Tensor, Tensor]:
        first, second = linear(x, 5, name="first"), linear(x, 2, name="second")
        loss(SoftmaxCrossEntropy(), first, "label", LABEL)
        loss(BinaryCrossEntropy(), second, "truth", Spec("C", (2,)), weight=0.3)
        return first, second
    text = compiled_source("torch", record(model, {"x": Spec("C", (3,))}))
    assert 'loss_weights={"first": 1.0, "second": 0.3},' in text
    assert 'model.train_on_batch(x_, {"first": label, "second": truth}, return_dict=True)["loss"]' in text


def test_two_losses_of_one_output_are_refused() -> None:
    def model(x: Tensor) -> Tensor:
        logits = linear(x, 5)
        loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
        loss(SoftmaxCrossEntropy(0.1), logits, "other", LABEL)
        return logits
    with pytest.raises(Unsupported, match="linear1: an output of a Keras model has one loss"):
        compiled_source("jax", record(model, {"x": Spec("C", (3,))}))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Loads a file of a backend here, where Keras runs on TensorFlow, and forgets what it set."""
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    frameworks.load("tensorflow")  # it imports Keras
    return frameworks.load


def test_keras_on_another_backend_is_refused(in_this_process: Callable[[str], Any]) -> None:
    with pytest.raises(Unsupported, match="Keras runs on tensorflow in this process, not on torch"):
        in_this_process("keras-torch")(Setup("nojit"))


@pytest.mark.parametrize(("setup", "message"), [
    (Setup("fit"), "no mode fit: jit, nojit"), (Setup("jit", {"layout": "NCHW"}), "no option layout"),
    (Setup("jit", precision="float64"), "no precision float64"), (Setup("jit", device="tpu"), "no device tpu"),
], ids=str)
def test_what_cannot_be_had_is_refused(in_this_process: Callable[[str], Any], setup: Setup, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        in_this_process("keras-tensorflow")(setup)


def test_the_printed_code_trains(in_this_process: Callable[[str], Any]) -> None:
    in_this_process("keras-tensorflow")
    graph = models.find("digits_cnn").small()
    printed: dict[str, Any] = {"__name__": "printed"}
    exec(compiled_source("tensorflow", graph), printed)
    assert printed["GRAPH"] == graph.digest
    batch = data.draw_batch(graph, BATCH, seed=0)
    losses = [printed["train_step"](batch["image"].transpose(0, 2, 3, 1), batch["label"]) for _ in range(10)]
    assert losses[-1] < losses[0] / 2
    assert set(printed["infer"](batch["image"].transpose(0, 2, 3, 1))) == set(graph.outputs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_fit_takes_the_steps_of_every_epoch_it_is_asked_for(backend: str, tmp_path: Path) -> None:
    samples = data.draw_batch(SMALL, 2 * BATCH + 1, 0)
    for name, what in (("image", "inputs"), ("label", "labels")):
        np.save(tmp_path / f"train-{what}.npy", samples[name])
    contestant = built(backend)
    before = contestant.get()
    contestant.link.ask("data", folder=str(tmp_path), orders=None, seed=0, loop="fit", options={})
    assert contestant.get()["step"] == before["step"]  # nothing runs before it is asked for
    told = [contestant.link.ask("epoch", number=number) for number in (1, 2)]
    assert [each["steps"] for each in told] == [3, 3] and contestant.get()["step"] == before["step"] + 6
    assert all(0 < each["first_step"] <= each["seconds"] for each in told)
    assert told[1]["loss"] < told[0]["loss"]  # it learns the same few samples again
