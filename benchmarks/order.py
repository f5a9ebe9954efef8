"""Does it matter who is named first? Epochs of the same contenders in a list and in the list turned round.

    python -m benchmarks.order --models inception_v3 --launches 8

Of each pair: seconds(b) / seconds(a) of the first epoch and of the later ones, both ways, and the one ratio over the
other, which is 1 where the list does not matter. Exit code 1 if it is shown to matter.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from photofinish import api
from photofinish.stats.positions import Turned, of_list
from photofinish.values import Estimate, Progress

MODELS = ("inception_v3", "resnet50", "densenet121")  # of the study whose first contender paid for the others
CONTENDERS = ("torch:eager", "tensorflow:graph")
SIDE = {"inception_v3": 299}  # the least that its second head allows; 64 for the others


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS)
    parser.add_argument("--samples", type=int, default=36, help="%(default)s")
    parser.add_argument("--batch", type=int, default=8, help="%(default)s")
    parser.add_argument("--epochs", type=int, default=3, help="%(default)s")
    parser.add_argument("--launches", type=int, default=6, help="at least 2 (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="%(default)s")
    options = parser.parse_args()
    depends = False
    print(f"{'model':14} {'epochs':13} {'contenders':38} {'as named':25} {'turned round':25} one over the other",
          flush=True)
    for model in options.models:
        for each in _both_ways(model, options):
            depends |= each.word == "DEPENDS"
            print(f"{model:14} {each.figure:13} {each.b + ' / ' + each.a:38} {_told(each.named):25} "
                  f"{_told(each.turned):25} {_told(each.effect)}  {each.word}", flush=True)
    return int(depends)


def _both_ways(model: str, options: argparse.Namespace) -> tuple[Turned, ...]:
    races = []
    side = SIDE.get(model, 64)
    with TemporaryDirectory() as folder:
        for contenders in (options.contenders, options.contenders[::-1]):
            (result,) = api.race(model, contenders, "epoch", shape=(3, side, side), batch=options.batch,
                                 data=f"patterns:{options.samples}", epochs=options.epochs, launches=options.launches,
                                 certify=False, store=Path(folder), seed=options.seed, listener=_tell)
            races.append(result.race)
    return of_list(*races)


def _tell(progress: Progress) -> None:
    if progress.stage in ("block", "failure"):
        print(f"    {progress.text}", end="\r" if progress.stage == "block" else "\n", flush=True)


def _told(each: Estimate) -> str:
    return f"{each.value:.4f} [{each.low:.4f}, {each.high:.4f}]"


if __name__ == "__main__":
    raise SystemExit(main())
