"""One JSON document: parsed whole where it is small, piece by piece where it is not.

What is asked for comes out either way; what cannot be read is in ``problems``. A document that
breaks off is read up to there.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from unspin.cost.lines import whole_characters
from unspin.scan.items import Broken
from unspin.scan.source import MARK, Source, SourceError

WHOLE = 8 << 20  # bytes of a document that is parsed in one piece
_LONGEST = 64 << 20  # bytes of one text in it
_DEEPEST = 500  # levels of nesting
_BLOCK = 256 << 10

_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_AT_BYTE = re.compile(r"byte (\d+)")


class Document:
    """An object with named members, of which some are long lists."""

    def __init__(self, source: Source):
        self.problems: list[Broken] = []
        self._source = source
        self._root: Any = None
        self._in_pieces = False
        self._breaks = 0  # the line where it does, if that is known
        try:
            data = self._small()
        except (OSError, EOFError, zlib.error, SourceError) as error:
            self._note(0, error)
            self._in_pieces = True  # as much of it as there is
            return
        if data is None:
            self._in_pieces = True
            return
        self._root = self._parsed(data)
        self._in_pieces = self._root is None and bool(data.strip())
        if self._root is not None and not isinstance(self._root, dict):
            self.problems.append(Broken(1, f"no object, but {type(self._root).__name__}"))

    def value(self, name: str) -> Any:
        """Return a member, ``None`` where there is none."""
        if not self._in_pieces:
            return self._root.get(name) if isinstance(self._root, dict) else None
        return next(self._pieces(name, inside=False), None)

    def each(self, name: str) -> Iterator[Any]:
        """Yield the elements of a member that is a list."""
        if self._in_pieces:
            yield from self._pieces(name, inside=True)
            return
        found = self.value(name)
        if isinstance(found, list):
            yield from found

    def _small(self) -> bytes | None:
        """Return the content, ``None`` where it is too large for one piece."""
        parts, left = [], WHOLE + 1
        with self._source.open() as stream:
            while left and (part := stream.read(min(left, _BLOCK))):
                parts.append(part)
                left -= len(part)
        return whole_characters(b"".join(parts).removeprefix(MARK)) if left else None

    def _parsed(self, data: bytes) -> Any:
        """Return what the document says; one with a slip in it (a bad escape, a NaN) is read all the same."""
        try:
            return msgspec.json.decode(data)
        except RecursionError:
            self._note(1, ValueError("nested too deep"))
            return {}
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            first = error
        at = _AT_BYTE.search(str(first))
        line = data.count(b"\n", 0, int(at[1]) if at else len(data.rstrip())) + 1
        text = data.decode("utf-8", "replace")
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            pass
        try:
            found = json.loads(_ESCAPE.sub(lambda match: match[0] if match[1] else "\\\\", text), strict=False)
        except (ValueError, RecursionError):
            self._breaks = line
            return None
        self._note(line if at else 1, first)
        return found

    def _pieces(self, name: str, *, inside: bool) -> Iterator[Any]:
        """Yield a member, or the elements inside it, built one at a time."""
        import ijson  # type: ignore[import-untyped,unused-ignore]

        level, depth, member, wanted = 1 + inside, 0, "", False
        builder: Any = None
        try:
            with self._source.open() as stream:
                bounded = _Bounded(stream)
                for event, value in ijson.basic_parse(bounded, use_float=True):
                    bounded.left = _LONGEST
                    opens, closes = event in ("start_map", "start_array"), event in ("end_map", "end_array")
                    if event == "map_key" and depth == 1:
                        member = value
                        wanted = member == name and not inside
                    elif inside and depth == 1 and opens:
                        wanted = event == "start_array" and member == name
                    elif builder is None and wanted and depth == level and not closes:
                        builder = ijson.ObjectBuilder()
                    depth += opens - closes
                    if depth > _DEEPEST:
                        raise ValueError(f"nested more than {_DEEPEST} levels deep")
                    if builder is not None:
                        builder.event(event, value)
                        if depth == level and event != "map_key":
                            found, builder = builder.value, None
                            yield found
        except (ijson.JSONError, OSError, EOFError, zlib.error, SourceError, ValueError, OverflowError) as error:
            self._note(self._breaks, error)

    def _note(self, line: int, error: BaseException) -> None:
        why = " ".join((str(error) or type(error).__name__).split())[:200]
        if all(each.why != why for each in self.problems):
            self.problems.append(Broken(line, why))


class _Bounded:
    """A stream that gives up where the parser has read too far for one text."""

    def __init__(self, stream: Any):
        self._stream = stream
        self.left = _LONGEST

    def read(self, size: int = -1) -> bytes:
        if not size:
            return b""  # the parser asks for nothing to see of what kind it is
        if self.left < 0:
            raise SourceError(f"a text of more than {_LONGEST >> 20} MB")
        found: bytes = self._stream.read(min(size, _BLOCK) if size >= 0 else _BLOCK)
        self.left -= len(found)
        return found
