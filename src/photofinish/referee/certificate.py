"""The certificate: results of the reference and of a contender in, `values.Certificate` out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import prod, sqrt
from pathlib import Path

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
)
from photofinish.measure.proof import BATCHES, FORCED, REFERENCE, STEPS, Plan, kind, was_forward_only
from photofinish.optimizers import Adam, Optimizer
from photofinish.referee import dropout
from photofinish.referee.tolerance import (
    APPROXIMATED,
    FLOAT32,
    FORMATS,
    INFINITE,
    UNIT,
    Comparison,
    Format,
    compare,
    response,
    size,
)
from photofinish.values import Certificate, Check

SCALED = (AveragePool, Concat, MaxPool, Relu)  # what comes out is scaled, channel by channel, as what went in
PRODUCTS = (Conv, ConvTranspose, Linear, SequenceConv)
SMOOTH = 10.0  # Adam's update is compared where its denominator exceeds the gradient's noise so many times
LOST = (  # where a bias has no effect: why, and the layer and its input that take it away
    ("a bias before a BatchNorm, which subtracts it", (BatchNorm, 0)),
    ("a bias of attention's keys, which softmax takes away", (Attention, 1)),
)
DESCENT = 0.5  # of the exact one: an approximated step may lower the loss by half as much, or by half as much again
FREE = f"losses of {STEPS} steps"
GROUPS = {"output": "{} outputs", "loss": "loss", "gradient": "gradients", "state": "running statistics"}

Results = Mapping[str, np.ndarray]
Draws = Sequence[Mapping[str, Results]]  # [draw][exercise][tensor]; draw 0 is the plain one


def judge(folder: Path, label: str, contender: str, reference: str = "numpy float64",
          versions: dict[str, str] | None = None, form: Format = FLOAT32, moved: Sequence[str] = (),
          sent: str = "") -> Certificate:
    """Reads what `measure.proof.run` wrote for the reference and under `label`, and judges it. Of a coarse format the
    reference's draws are what was written under the labels `moved`, and the contender has its plain one only. Where
    gradients are `sent` in a format, all draws under these labels count beside the reference's own.

    Raises FileNotFoundError when either has not run to its end.
    """
    folder = Path(folder)
    plan = Plan.read(folder)
    about = json.loads((folder / label / "about.json").read_text())
    with ExitStack() as files:
        exact, own = ([_Opened(folder / side / f"draw{draw}", files) for draw in range(draws + 1)]
                      for side, draws in ((REFERENCE, plan.exact_draws), (label, plan.draws)))
        if form is not FLOAT32:
            exact, own = exact[:1], own[:1]
        exact += [_Opened(folder / each / f"draw{draw}", files) for each in moved
                  for draw in range(plan.draws + 1)]
        if was_forward_only(folder, label):
            checks = certify_forward(exact, own, form)
            return Certificate(contender, plan.graph.digest, all(check.passed for check in checks), checks, reference,
                               plan.batch, seconds=about["seconds"], versions=versions or {}, forward_only=True,
                               precision=form.name)
        judged = approximated if sent == APPROXIMATED else certify
        checks, listed = judged(plan.graph, plan.batch, plan.optimizers, exact, own, form)
        if plan.graph.random_nodes:
            rounding = FORMATS[sent].stored if sent in FORMATS else 0.0
            checks += (dropout.check(plan.graph, _Opened(folder / label, files), form, rounding),)
        return Certificate(contender, plan.graph.digest, all(check.passed for check in checks), checks, reference,
                           plan.batch, listed, _curves(plan, own), _curves(plan, exact), about["seconds"],
                           versions or {}, precision=form.name, gradients=sent)


def certify(graph: Graph, batch: int, optimizers: Iterable[Optimizer], reference: Draws,
            contender: Draws, form: Format = FLOAT32) -> tuple[tuple[Check, ...], tuple[tuple[str, str], ...]]:
    """All checks but dropout's, and the tensors that are listed rather than compared, with reasons."""
    known = Parameters(graph, batch, reference[0], form)
    comparisons = [each for exercise in ("inference", "training")
                   for each in _exercise(exercise, reference, contender, form, known)]
    listed = list(known.listed())
    for optimizer in optimizers:
        comparisons.append(_free_run(optimizer, reference, contender, form))
        for step in FORCED:
            exercise = f"{kind(optimizer)}-step{step}"
            comparisons += _exercise(exercise, reference, contender, form, known)
            comparisons += _updates(exercise, step, optimizer, reference, contender, known, listed)
    return _checks(comparisons), tuple(listed)


