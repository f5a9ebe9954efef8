"""What the other tests of layers leave out of PyTensor: in mode numba, which compiles a small model for minutes, each
layer once; and batches of another size than the model was built for."""

import numpy as np
import pytest

from families import FAMILIES
from families.common import BATCH
from parity.cases import cases, compact
from parity.contenders import make
from parity.rule import prepared
from parity.test_layers import agree
from photofinish.optimizers import SGD
from photofinish.values import Contender


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["everything", *(compact(family.__name__) for family in FAMILIES)])
def test_each_layer_of_a_family_by_numba(name: str) -> None:
    agree(Contender("pytensor", "numba"), name)


def test_a_last_batch_that_is_not_full_is_trained_on() -> None:
    case = cases()["linear"]
    contestant = prepared(lambda: make(Contender("pytensor", "c")), case.graph, case.state, SGD())
    for count in (BATCH, BATCH - 3):
        handle = contestant.train_step(contestant.feed({name: each[:count] for name, each in case.batch.items()}))
        assert np.isfinite(contestant.read(handle)["loss"])
