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
from unspin.agents.claude_transcript import window_of
from unspin.cost.lines import objects
from unspin.cost.transcripts import usage_in
from unspin.facts.digest import digest
from unspin.facts.files import absolute
from unspin.facts.shell import read_line
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.readers.plain import misfit
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item, Thing

NAME = "claude-code"

_MAX_TEXT = 256_000  # characters of a file whose text is compared, as in the hook
_MOST_WRITTEN = 8
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


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = _NOTHING
    text: Any = ""
    tool_use_id: Any = None
    content: Any = None
    is_error: Any = None


class _Called(msgspec.Struct, gc=False):
    """A block of a response: of its text nothing is asked."""

    type: Any = None
    id: Any = None
    name: Any = None
    input: msgspec.Raw = _NOTHING


class _Response(msgspec.Struct, gc=False):
    id: str = ""
    model: str = ""
    content: list[_Called] | str | None = None
    usage: msgspec.Raw = _NOTHING


class _Prompt(msgspec.Struct, gc=False):
    content: list[_Block] | str | None = None


class _Loose(msgspec.Struct, gc=False):
    id: str = ""
    role: str = ""
    model: str = ""
    content: Any = None
    usage: msgspec.Raw = _NOTHING


class _Inner(msgspec.Struct, gc=False):
    type: Any = None
    message: msgspec.Raw = _NOTHING


class _Progress(msgspec.Struct, gc=False, rename="camel"):
    message: _Inner | None = None
    agent_id: Any = None


class _Told(msgspec.Struct, gc=False, rename="camel"):
    """What the client writes down of an edit."""

    file_path: Any = None
    original_file: Any = None
    content: Any = None
    replace_all: Any = None


decode = msgspec.json.Decoder(_Line).decode
_decode_response = msgspec.json.Decoder(_Response).decode
_decode_prompt = msgspec.json.Decoder(_Prompt).decode
_decode_loosely = msgspec.json.Decoder(_Loose).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode
_decode_told = msgspec.json.Decoder(_Told).decode
_plain = msgspec.json.Decoder().decode


def _response_of(raw: msgspec.Raw) -> _Response:
    try:
        return _decode_response(raw)
    except msgspec.ValidationError:  # blocks that are none
        found = _decode_loosely(raw)
        blocks = found.content if isinstance(found.content, list) else ()
        kept = [
            msgspec.convert({**each, "input": msgspec.Raw(msgspec.json.encode(each.get("input")))}, _Called)
            for each in blocks
            if isinstance(each, dict)
        ]
        return _Response(found.id, found.model, kept, found.usage)


def _prompt_of(raw: msgspec.Raw) -> list[_Block] | str | None:
    try:
        return _decode_prompt(raw).content
    except msgspec.ValidationError:
        content = _decode_loosely(raw).content
        if isinstance(content, list):
            return [msgspec.convert({**each, "input": _NOTHING}, _Block) for each in content if isinstance(each, dict)]
        return content if isinstance(content, str) else None


