"""The plugin on the real client: it passes the client's own validation, installs, watches, and its commands run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from real_client.harness import Client
from real_client.scripted_model import Calls, Text, tool
from real_client.test_guard import CHECK, CODE, TEST, bash, edit, lines, loop, read, unspin

pytestmark = pytest.mark.real_client

ROOT = Path(__file__).resolve().parents[2]


def plugin(client: Client, *arguments: str) -> str:
    """What `claude plugin ...` prints."""
    done = subprocess.run(
        [str(client.executable), "plugin", *arguments],
        cwd=client.work,
        env=client.env(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def plugged(client: Client) -> Client:
    """The client with the plugin installed, and nothing of unspin in its settings' hooks."""
    plugin(client, "marketplace", "add", str(ROOT))
    plugin(client, "install", "unspin@unspin")
    client.write("shape.py", CODE)
    client.write("test_shape.py", TEST)
    return client


def spin(client: Client) -> list[str]:
    """What the model was told over three failing edits and a fourth."""
    script = [read(client), *loop(client, 3), Calls(edit(client, 3)), Text("I ask you.")]
    result = client.run("make it pass", script)
    assert not result.unplayed, result.explain()
    return lines(result)


def counted(client: Client) -> dict[str, Any]:
    """What unspin knows of the newest session."""
    return dict(json.loads(unspin(client, "status", "--json")))


def test_the_client_finds_nothing_wrong_with_plugin_and_marketplace(client: Client) -> None:
    for folder in (ROOT, ROOT / "plugins" / "claude-code"):
        assert "Validation passed" in plugin(client, "validate", "--strict", str(folder))


def test_the_plugin_nudges_and_refuses(plugged: Client) -> None:
    said = spin(plugged)
    assert len(said) == 2, said
    assert 'Unspin: loop (3 failing edits on "shape.py"' in said[0]
    assert 'Unspin: edit of "shape.py" refused: 3 failing edits' in said[1]
    assert "# 3" in (plugged.work / "shape.py").read_text()


def test_beside_hooks_in_the_settings_each_event_counts_once(plugged: Client) -> None:
    unspin(plugged, "install", "claude-code")
    assert len(spin(plugged)) == 2
    once = counted(plugged)
    assert (once["nudges"], once["blocks"]) == (1, 1)
    assert [each["count"] for each in once["streaks"] if each["rule"] == "failing_edits"] == [3]

    text = plugged.settings_path.read_text("utf-8")
    plugged.settings_path.write_text(text.replace(sys.executable, "/nowhere/python"), "utf-8")
    plugged.write("shape.py", CODE)
    assert len(spin(plugged)) == 2, "the settings' hooks are broken: the plugin does it"


def test_the_commands_run_and_what_they_say_reaches_the_model(plugged: Client) -> None:
    """Without --dangerously-skip-permissions: what a command runs is allowed by the command itself."""
    asked: list[Any] = []

    def allow(request: Any) -> Any:
        asked.append(request["input"])
        return {"behavior": "allow"}

    right = CODE.replace("w + h", "w * h")
    fix = tool("Edit", file_path=str(plugged.work / "shape.py"), old_string="w + h", new_string="w * h")
    spoil = tool("Bash", command="echo spoiled > shape.py")
    result = plugged.run(
        ["make it pass", "/unspin:status", "/unspin:rollback", "/unspin:rollback --undo", "/unspin:handoff"],
        [read(plugged), Calls(fix), bash(CHECK), Calls(spoil), Text("done"), *[Text("seen")] * 4],
        permission=allow,
    )
    assert not result.unplayed, result.explain()
    status, back, undone, handoff = (result.texts_sent_to_model(index) for index in range(5, 9))
    assert "mode      guard (the default)" in status and result.session_id in status
    assert "hooks     installed (as a plugin" in status
    assert "shape.py" in back and "shape.py" in undone, back + undone
    assert "make it pass" in handoff, handoff
    assert not [each for each in asked if "unspin" in str(each)]
    assert (plugged.work / "shape.py").read_text() == "spoiled\n"
    unspin(plugged, "rollback")
    assert (plugged.work / "shape.py").read_text() == right


def test_where_unspin_is_missing_the_plugin_is_silent_and_its_command_says_how_to_get_it(plugged: Client) -> None:
    path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
    result = plugged.run("go", [*loop(plugged, 1), Text("done")], extra_env=path)
    assert lines(result) == []
    result = plugged.run("/unspin:status", [Text("seen")], extra_env=path)
    assert "unspin is not on the PATH, so nothing is watched." in result.texts_sent_to_model(0)
