"""The status line in the real client's terminal: below the person's own, with what is known of the session."""

from __future__ import annotations

import json

import pytest

from real_client.harness import Client
from real_client.scripted_model import Calls, Text, tool
from real_client.terminal import Terminal
from real_client.test_guard import unspin

pytestmark = pytest.mark.real_client


def test_it_stands_below_the_persons_own_and_follows_the_session(client: Client) -> None:
    own = "printf '\\033[35mMY OWN\\033[0m LINE\\n'; cat > \"$HOME\"/payload.json"
    client.write_settings({"statusLine": {"type": "command", "command": own, "padding": 1}})
    unspin(client, "install", "claude-code", "--statusline")
    script = [Calls(tool("Write", file_path=str(client.work / "a.py"), content="x = 1\n")), Text("ready")]
    with Terminal(client, script) as terminal:
        terminal.wait_for("unspin guard")
        assert "MY OWN LINE" in terminal.shown
        assert b"\x1b[35mMY OWN" in terminal.written
        terminal.type("write it")
        terminal.wait_for(" · 1 edit, nothing passed yet")  # only what is new in the line is written
    payload = json.loads((client.home / "payload.json").read_text("utf-8"))
    assert {"session_id", "workspace", "cost", "context_window"} <= payload.keys()
    unspin(client, "uninstall", "claude-code")
    settings = json.loads(client.settings_path.read_text("utf-8"))  # the client writes into it too
    assert settings["statusLine"] == {"type": "command", "command": own, "padding": 1}
    assert "hooks" not in settings
