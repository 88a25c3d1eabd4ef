"""install and uninstall: what they say, what they leave, and that dry runs change nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from unspin.paths import state_folder


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def person(own_home: Path) -> Path:
    return own_home / "config" / "unspin" / "unspin.toml"


def tree(folder: Path) -> dict[str, bytes]:
    """All files but the store's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "state.db" not in path.name
    }


def test_the_mode_is_always_told(unspin: Any, person: Path) -> None:
    assert "Mode: guard (the default)\n" in unspin("install", "claude-code").output
    assert (
        "Mode: nudge (in ~/config/unspin/unspin.toml)\n" in unspin("install", "claude-code", "--mode", "nudge").output
    )
    assert "Mode: nudge (in ~/config/unspin/unspin.toml)\n" in unspin("install", "claude-code").output
    Path("unspin.toml").write_text('mode = "observe"\n')
    said = unspin("install", "claude-code", "--mode", "guard").output
    assert "Mode: guard (in ~/config/unspin/unspin.toml)\n" in said and "In this folder: observe (in " in said
    said = unspin("install", "claude-code", "--project", "--mode", "nudge").output
    assert "Mode: nudge (set with unspin mode)\n" in said


def test_running_sessions_are_spoken_of(unspin: Any) -> None:
    assert "within about a second those that run already" in unspin("install", "claude-code").output


@pytest.mark.parametrize("where", ["--user", "--project"])
def test_a_dry_run_shows_all_changes_and_makes_none(unspin: Any, tmp_path: Path, person: Path, where: str) -> None:
    person.parent.mkdir(parents=True)
    person.write_text("[loop]\nfailing_edits = 4\n")
    before = tree(tmp_path)
    said = unspin("install", "claude-code", where, "--mode", "nudge", "--dry-run").output
    assert "Mode: nudge" in said and "now guard (the default)" in said
    assert ('+mode = "nudge"' in said) == (where == "--user")
    assert tree(tmp_path) == before
    assert ": guard" in unspin("mode").output


@pytest.mark.parametrize("text", ["[", "mode = 3 =", "\udcff"])
def test_a_settings_file_that_is_broken_is_not_written_over(unspin: Any, person: Path, text: str) -> None:
    person.parent.mkdir(parents=True)
    person.write_bytes(os.fsencode(text))
    said = unspin("install", "claude-code", "--mode", "nudge", status=1).stderr
    assert str(person) in said and "othing was changed" in said
    assert person.read_bytes() == os.fsencode(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'mode = "nudge"\n'),
        ('mode = "nudge"\n', 'mode = "nudge"\n'),
        ('"mode" = "guard"\r\n[loop]\r\n', 'mode = "nudge"\r\n[loop]\r\n'),
        ("log_only = []", 'mode = "nudge"\nlog_only = []\n'),
        ('log_only = [\n"bloat",\n]\n[loop]\n', 'mode = "nudge"\nlog_only = [\n"bloat",\n]\n[loop]\n'),
    ],
)
def test_the_mode_is_set_and_the_rest_stays(unspin: Any, person: Path, before: str, after: str) -> None:
    person.parent.mkdir(parents=True)
    person.write_bytes(before.encode())
    unspin("install", "claude-code", "--mode", "nudge")
    assert person.read_bytes().decode() == after


def test_what_cannot_be_changed_safely_is_left_to_the_person(unspin: Any, person: Path) -> None:
    person.parent.mkdir(parents=True)
    text = 'log_only = [\n[\n"x"]]\nmode = "guard"\n'
    person.write_text(text)
    said = unspin("install", "claude-code", "--mode", "nudge", status=1).stderr
    assert 'put mode = "nudge" into it' in said
    assert person.read_text() == text


@pytest.mark.parametrize("where", ["--user", "--project"])
def test_what_was_made_is_taken_away_again(unspin: Any, tmp_path: Path, own_home: Path, where: str) -> None:
    before = tree(tmp_path)
    unspin("install", "claude-code", where)
    said = unspin("uninstall", "claude-code", where).output
    assert "nothing else was in it: removed" in said
    assert not (own_home / ".claude").exists() and not Path(".claude").exists()
    left = {name for name in tree(tmp_path) if name not in before}
    assert left <= {"home/state/unspin/made.json"}, "no backup of what held nothing"


def test_a_file_of_the_persons_own_stays(unspin: Any, own_home: Path) -> None:
    settings = own_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}\n")
    unspin("install", "claude-code")
    unspin("uninstall", "claude-code")
    assert settings.read_text() == "{}\n"
    settings.unlink()
    unspin("install", "claude-code")
    document = json.loads(settings.read_text())
    settings.write_text(json.dumps({"model": "opus", **document}))
    unspin("uninstall", "claude-code")
    assert json.loads(settings.read_text()) == {"model": "opus"}


def test_one_backup_a_day_in_the_state_folder(unspin: Any) -> None:
    settings = Path(".claude/settings.local.json")
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}')
    said = unspin("install", "claude-code", "--project").output
    backups = Path(state_folder()) / "backups"
    (backup,) = backups.iterdir()
    assert f"Backup of what was there: {backup}" in said
    assert backup.read_text() == '{"model": "opus"}'
    assert backup.stat().st_mode & 0o77 == 0 and backups.stat().st_mode & 0o77 == 0
    assert "Backup" not in unspin("uninstall", "claude-code", "--project").output
    unspin("install", "claude-code", "--project")
    assert list(backups.iterdir()) == [backup] and backup.read_text() == '{"model": "opus"}'
    assert [each.name for each in settings.parent.iterdir()] == ["settings.local.json"]


def test_uninstalling_lists_what_stays(unspin: Any, own_home: Path) -> None:
    unspin("install", "claude-code", "--mode", "nudge")
    unspin("install", "claude-code", "--project")
    assert "Still installed: ~/.claude/settings.json" in unspin("uninstall", "claude-code", "--project").output
    said = unspin("uninstall", "claude-code").output
    assert "Left: state and backups in ~/state/unspin, settings in ~/config/unspin" in " ".join(said.split())
    assert f"rm -r {own_home}/state/unspin {own_home}/config/unspin" in said


def test_uninstalling_names_the_backup_beside_the_persons_settings(unspin: Any, own_home: Path) -> None:
    settings = own_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"model": "opus"}')
    unspin("install", "claude-code")
    (backup,) = settings.parent.glob("*backup*")
    said = unspin("uninstall", "claude-code").output
    assert f"~/.claude/{backup.name}" in said and str(backup) in said.splitlines()[-1]


def test_installing_twice_over_is_warned_of(unspin: Any) -> None:
    unspin("install", "claude-code")
    assert "installed more than once" in unspin("install", "claude-code", "--project").stderr


def test_a_store_that_is_broken_does_not_keep_the_hooks_out(unspin: Any, own_home: Path) -> None:
    path = Path(state_folder()) / "state.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no store at all" * 1000)
    assert "mv ~/" in unspin("install", "claude-code").stderr
    assert (own_home / ".claude" / "settings.json").exists()
    unspin("uninstall", "claude-code")


def test_a_file_in_the_place_of_the_folder(unspin: Any, own_home: Path) -> None:
    (own_home / ".claude").write_text("")
    assert "othing was changed" in unspin("install", "claude-code", status=1).stderr
    (own_home / ".claude").unlink()
    (own_home / ".claude" / "settings.json").mkdir(parents=True)
    assert "Is a directory" in unspin("install", "claude-code", status=1).stderr
