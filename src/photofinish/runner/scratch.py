"""The folder in which a race works: gone when it ends, whatever happens; that of one which was killed together with its
watchdog (a container that is stopped, a power cut) when the next begins in the same store."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "race-"
LOCK = ".in-use"  # locked as long as its process lives: a number would say nothing of another machine or container


@contextmanager
def scratch(root: Path) -> Iterator[Path]:
    """A new folder in `root`."""
    _clear(root)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root)).resolve()
    draft = folder / f"{LOCK}.draft"
    with draft.open("wb") as lock:
        with suppress(OSError):  # a file system without locks: nobody takes one there, and nothing is cleared
            fcntl.flock(lock, fcntl.LOCK_EX)
            draft.replace(folder / LOCK)  # under its name it is never seen unlocked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _clear(root: Path) -> None:
    """Removes what the killed left."""
    for path in root.glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError), path.open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)
