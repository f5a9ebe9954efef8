"""Modes that have a file each: `_<framework>/modes/<mode>.py`, with a class `Mode` that knows how functions run in it.

A mode is found by the name of its file (a dash in the mode is an underscore there), so that a new one is that file and
its name in the framework's header; and a certificate hangs on the file of its own mode alone.
"""

import importlib
import pkgutil
from typing import Any, Tuple

from photofinish.frameworks import Unsupported, module_of


def _package(framework: str) -> Any:
    return importlib.import_module("photofinish.frameworks._{}.modes".format(module_of(framework)))


def names(framework: str) -> Tuple[str, ...]:
    """The modes of the framework that have a file."""
    return tuple(sorted(each.name.replace("_", "-") for each in pkgutil.iter_modules(_package(framework).__path__)))


def find(framework: str, mode: str) -> Any:
    """The class of that mode. Raises Unsupported if the framework has no such mode."""
    if mode not in names(framework):
        raise Unsupported("{} has no mode {!r}: {}".format(framework, mode, ", ".join(names(framework))))
    return importlib.import_module("{}.{}".format(_package(framework).__name__, module_of(mode))).Mode
