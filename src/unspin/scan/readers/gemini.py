"""Gemini CLI's chats: ``~/.gemini/tmp/PROJECT/chats/session-*.jsonl``, and the older ones in one JSON document.

A line is a message, or a patch (``$set``) of what is known of the session. A message is written
again under its id once its calls are done: the last one holds, so one message is held back until
another comes. A patch with all messages is written when the history was changed (compressed,
masked): what stands in it has happened already, and what it lacks did happen all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.scan.documents import Document
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.readers.gemini_parts import (
    call_of,
    parts_of,
    response_text,
    result_of,
    said,
    size_of,
    usage_of,
)
from unspin.scan.readers.plain import WRONG, Round, decode, kind, listing, mapping, merged, text, unlike, whole
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "gemini"

_MOST_SEEN = 20_000  # ids of messages and calls that are remembered
_HOOK = re.compile(r"\s*<hook_context>.*?</hook_context>\s*", re.DOTALL)
_LOCAL = re.compile(r"[/?][\w:-]*(\s|$)")
_FOLDER = re.compile(
    r"(?:Workspace Directories:\**\s*\n\s*- |working in the directory: |in the following director(?:y|ies):\s*\n\s*- )"
    r"([^\n]{1,4000})"
)
_HEAD_OF_LINE = 2000
_LOOKED_AT = 20  # lines
# One document whose members were sorted: its name stands behind its messages.
_SORTED = re.compile(
    rb'\s*\{\s*(?:"directories":\s*\[[^\]]{0,1000}\],\s*)?"kind":\s*"(?:main|subagent)",'
    rb'\s*"lastUpdated":\s*"[^"]{0,40}",\s*"messages":\s*\['
)


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a chat."""
    if b'"projectHash"' in head[:_HEAD_OF_LINE] and b'"sessionId"' in head[:_HEAD_OF_LINE]:
        return True
    return _SORTED.match(head) is not None and b'"gemini"' in head


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a session, its subagents' files beside it merged in by their times."""
    if _parent(source):
        return iter([(Skipped("subagent: read with its session"), "")])
    reader = _Reader(source)
    beside = _subagents(source)
    if not beside:
        return reader.items()
    return merged([reader.items(), *(_Reader(each, agent=_stem(each.path)).items() for each in beside)])


def _stem(path: str) -> str:
    name = os.path.basename(path)
    for end in (".gz", ".zst", ".zstd", ".jsonl", ".json"):
        name = name.removesuffix(end)
    return name


def _subagents(source: Source) -> list[Source]:
    """Return the files of a session's subagents: they lie in a folder with the session's name."""
    if source.remote:
        return []
    try:
        first = decode(source.head().split(b"\n", 1)[0])
        folder = os.path.join(os.path.dirname(source.path), text(first, "sessionId") or "\0")
        names = sorted(os.listdir(folder))
    except (OSError, SourceError, *WRONG):
        return []
    return [Source(os.path.join(folder, each)) for each in names if ".jsonl" in each]


def _parent(source: Source) -> bool:
    """Tell whether this is a subagent's file whose session lies where it belongs."""
    folder, name = os.path.split(os.path.abspath(source.path))
    above, session = os.path.split(folder)
    if source.remote or name.startswith("session-") or os.path.basename(above) != "chats":
        return False
    try:
        return any(each.startswith("session-") and f"-{session[:8]}.json" in each for each in os.listdir(above))
    except OSError:
        return False


