"""The referee's reference is trusted because of what is checked here: each layer's forward against its definition,
written a second time without regard for speed; each backward against finite differences of that forward.

The graphs are the parity suite's, seeded: whether a finite step crosses the kink of a Relu or the tie of a MaxPool
never changes from run to run.
"""

from functools import lru_cache
from itertools import product
from math import ceil, floor

import numpy as np
import pytest
from scipy import special

from families import FAMILIES
from families.common import BATCH, Case
from parity.cases import cases
from photofinish import layers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks.numpy import RULES, Contestant, Pass, Use, adam, sgd
from photofinish.graph import apply, record
from photofinish.layers import KINDS, Spec
from photofinish.optimizers import SGD, Adam
from photofinish.vocabulary import batch_norm, dropout

NAMES = list(cases())


def contestant(precision: str = "float64", seed: int = 0) -> Contestant:
    return Contestant(Setup("reference", precision=precision, seed=seed))


def doubled(arrays: Arrays) -> Arrays:
    return {name: values.astype(np.float64) if values.dtype == np.float32 else values
            for name, values in arrays.items()}


def run(case: Case, state: Arrays, batch: Arrays, training: bool = True) -> Pass:
    """A forward pass with dropout at rate zero."""
    graph = case.graph.without_randomness()
    return Pass(graph, batch, {name: state["parameter/" + name] for name in graph.parameters},
                {name: state["state/" + name] for name in graph.state}, training, np.random.RandomState(0))


def test_there_is_a_rule_for_every_layer_kind() -> None:
    assert set(RULES) == set(KINDS.values())


# Backward: finite differences

class Objective:
    """A number made of every output of a graph and its losses, its gradients, and how exactly it can be known."""

    def __init__(self, case: Case) -> None:
        self.case = case
        generator = np.random.RandomState(4)
        batch = doubled(case.batch)
        self.point = {**doubled(case.state), **{"input/" + name: values for name, values in batch.items()}}
        outputs = run(case, self.point, batch).tensors
        self.cotangents = {name: generator.standard_normal(outputs[name].shape) for name in case.graph.outputs}

    def terms(self, point: Arrays) -> tuple[Pass, np.ndarray]:
        batch = {name[6:]: values for name, values in point.items() if name.startswith("input/")}
        done = run(self.case, point, batch)
        return done, np.concatenate([(done.tensors[name] * each).ravel() for name, each in self.cotangents.items()])

    def gradients(self) -> Arrays:
        done, _ = self.terms(self.point)
        tensors, parameters = done.back(self.cotangents)
        found = {"input/" + name: tensors[name] for name, _ in self.case.graph.inputs if name in tensors}
        return {**found, **{"parameter/" + name: values for name, values in parameters.items()}}

    def slope(self, name: str, direction: np.ndarray, step: float) -> tuple[float, float]:
        """The central difference along a direction, and the rounding error it may have."""
        ahead, behind = (self.terms({**self.point, name: self.point[name] + sign * step * direction})[1]
                         for sign in (1, -1))
        rounding = np.finfo(np.float64).eps * np.abs(ahead).sum() / step
        return float((ahead - behind).sum() / (2 * step)), float(rounding)


