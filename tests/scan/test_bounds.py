"""What a scan keeps does not grow with the file: lines over many blocks, broken ones, messages without end."""

from __future__ import annotations

import fnmatch
import gzip
import io
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
import zstandard

from unspin import Settings
from unspin.scan import formats, scanning, source
from unspin.scan.documents import Document
from unspin.scan.source import Source


def _line(number: int, kind: str = "assistant", **message: object) -> str:
    entry = {
        "type": kind,
        "sessionId": "s",
        "uuid": "u",
        "isSidechain": False,
        "cwd": "/shop",
        "timestamp": "2026-01-01",
    }
    return json.dumps({**entry, "message": message} if message else {**entry, "type": kind}) + "\n"


@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 39, 40, 41, 500])
def test_a_line_that_goes_on_over_blocks_is_put_together_or_lost_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(source, "_BLOCK", 10)
    monkeypatch.setattr(source, "LONGEST_LINE", 40)
    path = tmp_path / "a.jsonl"
    long = b"x" * length
    path.write_bytes(b"first\n" + long + b"\nlast\n\n" + long)
    found = [data for _, data in Source(str(path)).lines()]
    expected = long if length <= 40 else None
    if length <= 30 or length > 60:  # in between, whether it is lost depends on where blocks begin
        assert found[:4] == [b"first", expected, b"last", b""]
        assert found[4:] == ([expected] if length else [])
    assert [number for number, _ in Source(str(path)).lines()] == list(range(1, len(found) + 1))


def test_broken_lines_are_listed_up_to_a_bound_and_then_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "_MOST_ERRORS", 5)
    path = tmp_path / "a.jsonl"
    path.write_text(_line(0, content="x", role="user") + "{broken\n" * 12)
    result = scanning.scan(Source(str(path)), Settings())
    assert [each["line"] for each in result.errors] == [2, 3, 4, 5, 6]
    assert result.skipped["broken, not listed"] == 7


def test_kinds_of_lines_are_counted_apart_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_MOST_KINDS", 5)
    path = tmp_path / "a.jsonl"
    path.write_text(_line(0) + "".join(_line(number, f"kind {number}") for number in range(12)))
    result = scanning.scan(Source(str(path)), Settings())
    assert len(result.skipped) == 6
    assert sum(result.skipped.values()) == 13


def test_memory_does_not_grow_with_the_number_of_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_MOST_SEEN", 200)

    def peak(messages: int) -> int:
        path = tmp_path / "a.jsonl"
        with path.open("w") as file:
            for number in range(messages):
                call = {
                    "type": "tool_use",
                    "id": f"t{number}",
                    "name": "Bash",
                    "input": {"command": f"cat {number}.txt"},
                }
                usage = {"input_tokens": 5, "output_tokens": number}
                file.write(_line(number, id=f"m{number}", model="m", content=[call], usage=usage))
                done = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{number} " * 100}
                file.write(_line(number, "user", role="user", content=[done]))
        tracemalloc.start()
        result = scanning.scan(Source(str(path)), Settings())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert result.sessions[0].tool_calls == messages
        assert result.sessions[0].tokens == sum(range(messages)) + 5 * messages
        return most

    peak(100)  # what is loaded at the first time
    assert peak(6000) < peak(1500) * 1.3


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_mark_of_utf_8_is_no_part_of_the_first_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = b"\xef\xbb\xbf" + b'{"event": "message", "text": "Go."}\n'
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = scanning.scan(Source(str(path)), Settings())
    assert (found.errors, [each.events for each in found.sessions]) == ([], [1])


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (rb"cut \ud83d", rb"cut \ufffd"),
        (rb"\uDE00 cut", rb"\ufffd cut"),
        (rb"\ude00\ud83d", rb"\ufffd\ufffd"),
        (rb"\ud83d\ud83d\ude00", rb"\ufffd\ud83d\ude00"),
        (rb"whole \ud83d\ude00", rb"whole \ud83d\ude00"),
        (rb"whole \uD83D\uDE00\ud83d\ude00", rb"whole \uD83D\uDE00\ud83d\ude00"),
        (rb"said \\ud83d", rb"said \\ud83d"),
        (rb"said \\\ud83d", rb"said \\\ufffd"),
        (rb"not one \ud7ff \ue000", rb"not one \ud7ff \ue000"),
        (b"ends \\ud8", b"ends \\ud8"),
    ],
)
def test_half_a_character_does_not_cost_the_line(tmp_path: Path, given: bytes, read: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(given + b"\n" + given)
    assert [data for _, data in Source(str(path)).lines()] == [read, read]
    assert Source(str(path)).head() == read + b"\n" + read


def test_half_a_character_in_a_document_is_read_as_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + rb'{"a": "cut \ud83d"}')
    document = Document(Source(str(path)))
    assert (document.value("a"), document.problems) == ("cut \ufffd", [])


