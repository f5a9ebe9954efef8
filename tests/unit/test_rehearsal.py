"""Who waits for the proof, and who is started again for it."""

from types import SimpleNamespace
from typing import Any

import pytest

from photofinish.runner.rehearsal import REFERENCE, Rehearsal

GIB = 2**30


@pytest.mark.parametrize(("parameters", "waits"), [(25_000_000, True), (139_000_000, False)])
def test_a_worker_waits_for_its_proof_where_the_reference_has_room_beside_it(parameters: int, waits: bool) -> None:
    killed: list[str] = []
    course: Any = SimpleNamespace(peaks={"torch:eager": 3 * GIB}, room=12 * GIB, hosts=(),
                                  graph=SimpleNamespace(parameter_count=parameters))
    notary: Any = SimpleNamespace(known=lambda entry: None)
    rehearsal, entry = Rehearsal(course, notary), SimpleNamespace(name="torch:eager", processes=1)
    worker: Any = SimpleNamespace(kill=lambda: killed.append(entry.name))
    rehearsal.workers = {entry.name: worker}
    rehearsal._part(entry)  # type: ignore[arg-type]
    assert (entry.name in rehearsal.workers) is waits and (killed == []) is waits
    assert rehearsal.unproven == [entry.name] and (3 * GIB + REFERENCE * parameters <= course.room) is waits
