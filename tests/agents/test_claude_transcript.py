"""The context's size from the tail of a transcript that may be half written, huge, or not there."""

from __future__ import annotations

import json
from pathlib import Path

from driver import Client
from unspin.agents.claude_transcript import last_context


def entry(tokens: int, model: str = "claude-opus-5-5", **more: object) -> str:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": tokens - 30,
        "cache_creation_input_tokens": 15,
        "output_tokens": 5,
    }
    return json.dumps({"type": "assistant", "message": {"id": "m", "model": model, "usage": usage}, **more})


def test_the_last_model_message_of_the_main_agent_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [entry(100), entry(5000), entry(9999, isSidechain=True), '{"type": "user"}', '{"type": "assistant", "mess']
    path.write_text("\n".join(lines))
    assert last_context(str(path)) == (5000, 1_000_000)


def test_what_is_not_there_is_not_known(tmp_path: Path) -> None:
    assert last_context(str(tmp_path / "none")) is None
    assert last_context(str(tmp_path)) is None
    assert last_context("\x00") is None
    (tmp_path / "t").write_bytes(b"\xff\xfe\x00" * 1000)
    assert last_context(str(tmp_path / "t")) is None


def test_a_window_smaller_than_the_context_is_not_the_window(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(entry(250_000, "claude-sonnet-4-5"))
    assert last_context(str(path)) == (250_000, None)
    path.write_text(entry(100, "another-model"))
    assert last_context(str(path)) == (100, None)


def test_a_context_over_its_share_of_the_window_is_told_once(agent: Client) -> None:
    path = agent.project / "transcript.jsonl"
    path.write_text(entry(160_000, "claude-sonnet-4-5") + "\n")
    line = agent.batch(agent.read("a.py"), transcript_path=str(path))
    assert line == (
        "Unspin: the context holds 160,000 tokens. Finish the current step, "
        "then offer the user a handoff and a fresh session."
    )
    assert agent.batch(agent.read("b.py"), transcript_path=str(path)) == ""
