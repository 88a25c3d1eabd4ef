"""A session's records, added up: what ran and how it ended, what changed since, what is open.

Made of ``store.Store.records`` in one pass. Knows no store, no clock, no file and no text of
the agent; the moments in it are positions in the record (``at``), which tell what came first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from unspin.events import AGENT, ASK, EDIT, NOTE, OTHER, READ, SHELL, WAIT
from unspin.facts.shell import read_line
from unspin.facts.step import EXCERPT, FAILED, PASSED
from unspin.records import COMPACTION, MESSAGE, ROLLBACK, STEP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Record = dict[str, Any]

BY_AGENT, BY_SHELL, BY_SUBAGENT = "agent", "shell", "subagent"

# Git's own work that leaves the files as they are.
_KEEPING = frozenset(
    (
        *("add", "commit", "push", "fetch", "status", "diff", "log", "tag", "show", "remote", "config", "branch"),
        *("rev-parse", "ls-files", "blame", "describe"),
    )
)
#: What a pass closes besides its own kind: tests that pass have been built.
_CLOSED_BY = {"test": ("test", "build", "run")}

_COMMITTING = frozenset(("commit", "push"))  # hooks of the repository may run checks in these
_CHECKLESS = frozenset(("chmod", "chown", "ln", "tar", "unzip", "zip", "psql", "sqlite3", "redis-cli", "open", "gh"))
_GIT = re.compile(r"\bgit((?: +-[-\w]+(?:[= ][^\s-]\S*)?)*) +([a-z][a-z-]*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*(?:\"|\Z)|'[^']*(?:'|\Z)|<<-?\s*['\"]?\w[\s\S]*\Z")


@dataclass(slots=True)
class Run:
    """One run of a check. ``counts``: tests passed, failed and skipped, empty where it did not tell."""

    at: int
    time: float
    kind: str
    command: str
    outcome: str
    hidden: str
    counts: list[int]
    failing: int
    folder: str | None
    agent: str


@dataclass(slots=True)
class Command:
    """One command line, or call of another tool, as a person would name it; cut after ``EXCERPT`` characters."""

    at: int
    time: float
    label: str
    action: str
    tool: str
    failed: bool
    refused: str
    agent: str

    @property
    def cut(self) -> bool:
        return len(self.label) >= EXCERPT


@dataclass(slots=True)
class Change:
    """One change of a file that took place; ``path`` is empty where it cannot be named."""

    at: int
    time: float
    path: str
    change: str
    role: str
    by: str


@dataclass(slots=True)
class ChangedFile:
    """What happened to one file. ``failing`` counts failed checks after edits of it, since the last pass; ``failed``
    all of them. ``refused`` counts edits that did not take place."""

    path: str
    role: str = ""
    changes: int = 0
    refused: int = 0
    failing: int = 0
    failed: int = 0
    by: set[str] = field(default_factory=set)
    first: int = 0
    last: int = 0
    last_change: str = ""


@dataclass(slots=True)
class OpenError:
    """An error that no pass of its kind of check followed. ``kind`` is empty where no check showed it."""

    id: str
    text: str
    kind: str
    label: str
    count: int
    at: int
    time: float


@dataclass(slots=True)
class Said:
    """What somebody wrote."""

    at: int
    time: float
    text: str
    by_person: bool


class Ledger:
    """What the records of one session come to.

    ``runs``, ``commands``, ``changes``, ``messages`` are in order; ``files`` by path;
    ``opaque`` holds the moments at which files may have changed that nobody can name,
    ``hiding`` those at which checks may have run that nobody saw: scripts, commit hooks,
    other tools; ``rollbacks`` those at which files went back to an earlier state.
    """

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.commands: list[Command] = []
        self.changes: list[Change] = []
        self.files: dict[str, ChangedFile] = {}
        self.messages: list[Said] = []
        self.compactions = 0
        self.opaque: list[int] = []
        self.hiding: list[int] = []
        self.rollbacks: list[int] = []
        self._errors: dict[tuple[str, str], dict[str, OpenError]] = {}  # by kind of check, or by command line
        self._edited: set[str] = set()  # files edited since the last check that told its outcome
        self._failing: set[str] = set()  # files with failing checks after edits, since the last pass
        self._of_subagents = 0  # their steps since one was last started

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> Ledger:
        self = cls()
        for at, record in enumerate(records, 1):
            kind = record["kind"]
            if kind == MESSAGE:
                text, by_person = record.get("text", ""), bool(record.get("by_person"))
                self.messages.append(Said(at, record["time"], text, by_person))
            elif kind == COMPACTION:
                self.compactions += bool(record.get("done"))
            elif kind == ROLLBACK:
                self.rollbacks.append(at)
                self._edited = set()
            elif kind == STEP:
                self._step(at, record)
        return self

    # -- questions ---------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """Return the kinds of check that ran, in the order of their first run."""
        return list(dict.fromkeys(run.kind for run in self.runs))

    def of_kind(self, kind: str) -> list[Run]:
        """Return the runs of one kind of check that were not refused, oldest first."""
        return [run for run in self.runs if run.kind == kind and run.hidden != "refused"]

    def last_run(self, kind: str) -> Run | None:
        """Return the last run of a kind of check, whether its outcome is known or not."""
        return next(reversed(self.of_kind(kind)), None)

    def last_known(self, kind: str) -> Run | None:
        """Return the last run of a kind of check whose outcome is known."""
        return next((run for run in reversed(self.of_kind(kind)) if run.outcome in (PASSED, FAILED)), None)

    def last_pass(self, kind: str) -> Run | None:
        """Return the last run of a kind of check that passed."""
        return next((run for run in reversed(self.of_kind(kind)) if run.outcome == PASSED), None)

    def edited_since(self, at: int) -> list[Change]:
        """Return the changes of files of the project after a moment."""
        return [each for each in self._after(at) if _counts(each)]

    def maybe_edited_since(self, at: int) -> bool:
        """Tell whether a command, or a rollback, after a moment may have changed files that nobody can name."""
        return (bool(self.opaque) and self.opaque[-1] > at) or self.rolled_back_since(at)

    def rolled_back_since(self, at: int) -> bool:
        """Tell whether files went back to an earlier state after a moment."""
        return bool(self.rollbacks) and self.rollbacks[-1] > at

    def changed_since(self, at: int) -> bool:
        """Tell whether files of the project have changed after a moment, or may have."""
        return bool(self.edited_since(at)) or self.maybe_edited_since(at)

    def maybe_checked_since(self, at: int) -> bool:
        """Tell whether something after a moment may have run checks that nobody saw."""
        return bool(self.hiding) and self.hiding[-1] > at

    def open_errors(self) -> list[OpenError]:
        """Return the errors after which no check of their kind has passed, the latest first."""
        return sorted((each for group in self._errors.values() for each in group.values()), key=lambda each: -each.at)

    def _after(self, at: int) -> list[Change]:
        found = []
        for each in reversed(self.changes):
            if each.at <= at:
                break
            found.append(each)
        return found[::-1]

    # -- one step ----------------------------------------------------------------------

    def _step(self, at: int, record: Record) -> None:
        action, label, time = record.get("action", OTHER), record.get("label", ""), record["time"]
        agent, refused, failed = record.get("agent", ""), record.get("refused", ""), bool(record.get("failed"))
        tool = record.get("tool", "")
        self._of_subagents += bool(agent)
        self.commands.append(Command(at, time, label, action, tool, failed, refused, agent))
        git = git_words(label) if action == SHELL else set()
        for each in record.get("changes", ()):
            self._change(at, time, each, BY_SUBAGENT if agent else BY_AGENT if action == EDIT else BY_SHELL)
        if not refused:
            self._hidden(at, record, action, git)
        folders = _folders(label) if action == SHELL and record.get("checks") else []
        for place, each in enumerate(record.get("checks", ())):
            run = Run(
                at,
                time,
                each["kind"],
                each["command"],
                each["outcome"],
                each.get("hidden", ""),
                list(each.get("counts", ())),
                record.get("failing", 0),
                folders[place] if place < len(folders) else None,
                agent,
            )
            self.runs.append(run)
            self._known(run)
        self._error(at, record, action)

    def _hidden(self, at: int, record: Record, action: str, git: set[str]) -> None:
        checks = [each["kind"] for each in record.get("checks", ())]
        unnamed = any(not each.get("path") and not each.get("refused") for each in record.get("changes", ()))
        if unnamed or (record.get("opaque") and not (git and git <= _KEEPING)):
            self.opaque.append(at)
        if action == SHELL:
            unseen = record.get("opaque") and not checks and not git and not _runs_no_checks(record.get("label", ""))
            cut = bool(git) and len(record.get("label", "")) >= EXCERPT  # what stands behind it may be a commit
            if "run" in checks or git & _COMMITTING or cut or unseen:
                self.hiding.append(at)
        elif action == AGENT:  # a subagent's own calls are in the record, but for one that was not seen at work
            if not self._of_subagents:
                self.hiding.append(at)
            self._of_subagents = 0
        elif action not in (EDIT, READ, WAIT, NOTE, ASK):
            self.hiding.append(at)

    def _change(self, at: int, time: float, given: Record, by: str) -> None:
        path, role = given.get("path", ""), given.get("role", "")
        refused = bool(given.get("refused"))
        if not refused:
            self.changes.append(Change(at, time, path, given.get("change", "write"), role, by))
        if not path:
            return
        file = self.files.setdefault(path, ChangedFile(path, first=at))
        file.role = role
        if refused:
            file.refused += 1
            return
        file.changes += 1
        file.by.add(by)
        file.last, file.last_change = at, given.get("change", "write")
        self._edited.add(path)

    def _known(self, run: Run) -> None:
        """Take in the outcome of a check: what was edited since the last one has failed, or has not."""
        if run.kind == "lint" or run.agent or run.outcome not in (PASSED, FAILED):
            return
        if run.outcome == PASSED:
            for path in self._failing:
                self.files[path].failing = 0
            self._failing = set()
        else:
            for path in self._edited:
                self.files[path].failing += 1
                self.files[path].failed += 1
            self._failing |= self._edited
        self._edited = set()

    def _error(self, at: int, record: Record, action: str) -> None:
        label, checks = record.get("label", ""), record.get("checks", ())
        for each in checks:
            if each["outcome"] == PASSED:
                for kind in _CLOSED_BY.get(each["kind"], (each["kind"],)):
                    self._errors.pop((kind, ""), None)
        if action == SHELL and not record.get("failed") and not record.get("refused"):
            self._errors.pop(("", label), None)
        identity = record.get("error_id", "")
        if not identity or record.get("agent"):
            return
        kind = next((each["kind"] for each in checks if each["outcome"] == FAILED), "")
        group = self._errors.setdefault((kind, "" if kind else label), {})
        known = group.get(identity)
        count = known.count + 1 if known else 1
        group[identity] = OpenError(identity, record.get("error", ""), kind, label, count, at, record["time"])


def _counts(change: Change) -> bool:
    """Tell whether a change is surely one of the project's files: those outside of it and scratch files are not.

    A path that cannot be named is what a formatter may have written: perhaps nothing.
    """
    return bool(change.path) and not change.path.startswith("/") and change.role != "scratch"


def git_words(label: str) -> set[str]:
    """Return what a command line asks of git, what stands in quotes left out: ``{"add", "commit"}``."""
    return {match[2] for match in _GIT.finditer(unquoted(label))} if "git" in label else set()


def unquoted(label: str) -> str:
    """Return a command line without what stands in quotes and without what follows a heredoc."""
    return _QUOTED.sub(" ", label)


def _runs_no_checks(label: str) -> bool:
    """Tell whether a line, although it may change files, can hold no check: an installation, `chmod`."""
    words = label.split()
    if len(label) >= EXCERPT or not words:
        return False
    return (words[0] in _CHECKLESS and "&&" not in label and ";" not in label) or read_line(label).role == "install"


def _folders(label: str) -> list[str | None]:
    return [] if len(label) >= EXCERPT else [check.folder for check in read_line(label).checks]
