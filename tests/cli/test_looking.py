"""The commands that look: what they show fits the terminal, and says what to do."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from driver import Client
from unspin.guard.settings import KEYS
from unspin.paths import state_folder
from unspin.store import Store, record_fault


def lines(output: str) -> list[str]:
    return output.splitlines()


def labelled(output: str) -> dict[str, str]:
    """The lines of a report by their label, wrapped ones joined."""
    found: dict[str, str] = {}
    label = ""
    for line in lines(output):
        label = line[:10].strip() or label
        found[label] = f"{found.get(label, '')} {line[10:]}".strip()
    return found


# -- status ----------------------------------------------------------------------------


def test_status_begins_with_what_is_wrong_in_the_settings(spinning: Client, unspin: Any) -> None:
    (spinning.project / "unspin.toml").write_text('log_onyl = ["bloat"]\n')
    first = lines(unspin("status").output)[0]
    assert first.startswith("settings  ") and "unspin.toml" in first
    assert 'Did you mean "log_only"?' in labelled(unspin("status").output)["settings"]
    report = json.loads(unspin("status", "--json").stdout)
    assert len(report["settings_problems"]) == 1 and "log_onyl" in report["settings_problems"][0]
    for command in (("mode",), ("install", "claude-code"), ("settings",)):
        result = unspin(*command)
        assert "log_onyl" in result.stderr and "log_onyl" not in result.stdout


def test_status_tells_whether_the_hooks_are_installed(spinning: Client, unspin: Any, own_home: Path) -> None:
    assert labelled(unspin("status").output)["hooks"] == "not installed: unspin install claude-code"
    unspin("install", "claude-code")
    assert labelled(unspin("status").output)["hooks"] == "installed (~/.claude/settings.json)"
    settings = own_home / ".claude" / "settings.json"
    whole = settings.read_text()
    document = json.loads(whole)
    for groups in document["hooks"].values():
        groups[0]["hooks"][0]["command"] = "/gone/python"
    settings.write_text(json.dumps(document))
    assert labelled(unspin("status").output)["hooks"] == "broken: /gone/python is gone, run: unspin install claude-code"
    document = json.loads(whole)
    del document["hooks"]["PreToolUse"]
    settings.write_text(json.dumps(document))
    assert "broken: no hook for PreToolUse" in unspin("status").output
    settings.write_text(json.dumps({**json.loads(whole), "disableAllHooks": True}))
    hooks = json.loads(unspin("status", "--json").stdout)["hooks"]
    assert [(each["agent"], each["state"], each["files"]) for each in hooks] == [
        ("claude-code", "broken", [str(settings)])
    ]
    assert "switches all hooks off" in hooks[0]["problem"]
    settings.write_text("{ // mine")
    assert "not installed" in unspin("status").output and "not valid JSON" in unspin("status").output


@pytest.mark.parametrize("group", ["3", '"x"', "[]", '{"hooks": 3}', '{"hooks": ["unspin.hook"]}', "null"])
def test_settings_of_any_form_are_looked_at(spinning: Client, unspin: Any, own_home: Path, group: str) -> None:
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").write_text(f'{{"hooks": {{"Stop": [{group}], "PreToolUse": {group}}}}}')
    unspin("status")


def test_status_counts_recent_faults(spinning: Client, unspin: Any) -> None:
    assert "faults" not in labelled(unspin("status").output)
    record_fault(state_folder(), "x.py:3", "ValueError: odd")
    now = int(time.time())
    (Path(state_folder()) / "faults.log").write_text(f"{now}\tx.py:4\todd\n{now - 8 * 86400}\tx.py:4\told\nbroken\n")
    assert labelled(unspin("status").output)["faults"] == "2 in the last week, see: unspin doctor"
    assert json.loads(unspin("status", "--json").stdout)["faults"] == 2


def test_status_shows_recorded_checks(spinning: Client, unspin: Any) -> None:
    unspin("check", "-q", "--", "exit 3", status=3)
    shown = labelled(unspin("status").output)["check"]
    assert shown.startswith("test: failed (3)  exit 3  ")
    (check,) = json.loads(unspin("status", "--json").stdout)["checks"]
    assert (check["kind"], check["status"], check["command"]) == ("test", 3, "exit 3")


def test_status_counts_in_words(spinning: Client, unspin: Any) -> None:
    assert labelled(unspin("status").output)["said"] == "1 nudge, 2 refusals"


def test_status_without_a_session_shows_what_there_is(
    unspin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unspin("install", "claude-code")
    result = unspin("status", status=1)
    assert labelled(result.stdout)["hooks"].startswith("installed")
    assert labelled(result.stdout)["mode"] == "guard (the default)"
    assert result.stderr.endswith("yet. Start your agent there.\n")
    assert json.loads(unspin("status", "--json", status=1).stdout)["session"] is None


def test_all_sessions_one_a_line(spinning: Client, unspin: Any, tmp_path: Path) -> None:
    other = Client(tmp_path / "other")
    other.store.close()
    other.store = Store(state_folder())
    other.round(other.edit("b.py"))
    rows = lines(unspin("status", "--all").output)
    assert [row.split()[0] for row in rows] == [other.session[:8], spinning.session[:8]]
    assert all(len(row) <= 80 and row.endswith("guard") and "claude-code" in row for row in rows)
    reports = [json.loads(line) for line in lines(unspin("status", "--all", "--json").output)]
    assert [set(each) for each in reports] == [{"session", "project", "agent", "updated", "mode"}] * 2
    assert {each["project"] for each in reports} == {str(other.project), str(spinning.project)}


def test_no_session_at_all(unspin: Any) -> None:
    assert unspin("status", "--all").output == "No session was seen yet.\n"
    assert unspin("status", "--all", "--json").output == ""


def test_ids_that_mean_no_session_or_several(spinning: Client, unspin: Any, tmp_path: Path) -> None:
    assert "no session begins with zzz. unspin status --all shows them." in unspin("log", "zzz", status=1).output
    for name in ("3eb2d320-1", "3eb2d320-2"):
        other = Client(tmp_path / name)
        other.store.close()
        other.store, other.session = Store(state_folder()), name
        other.round(other.edit("b.py"))
    for command in (("log", "3eb"), ("status", "--session", "3eb"), ("forget", "3eb"), ("release", "--session", "3eb")):
        said = unspin(*command, status=1).output
        assert "2 sessions begin with 3eb: 3eb2d320-2 (" in said and "3eb2d320-1 (" in said
    rows = [line.split()[0] for line in lines(unspin("status", "--all").output)]
    for shown in rows:
        unspin("log", shown)
    assert "empty" in unspin("check", "--", " ", status=2).output
    unspin("forget", "", status=2)


# -- the log ---------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 60])
def test_the_log_is_one_line_an_entry(
    spinning: Client, unspin: Any, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = lines(unspin("log").output)
    assert len(rows) == 3 and all(len(row) <= columns for row in rows)
    assert rows[0].split()[1:] == ["nudge", "failing_edits", "a.py", "3", "failing", "edits"]
    assert rows[1].split()[1:5] == ["logged", "recurring_error", "a.py", "3x"]
    assert rows[2].split()[1:] == ["block", "x2", "failing_edits", "a.py", "3", "failing", "edits"]
    assert spinning.session[:8] not in "".join(rows)


def test_a_long_file_keeps_its_name(spinning: Client, unspin: Any) -> None:
    spinning.store.log(
        spinning.session,
        {
            "rule": "failing_edits",
            "identity": "i",
            "count": 3,
            "event_index": 9,
            "file": "src/a/very/deep/folder/of/the/project/日本語formatting.py",
            "message": 'Unspin: loop (3 failing edits on "src/formatting.py"). Stop editing.',
            "evidence": "[]",
            "response": "nudge",
        },
    )
    last = lines(unspin("log").output)[-1]
    assert "formatting.py" in last and "src/a" not in last


def test_the_log_in_full_has_the_line_and_the_evidence(spinning: Client, unspin: Any) -> None:
    text = unspin("log", "-v").output
    assert all(len(line) <= 80 for line in lines(text))
    words = " ".join(text.split())
    assert 'Unspin: loop (3 failing edits on "a.py"; nothing has passed yet). Stop editing' in words
    assert "0 Edit edit a.py" in words and "TypeError: bad 'x'" in words
    assert words.count("block failing_edits") == 2


def test_the_log_of_several_sessions_names_them(spinning: Client, unspin: Any, tmp_path: Path) -> None:
    first = spinning.session
    spinning.session = f"{first[:12]}{'0' if first[12:13] != '0' else '1'}-other"
    for _ in range(3):
        spinning.round(spinning.edit("a.py"))
        spinning.round(spinning.bash("pytest", "E   TypeError: bad 'x'\n", 1))
    ids = [line.split()[1] for line in lines(unspin("log").output)]
    assert len(set(ids)) == 2
    for shown in set(ids):
        assert unspin("log", shown, "--json").output != ""


def test_a_release_stands_in_the_log_and_is_no_detection(spinning: Client, unspin: Any) -> None:
    before = unspin("log", "--json").output
    unspin("release")
    assert lines(unspin("log").output)[-1].split()[1:] == ["release", "a.py", "by", "you"]
    assert "released by you: a.py" in unspin("log", "-v").output
    assert unspin("log", "--json").output == before
    report = json.loads(unspin("status", "--json").stdout)
    assert (report["nudges"], report["blocks"]) == (1, 2) and report["released"] > 0
    assert report["detections"] == {"failing_edits": 1, "recurring_error": 1}
    assert "released" in labelled(unspin("status").output)["said"]


def test_nothing_of_a_name_moves_the_cursor(spinning: Client, unspin: Any) -> None:
    name = "ev\x1b[2Jil\u202e.py"
    for _ in range(3):
        spinning.round(spinning.edit(name))
        spinning.round(spinning.bash("pytest", "E   TypeError: no\n", 1))
    spinning.before(spinning.edit(name))
    for command in (("status",), ("log",), ("log", "-v"), ("release",)):
        output = unspin(*command).output
        assert "il" in output
        assert all(each.isprintable() for each in output.replace("\n", "")), output


# -- settings --------------------------------------------------------------------------


def test_settings_with_value_origin_and_default(spinning: Client, unspin: Any, own_home: Path) -> None:
    assert "settings have their defaults" in unspin("settings").output
    (spinning.project / "unspin.toml").write_text('[loop]\nfailing_edits = 4\n[checks.commands]\ntest = ["./ci"]\n')
    person = own_home / "config" / "unspin" / "unspin.toml"
    person.parent.mkdir(parents=True)
    person.write_text('log_only = ["bloat"]\n')
    unspin("mode", "nudge")
    text = " ".join(unspin("settings").output.split())
    assert 'mode = "nudge" (set with unspin mode; default "guard")' in text
    assert 'log_only = ["bloat"] (in ~/config/unspin/unspin.toml; default ["oscillation"])' in text
    assert 'checks.commands = {test = ["./ci"]} (in ' in text and f"{len(KEYS) - 4} more have their defaults" in text
    assert "loop.max_blocks" not in text and "loop.max_blocks = 3" in unspin("settings", "--all").output
    rows = [json.loads(line) for line in lines(unspin("settings", "--json").output)]
    assert {row["key"] for row in rows} == set(KEYS)
    assert [row["origin"] == "default" for row in rows] == [False] * 4 + [True] * (len(KEYS) - 4)
    (row,) = [row for row in rows if row["key"] == "loop.failing_edits"]
    assert (row["value"], row["default"], row["origin"]) == (4, 3, str(spinning.project / "unspin.toml"))


# -- what can go wrong -----------------------------------------------------------------


LOOKING = [("status",), ("log",), ("mode",), ("settings",), ("mute",), ("release",), ("forget", "x")]


@pytest.mark.parametrize("command", LOOKING, ids="_".join)
def test_a_corrupt_store_has_a_remedy(unspin: Any, command: tuple[str, ...]) -> None:
    path = Path(state_folder()) / "state.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no store at all" * 1000)
    said = unspin(*command, status=1).stderr
    assert "not a database" in said and f"mv ~/{path.relative_to(Path.home())} " in said


def test_a_store_that_is_damaged_within_has_a_remedy(spinning: Client, unspin: Any) -> None:
    path = Path(state_folder()) / "state.db"
    spinning.store.close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    assert "mv ~/" in unspin("log", "--all", status=1).stderr


@pytest.mark.parametrize("command", [*LOOKING[:-1], ("install", "claude-code", "--project")], ids="_".join)
def test_a_folder_that_is_gone_has_a_remedy(
    unspin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert "cd to one that is there" in unspin(*command, status=1).output
    unspin("status", "--all")
    unspin("install", "claude-code")


@pytest.mark.parametrize("text", ["\udcff", "\x1b[31m", "'; DROP TABLE session; --", "%", "é" * 300])
def test_no_argument_makes_a_traceback(spinning: Client, unspin: Any, text: str) -> None:
    unspin("log", text, status=1)
    unspin("status", "--session", text, status=1)
    unspin("forget", text, status=1)
    unspin("mute", text, status=2)
    unspin("mode", text, status=2)
    unspin("mute", "bloat", "--file", text)
    unspin("mute", "bloat", "--file", text, "--off")


def test_a_folder_whose_name_is_no_text(unspin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        folder = os.fsencode(tmp_path) + b"/d\xff"
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system takes no such name")
    monkeypatch.chdir(os.fsdecode(folder))
    for command in (("status",), ("log",), ("release",)):
        unspin(*command, status=1)
    for command in (("mode",), ("mode", "nudge"), ("mute", "bloat"), ("settings",), ("check", "-q", "--", "true")):
        unspin(*command)


def test_help_is_not_cut(unspin: Any) -> None:
    assert "..." not in unspin("--help").output.partition("Commands:")[2]
    assert all(len(line) <= 80 for line in lines(unspin("--help").output))


def test_a_command_waits_for_a_hook_that_holds_the_store(spinning: Client, unspin: Any) -> None:
    import threading

    held = sqlite3.connect(Path(state_folder()) / "state.db", check_same_thread=False, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.7, lambda: held.execute("ROLLBACK"))
    timer.start()
    unspin("status")
    timer.join()
    held.close()
