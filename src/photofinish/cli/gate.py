"""`photofinish gate`: did it get slower?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from photofinish.cli import options

if TYPE_CHECKING:
    from photofinish.cli.present import Choice


@click.command("gate", epilog="""\b
Examples:
  photofinish gate resnet18 --contenders torch:eager --baseline 2.12.1
  photofinish gate ./net.py:net --contenders torch:eager --baseline .venv-production --max-slowdown 5%
  photofinish gate ./net.py:net --contenders torch:eager,tensorflow:graph --baseline git:main
  photofinish gate resnet18 --baseline main/.photofinish --task train --task infer --junit gate.xml --markdown

Exit code: 0 no slow-down is shown; 1 one is; 2 wrong use, 3 not everything could be compared, 130 interrupted.""")
@click.argument("model")
@click.option("--baseline", required=True, metavar="WHAT",
              help="What was: a version (2.12.1), a contender (torch@2.12.1:eager), a virtual environment, the folder "
                   "of a store, whose versions are then taken, or git:REVISION: the model's own file, as it was then.")
@options.contenders_of("Default: whom the baseline names, where it does.")
@click.option("--task", "-t", "tasks", multiple=True, default=("train",), show_default=True, metavar="TASK",
              help="train or infer; may be given twice.")
@click.option("--max-slowdown", type=options.Share(), default="3%", show_default=True,
              help="A candidate fails if it is shown to take longer than the baseline by more than this.")
@click.option("--launches", type=options.SEVERAL, default=10, show_default=True, metavar="N",
              help="Fresh processes of either side, fixed beforehand.")
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the checks as a JUnit test suite as well.")
@options.wider_environments
@options.case
@options.optimizer
@options.regime
@options.budget("race")
@options.judged
def command(model: str, contenders: tuple[str, ...], tasks: tuple[str, ...], junit: Path | None, chosen: "Choice",
            quiet: bool, **asked: Any) -> int:
    """Race CONTENDERS against what they were, and fail if one got slower.

    Each races against its baseline, launch by launch in turns, so that a busy or slow machine moves both. It fails only
    if the whole 95 % interval of the ratio lies beyond --max-slowdown: chance alone hardly ever stops a build. What
    stays undecided passes, and says how many --launches would decide it.
    """
    from photofinish.cli import present
    from photofinish.errors import UsageError
    from photofinish.gate import FAILED, NOT_JUDGED
    from photofinish.reports import gate as report
    from photofinish.store import reading
    from photofinish.verbs import gate
    if junit is not None:
        present.check_writable(junit)
        if chosen.html is not None and junit.resolve() == chosen.html.resolve():
            raise UsageError(f"--junit and --html both want {junit}", "give each a file of its own")
    found, interrupted = present.found(gate.run, model, contenders, tuple(dict.fromkeys(tasks)), quiet=quiet,
                                       **asked)
    present.documents(report.documents(found), chosen, full=False, short=[report.document(found)],
                      as_json=lambda: json.dumps(report.as_json(found), indent=2),
                      again=reading("report --list", asked["store"]),
                      also=[(junit, report.junit(found))] if junit is not None else [])
    if interrupted:
        return present.stopped_by_hand("this is what had been checked.")
    return {FAILED: 1, NOT_JUDGED: 3}.get(found.outcome, 0)