STEP = float(np.cbrt(np.finfo(np.float64).eps))  # balances rounding, eps / STEP, with truncation, STEP**2
TRUNCATION = 1e3 * STEP**2  # of a function whose third derivative is up to a thousand times its first


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    """Along a random direction in each parameter and each input, one at a time."""
    objective = Objective(cases()[name])
    generator = np.random.RandomState(5)
    gradients = objective.gradients()
    assert gradients
    for each, gradient in gradients.items():
        direction = generator.standard_normal(gradient.shape)
        direction /= np.linalg.norm(direction)
        slope, rounding = objective.slope(each, direction, STEP)
        error = abs(slope - np.sum(gradient * direction))
        assert error <= TRUNCATION * np.linalg.norm(gradient) + 10 * rounding, each


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_has_the_gradient_of_finite_differences(name: str) -> None:
    """Through the contestant: weighted losses, training-only branches, shared parameters."""
    case = cases()[name]
    graph, generator = case.graph.without_randomness(), np.random.RandomState(6)
    reference, state = contestant(), doubled(case.state)
    reference.build(graph, BATCH)
    batch = reference.feed(doubled(case.batch))

    def seen(arrays: Arrays) -> Arrays:
        reference.put(arrays)
        return reference.gradients(batch)

    here = seen(state)
    for each in graph.parameters:
        gradient = here["gradient/" + each]
        direction = generator.standard_normal(gradient.shape)
        direction /= np.linalg.norm(direction)
        key = "parameter/" + each
        losses = [float(seen({**state, key: state[key] + sign * STEP * direction})["loss"]) for sign in (1, -1)]
        rounding = 100 * np.finfo(np.float64).eps * abs(losses[0]) / STEP
        error = abs((losses[0] - losses[1]) / (2 * STEP) - np.sum(gradient * direction))
        assert error <= TRUNCATION * np.linalg.norm(gradient) + rounding, each


# Forward: every definition a second time

def looked_at(layer, count: int, size: int, axis: int) -> list[list[int]]:  # type: ignore[no-untyped-def]
    """Which positions each window sees along an axis, those outside the image included."""
    dilation = getattr(layer, "dilation", (1, 1))[axis]
    return [[i * layer.stride[axis] - layer.padding[axis] + k * dilation for k in range(layer.kernel[axis])]
            for i in range(count)]


def over_windows(use: Use, x: np.ndarray, look) -> np.ndarray:  # type: ignore[no-untyped-def]
    """`look(patch, rows, columns)` of the part of each window on the image; rows and columns are (all positions,
    indices of those on the image)."""
    out = use.layer.outputs(*use.specs)[0]
    result = []
    for all_rows, all_columns in product(looked_at(use.layer, out.size("H"), x.shape[2], 0),
                                         looked_at(use.layer, out.size("W"), x.shape[3], 1)):
        rows = [i for i, row in enumerate(all_rows) if 0 <= row < x.shape[2]]
        columns = [i for i, column in enumerate(all_columns) if 0 <= column < x.shape[3]]
        patch = x[:, :, [all_rows[i] for i in rows]][:, :, :, [all_columns[i] for i in columns]]
        result.append(look(patch, (all_rows, rows), (all_columns, columns)))
    return np.stack(result, -1).reshape(len(x), -1, out.size("H"), out.size("W"))


def conv(use: Use, x: np.ndarray) -> np.ndarray:
    weight, groups = use.parameters["weight"], use.layer.groups

    def look(patch, rows, columns):  # type: ignore[no-untyped-def]
        on_image = weight[:, :, rows[1]][:, :, :, columns[1]]
        parts = zip(np.split(patch, groups, 1), np.split(on_image, groups, 0), strict=True)
        return np.concatenate([np.einsum("nchw,ochw->no", part, kernel) for part, kernel in parts], 1)

    y = over_windows(use, x, look)
    return y + use.parameters["bias"].reshape(1, -1, 1, 1) if use.layer.bias else y


def max_pool(use: Use, x: np.ndarray) -> np.ndarray:
    return over_windows(use, x, lambda patch, rows, columns: patch.max((2, 3)))


def average_pool(use: Use, x: np.ndarray) -> np.ndarray:
    top, left, bottom, right = use.layer.padding

    def look(patch, rows, columns):  # type: ignore[no-untyped-def]
        if not use.layer.count_padding:
            return patch.mean((2, 3))
        counted = [sum(-before <= position < size + after for position in positions) for positions, size, before, after
                   in ((rows[0], x.shape[2], top, bottom), (columns[0], x.shape[3], left, right))]
        return patch.sum((2, 3)) / (counted[0] * counted[1])

    return over_windows(use, x, look)


