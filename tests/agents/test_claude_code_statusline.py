"""Our status line beside the person's own: put in once, taken out to the byte, and theirs runs as it did."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from hardening.processes import environment
from unspin.agents import claude_code_statusline as statusline
from unspin.agents.claude_code_install import hiding_line, plan_install, plan_uninstall
from unspin.agents.installing import InstallError

THEIRS = [
    "~/.claude/statusline.sh",
    "echo plain",
    "printf '\\033[31mred\\033[0m\\ntwo\\n'; cat >/dev/null",
    'jq -r \'"\\(.model.display_name) in \\(.cwd)"\' | sed "s/\'/x/"',
    "cat <<'EOF'\nheredoc\nEOF",
    "echo $HOME `pwd` && # comment",
    "echo it's broken",
    "é ✓ \u2028",
]
LAYOUTS = [
    '{"statusLine": {"type": "command", "command": COMMAND}}',
    '{\n  "model": "x",\n  "statusLine": {"padding": 0, "command": COMMAND, "type": "command", "refreshInterval": 5},\n  "a": 1\n}\n',
    '{\r\n\t"statusLine": {\r\n\t\t"type": "command",\r\n\t\t"command": COMMAND\r\n\t},\r\n\t"b": []\r\n}',
]


def settings(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.json"
    path.write_bytes(text.encode())
    return path


def install(path: Path, line: str | None = "") -> str:
    plan_install(str(path), line=line).apply()
    return path.read_bytes().decode()


def uninstall(path: Path) -> str:
    plan_uninstall(str(path)).apply()
    return path.read_bytes().decode()


def command(text: str) -> str:
    return str(json.loads(text)["statusLine"]["command"])


def shown(line: str, home: Path, data: str = "{}") -> tuple[str, int]:
    """What the client shows: it starts the line as /bin/sh does."""
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        input=data.encode(),
        capture_output=True,
        env=environment(home, XDG_CONFIG_HOME=str(home)),
        timeout=60,
        check=False,
    )
    assert done.stderr == b"" or b"Traceback" not in done.stderr
    return done.stdout.decode(), done.returncode


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_theirs_is_put_back_to_the_byte(theirs: str, layout: str, ascii_only: bool, tmp_path: Path) -> None:
    before = layout.replace("COMMAND", json.dumps(theirs, ensure_ascii=ascii_only))
    path = settings(tmp_path, before)
    once = install(path)
    assert statusline.persons(command(once)) == theirs
    assert {**json.loads(once)["statusLine"], "command": theirs} == json.loads(before)["statusLine"]
    assert install(path) == once, "not wrapped twice"
    assert install(path, line=None) == once, "nor taken out by an install without it"
    assert uninstall(path) == before


def test_a_command_written_in_an_odd_way_comes_back_as_it_was_written(tmp_path: Path) -> None:
    before = '{"statusLine": {"type": "command", "command": "\\u0065cho \\/tmp"}}'
    path = settings(tmp_path, before)
    once = install(path)
    assert shown(command(once), tmp_path)[0].startswith("/tmp\nunspin")
    assert install(path) == once
    assert uninstall(path) == before


@pytest.mark.parametrize("before", ["{}", '{"model": "x"}', '{\n    "model": "x",\n    "b": []\n}\n'])
def test_without_one_ours_alone_is_put_in_and_taken_out(before: str, tmp_path: Path) -> None:
    path = settings(tmp_path, before)
    assert shown(command(install(path)), tmp_path) == ("unspin guard\n", 0)
    assert json.loads(uninstall(path)) == json.loads(before)


def test_a_file_that_was_made_for_it_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    plan_install(str(path), hooks=False, line="").apply()
    assert list(json.loads(path.read_text())) == ["statusLine"]
    plan_uninstall(str(path)).apply()
    assert not path.parent.exists()


def test_a_start_that_moved_is_brought_up_to_date_by_any_install(tmp_path: Path) -> None:
    path = settings(tmp_path, '{"statusLine": {"type": "command", "command": "echo a"}}')
    once = install(path)
    path.write_text(once.replace("unspin.cli.statusline import", "unspin.cli.statusline  import"))
    assert install(path, line=None) == once


@pytest.mark.parametrize(
    "line", ["3", "null", '{"type": "command"}', '{"command": 3}', '{"type": "static", "command": "x"}']
)
def test_something_else_than_a_command_is_left_alone(line: str, tmp_path: Path) -> None:
    path = settings(tmp_path, f'{{"statusLine": {line}}}')
    with pytest.raises(InstallError, match="statusLine holds something else than a command"):
        install(path)
    plan_install(str(path)).apply()
    assert json.loads(path.read_text())["statusLine"] == json.loads(line)


# -- theirs runs as it did -------------------------------------------------------------


def within(theirs: str, tmp_path: Path) -> str:
    path = settings(tmp_path, json.dumps({"statusLine": {"type": "command", "command": theirs}}))
    return command(install(path))


def test_colours_and_lines_of_theirs_come_first_and_unchanged(tmp_path: Path) -> None:
    theirs = "printf '\\033[31mred\\033[0m\\n\\n  two'"
    assert shown(within(theirs, tmp_path), tmp_path)[0] == "\x1b[31mred\x1b[0m\n\n  two\nunspin guard\n"


def test_theirs_gets_the_same_payload_environment_and_shell(tmp_path: Path) -> None:
    data = json.dumps({"session_id": "s", "cwd": "/", "x": "y" * 200_000})
    out, _ = shown(within('wc -c; echo "$HOME $0"', tmp_path), tmp_path, data)
    assert out.split("\n")[:2] == [str(len(data)), f"{tmp_path} /bin/sh"]


@pytest.mark.parametrize("theirs", ["echo seen; exit 3", "nosuchprogram", "kill -9 $$", "if", "true"])
def test_of_one_that_fails_nothing_is_shown_as_by_the_client_and_ours_stays(theirs: str, tmp_path: Path) -> None:
    assert shown(within(theirs, tmp_path), tmp_path) == ("unspin guard\n", 0)


def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    line = within(f"echo $$ > {tmp_path}/pid; sleep 600 & sleep 600", tmp_path)
    quick = line.replace("import main;", "import main;import unspin.cli.statusline as s;s._PATIENCE=0.5;")
    assert quick != line
    assert shown(quick, tmp_path) == ("unspin guard\n", 0)
    group = (tmp_path / "pid").read_text().strip()
    left = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True).stdout
    assert not [each for each in left.splitlines() if each.split()[0] == group and "Z" not in each]


def test_one_that_leaves_something_running_behind_it_is_shown(tmp_path: Path) -> None:
    line = within("echo mine; sleep 600 &", tmp_path)
    quick = line.replace("import main;", "import main;import unspin.cli.statusline as s;s._PATIENCE=0.5;")
    assert shown(quick, tmp_path) == ("mine\nunspin guard\n", 0)


@pytest.mark.parametrize("gone", ["the interpreter", "the package"])
def test_with_unspin_gone_theirs_is_shown_as_before(gone: str, tmp_path: Path) -> None:
    line = within('cat; echo; echo "it\'s mine"', tmp_path)
    words = shlex.split(line)
    spoiled = (
        line.replace(words[1], "/nowhere/python") if gone == "the interpreter" else line.replace("unspin.cli", "u")
    )
    assert shown(spoiled, tmp_path, '{"a": 1}')[0] == '{"a": 1}\nit\'s mine\n'


# -- whose line is shown ---------------------------------------------------------------


def test_one_in_the_projects_settings_hides_ours_and_is_named(own_home: Path, tmp_path: Path) -> None:
    user = own_home / ".claude" / "settings.json"
    plan_install(str(user), line="").apply()
    assert hiding_line(str(tmp_path)) == ""
    (tmp_path / ".claude").mkdir()
    own = tmp_path / ".claude" / "settings.json"
    own.write_text('{"statusLine": {"type": "command", "command": "echo project"}}')
    assert hiding_line(str(tmp_path)) == str(own)
