"""The doctor finds what keeps unspin from working, and says what to do."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from unspin.cli.app import app
from unspin.paths import state_folder


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments, prog_name="unspin")


def doctor() -> list[dict[str, str]]:
    result = run("doctor", "--json")
    found = [json.loads(line) for line in result.output.splitlines()]
    assert result.exit_code == int(any(each["state"] == "wrong" for each in found)), result.output
    return found


def wrong() -> list[dict[str, str]]:
    return [each for each in doctor() if each["state"] == "wrong"]


@pytest.fixture(autouse=True)
def installed(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    run("install", "claude-code")
    return own_home / ".claude" / "settings.json"


def test_all_is_well_and_a_loop_is_answered_with_a_block() -> None:
    found = doctor()
    assert [each for each in found if each["state"] != "ok"] == []
    assert any(each["about"] == "synthetic loop" and "block" in each["text"] for each in found)


def test_not_installed(installed: Path) -> None:
    installed.unlink()
    assert [(each["about"], each["remedy"]) for each in wrong()] == [("hooks", "Run: unspin install claude-code")]


def test_installed_twice_counts_every_event_twice() -> None:
    run("install", "claude-code", "--project")
    assert "more than once" in wrong()[0]["text"]


def test_the_interpreter_is_gone(installed: Path) -> None:
    settings = json.loads(installed.read_text())
    for groups in settings["hooks"].values():
        groups[0]["hooks"][0]["command"] = "/gone/python"
    installed.write_text(json.dumps(settings))
    assert [each["about"] for each in wrong()] == ["interpreter"]


def test_the_environment_is_gone(installed: Path) -> None:
    installed.write_text(installed.read_text().replace("sys.path[:0]=[", "sys.path[:0]=['/gone'];["))
    assert [each["about"] for each in wrong()] == ["synthetic loop"]


def test_hooks_that_are_switched_off(installed: Path) -> None:
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in wrong()[0]["text"]


def test_settings_with_their_origin_and_a_wrong_one() -> None:
    Path("unspin.toml").write_text("[loop]\nfailing_edits = 4\n")
    assert any("loop.failing_edits = 4" in each["text"] and "unspin.toml" in each["text"] for each in doctor())
    Path("unspin.toml").write_text("[loop]\nfailing_edit = 4\n")
    assert 'Did you mean "loop.failing_edits"' in wrong()[0]["text"]


def test_a_store_that_is_no_store_or_a_newer_one() -> None:
    doctor()
    path = Path(state_folder()) / "state.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert "newer unspin" in wrong()[0]["text"]
    for each in path.parent.iterdir():
        each.unlink()
    path.write_bytes(b"no store at all" * 1000)
    assert [each["about"] for each in wrong()] == ["store"]


def test_recent_faults_are_shown() -> None:
    from unspin.store import record_fault

    record_fault(state_folder(), "somewhere.py:3", "ValueError: odd")
    assert any(each["about"] == "fault" and "ValueError: odd" in each["text"] for each in doctor())
