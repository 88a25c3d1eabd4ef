"""The core alone, in-process: events a second, whether the cost stays flat, how large the state grows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sessions
from harness import Report, interleave, median, spread, timed

from unspin import Guard
from unspin import events as ev
from unspin.agents import Known, claude_code

AIM_RATE = 100_000
AIM_STATE = 64 * 1024
_BLOCK = 50  # laps fed at a time


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("3. The core")
    throughput(report, folder, quick=quick)
    kinds(report, 20 if quick else 400)
    flatness(report, 3_000 if quick else 100_000)


def throughput(report: Report, folder: Path, *, quick: bool) -> None:
    laps = 20 if quick else 300
    streams: dict[str, list[ev.Event]] = {
        "synthetic, the same commands": sessions.stream(0, laps, new=False),
        "synthetic, every command new": sessions.stream(0, laps, new=True),
        "synthetic, short outputs": sessions.short(0, laps * 4),
    }
    project = sessions.Project(folder)
    streams["the demonstration, over and over"] = events_of(sessions.recorded(project)) * (5 if quick else 60)
    played = []
    for path in [] if quick else sessions.transcripts(12):
        played += events_of(sessions.from_transcript(path, project))
    if played:
        streams["recorded sessions"] = played

    def variant(events: Sequence[ev.Event]) -> Callable[[], float]:
        def once() -> float:
            guard = Guard(project="/home/dev/shop")
            return timed(lambda: feed(guard, events))

        return once

    times = interleave({name: variant(events) for name, events in streams.items()}, 2 if quick else 7)
    rows: list[list[Any]] = []
    for name, spent in times.items():
        count, results = len(streams[name]), sum(isinstance(each, ev.ToolResult) for each in streams[name])
        rate = count / median(spent) * 1000
        rows.append([name, count, results, rate, results / median(spent) * 1000, spread(spent)])
    report.aim("events a second, synthetic, the same commands", rows[0][3], AIM_RATE, at_least=True)
    report.table(
        "Guard.observe, one core (times are of the processor)",
        ["stream", "events", "of them results", "events/s", "results/s", "p10 - p90 ms"],
        rows,
    )


def events_of(payloads: Sequence[dict[str, Any]]) -> list[ev.Event]:
    """Return the events of a session, as the protocol reads them."""
    found: list[ev.Event] = []
    for payload in payloads:
        incoming = claude_code.read(payload, Known(payload["cwd"]))
        found += incoming.events if incoming else []
    return found


def feed(guard: Guard, events: Sequence[ev.Event]) -> None:
    observe = guard.observe
    for event in events:
        observe(event)


def kinds(report: Report, laps: int) -> None:
    """What one event of each kind costs."""
    rows: list[list[Any]] = []
    for new in (False, True):
        guard = Guard(project="/home/dev/shop")
        feed(guard, sessions.stream(0, 5, new=False))
        spent: dict[str, list[float]] = {}
        for lap in range(laps):
            for event in sessions.stream(1000 + lap, 1, new=new):
                begin = time.perf_counter()
                guard.observe(event)
                spent.setdefault(_name(event), []).append((time.perf_counter() - begin) * 1e6)
        rows += [
            [f"{name}{', command new' if new else ''}", median(each), spread(each)] for name, each in spent.items()
        ]
    report.table("What one event costs", ["event", "µs", "p10 - p90 µs"], rows)


def _name(event: ev.Event) -> str:
    if not isinstance(event, ev.ToolResult):
        return type(event).__name__
    command = event.call.command.partition("_")[0] if event.call.command else ""
    return f"ToolResult: {command.split(' tests')[0] or event.call.tool}"


def flatness(report: Report, last: int) -> None:
    """Cost of an event and size of the state as a session grows, each stream in turn."""
    marks = [mark for mark in (1_000, 3_000, 10_000, 100_000) if mark <= last]
    rows: list[list[Any]] = []
    for name, make, scale in (
        ("synthetic, the same commands", lambda at: sessions.stream(at, _BLOCK, new=False), _BLOCK),
        ("synthetic, every command new", lambda at: sessions.stream(at, _BLOCK, new=True), _BLOCK),
        ("long names, many failing tests", sessions.widest, 1),
    ):
        guard, fed, at = Guard(project="/home/dev/shop"), 0, 0
        limit = marks[-1] if scale > 1 else marks[-1] // 10
        wanted = [mark for mark in marks if mark <= limit]
        recent: list[float] = []
        largest = 0
        while wanted:
            events = make(at)
            spent = timed(lambda: feed(guard, events))  # noqa: B023 - called at once
            fed, at = fed + len(events), at + scale
            recent = [*recent, spent / len(events) * 1e6][-100 if scale == 1 else -3 :]
            if at % (_BLOCK * 4) == 0:
                largest = max(largest, _size(guard))
            if fed >= wanted[0]:
                largest = max(largest, _size(guard))
                rows.append([name, wanted.pop(0), median(recent), _size(guard) / 1024, largest / 1024])
    report.table(
        "As a session grows", ["stream", "after events", "µs an event", "state KB", "largest state so far KB"], rows
    )
    first, end = (next(row[2] for row in rows if row[1] == mark) for mark in (marks[0], marks[-1]))
    report.aim(f"cost at {marks[-1]:,} events over that at {marks[0]:,}", end / first, 1.25)
    report.aim("largest stored state, KB", max(row[4] for row in rows), AIM_STATE / 1024)


def _size(guard: Guard) -> int:
    return len(json.dumps(guard.state, separators=(",", ":")))
