"""What each layer computes and how its gradients flow back, written out in NumPy: see numpy.py.

A layer kind is one rule: a function of a `Use` and the input arrays that returns the output and a `pull`,
which takes the gradient of the output to those of the inputs (None for integers and masks) and leaves the
parameters' gradients in the `Use`. Plain enough to be read beside the definition it implements.
"""

from itertools import product
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from photofinish import layers

Arrays = Dict[str, np.ndarray]
Pull = Callable[..., Sequence[Optional[np.ndarray]]]
Ruled = Tuple[Any, Pull]


class Use:
    """One layer while it runs: its arrays by the layer's own names, and what its rule leaves behind
    (`gradients` of parameters after `pull`, `new_state` after a training pass)."""

    def __init__(self, layer: Any, specs: Sequence[layers.Spec], parameters: Arrays, state: Arrays,
                 training: bool, generator: np.random.RandomState) -> None:
        self.layer = layer
        self.specs = specs
        self.parameters = parameters
        self.state = state
        self.training = training
        self.generator = generator
        self.gradients: Arrays = {}
        self.new_state: Arrays = {}

    def axis(self, letter: str) -> int:
        """Where the first input has that axis, the batch axis counted."""
        return 1 + self.specs[0].axes.index(letter)

    def axes_but_channels(self) -> Tuple[int, ...]:
        """Every axis of the first input but C, the batch axis included."""
        return tuple(axis for axis in range(1 + len(self.specs[0].axes)) if axis != self.axis("C"))


# Elementwise

def relu(use: Use, x: np.ndarray) -> Ruled:
    return np.maximum(x, 0), lambda gradient: (gradient * (x > 0),)


def clip(use: Use, x: np.ndarray) -> Ruled:
    low, high = use.layer.low, use.layer.high
    return np.clip(x, low, high), lambda gradient: (gradient * ((x > low) & (x < high)),)


def _logistic(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))  # of a negative number, so it cannot overflow
    return np.asarray(np.where(x >= 0, 1 / (1 + decay), decay / (1 + decay)))


def sigmoid(use: Use, x: np.ndarray) -> Ruled:
    y = _logistic(x)
    return y, lambda gradient: (gradient * y * (1 - y),)


def tanh(use: Use, x: np.ndarray) -> Ruled:
    y = np.tanh(x)
    return y, lambda gradient: (gradient * (1 - y * y),)


def swish(use: Use, x: np.ndarray) -> Ruled:
    gate = _logistic(x)
    return x * gate, lambda gradient: (gradient * gate * (1 + x * (1 - gate)),)


def _drop(use: Use, x: np.ndarray, mask_shape: Tuple[int, ...]) -> Ruled:
    if not (use.training and use.layer.random):
        return x, lambda gradient: (gradient,)
    kept = use.generator.uniform(size=mask_shape) >= use.layer.rate
    scale = kept.astype(x.dtype) / (1 - use.layer.rate)
    return x * scale, lambda gradient: (gradient * scale,)


def dropout(use: Use, x: np.ndarray) -> Ruled:
    return _drop(use, x, x.shape)


def stochastic_depth(use: Use, x: np.ndarray) -> Ruled:
    return _drop(use, x, x.shape[:1] + (1,) * (x.ndim - 1))


def add(use: Use, left: np.ndarray, right: np.ndarray) -> Ruled:
    return left + right, lambda gradient: (gradient, gradient)


def multiply(use: Use, left: np.ndarray, right: np.ndarray) -> Ruled:
    def unstretched(gradient: np.ndarray, shape: Tuple[int, ...]) -> np.ndarray:
        stretched = tuple(axis for axis, size in enumerate(shape) if size != gradient.shape[axis])
        return np.asarray(gradient.sum(stretched, keepdims=True))

    return left * right, lambda gradient: (unstretched(gradient * right, left.shape),
                                           unstretched(gradient * left, right.shape))


# Shapes

def flatten(use: Use, x: np.ndarray) -> Ruled:
    return x.reshape(len(x), -1), lambda gradient: (gradient.reshape(x.shape),)


def concat(use: Use, *parts: np.ndarray) -> Ruled:
    axis = use.axis(use.layer.axis)
    ends = np.cumsum([part.shape[axis] for part in parts])
    return np.concatenate(parts, axis), lambda gradient: np.split(gradient, ends[:-1], axis)


# Products with a weight

