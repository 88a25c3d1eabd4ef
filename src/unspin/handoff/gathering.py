"""Gathers what a handoff is made of: records, log, checkpoints, the work tree as it is, and the cost.

The one place of this room that reads anything. What cannot be read is left out and said;
nothing in here changes a session or a file of the project.
"""

from __future__ import annotations

import contextlib
import os
import time

from unspin.checkpoint.book import UNSURE, Book
from unspin.checkpoint.git import GitError
from unspin.checkpoint.place import Refused
from unspin.checkpoint.snapshots import Busy
from unspin.facts.step import FAILED, PASSED
from unspin.guard.messages import quote
from unspin.guard.passes import TAMPERED
from unspin.handoff.document import MOST_CHANGED, Checked, Facts, Tried, counted
from unspin.handoff.ledger import Ledger, Run
from unspin.records import ROLLBACK, STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from unspin.checkpoint.book import Limits
    from unspin.checkpoint.snapshots import Snapshot
    from unspin.store import Checkpoint, Session, Store

_KINDS = ("test", "build", "type", "lint", "run")  # the order in which checks are told


def gather(
    session: Session,
    opened: Callable[[], AbstractContextManager[Store]],
    *,
    limits: Limits | None,
    cost: Callable[[str], str],
    state_folder: str = "",
) -> Facts:
    """Return what is known of ``session``.

    ``limits`` are those of checkpoints, ``None`` where they are off; ``cost`` says in words
    what the session with this id cost, empty where that is not known. ``state_folder`` is where
    checkpoints lie, by default that of the environment.
    """
    with opened() as store:
        records = list(store.records(session.id))
        noticed = list(store.detections(session.id))
    ledger = Ledger.from_records(records)
    index = [each["event_index"] for each in records]
    facts = Facts(
        session.id,
        session.project,
        session.agent,
        _moment(session.started),
        _moment(session.updated),
        _moment(time.time()),
        asked=[(index[each.at - 1], each.text) for each in ledger.messages if each.by_person and each.text.strip()],
        unseen=len(ledger.opaque),
        errors=[(index[each.at - 1], each.count, each.text, each.kind) for each in ledger.open_errors() if each.text],
        noticed=_noticed(noticed),
        compactions=ledger.compactions,
        cost=cost(session.id),
    )
    facts.tried = _tried(records, ledger)
    tree = _Tree(session, opened, limits, facts, state_folder)
    facts.checks = [each for kind in _KINDS for each in _checked(kind, ledger, index, tree)]
    tree.fill(ledger)
    return facts


