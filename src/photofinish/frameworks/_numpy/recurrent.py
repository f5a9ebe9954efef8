"""Gated recurrent layers; Scan is in ../numpy.py, for its body is a graph."""

from typing import Any, Callable, List, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.activation import logistic
from photofinish.frameworks._numpy.base import Arrays, Ruled, Rules, Use

# One direction without its input's product: from the layer, the direction's own arrays and what drives its gates
# (batch, time, gates * features) to its outputs, and a way back that takes their gradient to that of `driven` and
# those of the own arrays that it used.
Steps = Callable[[Any, Arrays, np.ndarray], Tuple[np.ndarray, Callable[[np.ndarray], Tuple[np.ndarray, Arrays]]]]


def lstm_steps(layer: Any, own: Arrays, driven: np.ndarray) -> Any:
    weight = own["recurrent_weight"]
    h = c = np.zeros((len(driven), layer.features), driven.dtype)
    outputs: List[np.ndarray] = []
    tape: List[Tuple[np.ndarray, ...]] = []
    for drive in np.moveaxis(driven, 1, 0):
        i, f, g, o = np.split(drive + h @ weight.T + own.get("recurrent_bias", 0), 4, 1)
        i, f, g, o = logistic(i), logistic(f), np.tanh(g), logistic(o)
        before, c = (h, c), f * c + i * g
        h = o * np.tanh(c)
        tape.append(before + (i, f, g, o, np.tanh(c)))
        outputs.append(h)

    def back(gradient: np.ndarray) -> Tuple[np.ndarray, Arrays]:
        gates, found = np.empty_like(driven), np.zeros_like(weight)
        to_h = to_c = np.zeros_like(h)
        for t in reversed(range(len(tape))):
            h_before, c_before, i, f, g, o, bent = tape[t]
            to_h = to_h + gradient[:, t]
            to_c = to_c + to_h * o * (1 - bent * bent)
            gates[:, t] = np.concatenate([to_c * g * i * (1 - i), to_c * c_before * f * (1 - f), to_c * i * (1 - g * g),
                                          to_h * bent * o * (1 - o)], 1)
            found += gates[:, t].T @ h_before
            to_h, to_c = gates[:, t] @ weight, to_c * f
        return gates, {"recurrent_weight": found, "recurrent_bias": gates.sum((0, 1))}

    return np.stack(outputs, 1), back


def gru_steps(layer: Any, own: Arrays, driven: np.ndarray) -> Any:
    """The reset gate multiplies the state's share of the proposal (`reset_after`), or the state it is made from."""
    size, after = layer.features, layer.reset_after
    gate_weight, new_weight = np.split(own["recurrent_weight"], [2 * size])
    gate_bias, new_bias = np.split(own["recurrent_bias"], [2 * size]) if after else (0, 0)
    h = np.zeros((len(driven), size), driven.dtype)
    outputs: List[np.ndarray] = []
    tape: List[Tuple[np.ndarray, ...]] = []
    for drive in np.moveaxis(driven, 1, 0):
        gates = logistic(drive[:, :2 * size] + h @ gate_weight.T + gate_bias)
        update, reset = np.split(gates, 2, 1)
        seen = h if after else reset * h  # what the proposal sees of the state
        share = seen @ new_weight.T + new_bias
        new = np.tanh(drive[:, 2 * size:] + (reset * share if after else share))
        tape.append((h, gates, update, reset, seen, share, new))
        h = (1 - update) * new + update * h
        outputs.append(h)

    def back(gradient: np.ndarray) -> Tuple[np.ndarray, Arrays]:
        to_driven, to_bias = np.empty_like(driven), np.zeros_like(own["recurrent_weight"][:, 0])
        to_gate_weight, to_new_weight = np.zeros_like(gate_weight), np.zeros_like(new_weight)
        to_h = np.zeros_like(h)
        for t in reversed(range(len(tape))):
            before, gates, update, reset, seen, share, new = tape[t]
            to_h = to_h + gradient[:, t]
            to_new = to_h * (1 - update) * (1 - new * new)
            to_share = to_new * reset if after else to_new
            to_seen = to_share @ new_weight
            to_reset = to_new * share if after else to_seen * before
            to_gates = np.concatenate([to_h * (before - new), to_reset], 1) * gates * (1 - gates)
            to_driven[:, t] = np.concatenate([to_gates, to_new], 1)
            to_gate_weight += to_gates.T @ before
            to_new_weight += to_share.T @ seen
            to_bias += np.concatenate([to_gates, to_share], 1).sum(0)
            to_h = to_h * update + to_gates @ gate_weight + (to_seen if after else to_seen * reset)
        return to_driven, {"recurrent_weight": np.concatenate([to_gate_weight, to_new_weight]),
                           "recurrent_bias": to_bias}

    return np.stack(outputs, 1), back


def recurrent(steps: Steps) -> Callable[..., Ruled]:
    """The rule of a layer from the steps of one direction; the backward one runs over the sequence turned round."""
    def direction(use: Use, x: np.ndarray, prefix: str) -> Tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        turn = slice(None, None, -1 if prefix else 1)
        bias = use.layer.biases()[0]
        own = {name: use.parameters[prefix + name]
               for name in ("input_weight", "recurrent_weight") + use.layer.biases()}
        weight, seen = own["input_weight"], x[:, turn]
        y, back = steps(use.layer, own, seen @ weight.T + own[bias])

        def pull(gradient: np.ndarray) -> np.ndarray:
            to_driven, found = back(gradient[:, turn])
            rows = to_driven.reshape(-1, len(weight))
            found.update({"input_weight": rows.T @ seen.reshape(-1, seen.shape[2]), bias: rows.sum(0)})
            use.gradients.update({prefix + name: found[name] for name in own})
            return np.asarray((to_driven @ weight)[:, turn])

        return y[:, turn], pull

    def rule(use: Use, x: np.ndarray) -> Ruled:
        runs = [direction(use, x, prefix) for prefix in (("", "backward_") if use.layer.bidirectional else ("",))]
        return np.concatenate([y for y, _ in runs], 2), lambda gradient: (
            np.sum([pull(part) for (_, pull), part in zip(runs, np.split(gradient, len(runs), 2))], axis=0),)

    return rule


RULES: Rules = {layers.LSTM: recurrent(lstm_steps), layers.GRU: recurrent(gru_steps)}
