"""Which contenders the self-test takes where none are named, and what it makes of known answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

import factories
from photofinish import environments
from photofinish.errors import UsageError
from photofinish.stats import judge
from photofinish.values import Contender, Failure, Result
from photofinish.verbs import selftest


def installed(monkeypatch: pytest.MonkeyPatch, *frameworks: str) -> None:
    def own(contender: Contender) -> object:
        info = environments.frameworks()[contender.framework]
        return environments.Environment(Path("python"), info, "1") if info.name in frameworks else None
    monkeypatch.setattr(environments, "own", own)


@pytest.mark.parametrize(("frameworks", "chosen"), [
    (("jax", "onnxruntime", "tensorflow", "torch"), ("torch:eager", "tensorflow:graph")),
    (("jax", "tensorflow"), ("tensorflow:eager", "jax:plain")),
    (("torch", "openvino"), ("torch:eager", "torch:compile")),
])
def test_two_frameworks_one_in_its_second_mode(monkeypatch: pytest.MonkeyPatch, frameworks: tuple[str, ...],
                                               chosen: tuple[str, ...]) -> None:
    installed(monkeypatch, *frameworks)
    assert selftest.default_contenders(thorough=False) == chosen
    assert set(chosen) <= set(selftest.default_contenders(thorough=True))


def test_an_engine_cannot_be_tested_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "onnxruntime")
    with pytest.raises(UsageError):
        selftest.default_contenders(thorough=False)


@pytest.mark.parametrize(("contender", "said"), [
    ("fake:forward", "lacks task train"), ("fake:steady+mean[2]", "lacks task infer"),
    ("fake:steady[threads=99]", "99 threads"), ("fake@9.9:steady", "fake@9.9:steady")])
def test_who_cannot_be_tested_is_told_before_the_first_race(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                                            contender: str, said: str) -> None:
    def race(*asked: object, **options: object) -> None:
        raise AssertionError("a race has begun")
    monkeypatch.setattr(selftest.api, "race", race)
    with pytest.raises(UsageError, match=said):
        selftest.run(tmp_path, ["fake:steady", contender], make_environments=False)


def test_thorough_beside_contenders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"thorough .* contenders are named"):
        selftest.run(tmp_path, ["fake:steady"], thorough=True)


def placebo(ratio: float = 1.0, **changes: Any) -> Result:
    field = (factories.Runner("a:b", 0.05, between=0.002), factories.Runner("a:b#2", 0.05 * ratio, between=0.002))
    return judge(replace(factories.race(field, launches=8, seed=6), **changes))


REFUSED = placebo(certificates=(), failures=(Failure("a:b#2", "wrong answer", "gradients"),))


@pytest.mark.parametrize(("check", "result", "passed"), [
    ("_placebo", placebo(), True), ("_placebo", placebo(1.2), False), ("_placebo", placebo(certificates=()), False),
    ("_planted", placebo(1.03), True), ("_planted", placebo(1.0), False), ("_planted", placebo(1.1), False),
    ("_wrong_model", REFUSED, True), ("_wrong_model", placebo(), False),
    ("_wrong_numerics", factories.mismatch(), True), ("_wrong_numerics", placebo(), False)])
def test_a_check_passes_for_the_right_answer_alone(check: str, result: Result, passed: bool, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    def race(model: str, contenders: object, task: object = "train", **options: object) -> list[Result]:
        return [result] * (1 if isinstance(task, str) else len(list(task)))  # type: ignore[call-overload]

    monkeypatch.setattr(selftest.api, "race", race)
    instrument = selftest._SelfTest(tmp_path, ("fake:steady",), 1.0, lambda progress: None, {})
    assert getattr(instrument, check)().passed is passed


def test_the_self_test_fails_if_any_check_does() -> None:
    good, bad = (selftest.Check("a check", each, "") for each in (True, False))
    assert selftest.SelfTest((good, good), None, None, ()).passed
    assert not selftest.SelfTest((good, bad), None, None, ()).passed


@pytest.mark.parametrize("tests", [1, 4, 8, 20])
def test_as_many_ties_may_be_broken_as_chance_breaks(tests: int) -> None:
    most = selftest._allowed(tests)
    assert binom.sf(most, tests, 0.05) < 0.01 <= binom.sf(most - 1, tests, 0.05)
