"""Copilot CLI's events: one line an event, ``session-state/<session>/events.jsonl``.

A round is what one ``assistant.message`` asked for. Subagents write into the same file and
are told apart by ``agentId``, in older files by the call that started them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.agents.claude_code import call_of, canonical
from unspin.cost.prices import Usage
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.patches import edits_of
from unspin.scan.readers.plain import misfit
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "copilot"

_MAX_AGENTS = 200  # subagents with a round under way
_MAX_CALLS = 1000  # calls of one response that wait for their results
_MAX_RUNNING = 64  # commands that still run
_MAX_OUTPUT = 64_000  # characters of such a command's output that are kept

_NOTHING = msgspec.Raw(b"")  # where a line has no such field


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    timestamp: str | None = None
    id: str | None = None
    agent_id: str | None = None
    data: msgspec.Raw = _NOTHING


class _Request(msgspec.Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    name: Any = None
    arguments: Any = None


class _Message(msgspec.Struct, gc=False, rename="camel"):
    message_id: str | None = None
    model: str | None = None
    tool_requests: list[_Request] | None = None
    output_tokens: Any = None
    parent_tool_call_id: str | None = None


class _Start(msgspec.Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    tool_name: Any = None
    arguments: Any = None
    parent_tool_call_id: str | None = None


class _Content(msgspec.Struct, gc=False):
    content: Any = None


class _Error(msgspec.Struct, gc=False):
    message: Any = None
    code: Any = None


class _Complete(msgspec.Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    success: Any = None
    result: _Content | None = None
    error: _Error | None = None
    shell_execution: Any = None
    parent_tool_call_id: str | None = None


_decode = msgspec.json.Decoder(_Line).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_decode_start = msgspec.json.Decoder(_Start).decode
_decode_complete = msgspec.json.Decoder(_Complete).decode
_plain = msgspec.json.Decoder().decode

_ACTIONS: dict[str, str] = {
    **dict.fromkeys(("edit", "create", "apply_patch", "str_replace_editor", "insert"), ev.EDIT),
    **dict.fromkeys(("bash", "powershell", "local_shell"), ev.SHELL),
    **dict.fromkeys(
        ("view", "grep", "glob", "rg", "web_fetch", "web_search", "fetch_copilot_cli_documentation", "show_file",
         "lsp", "skill", "tool_search", "tool_search_tool_regex"),
        ev.READ,
    ),
    **dict.fromkeys(
        ("read_bash", "stop_bash", "list_bash", "read_powershell", "stop_powershell", "list_powershell", "read_agent",
         "list_agents", "wait"),
        ev.WAIT,
    ),
    **dict.fromkeys(("report_intent", "update_todo", "sql", "store_memory", "task_complete"), ev.NOTE),
    **dict.fromkeys(("ask_user", "exit_plan_mode"), ev.ASK),
    **dict.fromkeys(("task", "write_agent"), ev.AGENT),
}  # fmt: skip
_GLOSS = frozenset(("description", "initial_wait", "mode", "timeout", "shellId", "sessionId", "delay"))

_EXITED = re.compile(r"<(?:shellId: [^\s<>]{1,80} )?(?:completed|exited) with exit code (-?\d{1,9})>\s*$")
_RUNS = re.compile(
    r"<command (?:with|started)[^<>]{0,200}?(?:shellId|id|sessionId): ?([^\s<>]{1,80}) [^<>]{0,400}>\s*$"
)
_STILL = ("still running", "started in")
_MARK = 800  # characters at the end of an output in which the client says how it ended


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a list of events."""
    head = head.replace(b'": "', b'":"')  # some programs put a blank there when they write it anew
    for line in head.split(b"\n", 4)[:4]:
        if b'"parentId"' in line and (
            b'"type":"session.' in line or b'"type":"user.message"' in line or b'"type":"assistant.' in line
        ):
            return True
    return b'"type":"session.start"' in head[:4000] and b'"producer":"copilot' in head[:4000]


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a session."""
    return _Reader(source).items()


class _Pending:
    __slots__ = ("call", "position", "refused", "shell", "spoke")

    def __init__(self, call: ev.ToolCall, position: int, shell: str = ""):
        self.call = call
        self.position = position
        self.shell = shell  # the shell that it waits for
        self.refused = ""
        self.spoke = False


class _Round:
    """The calls of one response, and what came back so far."""

    __slots__ = ("calls", "done", "message", "next", "when")

    def __init__(self, message: str = ""):
        self.message = message
        self.calls: dict[str, _Pending] = {}
        self.done: list[ev.ToolResult] = []
        self.next = 0
        self.when = ""


class _Reader:
    def __init__(self, source: Source):
        self._source = source
        self._when = ""
        self._session = ""
        self._cwd = "/"
        self._model = ""
        self._rounds: dict[str, _Round] = {}
        self._running: dict[str, tuple[ev.ToolCall, str]] = {}
        self._used: dict[str, list[int]] = {}  # by model: what was counted
        self._ahead: dict[str, int] = {}  # by model: tokens of messages that no record has counted yet

    def items(self) -> Iterator[Item]:
        try:
            for number, data in self._source.lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                    continue
                if not data or data.isspace():
                    continue
                try:
                    line = _decode(data)
                except (msgspec.DecodeError, RecursionError) as error:
                    yield misfit(number, data, error), self._when
                    continue
                try:
                    yield from self._of_line(line)
                except (msgspec.DecodeError, RecursionError, AttributeError, TypeError, KeyError, ValueError) as error:
                    yield Broken(number, f"not as a line of this kind should be: {error}"[:300]), self._when
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        yield from self._close_all()

    def _of_line(self, line: _Line) -> Iterator[Item]:
        self._when = line.timestamp or self._when
        kind = line.type
        take = _TAKES.get(kind)
        if take is None or line.data is _NOTHING:
            yield Skipped(kind[:40] or "?"), self._when
            return
        yield from take(self, line)

    # -- the session -------------------------------------------------------------------

    def _start(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.data)
        context = data.get("context")
        context = context if isinstance(context, dict) else {}
        self._cwd = _string(context, "cwd") or self._cwd
        self._model = _string(data, "selectedModel") or self._model
        session = _string(data, "sessionId")
        if session and not self._session:
            self._session = session
            yield Began(session, _string(context, "cwd"), NAME, self._model), self._when
            return
        yield Skipped(line.type[:40]), self._when

    def _changed(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.data)
        self._model = _string(data, "newModel") or self._model
        context = data.get("context", data)
        self._cwd = _string(context, "cwd") or self._cwd if isinstance(context, dict) else self._cwd
        yield Skipped(line.type[:40]), self._when

    def _compaction(self, line: _Line) -> Iterator[Item]:
        if line.agent_id:
            yield Skipped("compaction of a subagent"), self._when
            return
        yield from self._close("")
        yield ev.Compaction(done=line.type == "session.compaction_complete"), self._when

    def _shutdown(self, line: _Line) -> Iterator[Item]:
        """Take the totals of the session: what no message and no record has told is added."""
        yield from self._close_all()
        metrics = _plain(line.data).get("modelMetrics")
        for model, told in metrics.items() if isinstance(metrics, dict) else ():
            usage = told.get("usage") if isinstance(told, dict) else None
            if not isinstance(usage, dict):
                continue
            known = self._used.pop(model, [0, 0, 0, 0])
            left = [max(now - before, 0) for now, before in zip(_tokens(_usage(usage)), known, strict=True)]
            more = Usage(left[0], left[1], left[2], left[3])
            if any(left):
                yield Used(model, more), self._when
        self._ahead.clear()

    def _record(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.data)
        told = data.get("usage", data)
        if not isinstance(told, dict):
            yield Skipped(line.type[:40]), self._when
            return
        model = _string(data, "model") or _string(told, "model") or self._model
        usage = _usage(told)
        known = min(self._ahead.pop(model, 0), usage.output)
        agent = line.agent_id or ""
        yield self._count(model, usage._replace(output=usage.output - known), line.id or "", agent), self._when
        tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
        if not agent and tokens:
            yield ev.ContextSize(tokens, _whole(told.get("maxPromptTokens")) or None), self._when

    def _count(self, model: str, usage: Usage, key: str, agent: str) -> Used:
        sums = self._used.setdefault(model, [0, 0, 0, 0])
        for at, tokens in enumerate(_tokens(usage)):
            sums[at] += tokens
        return Used(model, usage, key and f"{self._session}:{key}", agent=agent)

    # -- the person --------------------------------------------------------------------

    def _user(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.data)
        text, origin = _string(data, "content"), data.get("source")
        start = text.lstrip()
        if line.agent_id or data.get("parentToolCallId") or not start:
            yield Skipped("user.message/of a subagent"), self._when
            return
        yield from self._close("")
        machine = (isinstance(origin, str) and origin not in ("", "user")) or start.startswith("<system_")
        yield ev.Message(text, by_person=not machine), self._when

    def _notified(self, line: _Line) -> Iterator[Item]:
        if line.agent_id:
            yield Skipped("system.notification"), self._when
            return
        yield from self._close("")
        yield ev.Message(_string(_plain(line.data), "content"), by_person=False), self._when

    def _aborted(self, line: _Line) -> Iterator[Item]:
        yield from self._close_all()
        yield Skipped("abort"), self._when

    # -- calls -------------------------------------------------------------------------

    def _message(self, line: _Line) -> Iterator[Item]:
        message = _decode_message(line.data)
        agent = line.agent_id or message.parent_tool_call_id or ""
        current = self._rounds.get(agent)
        if current is None or not message.message_id or current.message != message.message_id:
            yield from self._close(agent)
            current = None
        self._model = message.model or self._model
        output = _whole(message.output_tokens)
        if output:
            model = message.model or self._model
            self._ahead[model] = self._ahead.get(model, 0) + output
            yield self._count(model, Usage(output=output), message.message_id or "", agent), self._when
        for request in message.tool_requests or ():
            if current is None:
                current = self._open(agent, message.message_id or "")
            self._ask(current, request.tool_call_id, request.name, request.arguments, agent)

    def _started(self, line: _Line) -> Iterator[Item]:
        """Take a call that runs now. Most were told with the message that asked for them."""
        started = _decode_start(line.data)
        agent = line.agent_id or started.parent_tool_call_id or ""
        current = self._rounds.get(agent)
        if current is None:
            current = self._open(agent, "")
        if started.tool_call_id not in current.calls:
            self._ask(current, started.tool_call_id, started.tool_name, started.arguments, agent)
        return
        yield

    def _open(self, agent: str, message: str) -> _Round:
        if len(self._rounds) >= _MAX_AGENTS:
            del self._rounds[next(iter(self._rounds))]
        current = self._rounds[agent] = _Round(message)
        return current

    def _ask(self, current: _Round, call_id: str, tool: Any, given: Any, agent: str) -> None:
        if isinstance(tool, str) and tool and len(current.calls) < _MAX_CALLS:
            current.calls[call_id] = self._translate(tool, given, call_id, agent, current.next)
            current.next += 1

    def _translate(self, tool: str, given: Any, call_id: str, agent: str, position: int) -> _Pending:
        if isinstance(given, str):
            try:
                read = _plain(given) if given[:1] == "{" else None
            except (msgspec.DecodeError, RecursionError):
                read = None
            given = read if isinstance(read, dict) else {"input": given}
        given = given if isinstance(given, dict) else {}
        action = _ACTIONS.get(tool, "")
        if tool == "str_replace_editor" and given.get("command") == "view":
            action = ev.READ
        if not action:
            made = call_of(tool, given, self._cwd, agent, call_id=call_id)
            assert made is not None
            return _Pending(made, position)
        command = _string(given, "command") if action == ev.SHELL else ""
        path = _string(given, "path")
        about = path.removeprefix(f"{self._cwd}/") or next(
            (given[key] for key in ("pattern", "query", "url", "question") if isinstance(given.get(key), str)), ""
        )
        call = ev.ToolCall(
            tool,
            canonical({key: value for key, value in given.items() if key not in _GLOSS or action == ev.WAIT}),
            action=action,
            label=command or f"{tool} {about}".strip(),
            command=command,
            edits=_edits(tool, given) if action == ev.EDIT else (),
            cwd=self._cwd,
            agent=agent,
            call_id=call_id,
        )
        if action == ev.EDIT and not path and call.edits:
            call.label = f"edit {call.edits[0].path.removeprefix(f'{self._cwd}/')}"
        shell = given.get("shellId", given.get("sessionId")) if action == ev.WAIT else None
        return _Pending(call, position, str(shell) if isinstance(shell, (str, int)) else "")

    # -- results -----------------------------------------------------------------------

    def _completed(self, line: _Line) -> Iterator[Item]:
        told = _decode_complete(line.data)
        agent = line.agent_id or told.parent_tool_call_id or ""
        current = self._rounds.get(agent)
        pending = current.calls.pop(told.tool_call_id, None) if current else None
        if current is None or pending is None:
            yield Skipped("result without a call"), self._when
            return
        current.done.append(self._result(pending, told))
        current.when = self._when

    def _permitted(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.data)
        answer = data.get("result")
        kind = _string(answer, "kind") if isinstance(answer, dict) else ""
        pending = self._rounds[line.agent_id or ""].calls.get(data.get("toolCallId")) if self._rounds else None
        if pending is not None and kind.startswith("denied"):
            pending.refused = ev.BY_PERSON if "by-user" in kind else ev.BY_HOOK
            pending.spoke = bool(_string(answer, "feedback"))
        yield Skipped("permission.completed"), self._when

    def _result(self, pending: _Pending, told: _Complete) -> ev.ToolResult:
        call = pending.call
        text = told.result.content if told.result is not None else ""
        if told.error is not None and not text:
            text = told.error.message
        text = text if isinstance(text, str) else canonical(text) if text else ""
        result = ev.ToolResult(call, text, position=pending.position)
        well = told.success is not False and told.error is None
        if not well:
            result.refused = pending.refused or _refusal(text)
            result.comment = result.refused == ev.BY_PERSON and (pending.spoke or "feedback:" in text[:400].lower())
            result.failed = not result.refused
            if call.action == ev.EDIT and not result.refused:
                result.refused = ev.BY_TOOL
            return result
        if call.action == ev.SHELL or pending.shell:
            return self._shell(result, pending.shell, told.shell_execution)
        return result

    def _shell(self, result: ev.ToolResult, shell: str, told: Any) -> ev.ToolResult:
        """Fill in how a command ended: a call that waits for one carries its outcome where it ends there."""
        text, tail = result.output, result.output[-_MARK:]
        mark = _EXITED.search(tail)
        code = told.get("exitCode") if isinstance(told, dict) else None
        if not isinstance(code, int) or isinstance(code, bool):
            code = int(mark.group(1)) if mark else None
        if mark:
            text = text[: len(text) - len(tail) + mark.start()]
        runs = None if mark else _RUNS.search(tail)
        if runs is not None and any(words in runs.group(0) for words in _STILL):
            text = text[: len(text) - len(tail) + runs.start()]
            if result.call.action == ev.SHELL:
                while len(self._running) >= _MAX_RUNNING:
                    del self._running[next(iter(self._running))]
                self._running[runs.group(1)] = result.call, text[-_MAX_OUTPUT:]
                result.background = True
            elif shell in self._running:
                call, before = self._running[shell]
                self._running[shell] = call, (before + text)[-_MAX_OUTPUT:]
            result.output, result.size = text, len(text)
            return result
        result.size = len(text)
        if shell:
            ended = self._running.pop(shell, None)
            if ended is None or code is None:
                return result
            result.call, text = ended[0], (ended[1] + text)[-_MAX_OUTPUT:]
        result.output = text
        if code is None:
            result.background = True  # it is not told how it ended
        else:
            result.exit_code, result.failed = code, code != 0
        return result

    def _turn_ended(self, line: _Line) -> Iterator[Item]:
        current = self._rounds.get(line.agent_id or "")
        if current is not None and not current.calls:
            yield from self._close(line.agent_id or "")

    def _close(self, agent: str) -> Iterator[Item]:
        """End a round: its results, in order, then its end."""
        current = self._rounds.pop(agent, None)
        if current is None or not current.done:
            return
        when = current.when or self._when
        current.done.sort(key=lambda each: each.position)
        for result in current.done:
            yield result, when
        yield ev.RoundEnd(agent), when

    def _close_all(self) -> Iterator[Item]:
        for agent in list(self._rounds):
            yield from self._close(agent)


_TAKES = {
    "session.start": _Reader._start,
    "session.resume": _Reader._start,
    "session.model_change": _Reader._changed,
    "session.context_changed": _Reader._changed,
    "session.compaction_start": _Reader._compaction,
    "session.compaction_complete": _Reader._compaction,
    "session.shutdown": _Reader._shutdown,
    "session.usage_record": _Reader._record,
    "assistant.usage": _Reader._record,
    "user.message": _Reader._user,
    "system.notification": _Reader._notified,
    "abort": _Reader._aborted,
    "assistant.message": _Reader._message,
    "assistant.turn_end": _Reader._turn_ended,
    "tool.execution_start": _Reader._started,
    "tool.execution_complete": _Reader._completed,
    "permission.completed": _Reader._permitted,
}


def _edits(tool: str, given: dict[str, Any]) -> list[ev.Edit]:
    path = _string(given, "path")
    if tool == "apply_patch" or not path:
        return edits_of(_string(given, "input") or _string(given, "patch"))
    if tool == "create" or given.get("command") == "create" or "file_text" in given:
        return [ev.Edit(path, None, _string(given, "file_text"))]
    if tool == "insert" or given.get("command") == "insert":
        return [ev.Edit(path, "", _string(given, "new_str") or _string(given, "insert_text"))]
    return [ev.Edit(path, _string(given, "old_str"), _string(given, "new_str"))]


def _refusal(text: str) -> str:
    head = text[:400].lower()
    if "user rejected" in head or "rejected by the user" in head or "rejected by user" in head:
        return ev.BY_PERSON
    if head.startswith(("denied by", "permission denied and could not request", "permission to run this tool was den")):
        return ev.BY_HOOK
    return ev.BY_HOOK if "pretooluse hook" in head else ""


def _usage(told: dict[str, Any]) -> Usage:
    """Return what was used; the tokens that were read from the cache are among those that went in."""
    read, wrote = _whole(told.get("cacheReadTokens")), _whole(told.get("cacheWriteTokens"))
    return Usage(
        max(_whole(told.get("inputTokens")) - read - wrote, 0), _whole(told.get("outputTokens")), read, wrote
    )  # fmt: skip


def _tokens(usage: Usage) -> tuple[int, int, int, int]:
    return usage.input, usage.output, usage.cache_read, usage.cache_write


def _string(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
