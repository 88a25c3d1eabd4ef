"""Which budget would have stopped a recorded run, and where; how it ended if none would.

A step is a model response with its calls: a round of the main agent. What subagents used
while it ran counts as the step's. An answer without calls is no step, and its tokens and
cost count. Here what a step used is known before it is asked for: the run stops before
the very step that exceeds, where a live one stops as soon as its budget is used up.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from unspin import events as ev
from unspin.detect import LOOP_RULES
from unspin.facts.redact import redact
from unspin.guard import NUDGE, Settings
from unspin.guard.budget import DONE, LOOP, Budget, StopReport
from unspin.guard.messages import quote
from unspin.scan import ends
from unspin.scan.items import Ended
from unspin.scan.judged import judged
from unspin.scan.scanning import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from unspin.cost.prices import Prices
    from unspin.facts.step import CheckResult, Step
    from unspin.scan.items import Thing
    from unspin.scan.scanning import Found, Scanned, Session
    from unspin.scan.source import Source

ANSWER = "answer without calls"
_CHECKS = 20  # told of one run: those that were run last, each once
_EXCERPT = 160
_LOOKED_AT = 4_000  # characters at the end of an output
_TAIL = 12


def stop_reports(
    source: Source,
    limits: Mapping[str, float] | None = None,
    *,
    settings: Settings | None = None,
    prices: Prices | None = None,
    format: str = "",
) -> list[tuple[Scanned, StopReport]]:
    """Scan one file; return its sessions with the report of each under ``limits``.

    ``limits`` are those of ``Budget``: ``steps``, ``tokens``, ``cost``, ``seconds``. Raises
    ``BudgetError`` where one cannot be used.
    """
    stops = Stops(limits)
    result = scan(source, settings or Settings(), prices=prices, format=format, watch=stops)
    return [(scanned, stops.report(scanned)) for scanned in result.sessions]


class Stops:
    """Watches a scan: ``scan(source, settings, watch=stops)``, then ``stops.report(session)``.

    It holds little of a session, however long that is.
    """

    def __init__(self, limits: Mapping[str, float] | None = None):
        self._limits = dict(limits or {})
        Budget(**self._limits)  # type: ignore[arg-type]  # a mistake shows now
        self._runs: dict[int, _Run] = {}

    def __call__(self, thing: Thing, when: str, session: Session) -> None:
        run = self._runs.get(id(session.scanned))
        if run is None:
            run = self._runs[id(session.scanned)] = _Run(self._limits, session)
        run.take(thing, when)

    def report(self, scanned: Scanned) -> StopReport:
        """Return the report of a session of the scan that was watched."""
        run = self._runs.get(id(scanned))
        return StopReport(DONE, notes=["nothing happened in it"]) if run is None else run.report()


class _Run:
    def __init__(self, limits: dict[str, float], session: Session):
        self._session = session
        self._scanned = session.scanned
        self._budget = Budget(**limits)  # type: ignore[arg-type]
        self._limits = limits
        self._stopped: StopReport | None = None
        self._report: StopReport | None = None  # once it was asked for
        self._before = (0, 0.0)  # tokens and dollars of the session when the step began
        self._outputs: dict[int, str] = {}  # of the calls of the round under way: by their places in it
        self._label = ""
        self._calls = 0
        self._checks: dict[tuple[str, str], dict[str, str]] = {}
        self._line: tuple[int, Found] | None = None  # the first line about a loop, and the steps before it
        self._began: float | None = None
        self._elapsed = 0.0
        self._how = ""

    # -- what happens ------------------------------------------------------------------

    def take(self, thing: Thing, when: str) -> None:
        if self._stopped is not None:
            return
        if when and "seconds" in self._limits:
            self._tick(when)
        if isinstance(thing, Ended):
            self._how = thing.how
            return
        if isinstance(thing, ev.ToolResult) and not thing.call.agent:
            self._outputs[thing.position] = thing.output[-_LOOKED_AT:]
            self._label = self._label or thing.call.label
            self._calls += 1
        for closed in judged(thing, self._session):
            if closed.agent:
                continue
            self._step(f"{_short(self._label)} and {self._calls - 1} more" if self._calls > 1 else _short(self._label))
            if self._stopped is None:
                for step in closed.steps:
                    for check in step.checks:
                        self._check(step, check)
            self._outputs, self._label, self._calls = {}, "", 0
        if isinstance(thing, ev.Message) and self._stopped is None:
            self._answer()
        for each in self._scanned.found[-len(self._session.responses) :] if self._session.responses else ():
            if self._line is None and each.response == NUDGE and each.rule in LOOP_RULES:
                self._line = (self._budget.used["steps"], each)

    def _tick(self, when: str) -> None:
        now = _seconds(when)
        if now is not None:
            self._began = now if self._began is None else self._began
            self._elapsed = max(self._elapsed, now - self._began)

    def _use(self) -> tuple[int, float]:
        """Return what was used since the last step."""
        tokens, dollars = self._scanned.tokens, self._scanned.dollars or 0.0
        used = (max(tokens - self._before[0], 0), max(dollars - self._before[1], 0.0))
        self._before = (tokens, dollars)
        return used

    def _step(self, name: str) -> None:
        tokens, dollars = self._use()
        # the step is over by now: elapsed is the time that it would have been over, had it been started
        report = self._budget.before(name, tokens=tokens, cost=dollars, seconds=0, elapsed=self._elapsed)
        if report is None:
            self._budget.after(tokens=tokens, cost=dollars)
        else:
            self._end(report)

    def _answer(self) -> None:
        """Take in what was used by a response without calls."""
        tokens, dollars = self._use()
        if not tokens and not dollars:
            return
        limits = {name: value for name, value in self._limits.items() if name != "steps"}
        asked = Budget(**limits, used=self._budget.used)  # type: ignore[arg-type]
        report = asked.before(ANSWER, tokens=tokens, cost=dollars, seconds=0, elapsed=self._elapsed)
        if report is None:
            self._budget.used["tokens"] += tokens
            self._budget.used["cost"] += dollars
        else:
            self._end(report)

    def _check(self, step: Step, check: CheckResult) -> None:
        key = (check.kind, check.command)
        self._checks.pop(key, None)
        self._checks[key] = {
            "kind": check.kind,
            "command": _short(check.command),
            "outcome": check.outcome,
            "excerpt": _excerpt(step, self._outputs.get(step.position, "")),
        }
        if len(self._checks) > _CHECKS:
            del self._checks[next(iter(self._checks))]

    # -- how it ended ------------------------------------------------------------------

    def _end(self, report: StopReport) -> None:
        self._stopped = report
        report.checks = list(self._checks.values())
        if self._line is not None:
            report.notes.append(f"a loop was noticed after step {self._line[0]}: {self._line[1].message}")

    def report(self) -> StopReport:
        if self._report is not None:
            return self._report
        if self._stopped is None:
            self._answer()
        if self._stopped is None:
            self._end(self._own_end())
        assert self._stopped is not None
        self._report = report = self._stopped
        if "cost" in self._limits and self._scanned.dollars is None:
            report.notes.append("what a model of it costs is not known: the cost budget saw only the rest")
        if "seconds" in self._limits and self._began is None:
            report.notes.append("it has no times: the time budget saw nothing")
        if "tokens" in self._limits and not self._scanned.tokens:
            report.notes.append("it does not say what tokens it used: the token budget saw nothing")
        return report

    def _own_end(self) -> StopReport:
        """Return how the run ended by itself: in its own word, in a loop that still stood, or just so."""
        kind, reason = ends.read(self._how)
        notes = [f"it says of its end: {_short(self._how)}" if self._how else "it does not say how it ended"]
        if reason and kind != ends.STUCK:
            return self._budget.report(reason, notes=notes)
        standing = self._session.guard.state["standing"]
        last = next((each for each in reversed(self._scanned.found) if each.identity in standing), None)
        if last is not None:
            tail = [_short(each["excerpt"]) for each in last.evidence[-_TAIL:]]
            return self._budget.report(LOOP, tail=tail, notes=[last.message, *notes])
        return self._budget.report(reason or DONE, notes=notes)


def _short(text: str) -> str:
    return quote(redact(text[:_LOOKED_AT]), longest=_EXCERPT)


def _excerpt(step: Step, output: str) -> str:
    """Return the line of a check's output that tells most: the error, or else the last one."""
    if step.error_text:
        return _short(step.error_text)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return _short(lines[-1]) if lines else ""


def _seconds(when: str) -> float | None:
    try:
        return float(when)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(when).timestamp()
    except (ValueError, OverflowError):
        return None


def as_mapping(reports: list[tuple[Scanned, StopReport]]) -> list[dict[str, Any]]:
    """Return reports as plain data, each with the path and the session that it is of."""
    return [{"path": scanned.path, "session": scanned.session, **report.as_mapping()} for scanned, report in reports]