class _Reader:
    """Reads one file. ``agent`` names the subagent whose file it is."""

    def __init__(self, source: Source, agent: str = ""):
        self._source = source
        self._agent = agent
        self._own = not agent  # the session is told by this file
        self._session = ""
        self._root = ""
        self._began = False
        self._when = ""
        self._held: dict[str, Any] | None = None
        self._held_at = 0
        self._round = Round(agent)
        self._open: dict[str, tuple[ev.ToolCall, int]] = {}
        self._seen: dict[str, None] = {}

    def items(self) -> Iterator[Item]:
        yield from self._one_document() if self._is_one_document() else self._lines()
        yield from self._let_go()
        yield from self._close()

    def _is_one_document(self) -> bool:
        try:
            first, *others = self._source.head().lstrip().split(b"\n", _LOOKED_AT)
        except SourceError:
            return False
        if any(line.startswith(b'{"') and line.rstrip().endswith(b"}") for line in others):
            return False  # lines of their own, whatever became of the first
        if not first.rstrip().endswith(b"}"):
            return True  # an object over many lines, or on one that is longer than the head
        return b'"messages"' in first and b'"$set"' not in first

    def _one_document(self) -> Iterator[Item]:
        document = Document(self._source)
        self._know({key: document.value(key) for key in ("sessionId", "kind", "directories")})
        for number, message in enumerate(document.each("messages"), 1):
            yield from self._entry(message, number)
        for problem in document.problems:
            yield problem, self._when

    def _lines(self) -> Iterator[Item]:
        try:
            for number, data in self._source.lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                elif data.strip():
                    try:
                        entry = decode(data)
                    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                        yield unlike(number, data, error), self._when
                        continue
                    yield from self._entry(entry, number)
        except SourceError as error:
            yield Broken(0, str(error)), self._when

    def _entry(self, entry: Any, number: int) -> Iterator[Item]:
        if not isinstance(entry, dict):
            yield kind(type(entry).__name__), self._when
            return
        try:
            if "$set" in entry:
                yield from self._patch(mapping(entry, "$set"))
            elif "$rewindTo" in entry:
                yield kind("$rewindTo"), self._when
            elif isinstance(entry.get("id"), str) and "type" in entry:
                yield from self._message(entry, number)
            elif "sessionId" in entry:
                self._know(entry)
                for message in listing(entry, "messages"):
                    yield from self._entry(message, number)
            else:
                yield kind(entry.get("type")), self._when
        except WRONG as error:
            yield Broken(number, f"not as an entry of this kind should be: {error}"), self._when

    # -- the session -------------------------------------------------------------------

    def _know(self, entry: dict[str, Any]) -> None:
        if entry.get("kind") == "subagent" and not self._agent:
            self._agent = self._round.agent = text(entry, "sessionId") or "subagent"
        self._session = self._session or text(entry, "sessionId")
        folders = [each for each in listing(entry, "directories") if isinstance(each, str)]
        if folders and folders[0].startswith("/"):
            self._root = self._root or folders[0]

    def _begin(self) -> Iterator[Item]:
        if self._began:
            return
        self._began = True
        if not self._root and not self._source.remote:
            self._root = _project_root(self._source.path)
        if self._own:
            yield Began(self._session or _stem(self._source.path), self._root, NAME), self._when

    def _patch(self, changes: dict[str, Any]) -> Iterator[Item]:
        self._know(changes)
        messages = listing(changes, "messages")
        if not messages:
            return  # when it was last written, a summary: nothing that happened
        if not self._began and self._held is None:
            for message in messages:
                yield from self._entry(message, 0)
            return
        yield from self._let_go()
        for message in messages:
            if isinstance(message, dict) and message.get("type") == "user":
                new = text(message, "id") not in self._seen
                if new and "<state_snapshot>" in said(message.get("content"))[:_HEAD_OF_LINE]:
                    self._remember(text(message, "id"))
                    yield from self._compacted()
        yield kind("$set", "messages"), self._when

    def _compacted(self) -> Iterator[Item]:
        yield from self._close()
        if not self._agent:
            yield ev.Compaction(done=False), self._when
            yield ev.Compaction(done=True), self._when

    # -- messages ----------------------------------------------------------------------

    def _message(self, entry: dict[str, Any], number: int) -> Iterator[Item]:
        held = self._held
        if held is not None and held.get("id") != entry.get("id"):
            yield from self._let_go()
        if entry.get("type") == "user" and not self._began and not self._root:
            found = _FOLDER.search(said(entry.get("content"))[:100_000])
            self._root = found[1].strip() if found and found[1].startswith("/") else ""
        self._held, self._held_at = entry, number

    def _let_go(self) -> Iterator[Item]:
        """Yield what the message that was held back came to: nothing replaces it any more."""
        entry, self._held = self._held, None
        if entry is None:
            return
        self._when = text(entry, "timestamp") or self._when
        yield from self._begin()
        try:
            if entry.get("type") == "gemini":
                yield from self._response(entry)
            elif entry.get("type") == "user":
                yield from self._user(entry)
            else:
                yield kind(entry.get("type")), self._when
        except WRONG as error:
            yield Broken(self._held_at, f"not as an entry of this kind should be: {error}"), self._when
        self._remember(text(entry, "id"))

    def _remember(self, identity: str) -> None:
        if identity:
            self._seen[identity] = None
            if len(self._seen) > _MOST_SEEN:
                del self._seen[next(iter(self._seen))]

    def _response(self, entry: dict[str, Any]) -> Iterator[Item]:
        yield from self._close()
        tokens, model = mapping(entry, "tokens"), text(entry, "model")
        identity = text(entry, "id")
        if tokens:
            names = ("input", "output", "cached", "thoughts", "tool", "total")
            usage = usage_of(*(whole(tokens, each) for each in names))
            yield Used(model, usage, f"{self._agent}:{identity}" if identity else "", agent=self._agent), self._when
            self._round.context = ev.ContextSize(size_of(usage)) if size_of(usage) else None
        calls = [each for each in listing(entry, "toolCalls") if isinstance(each, dict)]
        if not calls:  # they stand in the content where no record of them was written
            calls = [{**each, "timestamp": ""} for each in parts_of(entry.get("content"), "functionCall")]
        for position, each in enumerate(calls):
            call_id = text(each, "id")
            if call_id and call_id in self._seen:
                continue
            call = call_of(each.get("name"), each.get("args"), self._root or "/", self._agent, call_id)
            if call is None:
                yield kind("tool call without a name"), self._when
                continue
            self._open[call_id or f"#{position}"] = call, position
            if each.get("result") or each.get("status") in ("error", "cancelled"):
                self._when = max(self._when, text(each, "timestamp"))
                self._end(call_id or f"#{position}", each)
        if not self._open:
            yield from self._close()

    def _end(self, name: str, told: dict[str, Any]) -> None:
        call, position = self._open.pop(name)
        output, wrong = response_text(told.get("result"))
        display = told.get("resultDisplay")
        if not output and isinstance(display, str):
            output = display
        result = result_of(call, output, position, wrong=wrong, state=text(told, "status"), display=display)
        self._remember(call.call_id)
        self._round.done.append(result)
        self._round.when = self._when

    def _user(self, entry: dict[str, Any]) -> Iterator[Item]:
        responses = parts_of(entry.get("content"), "functionResponse")
        for each in responses:
            identity = text(each, "id")
            if identity in self._open:
                self._end(identity, {"result": [{"functionResponse": each}]})
        if responses:
            yield from self._close()
            yield kind("user", "results"), self._when
            return
        content = said(entry.get("content"))
        if "<state_snapshot>" in content[:_HEAD_OF_LINE] and content.lstrip().startswith("<"):
            yield from self._compacted()
            return
        content = _HOOK.sub("", content, 1) if content.lstrip().startswith("<hook_context>") else content
        if self._agent or not content.strip() or content.lstrip().startswith("<session_context>"):
            yield kind("user", "task" if self._agent else "context"), self._when
        elif text(entry, "id") in self._seen:
            yield kind("user", "again"), self._when
        elif _LOCAL.match(content.lstrip()):
            yield kind("user", "local command"), self._when
        else:
            yield from self._close()
            yield ev.Message(content), self._when

    def _close(self) -> Iterator[Item]:
        self._open.clear()
        yield from self._round.close()
        self._round.context = None


def _project_root(path: str) -> str:
    """Return the project's folder as the client wrote it down beside the chats, empty where it did not."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(2):
        folder = os.path.dirname(folder)
        try:
            with open(os.path.join(folder, ".project_root"), "rb") as file:
                found = file.read(4096).decode("utf-8", "replace").strip()
        except OSError:
            continue
        return found if found.startswith("/") and "\0" not in found else ""
    return ""
