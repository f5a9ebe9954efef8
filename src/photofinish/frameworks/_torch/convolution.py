"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write
from photofinish.layers import Spec


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    module = write("nn.Conv2d", spec.size("C"), layer.channels, layer.kernel, stride=layer.stride,
                    padding=(top, left) if even else 0, dilation=layer.dilation, groups=layer.groups, bias=layer.bias)
    return Native("{self}({0})" if even else "{self}(F.pad({0}, %r))" % ((left, right, top, bottom),), module)


RULES: Rules = {layers.Conv: _conv}
