"""How often `photofinish gate` stops a build in which nothing changed, and whether it stops one that got slower.

    python -m benchmarks.gates --store gates --runs 30
    python -m benchmarks.gates --store gates --runs 3 --handicap 0.05 --launches 20

Without --handicap a contender is checked against itself in the same environment, which the baseline names by its
folder: FAILED is a false alarm. With it the candidate's steps take longer by that share. Contenders take turns. What is
in the store already is read from it: started again, it goes on where it was stopped. Exit code 1 on a false alarm, or
on a slow-down that passes.
"""

import argparse
import sys
from pathlib import Path

from photofinish import api
from photofinish.stats import regression
from photofinish.store import Store
from photofinish.values import Race
from photofinish.verbs import gate as verb

CONTENDERS = ("torch:eager", "tensorflow:graph")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30, help="%(default)s")
    parser.add_argument("--handicap", type=float, default=0.0, metavar="SHARE", help="what is planted (%(default)s)")
    parser.add_argument("--limit", type=float, default=0.03, metavar="SHARE", help="the gate's (%(default)s)")
    parser.add_argument("--launches", type=int, default=verb.LAUNCHES, help="of each run (%(default)s)")
    parser.add_argument("--budget", type=float, default=90.0, metavar="SECONDS",
                        help="of each run: how many rounds a launch has (%(default)s)")
    parser.add_argument("--model", default="digits_cnn", help="%(default)s")
    parser.add_argument("--batch", type=int, default=32, help="%(default)s")
    parser.add_argument("--store", type=Path, default=Path(".photofinish/gates"), help="%(default)s")
    options = parser.parse_args()
    outcomes: list[str] = []
    for number in range(options.runs):
        race, contender = _run(number, options)
        first, second = race.contenders
        found = regression.check(race, first, second, options.limit)
        assert found is not None, race.failures
        outcomes.append(found.outcome)
        print(f"{number + 1:2} {contender:17} {found.outcome:9} {found.ratio.value:.4f} ({found.ratio.low:.4f} to "
              f"{found.ratio.high:.4f})", flush=True)
    wrong = sum((each == regression.SLOWER) != (options.handicap > 0) for each in outcomes)
    said = "slow-downs that passed" if options.handicap else "false alarms"
    print(f"{said}: {wrong} of {len(outcomes)}; "
          f"{', '.join(f'{outcomes.count(each)} {each}' for each in dict.fromkeys(outcomes))}")
    return int(wrong > 0)


def _run(number: int, options: argparse.Namespace) -> tuple[Race, str]:
    """The race of that run, run now unless the store has it, and who is checked in it."""
    plain = CONTENDERS[number % len(CONTENDERS)]
    slower = f"{plain}[handicap={options.handicap}]"
    candidate, baseline = (slower, f"{plain}[handicap=0]") if options.handicap else (plain, sys.prefix)
    key = f"gate {options.model} {options.batch} {options.launches} {candidate} {number}"
    kept = Store(options.store)
    if key not in kept.settled():
        gate = verb.run(options.model, [candidate], baseline=baseline, max_slowdown=options.limit,
                            launches=options.launches, batch=options.batch, budget=options.budget, energy=False,
                            store=options.store)
        kept.settle(key, gate.checks[0].result.race.id.rpartition("-")[0])
    (result,) = api.load(kept.settled()[key][0], options.store)
    return result.race, candidate


if __name__ == "__main__":
    raise SystemExit(main())
