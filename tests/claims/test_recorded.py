"""Claims of recorded sessions against their own calls: honest ones are left alone, the same without the calls are caught.

What it prints (``-s``) are the figures in docs/claim-guard.md. Every flag on an honest text is read with the calls
before it, and its verdict stands in flags_read.tsv.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from claims.turns import Turn, moments, sessions, turns
from unspin.claims import DONE, FAILED, Activity, reconcile

pytestmark = pytest.mark.corpora

READ = Path(__file__).with_name("flags_read.tsv")


def _key(path: Path) -> tuple[str, str]:
    return path.parent.name, path.name.split(".")[0].rpartition("__")[2]


def _read() -> dict[tuple[str, str, str, str], str]:
    rows = [line.split("\t") for line in READ.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    assert rows[0] == ["corpus", "session", "turn", "claim", "verdict", "reason"]
    assert all(row[4] in ("right", "wrong") and row[5] for row in rows[1:])
    return {(row[0], row[1], row[2], row[3]): row[4] for row in rows[1:]}


def _known(read: dict[tuple[str, str, str, str], str], key: tuple[str, str], turn: int, quote: str) -> str:
    return next(
        (verdict for (*where, claim), verdict in read.items() if where == [*key, str(turn)] and claim in quote), ""
    )


def _with_ledger(path: Path) -> list[tuple[Turn, Activity]]:
    """Return the turns that end in words, with the ledger of their end; those whose past is not in the record left out."""
    found = []
    activity = Activity()
    for turn in turns(path):
        activity.begin_turn()
        for each in turn.results:
            activity.add(each)
        if turn.carried:
            activity.state["complete"] = False
        if turn.text.strip() and activity.complete:
            found.append((turn, Activity(state={**activity.state, "calls": list(activity.calls)})))
    return found


def test_honest_final_texts_are_left_alone_and_the_same_without_their_calls_are_caught(shared: Path) -> None:
    read = _read()
    seen: Counter[str] = Counter()
    unread, wrong = [], []
    for path in sessions(shared):
        for turn, activity in _with_ledger(path):
            verdict = reconcile(turn.text, activity)
            seen["texts"] += 1
            seen["texts with claims"] += bool(verdict.findings)
            seen["claims"] += len(verdict.findings)
            for each in verdict.unbacked:
                seen["flags"] += 1
                told = _known(read, _key(path), turn.number, each.quote)
                if told != "right":
                    (wrong if told else unread).append((*_key(path), turn.number, each.quote[:80]))
            matching = {at for each in verdict.findings if each.verdict in (DONE, FAILED) for at in each.calls}
            if not matching:
                continue
            seen["positives"] += 1
            seen["caught"] += bool(reconcile(turn.text, _without(activity, matching)).unbacked)
            for each in verdict.findings:
                if each.verdict in (DONE, FAILED):
                    seen["claims without their calls"] += 1
                    left = reconcile(turn.text, _without(activity, set(each.calls))).unbacked
                    seen["of these caught"] += any((a.kind, a.quote) == (each.kind, each.quote) for a in left)
    print(dict(seen))
    assert not wrong, "flags that were read and found wrong came again"
    assert not unread, f"flags that nobody has read: read them, and enter them in {READ.name}"
    assert seen["texts"] >= 300
    assert seen["caught"] >= 0.8 * seen["positives"] >= 200
    assert seen["of these caught"] >= 0.8 * seen["claims without their calls"]


def _without(activity: Activity, gone: set[int]) -> Activity:
    left = [each for at, each in enumerate(activity.calls) if at not in gone]
    return Activity(state={**activity.state, "calls": left})


def test_what_is_said_of_the_past_amid_a_turn_is_left_alone_too(shared: Path) -> None:
    seen: Counter[str] = Counter()
    flagged = []
    for path in sessions(shared):
        for text, activity in moments(path):
            if not activity.complete:
                continue
            verdict = reconcile(text, activity)
            seen["texts"] += 1
            seen["claims of the past"] += sum(each.kind != "announced" for each in verdict.findings)
            seen["announcements"] += sum(each.kind == "announced" for each in verdict.findings)
            flagged += [(*_key(path), each.quote[:80]) for each in verdict.unbacked if each.kind != "announced"]
    print(dict(seen))
    assert seen["texts"] >= 5_000
    assert not flagged


def test_texts_of_agents_that_the_rules_were_not_written_on_are_left_alone(shared: Path) -> None:
    seen: Counter[str] = Counter()
    flagged = []
    for corpus in ("mini_gemini3_swebv", "swe_agent_demos"):
        for path in sorted((shared / "corpora" / corpus).glob("*.gz")):
            activity = Activity()
            for text, command, output in _steps(path):
                activity.add({"tool": "bash", "command": command, "output": output})
                verdict = reconcile(text, activity)
                seen["texts"] += 1
                seen["claims of the past"] += sum(each.kind != "announced" for each in verdict.findings)
                flagged += [(path.name, each.quote[:80]) for each in verdict.unbacked if each.kind != "announced"]
    print(dict(seen))
    assert seen["texts"] >= 5_000
    assert not flagged


def _steps(path: Path) -> list[tuple[str, str, str]]:
    """Return what the agent wrote, the commands in it, and what these printed."""
    try:
        run = json.loads(gzip.decompress(path.read_bytes()))
    except ValueError:  # cut when its secrets were taken out
        return []
    messages = run.get("messages") or run.get("history") or []
    found = []
    for said, answer in zip(messages, [*messages[1:], {}], strict=True):
        text, output = said.get("content"), answer.get("content")
        if said.get("role") == "assistant" and isinstance(text, str) and not said.get("is_demo"):
            command = "\n".join(re.findall(r"```\w*\n(.*?)```", text, re.DOTALL))
            found.append((text, command, output if isinstance(output, str) else ""))
    return found
