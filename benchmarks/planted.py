"""Causes planted on purpose in a real framework, and what `photofinish why` says of them.

    python -m benchmarks.planted --store planted --launches 6
    python -m benchmarks.planted --store planted --framework tensorflow:graph

Of each: what was planted, what comes first among the causes, its size with its interval, the truth (the same two
raced again by themselves on fresh launches; of a slow input pipeline the pauses that were planted, for a step after a
pause takes longer, which is told apart), and whether the first cause is the planted one with the truth in its interval
(of a truth outside, whether it is farther than both scatter); last a placebo, of which nothing may be named. Sizes are
of a step, or of an epoch where the input pipeline is slow. What is in the store already is read from it:
started again, it goes on where it was stopped. Exit code 1 if a cause is not found at that size, or one is named that
is none.

Where a framework's layers cannot be changed (`frameworks/_<framework>/planted.py` is not there), copies and float64 are
left out. An interval at 95 % misses the truth once in twenty.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from photofinish import api, models
from photofinish.environments import headers
from photofinish.explain.causes import LAYER, PLACE, SETTING, Cause
from photofinish.frameworks import module_of
from photofinish.measure import sabotage
from photofinish.runner import parcel
from photofinish.stats import paired
from photofinish.store import Store
from photofinish.values import Contender, Estimate, Progress, Race
from photofinish.values.profile import COPIES, INPUT
from photofinish.verbs import why

SAMPLES, EPOCHS = 1024, 4
PAUSE = 20  # milliseconds more until a batch is there
INSIDE = "the truth INSIDE its interval"


@dataclass(frozen=True)
class Planted:
    """What two contenders differ in, and as which kind of cause, of which name, it must be told first ("": nothing)."""

    title: str
    one: Contender
    other: Contender
    kind: str = ""
    name: str = ""
    task: str = "train"


def plan(framework: str, layer: str, task: str) -> Iterator[Planted]:
    """What can be planted in that contender, and the placebo."""
    plain = Contender.parse(framework)
    one, two = (plain.set_to("threads", count) for count in "12")
    layouts = headers.frameworks()[plain.framework].options.get("layout", ())
    if layouts:
        first, second = (one.set_to("layout", each) for each in layouts[:2])
        yield Planted("the wrong layout", first, second, SETTING, "layout", task)
    yield Planted("a thread less", two, one, SETTING, "threads", task)
    yield Planted("the default allocator", one, one.set_to("allocator", "default"), SETTING, "allocator", task)
    if (parcel.PACKAGE / f"frameworks/_{module_of(plain.framework)}/planted.py").exists():
        yield Planted("copies in each layer", one, one.set_to("copies", "4"), PLACE, COPIES, task)
        yield Planted("a layer in float64", one, one.set_to("float64", layer), LAYER, "", task)
    yield Planted("a slow input pipeline", one, one.set_to("input", str(PAUSE)), PLACE, INPUT, why.EPOCH)
    yield Planted("placebo", one, one, task=task)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", default="torch:eager", metavar="CONTENDER", help="%(default)s")
    parser.add_argument("--model", default="digits_cnn", help="%(default)s")
    parser.add_argument("--layer", default="Conv:32x8x8", help="of the model, to compute in float64 (%(default)s)")
    parser.add_argument("--task", default="train", choices=("train", "infer"), help="%(default)s")
    parser.add_argument("--batch", type=int, default=128, help="%(default)s")
    parser.add_argument("--launches", type=int, default=6, help="of each explanation and each race (%(default)s)")
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[""], help="of the titles: layout, float64, ...")
    parser.add_argument("--store", type=Path, default=Path(".photofinish/planted"), help="%(default)s")
    options = parser.parse_args()
    wrong = 0
    for each in plan(options.framework, options.layer, options.task):
        if any(word in each.title for word in options.only):
            wrong += not _told(each, options)
    print(f"{wrong} not as planted")
    return int(wrong > 0)


def _told(planted: Planted, options: argparse.Namespace) -> bool:
    """Says what came of it, and whether that is what it should be."""
    names = [planted.one.name, planted.other.name]
    found = why.read(_run("why", planted, options), options.store)
    pairs = found.comparisons or found.epochs
    if not pairs:
        print(f"{planted.title}: NOTHING IS EXPLAINED of {' and '.join(names)}", flush=True)
        return False
    (pair,) = pairs
    print(f"{planted.title} ({pair.b} over {pair.a}, {pair.launches} launches): the gap is {_size(pair.gap)}")
    for number, cause in enumerate(pair.causes[:3], 1):
        print(f"    {number}. {cause.kind} {cause.name}{f' ({cause.what})' if cause.what else ''}: {_size(cause.gap)}")
    if not planted.kind:
        print(f"    {'NOTHING IS NAMED, as it should be' if not pair.causes else 'NAMED WHERE NOTHING IS'}", flush=True)
        return not pair.causes
    (result,) = api.load(_run("race", planted, options), options.store)
    truth = paired.mean_interval(np.subtract(*(_seconds(result.race, name) for name in (pair.b, pair.a))))
    print(f"    raced by themselves: {_size(truth)}")
    if planted.name == INPUT:
        pauses = PAUSE / 1000 * result.race.epochs[0].steps
        truth = Estimate(pauses, pauses, pauses)
    right = bool(pair.causes) and _is(planted, pair.causes[0], options)
    word = f"IS first, {_agreement(pair.causes[0].gap, truth)}" if right else "IS NOT first"
    print(f"    the planted one {word}", flush=True)
    return right and word.endswith(INSIDE)


def _agreement(size: Estimate, truth: Estimate) -> str:
    """The size must hold the truth, which was measured, too: where it does not, whether they are shown to be apart."""
    if size.low <= truth.value <= size.high:
        return INSIDE
    reach = np.hypot(size.high - size.value, truth.high - truth.value)
    apart = abs(size.value - truth.value) > reach
    return f"the truth outside, {'APART' if apart else 'NOT SHOWN TO BE APART'}"


def _is(planted: Planted, cause: Cause, options: argparse.Namespace) -> bool:
    if planted.kind != LAYER:
        return (cause.kind, cause.name) == (planted.kind, planted.name)
    return cause.kind == LAYER and cause.name in _alike(options)


def _alike(options: argparse.Namespace) -> Iterator[str]:
    """The nodes of the model that are the layer to be widened."""
    return (node.name for node in sabotage.meant(models.find(options.model).graph(), options.layer))


def _run(verb: str, planted: Planted, options: argparse.Namespace) -> str:
    """The session of that explanation or race, run now unless the store has it whole."""
    names = [planted.one.name, planted.other.name]
    key = f"{verb} {options.model} {planted.task} {options.batch} {options.launches} {','.join(names)}"
    kept = Store(options.store)
    if key in kept.settled():
        return kept.settled()[key][0]
    data = {"data": f"patterns:{SAMPLES}" if options.model != "digits_cnn" else "digits", "epochs": EPOCHS}
    asked = {"batch": options.batch, "launches": options.launches, "store": options.store, "listener": _progress,
             **(data if planted.task == why.EPOCH else {})}
    if verb == "why":
        race = why.why(options.model, names, planted.task, budget=1e9, **asked).result.race
    else:
        race = api.race(options.model, names, planted.task, budget=1e9, energy=False, **asked)[0].race
    session = race.id.rpartition("-")[0]
    kept.settle(key, session)
    return session


def _seconds(race: Race, name: str) -> np.ndarray:
    """A step, or an epoch, by launch."""
    return np.asarray(np.exp(paired.launch_steps(paired.log_steps(race)[name])))


def _size(estimate: Estimate) -> str:
    value, low, high = (1e3 * each for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:.3g} ms ({low:.3g} to {high:.3g})"


def _progress(progress: Progress) -> None:
    if progress.stage == "failure" or (progress.stage == "plan" and progress.text):
        print(f"      {progress.text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
