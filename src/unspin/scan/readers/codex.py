"""Codex rollouts: a line for each item of the conversation, and events beside them.

The items (``response_item``) say what the model asked for and what it was told; the events
(``event_msg``) what the person wrote, how a command really ended, and what was used. The oldest
rollouts hold the items alone, without an envelope.

A response is over when its tokens are counted (``token_count``): the calls between two
counts are one round. Where nothing is counted, calls that come before a result are one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec

from unspin import events as ev
from unspin.agents.claude_code import call_of, canonical
from unspin.cost.prices import Usage
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.patches import BEGIN, edits_of, hunks
from unspin.scan.readers.plain import misfit
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "codex"

_MAX_CALLS = 1000  # calls of one response that wait for their results
_MAX_RUNNING = 64  # commands that still run
_MAX_OUTPUT = 64_000  # characters of such a command's output that are kept

_NOTHING = msgspec.Raw(b"")  # where a line has no such field


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    timestamp: str | None = None
    payload: msgspec.Raw = _NOTHING


class _Item(msgspec.Struct, gc=False):
    """An item of the conversation."""

    type: str = ""
    role: str | None = None
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    id: Any = None
    arguments: msgspec.Raw = _NOTHING
    input: msgspec.Raw = _NOTHING
    output: msgspec.Raw = _NOTHING
    content: msgspec.Raw = _NOTHING
    action: msgspec.Raw = _NOTHING


class _Event(msgspec.Struct, gc=False):
    type: str = ""
    message: Any = None
    info: Any = None
    call_id: Any = None
    exit_code: Any = None
    status: Any = None
    success: Any = None
    changes: msgspec.Raw = _NOTHING
    result: msgspec.Raw = _NOTHING
    item: msgspec.Raw = _NOTHING


_decode = msgspec.json.Decoder(_Line).decode
_decode_item = msgspec.json.Decoder(_Item).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_plain = msgspec.json.Decoder().decode

_ENVELOPES = frozenset(
    ("session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record")
)  # fmt: skip
_BARE = frozenset(
    ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
     "custom_tool_call_output", "web_search_call")
)  # fmt: skip

_ACTIONS: dict[str, str] = {
    "apply_patch": ev.EDIT,
    **dict.fromkeys(("exec_command", "shell", "shell_command", "container.exec", "local_shell"), ev.SHELL),
    **dict.fromkeys(
        ("view_image", "read_file", "list_dir", "grep_files", "tool_search", "web_search", "web__run",
         "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"),
        ev.READ,
    ),
    **dict.fromkeys(("wait", "wait_agent", "sleep", "list_agents", "close_agent", "resume_agent"), ev.WAIT),
    **dict.fromkeys(("update_plan", "create_goal", "get_goal", "update_goal"), ev.NOTE),
    "request_user_input": ev.ASK,
    **dict.fromkeys(
        ("spawn_agent", "spawn_agents_on_csv", "send_input", "send_message", "followup_task"), ev.AGENT
    ),
}  # fmt: skip
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish", "ash"))

_EXITED = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.M)
_RUNS = re.compile(r"^Process running with session ID (\w{1,40})$", re.M)
_CELL = re.compile(r"Script running with cell ID ([\w-]{1,80})")
_TOOLS = re.compile(r"\btools\.([A-Za-z_]\w*)")
_CWD = re.compile(r"<cwd>([^<]{1,4096})</cwd>|Current working directory: ([^\n]{1,4096})")
_HEADERS = ("Chunk ID: ", "Wall time", "Exit code: ", "Command: ")
_FROM_IDE = "## My request for Codex:"
_WRAPPERS = frozenset(("skill", "permissions", "image", "INSTRUCTIONS"))


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a rollout."""
    for line in head.split(b"\n", 6)[:6]:
        if b'"payload"' in line and (b'"session_meta"' in line or b'"response_item"' in line or b'"event_msg"' in line):
            return True
    first = head[:4000]
    return b'"record_type":"state"' in first or (b'"instructions":' in first and b'"timestamp":' in first[:200])


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a session."""
    return _Reader(source).items()


class _Pending:
    """A call that waits for its result. ``inside`` are the results of what a script called."""

    __slots__ = ("call", "exit_code", "failed", "inside", "position", "process", "refused")

    def __init__(self, call: ev.ToolCall, position: int, process: str = ""):
        self.call = call
        self.position = position
        self.process = process  # the command or script that it waits for
        self.exit_code: int | None = None
        self.failed: bool | None = None  # where an event tells
        self.refused = ""
        self.inside: list[ev.ToolResult] = []


class _Round:
    """The calls of one response, and what came back so far. ``counted``: its tokens were counted."""

    __slots__ = ("calls", "counted", "done", "next", "when")

    def __init__(self) -> None:
        self.calls: dict[str, list[_Pending]] = {}  # ids can be redacted, and are then not one of a kind
        self.done: list[ev.ToolResult] = []
        self.next = 0
        self.counted = False
        self.when = ""


class _Reader:
    def __init__(self, source: Source):
        self._source = source
        self._when = ""
        self._session = ""
        self._agent = ""
        self._cwd = "/"
        self._model = ""
        self._window: int | None = None
        self._round: _Round | None = None
        self._context: ev.ContextSize | None = None
        self._counts = False  # tokens are counted in this file
        self._total = -1
        self._compacted = False
        self._held: list[str] = []  # the person's words, until an event says them again
        self._running: dict[str, tuple[ev.ToolCall, str]] = {}
        self._copied_until = ""

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
                    yield from self._of_line(line, data)
                except (msgspec.DecodeError, RecursionError, AttributeError, TypeError, KeyError, ValueError) as error:
                    yield Broken(number, f"not as a line of this kind should be: {error}"[:300]), self._when
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        yield from self._release()
        yield from self._close()

    def _of_line(self, line: _Line, data: bytes) -> Iterator[Item]:
        self._when = line.timestamp or self._when
        kind = line.type
        if line.payload is _NOTHING:
            if kind in _BARE:
                yield from self._item(_decode_item(data))
            elif not kind:
                yield from self._bare_meta(_plain(data))
            else:
                yield Skipped(kind[:40]), self._when
        elif kind not in _ENVELOPES:
            yield Skipped(kind[:40] or "?"), self._when
        elif kind == "session_meta":
            yield from self._meta(_plain(line.payload))
        elif kind == "turn_context":
            self._turn(_plain(line.payload))
        elif self._copied_until and self._is_copy():
            yield Skipped("history of another session"), self._when
        elif kind == "response_item":
            yield from self._item(_decode_item(line.payload))
        elif kind == "event_msg":
            yield from self._event(_decode_event(line.payload))
        elif kind == "compacted":
            yield from self._compact()
        else:
            record = _plain(line.payload)
            yield from self._count(record.get("usage"), record.get("thread_token_usage"), None)

    # -- who and where -----------------------------------------------------------------

    def _meta(self, meta: dict[str, Any]) -> Iterator[Item]:
        session = _string(meta, "id") or _string(meta, "session_id")
        if self._session:
            if session != self._session:  # a fork begins with what was said before it
                self._copied_until = _later(self._when)
            yield Skipped("session_meta"), self._when
            return
        self._session = session
        self._cwd = _string(meta, "cwd") or self._cwd
        self._agent = _subagent(meta)
        yield Began(session, _string(meta, "cwd"), NAME), self._when

    def _bare_meta(self, meta: Any) -> Iterator[Item]:
        if isinstance(meta, dict) and not self._session and _string(meta, "id"):
            self._session = _string(meta, "id")
            yield Began(self._session, _string(meta, "cwd"), NAME), self._when
            return
        kind = _string(meta, "record_type") if isinstance(meta, dict) else type(meta).__name__
        yield Skipped(kind[:40] or "?"), self._when

    def _is_copy(self) -> bool:
        if self._when > self._copied_until:
            self._copied_until = ""
        return bool(self._copied_until)

    def _turn(self, context: dict[str, Any]) -> None:
        self._cwd = _string(context, "cwd") or self._cwd
        self._model = _string(context, "model") or self._model

    # -- the model ---------------------------------------------------------------------

    def _item(self, item: _Item) -> Iterator[Item]:
        kind = item.type
        if kind == "function_call" or kind == "custom_tool_call":
            yield from self._call(item)
        elif kind.endswith("_output"):
            yield from self._output(item)
        elif kind == "reasoning" or (kind == "message" and item.role == "assistant"):
            yield from self._response()
        elif kind == "message":
            yield from self._written(item)
        elif kind in ("local_shell_call", "tool_search_call", "web_search_call"):
            yield from self._call(item)
        else:
            yield Skipped(f"response_item/{kind}"[:40]), self._when

    def _response(self) -> Iterator[Item]:
        """See something that the model wrote: what it did before is over, unless it is the same response."""
        if self._held:
            yield from self._release()
        self._compacted = False
        current = self._round
        if current is not None and (
            current.counted or (current.done and not self._counts) or current.next - len(current.done) > _MAX_CALLS
        ):
            yield from self._close()

    def _call(self, item: _Item) -> Iterator[Item]:
        yield from self._response()
        current = self._round = self._round or _Round()
        name = item.name or {"local_shell_call": "local_shell", "tool_search_call": "tool_search"}.get(
            item.type, "web_search" if item.type == "web_search_call" else "?"
        )
        call_id = item.call_id or (item.id if isinstance(item.id, str) else "")
        pending = self._translate(name, item, call_id, current.next)
        current.next += 1
        if item.type == "web_search_call":  # its result is the model's own affair
            current.done.append(ev.ToolResult(pending.call, position=pending.position))
        else:
            current.calls.setdefault(call_id, []).append(pending)

    def _translate(self, name: str, item: _Item, call_id: str, position: int) -> _Pending:
        if item.type == "custom_tool_call":
            given = _plain(item.input) if item.input is not _NOTHING else ""
            text = given if isinstance(given, str) else canonical(given)
            if name == "exec":
                return self._script(text, call_id, position)
            return _Pending(self._make(name, {"input": text}, call_id), position)
        raw = item.action if item.type in ("local_shell_call", "web_search_call") else item.arguments
        given = _plain(raw) if raw is not _NOTHING else {}
        if isinstance(given, str):
            try:
                given = _plain(given)
            except (msgspec.DecodeError, RecursionError):
                given = {"input": given}
        given = given if isinstance(given, dict) else {"input": given}
        process = ""
        if name == "write_stdin":
            process = f"session {given.get('session_id')}"
        elif name == "wait" and "cell_id" in given:
            process = f"cell {given['cell_id']}"
        tool = f"{item.namespace}__{name}" if item.namespace and item.namespace.startswith("mcp__") else name
        return _Pending(self._make(tool, given, call_id), position, process)

    def _make(self, tool: str, given: dict[str, Any], call_id: str) -> ev.ToolCall:
        """Return a call by the tool's own name and arguments."""
        action = _ACTIONS.get(tool, "")
        if tool == "write_stdin":
            typed = _string(given, "chars")
            action = ev.OTHER if typed.strip("\x03\x04\r\n \t") else ev.WAIT
            arguments = canonical({"session_id": given.get("session_id"), "chars": typed})
            return ev.ToolCall(
                tool, arguments, action=action, label=f"{tool} {typed.strip()}".strip(), cwd=self._cwd,
                agent=self._agent, call_id=call_id,
            )  # fmt: skip
        if action == ev.SHELL:
            return self._command(
                tool,
                _command_line(given.get("cmd", given.get("command"))),
                _string(given, "workdir") or _string(given, "working_directory"),
                call_id,
            )
        if action == ev.EDIT:
            return self._patch(tool, _string(given, "input") or _string(given, "patch"), call_id)
        if not action:
            made = call_of(tool, given, self._cwd, self._agent, call_id=call_id)
            return made or ev.ToolCall("?", cwd=self._cwd, agent=self._agent, call_id=call_id)
        about = next((given[key] for key in ("path", "file_path", "query", "task_name") if key in given), "")
        return ev.ToolCall(
            tool,
            canonical(given),
            action=action,
            label=f"{tool} {about}" if isinstance(about, str) and about else tool,
            cwd=self._cwd,
            agent=self._agent,
            call_id=call_id,
        )

    def _command(self, tool: str, command: str, workdir: str, call_id: str) -> ev.ToolCall:
        start = command.lstrip()
        if BEGIN in start and start.startswith(("apply_patch", "applypatch")):
            return self._patch(tool, start[start.index(BEGIN) :], call_id, workdir)
        cwd = self._cwd if not workdir else workdir if workdir[0] == "/" else f"{self._cwd}/{workdir}"
        return ev.ToolCall(
            tool, canonical([command, cwd]), action=ev.SHELL, label=command, command=command, cwd=cwd,
            agent=self._agent, call_id=call_id,
        )  # fmt: skip

    def _patch(self, tool: str, patch: str, call_id: str, workdir: str = "") -> ev.ToolCall:
        edits = edits_of(patch)
        paths = list(dict.fromkeys(each.path for each in edits))
        label = " ".join(path.removeprefix(f"{self._cwd}/") for path in paths[:3])
        return ev.ToolCall(
            tool, patch, action=ev.EDIT, label=f"edit {label}" if label else tool, edits=edits,
            cwd=workdir or self._cwd, agent=self._agent, call_id=call_id,
        )  # fmt: skip

    def _script(self, script: str, call_id: str, position: int) -> _Pending:
        """Return the call that a script makes, where it makes one and names it in so many words."""
        called = list(_TOOLS.finditer(script))
        found = _argument(script, called[0].end()) if len(called) == 1 else None
        if found is None:
            return _Pending(
                ev.ToolCall("exec", script, label="exec", cwd=self._cwd, agent=self._agent, call_id=call_id), position
            )
        tool = called[0].group(1)
        process = f"session {found.get('session_id')}" if tool == "write_stdin" else ""
        return _Pending(self._make(tool, found, call_id), position, process)

    # -- results -----------------------------------------------------------------------

    def _output(self, item: _Item) -> Iterator[Item]:
        pending = self._taken(item.call_id or "")
        if pending is None:
            yield Skipped("output without a call"), self._when
            return
        assert self._round is not None
        given = _plain(item.output) if item.output is not _NOTHING else ""
        if pending.inside:
            self._round.done += pending.inside
        else:
            self._round.done.append(self._result(pending, given))
        self._round.when = self._when

    def _taken(self, call_id: str) -> _Pending | None:
        waiting = self._round.calls.get(call_id) if self._round else None
        if not waiting or self._round is None:
            return None
        pending = waiting.pop(0)
        if not waiting:
            del self._round.calls[call_id]
        return pending

    def _result(self, pending: _Pending, given: Any) -> ev.ToolResult:
        told = _Told(given)
        call, position = pending.call, pending.position
        code = told.exit_code if told.exit_code is not None else pending.exit_code
        process = pending.process
        if process in self._running:
            before, so_far = self._running[process]
            if not told.runs and (code is not None or process.startswith("cell ")):
                del self._running[process]  # the command ends here: this is its outcome
                result = ev.ToolResult(before, (so_far + told.text)[-_MAX_OUTPUT:], position=position)
                result.size = len(told.text)
                return self._ended(result, told, code)
            self._running[process] = before, (so_far + told.text)[-_MAX_OUTPUT:]
        elif told.runs and call.action == ev.SHELL:
            while len(self._running) >= _MAX_RUNNING:
                del self._running[next(iter(self._running))]
            self._running[told.runs] = call, told.text[-_MAX_OUTPUT:]
        result = ev.ToolResult(call, told.text, position=position)
        if call.action == ev.SHELL:
            result.refused = pending.refused
            return self._ended(result, told, code)
        if told.interrupted:
            result.interrupted = True
        elif call.action == ev.EDIT:
            _patched(result, told, pending)
        else:
            result.failed = told.failed or pending.failed is True or _tool_failed(told.text)
        return result

    def _ended(self, result: ev.ToolResult, told: _Told, code: int | None) -> ev.ToolResult:
        """Fill in how a command ended."""
        result.exit_code = code
        if told.runs:
            result.background, result.exit_code = True, None
        elif told.interrupted:
            result.interrupted = True
        elif code is not None:
            result.failed = code != 0 and not result.refused
        elif not told.headed:
            result.refused = result.refused or _refusal(told.text)
            result.failed = not result.refused
        elif told.failed:
            result.failed = True
        else:
            result.background = True  # a script that shows the output alone: nobody knows how it ended
        return result

    # -- events ------------------------------------------------------------------------

    def _event(self, event: _Event) -> Iterator[Item]:
        kind = event.type
        if kind == "token_count":
            info = event.info if isinstance(event.info, dict) else {}
            yield from self._count(
                info.get("last_token_usage"), info.get("total_token_usage"), info.get("model_context_window")
            )
        elif kind == "user_message":
            self._held.clear()
            yield from self._said(event.message)
        elif kind in ("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted"):
            yield from self._release()
            yield from self._close()
        elif kind in ("exec_command_end", "patch_apply_end", "mcp_tool_call_end"):
            self._told(event)
        elif kind == "item_completed":
            yield from self._completed(_plain(event.item) if event.item is not _NOTHING else None)
        elif kind == "context_compacted":
            yield from self._compact()
        else:
            yield Skipped(f"event_msg/{kind}"[:40]), self._when

    def _count(self, last: Any, total: Any, window: Any) -> Iterator[Item]:
        """Take a count of tokens. It is repeated at times: the total tells one response from the next."""
        self._counts = True
        if self._round is not None:
            self._round.counted = True
        if not isinstance(total, dict) or not isinstance(last, dict):
            return
        sum_of_all = _whole(total.get("total_tokens"))
        if sum_of_all == self._total:
            return
        self._total = sum_of_all
        cached = _whole(last.get("cached_input_tokens"))
        usage = Usage(max(_whole(last.get("input_tokens")) - cached, 0), _whole(last.get("output_tokens")), cached)
        if any(usage[:3]):
            yield Used(self._model, usage, f"{self._session}:{sum_of_all}", agent=self._agent), self._when
        tokens = _whole(last.get("total_tokens"))
        if isinstance(window, int) and not isinstance(window, bool) and window > 0:
            self._window = window
        if tokens and not self._agent:
            size = ev.ContextSize(tokens, self._window)
            if self._round is None:
                yield size, self._when
            else:
                self._context = size

    def _told(self, event: _Event) -> None:
        """Keep what an event says of a call whose result has not come yet."""
        waiting = self._round.calls.get(event.call_id) if self._round and isinstance(event.call_id, str) else None
        if not waiting:
            return
        pending = waiting[0]
        if event.status == "declined":
            pending.refused = ev.BY_PERSON
        if event.type == "exec_command_end":
            code = event.exit_code
            if isinstance(code, int) and not isinstance(code, bool) and event.status != "declined":
                pending.exit_code = code
        elif event.type == "patch_apply_end":
            pending.failed = event.success is False or event.status == "failed"
            if event.changes is not _NOTHING:
                _note_deleted(pending.call, _plain(event.changes))
        elif event.result is not _NOTHING:
            told = _plain(event.result)
            well = told.get("Ok") if isinstance(told, dict) else None
            pending.failed = not isinstance(well, dict) or bool(well.get("is_error") or well.get("isError"))

    def _completed(self, item: Any) -> Iterator[Item]:
        """Take an item of a turn: what is known of a call, or a call that a script made."""
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "UserMessage":
            content = item.get("content")
            self._held.clear()
            yield from self._said(_text_of(content))
            return
        if kind == "ContextCompaction":
            yield from self._compact()
            return
        if kind not in ("CommandExecution", "FileChange") or not isinstance(item.get("id"), str):
            yield Skipped(f"item_completed/{kind}"[:40]), self._when
            return
        known = self._round.calls.get(item["id"]) if self._round else None
        if known:
            code = item.get("exit_code", item.get("exitCode"))
            if isinstance(code, int) and not isinstance(code, bool):
                known[0].exit_code = code
            known[0].failed = item.get("status") == "failed"
            if item.get("status") == "declined":
                known[0].refused = ev.BY_PERSON
            return
        yield from self._inside(kind, item)

    def _inside(self, kind: str, item: dict[str, Any]) -> Iterator[Item]:
        """Take a call that a script made: it has no line of its own but this."""
        if not item["id"].startswith("exec-"):
            yield Skipped(f"item_completed/{kind}"[:40]), self._when
            return
        current = self._round = self._round or _Round()
        outer = next((each for all_of in current.calls.values() for each in all_of), None)
        text = item.get("aggregated_output", item.get("aggregatedOutput"))
        text = text if isinstance(text, str) else _string(item, "stdout") + _string(item, "stderr")
        status = item.get("status")
        if kind == "CommandExecution":
            call = self._command("exec_command", _command_line(item.get("command")), _string(item, "cwd"), item["id"])
            result = ev.ToolResult(call, text)
            code = item.get("exit_code", item.get("exitCode"))
            if isinstance(code, int) and not isinstance(code, bool):
                result.exit_code, result.failed = code, code != 0
            else:
                result.background = True
        else:
            call = self._patch("apply_patch", "", item["id"])
            call.edits = tuple(_edits_of_changes(item.get("changes")))
            call.arguments = canonical(item.get("changes"))
            call.label = "edit " + " ".join(dict.fromkeys(each.path for each in call.edits))[:200]
            result = ev.ToolResult(call, text, failed=status == "failed")
            result.refused = ev.BY_TOOL if status == "failed" else ""
        if status == "declined":
            result.refused, result.failed = ev.BY_PERSON, False
        if outer is None:
            result.position = current.next
            current.next += 1
            current.done.append(result)
            current.when = self._when
        else:
            result.position = outer.position
            outer.inside.append(result)

    def _compact(self) -> Iterator[Item]:
        if self._compacted:  # it is told in two ways
            yield Skipped("context_compacted"), self._when
            return
        self._compacted = True
        yield from self._close()
        if self._agent:
            yield Skipped("compaction of a subagent"), self._when
            return
        yield ev.Compaction(done=False), self._when
        yield ev.Compaction(done=True), self._when

    # -- the person --------------------------------------------------------------------

    def _written(self, item: _Item) -> Iterator[Item]:
        """Take a message that is not the model's: the person's is told by an event as well, in newer files."""
        text = _text_of(_plain(item.content)) if item.role == "user" and item.content is not _NOTHING else ""
        if self._cwd == "/" and (found := _CWD.search(text[:20_000])):
            self._cwd = (found.group(1) or found.group(2)).strip()
        if self._agent or not _is_from_person(text):
            yield Skipped(f"message/{item.role}"[:40]), self._when
            return
        self._held.append(text)
        if len(self._held) > 100:
            yield from self._release()

    def _release(self) -> Iterator[Item]:
        held, self._held = self._held, []
        for text in held:
            yield from self._said(text)

    def _said(self, text: Any) -> Iterator[Item]:
        if self._agent or not isinstance(text, str) or not _is_from_person(text):
            yield Skipped("user_message/not by the person"), self._when
            return
        yield from self._close()
        if _FROM_IDE in text:
            text = text.partition(_FROM_IDE)[2].lstrip("\n")
        yield ev.Message(text), self._when

    def _close(self) -> Iterator[Item]:
        """End a round: its results, in order, then its end."""
        current, self._round = self._round, None
        context, self._context = self._context, None
        when = (current.when if current else "") or self._when
        if context is not None:
            yield context, when
        if current is None or not current.done:
            return
        current.done.sort(key=lambda each: each.position)
        for result in current.done:
            yield result, when
        yield ev.RoundEnd(self._agent), when


