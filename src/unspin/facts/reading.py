"""From a tool result to a step: the one place where outputs and command lines are read.

Knows no agent's wire format, and nothing of what detectors make of a step. What edits
say is read in ``files``, what command lines and their outputs say in ``commands``; both
are loaded when they are needed. The reader remembers two things of a session: which
error-looking lines a command also prints when it passes, and which tests were red before
the first edit. Its memory changes only when a round is settled, so that the order in
which the results of a round arrive makes no difference.
"""

from __future__ import annotations

import re

from unspin.events import ASK, BY_PERSON, EDIT, NOTE, OTHER, READ, SHELL, WAIT, ToolCall, ToolResult
from unspin.facts.digest import digest
from unspin.facts.files import Place, read_edits
from unspin.facts.normalise import normalise_output
from unspin.facts.redact import redact
from unspin.facts.step import EXCERPT, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from unspin.facts.step import FileChange

    class Values(Protocol):
        """Settings by dotted key, whoever keeps them."""

        def __getitem__(self, key: str) -> Any: ...


_MAX_COMMANDS = 24  # commands whose passing output is remembered
_MAX_NOISE = 12  # error-looking lines remembered of each
_MAX_KNOWN = 128  # results whose reading is remembered: agents run the same command with the same outcome
_MAX_KNOWN_OUTPUT = 10_000  # characters
_MAX_RED = 400  # tests remembered as red before the first edit
_MAX_UNDO = 24  # files of which it is remembered what would undo the last edit
_MAX_MADE = 8  # edits of one file that are remembered, to know them again after they were reverted

_ACKNOWLEDGING = frozenset(
    (
    "ok", "okay", "done", "success", "successful", "successfully", "succeeded", "updated", "created",
    "written", "wrote", "saved", "generated", "built", "finished", "complete", "completed", "passed", "copied",
    "started", "stopped", "removed", "deleted", "installed", "formatted", "exported", "loaded", "ready",
    "true", "yes",
)
)  # fmt: skip
_NEUTRAL = frozenset(
    (
    "a", "all", "and", "are", "at", "been", "by", "file", "files", "for", "from", "has", "have", "in", "into",
    "is", "it", "items", "no", "of", "on", "rows", "s", "the", "to", "was", "were", "with", "without",
    "changes", "error", "errors", "warning", "warnings",
)
)  # fmt: skip


_WELL = frozenset(("ok", "okay", "pass", "passed", "passes", "success", "successful", "successfully", "valid", "clean"))
_ILL = frozenset(
    ("fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "wrong", "mismatch", "mismatches",
     "not", "off", "broken", "missing", "invalid", "incorrect", "unexpected", "differs", "different", "issue", "issues",
     "problem", "problems", "traceback", "exception", "false", "none", "nan", "never", "cannot")
)  # fmt: skip


