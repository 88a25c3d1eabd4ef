"""Edits to one file, each followed by the same failure."""

from __future__ import annotations

from unspin.detect.detection import (
    EVIDENCE,
    Detection,
    Detector,
    evidence,
    followed,
    forget_oldest,
    note,
    resets,
)
from unspin.events import Message
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import CheckResult, FileChange, Step

_FILES = 24  # files followed at a time; the one edited longest ago is dropped
_PLAIN_STREAK = 5  # failures of whatever kind after as many edits: logged in any case


class FailingEdits(Detector):
    """Fires when edits to one file are each followed by a failing check while the failure stays the same.

    Checks are tests, builds, type checks and runs; what lies between an edit and its
    check (reading, thinking) does not matter. Several files edited before one failing
    check count one each. Another failure starts the count again at 1; one that cannot be
    told apart (no recognised error, no test names) starts it again at 0. A pass ends the
    streaks of its kind, a passed test all. A revert takes the file's last edit back, and so does an edit
    that undoes it. Debug output put in or out is no edit, nor is
    what a formatter wrote. Documents and scratch scripts are not followed.

    Each file's streaks are kept by kind of check: ``edits`` counts the file's edits,
    ``kinds[kind] = [signature, count, plain count, edits when last counted, evidence]``.
    Default threshold 3 (``loop.failing_edits``).
    """

    rule = "failing_edits"
    keys = {
        "loop.failing_edits": ("count", 3, "edits to one file, each followed by the same failure"),
        "loop.same_failure": ("flag", True, "failing_edits counts only while the failure stays the same"),
    }

    def initial(self) -> dict[str, Any]:
        return {"files": {}}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, Message) and event.by_person:
            self.state = self.initial()
        if not isinstance(event, Round) or event.agent:
            return []
        found = []
        for step in event.steps:
            if step.exempt:
                continue
            for change in step.changes:
                self._change(step, change)
            for check in step.checks:
                found += self._check(step, check)
        return found

    def streaks(self) -> list[tuple[str, int]]:
        counts = {
            path: max((each[1] for each in entry["kinds"].values()), default=0)
            for path, entry in self.state["files"].items()
        }
        return [(path, count) for path, count in counts.items() if count]

    def _change(self, step: Step, change: FileChange) -> None:
        files = self.state["files"]
        if change.refused or change.role in ("doc", "scratch") or change.probe in ("debug", "format"):
            return
        if change.change == "revert" or change.probe == "undo":
            for path in [change.path] if change.path else list(files):
                if path in files:
                    files[path]["last"] = None
            return
        if change.change in ("delete", "move"):
            files.pop(change.path, None)
            return
        if not followed(change.path):
            return
        entry = files.pop(change.path, None) or {"edits": 0, "last": None, "kinds": {}}
        entry["edits"] += 1
        entry["last"] = note(step)
        files[change.path] = entry
        forget_oldest(files, _FILES)

    def _check(self, step: Step, check: CheckResult) -> list[Detection]:
        files = self.state["files"]
        for entry in files.values():
            for kind in [kind for kind in entry["kinds"] if resets(check, kind)]:
                entry["kinds"][kind] = ["", 0, 0, entry["edits"], []]
        if check.passed and check.kind != "lint":
            for entry in files.values():
                entry["last"] = None if check.kind == "test" else entry["last"]
                entry["kinds"].setdefault(check.kind, ["", 0, 0, entry["edits"], []])
        if not check.failed or check.kind == "lint" or check.scratch:
            return []
        found = []
        for path, entry in files.items():
            streak = entry["kinds"].setdefault(check.kind, ["", 0, 0, 0, []])
            if entry["last"] is None or streak[3] == entry["edits"]:
                continue  # not edited since it was last counted
            found += self._count(path, entry, streak, step, check)
        return found

    def _count(
        self, path: str, entry: dict[str, Any], streak: list[Any], step: Step, check: CheckResult
    ) -> list[Detection]:
        signature = step.signature if self.settings["loop.same_failure"] else "any"
        seen = [entry["last"], note(step, step.error_text or check.command)]
        if signature and signature == streak[0]:
            streak[1] += 1
            streak[4] = (streak[4] + seen)[-EVIDENCE:]
        else:
            streak[:2] = [signature, 1 if signature else 0]
            streak[4] = seen
        streak[2] += 1
        streak[3] = entry["edits"]
        seen = evidence(streak[4], path)
        if streak[1] >= self.threshold:
            return [
                Detection(
                    self.rule,
                    path,
                    streak[1],
                    seen,
                    file=path,
                    error=step.error,
                    kind=check.kind,
                    blocks=True,
                )
            ]
        if streak[2] >= _PLAIN_STREAK:
            subject = f"{path}\x00plain"
            return [Detection(self.rule, subject, streak[2], seen, file=path, kind=check.kind, quiet=True)]
        return []
