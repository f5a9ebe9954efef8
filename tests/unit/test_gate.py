"""When a slow-down is shown to exceed its limit: on simulated races of known ratios. What a candidate is compared with.
"""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import factories
from photofinish import environments
from photofinish.environments import Choice, Missing
from photofinish.errors import UsageError
from photofinish.gate import FAILED, NOT_JUDGED, PASSED, Check, Gate, commits
from photofinish.gate import OPEN as UNSURE
from photofinish.gate.baseline import Pair, pairs
from photofinish.render.quantities import plain
from photofinish.reports import gate as report
from photofinish.stats import judge, regression
from photofinish.stats.regression import OPEN, SLOWER, WITHIN
from photofinish.store import Store
from photofinish.values import Contender, Estimate, Failure, Skip
from photofinish.verbs import gate
from stats_races import World

LIMIT, LAUNCHES = 0.03, 10


def found(ratio: float, seed: int = 0, launches: int = LAUNCHES, **world: float) -> regression.Regression | None:
    race = World(**world).race(np.random.default_rng(seed), (0.1, 0.1 * ratio), launches)  # type: ignore[arg-type]
    return regression.check(race, "a", "b", LIMIT)


@pytest.mark.parametrize(("ratio", "outcome"), [(0.9, WITHIN), (1.0, WITHIN), (1.06, SLOWER), (1.03, OPEN)])
def test_the_limit_is_what_a_slow_down_must_exceed(ratio: float, outcome: str) -> None:
    check = found(ratio)
    assert check is not None and check.outcome == outcome and check.launches == LAUNCHES
    assert (check.needed != 0) is (outcome == OPEN)


def test_how_many_launches_would_decide_is_told_where_any_would() -> None:
    at, near = (np.log1p(LIMIT) + np.array([-0.02, 0.02, -0.01, 0.01]) + above for above in (0.0, 0.004))
    exactly, nearly = (regression._judged(logs, LIMIT, 1) for logs in (at, near))
    assert exactly is not None and exactly.outcome == OPEN and exactly.needed is None
    assert nearly is not None and nearly.outcome == OPEN and nearly.needed is not None and nearly.needed > 4


def test_what_is_no_slower_is_hardly_ever_stopped_and_what_is_at_the_limit_seldom() -> None:
    def stopped(ratio: float) -> int:
        checks = [found(ratio, seed, launch=0.02) for seed in range(300)]
        return sum(check is not None and check.outcome == SLOWER for check in checks)
    assert stopped(1.0) == 0
    assert stopped(1 + LIMIT) <= 16  # 2.5 %: 7.5 expected; more than 16 come about twice in a thousand


def test_several_checks_share_the_error() -> None:
    race = World().race(np.random.default_rng(0), (0.1, 0.1), LAUNCHES)
    one, four = (regression.check(race, "a", "b", LIMIT, family) for family in (1, 4))
    assert one is not None and four is not None
    assert one.ratio.level == pytest.approx(0.95) and four.ratio.level == pytest.approx(0.9875)
    assert four.ratio.low < one.ratio.low


def test_one_launch_says_nothing() -> None:
    assert found(1.5, launches=1) is None


def test_the_store_of_a_baseline_is_left_as_it_is(tmp_path: Path) -> None:
    """It may be an artefact that nobody can write to."""
    race = replace(factories.race(launches=1), versions={"torch:eager": {"version": "1.0.1+cpu"}})
    kept = Store(tmp_path)
    kept.begin(race, "session")
    kept._writer.close()
    before = kept.path.read_bytes()
    found, skipped = pairs(str(tmp_path), ["torch"], Choice(make=False))
    assert [(each.baseline, each.candidate) for each in found] == [("torch@1.0.1:eager", "torch:eager")] and not skipped
    assert kept.path.read_bytes() == before


@pytest.mark.parametrize("name", ["torch:eager", "torch:eager[layout=channels_last]"])
def test_a_candidate_keeps_its_own_environment_beside_a_baseline_in_another(tmp_path: Path, name: str) -> None:
    new, old = (tmp_path / each for each in ("new", "old"))
    for each in (new, old):
        (each / "bin").mkdir(parents=True)
        (each / "bin" / "python").touch(0o755)
    (pair,), _ = pairs(str(old), [name], Choice(make=False))
    assert pair.told == f"{name} in {old}"

    def places(*given: str) -> list[str]:
        """Where the two run: none of these interpreters starts, and the message says which was tried."""
        choice = Choice.of((*given, *pair.places), make=False)
        found = [environments.resolve(each, choice) for each in (Contender.parse(name), Contender.parse(f"{name}#2"))]
        return [each.reason if isinstance(each, Missing) else "elsewhere" for each in found]
    was, now = (f"{each}/bin/python does not start as a CPython 3" for each in (old, new))
    assert places()[0] == was != places()[1]
    assert places(f"{name}={new}") == places(f"torch={new}") == [was, now]


