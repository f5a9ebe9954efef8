"""Canonical weights: drawn once by the parent in NumPy, named by scope, seeded by name.

Every contender starts from these arrays, so no framework's own initialiser enters a race.
"""

import hashlib
from typing import Dict

import numpy as np

from photofinish.graph import Graph
from photofinish.layers import Parameter

Arrays = Dict[str, np.ndarray]


def stream(seed: int, name: str) -> np.random.RandomState:
    """A generator of its own for each name: adding a layer never changes another layer's weights."""
    word = hashlib.sha256("{}/{}".format(seed, name).encode()).digest()
    return np.random.RandomState(np.frombuffer(word, dtype=np.uint32))


def draw(parameter: Parameter, seed: int) -> np.ndarray:
    """One array in float32. "normal" is He et al. 2015 (arXiv 1502.01852): variance 2 / fan_in."""
    generator = stream(seed, parameter.name)
    if parameter.init == "normal":
        values = generator.standard_normal(parameter.shape) * np.sqrt(2.0 / parameter.fan_in)
    elif parameter.init == "unit_normal":
        values = generator.standard_normal(parameter.shape)
    else:
        values = {"zeros": np.zeros, "ones": np.ones}[parameter.init](parameter.shape)
    return np.asarray(parameter.gain * values, dtype=np.float32)


def initial_state(graph: Graph, seed: int = 0) -> Arrays:
    """"parameter/<name>" and "state/<name>" for everything the graph declares."""
    arrays = {"parameter/" + name: draw(each, seed) for name, each in graph.parameters.items()}
    arrays.update({"state/" + name: draw(each, seed) for name, each in graph.state.items()})
    return arrays


def perturbed_state(graph: Graph, seed: int = 0) -> Arrays:
    """Weights for proofs: scales, biases and running statistics moved off 0 and 1, so that a layer
    which ignores them cannot pass. Variances stay positive."""
    arrays = initial_state(graph, seed)
    for name, values in arrays.items():
        declared = {"parameter": graph.parameters, "state": graph.state}[name.split("/")[0]]
        if declared[name.split("/", 1)[1]].init in ("zeros", "ones"):
            noise = stream(seed, "perturbed " + name).uniform(-0.25, 0.25, values.shape)
            arrays[name] = (values + noise).astype(np.float32)
    return arrays
