"""The vocabulary: one frozen value per layer kind, with its shape, parameter and MAC rules.

A layer means what the ONNX operator named in its docstring means. Shapes are per sample: the batch
axis is never part of a `Spec`. Axes are spelled with one letter each ("CHW" for an image, "TC" for a
sequence); the canonical order is channels first, whatever a framework chooses on its own device.
"""

from dataclasses import dataclass, fields
from typing import Any, Dict, Iterator, Optional, Tuple, Type

Shape = Tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """What a tensor is, without its batch axis.

    `flattened` remembers the shape a feature axis was made from by `Flatten`, so that a parameter
    which acts on those features can be permuted when weights move to another layout.
    """

    axes: str
    shape: Shape
    dtype: str = "float32"
    flattened: Shape = ()

    def __post_init__(self) -> None:
        if len(self.axes) != len(self.shape):
            raise ValueError("axes {!r} and shape {} differ in length".format(self.axes, self.shape))
        if any(size < 1 for size in self.shape):
            raise ValueError("no room left: the tensor would have shape {}".format(self.shape))

    def size(self, axis: str) -> int:
        """The length of the axis with that letter; KeyError if the tensor has no such axis."""
        if axis not in self.axes:
            raise KeyError("a tensor {} has no axis {}".format(self.axes, axis))
        return self.shape[self.axes.index(axis)]

    def resized(self, **sizes: int) -> "Spec":
        """The same tensor with other lengths for the named axes; KeyError if it has no such axis."""
        for axis in sizes:
            self.size(axis)
        shape = tuple(sizes.get(axis, size) for axis, size in zip(self.axes, self.shape))
        return Spec(self.axes, shape, self.dtype)


@dataclass(frozen=True)
class Parameter:
    """A trainable array of a layer (or, in `Layer.state`, an array the layer itself updates).

    `init` is "normal" (zero mean, variance gain/fan_in), "zeros", "ones" or "unit_normal".
    `feature_axis` is the axis that runs over the features of the layer's input: the one to permute
    if those features were flattened in another order.
    """

    name: str
    shape: Shape
    init: str = "normal"
    fan_in: int = 1
    feature_axis: Optional[int] = None


class Layer:
    """A layer kind: how shapes, parameters, state and work follow from its fields and its inputs."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        """The specs of the outputs. Raises ValueError when the inputs do not fit the layer."""
        raise NotImplementedError(type(self).__name__)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return ()

    def state(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        """Arrays that a training step updates without a gradient."""
        return ()

    def macs(self, *inputs: Spec) -> int:
        """Multiply-accumulates per sample of convolutions and matrix products; 0 for the rest."""
        return 0

    @property
    def random(self) -> bool:
        """True if the layer draws random numbers in training."""
        return False


def layer_fields(layer: Layer) -> Dict[str, Any]:
    """Field name -> value, in the order they are declared."""
    return {field.name: getattr(layer, field.name) for field in fields(layer)}  # type: ignore[arg-type]


def _window(size: int, kernel: int, stride: int, before: int, after: int, dilation: int, ceil: bool) -> int:
    span = size + before + after - dilation * (kernel - 1) - 1
    steps = -(-span // stride) if ceil else span // stride
    if ceil and steps * stride >= size + before:
        steps -= 1  # a window must start inside the input or its leading padding (ONNX, PyTorch)
    return steps + 1


def _windows(spec: Spec, layer: Any, dilation: Tuple[int, int] = (1, 1), ceil: bool = False) -> Tuple[int, int]:
    top, left, bottom, right = layer.padding
    height = _window(spec.size("H"), layer.kernel[0], layer.stride[0], top, bottom, dilation[0], ceil)
    width = _window(spec.size("W"), layer.kernel[1], layer.stride[1], left, right, dilation[1], ceil)
    return height, width


def _same(*inputs: Spec) -> Spec:
    first = inputs[0]
    if any(spec.axes != first.axes or spec.shape != first.shape for spec in inputs):
        raise ValueError("needs inputs of one shape, got " + ", ".join(str(spec.shape) for spec in inputs))
    return first


class Elementwise(Layer):
    """A layer whose one output has the shape (and the flattening) of its one input."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        return (spec,)


