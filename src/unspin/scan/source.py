"""Opens what people point at: files, folders, globs, compressed ones, and remote ones where fsspec is installed.

Everything comes as a stream with bounds: a line, a document and what a compressed file
expands to have a largest size, so that no file takes more memory than another.
"""

from __future__ import annotations

import glob
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

from unspin.cost.lines import whole_characters

LONGEST_LINE = 16 << 20  # bytes of a line that is still read
LARGEST_EXPANSION = 200  # times the size of a compressed file, once it is over ...
EXPANSION_FROM = 1 << 30  # ... so many bytes
HEAD = 256 << 10  # bytes in which a format shows
_BLOCK = 256 << 10

#: How names end of files that could be transcripts; others in a folder are looked into.
NAMES = (".jsonl", ".json", ".traj", ".md", ".db", ".sqlite", ".ndjson")
_FIRST = 64  # bytes
_BEGINS = (
    b"{",
    b"[",
    b"# aider",
    b"# SpecStory",
    b"## SpecStory",
    b"<!--",
    b"SQLite format 3",
    b"Action at iteration ",
)
_CUT = "the file ends in the midst of its compression"
COMPRESSED = (".gz", ".zst", ".zstd")
MARK = b"\xef\xbb\xbf"  # with which some programs begin a file in UTF-8


class SourceError(Exception):
    """A file cannot be read; the text says why."""

    for_people = True


class Source:
    """One file. ``path`` is a local path, or a URL that fsspec knows."""

    __slots__ = ("_head", "path")

    def __init__(self, path: str):
        self.path = path
        self._head: bytes | None = None

    @property
    def remote(self) -> bool:
        return "://" in self.path

    @property
    def key(self) -> str:
        """What tells the file from others, whichever way it was named."""
        return self.path if self.remote else os.path.realpath(self.path)

    def open(self) -> IO[bytes]:
        """Open it as a binary stream of its content, expanded. Raises ``SourceError``."""
        try:
            return _expanded(_raw(self.path), self.path)
        except OSError as error:
            raise SourceError(error.strerror or str(error)) from None

    def head(self) -> bytes:
        """Return the beginning of the content."""
        if self._head is None:
            found, why = self.beginning(HEAD)
            if why and not found:
                raise SourceError(why)  # else it is told when it is read to there
            self._head = found
        return self._head

    def lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines in whole characters, with their numbers, from 1; ``None`` for one too long to be read.

        Raises ``SourceError`` where the file ends in the midst of its compression.
        """
        for number, line in self.raw_lines():
            yield number, line and whole_characters(line)

    def raw_lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the lines as they stand there, for a reader that sees by itself where one has half a character.

        Numbers and errors are those of ``lines``.
        """
        with self.open() as stream:
            number, parts, size, lost = 0, [b""], 0, False  # parts: of a line that goes on over blocks
            mark = MARK
            while True:
                try:
                    block = stream.read(_BLOCK)
                except (OSError, EOFError, zlib.error) as error:
                    raise SourceError(_words(error)) from None
                if not block:
                    break
                if mark:
                    block, mark = block.removeprefix(mark), b""
                first, *others = block.split(b"\n")
                if not lost:
                    parts.append(first)
                    size += len(first)
                    if size > LONGEST_LINE:
                        parts, lost = [], True
                if not others:
                    continue
                number += 1
                yield number, None if lost else b"".join(parts)
                last = others.pop()
                parts, size, lost = [last], len(last), False
                for line in others:
                    number += 1
                    yield number, line
            if lost or size:
                yield number + 1, None if lost else b"".join(parts)

    def whole(self, largest: int) -> bytes:
        """Return the whole content; raise ``SourceError`` where it is larger than ``largest`` bytes."""
        data, why = self.beginning(largest + 1)
        if why:
            raise SourceError(why)
        if len(data) > largest:
            raise SourceError(f"a document of more than {largest >> 20} MB in one piece")
        return data

    def beginning(self, largest: int) -> tuple[bytes, str]:
        """Return the content up to ``largest`` bytes, and what kept the rest from being read, empty if nothing did."""
        parts: list[bytes] = []
        why = ""
        with self.open() as stream:
            try:
                parts.extend(_blocks(stream, largest))
            except (OSError, EOFError, zlib.error) as error:
                why = _words(error)
        return whole_characters(b"".join(parts).removeprefix(MARK)), why

    def size(self) -> int:
        """Return its size as it lies there, 0 where that is not known."""
        if self.remote:
            return int(_filesystem(self.path).size(self.path) or 0)
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0


