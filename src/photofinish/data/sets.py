"""Data sets that come with the house, as arrays: real digits, and a harder task drawn from a seed.

A set is read or drawn once, by the parent; workers get its arrays as files. Nothing is augmented. (`digits.npz` stays
behind when this room travels.)
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Optional, Tuple

import numpy as np

from photofinish.layers import Shape
from photofinish.weights import stream

DIGITS = Path(__file__).parent / "digits.npz"
GRID = 8  # a pattern's side before it is enlarged
CLASSES, VARIANTS = 10, 2
SHIFT = 1  # grid points at most, up or down and to either side
NOISE = 1.2  # in standard deviations of a pattern: digits_cnn ends near 80 %

Samples = NamedTuple("Samples", [("inputs", np.ndarray), ("labels", np.ndarray)])


@dataclass(frozen=True)
class DataSet:
    """Samples to learn from and others to be judged on: `inputs` (n, C, H, W) in float32, `labels` (n,) in int32.

    `target` is a validation accuracy worth reaching, None where nobody has said one; `source` tells where it is from.
    """

    name: str
    train: Samples
    validation: Samples
    classes: int
    source: str
    target: Optional[float] = None

    @property
    def digest(self) -> str:
        """SHA-256 of every array."""
        found = hashlib.sha256()
        for array in self.train + self.validation:
            found.update("{} {}".format(array.dtype, array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return found.hexdigest()


def digits() -> DataSet:
    """1,797 handwritten digits of 1x8x8, a fifth of them for validation: always the same ones.

    Alpaydin & Kaynak 1998, UCI Optical Recognition of Handwritten Digits (CC BY 4.0), as scikit-learn ships them.
    """
    with np.load(str(DIGITS)) as file:
        images, labels = file["images"].astype(np.float32), file["labels"].astype(np.int32)
    order = stream(0, "split of digits").permutation(len(images))
    held = order[:len(images) // 5], order[len(images) // 5:]
    validation, train = (Samples(images[rows, None], labels[rows]) for rows in held)
    return DataSet("digits", *standardised(train, validation), classes=10, target=0.97,
                   source="UCI Optical Recognition of Handwritten Digits (Alpaydin & Kaynak 1998), from scikit-learn")


def patterns(shape: Shape, train: int = 4096, validation: int = 1024, classes: int = CLASSES) -> DataSet:
    """A task that does not saturate: ten classes (or fewer) of two random grey patterns each, shifted at random, in
    noise. They are drawn on a grid of 8x8 and enlarged to `shape` (C, H, W), so every size is equally hard."""
    templates = stream(0, "templates of patterns").standard_normal((CLASSES, VARIANTS, GRID, GRID))
    drawn = [_draw_patterns(templates[:classes], count, shape, name)
             for count, name in ((train, "train"), (validation, "held"))]
    return DataSet("patterns", *standardised(*drawn), classes=classes, target=0.75,
                   source="drawn from a seed: shifted patterns in noise")


def _draw_patterns(templates: np.ndarray, count: int, shape: Shape, name: str) -> Samples:
    generator = stream(0, "patterns " + name)
    labels = generator.randint(0, len(templates), count)
    chosen = templates[labels, generator.randint(0, VARIANTS, count)]
    moved = generator.randint(-SHIFT, SHIFT + 1, (2, count, 1)) + np.arange(GRID)
    rows, columns = moved % GRID
    grids = chosen[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    grids = (grids + NOISE * generator.standard_normal(grids.shape)).astype(np.float32)
    channels, height, width = shape
    large = grids[:, np.arange(height) * GRID // height][:, :, np.arange(width) * GRID // width]
    return Samples(np.repeat(large[:, None], channels, axis=1), labels.astype(np.int32))


def standardised(train: Samples, validation: Samples) -> Tuple[Samples, Samples]:
    """Each channel less its mean and over its standard deviation, both of the training samples."""
    mean, deviation = (measure(train.inputs, axis=(0, 2, 3), keepdims=True, dtype=np.float64).astype(np.float32)
                       for measure in (np.mean, np.std))

    def changed(samples: Samples) -> Samples:
        return Samples((samples.inputs - mean) / np.maximum(deviation, np.float32(1e-6)), samples.labels)
    return changed(train), changed(validation)


def orders(samples: int, epochs: int, seed: int) -> np.ndarray:
    """The order in which each epoch takes the samples, int32 (epochs, samples)."""
    generator = stream(seed, "orders of epochs")
    return np.stack([generator.permutation(samples) for _ in range(epochs)]).astype(np.int32)
