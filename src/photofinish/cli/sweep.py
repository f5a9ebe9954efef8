"""`photofinish sweep`: throughput and latency of contenders against the batch."""

from pathlib import Path

import click

from photofinish.cli import options


@click.command("sweep", epilog="""\b
Examples:
  photofinish sweep mobilenet_v2
  photofinish sweep mobilenet_v2 -c torch:eager,tensorflow:graph --batch 1..32 --latency 50ms
  photofinish sweep resnet18 --task train --batch 1,2,4,8 --html sweep.html
  photofinish sweep resnet18 -c onnxruntime --latency 20ms --share 99%

\b
Exit code: as of photofinish race.""")
@click.argument("model")
@options.contenders
@options.environments
@click.option("--task", "-t", default="infer", show_default=True, metavar="TASK",
              help="infer, or train (forward, loss, backward, update).")
@click.option("--batch", "-b", "batches", type=options.Batches(), default="1..32", show_default=True, metavar="LIST",
              help="Samples per step: 1,2,4,8, or 1..32 for each power of two from 1 to 32.")
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
@click.option("--launches", type=options.COUNT, metavar="N",
              help="Fresh processes of each contender at each batch. Default: 6, if the budget allows, 2 at least.")
@options.seed
@options.certify
@options.recertify
@options.store
@options.formats
@options.quiet
def command(model: str, contenders: tuple[str, ...], own_environments: tuple[str, ...], make_environments: bool | None,
            task: str, batches: tuple[int, ...], latency: float | None, share: float, shape: tuple[int, ...] | None,
            classes: int | None, device: str, threads: int | None, weights: Path | None, optimizer: str, regime: str,
            budget: float, margin: float, memory: int | None, launches: int | None, seed: int | None, certify: bool,
            recertify: bool, store: Path | None, html: Path | None, as_json: bool, as_csv: bool, as_markdown: bool,
            quiet: bool) -> int:
    """Time contenders on MODEL at several batches: throughput, time per sample, latency.

    Says from which batch on a larger one hardly pays, and which is best where answers must come within --latency. Every
    batch is a race of its own (one contender alone may be swept, too); their launches, each of fresh processes, take
    turns in random order.
    """
    from photofinish import api
    from photofinish.cli import output, present
    from photofinish.outcome import Outcome
    chosen = present.Choice.of(html, as_json, as_csv, as_markdown)
    with output.watching(quiet) as listener:
        try:
            results: Outcome = api.sweep(
                model, contenders, task, batches=batches, latency=latency, share=share, shape=shape, classes=classes,
                weights=weights, optimizer=optimizer, regime=regime, device=device, threads=threads, budget=budget,
                margin=margin, memory=memory, launches=launches, certify=certify, recertify=recertify, store=store,
                seed=seed, listener=listener, environments=own_environments, make_environments=make_environments)
            interrupted = False
        except api.Interrupted as stopped:
            results, interrupted = stopped.results, True
    return present.ended(results, chosen, interrupted)