def adaptive_average_pool(use: Use, x: np.ndarray) -> np.ndarray:
    rows, columns = use.layer.size

    def bin_of(i: int, count: int, size: int) -> slice:
        return slice(floor(i * size / count), ceil((i + 1) * size / count))

    return np.stack([np.stack([x[:, :, bin_of(i, rows, x.shape[2]), bin_of(j, columns, x.shape[3])].mean((2, 3))
                               for j in range(columns)], -1) for i in range(rows)], -2)


def channels_last(use: Use, x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, use.axis("C"), -1)


def batch_norm_by_channel(use: Use, x: np.ndarray) -> np.ndarray:
    layer, y = use.layer, channels_last(use, x).copy()
    for channel in range(y.shape[-1]):
        values = y[..., channel]
        mean, variance = values.mean(), np.mean((values - values.mean()) ** 2)
        if not use.training:
            mean, variance = use.state["running_mean"][channel], use.state["running_variance"][channel]
        values = (values - mean) / (variance + layer.epsilon) ** 0.5
        values = values * use.parameters["weight"][channel] if layer.scale else values
        y[..., channel] = values + use.parameters["bias"][channel] if layer.center else values
    return np.moveaxis(y, -1, use.axis("C"))


def linear(use: Use, x: np.ndarray) -> np.ndarray:
    y = np.einsum("...c,oc->...o", x, use.parameters["weight"])
    return y + use.parameters["bias"] if use.layer.bias else y


