"""`photofinish selftest`: prove the instrument on this machine."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.render.document import Document
    from photofinish.verbs.selftest import SelfTest


@click.command("selftest", epilog="""\b
Examples:
  photofinish selftest
  photofinish selftest -c torch:eager,torch:compile --budget 2m
  photofinish selftest --thorough      (every installed framework: hours)

Exit code: 0 passed, 1 something failed, 2 wrong use.""")
@options.contenders_of("Default: two that are installed.")
@options.environments
@click.option("--thorough", is_flag=True,
              help="The first two modes of every installed framework, where no contenders are named.")
@click.option("--budget", type=options.Duration(), default="60s", show_default=True,
              help="Time for each placebo; the planted race gets four times as much.")
@options.store
@options.as_json
@options.quiet
def command(contenders: tuple[str, ...], environments: tuple[str, ...], make_environments: bool | None,
            thorough: bool, budget: float, store: Path | None, as_json: bool, quiet: bool) -> int:
    """Prove the instrument on this machine, in about ten minutes: with two installed frameworks, one of
    them in its second mode, unless you name others.

    A contender raced against itself is not called faster; a planted slow-down is found and its size
    lies in the interval; a wrong model is refused and wrong numerics are seen; a hang, a crash, an
    out-of-memory and a NaN are survived and reported.
    """
    from photofinish.cli import output
    from photofinish.environments import expand
    from photofinish.values import to_json
    from photofinish.verbs import selftest as instrument
    names = [contender.name for contender in expand(*contenders)]
    with output.watching(quiet) as listener:
        found = instrument.run(store, names, budget, listener, environments, make_environments, thorough)
    if as_json:
        click.echo(json.dumps({"passed": found.passed, **to_json(found)}, indent=2))
    else:
        output.show(sheet(found))
    return 0 if found.passed else 1


def sheet(found: "SelfTest") -> "Document":
    """Each question put to the instrument, the answer, and the position effects of all placebos."""
    from photofinish.cli import output
    from photofinish.render.document import Column, Facts, Heading, Table
    columns = (Column("Check"), Column("Result", "check"), Column("Seen"))
    table = Table("selftest", columns, tuple((each.name, each.passed, each.seen) for each in found.checks))
    effects = {"the process started second": found.start_position, "the second in a round": found.round_position}
    facts = Facts(tuple((f"{name} takes", "too little was run" if each is None else
                         f"{each.value:.3f} of the first's time ({each.low:.3f} to {each.high:.3f})")
                        for name, each in effects.items()))
    word = "passed" if found.passed else "FAILED"
    return output.sheet("Self-test", f"{word} with {', '.join(found.contenders)}", table,
                        Heading("Does position matter?"), facts)
