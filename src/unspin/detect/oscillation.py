"""A file whose content goes back and forth."""

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
from unspin.facts.roles import is_test_like
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import FileChange, Step

_FILES = 12
_TRANSITIONS = 4


class Oscillation(Detector):
    """Fires when one file made the same change of content that often, a failing check after each.

    Contents are compared as hashes, so this sees only edits whose maker looked at the
    file. What lies between two checks is one change. Tests and fixtures are left out:
    they are switched on purpose. The person's message and a passed test end it. By
    default logged, not said (``log_only``).

    State: ``files[path] = {last, pending: [before, after, evidence] | None, seen:
    {transition: [count, evidence]}}``. Default threshold 2 (``loop.oscillations``).
    """

    rule = "oscillation"
    keys = {
        "loop.oscillations": ("count", 2, "times one change of a file's content, a failing check after each"),
    }

    def initial(self) -> dict[str, Any]:
        return {"files": {}}

    def observe(self, event: Noticed) -> list[Detection]:
        files = self.state["files"]
        if isinstance(event, Message) and event.by_person:
            for entry in files.values():
                entry["pending"], entry["seen"] = None, {}
        if not isinstance(event, Round) or event.agent:
            return []
        found = []
        for step in event.steps:
            if step.exempt:
                continue
            for change in step.changes:
                if change.after and followed(change.path) and not change.refused and not is_test_like(change.role):
                    self._change(step, change)
            if not step.checks:
                continue
            if any(resets(check, "test") for check in step.checks):
                for entry in files.values():
                    entry["pending"], entry["seen"] = None, {}
            check = step.failed_check()
            if check is not None and not check.scratch:
                found += self._failed(step)
        return found

    def _change(self, step: Step, change: FileChange) -> None:
        files = self.state["files"]
        entry = files.pop(change.path, None) or {"last": "", "pending": None, "seen": {}}
        files[change.path] = entry
        forget_oldest(files, _FILES)
        before = change.before or entry["last"]
        entry["last"] = change.after
        if entry["pending"]:
            before = entry["pending"][0]
        if before and change.change != "revert":
            entry["pending"] = [before, change.after, note(step)]
        else:
            entry["pending"] = None

    def _failed(self, step: Step) -> list[Detection]:
        found = []
        for path, entry in self.state["files"].items():
            if not entry["pending"]:
                continue
            before, after, seen = entry["pending"]
            entry["pending"] = None
            if before == after:
                continue
            transition = f"{before}>{after}"
            count, history = entry["seen"].pop(transition, [0, []])
            history = (history + [seen])[-EVIDENCE:]
            entry["seen"][transition] = [count + 1, history]
            forget_oldest(entry["seen"], _TRANSITIONS)
            if count + 1 >= self.threshold:
                found.append(Detection(self.rule, path, count + 1, evidence(history, path), file=path, kind="test"))
        return found
