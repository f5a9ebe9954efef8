"""`photofinish advise`: what to take."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("advise", epilog="""\b
Examples:
  photofinish advise resnet18 --goal job --steps 50000 --per-hour 1.20
  photofinish advise mobilenet_v2 --task infer --goal throughput --latency 50ms --share 99%
  photofinish advise resnet50 --goal memory --keep torch
  photofinish advise --from last --goal first-result

Exit code: 0 one is advised; 1 nothing can be, 2 wrong use, 130 interrupted.""")
@click.argument("model", required=False, default="")
@click.option("--goal", default="job", show_default=True, metavar="NAME",
              help="job: the whole job soonest, start and compilation included (with --steps); throughput: the most in "
                   "steady state; first-result: the first step soonest; memory: the least of it; energy: the fewest "
                   "joules per item.")
@click.option("--steps", type=options.COUNT, metavar="N", help="Of --goal job: how long it is.")
@click.option("--latency", type=options.Latency(), metavar="TIME",
              help="Rule out whose steps are not shown to keep it, such as 50ms.")
@click.option("--share", type=options.Share(), default="99%", show_default=True, metavar="SHARE",
              help="How many of the steps must keep --latency.")
@click.option("--max-memory", type=options.Size(), metavar="SIZE", help="Rule out who holds more, such as 4GiB.")
@click.option("--keep", "frameworks", multiple=True, metavar="NAME",
              help="Stay with this framework. May be given several times.")
@click.option("--allow", "formats", multiple=True, metavar="FORMAT",
              help="Allow a coarser format, such as bfloat16. May be given several times.")
@click.option("--per-hour", type=click.FloatRange(min=0, min_open=True), metavar="PRICE",
              help="What an hour of the machine costs: times are shown as money, too.")
@click.option("--from", "session", metavar="RACE",
              help="Race nothing: read it from a race in the store (last, or an id; see: photofinish report --list).")
@click.option("--no-repeat", "repeat", flag_value=False, default=True,
              help="Do not race the first two again to see whether the advice holds.")
@options.contenders_of("Default: every mode of the installed frameworks that has the task.")
@options.environments
@click.option("--task", "-t", default="train", show_default=True, metavar="TASK", help="train or infer.")
@options.case
@options.optimizer
@options.regime
@options.budget("race")
@options.judged
def command(model: str, goal: str, steps: int | None, latency: float | None, share: float, max_memory: int | None,
            frameworks: tuple[str, ...], formats: tuple[str, ...], per_hour: float | None, session: str | None,
            store: Path | None, chosen: "Choice", quiet: bool, **asked: Any) -> int:
    """Say which contender to take for a goal, with what gain and what risk.

    Everything that could be taken here races on MODEL, each proven to compute the same; the advice names the one of
    least cost for --goal, the chance that it is the best, what is lost if it is not, and for which other length of the
    job another would win. Then the first two race again, on fresh launches, to see whether it holds.
    """
    from photofinish.advise.goals import GOALS, Goal
    from photofinish.cli import present
    from photofinish.environments import known
    from photofinish.errors import UsageError, unknown
    from photofinish.reports import advise as report
    from photofinish.store import reading
    from photofinish.verbs import advise
    if goal not in GOALS:
        raise unknown("goal", goal, GOALS)
    for each in frameworks:
        known(each)
    if goal == "job" and steps is None:
        raise UsageError("--steps is missing: how long the job of --goal job, the default, is",
                         "write --steps 50000, say, or choose another --goal")
    if goal != "job" and steps is not None:
        raise UsageError(f"--goal {goal} has no length", "leave --steps out, or write --goal job")
    if GOALS[goal].hint != "duration":
        options.refuse(("per_hour",), f"what --goal {goal} costs is no time")
    if latency is None:
        options.refuse(("share",), "it is of the steps that keep --latency")
    options.either(model, session, "advice is for a model to race, or from a race in the store", "advise")
    wanted = Goal(goal, steps, latency, share, max_memory, frameworks, formats, per_hour)
    if session:
        options.refuse(asked, "a race in the store is read, and nothing is raced")
        found, interrupted = advise.read(wanted, session, store), False
    else:
        found, interrupted = present.found(advise.run, model, wanted, quiet=quiet, store=store, **asked)
    present.documents([report.document(found)], chosen, as_json=lambda: json.dumps(report.as_json(found), indent=2),
                      again=present.SAME if session else reading("report --list", store))
    if interrupted:
        return present.stopped_by_hand("this is what the measurements so far say.")
    return 0 if found.chosen else 1
