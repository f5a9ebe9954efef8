"""Where the windows of a convolution or pool lie."""

from typing import Any, Tuple

from photofinish.layers.base import Spec


def window(size: int, kernel: int, stride: int, before: int, after: int, dilation: int = 1,
           ceil: bool = False) -> int:
    """How many windows fit along one axis."""
    span = size + before + after - dilation * (kernel - 1) - 1
    steps = -(-span // stride) if ceil else span // stride
    if ceil and steps * stride >= size + before:
        steps -= 1  # a window must start inside the input or its leading padding (ONNX, PyTorch)
    return steps + 1


def windows(spec: Spec, layer: Any, dilation: Tuple[int, int] = (1, 1), ceil: bool = False) -> Tuple[int, int]:
    """How many windows of a layer with kernel, stride and padding fit: (down, across)."""
    top, left, bottom, right = layer.padding
    height = window(spec.size("H"), layer.kernel[0], layer.stride[0], top, bottom, dilation[0], ceil)
    width = window(spec.size("W"), layer.kernel[1], layer.stride[1], left, right, dilation[1], ceil)
    return height, width
