"""`photofinish factors`: which settings make the difference."""

import json
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("factors", epilog="""\b
Examples:
  photofinish factors resnet18 -c torch:eager --factor layout=contiguous,channels_last --factor threads=1,2
  photofinish factors resnet18 -c "torch:eager[threads=1],torch:eager[threads=2,layout=channels_last]"
  photofinish factors resnet18 -c torch:eager,tensorflow:graph --factor mode=eager,compile --factor batch=8,32

Exit code: 0 a cause is named (and CONFIRMED, unless --no-check) or none is there to name; 1 NOT CONFIRMED, 2 wrong use,
3 not everything could be compared, 130 interrupted.""")
@click.argument("model")
@options.contenders_of("One, or two that differ: nobody is taken by default.")
@click.option("--factor", "factors", multiple=True, metavar="NAME=LOW,HIGH",
              help="A setting with two levels: an option of a contender (threads=1,2), its mode (mode=eager,compile) "
                   "or the batch (batch=8,32); may be given up to eight times. A contender that says nothing of it "
                   "stands at the first level. What two contenders of one framework differ in need not be named.")
@click.option("--task", "-t", default="train", show_default=True, metavar="TASK", help="train or infer.")
@click.option("--launches", type=options.SEVERAL, default=8, show_default=True, metavar="N",
              help="Fresh processes of each combination, and of the check: fixed beforehand.")
@click.option("--no-check", "check", flag_value=False, default=True,
              help="Do not remove the cause and race again to see whether the gap closes as predicted.")
@options.wider_environments
@options.case
@options.optimizer
@options.regime
@options.memory
@options.judged
def command(model: str, contenders: tuple[str, ...], chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Say which settings make one contender slow, or two differ, by a planned experiment.

    Every combination of the factors races (of many factors a well-chosen fraction), interleaved in the same launches.
    That gives the effect of each setting and of each two together, and divides the gap between two contenders over what
    they differ in. The cause that comes first is then removed and raced again on fresh launches: it is CONFIRMED only
    if the gap closes as predicted.
    """
    from photofinish.cli import present
    from photofinish.factors import NOT_CONFIRMED
    from photofinish.reports import factors as report
    from photofinish.store import reading
    from photofinish.verbs import factors
    found, interrupted = present.found(factors.run, model, contenders, quiet=quiet, **asked)
    present.documents([report.document(found)], chosen, False, [report.document(found, brief=True)],
                      as_json=lambda: json.dumps(report.as_json(found), indent=2),
                      again=reading("report --list", asked["store"]))
    if interrupted:
        return present.stopped_by_hand("this is what the launches so far say.")
    return {NOT_CONFIRMED: 1, report.NOTHING: 3}.get(report.outcome(found), 0)
