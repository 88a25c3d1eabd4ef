"""The person's commands: mute and mode say what they did, what else there is, and what was meant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from driver import Client
from unspin.guard.settings import RULES

LOOPS = {
    "failing_edits",
    "oscillation",
    "recurring_error",
    "rejected_edits",
    "repeated_action",
    "unchanged_result",
}


def muted(unspin: Any) -> list[tuple[str, str]]:
    return [(each["rule"], each["file"]) for each in json.loads(unspin("status", "--json").stdout)["muted"]]


def test_mutes_help_lists_the_rules(unspin: Any) -> None:
    text = unspin("mute", "--help").output
    assert "Usage: unspin mute [OPTIONS] [RULE]\n" in text
    assert all(rule in text for rule in RULES)


@pytest.mark.parametrize("arguments", [(), ("all",)])
def test_a_file_without_a_rule_means_all_loop_rules(spinning: Client, unspin: Any, arguments: tuple[str, ...]) -> None:
    assert "all loop rules on a.py" in unspin("mute", *arguments, "--file", "a.py").output
    assert set(muted(unspin)) == {(rule, "a.py") for rule in LOOPS}
    assert unspin("mute").output.splitlines()[0].split() == ["all", "loop", "rules", "a.py"]
    assert "Already muted" in unspin("mute", "--file", "a.py").output
    assert spinning.before(spinning.edit("a.py")).status == 0
    assert "No longer muted" in unspin("mute", *arguments, "--file", "a.py", "--off").output
    assert muted(unspin) == []


def test_muting_one_rule_says_which_others_speak(spinning: Client, unspin: Any) -> None:
    said = unspin("mute", "failing_edits", "--file", "a.py").output
    assert "Still said about it: recurring_error, rejected_edits" in said
    assert "\nTo mute them too: unspin mute --file a.py\n" in said
    assert "oscillation" not in said, "it is logged only, by the settings"
    unspin("mute", "--file", "a.py")
    assert "Still said" not in unspin("mute", "failing_edits", "--file", "a.py").output


def test_files_are_named_from_here_or_from_the_project(
    spinning: Client, unspin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = spinning.project / "sub"
    below.mkdir()
    (below / "b.py").write_text("")
    monkeypatch.chdir(below)
    unspin("mute", "failing_edits", "--file", "b.py")
    unspin("mute", "failing_edits", "--file", "a.py")
    unspin("mute", "bloat", "--file", str(below / "b.py"))
    assert muted(unspin) == [("bloat", "sub/b.py"), ("failing_edits", "a.py"), ("failing_edits", "sub/b.py")]
    (below / "a.py").write_text("")
    unspin("mute", "recurring_error", "--file", "a.py")
    assert ("recurring_error", "sub/a.py") in muted(unspin), "from here first"


def test_a_file_that_is_not_there_is_warned_of(spinning: Client, unspin: Any) -> None:
    result = unspin("mute", "failing_edits", "--file", "gone.py")
    assert "there is no file" in result.stderr and "gone.py" in result.stderr
    assert muted(unspin) == [("failing_edits", "gone.py")]
    assert unspin("mute", "failing_edits", "--file", "gone.py", "--off").stderr == ""
    (spinning.project / "sub").mkdir()
    assert "is a folder" in unspin("mute", "failing_edits", "--file", "sub", status=1).stderr


def test_taking_back_what_was_not_muted(spinning: Client, unspin: Any) -> None:
    assert "Was not muted" in unspin("mute", "bloat", "--off").output
    unspin("mute", "failing_edits")
    said = unspin("mute", "failing_edits", "--file", "a.py", "--off").output
    assert "Was not muted" in said and "Muted for every file: failing_edits" in said


def test_mute_alone_lists_what_is_muted(spinning: Client, unspin: Any) -> None:
    assert "Nothing is muted" in unspin("mute").output
    unspin("mute", "bloat")
    unspin("mute", "failing_edits", "--file", "a.py")
    rows = [line.split() for line in unspin("mute").output.splitlines()]
    assert rows[:2] == [["bloat", "everywhere"], ["failing_edits", "a.py"]]
    assert rows[2][-1] == "oscillation"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("failing_edits", "a.py"), "use --file: --file a.py"),
        (("failing_edits", "a.py", "--file", "b.py"), "a.py is too much"),
        (("failing_edit",), "Did you mean failing_edits?"),
        (("nothing",), "The rules: failing_edits, "),
        (("zzz",), "The rules: failing_edits, recurring_error"),
        (("a.py",), "unspin mute --file a.py"),
        (("src/my file.py",), "unspin mute --file 'src/my file.py'"),
        (("all",), "unspin mode observe"),
        (("--off",), "unspin mute lists what is muted"),
    ],
)
def test_what_was_meant(spinning: Client, unspin: Any, arguments: tuple[str, ...], said: str) -> None:
    assert said in unspin("mute", *arguments, status=2).output


def test_the_mode_and_where_it_comes_from(spinning: Client, unspin: Any, own_home: Path) -> None:
    assert unspin("mode").output.endswith(": guard (the default)\n")
    (spinning.project / "unspin.toml").write_text('mode = "observe"\n')
    assert unspin("mode").output.endswith("/unspin.toml)\n") and ": observe (in " in unspin("mode").output
    assert ": nudge (set with unspin mode)" in unspin("mode", "nudge").output
    assert ": nudge (set with unspin mode)" in unspin("mode").output
    assert json.loads(unspin("status", "--json").stdout)["mode_origin"] == "unspin mode"
    assert ": observe (in " in unspin("mode", "default").output
    (spinning.project / "unspin.toml").write_text("[")
    assert ": nudge (as long as a settings file cannot be read)" in unspin("mode").output
