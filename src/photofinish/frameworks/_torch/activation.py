"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, module, plain
from photofinish.layers import Spec


def _clip(layer: layers.Clip, spec: Spec) -> Native:
    if (layer.low, layer.high) == (0, 6):
        return Native("F.relu6({0}{inplace})")
    return Native("F.hardtanh({0}, %r, %r{inplace})" % (layer.low, layer.high))


def _leaky_relu(layer: layers.LeakyRelu, spec: Spec) -> Native:
    # in place, backward tells the sides apart by the sign of the result
    return Native("F.leaky_relu({0}, %r%s)" % (layer.alpha, "{inplace}" if layer.alpha > 0 else ""))


def _elu(layer: layers.Elu, spec: Spec) -> Native:
    return Native("F.elu({0}%s%s)" % ("" if layer.alpha == 1 else ", %r" % layer.alpha,
                                      "{inplace}" if layer.alpha > 0 else ""))


def _gelu(layer: layers.Gelu, spec: Spec) -> Native:
    return Native("F.gelu({0}%s)" % ("" if layer.approximate == "none" else ", approximate=%r" % layer.approximate))


RULES: Rules = {
    layers.Relu: plain("F.relu({0}{inplace})"),
    layers.Clip: _clip,
    layers.Sigmoid: plain("torch.sigmoid({0})"),
    layers.Tanh: plain("torch.tanh({0})"),
    layers.Swish: plain("F.silu({0})"),
    layers.LeakyRelu: _leaky_relu,
    layers.Elu: _elu,
    layers.Dropout: lambda layer, spec: module("nn.Dropout", layer.rate),
    layers.StochasticDepth: lambda layer, spec: module("StochasticDepth", layer.rate),
    layers.Gelu: _gelu,
}

LOWERED = {layers.StochasticDepth: "a module that multiplies by a mask of its own: torchvision has one, PyTorch none"}

HELPERS = {
    "StochasticDepth": '''\
class StochasticDepth(nn.Module):
    """Drops whole samples in training (torchvision's mode "row")."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        kept = x.new_empty((x.shape[0],) + (1,) * (x.dim() - 1)).bernoulli_(1 - self.rate)
        return x * kept.div_(1 - self.rate)
''',
}
