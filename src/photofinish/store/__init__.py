"""One embedded database; raw records only, every summary computed when read.

SQLite and not DuckDB: it comes with Python, and several processes may write to it at once (DuckDB lets
one). Each record is committed as it arrives, so that a later failure loses nothing.
"""

import errno
import fcntl
import json
import os
import re
import shlex
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from weakref import finalize

from photofinish.errors import UsageError
from photofinish.values import (
    Block,
    Certificate,
    Energy,
    Epoch,
    Failure,
    Finding,
    Launch,
    Memory,
    Observation,
    Phase,
    Profile,
    Race,
    Resize,
    SameGuesses,
    Trace,
    Trial,
    WarmUp,
    from_json,
    to_json,
)

# Which field of a Race a record belongs to, and what it is.
KINDS: dict[str, type[Any]] = {"launches": Launch, "blocks": Block, "part_blocks": Block, "energies": Energy,
                               "epochs": Epoch, "same_guesses": SameGuesses, "phases": Phase, "memory": Memory,
                               "resizes": Resize, "warm_ups": WarmUp, "traces": Trace, "profiles": Profile,
                               "failures": Failure, "certificates": Certificate, "audit": Finding}
SCHEMA = """
CREATE TABLE IF NOT EXISTS race (id TEXT PRIMARY KEY, session TEXT NOT NULL, created TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS record (
    number INTEGER PRIMARY KEY, race TEXT NOT NULL REFERENCES race(id), kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS record_race ON record(race);
CREATE TABLE IF NOT EXISTS certificate (key TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trials (key TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS observation (key TEXT PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS settled (key TEXT PRIMARY KEY, session TEXT NOT NULL, reason TEXT NOT NULL);
"""
FILE = "photofinish.sqlite"
_APPEND = "INSERT INTO record (race, kind, body) VALUES (?, ?, ?)"
VERSION = 1
PATIENCE = 30.0  # seconds for another process to let go of the database
PAUSE = 0.01  # seconds between two tries where SQLite itself does not wait
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS (?P<name>\w+) (?P<columns>[^;]*)")
DEFAULT_STORE = Path(".photofinish")  # in the current folder
_ELSEWHERE = "choose another folder with --store FOLDER"
_HELD = ("another program holds the database (a backup, a browser of databases, an sqlite3 that was left open): end "
         f"what it does there, or {_ELSEWHERE}")


def reading(words: str, folder: Path | str | None = None) -> str:
    """The command that reads a store: `reading("report last", "st2")` is "photofinish report last --store st2"."""
    elsewhere = folder is not None and Path(folder) != DEFAULT_STORE
    return f"photofinish {words}" + (f" --store {shlex.quote(str(folder))}" if elsewhere else "")


def remedy(error: Exception, otherwise: str) -> str:
    """What to do about a database that cannot be used: one that is locked lacks neither room nor permission."""
    return _HELD if isinstance(error, sqlite3.OperationalError) and "locked" in str(error) else otherwise


