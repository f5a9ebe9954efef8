"""`photofinish largest-batch`: the largest batch of each contender that fits into memory."""

import json
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.api import LargestBatches
    from photofinish.render.document import Document


@click.command("largest-batch", epilog="""\b
Examples:
  photofinish largest-batch resnet50 --memory-limit 2GiB --input 3x64x64
  photofinish largest-batch bert_base -c torch:eager,tensorflow:xla --task infer --json
  photofinish race resnet50 --batch max --memory-limit 2GiB   (a race at the smallest of them)

Exit code: 0 done, 1 a contender failed or has no room for one sample, 2 wrong use, 130 interrupted (what was tried is
kept).""")
@click.argument("model")
@options.contenders
@options.environments
@click.option("--task", "-t", "task", default="train", show_default=True, metavar="TASK", help="train or infer.")
@options.memory_limit
@options.shape
@options.classes
@options.device
@options.threads
@options.optimizer
@click.option("--again", is_flag=True, help="Try again what was tried before and is in the store.")
@options.timeout
@options.store
@options.as_json
@options.quiet
def command(model: str, as_json: bool, quiet: bool, **asked: Any) -> int:
    """Find the largest batch of MODEL that fits, for each contender.

    Fresh processes take a few steps of ever better chosen batches, at most twelve, under a limit on their memory:
    running out of it is what is looked for. A search that is stopped goes on where it was.
    """
    from photofinish import api
    from photofinish.cli import output
    from photofinish.reports.json import largest_batches
    with output.watching(quiet) as listener:
        found = api.largest_batch(model, listener=listener, **asked)
    if as_json:
        told = largest_batches(found.model, found.digest, found.task, found.contenders, found.failures)
        click.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        output.show(sheet(found))
    return 1 if found.failures or not all(each.batch for each in found.contenders) else 0


def sheet(found: "LargestBatches") -> "Document":
    """The largest batch of each contender, and why others could not be tried."""
    from photofinish.cli import output
    from photofinish.render.document import Block
    from photofinish.reports import largest_batch
    blocks: list[Block] = largest_batch.blocks(found.contenders) if found.contenders else []
    blocks += output.untried(found.failures)
    return output.sheet(found.model, f"the largest batch that fits, {found.task}", *blocks)
