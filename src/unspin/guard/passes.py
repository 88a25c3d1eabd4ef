"""What a passed check says of the work tree: whether it may be called working, and why not.

A check that passed proves something of the tree as it was when it ran. Not where the same
round also changed files, where tests were changed and not the code, where what passed says
nothing about tests that failed last.
"""

from __future__ import annotations

from unspin.events import AGENT
from unspin.facts.step import FAILED, PASSED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unspin.facts.step import CheckResult, FileChange, Step


class Pass:
    """A check that passed in the round just judged.

    ``why`` says why the tree is not working, empty if it is; ``folder`` where it ran, empty where that is not known.
    """

    __slots__ = ("command", "event_index", "folder", "kind", "why")

    def __init__(self, check: CheckResult, event_index: int, why: str):
        self.command = check.command
        self.folder = check.folder
        self.kind = check.kind
        self.event_index = event_index
        self.why = why


#: Why a tree is not working though the check passed on it, and why nobody knows on which tree it passed.
TAMPERED = "tests were changed, not the code"
SAME_ROUND = "the same round also changed files"
SAME_ROUND_PERHAPS = "another call of the same round may have changed files"
AFTER_IT = "what ran after it in the same line may have changed files"
SUBAGENT = "a subagent may have changed files meanwhile"
UNSURE = (SAME_ROUND, SAME_ROUND_PERHAPS, AFTER_IT, SUBAGENT)

_MOST_RED = 8
_OUTPUTS = ("data", "doc", "scratch")  # what a check may print into, or have cleared away before it
_STRENGTH = ("test", "build", "type", "run", "lint")  # what counts where several passed


def read(
    steps: Sequence[Step],
    outcomes: Mapping[str, str],
    *,
    tampered: bool,
    beside: bool = False,
    red: Sequence[str] = (),
) -> Pass | None:
    """Return the strongest check that passed in a round, ``None`` where none did.

    ``outcomes`` are the last known ones by kind of check, this round's included; ``beside`` says
    that a subagent has changed files, or may have, since the round before. ``red`` are the test runs
    that failed on the files as they are.
    """
    passed = [(check, step) for step in steps for check in step.checks if check.outcome == PASSED]
    if not passed:
        return None
    check, step = min(passed, key=lambda each: _STRENGTH.index(each[0].kind) if each[0].kind in _STRENGTH else 9)
    why = _why_not(check, step, steps, outcomes, tampered=tampered)
    if not why and beside:
        why = SUBAGENT
    if not why and any(each != check.command for each in red):
        why = "another test run failed on the same files"
    return Pass(check, step.index, why)


def still_red(red: Sequence[str], steps: Sequence[Step]) -> list[str]:
    """Return the test runs that have failed since files changed last, after another round; the newest ones."""
    found = [] if any(map(may_change_files, steps)) else list(red)
    for step in steps:
        for check in step.checks:
            if check.kind == "test" and check.outcome in (PASSED, FAILED):
                found = [each for each in found if each != check.command]
                if check.outcome == FAILED:
                    found.append(check.command)
    return found[-_MOST_RED:]


def may_change_files(step: Step) -> bool:
    """Tell whether a call changed files, or may have."""
    return any(not each.refused for each in step.changes) or (not step.refused and step.opaque)


def _counts(change: FileChange) -> bool:
    """Tell whether a change of the round makes the tree another than the check saw: its own log does not."""
    return change.role not in (_OUTPUTS if change.beside else ("scratch",))


def _why_not(
    check: CheckResult, own: Step, steps: Sequence[Step], outcomes: Mapping[str, str], *, tampered: bool
) -> str:
    if tampered:
        return TAMPERED
    if any(each.failed and each.kind != "lint" for step in steps for each in step.checks):
        return "another check of the same round failed"
    if any(_counts(change) for step in steps for change in step.changes if not change.refused):
        return SAME_ROUND
    if any((step.opaque or step.action == AGENT) and not step.refused for step in steps if step is not own):
        return SAME_ROUND_PERHAPS
    if check.followed:
        return AFTER_IT
    if check.kind == "lint":
        return "a linter says nothing about tests"
    if check.scratch:
        return "the script that ran is no check of the project"
    if check.kind != "test" and outcomes.get("test") == FAILED:
        return f"the last test run failed; a {check.kind} says nothing about tests"
    return ""
