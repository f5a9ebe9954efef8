"""A contestant in a worker, driven verb by verb: what a worker leaves to its parent is done through it.

Proofs and probes are the same for everybody, so a worker in another language need not have them: it says so in its
hello, and we run them here. Only products and steps are computed there.
"""

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile

import numpy as np

from photofinish.frameworks import Arrays, Contestant, Differences, Given, Unsupported
from photofinish.graph import Graph
from photofinish.measure import probes, proof
from photofinish.optimizers import Optimizer, optimizer_json
from photofinish.runner.process import Worker, WorkerFailed

Ask = Callable[..., dict[str, Any]]  # a request and its arguments to the answer
PROOFS: dict[str, Callable[..., Any]] = {
    "prove": proof.run, "confirm": proof.confirm, "free_runs": proof.free_runs}

# What arrays raise that are missing, cut short, called or shaped otherwise than was asked for.
SENSELESS = (OSError, LookupError, ValueError, TypeError, AttributeError, EOFError, BadZipFile)


class Remote(Contestant):
    """The contestant that a worker has loaded. A batch that was fed, and what a step returned, are files in a folder;
    what was read is gone from it."""

    def __init__(self, ask: Ask, folder: Path, facts: dict[str, Any]) -> None:
        self.ask = ask
        self.folder = folder
        self.known = facts
        self.numbers = itertools.count()
        self.other: Differences = []

    def facts(self) -> dict[str, Any]:
        return dict(self.known)

    def build(self, graph: Graph, batch: int, optimizer: Optimizer | None = None) -> None:
        path = self._file("graph.json")
        path.write_text(json.dumps(graph.to_json()))
        reply = self.ask("build", graph=str(path), batch=batch, optimizer=optimizer and optimizer_json(optimizer))
        self.other = [(what, ours, theirs) for what, ours, theirs in reply["differences"]]

    def differences(self) -> Differences:
        return self.other

    def put(self, arrays: Given) -> None:
        given = self.feed(dict(arrays))
        self._verb("put", given)
        given.unlink()

    def get(self) -> Arrays:
        return self.read(self._verb("get", self.feed({})))

    def feed(self, arrays: Arrays) -> Path:
        path = self._file("given.npz")
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    def train_step(self, batch: Path) -> Path:
        return self._verb("train_step", batch)

    def infer(self, batch: Path) -> Path:
        return self._verb("infer", batch)

    def gradients(self, batch: Path) -> Arrays:
        return self.read(self._verb("gradients", batch))

    def wait(self, handle: Path) -> None:
        """The answer came when the work was done."""

    def read(self, handle: Path) -> Arrays:
        with np.load(handle) as file:
            found = dict(file)
        handle.unlink()
        return found

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        try:
            return self.read(self._verb(name, self.feed(arrays)))
        except WorkerFailed as error:
            if error.kind == "unsupported":
                raise Unsupported(error.message) from None
            raise

    def witness(self) -> dict[str, Any]:
        """What only the worker itself can see: `threads`, while a large matrix product repeats, and `evidence`."""
        return self.ask("witness", given=str(self.feed(probes.busy_operands())))

    def _verb(self, name: str, given: Path) -> Path:
        result = self._file(f"{name}.npz")
        self.ask("verb", name=name, given=str(given), result=str(result))
        return result

    def _file(self, name: str) -> Path:
        return self.folder / f"{next(self.numbers)}-{name}"


def prove(worker: Worker, patience: float, facts: dict[str, Any], folder: Path, label: str, do: str = "prove",
          **options: bool) -> None:
    """Has the worker do its part of the proof in `folder`: itself, or driven from here if it leaves that to us. `facts`
    are what it said when it was loaded. Raises WorkerFailed."""
    if do not in worker.leaves:
        worker.ask(do, patience, folder=str(folder), label=label, **options)
        return
    with _driven(worker, patience, facts, folder) as remote:
        PROOFS[do](lambda: remote, folder, label, **options)


def probe(worker: Worker, patience: float, facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the probes of the audit see of the worker's contender, run there or from here, with files in a folder of
    that one. Raises WorkerFailed."""
    if "probe" not in worker.leaves:
        return worker.ask("probe", patience)["probes"]  # type: ignore[no-any-return]
    with _driven(worker, patience, facts, folder) as remote:
        seen = remote.witness()
        return {**probes.run(remote, lambda contestant: seen["threads"]), "evidence": seen["evidence"]}


@contextmanager
def _driven(worker: Worker, patience: float, facts: dict[str, Any], within: Path) -> Iterator[Remote]:
    """Its files lie in the scratch folder of the race, which is removed even if this process is killed. Raises
    WorkerFailed for what it left out of them, or should not have put there."""
    def ask(do: str, **arguments: Any) -> dict[str, Any]:
        return worker.ask(do, patience, **arguments)

    with TemporaryDirectory(prefix="driven-", dir=within) as folder:
        try:
            yield Remote(ask, Path(folder), facts)
        except BrokenPipeError:  # of who is told of signs of life
            raise
        except SENSELESS as error:
            raise WorkerFailed("protocol", f"left arrays that cannot be used: {type(error).__name__}: {error}",
                               worker.log_tail()) from error