def linear(use: Use, x: np.ndarray) -> Ruled:
    weight = use.parameters["weight"]
    y = x @ weight.T
    if use.layer.bias:
        y = y + use.parameters["bias"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        rows = gradient.reshape(-1, gradient.shape[-1])
        use.gradients["weight"] = rows.T @ x.reshape(-1, x.shape[-1])
        use.gradients["bias"] = rows.sum(0)
        return (gradient @ weight,)

    return y, pull


def embedding(use: Use, ids: np.ndarray) -> Ruled:
    weight = use.parameters["weight"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = np.zeros_like(weight)
        np.add.at(use.gradients["weight"], ids, gradient)
        return (None,)

    return weight[ids], pull


class Windows:
    """The windows a convolution or pool looks through: cut them out of images, add them back to images."""

    def __init__(self, use: Use) -> None:
        layer, spec = use.layer, use.specs[0]
        out = layer.outputs(spec)[0]
        self.count = out.size("H"), out.size("W")
        self.image = spec.size("H"), spec.size("W")
        self.kernel, self.stride = layer.kernel, layer.stride
        self.dilation = getattr(layer, "dilation", (1, 1))
        self.before, self.after = layer.padding[:2], layer.padding[2:]

    def _reach(self, axis: int) -> int:
        """How far, from the start of the leading padding, the windows or the padded image go."""
        last = (self.count[axis] - 1) * self.stride[axis] + self.dilation[axis] * (self.kernel[axis] - 1) + 1
        return int(max(last, self.before[axis] + self.image[axis] + self.after[axis]))

    def cut(self, x: np.ndarray, fill: float = 0.0) -> np.ndarray:
        """A view (N, C, kernel height, kernel width, H', W') of the images padded with `fill`."""
        edges = [(self.before[i], self._reach(i) - self.before[i] - self.image[i]) for i in (0, 1)]
        padded = np.pad(x, [(0, 0), (0, 0)] + edges, "constant", constant_values=fill)
        sample, channel, row, column = padded.strides
        strides = (sample, channel, row * self.dilation[0], column * self.dilation[1],
                   row * self.stride[0], column * self.stride[1])
        shape = x.shape[:2] + tuple(self.kernel) + self.count
        return np.asarray(as_strided(padded, shape, strides, writeable=False))

    def add_back(self, cut: np.ndarray) -> np.ndarray:
        """Images (N, C, H, W): each the sum of the windows' values that lie on it. The transpose of `cut`."""
        total = np.zeros(cut.shape[:2] + (self._reach(0), self._reach(1)), cut.dtype)
        for i, j in product(*map(range, self.kernel)):
            total[:, :, self._positions(0, i), self._positions(1, j)] += cut[:, :, i, j]
        (top, left), (height, width) = self.before, self.image
        return np.asarray(total[:, :, top:top + height, left:left + width])

    def _positions(self, axis: int, offset: int) -> slice:
        start, stride = offset * self.dilation[axis], self.stride[axis]
        return slice(start, start + (self.count[axis] - 1) * stride + 1, stride)

    def covered(self, axis: int, count_padding: bool) -> np.ndarray:
        """How many positions of each window lie on the image (and on the padding asked for)."""
        starts = np.arange(self.count[axis]) * self.stride[axis] - self.before[axis]
        low, high = (-self.before[axis], self.image[axis] + self.after[axis]) if count_padding else (
            0, self.image[axis])
        return np.asarray(np.minimum(starts + self.kernel[axis], high) - np.maximum(starts, low))


def conv(use: Use, x: np.ndarray) -> Ruled:
    windows, groups = Windows(use), use.layer.groups
    weight = use.parameters["weight"]
    matrices = weight.reshape(groups, len(weight) // groups, -1)
    seen = windows.cut(x)

    def columns(sample: int) -> np.ndarray:  # one sample at a time: the copy is as large as the kernel is wide
        return np.asarray(seen[sample].reshape(groups, matrices.shape[2], -1))

    y = np.stack([(matrices @ columns(n)).reshape((len(weight),) + windows.count) for n in range(len(x))])
    if use.layer.bias:
        y += use.parameters["bias"][:, None, None]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        total, inputs = np.zeros_like(matrices), np.empty_like(x)
        for n in range(len(x)):
            rows = gradient[n].reshape(groups, matrices.shape[1], -1)
            total += rows @ columns(n).swapaxes(1, 2)
            inputs[n] = windows.add_back((matrices.swapaxes(1, 2) @ rows).reshape((1,) + seen.shape[1:]))[0]
        use.gradients["weight"] = total.reshape(weight.shape)
        use.gradients["bias"] = gradient.sum((0, 2, 3))
        return (inputs,)

    return y, pull


# Pools and means

def max_pool(use: Use, x: np.ndarray) -> Ruled:
    windows = Windows(use)
    cut = windows.cut(x, fill=-np.inf)
    flat = cut.reshape(cut.shape[:2] + (-1,) + windows.count)
    first = flat.argmax(2)
    positions = np.arange(windows.kernel[0] * windows.kernel[1]).reshape(-1, 1, 1)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        chosen = np.expand_dims(first, 2) == positions
        return (windows.add_back((chosen * gradient[:, :, None]).reshape(cut.shape)),)

    return flat.max(2), pull


def average_pool(use: Use, x: np.ndarray) -> Ruled:
    windows = Windows(use)
    covered = [windows.covered(axis, use.layer.count_padding) for axis in (0, 1)]
    share = 1 / np.outer(*covered).astype(x.dtype)
    cut = windows.cut(x)
    return cut.sum((2, 3)) * share, lambda gradient: (
        windows.add_back(np.broadcast_to((gradient * share)[:, :, None, None], cut.shape)),)


def adaptive_average_pool(use: Use, x: np.ndarray) -> Ruled:
    def bins(size: int, count: int) -> np.ndarray:
        matrix = np.zeros((count, size), x.dtype)
        for i in range(count):
            start, stop = i * size // count, -(-(i + 1) * size // count)
            matrix[i, start:stop] = 1 / (stop - start)
        return matrix

    down, across = (bins(size, count) for size, count in zip(x.shape[2:], use.layer.size))
    return down @ x @ across.T, lambda gradient: (down.T @ gradient @ across,)


def global_average_pool(use: Use, x: np.ndarray) -> Ruled:
    axes = use.axes_but_channels()[1:]
    mean = x.mean(axes, keepdims=True)
    count = x.size // mean.size
    return mean if use.layer.keep_axes else mean.reshape(x.shape[:2]), lambda gradient: (
        np.broadcast_to(gradient.reshape(mean.shape) / count, x.shape),)


def masked_mean(use: Use, x: np.ndarray, mask: np.ndarray) -> Ruled:
    share = mask[:, :, None] / mask.sum(1)[:, None, None].astype(x.dtype)
    return (x * share).sum(1), lambda gradient: (gradient[:, None] * share, None)


# Normalisation

def batch_norm(use: Use, x: np.ndarray) -> Ruled:
    layer, axes = use.layer, use.axes_but_channels()
    count = x.size // x.shape[use.axis("C")]
    wide = tuple(-1 if axis == use.axis("C") else 1 for axis in range(x.ndim))
    if use.training:
        mean, variance = x.mean(axes), x.var(axes)
        enters = variance * (count / (count - 1.0)) if layer.running_variance == "sample" else variance
        for name, batch in (("running_mean", mean), ("running_variance", enters)):
            use.new_state[name] = layer.momentum * use.state[name] + (1 - layer.momentum) * batch
    else:
        mean, variance = use.state["running_mean"], use.state["running_variance"]
    inverse = (1 / np.sqrt(variance + layer.epsilon)).reshape(wide)
    normal = (x - mean.reshape(wide)) * inverse
    y = normal
    if layer.scale:
        y = y * use.parameters["weight"].reshape(wide)
    if layer.center:
        y = y + use.parameters["bias"].reshape(wide)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:  # of training: the batch moves the statistics
        use.gradients["weight"] = (gradient * normal).sum(axes)
        use.gradients["bias"] = gradient.sum(axes)
        if layer.scale:
            gradient = gradient * use.parameters["weight"].reshape(wide)
        common = gradient.mean(axes, keepdims=True)
        along = (gradient * normal).mean(axes, keepdims=True)
        return (inverse * (gradient - common - normal * along),)

    return y, pull


# Loss

def softmax_cross_entropy(use: Use, logits: np.ndarray, label: np.ndarray) -> Ruled:
    shifted = logits - logits.max(1, keepdims=True)  # exp of nothing above 0
    log_probability = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    smoothing = use.layer.label_smoothing
    wanted = np.full_like(logits, smoothing / logits.shape[1])
    wanted[np.arange(len(label)), label] += 1 - smoothing
    return -(wanted * log_probability).sum(1), lambda gradient: (
        gradient[:, None] * (np.exp(log_probability) - wanted), None)


RULES: Dict[type, Callable[..., Ruled]] = {
    layers.Conv: conv, layers.Linear: linear, layers.BatchNorm: batch_norm, layers.Relu: relu, layers.Clip: clip,
    layers.Sigmoid: sigmoid, layers.Tanh: tanh, layers.Swish: swish, layers.Dropout: dropout,
    layers.StochasticDepth: stochastic_depth, layers.MaxPool: max_pool, layers.AveragePool: average_pool,
    layers.AdaptiveAveragePool: adaptive_average_pool, layers.GlobalAveragePool: global_average_pool,
    layers.Flatten: flatten, layers.Add: add, layers.Multiply: multiply, layers.Concat: concat,
    layers.Embedding: embedding, layers.MaskedMean: masked_mean,
    layers.SoftmaxCrossEntropy: softmax_cross_entropy,
}
