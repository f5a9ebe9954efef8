"""A process outside the race that outlives nobody: when the parent goes, however it goes, every process
of its workers is killed.

The parent writes each mark it puts into its workers' environment as a line; when the pipe closes the
watchdog kills whatever carries one. Marks and not process groups, because compilers start sessions.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

MARK = "PHOTOFINISH_MARK"


def mark_of(name: str) -> str:
    """A mark for one worker of this process; every mark of a process starts with its id."""
    return f"{os.getpid()}-{name}"


def children(parent: int | None = None) -> list[int]:
    """The living workers of this process, or of another that may be gone, and whatever they started."""
    return [pid for pid in _with_environment(f"{MARK}={parent or os.getpid()}-".encode()) if not _zombie(pid)]


def carriers(mark: str) -> list[int]:
    """Process ids whose environment carries the mark (none where /proc is missing)."""
    return _with_environment(f"{MARK}={mark}\0".encode())


def _with_environment(needle: bytes) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes() + b"\0":
                found.append(int(entry.name))
        except OSError:
            continue  # gone meanwhile, or another user's
    return found


def kill_carriers(marks: Iterable[str], patience: float = 5.0) -> None:
    """SIGKILL to every process with one of the marks, again until none is left."""
    deadline = time.monotonic() + patience
    while True:
        alive = [pid for mark in marks for pid in carriers(mark) if pid != os.getpid() and not _zombie(pid)]
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if not alive or time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (OSError, IndexError):
        return True


class Watchdog:
    """Started by the parent before its first worker; `watch(mark)` for each mark."""

    def __init__(self) -> None:
        script = str(Path(__file__).resolve())
        self._process = subprocess.Popen([sys.executable, "-I", script], stdin=subprocess.PIPE, text=True,
                                         start_new_session=True, stdout=subprocess.DEVNULL)

    def watch(self, mark: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(mark + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Ends the watch: whatever is left of the watched processes is killed now."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    marks = [line.strip() for line in iter(sys.stdin.readline, "")]
    if marks:
        kill_carriers(marks)


if __name__ == "__main__":
    main()
