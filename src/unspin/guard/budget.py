"""Budgets, and what is said where a run ends.

A budget is asked before each step and stops before the step that would exceed it. It
asks no clock: how long a run has taken is handed in. ``StopReport`` is the one shape in
which a run, a loop with a budget and a scan tell how a run ended.
"""

from __future__ import annotations

from math import isfinite

from unspin.guard.messages import quote
from unspin.guard.notice import ERROR, INFO, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

DONE = "done"
STEP_BUDGET, TOKEN_BUDGET, COST_BUDGET, TIME_BUDGET = "step budget", "token budget", "cost budget", "time budget"
LOOP = "loop"

#: Why a run ended.
REASONS = (
    DONE,
    STEP_BUDGET,
    TOKEN_BUDGET,
    COST_BUDGET,
    TIME_BUDGET,
    LOOP,
    "review streak",
    "turn cap",
    "reviewer failed",
    "stopped by person",
    "worker failed",
    "waits for approval",
)

_WHOLE = ("steps", "tokens")
_SLACK = 1e-9  # of a sum of amounts: dollars are added up in binary


class BudgetError(ValueError):
    """A budget that cannot be used; the text says what was given and what is expected."""

    for_people = True


class StopReport:
    """How a run ended.

    ``reason`` is one of ``REASONS``. ``next_step`` names the step that was not started, empty where
    there was none. ``checks`` are the checks that were run, each with ``kind``, ``command``, ``outcome``
    and ``excerpt`` of its output; ``tail`` quotes the matching actions of a loop; ``notes`` is what
    else is to be known, and the paths of external notes.
    """

    __slots__ = ("checks", "completed_steps", "next_step", "notes", "reason", "tail", "tokens_used")

    def __init__(
        self,
        reason: str,
        *,
        completed_steps: int = 0,
        next_step: str = "",
        tokens_used: int = 0,
        checks: Sequence[Mapping[str, Any]] = (),
        tail: Sequence[str] = (),
        notes: Sequence[str] = (),
    ):
        if reason not in REASONS:
            raise ValueError(f"reason {reason!r}: expected one of {', '.join(REASONS)}")
        self.reason = reason
        self.completed_steps = completed_steps
        self.next_step = next_step
        self.tokens_used = tokens_used
        self.checks = [dict(each) for each in checks]
        self.tail = list(tail)
        self.notes = list(notes)

    def as_mapping(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "reason": self.reason,
            "completed_steps": self.completed_steps,
            "next_step": self.next_step,
            "tokens_used": self.tokens_used,
            "checks": self.checks,
            "tail": self.tail,
            "notes": self.notes,
        }

    @property
    def notice(self) -> Notice:
        """The notice of this stop for a host's own UI."""
        level = INFO if self.reason == DONE else ERROR
        after = f"before {quote(self.next_step)}, " if self.next_step else ""
        text = f"Unspin: stopped {after}after {self.completed_steps} steps: {self.reason}."
        return Notice(level, f"stop:{self.reason}", text)

    def __repr__(self) -> str:
        return f"StopReport({self.reason!r}, completed_steps={self.completed_steps}, next_step={self.next_step!r})"


class Budget:
    """What a run may use: steps, tokens, cost (in dollars) and seconds, each as far as it is given.

    Ask ``before`` each step, tell ``after`` it what it used:

    >>> budget = Budget(steps=2, tokens=1000)
    >>> for name in ("read", "edit", "test"):
    ...     report = budget.before(name)
    ...     if report:
    ...         break
    ...     budget.after(tokens=300)
    >>> report
    StopReport('step budget', completed_steps=2, next_step='test')
    >>> report.tokens_used
    600

    ``used`` is plain data: store it, and ``Budget(steps=2, used=...)`` in another process goes on
    from there. A limit that is zero, negative or not finite raises ``BudgetError``: one that always
    stops or never does is no control.
    """

    __slots__ = ("_limits", "used")

    def __init__(
        self,
        *,
        steps: int | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        used: Mapping[str, float] | None = None,
    ):
        given = {"steps": steps, "tokens": tokens, "cost": cost, "seconds": seconds}
        self._limits = {name: _limit(name, value) for name, value in given.items() if value is not None}
        self.used: dict[str, Any] = {"steps": 0, "tokens": 0, "cost": 0.0}
        for name, value in (used or {}).items():
            if name not in self.used:
                raise BudgetError(f"used[{name!r}]: expected steps, tokens and cost, as another budget's used holds")
            self.used[name] = _amount(name, value)

    @property
    def limits(self) -> dict[str, float]:
        """What is limited, and to how much."""
        return dict(self._limits)

    def before(
        self,
        step: str,
        *,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
        elapsed: float | None = None,
    ) -> StopReport | None:
        """Return the report with which the run ends before ``step``, or nothing where it may start.

        ``tokens``, ``cost`` and ``seconds`` are what the step will use, where that is known; where it is
        not, the run stops once the budget is used up. ``elapsed`` are the seconds since the run began, needed for
        a time budget. Where several would be exceeded the reason is the first of step, token, cost and time budget.
        """
        if "seconds" in self._limits and elapsed is None:
            raise BudgetError("a budget of seconds is asked with elapsed=, the seconds since the run began")
        for name, reason, used, more in (
            ("steps", STEP_BUDGET, self.used["steps"], 1),
            ("tokens", TOKEN_BUDGET, self.used["tokens"], tokens),
            ("cost", COST_BUDGET, self.used["cost"], cost),
            ("seconds", TIME_BUDGET, elapsed or 0, seconds),
        ):
            limit = self._limits.get(name)
            if limit is None:
                continue
            wanted = used if more is None else used + _amount(name, more)
            if wanted > limit * (1 + _SLACK) or (more is None and used >= limit):
                return self.report(reason, next_step=step)
        return None

    def after(self, *, tokens: int | None = None, cost: float | None = None) -> None:
        """Take in that the step was completed, and what it used: needed for what is limited."""
        for name, value in (("tokens", tokens), ("cost", cost)):
            if value is not None:
                self.used[name] += _amount(name, value)
            elif name in self._limits:
                raise BudgetError(f"after a step a budget of {name} has to be told its {name}: after({name}=...)")
        self.used["steps"] += 1

    def report(
        self,
        reason: str,
        *,
        next_step: str = "",
        checks: Sequence[Mapping[str, Any]] = (),
        tail: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> StopReport:
        """Return the report of a run that ends here, for whatever reason."""
        return StopReport(
            reason,
            completed_steps=self.used["steps"],
            next_step=next_step,
            tokens_used=self.used["tokens"],
            checks=checks,
            tail=tail,
            notes=notes,
        )


def _limit(name: str, value: Any) -> float:
    whole = name in _WHOLE
    good = isinstance(value, int) if whole else isinstance(value, (int, float))
    if isinstance(value, bool) or not good or not isfinite(value) or value <= 0:
        expected = "a whole number from 1" if whole else "a number above 0, not infinite"
        unit = {"cost": " (dollars)"}.get(name, "")
        raise BudgetError(f"{name} = {value!r}: expected {expected}{unit}, or None for no limit")
    return value  # type: ignore[no-any-return]


def _amount(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value) or value < 0:
        raise BudgetError(f"{name} used = {value!r}: expected a number from 0")
    return value
