"""The graph: what recording keeps, what the digest sees, and how a mistake in a model is told."""

import json
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from photofinish import layers, models
from photofinish.graph import Graph, ModelError, Node, Tensor, apply, loss, record
from photofinish.layers import KINDS, SoftmaxCrossEntropy, Spec, layer_fields
from photofinish.vocabulary import (
    adaptive_average_pool,
    average_pool,
    batch_norm,
    block,
    clip,
    concat,
    conv,
    dropout,
    embedding,
    flatten,
    global_average_pool,
    linear,
    masked_mean,
    max_pool,
    relu,
    scan,
    scope,
    sigmoid,
    stochastic_depth,
    swish,
    tanh,
    training_only,
)

LABEL = Spec("", (), "int32")
STEP = {"carry": Spec("C", (4,)), "x": Spec("C", (3,))}


def cell(carry, x):
    carry = tanh(linear(concat(carry, x), 4))
    return carry, linear(carry, 2)


def everything(image, ids, mask):
    """Uses every kind of layer once or more."""
    x = stochastic_depth(swish(batch_norm(conv(image, 4, 3, 2, bias=True))), 0.1)
    x = x + relu(x)
    x = x * sigmoid(conv(global_average_pool(x, keep_axes=True), 4, 1))
    x = concat(max_pool(x, 2, padding=1, ceil=True), average_pool(x, 2, padding=1, ceil=True, count_padding=True))
    x = flatten(adaptive_average_pool(clip(x, -1.0, 1.0), 2))
    words = embedding(ids, 11, 3)
    carry, _ = scan(record(cell, STEP), tanh(linear(x, 4)), words)
    x = dropout(concat(x, carry, masked_mean(words, mask)), 0.5)
    with training_only():
        loss(SoftmaxCrossEntropy(0.1), linear(x, 5, name="auxiliary"), "label", LABEL, weight=0.4)
    logits = linear(x, 5)
    loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
    return logits


INPUTS = {"image": Spec("CHW", (3, 9, 8)), "ids": Spec("T", (6,), "int32"), "mask": Spec("T", (6,), "bool")}
EVERYTHING = record(everything, INPUTS)
GRAPHS = {"everything": EVERYTHING, **{name: entry.small() for name, entry in models.all_models().items()}}


def image_model(function):
    return record(function, {"image": Spec("CHW", (3, 8, 8))})


@pytest.mark.parametrize("name", GRAPHS)
def test_json_gives_back_the_same_graph(name):
    graph = GRAPHS[name]
    again = Graph.from_json(json.loads(json.dumps(graph.to_json())))
    assert again == graph
    assert again.digest == graph.digest
    assert again.specs == graph.specs
    assert again.parameters == graph.parameters
    assert again.state == graph.state


@pytest.mark.parametrize("name", GRAPHS)
def test_names_of_tensors_parameters_and_state_are_unique(name):
    graph = GRAPHS[name]
    tensors = [tensor for tensor, _ in graph.inputs + graph.targets]
    tensors += [tensor for node in graph.nodes for tensor in node.outputs]
    arrays = [array for node in graph.nodes for own, array in node.parameters + node.state
              if array == f"{node.name}.{own}"]  # the others are shared with the node that owns them
    assert set(arrays) == set(graph.parameters) | set(graph.state)
    assert len(set(tensors)) == len(tensors)
    assert len(set(arrays)) == len(arrays)


def test_recording_twice_gives_one_digest():
    assert record(everything, INPUTS).digest == EVERYTHING.digest


def example(kind):
    """A layer of that kind, with any value where there is no default."""
    def value(each):
        if each.default is not MISSING:
            return each.default
        plain = {int: 2, float: 0.5, str: "C", bool: True, Any: record(cell, STEP)}
        return plain.get(each.type, (1, 1, 1, 1) if each.type == tuple[int, int, int, int] else (1, 1))
    return KINDS[kind](**{each.name: value(each) for each in fields(KINDS[kind])})


def alone(layer):
    """A graph of one layer: the digest looks at neither shapes nor wires."""
    return Graph((), (Node("alone", layer, (), ("alone",)),), ("alone",))


def changed(value):
    """Another value of the same type."""
    if value is None:
        return 1
    if isinstance(value, bool):
        return not value
    if isinstance(value, Graph):
        return value.with_layers(lambda node: replace(node.layer, bias=False) if "bias" in layer_fields(node.layer)
                                 else node.layer)
    if isinstance(value, tuple):
        return (changed(value[0]),) + value[1:]
    return value + "x" if isinstance(value, str) else value + 1


FIELDS = sorted({(kind, each.name) for kind, cls in KINDS.items() for each in fields(cls)})


@pytest.mark.parametrize("kind, field", FIELDS)
def test_the_digest_sees_every_field_of_every_layer(kind, field):
    layer = example(kind)
    assert alone(replace(layer, **{field: changed(getattr(layer, field))})).digest != alone(layer).digest


@pytest.mark.parametrize("kind", KINDS)
def test_every_layer_comes_back_from_json(kind):
    graph = alone(example(kind))
    assert Graph.from_json(json.loads(json.dumps(graph.to_json()))) == graph


