"""mini-swe-agent's trajectories (``.traj.json``), versions 1 and 2.

One JSON document: what is said in ``info`` of the run, and the messages of the model with
the commands' outputs between them. A message's commands are in a fenced block of its text
(version 1), in its tool calls, or in ``extra`` (version 2). Each command starts in the same
folder, and all that it does it does through the shell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from unspin import events as ev
from unspin.cost.prices import Usage
from unspin.scan.documents import Document
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.source import Source
from unspin.scan.untold import TIMED_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "mini-swe-agent"

_FENCES = ("```mswea_bash_command", "```bash")
_CODE = re.compile(
    r"\s*(?:<exception>(?P<why>.{0,4000}?)</exception>\s*)?<returncode>(?P<code>-?\d{1,6})</returncode>\s*", re.S
)
_TIME_OUT = "The last command <command>"
_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_FORMAT_ERROR = ("Please always provide EXACTLY ONE action", "Format error:", "Tool call error:")
_REFUSED = "Command not executed."  # ... The user rejected your command with the following message
_SAID = ("The user added a new task:", "Interrupted by user", "Temporarily interrupted by user")
_MOST_CALLS = 200  # commands of one response


# A patch so large that nothing else of the file shows in its head.
_SUBMITTED = re.compile(rb'\s*\{\s*"info":\s*\{\s*"exit_status":\s*"[^"]{0,80}",\s*"submission":\s*"')


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a trajectory."""
    if head.lstrip()[:1] != b"{":
        return False
    return (
        b'"mini_version"' in head
        or b'"mini-swe-agent-1' in head
        or (b"<returncode>" in head and b'"messages"' in head)
        or (_SUBMITTED.match(head) is not None and os.path.basename(path).partition(".traj.json")[1] != "")
    )


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a run."""
    return _Reader(source).items()


class _Reader:
    def __init__(self, source: Source):
        self._document = Document(source)
        self._name = os.path.basename(source.path)
        info = self._document.value("info")
        self._info: dict[str, Any] = info if isinstance(info, dict) else {}
        config = _member(self._info, "config")
        self._cwd = _text(_member(config, "environment").get("cwd")) or "/"
        self._model = _text(_member(config, "model").get("model_name"))
        stats = _member(self._info, "model_stats")
        self._left = _number(stats.get("instance_cost"))  # of the run's cost, not yet given to a message
        calls = _number(stats.get("api_calls"))
        self._share = self._left / calls if calls >= 1 else 0.0
        self._ended = _text(self._info.get("exit_status"))
        self._pending: list[ev.ToolCall] = []
        self._done: list[ev.ToolResult] = []
        self._when = ""

    def items(self) -> Iterator[Item]:
        session = _text(self._info.get("instance_id")) or self._name
        for end in (".gz", ".zst", ".json", ".traj"):
            session = session.removesuffix(end)
        yield Began(session, self._cwd, NAME, self._model), ""
        begun, seen = False, False
        for message in self._document.each("messages"):
            seen = True
            if not isinstance(message, dict):
                yield Skipped(type(message).__name__), self._when
                continue
            role = message.get("role")
            extra = _member(message, "extra")
            self._when = _time(extra.get("timestamp")) or self._when
            if role == "system":
                yield Skipped("system"), self._when
            elif role == "assistant" or message.get("object") == "response":
                yield from self._close()
                begun = True
                yield from self._response(message, extra)
            elif role == "user" and not begun:
                begun = True
                yield ev.Message(_content(message)), self._when
            elif role == "exit":
                yield from self._exit(message, extra)
            else:
                yield from self._observed(message, extra)
        yield from self._close()
        if self._left > 0:
            yield Used(self._model, Usage(), dollars=self._left), self._when
        if self._ended:
            yield Ended(self._ended), self._when
        if not seen and not self._document.problems:
            yield Broken(1, "no messages in it"), ""
        for problem in self._document.problems:
            yield problem, self._when

    def _exit(self, message: dict[str, Any], extra: dict[str, Any]) -> Iterator[Item]:
        self._ended = self._ended or _text(extra.get("exit_status")) or _content(message)[:80]
        if self._pending and any(each in self._pending[0].command for each in _SUBMITS):
            self._result(self._pending.pop(0), _content(message), 0)  # what it printed is the submission
        else:
            yield Skipped("exit"), self._when

    # -- the model ---------------------------------------------------------------------

    def _response(self, message: dict[str, Any], extra: dict[str, Any]) -> Iterator[Item]:
        yield from self._usage(message, extra)
        commands = _commands(message, extra)
        self._pending = [
            ev.ToolCall(
                "bash", command, action=ev.SHELL, label=command, command=command, cwd=self._cwd, call_id=call_id
            )
            for command, call_id in commands[:_MOST_CALLS]
        ]

    def _usage(self, message: dict[str, Any], extra: dict[str, Any]) -> Iterator[Item]:
        response = _member(extra, "response") or message
        usage = _member(response, "usage")
        cost = extra.get("cost")
        dollars = _number(cost) if isinstance(cost, (int, float)) else self._share
        if dollars or usage:
            self._left = max(self._left - dollars, 0.0)
            if self._left < 1e-9:
                self._left = 0.0
            model = _text(response.get("model")) or self._model
            known = dollars if dollars or not self._model else None
            yield Used(model, _usage_of(usage), dollars=known), self._when

    # -- results -----------------------------------------------------------------------

    def _observed(self, message: dict[str, Any], extra: dict[str, Any]) -> Iterator[Item]:
        text = _content(message)
        found = _CODE.match(text)
        code = found["code"] if found else extra.get("returncode")
        if found is None and code is None and not text.startswith(_TIME_OUT):
            if text.startswith(_REFUSED) and self._pending:
                self._result(self._pending.pop(0), text, 1, refused=ev.BY_PERSON)
                return
            if text.startswith(_SAID):
                yield from self._close()
                yield ev.Message(text), self._when
                return
            submits = any(mark in each.command for mark in _SUBMITS for each in self._pending[:1])
            if submits and "submit" in self._ended.lower() and not text.startswith(_FORMAT_ERROR):
                self._result(self._pending.pop(0), text, 0)  # what it printed is the submission
                return
            self._pending = []
            yield Skipped("format error" if text.startswith(_FORMAT_ERROR) else "machine message"), self._when
            return
        call = self._take(message)
        if call is None:
            yield Skipped("result of no call"), self._when
            return
        why = (found["why"] or "") if found else ""
        if "was not executed" in (why or _text(extra.get("exception_info")))[:200]:
            self._result(call, text, 1, refused=ev.BY_SIBLING)
            return
        late = text.startswith(_TIME_OUT) or "timed out" in (why or _text(extra.get("exception_info"))).lower()
        shown = text[found.end() :] if found else text[max(text.find("<output>"), 0) :]
        self._result(call, _output(shown), TIMED_OUT if late else _code(code))

    def _take(self, message: dict[str, Any]) -> ev.ToolCall | None:
        """Return the call that a result belongs to: by its id, else the next one."""
        wanted = message.get("tool_call_id") or message.get("call_id")
        for at, call in enumerate(self._pending):
            if not wanted or call.call_id == wanted:
                return self._pending.pop(at)
        return self._pending.pop(0) if self._pending else None

    def _result(self, call: ev.ToolCall, output: str, code: int, *, refused: str = "") -> None:
        self._done.append(
            ev.ToolResult(
                call,
                output,
                failed=code != 0,
                exit_code=None if refused else code,
                refused=refused,
                comment=refused == ev.BY_PERSON,
                position=len(self._done),
            )
        )

    def _close(self) -> Iterator[Item]:
        if self._done:
            for result in self._done:
                yield result, self._when
            yield ev.RoundEnd(), self._when
        self._done, self._pending = [], []


def _commands(message: dict[str, Any], extra: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the commands of a response with their ids."""
    actions = extra.get("actions")
    if isinstance(actions, list):
        return [
            (each["command"], str(each.get("tool_call_id") or ""))
            for each in actions
            if isinstance(each, dict) and isinstance(each.get("command"), str)
        ]
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        return _called(calls)
    output = message.get("output")
    if isinstance(output, list):
        return _called([each for each in output if isinstance(each, dict) and each.get("type") == "function_call"])
    return [(command, "") for command in fenced(_content(message), _FENCES)]