class Store:
    """A folder with the database in it. Opening makes both; several processes may hold the same one. One that is
    `only_read` leaves no trace: it is empty where there is none."""

    def __init__(self, folder: Path, only_read: bool = False) -> None:
        """Raises UsageError if the folder cannot be written (read, if `only_read`), or what is there is no store."""
        self.folder = Path(folder)
        self.path = self.folder / FILE
        self.only_read = only_read
        try:
            self._open()
        except (OSError, sqlite3.OperationalError) as error:
            why = (error.strerror if isinstance(error, OSError) else "") or str(error)
            raise UsageError(f"cannot read {self.path}: {why}" if only_read else
                             f"cannot write results to {self.folder}: {why}",
                             remedy(error, _ELSEWHERE if only_read else
                                    "choose a folder you may write to with --store FOLDER, or free some disk space"),
                             ) from error
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{self.path} is no store of photofinish, or a damaged one: {error}",
                             f"move it away, or {_ELSEWHERE}") from error

    def _open(self) -> None:
        if not self.only_read:
            self.folder.mkdir(parents=True, exist_ok=True)
        with self._connection() as connection:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found not in (0, VERSION):
                raise UsageError(f"{self.path} was written by another version of photofinish (format {found})",
                                 _ELSEWHERE)
            if not self.only_read:
                self._log_ahead(connection)
                connection.executescript(SCHEMA)
                connection.execute(f"PRAGMA user_version={VERSION}")
                connection.execute("INSERT OR REPLACE INTO certificate VALUES ('can be written', '{}')")

    def _log_ahead(self, connection: sqlite3.Connection) -> None:
        """SQLite waits for who writes, but not here: of processes that make the same store at once, all but one would
        be refused."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(PAUSE)

    def _reader(self) -> sqlite3.Connection:
        """A reader, too, writes beside a database in WAL mode; where it may not, the database is read as a file that
        nobody changes. Tables that an older one lacks are empty for a reader."""
        if not self.path.exists() or not self.path.stat().st_size:
            address = ":memory:"
        else:
            log = self.path.with_name(FILE + "-wal")
            pending = log.exists() and log.stat().st_size  # a reader leaves an empty one behind
            how = "mode=ro" if os.access(self.folder, os.W_OK) or pending else "immutable=1"
            address = f"{self.path.resolve().as_uri()}?{how}"
        connection = sqlite3.connect(address, timeout=PATIENCE, uri=True)
        there = {name for name, in connection.execute("SELECT name FROM sqlite_master")}
        for found in _TABLE.finditer(SCHEMA):
            if found["name"] not in there:
                connection.execute(f"CREATE TEMP TABLE {found['name']} {found['columns']}")
        return connection

    @cached_property
    def _writer(self) -> sqlite3.Connection:
        """Open as long as the store is used, and never waits for the disk, which would be milliseconds a record between
        the blocks of a race: what a process wrote outlives it, and only a loss of power may take the last records."""
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        finalize(self, connection.close)
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if self.only_read:
            with closing(self._reader()) as connection:
                yield connection
        else:
            with self._writer as connection:
                yield connection

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """What another version wrote, or a fault of the disk, is told as that."""
        try:
            yield
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(f"{self.path} has a record that this version of photofinish does not understand: {error}",
                             f"read it with the version that wrote it, or {_ELSEWHERE}") from error

    def begin(self, race: Race, session: str) -> None:
        """Enters a race without records; `session` groups the races of one command."""
        head = {key: value for key, value in to_json(race).items() if key not in KINDS}
        with self._connection() as connection:
            connection.execute("INSERT INTO race VALUES (?, ?, ?, ?)",
                               (race.id, session, race.created, json.dumps(head)))

    def update(self, race: Race) -> None:
        """Writes the head of a race again (versions become known when workers have started)."""
        head = {key: value for key, value in to_json(race).items() if key not in KINDS}
        with self._connection() as connection:
            connection.execute("UPDATE race SET body = ? WHERE id = ?", (json.dumps(head), race.id))

    def append(self, race: str, kind: str, *records: Any) -> None:
        """Saves records (kind: a field of Race that holds a tuple) in one transaction."""
        statement, rows = self.appending(race, kind, *records)
        with self._connection() as connection:
            connection.executemany(statement, rows)

    def appending(self, race: str, kind: str, *records: Any) -> tuple[str, list[tuple[str, str, str]]]:
        """What would save them, for who is to do it in another process: a statement of SQLite and its rows."""
        return _APPEND, [(race, kind, json.dumps(to_json(record))) for record in records]

    def read(self, race: str, kinds: Sequence[str] = ()) -> Race:
        """The race with everything recorded of it, or only these `kinds`. Raises UsageError if there is none of that
        id."""
        with self._connection() as connection:
            head = connection.execute("SELECT body FROM race WHERE id = ?", (race,)).fetchone()
            only = f" AND kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
            query = f"SELECT kind, body FROM record WHERE race = ?{only} ORDER BY number"
            rows = connection.execute(query, (race, *kinds)).fetchall()
        if head is None:
            raise UsageError(f"no race {race!r} in {self.path}",
                             "see the ids with: " + reading("report --list", self.folder))
        records: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        with self._understood():
            for kind, body in rows:
                records[kind].append(from_json(KINDS[kind], json.loads(body)))
            race_value: Race = from_json(Race, json.loads(head[0]))
        fields: dict[str, Any] = {kind: tuple(found) for kind, found in records.items()}
        return replace(race_value, **fields)

    def sessions(self) -> list[tuple[str, str, list[str]]]:
        """(session, created, race ids), oldest first: as they were entered, for local times do not tell the order where
        clocks were put back."""
        with self._connection() as connection:
            rows = connection.execute("SELECT session, created, id FROM race ORDER BY rowid").fetchall()
        grouped: dict[str, tuple[str, list[str]]] = {}
        for session, created, race in rows:
            grouped.setdefault(session, (created, []))[1].append(race)
        return [(session, created, races) for session, (created, races) in grouped.items()]

    def certificate(self, key: str) -> Certificate | None:
        """A certificate earned before under the same key (graph, adapter, versions, machine)."""
        with self._connection() as connection:
            row = connection.execute("SELECT body FROM certificate WHERE key = ?", (key,)).fetchone()
        with self._understood():
            return None if row is None else from_json(Certificate, json.loads(row[0]))

    def keep_certificate(self, key: str, certificate: Certificate) -> None:
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO certificate VALUES (?, ?)",
                               (key, json.dumps(to_json(certificate))))

    def trials(self, key: str) -> tuple[Trial, ...]:
        """What a search for a largest batch has tried so far under the same key, in that order."""
        with self._connection() as connection:
            row = connection.execute("SELECT body FROM trials WHERE key = ?", (key,)).fetchone()
        with self._understood():
            return () if row is None else tuple(from_json(Trial, each) for each in json.loads(row[0]))

    def keep_trials(self, key: str, trials: Sequence[Trial]) -> None:
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO trials VALUES (?, ?)", (key, json.dumps(to_json(list(trials)))))

    def observations(self, key: str) -> tuple[Observation, ...]:
        """What programs have seen that decide the claim of that key; () if they have not been run."""
        with self._connection() as connection:
            row = connection.execute("SELECT body FROM observation WHERE key = ?", (key,)).fetchone()
        with self._understood():
            return () if row is None else tuple(from_json(Observation, each) for each in json.loads(row[0]))

    def keep_observations(self, key: str, seen: Sequence[Observation]) -> None:
        with self._connection() as connection:
            connection.execute("INSERT OR REPLACE INTO observation VALUES (?, ?)",
                               (key, json.dumps(to_json(list(seen)))))

    def settled(self) -> dict[str, tuple[str, str]]:
        """The planned races of studies that are done: key -> (session, why there is none)."""
        with self._connection() as connection:
            rows = connection.execute("SELECT key, session, reason FROM settled").fetchall()
        return {key: (session, reason) for key, session, reason in rows}

    def settle(self, key: str, session: str = "", reason: str = "") -> None:
        """Marks a planned race as done: it was run in that session, or could not be. One that was run stays so: another
        process may have run what this one could not."""
        with self._connection() as connection:
            connection.execute("INSERT INTO settled VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
                               "session = excluded.session, reason = excluded.reason "
                               "WHERE excluded.session != '' OR settled.session = ''", (key, session, reason))

    @contextmanager
    def alone(self, key: str) -> Iterator[bool]:
        """Whether no other process has the planned race of that key in hand: then this one has, until the body ends."""
        lock = _Lock(self.folder / f"{key}.lock")
        try:
            yield lock.ours
        finally:
            lock.release()


class _Lock:
    """A lock that ends with its process, in a file that is there as long as somebody has it. On a file system without
    locks everybody has it."""

    def __init__(self, path: Path) -> None:
        self.path, self.ours = path, True
        while True:
            self.file: IO[bytes] = path.open("ab")
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                self.ours = error.errno not in (errno.EAGAIN, errno.EACCES)
                return
            if self._there():
                return
            self.file.close()  # who had it before removed the file meanwhile: it is no lock any more

    def _there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        if self.ours:
            self.path.unlink(missing_ok=True)
        self.file.close()
