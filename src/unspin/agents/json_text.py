"""Changing one place in a JSON text and leaving every other byte as it was.

People's settings files have an order, an indent and lines of their own. Parsing and
writing them again would lose those, so members are put in and taken out in the text.
"""

from __future__ import annotations

import json
from json.decoder import JSONDecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DECODER = JSONDecoder()


class Value:
    """A value in the text: where it stands, and for containers what is inside.

    ``items`` are ``(key, key start, value)`` of an object, or ``(number, start, value)`` of
    an array.
    """

    __slots__ = ("end", "items", "kind", "start")

    def __init__(self, kind: str, start: int, end: int, items: list[tuple[Any, int, Value]]):
        self.kind = kind
        self.start = start
        self.end = end
        self.items = items

    def get(self, key: Any) -> Value | None:
        """Return the member or element called ``key``; of double keys the last, as JSON has it."""
        return next((value for name, _, value in reversed(self.items) if name == key), None)


def parse(text: str) -> Value:
    """Return the structure of a JSON text; raise ``ValueError`` where it is none."""
    json.loads(text)  # its errors say line and column
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _value(text: str, start: int) -> Value:
    opening = text[start]
    if opening not in "{[":
        return Value("scalar", start, _DECODER.raw_decode(text, start)[1], [])
    items: list[tuple[Any, int, Value]] = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        key: Any = len(items)
        place = at
        if opening == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value = _value(text, at)
        items.append((key, place, value))
        at = _skip(text, value.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Value("object" if opening == "{" else "array", start, at + 1, items)


def indent_of(text: str) -> str:
    """Return the indent that the text uses for one level; two spaces where it shows none."""
    for line in text.splitlines()[1:]:
        stripped = line.lstrip(" \t")
        if stripped and line != stripped:
            return line[: len(line) - len(stripped)]
    return "  "


def append(text: str, container: Value, value: Any, key: str | None = None) -> str:
    """Return the text with a member or an element added at the end of a container."""
    indent = indent_of(text)
    base = _line_indent(text, container.start)
    body = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{base}{indent}")
    if key is not None:
        body = f"{json.dumps(key, ensure_ascii=False)}: {body}"
    if container.items:
        last = container.items[-1][2].end
        return f"{text[:last]},\n{base}{indent}{body}{text[last:]}"
    return f"{text[: container.start + 1]}\n{base}{indent}{body}\n{base}{text[container.end - 1 :]}"


def remove(text: str, container: Value, number: int) -> str:
    """Return the text without the container's item of that number, counted from 0."""
    items = container.items
    if len(items) == 1:
        return text[: container.start + 1] + text[container.end - 1 :]
    if number + 1 < len(items):
        return text[: items[number][1]] + text[items[number + 1][1] :]
    return text[: items[number - 1][2].end] + text[items[number][2].end :]


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
