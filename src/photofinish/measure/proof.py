"""The exercises of a proof: what one contender, or the float64 reference, is made to compute.

`prepare` draws weights and batches once; `run` is called in a worker and writes results as arrays.
Nothing is judged here. Files of a proof's folder:

    plan.json, given.npz                      what everybody starts from
    <label>/draw<k>/<exercise>.npz            results; draw 0 is plain, draws 1.. start a few ulps away
    reference/before-<optimizer>-<step>.npz   states that teacher-forced steps start from
"""

import json
import time
import zipfile
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.data import draw_batch
from photofinish.frameworks import Contestant, Given
from photofinish.graph import Graph, Tensor, apply, loss, record
from photofinish.layers import Layer, SoftmaxCrossEntropy, Spec
from photofinish.measure.moved import Moved
from photofinish.measure.thinning import Thinning, touched_rows
from photofinish.optimizers import SGD, Adam, Optimizer, optimizer_from_json, optimizer_json
from photofinish.vocabulary import concat, linear
from photofinish.weights import Arrays, initial_state, perturbed_state

REFERENCE = "reference"
STEPS = 10  # of a free run
FORCED = (1, 2, 10)  # steps taken from the reference's own state
BATCHES = 2  # take turns, so that a batch compiled in as a constant is seen
DIVERGED = 1e3  # times the loss of the first of ten steps
LEAST_BATCH = 8  # with BatchNorm: the variance of fewer samples is ill conditioned

# An epsilon well above the noise of gradients makes Adam's update smooth (nothing hangs on the sign of a
# tiny gradient) and makes epsilon itself, and where it is added, visible in the weights.
OPTIMIZERS = (SGD(1e-2, 0.9), Adam(1e-3, epsilon=1e-4))  # type: Tuple[Optimizer, ...]

DROPOUT_BATCH = 512
DROPOUT_FEATURES = 32
DROPOUT_STEPS = 4
COPIES = 2  # of each random layer: two layers must not draw the same mask


@dataclass(frozen=True)
class Plan:
    """What a proof exercises. `graph` keeps its random layers; the step-by-step exercises calm them."""

    graph: Graph
    batch: int
    optimizers: Tuple[Optimizer, ...]
    draws: int
    exact_draws: int  # of the reference: a rounding that tips a ReLU is rare, and must have been seen
    seed: int

    def to_json(self) -> Dict[str, Any]:
        return {"graph": self.graph.to_json(), "batch": self.batch, "draws": self.draws,
                "exact_draws": self.exact_draws, "seed": self.seed,
                "optimizers": [optimizer_json(each) for each in self.optimizers]}

    @classmethod
    def read(cls, folder: Path) -> "Plan":
        data = json.loads((Path(folder) / "plan.json").read_text())
        return cls(Graph.from_json(data["graph"]), data["batch"],
                   tuple(optimizer_from_json(each) for each in data["optimizers"]), data["draws"], data["exact_draws"],
                   data["seed"])


def prepare(folder: Path, graph: Graph, batch: int = LEAST_BATCH,
            optimizers: Tuple[Optimizer, ...] = OPTIMIZERS, draws: int = 3, exact_draws: int = 0,
            seed: int = 0, weights: Optional[Arrays] = None) -> Plan:
    """Draws weights (unless they are given) and batches and writes them with the plan: the parent's part.

    Contenders run `draws` perturbed draws; the reference `exact_draws` where a draw is a single step (as
    many as the contenders if that is more).

    Raises ValueError for a batch below 8 where the graph has running statistics.
    """
    if graph.state and batch < LEAST_BATCH:
        raise ValueError("BatchNorm is proven with a batch of at least {}, not {}".format(LEAST_BATCH, batch))
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    given = perturbed_state(graph, seed) if weights is None else dict(weights)
    for number in range(BATCHES):
        drawn = draw_batch(graph, batch, seed + number)
        given.update({"batch{}/{}".format(number, name): values for name, values in drawn.items()})
    np.savez(str(folder / "given.npz"), **given)  # type: ignore[arg-type]
    plan = Plan(graph, batch, tuple(optimizers), draws, max(draws, exact_draws), seed)
    (folder / "plan.json").write_text(json.dumps(plan.to_json()))
    return plan


