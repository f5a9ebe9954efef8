"""`photofinish report`: show a stored race again, in any format, judged anew from its raw records."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice
    from photofinish.values import Link


@click.command("report", epilog="""\b
Examples:
  photofinish report                       (the last race)
  photofinish report last --html report.html
  photofinish report --list
  photofinish report 20261120-140307-8f3a --markdown
  photofinish report last --latency 30ms   (a sweep, with another bound)""")
@click.argument("session", default="last")
@click.option("--list", "list_sessions", is_flag=True, help="List the races in the store, and what each came to.")
@click.option("--full", is_flag=True, help="Every section, not only the verdict and the times.")
@options.latency
@options.share
@options.predict
@options.store
@options.formats
def command(session: str, list_sessions: bool, full: bool, latency: float | None, share: float,
            predict: "tuple[Link, ...]", store: Path | None, chosen: "Choice") -> int:
    """Show the races of SESSION again (default: the last ones).

    SESSION is "last", the id of one race, as --list shows it, or what the ids of the races of one command have in
    common.
    """
    from photofinish import api
    from photofinish.cli import present
    from photofinish.errors import UsageError
    if list_sessions:
        options.refuse(("session", "full", "latency", "share", "predict"), "--list shows every race in a line")
        if store is not None and not store.is_dir():
            raise UsageError(f"no race has been run with the store {store}: there is no such folder",
                             "name the one of the races: --store FOLDER")
        show_list(store or api.DEFAULT_STORE, chosen)
        return 0
    if latency is None:
        options.refuse(("share",), "it is of the steps that keep --latency")
    present.present(api.load(session, store, latency, share, predict), chosen, full)
    return 0


def show_list(store: Path, chosen: "Choice") -> None:
    """Every race in the store; of none there is no table."""
    from photofinish import api
    from photofinish.cli import present
    from photofinish.reports import stored
    races = api.listed(store)
    if races or chosen.format == "json":
        present.documents([stored.document(races, str(store))], chosen,
                          as_json=lambda: json.dumps(stored.as_json(races), indent=2))
    if not races:
        click.echo(f"no race has been run with the store {store}", err=True)
