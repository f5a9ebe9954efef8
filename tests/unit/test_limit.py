"""Holding a process to so many bytes: by a control group of either version, else by the process' own limit."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from photofinish.runner import limit

SIZE = 64 * 2**20


@pytest.mark.parametrize(("controller", "files"), [
    ("", {"memory.max": str(SIZE), "memory.swap.max": "0"}),
    ("memory", {"memory.limit_in_bytes": str(SIZE), "memory.memsw.limit_in_bytes": str(SIZE)})])
def test_a_group_is_made_below_our_own_limited_and_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          controller: str, files: dict[str, str]) -> None:
    own, make = tmp_path / "sys/fs/cgroup" / controller / "ours", Path.mkdir
    own.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"{4 if controller else 0}:{controller}:/ours\n")

    for left in ("photofinish-999999999-a1", f"photofinish-{os.getpid()}-b2"):  # whose makers are gone, and here
        (own / left).mkdir()

    def mkdir(path: Path) -> None:
        """As the kernel does it: with the files of a group in it."""
        make(path)
        for name in files if path.parent == own else ():
            (path / name).write_text("")

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(limit, "PATIENCE", 0.0)  # a real folder with files is not removed
    with limit.held(1234, SIZE, tmp_path) as how:
        beside, group = sorted(own.glob("photofinish-*"), key=lambda each: (each / "cgroup.procs").exists())
        assert beside.name == f"photofinish-{os.getpid()}-b2"
        assert how == "cgroup" and (group / "cgroup.procs").read_text() == "1234"
        assert {name: (group / name).read_text() for name in files} == files


def test_without_a_group_the_process_is_refused_more(tmp_path: Path) -> None:
    """And a group without the controller is of no use."""
    with subprocess.Popen([sys.executable, "-c", "input(); bytearray(512 << 20)"], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
        with limit.held(process.pid, SIZE, tmp_path) as how:
            assert how == "RLIMIT_DATA"
            assert resource.prlimit(process.pid, resource.RLIMIT_DATA) == (SIZE, SIZE)
            assert b"MemoryError" in process.communicate(b"\n")[1]
        assert list((tmp_path / "sys/fs/cgroup").iterdir()) == []
