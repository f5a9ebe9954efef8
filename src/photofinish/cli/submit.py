"""`photofinish submit`: a command as a job of a cluster."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from photofinish.cli import options


@click.command("submit", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
               epilog="""\b
Examples:
  photofinish submit --set partition=long -- race resnet50 -c torch:eager,tensorflow:graph
  photofinish submit --nodes 2 -- race resnet18 -c 'torch:eager,torch:eager+ddp[2]' --hosts allocated
  photofinish submit --to ray --cpus 8 -- study run asu-2023 --scale small
  photofinish submit --to local -- race digits_cnn

Exit code: that of the command; 2 wrong use, or the job ended without a result; 130 interrupted, or
stopped at --time.""")
@click.option("--to", "cluster", default="slurm", show_default=True, metavar="CLUSTER",
              help="slurm, ray (the one that RAY_ADDRESS names, or one of this machine) or local: this machine, as a "
                   "job. Never run on a cluster: slurm has been run with scripts for its programs, ray on one machine.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, metavar="N",
              help="Machines, of Slurm. The command runs on the first; in it `allocated` stands for all: --hosts "
                   "allocated.")
@click.option("--cpus", type=click.IntRange(min=1), metavar="N",
              help="CPU cores of each machine, of Slurm and Ray. Default: as many as it has, shared with no other job.")
@click.option("--time", "duration", type=options.Duration(), default="24h", show_default=True,
              help="When the job is stopped, if it has not ended: of Slurm and local, in whole minutes.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="An option of sbatch: --set partition=long, --set constraint=skylake. May be given several times.")
@options.store
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND")
def command(cluster: str, nodes: int, cpus: int | None, duration: float, settings: tuple[str, ...], store: Path | None,
            words: tuple[str, ...]) -> int:
    """Run COMMAND, `race resnet50` say, as a job of a cluster, and say here what it says.

    The job runs it in this folder with this Python, which the machines of the cluster see at the same paths; its
    results are in the store as always. Ctrl-C cancels the job, whose last words are shown; what it had measured is
    kept.
    """
    from photofinish import submission
    from photofinish.api import DEFAULT_STORE
    from photofinish.cli import store_among
    from photofinish.errors import UsageError, unknown
    if cluster not in submission.CLUSTERS:
        raise unknown("cluster", cluster, submission.CLUSTERS)
    if cluster == "ray":
        options.refuse(("duration",), "a job of Ray has no time limit")
    wrong = next((each for each in settings if not each.partition("=")[0]), None)
    if wrong is not None:
        raise UsageError(f"--set {wrong} names no option of sbatch", "write it like --set partition=long")
    commands = _commands()
    if words[0] not in commands:
        raise unknown("command", words[0], commands, "see: photofinish --help")
    asked = {each.partition("=")[0]: each.partition("=")[2] for each in settings}
    placed = list(words) if store is None else _in_store(words, store)
    kept = Path(store_among(placed) or store or DEFAULT_STORE)
    job = submission.submit(placed, cluster, kept / "jobs", nodes, cpus, duration / 3600, asked)
    click.echo(f"Job {job.name} ({cluster}): {submission.shown(placed)}", err=True)
    try:
        return job.follow(sys.stdout, sys.stderr,
                          partial(click.echo, f"Job {job.name} has begun.", err=True),
                          partial(click.echo, f"Stopped by hand: job {job.name} is cancelled. What it had measured is "
                                              "kept.", err=True))
    except KeyboardInterrupt:
        return 130


def _in_store(words: Sequence[str], store: Path) -> list[str]:
    """The command with that store, unless it names one itself or has none."""
    from photofinish.cli import photofinish
    found: click.Command | None = photofinish
    begin = 0
    while isinstance(found, click.Group):  # study run
        found = found.commands.get(words[begin]) if begin < len(words) else None
        begin += 1
    keeps = found is not None and any("--store" in each.opts for each in found.params)
    told = any(each.partition("=")[0] == "--store" for each in words)
    return [*words[:begin], *(("--store", str(store)) if keeps and not told else ()), *words[begin:]]


def _commands() -> list[str]:
    from photofinish.cli import photofinish
    return [name for name in photofinish.commands if name != "submit"]
