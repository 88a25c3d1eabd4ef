"""The stream guard: what a delta costs, how fast one channel is read, what is held, what is caught, beside peers."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peers
from harness import ROOT, Report, interleave, median, spread, timed

from unspin.stream import StreamConfig, StreamGuard

TEXTS = ROOT.parent / "shared" / "corpora" / "text"
PEERS = {"llm-degen-guard": "0.1.1", "simurg": "1.0.4", "mimo-stable": "1.1.5"}
SIZES = (4, 16, 64)
_SECONDS = 900


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("Streams")
    degenerate, honest = texts()
    _costs(report, "\n".join(honest.values()), rounds=3 if quick else 25)
    _state(report, "\n".join(honest.values()))
    _quality(report, folder, degenerate, honest, quick=quick)


def texts() -> tuple[dict[str, str], dict[str, str]]:
    """Return the degenerate and the honest texts: those beside the project, and those that the tests make."""
    sys.path.insert(0, str(ROOT / "tests"))
    from stream.texts import honest as make_honest
    from stream.texts import loops

    degenerate = {f"made loop: {name}": text for name, text, _ in loops()}
    honest = {f"made: {name}": text for name, text in make_honest()}
    for kind, held in (("degenerate", degenerate), ("legit", honest)):
        for path in sorted((TEXTS / kind).glob("*.txt")) if TEXTS.is_dir() else ():
            if text := path.read_bytes().decode("utf-8", "replace"):
                held[path.name] = text
    return degenerate, honest


def _costs(report: Report, text: str, *, rounds: int) -> None:
    """A loop over the deltas that feeds them all, beside one that only appends them."""
    text = text[: 400_000 if rounds > 5 else 60_000]
    rows: list[list[Any]] = []
    for size in SIZES:
        deltas = [text[at : at + size] for at in range(0, len(text), size)]
        times = interleave(_variants(deltas), rounds)
        base = median(times["append only"])
        for name, spent in times.items():
            each = median(spent) * 1e6 / len(deltas)
            added = (median(spent) - base) * 1e6 / len(deltas)
            rows.append([f"{size} characters: {name}", each, added, len(text) / median(spent) / 1000, spread(spent)])
            if name == "content" and size == 16:
                report.aim("ns added to a delta of 16 characters", added, 2_000)
            if name == "content" and size == 64:
                report.aim("MB/s on one channel, deltas of 64", len(text) / median(spent) / 1000, 6, at_least=True)
    report.table(
        "A delta (baseline: a loop that only appends it)", ["delta", "ns", "ns added", "MB/s", "p10 - p90 ms"], rows
    )


def _variants(deltas: list[str]) -> dict[str, Callable[[], float]]:
    def append() -> None:
        held: list[str] = []
        for delta in deltas:
            held.append(delta)  # noqa: PERF402 (the loop is what is measured)

    def feeding(method: str, config: StreamConfig) -> Callable[[], float]:
        def work() -> None:
            held: list[str] = []
            feed = getattr(guard, method)
            for delta in deltas:
                held.append(delta)
                if feed(delta) is not None:
                    raise AssertionError("an honest text tripped")

        def once() -> float:
            nonlocal guard
            guard = StreamGuard(config)
            return timed(work)

        guard = StreamGuard(config)
        return once

    return {
        "append only": lambda: timed(append),
        "content": feeding("feed_content_delta", StreamConfig()),
        "reasoning": feeding("feed_reasoning_delta", StreamConfig()),
        "switched off": feeding("feed_content_delta", StreamConfig(enabled=False)),
    }


def _state(report: Report, text: str) -> None:
    """The most that a guard holds whose three channels are all fed."""
    guard, most = StreamGuard(), 0
    for at in range(0, min(len(text), 200_000), 640):
        for feed in (guard.feed_content_delta, guard.feed_reasoning_delta, guard.feed_tool_arguments_delta):
            feed(text[at : at + 640])
        most = max(most, _held(guard))
    report.table(
        "State", ["", "characters"], [["one channel", most // 3], ["a guard with all three channels in use", most]]
    )
    report.aim("characters of state", most, 64_000)


def _held(guard: StreamGuard) -> int:
    total = 0
    for tail in (guard._content, guard._reasoning, guard._arguments):
        pieces = {id(piece): len(piece) for piece in [*tail._heads, *tail._names]}
        total += len(tail.pending) + len(tail._text) + sum(pieces.values())
        total += len(tail._drift._last[0]) if tail._drift is not None else 0
    return total


def _quality(report: Report, folder: Path, degenerate: dict[str, str], honest: dict[str, str], *, quick: bool) -> None:
    all_texts = {**degenerate, **honest}
    results = {"unspin": _ours(all_texts)}
    onsets = {key: results["unspin"]["onsets"].get(key, 0) for key in degenerate}
    reason = "left out with --quick" if quick else peers.install(PEERS)
    if reason:
        report.note(f"Peers skipped: {reason}. They are installed from PyPI, which needs the network.")
    else:
        path = folder / "texts.json"
        path.write_text(json.dumps(all_texts), "utf-8")
        for name in PEERS:
            results[f"{name} {PEERS[name]}"] = _peer(name, path)
    rows, afters = [], {}
    for name, result in results.items():
        caught = [key for key in degenerate if result["offsets"].get(key) is not None]
        false = [key for key in honest if result["offsets"].get(key) is not None]
        # what is called a loop before it began is no catch of it
        early = [key for key in caught if result["offsets"][key] <= onsets[key]]
        after = [result["offsets"][key] - onsets[key] for key in caught if key not in early]
        # a text that is never called a loop is one that is called so after for ever
        afters[name] = statistics.median([*after, *[math.inf] * (len(degenerate) - len(after))])
        speed = result["read"] / result["seconds"] / 1e6
        of_caught, of_all = (statistics.median(after) if after else "-"), afters[name]
        shown = "never" if of_all == math.inf else of_all
        rows.append([name, len(caught) - len(early), len(early), len(false), of_caught, shown, speed])
        if name == "unspin":
            report.aim("false trips", len(false), 0)
            missed = [key for key in degenerate if key not in caught]
            report.note(f"Missed by unspin: {', '.join(missed) or 'none'}.")
            report.aim("degenerate texts missed (one shows three iterations only)", len(missed), 1)
    report.note(
        f"{len(degenerate)} degenerate and {len(honest)} honest texts, in deltas of 16 characters: recorded ones by "
        "the project where there are any, and those that the tests make. The onset is where unspin saw it; *early*: "
        "called a loop while it had not begun; *of all texts*: those that were not caught count as never. mimo-stable "
        "takes blocks: here lines, judged at once. MB/s over all."
    )
    report.table(
        "What is caught",
        ["guard", "caught", "early", "false trips", "median characters after onset", "of all texts", "MB/s"],
        rows,
    )
    theirs = [after for name, after in afters.items() if name != "unspin"]
    if theirs:
        text = "median characters after onset of all texts, beside the median peer"
        report.aim(text, afters["unspin"], statistics.median(theirs))


def _ours(all_texts: dict[str, str]) -> dict[str, Any]:
    offsets: dict[str, int | None] = {}
    onsets: dict[str, int] = {}
    read = 0

    def work() -> None:
        nonlocal read
        for key, text in all_texts.items():
            guard, trip = StreamGuard(), None
            for at in range(0, len(text), 16):
                trip = guard.feed_content_delta(text[at : at + 16])
                if trip is not None:
                    onsets[key] = trip.onset
                    break
            offsets[key] = trip.offset if trip else None
            read += trip.offset if trip else len(text)

    seconds = timed(work)
    return {"offsets": offsets, "onsets": onsets, "seconds": seconds, "read": read}


def _peer(name: str, path: Path) -> dict[str, Any]:
    program = str(peers.cache(PEERS) / "bin" / "python")
    script = str(Path(__file__).with_name("streams_peers.py"))
    done = subprocess.run(
        [program, script, name, str(path)], check=False, capture_output=True, text=True, timeout=_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stderr[-400:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result
