"""The reference of several processes that share a batch, in one process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish import models
from photofinish.data import draw_batch
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks.numpy import Contestant
from photofinish.measure.split import Split, of_each_part
from photofinish.optimizers import OPTIMIZERS
from photofinish.weights import perturbed_state

TINY = Path(__file__).parents[1] / "null" / "tiny.py"


def after(name: str, parts: int, optimizer: str = "adam", steps: int = 3) -> Arrays:
    """What a few steps on batches of eight leave, and the loss of the last."""
    graph = models.find(f"{TINY}:{name}").graph()
    one = Contestant(Setup("reference", precision="float64"))
    contestant: Any = one if parts == 1 else Split(one, parts)
    contestant.build(graph, 8, OPTIMIZERS[optimizer]())
    contestant.put(perturbed_state(graph, 1))
    for number in range(steps):
        handle = contestant.train_step(contestant.feed(draw_batch(graph, 8, number)))
    return dict(contestant.get(), **contestant.read(handle))


def furthest(a: Arrays, b: Arrays) -> float:
    assert a.keys() == b.keys()
    return max(float(np.max(np.abs(a[name] - b[name]))) for name in a)


@pytest.mark.parametrize("optimizer", sorted(OPTIMIZERS))
@pytest.mark.parametrize("parts", [2, 4])
def test_without_batch_norm_parts_make_the_same_steps_as_the_whole(parts: int, optimizer: str) -> None:
    assert furthest(after("tiny_plain", 1, optimizer), after("tiny_plain", parts, optimizer)) < 1e-12


def test_batch_norm_of_parts_is_another_function() -> None:
    assert furthest(after("tiny", 1), after("tiny", 2)) > 1e-3


def test_what_makes_a_difference_is_named() -> None:
    def of_each(name: str) -> tuple[str, ...]:
        return of_each_part(models.find(name).small())

    assert of_each("resnet18") == ("BatchNorm's statistics",)
    assert of_each("transformer_base") == ("the mean over labels that count",)
    assert of_each("lstm_lm_small") == of_each("vgg16") == ()


def test_a_batch_that_cannot_be_shared_equally_is_refused() -> None:
    with pytest.raises(Unsupported, match="a batch of 8 cannot be shared equally by 3"):
        after("tiny_plain", 3)
