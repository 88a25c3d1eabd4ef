"""A command of which nobody told how it ended has not passed."""

from __future__ import annotations

from unspin import Guard, Settings, events

EDIT = ("/shop/src/cart.py", "a", "b")


def run(command: str, output: str, **fields: bool) -> events.ToolResult:
    call = events.ToolCall("bash", command, action=events.SHELL, label=command, command=command, cwd="/shop")
    return events.ToolResult(call, output, **fields)


def outcomes(result: events.ToolResult) -> list[tuple[str, str, str]]:
    guard = Guard(Settings(), project="/shop")
    guard.observe(result)
    guard.observe(events.RoundEnd())
    (closed,) = guard.judged
    return [(check.outcome, check.hidden, check.shown) for step in closed.steps for check in step.checks]


def test_without_a_status_and_a_word_of_how_it_ended_nothing_is_known() -> None:
    assert outcomes(run("make test", "", untold=True)) == [("unknown", "untold", "")]
    assert outcomes(run("tsc --noEmit", "", untold=True)) == [("unknown", "untold", "")]


def test_a_summary_of_its_tests_tells_enough_for_a_streak_and_no_more() -> None:
    assert outcomes(run("pytest", "3 passed in 0.1s", untold=True)) == [("unknown", "untold", "passed")]
    assert outcomes(run("pytest", "1 failed, 2 passed in 0.1s", untold=True)) == [("unknown", "untold", "failed")]


def test_where_an_agent_says_that_a_call_succeeded_it_did() -> None:
    assert outcomes(run("pytest", "3 passed in 0.1s"))[0][0] == "passed"
