"""`photofinish claims`: what is said of frameworks, judged by the races in the store."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("claims", epilog="""\b
Examples:
  photofinish claims
  photofinish claims C27 C29 --scale small
  photofinish claims C22 --check
  photofinish claims --html claims.html""")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--scale", default="", metavar="NAME", help="Judge by the races of the studies' smaller version: small.")
@click.option("--check", is_flag=True, help="First run the programs that decide claims; seconds for each framework.")
@options.store
@options.formats
def command(ids: tuple[str, ...], scale: str, check: bool, store: Path | None, chosen: "Choice") -> None:
    """Judge what is said of frameworks by the races in the store.

    The ledger has the claims of four documents that compare PyTorch and TensorFlow, in their words. Each is decided by
    a study (photofinish study run) or by programs that look at a framework (--check); the others say why they are not.
    What was seen is kept with the races. With IDs, only those.
    """
    from functools import lru_cache

    from photofinish import claims
    from photofinish.claims import programs
    from photofinish.cli import present
    from photofinish.errors import UsageError
    from photofinish.reports import claims as report
    from photofinish.study import PlannedRace, Settled, find
    from photofinish.verbs import study as verb

    @lru_cache(maxsize=None)
    def races(study: str) -> list[Settled]:
        return verb.outcome(find(study, scale), store) if study else []

    @lru_cache(maxsize=None)
    def elsewhere(study: str) -> dict[str, list[PlannedRace]]:
        return verb.stored(find(study, scale), store) if study else {}

    if store is not None and not check and not store.is_dir():
        raise UsageError(f"no race has been run with the store {store}: there is no such folder",
                         f"run a study: photofinish study run asu-2023 --scale small --store {store}")
    asked = claims.chosen(ids, scale)
    if scale:  # known to none of them, it is told whatever is asked
        find(next(each.study for each in claims.ledger() if each.study), scale)
    kept = verb.open_store(store, only_read=not check)
    lacking: list[UsageError] = []
    for each in asked if check else ():
        if each.test in programs.OBSERVERS:
            click.echo(f"{each.id}: looking", err=True)
            try:
                kept.keep_observations(programs.key(each), programs.observe(each))
            except UsageError as error:
                lacking.append(error)  # told once the others have been seen
    found = [claims.judge(each, races(each.study), kept.observations(programs.key(each))) for each in asked]
    found = [claims.pointed(each, elsewhere(each.claim.study)) if each.word == "NOT YET RUN" else each
             for each in found]
    raced = {result.race.id: result for each in asked for row in races(each.study) for result in row.results}
    present.documents([report.document(found, list(raced.values()))], chosen, full=bool(ids),
                      as_json=lambda: json.dumps(report.as_json(found), indent=2, ensure_ascii=False))
    if lacking:
        raise lacking[0]
