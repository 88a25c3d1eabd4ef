"""Turns that end as the one before."""

from __future__ import annotations

from typing import Any

import pytest

from driver import Client
from unspin import Guard, events

RED = "FAILED test_a.py::test_total - AssertionError: {}\nFAILED test_a.py::test_vat - AssertionError: 2"
ONE = "FAILED test_a.py::test_vat - AssertionError: 2"
PASSES = "===== 3 passed in 0.02s ====="


def report(guard: Guard, turn: int, *failing: str, run: str = "r") -> list[str]:
    return [each.rule for each in guard.observe(events.TurnReport(run, turn, failing_tests=failing))]


class Session:
    """A session in-process."""

    def __init__(self) -> None:
        self.guard = Guard()
        self.found: list[Any] = []

    def _observe(self, *given: Any) -> None:
        for event in given:
            self.found += self.guard.observe(event)

    def edit(self, path: str) -> None:
        self._observe(events.edit(path, "a", f"b{len(self.found)}"), events.RoundEnd())

    def shell(self, command: str, output: str, status: int = 0) -> None:
        self._observe(events.shell(command, output, status), events.RoundEnd())

    def prompt(self) -> None:
        self._observe(events.Message("go on"))

    def rot(self) -> list[str]:
        return [each.message for each in self.found if each.rule == "rot" and each.kind == "none"]


def test_the_same_failing_tests_at_the_end_of_two_turns() -> None:
    session = Session()
    for number in range(2):
        session.edit("/p/a.py")
        session.shell("pytest", RED.format(number), 1)
        session.prompt()
    assert session.rot() == [
        "Unspin: the same 2 tests fail at the end of 2 turns running. Tell the user before going on."
    ]


@pytest.mark.parametrize(
    ("after", "rot"),
    [(PASSES, 0), ("1 failed, 2 passed in 0.02s", 1), ("collected 3 items", 1), ("", 1)],
)
def test_a_later_run_that_says_that_all_passed_leaves_the_end_of_a_turn_open(after: str, rot: int) -> None:
    session = Session()
    for number in range(2):
        session.edit("/p/a.py")
        session.shell("pytest", RED.format(number), 1)
        session.edit("/p/a.py")
        session.shell("pytest | tail -3", after)
        session.prompt()
    assert len(session.rot()) == rot


@pytest.mark.parametrize(("shown", "rot"), [(PASSES, 0), (f"{ONE}\n1 failed in 0.1s", 1)])
def test_where_a_log_tells_no_status_the_summary_of_the_run_counts(shown: str, rot: int) -> None:
    session = Session()
    for _ in range(2):
        session.edit("/p/a.py")
        call = events.ToolCall("shell", "pytest", action=events.SHELL, command="pytest")
        session._observe(events.ToolResult(call, shown, untold=True), events.RoundEnd())
        session.prompt()
    assert len(session.rot()) == rot


def test_it_is_logged_and_never_said(agent: Client) -> None:
    for number in range(2):
        agent.round(agent.edit("a.py"))
        agent.round(agent.bash("pytest", RED.format(number), 1))
        agent.prompt("go on")
    assert [(each["rule"], each["response"]) for each in agent.log()] == [("rot", "none")]
    assert agent.said == []


def test_another_set_a_pass_and_a_turn_without_tests_are_none() -> None:
    session = Session()
    session.edit("/p/a.py")
    for output, status in ((RED, 1), (ONE, 1), (PASSES, 0), (ONE, 1)):
        session.shell("pytest", output, status)
        session.prompt()
    session.prompt()
    session.shell("pytest", ONE, 1)
    session.prompt()
    assert session.rot() == []


def test_what_a_turn_ends_with_counts_not_what_it_began_with() -> None:
    session = Session()
    session.edit("/p/a.py")
    session.shell("pytest", RED, 1)
    session.prompt()
    session.shell("pytest", RED, 1)
    session.edit("/p/a.py")
    session.shell("pytest", PASSES)
    session.prompt()
    assert session.rot() == []


def test_tests_that_failed_before_the_first_change_are_left_out() -> None:
    session = Session()
    session.shell("pytest", ONE, 1)
    session.edit("/p/a.py")
    for _ in range(2):
        session.shell("pytest", ONE, 1)
        session.prompt()
    assert session.rot() == []


def test_sets_of_hundreds_are_told_apart_by_all_their_tests_in_any_order() -> None:
    names = [f"test_{number:03}" for number in range(150)]

    def ends(*turns: list[str]) -> list[str]:
        session = Session()
        session.edit("/p/a.py")
        for failing in turns:
            session.shell("pytest", "\n".join(f"FAILED test_a.py::{name} - x" for name in failing), 1)
            session.prompt()
        return session.rot()

    assert ends(names, names[::-1])[0].startswith("Unspin: the same 150 tests fail")
    assert ends(names, [*names[:-1], "test_other"]) == []
    assert ends(names, names[:-1]) == []


