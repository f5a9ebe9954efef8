"""References that were computed before. Of a large model they take most of a proof, and no contender and no regime
changes them: who proves one contender more finds them here.

    <key>/reference/    what the reference left, sharing its files with the proof's folder where the disk can
    <key>/kept.json     written last: by whom, and whether its further free runs are there; its time is that of last use
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from photofinish import machine
from photofinish.environments import cache
from photofinish.errors import UsageError
from photofinish.graph import Graph
from photofinish.measure import proof, split
from photofinish.runner.parcel import adapter_digest, rules_digest
from photofinish.runner.witnesses import Witness

WORTH = 60.0  # seconds that computing one took: what takes less is computed again
STALE = 24 * 3600.0  # seconds after which nobody is still writing or removing what is half there
SHARE = 0.2  # of what the disk has free: together they take no more
TOLD = "kept.json"
CHUNK = 2**20


@dataclass(frozen=True)
class Found:
    """Who computed it (torch:eager; numpy:reference), and whether the free runs of all its draws are there."""

    by: str
    widened: bool


def root() -> Path | None:
    """Where they lie; None where nobody has said one and there is no home."""
    try:
        return cache.root().parent / "references"
    except UsageError:
        return None


def key(folder: Path, graph: Graph, able: Iterable[Witness], device: str, parts: int, forward_only: bool) -> str:
    """Everything that a reference depends on: the plan, weights and data in the proof's folder; the rules; who may
    compute it for a race on that device, in which versions."""
    digest = hashlib.sha256()
    for path in (folder / "plan.json", folder / "given.npz", Path(proof.__file__), Path(split.__file__)):
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    told = [rules_digest(), machine.hardware(device), parts, forward_only,
            *((each.name, adapter_digest(each.contender.framework, graph, each.contender.mode), each.home.version)
              for each in able)]
    digest.update(json.dumps(told).encode())
    return digest.hexdigest()


def adopt(name: str, folder: Path, where: Path) -> Found | None:
    """Puts the reference of that key into the proof's folder. None if there is none, or somebody is removing it."""
    kept = where / name
    try:
        found = Found(**json.loads((kept / TOLD).read_text()))
        share(kept / proof.REFERENCE, folder / proof.REFERENCE)
        os.utime(kept / TOLD)
    except (OSError, ValueError, TypeError):
        shutil.rmtree(folder / proof.REFERENCE, ignore_errors=True)
        return None
    return found


def keep(name: str, folder: Path, found: Found, where: Path) -> None:
    """Keeps what the proof's folder has, if computing it was worth it. Those that were not used for longest make room;
    what cannot be kept is computed again."""
    draft = where / f".{name}.{os.getpid()}"
    with suppress(OSError):
        told = json.loads((folder / proof.REFERENCE / "about.json").read_text())
        if told.get("seconds", 0.0) < WORTH:
            return
        share(folder / proof.REFERENCE, draft / proof.REFERENCE)
        (draft / TOLD).write_text(json.dumps(asdict(found)))
        _remove(where / name)
        draft.replace(where / name)
        _make_room(where)
    shutil.rmtree(draft, ignore_errors=True)


def _make_room(where: Path) -> None:
    for half in where.glob(".*"):
        if time.time() - half.stat().st_mtime > STALE:
            shutil.rmtree(half, ignore_errors=True)
    used = {path.parent: path.stat().st_mtime for path in where.glob(f"[!.]*/{TOLD}")}
    sizes = {each: sum(path.stat().st_size for path in each.rglob("*") if path.is_file()) for each in used}
    room = SHARE * (shutil.disk_usage(where).free + sum(sizes.values()))
    for oldest in sorted(used, key=lambda each: used[each]):
        if sum(sizes.values()) <= room:
            return
        _remove(oldest)
        del sizes[oldest]


def _remove(kept: Path) -> None:
    """All at once for whoever looks for it: half a reference would pass for a whole one."""
    gone = kept.with_name(f".{kept.name}.{os.getpid()}.gone")
    with suppress(FileNotFoundError):
        kept.replace(gone)
    shutil.rmtree(gone, ignore_errors=True)


def share(folder: Path, other: Path) -> None:
    """All of a folder's files under second names: who proves writes new ones beside them and none anew."""
    shutil.copytree(folder, other, copy_function=_link)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one that has no such thing
        shutil.copy2(source, target)