def find(
    paths: Iterable[str], *, since: float = 0, known: Callable[[Source], bool] = lambda source: False
) -> Iterator[Source]:
    """Yield the files that ``paths`` mean: themselves, those below a folder, those that a pattern fits.

    ``since`` leaves out files that were last written before. ``known`` is asked about files in a folder whose names
    do not say that they could be a transcript. Raises ``SourceError`` for a path that is not there and a pattern that
    fits nothing.
    """
    seen: set[str] = set()
    for given in paths:
        for path, sure in _meant(given):
            source = Source(path)
            if source.key in seen or (since > 0 and not source.remote and _written(path) < since):
                continue
            if sure or (_begins_like_one(source) and known(source)):
                seen.add(source.key)
                yield source


def _meant(given: str) -> Iterable[tuple[str, bool]]:
    """Return paths, each with whether it is to be read whatever it holds."""
    if "://" in given:
        return [(each, True) for each in _remote(given)]
    given = os.path.expanduser(given)
    if os.path.isdir(given):
        return _below(given)
    if os.path.exists(given):
        return [(given, True)]
    found = sorted(glob.glob(given, recursive=True))
    if not found:
        raise SourceError(f"{given}: no such file or folder, and no file fits it as a pattern")
    return (pair for each in found for pair in (_below(each) if os.path.isdir(each) else [(each, True)]))


def _below(folder: str) -> Iterator[tuple[str, bool]]:
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(base, name)
            if _may_end(path):
                yield path, is_candidate(name)


def _begins_like_one(source: Source) -> bool:
    """Tell by a few bytes whether a file could be a transcript: folders hold many that are none."""
    try:
        with source.open() as stream:
            return stream.read(_FIRST).removeprefix(MARK).lstrip().startswith(_BEGINS)
    except (OSError, EOFError, zlib.error, SourceError):
        return False


