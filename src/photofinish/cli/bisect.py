"""`photofinish bisect`: the release in which a framework got slower."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("bisect", epilog="""\b
Examples:
  photofinish bisect resnet50 --framework torch --good 1.13.1 --bad 2.13.0
  photofinish bisect resnet18 --framework tensorflow:graph --task infer --good 2.9.0 --bad 2.21.0 --budget 10m
  photofinish bisect resnet18 --framework torch --good 1.0.0 --bad 2.13.0 --versions 1.4.0,1.13.1,2.0.1

Exit code: 0 found, or it is not slower; 1 no more than a bracket, 2 wrong use, 130 interrupted.""")
@click.argument("model")
@options.framework
@click.option("--good", required=True, metavar="VERSION", help="The earlier version, which was faster.")
@click.option("--bad", required=True, metavar="VERSION", help="The later version, which is slower.")
@options.versions("every final release between the two")
@click.option("--task", "-t", default="train", show_default=True, metavar="TASK", help="train or infer.")
@options.wider_environments
@options.case
@options.measuring
@options.store
@options.formats
@options.quiet
def command(model: str, framework: str, good: str, bad: str, versions: tuple[str, ...], task: str,
            environments: tuple[str, ...], make_environments: bool | None, store: Path | None, chosen: "Choice",
            quiet: bool, device: str, **asked: Any) -> int:
    """Find the release between --good and --bad in which FRAMEWORK got slower on MODEL.

    The two are raced first: where the later one is not shown to be slower there is nothing to find. Then the release in
    the middle races with both; it lies on the slow side if more than half of the slow-down has happened by then, and
    so on. One that cannot be had, or that stays undecided, is passed by. What the store has is not raced again:
    interrupted, the same command goes on; what stayed undecided is raced again with another --budget.
    """
    from photofinish.cli import output, present
    from photofinish.reports import bisection as report
    from photofinish.study import PlannedRace
    from photofinish.timeline import FOUND, NOT_SLOWER, Search
    from photofinish.timeline.versions import between
    from photofinish.verbs import timeline
    found = Search(tuple(between(framework, good, bad, versions, device=device)))
    planned = PlannedRace("bisection", model, (task,), (), device=device, **asked)
    interrupted = False
    with output.watching(quiet) as listener:
        races = timeline.Races(planned, store, listener, environments, make_environments,
                               warn=lambda text: click.echo(text, err=True))
        try:
            for found in timeline.search(found.versions, races):  # noqa: B007, B020  the last is everything
                pass
        except KeyboardInterrupt:  # of a race, or while an environment was made
            interrupted = True
    if found.ends is not None:
        present.documents([report.document(found)], chosen, full=False,
                          as_json=lambda: json.dumps(report.as_json(found), indent=2))
    if interrupted:
        click.echo("Stopped by hand. The same command goes on from here.", err=True)
        return 130
    return 0 if found.outcome in (FOUND, NOT_SLOWER) else 1
