"""Recorded sessions as turns: what the agent said last in each, and the calls before it, read by the scan's own readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspin import events as ev
from unspin.agents import claude_code
from unspin.claims import Activity
from unspin.scan import formats
from unspin.scan.source import Source

CONTINUED = "This session is being continued from a previous conversation"


@dataclass(slots=True)
class Turn:
    """``text`` is what the agent wrote after its last call. ``carried`` is set from the moment on at which the
    session goes on from another one, or from before a summary: not all that was done is in the record."""

    number: int
    text: str = ""
    asked: str = ""
    carried: bool = False
    by_person: bool = True
    results: list[ev.ToolResult] = field(default_factory=list)


class _Tapped(Source):
    """A transcript that also shows its lines to somebody as they are read."""

    __slots__ = ("_tap",)

    def __init__(self, path: str, tap: Any):
        super().__init__(path)
        self._tap = tap

    def raw_lines(self) -> Iterator[tuple[int, bytes | None]]:
        for number, line in super().raw_lines():
            if line:
                self._tap(line)
            yield number, line


class _Said:
    """The text of the agent since its last call."""

    def __init__(self) -> None:
        self.text = ""
        self.every: list[str] = []  # all that it wrote, as it came
        self.carried = False
        self.calls: dict[str, ev.ToolCall] = {}  # of Claude Code: some results were cut with their secrets

    def __call__(self, line: bytes) -> None:
        try:
            entry = json.loads(line)
        except ValueError:  # cut when its secrets were taken out: what stood there may have been a call
            self.carried = self.carried or b'"type":"user"' not in line
            return
        if not isinstance(entry, dict) or entry.get("isSidechain"):
            return
        message = entry.get("payload") if isinstance(entry.get("payload"), dict) else entry.get("message", entry)
        if not isinstance(message, dict):
            return
        if CONTINUED.encode() in line and message.get("role") == "user":
            self.carried = True
        kind = message.get("type")
        if isinstance(kind, str) and kind.endswith("_call"):
            self.text = ""
        content = message.get("content")
        if message.get("role") != "assistant":
            return
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                self.text = ""
                call = claude_code.call_of(block["name"], block.get("input"), "/", "", call_id=block["id"])
                if call is not None:
                    self.calls[block["id"]] = call
            elif block.get("type") in ("text", "output_text"):
                self.every.append(block["text"])
                self.text = block["text"] if kind == "message" and "payload" in entry else self.text + block["text"]


def turns(path: Path) -> Iterator[Turn]:
    """Yield the turns of a session that end in words."""
    said = _Said()
    source = _Tapped(str(path), said)
    turn = Turn(1)
    for thing, _ in formats.reader(source).read(source):
        if isinstance(thing, ev.Message):
            yield _ended(turn, said)
            turn = Turn(turn.number + 1, asked=thing.text, by_person=thing.by_person)
            said.text = ""
        elif isinstance(thing, ev.ToolResult):
            turn.results.append(thing)
            said.calls.pop(thing.call.call_id, None)
    yield _ended(turn, said)


def moments(path: Path) -> Iterator[tuple[str, Activity]]:
    """Yield each text of a session, those amid its turns too, with the ledger of its moment.

    Calls that were made and have not answered by then are in it, with an outcome that is not known.
    """
    said = _Said()
    source = _Tapped(str(path), said)
    activity = Activity()
    activity.begin_turn()
    for thing, _ in formats.reader(source).read(source):
        if said.carried:
            activity.state["complete"] = False
        for text in said.every:
            now = Activity(state={**activity.state, "calls": list(activity.calls)})
            for call in said.calls.values():
                now.add(ev.ToolResult(call))
            yield text, now
        said.every.clear()
        if isinstance(thing, ev.Message):
            activity.begin_turn()
        elif isinstance(thing, ev.ToolResult):
            activity.add(thing)
            said.calls.pop(thing.call.call_id, None)


def _ended(turn: Turn, said: _Said) -> Turn:
    turn.text, turn.carried = said.text, said.carried
    turn.results += [ev.ToolResult(call) for call in said.calls.values()]  # how they ended is not known
    said.calls.clear()
    return turn


def sessions(shared: Path) -> Iterator[Path]:
    """Yield the recorded sessions of Claude Code and Codex."""
    for corpus in ("claude_code", "codex"):
        yield from sorted((shared / "corpora" / corpus).glob("*.jsonl.gz"))
