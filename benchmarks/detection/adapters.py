"""Other people's rules on the same calls; runs in an environment in which one of them is installed.

    python adapters.py PEER CALLS RESULT

``CALLS`` holds a session a line (``{"key": ..., "path": ..., "format": ..., "calls": [...]}``), ``RESULT`` is given,
for each, the numbers of the calls after which the peer had something to say. Each peer is used through what it
documents, with its defaults; nothing of it is copied here.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any


def unwedge(session: dict[str, Any]) -> list[int]:
    """Its guard without a model: its own readers where it has them for the file, else its adapter for own loops."""
    from unwedge import Guard, GuardConfig, make_provider
    from unwedge.adapters.generic import turn_from_command
    from unwedge.replay import QUIET, replay_file
    from unwedge.turns import ToolClass

    if session["format"] in ("claude-code", "codex") and session["path"]:
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as plain:
            with gzip.open(session["path"]) as packed:
                shutil.copyfileobj(packed, plain)
            plain.flush()
            result = replay_file(plain.name, harness=session["format"])
        # it leaves bookkeeping out: its turns are counted from the end of ours that are no notes
        kept = [each["number"] for each in session["calls"] if each["action"] not in ("note", "ask")]
        said = [each.turn for each in result.interventions]
        return [kept[min(turn, len(kept)) - 1] if kept else turn for turn in said]
    classes = {"edit": ToolClass.EDIT, "read": ToolClass.NAVIGATE}
    guard = Guard(goal="", provider=make_provider("none"), config=GuardConfig.for_provider(None, shadow=False))
    said = []
    for at, call in enumerate(session["calls"], 1):
        text = call["command"] or f"{call['tool']} {call['arguments']}"
        kind = classes.get(call["action"])
        failed = True if call["refused"] else None if call["action"] == "shell" else call["failed"]
        outcome = guard.on_turn(turn_from_command(at, text, call["output"], failed=failed, tool_class=kind))
        if outcome.decision.action not in QUIET:
            said.append(call["number"])
    return said


def loopbrake(session: dict[str, Any]) -> list[int]:
    """Its rule is the length of the run against a line that it learns; the line is given with the session."""
    from loopbrake.signals import Step, method

    steps = [Step(each["label"], each["output"], each["failed"], 0) for each in session["calls"]]
    scores = method("steps")(steps)
    over = [
        call["number"] for call, (score, _) in zip(session["calls"], scores, strict=True) if score > session["line"]
    ]
    return over[:1]


def loopbrake_line(lengths: list[int]) -> float:
    """Return the line that it learns from runs that ended well, at its default of 5 in 100."""
    from loopbrake.conformal import threshold

    return float(threshold(lengths, 0.05))


def agent_loop_guard(session: dict[str, Any], *, stops: bool = False) -> list[int]:
    """Its edit distance is pure Python and takes hours here: the same number comes from rapidfuzz."""
    import loop_guard.similarity as theirs
    from loop_guard import Action, LoopGuard
    from rapidfuzz.distance import Levenshtein

    theirs.normalized_edit_distance = Levenshtein.normalized_distance
    guard, said, before = LoopGuard(), [], False
    for call in session["calls"]:
        decision = guard.check(tool=call["tool"], args=call["arguments"], output=call["output"])
        now = decision.is_loop if stops else decision.action != Action.CONTINUE
        if now and not before:
            said.append(call["number"])
        before = now
    return said


def agent_loop_guard_stop(session: dict[str, Any]) -> list[int]:
    return agent_loop_guard(session, stops=True)


def agent_loop_breaker(session: dict[str, Any]) -> list[int]:
    """Its counts only grow: the first call at which it would say so is found by halving."""
    from agent_loop_breaker import should_stop

    events = [{"tool": f"{each['tool']} {each['arguments']}"} for each in session["calls"]]
    if not should_stop(events):
        return []
    low, high = 0, len(events)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if should_stop(events[:middle]) else (middle, high)
    return [session["calls"][high - 1]["number"]]


def agent_watchdog(session: dict[str, Any]) -> list[int]:
    from agent_watchdog import AgentWatchdog
    from agent_watchdog.watchdog import WatchdogHalt

    said, calls = [], list(session["calls"])
    while calls:
        watching = AgentWatchdog(max_budget_usd=1e9, timeout_seconds=None).watch()
        with contextlib.suppress(WatchdogHalt), contextlib.redirect_stdout(io.StringIO()), watching as watchdog:
            while calls:
                call = calls.pop(0)
                try:
                    watchdog.record_tool_call(call["tool"], call["arguments"], call["output"])
                except WatchdogHalt:
                    said.append(call["number"])
                    raise
    return said


def openhands(session: dict[str, Any]) -> list[int]:
    """Its detector over its own events, which are made without what it does not compare (ids, thoughts)."""
    from openhands.sdk.conversation.stuck_detector import StuckDetector
    from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent

    class State:
        events: list[Any] = []

        def active_branch(self, limit: int) -> list[Any]:
            return self.events[-limit:]

    state = State()
    state.events = []
    detector, said, before, episode = StuckDetector(state), [], False, -1
    for call in session["calls"]:
        if call["episode"] != episode:
            state.events.append(MessageEvent.model_construct(source="user", llm_message=None))
            episode = call["episode"]
        name = call["tool"]
        action = (name, call["arguments"])
        state.events.append(ActionEvent.model_construct(source="agent", thought=[], action=action, tool_name=name))
        if call["refused"] == "tool":
            error = AgentErrorEvent.model_construct(
                source="agent", error=call["output"], tool_name=name, id=str(call["number"])
            )
            state.events.append(error)
        else:
            seen = call["output"]
            state.events.append(
                ObservationEvent.model_construct(source="environment", observation=seen, tool_name=name)
            )
        now = detector.is_stuck() or bool(detector.get_action_error_nudge())
        if now and not before:
            said.append(call["number"])
        before = now
    return said


def main(peer: str, calls: str, result: str) -> None:
    rule = globals()[peer]
    with open(calls, encoding="utf-8") as given, open(result, "w", encoding="utf-8") as answers:
        for line in given:
            session = json.loads(line)
            if peer == "loopbrake" and "lengths" in session:
                session["line"] = loopbrake_line(session["lengths"])
            print(json.dumps({"key": session["key"], "said": rule(session)}), file=answers)


if __name__ == "__main__":
    import logging

    logging.disable(logging.CRITICAL)
    sys.path = [each for each in sys.path if Path(each or ".").resolve() != Path(__file__).resolve().parent]
    main(*sys.argv[1:])
