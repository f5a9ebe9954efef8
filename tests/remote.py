"""A contestant in another environment: drives a worker through the protocol with the verbs the parity tests use.

For frameworks that the tests' own Python lacks and that have an environment (photofinish env create NAME). A worker
is kept for all tests of a framework: importing one takes seconds.
"""

import atexit
import itertools
import os
import shutil
import tempfile
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from photofinish.environments import Environment, frameworks, start
from photofinish.frameworks import Setup, Unsupported
from photofinish.runner import remote
from photofinish.runner.course import NOT_INHERITED
from photofinish.runner.parcel import pack
from photofinish.runner.process import WorkerFailed, WorkerProcess
from photofinish.runner.watchdog import mark_of

PATIENCE = 600.0  # seconds for any answer: some compile


class Remote(remote.Remote):
    """The contestant of an environment, whose worker it shares with those before and after it."""

    def __init__(self, environment: Environment, setup: Setup, started_with: tuple[tuple[str, str], ...] = ()) -> None:
        """`started_with` are the options of the contender that are variables of its worker."""
        self.link = link(str(environment.python), environment.framework.name, started_with)
        self.link.holder = self
        loaded = self._held("load", framework=environment.framework.name, driver=environment.driver,
                            setup=asdict(setup), sabotage={})
        super().__init__(self._held, self.link.room(), loaded["facts"])

    def _held(self, do: str, **arguments: Any) -> dict[str, Any]:
        assert self.link.holder is self, "the worker holds a later contestant"
        return self.link.ask(do, **arguments)


class Link:
    """The worker of one framework, started again after one has died, and the folder of its files."""

    def __init__(self, python: str, framework: str, started_with: tuple[tuple[str, str], ...]) -> None:
        self.started_with = started_with
        self.home = Environment(Path(python), frameworks()[framework], "")
        self.folder = Path(tempfile.mkdtemp(prefix=f"photofinish-{framework}-"))
        self.rooms = pack(self.folder / "worker")
        self.numbers = itertools.count()
        self.worker: WorkerProcess | None = None
        self.holder: Remote | None = None  # whose contestant the worker has now
        atexit.register(self.close)

    def room(self) -> Path:
        """A new folder for the files of one contestant."""
        folder = self.folder / str(next(self.numbers))
        folder.mkdir()
        return folder

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Raises Unsupported and AssertionError."""
        if do == "load" and (self.worker is None or not self.worker.alive):
            self.worker = self._started()
        assert self.worker is not None
        try:
            return self.worker.ask(do, PATIENCE, **arguments)
        except WorkerFailed as error:
            if error.kind == "unsupported":
                raise Unsupported(error.message.partition(": ")[2] or error.message) from None
            raise AssertionError(f"{self.home.framework.name}: {error.kind}: {error.message}\n{error.log}") from None

    def close(self) -> None:
        if self.worker is not None:
            self.worker.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self) -> WorkerProcess:
        kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        variables = start.variables(self.home, kept, self.folder / "cache", self.started_with)
        return WorkerProcess(start.command(self.home, self.rooms), variables,
                             self.folder / "worker.log", mark_of(f"remote-{self.home.framework.name}"), PATIENCE)


@lru_cache(maxsize=None)
def link(python: str, framework: str, started_with: tuple[tuple[str, str], ...]) -> Link:
    return Link(python, framework, started_with)
