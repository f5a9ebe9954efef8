"""NumPy's rules of layers, made to compute in fewer bits of mantissa or in integers, and the reference's part of a
proof of what does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from photofinish.frameworks import Setup
from photofinish.frameworks import numpy as reference
from photofinish.graph import Graph
from photofinish.measure import proof
from photofinish.measure.quantised import Quantised, channels, width
from photofinish.measure.rounded import Rounded
from photofinish.referee.tolerance import Format
from photofinish.runner.reference import moved


def rounding(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    """To nearest, with so many explicit bits of mantissa."""
    def rounded(values: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(values)
        return np.ldexp(np.rint(np.ldexp(fraction, bits + 1)), exponent - bits - 1).astype(values.dtype)
    return rounded


def coarse(kind: type, bits: int) -> Callable[..., Any]:
    """The rule of a layer on operands rounded to so many bits of mantissa, forward and backward."""
    honest_rule, rounded = reference.RULES[kind], rounding(bits)

    def rule(use: Any, *inputs: np.ndarray) -> Any:
        use.parameters = {name: rounded(values) for name, values in use.parameters.items()}
        result, pull = honest_rule(use, *map(rounded, inputs))
        return result, lambda gradient: pull(rounded(gradient))
    return rule


def steps(bits: int) -> Callable[..., np.ndarray]:
    """To the nearest of the equal steps that an integer of so many bits divides a range into: a tensor's, or that with
    the width given."""
    def rounded(values: np.ndarray, span: Any = None) -> np.ndarray:
        step = (width(values) if span is None else span) / (2 ** bits - 1)
        return (np.rint(values / step) * step).astype(values.dtype)
    return rounded


def integer(kind: type, bits: int, spoil: Callable[[np.ndarray], np.ndarray] = np.asarray) -> Callable[..., Any]:
    """The rule of a layer on operands in integers of so many bits, its weight by channel; `spoil` is done to that."""
    honest_rule, rounded = reference.RULES[kind], steps(bits)

    def rule(use: Any, *inputs: np.ndarray) -> Any:
        weight = use.parameters["weight"]
        use.parameters = dict(use.parameters, weight=spoil(rounded(weight, channels(weight))))
        return honest_rule(use, *map(rounded, inputs))
    return rule


def prepared(folder: Path, graph: Graph, form: Format) -> Path:
    """A proof by that format with the reference's part done."""
    exact = reference.Contestant(Setup("reference", precision="float64"))
    proof.prepare(folder, graph, draws=0)
    proof.run(lambda: exact, folder, proof.REFERENCE, forward_only=form.equal)
    for draw, label in enumerate(moved(form), 1):
        rounds: Any = (Quantised if form.equal else Rounded)(exact, form.noise, draw)
        proof.run(partial(lambda made: made, rounds), folder, label, forward_only=form.equal)
    return folder
