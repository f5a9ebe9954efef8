"""What several processes are to a race: started together, one answer, and amounts that are of all of them."""

from types import SimpleNamespace
from typing import Any

import pytest

from photofinish import sensors
from photofinish.measure import system
from photofinish.reports import standings
from photofinish.reports.reading import processes_of
from photofinish.runner import energy
from photofinish.runner.machines import Machine
from photofinish.runner.process import WorkerFailed
from photofinish.runner.ranks import Ranks, together
from photofinish.stats import judge
from photofinish.values import Block, Case, Phase, Race

ALONE, SEVERAL = "fake:steady", "fake:steady+mean[2]"


def block(foreign: float | None, cpu: float) -> dict[str, Any]:
    return {"seconds": [1.0], "cpu": cpu, "wall": 1.0, "faults": 0, "foreign": foreign, "loss": 1.0}


@pytest.mark.parametrize(("machines", "others"), [
    ((), 0.2), (("", ""), 0.2),  # rank 0 sees what rank 1 does, which is ours
    (("a", "b"), 0.7),           # and does not see it on another machine
    (("b", "a"), 0.7)])
def test_ranks_beside_a_rank_are_not_foreign_to_it_and_those_of_other_machines_are_not_there(
        machines: tuple[str, ...], others: float) -> None:
    told = [block(0.7, 1.0), block(0.1, 0.5 * system.CORES)]
    assert together(told, machines)["foreign"] == pytest.approx(others)


def test_the_machine_that_others_use_most_counts_and_one_that_does_not_tell_does_not() -> None:
    assert together([block(0.1, 1.0), block(0.4, 1.0)], ("a", "b"))["foreign"] == pytest.approx(0.4)
    assert together([block(0.1, 1.0), block(None, 1.0)], ("a", "b"))["foreign"] == pytest.approx(0.1)


def ranks(happened: list[str], broken: int | None = None) -> Ranks:
    def start(number: int) -> Any:
        def greet() -> None:
            happened.append(f"hears {number}")
            if number == broken:
                raise WorkerFailed("crash", "it is gone")

        happened.append(f"starts {number}")
        return SimpleNamespace(greet=greet, hello={"memory": 1}, kill=lambda: happened.append(f"kills {number}"))
    return Ranks(2, start, "")


def test_all_processes_are_started_before_any_is_waited_for() -> None:
    happened: list[str] = []
    assert ranks(happened).hello["memory"] == 2
    assert happened == ["starts 0", "starts 1", "hears 0", "hears 1"]


def test_one_that_does_not_start_leaves_none_behind() -> None:
    happened: list[str] = []
    with pytest.raises(WorkerFailed, match="rank 0 of 2: it is gone"):
        ranks(happened, broken=0)
    assert happened[-2:] == ["kills 0", "kills 1"]


def test_counters_of_one_machine_do_not_see_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors, "meter", lambda device: SimpleNamespace())
    course: Any = SimpleNamespace(case=SimpleNamespace(device="cpu"), entries=[], meter=None,
                                  hosts=(Machine("a", "10.0.0.1", "eth0"), Machine("b", "10.0.0.2", "eth0")))
    assert "do not see the other machines" in energy.prepare(course).reason and course.meter is None


@pytest.mark.parametrize(("names", "whose"), [((ALONE,), "of one process"),
                                              ((ALONE, SEVERAL), "of all processes of a contender together")])
def test_peaks_are_said_to_be_of_all_processes(names: tuple[str, ...], whose: str) -> None:
    assert processes_of(names) == whose
    blocks = tuple(Block(1, 1, 0, name, "train", (1.0,), 0.1, 0, 0.0, 0.1) for name in names)
    phases = tuple(Phase(0, name, "start", 0.1, 100) for name in names)
    race = Race("r", Case("m", "d", "train", 8, (1,), threads=2), names, blocks=blocks, phases=phases)
    assert f"Peak memory: {whose}" in standings.table(judge(race)).caption
