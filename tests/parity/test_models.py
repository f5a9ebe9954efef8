"""Every model of the zoo at reduced depth, certified in the cheap modes of every framework, and one of each family
compiled.

The certificate is the one a race needs, the model the same function as at full size. Full size is
`make certify`.
"""

from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from parity.contenders import contenders, make
from photofinish import models
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.measure import proof
from photofinish.referee import certificate
from photofinish.values import Contender

CLASSES = 10
SEEDS = (0, 1)  # a refusal is confirmed on other data, as in a race (runner.notary)
CHEAP = [each for each in contenders(cheap=True) if each.mode != "reference" and each.framework != "fake"]


@lru_cache(maxsize=None)
def prepared(model: str, seed: int) -> Path:
    """A folder with the reference's part of the proof, shared by the contenders of one worker. As in a race,
    it takes no more samples than the model's own batch, where nothing is normalised over them."""
    folder = Path(mkdtemp(prefix="photofinish-proof-"))
    graph = models.find(model).small(CLASSES)
    batch = proof.LEAST_BATCH if graph.state else min(proof.LEAST_BATCH, models.find(model).batch)
    proof.prepare(folder, graph, batch, draws=1, exact_draws=6, seed=seed)
    proof.run(lambda: Reference(Setup("reference", precision="float64")), folder, proof.REFERENCE)
    return folder


def refusals(model: str, contender: Contender, seed: int) -> list[str]:
    folder = prepared(model, seed)
    proof.run(lambda: make(contender), folder, contender.name)
    earned = certificate.judge(folder, contender.name, contender.name)
    return [f"{check.group}: {check.error:.2e} of {check.allowed:.2e} ({check.worst})"
            for check in earned.checks if not check.passed]


def prove(model: str, contender: Contender) -> None:
    found = [refusals(model, contender, SEEDS[0])]
    if found[0]:
        found.append(refusals(model, contender, SEEDS[1]))
    assert found[-1] == []


@pytest.mark.parametrize("model", sorted(models.all_models()))
@pytest.mark.parametrize("contender", CHEAP, ids=lambda each: each.name)
def test_a_reduced_model_is_certified(model: str, contender: Contender) -> None:
    prove(model, contender)


def smallest_of_each_family() -> list[str]:
    """The model with fewest layers of each file of the zoo."""
    families: dict[str, list[str]] = {}
    for name, entry in models.all_models().items():
        families.setdefault(entry.function.__module__, []).append(name)
    return [min(names, key=lambda name: len(models.find(name).small(CLASSES).nodes)) for names in families.values()]


@pytest.mark.compiled
@pytest.mark.parametrize("model", smallest_of_each_family())
@pytest.mark.parametrize("contender", contenders(cheap=False), ids=lambda each: each.name)
def test_a_reduced_model_is_certified_when_compiled(contender: Contender, model: str) -> None:
    prove(model, contender)
