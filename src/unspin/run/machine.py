"""What comes next in a run, and when it is enough: the caps that nothing bypasses and that ask no model.

Everything that bounds a run is decided here, from plain data alone; what a worker is, what
a file holds and what time it is are the business of others. The bounds, whatever verdicts,
failures, overrides and crashes come in whatever order:

- design turns: at most ``design_turns + override_increment * overrides``
- author turns over all stages: at most ``turns + override_increment * overrides``

Why they hold: ``begin_author`` is the one place where either counter grows; it raises its
counter by one, and ``next`` lets it be called only while both are below their bound. Both
are written down before a turn begins, so a turn that is repeated after a crash is counted
once. No finding and no verdict is looked at there.
"""

from __future__ import annotations

from unspin.guard.budget import COST_BUDGET, DONE, TIME_BUDGET, TOKEN_BUDGET
from unspin.run.findings import TERMINAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Stop reasons of a run, from the one list of ``guard.budget``.
REVIEW_STREAK, TURN_CAP, REVIEWER_FAILED, STOPPED = "review streak", "turn cap", "reviewer failed", "stopped by person"

BUDGETS = (TOKEN_BUDGET, COST_BUDGET, TIME_BUDGET)

SKETCH, DESIGN, CODE = "sketch", "design", "code"
STAGES = (SKETCH, DESIGN, CODE)

#: States of a run.
RUNNING, HALTED, SHIPPED, FAILED, ENDED = "running", "halted", "shipped", "failed", "stopped"

#: What is to be done next.
AUTHOR, CHECKS, REVIEW, JUDGE, FINISH, WAIT, OVER = "author", "checks", "review", "judge", "finish", "wait", "over"

GATE = "waits for approval"  # why a run halted that is not one of the stop reasons
WORKER_FAILED = "worker failed"

_ATTEMPTS = 3  # a review that cannot be read is dispatched again twice
_FAILURES = 3  # author turns running that came to nothing


class Caps:
    """The caps of a run; see docs/run.md for what each bounds."""

    __slots__ = ("design_turns", "override_increment", "review_streak", "turns")

    def __init__(self, review_streak: int = 3, design_turns: int = 8, override_increment: int = 2, turns: int = 30):
        self.review_streak = review_streak
        self.design_turns = design_turns
        self.override_increment = override_increment
        self.turns = turns


class Step:
    """What is to be done next: ``what``, and for whom."""

    __slots__ = ("attempt", "reviewer", "stage", "turn", "what")

    def __init__(self, what: str, stage: str = "", turn: int = 0, reviewer: str = "", attempt: int = 0):
        self.what = what
        self.stage = stage
        self.turn = turn
        self.reviewer = reviewer
        self.attempt = attempt

    def __repr__(self) -> str:
        return f"Step({self.what!r}, {self.stage!r}, {self.turn}, {self.reviewer!r}, {self.attempt})"


