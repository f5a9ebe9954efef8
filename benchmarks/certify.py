"""`make certify`: every model at full depth and width in every mode, certified and kept under docs/results.

It resumes where it stopped: what is certified under the present digests is not done again. CI checks that
the committed certificates still speak of the present graphs and adapters (tests/unit/test_results.py).
"""

import argparse
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish import api, models
from photofinish.graph import Graph, ModelError
from photofinish.runner.parcel import adapter_digest
from photofinish.values import Contender, Progress, to_json

RESULTS = Path("docs/results/certificates.json")
FIRST = ("digits_cnn", "resnet18", "mobilenet_v2", "resnet50", "resnet50_v1", "efficientnet_b4", "vgg16", "resnet152")
CONTENDERS = ("torch:eager", "torch:eager[layout=channels_last]", "tensorflow:graph", "tensorflow:xla", "torch:compile",
              "tensorflow:eager")
SIDES = (64, 96, 128, 160, 224, 299, 331)  # depth and width are full, images as small as the architecture allows
LENGTH = 16  # of sequences

Row = dict[str, Any]


@lru_cache(maxsize=None)
def shape_of(model: str) -> tuple[int, ...]:
    """The first input that a model is certified with: its own if that is smaller."""
    entry = models.find(model)
    spec = entry.inputs[0][1]
    if spec.axes != "CHW":
        return tuple(min(size, LENGTH) if axis == "T" else size for axis, size in zip(spec.axes, spec.shape))
    channels, height, width = spec.shape
    for side in SIDES:
        shape = (channels, min(height, side), min(width, side))
        try:
            entry.graph(shape)
        except ModelError:
            continue
        return shape
    return spec.shape


def all_models() -> list[str]:
    """The models of the first study, then the others, those with least work first."""
    others = sorted(set(models.all_models()) - set(FIRST), key=lambda name: recorded(name).macs)
    return [*FIRST, *others]


def digests(model: str, contender: str) -> dict[str, str]:
    """What a certificate speaks of: it is stale when one of these is another."""
    graph, of = recorded(model), Contender.parse(contender)
    return {"graph": graph.digest, "adapter": adapter_digest(of.framework, graph, of.mode),
            "reference": adapter_digest("numpy", graph)}


@lru_cache(maxsize=None)
def recorded(model: str) -> Graph:
    return models.find(model).graph(shape_of(model))


def stored() -> list[Row]:
    return json.loads(RESULTS.read_text())["certificates"] if RESULTS.exists() else []


def keep(row: Row) -> None:
    """Replaces the row of the same model and contender; written at once, so that nothing is lost."""
    rows = [each for each in stored() if (each["model"], each["contender"]) != (row["model"], row["contender"])]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted([*rows, row], key=lambda each: (each["model"], each["contender"]))
    RESULTS.write_text(json.dumps({"certificates": ordered}, indent=1) + "\n")


def certify(model: str, contenders: list[str]) -> list[Row]:
    """One row for each contender; they share the reference."""
    shape = shape_of(model)
    found = api.verify(model, contenders, shape=shape, listener=tell)
    earned = {each.contender: each for each in found.certificates}
    rows = []
    for contender in contenders:
        row: Row = {"model": model, "contender": contender, "input": list(shape),
                    "digests": digests(model, contender), "certified": False}
        if contender in earned:
            each = earned[contender]
            row.update(certified=each.passed, batch=each.batch, reference=each.reference, versions=each.versions,
                       seconds=round(each.seconds, 1), listed=len(each.listed), checks=to_json(each.checks))
        row["failures"] = [f"{each.kind}: {each.message}" for each in found.failures if each.contender == contender]
        rows.append(row)
    return rows


def tell(progress: Progress) -> None:
    print("   ", progress.text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--contenders", nargs="*", default=CONTENDERS)
    options = parser.parse_args()
    done = {(row["model"], row["contender"]): row["digests"] for row in stored() if row["certified"]}
    refused = 0
    for model in options.models or all_models():
        pending = [each for each in options.contenders if done.get((model, each)) != digests(model, each)]
        print(f"{model}: {len(options.contenders) - len(pending)} certified before", flush=True)
        for row in certify(model, pending) if pending else []:
            keep(row)
            refused += not row["certified"]
            word = "certified" if row["certified"] else f"REFUSED {row['failures']}"
            print("   ", row["contender"], word, flush=True)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
