"""Layers of models of sequences that look at themselves: attention, positions, tokens, normalisation over channels."""

from collections.abc import Callable

import numpy as np
from scipy import special

from families.common import CROSS_ENTROPY, Case, between, head
from photofinish import layers
from photofinish.frameworks.numpy import Use
from photofinish.graph import Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.vocabulary import (
    attention,
    channel_scale,
    class_token,
    concat,
    conv,
    embedding,
    flatten,
    gelu,
    image_to_sequence,
    layer_norm,
    learned_positions,
    linear,
    relu,
    select,
    sinusoidal_positions,
    tanh,
)

VECTOR = {"vector": Spec("C", (6,))}
SEQUENCE = {"sequence": Spec("TC", (7, 6))}
SEEN = {"seen": Spec("T", (7,), "bool")}
MEMORY = {"memory": Spec("TC", (5, 4)), "seen": Spec("T", (5,), "bool")}
IMAGE = {"image": Spec("CHW", (4, 7, 5))}
WORDS = {"source": Spec("T", (7,), "int32"), "target": Spec("T", (5,), "int32")}


def after_a_part_was_taken(x: Tensor) -> Tensor:
    """The sum of a tensor of which a part is still read."""
    y = linear(x, 6)
    first = select(y, 0)
    return concat(flatten(y + tanh(x)), first)


def after_it_was_seen_otherwise(x: Tensor) -> Tensor:
    """A ReLU of a view that is still read."""
    y = flatten(linear(x, 6))
    return concat(relu(y), y)


# What is done to an image of 4x7x5, to a vector of 6, or to 7 steps of 6, that came out of a linear layer.
ON_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "layer-norm-image": layer_norm,
    "layer-norm-flattened": lambda x: layer_norm(flatten(x)),
    "channel-scale-image": channel_scale,
    "channel-scale-flattened": lambda x: channel_scale(flatten(x)),
    "image-to-sequence": image_to_sequence,
    "select-row": lambda x: select(x, 6, axis="H"),
    "select-channel": lambda x: select(x, 1, axis="C"),
}
ON_VECTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "layer-norm": layer_norm,
    "layer-norm-epsilon": lambda x: layer_norm(x, epsilon=0.1),
    "layer-norm-no-scale": lambda x: layer_norm(x, scale=False),
    "layer-norm-no-center": lambda x: layer_norm(x, center=False),
    "layer-norm-plain": lambda x: layer_norm(x, scale=False, center=False),
    "channel-scale": lambda x: channel_scale(x, 0.1),
    "gelu": gelu,
    "gelu-tanh": lambda x: gelu(x, "tanh"),
}
ON_SEQUENCES: dict[str, Callable[[Tensor], Tensor]] = {
    "layer-norm-sequence": layer_norm,
    "channel-scale-sequence": channel_scale,
    "class-token": class_token,
    "learned-positions": lambda x: learned_positions(x, 7),
    "learned-positions-to-spare": lambda x: learned_positions(x, 9, gain=0.3),
    "sinusoidal-positions": sinusoidal_positions,
    "select-first": lambda x: select(x, 0),
    "select-last": lambda x: select(x, 6),
    "select-feature": lambda x: select(x, 2, axis="C"),
    "select-then-add": after_a_part_was_taken,
    "flatten-then-relu": after_it_was_seen_otherwise,
}


def projected(sequence: Tensor, memory: Tensor, channels: int = 6) -> list[Tensor]:
    """Query, key and value."""
    return [linear(sequence, 6, name="query"), linear(memory, 6, name="key"), linear(memory, channels, name="value")]


def on_itself(heads: int = 2, causal: bool = False) -> Callable[..., tuple[Tensor, ...]]:
    """Self-attention, masked where the model has a mask."""
    def model(x: Tensor, seen: Tensor | None = None) -> tuple[Tensor, ...]:
        y = attention(*projected(x, x), heads, seen, causal)
        return y, head(y)
    return model


def on_memory(x: Tensor, memory: Tensor, seen: Tensor) -> tuple[Tensor, ...]:
    y = attention(*projected(x, memory), 2, seen)
    return y, head(y)


