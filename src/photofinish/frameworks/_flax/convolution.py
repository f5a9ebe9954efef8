"""Convolutions."""

from typing import Any, Dict, Tuple

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call, square
from photofinish.frameworks._flax.use import Functions, Rules, Use, module, padding


def _options(use: Use) -> Dict[str, Any]:
    """Strides, padding, dilation and groups, as far as they are not both frameworks' defaults."""
    layer = use.layer
    found: Dict[str, Any] = {"padding": padding(layer.padding)}
    if isinstance(layer, layers.Conv):
        found.update(strides=square(layer.stride, 1), dilation=square(layer.dilation, 1))
    elif layer.stride > 1:
        found.update(strides=layer.stride)
    return dict(found, groups=layer.groups if layer.groups > 1 else None)


def _conv(use: Use) -> Native:
    options = _options(use)
    kernel = use.layer.kernel if isinstance(use.layer, layers.Conv) else (use.layer.kernel,)
    return module("nnx.Conv", use.spec.size("C"), use.layer.channels, tuple(kernel), strides=options.get("strides"),
                  padding=options["padding"], kernel_dilation=options.get("dilation"),
                  feature_group_count=options["groups"], use_bias=None if use.layer.bias else False)


def _conv_function(use: Use) -> str:
    options = _options(use)
    if options["padding"] == 0:
        del options["padding"]
    return _of_parameters("conv", **options)


def _of_parameters(kind: str, **options: Any) -> str:
    """A call whose first arguments are the parameters and the input."""
    inside = call("", **options)[1:-1]
    return "%s({p}, {0}%s)" % (kind, ", " + inside if inside else "")


def _transposed_padding(use: Use) -> Tuple[Tuple[int, int], ...]:
    """What JAX wants around the image with its gaps, where the graph says what to take off the result."""
    layer = use.layer
    return tuple((layer.kernel[axis] - 1 - layer.padding[axis], layer.kernel[axis] - 1 - layer.padding[2 + axis])
                 for axis in (0, 1))


RULES: Rules = {
    layers.Conv: _conv,
    layers.SequenceConv: _conv,
    layers.ConvTranspose: lambda use: module(
        "nnx.ConvTranspose", use.spec.size("C"), use.layer.channels, tuple(use.layer.kernel),
        strides=tuple(use.layer.stride), padding=_transposed_padding(use), use_bias=None if use.layer.bias else False,
        transpose_kernel=True),
}

FUNCTIONS: Functions = {
    layers.Conv: _conv_function,
    layers.SequenceConv: _conv_function,
    layers.ConvTranspose: lambda use: _of_parameters("conv_transpose", strides=tuple(use.layer.stride),
                                                     padding=_transposed_padding(use)),
}

PLAIN_HELPERS = {
    "conv": '''\
def conv(p, x, strides=1, padding=0, dilation=1, groups=1):
    """A convolution of images or sequences. Sizes are one for all axes or one for each; padding may be in pairs."""
    axes = x.ndim - 2
    strides, padding, dilation = ((each,) * axes if isinstance(each, int) else each
                                  for each in (strides, padding, dilation))
    padding = [(each, each) if isinstance(each, int) else each for each in padding]
    letters = ("NHWC", "HWIO", "NHWC") if axes == 2 else ("NWC", "WIO", "NWC")
    y = jax.lax.conv_general_dilated(x, p["kernel"], strides, padding, rhs_dilation=dilation,
                                     dimension_numbers=letters, feature_group_count=groups)
    return y + p["bias"] if "bias" in p else y
''',
    "conv_transpose": '''\
def conv_transpose(p, x, strides, padding):
    """A convolution's gradient: `padding` is around the image with gaps of `strides` between its pixels."""
    y = jax.lax.conv_transpose(x, p["kernel"], strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"),
                               transpose_kernel=True)
    return y + p["bias"] if "bias" in p else y
''',
}
