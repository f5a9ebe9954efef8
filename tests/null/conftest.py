"""What races on the fake framework share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from photofinish.runner import watchdog
from photofinish.stats import plan


@pytest.fixture
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is scripted: more rounds cost real time and say the same."""
    monkeypatch.setattr(plan, "MOST_ROUNDS", 4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests of a file: a proof takes longer than a race."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def begun() -> Callable[[], list[int]]:
    """The processes that this test has started and that are still there; another's may wait for their next turn."""
    before = set(watchdog.children())
    return lambda: [each for each in watchdog.children() if each not in before]
