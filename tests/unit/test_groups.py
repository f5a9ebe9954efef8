"""Who is alive together in a launch that does not fit in memory."""

import random
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish.runner import groups as gathering
from photofinish.runner.groups import choose_anchor, crowd_device, default_room, divide, gather
from photofinish.values import Contender

PEAKS = {"a": 3, "b": 2, "c": 4, "d": 1, "e": 2, "f": 3}


def course(peaks: dict[str, int], room: int | None, **changes: Any) -> Any:
    entries = [SimpleNamespace(name=name, contender=Contender("fake")) for name in peaks]
    steps = {name: float(number) for number, name in enumerate(reversed(list(peaks)), 1)}  # the last is the fastest
    values = {"live": entries, "peaks": peaks, "room": room, "seed": 1, "anchor": "", "tasks": ["train"],
              "estimates": {"train": steps}, "device_peaks": {}, "case": SimpleNamespace(device="cpu")}
    return SimpleNamespace(**{**values, **changes})


@pytest.mark.parametrize("seed", range(20))
def test_every_group_fits_with_the_anchor_and_has_everybody_else_once(seed: int) -> None:
    groups = divide(PEAKS, 9, "d", random.Random(seed))
    assert sorted(name for group in groups for name in group[1:]) == sorted(set(PEAKS) - {"d"})
    assert all(group[0] == "d" and sum(PEAKS[name] for name in group) <= 9 for group in groups)
    assert len(groups) == 2  # 14 in rooms of 8: no fewer would do
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def test_groups_are_drawn_anew_for_each_pair_of_launches_and_mirrored_within_it() -> None:
    field = course(PEAKS, 9, anchor="d")
    launches = [gather(field, number) for number in range(1, 13)]
    assert all(launches[i] == launches[i + 1][::-1] for i in range(0, 12, 2))
    assert len({str(sorted(map(sorted, launch))) for launch in launches}) > 1


def test_who_fits_runs_together() -> None:
    assert gather(course(PEAKS, sum(PEAKS.values())), 1) == [list(PEAKS)]
    assert gather(course(PEAKS, None), 1) == [list(PEAKS)]
    assert gather(course({"a": 7, "b": 9}, 1), 1) == [["a", "b"]]  # two are the least that can be compared


def test_who_cannot_be_stopped_is_alive_alone_and_the_others_share_a_group() -> None:
    field = course({"a": 1, "b": 1, "c": 1}, None)
    field.live[1].contender = Contender("fake", strategy="mean", world=2)
    for number in range(1, 9, 2):
        groups = gather(field, number)
        assert sorted(groups) == [["a", "c"], ["b"]] and gather(field, number + 1) == groups[::-1]


def test_whom_a_device_does_not_hold_together_takes_turns_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is stopped gives none of it back. One that tells nothing counts as the largest."""
    gib, cuda = 2**30, SimpleNamespace(device="cuda")
    monkeypatch.setattr(gathering.machine, "device_memory", lambda: 40 * gib)
    field = course({"a": 1, "b": 1}, None, case=cuda, device_peaks={"a": 14 * gib, "b": 2 * gib})
    assert gather(field, 1) == [["a", "b"]]
    field.device_peaks.pop("b")
    assert sorted(gather(field, 1)) == [["a"], ["b"]] and gather(field, 2) == gather(field, 1)[::-1]
    assert not crowd_device(field, ["a"]) and gather(course({"a": 1, "b": 1}, None), 1) == [["a", "b"]]
    monkeypatch.setattr(gathering.machine, "device_memory", lambda: None)
    assert gather(field, 1) == [["a", "b"]]


def test_one_that_is_too_large_for_any_room_leaves_the_others_together() -> None:
    groups = divide({**PEAKS, "huge": 50}, 9, "d", random.Random(1))
    assert sorted(map(len, groups))[0] == 2 and ["d", "huge"] in groups and len(groups) < 6


def test_where_not_even_the_anchor_fits_all_race_in_pairs() -> None:
    assert sorted(divide({"a": 9, "b": 9, "c": 9}, 5, "a", random.Random(1))) == [["a", "b"], ["a", "c"]]


def test_the_anchor_is_the_fastest_that_leaves_room_and_another_when_it_is_out() -> None:
    field = course(PEAKS, 6)
    gather(field, 1)
    assert field.anchor == "e"  # f is faster, but c would not fit beside it
    field.live = [each for each in field.live if each.name != "e"]
    gather(field, 2)
    assert field.anchor == "d"
    assert choose_anchor(field, {"a": 5, "b": 4}, 6) == "b"  # no room for two: the smallest


def test_half_of_the_memory_is_for_a_launch() -> None:
    room = default_room()
    assert room is None or 0 < room < 2**50
