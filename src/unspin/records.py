"""What is kept of a session besides the log: facts and short excerpts, in the order of events.

Handoff, status line and checkpoints read these; nothing decides a verdict on them. A
record is ``(event_index, kind, data)`` with plain data; its kinds stand in ``KINDS``.
"""

from __future__ import annotations

from unspin.events import Compaction, Message
from unspin.facts.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.facts.files import Place
    from unspin.facts.step import CheckResult, Round, Step

    Record = tuple[int, str, dict[str, Any]]

MESSAGE, STEP, COMPACTION = "message", "step", "compaction"

#: Kind: what its data holds.
KINDS: dict[str, tuple[str, ...]] = {
    MESSAGE: ("text", "by_person"),
    STEP: ("tool", "label", "action", "agent", "failed", "refused", "opaque", "spoke", "failing", "error", "error_id",
           "checks", "changes"),
    COMPACTION: ("done",),
}  # fmt: skip

_LONGEST_MESSAGE = 600  # characters
_SILENT = ("read", "wait", "note")  # actions that leave nothing behind when they succeed


def of_message(event: Message | Compaction, index: int) -> Record:
    """Return the record of what somebody wrote, or of a compaction."""
    if isinstance(event, Compaction):
        return index, COMPACTION, {"done": event.done}
    text = redact(event.text[: 4 * _LONGEST_MESSAGE])[:_LONGEST_MESSAGE]
    return index, MESSAGE, {"text": text, "by_person": event.by_person}


def of_round(judged: Round, place: Place) -> list[Record]:
    """Return the records of a round: of the steps that ran something, changed something or failed."""
    return [
        (step.index, STEP, _of_step(step, judged.agent, place))
        for step in judged.steps
        if step.failed or step.checks or step.changes or step.spoke or step.action not in _SILENT
    ]


def _of_step(step: Step, agent: str, place: Place) -> dict[str, Any]:
    """Return what is kept of a step; what is empty or false is left out."""
    data = {
        "tool": step.tool,
        "label": step.label,
        "action": step.action,
        "agent": agent,
        "failed": step.failed,
        "refused": step.refused,
        "opaque": step.opaque,
        "spoke": step.spoke,
        "failing": len(step.failing),
        "error": step.error_text,
        "error_id": step.error,
        "checks": [_of_check(each) for each in step.checks],
        "changes": [
            {"path": place.relative(each.path), "change": each.change, "refused": each.refused, "role": each.role}
            for each in step.changes
        ],
    }
    return {key: value for key, value in data.items() if value}


def _of_check(check: CheckResult) -> dict[str, Any]:
    """Return what is kept of a check; ``counts`` are its tests passed, failed and skipped, where it told."""
    data = {"kind": check.kind, "command": check.command, "outcome": check.outcome, "hidden": check.hidden}
    return {**data, "counts": check.counts} if check.counts else data
