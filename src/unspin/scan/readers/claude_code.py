"""Claude Code's transcripts: a line for each content block, a file for each session, one more for each subagent.

The translation of calls and results is the hook's own (``agents.claude_code``): a session
seen live and its transcript give the same events. Here are only the lines: which of them
are the person, which block belongs to which response, when a round is over.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.agents.claude_code import MACHINE_OPENINGS, MACHINE_SOURCES, call_of, result_of, text_of
from unspin.agents.claude_transcript import tokens_of
from unspin.cost.transcripts import usage_of
from unspin.facts.digest import digest
from unspin.facts.files import absolute
from unspin.facts.shell import read_line
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "claude-code"

_MAX_TEXT = 256_000  # characters of a file whose text is compared, as in the hook
_LOCAL = ("<command-name>", "<command-message>")
with open(os.path.join(os.path.dirname(__file__), "claude_code.json"), "rb") as _file:
    _BUILT_IN = frozenset(msgspec.json.decode(_file.read())["built_in"])


_NOTHING = msgspec.Raw(b"")  # where a line has no such field


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    subtype: str | None = None
    message: msgspec.Raw = _NOTHING
    attachment: msgspec.Raw = _NOTHING
    data: msgspec.Raw = _NOTHING
    tool_use_result: msgspec.Raw = _NOTHING
    timestamp: str = ""
    session_id: str = ""
    cwd: str = ""
    agent_id: str | None = None
    request_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    prompt_source: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: str = ""
    role: str = ""
    model: str = ""
    content: Any = None
    usage: msgspec.Raw = _NOTHING


_decode = msgspec.json.Decoder(_Line).decode
_decode_message = msgspec.json.Decoder(_Message).decode
_plain = msgspec.json.Decoder().decode

_KNOWN = frozenset(("user", "assistant", "system", "attachment", "progress"))


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a transcript."""
    for line in head.split(b"\n", 12)[:12]:
        if b'"sessionId"' in line and (b'"parentUuid"' in line or b'"isSidechain"' in line or b'"uuid"' in line):
            return True
    return b'"type":"file-history-snapshot"' in head[:2000] or b'"type":"queue-operation"' in head[:2000]


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a session, its subagents' files beside it merged in by their times."""
    beside = _subagents(source)
    if not beside:
        return _Reader(source).items()
    streams = [_Reader(source).items(), *(_Reader(each, agent=_agent_of(each)).items() for each in beside)]
    return heapq.merge(*(_stamped(each) for each in streams), key=lambda item: item[1])


def _stamped(items: Iterator[Item]) -> Iterator[Item]:
    """Yield items with the time of the last one that had any: they stay in their order."""
    last = ""
    for thing, when in items:
        last = max(last, when)
        yield thing, last


def _subagents(source: Source) -> list[Source]:
    if source.remote or f"{os.sep}subagents{os.sep}" in source.path:
        return []
    stem = source.path
    for end in (".gz", ".zst", ".jsonl"):
        stem = stem.removesuffix(end)
    folder = os.path.join(stem, "subagents")
    if not os.path.isdir(folder):
        return []
    names = sorted(each for each in os.listdir(folder) if ".jsonl" in each and not each.endswith(".meta.json"))
    return [Source(os.path.join(folder, each)) for each in names]


def _agent_of(source: Source) -> str:
    return os.path.basename(source.path).partition(".")[0].removeprefix("agent-")


class _Round:
    """The calls of one response, and what came back so far."""

    __slots__ = ("calls", "context", "cwd", "done", "message", "when")

    def __init__(self, message: str, cwd: str, context: ev.ContextSize | None):
        self.message = message
        self.cwd = cwd
        self.context = context
        self.calls: dict[str, tuple[ev.ToolCall, int]] = {}
        self.done: list[ev.ToolResult] = []
        self.when = ""


