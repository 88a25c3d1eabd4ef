"""The commands as people and scripts use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from driver import Client
from unspin.cli.app import COMMANDS, app
from unspin.paths import state_folder

FAILURE = "E   TypeError: bad 'x'\nFAILED tests/test_a.py::test_a - TypeError: bad 'x'\n"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A session that spins and is refused, in the state folder that the commands use; we stand in its project."""
    agent = Client(tmp_path)
    agent.store.close()
    from unspin.store import Store

    agent.store = Store(state_folder())
    monkeypatch.chdir(agent.project)
    for _ in range(3):
        agent.round(agent.edit("a.py"))
        agent.round(agent.bash("pytest", FAILURE, 1))
    agent.before(agent.edit("a.py"))
    return agent


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments, prog_name="unspin")
    assert result.exit_code == status, result.output
    return result


def test_status_tells_mode_streaks_detections_and_blocks(session: Client) -> None:
    report = json.loads(run("status", "--json").output)
    assert report["session"] == session.session
    assert report["mode"] == "guard"
    assert report["refusing"] == ["a.py"]
    assert {"rule": "failing_edits", "about": "a.py", "count": 3, "threshold": 3} in report["streaks"]
    assert report["detections"] == {"failing_edits": 1, "recurring_error": 1}
    assert (report["nudges"], report["blocks"]) == (1, 1)
    text = run("status").output
    assert "refusing  edits of a.py" in text and "unspin release" in text


