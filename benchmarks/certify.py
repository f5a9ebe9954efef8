"""`make certify`: every model at full depth and width in every mode, certified and kept under docs/results.

    python -m benchmarks.certify --reduced --models vgg16 --contenders all

    python -m benchmarks.certify --legacy

The last is for old versions of frameworks, small models at reduced size, in environments that it makes where a Python
for them is found. It resumes where it stopped: what is certified under the present digests is not done again. CI checks
that the committed certificates still speak of the present graphs and adapters (tests/unit/test_results.py).
"""

import argparse
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish import api, environments, models
from photofinish.graph import Graph, ModelError
from photofinish.runner.parcel import adapter_digest
from photofinish.values import Contender, Progress, to_json

FULL, REDUCED = Path("docs/results/certificates.json"), Path("docs/results/certificates_reduced.json")
LEGACY = Path("docs/results/certificates_legacy.json")
FIRST = ("digits_cnn", "resnet18", "mobilenet_v2", "resnet50", "resnet50_v1", "efficientnet_b4", "vgg16", "resnet152")
CONTENDERS = ("torch:eager", "torch:eager[layout=channels_last]", "tensorflow:graph", "tensorflow:xla", "torch:compile",
              "tensorflow:eager")
FLATTENED = ("alexnet", "alexnet_2012", "alexnet_2012_ungrouped", "vgg16", "vgg16_bn", "vgg16_keras",
             "vgg19", "vgg19_bn", "vgg19_keras")
SWITCHED: dict[Path, dict[str, tuple[str, ...]]] = {  # beside those asked for of all: why, see docs/results/README.md
    FULL: dict.fromkeys(FLATTENED, ("torch:compile[TORCHINDUCTOR_LAYOUT_OPTIMIZATION=0]",)),
    REDUCED: {"densenet121": ("mxnet:hybrid[MXNET_MKLDNN_ENABLED=0]", "mxnet:imperative[MXNET_MKLDNN_ENABLED=0]")},
}
NAMED = ("resnet50", "mobilenet_v2", "vgg16", "inception_v3", "densenet121", "lstm_lm_small",
         "transformer_base", "bert_base", "ncf_ml_1m", "deepspeech2")  # with --reduced, in every framework
OLD_MODELS = ("digits_cnn", "alexnet", "vgg19", "mobilenet_v1", "resnet50", "inception_v3")  # with --legacy
SMALLER = {name: f"{Path(__file__).with_name('windows.py')}:{name}" for name in ("dpn92_cadene", "dpn107_cadene")}
SIDES = (64, 96, 128, 160, 224, 299, 331)  # depth and width are full, images as small as the architecture allows
LENGTH = 16  # of sequences

Row = dict[str, Any]


@lru_cache(maxsize=None)
def shape_of(model: str) -> tuple[int, ...] | None:
    """The first input that a model is certified with: its own if that is smaller; None for single values, which have no
    size."""
    entry = _proven(model)
    spec = entry.inputs[0][1]
    if not spec.axes:
        return None
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


def every_contender() -> list[str]:
    """Each framework in each of its modes that run on a CPU and can be certified."""
    return [f"{info.name}:{mode}" for info in environments.frameworks().values() if not info.in_house
            for mode in info.modes if "cpu" in info.devices_of(mode) and mode not in info.precisions]


def old_contenders() -> list[str]:
    """Old versions that can be had here, their environments made where they are not; of the others the reason is
    told."""
    found = []
    for each in environments.older():
        home = environments.obtain(each, environments.Choice(), tell)
        if isinstance(home, environments.Missing):
            print(f"{each.name}: {home.reason}\n    {home.cure}", flush=True)
        else:
            found.append(each.name)
    return found


@lru_cache(maxsize=None)
def recorded(model: str, reduced: bool = False) -> Graph:
    return models.find(model).small() if reduced else _proven(model).graph(shape_of(model))


@lru_cache(maxsize=None)
def _proven(model: str) -> models.Model:
    return models.find(SMALLER.get(model, model))


