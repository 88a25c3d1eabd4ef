"""unspin's own log format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin.guard import Settings
from unspin.scan.readers.own import FIELDS
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source


def scanned(folder: Path, *lines: Any) -> Result:
    path = folder / "log.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return scan(Source(str(path)), Settings())


def rules(result: Result) -> list[str]:
    return [found.rule for session in result.sessions for found in session.found]


@pytest.mark.parametrize("name", ["event", "type", "kind"])
def test_tests_run_alone_is_enough_for_rot(tmp_path: Path, name: str) -> None:
    result = scanned(
        tmp_path,
        {name: "tests_run", "run": "a", "turn": 1, "failing_tests": ["x", "y"]},
        {name: "tests_run", "run": "b", "turn": 1, "failing_tests": ["x", "y"]},
        {name: "tests_run", "run": "a", "turn": 2, "failing_tests": ["y", "x"]},
        {name: "tests_run", "run": "b", "turn": 2, "failing_tests": ["x"]},
    )
    assert result.format == "unspin" and result.errors == []
    assert [(each.session, [found.rule for found in each.found]) for each in result.sessions] == [
        ("a", ["rot"]),
        ("b", []),
    ]


@pytest.mark.parametrize("event", [{"type": "x"}, ["tests_run"], 7, None])
def test_an_event_that_is_no_text_makes_a_file_of_no_known_format(tmp_path: Path, event: Any) -> None:
    result = scanned(tmp_path, {"event": event})
    assert result.format == "" and result.errors == [] and result.skipped == {"file of no known format": 1}


def test_turns_may_be_written_as_numbers_with_a_point(tmp_path: Path) -> None:
    lines = [{"event": "tests_run", "run": "a", "turn": turn, "failing_tests": ["x"]} for turn in (1.0, 2.0)]
    assert rules(scanned(tmp_path, *lines)) == ["rot"]
    half = scanned(tmp_path, {"event": "tests_run", "run": "a", "turn": 1.5, "failing_tests": ["x"]})
    assert half.errors[0]["error"] == "tests_run: turn 1.5, expected a whole number or a name"


def test_many_runs_at_once_in_one_session(tmp_path: Path) -> None:
    turns = [(run, turn) for turn in (1, 2) for run in range(30)]
    lines = [{"event": "tests_run", "run": f"r{run}", "turn": turn, "failing_tests": ["x"]} for run, turn in turns]
    result = scanned(tmp_path, {"event": "session", "session": "all"}, *lines)
    assert len(result.sessions) == 1 and rules(result) == ["rot"] * 30


def test_a_loop(tmp_path: Path) -> None:
    lines: list[Any] = [{"event": "session", "session": "run-7", "cwd": "/shop"}, {"event": "message", "text": "fix"}]
    for number in range(3):
        lines += [
            {"event": "tool", "edits": [{"path": "/shop/a.py", "old": "x", "new": str(number)}]},
            {"event": "round_end"},
            {"event": "tool", "command": "pytest", "output": "E   TypeError: no", "exit_code": 1},
            {"event": "round_end"},
        ]
    result = scanned(tmp_path, *lines)
    (session,) = result.sessions
    assert session.tool_calls == 6 and session.edits == 3 and session.project == "/shop"
    assert session.found[0].rule == "failing_edits" and session.found[0].event_index == 6
    assert session.found[0].message.startswith('Unspin: loop (3 failing edits on "a.py"')


def test_rounds_whose_end_nobody_wrote_end_with_the_log(tmp_path: Path) -> None:
    calls = [{"event": "tool", "edits": [{"path": "/a", "old": "x", "new": "y"}], "refused": "tool"}] * 2
    lines = [line for _ in range(3) for line in (*calls, {"event": "round_end"})]
    assert rules(scanned(tmp_path, *lines[:-1]))[0] == "rejected_edits"


RED = "FAILED test_a.py::test_total - AssertionError: 1\n1 failed in 0.02s"


def turn(number: int) -> list[Any]:
    return [
        {"event": "message", "text": "go on"},
        {"event": "tool", "edits": [{"path": "/shop/a.py", "old": "x", "new": str(number)}]},
        {"event": "round_end"},
        {"event": "tool", "command": "pytest", "output": RED, "exit_code": 1},
        {"event": "round_end"},
    ]


@pytest.mark.parametrize("end", [[], [{"event": "end", "how": "done"}]])
def test_the_last_turn_ends_with_the_log(tmp_path: Path, end: list[Any]) -> None:
    shown = []
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*turn(1), *turn(2), *end]))
    result = scan(Source(str(path)), Settings(), watch=lambda thing, when, session: shown.extend(session.responses))
    (found,) = [found for session in result.sessions for found in session.found]
    assert (found.rule, found.count, found.event_index, found.response) == ("rot", 2, 5, "none")
    assert [each.rule for each in shown] == ["rot"]


def test_usage_counts_a_message_once(tmp_path: Path) -> None:
    usage = {"event": "usage", "model": "m", "input_tokens": 10, "output_tokens": 5, "id": "a", "cost": 0.5}
    (session,) = scanned(tmp_path, usage, usage, {**usage, "id": "b"}).sessions
    assert session.tokens == 30 and session.dollars == 1.0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "expected an object"),
        ({"event": "tool", "exit_code": "1"}, "expected a whole number"),
        ({"event": "tool", "action": "dance"}, "expected one of"),
        ({"event": "tool", "edits": [{"p": 1}]}, "expected a list such as"),
        ({"event": "tests_run", "run": "r", "turn": 1, "failing_tests": "x"}, "expected a list of test ids"),
        ({"event": "tests_run", "run": "r", "failing_tests": []}, "turn"),
        ({"event": "message", "text": 5}, "expected a text"),
    ],
)
def test_a_broken_line_is_reported_and_the_rest_is_read(tmp_path: Path, line: Any, says: str) -> None:
    result = scanned(tmp_path, {"event": "message", "text": "a"}, line, {"event": "message", "text": "b"})
    assert [error["line"] for error in result.errors] == [2]
    assert says in result.errors[0]["error"]
    assert result.sessions[0].messages == 2


def test_events_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    result = scanned(tmp_path, {"event": "message"}, {"event": "weather"}, {"other": 1}, {"event": "weather"})
    assert result.skipped == {"weather": 2, "line without an event": 1}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(sorted(FIELDS)),
            st.dictionaries(st.sampled_from(sorted({field for each in FIELDS.values() for field in each})), _VALUES),
        ),
        max_size=12,
    )
)
@settings(max_examples=300, deadline=None)
def test_whatever_a_line_holds_nothing_is_raised(tmp_path_factory: pytest.TempPathFactory, lines: Any) -> None:
    result = scanned(
        tmp_path_factory.mktemp("log"), {"event": "message"}, *({**fields, "event": name} for name, fields in lines)
    )
    assert result.format == "unspin"
