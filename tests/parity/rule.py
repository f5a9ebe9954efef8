"""What it means that a framework computes what NumPy computes.

Observed: everything that can be seen of one batch and one update. Allowed: an error (root mean square over a
tensor) of at most MULTIPLE times the larger of

* the self-noise of float32: the largest error, over TRIALS, of the reference itself run in float32 after each
  weight and input moved to one of its two neighbours in float32. No framework can be asked to be closer than
  its own inputs are known;
* the rounding of the longest sum: half a unit in the last place (2^-24) of the tensor's root mean square, times
  the square root of the number of terms. Sums of equal length add up in another order elsewhere, and rounding
  errors grow like a random walk (Higham & Mary 2019, SIAM J. Sci. Comput. 41, A2815).

MULTIPLE is a matter of counting, not of fitting: functions such as tanh and exp may be off by a few units in the
last place in a framework's vectorised form, and an error is the noise of two runs, not of one. The second moment of a
gradient that is exactly zero is the square of its noise: of it MULTIPLE counts twice.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from families.common import BATCH, Case
from parity.cases import cases
from photofinish.frameworks import Arrays, Contestant, Setup
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer

MULTIPLE = 4.0
TRIALS = 4
ROUNDING = 2.0**-24
INFERENCE = "inference "  # begins the names of what inference gives
Maker = Callable[[], Contestant]


def reference(precision: str) -> Contestant:
    return Reference(Setup("reference", precision=precision))


def prepared(make: Maker, graph: Graph, state: Arrays, optimizer: Optimizer | None = None) -> Contestant:
    """A fresh contestant with the graph built and the state loaded."""
    contestant = make()
    contestant.build(graph, BATCH, optimizer)
    contestant.put(state)
    return contestant


def inferred(contestant: Contestant, batch: Arrays) -> Arrays:
    """Outputs in inference."""
    outputs = contestant.read(contestant.infer(contestant.feed(batch)))
    return {INFERENCE + name: values for name, values in outputs.items()}


def observe(make: Maker, graph: Graph, state: Arrays, batch: Arrays) -> Arrays:
    """Outputs in inference, then (with dropout at rate zero) outputs, loss and gradients in training, and every
    array after one step. `gradients` comes first: if it changed any state, the step would show it."""
    contestant = prepared(make, graph, state, SGD())
    seen = inferred(contestant, batch)
    if graph.random_nodes:
        contestant = prepared(make, graph.without_randomness(), state, SGD())
    fed = contestant.feed(batch)
    seen.update({"training " + name: values for name, values in contestant.gradients(fed).items()})
    seen.update({"step " + name: values for name, values in contestant.read(contestant.train_step(fed)).items()})
    seen.update({"after " + name: values for name, values in contestant.get().items()})
    return seen


def neighbours(arrays: Arrays, seed: int) -> Arrays:
    """Every float moved up or down to the next float32, at random."""
    generator = np.random.RandomState(seed)
    return {name: np.nextafter(values, np.where(generator.uniform(size=values.shape) < 0.5, -np.inf, np.inf),
                               dtype=np.float32) if values.dtype == np.float32 else values
            for name, values in arrays.items()}


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(values, np.float64)))))


def longest_sum(graph: Graph) -> int:
    """The most terms any sum of a step can have: those of a layer's product, or of a batch over positions."""
    products = [each.fan_in for each in graph.parameters.values()]
    positions = [BATCH * int(np.prod(spec.shape)) // (spec.size("C") if "C" in spec.axes else 1)
                 for spec in graph.specs.values()]
    return max(products + positions)


class Expectation:
    """What the reference sees, and how far from it each tensor may be."""

    def __init__(self, look: Callable[[Maker, Arrays, Arrays], Arrays], graph: Graph, state: Arrays,
                 batch: Arrays) -> None:
        self.exact = look(lambda: reference("float64"), state, batch)
        noise = dict.fromkeys(self.exact, 0.0)
        for trial in range(TRIALS):
            noisy = look(lambda: reference("float32"), neighbours(state, trial), neighbours(batch, 100 + trial))
            noise = {name: max(noise[name], rms(noisy[name] - values)) for name, values in self.exact.items()}
        floor = ROUNDING * np.sqrt(longest_sum(graph))
        squares = {name for name, values in self.exact.items() if "moment2/" in name and rms(values) < noise[name]}
        self.allowed = {name: MULTIPLE ** (2 if name in squares else 1) * max(noise[name], floor * rms(values))
                        for name, values in self.exact.items()}

    def complaints(self, seen: Arrays, of: str = "") -> list[str]:
        """A line for each tensor (of those whose names begin so) that is missing, of another shape, or further off than
        allowed."""
        lines = [f"{name}: missing" for name in self.exact if name.startswith(of) and name not in seen]
        lines += [f"{name}: unexpected" for name in seen if name not in self.exact]
        for name in sorted(self.exact.keys() & seen.keys()):
            exact, values = self.exact[name], np.asarray(seen[name])
            if values.shape != exact.shape:
                lines.append(f"{name}: shape {values.shape}, not {exact.shape}")
            elif not (error := rms(values - exact)) <= self.allowed[name]:  # so that NaN is refused
                lines.append(f"{name}: error {error:.3g}, allowed {self.allowed[name]:.3g}, size {rms(exact):.3g}")
        return lines


@lru_cache(maxsize=None)
def expectation(name: str) -> Expectation:
    """Of the example of that name, as `observe` sees it."""
    case: Case = cases()[name]
    return Expectation(lambda make, state, batch: observe(make, case.graph, state, batch),
                       case.graph, case.state, case.batch)
