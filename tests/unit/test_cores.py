"""Which cores contenders and their processes are given, and how many threads where nobody says."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish import machine
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.machines import Machine
from photofinish.store import Store
from photofinish.values import Progress

SIDE_BY_SIDE, APART, UNKNOWN = ["0-1", "2-3", "4-5", "6-7"], ["0,4", "1,5", "2,6", "3,7"], list[str]()
HERE, THERE = Machine("here", "10.0.0.1", "eth0"), Machine("there", "10.0.0.2", "eth0")


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], None]:
    """Makes of this machine one of eight hyper-threads, of those physical cores."""
    def number(cores: list[str]) -> None:
        told = {thread: machine._cpu_list(core) for core in cores for thread in machine._cpu_list(core)}
        monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)), raising=False)
        monkeypatch.setattr(machine, "_siblings", lambda root, thread: told.get(thread, set()))
    return number


def pinned(store: Path, name: str, threads: int, hosts: tuple[Machine, ...] = ()) -> list[list[int]]:
    """The cores of each process of a contender."""
    (entry,), _ = find_entries([name], "cpu")
    graph, case, optimizer = make_case("digits_cnn", 8, None, None, "", "matched", "cpu", threads)
    found = []

    def started(entry: object, place: str, variables: dict[str, str], host: object = None,
                **named: object) -> object:
        found.append([int(each) for each in variables["PHOTOFINISH_CORES"].split(",")])
        return SimpleNamespace(hello={}, greet=lambda: None)

    with open_course(Store(store), {"train": case}, graph, optimizer, [entry], lambda *told: None, 0) as course:
        course.hosts = hosts
        course._process = started  # type: ignore[assignment, method-assign]
        course.start(entry, 1)
    return found


@pytest.mark.parametrize(("cores", "threads", "given"), [
    (SIDE_BY_SIDE, 4, {0, 2, 4, 6}), (SIDE_BY_SIDE, 5, {0, 2, 4, 6, 1}), (SIDE_BY_SIDE, 8, set(range(8))),
    (APART, 4, {0, 1, 2, 3}), (APART, 5, {0, 1, 2, 3, 4}), (UNKNOWN, 4, {0, 1, 2, 3}), (UNKNOWN, 5, {0, 1, 2, 3, 4}),
])
def test_half_of_the_hyper_threads_are_one_of_each_core(
        tmp_path: Path, numbered: Callable[[list[str]], None], cores: list[str], threads: int, given: set[int]) -> None:
    numbered(cores)
    assert [set(each) for each in pinned(tmp_path, "fake:steady", threads)] == [given]


@pytest.mark.parametrize(("cores", "threads", "hosts", "given"), [
    (SIDE_BY_SIDE, 8, (), [{0, 1, 2, 3}, {4, 5, 6, 7}]), (SIDE_BY_SIDE, 4, (), [{0, 2}, {4, 6}]),
    (APART, 8, (), [{0, 4, 1, 5}, {2, 6, 3, 7}]), (APART, 4, (), [{0, 1}, {2, 3}]),
    (UNKNOWN, 8, (), [{0, 1, 2, 3}, {4, 5, 6, 7}]),
    (APART, 8, (HERE, THERE), [{0, 1, 2, 3}, {0, 1, 2, 3}]),  # a machine each
    (SIDE_BY_SIDE, 8, (HERE, THERE), [{0, 2, 4, 6}, {0, 2, 4, 6}]),
    (SIDE_BY_SIDE, 8, (HERE, HERE, THERE), [{0, 1, 2, 3}, {4, 5, 6, 7}]),  # the third is for a contender of three
])
def test_processes_have_whole_cores_of_their_machine(
        tmp_path: Path, numbered: Callable[[list[str]], None], cores: list[str], threads: int,
        hosts: tuple[Machine, ...], given: list[set[int]]) -> None:
    numbered(cores)
    assert [set(each) for each in pinned(tmp_path, "fake:steady+mean[2]", threads, hosts)] == given


@pytest.mark.parametrize(("quota", "asked", "threads", "told"), [
    (None, None, 8, ""), (8.0, None, 8, ""), (2.5, None, 2, ""), (2.0, 2, 2, ""),
    (2.5, 4, 4, "may use 2.5 cores' time, and contenders have 4 threads"), (0.5, None, 1, "have 1 thread: "),
])
def test_a_container_that_gives_less_time_than_cores_is_heeded_and_told(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbered: Callable[[list[str]], None], quota: float | None,
        asked: int | None, threads: int, told: str) -> None:
    numbered(UNKNOWN)
    monkeypatch.setattr(machine, "limits", lambda root: {"cpus": quota, "memory": None})
    graph, case, optimizer = make_case("digits_cnn", 8, None, None, "", "matched", "cpu", asked)
    assert case.threads == threads
    (entry,), _ = find_entries(["fake:steady"], "cpu")
    heard: list[Progress] = []
    what: tuple[Any, ...] = (Store(tmp_path), {"train": case}, graph, optimizer, [entry], lambda *told: None, 0)
    with open_course(*what, heard.append):
        pass
    warned = [each.text for each in heard if each.stage == "warning"]
    assert len(warned) == bool(told) and all(told in each for each in warned)
    assert all(("--threads 2" in each) is (quota == 2.5) for each in warned)
