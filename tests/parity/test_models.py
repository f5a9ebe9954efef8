"""Every model of the zoo at reduced depth, certified in eager and graph mode, and one of each family in inference
engines, in the other modes and compiled.

The certificate is the one a race needs, the model the same function as at full size. Full size is
`make certify`. Shallow models, one of a family, are proven whenever the tests are run where they run at once, all
others when something that decides their proofs has changed since they passed (proven.py); `make prove` proves all.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from parity import proven
from parity.contenders import available, contenders, engines, lacking, make, require
from photofinish import environments, models
from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.measure import proof
from photofinish.referee import certificate
from photofinish.runner.notary import DRAWS
from photofinish.values import Contender

CLASSES = 10
ENGINES = [*engines(), *engines(cheap=False)]
COSTLY = ("keras-tensorflow:nojit", "jax:jit", "jax:plain", "tensorflow:xla", "keras-torch:nojit", "keras-jax:jit",
          "torch:compile", "theano:cvm")  # by depth, the last most; others are cheap
SHALLOW = 32  # layers: TensorFlow's eager mode takes a second for a step of hundreds, and every layer is tried in it
SEEDS = (0, 1)  # a refusal is confirmed on other data and with a race's number of draws (runner.notary)


@lru_cache(maxsize=None)
def prepared(model: str, seed: int) -> Path:
    """A folder with the reference's part of the proof, shared by the contenders of one worker. As in a race,
    it takes no more samples than the model's own batch, where nothing is normalised over them."""
    folder = Path(mkdtemp(prefix="photofinish-proof-"))
    graph = models.find(model).small(CLASSES)
    batch = proof.LEAST_BATCH if graph.state else min(proof.LEAST_BATCH, models.find(model).batch)
    proof.prepare(folder, graph, batch, draws=DRAWS if seed else 1, exact_draws=6, seed=seed)
    proof.run(lambda: Reference(Setup("reference", precision="float64")), folder, proof.REFERENCE)
    return folder


@lru_cache(maxsize=None)
def more_free_runs(folder: Path) -> None:
    """The reference's other free runs: minutes of NumPy for a deep model, so once for all its contenders."""
    proof.free_runs(lambda: Reference(Setup("reference", precision="float64")), folder, proof.REFERENCE)


def refusals(model: str, contender: Contender, seed: int) -> list[str]:
    folder = prepared(model, seed)
    try:
        proof.run(lambda: make(contender), folder, contender.name, forward_only=contender in ENGINES)
    except Unsupported as gap:
        lacking(contender, model, models.find(model).small(CLASSES), gap)
    earned = certificate.judge(folder, contender.name, contender.name)
    if certificate.hangs_on_free_runs(earned):
        more_free_runs(folder)
        earned = certificate.judge(folder, contender.name, contender.name)
    return [f"{check.group}: {check.error:.2e} of {check.allowed:.2e} ({check.worst})"
            for check in earned.checks if not check.passed]


def prove(model: str, contender: Contender) -> None:
    found = [refusals(model, contender, SEEDS[0])]
    if found[0]:
        found.append(refusals(model, contender, SEEDS[1]))
    assert found[-1] == []


def distinct() -> dict[str, list[str]]:
    """Models whose reduced graphs differ in more than the rates of dropout (whose proof is a graph of its own, see
    referee/dropout.py), and those that each stands for: resnet50's depth is all that makes resnet152 another."""
    found: dict[str, list[str]] = {}
    for name, entry in models.all_models().items():
        found.setdefault(entry.small(CLASSES).without_randomness().digest, []).append(name)
    return {names[0]: names for names in found.values()}


def depth(model: str) -> int:
    return len(models.find(model).small(CLASSES).nodes)


def smallest_of_each_family() -> list[str]:
    """The model with fewest layers of each file of the zoo, the deepest of them first."""
    families: dict[str, list[str]] = {}
    for name in STANDS_FOR:
        families.setdefault(models.find(name).function.__module__, []).append(name)
    return sorted((min(names, key=depth) for names in families.values()), key=depth, reverse=True)


def cost(contender: Contender) -> int:
    """Of compiling with it, as a place among others."""
    name = f"{contender.framework}:{contender.mode}"
    return COSTLY.index(name) + 1 if name in COSTLY else 0


STANDS_FOR = distinct()
SMALLEST = smallest_of_each_family()
ALWAYS = [model for model in SMALLEST if depth(model) <= SHALLOW]
COMPILED = sorted((each for each in [*contenders(cheap=False), *engines(cheap=False)] if available(each)), key=cost)
HERE = [each for each in COMPILED if not isinstance(environments.own(each), environments.Missing)]
APART = [each for each in COMPILED if each not in HERE]  # in environments of their own, which others may not have made


def cases() -> Iterator[Any]:
    """Every model in eager and graph mode; the smallest of each family in inference engines and the other modes (in
    TensorFlow's eager mode if it is shallow), the compilers of this Python taking turns over the families, and so those
    of other environments, those that take long at the shallower ones (`make certify` asks all of all). A model's cases
    stand together: they share the reference."""
    known = {each.name: each for each in [*contenders(cheap=True), *engines()]}
    for model in STANDS_FOR:
        names = ["torch:eager", "tensorflow:graph"]
        if model in SMALLEST:
            names += ["torch:eager[layout=channels_last]"] if models.find(model).inputs[0][1].axes == "CHW" else []
            names += ["tensorflow:eager"] if depth(model) <= SHALLOW else []
            names += [each.name for each in engines()]
        for name in names:
            if name in known:
                yield pytest.param(model, known[name], id=f"{name}-{model}")
        for compilers in (HERE, APART):
            if model in SMALLEST and compilers:
                compiler = compilers[SMALLEST.index(model) % len(compilers)]
                yield pytest.param(model, compiler, id=f"{compiler.name}-{model}", marks=pytest.mark.compiled)


def test_every_model_is_one_of_those_or_the_same_graph() -> None:
    assert sorted(name for names in STANDS_FOR.values() for name in names) == sorted(models.all_models())


def test_what_was_proven_before_are_cases_of_today() -> None:
    kept = {case for case in proven.before() if not case.startswith(proven.LAYERS)}
    assert kept <= {each.id for each in cases()}, f"delete the others from {proven.FILE}"


@pytest.mark.parametrize(("model", "contender"), list(cases()))
def test_a_reduced_model_is_certified(model: str, contender: Contender,
                                      record_property: Callable[[str, object], None]) -> None:
    require(contender)
    case, decided = f"{contender.name}-{model}", proven.digest(models.find(model).small(CLASSES), contender)
    if model in ALWAYS and contender not in COMPILED:
        record_property(proven.PROPERTY, (case, decided))
    else:
        proven.unless_before(case, decided, record_property)
    prove(model, contender)
