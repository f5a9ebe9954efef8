"""Who waits for the proof, and who is started again for it."""

from types import SimpleNamespace
from typing import Any

import pytest

from photofinish.runner import groups
from photofinish.runner.rehearsal import REFERENCE, Rehearsal

GIB = 2**30


def parted(parameters: int, device: str = "cpu", others: tuple[str, ...] = ()) -> tuple[Rehearsal, list[str]]:
    """A rehearsal whose torch:eager has ended, beside others that wait; and who was killed."""
    killed: list[str] = []
    course: Any = SimpleNamespace(peaks={"torch:eager": 3 * GIB}, room=12 * GIB, hosts=(),
                                  device_peaks=dict.fromkeys(("torch:eager", *others), 14 * GIB),
                                  case=SimpleNamespace(device=device),
                                  graph=SimpleNamespace(parameter_count=parameters))
    notary: Any = SimpleNamespace(known=lambda entry: None)
    rehearsal, entry = Rehearsal(course, notary), SimpleNamespace(name="torch:eager", processes=1)
    worker: Any = SimpleNamespace(kill=lambda: killed.append(entry.name))
    rehearsal.workers = dict.fromkeys((*others, entry.name), worker)
    rehearsal._part(entry)  # type: ignore[arg-type]
    return rehearsal, killed


@pytest.mark.parametrize(("others", "waits"), [((), True), (("jax:jit",), False)])
def test_on_a_gpu_a_worker_waits_where_the_device_holds_those_that_wait(others: tuple[str, ...], waits: bool,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups.machine, "device_memory", lambda: 24 * GIB)
    assert ("torch:eager" in parted(1, "cuda", others)[0].workers) is waits
    assert "torch:eager" in parted(1, "cpu", others)[0].workers


@pytest.mark.parametrize(("parameters", "waits"), [(25_000_000, True), (139_000_000, False)])
def test_a_worker_waits_for_its_proof_where_the_reference_has_room_beside_it(parameters: int, waits: bool) -> None:
    rehearsal, killed = parted(parameters)
    entry, course = SimpleNamespace(name="torch:eager"), rehearsal.course
    assert course.room is not None
    assert (entry.name in rehearsal.workers) is waits and (killed == []) is waits
    assert rehearsal.unproven == [entry.name] and (3 * GIB + REFERENCE * parameters <= course.room) is waits