# -- results as they are told ----------------------------------------------------------


class _Told:
    """What an output says: its text without the client's own lines, and how it ended.

    ``runs`` names the process or script that still runs, ``headed`` says that the client's lines were there.
    """

    __slots__ = ("exit_code", "failed", "headed", "interrupted", "runs", "text")

    def __init__(self, given: Any):
        self.exit_code: int | None = None
        self.failed = False
        self.headed = False
        self.interrupted = False
        self.runs = ""
        if isinstance(given, dict):
            self.failed = given.get("success") is False
            given = given.get("content", given.get("output", ""))
        if isinstance(given, list):
            texts = [each["text"] for each in given if isinstance(each, dict) and isinstance(each.get("text"), str)]
            self.text = texts[0] if texts else ""
            if self.text.startswith("Script "):
                self._script(self.text, "\n".join(texts[1:]))
                return
            self.text = "\n".join(texts)
        else:
            self.text = given if isinstance(given, str) else ""
        self._read()

    def _read(self) -> None:
        text = self.text
        if text.startswith("Script ") and "\nOutput:\n" in text[:400]:
            head, _, rest = text.partition("\nOutput:\n")
            self._script(head, rest)
        elif text.startswith(_HEADERS):
            head, found, rest = text.partition("\nOutput:\n")
            if not found and not text.endswith("\nOutput:"):
                return
            self.headed, self.text = True, rest
            ends = _EXITED.findall(head)
            runs = _RUNS.search(head)
            if ends:
                self.exit_code = int(ends[-1])
            elif runs:
                self.runs = f"session {runs.group(1)}"
        elif text.startswith('{"'):
            self._json(text)
        elif text.startswith(("aborted", "command aborted")) and len(text) < 100:
            self.interrupted = True

    def _script(self, head: str, rest: str) -> None:
        self.headed, self.text = True, rest
        self.failed = head.startswith(("Script failed", "Script error", "Script terminated"))
        cell = _CELL.match(head)
        if cell:
            self.runs = f"cell {cell.group(1)}"
        elif rest.startswith('{"'):
            self._json(rest)

    def _json(self, text: str) -> None:
        """Read an output in JSON: of the older shell tools, and of scripts that show a whole result."""
        try:
            found = _plain(text)
        except (msgspec.DecodeError, RecursionError):
            return
        output = found.get("output")
        about = found.get("metadata", found)
        if not isinstance(output, str) or not isinstance(about, dict):
            return
        code = about.get("exit_code")
        if isinstance(code, int) and not isinstance(code, bool):
            self.headed, self.text, self.exit_code = True, output, code
        elif isinstance(about.get("session_id"), (int, str)):
            self.headed, self.text, self.runs = True, output, f"session {about['session_id']}"


