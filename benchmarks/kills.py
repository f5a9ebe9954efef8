"""Kills one role of a race of several processes at random moments: the launcher, rank 0, rank 1, in turn.

Aim: always a recorded failure (of its contender where a rank was killed, of the race where the launcher was), never
a process left behind, never a hang.

    python -m benchmarks.kills --times 20 --contenders 'torch:eager[threads=1],torch:eager+ddp[2]' --model digits_cnn
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from photofinish.runner.watchdog import MARK

LAUNCHER = "launcher"
ROLES = (LAUNCHER, "0", "1")
LEFT_BEHIND = 15.0  # seconds after its end in which everything that a race started must be gone


def ranks(store: Path) -> dict[int, int]:
    """{rank: process id} of those of a race kept in that folder that are alive."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes().decode(errors="replace")
            if f"{store}/race-" in (entry / "cmdline").read_bytes().decode() and "-rank" in told:
                mark = next(each for each in told.split("\0") if each.startswith(f"{MARK}="))
                found[int(mark.rpartition("-rank")[2])] = int(entry.name)
        except (OSError, StopIteration):
            continue
    return found


def strike(role: str, after: float, model: str, contenders: str, store: Path, limit: float,
           extra: tuple[str, ...] = ()) -> str:
    """What went otherwise than it must when that role is killed so many seconds after there are ranks; "" if nothing
    did."""
    command = [sys.executable, "-m", "photofinish", "race", model, "-c", contenders, "--threads", "2", "--no-certify",
               "--json", "--store", str(store), *extra]
    race = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + limit
    while race.poll() is None and len(ranks(store)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(after)
    victim = race.pid if role == LAUNCHER else None
    while victim is None and race.poll() is None:  # between two launches there are none
        victim = ranks(store).get(int(role))
    if victim is None or race.poll() is not None:
        race.kill()
        return f"the race was over before, with exit code {race.wait()}: choose a shorter --within"
    os.kill(victim, signal.SIGKILL)
    try:
        told, _ = race.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        race.kill()
        return f"it hung for {limit:.0f} s"
    deadline = time.monotonic() + LEFT_BEHIND
    while ranks(store) and time.monotonic() < deadline:
        time.sleep(0.02)
    if ranks(store):
        return f"ranks {sorted(ranks(store))} were left behind"
    return _race_not_recorded(store) if role == LAUNCHER else _not_recorded(told, role)


def _not_recorded(told: str, role: str) -> str:
    failures = [each["failure"] for each in json.loads(told)["contenders"] if each["failure"]] if told.strip() else []
    said = f"rank {role} of 2: was killed by SIGKILL"
    return "" if any(said in each["message"] for each in failures) else f"no failure says {said!r}, but {failures}"


def _race_not_recorded(store: Path) -> str:
    found = subprocess.run([sys.executable, "-m", "photofinish", "report", "last", "--json", "--store", str(store)],
                           capture_output=True, text=True, check=False)
    if not found.stdout.strip():
        return f"nothing can be read of it: {found.stderr}"
    return "" if json.loads(found.stdout)["interrupted"] else "its end is not recorded"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--model", default="digits_cnn")
    parser.add_argument("--contenders", default="torch:eager[threads=1],torch:eager+ddp[2]")
    parser.add_argument("--within", type=float, default=12.0, help="seconds after there are ranks, at most")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds after which a race hangs")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw, wrong = random.Random(options.seed), 0
    for number in range(options.times):
        role, after = ROLES[number % len(ROLES)], draw.uniform(0, options.within)
        with TemporaryDirectory() as folder:
            begin = time.monotonic()
            said = strike(role, after, options.model, options.contenders, Path(folder).resolve(), options.limit,
                          ("--launches", "4"))
        wrong += bool(said)
        print(f"{number + 1:3} {role if role == LAUNCHER else 'rank ' + role} after {after:.1f} s: "
              f"{said or 'as it must'} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{options.times - wrong} of {options.times} as they must")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
