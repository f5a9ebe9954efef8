"""The GTX 1080 blog post's "compilation time" as it was measured: all models one after the other in one process that
never clears its graph; then the same list backwards, and each model in a process of its own.

Aim: show how much of the figure is the place in the list. Above 1 in the last columns is time that a fresh process does
not take. The weights that the post loaded from disk are drawn, and set as loading sets them.

    python -m benchmarks.as_published --contender tensorflow@1.12.0:keras
"""

import argparse
import json
import math
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from tempfile import TemporaryDirectory

from photofinish.environments import Environment, resolve, start
from photofinish.values import Contender

# Their order in the post's logs (its NASNets were never in Keras).
MODELS = ("DenseNet121", "DenseNet169", "InceptionV3", "InceptionResNetV2", "ResNet50")
PROGRAM = """
import json, sys, time
import tensorflow as tf
keras = tf.keras
for name in sys.argv[1:]:
    begin = time.time()
    base = getattr(keras.applications, name)(include_top=False, weights=None)
    base.set_weights(base.get_weights())
    pooled = keras.layers.GlobalAveragePooling2D()(base.output)
    model = keras.models.Model(base.input, keras.layers.Dense(1, activation="sigmoid")(pooled))
    model.compile("adam", "binary_crossentropy")
    print(json.dumps([name, time.time() - begin]), flush=True)
"""
Timed = tuple[str, float]  # a model, and the seconds until it was compiled


@dataclass(frozen=True)
class Order:
    """Of one list in one process: the seconds of each place over those of its model in fresh processes, and how these
    ratios go with the place (Spearman; `chance` is one-sided, of none)."""

    ratios: tuple[float, ...]
    rank: float
    chance: float


def order_of(timed: Sequence[Timed], fresh: Sequence[Timed]) -> Order:
    """`fresh` has each model of the list once or more."""
    from scipy.stats import spearmanr

    alone = {name: math.exp(fmean(math.log(seconds) for other, seconds in fresh if other == name)) for name, _ in timed}
    ratios = tuple(seconds / alone[name] for name, seconds in timed)
    test = spearmanr(range(len(ratios)), ratios, alternative="greater")
    return Order(ratios, float(test.statistic), float(test.pvalue))


def compiled(home: Environment, models: Sequence[str]) -> list[Timed]:
    """In one process, in that order."""
    with TemporaryDirectory() as folder:
        done = subprocess.run([str(home.python), "-c", PROGRAM, *models], cwd=folder, check=False, text=True,
                              env=start.variables(home, os.environ, folder), capture_output=True)
    if done.returncode:
        raise SystemExit(f"it ended with {done.returncode}: {done.stderr[-500:]}")
    return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line.startswith("[")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contender", default="tensorflow:graph", help="whose TensorFlow")
    parser.add_argument("--models", default=",".join(MODELS), help="of keras.applications, in the order of the list")
    parser.add_argument("--trials", type=int, default=3, help="of each model, one after the other")
    options = parser.parse_args()
    home = resolve(Contender.parse(options.contender))
    if not isinstance(home, Environment):
        parser.error(f"{options.contender}: {home.reason} ({home.cure})")
    names = options.models.split(",")
    placed = [name for name in names for _ in range(options.trials)]
    fresh = [each for name in placed for each in compiled(home, [name])]
    for title, models in (("as published", placed), ("the list backwards", placed[::-1])):
        timed = compiled(home, models)
        found = order_of(timed, fresh)
        print(f"{title}, TensorFlow {home.version}: with the place in the list times go {found.rank:+.2f} (Spearman, "
              f"p = {found.chance:.2g})")
        for place, ((name, seconds), ratio) in enumerate(zip(timed, found.ratios), 1):
            print(f"{place:4} {name:20} {seconds:8.2f} s {ratio:6.2f} times that of a fresh process", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