def test_a_turn_that_a_question_to_the_person_ended() -> None:
    session = Session()
    session.edit("/p/a.py")
    session.shell("pytest", RED.format(0), 1)
    session.prompt()
    session.shell("pytest", RED.format(1), 1)
    ask = events.ToolCall("AskUserQuestion", "how?", action=events.ASK)
    session._observe(events.ToolResult(ask, "your way"), events.RoundEnd())
    assert len(session.rot()) == 1


def test_a_record_that_ends_ends_its_last_turn() -> None:
    session = Session()
    session.edit("/p/a.py")
    for _ in range(2):
        session.prompt()
        session.shell("pytest", RED.format(0), 1)
    assert session.rot() == []
    assert [(each.rule, each.kind) for each in session.guard.close()] == [("rot", "none")]


def test_a_later_build_of_unknown_outcome_leaves_the_end_of_a_turn_open() -> None:
    session = Session()
    for number in range(2):
        session.edit("/p/a.ts")
        session.shell("npx tsc --noEmit", f"src/a.ts(3,7): error TS2322: not assignable {number}", 2)
        session.shell("npx tsc --noEmit | tail -20", "")
        session.prompt()
    assert session.rot() == []


def test_builds_that_fail_two_turns_running() -> None:
    session = Session()
    session.edit("/p/a.ts")
    for number in range(2):
        session.shell("npm run build", f"src/a.ts({number + 1},1): error TS2304: Cannot find name 'x{number}'.", 2)
        session.prompt()
    assert session.rot() == ["Unspin: the build fails at the end of 2 turns running. Tell the user before going on."]


@pytest.mark.parametrize(
    ("command", "fires"), [("npx tsc", True), ("npx vue-tsc --noEmit", True), ("mypy src", False), ("eslint .", False)]
)
def test_a_compiler_is_a_build_and_other_checkers_are_none(command: str, fires: bool) -> None:
    session = Session()
    session.edit("/p/a.ts")
    for _ in range(2):
        session.shell(command, "src/a.ts(1,1): error TS2304: Cannot find name 'x'.", 2)
        session.prompt()
    assert bool(session.rot()) is fires


def test_reported_turns() -> None:
    guard = Guard()
    assert report(guard, 1, "a", "b") == []
    assert report(guard, 1, "b", "a") == []  # the same turn again
    assert report(guard, 2, "b", "a") == ["rot"]
    assert report(guard, 3, "a") == []
    assert report(guard, 4) == [] and report(guard, 5) == []  # nothing fails: never
    assert report(guard, 1, "a", run="other") == []
    assert report(guard, 2, "a", run="other") == ["rot"]


def test_reported_sets_of_a_thousand() -> None:
    guard, names = Guard(), [f"t{number}" for number in range(1000)]
    assert report(guard, 1, *names) == []
    (found,) = guard.observe(events.TurnReport("r", 2, failing_tests=names[::-1]))
    assert found.message.startswith("Unspin: the same 1000 tests fail")
    assert report(guard, 3, *names[:-1], "another") == []


def test_a_finding_that_returns_word_for_word() -> None:
    guard = Guard()

    def turn(number: int, *texts: str) -> list[str]:
        return [each.message for each in guard.observe(events.TurnReport("r", number, findings=texts))]

    assert turn(1, "No test for the empty cart", "Name it better") == []
    assert turn(2, "No test  for\nthe empty cart") == [
        'Unspin: a review finding came back word for word: "No test for the empty cart". Tell the user before going on.'
    ]
    assert turn(3, "Another thing") == []
    assert len(turn(4, "No test for the empty cart", "Name it better")) == 2  # gone for a while, and back


def test_how_often_a_finding_stood_counts_turns() -> None:
    guard = Guard()
    found = [guard.observe(events.TurnReport("r", turn, findings=["No test"])) for turn in (1, 2, 2, 3)]
    assert [[each.count for each in told] for told in found] == [[], [2], [], [3]]
    assert [(each["event_index"], each["excerpt"]) for each in found[3][0].evidence] == [
        (1, "turn 2 of r"),
        (3, "turn 3 of r"),
    ]


def test_reported_tests_that_failed_before_the_first_change_are_left_out() -> None:
    guard = Guard()
    assert report(guard, 1, "old") == []
    for event in (events.edit("/p/a.py", "a", "b"), events.RoundEnd()):
        guard.observe(event)
    assert report(guard, 2, "old") == [] and report(guard, 3, "old") == []
    assert report(guard, 4, "old", "new") == []
    (found,) = guard.observe(events.TurnReport("r", 5, failing_tests=["new", "old"]))
    assert found.message.startswith("Unspin: the same 1 test fails")


def test_a_change_by_a_subagent_is_a_change() -> None:
    session = Session()
    call = events.ToolCall("edit", action=events.EDIT, edits=[events.Edit("/p/a.py", "a", "b")], agent="sub")
    session._observe(events.ToolResult(call), events.RoundEnd("sub"))
    for _ in range(2):
        session.shell("pytest", ONE, 1)
        session.prompt()
    assert len(session.rot()) == 1
