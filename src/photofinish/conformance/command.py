"""Does a worker keep the protocol? `python -m photofinish.conformance "node worker.mjs"` asks it everything.

For whoever writes a worker in another language, or another Python: each request of docs/reference/protocol.md is put
to it on a small model, and what it says, writes and survives is judged as a race would. That it computes the right
thing is tried as well: by the certificate.
"""

import argparse
import os
import shlex
import tempfile
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from photofinish import models
from photofinish.conformance.candidate import Candidate
from photofinish.conformance.examination import MODEL, PATIENCE, run
from photofinish.environments import TASKS, Missing, checked, frameworks, resolve, start
from photofinish.errors import UsageError
from photofinish.graph import ModelError
from photofinish.runner.arrange import one_of
from photofinish.runner.parcel import pack
from photofinish.values import Contender, SpellingError


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the checks; 0 if the worker passed all of them."""
    parser = argparse.ArgumentParser(prog="python -m photofinish.conformance", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", default="", help="the command line that starts the worker, in this "
                        "folder (of a contender of the house: its own, if left out)")
    parser.add_argument("--contender", default="numpy:reference", help="what it is loaded as (%(default)s)")
    parser.add_argument("--tasks", help=f"what it can be timed at ({','.join(TASKS)}, or what the house's mode has)")
    parser.add_argument("--model", default=MODEL, help="the model, at reduced size (%(default)s)")
    parser.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS",
                        help="how long any answer may take: more for who compiles for minutes (%(default).0f)")
    chosen = parser.parse_args(arguments)
    passed = True
    with tempfile.TemporaryDirectory(prefix="photofinish-") as folder:
        try:
            candidate = found(chosen.command, chosen.contender, Path(folder))
            tasks = chosen.tasks.split(",") if chosen.tasks is not None else tasks_of(candidate.contender)
            for task in tasks:
                one_of("task", task, TASKS)
            if not models.find(chosen.model).small().losses and "train" in tasks:
                raise UsageError(f"{chosen.model} has no loss to train for", "add --tasks infer, or name another model")
            if not 0 < chosen.patience < threading.TIMEOUT_MAX:
                raise UsageError(f"--patience {chosen.patience:g}: it takes seconds above 0", "leave it out, say")
        except (UsageError, ModelError, SpellingError) as error:
            parser.error(str(error))
        with closing(run(candidate, tasks, chosen.model, chosen.patience)) as checks:  # at once, if nobody reads on
            for check in checks:
                passed = passed and check.passed
                print(f"{'ok    ' if check.passed else 'BROKEN'}  {check.name}: {check.seen}", flush=True)
                for line in check.log.splitlines():
                    print(f"        {line}", flush=True)
    return 0 if passed else 1


def tasks_of(contender: Contender) -> Sequence[str]:
    """Those of its mode, where it is one of the house, that a worker can be asked for by itself."""
    own = frameworks()[contender.framework].tasks_of(contender.mode) if contender.framework in frameworks() else TASKS
    return [task for task in TASKS if task in own] or TASKS


def found(command: str, contender: str, folder: Path) -> Candidate:
    """Whom that command starts in the user's folder; where there is none, the house's own worker in this one, as a race
    would. Raises UsageError and SpellingError."""
    asked = Contender.parse(contender) if command else checked(contender)
    if asked.strategy:
        raise UsageError(f"{asked.name} is more than one process or device, and one by itself is examined",
                         f"leave +{asked.strategy} out")
    threads = dict(asked.options).get("threads", "1")
    if not threads.isdecimal() or not int(threads):
        raise UsageError(f"threads={threads}: it takes a number from 1 on", "write threads=2, say")
    if "build" in dict(asked.options):
        raise UsageError(f"{asked.name} is a model of another package, at full size: a reduced one is asked for",
                         "leave build out")
    if command:
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{command}: {error}", "write it as a shell takes it") from error
        if not words:
            raise UsageError("the command that starts the worker is blank", "leave it out for a contender of the house")
        framework = frameworks().get(asked.framework)
        return Candidate(words, asked, driver=framework.driver_of(asked.version) if framework else "")
    home = resolve(asked)
    if isinstance(home, Missing):
        raise UsageError(f"{asked.name}: {home.reason}", home.cure)
    stepping = home.framework.stepping(asked)
    told = replace(stepping, options=tuple(home.framework.options_told(stepping.options).items()))
    return Candidate(start.command(home, pack(folder)), told, home.driver, home.framework.feeding(asked),
                     start.variables(home, os.environ, folder / "cache", asked.options), folder)
