"""SWE-agent's trajectories (``.traj``), the old ones and those of version 1.

One JSON document: ``trajectory`` holds a step for each response (action, observation, the
state of the shell), ``history`` what the model was shown, ``info`` how it ended. Demonstrations
have the history alone. SWE-agent's own commands are told from the shell's by their names.
Statuses are not written down: a command failed where its output proves it.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.cost.prices import Usage
from unspin.facts.files import absolute
from unspin.facts.shell import read_line
from unspin.scan.documents import Document
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.source import Source
from unspin.scan.untold import TIMED_OUT, failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "swe-agent"

_READS = frozenset(
    ("open", "goto", "scroll_down", "scroll_up", "search_dir", "search_file", "find_file", "set_cursors", "filemap",
     "view_image")
)  # fmt: skip
_EDITS = frozenset(("edit", "insert", "create", "append", "str_replace_editor"))
_ENDS = frozenset(("exit_cost", "exit_context", "exit_format", "exit_error", "exit_api", "exit_command", "exit_forfeit",
                   "exit_environment_error", "exit_command_timeout", "exit_total_execution_time", "skip"))  # fmt: skip

#: How the edit tools begin when they did not do it.
_REFUSALS = (
    "Your proposed edit has introduced new syntax error",
    "Your edit was not applied",
    "Your search and replace strings are the same",
    "No replacement was performed",
    "No changes",
    "No file open",
    "No edit history found",
    "Error:",
    "ERROR:",
    "Usage:",
    "usage: ",
    "Invalid ",
    "Parameter `",
    "Unrecognized command",
    "File already exists at:",
    "The path ",
    "The parent directory ",
    "Ran into ",
    "bash: ",
    "/bin/bash: ",
    "Text not found",
    "Warning: File ",
)
_TIME_OUTS = (
    "EXECUTION TIMED OUT",
    "COMMAND TIMED OUT",
    "was cancelled because it took more than",
    "OUTPUT IN THE SPECIFIED TIME FRAME",
)
_STATUS = re.compile(r"///PROCESS-DONE:(\d{1,3}):PROCESS-DONE///\s*\Z")
_OPENED = re.compile(r"\[File: (.{1,500}?) \(\d+ lines total\)\]")
_PROMPT = re.compile(
    r"\n?\(Open file: (?P<file>[^\n]{0,1000}?)\)\s*\n\(Current directory: (?P<cwd>[^\n]{0,1000}?)\)\s*\nbash-\$\s*\Z"
)
_LONGEST_WORDS = 200_000  # characters of an action that is taken apart


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a trajectory."""
    start = head.lstrip()[:1]
    if start != b"{":
        return False
    if b'"trajectory"' in head and b'"action"' in head and b'"observation"' in head:
        return True
    return b'"history"' in head and b'"role"' in head and (b'"message_type"' in head or b'"agent"' in head)


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a run."""
    return _Reader(source).items()


class _Reader:
    def __init__(self, source: Source):
        self._document = Document(source)
        self._name = os.path.basename(source.path)
        info = self._document.value("info")
        self._info: dict[str, Any] = info if isinstance(info, dict) else {}
        stats = self._info.get("model_stats")
        self._stats: dict[str, Any] = stats if isinstance(stats, dict) else {}
        calls = _number(self._stats.get("api_calls"))
        self._calls = int(calls) if calls >= 1 else 0
        self._given = 0
        self._cwd = ""
        self._file = ""

    def items(self) -> Iterator[Item]:
        begun = False
        for step in self._document.each("trajectory"):
            if not begun:
                begun = True
                yield from self._begin(step)
            yield from self._step(step)
        if not begun:
            yield from self._from_history()
        yield from self._rest()
        how = self._info.get("exit_status")
        if isinstance(how, str) and how:
            yield Ended(how), ""
        for problem in self._document.problems:
            yield problem, ""

    def _begin(self, step: Any) -> Iterator[Item]:
        name = self._name
        for end in (".gz", ".zst", ".traj"):
            name = name.removesuffix(end)
        state = _state(step.get("state")) if isinstance(step, dict) else {}
        self._cwd = _text(state.get("working_dir")) or "/"
        yield Began(name, self._cwd, NAME), ""
        for message in self._document.each("history"):
            if isinstance(message, dict) and message.get("role") == "user" and not message.get("is_demo"):
                yield ev.Message(_content(message)), ""
                break

    def _step(self, step: Any) -> Iterator[Item]:
        if not isinstance(step, dict):
            yield Skipped(type(step).__name__), ""
            return
        yield from self._use()
        state = _state(step.get("state"))
        timed = "execution_time" in step  # since version 1, whose state is that after the action
        if not timed:
            self._know(state)
        action, observation = step.get("action"), step.get("observation")
        if not isinstance(action, str) or not action.strip() or action.split()[0] in _ENDS:
            yield Skipped("step without action"), ""
        else:
            yield from self._act(action, observation if isinstance(observation, str) else "")
        if timed:
            self._know(state)

    def _know(self, state: dict[str, Any]) -> None:
        self._cwd = _text(state.get("working_dir")) or self._cwd
        name = _text(state.get("open_file"))
        if name and name != "n/a":
            self._file = absolute(name, self._cwd or "/")

    def _from_history(self) -> Iterator[Item]:
        """Read a demonstration: each action, and what the model was shown next."""
        begun, action = False, ""
        for message in self._document.each("history"):
            if not isinstance(message, dict):
                yield Skipped(type(message).__name__), ""
                continue
            role, text = message.get("role"), _content(message)
            prompt = _PROMPT.search(text[-2200:]) if role in ("user", "tool") else None
            if not begun:
                if role != "user" or message.get("is_demo"):
                    yield Skipped(str(role)[:40]), ""
                    continue
                begun = True
                yield from self._begin({"state": {"working_dir": prompt["cwd"] if prompt else ""}})
                continue
            if role == "assistant":
                action = _text(message.get("action"))
            elif action.strip() and role in ("user", "tool"):
                tail = len(text) - len(prompt[0]) if prompt else len(text)
                yield from self._act(action, text[:tail])
                action = ""
            if prompt:
                self._know({"working_dir": prompt["cwd"], "open_file": prompt["file"]})
        if action.strip() and action.split()[0] == "submit":
            yield from self._act(action, "")
        if not begun and not self._document.problems:
            yield Broken(1, "no trajectory in it"), ""

    # -- what it cost ------------------------------------------------------------------

    def _use(self) -> Iterator[Item]:
        """Give a step its share of what the whole run used: nothing else is told."""
        if self._given < self._calls:
            self._given += 1
            yield from self._used(self._given - 1, self._given)

    def _rest(self) -> Iterator[Item]:
        if self._given < self._calls:
            yield from self._used(self._given, self._calls)

    def _used(self, first: int, last: int) -> Iterator[Item]:
        sent, received = (int(_number(self._stats.get(f"tokens_{each}"))) for each in ("sent", "received"))
        cost = _number(self._stats.get("instance_cost")) * (last - first) / self._calls
        shares = [total * last // self._calls - total * first // self._calls for total in (sent, received)]
        usage = Usage(shares[0], shares[1])
        if cost or usage.input or usage.output:
            yield Used("", usage, dollars=cost), ""

    # -- actions -----------------------------------------------------------------------

    def _act(self, action: str, observation: str) -> Iterator[Item]:
        text = action.strip()
        name = text.split(None, 1)[0]
        if name in _EDITS and not (name == "str_replace_editor" and _words(text)[1:2] == ["view"]):
            yield self._edit(name, text, observation), ""
        elif name in _READS or name == "str_replace_editor":
            yield self._read(name, text, observation), ""
        else:
            yield self._shell(text, observation), ""
        yield ev.RoundEnd(), ""

    def _read(self, name: str, text: str, observation: str) -> ev.ToolResult:
        opened = _OPENED.search(observation[:2000])
        if opened and name != "str_replace_editor":
            self._file = absolute(opened[1], self._cwd or "/")
        return ev.ToolResult(ev.ToolCall(name, text, action=ev.READ, label=text, cwd=self._cwd or "/"), observation)

    def _edit(self, name: str, text: str, observation: str) -> ev.ToolResult:
        path, old, new = _edited(name, text)
        if not path and name != "create":
            opened = _OPENED.search(observation[:2000])
            path = self._file or (opened[1] if opened else "")
        cwd = self._cwd or "/"
        label = f"{name} {path.rpartition('/')[2]}" if path else name
        edits = [ev.Edit(absolute(path, cwd), old, new)] if path else []
        call = ev.ToolCall(name, f"{path}\0{text}", action=ev.EDIT, label=label, edits=edits, cwd=cwd)
        refused = observation.lstrip().startswith(_REFUSALS)
        if not refused and name == "create":
            self._file = absolute(path, cwd)
        return ev.ToolResult(call, observation, failed=refused, refused=ev.BY_TOOL if refused else "")

    def _shell(self, text: str, observation: str) -> ev.ToolResult:
        cwd = self._cwd or "/"
        call = ev.ToolCall("bash", text, action=ev.SHELL, label=text, command=text, cwd=cwd)
        done = _STATUS.search(observation[-100:])
        status = int(done[1]) if done else None
        if status is None and any(each in observation[-2000:] for each in _TIME_OUTS):
            status = TIMED_OUT
        moved = read_line(text).cwd
        if moved:
            self._cwd = absolute(moved, cwd)
        bad = status != 0 if status is not None else failed(text, observation)
        return ev.ToolResult(call, observation, failed=bad, exit_code=status, untold=status is None and not bad)


def _edited(name: str, text: str) -> tuple[str, str | None, str]:
    """Return path, old text and new text of an edit, as far as its command says them."""
    first, _, body = text.partition("\n")
    if name == "edit" and (text.endswith("end_of_edit") or first.strip() == "edit"):
        return "", None, body.removesuffix("end_of_edit").removesuffix("\n")
    words = _words(text)
    if name == "str_replace_editor":
        given = _options(words[3:])
        path = words[2] if len(words) > 2 and not words[2].startswith("--") else given.get("path", "")
        new = given.get("new_str", given.get("file_text", ""))
        return path, given.get("old_str"), new
    if name == "create":
        return (words[1] if len(words) > 1 else ""), None, ""
    if name == "edit" and len(words) > 2:
        return "", words[1], words[2]
    return "", None, words[1] if len(words) > 1 else ""


def _options(words: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(words):
        if words[at].startswith("--"):
            name, sign, value = words[at][2:].partition("=")
            if not sign and at + 1 < len(words):
                at += 1
                value = words[at]
            found.setdefault(name, value)
        at += 1
    return found


def _words(text: str) -> list[str]:
    """Return the words of a command line; what is quoted wrongly is split at blanks."""
    try:
        return shlex.split(text[:_LONGEST_WORDS])
    except ValueError:
        return text[:_LONGEST_WORDS].split()


def _state(value: Any) -> dict[str, Any]:
    """Return a step's state: an object, or one that was written as text."""
    if isinstance(value, str) and len(value) <= _LONGEST_WORDS:
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            try:
                value = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return {}
    return value if isinstance(value, dict) else {}


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [each.get("text") for each in parts if isinstance(each, dict)]
    return "\n".join(each for each in texts if isinstance(each, str))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if known else 0.0
