"""The security page keeps its word: the tests it names exist, and its lists of command lines are true."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
from pathlib import Path

import pytest

from driver import Client
from unspin.agents import claude_code_install
from unspin.paths import config_folder, state_folder
from unspin.spool import Spool
from unspin.store import Store

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
NAMED = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)

SETTINGS = '{\n  "model": "x",\n  "enabledPlugins": {\n    "unspin@unspin": true\n  }\n}\n'


def lines(heading: str) -> list[str]:
    """The command lines of the list under a heading."""
    block = re.search(rf"^### {heading}\n.*?^```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert block is not None, f"docs/security.md has no list under {heading!r}"
    return block[1].splitlines()


def plug_in(folder: Path) -> None:
    """The plugin, as the client keeps one that is installed."""
    copy = folder / "plugins" / "cache" / "unspin" / "unspin" / "0.1.0"
    (copy / "hooks").mkdir(parents=True)
    (copy / "hooks" / "hooks.json").write_text("{}")
    installed = {"version": 2, "plugins": {"unspin@unspin": [{"scope": "user", "installPath": str(copy)}]}}
    (folder / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))


@pytest.fixture
def watched(agent: Client, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A session with hooks, settings and state where they lie on a person's machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(own_home / ".local/state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own_home / ".config"))
    Store(state_folder()).close()
    os.makedirs(config_folder())
    settings = Path(claude_code_install.settings_path())
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    plug_in(settings.parent)
    claude_code_install.plan_install(str(settings)).apply()
    (agent.project / "unspin.toml").write_text('mode = "guard"\n')
    (agent.project / "pyproject.toml").write_text('[tool.unspin]\nmode = "guard"\n')
    (agent.project / "sub").mkdir()
    return agent


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 40


@pytest.mark.parametrize(("file", "test"), NAMED, ids="::".join)
def test_every_test_that_the_page_names_exists(file: str, test: str) -> None:
    found = list((ROOT / "tests").rglob(file))
    assert found, f"there is no {file} in tests/"
    assert any(re.search(rf"^def {test}\(", path.read_text("utf-8"), re.MULTILINE) for path in found), test


@pytest.mark.parametrize("line", lines("Refused"))
def test_what_the_page_says_is_refused_is_refused(watched: Client, line: str) -> None:
    answered = watched.before(watched.bash(line))
    assert answered.status == 2
    assert answered.reason.startswith("Unspin: refused: ")
    assert watched.log()[-1]["rule"] == "self_protection"


@pytest.mark.parametrize("line", lines("What no parser can see") + lines("What is not caught yet"))
def test_what_the_page_says_gets_through_gets_through(watched: Client, line: str) -> None:
    answered = watched.before(watched.bash(line))
    assert answered.status == 0, 'caught now: move this line to the list "Refused" of docs/security.md'


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("unspin.toml", "guard", "observe"),
        ("sub/../unspin.toml", "guard", "observe"),
        ("pyproject.toml", '[tool.unspin]\nmode = "guard"', '[tool.unspin]\nmode = "observe"'),
        ("~/.config/unspin/unspin.toml", None, 'mode = "observe"'),
        ("~/.local/state/unspin/state.db", None, ""),
        ("~/.claude/settings.json", '"model": "x"', '"model": "x", "disableAllHooks": true'),
        ("~/.claude/settings.json", "unspin.hook", "x"),
        ("~/.claude/settings.json", None, "{}"),
        (".claude/settings.local.json", None, '{"disableAllHooks": true}'),
        (".claude/settings.json", None, '{"disableAllHooks": true}'),
        ("link.json", None, "{}"),
        ("~/.claude/settings.json", '"unspin@unspin": true', '"unspin@unspin": false'),
        (".claude/settings.local.json", None, '{"enabledPlugins": {"unspin@unspin": false}}'),
        ("~/.claude/plugins/installed_plugins.json", None, "{}"),
        ("~/.claude/plugins/cache/unspin/unspin/0.1.0/hooks/hooks.json", None, "{}"),
    ],
)
def test_the_edit_tools_are_kept_out(watched: Client, name: str, old: str | None, new: str) -> None:
    (watched.project / "link.json").symlink_to(claude_code_install.settings_path())
    path = os.path.expanduser(name)
    call = watched.write(path, new) if old is None else watched.edit(path, old, new)
    assert watched.before(call).reason.startswith("Unspin: refused: ")


def test_other_edits_of_the_same_files_are_let_through(watched: Client) -> None:
    settings = claude_code_install.settings_path()
    assert watched.before(watched.edit(settings, '"model": "x"', '"model": "y"')).status == 0
    assert watched.before(watched.edit("pyproject.toml", "a", "b")).status == 0
    other = '"enabledPlugins": {\n    "other@market": true,\n    "unspin@unspin"'
    assert watched.before(watched.edit(settings, '"enabledPlugins": {\n    "unspin@unspin"', other)).status == 0
    assert (
        watched.before(watched.write(os.path.expanduser("~/.claude/plugins/cache/other/x/1/README.md"), "x")).status
        == 0
    )
    for line in ("claude plugin list", "claude plugin disable other", "claude plugin install unspin@unspin --help"):
        assert watched.before(watched.bash(line)).status == 0, line
    allow = '{"permissions": {"allow": ["Bash(ls:*)"]}}'
    assert watched.before(watched.write(".claude/settings.local.json", allow)).status == 0


def test_with_the_plugin_alone_it_is_kept_as_the_hooks_are(watched: Client) -> None:
    settings = Path(claude_code_install.settings_path())
    claude_code_install.plan_uninstall(str(settings)).apply()
    assert settings.read_text() == SETTINGS
    refused = [
        watched.edit(str(settings), "true", "false"),
        watched.edit(str(settings), "unspin@unspin", "other"),
        watched.write(str(settings), "{}"),
        watched.write(str(settings), "{"),
        watched.bash("echo '{}' > ~/.claude/settings.json"),
        watched.bash("rm ~/.claude/settings.json"),
    ]
    for call in refused:
        assert watched.before(call).status == 2, call
    assert watched.before(watched.edit(str(settings), '"model": "x"', '"model": "y"')).status == 0


def test_what_is_stored_is_the_persons_alone(agent: Client, tmp_path: Path) -> None:
    agent.round(agent.bash("ls", "a.py"))
    folder = Path(agent.store.path).parent
    Spool(str(folder)).keep(b"claude-code\n{}")
    for path in (folder, *folder.rglob("*")):
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path.name


def test_nothing_here_can_speak_to_the_network() -> None:
    speaking = {"asyncio", "ftplib", "http", "imaplib", "smtplib", "socket", "socketserver", "ssl", "urllib", "xmlrpc"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert speaking.isdisjoint(name.partition(".")[0] for name in names), path.name
