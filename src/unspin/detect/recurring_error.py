"""The same error again and again, with edits in between."""

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
from unspin.facts.step import FAILED, Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import Step

_ERRORS = 16
_FILES = 16
_TESTS = 12  # failing tests remembered with an error


class RecurringError(Detector):
    """Fires when the same error came from that many failing results, with an edit between each two
    of them.

    The error is its first recognised line, normalised. Results without one have no identity
    and do not count, nor do linters, refused edits and scripts that are meant to fail. If
    less is failing than the time before (fewer tests, fewer errors, other tests), there is
    progress and the count starts again at 1. Edits of documents and scratch scripts are
    none, nor are those that undo the last one, that were reverted and are made again, or that only
    put debug output in or out. A pass of
    that kind of check ends it, a passed test ends all; for a command that is no check, the
    same command succeeding.

    State: ``clock`` counts edits; ``edits[path]`` is the clock at its last edit;
    ``errors[error] = {count, clock, left, tests, kind, files, evidence}`` where ``files``
    were edited in every gap so far. Default threshold 3 (``loop.repeated_errors``).
    """

    rule = "recurring_error"
    keys = {
        "loop.repeated_errors": ("count", 3, "times the same error with an edit between each two"),
    }

    def initial(self) -> dict[str, Any]:
        return {"clock": 0, "edits": {}, "errors": {}}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, Message) and event.by_person:
            self.state = self.initial()
        if not isinstance(event, Round) or event.agent:
            return []
        found = []
        for step in event.steps:
            if step.exempt or step.refused:
                continue
            if step.changes:
                self._edits(step)
            if self.state["errors"]:
                self._passes(step)
            if step.error and _counts(step):
                found += self._error(step)
        return found

    def streaks(self) -> list[tuple[str, int]]:
        known = self.state["errors"].values()
        return [(each["evidence"][-1][3], each["count"]) for each in known if each["count"] > 1]

    def _edits(self, step: Step) -> None:
        for change in step.attempts():
            if change.role in ("doc", "scratch"):
                continue
            self.state["clock"] += 1
            if followed(change.path):
                self.state["edits"].pop(change.path, None)
                self.state["edits"][change.path] = self.state["clock"]
        forget_oldest(self.state["edits"], _FILES)

    def _passes(self, step: Step) -> None:
        known = self.state["errors"]
        for error, entry in list(known.items()):
            again = not step.failed and step.command and entry["kind"] == step.command
            if again or any(resets(check, entry["kind"]) for check in step.checks):
                del known[error]

    def _error(self, step: Step) -> list[Detection]:
        known, clock = self.state["errors"], self.state["clock"]
        left = step.failures_left()
        check = step.failed_check()
        seen = note(step, step.error_text)
        entry = known.pop(step.error, None)
        tests = [each[0] for each in step.failing[:_TESTS]]
        if entry is None or left < entry["left"] or _moved_on(entry["tests"], tests):
            entry = {
                "count": 0 if step.old and not self.state["clock"] else 1,
                "kind": check.kind if check else step.command,
                "files": None,
                "evidence": [seen],
            }
        elif entry["clock"] == clock:
            known[step.error] = entry
            return []  # no edit since: the same occurrence looked at again
        else:
            edited = [path for path, at in self.state["edits"].items() if at > entry["clock"]]
            before = entry["files"]
            entry["files"] = edited if before is None else [path for path in before if path in edited]
            entry["count"] += 1
            entry["evidence"] = (entry["evidence"] + [seen])[-EVIDENCE:]
        entry["clock"] = clock
        entry["left"] = left
        entry["tests"] = tests
        known[step.error] = entry
        forget_oldest(known, _ERRORS)
        files = entry["files"] or []
        if entry["count"] < self.threshold or (step.old and not files):
            return []
        file = files[-1] if files else ""
        return [
            Detection(
                self.rule,
                step.error,
                entry["count"],
                evidence(entry["evidence"]),
                file=file,
                error=step.error,
                kind=entry["kind"],
                details={"error": step.error_text},
                blocks=bool(file),
            )
        ]


def _moved_on(before: list[str], now: list[str]) -> bool:
    """Tell whether other tests fail now: those that failed with this error pass."""
    return bool(before and now) and set(before).isdisjoint(now)


def _counts(step: Step) -> bool:
    if not step.checks:
        return True
    return any(
        (check.outcome == FAILED or step.unstartable) and check.kind != "lint" and not check.scratch
        for check in step.checks
    )