class Reader:
    """Reads results into steps. ``state`` is plain data: store it, give it back later."""

    def __init__(self, settings: Values, project: str = "", state: dict[str, Any] | None = None):
        self.settings = settings
        self.place = Place(project, settings["tampering.test_paths"])
        self.state: dict[str, Any] = (
            state if state is not None else {"noise": {}, "red": [], "edited": False, "undo": {}}
        )
        self._exempt: frozenset[str] = frozenset(settings["exempt.tools"])
        self._labels: dict[str, str] = {}
        self._known: dict[Any, tuple[Any, ...]] = {}
        self._outcomes: dict[tuple[str, bool], _Outcome] = {}

    def read(self, event: ToolResult) -> Step:
        """Return the step that ``event`` amounts to."""
        key = _key(event)
        known = self._known.get(key) if key else None
        if known is not None:
            step = Step.again(known)
            step.position = event.position
            return step
        step = self._read(event)
        if key and not step.changes:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[key] = step.contents()
        return step

    def _read(self, event: ToolResult) -> Step:
        call = event.call
        step = Step(call.tool, self._label(call.label), call.action, identity(call), event.position)
        step.size = event.size
        step.refused = event.refused
        step.failed = event.failed and not event.refused
        step.spoke = (event.refused == BY_PERSON and event.comment) or (
            call.action == ASK and not event.refused and not event.failed
        )
        step.exempt = call.tool in self._exempt
        if call.action == READ:
            step.polls = call.label.endswith((".log", ".output", ".out"))
        elif call.action == EDIT:
            step.changes = read_edits(event, self.place)
        else:
            step.spacer = call.action == NOTE
            step.polls = call.action == WAIT
            step.opaque = call.action == OTHER
        if call.action == SHELL or (step.failed and call.action not in (READ, EDIT)):
            from unspin.facts import commands

            commands.read(step, event, self.place, self.settings)
        if not event.refused:
            step.defer(self._outcome(event.output, failed=step.failed), ("result", "constant"))
        return step

    def _label(self, label: str) -> str:
        """Return how a call is named, without secrets: agents name the same files again and again."""
        known = self._labels.get(label)
        if known is None:
            known = redact(label[: 4 * EXCERPT])[:EXCERPT]
            if len(label) <= 4 * EXCERPT:
                if len(self._labels) >= _MAX_KNOWN:
                    self._labels.clear()
                self._labels[label] = known
        return known

    def _outcome(self, output: str, *, failed: bool) -> _Outcome:
        """Return the reader of an output: of the same words the same, so that they are read once."""
        if len(output) > _MAX_KNOWN_OUTPUT:
            return _Outcome(output, failed=failed)
        key = (output, failed)
        known = self._outcomes.get(key)
        if known is None:
            if len(self._outcomes) >= _MAX_KNOWN:
                self._outcomes.clear()
            known = self._outcomes[key] = _Outcome(output, failed=failed)
        return known

    def settle(self, steps: list[Step]) -> None:
        """Take in a whole round, in order: say which failure each is, remember what it showed."""
        red = self.state["red"]
        for step in steps:
            if step.changes:
                self._undo(step)
                if step.written():
                    self.state["edited"] = True
            if step.failing and not self.state["edited"]:
                known = set(red)
                red.extend(each[0] for each in step.failing if each[0] not in known)
                del red[_MAX_RED:]
            if step.failing:
                step.old = {each[0] for each in step.failing}.issubset(red)
            self._choose_error(step)
            _sign(step, red)
            if step.noise:
                self._remember(step)

    def _undo(self, step: Step) -> None:
        """Mark what takes back the last edit of the same file, and what makes reverted edits again in their order."""
        last = self.state.setdefault("undo", {})
        for change in step.changes:
            if change.refused or not change.path:
                continue
            undone = last.pop(change.path, "")
            if change.swap:
                if change.swap[0] == undone:
                    change.probe = "undo"
                last[change.path] = change.swap[1]
            self._again(change)
        forget_oldest(last, _MAX_UNDO)

    def _again(self, change: FileChange) -> None:
        """Follow one file: ``made`` are its edits since it was last reverted, ``gone`` those that the revert took."""
        files = self.state.setdefault("made", {})
        entry = files.pop(change.path, None) or {"made": [], "gone": []}
        if change.change == "revert":
            entry = {"made": [], "gone": entry["made"] + entry["gone"] if len(entry["made"]) < _MAX_MADE else []}
        elif change.change == "write" and change.swap and change.swap[0]:
            if entry["gone"][:1] == [change.swap[0]]:
                del entry["gone"][0]
                change.probe = change.probe or "undo"
            else:
                entry["gone"] = []
            entry["made"] = (entry["made"] + [change.swap[0]])[-_MAX_MADE:]
        else:
            return
        files[change.path] = entry
        forget_oldest(files, _MAX_UNDO)

    def _choose_error(self, step: Step) -> None:
        """Take the first error that the command does not print when it passes as well."""
        if not step.errors:
            return
        noise = self.state["noise"].get(_noise_key(step), ()) if self.state["noise"] else ()
        for identity_, text in step.errors:
            if identity_ not in noise:
                step.error, step.error_text = identity_, text
                return

    def _remember(self, step: Step) -> None:
        noise = self.state["noise"]
        known = noise.pop(_noise_key(step), [])
        known.extend(each for each in step.noise if each not in known)
        noise[_noise_key(step)] = known[:_MAX_NOISE]
        forget_oldest(noise, _MAX_COMMANDS)

    def targets(self, call: ToolCall) -> list[str]:
        """Return the files that a call is about to write, move or take away, reverts included."""
        return self.place.targets(call, self.settings["checks.commands"])


