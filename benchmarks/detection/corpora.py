"""Recorded sessions as calls and lines: what all rules of this benchmark are fed with, ours and others'."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unspin import events as ev
from unspin.guard import NUDGE, Settings
from unspin.scan.judged import judged
from unspin.scan.scanning import Found, Session, scan
from unspin.scan.source import Source

ROOT = Path(__file__).resolve().parent.parent.parent
CORPORA = ROOT.parent / "shared" / "corpora"
NAMES = (
    "claude_code", "codex", "copilot_cli", "aider", "specstory", "mini_gemini3_swebv", "swe_agent_demos",
    "llm_agents_study",
)  # fmt: skip
LOOPS = ("failing_edits", "recurring_error", "rejected_edits", "repeated_action", "unchanged_result", "oscillation")
_LONGEST = 20_000  # characters of an output that are handed on


@dataclass(slots=True)
class Call:
    """One tool call with its result, as events told it, and what our reading of it adds."""

    index: int  # of the event, as the guard counts
    number: int  # of the call in its session, from 1
    round: int
    tool: str
    action: str
    label: str
    arguments: str
    command: str
    output: str
    failed: bool
    refused: str
    agent: str
    episode: int  # messages by the person before it
    paths: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)  # files that it changed, through the shell too
    checks: list[list[str]] = field(default_factory=list)  # kind and outcome
    error: str = ""  # its identity


@dataclass(slots=True)
class Line:
    """Something that a rule had to say, or would only log."""

    rule: str
    number: int  # of the call that it came after
    said: bool
    index: int = 0
    identity: str = ""
    message: str = ""


@dataclass(slots=True)
class Run:
    """One session."""

    corpus: str
    file: str
    session: str
    calls: list[Call]
    lines: list[Line]

    @property
    def main(self) -> list[Call]:
        """The calls of the main agent."""
        return [each for each in self.calls if not each.agent]


def files(corpus: str) -> list[Path]:
    """Return the transcripts of a corpus; files that only stand beside one are none."""
    beside = ("repairagent_csv__", "repairagent__results_", "repairagent__thoughts_")
    return sorted(path for path in (CORPORA / corpus).iterdir() if not path.name.startswith(beside))


def runs(corpus: str, settings: Settings | None = None, limit: int = 100_000) -> Iterator[Run]:
    """Yield the sessions of a corpus, scanned."""
    for path in files(corpus)[:limit]:
        yield from read(path, corpus, settings)


def read(path: Path, corpus: str, settings: Settings | None = None) -> list[Run]:
    """Return the sessions of one file."""
    calls: dict[int, list[Call]] = {}
    waiting: dict[tuple[int, str], list[tuple[int, Call]]] = {}
    rounds: dict[int, int] = {}
    episodes: dict[int, int] = {}

    def watch(thing: Any, when: str, session: Session) -> None:
        key = id(session.scanned)
        if isinstance(thing, ev.Message):
            episodes[key] = episodes.get(key, 0) + thing.by_person
        elif isinstance(thing, ev.ToolResult):
            mine = calls.setdefault(key, [])
            mine.append(_call(thing, len(mine) + 1, rounds.get(key, 0), episodes.get(key, 0)))
            waiting.setdefault((key, mine[-1].agent), []).append((thing.position, mine[-1]))
        for closed in judged(thing, session):
            given = sorted(waiting.pop((key, closed.agent), []), key=lambda each: each[0])
            if len(given) != len(closed.steps):
                continue
            for (_, call), step in zip(given, closed.steps, strict=True):
                call.index = step.index
                call.edited = [each.path for each in step.written() if each.role not in ("doc", "scratch")]
                call.checks = [[each.kind, each.outcome] for each in step.checks]
                call.error = step.error
        if isinstance(thing, ev.RoundEnd):
            rounds[key] = rounds.get(key, 0) + 1

    result = scan(Source(str(path)), settings or Settings(), watch=watch)
    return [
        Run(corpus, path.name, each.session, calls.get(id(each), []), [_line(found) for found in each.found])
        for each in result.sessions
    ]


def _call(result: ev.ToolResult, number: int, round: int, episode: int) -> Call:
    call = result.call
    return Call(
        -1,
        number,
        round,
        call.tool,
        call.action,
        call.label,
        call.arguments,
        call.command,
        result.output[:_LONGEST],
        result.failed,
        result.refused,
        call.agent,
        episode,
        [each.path for each in call.edits],
    )


def _line(found: Found) -> Line:
    said = found.response == NUDGE
    return Line(found.rule, found.tool_calls, said, found.event_index, found.identity, found.message)


# -- labels ----------------------------------------------------------------------------


def resolved() -> dict[str, bool]:
    """Return which tasks of mini_gemini3_swebv ended well, by the name of the file."""
    rows = _table(CORPORA / "labels" / "mini_gemini3_swebv_resolved.tsv")
    return {f"{row['instance_id']}.traj.json.gz": row["resolved"] == "True" for row in rows}


def read_sessions() -> dict[str, str]:
    """Return the sessions of Claude Code that somebody read (loop, ok, borderline), by the name of the file."""
    rows = _table(CORPORA / "labels" / "hand_checked.tsv")
    return {f"{row['file']}.gz": row["label"] for row in rows if row["kind"] != "reasoning_loop"}


def repetitions() -> dict[str, tuple[int, int] | None]:
    """Return where people saw one action three times running in runs of RepairAgent, by the name of the file.

    They labelled each pair of consecutive actions; a window is the first two pairs running, or more, that are called
    a repetition: the numbers of its first and last action, from 1. ``None`` where a labelled run has none.
    """
    found: dict[str, tuple[int, int] | None] = {}
    labels = {
        path.name.removeprefix("repairagent_csv__action_action__").removesuffix(".csv.gz"): path
        for path in (CORPORA / "llm_agents_study").glob("repairagent_csv__action_action__*")
    }
    for path in files("llm_agents_study"):
        name = re.sub(r"^repairagent__actions_actions__(experiment_\d+_)?", "", path.name.removesuffix(".gz"))
        if name in labels:
            found[path.name] = _window(gzip.decompress(labels[name].read_bytes()).decode().split("\n")[1:])
    return found


def _window(labels: list[str]) -> tuple[int, int] | None:
    running, begin = 0, 0
    for at, label in enumerate(labels, 1):
        same = label.strip() == "Repetition"
        if not same and running >= 2:
            return begin, at
        running = running + 1 if same else 0
        begin = at if running == 1 else begin
    return (begin, len(labels) + 1) if running >= 2 else None


def verdicts(name: str = "hand_checked.tsv") -> list[dict[str, str]]:
    """Return what was read by hand for this benchmark."""
    return _table(Path(__file__).resolve().parent / name)


def _table(path: Path) -> list[dict[str, str]]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
