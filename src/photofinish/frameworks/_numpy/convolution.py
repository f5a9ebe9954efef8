"""Convolutions."""

from typing import Optional, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use
from photofinish.frameworks._numpy.windows import Windows


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


def conv_transpose(use: Use, x: np.ndarray) -> Ruled:
    (out,) = use.layer.outputs(use.specs[0])
    back = layers.Conv(x.shape[1], use.layer.kernel, use.layer.stride, use.layer.padding)  # whose gradient this is
    windows = Windows(Use(back, (out,), {}, {}, use.training, use.generator))
    weight = use.parameters["weight"]
    matrix, positions = weight.reshape(len(weight), -1), x.reshape(x.shape[:2] + (-1,))
    cut = (1, weight.shape[1]) + tuple(use.layer.kernel) + windows.count
    y = np.concatenate([windows.add_back((matrix.T @ sample).reshape(cut)) for sample in positions])
    if use.layer.bias:
        y += use.parameters["bias"][:, None, None]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        seen = windows.cut(gradient)
        total, inputs = np.zeros_like(matrix), np.empty_like(positions)
        for n in range(len(x)):
            columns = seen[n].reshape(matrix.shape[1], -1)
            total += positions[n] @ columns.T
            inputs[n] = matrix @ columns
        use.gradients["weight"] = total.reshape(weight.shape)
        use.gradients["bias"] = gradient.sum((0, 2, 3))
        return (inputs.reshape(x.shape),)

    return y, pull


def sequence_conv(use: Use, x: np.ndarray) -> Ruled:
    layer, weight = use.layer, use.parameters["weight"]
    (before, after), stride, groups = layer.padding, layer.stride, layer.groups
    count = layer.outputs(use.specs[0])[0].size("T")
    padded = np.pad(x, [(0, 0), (before, after), (0, 0)], "constant")
    steps = [slice(k, k + stride * (count - 1) + 1, stride) for k in range(layer.kernel)]  # what each tap looks at
    seen = np.stack([padded[:, step] for step in steps], 3)  # batch, window, channel, tap
    split = seen.reshape(seen.shape[:2] + (groups, -1, layer.kernel)).transpose(2, 0, 1, 3, 4)
    columns = split.reshape(groups, len(x) * count, -1)
    matrices = weight.reshape(groups, len(weight) // groups, -1)
    y = np.moveaxis(columns @ matrices.swapaxes(1, 2), 0, 1).reshape(len(x), count, -1)
    if layer.bias:
        y = y + use.parameters["bias"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        rows = np.moveaxis(gradient.reshape(len(x) * count, groups, -1), 1, 0)
        use.gradients["weight"] = (rows.swapaxes(1, 2) @ columns).reshape(weight.shape)
        use.gradients["bias"] = gradient.sum((0, 1))
        taps = (rows @ matrices).reshape(split.shape).transpose(1, 2, 0, 3, 4).reshape(seen.shape)
        inputs = np.zeros_like(padded)
        for k, step in enumerate(steps):
            inputs[:, step] += taps[..., k]
        return (inputs[:, before:before + x.shape[1]],)

    return y, pull


RULES: Rules = {
    layers.Conv: conv, layers.ConvTranspose: conv_transpose,
    layers.SequenceConv: sequence_conv,
}
