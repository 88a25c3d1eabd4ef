"""A run's files: where they lie, and which of them count.

For people, below ``$XDG_DATA_HOME``: the workspace (a git repository, one commit a turn), the
folder that workers work in, the folder through which they hand over. In the state folder,
away from workers: the state, the log of events, the objects of workspace and clone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time

from unspin.run.clone import Clone, RunError, demand, git
from unspin.run.ledger import Ledger, marks, read_plain, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LARGEST = 50_000_000  # bytes of a state
_NEEDED = {
    "id",
    "repository",
    "branch",
    "base",
    "head",
    "made",
    "began",
    "machine",
    "open",
    "checks",
    "spent",
    "settings",
}
_WAITS = 20, 0.05  # times and seconds: somebody may be looking whether the run is under way


def write(path: str, text: str | bytes, *, sync: bool = False) -> None:
    """Write a file whole or not at all; ``sync`` so that it is there after a power cut, too."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    with open(f"{path}.new", "wb") as file:
        file.write(data)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def dumped(record: dict[str, Any]) -> bytes:
    """Return a run's state as it is written down."""
    return (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def _shown(record: dict[str, Any]) -> bytes:
    """Return the state as the workspace has it: without the commit that it is part of."""
    return dumped({key: each for key, each in record.items() if key != "commit"})


def data_folder() -> str:
    """Return where runs lie: ``$XDG_DATA_HOME/unspin/runs``."""
    base = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "unspin", "runs")


