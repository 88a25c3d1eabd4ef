"""The caps of a run: nothing that workers, reviewers, people and crashes do in whatever order exceeds them."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin.guard.budget import REASONS
from unspin.run import machine as m
from unspin.run.findings import READY, REVISE, SHIP
from unspin.run.machine import Caps, Machine

REVIEWERS = {"design": ["one", "two"], "code": ["one"]}


def turn(run: Machine, verdict: str) -> None:
    """One author turn with its reviews and a verdict."""
    run.begin_author()
    run.author_done(ok=True)
    while (step := run.next()).what in (m.CHECKS, m.REVIEW):
        if step.what == m.CHECKS:
            run.checks_done()
        else:
            run.review_done(step.reviewer, ok=True)
    assert step.what == m.JUDGE
    run.judged(verdict)


def sketched(caps: Caps | None = None, **given: object) -> Machine:
    run = Machine(caps or Caps(), REVIEWERS, **given)  # type: ignore[arg-type]
    run.begin_author()
    run.author_done(ok=True)
    assert run.next().stage == m.DESIGN
    return run


def test_a_run_that_goes_well() -> None:
    run = sketched(checks=True)
    turn(run, READY)
    assert run.next().stage == m.CODE
    turn(run, REVISE)
    turn(run, SHIP)
    assert run.next().what == m.FINISH
    run.finished()
    assert (run.state["state"], run.state["stop_reason"], run.state["turn"]) == (m.SHIPPED, "done", 4)
    assert run.state["verdicts"] == [[2, "design", READY], [3, "code", REVISE], [4, "code", SHIP]]


def test_the_third_verdict_running_that_is_not_terminal_halts() -> None:
    run = sketched()
    for number in range(3):
        assert run.state["state"] == m.RUNNING
        turn(run, REVISE)
        assert run.state["streak"] == number + 1
    assert (run.state["state"], run.state["stop_reason"]) == (m.HALTED, "review streak")
    assert run.next().what == m.WAIT


def test_with_overrides_the_cap_and_its_increments_and_never_later() -> None:
    run = sketched()
    while True:
        while run.state["state"] == m.RUNNING:
            turn(run, REVISE)
        if run.state["stop_reason"] == m.TURN_CAP:
            break
        run.override()
    assert run.state["design_turns"] == 8 + 2 * run.state["overrides"]
    before = run.state["design_turns"]
    run.override()
    turn(run, REVISE)
    turn(run, REVISE)
    assert run.state["state"] == m.HALTED and run.state["design_turns"] == before + 2


def test_an_override_does_not_trip_again_on_every_later_turn() -> None:
    run = sketched()
    for _ in range(3):
        turn(run, REVISE)
    run.override()
    turn(run, REVISE)
    turn(run, REVISE)
    assert run.state["state"] == m.RUNNING
    turn(run, REVISE)
    assert run.state["stop_reason"] == m.REVIEW_STREAK


def test_ready_three_times_running_is_no_loop() -> None:
    run = sketched(gates=("design",))
    for _ in range(3):
        turn(run, READY)
        assert run.state["halted"] == m.GATE
        run.override()
    assert run.state["streak"] == 0


def test_code_review_that_always_finds_something_ends_with_the_budget_of_turns() -> None:
    run = sketched(Caps(turns=6))
    turn(run, READY)
    while run.state["state"] == m.RUNNING:
        turn(run, REVISE)
    assert (run.state["stop_reason"], run.state["turn"]) == (m.TURN_CAP, 6)


def test_a_review_that_cannot_be_read_is_dispatched_again_twice() -> None:
    run = sketched()
    run.begin_author()
    run.author_done(ok=True)
    assert [run.next().attempt, run.review_done("one", ok=False)][0] == 1
    assert run.next().attempt == 2
    run.review_done("one", ok=False)
    assert run.next().attempt == 3
    run.review_done("one", ok=False)
    assert (run.state["state"], run.state["stop_reason"]) == (m.FAILED, m.REVIEWER_FAILED)
    assert run.next().what == m.OVER


def test_three_turns_running_that_come_to_nothing() -> None:
    run = sketched()
    for _ in range(3):
        run.begin_author()
        run.author_done(ok=False)
    assert run.state["state"] == m.FAILED and run.state["turn"] == 4


def test_the_gate_before_code(  # the person looks at the design first
) -> None:
    run = sketched(gates=("design",))
    turn(run, READY)
    assert run.state["state"] == m.HALTED
    run.approve()
    assert run.next().stage == m.CODE


def test_a_turn_that_is_repeated_after_a_crash_counts_once() -> None:
    run = sketched()
    number = run.begin_author()
    again = Machine(Caps(), REVIEWERS, state=json.loads(json.dumps(run.state)))
    assert again.next().what == m.AUTHOR and again.next().turn == number
    assert again.begin_author() == number
    assert again.state["design_turns"] == 1


def test_stop_reasons_are_those_of_the_list() -> None:
    assert {m.REVIEW_STREAK, m.TURN_CAP, m.REVIEWER_FAILED, m.STOPPED} <= set(REASONS)


@pytest.mark.parametrize("what", ["override", "approve"])
def test_a_run_that_waits_for_nobody(what: str) -> None:
    with pytest.raises(ValueError, match="waits for nobody"):
        getattr(sketched(), what)()


_CAPS = st.builds(
    Caps,
    review_streak=st.integers(1, 4),
    design_turns=st.integers(1, 6),
    override_increment=st.integers(0, 3),
    turns=st.integers(1, 12),
)
_MOVES = st.lists(
    st.sampled_from(
        [REVISE, REVISE, REVISE, READY, SHIP, "fail", "unread", "crash", "killed", "override", "approve", "spent"]
    ),
    max_size=120,
)


@given(caps=_CAPS, moves=_MOVES, gate=st.booleans(), checks=st.booleans())
@settings(max_examples=400, deadline=None)
def test_no_order_of_verdicts_overrides_and_crashes_exceeds_the_bounds(
    caps: Caps, moves: list[str], gate: bool, checks: bool
) -> None:
    gates = ("design",) if gate else ()
    run = Machine(caps, REVIEWERS, gates=gates, checks=checks)
    begun: list[int] = []  # author turns that a worker was started for, with repeats after crashes
    for move in moves:
        step = run.next()
        if step.what == m.OVER:
            if move != "override" or run.state["state"] != m.FAILED:
                continue
            run.override()  # what failed was mended
        if move == "crash":
            run = Machine(caps, REVIEWERS, gates=gates, checks=checks, state=copy.deepcopy(run.state))
        elif step.what == m.WAIT:
            if move == "approve":
                run.approve()
            elif move == "override":
                run.override()
        elif step.what == m.AUTHOR:
            begun.append(run.begin_author())
            if move == "killed":  # while the worker is at work: the same turn again
                run = Machine(caps, REVIEWERS, gates=gates, checks=checks, state=json.loads(json.dumps(run.state)))
            else:
                run.author_done(ok=move != "fail")
        elif step.what == m.CHECKS:
            run.checks_done()
        elif step.what == m.REVIEW:
            run.review_done(step.reviewer, ok=move != "unread")
        elif step.what == m.JUDGE:
            run.judged(move if move in (READY, SHIP) else REVISE)
        elif step.what == m.FINISH:
            run.finished()
        if move == "spent":
            run.spent("token budget")
        state = run.state
        bound = caps.override_increment * state["overrides"]
        assert state["design_turns"] <= caps.design_turns + bound
        assert state["turn"] <= caps.turns + bound
        assert len(set(begun)) == state["turn"] if begun else state["turn"] == 0
        assert begun == sorted(begun)
        assert state["streak"] <= caps.review_streak
        json.dumps(state)
