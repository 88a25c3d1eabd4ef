"""The plugin's files, and its hooks' start: whatever is called unspin, only a decided block refuses a call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hardening.processes import batch, before, edit, environment, fails, hook_command
from unspin.agents.claude_code import HOOKS
from unspin.agents.claude_code_install import plan_install, settings_path

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
ENTRIES = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
QUESTION = before("s", edit(), cwd="/")


def start() -> list[str]:
    """The command line that the plugin's hooks start."""
    hook = ENTRIES["PreToolUse"][0]["hooks"][0]
    return [hook["command"], *hook["args"]]


def run(payload: Any, env: dict[str, str], shell: str = "/bin/sh") -> subprocess.CompletedProcess[str]:
    command = start()
    assert command[0] == "/bin/sh"
    return subprocess.run(
        [*shell.split(), *command[1:]],
        input=json.dumps(payload),
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
        check=False,
    )


def program(folder: Path, text: str) -> dict[str, str]:
    """An environment in which `unspin` is this text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "unspin"
    path.write_text(text)
    path.chmod(0o755)
    return environment(folder, PATH=f"{folder}:/usr/bin:/bin")


def own_program(folder: Path) -> dict[str, str]:
    """An environment in which `unspin` is this one, as an installer writes it."""
    return program(folder, f"#!{sys.executable}\nimport sys\nfrom unspin.cli import main\nsys.exit(main())\n")


# -- the files -------------------------------------------------------------------------


def test_the_plugins_hooks_are_those_that_install_puts_into_the_settings() -> None:
    assert {event: groups[0].get("matcher", "") for event, groups in ENTRIES.items()} == HOOKS
    assert all(len(groups) == len(groups[0]["hooks"]) == 1 for groups in ENTRIES.values())
    assert len({json.dumps(groups[0]["hooks"]) for groups in ENTRIES.values()}) == 1


def test_the_plugin_has_the_packages_version_and_the_marketplace_leads_to_it() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert manifest["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    (entry,) = market["plugins"]
    assert (market["name"], entry["name"], manifest["name"]) == ("unspin", "unspin", "unspin")
    assert (ROOT / entry["source"]).resolve() == PLUGIN


def test_what_the_commands_run_is_allowed_to_them() -> None:
    commands = sorted((PLUGIN / "commands").glob("*.md"))
    assert [path.stem for path in commands] == ["handoff", "rollback", "status"]
    for path in commands:
        text = path.read_text("utf-8")
        assert f"allowed-tools: Bash(unspin {path.stem}:*), Bash(command -v unspin:*), Bash(echo:*)" in text
        assert f"!`unspin {path.stem} $ARGUMENTS || command -v unspin > /dev/null || echo " in text


# -- the start: silent whatever happens ------------------------------------------------

UNUSABLE = {
    "its interpreter is gone": "#!/nowhere/bin/python3\nimport unspin\n",
    "its shebang is broken": "#!\n",
    "its package is gone": f"#!{sys.executable} -IS\nimport unspin.cli\n",
    "its package is gone, quick way": "#!{python}\nimport unspin.cli\n",
    "it is a shell script with a syntax error": "if then fi (\n",
    "it is another program, that prints its usage": "#!/bin/sh\necho 'usage: unspin' >&2\nexit 2\n",
    "it is empty": "",
    "it is binary": "\x7fELF\x00\x01\x02",
    "it ends by a signal": "#!/bin/sh\nkill -9 $$\n",
    "it is a python script, and wrong": f"#!{sys.executable}\nimport sys\nsys.exit(2)\n",
}


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash --posix"])  # what /bin/sh is elsewhere
@pytest.mark.parametrize("text", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unspin_that_cannot_be_used_lets_every_call_through(text: str, shell: str, tmp_path: Path) -> None:
    if "{python}" in text:
        other = tmp_path / "python3"
        other.symlink_to(os.path.realpath(sys.executable))  # outside of the environment: no packages
        text = text.replace("{python}", str(other))
    env = program(tmp_path / "bin", text)
    for payload in (QUESTION, batch("s", edit()), {"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/"}):
        done = run(payload, env, shell)
        assert (done.returncode, done.stdout) == (0, "")


def test_where_unspin_is_missing_nothing_is_said(tmp_path: Path) -> None:
    for path in ("/usr/bin:/bin", "", "/nowhere", str(tmp_path)):
        done = run(QUESTION, {**environment(tmp_path), "PATH": path})
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = run(QUESTION, {})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_older_unspin_that_does_not_know_the_plugin_is_called_as_the_settings_do(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    old = (
        "import sys, types\n"
        "hook = types.ModuleType('unspin.hook')\n"
        "def main(agent): print(agent, sys.argv[1:]); sys.exit(2)\n"
        "sys.modules['unspin'] = types.ModuleType('unspin'); sys.modules['unspin.hook'] = hook; hook.main = main\n"
    )
    env = program(folder, f"#!{folder}/python3\n{old}main(sys.argv[2])\n")
    (folder / "python3").write_text(f'#!/bin/sh\n[ "$1" = -EPc ] && exit 1\nexec {sys.executable} "$@"\n')
    (folder / "python3").chmod(0o755)
    done = run(QUESTION, env)
    assert (done.returncode, done.stdout) == (0, "claude-code ['hook', 'claude-code', '--plugin']\n")


# -- the start: what is decided is said ------------------------------------------------


def spin(env: dict[str, str], starting: Any = run) -> list[str]:
    """Three failing edits and a fourth; what was said to each."""
    payloads = [batch("s", each) for each in (edit(), fails()) * 3]
    return [starting(payload, env).stdout for payload in (*payloads, QUESTION)]


@pytest.mark.parametrize("quick", [True, False])
def test_the_plugin_says_it_and_refuses_with_status_0(quick: bool, tmp_path: Path) -> None:
    env = own_program(tmp_path / "bin")
    if not quick:
        env = program(tmp_path / "bin", (tmp_path / "bin" / "unspin").read_text().replace("\n", " -u\n", 1))
    said = spin(env)
    assert said[:5] == [""] * 5
    assert "Unspin: loop (3 failing edits" in json.loads(said[5])["hookSpecificOutput"]["additionalContext"]
    done = run(QUESTION, env)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_unspin_is_found_where_installers_put_it_though_not_on_the_path(tmp_path: Path) -> None:
    env = own_program(tmp_path / ".local" / "bin")
    assert "Unspin: loop" in spin({**env, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})[5]


# -- beside the settings' hooks --------------------------------------------------------


def installed(project: str | None = None) -> Path:
    path = Path(settings_path(project=project))
    plan_install(str(path)).apply()
    return path


def beside(env: dict[str, str], own_home: Path) -> dict[str, str]:
    return {**env, "HOME": str(own_home), "CLAUDE_PROJECT_DIR": str(own_home / "project")}


@pytest.mark.parametrize("where", ["user", "project"])
def test_beside_hooks_in_the_settings_the_plugin_is_silent(where: str, own_home: Path, tmp_path: Path) -> None:
    project = str(own_home / "project") if where == "project" else None
    path = installed(project)
    env = beside(own_program(tmp_path / "bin"), own_home)
    assert spin(env) == [""] * 7
    assert not Path(env["XDG_STATE_HOME"]).exists()

    settings = json.loads(path.read_text())
    del settings["hooks"]["PostToolBatch"]
    path.write_text(json.dumps(settings))
    assert "Unspin: loop" in spin(env)[5], "this event is answered by nobody else"


@pytest.mark.parametrize("gone", ["the interpreter", "the package", "the file's syntax", "the hooks"])
def test_beside_hooks_in_the_settings_that_cannot_work_the_plugin_does_it(
    gone: str, own_home: Path, tmp_path: Path
) -> None:
    path = installed()
    text = path.read_text()
    spoiled = {
        "the interpreter": text.replace(sys.executable, "/nowhere/python"),
        "the package": text.replace(str(ROOT / "src"), "/nowhere/lib"),
        "the file's syntax": text[:-3],
        "the hooks": '{"permissions": {"deny": ["Bash(python -m unspin.hook)"]}, "hooks": {"PreToolUse": [{}]}}',
    }
    path.write_text(spoiled[gone])
    assert path.read_text() != text
    said = spin(beside(own_program(tmp_path / "bin"), own_home))
    assert "Unspin: loop" in said[5] and "deny" in said[6]


def test_the_settings_own_start_does_not_look_for_the_plugin() -> None:
    assert "plugin" not in " ".join(hook_command())
