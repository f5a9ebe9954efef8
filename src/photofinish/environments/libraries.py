"""Shared libraries of the system under the names that an old binary asks for: links in a folder of their own."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from photofinish.environments import cache
from photofinish.errors import UsageError


def variable(wanted: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """Where a process finds what is `wanted`, a map from the name asked for to the library that stands in for it.

    What the system lacks is left out: the process says itself that it misses it. Raises UsageError where no link can
    be made.
    """
    known = {name: path for name in wanted if (path := _path_of(wanted[name])) is not None}
    if not known:
        return {}
    digest = hashlib.sha256(repr(sorted(known.items())).encode()).hexdigest()[:16]
    folder = cache.root().parent / "libraries" / digest
    try:
        for name, path in known.items():
            _link(folder / name, path)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}",
                         "make it writable, or name another folder: PHOTOFINISH_CACHE") from error
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, [str(folder), inherited.get("LD_LIBRARY_PATH", "")]))}


def _link(place: Path, path: Path) -> None:
    if place.is_symlink() and place.readlink() == path:  # in a folder that others may only read
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}.{os.getpid()}")  # another process may be making the same
    draft.unlink(missing_ok=True)
    draft.symlink_to(path)
    draft.replace(place)


@lru_cache(maxsize=None)
def _path_of(library: str) -> Path | None:
    """Where the dynamic linker finds a library of exactly that name."""
    program = shutil.which("ldconfig", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/sbin", "/usr/sbin"]))
    if program is None:
        return None
    told = subprocess.run([program, "-p"], capture_output=True, text=True).stdout
    found = re.search(rf"^\s+{re.escape(library)} \([^)]*64[^)]*\) => (.+)$", told, re.MULTILINE)
    return Path(found.group(1)) if found else None
