"""A contestant in another Python: drives a worker through the protocol with the verbs the parity tests use.

For frameworks that the tests' own Python lacks and that have an environment (photofinish env create NAME). A worker
is kept for all tests of a framework: importing one takes seconds.
"""

import atexit
import itertools
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from photofinish.environments import Environment, frameworks
from photofinish.frameworks import Arrays, Contestant, Differences, Setup, Unsupported
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer, optimizer_json
from photofinish.runner.course import NOT_INHERITED, abroad
from photofinish.runner.parcel import pack
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.runner.watchdog import mark_of

PATIENCE = 600.0  # seconds for any answer: some compile


class Remote(Contestant):
    """The contestant of an environment. A batch that was fed, and what a step returned, are files."""

    def __init__(self, environment: Environment, setup: Setup) -> None:
        super().__init__(setup)
        self.link = link(environment.python, environment.framework.name)
        self.link.holder = self
        self.known = self._ask("load", framework=environment.framework.name, setup=asdict(setup), sabotage={})["facts"]
        self.other: Differences = []

    def facts(self) -> dict[str, Any]:
        return dict(self.known)

    def build(self, graph: Graph, batch: int, optimizer: Optimizer | None = None) -> None:
        path = self.link.file("graph.json")
        path.write_text(json.dumps(graph.to_json()))
        reply = self._ask("build", graph=str(path), batch=batch, optimizer=optimizer and optimizer_json(optimizer))
        self.other = [(what, ours, theirs) for what, ours, theirs in reply["differences"]]

    def differences(self) -> Differences:
        return self.other

    def put(self, arrays: Arrays) -> None:
        self._verb("put", self._written(arrays))

    def get(self) -> Arrays:
        return self.read(self._verb("get", self._written({})))

    def feed(self, arrays: Arrays) -> Path:
        return self._written(arrays)

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
            return dict(file)

    def _ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self.link.holder is self, "the worker holds a later contestant"
        return self.link.ask(do, **arguments)

    def _verb(self, name: str, given: Path) -> Path:
        result = self.link.file(f"{name}.npz")
        self._ask("verb", name=name, given=str(given), result=str(result))
        return result

    def _written(self, arrays: Arrays) -> Path:
        path = self.link.file("given.npz")
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path


class Link:
    """The worker of one framework, started again after one has died, and the folder of its files."""

    def __init__(self, python: Path, framework: str) -> None:
        self.python, self.framework = python, framework
        self.folder = Path(tempfile.mkdtemp(prefix=f"photofinish-{framework}-"))
        self.script = pack(self.folder / "worker")
        self.numbers = itertools.count()
        self.worker: WorkerProcess | None = None
        self.holder: Remote | None = None  # whose contestant the worker has now
        atexit.register(self.close)

    def file(self, name: str) -> Path:
        """A path for a new file."""
        return self.folder / f"{next(self.numbers)}-{name}"

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Raises Unsupported and WorkerFailed."""
        if do == "load" and (self.worker is None or not self.worker.alive):
            self.worker = self._started()
        assert self.worker is not None
        try:
            return self.worker.ask(do, PATIENCE, **arguments)
        except WorkerFailed as error:
            if error.kind == "unsupported":
                raise Unsupported(error.message.partition(": ")[2] or error.message) from None
            raise AssertionError(f"{self.framework}: {error.kind}: {error.message}\n{error.log}") from None

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self) -> WorkerProcess:
        kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        cache = str(self.folder / "cache")
        asked = {name: value.replace("{cache}", cache)
                 for name, value in frameworks()[self.framework].environment.items()}
        return WorkerProcess([str(self.python), str(self.script)], {**abroad(str(self.python), kept), **asked},
                             self.folder / "worker.log", mark_of(f"remote-{self.framework}"), PATIENCE)


@lru_cache(maxsize=None)
def link(python: Path, framework: str) -> Link:
    return Link(python, framework)
