"""The store's file: what is read of it, in which order, and by whom."""

import os
import sqlite3
from pathlib import Path

import pytest

from photofinish import store as store_module
from photofinish.store import FILE, Store
from photofinish.values import Case, Race

CASE = Case("model", "digest", "train", 8, (1, 8, 8))


def begin(store: Store, session: str, created: str) -> None:
    store.begin(Race(f"{session}-train", CASE, ("a", "b"), created=created), session)


def test_sessions_come_in_the_order_in_which_they_were_entered(tmp_path: Path) -> None:
    """When clocks are put back, or another time zone is told, what is later has the earlier local time."""
    store = Store(tmp_path)
    begin(store, "first", "2026-10-25T02:30:00+0200")
    begin(store, "second", "2026-10-25T02:10:00+0100")
    assert [session for session, _, _ in store.sessions()] == ["first", "second"]


def test_a_folder_that_cannot_be_written_is_read_after_others_have_read_it(tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers leave an empty log behind, beside which SQLite would have to write."""
    store = Store(tmp_path)
    begin(store, "first", "")
    store._writer.close()
    (tmp_path / "photofinish.sqlite-wal").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert len(Store(tmp_path, only_read=True).sessions()) == 1
    assert not (tmp_path / "photofinish.sqlite-shm").exists()


def test_a_store_is_opened_while_another_process_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite refuses at once to change how a database is kept that another one is writing to."""
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    pauses = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        other.rollback()
    monkeypatch.setattr(store_module.time, "sleep", sleep)
    begin(Store(tmp_path), "first", "")
    assert pauses and len(Store(tmp_path).sessions()) == 1
