"""The largest batch that fits, and what was tried to find it."""

from dataclasses import dataclass
from typing import Optional, Tuple

MAX = "max"  # what stands for a batch that is to be looked for: the smallest of the contenders' largest


@dataclass(frozen=True)
class Trial:
    """Whether a batch fits: a fresh process takes a few steps of it. `memory` is the peak resident set (bytes) it got
    to in them, `device_memory` the device allocator's (0 and None where it does not fit; then `kind` and `message` say
    what ended it). `held` is what kept it to the limit: "cgroup" (pages in use), "RLIMIT_DATA" (private memory that may
    be written, used or not) or "device"."""

    batch: int
    fits: bool
    memory: int = 0
    device_memory: Optional[int] = None
    seconds: float = 0.0
    kind: str = ""
    message: str = ""
    held: str = ""


@dataclass(frozen=True)
class LargestBatch:
    """The largest batch of a contender that fits into `limit` bytes (None: what the device has), out of `trials` in the
    order they were made. 0 if not even one sample does.

    `beyond` is the smallest that does not fit (None: none was found), `exact` whether it is the next size up.
    """

    contender: str
    batch: int
    beyond: Optional[int]
    exact: bool
    limit: Optional[int]
    task: str
    trials: Tuple[Trial, ...] = ()
