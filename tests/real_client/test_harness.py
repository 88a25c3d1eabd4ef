"""The harness itself: a scripted session with the real client, seen by a hook."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from real_client.harness import Client, read_jsonl
from real_client.scripted_model import Calls, Text, tool

pytestmark = pytest.mark.real_client

LOG_STDIN = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read().strip() + '\\n')"


def logging_hook(log: Path) -> dict[str, object]:
    command = {"type": "command", "command": sys.executable, "args": ["-I", "-S", "-c", LOG_STDIN, str(log)]}
    return {"hooks": [command]}


def test_a_scripted_call_is_run_and_a_hook_sees_it(client: Client, tmp_path: Path) -> None:
    log = tmp_path / "hooks.jsonl"
    client.write_settings(
        {"hooks": {event: [logging_hook(log)] for event in ("PreToolUse", "PostToolBatch")}}
    )

    result = client.run("say hello", [Calls(tool("Bash", command="echo hello-$((40 + 2))")), Text("done")])

    assert result.returncode == 0, result.explain()
    assert result.outcome["result"] == "done"
    assert not result.overruns and not result.unplayed, result.explain()
    before, batch = read_jsonl(log)
    assert before["hook_event_name"] == "PreToolUse"
    assert before["tool_input"]["command"] == "echo hello-$((40 + 2))"
    assert batch["tool_calls"][0]["tool_response"] == "hello-42"
    assert batch["session_id"] == result.session_id
    assert "hello-42" in result.texts_sent_to_model(1)
    assert "hello-42" not in result.texts_sent_to_model(0)
    assert str(result.transcript_path) == batch["transcript_path"]
    assert any(line.get("toolUseResult") for line in result.lines)