_KNOWN = frozenset(("user", "assistant", "system", "attachment", "progress"))


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a transcript."""
    lines = [line for line in head.split(b"\n") if not line.startswith(b'{"type":"summary",')]  # any number lead a file
    for line in lines[:12]:
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
    for end in (".gz", ".zst", ".zstd", ".jsonl"):
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
        self._out: list[Item] = []
        self._written: dict[str, tuple[str, str]] = {}  # by path: what the last edits left there, and its hash

    def items(self) -> Iterator[Item]:
        out = self._out
        try:
            for number, data in self._source.raw_lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                    continue
                if not data or data.isspace():
                    continue
                try:
                    line = decode(data)
                except (msgspec.DecodeError, RecursionError):
                    for part in objects(data) or (data,):
                        self._part(part, number)
                else:
                    self._line(line, number)
                if out:
                    yield from out
                    out.clear()
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        for agent in list(self._rounds):
            self._close(agent)
        yield from out

    def _put(self, thing: Thing) -> None:
        self._out.append((thing, self._when))

    def _part(self, data: bytes, number: int) -> None:
        """Take what can be read of a line that was refused."""
        try:
            line = decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            self._put(misfit(number, data, error))
        else:
            self._line(line, number)

    def _line(self, line: _Line, number: int) -> None:
        kind = line.type
        if line.timestamp:
            self._when = line.timestamp
        if kind not in _KNOWN:
            self._put(Skipped(kind[:40] or "?"))
            return
        if not self._session and line.session_id and not self._agent:
            self._session = line.session_id
            self._put(Began(line.session_id, line.cwd, NAME))
        try:
            if kind == "assistant" and line.message is not _NOTHING:
                self._response(line)
            elif kind == "user" and line.message is not _NOTHING:
                self._user(line)
            elif kind == "progress":
                self._progress(line)
            elif kind == "system" and line.subtype == "compact_boundary":
                self._close("")
                self._put(ev.Compaction(done=False))
                self._put(ev.Compaction(done=True))
            elif kind == "attachment" and line.attachment is not _NOTHING:
                self._attachment(line)
            else:
                self._put(Skipped(f"{kind}/{line.subtype or ''}"[:40]))
        except (msgspec.DecodeError, RecursionError, AttributeError, TypeError, KeyError) as error:
            self._put(Broken(number, f"not as a line of this kind should be: {error}"))

    def _agent_in(self, line: _Line) -> str:
        return self._agent or line.agent_id or ("subagent" if line.is_sidechain else "")

    # -- the model ---------------------------------------------------------------------

    def _response(self, line: _Line, agent: str | None = None) -> None:
        message = _response_of(line.message)
        agent = self._agent_in(line) if agent is None else agent
        current = self._rounds.get(agent)
        if current is not None and current.message != message.id:
            self._close(agent)
            current = None
        usage = usage_in(message.usage) if message.usage is not _NOTHING else None
        if usage is not None and message.model:
            key = f"{message.id}:{line.request_id or ''}" if message.id else ""
            self._put(Used(message.model, usage, key, agent=agent))
        content = message.content
        for block in content if content is not None and not isinstance(content, str) else ():
            if block.type != "tool_use":
                continue
            if current is None:
                context = None
                if usage is not None and not agent:
                    tokens = usage.tokens
                    context = ev.ContextSize(tokens, window_of(message.model, tokens))
                current = self._rounds[agent] = _Round(message.id, line.cwd or "/", context)
            given = _plain(block.input) if block.input is not _NOTHING else None
            call = call_of(block.name, given, current.cwd, agent, call_id=str(block.id))
            if call is not None:
                current.calls[call.call_id] = (call, len(current.calls) + len(current.done))
                if call.action == ev.SHELL:
                    moved = read_line(call.command).cwd
                    current.cwd = absolute(moved, current.cwd) if moved else current.cwd

    def _close(self, agent: str) -> None:
        """End a round: its results, in order, then its end."""
        current = self._rounds.pop(agent, None)
        if current is None or not current.done:
            return
        when, out = current.when or self._when, self._out
        if current.context is not None:
            out.append((current.context, when))
        if len(current.done) > 1:
            current.done.sort(key=lambda each: each.position)
        for result in current.done:
            out.append((result, when))
        out.append((ev.RoundEnd(agent), when))

    # -- results, and the person -------------------------------------------------------

    def _user(self, line: _Line, agent: str | None = None) -> None:
        content = _prompt_of(line.message)
        agent = self._agent_in(line) if agent is None else agent
        blocks = content if content is not None and not isinstance(content, str) else ()
        answered = False
        for block in blocks:
            if block.type == "tool_result":
                answered = True
                self._result(line, block, agent)
        if answered:
            return
        if agent or line.is_meta or line.is_compact_summary:
            self._put(Skipped("user/meta"))
            return
        texts = [str(each.text) for each in blocks if each.type == "text"]
        self._said(content if isinstance(content, str) else "\n".join(texts), line.prompt_source)

    def _said(self, text: str, origin: str | None = None) -> None:
        start = text.lstrip()
        if not start or start.startswith(("[Request interrupted by user", "This session is being continued from a")):
            self._put(Skipped("user/interrupted"))
            return
        if start.startswith(("<local-command-", "<bash-")) or self._is_built_in(start):
            self._put(Skipped("user/local command"))
            return
        self._close("")
        machine = start.startswith(MACHINE_OPENINGS) or origin in MACHINE_SOURCES
        self._put(ev.Message(text, by_person=not machine))

    def _is_built_in(self, text: str) -> bool:
        if not text.startswith(_LOCAL):
            return False
        name = text.partition("<command-name>")[2].partition("<")[0].strip().lstrip("/")
        return name in _BUILT_IN

    def _result(self, line: _Line, block: _Block, agent: str) -> None:
        current = self._rounds.get(agent)
        found = current.calls.pop(str(block.tool_use_id), None) if current else None
        if current is None or found is None:
            return
        call, position = found
        if call.edits and line.tool_use_result is not _NOTHING:
            _note_texts(call, line.tool_use_result, self._written)
        result = result_of(call, text_of(block.content), position)
        if result.comment and call.action not in (ev.EDIT, ev.ASK) and not block.is_error:
            result.comment, result.refused = False, ""  # a command can print the words of a refusal as well
        current.done.append(result)
        current.when = self._when

    # -- what else there is ------------------------------------------------------------

    def _progress(self, line: _Line) -> None:
        """A subagent's line that the parent's file carries, where it has no file of its own."""
        raw = bytes(line.data)
        if b"tool_use" not in raw or b'"message"' not in raw:
            self._put(Skipped("progress"))
            return
        try:
            data = _decode_progress(raw)
        except msgspec.ValidationError:
            self._put(Skipped("progress"))
            return
        inner, agent = data.message, str(data.agent_id or "subagent")
        if inner is None or bytes(inner.message).lstrip()[:1] != b"{":
            self._put(Skipped("progress"))
            return
        line.message = inner.message
        line.tool_use_result = _NOTHING
        if inner.type == "assistant":
            self._response(line, agent)
        elif inner.type == "user":
            self._user(line, agent)

    def _attachment(self, line: _Line) -> None:
        data = _plain(line.attachment)
        kind = data.get("type") if isinstance(data, dict) else None
        prompt = data.get("prompt") if isinstance(data, dict) else None
        if kind == "queued_command" and isinstance(prompt, str) and data.get("commandMode", "prompt") == "prompt":
            self._said(prompt)  # the person wrote while the turn ran
            return
        self._put(Skipped(f"attachment/{kind}"[:40]))


def _note_texts(call: ev.ToolCall, raw: msgspec.Raw, written: dict[str, tuple[str, str]]) -> None:
    """Add what the file held before and after an edit: the client writes it down.

    ``written`` are the files that edits left last: what stands before an edit is mostly what the last one left.
    """
    try:
        told = _decode_told(raw)
    except msgspec.ValidationError:  # a text: the edit was refused
        return
    path, before, after = told.file_path, told.original_file, told.content
    if not isinstance(path, str):
        return
    if after is None and isinstance(before, str):
        after = before
        for edit in call.edits:
            if edit.old:
                after = after.replace(edit.old, edit.new, -1 if told.replace_all else 1)
            elif not before:
                after = edit.new
    if not isinstance(after, str):
        return
    call.hashes = {path: digest(after)}
    known = written.pop(path, None)
    for edit in call.edits:
        edit.after = call.hashes[path]
        if known is not None and known[0] == before and absolute(edit.path, call.cwd) == path:
            edit.before = known[1]
    if isinstance(before, str) and len(before) <= _MAX_TEXT and len(after) <= _MAX_TEXT:
        call.texts = {path: (before, after)}
        written[path] = after, call.hashes[path]
        if len(written) > _MOST_WRITTEN:
            del written[next(iter(written))]