def approximated(graph: Graph, batch: int, optimizers: Iterable[Optimizer], reference: Draws,
                 contender: Draws, form: Format = FLOAT32) -> tuple[tuple[Check, ...], tuple[tuple[str, str], ...]]:
    """The checks of processes that update by an approximation of their mean gradient, and keep what it leaves out for
    the next step (error feedback; Karimireddy et al. 2019), or by their own, and average their parameters now and then
    (Lin et al. 2018). What they send and what they keep add up to the gradient: that is compared, as all that comes
    before an update. Of the updates nothing is, but that they lower the loss about as much as the exact ones."""
    known = Parameters(graph, batch, reference[0], form)
    comparisons = [each for exercise in ("inference", "training")
                   for each in _exercise(exercise, reference, contender, form, known)]
    comparisons += [_descent(optimizer, reference, contender) for optimizer in optimizers]
    updates = ("every update of a parameter, and the optimizer's state", "the step of an approximated gradient is not "
               "that of the gradient; by how much it lowers the loss is compared")
    return _checks(comparisons), (updates, *known.listed())


def certify_forward(reference: Draws, contender: Draws, form: Format = FLOAT32) -> tuple[Check, ...]:
    """The one check of a contender that runs inference alone: every output, by the same rule."""
    comparisons = list(_exercise("inference", reference, contender, form))
    return (_check(comparisons[0].group, comparisons),)


def resting_on(exact: Certificate, coarse: Certificate) -> Certificate:
    """The certificate of a mode of a coarser format, as good as that of the mode whose code it is: what lies below the
    format's rounding (an epsilon, a momentum) only the latter sees."""
    if exact.differences:
        return replace(coarse, passed=False, differences=exact.differences, exact=exact.contender)
    worst = max(exact.checks, key=lambda check: check.error / (check.allowed or INFINITE))
    whole = Check(f"everything in {exact.precision}, as {exact.contender}", sum(each.tensors for each in exact.checks),
                  worst.error, worst.allowed, exact.passed, worst.worst)
    return replace(coarse, passed=coarse.passed and exact.passed, checks=(whole, *coarse.checks),
                   exact=exact.contender)


