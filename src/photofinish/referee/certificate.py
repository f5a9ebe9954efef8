"""The certificate: results of the reference and of a contender in, `values.Certificate` out."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from photofinish.graph import Graph
from photofinish.measure.proof import BATCHES, FORCED, REFERENCE, STEPS, Plan, kind, was_forward_only
from photofinish.optimizers import Adam, Optimizer
from photofinish.referee import dropout
from photofinish.referee.parameters import Parameters, Results
from photofinish.referee.tolerance import (
    APPROXIMATED,
    CAP,
    COARSER,
    FLOAT32,
    FORMATS,
    INFINITE,
    UNIT,
    ZERO,
    Comparison,
    Format,
    badness,
    compare,
    size,
)
from photofinish.values import Certificate, Check

DESCENT = 0.5  # of the exact one: an approximated step may lower the loss by half as much, or by half as much again
FREE = f"losses of {STEPS} steps"
GROUPS = {"output": "{} outputs", "loss": "loss", "gradient": "gradients", "state": "running statistics"}

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
            comparisons += _updates(exercise, step, optimizer, reference, contender, known)
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
    worst = max(exact.checks, key=lambda check: badness(check.error, check.allowed))
    whole = Check(f"everything in {exact.precision}, as {exact.contender}", sum(each.tensors for each in exact.checks),
                  worst.error, worst.allowed, exact.passed, worst.worst)
    return replace(coarse, passed=coarse.passed and exact.passed, checks=(whole, *coarse.checks),
                   exact=exact.contender)


def hangs_on_free_runs(certificate: Certificate) -> bool:
    """Whether nothing but the losses of free runs speaks against a contender: more draws of the reference may show
    that ten steps amplify rounding as much."""
    refused = [check.group for check in certificate.checks if not check.passed]
    return bool(refused) and all(group.startswith(FREE) for group in refused)


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
            floor = max(floor, _of_lost(path, part, exercise, reference, contender, known))
        else:
            scale = size(expected[name])
            rounding = known.statistics[path] if known and part == "state" else form.floor
            # a cross entropy is the small difference of large logits, whose rounding it keeps
            floor = rounding * max(scale, known.largest_output if known and name == "loss" else 0.0)
        yield _compare(_group(exercise, name), name, exercise, reference, contender, floor, scale)


def _of_lost(name: str, part: str, exercise: str, reference: Draws, contender: Draws, known: Parameters) -> float:
    """What a lost bias is allowed besides: what the weight beside it is, whose gradient sums the same terms. What is
    rounded in those (in all the layers behind, in softmax's own pass back) shows in no response of an exact zero. Where
    inputs are small the weight's gradient is small beside these terms; what they are rounded by is what the reference
    has in the zero's place, in the loudest of its draws, and float32 rounds COARSER times as much."""
    if name not in known.lost:
        return 0.0
    siblings = max((_compare("", f"{part}/{other}", exercise, reference, contender, 0.0, 1.0).allowed
                    for other in known.siblings(name) - known.faint), default=0.0)
    rounded = max(size(each[exercise][f"{part}/{name}"]) for each in reference)
    is_zero = rounded <= ZERO * known.floor(name, reference[0][exercise], part)[1]
    return max(siblings, CAP * COARSER * rounded if is_zero else 0.0)


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


def _updates(exercise: str, step: int, optimizer: Optimizer, reference: Draws, contender: Draws,
             known: Parameters) -> Iterable[Comparison]:
    """What one step did to each parameter."""
    expected = reference[0][exercise]
    group = "weights after step {1} ({0})".format(*_labels(exercise))
    for name in known.owners:
        rounding = UNIT * float(expected["size/" + name])  # of the parameter itself
        if isinstance(optimizer, Adam):
            yield _of_its_own_moments(group, name, step, optimizer, contender[0][exercise], rounding)
            continue
        floor, scale = known.floor(name, expected, "update")
        floor = max(floor, _of_lost(name, "update", exercise, reference, contender, known))
        yield _compare(group, "update/" + name, exercise, reference, contender, floor + rounding, scale)


def _of_its_own_moments(group: str, path: str, step: int, optimizer: Adam, found: Results,
                        rounding: float) -> Comparison:
    """Adam's update beside the one that the contender's own moments make by Algorithm 1 (Kingma & Ba 2014,
    arXiv:1412.6980): the moments are compared with the reference's, so nothing is left open, and every element counts.
    Beside the reference's update it would hang on the sign of gradients near zero: a ReLU that tips over turns it."""
    update, *slots = ("update/" + path, *(f"{slot}/{path}" for slot in optimizer.slots))
    if not {update, *slots} <= set(found):
        return Comparison(group, update + " (missing, or its moments)", INFINITE, 0.0, 1.0)
    moved, moment1, moment2 = (np.asarray(found[each], dtype=np.float64) for each in (update, *slots))
    if not moved.shape == moment1.shape == moment2.shape:
        shapes = f"shape {moved.shape}, moments {moment1.shape}, {moment2.shape}"
        return Comparison(group, f"{update} ({shapes})", INFINITE, 0.0, 1.0)
    if not all(np.all(np.isfinite(each)) for each in (moved, moment1, moment2)):
        return Comparison(group, f"{update} (not finite, or its moments)", INFINITE, 0.0, 1.0)
    deviation = np.sqrt(np.maximum(moment2, 0.0) / (1 - optimizer.beta2 ** step))
    due = -optimizer.learning_rate * moment1 / (1 - optimizer.beta1 ** step) / (deviation + optimizer.epsilon)
    allowed = (FLOAT32.floor + _coefficient_rounding(optimizer, step)) * size(due) + rounding
    return Comparison(group, update, size(moved - due), allowed, size(due) or 1.0)


def _compare(group: str, name: str, exercise: str, reference: Draws, contender: Draws, floor: float,
             scale: float) -> Comparison:
    if any(name not in each[exercise] for each in contender):
        return Comparison(group, name + " (missing)", INFINITE, 0.0, 1.0)
    sides = [[np.asarray(each[exercise][name]) for each in side] for side in (reference, contender)]
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
