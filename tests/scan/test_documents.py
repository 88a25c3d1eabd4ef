"""One JSON document, whole and in pieces."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from unspin.scan import documents
from unspin.scan.documents import Document
from unspin.scan.source import Source

CONTENT = {
    "info": {"cost": 1.5, "of": ["a", {"b": None}], "items": [9]},
    "items": [1, "two", {"three": [3, {"deep": True}]}, [4, [5]], None, -0.25],
    "after": {"items": ["not these"]},
    "empty": [],
    "text": "items",
}


def document(folder: Path, text: str | bytes, name: str = "a.json") -> Document:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Document(Source(str(path)))


@pytest.fixture(params=["whole", "pieces"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pieces":
        monkeypatch.setattr(documents, "WHOLE", 8)
    return str(request.param)


def test_both_ways_say_the_same(tmp_path: Path, size: str) -> None:
    found = document(tmp_path, json.dumps(CONTENT, indent=1))
    assert list(found.each("items")) == CONTENT["items"]
    assert found.value("info") == CONTENT["info"]
    assert found.value("text") == "items"
    assert list(found.each("empty")) == [] and list(found.each("info")) == [] and list(found.each("none")) == []
    assert found.value("none") is None
    assert list(found.each("items")) == CONTENT["items"], "it can be asked again"
    assert found.problems == []


def test_a_document_that_breaks_off_is_read_up_to_there(tmp_path: Path, size: str) -> None:
    found = document(tmp_path, json.dumps({"items": [1, 2, {"three": 3}, 4]})[:-8])
    assert list(found.each("items"))[:2] == [1, 2]
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"items": [\n1,\n2,\n{"three"', 4), ('{"items": [\n1,\n2,\n{three', 4), ('\n{"items":\n[1, 2,, 3]}\n', 3)],
)
def test_where_a_small_document_breaks(tmp_path: Path, text: str, line: int) -> None:
    found = document(tmp_path, text)
    assert list(found.each("items"))[:2] == [1, 2]
    assert [each.line for each in found.problems] == [line]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"items": ["\\user", 2]}', True),
        ('{"items": [NaN, 2]}', False),
        ('{"items": ["a\x01\tb", 2]}', False),
        ('{"items": ["\\ud800", 2]}', False),
    ],
)
def test_a_slip_in_a_small_document_costs_nothing_else(tmp_path: Path, text: str, problem: bool) -> None:
    found = document(tmp_path, "\n" + text)
    assert list(found.each("items"))[1] == 2
    assert [each.line for each in found.problems] == ([2] if problem else [])


@pytest.mark.parametrize("text", ["", "[]", "7", '"x"', "null", "{", "nonsense", "[" * 100_000, '{"items":' * 100_000])
def test_other_content_is_a_problem_at_most(tmp_path: Path, size: str, text: str) -> None:
    found = document(tmp_path, text)
    assert list(found.each("items")) == [] and found.value("items") in (None, [])
    assert len(found.problems) <= 3


def test_invalid_bytes(tmp_path: Path, size: str) -> None:
    found = document(tmp_path, b'{"items": [1, "\xff\xfe", 3]}')
    assert next(iter(found.each("items"))) == 1


def test_a_compressed_one_that_ends_in_its_midst(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps({"items": [str(number) * 50 for number in range(20_000)]}).encode())
    found = document(tmp_path, data[: len(data) // 2], "a.json.gz")
    assert next(iter(found.each("items"))) == "0" * 50
    assert sum(1 for _ in found.each("items")) > 100
    assert found.problems


def test_memory_does_not_grow_with_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "WHOLE", 1 << 16)

    def peak(count: int) -> int:
        step = {"action": "ls", "observation": "x" * 2000}
        path = tmp_path / f"{count}.json"
        with path.open("w") as file:
            file.write('{"trajectory": [')
            for number in range(count):
                file.write(("," if number else "") + json.dumps(step))
            file.write('], "info": {"exit_status": "submitted"}}')
        tracemalloc.start()
        found = Document(Source(str(path)))
        assert sum(1 for _ in found.each("trajectory")) == count
        assert found.value("info") == {"exit_status": "submitted"}
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(10)
    assert peak(10_000) < 2 * peak(1_000) + 2_000_000


def test_one_text_that_is_too_long_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "WHOLE", 8)
    monkeypatch.setattr(documents, "_LONGEST", 1 << 20)
    found: Any = document(tmp_path, json.dumps({"items": [1, "x" * (3 << 20), 3]}))
    assert list(found.each("items")) == [1]
    assert "1 MB" in found.problems[0].why