def test_a_pipe_in_a_folder_is_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "a.jsonl").write_text("x")
    (tmp_path / "nothing.jsonl").symlink_to("nowhere")
    assert [Path(each.path).name for each in source.find([str(tmp_path)])] == ["a.jsonl", "nothing.jsonl"]


def test_a_pile_of_files_that_were_looked_into_is_not_held_in_memory(tmp_path: Path) -> None:
    line = json.dumps({"event": "session", "session": "x", "text": "y" * 200_000})
    for number in range(20):
        (tmp_path / f"{number}.bak").write_text(line)
    assert len(list(formats.find([str(tmp_path)]))) == 20  # the readers are loaded by that
    tracemalloc.start()
    try:
        found = list(formats.find([str(tmp_path)]))
        assert len(found) == 20 and tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


class _Remote:
    """As much of a file system of fsspec's as is asked."""

    files: ClassVar[dict[str, bytes]] = {"/logs/a.jsonl": b'{"event": "message"}\n', "/logs/b.png": b"\x89"}

    def glob(self, url: str) -> list[str]:
        return [each for each in self.files if fnmatch.fnmatch(f"mem:/{each}", url)]

    def find(self, url: str) -> list[str]:
        return [each for each in self.files if f"mem:/{each}".startswith(url)]

    def isdir(self, url: str) -> bool:
        return url.endswith("/logs")

    def unstrip_protocol(self, path: str) -> str:
        return f"mem:/{path}"

    def open(self, url: str, mode: str) -> io.BytesIO:
        if url.removeprefix("mem:/") not in self.files:
            raise FileNotFoundError(url)
        return io.BytesIO(self.files[url.removeprefix("mem:/")])


@pytest.mark.parametrize(
    ("given", "found", "told"),
    [
        ("mem://logs", ["mem://logs/a.jsonl"], ""),
        ("mem://logs/*.js*", ["mem://logs/a.jsonl"], ""),
        ("mem://logs/*.traj", [], "no file fits it as a pattern"),
        ("mem://logs/none", ["mem://logs/none"], "no such file"),
    ],
)
def test_remote_files(monkeypatch: pytest.MonkeyPatch, given: str, found: list[str], told: str) -> None:
    monkeypatch.setattr(source, "_filesystem", lambda url: _Remote())
    paths, errors = [], ""
    try:
        for each in source.find([given]):
            paths.append(each.path)
            result = scanning.scan(each, Settings())
            errors += "".join(error["error"] for error in result.errors)
    except source.SourceError as error:
        errors = str(error)
    assert paths == found and told in errors and bool(told) == bool(errors)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("count", [3, 20_000])
@pytest.mark.parametrize("cut", [1, 5, 40])
def test_of_a_compressed_file_that_breaks_off_the_rest_is_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], count: int, cut: int
) -> None:
    ids = [os.urandom(300).hex() for _ in range(count)]  # little of it can be compressed
    data = pack("".join(json.dumps({"event": "message", "text": each}) + "\n" for each in ids).encode())
    path = tmp_path / "run"
    path.write_bytes(data[:-cut])
    found = scanning.scan(Source(str(path)), Settings())
    assert [each["error"] for each in found.errors] == ["the file ends in the midst of its compression"]
    if count > 3 or pack is gzip.compress:  # of a frame of one block, all is lost with its end
        assert found.sessions[0].events >= count - 300
    assert not scanning.scan(_whole(path, data), Settings()).errors


def _whole(path: Path, data: bytes) -> Source:
    path.write_bytes(data)
    return Source(str(path))


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_parts_one_after_another_are_one_file(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    source = _whole(tmp_path / "x", b"".join(pack(each) for each in (b"a\n", b"", b"b\n" * 5000, b"c")))
    assert b"".join((data or b"") + b"\n" for _, data in source.lines()) == b"a\n" + b"b\n" * 5000 + b"c\n"


def test_a_little_of_zstd_that_expands_without_end_is_read_in_pieces(tmp_path: Path) -> None:
    source = _whole(tmp_path / "x", zstandard.compress(bytes(300 << 20)))
    tracemalloc.start()
    assert sum(1 for _ in source.lines()) == 1
    assert tracemalloc.get_traced_memory()[1] < 60 << 20
    tracemalloc.stop()