def _may_end(path: str) -> bool:
    """Tell whether a file in a folder is one to read: no pipe, socket or device, which may never end."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True  # a link to nothing: to be told of when it is opened


def _endless(path: str) -> str:
    """Return what a path is that would be waited for, or read for ever; empty where it is a file or nothing."""
    mode = os.stat(path).st_mode
    return "a pipe" if stat.S_ISFIFO(mode) else "a device" if stat.S_ISCHR(mode) else ""


def is_candidate(name: str) -> bool:
    """Tell whether a file could be a transcript, by its name."""
    for each in COMPRESSED:
        name = name.removesuffix(each)
    return name.endswith(NAMES)


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


# -- remote ----------------------------------------------------------------------------


def _filesystem(url: str) -> Any:
    try:
        import fsspec  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise SourceError(
            f"{url}: reading from there needs fsspec: pip install fsspec (and the library of its kind)"
        ) from None
    try:
        return fsspec.core.url_to_fs(url)[0]
    except Exception as error:  # whatever the library of that kind raises
        raise SourceError(f"{url}: {_words(error)}") from None


def _remote(url: str) -> list[str]:
    filesystem = _filesystem(url)
    pattern = any(char in url for char in "*?[")
    try:
        if pattern:
            found = filesystem.glob(url)
        elif filesystem.isdir(url):
            found = filesystem.find(url)
        else:
            return [url]
    except Exception as error:
        raise SourceError(f"{url}: {_words(error)}") from None
    if pattern and not found:
        raise SourceError(f"{url}: no file fits it as a pattern")
    names = [str(filesystem.unstrip_protocol(each)) for each in sorted(found)]
    return [each for each in names if is_candidate(each)] or names


def _raw(path: str) -> IO[bytes]:
    if "://" not in path:
        kind = _endless(path)
        if kind:
            raise SourceError(f"{kind}, which cannot be read from its beginning again: write it to a file first")
        return open(path, "rb")
    try:
        return _filesystem(path).open(path, "rb")  # type: ignore[no-any-return]
    except SourceError:
        raise
    except FileNotFoundError:
        raise SourceError("no such file") from None
    except Exception as error:
        raise SourceError(_words(error)) from None


# -- compressed ------------------------------------------------------------------------


def _expanded(raw: IO[bytes], path: str) -> IO[bytes]:
    """Return the stream, expanded where its first bytes say that it is compressed."""
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return _Bounded(_Gunzip(raw), raw, path)  # type: ignore[return-value]
    if magic == b"\x28\xb5\x2f\xfd":
        return _Bounded(_Unzstd(raw), raw, path)  # type: ignore[return-value]
    return raw


class _Gunzip:
    """Expands gzip as it is read, members one after another; never more than was asked for."""

    def __init__(self, raw: IO[bytes]):
        self._raw = raw
        self._expand = zlib.decompressobj(31)
        self._left = b""

    def read(self, size: int) -> bytes:
        while True:
            data = self._left or self._raw.read(64 << 10)
            if not data:
                if not self._expand.eof and self._expand.unconsumed_tail == b"" and self._begun:
                    raise EOFError(_CUT)
                return b""
            self._begun = True
            found = self._expand.decompress(data, size)
            self._left = self._expand.unconsumed_tail
            if self._expand.eof:
                rest = self._expand.unused_data.lstrip(b"\0")
                self._expand, self._left, self._begun = zlib.decompressobj(31), rest, False
            if found:
                return found

    _begun = False


class _Unzstd:
    """Expands zstd as it is read, frames one after another; the library's own reader takes a cut one for its end."""

    _FED = 512  # bytes at a time: four of them expand to 128 KB at most

    def __init__(self, raw: IO[bytes]):
        import zstandard

        self._raw = raw
        self._new = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj
        self._expand = self._new()
        self._block = self._left = memoryview(b"")
        self._begun = False

    def read(self, size: int) -> bytes:
        if not self._left:
            self._left = memoryview(self._more())
        found = bytes(self._left[:size])
        self._left = self._left[size:]
        return found

    def _more(self) -> bytes:
        """Return what comes next, empty at the end. Raises ``EOFError`` where a frame is cut, and the library's own."""
        while True:
            self._block = self._block or memoryview(self._raw.read(64 << 10))
            if not self._block:
                if self._begun:
                    raise EOFError(_CUT)
                return b""
            fed, self._block = self._block[: self._FED], self._block[self._FED :]
            self._begun = True
            found: bytes = self._expand.decompress(fed)
            if self._expand.eof:
                self._block = memoryview(self._expand.unused_data + bytes(self._block))
                self._expand, self._begun = self._new(), False
            if found:
                return found


class _Bounded:
    """A stream that ends with an error where a small file expands without end."""

    def __init__(self, stream: Any, raw: IO[bytes], path: str):
        self._stream = stream
        self._raw = raw
        self._read = 0
        self._most = max(
            EXPANSION_FROM, (os.path.getsize(path) if os.path.exists(path) else 1 << 40) * LARGEST_EXPANSION
        )

    def __enter__(self) -> _Bounded:
        return self

    def __exit__(self, *error: object) -> None:
        self._raw.close()

    def read(self, size: int) -> bytes:
        try:
            found: bytes = self._stream.read(size)
        except (EOFError, OSError, zlib.error):
            raise
        except Exception as error:  # the other library's own
            raise OSError(_words(error)) from None
        self._read += len(found)
        if self._read > self._most:
            raise OSError(f"it expands to more than {LARGEST_EXPANSION} times its size: it is not read further")
        return found

    def close(self) -> None:
        self._raw.close()


def _blocks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield what is in a stream, at most ``size`` bytes."""
    left = size
    while left and (part := stream.read(min(left, _BLOCK))):
        yield part
        left -= len(part)


def _words(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:300]
