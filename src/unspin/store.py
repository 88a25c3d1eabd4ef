"""The only room that keeps state between processes: one SQLite file in the state folder.

Knows sessions, detections, faults, the person's overrides and recorded checks as plain
rows; what is in a session's state is the guard's business. What is stored is facts and
short excerpts. The file is readable by its owner only.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time

from unspin.flags import lower_flag, raise_flag
from unspin.paths import as_uri

try:  # the bare C module: the package around it loads datetime, which a hook pays for on every call
    import _sqlite3 as sqlite3
except ImportError:
    import sqlite3  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Self

VERSION = 2
_BUSY_SECONDS = 0.25
_KEEP_FAULTS = 200
FAULTS_FILE = "faults.log"  # beside the store, for faults of the store itself
_MAX_FAULTS_FILE = 200_000  # bytes
_KEEP_CHECK_RUNS = 200
_KEEP_RECORDS = 20_000  # events of one session
_KEEP_HANDOFF = 7 * 86400  # seconds
_KEEP_SECONDS = 180 * 86400  # a session without an event

#: Migrations: the statements that bring a store from version N-1 to N.
_MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (
        """CREATE TABLE session (
            id TEXT PRIMARY KEY, agent TEXT NOT NULL, project TEXT NOT NULL, cwd TEXT NOT NULL,
            state TEXT NOT NULL, armed INTEGER NOT NULL, started REAL NOT NULL, updated REAL NOT NULL)""",
        "CREATE INDEX session_project ON session (project, updated)",
        """CREATE TABLE detection (
            id INTEGER PRIMARY KEY, session TEXT NOT NULL, time REAL NOT NULL, rule TEXT NOT NULL,
            identity TEXT NOT NULL, count INTEGER NOT NULL, event_index INTEGER NOT NULL, file TEXT NOT NULL,
            message TEXT NOT NULL, evidence TEXT NOT NULL, response TEXT NOT NULL)""",
        "CREATE INDEX detection_session ON detection (session, id)",
        "CREATE TABLE fault (id INTEGER PRIMARY KEY, time REAL NOT NULL, place TEXT NOT NULL, text TEXT NOT NULL)",
        "CREATE TABLE mode (project TEXT PRIMARY KEY, mode TEXT NOT NULL)",
        "CREATE TABLE mute (project TEXT, rule TEXT, file TEXT, PRIMARY KEY (project, rule, file)) WITHOUT ROWID",
        "CREATE TABLE settings (project TEXT PRIMARY KEY, stamp TEXT NOT NULL, value TEXT NOT NULL)",
        """CREATE TABLE check_run (
            id INTEGER PRIMARY KEY, folder TEXT NOT NULL, time REAL NOT NULL, command TEXT NOT NULL,
            kind TEXT NOT NULL, status INTEGER NOT NULL)""",
        "CREATE TABLE spooled (name TEXT PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE stash (session TEXT, path TEXT, text TEXT NOT NULL, PRIMARY KEY (session, path))",
    ),
    2: (
        """CREATE TABLE record (
            id INTEGER PRIMARY KEY, session TEXT NOT NULL, event_index INTEGER NOT NULL, time REAL NOT NULL,
            kind TEXT NOT NULL, data TEXT NOT NULL)""",
        "CREATE INDEX record_session ON record (session, id)",
        """CREATE TABLE checkpoint (
            id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, root TEXT NOT NULL, time REAL NOT NULL,
            event_index INTEGER NOT NULL, tree TEXT NOT NULL, working INTEGER NOT NULL, reason TEXT NOT NULL,
            why TEXT NOT NULL, command TEXT NOT NULL, files_changed INTEGER NOT NULL, left_out TEXT NOT NULL,
            head TEXT NOT NULL, modes TEXT NOT NULL)""",
        "CREATE INDEX checkpoint_root ON checkpoint (root, id)",
        """CREATE TABLE rollback (
            id INTEGER PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL, time REAL NOT NULL, target INTEGER NOT NULL,
            safety INTEGER NOT NULL, paths TEXT NOT NULL, state TEXT NOT NULL, undoes INTEGER NOT NULL,
            folders TEXT NOT NULL)""",
        """CREATE TABLE handoff (
            project TEXT PRIMARY KEY, session TEXT NOT NULL, time REAL NOT NULL, text TEXT NOT NULL)""",
    ),
}


class StoreError(Exception):
    """The store cannot be used; the text says what was found and what to do.

    ``locked`` is true where another process holds it: later it will be free.
    """

    locked = False


_LEAST_ROOM = 65536  # bytes: SQLite wants so much beside its file before it reads a line


def _storable(value: Any) -> Any:
    """Return text that SQLite takes: lone surrogates, which are no characters, replaced."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _names(paths: list[bytes]) -> str:
    """Return file names as JSON; bytes that are no UTF-8 come back as they were."""
    return json.dumps([os.fsdecode(path) for path in paths])


