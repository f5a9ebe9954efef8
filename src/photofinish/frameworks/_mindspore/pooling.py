"""Pools and means."""

from typing import Any, Tuple

from photofinish import layers
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._mindspore.native import Native, Rules, call, plain, short
from photofinish.layers import Spec


def _read(layer: Any, spec: Spec) -> Tuple[int, int, int, int]:
    """The padding that the windows read, as ops.pad has it: (left, right, top, bottom)."""
    (top, bottom), (left, right) = amounts(layer, spec, layer.outputs(spec)[0])
    return left, right, top, bottom


def _pooled(kind: str, layer: Any, spec: Spec, value: str = "") -> Native:
    """A pool of an image that is padded first."""
    around = _read(layer, spec)
    image = "ops.pad({0}, %r%s)" % (around, value) if any(around) else "{0}"
    return Native("{self}(%s)" % image, call(kind, short(layer.kernel), short(layer.stride)))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    """What a window has fewer than its size of is divided out."""
    found = _pooled("nn.AvgPool2d", layer, spec)
    down, across = shares(layer, spec, layer.outputs(spec)[0])
    if all(share == 1 for share in down + across):
        return found
    return found._replace(module="UnevenAveragePool(%s, %r, %r)" % (found.module, down, across))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    axes = {"CHW": (2, 3), "TC": (1,)}[spec.axes]
    if spec.axes == "TC" and layer.keep_axes:
        raise KeyError(spec.axes)
    return Native("ops.mean({0}, %r%s)" % (short(axes) if len(axes) > 1 else axes[0],
                                           ", True" if layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: lambda layer, spec: _pooled("nn.MaxPool2d", layer, spec, ', value=float("-inf")'),
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native("ops.adaptive_avg_pool2d({0}, %r)" % (tuple(layer.size),)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {layers.MaskedMean: "a product with the mask and two sums"}
LIMITS = {
    layers.MaxPool: "padding is put there first, by ops.pad",
    layers.AveragePool: "padding is put there first, by ops.pad; where it does not count it is divided out by a "
                        "constant",
}

HELPERS = {
    "UnevenAveragePool": '''\
class UnevenAveragePool(nn.Cell):
    """An average pool some of whose windows, down and across, hold fewer positions than they are divided by."""

    def __init__(self, pool, down, across):
        super().__init__()
        self.pool, self.shares = pool, Tensor(np.outer(down, across), ms.float32)

    def construct(self, x):
        return self.pool(x) * self.shares
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    mask = ops.expand_dims(mask, -1).astype(x.dtype)
    return ops.sum(x * mask, 1) / ops.sum(mask, 1)
''',
}
