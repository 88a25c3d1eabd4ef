"""A session again, as if live: what would have been said and refused, and when."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from scan import logs
from unspin.cli import reporting
from unspin.cli.app import app
from unspin.guard import Settings
from unspin.scan.scanning import scan
from unspin.scan.source import Source


def replay(path: Path, *options: str, status: int = 0) -> Result:
    result = CliRunner().invoke(app, ["replay", str(path), *options], prog_name="unspin")
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output and "fault of unspin's own" not in result.output, result.output
    return result


def played(path: Path, *options: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *entries, last = [json.loads(line) for line in replay(path, "--json", *options).stdout.splitlines()]
    return entries, last["summary"]


@pytest.fixture
def looping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five edits after a failing check each, the person, and one more edit that passes."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    lines = [logs.began(), logs.said("Fix a.py.", 1), *logs.loop(5), logs.said("Use round().", 200)]
    return logs.write(
        tmp_path / "a.jsonl", [*lines, *logs.edit("round()", 210), *logs.check(220, passes=True), logs.used(221, 0)]
    )


def test_a_session_is_shown_as_it_went_and_what_unspin_would_have_said(looping: Path) -> None:
    shown = replay(looping).stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    assert lines[0].split() == ["0:00", "you", "Fix", "a.py."]
    assert lines[1].split(maxsplit=2) == ["0:09", "agent", "edit a.py: return 0"]
    assert "agent     pytest  fails (TypeError: no 'price')" in lines[2]
    said = next(at for at, line in enumerate(lines) if "unspin    loop (3 failing edits" in line)
    assert lines[said - 1] == "" and "event 6, 0:59 in, 3,000 tokens, $0.08" in "\n".join(lines[said : said + 5])
    assert lines[-3].startswith("1 line said, 2 calls refused, 2 only logged; the session: 12 tool calls, 5,000 tokens")
    assert lines[-2] == "first line: failing_edits, event 6, 0:59 in, 3,000 tokens, $0.08"
    assert lines[-1] == "used after it: 6 tool calls, 2,000 tokens, $0.05"


def test_calls_of_later_rounds_would_have_been_refused_until_the_person_speaks(looping: Path) -> None:
    entries, sums = played(looping)
    refused = [each for each in entries if each["would_be"]]
    assert [each["text"] for each in refused] == ["edit a.py"] * 2
    assert [each["would_be"]["response"] for each in refused] == ["block", "block"]
    assert refused[0]["would_be"]["message"].startswith('Unspin: edit of "a.py" refused: 3 failing edits')
    kinds = [each["kind"] for each in entries]
    assert kinds.index("released") == kinds.index("person", 1) + 1
    assert kinds[kinds.index("released") :] == ["released", "edit", "check"]
    assert (sums["said"], sums["refused"], sums["stopped"]) == (1, 2, 0)


def test_a_refusal_is_worded_once_and_every_call_is_marked(looping: Path) -> None:
    shown = replay(looping).stdout
    assert shown.count("would have been refused") == 2
    assert shown.count('edit of "a.py" refused') == 1
    assert shown.count("released: the person has spoken") == 1


def test_after_three_refusals_the_turn_would_have_ended(tmp_path: Path) -> None:
    path = logs.write(tmp_path / "a.jsonl", [logs.began(), logs.said("Fix a.py.", 1), *logs.loop(8)])
    entries, sums = played(path)
    assert [each["would_be"]["response"] for each in entries if each["would_be"]] == ["block"] * 3 + ["halt"] * 2
    assert sums["stopped"] == 1
    assert "live, the turn would have ended here" in replay(path).stdout


def test_a_pass_ends_what_stands(tmp_path: Path) -> None:
    lines = [logs.began(), *logs.loop(3), *logs.check(100, passes=True), *logs.edit("again", 110)]
    _, sums = played(logs.write(tmp_path / "a.jsonl", lines))
    assert (sums["said"], sums["refused"]) == (1, 0)


@pytest.mark.parametrize(("mode", "counts"), [("guard", (1, 2)), ("nudge", (1, 0)), ("observe", (0, 0))])
def test_the_mode_is_the_one_that_is_given(looping: Path, mode: str, counts: tuple[int, int]) -> None:
    (looping.parent / "unspin.toml").write_text('mode = "observe"\n')
    _, sums = played(looping, "--mode", mode)
    assert (sums["said"], sums["refused"]) == counts


def test_what_is_noticed_is_what_scan_notices(tmp_path: Path) -> None:
    path = logs.write(tmp_path / "a.jsonl", logs.long(600))
    entries, sums = played(path)
    (scanned,) = scan(Source(str(path)), Settings()).sessions
    assert [each["detection"]["identity"] for each in entries if "detection" in each] == [
        each.identity for each in scanned.found
    ]
    assert sums["tool_calls"] == scanned.tool_calls and sums["refused"] > 0


def test_the_same_file_gives_the_same_lines(looping: Path) -> None:
    assert replay(looping).stdout == replay(looping).stdout
    assert replay(looping, "--json").stdout == replay(looping, "--json").stdout


def test_speed_waits_as_the_time_stamps_say_and_never_long(looping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(reporting.time, "sleep", waits.append)
    replay(looping)
    assert waits == []
    replay(looping, "--speed", "10")
    assert waits[:3] == pytest.approx([0.9, 1.0, 1.0]) and waits[-3] == pytest.approx(10.0)
    waits.clear()
    replay(looping, "--speed", "0.1")
    assert max(waits) == 10


def test_a_log_without_time_stamps_shows_none(tmp_path: Path) -> None:
    lines = [{key: value for key, value in line.items() if key != "time"} for line in [logs.began(), *logs.loop(3)]]
    path = logs.write(tmp_path / "a.jsonl", lines)
    entries, sums = played(path)
    assert {each["elapsed"] for each in entries} == {None} and sums["first"]["elapsed"] is None
    assert replay(path).stdout.startswith("agent     edit a.py")
    began = time.monotonic()
    replay(path, "--speed", "1")
    assert time.monotonic() - began < 5


def test_hostile_texts_move_no_terminal(tmp_path: Path) -> None:
    shown = replay(logs.write(tmp_path / "a.jsonl", logs.hostile())).stdout
    assert "\x1b" not in shown and "\u202e" not in shown and "\u2028" not in shown
    assert "</script>" in shown


def test_sessions_of_one_file_are_told_apart(tmp_path: Path) -> None:
    path = logs.write(tmp_path / "a.jsonl", [logs.began("one"), *logs.loop(3), logs.began("two"), *logs.loop(3)])
    shown = replay(path).stdout
    assert "session two" in shown and "session one: 1 line said" in shown


def test_live_refusals_in_a_transcript_are_told_as_such(tmp_path: Path) -> None:
    refused = {"event": "tool", "tool": "Edit", "edits": [{"path": "/shop/a.py", "new": "x"}], "refused": "guard"}
    shown = replay(logs.write(tmp_path / "a.jsonl", [logs.began(), refused, {"event": "round_end"}])).stdout
    assert "edit /shop/a.py  refused by unspin" in shown or "edit a.py  refused by unspin" in shown
