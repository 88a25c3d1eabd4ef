"""Turns that end as the one before."""

from __future__ import annotations

from driver import Client
from unspin import Guard, events

RED = "FAILED test_a.py::test_total - AssertionError: {}\nFAILED test_a.py::test_vat - AssertionError: 2"
ONE = "FAILED test_a.py::test_vat - AssertionError: 2"
PASSES = "===== 3 passed in 0.02s ====="


def report(guard: Guard, turn: int, *failing: str, run: str = "r") -> list[str]:
    return [each.rule for each in guard.observe(events.TurnReport(run, turn, failing_tests=failing))]


def test_the_same_failing_tests_at_the_end_of_two_turns_are_logged_and_not_said(agent: Client) -> None:
    agent.prompt("fix it")
    for number in range(2):
        agent.round(agent.edit("a.py"))
        agent.round(agent.bash("pytest", RED.format(number), 1))
        agent.prompt("go on")
    assert [(each["rule"], each["response"]) for each in agent.log()] == [("rot", "none")]
    assert agent.log()[0]["message"].startswith("Unspin: the same 2 tests fail at the end of 2 turns running.")
    assert agent.said == []


def test_another_set_a_pass_and_a_turn_without_tests_are_none(agent: Client) -> None:
    agent.round(agent.edit("a.py"))
    for output, status in ((RED, 1), (ONE, 1), (PASSES, 0), (ONE, 1)):
        agent.round(agent.bash("pytest", output, status))
        agent.prompt("go on")
    agent.prompt("a question")
    agent.round(agent.bash("pytest", ONE, 1))
    agent.prompt("go on")
    assert "rot" not in agent.rules()


def test_what_a_turn_ends_with_counts_not_what_it_began_with(agent: Client) -> None:
    agent.round(agent.edit("a.py"))
    agent.round(agent.bash("pytest", RED, 1))
    agent.prompt("go on")
    agent.round(agent.bash("pytest", RED, 1))
    agent.round(agent.edit("a.py"))
    agent.round(agent.bash("pytest", PASSES))
    agent.prompt("go on")
    assert "rot" not in agent.rules()


def test_tests_that_failed_before_the_first_change_are_left_out(agent: Client) -> None:
    agent.round(agent.bash("pytest", ONE, 1))
    agent.round(agent.edit("a.py"))
    for _ in range(2):
        agent.round(agent.bash("pytest", ONE, 1))
        agent.prompt("go on")
    assert "rot" not in agent.rules()


def test_builds_that_fail_two_turns_running(agent: Client) -> None:
    agent.round(agent.edit("a.ts"))
    for number in range(2):
        agent.round(
            agent.bash("npm run build", f"src/a.ts({number + 1},1): error TS2304: Cannot find name 'x{number}'.", 2)
        )
        agent.prompt("go on")
    assert [each["message"] for each in agent.log()] == [
        "Unspin: the build fails at the end of 2 turns running. Tell the user before going on."
    ]


def test_reported_turns() -> None:
    guard = Guard()
    assert report(guard, 1, "a", "b") == []
    assert report(guard, 1, "b", "a") == []  # the same turn again
    assert report(guard, 2, "b", "a") == ["rot"]
    assert report(guard, 3, "a") == []
    assert report(guard, 4) == [] and report(guard, 5) == []  # nothing fails: never
    assert report(guard, 1, "a", run="other") == []
    assert report(guard, 2, "a", run="other") == ["rot"]


def test_a_finding_that_returns_word_for_word() -> None:
    guard = Guard()

    def turn(number: int, *texts: str) -> list[str]:
        return [each.message for each in guard.observe(events.TurnReport("r", number, findings=texts))]

    assert turn(1, "No test for the empty cart", "Name it better") == []
    assert turn(2, "No test  for\nthe empty cart") == [
        'Unspin: a review finding came back word for word: "No test for the empty cart". Tell the user before going on.'
    ]
    assert turn(3, "Another thing") == []
    assert turn(4, "No test for the empty cart") == []
