"""The contenders the parity tests compare with NumPy: every framework file, in every mode and layout."""

import warnings
from functools import lru_cache

import pytest

from photofinish import environments, frameworks
from photofinish.frameworks import Contestant, Setup
from photofinish.values import Contender

CHEAP_MODES = ("eager", "graph", "reference")  # the others compile for long: they are tried on one graph of everything


def contenders(cheap: bool) -> list[Contender]:
    """Found by their headers, without importing anything; the first layout listed is the default."""
    found = []
    for info in environments.frameworks().values():
        layouts = info.options.get("layout", ())
        for mode in info.modes:
            if (mode in CHEAP_MODES) == cheap:
                found.append(Contender(info.name, mode))
                found += [Contender(info.name, mode, (("layout", layout),)) for layout in layouts[1:]]
    return found


@lru_cache(maxsize=None)
def _load(framework: str) -> type[Contestant]:
    with warnings.catch_warnings():  # what a framework says while it is imported is its own affair
        warnings.simplefilter("ignore")
        return frameworks.load(framework)


def make(contender: Contender, seed: int = 0) -> Contestant:
    """A fresh contestant in float32 on the CPU. Skips the test if the framework is not installed."""
    info = environments.frameworks()[contender.framework]
    if environments.installed_version(info) is None:
        pytest.skip(f"{info.title} is not installed")
    return _load(contender.framework)(Setup(contender.mode, dict(contender.options), seed=seed))
