"""`photofinish accuracy`: how often each contender is right on the user's own pictures."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.api import Accuracies
    from photofinish.render.document import Document


@click.command("accuracy", epilog="""\b
Examples:
  photofinish accuracy resnet50 --weights resnet50.safetensors --data imagenet/val
  photofinish accuracy ./net.py:net --weights net.npz --data pictures -c torch:eager,tensorflow:xla --json

Exit code: 0 done, 1 a contender failed, 2 wrong use, 130 interrupted.""")
@click.argument("model")
@options.own_weights(required=True)
@click.option("--data", type=click.Path(path_type=Path), required=True, metavar="FOLDER",
              help="Pictures as FOLDER/<class>/<picture>: .png, .jpg, .webp and others, or .npy. Classes are numbered "
                   "by the names of their folders: the numbers themselves, or their alphabetical order.")
@options.contenders
@options.environments
@options.case
@options.timeout
@options.store
@options.as_json
@options.quiet
def command(model: str, as_json: bool, quiet: bool, **asked: Any) -> int:
    """Count how often MODEL is right with your weights, in each framework.

    Pictures are resized, cropped and normalised as the model's source does it, once for all contenders. Top-1 has
    an interval; contenders are compared picture by picture.
    """
    from photofinish import api
    from photofinish.cli import output
    from photofinish.reports.json import accuracies
    with output.watching(quiet) as listener:
        found = api.accuracy(model, listener=listener, **asked)
    if as_json:
        told = accuracies(found.model, found.digest, found.images, found.contenders, found.failures, found.warnings,
                          found.preparation)
        click.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        output.show(sheet(found))
    return 1 if found.failures else 0


def sheet(found: "Accuracies") -> "Document":
    """The accuracy of each contender, what was left out of the data, and why others could not be tried."""
    from photofinish.cli import output
    from photofinish.render.document import Block, Note
    from photofinish.reports import accuracy
    blocks: list[Block] = [accuracy.table(found.contenders)] if found.contenders else []
    blocks += [Note((f"Inputs: {found.preparation}.",))] if found.contenders else []
    blocks += [Note((each,), "warning") for each in found.warnings]
    blocks += output.untried(found.failures)
    return output.sheet(found.model, f"first guesses on {found.images:,} images", *blocks)
