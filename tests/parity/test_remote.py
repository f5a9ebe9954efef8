"""The proxy by which frameworks in other environments are tested says exactly what the contestant itself says."""

import sys
from pathlib import Path

import numpy as np
import pytest

from parity.cases import cases
from parity.rule import observe
from photofinish.environments import Environment, frameworks
from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.optimizers import Adam
from remote import Remote

HERE = Environment(Path(sys.executable), frameworks()["numpy"], np.__version__)
SETUP = Setup("reference")


@pytest.mark.parametrize("name", ["everything", "embedding-tied"])
def test_what_is_seen_through_the_proxy_is_the_same(name: str) -> None:
    case = cases()[name]
    ours = observe(lambda: Reference(SETUP), case.graph, case.state, case.batch)
    theirs = observe(lambda: Remote(HERE, SETUP), case.graph, case.state, case.batch)
    assert ours.keys() == theirs.keys()
    for each, values in ours.items():
        np.testing.assert_array_equal(theirs[each], values, err_msg=each)


def test_a_model_without_an_optimizer_is_built_and_what_is_put_comes_back() -> None:
    case = cases()["conv"]
    remote = Remote(HERE, SETUP)
    assert remote.facts()["version"] == np.__version__
    remote.build(case.graph, 8)
    remote.put(case.state)
    assert remote.differences() == []
    returned = remote.get()
    for name, values in case.state.items():
        np.testing.assert_array_equal(returned[name], values)


def test_what_the_framework_cannot_do_is_unsupported_here_too() -> None:
    case = cases()["conv"]
    remote = Remote(HERE, SETUP)
    remote.build(case.graph, 8, Adam())
    with pytest.raises(Unsupported, match="there is no request"):
        remote.link.ask("nothing of the kind")
    with pytest.raises(AssertionError, match="numpy: crash: KeyError"):
        remote.infer(remote.feed({}))


def test_a_worker_holds_one_contestant_at_a_time() -> None:
    first, second = Remote(HERE, SETUP), Remote(HERE, SETUP)
    with pytest.raises(AssertionError, match="a later contestant"):
        first.get()
    second.build(cases()["conv"].graph, 8)