def hangs_on_free_runs(certificate: Certificate) -> bool:
    """Whether nothing but the losses of free runs speaks against a contender: more draws of the reference may show
    that ten steps amplify rounding as much."""
    refused = [check.group for check in certificate.checks if not check.passed]
    return bool(refused) and all(group.startswith(FREE) for group in refused)


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
    many terms.
    """

    def __init__(self, graph: Graph, batch: int, plain: Mapping[str, Results], form: Format = FLOAT32) -> None:
        training = plain["training"]
        self.form = form
        self.owners = {name: [node for node in graph.nodes if name in dict(node.parameters).values()]
                       for name in graph.parameters}
        self.rounding = {name: form.of_sum(batch * sum(_positions(graph, node) for node in nodes))
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
        if not own or not self.start or (part == "update" and f"velocity/{name}" not in results):
            return 1.0  # Adam's update is no sum: what it makes of its gradient's rounding is told apart
        norm, elements = self.centred[name]
        taken = sum(size(results[f"{part}/{other}"]) for other in norm.values())
        scale = float(self.start["size/" + norm["weight"]]) if "weight" in norm else 1.0
        return scale * taken / (float(self.start["size/" + name]) * sqrt(elements)) / own

    def listed(self) -> Iterable[tuple[str, str]]:
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
                         f"{self.lost.get(name, 'it is below noise')}; bounded, and not compared after Adam")

    def _loudest(self, name: str) -> float:
        return max(self.gradients[other] for other in self.siblings(name))


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


def _exercise(exercise: str, reference: Draws, contender: Draws, form: Format,
              known: Parameters | None = None) -> Iterable[Comparison]:
    """Every tensor of an exercise but the updates of parameters; `known` where there are gradients or a loss."""
    expected = reference[0][exercise]
    for name in sorted(set(contender[0][exercise]) - set(expected)):
        yield Comparison(_group(exercise, name), name + " (unexpected)", INFINITE, 0.0, 1.0)
    for name in expected:
        part, _, path = name.partition("/")
        if part in ("update", "size"):
            continue
        if known and path in known.owners:
            floor, scale = known.floor(path, expected, part)
            floor = max(floor, _of_siblings(path, part, exercise, reference, contender, known))
        else:
            scale = size(expected[name])
            rounding = known.statistics[path] if known and part == "state" else form.floor
            # a cross entropy is the small difference of large logits, whose rounding it keeps
            floor = rounding * max(scale, known.largest_output if known and name == "loss" else 0.0)
        yield _compare(_group(exercise, name), name, exercise, reference, contender, floor, scale)


def _of_siblings(name: str, part: str, exercise: str, reference: Draws, contender: Draws, known: Parameters) -> float:
    """What a lost bias is allowed besides: what the weight beside it is, whose gradient sums the same terms. What is
    rounded in those (in all the layers behind, in softmax's own pass back) shows in no response of an exact zero."""
    if name not in known.lost:
        return 0.0
    return max((_compare("", f"{part}/{other}", exercise, reference, contender, 0.0, 1.0).allowed
                for other in known.siblings(name) - known.faint), default=0.0)


def _group(exercise: str, name: str) -> str:
    """The check a tensor belongs to."""
    return GROUPS.get(name.partition("/")[0], "optimizer state after step {1} ({0})").format(*_labels(exercise))


def _labels(exercise: str) -> tuple[str, str]:
    """What a group's name says: ("training", "") or ("sgd", "10")."""
    what, _, step = exercise.partition("-step")
    return what, step


def _free_run(optimizer: Optimizer, reference: Draws, contender: Draws, form: Format) -> Comparison:
    exercise = kind(optimizer) + "-free"
    losses = np.asarray(reference[0][exercise]["loss"])
    rounding = np.mean([_coefficient_rounding(optimizer, step) for step in range(1, STEPS + 1)])
    floor = form.floor * size(losses) + float(rounding * np.ptp(losses))
    exact = [each for each in reference if exercise in each]  # the first draws, or all if they were asked for
    return _compare(f"{FREE} ({kind(optimizer)})", "loss", exercise, exact, contender, floor, size(losses))


def _descent(optimizer: Optimizer, reference: Draws, contender: Draws) -> Comparison:
    """By how much ten steps lower the loss, from the first steps on each batch to the last."""
    exercise = kind(optimizer) + "-free"
    exact, own = (float(np.sum(losses[:BATCHES] - losses[-BATCHES:]))
                  for losses in (np.asarray(each[0][exercise]["loss"]) for each in (reference, contender)))
    error = abs(own - exact) if np.isfinite(own) else INFINITE
    return Comparison(f"descent of the loss in {STEPS} steps ({kind(optimizer)})", "loss", error,
                      DESCENT * max(exact, 0.0), abs(exact) or 1.0)


def _coefficient_rounding(optimizer: Optimizer, step: int) -> float:
    """The relative error of an update whose bias corrections 1 - beta**step are evaluated in float32."""
    if not isinstance(optimizer, Adam):
        return 0.0
    return UNIT * (1 / (1 - optimizer.beta1 ** step) + 0.5 / (1 - optimizer.beta2 ** step))


def _updates(exercise: str, step: int, optimizer: Optimizer, reference: Draws, contender: Draws, known: Parameters,
             listed: list[tuple[str, str]]) -> Iterable[Comparison]:
    """What one step did to each parameter."""
    expected = reference[0][exercise]
    group = "weights after step {1} ({0})".format(*_labels(exercise))
    for name in known.owners:
        floor, scale = known.floor(name, expected, "update")
        floor = max(floor, _of_siblings(name, "update", exercise, reference, contender, known))
        floor += UNIT * float(expected["size/" + name])  # rounding of the parameter itself
        smooth = None
        if isinstance(optimizer, Adam):
            if name in known.faint:
                continue
            floor += _coefficient_rounding(optimizer, step) * scale
            floor += _amplified(name, step, optimizer, expected, known)
            smooth = _smooth(name, step, optimizer, reference, exercise)
            if not smooth.all():
                listed.append((f"{name} after {exercise}", f"{1 - smooth.mean():.2%} of its elements: Adam's update "
                               "hangs on a gradient near noise; their moments are compared"))
        if smooth is None or smooth.any():
            yield _compare(group, "update/" + name, exercise, reference, contender, floor, scale, smooth)


def _smooth(path: str, step: int, optimizer: Adam, reference: Draws, exercise: str) -> np.ndarray:
    """Where Adam's update m / (sqrt(v) + epsilon) is a smooth function of the gradient, at its noise."""
    noise = response([each[exercise]["moment1/" + path] for each in reference]) / (1 - optimizer.beta1)
    corrected = np.asarray(reference[0][exercise]["moment2/" + path]) / (1 - optimizer.beta2 ** step)
    return np.asarray(np.sqrt(corrected) + optimizer.epsilon > SMOOTH * noise)


def _amplified(path: str, step: int, optimizer: Adam, expected: Results, known: Parameters) -> float:
    """What Adam makes of the rounding that a gradient is allowed: it divides each element by its own size."""
    rounding, _ = known.floor(path, expected, "moment1")
    corrected = np.asarray(expected["moment2/" + path]) / (1 - optimizer.beta2 ** step)
    gain = optimizer.learning_rate / (np.sqrt(corrected) + optimizer.epsilon)
    return rounding / (1 - optimizer.beta1 ** step) * size(gain)


def _compare(group: str, name: str, exercise: str, reference: Draws, contender: Draws, floor: float,
             scale: float, where: np.ndarray | None = None) -> Comparison:
    if any(name not in each[exercise] for each in contender):
        return Comparison(group, name + " (missing)", INFINITE, 0.0, 1.0)
    sides = [[np.asarray(each[exercise][name]) for each in side] for side in (reference, contender)]
    if where is not None and sides[1][0].shape == where.shape:
        sides = [[each[where] for each in side] for side in sides]
    return compare(group, name, sides[0], sides[1], floor, scale)


def _curves(plan: Plan, draws: Draws) -> dict[str, tuple[float, ...]]:
    return {kind(each): tuple(map(float, draws[0][kind(each) + "-free"]["loss"])) for each in plan.optimizers}


def _checks(comparisons: Sequence[Comparison]) -> tuple[Check, ...]:
    groups = dict.fromkeys(each.group for each in comparisons)
    return tuple(_check(group, [each for each in comparisons if each.group == group]) for group in groups)


def _check(group: str, comparisons: Sequence[Comparison]) -> Check:
    worst = max(comparisons, key=lambda each: each.badness)
    error = min(worst.error / worst.scale, INFINITE)
    return Check(group, len(comparisons), error, worst.allowed / worst.scale,
                 all(each.passed for each in comparisons), worst.tensor)


class _Opened(Mapping[str, Results]):
    """The exercises of one draw, as files kept open until `files` closes; a tensor is read when asked for."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self.folder, self.files = folder, files
        self.opened: dict[str, Results] = {}

    def __getitem__(self, exercise: str) -> Results:
        if exercise not in self.opened:
            self.opened[exercise] = self.files.enter_context(np.load(self.folder / f"{exercise}.npz"))
        return self.opened[exercise]

    def __contains__(self, exercise: object) -> bool:
        return (self.folder / f"{exercise}.npz").exists()

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in sorted(self.folder.glob("*.npz")))

    def __len__(self) -> int:
        return len(list(self.folder.glob("*.npz")))
