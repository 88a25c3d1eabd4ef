"""Recorded transcripts as the payloads that their hooks would have got, for tests that have them beside the project."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def payloads(path: Path, session: str) -> Iterator[dict[str, Any]]:
    """The person's prompts and the rounds of the main agent; a round is the calls of one model response."""
    open_calls: dict[str, dict[str, Any]] = {}
    done: list[dict[str, Any]] = []
    cwd = "/"
    for entry in _entries(path):
        message = entry.get("message")
        if entry.get("isSidechain") or not isinstance(message, dict):
            continue
        cwd = entry["cwd"] if isinstance(entry.get("cwd"), str) else cwd
        base = {"session_id": session, "transcript_path": "", "cwd": cwd}
        content = message.get("content")
        if isinstance(content, str):
            if message.get("role") == "user" and not entry.get("isMeta") and content.strip():
                yield {**base, "hook_event_name": "UserPromptSubmit", "prompt": content}
            continue
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                given = block.get("input", {})
                open_calls[block["id"]] = {"tool_name": block["name"], "tool_input": given, "tool_use_id": block["id"]}
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in open_calls:
                done.append({**open_calls.pop(block["tool_use_id"]), "tool_response": _text(block.get("content"))})
                if not open_calls:
                    yield {**base, "hook_event_name": "PostToolBatch", "tool_calls": done}
                    done = []


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:  # some were cut when their secrets were taken out
                continue
            if isinstance(entry, dict):
                yield entry


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(each.get("text", "") for each in content if isinstance(each, dict))
    return content if isinstance(content, str) else ""
