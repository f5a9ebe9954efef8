"""Races of many: groups that share an anchor, stragglers, certificates used again. The fake framework runs them."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish import api
from photofinish.runner import notary, reference, session
from photofinish.runner.session import Session
from photofinish.stats import plan
from photofinish.values import Launch, Progress, Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
MIB = 2**20
FIELD = {f"fake:steady[memory=200,noise=0,step={step}]": step for step in (0.013, 0.010, 0.020)}
ROOM = 590 * MIB  # two of 200 MiB and what Python and NumPy take; not three
PAIR = "fake:steady[launch=0.05,step=0.010]"
SNAIL = "fake:steady[noise=0.01,step=0.300]"


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is scripted: more rounds cost real time and say the same."""
    monkeypatch.setattr(plan, "MOST_ROUNDS", 6)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all tests here that do not mind what was proven before: a proof takes longer than a race."""
    return tmp_path_factory.mktemp("store")


def race(store: Path, *contenders: str, **options: object) -> Result:
    settings: dict[str, object] = {"budget": 600.0, "seed": 1, "store": store, "batch": 8}
    (result,) = api.race(MODEL, contenders, **{**settings, **options})  # type: ignore[arg-type]
    return result


def test_a_field_that_does_not_fit_races_in_groups_that_share_the_fastest(tmp_path: Path,
                                                                          begun: Callable[[], list[int]]) -> None:
    alive = []

    def watch(progress: Progress) -> None:
        if progress.stage == "block":
            alive.append(len(begun()))

    result = race(tmp_path, *FIELD, memory=ROOM, launches=2, listener=watch)
    fastest = min(FIELD, key=FIELD.__getitem__)
    for launch in result.race.launches:
        assert len(launch.groups) == 2 and all(fastest in group and len(group) == 2 for group in launch.groups)
        assert sorted(name for group in launch.groups for name in group) == sorted([*FIELD, fastest])
    assert alive and max(alive) == 2
    assert result.comparable and [each.contender for each in result.standings] == sorted(FIELD, key=FIELD.__getitem__)
    assert [each.place for each in result.standings] == [1, 2, 3]
    for each in result.verdicts:
        assert each.ratio == pytest.approx(FIELD[each.b] / FIELD[each.a], rel=1e-6) and each.launches == 2
    assert any("through the anchor" in each.reason for each in result.verdicts)
    assert not any("through the anchor" in each.reason for each in result.verdicts if fastest in (each.a, each.b))
    assert "2 of 2 launches ran them in 2 groups" in " ".join(str(api.Outcome([result])).split())


def pilot_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "PILOT", 2)
    monkeypatch.setattr(plan, "LEAST_TOTAL", 4)


def test_who_is_far_too_slow_after_the_pilot_is_timed_no_further(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pilot_of_two(monkeypatch)
    result = race(store, PAIR, PAIR, SNAIL, precision=0.9)
    last = max(launch.number for launch in result.race.launches)
    assert last > 2  # the pair is not told apart by two launches that differ by 5 %
    assert {block.contender for block in result.race.blocks if block.launch == last} == {PAIR, PAIR + "#2"}
    assert [each.contender for each in result.race.stragglers] == [SNAIL]
    assert "Timed no further after the pilot of 2 launches" in " ".join(str(api.Outcome([result])).split())


@pytest.mark.parametrize("time_all", [False, True])
def test_nobody_is_left_behind_where_all_are_to_be_timed(monkeypatch: pytest.MonkeyPatch, time_all: bool) -> None:
    left = []
    plans = iter([plan.Plan(plan.PILOT, 3, "", seconds=4.0), plan.Plan(0, 3, "")])
    monkeypatch.setattr(Session, "_pilot", lambda session: next(plans))
    monkeypatch.setattr(Session, "_next_plan", lambda session: next(plans))
    monkeypatch.setattr(Session, "_leave_behind", lambda session: left.append(session))
    monkeypatch.setattr(session, "LaunchRun", lambda course, number, rounds: SimpleNamespace(
        run=lambda: Launch(number, 0, (), (), 0.1)))
    course: Any = SimpleNamespace(contested=True, entries=[], live=[], facts={}, room=None, peaks={}, anchor="",
                                  case=CASE, listener=lambda event: None)
    nothing: Any = None
    Session(course, nothing, {}, 100.0, 0.01, time_all=time_all).run(lambda: None)
    assert bool(left) is not time_all


@pytest.mark.parametrize(("budget", "launches", "warned"), [(0.0, None, True), (100.0, None, False), (0.0, 2, False)])
def test_a_budget_too_small_for_two_launches_is_said_to_be(monkeypatch: pytest.MonkeyPatch, budget: float,
                                                           launches: int | None, warned: bool) -> None:
    told = two_launches(monkeypatch, budget, launches)
    assert [each.text for each in told if "overrun" in each.text] == (
        ["launch 2; fewer than 2 tell nothing, so the budget is overrun by about 1 s"] if warned else [])


def test_a_proof_takes_nothing_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(session.time, "monotonic", lambda: now[0])
    told = two_launches(monkeypatch, 100.0, None, lambda: now.append(now.pop() + 3600.0))
    assert told[0].seconds_left == 100.0


CASE = SimpleNamespace(device="cpu")


def two_launches(monkeypatch: pytest.MonkeyPatch, budget: float, launches: int | None,
                 rehearse: Callable[[], None] = lambda: None) -> list[Progress]:
    told: list[Progress] = []
    monkeypatch.setattr(Session, "_pilot", lambda session: plan.Plan(2, 3, "", seconds=2.0))
    monkeypatch.setattr(Session, "_next_plan", lambda session: plan.Plan(0, 3, ""))
    monkeypatch.setattr(session, "LaunchRun", lambda course, number, rounds: SimpleNamespace(
        run=lambda: Launch(number, 0, (), (), 1.0)))
    course: Any = SimpleNamespace(contested=True, entries=[], live=[], facts={}, room=None, peaks={}, anchor="",
                                  case=CASE, listener=told.append)
    nothing: Any = None
    Session(course, nothing, {}, budget, 0.01, launches).run(rehearse)
    return told


def test_a_certificate_is_used_again_unless_another_is_asked_for(store: Path) -> None:
    """A copy (#2) shares its original's within a race, which is no reuse."""
    (earned,) = api.verify(MODEL, [PAIR], store=store, recertify=True).certificates
    again = race(store, PAIR, PAIR, launches=1)
    anew = race(store, PAIR, PAIR, launches=1, recertify=True)
    assert [each.reused for each in (earned, *again.race.certificates, *anew.race.certificates)] == [
        False, True, True, False, False]
    assert {each.created for each in again.race.certificates} == {earned.created} and earned.created
    assert "Proven in an earlier race or verify" in str(api.Outcome([again]))
    assert "Proven in an earlier race or verify" not in str(api.Outcome([anew]))
    assert all(each.passed for each in anew.race.certificates)


def test_a_refusal_is_used_again_only_while_trials_are_the_same(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    """Other trials may find that what was seen speaks against nobody."""
    wrong = PAIR.replace("]", ",fault=wrong]")
    def tried() -> tuple[bool, bool]:
        (found,) = api.verify(MODEL, [wrong], store=tmp_path).certificates
        return found.passed, found.reused
    assert [tried(), tried()] == [(False, False), (False, True)]
    monkeypatch.setattr(notary, "__file__", reference.__file__)
    assert [tried(), tried()] == [(False, False), (False, True)]


def test_inference_alone_is_proven_by_its_outputs_and_whoever_is_proven_whole_is_proven_for_it(tmp_path: Path) -> None:
    alone, both = (race(tmp_path, PAIR, PAIR, launches=1, task=task) for task in ("infer", "train"))
    assert [(each.forward_only, [check.group for check in each.checks]) for each in alone.race.certificates] == [
        (True, ["inference outputs"])] * 2
    assert not any(each.forward_only or each.reused for each in both.race.certificates)  # outputs prove no gradient
    assert alone.comparable and "Proven forward only" in str(api.Outcome([alone]))
    (whole,) = api.verify(MODEL, [PAIR], store=tmp_path / "other").certificates
    again = race(tmp_path / "other", PAIR, PAIR, launches=1, task="infer")
    assert {(each.created, each.reused, each.forward_only) for each in again.race.certificates} == {
        (whole.created, True, False)}


def test_a_certificate_earned_under_a_switch_of_the_environment_speaks_of_that_switch(
        store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler told to do something else may compute something else."""
    monkeypatch.setenv("TORCHINDUCTOR_LAYOUT_OPTIMIZATION", "0")
    found = race(store, PAIR, PAIR, launches=1)
    assert not any(each.reused for each in found.race.certificates)
    told = found.race.versions[PAIR]["environment"]
    assert told["TORCHINDUCTOR_LAYOUT_OPTIMIZATION"] == "0"  # beside what other tests have set
    monkeypatch.setenv("PATH_OF_NO_CONCERN", "1")
    again = race(store, PAIR, PAIR, launches=1)
    assert all(each.reused for each in again.race.certificates)
