"""How long `photofinish --help` takes as a whole process: at most 0.3 s."""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

RUNS = 15
LIMIT = 0.3


def main() -> None:
    command = [str(Path(sys.executable).with_name("photofinish")), "--help"]
    seconds = []
    for _ in range(RUNS + 1):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - begin)
    typical = median(seconds[1:])  # the first one fills the disk cache
    print(f"photofinish --help: {typical:.3f} s (median of {RUNS}), {'ok' if typical <= LIMIT else 'SLOW'}")


if __name__ == "__main__":
    main()
