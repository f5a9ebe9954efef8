"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.frameworks._flax.use import Functions, Rules, Use, module


def _batch_norm(use: Use) -> Native:
    """The fast variance is flax's default; the certificate refuses it on three reduced models of 32."""
    layer = use.layer
    return module("nnx.BatchNorm", use.spec.size("C"), momentum=layer.momentum, epsilon=layer.epsilon,
                  use_bias=None if layer.center else False, use_scale=None if layer.scale else False,
                  use_fast_variance=False)


def _batch_norm_function(use: Use) -> str:
    layer = use.layer
    options = call("", momentum=layer.momentum, epsilon=layer.epsilon,
                   population=True if layer.running_variance == "population" else None)[1:-1]
    return "batch_norm({p}, {s}, {keys}, {0}, %s)" % options


def _layer_norm(use: Use) -> Native:
    layer = use.layer
    return module("nnx.LayerNorm", use.spec.size("C"), epsilon=layer.epsilon,
                  use_bias=None if layer.center else False, use_scale=None if layer.scale else False)


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: lambda use: Native("local_response_norm({0}, %d, alpha=%r, beta=%r, bias=%r)" % (
        use.layer.size, use.layer.alpha, use.layer.beta, use.layer.bias)),
}

FUNCTIONS: Functions = {
    layers.BatchNorm: _batch_norm_function,
    layers.LayerNorm: lambda use: "layer_norm({p}, {0}, epsilon=%r)" % use.layer.epsilon,
}

LOWERED = {layers.LocalResponseNorm: "sums of slices, and a power: neither flax nor JAX ships it"}
LIMITS = {
    layers.BatchNorm: "flax.nnx counts n in the running variance: in mode jit it is converted to n - 1 where the layer "
                      "says so; not the fast variance (mean of squares less square of the mean), which loses digits",
    layers.LayerNorm: "in mode jit the variance is the mean of squares less the square of the mean",
}

HELPERS = {
    "local_response_norm": '''\
def local_response_norm(x, size, alpha, beta, bias):
    """Divides by a power of the mean square of the channels around."""
    squares = jnp.pad(x * x, ((0, 0), (0, 0), (0, 0), ((size - 1) // 2, size // 2)))
    total = sum(squares[..., i:i + x.shape[-1]] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}

PLAIN_HELPERS = {
    "batch_norm": '''\
def batch_norm(p, s, keys, x, momentum, epsilon, population=False):
    """In training it normalises by the batch, and puts what the running statistics become into `s`."""
    if keys is None:
        return normalised(p, x, s["mean"], s["var"], epsilon)
    axes = tuple(range(x.ndim - 1))
    mean, variance = x.mean(axes), x.var(axes)
    count = x.size // x.shape[-1]
    entering = variance if population else variance * (count / (count - 1))
    for name, batch in (("mean", mean), ("var", entering)):
        s[name] = momentum * s[name] + (1 - momentum) * batch
    return normalised(p, x, mean, variance, epsilon)
''',
    "layer_norm": '''\
def layer_norm(p, x, epsilon):
    """Normalises each position over its channels."""
    return normalised(p, x, x.mean(-1, keepdims=True), x.var(-1, keepdims=True), epsilon)
''',
    "normalised": '''\
def normalised(p, x, mean, variance, epsilon):
    y = (x - mean) * (jax.lax.rsqrt(variance + epsilon) * p.get("scale", 1))
    return y + p["bias"] if "bias" in p else y
''',
}
