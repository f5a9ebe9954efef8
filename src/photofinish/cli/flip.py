"""`photofinish flip`: what would flip the verdict."""

import json
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("flip", epilog="""\b
Examples:
  photofinish flip resnet18 -c torch:eager,tensorflow:graph --batches 1..32
  photofinish flip resnet18 -c torch:eager,tensorflow:graph --setting threads=1 --setting layout=channels_last
  photofinish flip mobilenet_v2 -c torch:eager,onnxruntime --task infer --shapes 3x96x96 --shapes 3x320x320

Exit code: 0 something reverses the ranking, or nothing tried does; 1 what did, did not again; 2 wrong use, 3 there is
no ranking to reverse, 130 interrupted.""")
@click.argument("model")
@options.contenders_of("Two that differ: nobody is taken by default.")
@click.option("--task", "-t", default="train", show_default=True, metavar="TASK", help="train or infer.")
@click.option("--setting", "settings", multiple=True, metavar="NAME=LEVEL",
              help="A setting to try of each contender that has it; may be given several times. Default: every other "
                   "level of the options that frameworks list, their other modes of the same precision that do not "
                   "compile for minutes, threads=1, allocator=default.")
@click.option("--batches", type=options.Batches(), default=(), metavar="LIST",
              help="Search the batches between the ends of this, 1..64 say, for the nearest that reverses the ranking.")
@click.option("--shapes", type=options.InputShape(), multiple=True, metavar="SIZE",
              help="Search these sizes of the first input, such as 3x96x96; may be given several times.")
@click.option("--launches", type=options.SEVERAL, default=6, show_default=True, metavar="N",
              help="Fresh processes of each contender in every race: fixed beforehand.")
@click.option("--budget", type=options.Duration(), default="30m", show_default=True,
              help="No further batch or size is tried once so much time has passed.")
@options.wider_environments
@options.case
@options.optimizer
@options.regime
@options.memory
@options.judged
def command(model: str, contenders: tuple[str, ...], chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Find the smallest change that puts the slower of two CONTENDERS ahead.

    Every setting is tried once, all in one race; batches and sizes by halving the way from where they stand to the
    ends. Whatever reverses the ranking races again on fresh launches. That nothing tried does is an answer, too, and
    lists what was tried.
    """
    from photofinish.cli import present
    from photofinish.factors import NOT_CONFIRMED
    from photofinish.reports import flip as report
    from photofinish.store import reading
    from photofinish.verbs import flip
    found, interrupted = present.found(flip.run, model, contenders, quiet=quiet, **asked)
    present.documents([report.document(found)], chosen, as_json=lambda: json.dumps(report.as_json(found), indent=2),
                      again=reading("report --list", asked["store"]))
    if interrupted:
        return present.stopped_by_hand("this is what had been tried.")
    return {NOT_CONFIRMED: 1, report.NO_RANKING: 3}.get(report.outcome(found), 0)
