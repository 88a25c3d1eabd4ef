"""Plain rules, as baselines and to find candidates of what the rules of unspin miss."""

from __future__ import annotations

from collections import Counter

from detection.corpora import Call, Run

PLAIN_FAILING, PLAIN_CALLS, PLAIN_ERRORS, PLAIN_EDITS = "failing edits", "same call", "same error", "failed edits"
_WITHIN = 10
_TIMES = 3


def identical(run: Run, times: int = _TIMES) -> list[int]:
    """Return the calls at which that many calls running were the same, whatever they answered."""
    found, streak, before = [], 0, None
    for call in run.main:
        now = (call.tool, call.arguments)
        streak = streak + 1 if now == before else 1
        before = now
        if streak == times:
            found.append(call.number)
    return found


def longer_than(run: Run, budget: int) -> list[int]:
    """Return the call that is one too many for the budget."""
    calls = run.main
    return [calls[budget].number] if len(calls) > budget else []


def candidates(run: Run) -> list[tuple[str, int, str]]:
    """Return what the plain rules say of a run: the rule, the number of the call, what it is about; once each."""
    found: list[tuple[str, int, str]] = []
    seen: set[tuple[str, str]] = set()

    def note(rule: str, call: Call, about: str) -> None:
        if (rule, about) not in seen:
            seen.add((rule, about))
            found.append((rule, call.number, about))

    calls = run.main
    streaks: Counter[str] = Counter()
    touched: set[str] = set()
    refused: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    recent: list[tuple[str, str]] = []
    episode = 0
    for call in calls:
        if call.episode != episode:
            episode = call.episode
            streaks.clear(), touched.clear(), refused.clear(), errors.clear(), recent.clear()
        recent = [*recent, (call.tool, call.arguments)][-_WITHIN:]
        if recent.count(recent[-1]) >= _TIMES and call.action not in ("wait", "note", "ask"):
            note(PLAIN_CALLS, call, call.label)
        if call.error:
            errors[call.error] += 1
            if errors[call.error] >= _TIMES:
                note(PLAIN_ERRORS, call, call.error)
        for path in call.paths if call.refused == "tool" else ():
            refused[path] += 1
            if refused[path] >= _TIMES:
                note(PLAIN_EDITS, call, path)
        touched.update(call.edited)
        outcomes = {outcome for kind, outcome in call.checks if kind != "lint"}
        if "passed" in outcomes:
            streaks.clear()
        if "failed" in outcomes:
            for path in sorted(touched):
                streaks[path] += 1
                if streaks[path] >= _TIMES:
                    note(PLAIN_FAILING, call, path)
        if outcomes:
            touched.clear()
    return found