@pytest.mark.parametrize("other", [
    replace(EVERYTHING, losses=EVERYTHING.losses[1:]),
    replace(EVERYTHING, losses=(replace(EVERYTHING.losses[0], weight=0.3),) + EVERYTHING.losses[1:]),
    replace(EVERYTHING, outputs=(EVERYTHING.nodes[-2].name,)),
    replace(EVERYTHING, nodes=tuple(replace(node, training_only=False) for node in EVERYTHING.nodes)),
    record(everything, dict(INPUTS, image=Spec("CHW", (3, 9, 9)))),
], ids=["loss", "loss weight", "output", "training only", "input shape"])
def test_the_digest_sees_the_wiring(other):
    assert other.digest != EVERYTHING.digest


def test_inputs_keep_their_kinds():
    assert EVERYTHING.inputs == tuple(INPUTS.items())
    assert EVERYTHING.targets == (("label", LABEL),)
    assert EVERYTHING.spec("ids").dtype == "int32" and EVERYTHING.spec("mask").dtype == "bool"


def test_a_branch_for_training_only_costs_no_inference_and_enters_the_loss():
    (head,) = [node for node in EVERYTHING.nodes if node.training_only]
    assert head.name == "auxiliary"
    assert [(each.prediction, each.weight) for each in EVERYTHING.losses] == [("auxiliary", 0.4), ("linear2", 1.0)]
    always = replace(EVERYTHING, nodes=tuple(replace(node, training_only=False) for node in EVERYTHING.nodes))
    assert always.macs - EVERYTHING.macs == head.layer.macs(*EVERYTHING.input_specs(head)) > 0
    assert "auxiliary.weight" in EVERYTHING.parameters


def test_scan_repeats_its_body_and_owns_its_parameters():
    body = record(cell, STEP)

    def model(state, words):
        return scan(body, state, words)

    graph = record(model, {"state": Spec("C", (4,)), "words": Spec("TC", (6, 3))})
    assert [graph.spec(name) for name in graph.outputs] == [Spec("C", (4,)), Spec("TC", (6, 2))]
    assert graph.macs == 6 * body.macs == 6 * (4 * 7 + 2 * 4)
    assert graph.parameter_count == body.parameter_count
    assert list(graph.parameters) == ["scan1." + name for name in body.parameters]


def test_tied_weights_are_counted_once():
    def model(ids):
        words = embedding(ids, 11, 3, name="table")
        return linear(words, 11, bias=False, weight="table.weight")

    graph = record(model, {"ids": Spec("T", (6,), "int32")})
    assert list(graph.parameters) == ["table.weight"]
    assert graph.parameter_count == 11 * 3


@pytest.mark.parametrize("features, weight, message", [
    (11, "tabel.weight", "tabel.weight, should have shape .11, 3. but is absent"),
    (12, "table.weight", "should have shape .12, 3. but is .11, 3."),
])
def test_a_weight_that_cannot_be_shared_is_refused(features, weight, message):
    def model(ids):
        return linear(embedding(ids, 11, 3, name="table"), features, weight=weight)

    with pytest.raises(ModelError, match=message):
        record(model, {"ids": Spec("T", (6,), "int32")})


def test_scopes_and_blocks_number_the_names():
    @block
    def unit(x):
        return relu(conv(x, 4, 1))

    def model(image):
        with scope("stem"):
            x = conv(image, 4, 3)
        with scope("stem"):
            x = conv(x, 4, 3, name="last")
        return unit(unit(x))

    assert [node.name for node in image_model(model).nodes] == [
        "stem.conv1", "stem_2.last", "unit1.conv1", "unit1.relu1", "unit2.conv1", "unit2.relu1"]


def test_without_randomness_keeps_all_but_the_rates():
    calm = EVERYTHING.without_randomness()
    assert EVERYTHING.random_nodes and not calm.random_nodes
    assert calm.parameters == EVERYTHING.parameters
    assert calm.digest != EVERYTHING.digest


@pytest.mark.parametrize("function, message", [
    (lambda x: linear(x, 4), r"linear1 \(Linear\): .*flatten first"),
    (lambda x: max_pool(x, 9), r"max_pool1 \(MaxPool\): no room left"),
    (lambda x: x + conv(x, 5, 1), r"add1 \(Add\): needs inputs of one shape"),
    (lambda x: relu(conv(x, 4, 1, name="a"), name="a"), "two tensors are named a"),
    (lambda x: relu(x, name="image"), "two tensors are named image"),
    (lambda x: None, "must return a tensor"),
    (lambda x: apply(layers.Linear(3), global_average_pool(global_average_pool(x)))[0], "has no axis H"),
])
def test_a_mistake_names_the_layer(function, message):
    with pytest.raises(ModelError, match=message):
        image_model(function)


def test_one_target_has_one_shape():
    def model(image):
        logits = linear(global_average_pool(image), 5)
        loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
        loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int64"))
        return logits

    with pytest.raises(ModelError, match="two shapes"):
        image_model(model)


def test_layers_need_a_recording():
    with pytest.raises(ModelError, match="while a model is recorded"):
        relu(Tensor("x", Spec("C", (3,))))


def test_a_failed_recording_leaves_nothing_behind():
    with pytest.raises(ModelError):
        image_model(lambda x: linear(x, 4))
    assert [node.name for node in image_model(lambda x: conv(x, 4, 1)).nodes] == ["conv1"]
