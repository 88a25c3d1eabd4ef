"""One command that gives the same output although edits lie between."""

from __future__ import annotations

from unspin.detect.detection import EVIDENCE, Detection, Detector, evidence, forget_oldest, note, resets
from unspin.events import SHELL, Message
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import Step

_COMMANDS = 16
_OUTPUTS = 3  # different outputs remembered of one command
_SILENT_ROLES = ("vcs", "read", "server", "install")
_SILENT_KINDS = ("build", "lint", "type")


class UnchangedResult(Detector):
    """Fires when one failing command, or one run of a program, gave the same output that often
    across edits.

    Only repeats with an edit since the last one count, and no edit and no other output
    resets them: one agent ran one script 42 times with 37 identical outputs between 43
    edits. Never counted: passed tests, linters, builds, version control, reads, servers,
    polling, time-outs, tests that were red before the first edit, and outputs that only say
    that it was done or that all is well. A passed test ends all streaks.

    State: ``clock`` counts edits; ``commands[command][result] = [count, clock, indices]``.
    Default threshold 5 (``loop.unchanged_results``).
    """

    rule = "unchanged_result"
    keys = {
        "loop.unchanged_results": ("count", 5, "times one command gives the same output across edits"),
    }

    def initial(self) -> dict[str, Any]:
        return {"clock": 0, "commands": {}}

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
                self.state["clock"] += len(step.written())
            if step.checks and any(resets(check, "") for check in step.checks if check.kind == "test"):
                self.state["commands"] = {}
            if _counts(step):
                found += self._count(step)
        return found

    def _count(self, step: Step) -> list[Detection]:
        commands, clock = self.state["commands"], self.state["clock"]
        outputs = commands.pop(step.command, {})
        commands[step.command] = outputs
        forget_oldest(commands, _COMMANDS)
        count, last, history = outputs.pop(step.result, [0, -1, []])
        if count and last == clock:
            outputs[step.result] = [count, last, history]
            return []
        history = (history + [step.index])[-EVIDENCE:]
        outputs[step.result] = [count + 1, clock, history]
        forget_oldest(outputs, _OUTPUTS)
        if count + 1 < self.threshold:
            return []
        return [
            Detection(
                self.rule,
                f"{step.command}{step.result}",
                count + 1,
                evidence([[index, *note(step)[1:]] for index in history]),
                error=step.error,
                kind="test",
                details={"command": step.label},
            )
        ]


def _counts(step: Step) -> bool:
    if step.action != SHELL or step.stopped or step.old or step.polls or step.spacer or step.role in _SILENT_ROLES:
        return False
    kinds = {check.kind for check in step.checks}
    if not kinds.isdisjoint(_SILENT_KINDS):
        return False
    if "test" in kinds:
        counts = any(check.failed and check.kind == "test" for check in step.checks)
    else:
        counts = step.failed or "run" in kinds or step.role == "inline"
    return counts and not step.constant
