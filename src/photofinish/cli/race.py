"""`photofinish race`: time contenders on one model and judge them."""

from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("race", epilog="""\b
Examples:
  photofinish race resnet18
  photofinish race resnet50 -c torch:eager,torch:compile,tensorflow:xla -t train -t infer
  photofinish race resnet50 -c torch:eager,torch:eager[layout=channels_last] --batch 16
  photofinish race ./net.py:net --input 3x64x64 --classes 10 --html report.html
  photofinish race digits_cnn -c torch:eager,torch:eager   (a placebo: it should be a tie)
  photofinish race digits_cnn --task fit --target 97% --seeds 5
  photofinish race resnet50 --task epoch --data patterns:100 --epochs 3
  photofinish race resnet18 -c torch:eager+ddp[2],torch:eager+ddp[2,hook=fp16] --link 100mbit
  photofinish race resnet50 --batch max --memory-limit 4GiB
  photofinish race resnet18 -c torch,torch@2.8.0 --env torch=/path/to/venv

Exit code: 0 done (UNDECIDED included), 1 NOT COMPARABLE or no contender left, 2 wrong use,
130 interrupted (what was measured is kept and shown).""")
@click.argument("model")
@options.contenders
@options.environments
@click.option("--task", "-t", "tasks", multiple=True, default=("train",), show_default=True, metavar="TASK",
              help="train (forward, loss, backward, update) or infer; both may be given, one set of launches serves "
                   "them. epoch: passes over a data set through the framework's own input pipeline. fit: whole "
                   "trainings to an accuracy.")
@options.case_or_largest
@options.weights
@options.optimizer
@options.regime
@options.budget("command")
@options.precision
@options.margin
@options.memory
@click.option("--time-all", is_flag=True,
              help="Time every contender to the end, also one that took more than 10 times as long as the leader in "
                   "the pilot.")
@options.energy
@options.launches
@options.timeout
@options.link
@options.hosts
@click.option("--resize", is_flag=True,
              help="See, too, what another batch size costs: how often each contender compiles anew, and for how long.")
@click.option("--profile", is_flag=True,
              help="Look into a few steps of every launch by each framework's own profiler: where a step goes.")
@options.data_set
@options.epochs
@click.option("--target", type=options.Share(), metavar="SHARE",
              help="Of --task fit: the validation accuracy raced for. Default: the data set's own; without one the "
                   "epochs are timed.")
@click.option("--tolerance", type=options.Share(), default="1%", show_default=True, metavar="SHARE",
              help="Of --task fit: final accuracies this far apart count as EQUIVALENT.")
@click.option("--seeds", type=options.COUNT, metavar="N",
              help="Of --task fit: trainings of each contender, each from weights and an order of its own. Default: 5, "
                   "if the budget allows.")
@options.judged
def command(model: str, contenders: tuple[str, ...], tasks: tuple[str, ...], chosen: "Choice", quiet: bool,
            **asked: Any) -> int:
    """Race contenders on MODEL and judge them.

    MODEL is a name of the zoo (photofinish list models) or a function in a file of yours
    (./net.py:net). Every contender is first proven to compute the same thing; then fresh processes
    of all of them take turns in random order until the verdict is clear or the budget is spent.
    """
    from photofinish import api
    from photofinish.cli import present
    from photofinish.values import WHOLE
    if set(tasks) & set(WHOLE):
        options.refuse(("precision", "time_all"), "tasks epoch and fit run all of --launches or --seeds")
    if asked["seeds"] is not None:
        options.refuse(("launches",), "--seeds says how many trainings there are")
    if "fit" not in tasks:
        options.refuse(("tolerance",), "it is of --task fit")
    return present.raced(api.race, model, contenders, tuple(dict.fromkeys(tasks)), chosen=chosen, quiet=quiet, **asked)
