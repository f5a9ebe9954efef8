"""A sensor that follows a script, as the fake framework's clock does: a machine that draws `idle` watts, on top of
which come the joules that fake contenders say they spend.

The script is a folder: `idle` (watts) and `range` (joules until the counter starts again), and of each worker that has
spent any a file `*.joules` with its sum.
"""

import time
from pathlib import Path

DOMAIN = "scripted"


class Scripted:
    title = "a script"

    def __init__(self, folder: Path) -> None:
        """Raises OSError, ValueError if there is no such script."""
        self.folder = folder
        self.watts = float((folder / "idle").read_text())
        self.ranges = {DOMAIN: float((folder / "range").read_text())}

    def joules(self) -> dict[str, float]:
        spent = sum(float(path.read_text()) for path in self.folder.glob("*.joules"))
        return {DOMAIN: (self.watts * time.monotonic() + spent) % self.ranges[DOMAIN]}

    def busy(self, since: float) -> None:
        """The script says nothing of that."""
