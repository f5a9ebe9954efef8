"""Which certificates a race uses again."""

from pathlib import Path

import pytest

from photofinish.runner import notary
from photofinish.runner.arrange import find_entries, make_case, open_course
from photofinish.runner.notary import Notary
from photofinish.store import Store


def test_a_certificate_is_of_these_threads_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,), _ = find_entries(["fake"], "cpu")
    monkeypatch.setattr("photofinish.machine.usable_cores", lambda: [0, 1])

    def key(threads: int = 1) -> str:
        graph, case, optimizer = make_case("digits_cnn", 8, None, None, "", "matched", "cpu", threads)
        with open_course(Store(tmp_path), {"train": case}, graph, optimizer, [entry], lambda *told: None, 0) as course:
            return Notary(course)._key(entry)

    before = key()
    assert key() == before != key(2)
    monkeypatch.setattr(notary.machine, "hardware", lambda device: "another processor")
    assert key() != before