class _Outcome:
    """Reads of an output what identifies it, and whether it says only that it was done, when that is asked for."""

    __slots__ = ("_constant", "_failed", "_output", "_result")

    def __init__(self, output: str, *, failed: bool):
        self._output = output
        self._failed = failed
        self._result = ""
        self._constant: bool | None = None

    def __call__(self, step: Step, name: str) -> None:
        output = self._output
        if name == "result":
            self._result = step.result = self._result or digest(normalise_output(output))
            return
        if self._constant is None:
            self._constant = not output.strip() if self._failed else acknowledges(output) or says_all_is_well(output)
        step.constant = self._constant


def _key(event: ToolResult) -> Any:
    """Return what the reading of a command's result depends on; ``None`` where it is not worth remembering."""
    call = event.call
    if call.action != SHELL or len(event.output) > _MAX_KNOWN_OUTPUT:
        return None
    return (
        call.tool,
        call.arguments,
        call.label,
        call.command,
        event.output,
        event.size,
        event.failed,
        event.exit_code,
        event.refused,
        event.comment,
        event.interrupted,
        event.background,
        event.untold,
        event.recorded,
    )


def identity(call: ToolCall) -> str:
    """Return what identifies a call: its tool and its arguments, byte for byte."""
    return digest(f"{call.tool}\x00{call.arguments}")


def acknowledges(output: str) -> bool:
    """Tell whether an output says no more than that the thing was done: "ok", "3 files written", nothing."""
    text = output.strip()
    if len(text) > 120 or text.count("\n") > 1:
        return False
    words = [word.strip(".,:;!()[]✓✔ ").lower() for word in text.split()]
    said = [word for word in words if word.isalpha() and word not in _NEUTRAL]
    return not words or (bool(said) and _ACKNOWLEDGING.issuperset(said))


def says_all_is_well(output: str) -> bool:
    """Tell whether the output of a program that succeeded says that all is well: "0 broken links", "120 passed"."""
    words = re.findall(r"[^\W_]+", output[:4000].lower())  # compiled at the first use, for the hook's sake
    well = not _WELL.isdisjoint(words) or "✓" in output or "✔" in output
    for at, word in enumerate(words):
        if word in _ILL and words[max(at - 1, 0)] not in ("0", "no", "zero", "without"):
            return False
        well = well or word in _ILL
    return well


def forget_oldest(table: dict[str, Any], keep: int) -> None:
    """Drop the entries that were put in first until ``keep`` are left: state stays small."""
    while len(table) > keep:
        del table[next(iter(table))]


def _sign(step: Step, red: list[str]) -> None:
    """Say which failure this is: the failing tests with the first error line.

    Where some of the failing tests were red before the session's first edit and others
    were not, only the others count. Without test names the number of errors is part of
    it: an error that is one of twelve and then one of nine is not the same failure.
    """
    if step.failing:
        known = set(red)
        new = [each for each in step.failing if each[0] not in known] or step.failing
        if len(new) < len(step.failing) or new[0][2]:
            step.error = new[0][2]
        step.signature = digest("\n".join(sorted(each[0] for each in new)) + "\n" + step.error)
    elif step.error:
        step.signature = digest(f"{step.error}\n{step.error_count}")


def _noise_key(step: Step) -> str:
    return digest(step.checks[0].command) if step.checks else step.command
