"""`photofinish serve`: latency of contenders under a load of queries."""

from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("serve", epilog="""\b
Examples:
  photofinish serve mobilenet_v2 --rate 20
  photofinish serve resnet18 -c torch:eager,onnxruntime --rate 10 --latency 100ms
  photofinish serve bert_base --clients 4 --batch 2
  photofinish serve resnet18 --rate 10 --latency 80ms --share 99.9% --queries 20000 --budget 1h

Exit code: as of photofinish race.""")
@click.argument("model")
@options.contenders
@options.environments
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), metavar="N",
              help="Queries a second, at random moments (Poisson arrivals), whether or not the last was answered.")
@click.option("--clients", type=options.COUNT, metavar="N",
              help="Instead: so many clients, each of which sends its next query when it has an answer.")
@click.option("--latency", type=options.Latency(), metavar="TIME",
              help="A bound to try, such as 50ms: stop as soon as it is known whether --share of the queries keep it.")
@click.option("--share", type=options.Share(), default="99%", show_default=True, metavar="SHARE",
              help="How many of the queries should keep --latency.")
@click.option("--confidence", type=options.Share(), default="99%", show_default=True, metavar="SHARE",
              help="With which that is to be known.")
@click.option("--queries", type=options.COUNT, metavar="N",
              help="Of each contender in all, at most. Default: what the bound needs if two of them come late.")
@click.option("--batch", "-b", type=options.COUNT, default=1, show_default=True, metavar="N",
              help="Samples in a query.")
@options.shape
@options.classes
@options.device
@options.threads
@options.weights
@options.regime
@click.option("--budget", type=options.Duration(), default="10m", show_default=True,
              help="Time for the measurements, such as 5m or 1h.")
@options.margin
@options.memory
@options.timeout
@options.energy
@click.option("--launches", type=options.COUNT, metavar="N",
              help="Fresh processes of each contender, among which the queries are divided. Default: 5.")
@options.judged
def command(model: str, contenders: tuple[str, ...], chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Let contenders answer queries to MODEL, one at a time, and judge how long these wait.

    A query's latency counts from the moment it comes, not from when it is taken up: who stops for a second makes all
    wait that come in that second. All contenders meet the same arrivals, in turns.
    """
    from photofinish import api
    from photofinish.cli import present
    if asked["latency"] is None:
        options.refuse(("share", "confidence"), "it is of the queries that keep --latency")
    return present.raced(api.serve, model, contenders, chosen=chosen, quiet=quiet, **asked)
