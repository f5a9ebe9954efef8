"""`photofinish verify`: prove, without timing, that contenders compute the same thing."""

import json
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.api import Verification
    from photofinish.render.document import Document


@click.command("verify", epilog="""\b
Examples:
  photofinish verify resnet18
  photofinish verify mobilenet_v2 -c torch:eager,tensorflow:graph --json
  photofinish verify resnet152 --reduced     (the same function, fewer layers: quick)

Exit code: 0 all certified, 1 one is not, 2 wrong use, 130 interrupted.""")
@click.argument("model")
@options.contenders
@options.environments
@options.shape
@options.classes
@options.device
@options.regime
@options.threads
@options.weights
@click.option("--reduced", is_flag=True, help="The same function at reduced depth and size.")
@options.timeout
@options.recertify
@options.store
@options.as_json
@options.quiet
def command(model: str, contenders: tuple[str, ...], as_json: bool, quiet: bool, **asked: Any) -> int:
    """Prove that contenders compute MODEL alike.

    Forward, loss, the gradient of every parameter, and the losses and weights along ten steps of SGD
    and of Adam are compared with a float64 reference; what error is allowed follows from each
    contender's own float32 noise.
    """
    from photofinish import api
    from photofinish.cli import output
    from photofinish.reports.json import verification
    with output.watching(quiet) as listener:
        found = api.verify(model, contenders, listener=listener, **asked)
    if as_json:
        told = verification(found.model, found.digest, found.certificates, found.failures)
        click.echo(json.dumps(told, indent=2, allow_nan=False))
    else:
        output.show(sheet(found))
    return 0 if found.certified else 1


def sheet(found: "Verification") -> "Document":
    """Which contenders are certified, group by group, and why the others are not."""
    from photofinish.cli import output
    from photofinish.render.document import Block
    from photofinish.reports import certificate
    tried = tuple(each for each in found.certificates if not each.differences)
    blocks: list[Block] = [certificate.summary(tried)] if tried else []
    blocks += certificate.refused(tried)
    blocks += certificate.loose(tried)
    blocks += [certificate.reused(tried)] if any(each.reused for each in tried) else []
    blocks += [certificate.differences(each) for each in found.certificates if each.differences]
    blocks += output.untried(found.failures)
    word = "all contenders compute the same" if found.certified else "NOT certified"
    return output.sheet(found.model, f"{word} (graph {found.digest[:12]})", *blocks)