def wider_values(x: Tensor, memory: Tensor, _seen: Tensor) -> tuple[Tensor, ...]:
    y = attention(*projected(x, memory, channels=10), 2)
    return y, head(y)


def three_times_tied(source: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """One table for two inputs and the output, as translators have."""
    x = tanh(embedding(source, 11, 6, name="table"))
    y = embedding(target, 11, 6, weight="table.weight", name="target_words")
    y = attention(y, x, x, 2)
    logits = linear(y, 11, bias=False, weight="table.weight", name="prediction")
    loss(SoftmaxCrossEntropy(0.1, ignore=0), logits, "label", Spec("T", y.shape[:1], "int32"))
    return (logits,)


def named(entry: Callable[[Tensor], Tensor], objective: SoftmaxCrossEntropy) -> Callable[..., tuple[Tensor, ...]]:
    """A class for each position of a sequence or an image."""
    def model(x: Tensor) -> tuple[Tensor, ...]:
        logits = entry(x)
        positions = [pair for pair in zip(logits.spec.axes, logits.shape, strict=True) if pair[0] != "C"]
        label = Spec("".join(axis for axis, _ in positions), tuple(size for _, size in positions), "int32")
        loss(objective, logits, "label", label)
        return (logits,)
    return model


OBJECTIVES = {"": CROSS_ENTROPY, "-smoothed": SoftmaxCrossEntropy(0.2), "-ignoring": SoftmaxCrossEntropy(ignore=1),
              "-masked": SoftmaxCrossEntropy(ignore=-100), "-smoothed-ignoring": SoftmaxCrossEntropy(0.2, ignore=0)}


def cases() -> dict[str, Case]:
    found = {name: Case(record(between(function, lambda x: conv(x, 4, 1, name="entry")), IMAGE))
             for name, function in ON_IMAGES.items()}
    for table, inputs in ((ON_VECTORS, VECTOR), (ON_SEQUENCES, SEQUENCE)):
        found.update({name: Case(record(between(function, lambda x: linear(x, 6, name="entry")), inputs))
                      for name, function in table.items()})
    for name, approximate in {"gelu-far": "none", "gelu-tanh-far": "tanh"}.items():
        found[name] = Case(record(between(ON_VECTORS["gelu" if approximate == "none" else "gelu-tanh"],
                                          lambda x: linear(x, 6, name="entry")), VECTOR), gain=6.0)
    found["attention"] = Case(record(on_itself(), SEQUENCE))
    found["attention-of-one-head"] = Case(record(on_itself(heads=1), SEQUENCE))
    found["attention-causal"] = Case(record(on_itself(causal=True), SEQUENCE))
    found["attention-masked"] = Case(record(on_itself(), {**SEQUENCE, **SEEN}))
    found["attention-masked-causal"] = Case(record(on_itself(3, causal=True), {**SEQUENCE, **SEEN}))
    found["attention-far"] = Case(record(on_itself(), SEQUENCE), gain=6.0)
    found["attention-on-memory"] = Case(record(on_memory, {**SEQUENCE, **MEMORY}))
    found["attention-of-wider-values"] = Case(record(wider_values, {**SEQUENCE, **MEMORY}))
    found["embedding-three-times-tied"] = Case(record(three_times_tied, WORDS))
    for name, objective in OBJECTIVES.items():
        found[f"cross-entropy-sequence{name}"] = Case(record(named(lambda x: linear(x, 5), objective), SEQUENCE))
    for name in ("", "-smoothed-ignoring"):
        found[f"cross-entropy-image{name}"] = Case(record(named(lambda x: conv(x, 5, 3), OBJECTIVES[name]), IMAGE))
    return found


def attention_by_hand(use: Use, query: np.ndarray, key: np.ndarray, value: np.ndarray,
                      mask: np.ndarray | None = None) -> np.ndarray:
    """One sample, position and head at a time."""
    y, width = np.empty(query.shape[:2] + value.shape[2:]), value.shape[2] // use.layer.heads
    for sample, t, number in np.ndindex(len(query), query.shape[1], use.layer.heads):
        seen = [s for s in range(key.shape[1])
                if (mask is None or mask[sample, s]) and (s <= t or not use.layer.causal)]
        q, k, v = (np.split(x[sample], use.layer.heads, axis=1)[number] for x in (query, key, value))
        weight = special.softmax(k[seen] @ q[t] / np.sqrt(len(q[t])))
        y[sample, t, number * width:(number + 1) * width] = weight @ v[seen]
    return y


def layer_norm_by_position(use: Use, x: np.ndarray) -> np.ndarray:
    """A distribution at each position, made standard."""
    rows = np.moveaxis(x, use.axis("C"), -1)
    flat = [(row - row.mean()) / (np.mean((row - row.mean()) ** 2) + use.layer.epsilon) ** 0.5
            for row in rows.reshape(-1, rows.shape[-1])]
    scaled = flat * use.parameters["weight"] if use.layer.scale else np.array(flat)
    moved = scaled + use.parameters["bias"] if use.layer.center else scaled
    return np.moveaxis(moved.reshape(rows.shape), -1, use.axis("C"))


def sinusoids(use: Use, x: np.ndarray) -> np.ndarray:
    """The real and the imaginary part of a number that turns with the position."""
    t, i = np.indices((x.shape[1], x.shape[2] // 2))
    turned = np.exp(1j * t / 10000 ** (2 * i / x.shape[2]))
    y = x.copy()
    y[:, :, 0::2] += turned.imag
    y[:, :, 1::2] += turned.real
    return y


def cross_entropy(use: Use, logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Of the positions that count."""
    smoothing, probability = use.layer.label_smoothing, special.log_softmax(logits, axis=use.axis("C"))
    rows = np.moveaxis(probability, use.axis("C"), -1)[label != use.layer.ignore]
    wanted = (1 - smoothing) * np.eye(rows.shape[-1])[label[label != use.layer.ignore]] + smoothing / rows.shape[-1]
    return -np.sum(wanted * rows, axis=-1)


DEFINITIONS = {
    layers.Attention: attention_by_hand,
    layers.LayerNorm: layer_norm_by_position,
    layers.Gelu: lambda use, x: x * special.ndtr(x) if use.layer.approximate == "none" else (
        x * special.expit(np.sqrt(8 / np.pi) * (x + 0.044715 * x * x * x))),
    layers.ClassToken: lambda use, x: np.insert(x, 0, use.parameters["weight"], axis=1),
    layers.LearnedPositions: lambda use, x: np.array([sample + use.parameters["weight"][:len(sample)] for sample in x]),
    layers.SinusoidalPositions: sinusoids,
    layers.ImageToSequence: lambda use, x: np.einsum("nchw->nhwc", x).reshape(len(x), -1, x.shape[1]),
    layers.Select: lambda use, x: np.moveaxis(x, use.axis(use.layer.axis), 0)[use.layer.index],
    layers.ChannelScale: lambda use, x: np.moveaxis(
        np.moveaxis(x, use.axis("C"), -1) * use.parameters["weight"], -1, use.axis("C")),
    layers.SoftmaxCrossEntropy: cross_entropy,
}


def _compact(image: Tensor, words: Tensor, memory: Tensor, seen: Tensor) -> Tensor:
    x = channel_scale(layer_norm(image, 1e-3), 0.1)
    x = sinusoidal_positions(learned_positions(class_token(image_to_sequence(x)), 10))
    x = x + embedding(words, 5, 6, name="table")
    query, key, value = (linear(x, 6, name=name) for name in ("query", "key", "value"))
    x = layer_norm(x + attention(query, key, value, 2, causal=True), 1e-2, scale=False)
    key, value = (linear(memory, 6, name=f"memory_{name}") for name in ("key", "value"))
    x = x + gelu(attention(x, key, value, 3, seen))
    x = layer_norm(gelu(linear(x, 6), "tanh"), 1e-2, center=False)
    guesses = linear(x, 5, weight="table.weight", name="guesses")
    loss(SoftmaxCrossEntropy(0.1, ignore=2), guesses, "word", Spec("T", words.shape, "int32"), weight=0.5)
    logits = linear(concat(select(x, 2), flatten(select(x, 1, axis="C"))), 4)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


COMPACT = record(_compact, {"image": Spec("CHW", (6, 3, 3)), "words": Spec("T", (10,), "int32"), **MEMORY})
EQUIVALENT: dict[str, str] = {}
