"""Qwen Code's chats: ``~/.qwen/projects/PROJECT/chats/SESSION.jsonl``, one record a line.

What the model said and read stands in parts, as in Gemini's interface; ``toolCallResult`` adds how a
call ended. Subagents have files of their own, ``subagents/SESSION/agent-*.jsonl`` beside the chats.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.readers.gemini_parts import (
    call_of,
    parts_of,
    response_text,
    result_of,
    said,
    size_of,
    usage_of_metadata,
)
from unspin.scan.readers.plain import WRONG, Round, decode, kind, mapping, merged, text, unlike, whole
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "qwen"

#: Records of the user's side that the person did not write.
_MACHINE = frozenset(("notification", "cron", "background_task_completed", "goal_runtime", "realtime_message"))
_PARTS = re.compile(rb'"message":\s*\{\s*(?:"role":\s*"(?:user|model)",\s*)?"parts":')
_LOCAL = re.compile(r"[/?][\w:-]*(\s|$)")


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a chat."""
    return any(
        b'"parentUuid"' in line
        and b'"sessionId"' in line
        and (b'"systemPayload":' in line or _PARTS.search(line) is not None)
        for line in head.split(b"\n", 12)[:12]
    )


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a session, its subagents' files merged in by their times."""
    if _parent(source):
        return iter([(Skipped("subagent: read with its session"), "")])
    beside = _subagents(source)
    if not beside:
        return _Reader(source).items()
    return merged([_Reader(source).items(), *(_Reader(each, agent=_agent(each.path)).items() for each in beside)])


def _stem(path: str) -> str:
    name = os.path.basename(path)
    for end in (".gz", ".zst", ".zstd", ".jsonl"):
        name = name.removesuffix(end)
    return name


def _agent(path: str) -> str:
    return _stem(path).removeprefix("agent-")


def _subagents(source: Source) -> list[Source]:
    folder, session = os.path.dirname(os.path.abspath(source.path)), _stem(source.path)
    if source.remote:
        return []
    for base in (os.path.dirname(folder), folder):
        beside = os.path.join(base, "subagents", session)
        try:
            names = sorted(os.listdir(beside))
        except (OSError, ValueError):
            continue
        return [Source(os.path.join(beside, each)) for each in names if ".jsonl" in each]
    return []


def _parent(source: Source) -> bool:
    """Tell whether this is a subagent's file whose session lies where it belongs."""
    folder, session = os.path.split(os.path.dirname(os.path.abspath(source.path)))
    if source.remote or os.path.basename(folder) != "subagents":
        return False
    above = os.path.dirname(folder)
    return any(
        os.path.exists(os.path.join(above, *place, f"{session}.jsonl{end}"))
        for place in (("chats",), ())
        for end in ("", ".gz", ".zst", ".zstd")
    )


class _Reader:
    """Reads one file. ``agent`` names the subagent whose file it is."""

    def __init__(self, source: Source, agent: str = ""):
        self._source = source
        self._agent = agent
        self._session = ""
        self._when = ""
        self._rounds: dict[str, Round] = {}
        self._open: dict[str, dict[str, tuple[ev.ToolCall, int]]] = {}

    def items(self) -> Iterator[Item]:
        try:
            for number, data in self._source.lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                elif data.strip():
                    try:
                        record = decode(data)
                    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                        yield unlike(number, data, error), self._when
                        continue
                    try:
                        yield from self._record(record)
                    except WRONG as error:
                        yield Broken(number, f"not as a record of this kind should be: {error}"), self._when
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        for agent in list(self._rounds):
            yield from self._close(agent)

    def _record(self, record: Any) -> Iterator[Item]:
        if not isinstance(record, dict):
            yield kind(type(record).__name__), self._when
            return
        self._when = text(record, "timestamp") or self._when
        if not self._session and not self._agent and text(record, "sessionId"):
            self._session = text(record, "sessionId")
            yield Began(self._session, text(record, "cwd"), NAME), self._when
        agent = self._agent or text(record, "agentId") or ("subagent" if record.get("isSidechain") is True else "")
        of = record.get("type")
        if of == "assistant":
            yield from self._response(record, agent)
        elif of == "tool_result":
            yield from self._results(record, agent)
        elif of == "user":
            yield from self._user(record, agent)
        elif of == "system" and record.get("subtype") == "chat_compression":
            yield from self._close(agent)
            if not agent:
                yield ev.Compaction(done=False), self._when
                yield ev.Compaction(done=True), self._when
        else:
            yield kind(of, record.get("subtype")), self._when

    def _response(self, record: dict[str, Any], agent: str) -> Iterator[Item]:
        yield from self._close(agent)
        current = self._rounds[agent] = Round(agent)
        usage, model = mapping(record, "usageMetadata"), text(record, "model")
        if usage:
            used = usage_of_metadata(usage)
            yield Used(model, used, text(record, "uuid"), agent=agent), self._when
            if size_of(used):
                current.context = ev.ContextSize(size_of(used), whole(record, "contextWindowSize") or None)
        open_ = self._open.setdefault(agent, {})
        content = mapping(record, "message").get("parts")
        for position, each in enumerate(parts_of(content, "functionCall")):
            call_id = text(each, "id")
            folder = text(record, "cwd") or "/"
            call = call_of(each.get("name"), each.get("args"), folder, agent, call_id)
            if call is None:
                yield kind("tool call without a name"), self._when
                continue
            open_[call_id or f"#{position}"] = call, position

    def _results(self, record: dict[str, Any], agent: str) -> Iterator[Item]:
        told = mapping(record, "toolCallResult")
        responses = parts_of(mapping(record, "message").get("parts"), "functionResponse")
        current, open_ = self._rounds.get(agent), self._open.get(agent, {})
        if current is None or not responses:
            yield kind("tool_result", "without a call"), self._when
            return
        for each in responses:
            identity = text(each, "id") or text(told, "callId")
            name = identity if identity in open_ else next((key for key in open_ if key.startswith("#")), "")
            if name not in open_:
                yield kind("tool_result", "without a call"), self._when
                continue
            call, position = open_.pop(name)
            output, wrong = response_text([{"functionResponse": each}])
            own = told if len(responses) == 1 else {}
            current.done.append(
                result_of(
                    call, output, position, wrong=wrong, state=text(own, "status"), display=own.get("resultDisplay")
                )
            )
            current.when = self._when

    def _user(self, record: dict[str, Any], agent: str) -> Iterator[Item]:
        subtype = record.get("subtype")
        content = said(mapping(record, "message").get("parts")) or text(mapping(record, "message"), "content")
        payload = mapping(record, "systemPayload")
        hook = text(payload, "hookContext")
        if hook and text(payload, "displayText"):
            content = text(payload, "displayText")
        if agent or not content.strip():
            yield kind("user", "task" if agent else subtype), self._when
            return
        if _LOCAL.match(content.lstrip()):
            yield kind("user", "local command"), self._when
            return
        yield from self._close("")
        provenance = record.get("provenance")
        machine = subtype in _MACHINE or (isinstance(provenance, str) and provenance != "real_user")
        yield ev.Message(content, by_person=not machine), self._when

    def _close(self, agent: str) -> Iterator[Item]:
        self._open.pop(agent, None)
        current = self._rounds.pop(agent, None)
        if current is not None:
            yield from current.close()
