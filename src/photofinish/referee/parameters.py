"""What the rule of the certificate must know of each parameter: by what its gradient is told, and what is allowed to
it in any case."""

from collections.abc import Iterable, Mapping
from math import prod, sqrt

import numpy as np

from photofinish.graph import Graph, Node
from photofinish.layers import (
    Attention,
    AveragePool,
    BatchNorm,
    Concat,
    Conv,
    ConvTranspose,
    Linear,
    MaxPool,
    Relu,
    SequenceConv,
    SoftmaxCrossEntropy,
)
from photofinish.measure.proof import FORCED
from photofinish.referee.tolerance import FLOAT32, Format, size

SCALED = (AveragePool, Concat, MaxPool, Relu)  # what comes out is scaled, channel by channel, as what went in
PRODUCTS = (Conv, ConvTranspose, Linear, SequenceConv)
LOST = (  # where a bias has no effect: why, and the layer and its input that take it away
    ("a bias before a BatchNorm, which subtracts it", (BatchNorm, 0)),
    ("a bias of attention's keys, which softmax takes away", (Attention, 1)),
)

SHOWN = 1e-5  # a rounding above which a certificate says that label smoothing widened it

Results = Mapping[str, np.ndarray]


class Parameters:
    """What the rule must know of each parameter.

    `faint` are those whose exact gradient is zero or below the format's noise: they cannot be compared on their
    own scale, so they are bounded on that of the layer's largest gradient. `undone` are the parameters of BatchNorms
    that only other BatchNorms read, which take out their common factor, and behind a max-pool the shift as well: their
    gradient is what is left of terms that cancel, so its rounding is that of the layer before (the value here), whose
    gradient is made of the same terms. `centred` are the weights whose products a BatchNorm alone reads, and that
    BatchNorm: what it passes back is centred, and what it took out to do so was rounded as well. `attended` are those
    of queries and keys: softmax takes the mean out of what comes back to a row of scores, and where the values are
    nearly alike (in the upper layers of a BERT that has not been trained; Dong et al. 2021, arXiv:2103.03404) little
    but the rounding of that mean is left, on the scale of the values' own gradient. A running statistic is a mean of as
    many terms. What a loss that smooths labels over many `classes` passes back may hold their sum, of as many equal
    terms, times the prediction (PyTorch adds it up): all gradients have its rounding.
    """

    def __init__(self, graph: Graph, batch: int, plain: Mapping[str, Results], form: Format = FLOAT32) -> None:
        training = plain["training"]
        self.form = form
        self.owners = {name: [node for node in graph.nodes if name in dict(node.parameters).values()]
                       for name in graph.parameters}
        self.classes = _smoothed(graph)
        self.smoothing = form.of_equal(self.classes) if self.classes else 0.0
        self.rounding = {name: max(self.smoothing, form.of_sum(batch * sum(_positions(graph, node) for node in nodes)))
                         for name, nodes in self.owners.items()}
        self.statistics = {name: form.of_mean(batch * _positions(graph, node))
                           for node in graph.nodes for _, name in node.state}
        self.lost = {name: why for why, reader in LOST for name, nodes in self.owners.items()
                     if name.endswith(".bias") and all(node.name in _only_read_by(graph, *reader) for node in nodes)}
        self.largest_output = max((float(np.max(np.abs(values))) for name, values in training.items()
                                   if name.startswith("output/")), default=0.0)
        self.gradients = {name: size(training["gradient/" + name]) for name in graph.parameters}
        self.undone = _undone(graph)
        self.centred = _centred(graph)
        self.attended = _attended(graph)
        self.start: Results = next((plain[each] for each in plain if each.endswith(f"-step{FORCED[0]}")), {})
        self.faint = {name for name in graph.parameters if self.gradients[name] <= form.noise * self._loudest(name)}

    def siblings(self, name: str) -> set[str]:
        """The parameters of the same layers."""
        return {other for node in self.owners[name] for _, other in node.parameters}

    def floor(self, name: str, results: Results, part: str) -> tuple[float, float]:
        """The error allowed in any case to a gradient or to what is made of it, and the scale to tell it by.

        A gradient is a sum over the batch and all positions, whose rounding grows like a random walk
        (Higham & Mary 2019, SIAM J. Sci. Comput. 41, A2815); squaring doubles a relative error.
        """
        floor, scale = self._own_floor(name, results, part)
        if name in self.attended:
            values, keys = self.attended[name]
            floor = max(floor, self.form.of_sum(keys) * size(results[f"{part}/{values}"]) * _doubled(part))
        return floor, scale

    def _own_floor(self, name: str, results: Results, part: str) -> tuple[float, float]:
        if name in self.faint:
            scale = max(size(results[f"{part}/{other}"]) for other in self.siblings(name))
            return max(self.rounding[name], self.form.cancelled) * scale, scale
        scale = size(results[f"{part}/{name}"])
        terms = max(scale, size(results[f"{part}/{self.undone[name]}"])) if name in self.undone else scale
        if name in self.centred:
            terms *= max(1.0, self._taken_out(name, results, "moment1" if part == "moment2" else part))
        return self.rounding[name] * terms * _doubled(part), scale

    def _taken_out(self, name: str, results: Results, part: str) -> float:
        """How many times larger than a weight's gradient is what a BatchNorm took out of the terms of its sum: their
        mean and what is along the normalised values (Ioffe & Szegedy 2015, arXiv:1502.03167), which are the gradients
        of its own bias and weight. They reach the sum times scale / deviation, times inputs; and inputs are about as
        large as the deviation of their products over the length of a row of weights."""
        own = size(results[f"{part}/{name}"])
        if not own or not self.start:
            return 1.0
        norm, elements = self.centred[name]
        taken = sum(size(results[f"{part}/{other}"]) for other in norm.values())
        scale = float(self.start["size/" + norm["weight"]]) if "weight" in norm else 1.0
        return scale * taken / (float(self.start["size/" + name]) * sqrt(elements)) / own

    def listed(self) -> Iterable[tuple[str, str]]:
        if self.smoothing > SHOWN:
            yield "every gradient", (f"a label smoothed over {self.classes:,} classes is a sum of as many equal "
                                     f"terms, whose roundings in float32 add up to {self.smoothing:.1e} of it; "
                                     "bounded by that")
        for name in sorted(set(self.undone) - self.faint):
            yield name, (f"gradient {self.gradients[name]:.1e}: the BatchNorms that read it undo it, so its rounding "
                         f"is that of {self.undone[name]}, of {self.gradients[self.undone[name]]:.1e}")
        for name, (values, keys) in sorted(self.attended.items()):
            rounding = self.form.of_sum(keys) * self.gradients[values]
            if name not in self.faint and self.gradients[name] <= rounding:
                yield name, (f"gradient {self.gradients[name]:.1e}: what softmax takes out of it was rounded by up to "
                             f"{rounding:.1e}, on the scale of {values}; bounded by that")
        for name in sorted(self.faint):
            yield name, (f"gradient {self.gradients[name]:.1e} against {self._loudest(name):.1e} in its layer: "
                         f"{self.lost.get(name, 'it is below noise')}; bounded by that")

    def _loudest(self, name: str) -> float:
        return max(self.gradients[other] for other in self.siblings(name))


