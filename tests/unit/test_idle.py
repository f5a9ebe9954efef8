"""When processes count as doing nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from photofinish.runner.idle import Idleness, sent
from photofinish.runner.watchdog import MARK, carriers

MARKED = f"{os.getpid()}-idle"
COMPUTING, SLEEPING = "while True: pass", "import time; time.sleep(600)"


@contextmanager
def marked(program: str) -> Iterator[int]:
    """The id of a process with the mark, which runs that program."""
    if not Path("/proc/self/environ").exists():
        pytest.skip("there is no /proc")
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", f"print(flush=True)\n{program}"],
                               env={MARK: MARKED}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()  # it has started, which is work, too
        yield process.pid
    finally:
        process.kill()
        process.communicate()


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_who_sleeps_does_nothing() -> None:
    clock = Clock()
    with marked(SLEEPING):
        idleness = Idleness([MARKED], clock)
        clock.now = 100.0
        assert idleness.look() == 100.0


def test_who_computes_does_something_but_not_for_ever() -> None:
    clock = Clock()
    with marked(SLEEPING):
        idleness = Idleness([MARKED], clock)
        with marked(COMPUTING) as process:
            while cpu(process) < 1:
                pass
            clock.now = 10.0
            assert idleness.look() == 0  # a second of ten is more than a twentieth
        clock.now = 20.0
        assert idleness.look() == 0  # what it had computed is gone with it
        clock.now = 50.0
        assert idleness.look() == 30.0


def test_bytes_count_where_the_network_is_theirs_alone() -> None:
    assert sent(os.getpid()) == 0
    assert carriers("nobody") == [] and Idleness(["nobody"], Clock()).look() == 0


def cpu(process: int) -> float:
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