def run(make: Callable[[], Contestant], folder: Path, label: str, graph: Optional[Graph] = None,
        optimizers: Optional[Tuple[Optimizer, ...]] = None, forward_only: bool = False) -> List[str]:
    """Runs all exercises of the plan in `folder` on the contestant that `make` makes and returns the files written.

    The label "reference" is the reference, to be run first, in float64; where its ten steps lead nowhere (`diverged`)
    it goes no further, for nothing can be compared. `graph` and `optimizers` replace
    the plan's (a mutant); `forward_only` leaves out what a contender that runs inference alone cannot do. Whatever the
    contestant raises passes through.
    """
    started = time.time()
    plan = Plan.read(folder)
    graph = graph or plan.graph
    optimizers = optimizers or plan.optimizers
    exercises = _Exercises(make(), Path(folder), label, plan)
    draws = range((plan.exact_draws if label == REFERENCE else plan.draws) + 1)
    if forward_only:
        exercises.contestant.build(graph.without_randomness(), plan.batch)
        for draw in draws:
            exercises.inference(draw)
        exercises.about(time.time() - started, forward_only)
        return exercises.files
    for number, optimizer in enumerate(optimizers):
        exercises.contestant.build(graph.without_randomness(), plan.batch, optimizer)
        for draw in draws:
            if number == 0:
                exercises.inference(draw)
                exercises.training(draw)
            if draw <= plan.draws:
                losses = exercises.free_run(draw, optimizer)
                if label == REFERENCE and draw == 0 and diverged(losses):
                    exercises.about(time.time() - started, forward_only)
                    return exercises.files
            exercises.forced_steps(draw, optimizer)
    if graph.random_nodes and label != REFERENCE:
        exercises.dropout(graph)
    exercises.about(time.time() - started, forward_only)
    return exercises.files


def free_runs(make: Callable[[], Contestant], folder: Path, label: str) -> List[str]:
    """The free runs of the reference's remaining draws, which `run` leaves out: they take most of its time, and are
    wanted only where ten steps amplify rounding so much that fewer do not show it. Returns the files written."""
    plan = Plan.read(folder)
    exercises = _Exercises(make(), Path(folder), label, plan)
    for optimizer in plan.optimizers:
        exercises.contestant.build(plan.graph.without_randomness(), plan.batch, optimizer)
        for draw in range(plan.draws + 1, plan.exact_draws + 1):
            exercises.free_run(draw, optimizer)
    return exercises.files


def confirm(make: Callable[[], Contestant], folder: Path, label: str, forward_only: bool = False) -> List[str]:
    """Runs the plain draw's inference, training and first step alone, a second opinion: outputs, loss, every gradient,
    running statistics; or its inference, if that is all the plan is used for. Returns the files written."""
    started = time.time()
    plan = Plan.read(folder)
    exercises = _Exercises(make(), Path(folder), label, plan)
    exercises.contestant.build(plan.graph.without_randomness(), plan.batch, plan.optimizers[0])
    exercises.inference(0)
    if not forward_only:
        exercises.training(0)
        exercises.forced_steps(0, plan.optimizers[0], FORCED[:1])
    exercises.about(time.time() - started, forward_only)
    return exercises.files


