"""unspin statusline: one short line whatever comes in; reads and never writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import FAILURE, Run
from driver import Client
from unspin.cli.statusline import line_of
from unspin.paths import state_folder
from unspin.store import Store

PASSED = "1 passed in 0.01s\n"


def payload(agent: Client, **more: Any) -> dict[str, Any]:
    """As the client sends it, with fields of its own."""
    return {
        "session_id": agent.session,
        "cwd": str(agent.project),
        "workspace": {"current_dir": str(agent.project), "project_dir": str(agent.project)},
        "cost": {"total_cost_usd": 0, "total_lines_added": 3},
        "context_window": {"used_percentage": None, "context_window_size": 200_000},
        **more,
    }


@pytest.fixture
def working(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A session in the state folder that the commands use."""
    agent = Client(tmp_path)
    agent.store.close()
    agent.store = Store(state_folder())
    monkeypatch.chdir(agent.project)
    return agent


def test_what_is_known_stands_in_one_line(working: Client) -> None:
    working.round(working.bash("pytest", PASSED))
    for name in ("a.py", "b.py", "a.py"):
        working.round(working.edit(name))
    shown = payload(working, context_window={"used_percentage": 45}, cost={"total_cost_usd": 1.2345})
    assert line_of(shown) == "unspin guard · 3 edits since tests passed · context 45% · $1.23"


def test_a_standing_block_is_shown(spinning: Client, unspin: Run) -> None:
    assert line_of(payload(spinning)) == "unspin guard · refusing a.py · 3 edits, nothing passed yet"
    unspin("mode", "nudge")
    assert line_of(payload(spinning)) == "unspin nudge · 3 edits, nothing passed yet"
    unspin("mode", "guard")
    spinning.prompt("go on")
    assert line_of(payload(spinning)) == "unspin guard · 3 edits, nothing passed yet"


def test_what_counts_as_an_edit_and_as_a_pass(working: Client) -> None:
    def line() -> str:
        return line_of(payload(working)).removeprefix("unspin guard").removeprefix(" · ")

    assert line() == ""
    working.round(working.bash("ls", "a.py"))
    assert line() == ""
    working.round(working.edit("a.py"))
    working.round(working.bash("pytest | tail", PASSED))
    assert line() == "1 edit, nothing passed yet"
    working.round(working.bash("ruff check", "All checks passed!"))
    assert line() == "1 edit, nothing passed yet"
    working.round(working.bash("mypy src", "Success: no issues found in 3 source files"))
    assert line() == "types passed"
    working.round(working.edit("a.py"))
    assert line() == "1 edit since types passed"
    working.round(working.edit("a.py"), working.bash("pytest", PASSED))
    assert line() == "tests passed"
    working.round(working.bash("sed -i s/a/b/ a.py"))
    working.round(working.bash("mypy src", "Success: no issues found in 3 source files"))
    assert line() == "1 edit since tests passed"
    refused = working.edit("a.py")
    refused["tool_response"] = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
    working.round(refused)
    assert line() == "1 edit since tests passed"
    working.round(working.bash("pytest", FAILURE, 1))
    assert line() == "1 edit since tests passed"


def test_a_rollback_begins_the_count_again(working: Client, unspin: Run) -> None:
    working.checkpoints = True
    (working.project / "a.py").write_text("a = 1\n")
    working.prompt("fix it")
    working.round(working.bash("pytest", PASSED))
    (working.project / "a.py").write_text("a = 2\n")
    working.round(working.edit("a.py"))
    assert line_of(payload(working)) == "unspin guard · 1 edit since tests passed"
    unspin("rollback")
    assert line_of(payload(working)) == "unspin guard · rolled back to c2"
    working.round(working.edit("a.py"))
    assert line_of(payload(working)) == "unspin guard · 1 edit since the rollback to c2"
    unspin("rollback", "--undo")
    assert line_of(payload(working)) == "unspin guard · rollback undone"
    working.round(working.bash("pytest", PASSED))
    assert line_of(payload(working)) == "unspin guard · tests passed"


def test_odd_names_are_shown_short_and_clean(working: Client) -> None:
    name = "x" * 60 + "\x1b[31m.py"
    (working.project / name).write_text("x = 1\n")
    for _ in range(3):
        working.round(working.edit(name))
        working.round(working.bash("pytest", FAILURE, 1))
    line = line_of(payload(working))
    assert "\x1b" not in line and f"refusing …{'x' * 31}?[31m.py" in line


