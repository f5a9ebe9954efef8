"""`photofinish history`: the versions of a framework in one race, by the day they came out."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("history", epilog="""\b
Examples:
  photofinish history resnet50 --task train --framework torch --versions 1.0.0,1.13.1,2.13.0
  photofinish history resnet50 --framework torch,tensorflow:graph --versions torch@1.0.0,torch@2.13.0,tensorflow@2.12.0
  photofinish history digits_cnn --framework torch:eager --html history.html   (the versions that are here)
  photofinish history resnet18 --framework torch --versions 2.13.0,2.16.0=2026-11-25

Exit code: 0 done, 1 nothing could be compared, 2 wrong use, 130 interrupted.""")
@click.argument("model")
@options.frameworks
@options.versions("those that can race here at once")
@click.option("--task", "-t", "tasks", multiple=True, default=("train",), show_default=True, metavar="TASK",
              help="train or infer; both may be given.")
@options.wider_environments
@options.case
@options.measuring
@options.store
@options.formats
@options.quiet
def command(model: str, frameworks: tuple[str, ...], versions: tuple[str, ...], tasks: tuple[str, ...],
            environments: tuple[str, ...], make_environments: bool | None, store: Path | None, chosen: "Choice",
            quiet: bool, device: str, **asked: Any) -> int:
    """Race versions of frameworks on MODEL and show what changed over the years.

    Every version gets an environment of its own (old ones need old Pythons, and several gigabytes each); one that
    cannot be had is left out with the reason. All race together. A history that is in the store is shown again and not
    raced again.
    """
    from photofinish import api
    from photofinish.cli import output, present
    from photofinish.environments import Choice as Venues
    from photofinish.reports import history as report
    from photofinish.study import PlannedRace
    from photofinish.timeline import History
    from photofinish.timeline.versions import choose
    from photofinish.verbs import timeline
    found = choose(frameworks, versions, device=device, choice=Venues.of(environments, make_environments))
    planned = PlannedRace("history", model, tuple(dict.fromkeys(tasks)), (), device=device, **asked)
    with output.watching(quiet) as listener:
        races = timeline.Races(planned, store, listener, environments, make_environments,
                               warn=lambda text: click.echo(text, err=True))
        try:
            history, interrupted = timeline.history(found, races), False
        except api.Interrupted as stopped:
            history, interrupted = History(tuple(found), stopped.results), True
    present.documents(report.documents(history), chosen, full=False,
                      as_json=lambda: json.dumps(report.as_json(history), indent=2))
    if interrupted:
        return present.stopped_by_hand("this is what had been measured.")
    return 0 if history.results and all(present.settled(each) for each in history.results) else 1
