"""The contenders the parity tests compare with NumPy: every framework file, in every mode and layout."""

import warnings
from functools import lru_cache
from typing import NoReturn

import pytest

from photofinish import environments, frameworks, support
from photofinish.environments import OWN
from photofinish.frameworks import Contestant, Setup, Unsupported
from photofinish.graph import Graph
from photofinish.values import Contender
from remote import Remote


def contenders(cheap: bool, device: str = "cpu") -> list[Contender]:
    """Those that train on the device: those that run at once, or those that compile for seconds first, as their headers
    say; the first layout listed is the default. The fake one is the reference itself."""
    found = []
    for info in environments.frameworks().values():
        layouts = info.options.get("layout", ())
        for mode in _modes(info, cheap, device) if info.name != "fake" else ():
            if "train" in info.tasks_of(mode):
                found.append(Contender(info.name, mode))
                found += [Contender(info.name, mode, (("layout", layout),)) for layout in layouts[1:]]
    return found


def engines(cheap: bool = True, device: str = "cpu") -> list[Contender]:
    """Those that run inference and nothing else; the fake one is the reference itself."""
    return [Contender(info.name, mode) for info in environments.frameworks().values() if not info.in_house
            for mode in _modes(info, cheap, device) if info.tasks_of(mode) == ("infer",)]


def _modes(info: environments.FrameworkInfo, cheap: bool, device: str) -> list[str]:
    """Those that compile for minutes, or compute in another precision, are left to tests of the framework's own."""
    return [mode for mode in info.modes if device in info.devices_of(mode) and mode not in info.precisions
            and info.compiles.get(mode, "") == ("" if cheap else "seconds")]


_resolve = lru_cache(maxsize=None)(environments.resolve)


def available(contender: Contender) -> bool:
    """Whether it can be tried here, in this Python or an environment of its own."""
    return not isinstance(_resolve(contender), environments.Missing)


def require(contender: Contender) -> environments.Environment:
    """Where it can be tried. Skips the test, before anything is prepared for it, where that is nowhere."""
    found = _resolve(contender)
    if isinstance(found, environments.Missing):
        cures = dict.fromkeys((f"photofinish env create {contender.framework}", found.cure))
        pytest.skip(f"{found.reason} ({', or '.join(cures)})")
    return found


def lacking(contender: Contender, what: str, graph: Graph, gap: Unsupported) -> NoReturn:
    """Ends the test as an expected failure: of who says beforehand that it lacks one of the layers, or has it within
    limits. Of another it is none."""
    told = [support.of_layer(contender.framework, kind, contender.version) for kind in support.kinds(graph)]
    assert any(each.level == "absent" or each.reason for each in told), f"{contender.name} should have {what}: {gap}"
    pytest.xfail(f"{contender.name} lacks {what}: {gap}")


@lru_cache(maxsize=None)
def _load(framework: str) -> type[Contestant]:
    with warnings.catch_warnings():  # what a framework says while it is imported is its own affair
        warnings.simplefilter("ignore")
        return frameworks.load(framework)


def _alone(framework: str) -> bool:
    """Whether it cannot share a process with the others: Keras is imported once, with one backend."""
    return "KERAS_BACKEND" in environments.frameworks()[framework].environment


def make(contender: Contender, seed: int = 0, device: str = "cpu", precision: str = "float32") -> Contestant:
    """A fresh contestant, in its framework's own environment where this Python lacks it. Skips the test if there is
    neither."""
    found = require(contender)
    setup = Setup(contender.mode, found.framework.options_told(contender.options), device, seed=seed,
                  precision=precision)
    started_with = tuple(each for each in contender.options if each[0] in found.framework.variables)
    here = found.origin == OWN and not _alone(contender.framework) and not started_with
    return _load(contender.framework)(setup) if here else Remote(found, setup, started_with)
