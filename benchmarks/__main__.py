"""`make bench`: what the referee itself costs and how far it can be trusted, each measured side by side."""

import argparse
import subprocess
import sys

PARTS = ("help", "step_overhead", "probes", "idiom", "shipped", "placebo")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    failed = 0
    for part in parser.parse_args().parts or PARTS:
        print(f"== {part}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", f"benchmarks.{part}"], check=False).returncode
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