def _patched(result: ev.ToolResult, told: _Told, pending: _Pending) -> None:
    """Say whether a patch was applied."""
    refused = pending.refused or ("" if told.headed else _refusal(told.text))
    if refused:
        result.refused = refused
        return
    code = told.exit_code if told.exit_code is not None else pending.exit_code
    if code is not None:
        failed = code != 0
    elif pending.failed is not None:
        failed = pending.failed
    elif told.headed:
        failed = told.failed or "apply_patch verification failed" in told.text[:400]
    else:
        failed = not told.text.startswith(("Success", "{}", "Done")) and bool(told.text)
    if failed:
        result.failed, result.refused = True, ev.BY_TOOL


def _refusal(text: str) -> str:
    head = text[:600]
    if "rejected by user" in head:
        return ev.BY_PERSON
    if "rejected due to unacceptable risk" in head or "approval policy" in head or "blocked by" in head[:100]:
        return ev.BY_HOOK
    return ""


def _tool_failed(text: str) -> bool:
    head = text[:200]
    return head.startswith(("err: ", "Error", "unsupported call", "failed to parse", "tool call error")) or (
        " failed: " in head.partition("\n")[0][:80] and not head.startswith(("{", "Wall time"))
    )


def _note_deleted(call: ev.ToolCall, changes: Any) -> None:
    """Add what stood in files that a patch took away: the patch itself does not say it."""
    if not isinstance(changes, dict):
        return
    for edit in call.edits:
        change = changes.get(edit.path)
        if edit.old is None and isinstance(change, dict) and change.get("type") == "delete":
            content = change.get("content")
            edit.old = content if isinstance(content, str) else None


