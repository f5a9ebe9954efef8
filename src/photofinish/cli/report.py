"""`photofinish report`: show a stored race again, in any format, judged anew from its raw records."""

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
@click.option("--list", "list_sessions", is_flag=True, help="List what the store holds.")
@click.option("--full", is_flag=True, help="Every section, not only the verdict and the times.")
@options.latency
@options.share
@options.predict
@options.store
@options.formats
def command(session: str, list_sessions: bool, full: bool, latency: float | None, share: float,
            predict: "tuple[Link, ...]", store: Path | None, chosen: "Choice") -> int:
    """Show the races of SESSION again (default: the last ones).

    SESSION is "last", a session or the id of one race, as --list shows them.
    """
    from photofinish import api
    from photofinish.cli import present
    from photofinish.store import Store
    if list_sessions:
        kept = Store(store or api.DEFAULT_STORE, only_read=True)
        listed = kept.sessions()
        for name, created, races in listed:
            click.echo(f"{name}  {created}  {' '.join(races)}")
        if not listed:
            click.echo(f"no race has been run with the store {kept.folder}", err=True)
        return 0
    present.present(api.load(session, store, latency, share, predict), chosen, full)
    return 0
