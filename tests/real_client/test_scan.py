"""A session seen live and its transcript give the same detections."""

from __future__ import annotations

import json
from typing import Any

import pytest

from real_client.harness import Client
from real_client.scripted_model import Calls, Text, tool
from real_client.test_guard import CHECK, CODE, TEST, bash, loop, read, unspin

pytestmark = pytest.mark.real_client

FIELDS = ("rule", "identity", "count", "event_index", "file", "message", "response")


def test_live_and_transcript_agree(client: Client) -> None:
    (client.config_home / "unspin").mkdir()
    (client.config_home / "unspin" / "unspin.toml").write_text('mode = "nudge"\n[bloat]\ntool_output_kb = 5\n')
    unspin(client, "install", "claude-code")
    client.write("shape.py", CODE)
    client.write("test_shape.py", TEST)
    refused = tool("Edit", file_path=str(client.work / "shape.py"), old_string="not there", new_string="x")
    result = client.run(
        ["make it pass", "try again", "and once more"],
        [
            read(client),
            *loop(client, 3),
            Calls(refused),
            Calls(refused, tool("Bash", command="ls")),
            Calls(refused),
            Text("I ask you."),
            *loop(client, 3, first=3),
            bash("seq 2000"),
            *(bash("cat test_shape.py") for _ in range(3)),
            Text("Done."),
            bash(CHECK),
            Calls(
                tool("Edit", file_path=str(client.work / "test_shape.py"), old_string="5), 10)", new_string="5), 7)")
            ),
            read(client, "test_shape.py"),
            Calls(
                tool("Edit", file_path=str(client.work / "test_shape.py"), old_string="5), 10)", new_string="5), 7)")
            ),
            bash(CHECK),
            Text("It passes."),
        ],
    )
    assert not result.unplayed, result.explain()
    live = [json.loads(line) for line in unspin(client, "log", "--json").splitlines()]
    assert {"failing_edits", "rejected_edits", "bloat", "repeated_action", "tampering"} <= {
        each["rule"] for each in live
    }
    seen = unspin(client, "scan", str(result.transcript_path), "--jsonl")
    scanned = [json.loads(line) for line in seen.splitlines()]
    assert [_compared(each) for each in scanned] == [_compared(each) for each in live]
    assert {each["session"] for each in scanned} == {result.session_id}


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    return {field: found[field] for field in FIELDS}
