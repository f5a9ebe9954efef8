"""`photofinish why`: where the gap comes from."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("why", epilog="""\b
Examples:
  photofinish why resnet18 --contenders torch:eager,tensorflow:graph
  photofinish why mobilenet_v2 --input 3x96x96 --task infer --html why.html
  photofinish why resnet18 --task epoch --data cifar10:/data --contenders torch:eager,tensorflow:graph
  photofinish why --from last

Exit code: 0 contenders are compared, 1 none can be, 2 wrong use, 130 interrupted.""")
@click.argument("model", required=False, default="")
@options.contenders
@options.environments
@click.option("--task", "-t", default="train", show_default=True, metavar="TASK", help="train, infer or epoch.")
@options.case
@options.weights
@options.optimizer
@options.regime
@click.option("--budget", type=options.Duration(), default="15m", show_default=True,
              help="Time for the launches, such as 5m or 1h; two are run in any case.")
@click.option("--launches", type=options.COUNT, metavar="N",
              help="Fresh processes per contender. Default: 6, if the budget allows.")
@options.data_set
@options.epochs
@click.option("--from", "session", metavar="RACE",
              help="Measure nothing: read it from a race in the store that `why` has run (last, or an id; see: "
                   "photofinish report --list).")
@options.judged
def command(model: str, session: str | None, store: Path | None, chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Say where the gap between contenders comes from, layer by layer.

    The contenders race on MODEL, each proven to compute the same; then, in the same processes, every distinct layer of
    it is timed alone at its real shapes, forward and in a training step. A layer is named as a cause only if what it
    adds to the gap is shown not to be zero; so is a setting in which contenders differ, and a place of a step other
    than its kernels. Of --task epoch it says whether they wait for batches, or their steps take longer.
    """
    from photofinish.cli import present
    from photofinish.reports import why as report
    from photofinish.store import reading
    from photofinish.verbs import why
    options.either(model, session, "an explanation is of a model to race, or of a race in the store", "why")
    if session:
        options.refuse(asked, "a race in the store is read, and nothing is raced")
        found, interrupted = why.read(session, store), False
    else:
        found, interrupted = present.found(why.why, model, quiet=quiet, store=store, **asked)
    present.documents([report.document(found)], chosen, False, [report.document(found, brief=True)],
                      lambda: json.dumps(report.as_json(found), indent=2),
                      again=present.SAME if session else reading("why --from last --html FILE", store))
    if interrupted:
        return present.stopped_by_hand("this is what the measurements so far say. See it again: "
                                       + reading("why --from last", store))
    return 0 if found.comparisons or found.epochs else 1