class Machine:
    """One run. ``state`` is plain data: store it after every call, give it back in another process."""

    def __init__(
        self,
        caps: Caps,
        reviewers: dict[str, list[str]],
        *,
        gates: tuple[str, ...] = (),
        checks: bool = False,
        state: dict[str, Any] | None = None,
    ):
        self.caps = caps
        self.reviewers = reviewers  # stage: names
        self.gates = gates
        self.checks = checks
        self.state = state if state is not None else initial()

    # -- bounds ------------------------------------------------------------------------

    def bound(self, name: str) -> int:
        """Return the bound of ``design_turns`` or ``turns``, overrides included."""
        cap: int = getattr(self.caps, name)
        return cap + self.caps.override_increment * int(self.state["overrides"])

    # -- what is next ------------------------------------------------------------------

    def next(self) -> Step:
        """Return what is to be done. The same again until it is told done: that is what makes a crash harmless."""
        state = self.state
        if state["state"] == HALTED:
            return Step(WAIT, state["stage"], state["turn"])
        if state["state"] != RUNNING:
            return Step(OVER, state["stage"], state["turn"])
        phase = state["phase"]
        if phase == AUTHOR and not state["begun"] and self._capped():
            return self.next()
        if phase == REVIEW:
            waiting = [name for name in self.reviewers.get(state["stage"], []) if name not in state["reviewed"]]
            if not waiting:
                state["phase"] = phase = JUDGE
            else:
                attempt = state["attempts"].get(waiting[0], 0) + 1
                return Step(REVIEW, state["stage"], state["turn"], waiting[0], attempt)
        turn = state["turn"] + (phase == AUTHOR and not state["begun"])
        return Step(phase, state["stage"], turn)

    def _capped(self) -> bool:
        """Halt where one more author turn would exceed a bound; tell whether it did."""
        state = self.state
        if state["turn"] >= self.bound("turns") or (
            state["stage"] == DESIGN and state["design_turns"] >= self.bound("design_turns")
        ):
            self._halt(TURN_CAP)
            return True
        return False

    # -- what was done -----------------------------------------------------------------

    def begin_author(self) -> int:
        """An author turn begins: count it, once; return its number. Write the state down before the worker starts."""
        state = self.state
        step = self.next()
        if step.what != AUTHOR:
            raise ValueError(f"no author turn may begin now: the next step is {step.what}")
        if not state["begun"]:
            state["turn"] += 1
            state["design_turns"] += state["stage"] == DESIGN
            state["begun"] = True
        return int(state["turn"])

    def author_done(self, *, ok: bool) -> None:
        """The author turn under way is over; ``ok`` is false where its worker failed or left nothing."""
        state = self.state
        state["begun"] = False
        if not ok:
            state["failures"] += 1
            if state["failures"] >= _FAILURES:
                self._fail(WORKER_FAILED)
            return
        state["failures"] = 0
        if state["stage"] == SKETCH:
            self._enter(DESIGN)
            return
        state["reviewed"], state["attempts"] = [], {}
        state["phase"] = CHECKS if self.checks and state["stage"] == CODE else REVIEW

    def broken(self) -> None:
        """The author's command cannot be started."""
        self.state["begun"] = False
        self._fail(WORKER_FAILED)

    def checks_done(self) -> None:
        """The project's own checks were run."""
        self.state["phase"] = REVIEW

    def review_done(self, reviewer: str, *, ok: bool) -> None:
        """A review is there, or could not be read: then it is dispatched again, twice, and never taken for none."""
        state = self.state
        if ok:
            state["reviewed"].append(reviewer)
            return
        state["attempts"][reviewer] = state["attempts"].get(reviewer, 0) + 1
        if state["attempts"][reviewer] >= _ATTEMPTS:
            self._fail(REVIEWER_FAILED)

    def judged(self, verdict: str) -> None:
        """The verdict of the turn: the stage's own ends it, anything else is another turn, or enough."""
        state = self.state
        stage = state["stage"]
        state["verdicts"].append([state["turn"], stage, verdict])
        state["phase"] = AUTHOR
        if verdict == TERMINAL[stage]:
            self._passed()
            return
        if stage == DESIGN:
            state["streak"] += 1
            if state["streak"] >= self.caps.review_streak:
                self._halt(REVIEW_STREAK)
                return
        self._capped()

    def _passed(self) -> None:
        state = self.state
        state["streak"] = 0
        if state["stage"] == CODE:
            state["phase"] = FINISH
        elif DESIGN in self.gates:
            self._halt(GATE)
        else:
            self._enter(CODE)

    def finished(self) -> None:
        """The branch and its description are made."""
        self.state["state"], self.state["stop_reason"] = SHIPPED, DONE

    def spent(self, reason: str) -> None:
        """A budget of tokens, money or time is used up: an override grants it once more."""
        if self.state["state"] == RUNNING:
            self._halt(reason)

    # -- the person --------------------------------------------------------------------

    def override(self) -> None:
        """Go on in spite of a cap: both bounds grow by the increment, the streak begins at 0.

        Where a budget was used up it is granted once more; where a reviewer or worker failed, it is tried again.
        """
        state = self.state
        if state["state"] != FAILED:  # what failed may have been mended
            self._only_halted("override")
        state["overrides"] += 1
        state["streak"] = 0
        state["failures"], state["attempts"] = 0, {}
        if state["halted"] == GATE:
            state["phase"] = AUTHOR
        if state["halted"] in BUDGETS:
            state["budgets"] += 1
        self._resume()

    def approve(self) -> None:
        """Take what is there as good enough: the next stage begins, or the code is shipped as it is."""
        self._only_halted("approve")
        state = self.state
        self._resume()
        state["streak"] = 0
        if state["stage"] == CODE:
            state["phase"] = FINISH
        else:
            self._enter(CODE)

    def stop(self) -> None:
        """End the run."""
        if self.state["state"] in (SHIPPED, ENDED):
            raise ValueError(f"the run is over already: {self.state['state']}")
        self.state["state"], self.state["stop_reason"] = ENDED, STOPPED

    def _only_halted(self, what: str) -> None:
        if self.state["state"] != HALTED:
            now = "it is to go on" if self.state["state"] == RUNNING else f"it is {self.state['state']}"
            raise ValueError(f"{what}: the run waits for nobody: {now}")

    # -- the same everywhere -----------------------------------------------------------

    def _enter(self, stage: str) -> None:
        self.state.update(stage=stage, phase=AUTHOR, begun=False, streak=0, reviewed=[], attempts={})

    def _resume(self) -> None:
        self.state.update(state=RUNNING, halted="", stop_reason="")

    def _halt(self, why: str) -> None:
        self.state.update(state=HALTED, halted=why, stop_reason=why)

    def _fail(self, why: str) -> None:
        self.state.update(state=FAILED, stop_reason=why)


def initial(stage: str = SKETCH) -> dict[str, Any]:
    """Return the state of a run that has not begun."""
    return {
        "version": 1,
        "state": RUNNING,
        "stage": stage,
        "phase": AUTHOR,
        "begun": False,
        "turn": 0,
        "design_turns": 0,
        "streak": 0,
        "overrides": 0,
        "failures": 0,
        "reviewed": [],
        "attempts": {},
        "verdicts": [],
        "budgets": 1,
        "halted": "",
        "stop_reason": "",
    }