def _edits_of_changes(changes: Any) -> Iterator[ev.Edit]:
    for path, change in changes.items() if isinstance(changes, dict) else ():
        if not isinstance(change, dict):
            continue
        content, diff, moved = change.get("content"), change.get("unified_diff"), change.get("move_path")
        if change.get("type") == "add":
            yield ev.Edit(path, "", content if isinstance(content, str) else "")
        elif change.get("type") == "delete":
            yield ev.Edit(path, content if isinstance(content, str) else None)
        elif isinstance(diff, str):
            yield from hunks(path, diff.splitlines())
        if isinstance(moved, str) and moved:
            yield ev.Edit(moved)


# -- small things ----------------------------------------------------------------------


def _string(given: Any, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _later(when: str) -> str:
    """Return a time a second later: what is copied into a fork is written at once."""
    try:
        return (datetime.fromisoformat(when) + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError):
        return ""


def _subagent(meta: dict[str, Any]) -> str:
    """Return the name of the subagent whose session it is, empty for the main agent."""
    source = meta.get("source")
    found = source.get("subagent") if isinstance(source, dict) else None
    if isinstance(found, dict):
        spawned = found.get("thread_spawn")
        if isinstance(spawned, dict):
            return _string(spawned, "agent_path") or _string(spawned, "agent_nickname") or "subagent"
        return _string(found, "other") or "subagent"
    if isinstance(found, str):
        return found or "subagent"
    return "subagent" if meta.get("thread_source") == "subagent" else ""


def _command_line(given: Any) -> str:
    """Return a command as one line: it comes as text, or as words, mostly those of a shell around it."""
    if isinstance(given, str):
        return given
    words = [each for each in given if isinstance(each, str)] if isinstance(given, list) else []
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-lc", "-c", "-ic", "-lic"):
        return words[2]
    if len(words) == 2 and words[0] in ("apply_patch", "applypatch"):
        return f"{words[0]} {words[1]}"
    return shlex.join(words)


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    texts = [each.get("text") for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    return "\n".join(each for each in texts if isinstance(each, str))


def _is_from_person(text: str) -> bool:
    """Tell whether a message is the person's, and not what the client puts in their mouth."""
    start = text.lstrip()
    if not start or start.startswith(("# AGENTS.md instructions", "The following is the Codex agent history")):
        return False
    if start[0] != "<":
        return True
    name = start[1:80].partition(">")[0].partition(" ")[0]
    return not (name in _WRAPPERS or ("_" in name and f"</{name}>" in text))


def _argument(script: str, at: int) -> dict[str, Any] | None:
    """Return what a script hands a tool, where it stands there in so many words."""
    opened = script.find("(", at)
    if opened < 0:
        return None
    rest = script[opened + 1 :].lstrip()
    if rest.startswith("{"):
        try:
            found = json.JSONDecoder().raw_decode(rest)[0]
        except (ValueError, RecursionError):
            found = {}
            for key in ("cmd", "workdir", "session_id", "chars"):
                place = re.search(rf"[{{,\s]\"?{key}\"?\s*:\s*", rest)
                value = _literal(rest, place.end()) if place else None
                if value is not None:
                    found[key] = value
            if "cmd" not in found and "session_id" not in found and script[:at].endswith("exec_command"):
                return None
        return found if isinstance(found, dict) else None
    text = _literal(rest, 0)
    if text is None:
        name = re.match(r"[A-Za-z_$][\w$]{0,80}", rest)
        place = re.search(rf"\b{re.escape(name.group(0))}\s*=\s*", script) if name else None
        text = _literal(script, place.end()) if place else None
    return None if text is None else {"input": text}


def _literal(script: str, at: int) -> str | None:
    """Return the text of a literal that begins there."""
    quote = script[at : at + 1]
    if quote == '"':
        try:
            found = json.JSONDecoder(strict=False).raw_decode(script, at)[0]
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, str) else None
    if quote not in ("'", "`"):
        number = re.match(r"\d{1,20}", script[at : at + 20])
        return number.group(0) if number else None
    parts: list[str] = []
    end = at + 1
    for part in re.finditer(r"[^'`\\$]+|\\.|['`$]", script[end:], re.S):
        piece = part.group(0)
        if piece == quote:
            return "".join(parts)
        if piece == "$" and quote == "`" and script[end + part.end() : end + part.end() + 1] == "{":
            return None
        parts.append({"\\n": "\n", "\\t": "\t"}.get(piece, piece[1:]) if piece[0] == "\\" else piece)
    return None
