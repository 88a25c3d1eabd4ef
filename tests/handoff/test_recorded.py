"""Claims of recorded sessions against their own records: the tags that say something is wrong were read, and stay few."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unspin import events as ev
from unspin import records
from unspin.agents import Known, claude_code
from unspin.guard import Guard
from unspin.handoff.check import annotate, check
from unspin.handoff.ledger import Ledger

pytestmark = pytest.mark.corpora


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:  # cut when its secrets were taken out
                continue
            if isinstance(entry, dict) and isinstance(entry.get("message"), dict) and not entry.get("isSidechain"):
                yield entry


class _Session:
    """The payloads that a session's hooks would have got, and the records that they leave."""

    def __init__(self, home: str):
        self.home = home
        self.guard = Guard(project=home)
        self.kept: list[dict[str, Any]] = []
        self.calls: dict[str, dict[str, Any]] = {}
        self.done: list[dict[str, Any]] = []

    def send(self, event: str, **fields: Any) -> None:
        payload = {"session_id": "s", "cwd": self.home, "hook_event_name": event, **fields}
        incoming = claude_code.read(payload, Known(self.home, {}))
        for each in incoming.events if incoming else ():
            self.guard.observe(each)
            found = [row for judged in self.guard.judged for row in records.of_round(judged, self.guard.reader.place)]
            if isinstance(each, (ev.Message, ev.Compaction)):
                found.append(records.of_message(each, self.guard.index))
            self.kept += [{"event_index": index, "time": 0.0, "kind": kind, **data} for index, kind, data in found]

    def end_round(self) -> None:
        if self.done:
            self.send("PostToolBatch", tool_calls=self.done)
        self.done, self.calls = [], {}


def _texts(path: Path) -> Iterator[tuple[str, Ledger]]:
    """Yield each text that the agent wrote, with the ledger of its moment."""
    entries = list(_entries(path))
    session = _Session(next((each["cwd"] for each in entries if isinstance(each.get("cwd"), str)), "/p"))
    answer = ""
    for entry in entries:
        message = entry["message"]
        content = message.get("content")
        by_agent = message.get("role") == "assistant"
        if by_agent and message.get("id") != answer:
            session.end_round()
            answer = message.get("id")
        if isinstance(content, str) and not by_agent and not entry.get("isMeta"):
            session.send("UserPromptSubmit", prompt=content)
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                given = {"tool_name": block["name"], "tool_input": block.get("input", {}), "tool_use_id": block["id"]}
                session.calls[block["id"]] = given
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in session.calls:
                call = session.calls.pop(block["tool_use_id"])
                session.done.append({**call, "tool_response": block.get("content")})
            elif block.get("type") == "text" and by_agent:
                yield block["text"], Ledger.from_records(session.kept)


def test_tags_that_say_something_is_wrong_stay_few(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_code, "_look_at_files", lambda *_: None)  # they are not on this machine
    found: Counter[str] = Counter()
    for path in sorted((shared / "corpora" / "claude_code").glob("*.jsonl.gz")):
        for text, ledger in _texts(path):
            tags = check(text, ledger)
            found.update(tag.text.split(":")[0].strip("[]") if "not run" not in tag.text else "not run" for tag in tags)
            assert tags or annotate(text, tags) == text
    assert found["verified"] >= 200
    assert found["unverified"] >= 100  # half of all test runs are piped
    assert found["stale"] <= 6
    assert found["contradicted"] <= 1
    assert found["not run"] == 0
