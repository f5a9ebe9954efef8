"""Layers: shapes against a brute-force count of windows, parameters and work against definitions."""

from itertools import count

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as draw

from photofinish import layers
from photofinish.layers import Spec

SMALL = settings(deadline=None, database=None, max_examples=200)


def image(channels=4, height=9, width=7):
    return Spec("CHW", (channels, height, width))


def windows(size, kernel, stride, before, after, dilation, ceil):
    """Places windows one after the other and counts them, as the definitions of pooling say."""
    reach = dilation * (kernel - 1) + 1
    end = size + before + after
    if not ceil:
        return sum(1 for start in range(0, end, stride) if start + reach <= end)
    for placed in count():
        start = placed * stride
        if start >= size + before:  # such a window would see trailing padding only
            return placed
        if start + reach >= end:
            return placed + 1
    return None


AXIS = draw.fixed_dictionaries({
    "size": draw.integers(1, 14), "kernel": draw.integers(1, 5), "stride": draw.integers(1, 4),
    "before": draw.integers(0, 3), "after": draw.integers(0, 3), "dilation": draw.integers(1, 3)})


def assert_windows(layer, height, width, ceil=False):
    expected = tuple(windows(ceil=ceil, **axis) for axis in (height, width))
    spec = image(4, height["size"], width["size"])
    if min(expected) < 1:
        with pytest.raises(ValueError, match="no room left"):
            layer.outputs(spec)
    else:
        assert layer.outputs(spec)[0].shape[1:] == expected


def pair(height, width, field):
    return height[field], width[field]


@SMALL
@given(AXIS, AXIS)
def test_convolution_places_the_windows_that_fit(height, width):
    padding = pair(height, width, "before") + pair(height, width, "after")
    assert_windows(layers.Conv(8, pair(height, width, "kernel"), pair(height, width, "stride"), padding,
                               pair(height, width, "dilation")), height, width)


@SMALL
@given(AXIS, AXIS, draw.booleans(), draw.sampled_from([layers.MaxPool, layers.AveragePool]))
def test_pooling_places_the_windows_that_fit_or_begin(height, width, ceil, kind):
    for axis in (height, width):  # frameworks allow at most half a window of padding
        half = axis["kernel"] // 2
        axis.update(dilation=1, before=min(axis["before"], half), after=min(axis["after"], half))
        assume(axis["kernel"] <= axis["size"] + axis["before"] + axis["after"])
    padding = pair(height, width, "before") + pair(height, width, "after")
    assert_windows(kind(pair(height, width, "kernel"), pair(height, width, "stride"), padding, ceil),
                   height, width, ceil)


@pytest.mark.parametrize("groups, bias", [(1, False), (1, True), (2, True), (4, False)])
def test_convolution_counts_its_weights_and_work(groups, bias):
    layer = layers.Conv(8, (3, 5), padding=(1, 2, 1, 2), groups=groups, bias=bias)
    weight, *rest = layer.parameters(image())
    assert weight.shape == (8, 4 // groups, 3, 5)
    assert weight.fan_in == 4 // groups * 3 * 5
    assert [each.shape for each in rest] == ([(8,)] if bias else [])
    assert layer.macs(image()) == 8 * 9 * 7 * (4 // groups) * 3 * 5


def test_linear_acts_on_every_position_of_a_sequence():
    layer, spec = layers.Linear(5), Spec("TC", (6, 3))
    assert layer.outputs(spec) == (Spec("TC", (6, 5)),)
    assert [each.shape for each in layer.parameters(spec)] == [(5, 3), (5,)]
    assert layer.macs(spec) == 6 * 5 * 3


@pytest.mark.parametrize("scale, center", [(True, True), (True, False), (False, True), (False, False)])
def test_batch_norm_has_two_statistics_and_the_parameters_asked_for(scale, center):
    layer = layers.BatchNorm(scale=scale, center=center)
    expected = [name for name, wanted in (("weight", scale), ("bias", center)) if wanted]
    assert [each.name for each in layer.parameters(image())] == expected
    assert [(each.name, each.shape) for each in layer.state(image())] == [
        ("running_mean", (4,)), ("running_variance", (4,))]


def test_flattening_is_remembered_by_what_acts_on_the_features():
    (flat,) = layers.Flatten().outputs(image())
    assert flat.shape == (4 * 9 * 7,) and flat.flattened == (4, 9, 7)
    (weight, _) = layers.Linear(5).parameters(flat)
    assert weight.feature_axis == 1
    for layer in (layers.Relu(), layers.Dropout(0.5), layers.BatchNorm()):
        assert layer.outputs(flat)[0].flattened == (4, 9, 7)
    norm = layers.BatchNorm()
    assert {each.feature_axis for each in norm.parameters(flat) + norm.state(flat)} == {0}
    assert {each.feature_axis for each in norm.parameters(image()) + norm.state(image())} == {None}


def test_a_gate_stretches_and_an_addition_does_not():
    gate = Spec("CHW", (4, 1, 1))
    assert layers.Multiply().outputs(image(), gate) == (image(),)
    assert layers.Multiply().outputs(gate, image()) == (image(),)
    with pytest.raises(ValueError, match="one shape"):
        layers.Add().outputs(image(), gate)


@pytest.mark.parametrize("layer, inputs, message", [
    (layers.Conv(6, (1, 1), groups=4), (image(),), "4 groups"),
    (layers.Linear(5), (image(),), "flatten first"),
    (layers.Embedding(10, 3), (Spec("T", (6,)),), "integers"),
    (layers.MaskedMean(), (Spec("TC", (6, 3)), Spec("T", (5,), "bool")), "length 6"),
    (layers.MaskedMean(), (Spec("TC", (6, 3)), Spec("T", (6,))), "boolean"),
    (layers.Multiply(), (image(), image(3)), "cannot multiply"),
    (layers.Multiply(), (image(), Spec("C", (4,))), "cannot multiply"),
    (layers.Concat(), (image(), image(4, 8, 7)), "one shape"),
    (layers.Concat("T"), (image(), image()), "no axis T"),
    (layers.GlobalAveragePool(), (Spec("C", (4,)),), "no axis H"),
    (layers.AdaptiveAveragePool((2, 2)), (Spec("TC", (6, 3)),), "no axis H"),
    (layers.SoftmaxCrossEntropy(), (image(), Spec("", (), "int32")), "needs logits"),
    (layers.SoftmaxCrossEntropy(), (Spec("C", (4,)), Spec("", ())), "needs logits"),
])
def test_inputs_that_do_not_fit_are_refused_with_the_reason(layer, inputs, message):
    with pytest.raises((ValueError, KeyError), match=message):
        layer.outputs(*inputs)


def test_concatenation_adds_lengths_along_its_axis():
    assert layers.Concat("C").outputs(image(4), image(3), image(1)) == (image(8),)
    assert layers.Concat("H").outputs(image(4, 9), image(4, 2)) == (image(4, 11),)


def test_a_specification_must_agree_with_itself():
    with pytest.raises(ValueError, match="differ in length"):
        Spec("CHW", (3, 8))
    with pytest.raises(KeyError, match="no axis T"):
        image().size("T")


def test_only_layers_with_a_rate_above_zero_draw_random_numbers():
    assert layers.Dropout(0.1).random and layers.StochasticDepth(0.1).random
    assert not layers.Dropout(0.0).random and not layers.Relu().random