def scan_by_hand(use: Use, carry: np.ndarray, sequence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each step through a Pass over the body: what is checked is which carry and which slice it gets."""
    (carry_name, _), (step_name, _) = use.layer.body.inputs
    outputs = []
    for t in range(sequence.shape[1]):
        done = Pass(use.layer.body, {carry_name: carry, step_name: sequence[:, t]}, use.parameters, {}, False,
                    use.generator)
        carry, output = (done.tensors[name] for name in use.layer.body.outputs)
        outputs.append(output[:, None])
    return carry, np.concatenate(outputs, 1)


def cross_entropy(use: Use, logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    smoothing, classes, logits = use.layer.label_smoothing, use.specs[0].size("C"), channels_last(use, logits)
    wanted = (1 - smoothing) * np.eye(classes)[label] + smoothing / classes
    return np.sum(wanted * -special.log_softmax(logits, axis=-1), axis=-1)


DEFINITIONS = {
    layers.Conv: conv,
    layers.Linear: linear,
    layers.BatchNorm: batch_norm_by_channel,
    layers.Relu: lambda use, x: np.where(x > 0, x, 0),
    layers.Clip: lambda use, x: np.minimum(np.maximum(x, use.layer.low), use.layer.high),
    layers.Sigmoid: lambda use, x: special.expit(x),
    layers.Tanh: lambda use, x: 2 * special.expit(2 * x) - 1,
    layers.Swish: lambda use, x: x * special.expit(x),
    layers.Dropout: lambda use, x: x,
    layers.StochasticDepth: lambda use, x: x,
    layers.MaxPool: max_pool,
    layers.AveragePool: average_pool,
    layers.AdaptiveAveragePool: adaptive_average_pool,
    layers.GlobalAveragePool: lambda use, x: np.einsum("nchw->nc", x).reshape(
        x.shape[:2] + (1, 1) * use.layer.keep_axes) / (x.shape[2] * x.shape[3]),
    layers.Flatten: lambda use, x: np.array([sample.ravel() for sample in x]),
    layers.Add: lambda use, a, b: np.sum([a, b], axis=0),
    layers.Multiply: lambda use, a, b: np.multiply(*np.broadcast_arrays(a, b)),
    layers.Concat: lambda use, *parts: np.array([np.concatenate(samples, use.axis(use.layer.axis) - 1)
                                                 for samples in zip(*parts, strict=True)]),
    layers.Embedding: lambda use, ids: np.eye(use.layer.vocabulary)[ids] @ use.parameters["weight"],
    layers.MaskedMean: lambda use, x, mask: np.array([steps[kept].mean(0) for steps, kept in zip(x, mask)]),
    layers.Scan: scan_by_hand,
    layers.SoftmaxCrossEntropy: cross_entropy,
}


for family in FAMILIES:
    DEFINITIONS.update(family.DEFINITIONS)


def test_every_layer_kind_is_defined_twice() -> None:
    assert set(DEFINITIONS) == set(KINDS.values())


@pytest.mark.parametrize("training", [True, False], ids=["training", "inference"])
@pytest.mark.parametrize("name", NAMES)
def test_every_node_computes_its_definition(name: str, training: bool) -> None:
    case = cases()[name]
    graph, state, batch = case.graph.without_randomness(), doubled(case.state), doubled(case.batch)
    done = run(case, state, batch, training)
    for node in graph.nodes:
        if node.training_only and not training:
            assert node.name not in done.tensors
            continue
        own_parameters = {own: state["parameter/" + each] for own, each in node.parameters}
        own_state = {own: state["state/" + each] for own, each in node.state}
        use = Use(node.layer, graph.input_specs(node), own_parameters, own_state, training, np.random.RandomState(0))
        defined = DEFINITIONS[type(node.layer)](use, *(done.tensors[each] for each in node.inputs))
        for output, wanted in zip(node.outputs, defined if isinstance(defined, tuple) else (defined,), strict=True):
            assert done.tensors[output].shape == (BATCH,) + graph.spec(output).shape
            np.testing.assert_allclose(done.tensors[output], wanted, rtol=1e-12, atol=1e-12, err_msg=node.name)


@pytest.mark.parametrize("name", NAMES)
def test_the_loss_is_the_weighted_sum_of_means(name: str) -> None:
    case = cases()[name]
    state, batch = doubled(case.state), doubled(case.batch)
    reference = contestant()
    reference.build(case.graph.without_randomness(), BATCH)
    reference.put(state)
    tensors = run(case, state, batch).tensors
    wanted = sum(term.weight * np.mean(DEFINITIONS[type(term.layer)](
        Use(term.layer, (case.graph.spec(term.prediction),), {}, {}, True, np.random.RandomState(0)),
        tensors[term.prediction], batch[term.target]))
        for term in case.graph.losses)
    np.testing.assert_allclose(reference.gradients(reference.feed(batch))["loss"], wanted, rtol=1e-12)


@pytest.mark.parametrize(("name", "unbiased"), [("batch-norm", 1), ("batch-norm-momentum", 1),
                                                ("batch-norm-population", 0), ("batch-norm-sequence", 1)])
def test_batch_norm_moves_its_statistics(name: str, unbiased: int) -> None:
    case = cases()[name]
    state = doubled(case.state)
    done = run(case, state, doubled(case.batch))
    node = next(each for each in case.graph.nodes if isinstance(each.layer, layers.BatchNorm))
    x = done.tensors[node.inputs[0]]
    axis = 1 + case.graph.spec(node.inputs[0]).axes.index("C")
    channels = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    momentum = node.layer.momentum
    for kind, batch in (("running_mean", channels.mean(1)), ("running_variance", channels.var(1, ddof=unbiased))):
        old = state[f"state/{node.name}.{kind}"]
        np.testing.assert_allclose(done.new_state[f"{node.name}.{kind}"], momentum * old + (1 - momentum) * batch)


# Updates, in closed form

def test_sgd_velocity_is_a_geometric_sum() -> None:
    gradients = np.array([0.3, -1.2, 0.7, 2.0])
    rule, slots, value = SGD(learning_rate=0.1, momentum=0.8), {"velocity": np.zeros(1)}, np.ones(1)
    velocities = [sum(0.8 ** (n - i) * gradients[i] for i in range(n + 1)) for n in range(4)]
    for step, gradient in enumerate(gradients, 1):
        value = sgd(rule, step, value, np.array([gradient]), slots)
    np.testing.assert_allclose(slots["velocity"], velocities[-1])
    np.testing.assert_allclose(value, 1 - 0.1 * sum(velocities))


def test_adam_moments_are_corrected_averages() -> None:
    gradients = np.array([0.3, -1.2, 0.7])
    rule, slots, value = Adam(0.1, 0.7, 0.8, 1e-2), {"moment1": np.zeros(1), "moment2": np.zeros(1)}, np.ones(1)
    moved = 0.0
    for step, gradient in enumerate(gradients, 1):
        value = adam(rule, step, value, np.array([gradient]), slots)
        mean, square = (np.average(gradients[:step] ** power, weights=decay ** np.arange(step)[::-1])
                        for power, decay in ((1, 0.7), (2, 0.8)))
        moved += 0.1 * mean / (np.sqrt(square) + 1e-2)
    np.testing.assert_allclose(value, 1 - moved)


# The contestant

@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32(name: str) -> None:
    case = cases()[name]
    single = contestant("float32")
    single.build(case.graph, BATCH, Adam())
    single.put(case.state)
    batch = single.feed(case.batch)
    arrays = {**single.infer(batch), **single.gradients(batch), **single.train_step(batch), **single.get()}
    assert {name: values.dtype for name, values in arrays.items() if values.dtype != np.float32} == {
        "step": np.dtype(np.int64)}


@lru_cache(maxsize=1)
def dropped():  # type: ignore[no-untyped-def]
    return record(lambda x: dropout(x, 0.5), {"x": Spec("C", (100,))})


def masks(seed: int) -> list[list[float]]:
    reference = contestant(seed=seed)
    reference.build(dropped(), 2)
    reference.put({})
    return [reference.gradients({"x": np.ones((2, 100))})["output/dropout1"].tolist() for _ in range(3)]


def test_dropout_follows_the_seed() -> None:
    assert masks(1) == masks(1)
    assert masks(1) != masks(2)
    assert masks(1)[0] != masks(1)[1]


@pytest.mark.parametrize("setup", [Setup("eager"), Setup("reference", device="cuda"),
                                   Setup("reference", precision="float16")], ids=str)
def test_what_numpy_cannot_be(setup: Setup) -> None:
    with pytest.raises(Unsupported):
        Contestant(setup)


def test_a_scan_over_a_body_with_state_is_refused_by_name() -> None:
    carried = {"carry": Spec("C", (4,)), "x": Spec("C", (4,))}
    body = record(lambda carry, x: (batch_norm(carry + x),) * 2, carried)
    graph = record(lambda carry, x: apply(layers.Scan(body), carry, x),
                   {"carry": Spec("C", (4,)), "x": Spec("TC", (3, 4))})
    with pytest.raises(Unsupported, match="scan1"):
        contestant().build(graph, BATCH)


def test_a_step_moves_everything_and_gradients_move_nothing() -> None:
    case = cases()["batch-norm"]
    state = doubled(case.state)
    reference = contestant()
    reference.build(case.graph, BATCH, SGD(learning_rate=0.1))
    reference.put(state)
    batch = reference.feed(doubled(case.batch))
    gradients = reference.gradients(batch)
    assert all(np.array_equal(reference.get()[name], values) for name, values in state.items())
    reference.train_step(batch)
    moved = reference.get()
    for name, values in run(case, state, batch).new_state.items():
        np.testing.assert_array_equal(moved["state/" + name], values)
    for name in case.graph.parameters:
        wanted = state["parameter/" + name] - 0.1 * gradients["gradient/" + name]
        np.testing.assert_allclose(moved["parameter/" + name], wanted, rtol=1e-15)
    assert moved["step"] == 1


def test_training_needs_an_optimizer() -> None:
    case = cases()["linear"]
    reference = contestant()
    reference.build(case.graph, BATCH)
    reference.put(case.state)
    with pytest.raises(Unsupported, match="optimizer"):
        reference.train_step(reference.feed(case.batch))
