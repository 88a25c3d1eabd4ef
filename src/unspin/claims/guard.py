"""The claim guard: a small state machine around ``reconcile``, one turn after another.

    turn under way  --reconcile: nothing unbacked-->  ended, with the answer
    turn under way  --reconcile: unbacked-->          pending: the answer is cleared, the model is asked again
    pending         --reconcile: nothing unbacked-->  ended, with the new answer
    pending         --reconcile: unbacked-->          pending, until ``max_reprompts``; then ended, flagged

While a re-prompt is pending there is no answer: whatever ends the run then, a claim without work is never its result.
It is off unless it is switched on, or a compaction has just been. It knows no provider and no clock.
"""

from __future__ import annotations

from unspin.claims.activity import Activity
from unspin.claims.reconciling import ClaimVerdict, reconcile
from unspin.events import Compaction, Message, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from unspin.claims.activity import Given
    from unspin.claims.reconciling import Judge
    from unspin.events import Event

_VERSION = 1
_MOST = 1_000  # of re-prompts, and of turns after a compaction


class ClaimGuard:
    """Watches one session for claims without work.

    >>> guard = ClaimGuard(enabled=True)
    >>> guard.begin_turn()
    >>> guard.did({"tool": "read_file", "read": ["src/cart.py"]})
    >>> verdict = guard.reconcile("I've updated `src/cart.py`.")
    >>> verdict.reprompt, guard.pending, guard.result()
    (True, True, None)
    >>> guard.reconcile("I have only read `src/cart.py`; nothing is changed yet.").reprompt
    False
    >>> guard.result()
    'I have only read `src/cart.py`; nothing is changed yet.'

    ``enabled`` is false by default. ``max_reprompts`` bounds the re-prompts of a turn. ``post_compaction_window``
    switches the guard on for that many turns after each compaction even where it is otherwise off. ``judge`` may veto
    a catch; ``complete`` and ``checks`` are those of ``Activity``. ``state`` is plain data: store it after any call,
    and a guard made from it goes on from there.
    """

    __slots__ = ("activity", "enabled", "judge", "language", "max_reprompts", "post_compaction_window", "state")

    def __init__(
        self,
        *,
        enabled: bool = False,
        max_reprompts: int = 2,
        post_compaction_window: int = 0,
        judge: Judge | None = None,
        language: str = "en",
        complete: bool = True,
        checks: Mapping[str, Sequence[str]] | None = None,
        state: dict[str, Any] | None = None,
    ):
        for name, value in (("max_reprompts", max_reprompts), ("post_compaction_window", post_compaction_window)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
                raise ValueError(f"{name} = {value!r}: expected a whole number from 0 to {_MOST}")
        if state is not None and (not isinstance(state, dict) or state.get("version") != _VERSION):
            raise ValueError("that is no state of a ClaimGuard: give what ClaimGuard.state was, or nothing")
        self.enabled = enabled
        self.max_reprompts = max_reprompts
        self.post_compaction_window = post_compaction_window
        self.judge = judge
        self.language = language
        self.state: dict[str, Any] = state if state is not None else _initial(complete)
        self.activity = Activity(checks=checks, state=self.state["activity"])

    # -- what happens --------------------------------------------------------------------

    def begin_turn(self) -> None:
        """Take in that a turn begins: the person, or a machine, has written to the agent."""
        if self.state["window"] and self.state["counted"]:
            self.state["window"] -= 1
        self.state.update(open=True, counted=True, pending=False, reprompts=0, answer=None, unbacked=[])
        self.activity.begin_turn()

    def did(self, call: Given) -> None:
        """Take in one tool call with its outcome: a ``Call``, a ``ToolResult`` or a mapping."""
        self.activity.add(call)

    def observe(self, event: Event) -> None:
        """Take in an event of ``unspin.events``: results, messages (a turn begins), compactions; others say nothing.

        A message that is not the person's, while a re-prompt is pending, is taken for the re-prompt itself.
        """
        if isinstance(event, ToolResult):
            self.did(event)
        elif isinstance(event, Message):
            if event.by_person or not self.pending:
                self.begin_turn()
        elif isinstance(event, Compaction) and event.done:
            self.compacted()

    def compacted(self) -> None:
        """Take in that the context was compacted: a turn under way is the first of the window, else the next one is."""
        self.state["window"] = self.post_compaction_window
        self.state["counted"] = bool(self.state["open"])

    # -- the end of a turn ---------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Tell whether claims are looked at in the turn under way."""
        return self.enabled or bool(self.state["window"])

    @property
    def pending(self) -> bool:
        """Tell whether a re-prompt waits for its answer."""
        return bool(self.state["pending"])

    @property
    def unbacked(self) -> list[str]:
        """The claims, quoted, that the answer still makes after the last re-prompt."""
        return list(self.state["unbacked"])

    def reconcile(self, final_text: str) -> ClaimVerdict:
        """Judge the final text of the turn.

        Where ``verdict.reprompt`` is set, give ``verdict.message`` to the model and go on with the turn.
        """
        if not self.active:
            verdict = ClaimVerdict([])
            verdict.checked = False
        else:
            verdict = reconcile(final_text, self.activity, language=self.language, judge=self.judge)
        verdict.key = f"unbacked_claim:{self.activity.turn}"
        verdict.reprompt = bool(verdict.unbacked) and self.state["reprompts"] < self.max_reprompts
        if verdict.reprompt:
            self.state["reprompts"] += 1
            self.state.update(pending=True, answer=None, unbacked=[])
        else:
            unbacked = [each.quote[:300] for each in verdict.unbacked]
            self.state.update(pending=False, answer=final_text, unbacked=unbacked, open=False)
        return verdict

    def result(self) -> str | None:
        """Return the answer of the turn; ``None`` before there is one, and while a re-prompt is pending."""
        return self.state["answer"]  # type: ignore[no-any-return]


def _initial(complete: bool) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "open": False,
        "counted": False,
        "pending": False,
        "reprompts": 0,
        "answer": None,
        "unbacked": [],
        "window": 0,
        "activity": {"turn": 0, "complete": complete, "calls": []},
    }