def _smoothed(graph: Graph) -> int:
    """The most classes over which a loss smooths its labels, 0 where none does."""
    return max((graph.spec(each.prediction).size("C") for each in graph.losses
                if isinstance(each.layer, SoftmaxCrossEntropy) and each.layer.label_smoothing), default=0)


def _positions(graph: Graph, node: Node) -> int:
    """How many positions of one sample a layer's parameters act on."""
    specs = [graph.spec(name) for name in node.inputs + node.outputs]
    return max(prod(spec.shape) // (spec.size("C") if "C" in spec.axes else 1) for spec in specs)


def _only_read_by(graph: Graph, kind: type, place: int) -> set[str]:
    """The tensors that only layers of that kind read, as their input of that number."""
    readers: dict[str, set[tuple[type, int]]] = {}
    for node in graph.nodes:
        for number, name in enumerate(node.inputs):
            readers.setdefault(name, set()).add((type(node.layer), number))
    return {name for name, seen in readers.items() if name not in graph.outputs and seen == {(kind, place)}}


def _undone(graph: Graph) -> dict[str, str]:
    """The parameters of BatchNorms that other BatchNorms undo, and the weight of the layer before each."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    readers: dict[str, list[Node]] = {}
    for node in graph.nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)

    def normalised(name: str) -> bool:
        return name not in graph.outputs and all(
            isinstance(node.layer, BatchNorm) or (isinstance(node.layer, SCALED) and normalised(node.name))
            for node in readers.get(name, ()))

    before = {node: makers.get(node.inputs[0]) for node in graph.nodes
              if isinstance(node.layer, BatchNorm) and normalised(node.name)}
    return {name: dict(maker.parameters)["weight"] for node, maker in before.items()
            if maker and "weight" in dict(maker.parameters) for _, name in node.parameters}


def _centred(graph: Graph) -> dict[str, tuple[dict[str, str], int]]:
    """The weights of products that one BatchNorm reads, and nothing else: its parameters, and how many elements of the
    weight make one of its channels."""
    read = _only_read_by(graph, BatchNorm, 0)
    makers = {node.name: node for node in graph.nodes if isinstance(node.layer, PRODUCTS) and node.name in read}
    centred = {}
    for norm in graph.nodes:
        if isinstance(norm.layer, BatchNorm) and norm.inputs[0] in makers:
            weight = dict(makers[norm.inputs[0]].parameters)["weight"]
            channels = graph.spec(norm.inputs[0]).size("C")
            centred[weight] = (dict(norm.parameters), prod(graph.parameters[weight].shape) // channels)
    return centred


def _attended(graph: Graph) -> dict[str, tuple[str, int]]:
    """The parameters of products that attention alone reads, as queries or as keys: the weight of its values, and how
    many keys are in a row of its scores."""
    makers = {name: node for node in graph.nodes if isinstance(node.layer, PRODUCTS) for name in node.outputs}
    read = [_only_read_by(graph, Attention, place) for place in (0, 1)]
    attended: dict[str, tuple[str, int]] = {}
    for node in graph.nodes:
        if isinstance(node.layer, Attention) and node.inputs[2] in makers:
            terms = dict(makers[node.inputs[2]].parameters)["weight"], graph.spec(node.inputs[1]).size("T")
            compared = [makers[name] for name, alone in zip(node.inputs, read) if name in makers and name in alone]
            attended.update({name: terms for each in compared for _, name in each.parameters})
    return attended


def _doubled(part: str) -> int:
    """How many relative errors of a gradient are in what is made of it."""
    return 2 if part == "moment2" else 1
