"""status, doctor and uninstall know of the plugin, as the client keeps one that is installed."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def folder(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The client's own folder, with the plugin; an unspin on the PATH; the person stands in a project."""
    client = own_home / ".claude"
    copy = client / "plugins" / "cache" / "unspin" / "unspin" / "0.1.0"
    shutil.copytree(ROOT / "plugins" / "claude-code", copy)
    installed = {"version": 2, "plugins": {"unspin@unspin": [{"scope": "user", "installPath": str(copy)}]}}
    (client / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
    (client / "settings.json").write_text('{"enabledPlugins": {"unspin@unspin": true}}')
    program = tmp_path / "bin" / "unspin"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom unspin.cli import main\nmain()\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    (tmp_path / "project" / ".claude").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return client


def doctor(unspin: Run, status: int = 0) -> list[tuple[str, str, str]]:
    lines = map(json.loads, unspin("doctor", "--json", status=status).output.splitlines())
    return [(each["state"], each["about"], each["text"]) for each in lines]


def about(found: list[tuple[str, str, str]], *subjects: str) -> list[tuple[str, str, str]]:
    return [each for each in found if each[1] in subjects]


def hooks(unspin: Run) -> dict[str, Any]:
    return dict(json.loads(unspin("status", "--json", status=1).stdout)["hooks"][0])


def test_with_the_plugin_alone_all_is_well(unspin: Run, folder: Path) -> None:
    found = doctor(unspin)
    assert not [each for each in found if each[0] != "ok"]
    assert "answered with a block" in about(found, "synthetic loop")[0][2]
    assert hooks(unspin)["state"] == "installed"
    assert hooks(unspin)["plugin"] == str(folder / "settings.json")
    assert "installed (as a plugin, in ~/.claude/settings.json)" in " ".join(unspin("status", status=1).stdout.split())


def test_with_hooks_in_the_settings_too_nothing_is_wrong_and_those_are_used(unspin: Run) -> None:
    unspin("install", "claude-code")
    found = doctor(unspin)
    assert not [each for each in found if each[0] != "ok"]
    assert "it is silent, the settings' hooks are used" in about(found, "plugin")[0][2]
    text = " ".join(unspin("status", status=1).stdout.split())
    assert "installed (~/.claude/settings.json, the plugin beside it is silent)" in text
    assert "Still installed: the plugin" in unspin("uninstall", "claude-code").output


def test_hooks_in_the_settings_that_cannot_work_are_a_note(unspin: Run, folder: Path) -> None:
    unspin("install", "claude-code")
    settings = folder / "settings.json"
    settings.write_text(settings.read_text().replace(sys.executable, "/nowhere/python"))
    found = doctor(unspin)
    assert [each[1] for each in found if each[0] != "ok"] == ["interpreter"]
    assert "it answers what these hooks cannot" in about(found, "plugin")[0][2]
    assert hooks(unspin)["state"] == "installed"


def test_without_unspin_on_the_path_the_plugin_does_nothing(unspin: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = doctor(unspin, status=1)
    assert [each[1:] for each in found if each[0] == "wrong"] == [
        ("plugin", "there is no unspin on the PATH: the plugin is silent, the agent goes on")
    ]


@pytest.mark.parametrize("off", ["disabled", "disabled here", "not installed"])
def test_a_plugin_that_is_off_is_not_installed(off: str, unspin: Run, folder: Path) -> None:
    if off == "not installed":
        (folder / "plugins" / "installed_plugins.json").write_text('{"version": 2, "plugins": {"x@unspin": [{}]}}')
    else:
        path = folder / "settings.json" if off == "disabled" else Path(".claude/settings.local.json")
        path.write_text('{"enabledPlugins": {"unspin@unspin": false}}')
    assert ("wrong", "hooks", "unspin is not installed: no settings file starts it") in doctor(unspin, status=1)
    assert hooks(unspin)["state"] == "not installed"


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"plugins": []}', '{"plugins": {"unspin@unspin": [{"installPath": 3}, 4]}}']
)
def test_odd_lists_of_the_client_do_no_harm(text: str, unspin: Run, folder: Path) -> None:
    (folder / "plugins" / "installed_plugins.json").write_text(text)
    assert hooks(unspin)["state"] == "not installed"
    (folder / "settings.json").write_text('{"enabledPlugins": ["unspin@unspin"]}')
    assert hooks(unspin)["state"] == "not installed"
