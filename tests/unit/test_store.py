"""The store's file: what is read of it, in which order, and by whom."""

import errno
import fcntl
import os
import sqlite3
from pathlib import Path

import pytest

from photofinish import cli
from photofinish import store as store_module
from photofinish.errors import UsageError
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


def test_a_store_that_another_program_holds_is_said_to_be_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder that may be written to and no room on the disk would help."""
    Store(tmp_path)
    monkeypatch.setattr(store_module, "PATIENCE", 0.01)
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UsageError, match="database is locked") as refused:
        Store(tmp_path)
    assert "another program" in refused.value.hint and "disk" not in refused.value.hint
    told = cli.explain(sqlite3.OperationalError("database is locked"))
    assert told is not None and "another program" in told[1] and "room" not in told[1]
    full = cli.explain(sqlite3.OperationalError("database or disk is full"))
    assert full is not None and "make room" in full[1]


def test_a_race_is_in_one_hand_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, same = Store(tmp_path), Store(tmp_path)
    with store.alone("key") as ours, same.alone("key") as theirs, same.alone("other") as free:
        assert (ours, theirs, free) == (True, False, True)
    with same.alone("key") as free:
        assert free
    assert [path.name for path in tmp_path.glob("*.lock")] == []
    monkeypatch.setattr(fcntl, "flock", no_locks)
    with store.alone("key") as ours:  # on a file system without locks nobody can tell
        assert ours


def no_locks(*_: object) -> None:
    raise OSError(errno.ENOLCK, "No locks available")
