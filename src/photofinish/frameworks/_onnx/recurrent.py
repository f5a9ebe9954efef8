"""Gated recurrent layers, and loops over time."""

from typing import Any, Sequence, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._onnx.use import Rules, Use

ORDER = {layers.LSTM: (0, 3, 1, 2), layers.GRU: (0, 1, 2)}  # of ONNX's gates: its gate i is canonical gate order[i]


def _gated(use: Use, x: str, kind: str, **attributes: Any) -> str:
    """Over the sequence with time in front, which is the layout that every engine has."""
    layer, order = use.layer, ORDER[type(use.layer)]
    directions = ("", "backward_") if layer.bidirectional else ("",)

    def ordered(array: np.ndarray) -> np.ndarray:
        gates = np.split(array, len(order))
        return np.concatenate([gates[each] for each in order])

    def by_direction(*arrays: np.ndarray) -> np.ndarray:
        return np.stack([ordered(each) for each in arrays])

    def both_biases(*arrays: np.ndarray) -> np.ndarray:  # of the input, then of the state: zeros where there is one
        pairs = [arrays[i:i + len(layer.biases())] for i in range(0, len(arrays), len(layer.biases()))]
        return np.stack([np.concatenate([ordered(each) for each in _two(pair)]) for pair in pairs])

    weights = [use.made(name, by_direction, *(each + name for each in directions))
               for name in ("input_weight", "recurrent_weight")]
    biases = use.made("biases", both_biases, *(each + name for each in directions for name in layer.biases()))
    y = use(kind, use("Transpose", x, perm=(1, 0, 2)), *weights, biases, hidden_size=layer.features,
            direction="bidirectional" if layer.bidirectional else "forward", **attributes)
    return use("Reshape", use("Transpose", y, perm=(2, 0, 1, 3)), use.integers(0, 0, -1))  # from time, direction, batch


def _two(pair: Sequence[np.ndarray]) -> Tuple[np.ndarray, np.ndarray]:
    return (pair[0], pair[1]) if len(pair) == 2 else (pair[0], np.zeros_like(pair[0]))


def _scan(use: Use, carry: str, sequence: str) -> Tuple[str, ...]:
    if use.layer.body.state:
        raise Unsupported("{} (Scan): a body with state of its own".format(use.name))
    return use.several("Scan", 2, carry, sequence, body=use.inner(use.layer.body), num_scan_inputs=1,
                       scan_input_axes=(1,), scan_output_axes=(1,))


RULES: Rules = {
    layers.Scan: _scan,
    layers.LSTM: lambda use, x: _gated(use, x, "LSTM"),
    layers.GRU: lambda use, x: _gated(use, x, "GRU", linear_before_reset=int(use.layer.reset_after)),
}

LIMITS = {
    layers.LSTM: "the sequence is transposed to time first and back",
    layers.GRU: "the sequence is transposed to time first and back",
}
