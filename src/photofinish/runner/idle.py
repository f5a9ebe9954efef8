"""Whether the processes of a contender still do something. Who waits for what never comes computes nothing, reads no
file and sends nothing: to wait out the time-out of such a request, half an hour for some, would tell nobody more.

It is told from /proc, and so on Linux alone. What a GPU does, or another machine, is not seen.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from photofinish.measure import system
from photofinish.runner.watchdog import carriers

LIMIT = 120.0  # seconds without doing anything, after which nothing is expected any more
BEGIN = 20.0  # seconds of a request before the first look: the blocks that are timed are over by then
COMPUTES = 0.05  # of a core, for each process: threads that ask every millisecond whether there is news take less
SENDS = 10_000  # bytes a second, for all: processes that only tell each other that they live send less


class Idleness:
    """Of processes that carry certain marks, with whatever they started; looked at every few seconds."""

    def __init__(self, marks: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.marks = marks
        self._clock = clock
        self._since = clock()
        self._computed, self._sent = self._done()[:2]

    def look(self) -> float:
        """Seconds for which they have done nothing, as far as it was looked."""
        computed, sent, waits_for_disk = self._done()
        seconds = self._clock() - self._since
        if (waits_for_disk or abs(computed - self._computed) > COMPUTES * len(self.marks) * seconds
                or abs(sent - self._sent) > SENDS * seconds):  # a process that has ended takes its sums with it
            self._since, self._computed, self._sent = self._clock(), computed, sent
            return 0.0
        return seconds

    def _done(self) -> tuple[float, int, bool]:
        """Seconds of processors, bytes on the links that are theirs alone, and whether one waits for a disk."""
        found = carriers(*self.marks)
        states = [fields for pid in found if (fields := system.state_of(pid))]
        ticks = sum(sum(map(int, fields[11:15])) for fields in states)  # user and system, and their buried children's
        return ticks / system.TICKS, sum(map(sent, found)), any(fields[0] == "D" for fields in states)


def sent(pid: int) -> int:
    """Bytes that the devices of its network have sent and received, if that is not this process's network; 0 if it has
    gone."""
    try:
        if Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino:
            return 0
        rows = [row.split(":") for row in Path(f"/proc/{pid}/net/dev").read_text().splitlines() if ":" in row]
        return sum(int(numbers.split()[0]) + int(numbers.split()[8]) for name, numbers in rows if name.strip() != "lo")
    except OSError:
        return 0
