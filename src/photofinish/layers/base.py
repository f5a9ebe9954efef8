"""What every layer kind is made of: `Spec` for tensors, `Parameter` for arrays, `Layer` for rules."""

from dataclasses import dataclass, fields
from typing import Any, Dict, Optional, Tuple

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

    `init` is "normal" (zero mean, variance 2 / fan_in), "unit_normal", "zeros" or "ones"; `gain` multiplies
    what is drawn. `feature_axis` is the axis that runs over the features of the layer's input: the one to permute
    if those features were flattened in another order.
    """

    name: str
    shape: Shape
    init: str = "normal"
    fan_in: int = 1
    gain: float = 1.0
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


def one_shape(*inputs: Spec) -> Spec:
    first = inputs[0]
    if any(spec.axes != first.axes or spec.shape != first.shape for spec in inputs):
        raise ValueError("needs inputs of one shape, got " + ", ".join(str(spec.shape) for spec in inputs))
    return first


class Elementwise(Layer):
    """A layer whose one output has the shape (and the flattening) of its one input."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        return (spec,)