def _lock(file: int, how: int) -> bool:
    """Take a lock, if it is free."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Files:
    """The files of one run.

    ``home`` is its folder, with ``workspace``, ``tree`` (where workers work) and ``hand`` in it; ``kept`` is the
    file in the state folder that says what is true, ``place`` the folder beside it with what that refers to.
    """

    def __init__(self, id: str, state_folder: str):
        self.id = id
        self.home = os.path.join(data_folder(), id)
        self.workspace = os.path.join(self.home, "workspace")
        self.tree = os.path.join(self.home, "tree")
        self.hand = os.path.join(self.home, "hand")
        self.place = os.path.join(state_folder, "runs", id)
        self.kept = f"{self.place}.json"
        self.ledger = Ledger(self.workspace, os.path.join(self.place, "objects"))
        self.clone = Clone(self.tree, os.path.join(self.place, "store"), f"unspin/{id}")
        self._log = os.path.join(self.place, "events.jsonl")
        self._lock_path = f"{self.kept}.lock"
        self._lock: int | None = None  # of this process, where it holds the run
        self._written = b""  # what the kept file holds
        self._looked: tuple[object, object] = (None, None)  # the state folder, as it was before a worker

    # -- whose it is -------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run for this process alone; the hold ends with the process, however that ends.

        Raises ``RunError`` where another process has it.
        """
        self._lock = self._locked()
        try:
            yield
        finally:
            os.close(self._lock)
            self._lock = None

    def _locked(self) -> int:
        """Return the lock's file, locked. Raises ``RunError`` where another process has it."""
        lock = self._open_lock()
        times, pause = _WAITS
        while not _lock(lock, fcntl.LOCK_EX):
            times -= 1
            if not times:
                os.close(lock)
                raise RunError(f"the run {self.id} is under way in another process.")
            time.sleep(pause)
        return lock

    def _open_lock(self) -> int:
        os.makedirs(os.path.dirname(self.kept), mode=0o700, exist_ok=True)
        return os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)

    def _hold_again(self) -> None:
        """Take the lock anew where its file was removed: nobody else would find the old one.

        Raises ``RunError`` where another process found none and has taken the run over.
        """
        if self._lock is None:
            return
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self._lock_path), os.fstat(self._lock)):
                return
        now = self._locked()
        os.close(self._lock)
        self._lock = now

    def under_way(self) -> bool:
        """Tell whether some process holds the run now."""
        with contextlib.suppress(OSError):
            lock = os.open(self._lock_path, os.O_RDONLY)
            try:
                return not _lock(lock, fcntl.LOCK_SH)
            finally:
                os.close(lock)
        return False

    # -- making ------------------------------------------------------------------------

    def prepare(self, ticket: str) -> None:
        """Put down what it takes to make the run, before anything is made."""
        if os.path.exists(self.home) or os.path.exists(self.kept):
            raise RunError(f"a run {self.id} is there already: {self.home}")
        write(os.path.join(self.place, "ticket.md"), ticket)

    def make(self, repository: str, base: str) -> None:
        """Make workspace and clone; what an earlier attempt left is removed first."""
        with open(os.path.join(self.place, "ticket.md"), "rb") as file:
            ticket = file.read()
        for path in (self.home, self.ledger.objects, self._log):
            remove(path)
        os.makedirs(self.workspace)
        self.clone.make(repository, base)
        self.ledger.write("ticket.md", ticket)
        self.ledger.write("design.md", b"")
        self.ledger.write("decisions.md", b"# Decisions\n")
        self.ledger.derive("events.jsonl", b"")

    # -- what is true ------------------------------------------------------------------

    def settle(self, record: dict[str, Any], message: str = "") -> None:
        """Write down what is true; with a message as a commit of the workspace too. A crash comes back to here."""
        record["tree"] = self.ledger.tree()
        record["events"] = len(self.ledger.derived.get("events.jsonl", b""))
        self.ledger.derive("run.json", _shown(record))
        if message:
            record["commit"] = self.ledger.commit(message, record["commit"], time.time())
        self._written = dumped(record)
        write(self.kept, self._written, sync=bool(message) or record["machine"]["begun"])

    def keep(self, record: dict[str, Any]) -> None:
        """Write the state into the state folder, before there is a workspace."""
        self._written = dumped(record)
        write(self.kept, self._written, sync=True)

    def was_kept(self) -> bool:
        """Tell whether the state folder still holds what was last written there."""
        return read_plain(self.kept, _LARGEST) == self._written

    def load(self) -> dict[str, Any]:
        """Return the run's state: from the state folder, on another machine from the workspace."""
        for path in (self.kept, os.path.join(self.workspace, "run.json")):
            try:
                with open(path, encoding="utf-8") as file:
                    record: dict[str, Any] = json.load(file)
                if not isinstance(record, dict) or not record.keys() >= _NEEDED:
                    raise ValueError("it is no state of a run")
                return record if path == self.kept else {**record, "elsewhere": True}
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise RunError(f"{path} cannot be read ({error})") from None
        raise RunError(f"there is no run {self.id}: unspin runs lists them")

    def take_up(self, record: dict[str, Any]) -> list[str]:
        """Bring the workspace to what a state says; return what was different."""
        ledger = self.ledger
        log = b""
        with contextlib.suppress(OSError), open(self._log, "rb") as file:
            log = file.read(record["events"])
        write(self._log, log)
        ledger.derived = {"events.jsonl": log, "run.json": _shown(record)}
        ledger.take(record["tree"])
        changed = ledger.mend()
        if record["commit"]:
            ledger.restore_repository(record["commit"])
        self._written = dumped(record)
        return changed

    def arrive(self, record: dict[str, Any], repository: str) -> None:
        """Take up a run whose workspace came from another machine: make what lay in that one's state folder."""
        record.pop("elsewhere", None)
        if not record["made"]:
            raise RunError(f"the run {self.id} has nothing to go on from: it ended before its workspace was made")
        demand(repository, record["base"])
        log = read_plain(os.path.join(self.workspace, "events.jsonl"), _LARGEST) or b""
        log = log[: log.rfind(b"\n") + 1]
        self.ledger.derived = {"events.jsonl": log, "run.json": b""}
        self.ledger.take_files()
        self.clone.make(repository, record["base"])
        for pack in self.packs():
            self.clone.unpack(pack)
        if self.clone.git("cat-file", "-t", record["head"], check=False) != "commit":
            raise RunError(f"the workspace lacks the commit {record['head'][:12]} of the run's work")
        write(self._log, log)
        record.update(repository=repository, commit=self.ledger.take_history())
        self.settle(record, f"Taken up elsewhere from {self.id}")

    def packs(self) -> list[bytes]:
        """Return the commits of the work, as the turns' folders hold them, in order."""
        turns = os.path.join(self.workspace, "turns")
        names = sorted(os.listdir(turns)) if os.path.isdir(turns) else []
        found = (read_plain(os.path.join(turns, name, "commit.pack"), _LARGEST) for name in names)
        return [each for each in found if each]

    def watch(self) -> None:
        """A worker is about to start: see how the state folder looks."""
        self._looked = (marks(self.ledger.objects), self.clone.marks())

    def mend(self, record: dict[str, Any]) -> list[str]:
        """Put right what a worker changed in the workspace or the state; return what it was."""
        state = self._mend_state(record)
        changed = self.ledger.mend()
        if record["commit"] and self.ledger.repository_changed():
            self.ledger.restore_repository(record["commit"])
            changed.append(".git")
        return [*changed, "unspin's own state"] if state else changed

    def _mend_state(self, record: dict[str, Any]) -> bool:
        """Put the state folder right; tell whether it was changed. Raises ``RunError`` where too much is gone."""
        changed = False
        self._hold_again()
        objects, store = self._looked
        if marks(self.ledger.objects) != objects:
            changed = True
            lost = self.ledger.recover()
            if lost:
                raise RunError(
                    f"a worker removed unspin's state of the run {self.id} and what the workspace had of it "
                    f"({', '.join(lost[:3])}): it cannot go on. Begin another."
                )
            if record["commit"] and not self.ledger.has(record["commit"]):
                record["commit"] = ""  # the workspace's history begins anew
        if self.clone.marks() != store:
            changed = True
            packs = [self.ledger.read(path) or b"" for path in self.ledger.paths() if path.endswith("/commit.pack")]
            self.clone.make_again(record["repository"], record["base"], packs, record["head"])
        log = self.ledger.derived["events.jsonl"]
        if read_plain(self._log, len(log) + 1) != log:
            changed = True
            write(self._log, log)
        if not self.was_kept():
            changed = True
            write(self.kept, self._written)
        return changed

    def finish(self, record: dict[str, Any]) -> None:
        """Leave the workspace's repository as git expects it, for people to look at."""
        self.ledger.restore_repository(record["commit"])
        git(self.workspace, "reset", "-q", check=False)

    # -- the log -----------------------------------------------------------------------

    def event(self, kind: str, **fields: Any) -> None:
        """Add one structured event to the log of the run."""
        text = json.dumps({"event": kind, "time": round(time.time(), 3), **fields}, ensure_ascii=False) + "\n"
        line = text.encode("utf-8", "replace")
        with open(self._log, "ab") as file:
            file.write(line)
        self.ledger.derive_more("events.jsonl", line)

    def events(self) -> list[dict[str, Any]]:
        """Return the log; a last line that was cut off by a crash is left out."""
        found = []
        path = self._log if os.path.exists(self._log) else os.path.join(self.workspace, "events.jsonl")
        with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found

    # -- handing over ------------------------------------------------------------------

    def clear_hand(self) -> None:
        """Empty the folder through which workers hand over their files."""
        remove(self.hand)
        os.makedirs(self.hand)

    def handed(self, name: str, most: int) -> bytes:
        """Return what a worker handed over: empty where it is no plain file."""
        return read_plain(name, most, folder=self.hand) or b""