def _unusable(path: str, error: Exception) -> StoreError:
    found = StoreError(f"the store {path} cannot be used: {error}")
    found.locked = "locked" in str(error) or "busy" in str(error)
    return found


def disk_is_full(folder: str) -> bool:
    """Tell whether nothing can be written where the store lies: then it is not damaged, and needs only room."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _LEAST_ROOM


def record_fault(folder: str, place: str, text: str) -> None:
    """Record a fault in the store, or beside it where the store cannot be used; raise if neither can be."""
    try:
        store = Store(folder)
        with store:
            store.fault(place, text)
        store.close()
    except (StoreError, sqlite3.Error):
        path = os.path.join(folder, FAULTS_FILE)
        if not os.path.exists(path) or os.path.getsize(path) < _MAX_FAULTS_FILE:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{time.time():.0f}\t{place}\t{' '.join(text.split())[:500]}\n")


@contextlib.contextmanager
def patiently(folder: str, seconds: float = 5.0, *, kept: list[Store] | None = None) -> Iterator[Store]:
    """Open the store for one transaction; wait up to ``seconds`` for a hook that holds it.

    In ``kept`` it stays open for the next one: opening and closing cost syncs of the disk.
    """
    end = time.monotonic() + seconds
    while True:
        store = kept.pop() if kept else None
        try:
            store = store or Store(folder)
            store.__enter__()
            break
        except StoreError as error:
            if store:
                store.close()
            if not error.locked or time.monotonic() > end:
                raise
            time.sleep(0.05)
    try:
        yield store
    except BaseException:
        store.__exit__(*sys.exc_info())
        raise
    else:
        store.__exit__(None, None, None)
        if kept is not None:
            kept.append(store)
    finally:
        if not kept:
            store.close()


class Session:
    """One session's row. ``armed`` says what the hook before a tool has to look for (``Guard.armed``)."""

    __slots__ = ("agent", "armed", "cwd", "id", "project", "started", "state", "updated")

    def __init__(
        self,
        id: str,
        agent: str,
        project: str,
        cwd: str,
        state: str,
        armed: int,
        started: float,
        updated: float,
    ):
        self.id = id
        self.agent = agent
        self.project = project
        self.cwd = cwd
        self.state = state
        self.armed = armed
        self.started = started
        self.updated = updated


class Checkpoint:
    """One checkpoint's row: which tree of the snapshots of ``root`` it is, and what is known of it.

    ``reason`` says why it was taken, ``why`` why it is not ``working`` (empty where it is),
    ``command`` is the check that passed, ``files_changed`` counts against the checkpoint
    before, ``left_out`` and ``modes`` are JSON, ``head`` is the commit that was checked out.
    """

    __slots__ = (
        "command",
        "event_index",
        "files_changed",
        "head",
        "id",
        "left_out",
        "modes",
        "reason",
        "root",
        "session",
        "time",
        "tree",
        "why",
        "working",
    )

    def __init__(self, *values: Any):
        for name, value in zip(_CHECKPOINT, values, strict=True):
            setattr(self, name, value)
        self.working = bool(self.working)

    if TYPE_CHECKING:
        id: int
        session: str
        root: str
        time: float
        event_index: int
        tree: str
        working: bool
        reason: str
        why: str
        command: str
        files_changed: int
        left_out: str
        head: str
        modes: str

    @property
    def name(self) -> str:
        """The id as people see and type it."""
        return f"c{self.id}"