@lru_cache(maxsize=None)
def digests(model: str, contender: str, reduced: bool = False) -> dict[str, str]:
    """What a certificate speaks of: it is stale when one of these is another.

    At full size the files that drive native source do not count: tests and `make prove` prove them again on reduced
    models (tests/parity/proven.py) whenever one of them changes.
    """
    graph, of = recorded(model, reduced), Contender.parse(contender)
    adapter = adapter_digest(of.framework, graph, of.mode, of.options, of.version, driven=reduced)
    return {"graph": graph.digest, "adapter": adapter, "reference": adapter_digest("numpy", graph)}


class Ledger:
    """The certificates of one size, in a file."""

    def __init__(self, path: Path = FULL) -> None:
        self.path = path
        self.reduced = path != FULL

    def rows(self) -> list[Row]:
        return json.loads(self.path.read_text())["certificates"] if self.path.exists() else []

    def keep(self, row: Row) -> None:
        """Replaces the row of the same model and contender; written at once, so that nothing is lost."""
        rows = [each for each in self.rows() if (each["model"], each["contender"]) != (row["model"], row["contender"])]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ordered = sorted([*rows, row], key=lambda each: (each["model"], each["contender"]))
        self.path.write_text(json.dumps({"certificates": ordered}, indent=1) + "\n")

    def current(self, row: Row) -> bool:
        """Whether it speaks of the present graph, adapter and reference."""
        return bool(row["digests"] == digests(row["model"], row["contender"], self.reduced))

    def pending(self, model: str, contenders: list[str]) -> list[str]:
        """Those without a current certificate. What a framework was seen not to have is not asked again."""
        done = {row["contender"] for row in self.rows() if row["model"] == model and settled(row) and self.current(row)}
        return [each for each in contenders if each not in done]

    def certify(self, model: str, contenders: list[str]) -> list[Row]:
        """One row for each contender; they share the reference."""
        shape = None if self.reduced else shape_of(model)
        proven = model if self.reduced else SMALLER.get(model, model)
        found = api.verify(proven, contenders, shape=shape, reduced=self.reduced, listener=tell)
        earned = {each.contender: each for each in found.certificates}
        rows = []
        for contender in contenders:
            row: Row = {"model": model, "contender": contender,
                        "input": list(recorded(model, self.reduced).inputs[0][1].shape),
                        "digests": digests(model, contender, self.reduced), "certified": False}
            if contender in earned:
                each = earned[contender]
                row.update(certified=each.passed, batch=each.batch, reference=each.reference, versions=each.versions,
                           seconds=round(each.seconds, 1), listed=len(each.listed), checks=to_json(each.checks))
            row["failures"] = [{"kind": each.kind, "message": each.message} for each in found.failures
                               if each.contender == contender]
            rows.append(row)
        return rows


def settled(row: Row) -> bool:
    """Whether the row is certified, or absent for the reason that the framework gave."""
    return row["certified"] or any(each["kind"] == "unsupported" for each in row["failures"])


def tell(progress: Progress) -> None:
    if progress.text:
        print("   ", progress.text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", help="all of them, or with --reduced those that issue reports name")
    parser.add_argument("--contenders", nargs="*", help="`all`, or some; of full size PyTorch and TensorFlow")
    parser.add_argument("--reduced", action="store_true", help="at reduced depth and size")
    parser.add_argument("--legacy", action="store_true", help="old versions of frameworks, at reduced depth and size")
    options = parser.parse_args()
    ledger = Ledger(LEGACY if options.legacy else REDUCED if options.reduced else FULL)
    contenders = options.contenders or (["all"] if ledger.reduced else list(CONTENDERS))
    if contenders == ["all"]:
        contenders = old_contenders() if options.legacy else every_contender()
    else:
        contenders = [each.name for each in environments.expand(*contenders)]  # `theano` is theano:cvm in the ledger
    refused = 0
    for model in options.models or (OLD_MODELS if options.legacy else NAMED if options.reduced else all_models()):
        wanted = contenders if options.contenders else [*contenders, *SWITCHED.get(ledger.path, {}).get(model, ())]
        pending = ledger.pending(model, wanted)
        print(f"{model}: {len(wanted) - len(pending)} certified before", flush=True)
        for row in ledger.certify(model, pending) if pending else []:
            ledger.keep(row)
            refused += not settled(row)
            word = "certified" if row["certified"] else row["failures"] or "REFUSED"
            print("   ", row["contender"], word, flush=True)
    return 1 if refused else 0


if __name__ == "__main__":
    raise SystemExit(main())
