"""DistributedDataParallel with hook=localsgd: the steps in which parameters are averaged are among those timed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from photofinish import models
from photofinish.data import draw_batch
from photofinish.frameworks import Setup
from photofinish.measure.engine import Engine
from photofinish.optimizers import SGD
from photofinish.weights import initial_state

torch = pytest.importorskip("torch")
TINY = f"{Path(__file__).parents[1] / 'null' / 'tiny.py'}:tiny_plain"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A group of one process, which is gone afterwards."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def test_whoever_times_it_times_one_averaging_in_each_period(alone: None, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed.algorithms.model_averaging import utils

    from photofinish.frameworks._torch.strategies.ddp import Contestant
    averaged: list[object] = []
    monkeypatch.setattr(utils, "average_parameters_or_parameter_groups", lambda *given: averaged.append(given))
    graph = models.find(TINY).graph()
    contestant = Contestant(Setup("eager", {"hook": "localsgd", "period": "3"}, meeting=str(tmp_path)))
    contestant.build(graph, 8, SGD())
    told = Engine(contestant, initial_state(graph, 1), [contestant.feed(draw_batch(graph, 8, 1))]).block("train", 4)
    assert told["period"] == 3 and len(told["seconds"]) == 6
    assert len(averaged) == 1 + 2  # the first before anything is timed
