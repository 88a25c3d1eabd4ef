"""Edits of one file that the edit tool itself refuses, round after round."""

from __future__ import annotations

from unspin.detect.detection import EVIDENCE, Detection, Detector, evidence, followed, forget_oldest, note
from unspin.events import Message
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed

_FILES = 24


class RejectedEdits(Detector):
    """Fires when in that many rounds running the edit tool refused edits of one file.

    Refused means: old text not found or not unique, a syntax check, a stale or unread
    file. What the edits say does not matter (the exact hash of a refused edit changes with
    a space). A batch refused together is one; rounds that do not edit the file do not
    matter; an accepted edit of it, through the tool or the shell, ends the streak. A
    refusal by a person or a hook is none.

    State: ``files[path] = [count, evidence]``. Default threshold 3 (``loop.rejected_edits``).
    """

    rule = "rejected_edits"
    keys = {
        "loop.rejected_edits": (
            "count",
            3,
            "rounds running in which the edit tool refused edits of one file",
        ),
    }

    def initial(self) -> dict[str, Any]:
        return {"files": {}}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, Message) and event.by_person:
            self.state = self.initial()
        if not isinstance(event, Round) or event.agent:
            return []
        if not any(step.changes for step in event.steps):
            return []
        refused: dict[str, list[Any]] = {}
        accepted = set()
        for step in event.steps:
            if step.exempt:
                continue
            for change in step.changes:
                if change.refused and followed(change.path):
                    refused.setdefault(change.path, note(step))
                elif not change.refused:
                    accepted.add(change.path)
        files = self.state["files"]
        for path in accepted:
            files.pop(path, None)
        found = []
        for path, seen in refused.items():
            if path in accepted:
                continue
            count, history = files.pop(path, [0, []])
            files[path] = [count + 1, (history + [seen])[-EVIDENCE:]]
            if count + 1 >= self.threshold:
                found.append(Detection(self.rule, path, count + 1, evidence(files[path][1], path), file=path))
        forget_oldest(files, _FILES)
        return found

    def streaks(self) -> list[tuple[str, int]]:
        return [(path, count) for path, (count, _) in self.state["files"].items()]
