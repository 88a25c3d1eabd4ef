"""Claude Code's transcripts: files to model messages with what each of them used. Knows no prices and no totals.

What was seen of the files, and decided:

- A line holds one content block; the lines of one message repeat its id, its request's and its ``usage``. In the
  usage only ``output_tokens`` differs: it grows while the message streams. The line with the most of it stands for the
  message. Older clients often never write its end: such a message has no stop reason, and is told as not ended.
- Forked sessions, and resumed ones of older clients, repeat their parent's lines with ids and times as they were.
  A message counts once over all files of one reading, in the file that was begun first, and belongs to the
  session that the client itself names: of the request, else of the fork's parent, else of the file.
- Side questions (``/btw``) repeat the parent's messages under other request ids, marked ``isSidechain``: a side
  message whose id the main conversation has is such a copy.
- Subagents have files of their own: in ``<session>/subagents/``, once beside the session as ``agent-*.jsonl``. For a
  time their messages stood in ``progress`` lines of the parent as well, and where the files are gone they stand
  nowhere else: both are read, each message counts once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Annotated, NamedTuple

import msgspec

from unspin.cost.files import Transcript, find, folders
from unspin.cost.lines import objects
from unspin.cost.prices import Usage

__all__ = ["SYNTHETIC", "Message", "Reading", "find", "folders"]

SYNTHETIC = "<synthetic>"  # lines that the client made itself: errors, interruptions

_MARK = b'"output_tokens"'  # stands in every usage, and in a string never with quotes like these around it
_BLOCK = 256 << 10
_LONGEST = 64 << 20  # bytes of a line that is still read
_HEAD = 16 << 10
_UNREADABLE = (OSError, EOFError, zlib.error)

# -- lines -----------------------------------------------------------------------------

_Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]


class _Writes(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: _Count | None = 0


class _Tools(msgspec.Struct, gc=False):
    web_search_requests: _Count | None = 0


class _Usage(msgspec.Struct, gc=False):
    output_tokens: _Count | None = 0
    input_tokens: _Count | None = 0
    cache_read_input_tokens: _Count | None = 0
    cache_creation_input_tokens: _Count | None = 0
    cache_creation: _Writes | None = None
    server_tool_use: _Tools | None = None
    speed: str | None = None


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


class _Origin(msgspec.Struct, gc=False, rename="camel"):
    session_id: str | None = None


class _Line(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    timestamp: str | None = None
    session_id: str | None = None
    request_id: str | None = None
    request_ref: str | None = None  # newer clients' own, where the provider tells none
    request_session_id: str | None = None
    forked_from: _Origin | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    message: _Message | None = None
    data: msgspec.Raw = msgspec.Raw()


class _Progress(msgspec.Struct, gc=False):
    message: _Line


class _Kind(msgspec.Struct, gc=False):
    type: str = ""


_KINDS = ("assistant", "progress")
_NO_ID = "\x00"  # in the place of a request's id

#: What a message's lines come to: by id and request, with the time of the first of them.
_Kept = dict[tuple[str, str], tuple[str, _Line, _Message, _Usage]]
_BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_decode = msgspec.json.Decoder(_Line).decode
_decode_progress = msgspec.json.Decoder(_Progress).decode
_decode_usage = msgspec.json.Decoder(_Usage).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode


# -- messages --------------------------------------------------------------------------


class Message(NamedTuple):
    """One message of a model, counted once."""

    when: str  # ISO 8601, UTC; empty where that is not told
    model: str
    usage: Usage
    session: str
    project: str
    folder: str  # the working folder, where it is told
    subagent: bool
    ended: bool  # whether the client wrote the message's end; if not, its output is more than is told


class Reading:
    """Messages of many files, each once. ``skipped`` and ``unread`` tell what could not be read."""

    def __init__(self) -> None:
        self.skipped = 0  # lines
        self.unread: list[tuple[str, str]] = []  # files, and why
        self._seen: set[int] = set()
        self._main: set[int] = set()
        self._buffer = bytearray(_BLOCK)

    def messages(self, files: Iterable[Transcript]) -> Iterator[Message]:
        """Yield the messages of these files that no earlier call has, those of the file that was begun first."""
        for file in sorted(files, key=_begun):
            try:
                kept = self._of_file(file.path)
            except _UNREADABLE as error:
                self.unread.append((file.path, getattr(error, "strerror", "") or str(error)))
                continue
            yield from self._new(file, kept)

    def _new(self, file: Transcript, kept: _Kept) -> Iterator[Message]:
        seen, main = self._seen, self._main
        main.update(hash(key[0]) for key, each in kept.items() if not each[1].is_sidechain and key[1] != _NO_ID)
        for key, (when, line, message, used) in kept.items():
            known = hash(key if key[1] else (key[0], when))  # an id alone may be a proxy's that begins anew each time
            if known in seen or (line.is_sidechain and hash(key[0]) in main):
                continue
            seen.add(known)
            session = line.request_session_id or (line.forked_from.session_id if line.forked_from else "")
            yield Message(
                when,
                message.model or "",
                _counts(used),
                session or file.session or line.session_id or "",
                file.project,
                line.cwd or "",
                file.subagent or bool(line.is_sidechain) or line.type == "progress",
                bool(message.stop_reason),
            )

    def _of_file(self, path: str) -> _Kept:
        kept: _Kept = {}
        with _open(path) as stream:
            for text in self._lines(stream):
                try:
                    _keep(kept, _read(text))
                except _BROKEN:
                    for part in objects(bytes(text)) or (text,):
                        try:
                            _keep(kept, _read(part))
                        except _BROKEN:
                            self.skipped += _was_message(part)
        return kept

    def _lines(self, stream: IO[bytes]) -> Iterator[memoryview]:
        """Yield the lines that hold a usage, each in a buffer that the next ones overwrite."""
        buffer, view = self._buffer, memoryview(self._buffer)
        kept, lost = 0, False
        while True:
            if kept == len(buffer):
                if kept < _LONGEST:
                    buffer = bytearray(kept * 2)
                    buffer[:kept] = view
                    self._buffer, view = buffer, memoryview(buffer)
                else:  # no sensible line is as long: what is left of it is not read either
                    self.skipped += not lost
                    kept, lost = 0, True
            got = stream.readinto(view[kept:])  # type: ignore[attr-defined]
            end = kept + got
            cut = buffer.rfind(b"\n", 0, end) + 1 if got else end
            begin = 0
            if lost and got:
                begin = buffer.find(b"\n", 0, end) + 1
                lost = not begin
                kept = 0 if lost else kept
                if lost:
                    continue
            at = buffer.find(_MARK, begin, cut)
            while at >= 0:
                stop = buffer.find(b"\n", at, cut)
                if stop < 0:
                    stop = cut
                yield view[buffer.rfind(b"\n", begin, at) + 1 or begin : stop]
                at = buffer.find(_MARK, stop, cut)
            if not got:
                return
            kept = end - cut
            if kept and cut:
                view[:kept] = view[cut:end]


def _read(text: bytes | memoryview) -> _Line:
    line = _decode(text)
    return _unwrapped(line) if line.type == "progress" else line


def _keep(kept: _Kept, line: _Line) -> None:
    """Take a line in where it tells more of its message than those before it."""
    message = line.message
    if not message or not (used := message.usage) or line.type not in _KINDS or message.model == SYNTHETIC:
        return
    key = (
        message.id or f"{line.timestamp} {used}",
        (line.request_id or line.request_ref or "") if message.id else _NO_ID,
    )
    known = kept.get(key)
    if known is None:
        kept[key] = (line.timestamp or "", line, message, used)
    else:
        more = (used.output_tokens or 0) - (known[3].output_tokens or 0)
        if more > 0 or (more == 0 and message.stop_reason and not known[2].stop_reason):
            kept[key] = (known[0], line, message, used)


def _unwrapped(line: _Line) -> _Line:
    """Return the subagent's line that a progress line carries, what the parent's line tells filled in."""
    inner = _decode_progress(line.data).message
    if inner.type != "assistant":
        return inner
    inner.type = "progress"
    inner.timestamp = inner.timestamp or line.timestamp
    inner.request_ref = inner.request_ref or line.request_ref
    inner.forked_from, inner.request_session_id = line.forked_from, line.request_session_id
    inner.session_id, inner.cwd = line.session_id, line.cwd
    return inner


def _was_message(line: bytes | memoryview) -> bool:
    """Return whether a line that could not be read was a model message, as far as can be told."""
    try:
        return _decode_kind(line).type == "assistant"
    except _BROKEN:
        return True  # no JSON at all: cut off, or damaged


def _counts(used: _Usage) -> Usage:
    written = used.cache_creation_input_tokens or 0
    hour = (used.cache_creation.ephemeral_1h_input_tokens or 0) if used.cache_creation else 0
    hour = min(hour, written)
    return Usage(
        used.input_tokens or 0,
        used.output_tokens or 0,
        used.cache_read_input_tokens or 0,
        written - hour,
        hour,
        (used.server_tool_use.web_search_requests or 0) if used.server_tool_use else 0,
        used.speed == "fast",
    )


def usage_in(raw: msgspec.Raw) -> Usage | None:
    """Return what a model message used, from its ``usage`` as it stands there; ``None`` where that is no object."""
    try:
        return _counts(_decode_usage(raw))
    except msgspec.ValidationError:
        return Usage() if isinstance(msgspec.json.decode(raw), dict) else None


def _open(path: str) -> IO[bytes]:
    if path.endswith(".gz"):
        import gzip

        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb", buffering=0)


def _begun(file: Transcript) -> tuple[str, bool, float, str]:
    """Return what orders files by when they were begun; at the same time, sessions before subagents."""
    began = ""
    try:
        with _open(file.path) as stream:
            head = stream.read(_HEAD)
        at = head.find(b'"timestamp":"')
        began = head[at + 13 : at + 37].decode("ascii", "replace") if at >= 0 else ""
    except _UNREADABLE:
        pass
    return began or "~", file.subagent, file.changed, file.path
