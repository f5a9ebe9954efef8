"""Kills a study with everything it started, watchdog included, at random moments, and lets it go on each time.

Aim: what was settled before a kill is settled in the same session after it, and in the end the store has the cells of a
run that nobody killed: that in --against, or one made for it.

    python -m benchmarks.study_kills asu-2023 --scale small --times 20 --within 120 --store killed --against whole
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from photofinish import study
from photofinish.measure import system
from photofinish.runner import watchdog
from photofinish.study import Study
from photofinish.verbs import study as verb

Cell = tuple[str, str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]]


def cells(found: Study, store: Path) -> dict[str, Cell]:
    """Of each race that is settled, by its key: its title, the reason if there is none, and of each of its results the
    task, who was timed and who failed."""
    return {each.planned.key: (each.planned.title, each.reason, tuple(
        (result.race.case.task, tuple(one.contender for one in sorted(result.standings, key=str) if one.time),
         tuple(sorted({one.contender for one in result.race.failures}))) for result in each.results))
        for each in verb.outcome(found, store) if not each.pending}


def sessions(found: Study, store: Path) -> dict[str, list[str]]:
    """The ids of the races that a key is settled with."""
    return {each.planned.key: [result.race.id for result in each.results]
            for each in verb.outcome(found, store) if each.results}


def kill_tree(pid: int) -> None:
    """Again until nothing of it is left: it may have started something meanwhile."""
    while tree := [each for each in {pid, *system.children(pid), *watchdog.children(pid)}
                   if system.state_of(each)[:1] not in ([], ["Z"])]:
        for each in tree:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)


def strike(command: Sequence[str], after: float) -> bool:
    """Whether the command was killed after so many seconds: it may be over before."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        running.wait(after)
        return False
    except subprocess.TimeoutExpired:
        kill_tree(running.pid)
        running.wait()
        return True


def killed(found: Study, command: Sequence[str], store: Path, moments: Sequence[float]) -> list[str]:
    """What went otherwise than it must while a study was killed at these moments; then it runs to its end."""
    wrong, known = [], sessions(found, store)
    for number, after in enumerate(moments, 1):
        was_killed = strike(command, after)
        now = sessions(found, store)
        lost = [key for key in known if now.get(key) != known[key]]
        print(f"{number:3} after {after:.1f} s: {len(now)} races settled, {len(lost)} lost or done twice", flush=True)
        wrong += [f"kill {number}: {key} was settled with {known[key]}, now with {now.get(key)}" for key in lost]
        known = now
        if not was_killed:
            wrong.append(f"it was over before kill {number}: choose a shorter --within")
            break
    return wrong + _finished(found, command, store, known)


def _finished(found: Study, command: Sequence[str], store: Path, known: dict[str, list[str]]) -> list[str]:
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    now = sessions(found, store)
    return ([f"the last run ended with {done.returncode}: {done.stderr[-500:]}"] if done.returncode else []) + [
        f"the last run did {key} again" for key in known if now.get(key) != known[key]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--scale", default="")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--within", type=float, default=120.0, help="seconds after a start, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path, help="default: a new one")
    parser.add_argument("--against", type=Path, help="a store in which nobody killed it (default: it is run again)")
    options = parser.parse_args()
    found = verb.narrowed(study.find(options.study, options.scale), options.only)
    draw = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        store, whole = options.store or Path(folder) / "killed", options.against or Path(folder) / "whole"
        command = [sys.executable, "-m", "photofinish", "study", "run", options.study, "--quiet", "--json",
                   *(["--scale", options.scale] if options.scale else []),
                   *(word for each in options.only for word in ("--only", each))]
        wrong = killed(found, [*command, "--store", str(store)], store,
                       [draw.uniform(0, options.within) for _ in range(options.times)])
        if options.against is None:
            subprocess.run([*command, "--store", str(whole)], stdout=subprocess.DEVNULL, check=True)
        ours, theirs = cells(found, store), cells(found, whole)
        wrong += [f"{(ours.get(key) or theirs[key])[0]}: {ours.get(key)}, and where nobody killed it {theirs.get(key)}"
                  for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)]
    print("\n".join(wrong) or f"{len(ours)} cells, as where nobody killed it")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
