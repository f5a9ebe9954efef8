"""A worker that lies, floods or dies on purpose: the real one with its answers tampered with.

`python bad_worker.py FAULT`. Answers go through a second hold on the pipe, which the real worker does not know of.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from photofinish import worker

FAULT = sys.argv[1]
PIPE = os.dup(1)
Reply = dict[str, Any]


def say(text: str) -> None:
    os.write(PIPE, text.encode())


def times(change: Callable[[list[float]], list[float]]) -> Callable[[Reply, Reply], Reply]:
    def tamper(request: Reply, reply: Reply) -> Reply:
        return dict(reply, seconds=change(reply["seconds"])) if request["do"] == "block" else reply
    return tamper


def dying(end: Callable[[], Any]) -> Callable[[Reply, Reply], Reply]:
    def tamper(request: Reply, reply: Reply) -> Reply:
        if request["do"] == "block":
            end()
        return reply
    return tamper


def flooding(text: str, count: int = 1) -> Callable[[Reply, Reply], Reply]:
    def tamper(request: Reply, reply: Reply) -> Reply:
        if request["do"] == "block":
            for _ in range(count):
                say(text)
        return reply
    return tamper


def noisy(request: Reply, reply: Reply) -> Reply:
    if request["do"] == "block":
        for _ in range(64):
            os.write(2, b"noise " * 10_000)
        time.sleep(60)
    return reply


def chatty(request: Reply, reply: Reply) -> Reply:
    """Two lines where one was due: the second would pass for the next answer."""
    say(2 * (json.dumps(reply) + "\n"))
    return reply


def misshapen(request: Reply, reply: Reply) -> Reply:
    """Outputs of the wrong shape, in the proof and in what was predicted."""
    files = [request["outputs"]] if request["do"] == "predict" else reply.get("written", [])
    for path in map(Path, files):
        if path.name in ("inference.npz", "outputs.npz", "guesses.npz"):
            with np.load(path) as file:
                cut = {name: values[:1] for name, values in file.items()}
            np.savez(path, **cut)
    return reply


def vanishing(request: Reply, reply: Reply) -> Reply:
    """Says that it wrote what it did not."""
    for path in map(Path, reply.get("written", [])):
        path.unlink()
    return reply


def kind(request: Reply, reply: Reply) -> Reply:
    """A failure of a kind that there is not."""
    return {"ok": False, "kind": "laziness", "message": "no"} if request["do"] == "block" else reply


def forgetful(request: Reply, reply: Reply) -> Reply:
    """Tells another loss than that of what it was given to learn."""
    return dict(reply, loss=1.01 * reply["loss"]) if request["do"] == "epoch" else reply


FAULTS: dict[str, Callable[[Reply, Reply], Reply]] = {
    "protocol": lambda request, reply: reply,
    "nan": times(lambda seconds: [float("nan")] * len(seconds)),
    "huge": times(lambda seconds: [10**400] * len(seconds)),
    "negative": times(lambda seconds: [-each for each in seconds]),
    "zero": times(lambda seconds: [0.0] * len(seconds)),
    "few": times(lambda seconds: seconds[1:]),
    "words": times(lambda seconds: ["fast"] * len(seconds)),  # type: ignore[list-item]
    "silent": lambda request, reply: {"ok": True},
    "wordy": lambda request, reply: dict(reply, held={**reply["held"], "heap": 1}) if "held" in reply else reply,
    "list": flooding("[1]\n"),
    "garbage": flooding("this is no JSON\n"),
    "nested": flooding("[" * 100_000 + "\n"),
    "endless": flooding("x" * 1_000_000, 80),
    "chatty": chatty,
    "noisy": noisy,
    "exit": dying(lambda: os._exit(3)),
    "killed": dying(lambda: os.kill(os.getpid(), signal.SIGKILL)),
    "nameless": dying(lambda: os.kill(os.getpid(), signal.SIGRTMIN + 3)),
    "shape": misshapen,
    "vanishing": vanishing,
    "forgetful": forgetful,
    "kind": kind,
}


def main() -> None:
    honest = worker.answer

    def answer(holder: worker.Worker, request: Reply) -> Reply:
        asked = dict(request)
        return FAULTS[FAULT](asked, honest(holder, request))

    worker.answer = answer
    if FAULT == "protocol":
        worker.PROTOCOL = 99
    worker.main()


main()
