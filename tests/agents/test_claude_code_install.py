"""Installing into Claude Code's settings: merged, once, and taken out without a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unspin.agents import claude_code_install as installer
from unspin.agents.claude_code import HOOKS

PEOPLES = """{
    "model": "opus",  "env": {"A":"1", "B": "ü"},
    "hooks": {
        "PreToolUse": [ {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh"}]} ],
        "Stop": []
    },
    "permissions": { "allow": ["Bash(ls)", "Read"] }
}
"""


def install(path: Path) -> installer.Plan:
    plan = installer.plan_install(str(path))
    plan.apply()
    return plan


def uninstall(path: Path) -> None:
    installer.plan_uninstall(str(path)).apply()


def test_everything_else_is_kept_order_and_spacing_included(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(PEOPLES)
    install(path)
    settings = json.loads(path.read_text())
    assert list(settings) == ["model", "env", "hooks", "permissions"]
    assert settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "guard.sh"
    assert set(HOOKS) <= set(settings["hooks"])
    assert '"model": "opus",  "env": {"A":"1", "B": "ü"},' in path.read_text()
    assert '"permissions": { "allow": ["Bash(ls)", "Read"] }' in path.read_text()


def test_twice_is_the_same_as_once(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(PEOPLES)
    install(path)
    once = path.read_text()
    assert not install(path).changes
    assert path.read_text() == once


@pytest.mark.parametrize(
    "before", [PEOPLES, "{}", '{\n  "a": 1\n}\n', '{"hooks": {"Stop": [{"hooks": []}]}}', "{ }\r\n"]
)
def test_uninstalling_takes_out_exactly_that(tmp_path: Path, before: str) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(before.encode())
    install(path)
    uninstall(path)
    after = path.read_bytes().decode()
    assert after == before or (json.loads(before) == {} and json.loads(after) == {})


def test_an_older_entry_of_ours_is_replaced_and_its_neighbours_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    old = {
        "type": "command",
        "command": "/gone/python",
        "args": ["-c", "from unspin.hook import main; main()"],
    }
    settings = {"hooks": {"PreToolUse": [{"hooks": [old]}, {"hooks": [{"type": "command", "command": "mine"}]}]}}
    path.write_text(json.dumps(settings, indent=2))
    install(path)
    groups = json.loads(path.read_text())["hooks"]["PreToolUse"]
    assert [group["hooks"][0]["command"] for group in groups] == ["mine", sys.executable]


def test_a_backup_is_kept_and_the_mode_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(PEOPLES)
    path.chmod(0o600)
    backup = installer.plan_install(str(path)).apply()
    assert backup and Path(backup).read_text() == PEOPLES
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_linked_settings_file_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path = tmp_path / "settings.json"
    path.symlink_to(real)
    install(path)
    assert path.is_symlink() and "unspin" in real.read_text()


@pytest.mark.parametrize("broken", ["{", "[]", '{"hooks": 3}', '{"hooks": {"PreToolUse": {}}}', "{} // mine"])
def test_settings_that_cannot_be_read_are_left_alone_with_a_reason(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(broken)
    with pytest.raises(installer.InstallError, match=r"(?i)nothing was changed"):
        installer.plan_install(str(path))
    assert path.read_text() == broken


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("[]", "the file holds a list ([...]), expected an object ({...})"),
        ('"x"', 'the file holds "x", expected an object'),
        ('{"hooks": 3}', "hooks holds 3, expected an object"),
        ('{"hooks": null}', "hooks holds null, expected an object"),
        ('{"hooks": {"PreToolUse": {}}}', "hooks.PreToolUse holds an object ({...}), expected a list ([...])"),
        ('{"hooks": [{"PreToolUse": []}]}', "hooks holds a list ([...]), expected an object"),
        ('{\n  // mine\n  "a": 1\n}', "comments are not allowed in JSON (line 2 column 3)"),
        ('{"a": 1 /* mine */}', "comments are not allowed in JSON"),
        ('{"a": 1,}', "a comma before } is not allowed in JSON"),
        ('{"a": [1,\n]}', "a comma before ] is not allowed in JSON"),
        ("{'a': 1}", "line 1 column 2"),
    ],
)
def test_what_was_found_and_what_was_expected(tmp_path: Path, broken: str, said: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(broken)
    for plan in (installer.plan_install, installer.plan_uninstall):
        with pytest.raises(installer.InstallError) as raised:
            plan(str(path))
        assert said in str(raised.value) and "nothing was changed" in str(raised.value)


def test_a_file_that_is_linked_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.symlink_to(tmp_path / "dotfiles.json")
    install(path)
    uninstall(path)
    assert path.is_symlink() and json.loads(path.read_text()) == {}


def test_a_file_that_holds_only_our_entries_has_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    install(path)
    path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    assert installer.plan_install(str(path)).apply() is None
    assert installer.plan_uninstall(str(path)).apply() is None
    assert not path.exists()


def test_an_environment_that_will_vanish_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/x/.cache/uv/archive-v0/abc")
    with pytest.raises(installer.InstallError, match="uv tool install unspin"):
        installer.command()


def run_hook(entry: dict[str, object], payload: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [entry["command"], *entry["args"]]  # type: ignore[misc]
    return subprocess.run(
        command,
        input=payload,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=30,
        check=False,
    )


def test_the_installed_command_answers_and_is_short(own_home: Path) -> None:
    entry = installer.command()
    payload = {"session_id": "s", "cwd": "/", "hook_event_name": "PreCompact", "trigger": "auto"}
    assert run_hook(entry, json.dumps(payload)).stdout == ""
    payload = {"session_id": "s", "cwd": "/", "hook_event_name": "SessionStart", "source": "compact"}
    done = run_hook(entry, json.dumps(payload))
    assert "Unspin: the context" in done.stdout and done.stderr == "" and done.returncode == 0
    assert len(" ".join(entry["args"])) < 400  # the client shows it to the model after a compaction


@pytest.mark.parametrize("payload", ["", "{", "[]", "null", '"x"', "{}", '{"hook_event_name": 3}', "\x00\xff"])
def test_whatever_comes_in_nothing_goes_out(payload: str, own_home: Path) -> None:
    done = run_hook(installer.command(), payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_with_the_package_gone_the_agent_goes_on(own_home: Path) -> None:
    entry = installer.command()
    args = [each.replace("sys.path[:0]=[", "sys.path[:0]=['/nowhere'];[") for each in entry["args"]]
    done = run_hook({**entry, "args": args}, "{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
