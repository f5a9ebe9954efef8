"""A process outside the race that outlives it by a moment: when the parent goes, however it goes, every process
of its workers is killed, its scratch folder is removed, and what the parent could no longer write down is written for
it.

The parent writes lines of JSON: each mark that it puts into its workers' environment, and its will, which it revokes
when it ends by itself. When the pipe closes the watchdog kills whatever carries a mark and then executes the will.
Marks and not process groups, because compilers start sessions.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

MARK = "PHOTOFINISH_MARK"


def mark_of(name: str) -> str:
    """A mark for one worker of this process; every mark of a process starts with its id."""
    return f"{os.getpid()}-{name}"


def children(parent: int | None = None) -> list[int]:
    """The living workers of this process, or of another that may be gone, and whatever they started."""
    return [pid for pid, mark in _marked() if mark.startswith(f"{parent or os.getpid()}-") and not _zombie(pid)]


def carriers(*marks: str) -> list[int]:
    """Process ids whose environment carries one of the marks."""
    wanted = set(marks)
    return [pid for pid, mark in _marked() if mark in wanted]


def _marked() -> Iterator[tuple[int, str]]:
    """The processes whose environment carries a mark, and which (none where /proc is missing)."""
    sign = f"{MARK}=".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # gone meanwhile, or another user's
        yield from ((int(entry.name), each[len(sign):].decode(errors="replace")) for each in variables
                    if each.startswith(sign))


def kill_carriers(marks: Iterable[str], patience: float = 5.0) -> None:
    """SIGKILL to every process with one of the marks, again until none is left."""
    wanted, deadline = list(marks), time.monotonic() + patience
    while True:
        alive = [pid for pid in carriers(*wanted) if pid != os.getpid() and not _zombie(pid)]
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
    """Started by the parent before its first worker; `watch(mark)` for each mark, `will(...)` for what it would have
    written down of its own sudden end."""

    def __init__(self) -> None:
        script = str(Path(__file__).resolve())
        self._process = subprocess.Popen([sys.executable, "-I", script], stdin=subprocess.PIPE, text=True,
                                         start_new_session=True, stdout=subprocess.DEVNULL)

    def watch(self, mark: str) -> None:
        self._tell(mark=mark)

    def clear(self, folder: Path) -> None:
        """To be removed once the watch has ended, however it ends."""
        self._tell(folder=str(folder))

    def will(self, database: Path, statement: str, rows: Sequence[Sequence[str]]) -> None:
        """To be executed on that SQLite database, once for each row, if the parent goes before `close`."""
        self._tell(will=[str(database), statement, rows])

    def close(self) -> None:
        """Ends the watch: whatever is left of the watched processes is killed now, and no will is executed."""
        assert self._process.stdin is not None
        self._tell(revoked=True)
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, **message: object) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it was killed: the race goes on without
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


def main() -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    told = [json.loads(line) for line in iter(sys.stdin.readline, "")]
    kill_carriers([each["mark"] for each in told if "mark" in each])
    for folder in [each["folder"] for each in told if "folder" in each]:
        shutil.rmtree(folder, ignore_errors=True)
    if any("revoked" in each for each in told):
        return
    for database, statement, rows in [each["will"] for each in told if "will" in each]:
        with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
            connection.executemany(statement, rows)


if __name__ == "__main__":
    main()
