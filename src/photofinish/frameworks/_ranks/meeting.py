"""How the processes of a strategy find each other: each leaves a note in the folder where they meet, which the others
wait for."""

import os
import socket
import time
from pathlib import Path

from photofinish.frameworks import Setup

HOST = "PHOTOFINISH_HOST"  # the variable with the address of a process that has a host of its own (runner/links)
PATIENCE = 600.0  # seconds for another process to come; who is waited for has its own time-out


def leave(setup: Setup, words: str) -> None:
    """A note in this process' name: whole, or not there."""
    draft = Path(setup.meeting) / "draft-{}".format(setup.rank)
    draft.write_text(words)
    draft.rename(draft.with_name("note-{}".format(setup.rank)))


def find(setup: Setup, rank: int) -> str:
    """The note of that process. Raises TimeoutError."""
    note = Path(setup.meeting) / "note-{}".format(rank)
    deadline = time.time() + PATIENCE
    while not note.exists():
        if time.time() > deadline:
            raise TimeoutError("process {} did not come to the meeting".format(rank))
        time.sleep(0.01)
    return note.read_text()


def own_address() -> str:
    """On this machine, or on the link to the others, with a port that was free a moment ago."""
    with socket.socket() as taken:
        taken.bind((os.environ.get(HOST, "127.0.0.1"), 0))
        return "{}:{}".format(*taken.getsockname())
