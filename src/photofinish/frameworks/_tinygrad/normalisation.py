"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._tinygrad.native import Native, Rules, module, swapped
from photofinish.layers import Spec


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    affine = layer.scale or layer.center
    made = call("nn.BatchNorm", spec.size("C"), eps=layer.epsilon, momentum=float("%.15g" % (1 - layer.momentum)),
                affine=None if affine else False)
    lacking = [name for name, kept in (("weight", layer.scale), ("bias", layer.center)) if affine and not kept]
    text = "{self}({0})"
    return Native(swapped(text) if spec.axes == "TC" else text, made,
                  tuple("{self}.%s = None" % name for name in lacking))


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    if layer.scale and layer.center:
        return module("nn.LayerNorm2d" if spec.axes == "CHW" else "nn.LayerNorm", spec.size("C"), eps=layer.epsilon)
    return module("PartLayerNorm", spec.size("C"), layer.epsilon, scale=layer.scale, center=layer.center,
                  image=True if spec.axes == "CHW" else None)


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: lambda layer, spec: Native("local_response_norm({0}, %d, alpha=%r, beta=%r, bias=%r)" % (
        layer.size, layer.alpha, layer.beta, layer.bias)),
}

LOWERED = {layers.LocalResponseNorm: "sums of slices, and a power: tinygrad ships none"}
LIMITS = {
    layers.BatchNorm: "tinygrad counts n - 1 in the running variance: converted to n where the layer says so",
    layers.LayerNorm: "one of weight and bias alone, or none: Tensor.layernorm and the one that is there",
}

HELPERS = {
    "PartLayerNorm": '''\
class PartLayerNorm:
    """A layer norm that has not both weight and bias."""

    def __init__(self, features, eps, scale, center, image=False):
        self.eps, self.image = eps, image
        self.weight = Tensor.ones(features) if scale else None
        self.bias = Tensor.zeros(features) if center else None

    def __call__(self, x):
        x = (x.permute(0, 2, 3, 1) if self.image else x).layernorm(eps=self.eps)
        x = x if self.weight is None else x * self.weight
        x = x if self.bias is None else x + self.bias
        return x.permute(0, 3, 1, 2) if self.image else x
''',
    "local_response_norm": '''\
def local_response_norm(x, size, alpha, beta, bias):
    """Divides by a power of the mean square of the channels around."""
    squares = x.square().pad(((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}