_CHECKPOINT = (
    "id",
    "session",
    "root",
    "time",
    "event_index",
    "tree",
    "working",
    "reason",
    "why",
    "command",
    "files_changed",
    "left_out",
    "head",
    "modes",
)


class Rollback:
    """One rollback's row: from the checkpoint ``safety`` to ``target``, which ``paths``, and how far it came."""

    __slots__ = ("folders", "id", "paths", "safety", "state", "target", "undoes")

    def __init__(
        self, id: int, target: int, safety: int, paths: list[bytes], state: str, undoes: int, folders: dict[str, int]
    ):
        self.id = id
        self.target = target
        self.safety = safety
        self.paths = paths
        self.state = state
        self.undoes = undoes
        self.folders = folders


class Store:
    """The open store. Use as a context manager: what is done inside is one transaction.

    ``with Store(folder) as store`` takes the write lock at once, so that what is read
    stays true until it is written.
    """

    def __init__(self, folder: str, *, read_only: bool = False):
        """Open the store in ``folder``, make it or bring it up to date; raise ``StoreError`` if that fails.

        ``read_only`` makes and changes nothing and waits for nobody: what is not as this
        version wants it cannot be used then.
        """
        self.path = os.path.join(folder, "state.db")
        self._folder = folder
        self._disarmed: list[str] = []  # sessions whose flags go with the commit
        try:
            self._db = self._open_to_read() if read_only else self._open(folder)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(self.path, error) from error

    def _open(self, folder: str) -> Any:
        if not os.path.exists(self.path):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        db = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        return db

    def _open_to_read(self) -> Any:
        db = sqlite3.connect(f"file:{as_uri(self.path)}?mode=ro", timeout=0, isolation_level=None, uri=True)
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
            db.close()
            raise StoreError(f"the store {self.path} is of another version than this unspin's ({VERSION})")
        return db

    def _prepare(self, db: Any) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StoreError(
                f"the store {self.path} is of version {version}, made by a newer unspin (this one knows up to "
                f"{VERSION}): update this unspin, or move the file away to start afresh"
            )
        db.execute("PRAGMA synchronous = NORMAL")
        if version < VERSION:
            self._migrate(db)

    def _migrate(self, db: Any) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        (version,) = db.execute("PRAGMA user_version").fetchone()  # another process may have been first
        for step in range(version + 1, VERSION + 1):
            for statement in _MIGRATIONS[step]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {step}")
        db.execute("COMMIT")

    def __enter__(self) -> Self:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._db.execute("ROLLBACK" if kind else "COMMIT")
        except sqlite3.Error as problem:
            if kind is None:  # else the first trouble is the one to tell of
                raise _unusable(self.path, problem) from problem
        if not kind:
            for session in self._disarmed:
                lower_flag(self._folder, session)
        self._disarmed = []

    def close(self) -> None:
        self._db.close()

    # -- sessions ----------------------------------------------------------------------

    def session(self, id: str) -> Session | None:
        """Return the session, or ``None``."""
        row = self._db.execute(
            "SELECT id, agent, project, cwd, state, armed, started, updated FROM session WHERE id = ?",
            (_storable(id),),
        ).fetchone()
        return Session(*row) if row else None

    def sessions(self, *, project: str | None = None, begins: str = "") -> list[Session]:
        """Return sessions, newest first: of one project, or whose id begins so."""
        rows = self._db.execute(
            "SELECT id, agent, project, cwd, state, armed, started, updated FROM session "
            "WHERE (?1 IS NULL OR project = ?1) AND substr(id, 1, length(?2)) = ?2 ORDER BY updated DESC",
            (project, begins),
        )
        return [Session(*row) for row in rows]

    def save_session(
        self, id: str, *, agent: str, project: str, cwd: str, state: str, armed: int, updated: float = 0.0
    ) -> None:
        """Store a session's state; ``project`` is kept as it was at the session's start.

        ``updated`` is the time of its last event, by default now.
        """
        now = updated or time.time()
        if armed:
            raise_flag(self._folder, id)
            self._disarmed = [session for session in self._disarmed if session != id]
        else:
            self._disarmed.append(id)
        self._db.execute(
            "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "cwd = excluded.cwd, state = excluded.state, armed = excluded.armed, updated = excluded.updated",
            (_storable(id), agent, _storable(project), _storable(cwd), state, armed, now, now),
        )

    def forget(self, id: str) -> int:
        """Remove a session and its detections; return how many detections there were."""
        count = self._db.execute("DELETE FROM detection WHERE session = ?", (id,)).rowcount
        for table in ("stash", "record", "handoff", "checkpoint"):
            self._db.execute(f"DELETE FROM {table} WHERE session = ?", (id,))
        self._db.execute("DELETE FROM session WHERE id = ?", (id,))
        self._disarmed.append(id)
        return int(count)

    def prune(self) -> None:
        """Forget sessions in which nothing happened for half a year: the store does not grow for ever."""
        old = self._db.execute("SELECT id FROM session WHERE updated < ?", (time.time() - _KEEP_SECONDS,))
        for (session,) in list(old):
            self.forget(session)

    def stash(self, session: str, texts: dict[str, str]) -> None:
        """Keep what files held before a call, until ``take_stash`` at the end of its round."""
        rows = [(_storable(session), _storable(path), _storable(text)) for path, text in texts.items()]
        self._db.executemany("INSERT OR IGNORE INTO stash VALUES (?, ?, ?)", rows)

    def take_stash(self, session: str) -> dict[str, str]:
        """Return and remove what was kept."""
        rows = list(self._db.execute("SELECT path, text FROM stash WHERE session = ?", (_storable(session),)))
        if rows:
            self._db.execute("DELETE FROM stash WHERE session = ?", (_storable(session),))
        return dict(rows)

    # -- detections --------------------------------------------------------------------

    _FIELDS = (
        "session",
        "time",
        "rule",
        "identity",
        "count",
        "event_index",
        "file",
        "message",
        "evidence",
        "response",
    )

    def log(self, session: str, found: dict[str, Any]) -> None:
        """Add a detection to the log; ``evidence`` is JSON text."""
        row = {**found, "session": session, "time": time.time()}
        self._db.execute(
            f"INSERT INTO detection ({', '.join(self._FIELDS)}) VALUES ({', '.join('?' * len(self._FIELDS))})",
            [_storable(row[field]) for field in self._FIELDS],
        )

    def detections(self, session: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield logged detections, oldest first; ``evidence`` is JSON text."""
        rows = self._db.execute(
            f"SELECT {', '.join(self._FIELDS)} FROM detection WHERE ?1 IS NULL OR session = ?1 ORDER BY id",
            (session,),
        )
        for row in rows:
            yield dict(zip(self._FIELDS, row, strict=True))

    def fired(self) -> dict[str, int]:
        """Return how often each rule was noticed, in all sessions."""
        return dict(self._db.execute("SELECT rule, count(*) FROM detection GROUP BY rule"))

    # -- records -----------------------------------------------------------------------

    def record(self, session: str, rows: list[tuple[int, str, dict[str, Any]]]) -> None:
        """Keep what happened in a session (``unspin.records``); of a very long one the newest only."""
        now = time.time()
        for index, kind, data in rows:
            self._db.execute(
                "INSERT INTO record (session, event_index, time, kind, data) VALUES (?, ?, ?, ?, ?)",
                (_storable(session), index, now, kind, json.dumps(data, separators=(",", ":"))),
            )
            if index and index % _KEEP_RECORDS == 0:
                self._db.execute(
                    "DELETE FROM record WHERE session = ? AND event_index < ?",
                    (_storable(session), index - _KEEP_RECORDS),
                )

    def records(self, session: str) -> Iterator[dict[str, Any]]:
        """Yield a session's records, oldest first: ``event_index``, ``time``, ``kind`` and what its data holds."""
        rows = self._db.execute(
            "SELECT event_index, time, kind, data FROM record WHERE session = ? ORDER BY id", (session,)
        )
        for index, when, kind, data in rows:
            yield {"event_index": index, "time": when, "kind": kind, **json.loads(data)}

    def newest_records(self, session: str, most: int) -> Iterator[dict[str, Any]]:
        """Yield what ``records`` would, newest first: what was run, changed or rolled back, and at most so many."""
        rows = self._db.execute(
            "SELECT event_index, time, kind, data FROM record WHERE session = ? "
            "AND (kind = 'rollback' OR data LIKE '%\"changes\"%' OR data LIKE '%\"checks\"%') ORDER BY id DESC LIMIT ?",
            (_storable(session), most),
        )
        for index, when, kind, data in rows:
            yield {"event_index": index, "time": when, "kind": kind, **json.loads(data)}

    # -- checkpoints -------------------------------------------------------------------

    def add_checkpoint(self, **row: Any) -> Checkpoint:
        """Enter a checkpoint: the fields of ``Checkpoint`` but its id and time. Returns it."""
        row["time"] = time.time()
        names = ", ".join(row)
        found = self._db.execute(
            f"INSERT INTO checkpoint ({names}) VALUES ({', '.join('?' * len(row))}) RETURNING {', '.join(_CHECKPOINT)}",
            [_storable(value) for value in row.values()],
        ).fetchone()
        return Checkpoint(*found)

    def confirm_checkpoint(self, id: int, event_index: int) -> None:
        """Write down that a checkpoint's check passed again on the same tree, at another event."""
        self._db.execute("UPDATE checkpoint SET event_index = ?, time = ? WHERE id = ?", (event_index, time.time(), id))

    def checkpoints(self, root: str, *, session: str = "") -> list[Checkpoint]:
        """Return the checkpoints of a work tree, newest last; of one session only where it is named."""
        rows = self._db.execute(
            f"SELECT {', '.join(_CHECKPOINT)} FROM checkpoint "
            "WHERE root = ?1 AND (?2 = '' OR session = ?2) ORDER BY id",
            (_storable(root), _storable(session)),
        )
        return [Checkpoint(*row) for row in rows]

    def checkpoints_of(self, session: str) -> list[Checkpoint]:
        """Return the checkpoints that a session made, wherever."""
        rows = self._db.execute(
            f"SELECT {', '.join(_CHECKPOINT)} FROM checkpoint WHERE session = ? ORDER BY id", (_storable(session),)
        )
        return [Checkpoint(*row) for row in rows]

    def checkpoint(self, id: int) -> Checkpoint | None:
        """Return a checkpoint, ``None`` if it is not there any more."""
        row = self._db.execute(f"SELECT {', '.join(_CHECKPOINT)} FROM checkpoint WHERE id = ?", (id,)).fetchone()
        return Checkpoint(*row) if row else None

    def last_checkpoint(self, root: str) -> Checkpoint | None:
        """Return the newest checkpoint of a work tree."""
        row = self._db.execute(
            f"SELECT {', '.join(_CHECKPOINT)} FROM checkpoint WHERE root = ? ORDER BY id DESC LIMIT 1",
            (_storable(root),),
        ).fetchone()
        return Checkpoint(*row) if row else None

    def has_working(self, session: str) -> bool:
        """Tell whether a session has a working checkpoint."""
        row = self._db.execute(
            "SELECT 1 FROM checkpoint WHERE session = ? AND working LIMIT 1", (_storable(session),)
        ).fetchone()
        return row is not None

    def roots(self) -> list[str]:
        """Return the work trees that have checkpoints."""
        return [root for (root,) in self._db.execute("SELECT DISTINCT root FROM checkpoint ORDER BY 1")]

    def drop_checkpoints(self, ids: Sequence[int]) -> None:
        """Take checkpoints out of the list."""
        self._db.executemany("DELETE FROM checkpoint WHERE id = ?", [(each,) for each in ids])

    def begin_rollback(self, root: str, *, target: int, safety: int, paths: list[bytes], undoes: int) -> int:
        """Write down that files are about to be written; return the rollback's number."""
        row = self._db.execute(
            "INSERT INTO rollback (root, time, target, safety, paths, state, undoes, folders) "
            "VALUES (?, ?, ?, ?, ?, 'begun', ?, '{}') RETURNING id",
            (_storable(root), time.time(), target, safety, _names(paths), undoes),
        ).fetchone()
        return int(row[0])

    def end_rollback(self, id: int, *, state: str, folders: dict[str, int] | None = None) -> None:
        """Write down how far a rollback came."""
        self._db.execute("UPDATE rollback SET state = ? WHERE id = ?", (state, id))
        if folders:
            self._db.execute("UPDATE rollback SET folders = ? WHERE id = ?", (json.dumps(folders), id))

    def last_rollback(self, root: str) -> Rollback | None:
        """Return the rollback that undoing would undo: the newest that is not undone.

        An undo that was cut off is none: undoing again completes it.
        """
        row = self._db.execute(
            "SELECT id, target, safety, paths, state, undoes, folders FROM rollback "
            "WHERE root = ? AND state != 'undone' AND NOT (undoes AND state = 'begun') ORDER BY id DESC LIMIT 1",
            (_storable(root),),
        ).fetchone()
        if row is None:
            return None
        id, target, safety, paths, state, undoes, folders = row
        names = [os.fsencode(name) for name in json.loads(paths)]
        return Rollback(id, target, safety, names, state, undoes, json.loads(folders))

    # -- handoffs ----------------------------------------------------------------------

    def keep_handoff(self, project: str, session: str, text: str) -> None:
        """Keep a handoff for the next fresh session in a project's folder."""
        self._db.execute(
            "INSERT OR REPLACE INTO handoff VALUES (?, ?, ?, ?)",
            (_storable(project), _storable(session), time.time(), _storable(text)),
        )

    def take_handoff(self, project: str, *, session: str) -> str:
        """Return and remove the handoff that waits for a session in a project's folder, empty if there is none.

        Not a session's own, and none that waited for more than a week.
        """
        row = self._db.execute(
            "SELECT session, time, text FROM handoff WHERE project = ?", (_storable(project),)
        ).fetchone()
        if row is None or row[0] == _storable(session):
            return ""
        self._db.execute("DELETE FROM handoff WHERE project = ?", (_storable(project),))
        return row[2] if row[1] > time.time() - _KEEP_HANDOFF else ""

    # -- faults ------------------------------------------------------------------------

    def fault(self, place: str, text: str) -> None:
        """Record a fault of our own; only the newest are kept."""
        self._db.execute(
            "INSERT INTO fault (time, place, text) VALUES (?, ?, ?)", (time.time(), place, _storable(text[:2000]))
        )
        self._db.execute("DELETE FROM fault WHERE id <= (SELECT max(id) FROM fault) - ?", (_KEEP_FAULTS,))

    def faults(self) -> list[tuple[float, str, str]]:
        """Return recorded faults as (time, place, text), oldest first."""
        return list(self._db.execute("SELECT time, place, text FROM fault ORDER BY id"))

    # -- the person's overrides --------------------------------------------------------

    def mode(self, project: str) -> str | None:
        """Return the mode that the person chose for a project, if they did."""
        row = self._db.execute("SELECT mode FROM mode WHERE project = ?", (project,)).fetchone()
        return row[0] if row else None

    def set_mode(self, project: str, mode: str | None) -> None:
        """Keep the person's mode for a project; ``None`` goes back to the settings."""
        if mode is None:
            self._db.execute("DELETE FROM mode WHERE project = ?", (project,))
        else:
            self._db.execute("INSERT OR REPLACE INTO mode VALUES (?, ?)", (project, mode))

    def mutes(self, project: str) -> list[tuple[str, str]]:
        """Return muted (rule, file) pairs; an empty file means the whole project."""
        return list(self._db.execute("SELECT rule, file FROM mute WHERE project = ? ORDER BY 1, 2", (project,)))

    def mute(self, project: str, rule: str, file: str, *, off: bool = False) -> None:
        """Mute a rule for a project or one file in it, or take that back."""
        if off:
            self._db.execute("DELETE FROM mute WHERE (project, rule, file) = (?, ?, ?)", (project, rule, file))
        else:
            self._db.execute("INSERT OR REPLACE INTO mute VALUES (?, ?, ?)", (project, rule, file))

    # -- events that came while the store was locked ------------------------------------

    def take_in(self, name: str) -> bool:
        """Record that a kept event is taken in; false if it was before."""
        return bool(self._db.execute("INSERT OR IGNORE INTO spooled VALUES (?)", (name,)).rowcount)

    def forget_taken(self, names: list[str]) -> None:
        """Forget the kept events that were taken in, but for those whose files are still there."""
        there = ", ".join("?" * len(names))
        self._db.execute(f"DELETE FROM spooled WHERE name NOT IN ({there})", names)

    def damage(self) -> str:
        """Return what SQLite finds wrong with the file, empty if nothing."""
        (found,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        return "" if found == "ok" else str(found)

    # -- compiled settings and recorded checks -----------------------------------------

    def compiled_settings(self, project: str, stamp: str) -> str | None:
        """Return the settings compiled when the settings files were as ``stamp`` says."""
        row = self._db.execute(
            "SELECT value FROM settings WHERE (project, stamp) = (?, ?)", (project, stamp)
        ).fetchone()
        return row[0] if row else None

    def save_settings(self, project: str, stamp: str, value: str) -> None:
        """Keep compiled settings."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (project, stamp, value))

    def add_check_run(self, folder: str, command: str, kind: str, status: int) -> None:
        """Record the real outcome of a command that ``unspin check`` ran."""
        self._db.execute(
            "INSERT INTO check_run (folder, time, command, kind, status) VALUES (?, ?, ?, ?, ?)",
            (folder, time.time(), command, kind, status),
        )
        self._db.execute("DELETE FROM check_run WHERE id <= (SELECT max(id) FROM check_run) - ?", (_KEEP_CHECK_RUNS,))

    def take_check_runs(self, folder: str) -> list[tuple[str, str, int]]:
        """Return and remove what was recorded in a folder or below: (command, kind, status)."""
        below = (folder, f"{folder.rstrip('/')}/")
        where = "folder = ?1 OR substr(folder, 1, length(?2)) = ?2"
        rows = list(self._db.execute(f"SELECT command, kind, status FROM check_run WHERE {where} ORDER BY id", below))
        if rows:
            self._db.execute(f"DELETE FROM check_run WHERE {where}", below)
        return rows

    def check_runs(self, folder: str) -> list[tuple[float, str, str, int]]:
        """Return what was recorded in a folder or below and is not taken yet: (time, command, kind, status)."""
        rows = self._db.execute(
            "SELECT time, command, kind, status FROM check_run "
            "WHERE folder = ?1 OR substr(folder, 1, length(?2)) = ?2 ORDER BY id",
            (folder, f"{folder.rstrip('/')}/"),
        )
        return list(rows)
