"""`photofinish study`: many races from one file, run in any order, over as many sittings as it takes."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from photofinish.cli import options
from photofinish.errors import unknown

if TYPE_CHECKING:
    from photofinish.cli.present import Choice

scale = click.option("--scale", default="", metavar="NAME", help="A smaller version that the study names: small.")


class Verbs(click.Group):
    """A misspelt verb is told the nearest one."""

    def resolve_command(self, ctx: click.Context, args: list[str],
                        ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise unknown("study command", args[0], self.commands, "see: photofinish study --help")
        return super().resolve_command(ctx, args)


@click.group("study", cls=Verbs, epilog="""\b
Examples:
  photofinish study list
  photofinish study run asu-2023 --scale small --dry-run
  photofinish study run asu-2023 --scale small --only resnet18
  photofinish study report asu-2023 --scale small --html asu.html
  photofinish study run ./mine.toml""")
def command() -> None:
    """Run a study: many races declared in one file, and what was published of them beside ours.

    STUDY is the name of a built-in study or a .toml file of yours (docs/reference/studies.md).
    """


@command.command("list", epilog="""\b
Example:
  photofinish study list""")
@options.as_json
def list_studies(as_json: bool) -> None:
    """List the built-in studies."""
    from photofinish import study
    from photofinish.cli import output
    from photofinish.render.document import Column, Table
    found = [study.find(name) for name in study.builtin()]
    if as_json:
        click.echo(json.dumps([{"name": each.name, "title": each.title, "question": each.question,
                                "source": each.source, "races": len(each.races)} for each in found], indent=2))
        return
    columns = (Column("Study", "code"), Column("What it asks"), Column("Races", "count"))
    output.show(output.sheet("Studies", "", Table("studies", columns, tuple(
        (each.name, each.question, len(each.races)) for each in found))))


@command.command("run", epilog="""\b
Examples:
  photofinish study run asu-2023 --scale small --dry-run
  photofinish study run asu-2023 --scale small --only resnet18 --only infer
  photofinish study run ./mine.toml --html mine.html

Exit code: 0 done, 1 nothing could be raced, 2 wrong use, 130 interrupted.""")
@click.argument("study")
@scale
@click.option("--dry-run", is_flag=True,
              help="Say what would be run, what is left out and why, and what the budgets come to.")
@click.option("--only", multiple=True, metavar="WORD", help="Only races that have this word in their title or group.")
@click.option("--seed", type=int, metavar="N", help="Draw the order of the races from this seed. Default: a new one.")
@options.environments
@options.store
@options.formats
@options.quiet
def run(study: str, scale: str, dry_run: bool, only: tuple[str, ...], seed: int | None,
        environments: tuple[str, ...], make_environments: bool | None, store: Path | None, chosen: "Choice",
        quiet: bool) -> int:
    """Run the races of STUDY that are not done yet.

    Stop it whenever you like: a race that is done is in the store and is not run again, so the same command goes on
    where it stopped. The order is random, so that no model always runs last.
    """
    from photofinish.cli import output, present
    from photofinish.environments import Choice as Venues
    from photofinish.environments import expand
    from photofinish.reports import provenance
    from photofinish.reports import study as report
    from photofinish.study import find
    from photofinish.verbs import study as verb
    venues = Venues.of(environments, make_environments)  # what is wrong there is wrong of a dry run, too
    found = find(study, scale)
    asked = verb.narrowed(found, only)
    if venues.given:
        venues.insist([each for race in found.to_run() for each in expand(*race.contenders, device=None)])
    known = verb.outcome(found, store)
    due = verb.due_today(asked, known)
    others = provenance.of_others([result for each in known for result in each.results]) if due else ""
    if dry_run:
        known = [each for each in known if each.planned in asked.races]
        present.documents([report.plan(asked, known, due, others)], chosen,
                          as_json=lambda: json.dumps(report.as_json(asked, known), indent=2))
        return 0
    if others:
        click.echo(f"Warning: {others}", err=True)
    interrupted = False
    with output.watching(quiet) as listener:
        try:
            verb.run(found, only=only, store=store, seed=seed, listener=listener, environments=environments,
                     make_environments=make_environments)
        except KeyboardInterrupt:  # of a race, or before it began
            interrupted = True
    settled = verb.outcome(found, store)
    present.documents([report.document(found, settled)], chosen, full=False,
                      as_json=lambda: json.dumps(report.as_json(found, settled), indent=2))
    if interrupted:
        click.echo("Stopped by hand. The same command goes on from here.", err=True)
        return 130
    wanted = [each for each in settled if each.planned in asked.races]
    refused = any(each.reason and not each.planned.excepted for each in wanted)
    return 1 if refused and not any(each.results for each in wanted) else 0


@command.command("report", epilog="""\b
Examples:
  photofinish study report asu-2023 --scale small
  photofinish study report ./mine.toml --json""")
@click.argument("study")
@scale
@click.option("--full", is_flag=True, help="Also what every contender took in every race.")
@options.store
@options.formats
def show(study: str, scale: str, full: bool, store: Path | None, chosen: "Choice") -> None:
    """Show what the store knows of STUDY, judged anew from the raw records."""
    from photofinish.cli import present
    from photofinish.reports import study as report
    from photofinish.study import find
    from photofinish.verbs import study as verb
    found = find(study, scale)
    settled = verb.outcome(found, store)
    present.documents([report.document(found, settled)], chosen, full,
                      as_json=lambda: json.dumps(report.as_json(found, settled), indent=2))


@command.command("schema", epilog="""\b
Example:
  photofinish study schema > study.schema.json   (then, first in a study file: #:schema ./study.schema.json)""")
def schema() -> None:
    """Print the JSON Schema of study files, by which editors complete keys and mark mistakes."""
    from photofinish.reports import json as reports_json
    click.echo(json.dumps(reports_json.schema("study_file"), indent=2))
