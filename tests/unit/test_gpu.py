"""What is otherwise in a race on a GPU than in one on a processor, as far as no GPU is needed to see it."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from photofinish import models, sensors
from photofinish.environments import choice
from photofinish.explain.anatomy import anatomy
from photofinish.explain.roofline import PRODUCT, STREAM, moved, with_probes
from photofinish.render.quantities import plain
from photofinish.reports import largest_batch, serving
from photofinish.runner import arrange, energy, largest
from photofinish.sensors import Meter, Reading
from photofinish.store import Store
from photofinish.values import LargestBatch, Load, Progress, Trial
from photofinish.worker import failure_kind


def test_the_first_gpu_has_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a proof of minutes would be earned twice."""
    monkeypatch.setattr(arrange.machine, "lacks", lambda device: "")
    devices = [arrange.make_case("digits_cnn", None, None, None, "", "matched", each, None)[1].device
               for each in ("cuda:0", "cuda", "cuda:1")]
    assert devices == ["cuda", "cuda", "cuda:1"]


def course(device: str = "cuda", worlds: tuple[int, ...] = (1, 1), told: list[Progress] | None = None) -> Any:
    entries = [SimpleNamespace(contender=SimpleNamespace(world=each)) for each in worlds]
    return SimpleNamespace(case=SimpleNamespace(device=device), entries=entries, meter=None, hosts=(),
                           listener=(told if told is not None else []).append)


@pytest.mark.parametrize(("busy", "warned"), [(None, False), (0.01, False), (0.4, True)])
def test_others_on_the_gpu_are_told_of(monkeypatch: pytest.MonkeyPatch, busy: float | None, warned: bool) -> None:
    meter = Meter([])
    monkeypatch.setattr(meter, "read", lambda: Reading(0.0, 0.0, {}))
    monkeypatch.setattr(meter, "idle", lambda seconds: {"gpu-0": 80.0})
    monkeypatch.setattr(meter, "busy", lambda since: busy)
    monkeypatch.setattr(sensors, "meter", lambda device: meter)
    told: list[Progress] = []
    here = course(told=told)
    assert energy.prepare(here).idle == {"gpu-0": 80.0} and here.meter is meter
    assert [each.stage for each in told].count("warning") == int(warned)


def test_of_several_gpus_no_joules_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counter of one would say half of them."""
    monkeypatch.setattr(sensors, "meter", lambda device: Meter([]))
    here = course(worlds=(1, 2))
    assert "a contender here has several" in energy.prepare(here).reason and here.meter is None


def test_probes_are_large_enough_for_a_gpu() -> None:
    taken = anatomy(models.find("digits_cnn").graph(), training=False)
    parts = {device: {part.name: part for part in with_probes(taken, 8, device).parts} for device in ("cpu", "cuda")}
    assert parts["cuda"][PRODUCT].macs * 8 == 4096 ** 3 == 64 * parts["cpu"][PRODUCT].macs * 8
    assert moved(parts["cuda"][STREAM], 8) == 2 * 4 * 2 ** 26


def test_queries_that_lie_on_the_device_are_told_to() -> None:
    load = Load(rate=10.0, queries=100)
    assert "no latency has a copy in it" in plain(serving._story(load, 1, "cuda"))
    assert "copy" not in plain(serving._story(load, 1, "cpu"))


@pytest.mark.parametrize("error", [RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)"),
                                   RuntimeError("CUDA out of memory"), MemoryError()])
def test_a_gpu_s_memory_that_is_out_is_called_that(error: Exception) -> None:
    assert failure_kind(error) == "out of memory"


@pytest.mark.parametrize(("device", "batch"), [("cpu", 64), ("cuda", 57), ("cuda:1", 57)])
def test_a_race_at_the_largest_batch_leaves_room_for_its_three_batches(device: str, batch: int) -> None:
    assert largest.raced_at(64, device) == batch and largest.raced_at(1, device) == 1


def test_a_largest_batch_is_that_of_the_gpu_that_was_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, case, _ = arrange.make_case("digits_cnn", 8, None, None, "", "matched", "cpu", None)
    entries, _ = arrange.find_entries(["fake:steady"], "cpu", choice.Choice())
    here: Any = SimpleNamespace(graph=graph, case=replace(case, task="train"), entries=entries)
    search = largest.Search(here, Store(tmp_path), None)
    keys = []
    for shown in ("0", "1", "1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
        keys.append(search._key(entries[0], "train"))
    assert keys[0] != keys[1] == keys[2]


def test_how_much_of_a_gpu_jax_takes_is_told() -> None:
    found = [LargestBatch("jax:jit", 64, 68, True, None, "train", (Trial(64, True, 1, 2, held="device"),))]
    assert "three quarters" in largest_batch.table(found).caption
    others = [replace(found[0], contender="torch:eager"),
              replace(found[0], trials=(replace(found[0].trials[0], held="cgroup"),))]
    assert not any("three quarters" in largest_batch.table([each]).caption for each in others)
