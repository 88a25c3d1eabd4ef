"""Recorded sessions: nothing in them is unreadable, and what is counted agrees with a slow and simple count."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from unspin import cost
from unspin.cost.files import find

pytestmark = pytest.mark.corpora


def simple_count(files: list[Path]) -> dict[str, int]:
    """Count as one would by hand: the most output of each message id, whatever line it stands in."""
    best: dict[str, dict[str, int]] = {}
    for file in files:
        for line in gzip.decompress(file.read_bytes()).splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry.get("type") == "progress":
                entry = entry.get("data", {}).get("message") or {}
            if not isinstance(entry, dict) or entry.get("type") != "assistant" or "usage" not in entry["message"]:
                continue
            message = entry["message"]
            known = best.get(message["id"])
            if message["model"] != "<synthetic>" and (
                known is None or message["usage"]["output_tokens"] > known["output_tokens"]
            ):
                best[message["id"]] = message["usage"]
    keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return {"messages": len(best), **{key: sum(each[key] for each in best.values()) for key in keys}}


def test_recorded_sessions_are_counted_as_by_hand(shared: Path) -> None:
    files = sorted((shared / "corpora" / "claude_code").glob("*.jsonl.gz"))
    reading = cost.Reading()
    messages = reading.messages(find(str(each) for each in files))
    total = cost.report(messages, cost.known_prices(), cost.Report(cost.MODEL)).total
    assert (reading.skipped, reading.unread) == (0, [])
    assert total.messages > 1000 and not total.at_least and total.dollars > 100
    assert simple_count(files) == {
        "messages": total.messages,
        "input_tokens": total.input,
        "output_tokens": total.output,
        "cache_read_input_tokens": total.cache_read,
        "cache_creation_input_tokens": total.cache_write,
    }