ODD: list[Any] = [
    {},
    {"session_id": 3, "cwd": 4, "workspace": [], "cost": "1", "context_window": None},
    {"session_id": "\ud800", "cwd": "/nowhere\x00", "cost": {"total_cost_usd": True}},
    {"session_id": "x", "cost": {"total_cost_usd": float("inf")}, "context_window": {"used_percentage": -3}},
    {"session_id": "none of ours", "cwd": "/nowhere", "context_window": {"used_percentage": 0.2}},
    {"cwd": "", "cost": {"total_cost_usd": 0.001}},
]


@pytest.mark.parametrize("odd", ODD)
def test_nothing_known_gives_a_short_line_all_the_same(odd: Any) -> None:
    assert line_of(odd) == "unspin guard"


def run(data: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from unspin.cli import main; main()", "statusline"]
    environment = {**os.environ, **env}
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False, env=environment)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"session_id": "\\ud800"}', b"null"])
def test_bad_input_gives_a_short_line_and_never_a_traceback(data: bytes) -> None:
    done = run(data)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout in (b"unspin\n", b"unspin guard\n")


def test_without_home_or_with_a_store_that_is_none(own_home: Path) -> None:
    done = run(b"{}", HOME="", XDG_STATE_HOME="", XDG_CONFIG_HOME="")
    assert (done.returncode, done.stderr) == (0, b"")
    folder = Path(state_folder())
    folder.mkdir(parents=True)
    (folder / "state.db").write_bytes(b"no store")
    assert run(b"{}").stdout == b"unspin guard\n"
    assert [path.name for path in folder.iterdir()] == ["state.db"]


def test_nothing_is_made_and_nothing_changed(spinning: Client, own_home: Path) -> None:
    def contents() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes() for path in own_home.rglob("*") if path.is_file() and "-shm" not in path.name
        }

    before = contents()
    assert b"refusing a.py" in run(json.dumps(payload(spinning)).encode()).stdout
    assert contents() == before


def test_without_a_store_none_is_made(own_home: Path) -> None:
    assert run(b"{}").stdout == b"unspin guard\n"
    assert not Path(state_folder()).exists()


def test_a_store_that_somebody_writes_to_is_read_without_waiting(spinning: Client) -> None:
    with Store(state_folder()):
        assert line_of(payload(spinning)).startswith("unspin guard · refusing a.py")


def test_a_store_that_nobody_has_open_is_read(spinning: Client) -> None:
    spinning.store.close()
    assert line_of(payload(spinning)).startswith("unspin guard · refusing a.py")


def test_neither_click_nor_rich_is_loaded(spinning: Client) -> None:
    code = (
        "import sys, os; from unspin.cli import statusline, main\n"
        "os._exit = lambda status: (print(sorted({'click', 'rich'} & set(sys.modules))), sys.exit(status))\n"
        "sys.argv[1:] = ['statusline']; main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(payload(spinning)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_command_is_in_the_help(unspin: Run) -> None:
    assert "status line" in unspin("statusline", "--help").output


def test_installing_it_is_shown_first_and_says_what_hides_it(unspin: Run, own_home: Path, working: Client) -> None:
    settings = own_home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = '{\n  "statusLine": {"type": "command", "command": "echo mine"}\n}\n'
    settings.write_text(before)
    assert "own='echo mine'" in unspin("install", "claude-code", "--statusline", "--dry-run").output
    assert settings.read_text() == before
    assert "below your own, which stays as it is" in unspin("install", "claude-code", "--statusline").output
    assert "unspin.cli.statusline" in settings.read_text() and "unspin.hook" in settings.read_text()

    local = working.project / ".claude" / "settings.json"
    local.parent.mkdir()
    local.write_text('{"statusLine": {"type": "command", "command": "echo project"}}')
    said = unspin("install", "claude-code", "--statusline")
    assert "settings.json has a status line of its own, which is shown here instead" in said.output
    unspin("install", "claude-code", "--statusline", "--project")
    line = json.loads((local.parent / "settings.local.json").read_text())["statusLine"]["command"]
    assert line.startswith("others='echo project'\n")
    unspin("uninstall", "claude-code", "--project")
    assert not (local.parent / "settings.local.json").exists()

    unspin("uninstall", "claude-code")
    assert settings.read_text() == before


def test_beside_the_plugin_only_the_line_is_put_in(unspin: Run, own_home: Path, working: Client) -> None:
    folder = own_home / ".claude"
    (folder / "plugins").mkdir(parents=True)
    installed = {"plugins": {"unspin@unspin": [{"installPath": str(folder)}]}}
    (folder / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
    (folder / "settings.json").write_text('{"enabledPlugins": {"unspin@unspin": true}}')
    said = unspin("install", "claude-code", "--statusline").output
    assert "Status line: ours\nHooks: those of the plugin" in said and "Watched" not in said
    assert sorted(json.loads((folder / "settings.json").read_text())) == ["enabledPlugins", "statusLine"]
