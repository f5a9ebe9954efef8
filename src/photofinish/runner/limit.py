"""Holding a worker to so many bytes of memory, from outside, whatever language it is in.

A control group where we may make one: it counts pages in use, as the machine does when it runs out of them, and the
kernel ends who exceeds it. Else RLIMIT_DATA: private memory that may be written, used or not; who asks for more is
refused it, and says so. RLIMIT_AS is of no use: frameworks reserve far more addresses than they fill.
"""

import os
import resource
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from photofinish import machine

GROUP, RLIMIT = "cgroup", "RLIMIT_DATA"
# What a group is limited by: version 2, version 1. Swap would only make it slow, where there is any.
FILES = (("memory.max", ("memory.swap.max", "0")), ("memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", "")))
PATIENCE = 2.0  # seconds for the kernel to let go of those that were killed


@contextmanager
def held(pid: int, size: int, root: Path = Path("/")) -> Iterator[str]:
    """Within the body the process, and what it starts, has `size` bytes; says by what it is held."""
    group = _group(size, root)
    if group is not None:
        try:
            if _joined(group, pid):
                yield GROUP
                return
        finally:
            _remove(group)
    with suppress(ProcessLookupError):  # it has gone: whoever asks it next is told so
        resource.prlimit(pid, resource.RLIMIT_DATA, (size, size))
    yield RLIMIT


def _joined(group: Path, pid: int) -> bool:
    """Not where the kernel refuses: then the other means are left."""
    try:
        (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        return False
    return True


def _group(size: int, root: Path) -> Path | None:
    """A new group below our own with that limit; None where we may not make one."""
    for controller, (limit, (swap, none)) in zip(("", "memory"), FILES):
        own = machine.control_group(root, controller)
        for left in own.glob("photofinish-*-*"):  # by who was killed before it could clear up
            if not Path("/proc", left.name.split("-")[1]).exists():
                with suppress(OSError):
                    left.rmdir()
        group = own / f"photofinish-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            group.mkdir()
        except OSError:
            continue
        with suppress(OSError):
            if (group / limit).exists():  # or the controller is not ours to hand on
                (group / limit).write_text(str(size))
                with suppress(OSError):
                    (group / swap).write_text(none or str(size))
                return group
        _remove(group)
    return None


def _remove(group: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:  # somebody is still in it
            time.sleep(0.02)
        else:
            return
