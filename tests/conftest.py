"""What tests of several rooms share: the command line, run in this process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parity import proven
from photofinish import cli
from photofinish.errors import UsageError
from photofinish.runner import links
from photofinish.values import Link

os.environ.setdefault("PHOTOFINISH_ENVIRONMENTS", "never")  # no test downloads anything unless it says so


SLOW = "parity/test_models.py"  # a model's proof takes up to a minute and a half


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker begins with its share of the slow tests, so that what is left to steal at the end is short. Worksteal
    gives each of them a slice of the list; a model's cases stay together, for they share the reference."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    slow = [item for item in items if SLOW in item.nodeid]
    short = [item for item in items if SLOW not in item.nodeid]
    items[:] = [item for worker in range(workers) for kind in (slow, short)
                for item in kind[len(kind) * worker // workers:len(kind) * (worker + 1) // workers]]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Keeps what `make prove` proved. Only the process that hears all workers has this report."""
    if proven.AGAIN in os.environ:
        passed, failed = (dict(value for report in terminalreporter.getreports(outcome)
                               for name, value in report.user_properties if name == proven.PROPERTY)
                          for outcome in ("passed", "failed"))
        proven.keep(passed, failed)


@pytest.fixture
def linked() -> None:
    """A machine on which processes can have hosts of their own."""
    try:
        links.check(Link(1e8))
    except UsageError as error:
        pytest.skip(str(error).replace("\n", ": "))


@dataclass(frozen=True)
class Run:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def denormals() -> Iterator[None]:
    """A matched contender of PyTorch flushes them to zero for its whole process: the next test's arithmetic, NumPy's
    too, keeps them again."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Run]:
    """Runs `photofinish ARGUMENTS` in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> Run:
        capsys.readouterr()
        code = cli.run(arguments)
        said = capsys.readouterr()
        return Run(code, said.out, said.err)
    return run


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Run]:
    """Runs `python -m photofinish ARGUMENTS` in a process of its own, in an empty folder."""
    def run(*arguments: str, environment: dict[str, str] | None = None, **options: Any) -> Run:
        done = subprocess.run([sys.executable, "-m", "photofinish", *arguments], cwd=tmp_path, text=True,
                              capture_output=True, env={**os.environ, **(environment or {})}, **options)
        return Run(done.returncode, done.stdout, done.stderr)
    return run