class _Reader:
    """Reads one file. ``agent`` names the subagent whose file it is."""

    def __init__(self, source: Source, agent: str = ""):
        self._source = source
        self._agent = agent
        self._session = ""
        self._rounds: dict[str, _Round] = {}
        self._when = ""

    def items(self) -> Iterator[Item]:
        try:
            for number, data in self._source.lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                    continue
                if not data.strip():
                    continue
                try:
                    line = _decode(data)
                except (msgspec.DecodeError, RecursionError) as error:
                    yield self._unlike(number, data, error), self._when
                    continue
                yield from self._of_line(line, number)
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        for agent in list(self._rounds):
            yield from self._close(agent)

    def _unlike(self, number: int, data: bytes, error: Exception) -> Broken | Skipped:
        """Return what a line is that does not have our shape: JSON of another kind, or broken."""
        try:
            found = _plain(data)
        except (msgspec.DecodeError, RecursionError):
            return Broken(number, f"no JSON: {error}")
        return Skipped(str(found.get("type", "?"))[:40] if isinstance(found, dict) else type(found).__name__)

    def _of_line(self, line: _Line, number: int) -> Iterator[Item]:
        self._when = line.timestamp or self._when
        if line.type not in _KNOWN:
            yield Skipped(line.type[:40] or "?"), self._when
            return
        if line.session_id and not self._session and not self._agent:
            self._session = line.session_id
            yield Began(line.session_id, line.cwd, NAME), self._when
        try:
            if line.type == "assistant" and line.message is not _NOTHING:
                yield from self._response(line)
            elif line.type == "user" and line.message is not _NOTHING:
                yield from self._user(line)
            elif line.type == "progress":
                yield from self._progress(line)
            elif line.type == "system" and line.subtype == "compact_boundary":
                yield from self._close("")
                yield ev.Compaction(done=False), self._when
                yield ev.Compaction(done=True), self._when
            elif line.type == "attachment" and line.attachment is not _NOTHING:
                yield from self._attachment(line)
            else:
                yield Skipped(f"{line.type}/{line.subtype or ''}"[:40]), self._when
        except (msgspec.DecodeError, RecursionError, AttributeError, TypeError, KeyError) as error:
            yield Broken(number, f"not as a line of this kind should be: {error}"), self._when

    def _agent_in(self, line: _Line) -> str:
        return self._agent or line.agent_id or ("subagent" if line.is_sidechain else "")

    # -- the model ---------------------------------------------------------------------

    def _response(self, line: _Line, agent: str | None = None) -> Iterator[Item]:
        assert line.message is not _NOTHING
        message = _decode_message(line.message)
        agent = self._agent_in(line) if agent is None else agent
        current = self._rounds.get(agent)
        if current is not None and current.message != message.id:
            yield from self._close(agent)
            current = None
        usage = _plain(message.usage) if message.usage is not _NOTHING else None
        if isinstance(usage, dict) and message.model:
            key = f"{message.id}:{line.request_id or ''}" if message.id else ""
            yield Used(message.model, usage_of(usage), key, agent=agent), self._when
        for block in message.content if isinstance(message.content, list) else ():
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            if current is None:
                context = None
                if isinstance(usage, dict) and not agent:
                    context = ev.ContextSize(*tokens_of(usage, message.model))
                current = self._rounds[agent] = _Round(message.id, line.cwd or "/", context)
            call = call_of(block.get("name"), block.get("input"), current.cwd, agent, call_id=str(block.get("id")))
            if call is not None:
                current.calls[call.call_id] = (call, len(current.calls) + len(current.done))
                if call.action == ev.SHELL:
                    moved = read_line(call.command).cwd
                    current.cwd = absolute(moved, current.cwd) if moved else current.cwd

    def _close(self, agent: str) -> Iterator[Item]:
        """End a round: its results, in order, then its end."""
        current = self._rounds.pop(agent, None)
        if current is None or not current.done:
            return
        when = current.when or self._when
        if current.context is not None:
            yield current.context, when
        for result in sorted(current.done, key=lambda each: each.position):
            yield result, when
        yield ev.RoundEnd(agent), when

    # -- results, and the person -------------------------------------------------------

    def _user(self, line: _Line, agent: str | None = None) -> Iterator[Item]:
        assert line.message is not _NOTHING
        message = _decode_message(line.message)
        agent = self._agent_in(line) if agent is None else agent
        content = message.content
        blocks = content if isinstance(content, list) else ()
        results = [each for each in blocks if isinstance(each, dict) and each.get("type") == "tool_result"]
        for block in results:
            self._result(line, block, agent)
        if results:
            return
        if agent or line.is_meta or line.is_compact_summary:
            yield Skipped("user/meta"), self._when
            return
        texts = [str(each.get("text", "")) for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
        text = content if isinstance(content, str) else "\n".join(texts)
        yield from self._said(text, line.prompt_source)

    def _said(self, text: str, origin: str | None = None) -> Iterator[Item]:
        start = text.lstrip()
        if not start or start.startswith(("[Request interrupted by user", "This session is being continued from a")):
            yield Skipped("user/interrupted"), self._when
            return
        if start.startswith(("<local-command-", "<bash-")) or self._is_built_in(start):
            yield Skipped("user/local command"), self._when
            return
        yield from self._close("")
        machine = start.startswith(MACHINE_OPENINGS) or origin in MACHINE_SOURCES
        yield ev.Message(text, by_person=not machine), self._when

    def _is_built_in(self, text: str) -> bool:
        if not text.startswith(_LOCAL):
            return False
        name = text.partition("<command-name>")[2].partition("<")[0].strip().lstrip("/")
        return name in _BUILT_IN

    def _result(self, line: _Line, block: dict[str, Any], agent: str) -> None:
        current = self._rounds.get(agent)
        found = current.calls.pop(str(block.get("tool_use_id")), None) if current else None
        if current is None or found is None:
            return
        call, position = found
        if call.action == ev.EDIT and line.tool_use_result is not _NOTHING:
            _note_texts(call, line.tool_use_result)
        result = result_of(call, text_of(block.get("content")), position)
        if result.comment and call.action not in (ev.EDIT, ev.ASK) and not block.get("is_error"):
            result.comment, result.refused = False, ""  # a command can print the words of a refusal as well
        current.done.append(result)
        current.when = self._when

    # -- what else there is ------------------------------------------------------------

    def _progress(self, line: _Line) -> Iterator[Item]:
        """A subagent's line that the parent's file carries, where it has no file of its own."""
        raw = bytes(line.data) if line.data is not _NOTHING else b""
        if b'"message"' not in raw or b"tool_use" not in raw:
            yield Skipped("progress"), self._when
            return
        data = _plain(raw)
        inner, agent = data.get("message"), str(data.get("agentId") or "subagent")
        if not isinstance(inner, dict) or not isinstance(inner.get("message"), dict):
            yield Skipped("progress"), self._when
            return
        line.message = msgspec.Raw(msgspec.json.encode(inner["message"]))
        line.tool_use_result = _NOTHING
        if inner.get("type") == "assistant":
            yield from self._response(line, agent)
        elif inner.get("type") == "user":
            yield from self._user(line, agent)

    def _attachment(self, line: _Line) -> Iterator[Item]:
        data = _plain(line.attachment) if line.attachment is not _NOTHING else {}
        kind = data.get("type") if isinstance(data, dict) else None
        prompt = data.get("prompt") if isinstance(data, dict) else None
        if kind == "queued_command" and isinstance(prompt, str) and data.get("commandMode", "prompt") == "prompt":
            yield from self._said(prompt)  # the person wrote while the turn ran
            return
        yield Skipped(f"attachment/{kind}"[:40]), self._when


def _note_texts(call: ev.ToolCall, raw: msgspec.Raw) -> None:
    """Add what the file held before and after an edit: the client writes it down."""
    told = _plain(raw)
    if not isinstance(told, dict) or not call.edits:
        return
    path, before, after = told.get("filePath"), told.get("originalFile"), told.get("content")
    if not isinstance(path, str):
        return
    if after is None and isinstance(before, str):
        after = before
        for edit in call.edits:
            if edit.old:
                after = (
                    after.replace(edit.old, edit.new)
                    if told.get("replaceAll")
                    else after.replace(edit.old, edit.new, 1)
                )
            elif not before:
                after = edit.new
    if not isinstance(after, str):
        return
    call.hashes = {path: digest(after)}
    for edit in call.edits:
        edit.after = call.hashes[path]
    if isinstance(before, str) and len(before) <= _MAX_TEXT and len(after) <= _MAX_TEXT:
        call.texts = {path: (before, after)}