def test_status_from_a_folder_below_finds_the_session(session: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    below = session.project / "src" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert json.loads(run("status", "--json").output)["session"] == session.session


def test_the_log_has_one_object_a_line_with_the_fields_of_a_detection(session: Client) -> None:
    entries = [json.loads(line) for line in run("log", "--json").output.splitlines()]
    assert [(each["rule"], each["response"]) for each in entries] == [
        ("failing_edits", "nudge"),
        ("recurring_error", "none"),
        ("failing_edits", "block"),
    ]
    for each in entries:
        assert {
            "session",
            "rule",
            "identity",
            "count",
            "event_index",
            "message",
            "evidence",
            "response",
        } <= set(each)
        for seen in each["evidence"]:
            assert set(seen) == {"event_index", "tool", "file", "excerpt"}
    assert entries == [json.loads(line) for line in run("log", session.session[:8], "--json").output.splitlines()]
    assert "3 failing edits" in " ".join(run("log").output.split())


def test_release_lets_the_agent_edit_again(session: Client) -> None:
    assert "Released: a.py" in run("release").output
    assert session.before(session.edit("a.py")).status == 0
    assert "Nothing was being refused" in run("release").output


def test_a_muted_rule_is_logged_and_not_said(session: Client) -> None:
    run("mute", "failing_edits", "--file", "a.py")
    assert session.before(session.edit("a.py")).status == 0, "what stands is lifted"
    run("mute", "recurring_error")
    session.prompt()
    said = len(session.said)
    for _ in range(3):
        session.round(session.edit("a.py"))
        session.round(session.bash("pytest", FAILURE, 1))
    assert len(session.said) == said
    assert "No longer muted" in run("mute", "failing_edits", "--file", "a.py", "--off").output
    assert json.loads(run("status", "--json").output)["muted"] == [{"rule": "recurring_error", "file": ""}]


def test_the_mode_of_a_folder(session: Client) -> None:
    assert ": nudge" in run("mode", "nudge").output
    assert session.before(session.edit("a.py")).status == 0
    assert json.loads(run("status", "--json").output)["mode"] == "nudge"
    assert ": guard" in run("mode", "default").output


def test_forget_removes_a_session(session: Client) -> None:
    assert "3 log entries" in run("forget", session.session).output
    assert "no session was seen" in run("status", status=1).output


def test_a_folder_without_a_session_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "unspin install claude-code" in run("status", status=1).output
    assert "no session begins with abc" in run("log", "abc", status=1).output
    assert run("log", "--all", "--json").output == ""


def test_install_and_uninstall_by_their_commands(own_home: Path) -> None:
    path = own_home / ".claude" / "settings.json"
    assert "+" in run("install", "claude-code", "--dry-run").output
    assert not path.exists()
    assert "Installed" in run("install", "claude-code", "--mode", "nudge").output
    assert "PostToolBatch" in path.read_text()
    assert (own_home / "config" / "unspin" / "unspin.toml").read_text() == 'mode = "nudge"\n'
    assert "Already installed" in run("install", "claude-code").output
    assert "Uninstalled" in run("uninstall", "claude-code").output
    assert not path.exists(), "nothing else was in it"
    assert "Nothing of unspin" in run("uninstall", "claude-code").output


def test_installing_for_a_project_writes_its_local_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("install", "claude-code", "--project")
    assert "unspin" in (tmp_path / ".claude" / "settings.local.json").read_text()


def test_the_mode_in_the_persons_settings_is_set_without_touching_the_rest(own_home: Path) -> None:
    path = own_home / "config" / "unspin" / "unspin.toml"
    path.parent.mkdir(parents=True)
    path.write_text('# mine\nmode = "guard"\n[loop]\nfailing_edits = 4\n')
    run("install", "claude-code", "--mode", "observe")
    assert path.read_text() == 'mode = "observe"\n# mine\n[loop]\nfailing_edits = 4\n'


def test_check_records_the_real_outcome_of_a_script_that_hides_it(session: Client) -> None:
    script = session.project / "ci.sh"
    script.write_text("#!/bin/sh\necho 'TypeError: bad'\nexit 3\n")
    script.chmod(0o755)
    session.prompt()
    assert run("check", "--", "./ci.sh", status=3).output == "unspin: recorded as test: failed (3)\n"
    for number in range(3):
        run("check", "--", "./ci.sh", status=3)
        session.round(session.edit("a.py"))
        line = session.round(session.bash("unspin check -- ./ci.sh | tail -1", "TypeError: bad"))
        assert bool(line) == (number == 2)


def test_check_keeps_the_commands_own_output_and_status(session: Client) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unspin", "check", "--", "echo out; echo err >&2; exit 7"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert (done.stdout, done.stderr, done.returncode) == (
        "out\n",
        "err\nunspin: recorded as test: failed (7)\n",
        7,
    )
    assert (
        "command not found"
        in subprocess.run(
            [sys.executable, "-m", "unspin", "check", "--", "no-such-program", "x"],
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        ).stderr
    )


def test_a_wrong_setting_is_told_with_file_and_remedy(session: Client) -> None:
    (session.project / "unspin.toml").write_text("[loop]\nfailing_edits = 0\n")
    session.prompt()
    place, text = [(place, text) for _, place, text in session.store.faults()][-1]
    assert place == "settings"
    assert "unspin.toml" in text and "failing_edits = 0" in text and "a whole number from 1" in text


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_an_example(command: str) -> None:
    text = run(command, "--help").output
    assert "Examples:" in text and f"unspin {command}" in text


@pytest.mark.parametrize(("typed", "meant"), [("instal", "install"), ("rolback", "rollback"), ("docter", "doctor")])
def test_a_misspelt_command_is_answered_with_the_one_that_is_near(typed: str, meant: str) -> None:
    assert f"Did you mean '{meant}'?" in run(typed, status=2).output


def test_what_is_near_no_command_is_answered_with_none() -> None:
    said = run("xyzzy", status=2).output
    assert "xyzzy" in said and "Did you mean" not in said


def test_the_hook_of_an_agent_that_is_not_known_never_blocks(own_home: Path) -> None:
    for arguments in (["hook"], ["hook", "no-such-agent"], ["hook", "claude-code", "extra"]):
        done = subprocess.run(
            [sys.executable, "-m", "unspin", *arguments],
            input="{}",
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ),
        )
        assert (done.returncode, done.stdout) == (0, "")
