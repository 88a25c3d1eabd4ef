"""Recorded payloads of real clients through the hook: no fault, nothing said where nothing is due."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unspin import live
from unspin.paths import state_folder
from unspin.store import Store

DEMO = Path(__file__).resolve().parents[2] / "demo" / "session.jsonl"


def documents(text: str) -> Iterator[Any]:
    """The JSON documents of a file: one, or one a line."""
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                yield line


def payloads_in(value: Any) -> Iterator[Any]:
    """What a fixture holds that a hook could be sent: the document, and objects one level into it."""
    yield value
    if isinstance(value, dict):
        for inner in value.values():
            if isinstance(inner, dict) and ("hook_event_name" in inner or "session_id" in inner):
                yield inner


def feed(value: Any, store: Store) -> tuple[str, str, int]:
    if not isinstance(value, dict):
        return "", "", 0  # the hook's process refuses it before: see test_process
    answer = live.handle("claude-code", value, store)
    return answer.stdout, answer.stderr, answer.status


@pytest.mark.corpora
def test_payloads_of_every_client_are_taken_in_silence(shared: Path) -> None:
    store = Store(state_folder())
    count = 0
    for path in sorted((shared / "protocols" / "payloads").glob("*.json*")):
        for document in documents(path.read_text("utf-8")):
            for value in payloads_in(document):
                out, err, status = feed(value, store)
                count += 1
                told = "resume_compact" in path.name and value.get("source") == "compact"
                assert (err, status) == ("", 0)
                assert bool(out) == told, (path.name, value, out)
    assert store.faults() == []
    assert count > 300


@pytest.mark.corpora
def test_fixtures_of_public_repositories_do_no_harm(shared: Path) -> None:
    store = Store(state_folder())
    for path in sorted((shared / "corpora" / "hooks").glob("*.gz")):
        text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
        for document in documents(text):
            for value in payloads_in(document):
                out, err, status = feed(value, store)
                assert (err, status) == ("", 0), path.name
                assert not out or "Unspin: the context is about to be compacted" in out, (path.name, out)
    assert store.faults() == []


@pytest.mark.corpora
def test_the_processes_themselves_say_nothing_either(shared: Path, own_home: Path) -> None:
    values = [
        document
        for path in sorted((shared / "protocols" / "payloads").glob("*.jsonl"))
        for document in documents(path.read_text("utf-8"))
    ]
    for value in values[:: max(1, len(values) // 25)]:
        done = subprocess.run(
            [sys.executable, "-m", "unspin", "hook", "claude-code"],
            input=json.dumps(value),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=dict(os.environ),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert not done.stdout or value.get("source") == "compact"
    assert Store(state_folder()).faults() == []


def test_the_recorded_session_gives_the_nudge_the_block_and_the_release() -> None:
    store = Store(state_folder())
    said = []
    for line in DEMO.read_text("utf-8").splitlines():
        payload = json.loads(line)
        answer = live.handle("claude-code", payload, store)
        if answer.stdout or payload["hook_event_name"] == "UserPromptSubmit":
            own = json.loads(answer.stdout)["hookSpecificOutput"] if answer.stdout else {}
            said.append((payload["hook_event_name"], "nudge" if "additionalContext" in own else answer.status))
    assert said == [
        ("UserPromptSubmit", 0),
        ("PostToolBatch", "nudge"),
        ("PreToolUse", 2),
        ("PreToolUse", 2),
        ("UserPromptSubmit", 0),
    ]
