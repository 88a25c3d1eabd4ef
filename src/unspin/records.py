"""What is kept of a session besides the log: facts and short excerpts, in the order of events.

Handoff, status line and checkpoints read these; nothing decides a verdict on them. A
record is ``(event_index, kind, data)`` with plain data; its kinds stand in ``KINDS``.
"""

from __future__ import annotations

from unspin.events import ASK, Compaction, Message
from unspin.facts.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from unspin.events import ToolResult
    from unspin.facts.files import Place
    from unspin.facts.step import CheckResult, Round, Step

    Record = tuple[int, str, dict[str, Any]]

MESSAGE, STEP, COMPACTION, ROLLBACK = "message", "step", "compaction", "rollback"

#: Kind: what its data holds.
KINDS: dict[str, tuple[str, ...]] = {
    MESSAGE: ("text", "by_person"),
    STEP: ("tool", "label", "action", "agent", "failed", "refused", "opaque", "spoke", "failing", "error", "error_id",
           "checks", "changes", "put"),
    COMPACTION: ("done",),
    ROLLBACK: ("to", "undo", "files"),
}  # fmt: skip

_LONGEST_MESSAGE = 600  # characters
_LONGEST_LINE = 100  # of what an edit put in
_MOST_LOOKED_AT = 4_000
_SILENT = ("read", "wait", "note")  # actions that leave nothing behind when they succeed


def of_message(event: Message | Compaction, index: int) -> Record:
    """Return the record of what somebody wrote, or of a compaction."""
    if isinstance(event, Compaction):
        return index, COMPACTION, {"done": event.done}
    text = redact(event.text[: 4 * _LONGEST_MESSAGE])[:_LONGEST_MESSAGE]
    return index, MESSAGE, {"text": text, "by_person": event.by_person}


def of_rollback(to: str, index: int, *, undo: bool, files: int) -> Record:
    """Return the record of files that went back to the checkpoint named ``to``: how many, and whether by an undo."""
    return index, ROLLBACK, {"to": to, "undo": undo, "files": files}


def of_answer(event: ToolResult, index: int) -> Record | None:
    """Return the record of what the person said through a call: an answer to the agent's question, a refusal."""
    answered = event.call.action == ASK and not event.refused and not event.failed
    if event.call.agent or not (answered or event.comment):
        return None
    text = event.output.rpartition("the user said:")[2] if event.comment else event.output
    return of_message(Message(text.strip()), index)


def put_in(event: ToolResult) -> str:
    """Return the first line that an edit put into its file and that did not stand there before, shortened."""
    for edit in event.call.edits:
        before = set(map(str.strip, (edit.old or "").splitlines()))
        for line in edit.new[:_MOST_LOOKED_AT].splitlines():
            if line.strip() and line.strip() not in before:
                return redact(line.strip()[: 4 * _LONGEST_LINE])[:_LONGEST_LINE]
    return ""


def of_round(judged: Round, place: Place, put: Mapping[int, str] | None = None) -> list[Record]:
    """Return the records of a round: of the steps that ran something, changed something or failed.

    ``put`` holds what edits put in (``put_in``), by the position of their calls.
    """
    return [
        (step.index, STEP, _of_step(step, judged.agent, place, (put or {}).get(step.position, "")))
        for step in judged.steps
        if step.failed or step.checks or step.changes or step.spoke or step.action not in _SILENT
    ]


def _of_step(step: Step, agent: str, place: Place, put: str) -> dict[str, Any]:
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
        "put": put,
    }
    return {key: value for key, value in data.items() if value}


def _of_check(check: CheckResult) -> dict[str, Any]:
    """Return what is kept of a check; ``counts`` are its tests passed, failed and skipped, where it told."""
    data = {"kind": check.kind, "command": check.command, "outcome": check.outcome, "hidden": check.hidden}
    return {**data, "counts": check.counts} if check.counts else data
