"""The Pythons of this machine: found on PATH, under pyenv, uv and conda, and asked what they are."""

import importlib.machinery
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from photofinish.errors import UsageError

NEWEST = "<3.14"  # where a framework states no upper end, its wheels may not be there for anything newer
PATIENCE = 30.0  # seconds for an interpreter to say what it is
_NAMES = re.compile(r"python(3(\.\d+)?)?")
_PROBE = """
import json, os, platform, sys, sysconfig
executable = getattr(sys, "_base_executable", None) or sys.executable
print(json.dumps({"version": platform.python_version().rstrip("+"), "implementation": platform.python_implementation(),
                  "free": bool(sysconfig.get_config_var("Py_GIL_DISABLED")), "platform": sysconfig.get_platform(),
                  "base": os.path.realpath(executable), "paths": [each for each in sys.path if each]}))
"""


_FINDS = "from importlib.util import find_spec; print(find_spec({!r}) is not None)"


@dataclass(frozen=True)
class Interpreter:
    """A Python: the program that starts it, the interpreter it is in the end (that of a virtual environment is
    the one it was made with), and where it looks for modules."""

    python: Path
    base: Path
    version: str
    platform: str
    paths: tuple[str, ...]

    @property
    def minor(self) -> str:
        """"3.11"."""
        return ".".join(self.version.split(".")[:2])

    def packages(self) -> dict[str, str]:
        """The name of every installed package, normalised, and its version, in alphabetical order. They are read
        from this process, so that it does not matter how old the interpreter is."""
        found: dict[str, str] = {}
        for each in importlib.metadata.distributions(path=list(self.paths)):
            with suppress(UnicodeDecodeError):  # packages older than the rule for their records: nobody can tell them
                name, version = each.metadata["Name"], each.version
                if name and version:  # the first on the path is the one that is imported
                    found.setdefault(canonicalize_name(name), version)
        return dict(sorted(found.items()))

    def has(self, module: str) -> bool:
        """Whether it would find a module of that name at the top: in its folders, or, as what is installed to be
        edited, by a finder of its own."""
        return importlib.machinery.PathFinder.find_spec(module, list(self.paths)) is not None or \
            _said(self.python, _FINDS.format(module)) == "True"


def examine(python: Path) -> Interpreter | None:
    """What a Python is, asked of itself; None if it does not start, or is not the ordinary CPython 3."""
    try:
        found = json.loads(_said(python, _PROBE))
    except ValueError:
        return None
    if found["implementation"] != "CPython" or found["free"]:
        return None
    return Interpreter(python, Path(found["base"]), found["version"], found["platform"], tuple(found["paths"]))


def _said(python: Path, program: str) -> str:
    """The last line that a program prints there, after what its site says at the start; "" if it does not start."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        run = subprocess.run([str(python), "-I", "-c", program], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=PATIENCE, env=environment)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    return next(reversed(run.stdout.splitlines()), "")


@lru_cache(maxsize=1)
def own() -> Interpreter:
    """The Python that runs this, with the folders it looks in. Raises UsageError where races are not for it."""
    found = examine(Path(sys.executable))
    if found is None:
        raise UsageError(f"{sys.executable} does not start as an ordinary CPython 3, which Photofinish runs on",
                         "install Photofinish for one: a build without the GIL, or PyPy, is none")
    return replace(found, paths=tuple(filter(None, sys.path)))


def choose(requires: str) -> Interpreter | None:
    """The interpreter for a framework that asks for `requires` (">=3.6,<3.9"): this very version if it is in range,
    otherwise the newest that is and that wheels can be expected for."""
    wanted = SpecifierSet(requires)
    if wanted.contains(own().version):
        return own()
    found = [each for each in discovered() if wanted.contains(each.version)]
    usual = [each for each in found if SpecifierSet(NEWEST).contains(each.version)]
    return max(usual or found, key=lambda each: Version(each.version), default=None)


@lru_cache(maxsize=1)
def discovered() -> tuple[Interpreter, ...]:
    """Every Python that can be found, each once."""
    found: dict[Path, Interpreter] = {}
    for path in dict.fromkeys(_candidates()):
        each = examine(path)
        if each is not None:
            found.setdefault(each.base, each)
    return tuple(found.values())


def _within(folder: Path, pattern: str) -> list[Path]:
    """In the order of their names; none of a folder that is not there or may not be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _candidates() -> Iterator[Path]:
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  "~" itself for a user without a home, and nothing lies there
    pyenv = Path(os.environ.get("PYENV_ROOT") or home / ".pyenv")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    uv = Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or data / "uv" / "python")
    for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        # A shim is a script that may start no Python at all.
        if folder != pyenv / "shims":
            yield from (path for path in _within(folder, "*") if _NAMES.fullmatch(path.name))
    yield from _within(pyenv / "versions", "*/bin/python")
    yield from _within(uv, "*/bin/python3")
    for prefix in _conda(home):
        yield from (path for path in [prefix / "bin" / "python"] if path.exists())


def _conda(home: Path) -> Iterator[Path]:
    """The prefixes of conda's environments."""
    roots = [home / name for name in ("miniconda3", "miniforge3", "mambaforge", "anaconda3")]
    if os.environ.get("CONDA_EXE"):
        roots.insert(0, Path(os.environ["CONDA_EXE"]).parent.parent)
    for root in dict.fromkeys(roots):
        yield root
        yield from _within(root / "envs", "*")
    try:
        listed = os.fsdecode((home / ".conda" / "environments.txt").read_bytes()).split("\n")
    except OSError:
        return
    yield from (Path(line) for line in listed if line)
