"""Which contenders the self-test takes where none are named."""

from pathlib import Path

import pytest

from photofinish import environments, selftest
from photofinish.errors import UsageError
from photofinish.values import Contender


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
