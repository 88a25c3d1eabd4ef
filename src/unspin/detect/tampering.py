"""A test was changed until it passed, and the code was not."""

from __future__ import annotations

from unspin.detect.detection import Detection, Detector, evidence, followed, forget_oldest, note
from unspin.events import Message
from unspin.facts.digest import digest
from unspin.facts.roles import is_source, is_test_like
from unspin.facts.step import FAILED, PASSED, Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import FileChange, Step

_FILES = 120
_NAMES = 120
_SPAN_FILES = 16
_LOST = 40  # marks of what a file lost, and of what came to it
_CAME = 80


class Tampering(Detector):
    """Fires when a test fails, only test files are edited, and the tests pass.

    The span runs from the failing check to the pass; a failing check after a change of
    the source opens a new one. All of these must hold: no source changed in the span, by
    the agent, a subagent or the shell, as far as that can be seen (a command that may
    have changed anything counts as a change); the person said nothing in it; the session
    had not touched that test before the span; the edit alters or removes an assertion or
    expected value, adds a skip, or deletes a test, and the file is not put back as it
    was. Tests of code that the session removed may go, and where the failing files are
    known, only those (and snapshots, fixtures and shared set-up) count. Outcomes of piped
    checks never count here.
    ``tampering.strict`` asks as well that no source was edited since the last pass.

    State: ``touched`` tests of the session, as digests; ``gone``, names that it removed from the code;
    ``source``, whether source changed since the last pass; ``span``, the open one.
    """

    rule = "tampering"
    loop = False
    keys = {
        "tampering.enabled": ("flag", True, "notice tests that were edited until they pass"),
        "tampering.strict": ("flag", False, "only where no source was edited since the last pass either"),
        "tampering.test_paths": ("texts", (), "patterns of test files, added to the built-in ones"),
    }

    def initial(self) -> dict[str, Any]:
        return {"touched": {}, "gone": {}, "source": False, "span": None}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, Message) and event.by_person:
            self._close()
        if not isinstance(event, Round):
            return []
        found = []
        for step in event.steps:
            if step.refused:
                continue
            if step.changes or step.opaque:
                self._changes(step)
            if step.checks and not event.agent:
                found += self._checks(step)
        return found

    def wants_texts(self) -> bool:
        span = self.state["span"]
        return span is not None and not span["void"]

    def _close(self) -> None:
        span = self.state["span"]
        if span:
            for path in span["tests"]:
                self.state["touched"][digest(path)] = 1
            forget_oldest(self.state["touched"], _FILES)
        self.state["span"] = None

    def _changes(self, step: Step) -> None:
        span = self.state["span"]
        changed_source = step.opaque
        for change in step.changes:
            if change.refused:
                continue
            if not change.path or is_source(change.role):
                changed_source = True
                for name in change.gone:
                    self.state["gone"][name[:60]] = 1
                forget_oldest(self.state["gone"], _NAMES)
            elif is_test_like(change.role) and followed(change.path):
                self._test(step, change)
        if changed_source and span:
            span["void"] = True
        if any(change.path and is_source(change.role) and not change.refused for change in step.changes):
            self.state["source"] = True

    def _test(self, step: Step, change: FileChange) -> None:
        span = self.state["span"]
        if span is None:
            self.state["touched"][digest(change.path)] = 1
            forget_oldest(self.state["touched"], _FILES)
            return
        if change.change == "revert" or (change.after and span["first"].get(change.path) == change.after):
            span["tests"].pop(change.path, None)  # it is as it was
            return
        if change.before:
            span["first"].setdefault(change.path, change.before)
            forget_oldest(span["first"], _SPAN_FILES)
        entry = span["tests"].setdefault(change.path, [change.role, [], []])
        if span["void"]:
            return  # nothing will be said of this span: which tests it touched is all that is asked of it
        if change.weakened and not self._removed_code(change):
            entry[1] = (entry[1] + _marks(change))[:_LOST]
            span["evidence"].append(note(step, file=change.path))
            del span["evidence"][_SPAN_FILES:]
        entry[2] = (entry[2] + change.came)[-_CAME:]
        forget_oldest(span["tests"], _SPAN_FILES)

    def _removed_code(self, change: FileChange) -> bool:
        """Tell whether the change takes out a test of code that the session removed."""
        gone = self.state["gone"]
        if any(name in gone for name in change.mentions):
            return True
        if change.change != "delete":
            return False
        stem = change.path.rsplit("/", 1)[-1].split(".", 1)[0].lower()
        return any(len(name) > 2 and name.lower() in stem for name in gone)

    def _checks(self, step: Step) -> list[Detection]:
        found = []
        for check in step.checks:
            if check.kind != "test":
                continue
            if check.outcome == FAILED:
                self._failed(step)
            elif check.outcome == PASSED:
                found += self._passed(step)
        return found

    def _failed(self, step: Step) -> None:
        span = self.state["span"]
        if span and not span["void"]:
            return
        self._close()
        self.state["span"] = {
            "void": False,
            "strict": self.state["source"],
            "files": sorted({_name(each[1]) for each in step.failing if each[1]})[:_SPAN_FILES],
            "tests": {},
            "first": {},
            "evidence": [note(step, step.error_text)],
        }

    def _passed(self, step: Step) -> list[Detection]:
        span = self.state["span"]
        touched = dict(self.state["touched"])
        self._close()
        self.state["source"] = False
        if not span or span["void"] or (self.settings["tampering.strict"] and span["strict"]):
            return []
        from unspin.facts.test_changes import still_lost

        changes = {path: (lost, came) for path, (_, lost, came) in span["tests"].items()}
        files = sorted(
            path
            for path, (role, *_) in span["tests"].items()
            if any(still_lost([changes[path]])) and digest(path) not in touched and _concerns(path, role, span["files"])
        )
        totals = still_lost([(lost if path in files else [], came) for path, (lost, came) in changes.items()])
        if not files or not any(totals):
            return []
        return [
            Detection(
                self.rule,
                "\n".join(files),
                len(files),
                evidence([*span["evidence"], note(step)]),
                file=files[0],
                details={
                    "files": files,
                    "removed": totals[0],
                    "altered": totals[1],
                    "skips": totals[2],
                    "deleted": totals[3],
                },
            )
        ]


def _concerns(path: str, role: str, failing: list[str]) -> bool:
    """Tell whether a changed test file can be why the failing ones pass; shared files always can."""
    name = _name(path)
    return not failing or name in failing or role in ("snapshot", "fixture") or name == "conftest.py"


def _marks(change: FileChange) -> list[str]:
    """Return what a change took from a test, mark by mark; made up where only the counts are known."""
    counts = zip("rasd", change.weakened or (), strict=False)
    return change.lost or [
        f"{letter}{digest(f'{change.path} {letter} {number}')[:8]}"
        for letter, count in counts
        for number in range(count)
    ]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
