"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call, link
from photofinish.layers import Spec


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    axes = (0,) + tuple(1 + i for i, axis in enumerate(spec.axes) if axis != "C")
    return link("L.BatchNormalization", spec.size("C"), decay=layer.momentum if layer.momentum != 0.9 else None,
                eps=layer.epsilon, use_gamma=None if layer.scale else False, use_beta=None if layer.center else False,
                axis=axes if spec.axes == "TC" else None)


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    return link("LayerNorm", spec.size("C"), layer.epsilon, scale=None if layer.scale else False,
                center=None if layer.center else False)


def _local_response_norm(layer: layers.LocalResponseNorm, spec: Spec) -> Native:
    if layer.size % 2:
        return Native(call("F.local_response_normalization", n=layer.size, k=layer.bias, alpha=layer.alpha / layer.size,
                           beta=layer.beta).replace("(", "({0}, ", 1))
    return Native("even_response_norm({0}, %d, %r, %r, %r)" % (layer.size, layer.alpha, layer.beta, layer.bias))


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {
    layers.LayerNorm: "F.layer_normalization takes rows: positions become rows, an image's channels go last and back",
    layers.LocalResponseNorm: "a window of an even size is a sum of shifted squares: Chainer's takes odd ones",
}

HELPERS = {
    "LayerNorm": '''\
class LayerNorm(chainer.Link):
    """Normalises the channels of each position; L.LayerNormalization has both parameters, and takes rows alone."""

    def __init__(self, channels, eps, scale=True, center=True):
        super().__init__()
        self.eps = eps
        self.gamma, self.beta = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        with self.init_scope():
            if scale:
                self.gamma = chainer.Parameter(1.0, (channels,))
            if center:
                self.beta = chainer.Parameter(0.0, (channels,))

    def forward(self, x):
        if x.ndim == 4:
            x = F.transpose(x, (0, 2, 3, 1))
        y = F.layer_normalization(F.reshape(x, (-1, x.shape[-1])), self.gamma, self.beta, eps=self.eps)
        y = F.reshape(y, x.shape)
        return F.transpose(y, (0, 3, 1, 2)) if x.ndim == 4 else y
''',
    "even_response_norm": '''\
def even_response_norm(x, size, alpha, beta, bias):
    """Local response normalisation over an even number of channels, one more of them after the middle than before."""
    around = ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0))
    squares = F.pad(x * x, around, "constant")
    total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}
