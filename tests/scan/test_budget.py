"""Budgets: asked before a step, and over recorded runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin.guard.budget import REASONS, Budget, BudgetError, StopReport
from unspin.scan import ends
from unspin.scan.budget import ANSWER, Stops, as_mapping, stop_reports
from unspin.scan.source import Source

# -- the budget ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["steps", "tokens", "cost", "seconds"])
@pytest.mark.parametrize("value", [0, -1, math.inf, -math.inf, math.nan, True, "3"])
def test_a_budget_that_always_or_never_stops_is_an_error_that_says_what_is_expected(name: str, value: Any) -> None:
    with pytest.raises(BudgetError, match=rf"{name} = .*: expected a (whole )?number"):
        Budget(**{name: value})


def test_steps_and_tokens_are_whole() -> None:
    with pytest.raises(BudgetError, match="whole number from 1"):
        Budget(tokens=1.5)  # type: ignore[arg-type]
    assert Budget(cost=0.5, seconds=1.5).limits == {"cost": 0.5, "seconds": 1.5}


def test_it_stops_before_the_step_that_would_exceed_and_names_it() -> None:
    budget = Budget(tokens=1000)
    for name, tokens in (("read", 400), ("edit", 600)):  # the second uses it up and does not exceed it
        assert budget.before(name, tokens=tokens) is None
        budget.after(tokens=tokens)
    report = budget.before("npm test", tokens=1)
    assert report is not None and report.as_mapping() == {
        "reason": "token budget",
        "completed_steps": 2,
        "next_step": "npm test",
        "tokens_used": 1000,
        "checks": [],
        "tail": [],
        "notes": [],
    }


def test_a_step_of_unknown_size_is_not_started_once_the_budget_is_used_up() -> None:
    budget = Budget(cost=1.0)
    assert budget.before("a") is None
    budget.after(cost=1.0)
    assert budget.before("b", cost=0.0) is None  # known to cost nothing
    assert budget.before("b") is not None


def test_dollars_that_add_up_to_the_budget_do_not_exceed_it() -> None:
    budget = Budget(cost=0.3)
    for _ in range(3):
        assert budget.before("a", cost=0.1) is None
        budget.after(cost=0.1)


def test_time_is_handed_in_and_cannot_be_left_out() -> None:
    budget = Budget(seconds=60)
    assert budget.before("a", elapsed=10, seconds=50) is None
    assert budget.before("a", elapsed=11, seconds=50).reason == "time budget"  # type: ignore[union-attr]
    assert budget.before("a", elapsed=60).reason == "time budget"  # type: ignore[union-attr]
    with pytest.raises(BudgetError, match="elapsed"):
        budget.before("a")


def test_what_is_limited_has_to_be_told() -> None:
    with pytest.raises(BudgetError, match=r"after\(tokens=\.\.\.\)"):
        Budget(tokens=10).after(cost=1)
    with pytest.raises(BudgetError, match="from 0"):
        Budget().after(tokens=-1)
    with pytest.raises(BudgetError, match="from 0"):
        Budget(tokens=5).before("a", tokens=math.nan)  # type: ignore[arg-type]


def test_used_goes_on_in_another_process() -> None:
    first = Budget(steps=2)
    first.after(tokens=5)
    again = Budget(steps=2, used=json.loads(json.dumps(first.used)))
    again.after(tokens=5)
    report = again.before("c")
    assert report is not None and (report.completed_steps, report.tokens_used) == (2, 10)
    with pytest.raises(BudgetError, match="stepps"):
        Budget(used={"stepps": 1})


def test_the_reasons_are_a_closed_list() -> None:
    assert StopReport("review streak").reason in REASONS
    with pytest.raises(ValueError, match="expected one of done, step budget"):
        StopReport("tired")


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 10), st.integers(1, 200))
def test_no_run_ever_exceeds_its_budgets(sizes: list[int], steps: int, tokens: int) -> None:
    budget = Budget(steps=steps, tokens=tokens)
    for size in sizes:
        if budget.before("x", tokens=size):
            assert budget.used["steps"] + 1 > steps or budget.used["tokens"] + size > tokens
            break
        budget.after(tokens=size)
    assert budget.used["steps"] <= steps and budget.used["tokens"] <= tokens


# -- recorded runs ---------------------------------------------------------------------


def log(folder: Path, *lines: dict[str, Any]) -> Source:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Source(str(path))


def a_round(number: int, tokens: int = 100, cost: float = 0.5, minute: int | None = None) -> list[dict[str, Any]]:
    time = {"time": f"2026-11-30T10:{minute:02}:00Z"} if minute is not None else {}
    return [
        {"event": "usage", "model": "m", "input_tokens": tokens, "cost": cost, **time},
        {"event": "tool", "command": f"step {number}", "output": "ok", "exit_code": 0, **time},
        {"event": "round_end", **time},
    ]


def rounds(count: int, **given: Any) -> list[dict[str, Any]]:
    return [line for number in range(1, count + 1) for line in a_round(number, **given)]


def report(source: Source, **limits: float) -> StopReport:
    ((_, found),) = stop_reports(source, limits)
    return found


@pytest.mark.parametrize(
    ("limits", "reason", "completed"),
    [
        ({"steps": 3}, "step budget", 3),
        ({"steps": 5}, "done", 5),
        ({"tokens": 250}, "token budget", 2),
        ({"tokens": 300}, "token budget", 3),
        ({"cost": 0.4}, "cost budget", 0),
        ({"cost": 1.0, "steps": 4}, "cost budget", 2),
        ({"steps": 2, "tokens": 200}, "step budget", 2),
        ({}, "done", 5),
    ],
)
def test_the_run_is_stopped_before_the_step_that_exceeds(
    tmp_path: Path, limits: dict[str, float], reason: str, completed: int
) -> None:
    found = report(log(tmp_path, *rounds(5)), **limits)
    assert (found.reason, found.completed_steps) == (reason, completed)
    assert found.tokens_used == 100 * completed
    assert found.next_step == (f'"step {completed + 1}"' if completed < 5 else "")


def test_a_response_of_several_calls_is_one_step_and_subagents_are_part_of_it(tmp_path: Path) -> None:
    call = {"event": "tool", "command": "ls", "output": "a", "exit_code": 0}
    sub = {"event": "usage", "model": "m", "input_tokens": 900, "agent": "s"}
    source = log(
        tmp_path, *rounds(1), call, {**call, "command": "pwd"}, {**call, "agent": "s"}, sub,
        {"event": "round_end", "agent": "s"}, {"event": "round_end"}, *rounds(1),
    )  # fmt: skip
    assert report(source).completed_steps == 3
    found = report(source, tokens=500)
    assert (found.completed_steps, found.next_step, found.tokens_used) == (1, '"ls" and 1 more', 100)


def test_an_answer_without_calls_is_no_step_and_its_tokens_count(tmp_path: Path) -> None:
    answer = {"event": "usage", "model": "m", "input_tokens": 500}
    source = log(tmp_path, *rounds(2), answer, {"event": "message", "text": "go on"}, *rounds(1))
    assert report(source, steps=3).reason == "done"
    assert (found := report(source, tokens=600)).next_step == ANSWER and found.completed_steps == 2
    assert report(source, tokens=750).completed_steps == 2
    assert report(log(tmp_path, *rounds(2), answer), tokens=600).next_step == ANSWER


def test_time_is_the_transcripts_own(tmp_path: Path) -> None:
    source = log(tmp_path, *(line for number in range(4) for line in a_round(number, minute=number * 10)))
    found = report(source, seconds=1200)
    assert (found.reason, found.completed_steps) == ("time budget", 3)
    found = report(log(tmp_path, *rounds(2)), seconds=60)
    assert found.reason == "done" and any("no times" in note for note in found.notes)


def test_what_a_transcript_does_not_tell_is_said(tmp_path: Path) -> None:
    found = report(log(tmp_path, *a_round(1, tokens=0, cost=0)), tokens=10)
    assert any("token budget saw nothing" in note for note in found.notes)


def looping(attempts: int = 3) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [{"event": "session", "session": "s", "cwd": "/shop"}]
    for number in range(attempts):
        lines += [
            {"event": "tool", "edits": [{"path": "/shop/a.py", "old": "x", "new": str(number)}]},
            {"event": "round_end"},
            {"event": "tool", "command": "pytest", "output": "E   TypeError: no\nlast line", "exit_code": 1},
            {"event": "round_end"},
        ]
    return lines


def test_checks_are_told_once_each_with_an_excerpt(tmp_path: Path) -> None:
    passed = {"event": "tool", "command": "npm run build", "output": "one\nBuilt in 3 s\n", "exit_code": 0}
    found = report(log(tmp_path, *looping(2), passed, {"event": "round_end"}))
    assert found.checks == [
        {
            "kind": "test",
            "command": '"pytest"',
            "outcome": "failed",
            "excerpt": '"TypeError: no"',
        },
        {"kind": "build", "command": '"npm run build"', "outcome": "passed", "excerpt": '"Built in 3 s"'},
    ]


def test_checks_after_the_stop_did_not_take_place(tmp_path: Path) -> None:
    assert report(log(tmp_path, *looping()), steps=1).checks == []


def test_a_run_that_ends_in_a_loop_quotes_the_actions(tmp_path: Path) -> None:
    found = report(log(tmp_path, *looping()))
    assert found.reason == "loop" and found.completed_steps == 6
    assert found.notes[0].startswith('Unspin: loop (3 failing edits on "a.py"')
    assert len(found.tail) == 6 and found.tail[-1] == '"TypeError: no"'


def test_a_budget_is_reported_as_budget_and_the_loop_in_the_notes(tmp_path: Path) -> None:
    found = report(log(tmp_path, *looping(5)), steps=8)
    assert found.reason == "step budget" and found.tail == []
    assert found.notes == [
        "a loop was noticed after step 6: " + 'Unspin: loop (3 failing edits on "a.py"; nothing has passed yet). '
        "Stop editing and ask the user now: rethink the approach, or hand off and restart?"
    ]


@pytest.mark.parametrize("after", [{"event": "message", "text": "stop"}, {"event": "end", "how": "Submitted"}])
def test_a_loop_that_no_longer_stands_is_not_the_end(tmp_path: Path, after: dict[str, Any]) -> None:
    assert report(log(tmp_path, *looping(), after)).reason == "done"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("Submitted", "done"),
        ("submitted (exit_cost)", "cost budget"),
        ("LimitsExceeded", "step budget"),
        ("TimeLimitExceeded", "time budget"),
        ("something else", "done"),
        ("RuntimeError", "done"),
    ],
)
def test_how_a_run_says_it_ended(tmp_path: Path, how: str, reason: str) -> None:
    found = report(log(tmp_path, *rounds(1), {"event": "end", "how": how}))
    assert found.reason == reason and found.notes == [f'it says of its end: "{how}"']


def test_every_reason_in_the_list_of_ends_is_one_of_a_report() -> None:
    assert {reason for _, _, reason in ends._ends()} <= {"", *REASONS}


def test_quotes_are_cleaned_and_secrets_taken_out(tmp_path: Path) -> None:
    command = "deploy \x1b[31m --token ghp_0123456789abcdefghijABCDEFGHIJ012345"
    call = {"event": "tool", "command": command, "output": "", "exit_code": 0}
    found = report(log(tmp_path, call, {"event": "round_end"}, call, {"event": "round_end"}), steps=1)
    assert "\x1b" not in found.next_step and "ghp_" not in found.next_step


def test_sessions_of_one_file_have_a_report_each(tmp_path: Path) -> None:
    source = log(
        tmp_path, {"event": "session", "session": "a"}, *rounds(3), {"event": "session", "session": "b"}, *rounds(1)
    )
    found = as_mapping(stop_reports(source, {"steps": 2}))
    assert [(each["session"], each["reason"]) for each in found] == [("a", "step budget"), ("b", "done")]
    with pytest.raises(BudgetError):
        Stops({"steps": 0})


@pytest.mark.corpora
def test_recorded_runs_are_stopped_where_an_independent_count_says(shared: Path) -> None:
    import gzip

    for path in sorted((shared / "corpora" / "mini_gemini3_swebv").glob("*.gz"))[:12]:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            messages = json.load(file)["messages"]
        answered = sum(each["role"] == "user" and "<returncode>" in each["content"] for each in messages[2:])
        ((_, whole),) = stop_reports(Source(str(path)))
        ((_, stopped),) = stop_reports(Source(str(path)), {"steps": 10})
        assert whole.completed_steps - answered in (0, 1)  # what the last one printed is the submission
        assert (stopped.reason, stopped.completed_steps) == ("step budget", 10)


def test_the_example_of_the_budget_is_true() -> None:
    import doctest

    from unspin.guard import budget

    assert doctest.testmod(budget).failed == 0
