"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._paddle.native import Code, Native, Rules, module, write
from photofinish.layers import Spec

MOST = 1e-3  # epsilon that nn.LayerNorm takes


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    kind = {"C": "nn.BatchNorm1D", "TC": "nn.BatchNorm1D", "CHW": "nn.BatchNorm2D"}[spec.axes]
    # Paddle's kernel gives one of the two no gradient without the other, which is there, then, and is not moved.
    without = Code("paddle.ParamAttr(learning_rate=0.0)") if layer.scale or layer.center else False
    return module(
        kind, spec.size("C"), momentum=None if layer.momentum == 0.9 else layer.momentum,
        epsilon=None if layer.epsilon == 1e-5 else layer.epsilon, weight_attr=None if layer.scale else without,
        bias_attr=None if layer.center else without, data_format="NLC" if spec.axes == "TC" else None)


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    call = {"C": "{self}({0})", "TC": "{self}({0})",
            "CHW": "paddle.transpose({self}(paddle.transpose({0}, (0, 2, 3, 1))), (0, 3, 1, 2))"}[spec.axes]
    kind = "nn.LayerNorm" if layer.epsilon <= MOST else "LayerNorm"
    return Native(call, write(
        kind, spec.size("C"), epsilon=None if layer.epsilon == 1e-5 else layer.epsilon,
        weight_attr=None if layer.scale else False, bias_attr=None if layer.center else False))


def _local_response_norm(layer: layers.LocalResponseNorm, spec: Spec) -> Native:
    turned = layer.size % 2 == 0  # an even window of Paddle's has one channel more before its middle, not after
    call = write("F.local_response_norm", "paddle.flip({0}, 1)" if turned else "{0}", layer.size, alpha=layer.alpha,
                 beta=layer.beta, k=layer.bias)
    return Native("paddle.flip(%s, 1)" % call if turned else call)


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {
    layers.BatchNorm: "one of weight and bias alone: the other is there and does not move",
    layers.LayerNorm: "an image is transposed to channels last and back; an epsilon above 0.001, which Paddle's own "
                      "refuses, by operations",
    layers.LocalResponseNorm: "a window of an even size runs over the channels turned round: Paddle's reaches one "
                              "further to the other side",
}

HELPERS = {
    "LayerNorm": '''\
class LayerNorm(nn.Layer):
    """Layer normalisation with an epsilon that nn.LayerNorm does not take."""

    def __init__(self, features, epsilon, weight_attr=None, bias_attr=None):
        super().__init__()
        self.epsilon = epsilon
        self.weight = self.create_parameter([features], weight_attr, default_initializer=nn.initializer.Constant(1.0))
        self.bias = self.create_parameter([features], bias_attr, is_bias=True)

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        x = x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + self.epsilon)
        x = x if self.weight is None else x * self.weight
        return x if self.bias is None else x + self.bias
''',
}