def _noticed(log: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    """Return what was noticed and done; what was only logged beside a line of the same round is left out."""
    said = {each["event_index"] for each in log if each["response"] == "nudge"}
    return [
        (
            each["event_index"],
            "logged" if each["response"] == "none" else each["response"],
            each["message"].removeprefix("Unspin: "),
        )
        for each in log
        if each["response"] != "release" and not (each["response"] == "none" and each["event_index"] in said)
    ]


def _moment(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(when))


# -- checks ----------------------------------------------------------------------------


def _checked(kind: str, ledger: Ledger, index: list[int], tree: _Tree) -> list[Checked]:
    """Return the last run of a kind of check, and the last one whose outcome is known where it is another."""
    last, known = ledger.last_run(kind), ledger.last_known(kind)
    runs = [each for each in (last, known if known is not last else None) if each is not None]
    return [
        Checked(
            kind,
            each.outcome,
            each.command,
            _moment(each.time),
            index[each.at - 1],
            *tree.holds(each, index[each.at - 1], changed=ledger.changed_since(each.at)),
            hidden=each.hidden,
            counts=counted(each.counts),
        )
        for each in runs
    ]


# -- what was tried --------------------------------------------------------------------


def _tried(records: list[dict[str, Any]], ledger: Ledger) -> list[Tried]:
    """Return, for each file whose edits failed and that no pass ended, what was put in and what it led to."""
    attempts: dict[str, list[tuple[int, str, int, str]]] = {}
    pending: dict[str, tuple[int, str]] = {}
    for record in records:
        if record["kind"] == ROLLBACK:
            pending = {}
        if record["kind"] != STEP or record.get("agent"):
            continue
        at = record["event_index"]
        for each in record.get("changes", ()):
            if each.get("path") and not each.get("refused"):
                pending[each["path"]] = (at, record.get("put", ""))
        outcomes = {each["outcome"] for each in record.get("checks", ()) if each["kind"] != "lint"}
        if FAILED in outcomes:
            for path, (edit, put) in pending.items():
                error = record.get("error") or record["label"]
                attempts.setdefault(path, []).append((edit, put, at, error))
            pending = {}
        elif PASSED in outcomes:
            pending, attempts = {}, {}
    found = []
    for path, file in ledger.files.items():
        if attempts.get(path) or file.refused:
            failing = len(attempts.get(path, ()))
            found.append(Tried(path, file.changes, failing, file.refused, attempts.get(path, [])))
    return sorted(found, key=lambda each: (-each.failing, -each.refused, each.file))


# -- the work tree ---------------------------------------------------------------------


class _Tree:
    """The work tree as it is, beside the checkpoints of the session: where they are kept."""

    def __init__(
        self,
        session: Session,
        opened: Callable[[], AbstractContextManager[Store]],
        limits: Limits | None,
        facts: Facts,
        state_folder: str,
    ):
        self._facts = facts
        self._session = session
        self._book: Book | None = None
        self._now: Snapshot | None = None
        self._of_session: list[Checkpoint] = []
        self._taken: list[Checkpoint] = []  # of the session, those too whose content is gone
        self._all: list[Checkpoint] = []
        if limits is None:
            facts.notes.append("checkpoints are off: what changed is known from the record alone")
            return
        try:
            self._book = Book(session.project, opened, limits, state_folder)
            self._now = self._book.present()
            with opened() as store:
                known = store.checkpoints(self._book.place.root)
            there = self._book.snapshots.there([each.tree for each in known])
            self._all = [each for each in known if each.tree in there]
            self._of_session = [each for each in self._all if each.session == session.id]
            self._taken = [each for each in known if each.session == session.id]
        except (Refused, GitError, Busy, OSError) as error:
            facts.notes.append(f"the work tree could not be looked at: {quote(str(error), longest=300)}")

    def holds(self, run: Run, event: int, *, changed: bool) -> tuple[str, str]:
        """Return what became of the tree since the check of an event, and why its pass is not working."""
        passed = run.outcome == PASSED
        taken = next((each for each in reversed(self._taken) if passed and each.event_index == event), None)
        if taken and self._now:
            if taken.tree != self._now.tree:
                return "changed", ""
            unsure = taken.why in UNSURE
            return ("unknown" if unsure else "same"), taken.why if unsure or taken.why == TAMPERED else ""
        return ("changed" if changed or self._written_since(event, run.time) else "same"), ""

    def _written_since(self, event: int, when: float) -> bool:
        """Tell whether files changed since a check that has no checkpoint, though the record knows of no change.

        By the next checkpoint, or by the times of what differs from the last one: somebody else
        may have written, an editor, say.
        """
        if self._book is None or self._now is None or not self._all:
            return False
        later = [each for each in self._of_session if each.event_index >= event]
        if later:
            return later[0].tree != self._now.tree
        root = os.fsencode(self._book.place.root)
        for each in self._book.snapshots.changes(self._all[-1].tree, self._now.tree):
            path = os.path.join(root, each.path)
            with contextlib.suppress(OSError):  # of a file that is gone its folder tells
                if os.lstat(path if each.new_mode else os.path.dirname(path)).st_ctime > when:
                    return True
        return False

    def fill(self, ledger: Ledger) -> None:
        """Say what changed since the session's start, and what the last working checkpoint is."""
        facts, session, start = self._facts, self._session, self._of_session[0] if self._of_session else None
        if self._book and self._now and start:
            facts.changed_by = f"Since {start.name} of {_moment(start.time)}, the session's first checkpoint"
            for path, added, removed in self._book.snapshots.numbers(start.tree, self._now.tree):
                if self._book.place.root != session.project:  # it began in a folder of the work tree
                    path = os.path.relpath(os.path.join(self._book.place.root, path), session.project)
                facts.changed.append((path, "binary" if added is None else f"+{added} -{removed}"))
            self._sort(ledger)
            total = len(facts.changed)
            if total:
                facts.changed_by += f", {total} {'file differs' if total == 1 else 'files differ'}"
        else:
            facts.changed_by = "By the record"
            for path, file in sorted(ledger.files.items()):
                if file.changes:
                    by = ", ".join(sorted(file.by))
                    facts.changed.append((path, f"{file.changes} {'edit' if file.changes == 1 else 'edits'} by {by}"))
            self._sort(ledger)
        self._working()

    def _sort(self, ledger: Ledger) -> None:
        """Sort what changed by name; where not all will be shown, what the record saw changed last stands first."""
        changed = self._facts.changed
        changed.sort(key=lambda each: each[0])
        if len(changed) > MOST_CHANGED:
            last = {path: file.last for path, file in ledger.files.items()}
            changed.sort(key=lambda each: -last.get(each[0], 0))

    def _working(self) -> None:
        working = next((each for each in reversed(self._all) if each.working), None)
        if working is None or self._book is None or self._now is None:
            return
        differ = len(self._book.snapshots.changes(working.tree, self._now.tree))
        now = f"{differ} {'file differs' if differ == 1 else 'files differ'} now" if differ else "the files are as then"
        other = "" if working.session == self._session.id else " (of another session)"
        self._facts.working = (
            f"{working.name}{other}, {_moment(working.time)}, passed: {quote(working.command)}; {now}. "
            f"Back to it: unspin rollback {working.name}"
        )