def _called(calls: list[Any]) -> list[tuple[str, str]]:
    found = []
    for each in calls:
        if not isinstance(each, dict):
            continue
        given: Any = _member(each, "function").get("arguments", each.get("arguments"))
        if isinstance(given, str):
            try:
                given = msgspec.json.decode(given)
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                continue
        if isinstance(given, dict) and isinstance(given.get("command"), str):
            found.append((given["command"], str(each.get("id") or each.get("call_id") or "")))
    return found


def fenced(text: str, openings: tuple[str, ...]) -> list[str]:
    """Return what stands in a text's fenced blocks that open with one of ``openings``, in order."""
    found: list[str] = []
    lines: list[str] | None = None
    for line in text.split("\n"):
        if lines is None:
            if line.strip() in openings or line.rstrip().endswith(openings):
                lines = []
        elif line.startswith("```"):
            found.append("\n".join(lines))
            lines = None
            if len(found) >= _MOST_CALLS:
                break
        else:
            lines.append(line)
    return found


def _output(text: str) -> str:
    """Return what a command printed, without the frame that it is shown in.

    Of an output that was too long the beginning and the end are shown; the lines cut through are left out.
    """
    text = text.strip("\n")
    if text.startswith("<warning>"):
        text = text.partition("</warning>")[2].lstrip("\n")
    if text.startswith("<output_head>"):
        head, _, rest = text.removeprefix("<output_head>").partition("</output_head>")
        tail = rest.partition("<output_tail>")[2].removesuffix("</output_tail>")
        head, tail = head.strip("\n").rpartition("\n")[0], tail.strip("\n").partition("\n")[2]
        return f"{head}\n{tail}"
    if text.startswith("<output>"):
        return text.removeprefix("<output>").removesuffix("</output>").strip("\n")
    return text


def _usage_of(usage: dict[str, Any]) -> Usage:
    given = _count(usage.get("prompt_tokens", usage.get("input_tokens")))
    details = _member(usage, "prompt_tokens_details") or _member(usage, "input_tokens_details")
    read = _count(details.get("cached_tokens")) or _count(usage.get("cache_read_input_tokens"))
    write = _count(usage.get("cache_creation_input_tokens"))
    output = _count(usage.get("completion_tokens", usage.get("output_tokens")))
    return Usage(max(given - read - write, 0), output, read, write)


def _content(message: dict[str, Any]) -> str:
    """Return a message's text: it comes as text, or in parts."""
    content = message.get("content", message.get("output"))
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [each.get("text") for each in parts if isinstance(each, dict)]
    return "\n".join(each for each in texts if isinstance(each, str))


def _member(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _code(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 1


def _number(value: Any) -> float:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if known else 0.0


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0


def _time(value: Any) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < 1 << 33:
        return ""
    return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
