"""The certificate of processes that compress their gradients: what rounds them as it says passes, and so does what
keeps for the next step what it does not send; what does anything else does not."""

from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.measure import proof
from photofinish.measure.split import Split
from photofinish.referee import certificate
from photofinish.referee.tolerance import APPROXIMATED
from photofinish.runner.reference import sent_in
from photofinish.vocabulary import batch_norm, conv, dropout, global_average_pool, linear, relu

FLOAT16, PARTS = "float16", 2


def model(image: Tensor) -> Tensor:
    """A convolution, a BatchNorm, a dropout."""
    x = relu(batch_norm(conv(image, 6, 3)))
    logits = linear(dropout(global_average_pool(x), 0.4), 5)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


GRAPH: Graph = record(model, OrderedDict(image=Spec("CHW", (3, 8, 7))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proof with the reference's part done: as it is, and with gradients sent in float16."""
    where = tmp_path_factory.mktemp("proof")
    proof.prepare(where, GRAPH, 16, exact_draws=6)
    for label, sent in ((proof.REFERENCE, ""), (sent_in(FLOAT16), FLOAT16)):
        exact = Split(Contestant(Setup("reference", precision="float64")), PARTS, sent)
        proof.run(partial(lambda made: made, exact), where, label)
    return where


class Own(Split):
    """Processes in float32 that make something of the gradients they send."""

    def __init__(self, sent: str = "") -> None:
        super().__init__(Contestant(Setup("reference", precision="float32")), PARTS, sent)

    def changed(self, name: str, gradient: np.ndarray) -> np.ndarray:
        return gradient

    def gradients(self, batch: Any) -> Arrays:
        return {name: self.changed(name, values) if name.startswith("gradient/") else values
                for name, values in super().gradients(batch).items()}


class Summed(Own):
    """The sum over the processes in the place of the mean."""

    def changed(self, name: str, gradient: np.ndarray) -> np.ndarray:
        return gradient * PARTS


class Coarser(Own):
    """Eight bits of mantissa."""

    def changed(self, name: str, gradient: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(gradient)
        return np.asarray(np.ldexp(np.rint(np.ldexp(fraction, 8)), exponent - 8))


class Forward(Own):
    """Weights in float16, too."""

    def put(self, arrays: Arrays) -> None:
        self._contestant.put({name: values.astype(np.float16).astype(np.float32) if name.startswith("parameter/")
                              else values for name, values in arrays.items()})


class Feedback(Own):
    """Sends the signs and the mean size of each gradient (Seide et al. 2014), and keeps the rest for the next step."""

    share = 1.0  # of what it does not send

    training = False

    def put(self, arrays: Arrays) -> None:
        self._contestant.put(arrays)
        if not self.training:
            self.rest: Arrays = {}

    def changed(self, name: str, gradient: np.ndarray) -> np.ndarray:
        whole = gradient + self.rest.get(name, 0.0)
        sent = np.sign(whole) * np.mean(np.abs(whole))
        self.rest[name] = self.share * (whole - sent)
        return sent

    def gradients(self, batch: Any) -> Arrays:
        """Of a pass that is no step: what is sent, and what is kept."""
        if self.training:
            return super().gradients(batch)
        self.rest = {}
        return {name: values + self.rest.get(name, 0.0) for name, values in super().gradients(batch).items()}

    def train_step(self, batch: Any) -> Arrays:
        self.training = True
        try:
            return super().train_step(batch)
        finally:
            self.training = False


class Forgetful(Feedback):
    share = 0.5


class Still(Feedback):
    """Keeps everything, and sends nothing."""

    def changed(self, name: str, gradient: np.ndarray) -> np.ndarray:
        self.rest[name] = gradient + self.rest.get(name, 0.0)
        return np.zeros_like(gradient)


def refused(folder: Path, own: Own, sent: str) -> set[str]:
    """The groups in which it is."""
    label = f"{type(own).__name__}-{sent}"
    proof.run(lambda: own, folder, label)
    moved = [sent_in(sent)] if sent == FLOAT16 else []
    earned = certificate.judge(folder, label, label, moved=moved, sent=sent)
    assert earned.gradients == sent and earned.passed == all(each.passed for each in earned.checks)
    return {each.group for each in earned.checks if not each.passed}


def test_gradients_rounded_to_float16_pass_as_that_and_not_as_float32(folder: Path) -> None:
    assert refused(folder, Own(FLOAT16), FLOAT16) == set()
    assert "gradients" in refused(folder, Own(FLOAT16), "")
    assert refused(folder, Own(), "") == set()


@pytest.mark.parametrize(("own", "group"), [(Summed(FLOAT16), "gradients"), (Coarser(), "gradients"),
                                            (Forward(FLOAT16), "inference outputs")])
def test_what_is_coarser_than_that_is_refused(folder: Path, own: Own, group: str) -> None:
    assert group in refused(folder, own, FLOAT16)


def test_an_approximation_passes_that_keeps_what_it_does_not_send(folder: Path) -> None:
    assert refused(folder, Feedback(), APPROXIMATED) == set()


@pytest.mark.parametrize(("own", "group"), [
    (Forgetful(), "gradients"), (Still(), "descent of the loss in 10 steps (sgd)"),
    (Summed(), "descent of the loss in 10 steps (sgd)"), (Forward(), "training outputs")])
def test_one_that_forgets_stands_still_or_goes_too_far_is_refused(folder: Path, own: Own, group: str) -> None:
    assert group in refused(folder, own, APPROXIMATED)
