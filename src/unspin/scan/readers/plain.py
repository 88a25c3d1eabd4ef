"""What readers of JSON have in common: values that are what they should be, times, and streams merged by them.

Whatever stands in a file may be of any type: these take what is right and leave out the rest.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from unspin import events as ev
from unspin.facts.digest import digest
from unspin.facts.files import absolute
from unspin.scan.items import Broken, Skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

_MAX_TEXT = 256_000  # characters of a file whose text is compared, as in the hook
_MOST = 1 << 53

#: What a decoder or a careless member access raises on content that is not as it should be.
WRONG = (msgspec.DecodeError, RecursionError, AttributeError, TypeError, KeyError, ValueError, OverflowError)

_decode = msgspec.json.Decoder().decode


def decode(data: bytes) -> Any:
    """Return what one JSON text says. Raises ``msgspec.DecodeError``, ``RecursionError`` or ``UnicodeDecodeError``."""
    return _decode(data)


def misfit(number: int, data: bytes, error: Exception) -> Broken | Skipped:
    """Return what a line is that does not have a reader's shape: JSON of another kind, or broken."""
    try:
        found = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return unlike(number, data, error)
    return Skipped(str(found.get("type", "?"))[:40] if isinstance(found, dict) else type(found).__name__)


def text(given: Any, *keys: str) -> str:
    """Return the first member of these names that is a text and not empty."""
    if isinstance(given, dict):
        for key in keys:
            value = given.get(key)
            if isinstance(value, str) and value:
                return value
    return ""


def mapping(given: Any, key: str) -> dict[str, Any]:
    """Return a member that is an object; an empty one where there is none."""
    value = given.get(key) if isinstance(given, dict) else None
    return value if isinstance(value, dict) else {}


def listing(given: Any, key: str) -> list[Any]:
    """Return a member that is a list; an empty one where there is none."""
    value = given.get(key) if isinstance(given, dict) else None
    return value if isinstance(value, list) else []


def whole(given: Any, key: str) -> int:
    """Return a member that is a count; 0 where it is none."""
    value = given.get(key) if isinstance(given, dict) else None
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else 0


def status(value: Any) -> int | None:
    """Return an exit status, ``None`` where the value is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 32 else None


def amount(given: Any, key: str) -> float | None:
    """Return a sum of money; ``None`` where there is none, or where nothing was reckoned."""
    value = given.get(key) if isinstance(given, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return None
    return float(value)


def moment(milliseconds: Any) -> str:
    """Return a time given in milliseconds as ISO text, empty where it is none."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return ""
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def kind(*parts: Any) -> Skipped:
    """Return what to count a skipped entry as."""
    return Skipped("/".join(each if isinstance(each, str) and each else "?" for each in parts)[:40])


def unlike(number: int, data: bytes, error: Exception) -> Broken:
    """Return what a line is that is no JSON."""
    return Broken(number, f"no JSON: {' '.join(str(error).split()).removeprefix('JSON is malformed: ')[:200]}")


def merged(streams: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """Yield the items of several streams by their times; each keeps its own order."""
    return heapq.merge(*(_stamped(each) for each in streams), key=lambda item: item[1])


def _stamped(items: Iterator[Item]) -> Iterator[Item]:
    last = ""
    for thing, when in items:
        last = max(last, when)
        yield thing, last


def note_texts(call: ev.ToolCall, path: str, before: Any, after: Any) -> None:
    """Add what a file held before and after an edit, where the transcript has it whole."""
    if not isinstance(after, str) or not path:
        return
    path = absolute(path, call.cwd)
    call.hashes = {path: digest(after)}
    for edit in call.edits:
        if absolute(edit.path, call.cwd) == path:
            edit.after = call.hashes[path]
            edit.before = digest(before) if isinstance(before, str) else edit.before
    if isinstance(before, str) and len(before) <= _MAX_TEXT and len(after) <= _MAX_TEXT:
        call.texts = {path: (before, after)}


class Round:
    """The results of one model response so far. ``name`` tells it from others where it has one."""

    __slots__ = ("agent", "context", "done", "name", "when")

    def __init__(self, agent: str = "", name: str = ""):
        self.agent = agent
        self.name = name
        self.context: ev.ContextSize | None = None
        self.done: list[ev.ToolResult] = []
        self.when = ""

    def close(self) -> Iterator[Item]:
        """Yield what the round came to: the size of the context, the results in their order, its end."""
        if not self.done:
            return
        if self.context is not None and not self.agent:
            yield self.context, self.when
        for result in sorted(self.done, key=lambda each: each.position):
            yield result, self.when
        yield ev.RoundEnd(self.agent), self.when
        self.done = []
