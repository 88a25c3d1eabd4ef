"""The claim guard as a state machine: bounds, the cleared answer, the window after a compaction, its state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from unspin import Budget, events
from unspin.claims import ClaimGuard

CLAIM = "I have now deployed the changes."
HONEST = "Nothing is deployed yet."
DEPLOY = {"tool": "bash", "command": "make deploy"}


def test_it_is_off_by_default() -> None:
    guard = ClaimGuard()
    guard.begin_turn()
    verdict = guard.reconcile(CLAIM)
    assert (verdict.checked, verdict.reprompt, verdict.notice, guard.result()) == (False, False, None, CLAIM)


def test_while_a_re_prompt_is_pending_there_is_no_answer() -> None:
    guard = ClaimGuard(enabled=True)
    guard.begin_turn()
    assert guard.result() is None
    assert guard.reconcile(CLAIM).reprompt
    assert (guard.pending, guard.result()) == (True, None)
    guard.did(DEPLOY)
    assert not guard.reconcile(CLAIM).reprompt
    assert (guard.pending, guard.result(), guard.unbacked) == (False, CLAIM, [])


def test_a_later_stop_by_budget_cannot_report_the_unbacked_claim() -> None:
    guard, budget = ClaimGuard(enabled=True), Budget(steps=1)
    guard.begin_turn()
    budget.after()
    assert guard.reconcile(CLAIM).reprompt
    stop = budget.before("model call")
    assert stop is not None and stop.reason == "step budget"
    assert guard.result() is None


def test_a_cleared_answer_is_not_the_one_before_either() -> None:
    guard = ClaimGuard(enabled=True)
    guard.begin_turn()
    guard.reconcile(HONEST)
    assert guard.result() == HONEST
    guard.reconcile(CLAIM)  # the host lets the turn go on
    assert guard.result() is None


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_re_prompts_of_a_turn_are_bounded_and_the_claim_is_flagged_then(most: int) -> None:
    guard = ClaimGuard(enabled=True, max_reprompts=most)
    for _ in range(2):
        guard.begin_turn()
        asked = [guard.reconcile(CLAIM).reprompt for _ in range(most + 1)]
        assert asked == [True] * most + [False]
        assert (guard.pending, guard.result(), guard.unbacked) == (False, CLAIM, [CLAIM])


def test_notices_of_one_turn_share_their_key() -> None:
    guard = ClaimGuard(enabled=True)
    keys = []
    for _ in range(2):
        guard.begin_turn()
        for _ in range(3):
            notice = guard.reconcile(CLAIM).notice
            assert notice is not None and notice.level == "warning" and notice.text.startswith("Unspin: you wrote")
            keys.append(notice.key)
    assert keys == ["unbacked_claim:1"] * 3 + ["unbacked_claim:2"] * 3


def test_events_are_taken_as_they_come() -> None:
    guard = ClaimGuard(enabled=True)
    guard.observe(events.Message("Deploy it."))
    guard.observe(events.shell("cat deploy.md"))
    guard.observe(events.RoundEnd())
    assert guard.reconcile(CLAIM).reprompt
    guard.observe(events.Message("the re-prompt", by_person=False))
    assert guard.pending  # it opens no turn of its own
    guard.observe(events.shell("make deploy", "error", exit_code=2))
    verdict = guard.reconcile("I deployed the changes. It failed.")
    assert (verdict.reprompt, len(verdict.notes)) == (False, 1)
    guard.observe(events.Message("task done", by_person=False))
    assert guard.activity.turn == 2


# -- the window after a compaction ---------------------------------------------------------


def caught(guard: ClaimGuard, turns: int) -> list[bool]:
    found = []
    for _ in range(turns):
        guard.begin_turn()
        found.append(guard.reconcile(CLAIM).reprompt)
    return found


def test_it_is_on_for_a_window_of_turns_after_each_compaction() -> None:
    guard = ClaimGuard(post_compaction_window=2)
    assert caught(guard, 2) == [False, False]
    guard.begin_turn()
    guard.reconcile(HONEST)
    guard.compacted()  # between two turns
    assert caught(guard, 4) == [True, True, False, False]


def test_a_turn_that_is_compacted_is_the_first_of_its_window() -> None:
    guard = ClaimGuard(post_compaction_window=2)
    guard.begin_turn()
    guard.observe(events.Compaction(done=False))
    assert not guard.active
    guard.observe(events.Compaction(done=True))
    assert guard.reconcile(CLAIM).reprompt
    assert caught(guard, 3) == [True, False, False]


def test_a_second_compaction_opens_the_window_again() -> None:
    guard = ClaimGuard(post_compaction_window=1)
    guard.compacted()
    assert caught(guard, 2) == [True, False]
    guard.reconcile(HONEST)
    guard.compacted()
    assert caught(guard, 2) == [True, False]


def test_without_a_window_a_compaction_changes_nothing() -> None:
    guard = ClaimGuard()
    guard.compacted()
    assert caught(guard, 2) == [False, False]


def test_what_was_done_before_a_compaction_is_still_known() -> None:
    guard = ClaimGuard(post_compaction_window=1)
    guard.begin_turn()
    guard.did(DEPLOY)
    guard.compacted()
    assert not guard.reconcile(CLAIM).reprompt


# -- mistakes ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1, 1.5, True, "2", None, 10**9])
def test_limits_that_are_none_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number"):
        ClaimGuard(max_reprompts=value)
    with pytest.raises(ValueError, match="expected a whole number"):
        ClaimGuard(post_compaction_window=value)


def test_a_state_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="no state of a ClaimGuard"):
        ClaimGuard(state={"turn": 1})


# -- as a machine --------------------------------------------------------------------------

TEXTS = st.sampled_from([CLAIM, HONEST, "Running the tests now.", "All tests pass.", "Which one do you want?", ""])
CALLS = st.sampled_from(
    [DEPLOY, {"tool": "r", "read": ["a.py"]}, {"tool": "bash", "command": "pytest", "exit_code": 1}]
)


class Machine(RuleBasedStateMachine):
    """Whatever a host does: re-prompts stay bounded, a pending one has no answer, and the state is all there is."""

    @initialize(enabled=st.booleans(), most=st.integers(0, 3), window=st.integers(0, 2))
    def begin(self, enabled: bool, most: int, window: int) -> None:
        self.options: dict[str, Any] = {"enabled": enabled, "max_reprompts": most, "post_compaction_window": window}
        self.guard = ClaimGuard(**self.options)
        self.twin = ClaimGuard(**self.options)
        self.asked = 0
        self.last: str | None = None

    @rule()
    def begin_turn(self) -> None:
        for each in (self.guard, self.twin):
            each.begin_turn()
        self.asked, self.last = 0, None

    @rule(call=CALLS)
    def did(self, call: dict[str, Any]) -> None:
        for each in (self.guard, self.twin):
            each.did(call)

    @rule()
    def compacted(self) -> None:
        for each in (self.guard, self.twin):
            each.compacted()

    @rule(text=TEXTS)
    def reconcile(self, text: str) -> None:
        active = self.guard.active
        verdict = self.guard.reconcile(text)
        assert verdict.reprompt == self.twin.reconcile(text).reprompt
        assert active or not verdict.reprompt
        self.asked += verdict.reprompt
        self.last = None if verdict.reprompt else text

    @rule()
    def stored_and_restored(self) -> None:
        self.guard = ClaimGuard(**self.options, state=json.loads(json.dumps(self.guard.state)))

    @invariant()
    @precondition(lambda self: hasattr(self, "guard"))
    def holds(self) -> None:
        assert self.asked <= self.options["max_reprompts"] or not self.guard.state["open"]
        assert self.guard.pending == self.twin.pending
        assert self.guard.result() == self.twin.result() == self.last
        assert not (self.guard.pending and self.guard.result() is not None)
        assert self.guard.unbacked == [] or self.guard.result() is not None


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@given(st.lists(TEXTS, max_size=12))
def test_no_sequence_of_texts_is_asked_about_more_often_than_allowed(texts: list[str]) -> None:
    guard = ClaimGuard(enabled=True)
    guard.begin_turn()
    assert sum(guard.reconcile(text).reprompt for text in texts) <= 2


@pytest.mark.parametrize("state", [[], "", {}, 1])
def test_what_is_no_state_is_said_to_be_none(state: Any) -> None:
    with pytest.raises(ValueError, match="no state of a ClaimGuard"):
        ClaimGuard(enabled=True, state=state)