def test_a_model_of_a_commit_is_that_to_the_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However its file is encoded, wherever lines end: it says itself, and the locale does not."""
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    net = tmp_path / "net.py"
    with pytest.raises(UsageError, match=r"knows no such revision .*\(fatal: not a git repository"):
        net.touch()
        commits.stood(f"{net}:model", "HEAD", tmp_path / "kept")
    written = "# coding: latin-1\r\nNAME = 'réseau'\r\n".encode("latin-1")
    net.write_bytes(written)
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false", *words],
                       cwd=tmp_path, check=True)
    model, _ = commits.stood(f"{net}:model", "HEAD", tmp_path / "kept")
    assert Path(model.partition(":")[0]).read_bytes() == written


@pytest.mark.parametrize("within_a_hook", [None, ".git", "{}/.git"])
def test_a_model_is_that_of_its_own_folder_in_a_hook_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                         within_a_hook: str | None) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=tmp_path, check=True)

    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    for path, text in (("net.py", "the top's"), ("models/net.py", "the folder's")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    if within_a_hook is not None:
        monkeypatch.setenv("GIT_DIR", within_a_hook.format(tmp_path))
    monkeypatch.chdir(tmp_path)
    model, _ = commits.stood("models/net.py:model", "HEAD", tmp_path / "kept")
    assert Path(model.partition(":")[0]).read_text() == "the folder's"


@pytest.mark.parametrize("barred", [{"certificates": ()},
                                    {"failures": (Failure("b", "crash", "", 9, "block:train"),)}])
def test_what_was_timed_before_a_failure_or_without_a_proof_is_no_check(barred: dict[str, tuple[object, ...]]) -> None:
    of = World().race(np.random.default_rng(0), (0.1, 0.1), LAUNCHES)
    assert gate._check(Pair("a", "b"), judge(of), LIMIT, 1).outcome == WITHIN
    check = gate._check(Pair("a", "b"), judge(replace(of, **barred)), LIMIT, 1)  # type: ignore[arg-type]
    assert check.outcome == NOT_JUDGED and check.reason and check.regression is None


@pytest.mark.parametrize(("outcomes", "outcome"), [
    ((), NOT_JUDGED), ((WITHIN,), PASSED), ((WITHIN, OPEN), UNSURE), ((WITHIN, NOT_JUDGED, OPEN), NOT_JUDGED),
    ((SLOWER, NOT_JUDGED), FAILED)])
def test_a_gate_is_as_good_as_its_worst_check(outcomes: tuple[str, ...], outcome: str) -> None:
    assert checked(*outcomes).outcome == outcome


def test_who_was_not_checked_is_not_said_to_have_passed() -> None:
    left = replace(checked(WITHIN), skipped=(Skip("jax:jit", "the baseline has no race of it"),))
    assert plain(report.sentence(checked(WITHIN))).startswith("Nothing is slower than a by more than 3 %, surely.")
    said = plain(report.sentence(left))
    assert said.startswith("Nothing that was checked is slower") and said.endswith("not checked: jax:jit.")


def checked(*outcomes: str) -> Gate:
    ratio = Estimate(1.0, 0.9, 1.1)
    return Gate("a", LIMIT, tuple(Check("a", "b", factories.decided(), None if each == NOT_JUDGED else
                                        regression.Regression(ratio, each, 10)) for each in outcomes))


@pytest.mark.parametrize(("outcomes", "code"), [
    ((), 3), ((WITHIN,), 0), ((WITHIN, OPEN), 0), ((WITHIN, NOT_JUDGED, OPEN), 3), ((SLOWER, NOT_JUDGED), 1)])
def test_a_build_is_told_by_the_exit_code(outcomes: tuple[str, ...], code: int, command: Callable[..., Any],
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "run", lambda *asked, **options: checked(*outcomes))
    assert command("gate", "resnet18", "--baseline", "1.0").code == code


def test_candidates_and_tasks_share_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    of = World().race(np.random.default_rng(0), (0.1, 0.1), LAUNCHES)
    monkeypatch.setattr(gate, "pairs", lambda *asked: ([Pair("a", "b")] * 2, []))
    monkeypatch.setattr(gate, "_insist", lambda *asked: None)
    monkeypatch.setattr(gate.api, "race", lambda *asked, **options: [judge(of), judge(of)])
    found = gate.run("digits_cnn", ["fake"], ("train", "infer"), baseline="x")
    levels = [each.regression.ratio.level for each in found.checks if each.regression is not None]
    assert levels == [pytest.approx(1 - 0.05 / 4)] * 4
