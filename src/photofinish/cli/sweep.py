"""`photofinish sweep`: throughput and latency of contenders against the batch, or steps against the link."""

from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("sweep", epilog="""\b
Examples:
  photofinish sweep mobilenet_v2
  photofinish sweep mobilenet_v2 -c torch:eager,tensorflow:graph --batch 1..32 --latency 50ms
  photofinish sweep resnet18 --task train --batch 1,2,4,8 --html sweep.html
  photofinish sweep resnet18 -t train --threads 2 -c torch:eager+ddp[2],torch:eager+ddp[2,hook=fp16] \\
    --links 100mbit,200mbit,500mbit,1gbit --predict 300mbit
  photofinish sweep resnet18 -c onnxruntime --latency 20ms --share 99%

Exit code: as of photofinish race.""")
@click.argument("model")
@options.contenders
@options.environments
@click.option("--task", "-t", default="infer", show_default=True, metavar="TASK",
              help="infer, or train (forward, loss, backward, update).")
@click.option("--batch", "-b", "batches", type=options.Batches(), metavar="LIST",
              help="Samples per step: 1,2,4,8, or 1..32 for each power of two from 1 to 32. Default: 1..32; with "
                   "--links the model's own.")
@click.option("--links", type=options.Links(), default=(), metavar="LIST",
              help="Sweep over links instead, such as 100mbit,1gbit, that join the processes of each contender that is "
                   "several; of --task train. They take root (see: photofinish race --link).")
@options.predict
@options.latency
@options.share
@options.shape
@options.classes
@options.device
@options.threads
@options.weights
@options.optimizer
@options.regime
@click.option("--budget", type=options.Duration(), default="15m", show_default=True,
              help="Time for the launches, such as 5m or 1h.")
@options.margin
@options.memory
@options.timeout
@options.energy
@click.option("--launches", type=options.COUNT, metavar="N",
              help="Fresh processes of each contender at each batch. Default: 6, if the budget allows, 2 at least.")
@options.judged
def command(model: str, contenders: tuple[str, ...], task: str, chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Time contenders on MODEL at several batches: throughput, time per sample, latency.

    With --links: time per step, and the rate at which two contenders are equally fast.

    Says from which batch on a larger one hardly pays, and which is best where answers must come within --latency. Every
    batch is a race of its own (one contender alone may be swept, too); their launches, each of fresh processes, take
    turns in random order.
    """
    from photofinish import api
    from photofinish.cli import present
    if asked["latency"] is None:
        options.refuse(("share",), "it is of the steps that keep --latency")
    return present.raced(api.sweep, model, contenders, task, chosen=chosen, quiet=quiet, every=False, **asked)
