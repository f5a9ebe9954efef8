"""What the rehearsal sees of compiling and of memory, on the fake framework."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from photofinish import api
from photofinish.render.document import Table, blocks_of
from photofinish.reports.json import race as race_object
from photofinish.reports.json import schema
from photofinish.reports.race import document
from photofinish.runner import allocator
from photofinish.runner import course as courses
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.rehearsal import crowd
from photofinish.stats import plan
from photofinish.stats.jobs import break_evens
from photofinish.store import Store
from photofinish.values import Result

MODEL = str(Path(__file__).parent / "tiny.py") + ":tiny"
MIB = 2**20
PLAIN, COMPILED = "fake:steady[step=0.010]", "fake:steady[compile=5,device=70,memory=100,step=0.008]"
REFUSES = "fake:steady[fits=2,step=0.010]"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "MOST_ROUNDS", 3)  # the clock is scripted
        (found,) = api.race(MODEL, [PLAIN, COMPILED], launches=2, seed=1, store=tmp_path_factory.mktemp("store"),
                            batch=8, certify=False, resize=True)
    return found


def test_another_batch_size_is_compiled_once_and_the_old_one_is_remembered(result: Result) -> None:
    seen = {(each.contender, each.batch): each for each in result.race.resizes}
    assert [each.batch for each in result.race.resizes if each.contender == COMPILED] == [7, 8]
    assert [seen[COMPILED, size].compilations for size in (7, 8)] == [1, 0]
    assert [seen[PLAIN, size].compilations for size in (7, 8)] == [0, 0]
    first, second, third = seen[COMPILED, 7].seconds
    assert first > 5.0 > second + third  # the clock is scripted
    tables = [each.name for each in blocks_of(document(result), Table) if isinstance(each, Table)]
    assert {"resizes", "held"} <= set(tables)


def test_who_takes_no_other_batch_stays_in_the_race(tmp_path: Path) -> None:
    (found,) = api.race(MODEL, [PLAIN, REFUSES], launches=1, seed=1, store=tmp_path, batch=2, certify=False,
                        resize=True)
    (refused,) = (each for each in found.race.resizes if each.contender == REFUSES)
    assert refused.seconds == () and "MemoryError" in refused.refused
    assert not found.race.failures and {each.contender for each in found.race.blocks} == {PLAIN, REFUSES}


def test_memory_is_seen_phase_by_phase(result: Result) -> None:
    for name in (PLAIN, COMPILED):
        looks = {each.phase: each for each in result.race.memory if each.contender == name}
        assert list(looks) == ["start", "import", "build", "weights", "warm_up:train", "steady:train"]
        for phase in ("import", "build", "weights", "warm_up:train"):
            look = looks[phase]
            assert look.resident and look.proportional and look.proportional <= look.resident < 1.05 * look.peak
            assert (look.device, look.device_peak) == ((70 * MIB, 140 * MIB) if name == COMPILED else (None, None))
    held = {name: next(each for each in result.race.memory if (each.contender, each.phase) == (name, "import"))
            for name in (PLAIN, COMPILED)}
    for count in ("peak", "resident", "proportional", "allocated"):
        more = getattr(held[COMPILED], count) - getattr(held[PLAIN], count)
        assert more == pytest.approx(100 * MIB, abs=16 * MIB), count


def test_the_peak_of_a_device_is_shown(result: Result) -> None:
    """In launches as in the rehearsal it is one number, not the allocator's two."""
    told = {each.device_memory for each in result.race.phases if each.contender == COMPILED and each.name != "start"}
    assert told == {140 * MIB}
    (table,) = (each for each in blocks_of(document(result, ("memory",)), Table)
                if isinstance(each, Table) and each.name == "device_memory")
    assert [row[-1] for row in table.rows] == [140 * MIB]


def test_what_compiling_has_to_pay_for_is_told(result: Result) -> None:
    """5 s in a first run; the launches compile, too: there is no cache."""
    told = race_object(result)
    jsonschema.validate(told, schema("race"))
    (found,) = (each for each in break_evens(result.race, cold=True) if each.contender == COMPILED)
    assert found.ahead == "from" and found.steps and 2000 < found.steps < 3200
    assert not result.comparable and told["break_even"] == []  # nobody was certified
    assert any(each["topic"] == "compile cache" and each["found"] == "none is kept" for each in told["audit"])


@pytest.mark.parametrize(("regime", "kept"), [("matched", [True, True, False]),
                                              ("out-of-the-box", [False, True, False])])
def test_a_contender_may_keep_memory_or_not_whatever_its_regime(regime: str, kept: list[bool], tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courses, "WorkerProcess", lambda command, variables, *others, **named: variables)
    entries, _ = find_entries([f"fake:steady{each}" for each in ("", "[allocator=keep]", "[allocator=default]")], "cpu")
    graph, case, optimizer = make_case(MODEL, 2, None, None, "", regime, "cpu", 1)
    with open_course(Store(tmp_path), {"infer": case}, graph, optimizer, entries, lambda *records: None, 0) as course:
        variables = [course.start(each, 1) for each in entries]
        assert [allocator.KEEP.keys() <= set(each) for each in variables] == kept  # type: ignore[call-overload]
        back = [course.start(each, 0, memory=allocator.GIVE_BACK) for each in entries]
        assert [allocator.GIVE_BACK.items() <= each.items() for each in back] == [True, False, False]
        assert all(not course.load_arguments(each)["setup"]["options"] for each in entries)


def test_threads_of_what_is_not_timed_do_not_wait_for_cores_that_others_use(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courses, "WorkerProcess", lambda command, variables, *others, **named: variables)
    (entry,), _ = find_entries(["fake"], "cpu")
    graph, case, optimizer = make_case(MODEL, 2, None, None, "", "matched", "cpu", 1)
    with open_course(Store(tmp_path), {"infer": case}, graph, optimizer, [entry], lambda *records: None, 0) as course:
        assert not courses.CALM.keys() & dict(course.start(entry, 1)).keys()  # type: ignore[call-overload]
        for variables in (course.start(entry, 0, timed=False), course.start_reference(entry)):
            assert courses.CALM.items() <= dict(variables).items()  # type: ignore[call-overload]
        monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")  # the user's own word
        for timed in (True, False):
            assert dict(course.start(entry, 1, timed=timed))["OMP_WAIT_POLICY"] == "ACTIVE"  # type: ignore[call-overload]


@pytest.mark.parametrize("crowded", [False, True])
def test_beside_other_programs_a_proof_has_a_worker_of_its_own(crowded: bool, tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    start = courses.Course.start

    def counted(course: courses.Course, *about: Any, timed: bool = True, **more: Any) -> Any:
        started.append(timed)
        return start(course, *about, timed=timed, **more)
    monkeypatch.setattr(courses.Course, "start", counted)
    monkeypatch.setattr("photofinish.runner.rehearsal.crowd", lambda reply: "other programs" if crowded else "")
    (found,) = api.race(MODEL, [PLAIN, COMPILED], launches=1, seed=1, store=tmp_path, batch=8)
    assert found.comparable and started == [True] * 2 + [False] * 2 * crowded + [True] * 2


def test_a_crowded_machine_is_spoken_of_where_it_can_be_seen() -> None:
    assert "40% of this machine" in crowd({"foreign": 0.4, "wall": 1.0})
    assert not crowd({"foreign": 0.04, "wall": 1.0}) and not crowd({"foreign": None, "wall": 1.0})
    assert not crowd({"foreign": 0.4, "wall": 0.02})  # two ticks of the system's clock: an error of half a core