class _Exercises:
    def __init__(self, contestant: Contestant, folder: Path, label: str, plan: Plan) -> None:
        self.contestant, self.folder, self.label, self.plan = contestant, folder, label, plan
        self.files = []  # type: List[str]
        given = load(folder / "given.npz")
        self.state = {name: values for name, values in given.items() if not name.startswith("batch")}
        self.batches = [{name.split("/", 1)[1]: values for name, values in given.items()
                         if name.startswith("batch{}/".format(number))} for number in range(BATCHES)]
        self.thinned = Thinning(plan.seed, touched_rows(plan.graph, self.batches))

    def inference(self, draw: int) -> None:
        self._start(draw)
        outputs = self.contestant.read(self.contestant.infer(self._batch(0, draw)))
        self._write(draw, "inference", outputs)

    def training(self, draw: int) -> None:
        self._start(draw)
        self._write(draw, "training", self.contestant.gradients(self._batch(0, draw)))

    def free_run(self, draw: int, optimizer: Optimizer) -> np.ndarray:
        """Ten steps, whose losses are returned; the reference's run also leaves the states that forced steps start
        from."""
        self._start(draw)
        batches = [self._batch(number, draw) for number in range(BATCHES)]
        losses = []
        for step in range(1, STEPS + 1):
            if self.label == REFERENCE and draw == 0 and step in FORCED and step > 1:
                self._keep(self._before(optimizer, step))
            losses.append(self._step(batches[(step - 1) % BATCHES]))
        self._write(draw, kind(optimizer) + "-free", {"loss": np.array(losses)})
        return np.array(losses)

    def forced_steps(self, draw: int, optimizer: Optimizer, steps: Tuple[int, ...] = FORCED) -> None:
        """Single steps from the reference's state. What is kept of a parameter is its update."""
        for step in steps:
            before = self._start_forced(draw, optimizer, step)
            loss_value = self._step(self._batch((step - 1) % BATCHES, draw))
            results = {"loss": np.array(loss_value)}
            for name, after in self.contestant.each():
                if name.startswith("parameter/"):
                    path, start = name.split("/", 1)[1], before[name]
                    results["update/" + path] = np.subtract(self.thinned(name, after), start, dtype=np.float64)
                    results["size/" + path] = np.sqrt(np.mean(np.square(start, dtype=np.float64)))
                else:
                    results[name] = self.thinned(name, after)
            self._write(draw, "{}-step{}".format(kind(optimizer), step), results)

    def dropout(self, graph: Graph) -> None:
        """Training steps of a small graph that holds each random layer of the model twice."""
        probe = dropout_graph(graph)
        state = initial_state(probe, self.plan.seed)
        batch = draw_batch(probe, DROPOUT_BATCH, self.plan.seed)
        self.contestant.build(probe, DROPOUT_BATCH, SGD(0.0, 0.0))
        self.contestant.put(state)
        fed = self.contestant.feed(batch)
        given = dict(state, **{"batch/" + name: values for name, values in batch.items()})
        self._save(self.folder / self.label / "dropout-given.npz", given)
        self._save(self.folder / self.label / "dropout-inference.npz",
                   self.contestant.read(self.contestant.infer(fed)))
        for step in range(DROPOUT_STEPS):
            self._save(self.folder / self.label / "dropout-step{}.npz".format(step), self.contestant.gradients(fed))
        losses = [self._step(fed) for _ in range(DROPOUT_STEPS)]
        self._save(self.folder / self.label / "dropout-losses.npz", {"loss": np.array(losses)})

    def about(self, seconds: float, forward_only: bool) -> None:
        path = self.folder / self.label / "about.json"
        told = {"facts": self.contestant.facts(), "seconds": seconds, "forward_only": forward_only}
        path.write_text(json.dumps(told, default=str))
        self.files.append(str(path))

    def _start(self, draw: int) -> None:
        self.contestant.put(Moved(self.state, draw, self.plan.seed))

    def _start_forced(self, draw: int, optimizer: Optimizer, step: int) -> Arrays:
        """Returns what is kept of the parameters."""
        if step == 1:
            return self._started(self.state, draw)
        with np.load(str(self._before(optimizer, step))) as state:
            return self._started(state, draw)

    def _started(self, state: Given, draw: int) -> Arrays:
        kept = {}  # type: Arrays

        def keep(name: str, values: np.ndarray) -> None:
            if name.startswith("parameter/"):
                kept[name] = self.thinned(name, values)
        moved = Moved(state, draw, self.plan.seed, keep)
        self.contestant.put(moved)
        for name in moved:
            if name.startswith("parameter/") and name not in kept:  # it was not asked for
                keep(name, moved[name])
        return kept

    def _batch(self, number: int, draw: int) -> Any:
        return self.contestant.feed(dict(Moved(self.batches[number], draw, self.plan.seed + number)))

    def _step(self, batch: Any) -> float:
        return float(self.contestant.read(self.contestant.train_step(batch))["loss"])

    def _before(self, optimizer: Optimizer, step: int) -> Path:
        return self.folder / REFERENCE / "before-{}-{}.npz".format(kind(optimizer), step)

    def _write(self, draw: int, exercise: str, results: Arrays) -> None:
        kept = {name: self.thinned(name, values) for name, values in results.items()}
        self._save(self.folder / self.label / "draw{}".format(draw) / (exercise + ".npz"), kept)

    def _keep(self, path: Path) -> None:
        """What `get` returns, in float32, as np.savez writes it, but one after another: all that a large
        model has would not lie in memory beside it."""
        with zipfile.ZipFile(str(path), "w") as file:
            for name, values in self.contestant.each():
                with file.open(name + ".npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, _float32(values))
        self.files.append(str(path))

    def _save(self, path: Path, arrays: Arrays) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(str(path), **arrays)  # type: ignore[arg-type]
        self.files.append(str(path))


def diverged(losses: np.ndarray) -> bool:
    """Whether a loss grows beyond all bounds, or is no number any more."""
    return not np.max(losses) <= DIVERGED * abs(losses[0])


def was_forward_only(folder: Path, label: str) -> bool:
    """Whether what ran under that label left out training. Raises FileNotFoundError if it has not run to its end."""
    return bool(json.loads((Path(folder) / label / "about.json").read_text()).get("forward_only"))


def kind(optimizer: Optimizer) -> str:
    """"sgd" or "adam": how files and groups name an optimizer."""
    return str(optimizer_json(optimizer)["kind"])


def load(path: Path) -> Arrays:
    with np.load(str(path)) as file:
        return {name: file[name] for name in file.files}


def _float32(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    return values.astype(np.float32) if values.dtype.kind == "f" else values


def random_layers(graph: Graph) -> Tuple[Layer, ...]:
    """Each different random layer of a graph, once, in order."""
    return tuple(OrderedDict((node.layer, None) for node in graph.random_nodes))


def dropout_graph(graph: Graph) -> Graph:
    """x -> linear "hidden" -> COPIES of each random layer side by side -> linear -> cross entropy.

    Outputs: "hidden", then the random layers' in order, then the logits.
    """
    def model(x: Tensor) -> Tuple[Tensor, ...]:
        hidden = linear(x, DROPOUT_FEATURES, name="hidden")
        dropped = tuple(apply(layer, hidden, name="random{}_{}".format(number, copy))[0]
                        for number, layer in enumerate(random_layers(graph)) for copy in range(COPIES))
        logits = linear(concat(*dropped), 10, name="logits")
        loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
        return (hidden,) + dropped + (logits,)
    return record(model, OrderedDict([("x", Spec("C", (DROPOUT_FEATURES,)))]))
