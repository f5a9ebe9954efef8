"""The environments that were made, a folder each below one root: held while in use, removed when they take too much.

    <name>-<key>/environment    what the installer made
    <name>-<key>/install.log    what it said
    <name>-<key>/.complete      written last: what is in it; its time is when it was last used
    .locks/<name>-<key>         locked by whoever makes or removes it, or (shared) uses it, until that process ends
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from photofinish.errors import UsageError, at_home

LIMIT = "20 GB"
_held: dict[Path, IO[bytes]] = {}  # the locks of what this process uses


@dataclass(frozen=True)
class Made:
    """An environment that is there. `version` is the framework's, `asked` the one that was asked for ("" for the
    usual), `strategy` and `source` (of models) what it was made for; `python` what starts it, `packages` everything in
    it; `bytes` what it takes."""

    folder: Path
    framework: str
    version: str
    asked: str
    python: Path
    python_version: str
    packages: dict[str, str]
    bytes: int
    made: str
    strategy: str = ""
    source: str = ""

    @property
    def name(self) -> str:
        return spelled(self.framework, self.asked, self.strategy, self.source)

    @property
    def used(self) -> float:
        """Seconds since the epoch."""
        with suppress(OSError):
            return (self.folder / ".complete").stat().st_mtime
        return 0.0


def spelled(framework: str, version: str = "", strategy: str = "", source: str = "") -> str:
    """The name of an environment, as contenders are spelled: torch, torch@2.8.0, torch+horovod, torch[build=timm]."""
    return (framework + (f"@{version}" if version else "") + (f"+{strategy}" if strategy else "")
            + (f"[build={source}]" if source else ""))


def root() -> Path:
    """The folder of all environments. Raises UsageError where nobody has said one and there is no home."""
    chosen = os.environ.get("PHOTOFINISH_CACHE")
    if not chosen:  # a relative XDG_CACHE_HOME counts as none (XDG Base Directory Specification)
        shared = os.environ.get("XDG_CACHE_HOME", "")
        chosen = os.path.join(shared if os.path.isabs(shared) else "~/.cache", "photofinish")  # noqa: PTH117, PTH118
    return at_home(chosen, "say where environments may lie: PHOTOFINISH_CACHE=FOLDER").absolute() / "environments"


def limit() -> float:
    """What all environments together may take, in bytes. Raises UsageError."""
    text = os.environ.get("PHOTOFINISH_CACHE_LIMIT", LIMIT)
    match = re.fullmatch(r"(\d+(?:\.\d+)?) *([MG]B)", text.strip())
    if match is None:
        raise UsageError(f"PHOTOFINISH_CACHE_LIMIT is {text!r}", "write a size such as 20 GB or 500 MB")
    return float(match.group(1)) * {"MB": 1e6, "GB": 1e9}[match.group(2)]


def read(folder: Path) -> Made | None:
    """The environment in a folder of the cache; None unless it is complete."""
    try:
        told: dict[str, Any] = json.loads((folder / ".complete").read_text())
        return Made(**{**told, "folder": folder, "python": folder / told["python"]})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def complete(made: Made) -> None:
    """Says that the environment is there: from now on it can be used."""
    told = {**asdict(made), "python": str(made.python.relative_to(made.folder))}
    del told["folder"]
    draft = made.folder / ".complete.part"
    draft.write_text(json.dumps(told, indent=1))
    draft.replace(made.folder / ".complete")


def everything() -> list[Made]:
    """The complete environments, the last used first; none where nobody knows a folder for them."""
    try:
        folders = list(root().glob("*-*"))
    except UsageError:
        return []
    found = [read(folder) for folder in folders]
    return sorted((each for each in found if each is not None), key=lambda each: each.used, reverse=True)


def hold(folder: Path) -> Made | None:
    """The environment in a folder, which nobody can remove now until this process ends; None if it is not there, or
    is being made or removed at the moment."""
    if read(folder) is None:
        release(folder)  # somebody deleted what this process used: it must not wait for itself to make it again
        return None
    if folder not in _held:
        lock = _lock(folder, fcntl.LOCK_SH)
        if lock is None:
            return None
        _held[folder] = lock
    found = read(folder)
    if found is None:  # it was removed meanwhile
        release(folder)
        return None
    with suppress(OSError):  # of a cache that others fill; who may not write there removes nothing either
        (folder / ".complete").touch()
    return found


def release(folder: Path) -> None:
    """This process no longer uses it."""
    lock = _held.pop(folder, None)
    if lock is not None:
        lock.close()


@contextmanager
def alone(folder: Path) -> Iterator[int | None]:
    """Nobody else makes, removes or uses the environment inside; gives the descriptor that keeps the lock, which
    lasts as long as any process has it. None if somebody does already."""
    lock = _lock(folder, fcntl.LOCK_EX)
    if lock is None:
        yield None
        return
    with lock:
        yield lock.fileno()


def remove(folder: Path, unless_complete: bool = False) -> bool:
    """Removes an environment, complete or not; False if it is in use, or complete by now and to be kept then. Raises
    OSError where that is not allowed."""
    lock = _lock(folder, fcntl.LOCK_EX)
    if lock is None:
        return False
    with lock:
        if unless_complete and read(folder) is not None:
            return False
        (folder / ".complete").unlink(missing_ok=True)  # first: what is left half removed must not look complete
        shutil.rmtree(folder, ignore_errors=True)
    return True


def trim(most: float) -> list[Path]:
    """Removes what nobody uses, the longest unused first, until the rest takes at most so many bytes; before that,
    what an interrupted installation left behind. Gives the folders that are gone."""
    there = everything()
    left_behind = [folder for folder in root().glob("*-*") if folder not in {each.folder for each in there}
                   and (folder / "environment").exists()]  # the log of one that failed is kept
    gone = [folder for folder in left_behind if _removed(folder, unless_complete=True)]  # another may just be done
    total = sum(each.bytes for each in there)
    for each in reversed(there):
        if total <= most:
            break
        if _removed(each.folder):
            gone.append(each.folder)
            total -= each.bytes
    return gone


def _removed(folder: Path, unless_complete: bool = False) -> bool:
    with suppress(OSError):  # what others have made in a cache that all share
        return remove(folder, unless_complete)
    return False


def size_of(folder: Path) -> int:
    """Bytes on disk of everything below a folder, each file counted once however many links it has."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found = os.lstat(os.path.join(path, name))  # noqa: PTH118  a Path per file takes twice as long
                if (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * 512
    return total


def _lock(folder: Path, kind: int) -> IO[bytes] | None:
    """The lock of a folder, None if another has it in a way that excludes this one. Raises OSError where there is none
    and none can be made."""
    path = root() / ".locks" / folder.name
    file: IO[bytes]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")  # NFS gives a shared lock to readers alone
    except OSError:
        if not path.is_file():
            raise
        file = path.open("rb")  # of a cache that others fill: it can be held, too
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except OSError as error:  # a file system without locks: nobody has it, and nobody ever will
        file.close()
        raise OSError(error.errno, f"files cannot be locked there ({error.strerror})", str(path)) from error
    return file
