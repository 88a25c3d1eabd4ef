"""The lines that are said: what was noticed, what to do now, the choices. The same words each time.

Whatever is quoted (a file name, an error, a command) is data: control characters and line
breaks are taken out, it is shortened, and it stands in quotes.
"""

from __future__ import annotations

from unspin.detect import LOOP_RULES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.detect import Detection

_LONGEST = 100

#: Characters that could break out of a line or out of sight: controls, line and paragraph
#: separators, bidirectional overrides, zero-width and filling characters, variation selectors
#: and tags (texts can be hidden in them), lone surrogates.
_INVISIBLE = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xE0000, 0xE0FFF),
)


class Situation:
    """What is true of the session besides the detection: it decides which choices are offered."""

    __slots__ = ("checkpoints", "passed", "project", "working_checkpoint")

    def __init__(self, *, project: str = "", passed: bool, checkpoints: bool, working_checkpoint: bool):
        self.project = project
        self.passed = passed
        self.checkpoints = checkpoints
        self.working_checkpoint = working_checkpoint

    def choices(self) -> str:
        """Return the two ways out that exist now."""
        if self.checkpoints:
            if self.working_checkpoint:
                return "roll back to the last working checkpoint, or hand off and restart?"
            return "rethink the approach, or hand off and restart?"
        if self.passed:
            return "undo edits since tests last passed, or start fresh?"
        return "rethink the approach, or start fresh?"

    def file(self, path: str) -> str:
        """Return the file as people know it, relative to the project, quoted."""
        if self.project and path.startswith(f"{self.project}/"):
            path = path[len(self.project) + 1 :]
        return quote(path, keep_end=True)


def quote(text: str, *, keep_end: bool = False, longest: int = _LONGEST) -> str:
    """Return ``text`` in double quotes on one line, without anything that could be more than text."""
    text = text[: longest * 20] if not keep_end else text[-longest * 20 :]
    text = " ".join("".join(" " if _invisible(char) else char for char in text).split())
    text = text.replace('"', "'")
    if len(text) > longest:
        text = "…" + text[-longest + 1 :] if keep_end else text[: longest - 1] + "…"
    return f'"{text}"'


def _invisible(char: str) -> bool:
    code = ord(char)
    return any(low <= code <= high for low, high in _INVISIBLE)


def nudge(found: Detection, now: Situation) -> str:
    """Return the line that is given to the agent for a detection."""
    build = _NUDGES.get(found.rule, _other)
    return build(found, now)


def cause(found: Detection, now: Situation) -> str:
    """Return what a refusal says of the detection it follows."""
    if found.rule == "failing_edits":
        return f"{found.count} failing edits"
    if found.rule == "recurring_error":
        return f"the same error {found.count} times with edits in between"
    return f"{found.rule.replace('_', ' ')}, {found.count} times"


def refusal(file: str, reason: str, now: Situation) -> str:
    """Return the text of a block. It stands on its own: it may be read after a compaction."""
    return (
        f"Unspin: edit of {now.file(file)} refused: {reason}, and the user has not answered yet. "
        f"Do not edit it by other means. Ask the user now: {now.choices()}"
    )


def stop(file: str, refusals: int, now: Situation) -> str:
    """Return the text with which a turn is stopped."""
    return f"Unspin: stopped after {refusals} refusals: loop on {now.file(file)}. The user decides how to go on."


def forbidden(what: str) -> str:
    """Return the refusal of what only the person may do."""
    if what == "command":
        return "Unspin: refused: this command is the user's. Only the user may run it, at their own terminal."
    return "Unspin: refused: this would change unspin's own settings. Only the user may do that."


def _loop(what: str, now: Situation, todo: str = "Stop editing and ask the user now:") -> str:
    return f"Unspin: loop ({what}). {todo} {now.choices()}"


def _failing_edits(found: Detection, now: Situation) -> str:
    nothing = "" if now.passed else "; nothing has passed yet"
    return _loop(f"{found.count} failing edits on {now.file(found.file)}{nothing}", now)


def _rejected_edits(found: Detection, now: Situation) -> str:
    return _loop(
        f"edits of {now.file(found.file)} refused by the edit tool {found.count} times",
        now,
        "Read the file again, then ask the user how to go on:",
    )


def _recurring_error(found: Detection, now: Situation) -> str:
    return _loop(f"the same error {found.count} times with edits in between: {quote(found.details['error'])}", now)


def _repeated_action(found: Detection, now: Situation) -> str:
    actions = [quote(each) for each in found.details["actions"]]
    todo = "Stop and ask the user now:"
    if len(actions) == 1:
        return _loop(f"{actions[0]} repeated {found.count} times with the same result", now, todo)
    return _loop(f"a cycle of {len(actions)} actions: {', '.join(actions)}", now, todo)


def _unchanged_result(found: Detection, now: Situation) -> str:
    return _loop(f"{quote(found.details['command'])} gave the same output {found.count} times across edits", now)


def _oscillation(found: Detection, now: Situation) -> str:
    return _loop(f"{now.file(found.file)} returned to an earlier content {found.count} times", now)


def _tampering(found: Detection, now: Situation) -> str:
    files = [now.file(each) for each in found.details["files"]]
    names = ", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
    was, passes = ("was", "passes") if len(files) == 1 else ("were", "pass")
    how = ", ".join(
        text
        for count, text in (
            (found.details["removed"], "assertions were removed"),
            (found.details["skips"], "a skip was added"),
            (found.details["deleted"], "a test was deleted"),
        )
        if count
    )
    return (
        f"Unspin: {names} {was} changed, not the code, and now {passes}{f' ({how})' if how else ''}. "
        "Stop and ask the user whether changing the test was intended before going on."
    )


def _bloat(found: Detection, now: Situation) -> str:
    size = found.details["size"]
    what = {
        "compaction": "the context is about to be compacted",
        "context": f"the context holds {size:,} tokens",
        "tool_output": f"{size / 1e6:.1f} MB of tool output in this session",
    }[found.details["signal"]]
    return f"Unspin: {what}. Finish the current step, then offer the user a handoff and a fresh session."


def _rot(found: Detection, now: Situation) -> str:
    turns = f"{found.count} turns running"
    size = found.details["size"]
    what = {
        "tests": f"the same {size} {'test fails' if size == 1 else 'tests fail'} at the end of {turns}",
        "build": f"the build fails at the end of {turns}",
        "finding": f"a review finding came back word for word: {quote(found.details['text'])}",
    }[found.details["signal"]]
    return f"Unspin: {what}. Tell the user before going on."


def _other(found: Detection, now: Situation) -> str:
    """Say a rule that has no wording of its own yet."""
    about = f" on {now.file(found.file)}" if found.file else ""
    what = f"{found.rule.replace('_', ' ')}{about}, {found.count} times"
    if found.rule in LOOP_RULES:
        return _loop(what, now, "Stop and ask the user now:")
    return f"Unspin: {what}. Tell the user before going on."


_NUDGES = {
    "failing_edits": _failing_edits,
    "rejected_edits": _rejected_edits,
    "recurring_error": _recurring_error,
    "repeated_action": _repeated_action,
    "unchanged_result": _unchanged_result,
    "oscillation": _oscillation,
    "tampering": _tampering,
    "bloat": _bloat,
    "rot": _rot,
}
