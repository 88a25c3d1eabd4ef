"""What a passed check says of the work tree: whether it may be called working, and why not.

A check that passed proves something of the tree as it was when it ran. Not where the same
round also changed files, where tests were changed and not the code, where what passed says
nothing about tests that failed last.
"""

from __future__ import annotations

from unspin.events import AGENT
from unspin.facts.step import FAILED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unspin.facts.step import CheckResult, FileChange, Step


class Pass:
    """A check that passed in the round just judged; ``why`` says why the tree is not working, empty if it is."""

    __slots__ = ("command", "event_index", "kind", "why")

    def __init__(self, check: CheckResult, event_index: int, why: str):
        self.command = check.command
        self.kind = check.kind
        self.event_index = event_index
        self.why = why


_OUTPUTS = ("data", "doc", "scratch")  # what a check's own line may write: its log
_STRENGTH = ("test", "build", "type", "run", "lint")  # what counts where several passed


def read(steps: Sequence[Step], outcomes: Mapping[str, str], *, tampered: bool, beside: bool = False) -> Pass | None:
    """Return the strongest check that passed in a round, ``None`` where none did.

    ``outcomes`` are the last known ones by kind of check, this round's included; ``beside`` says
    that a subagent has changed files, or may have, since the round before.
    """
    passed = [(check, step) for step in steps for check in step.checks if check.passed]
    if not passed:
        return None
    check, step = min(passed, key=lambda each: _STRENGTH.index(each[0].kind) if each[0].kind in _STRENGTH else 9)
    why = _why_not(check, step, steps, outcomes, tampered=tampered)
    return Pass(check, step.index, why or ("a subagent changed files meanwhile" if beside else ""))


def may_change_files(step: Step) -> bool:
    """Tell whether a call changed files, or may have."""
    return any(not each.refused for each in step.changes) or (not step.refused and step.opaque)


def _counts(change: FileChange, *, own: bool) -> bool:
    """Tell whether a change of the round makes the tree another than the check saw: its own log does not."""
    return change.role not in (_OUTPUTS if own else ("scratch",))


def _why_not(
    check: CheckResult, own: Step, steps: Sequence[Step], outcomes: Mapping[str, str], *, tampered: bool
) -> str:
    if tampered:
        return "tests were changed, not the code"
    if any(each.outcome == FAILED and each.kind != "lint" for step in steps for each in step.checks):
        return "another check of the same round failed"
    if any(_counts(change, own=step is own) for step in steps for change in step.changes if not change.refused):
        return "the same round also changed files"
    if any((step.opaque or step.action == AGENT) and not step.refused for step in steps if step is not own):
        return "another call of the same round may have changed files"
    if check.followed:
        return "what ran after it in the same line may have changed files"
    if check.kind == "lint":
        return "a linter says nothing about tests"
    if check.scratch:
        return "the script that ran is no check of the project"
    if check.kind != "test" and outcomes.get("test") == FAILED:
        return f"the last test run failed; a {check.kind} says nothing about tests"
    return ""
