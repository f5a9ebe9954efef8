"""The windows a convolution or pool looks through."""

from itertools import product

import numpy as np
from numpy.lib.stride_tricks import as_strided

from photofinish.frameworks._numpy.base import Use


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
