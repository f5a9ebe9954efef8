"""Every framework, in every mode and layout, computes what NumPy computes in float64: layer by layer, forward,
backward, and through updates; an inference engine forward only. What "what" allows is in rule.py, the examples are in
cases.py.

A layer a framework declares absent is an expected failure with its reason, and so is listed by pytest. What compiles
is tried again when something that decides its proof has changed since it passed (proven.py).
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from families import FAMILIES
from parity import proven, rule
from parity.cases import cases, compact, missing_kinds
from parity.contenders import contenders, engines, lacking, make, require
from parity.rule import (
    INFERENCE,
    ROUNDING,
    Expectation,
    Maker,
    expectation,
    inferred,
    observe,
    prepared,
    reference,
)
from photofinish import environments, support
from photofinish.frameworks import Arrays, Unsupported
from photofinish.optimizers import SGD, Adam, Optimizer
from photofinish.values import Contender

CHEAP = contenders(cheap=True)
COMPILED = [pytest.param(each, marks=pytest.mark.compiled) for each in contenders(cheap=False)]
OPTIMIZERS = [SGD(), SGD(learning_rate=0.1, momentum=0.0), Adam(), Adam(0.01, 0.8, 0.9, 1e-3)]
UPDATED = "batch-norm-sequence"  # the graph the optimizers are proven on
STEPS = 3
# Where a framework's own kernel tells another loss than it differentiates: that value alone may be off, and must be.
DEVIATIONS = dict.fromkeys([("paddle", "cross-entropy-far"), ("paddle", "elu-far")],
                           "Paddle clips what its softmax takes at 64 below the largest, and so the loss")


def test_every_layer_kind_has_an_example() -> None:
    assert not missing_kinds()


def test_what_was_proven_before_are_cases_of_today() -> None:
    compiled = [each.name for each in [*contenders(cheap=False), *engines(cheap=False)]]
    kept = {case for case in proven.before() if case.startswith(proven.LAYERS)}
    assert kept <= {f"{proven.LAYERS}{each}-{name}" for each in compiled for name in cases()}, \
        f"delete the others from {proven.FILE}"


def agree(contender: Contender, name: str) -> None:
    case = cases()[name]
    try:
        seen = observe(lambda: make(contender), case.graph, case.state, case.batch)
    except Unsupported as gap:
        lacking(contender, name, case.graph, gap)
    complaints = expectation(name).complaints(seen)
    if (contender.framework, name) in DEVIATIONS:
        assert complaints and all(" loss: " in each for each in complaints)
        pytest.xfail(DEVIATIONS[contender.framework, name])
    assert not complaints


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("contender", CHEAP, ids=lambda each: each.name)
def test_layer(contender: Contender, name: str) -> None:
    agree(contender, name)


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("contender", engines(), ids=lambda each: each.name)
def test_layer_in_inference(contender: Contender, name: str) -> None:
    """Of engines that do nothing else. Some say what they lack when they compile, in the first inference."""
    agree_in_inference(contender, name)


def agree_in_inference(contender: Contender, name: str) -> None:
    case = cases()[name]
    try:
        seen = inferred(prepared(lambda: make(contender), case.graph, case.state), case.batch)
    except Unsupported as gap:
        lacking(contender, name, case.graph, gap)
    assert not expectation(name).complaints(seen, of=INFERENCE)


@pytest.fixture
def unless_proven(record_property: Callable[[str, object], None]) -> Callable[[Contender, str], None]:
    """Skips a case that passed before, or whose framework is not here."""
    judge = hashlib.sha256(Path(rule.__file__).read_bytes()).hexdigest()

    def check(contender: Contender, name: str) -> None:
        require(contender)
        decided = proven.digest(cases()[name].graph, contender, judge)
        proven.unless_before(f"{proven.LAYERS}{contender.name}-{name}", decided, record_property)
    return check


@pytest.mark.parametrize("contender", COMPILED, ids=lambda each: each.name)
def test_everything_compiled(contender: Contender, unless_proven: Callable[[Contender, str], None]) -> None:
    unless_proven(contender, "everything")
    agree(contender, "everything")


@pytest.mark.parametrize("contender", [pytest.param(each, marks=pytest.mark.compiled) for each in engines(cheap=False)],
                         ids=lambda each: each.name)
def test_everything_compiled_for_inference(contender: Contender,
                                           unless_proven: Callable[[Contender, str], None]) -> None:
    unless_proven(contender, "everything")
    agree_in_inference(contender, "everything")


def part(contender: Contender) -> str:
    """Where the forms of its layers stand: those of frameworks/_keras are several frameworks'."""
    return support.part(contender.framework)


TRIED = {part(each) for each in contenders(cheap=True) if each.framework in support.frameworks()}
UNTRIED = [pytest.param(each, marks=pytest.mark.compiled) for each in contenders(cheap=False)
           if each.framework in support.frameworks() and part(each) not in TRIED]


@pytest.mark.parametrize("name", [compact(family.__name__) for family in FAMILIES])
@pytest.mark.parametrize("contender", UNTRIED, ids=lambda each: each.name)
def test_each_layer_of_a_family_compiled(contender: Contender, name: str,
                                         unless_proven: Callable[[Contender, str], None]) -> None:
    """Of parts that no cheap mode tries layer by layer: of frameworks that always compile."""
    unless_proven(contender, name)
    agree(contender, name)