@dataclass(frozen=True)
class Conv(Layer):
    """ONNX Conv in two dimensions. Weight: (channels, C / groups, kernel height, kernel width).

    `padding` is (top, left, bottom, right), zeros.
    """

    channels: int
    kernel: Tuple[int, int]
    stride: Tuple[int, int] = (1, 1)
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Tuple[int, int] = (1, 1)
    groups: int = 1
    bias: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.size("C") % self.groups or self.channels % self.groups:
            raise ValueError("{} groups divide neither {} nor {} channels evenly".format(
                self.groups, spec.size("C"), self.channels))
        height, width = _windows(spec, self, self.dilation)
        return (spec.resized(C=self.channels, H=height, W=width),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (self.channels, inputs[0].size("C") // self.groups) + tuple(self.kernel)
        fan_in = shape[1] * shape[2] * shape[3]
        weight = Parameter("weight", shape, "normal", fan_in)
        return (weight, Parameter("bias", (self.channels,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        (out,) = self.outputs(*inputs)
        per_position = self.parameters(*inputs)[0].fan_in
        return self.channels * out.size("H") * out.size("W") * per_position


@dataclass(frozen=True)
class Linear(Layer):
    """ONNX Gemm with transB=1 on the last axis. Weight: (features, input features)."""

    features: int
    bias: bool = True

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not spec.axes.endswith("C"):
            raise ValueError("acts on a last axis C, got axes {}: flatten first".format(spec.axes))
        return (Spec(spec.axes, spec.shape[:-1] + (self.features,), spec.dtype),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        fan_in = inputs[0].size("C")
        weight = Parameter("weight", (self.features, fan_in), "normal", fan_in, feature_axis=1)
        return (weight, Parameter("bias", (self.features,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        rows = 1
        for size in inputs[0].shape:
            rows *= size
        return rows * self.features


@dataclass(frozen=True)
class BatchNorm(Layer):
    """ONNX BatchNormalization over every axis but C; training mode normalises by the batch.

    The batch is normalised by its population variance. `momentum` keeps the old value (ONNX):
    running = momentum * running + (1 - momentum) * batch. `running_variance` says which variance of
    the batch enters the running one: "sample" (n - 1, as PyTorch) or "population" (n, as Keras).
    """

    epsilon: float = 1e-5
    momentum: float = 0.9
    running_variance: str = "sample"
    scale: bool = True
    center: bool = True

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        spec.size("C")
        return (spec,)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"),)
        axis = 0 if inputs[0].flattened else None
        weight = (Parameter("weight", shape, "ones", feature_axis=axis),) if self.scale else ()
        bias = (Parameter("bias", shape, "zeros", feature_axis=axis),) if self.center else ()
        return weight + bias

    def state(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"),)
        axis = 0 if inputs[0].flattened else None
        return (Parameter("running_mean", shape, "zeros", feature_axis=axis),
                Parameter("running_variance", shape, "ones", feature_axis=axis))


@dataclass(frozen=True)
class Relu(Elementwise):
    """ONNX Relu."""


@dataclass(frozen=True)
class Clip(Elementwise):
    """ONNX Clip: Clip(0, 6) is what MobileNet calls ReLU6. The gradient is 0 outside (low, high)."""

    low: float
    high: float


@dataclass(frozen=True)
class Sigmoid(Elementwise):
    """ONNX Sigmoid."""


@dataclass(frozen=True)
class Tanh(Elementwise):
    """ONNX Tanh."""


@dataclass(frozen=True)
class Swish(Elementwise):
    """ONNX Swish with alpha = 1: x * sigmoid(x), also called SiLU."""


@dataclass(frozen=True)
class Dropout(Elementwise):
    """ONNX Dropout: in training zeroes each element with probability `rate`, scales the rest by 1/(1-rate)."""

    rate: float

    @property
    def random(self) -> bool:
        return self.rate > 0


@dataclass(frozen=True)
class StochasticDepth(Elementwise):
    """In training zeroes whole samples with probability `rate`, scales the rest by 1/(1-rate).

    Source: Huang et al. 2016, arXiv 1603.09382 (torchvision's mode "row").
    """

    rate: float

    @property
    def random(self) -> bool:
        return self.rate > 0


@dataclass(frozen=True)
class MaxPool(Layer):
    """ONNX MaxPool; padding is minus infinity."""

    kernel: Tuple[int, int]
    stride: Tuple[int, int]
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    ceil: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        height, width = _windows(inputs[0], self, ceil=self.ceil)
        return (inputs[0].resized(H=height, W=width),)


@dataclass(frozen=True)
class AveragePool(Layer):
    """ONNX AveragePool; `count_padding` is its count_include_pad."""

    kernel: Tuple[int, int]
    stride: Tuple[int, int]
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    ceil: bool = False
    count_padding: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        height, width = _windows(inputs[0], self, ceil=self.ceil)
        return (inputs[0].resized(H=height, W=width),)


@dataclass(frozen=True)
class AdaptiveAveragePool(Layer):
    """PyTorch's adaptive_avg_pool2d: bin i of n covers floor(i*size/n) up to ceil((i+1)*size/n)."""

    size: Tuple[int, int]

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        return (inputs[0].resized(H=self.size[0], W=self.size[1]),)


@dataclass(frozen=True)
class GlobalAveragePool(Layer):
    """ONNX GlobalAveragePool; without `keep_axes` the result is a vector of channels."""

    keep_axes: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        pooled = inputs[0].resized(H=1, W=1)
        return (pooled if self.keep_axes else Spec("C", (pooled.size("C"),), pooled.dtype),)


@dataclass(frozen=True)
class Flatten(Layer):
    """ONNX Flatten in canonical (channels first) order."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        count = 1
        for size in spec.shape:
            count *= size
        return (Spec("C", (count,), spec.dtype, flattened=spec.shape),)


@dataclass(frozen=True)
class Add(Layer):
    """ONNX Add of two tensors of one shape."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        return (_same(*inputs),)


@dataclass(frozen=True)
class Multiply(Layer):
    """ONNX Mul; an axis of length 1 in one input is stretched to the other's (a gate)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        left, right = inputs
        if left.axes != right.axes:
            raise ValueError("cannot multiply axes {} by {}".format(left.axes, right.axes))
        pairs = tuple(zip(left.shape, right.shape))
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            raise ValueError("cannot multiply shapes {} and {}".format(left.shape, right.shape))
        return (Spec(left.axes, tuple(max(pair) for pair in pairs), left.dtype),)


@dataclass(frozen=True)
class Concat(Layer):
    """ONNX Concat along the axis with that letter."""

    axis: str = "C"

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        first = inputs[0]
        _same(*(spec.resized(**{self.axis: 1}) for spec in inputs))
        return (first.resized(**{self.axis: sum(spec.size(self.axis) for spec in inputs)}),)


@dataclass(frozen=True)
class Embedding(Layer):
    """ONNX Gather of rows of a table. Weight: (vocabulary, features). Input: integers below `vocabulary`."""

    vocabulary: int
    features: int

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not spec.dtype.startswith("int"):
            raise ValueError("looks up integers, got {}".format(spec.dtype))
        return (Spec(spec.axes + "C", spec.shape + (self.features,)),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return (Parameter("weight", (self.vocabulary, self.features), "unit_normal"),)


@dataclass(frozen=True)
class MaskedMean(Layer):
    """The mean over axis T of the positions whose mask is true (at least one must be)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        spec, mask = inputs
        if mask.dtype != "bool" or mask.axes != "T" or mask.size("T") != spec.size("T"):
            raise ValueError("needs a boolean mask over T of length {}".format(spec.size("T")))
        return (Spec("C", (spec.size("C"),), spec.dtype),)


@dataclass(frozen=True)
class Scan(Layer):
    """ONNX Scan over axis T: `body` maps (carry, step input) to (carry, step output).

    Inputs: the first carry and a sequence "TC". Outputs: the last carry and the stacked sequence.
    The body's parameters belong to this layer, under the body's own names.
    """

    body: Any  # graph.Graph: typed loosely because graph.py stands on this file

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        carry, sequence = inputs
        step_out = self.body.spec(self.body.outputs[1])
        length = sequence.size("T")
        return (carry, Spec("T" + step_out.axes, (length,) + step_out.shape, step_out.dtype))

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return tuple(self.body.parameters.values())

    def macs(self, *inputs: Spec) -> int:
        return inputs[1].size("T") * int(self.body.macs)


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Layer):
    """ONNX SoftmaxCrossEntropyLoss, mean over the batch. Inputs: logits "C", integer label "".

    `label_smoothing` s gives the label 1 - s + s/classes and every other class s/classes.
    """

    label_smoothing: float = 0.0

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        logits, label = inputs
        if logits.axes != "C" or label.axes or not label.dtype.startswith("int"):
            raise ValueError("needs logits with the one axis C and one integer label per sample, got axes {!r} "
                             "and a label {} with axes {!r}".format(logits.axes, label.dtype, label.axes))
        return (Spec("", ()),)


def _kinds(base: Type[Layer]) -> Iterator[Type[Layer]]:
    for cls in base.__subclasses__():
        yield from _kinds(cls)
        yield cls


KINDS = {cls.__name__: cls for cls in _kinds(Layer) if "__dataclass_fields__" in vars(cls)}  # how JSON names them