OTHERWISE = [pytest.param(each, marks=pytest.mark.compiled) for each in contenders(cheap=False)
             if environments.frameworks()[each.framework].recipe.layers]


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("contender", OTHERWISE, ids=lambda each: each.name)
def test_each_layer_that_is_made_otherwise_compiled(contender: Contender, name: str,
                                                    unless_proven: Callable[[Contender, str], None]) -> None:
    """Of frameworks that have layers otherwise than the others of their part, and lack what families' graphs have."""
    unless_proven(contender, name)
    agree(contender, name)


def steps(maker: Maker, optimizer: Optimizer, state: Arrays, batch: Arrays) -> Arrays:
    """Every array after each of some steps: each step starts from what `get` gave to a fresh contestant, so that
    slots and the step count must survive the way through `put`; the last continues without it.

    Without momentum a velocity is the gradient over again, and many frameworks keep none.
    """
    slots = optimizer.slots if getattr(optimizer, "momentum", True) else ()
    groups = ("parameter", "state", "step", *slots)
    graph = cases()[UPDATED].graph
    seen = {}
    for step in range(1, STEPS + 1):
        if step < STEPS:
            contestant = prepared(maker, graph, state, optimizer)
        contestant.wait(contestant.train_step(contestant.feed(batch)))
        state = contestant.get()
        seen.update({f"step {step} {name}": values for name, values in state.items() if name.split("/")[0] in groups})
    return seen


@lru_cache(maxsize=None)
def expected_steps(optimizer: Optimizer) -> Expectation:
    case = cases()[UPDATED]
    return Expectation(lambda maker, state, batch: steps(maker, optimizer, state, batch),
                       case.graph, case.state, case.batch)


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("contender", CHEAP, ids=lambda each: each.name)
def test_update(contender: Contender, optimizer: Optimizer) -> None:
    case = cases()[UPDATED]
    seen = steps(lambda: make(contender), optimizer, case.state, case.batch)
    assert not expected_steps(optimizer).complaints(seen)


@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=str)
@pytest.mark.parametrize("name", ["everything", "flatten-then-batch-norm", "tied", "embedding-tied",
                                  "gru-bidirectional", "lstm-double-bias-bidirectional"])
@pytest.mark.parametrize("contender", CHEAP, ids=lambda each: each.name)
def test_what_is_put_comes_back(contender: Contender, name: str, optimizer: Optimizer) -> None:
    """Parameters and state bit by bit; a slot may be rounded once each way (Keras keeps -learning rate * velocity)."""
    case = cases()[name]
    generator = np.random.RandomState(3)
    state = dict(case.state, step=np.array(7, np.int64))
    for parameter, declared in case.graph.parameters.items():
        for slot in optimizer.slots:
            state[f"{slot}/{parameter}"] = generator.uniform(size=declared.shape).astype(np.float32)
    try:
        contestant = prepared(lambda: make(contender), case.graph, state, optimizer)
    except Unsupported as gap:
        lacking(contender, name, case.graph, gap)
    returned = contestant.get()
    assert returned.keys() == state.keys()
    assert returned["step"].dtype == np.int64
    for each, values in state.items():
        rounded = 4 * ROUNDING if each.split("/")[0] in optimizer.slots else 0.0
        np.testing.assert_allclose(returned[each], values, rtol=rounded, atol=0, err_msg=each)


@pytest.mark.parametrize("contender", CHEAP, ids=lambda each: each.name)
def test_put_without_slots_starts_the_optimizer_anew(contender: Contender) -> None:
    case = cases()[UPDATED]
    contestant = prepared(lambda: make(contender), case.graph, case.state, Adam())
    contestant.wait(contestant.train_step(contestant.feed(case.batch)))
    contestant.put(case.state)
    returned = contestant.get()
    assert returned["step"] == 0
    assert all(not values.any() for name, values in returned.items() if name.startswith("moment"))


def changed_fields() -> list[tuple[str, str]]:
    """Changes to one layer that a careless adapter might make: (example, what is wrong)."""
    return [("batch-norm", "momentum"), ("batch-norm", "running_variance"), ("batch-norm-epsilon", "epsilon"),
            ("average-pool-padded", "count_padding"), ("cross-entropy-smoothed", "label_smoothing"),
            ("clip", "low"), ("clip", "high")]


NEARLY = {"momentum": 0.901, "running_variance": "population", "epsilon": 0.1001, "count_padding": True,
          "label_smoothing": 0.201, "low": -0.501, "high": 0.251}


@pytest.mark.parametrize(("name", "field"), changed_fields())
def test_the_rule_refuses_a_layer_that_is_nearly_right(name: str, field: str) -> None:
    case = cases()[name]

    def change(layer):  # type: ignore[no-untyped-def]
        return replace(layer, **{field: NEARLY[field]}) if hasattr(layer, field) else layer

    graph = case.graph.with_layers(lambda node: change(node.layer))
    graph = replace(graph, losses=tuple(replace(term, layer=change(term.layer)) for term in graph.losses))
    assert graph.digest != case.graph.digest
    seen = observe(lambda: reference("float32"), graph, case.state, case.batch)
    assert expectation(name).complaints(seen)


@pytest.mark.parametrize("name", cases())
def test_the_rule_refuses_weights_rounded_as_tf32_does(name: str) -> None:
    """TF32 keeps 10 bits of a float32's 23."""
    case = cases()[name]
    rounded = {key: ((values.view(np.int32) + 0x1000) & ~0x1FFF).view(np.float32) for key, values in case.state.items()}
    seen = observe(lambda: reference("float32"), case.graph, rounded, case.batch)
    assert any("training output" in line for line in expectation(name).complaints(seen))
