"""What sessions cost: ``unspin cost`` beside ccusage, the same transcripts, the same run; what each of them counts.

The transcripts are recorded ones where they lie beside the project (``../shared``), else made here. ccusage comes
from npm into a folder of this run; it is asked for its offline prices, so that no network is in the figures.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sessions
from harness import BARE, Processes, Report, interleave, median, python, spread, timed

from unspin import cost

CCUSAGE = "20.0.24"
_SECONDS = 120
_TIMES = 4
_SILENT = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost")
_THEIRS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "totalCost")
_WHEN = "2026-05-04T12:00:00.000Z"


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("6. Cost")
    config = folder / "config"
    size, files = unpack(config / "projects", limit=5 if quick else 1000)
    report.note(f"{files} transcripts, {size / 1e6:.0f} MB.")
    peers = {} if quick else _install(folder, report)
    processes = Processes(folder)
    processes.environment |= {"CLAUDE_CONFIG_DIR": str(config), "TZ": "UTC"}
    ours = [str(Path(python()).with_name("unspin")), "cost", "--json"]
    theirs = {name: [*command, "claude", "daily", "--json", "--offline"] for name, command in peers.items()}
    _times(report, processes, ours, theirs, rounds=2 if quick else 15)
    if not quick:
        _larger(report, config, folder / "larger", processes, {"unspin cost --json": ours, **theirs})
    _one_session(report, config, rounds=2 if quick else 15)
    native = theirs.get("ccusage, its program")
    if native:
        _same_totals(report, processes, ours, native)
    _cases(report, folder / "cases", processes, ours, native)


# -- time ------------------------------------------------------------------------------


def _times(report: Report, processes: Processes, ours: list[str], theirs: dict[str, list[str]], rounds: int) -> None:
    commands = {"python -I -S -c pass": [python(), *BARE], "unspin cost --json": ours, **theirs}
    variants: dict[str, Callable[[], float]] = {}
    for name, command in commands.items():
        variants[f"{name}, one core"] = lambda command=command: _alone(processes, command)
        variants[name] = lambda command=command: _run(processes, command)
    found = interleave(variants, rounds)
    base = median(found["unspin cost --json, one core"])
    rows = [[name, median(times), spread(times), median(times) / base] for name, times in found.items()]
    report.table("A whole folder, by day", ["command", "ms", "p10 - p90", "ratio to unspin on one core"], rows)
    beside = "ccusage, its program, one core"
    if beside in found:
        report.aim(
            "unspin cost on one core, against ccusage's own program on one core", base / median(found[beside]), 1.0
        )


def _larger(report: Report, config: Path, larger: Path, processes: Processes, commands: dict[str, list[str]]) -> None:
    """The same transcripts several times over, each time as other messages: as one folder, and as one file."""
    one = larger / "one file" / "projects" / "-shop" / "all.jsonl"
    one.parent.mkdir(parents=True)
    with one.open("wb") as whole:
        for number in range(_TIMES):
            for path in sorted(config.rglob("*.jsonl")):
                text = path.read_bytes().replace(b'"msg_', b'"msg_%d' % number)
                copy = larger / "many files" / "projects" / f"{path.parent.name}-{number}" / path.name
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(text)
                whole.write(text)
    rows = []
    for kind in ("many files", "one file"):
        processes.environment["CLAUDE_CONFIG_DIR"] = str(larger / kind)
        found = interleave(
            {name: lambda command=command: _alone(processes, command) for name, command in commands.items()}, 5
        )
        base = median(found["unspin cost --json"])
        rows += [
            [f"{kind}: {name}", median(times), spread(times), median(times) / base, _peak(processes, commands[name])]
            for name, times in found.items()
        ]
    columns = ["one core", "ms", "p10 - p90", "ratio to unspin", "MB of memory"]
    report.table(f"{one.stat().st_size / 1e6:,.0f} MB", columns, rows)
    processes.environment["CLAUDE_CONFIG_DIR"] = str(config)
    shutil.rmtree(larger)


def _peak(processes: Processes, command: list[str]) -> float:
    """Return the most memory that a program and those it starts took, the largest of them, in megabytes."""
    child = os.posix_spawn(command[0], command, processes.environment, file_actions=_SILENT)
    _, _, used = os.wait4(child, 0)
    return used.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def _run(processes: Processes, command: list[str]) -> float:
    spent = processes.run(command)
    if processes.status:
        raise RuntimeError(f"{command[0]}: exit status {processes.status}: {processes.complained[-500:]}")
    return spent


def _alone(processes: Processes, command: list[str]) -> float:
    with _one_core():
        return _run(processes, command)


@contextlib.contextmanager
def _one_core() -> Iterator[None]:
    """Keep what is started on one core, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _one_session(report: Report, config: Path, rounds: int) -> None:
    """What a status line asks for: one session, in a process that runs."""
    largest = sorted(config.rglob("*.jsonl"), key=lambda each: each.stat().st_size)
    prices = cost.known_prices()
    chosen = {"median": largest[len(largest) // 2], "largest": largest[-1]}
    variants = {
        name: lambda path=path: timed(lambda: cost.of_session(str(path), prices)) for name, path in chosen.items()
    }
    found = interleave(variants, rounds)
    rows = [[name, chosen[name].stat().st_size / 1e6, median(times), spread(times)] for name, times in found.items()]
    report.table("cost.of_session, in-process", ["session", "MB", "ms", "p10 - p90"], rows)


# -- figures ---------------------------------------------------------------------------


def _same_totals(report: Report, processes: Processes, ours: list[str], native: list[str]) -> None:
    mine, other = _totals(processes, ours, "total"), _totals(processes, native, "totals")
    rows = []
    for own, their in zip(_FIGURES, _THEIRS, strict=True):
        rows.append([own.replace("_", " "), mine[own], other[their], round(mine[own] - other[their], 6)])
    report.table("What they count", ["figure", "unspin", "ccusage", "difference"], rows)


def _totals(processes: Processes, command: list[str], key: str) -> dict[str, Any]:
    _run(processes, command)
    found: dict[str, Any] = json.loads(processes.said)
    return found.get(key) or dict.fromkeys(_THEIRS, 0)


def _line(output: int = 100, **given: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }
    message = {"id": given.pop("id", "msg_1"), "type": "message", "role": "assistant"}
    message |= {"model": given.pop("model", "claude-opus-4-5"), "content": [], "usage": usage | given.pop("usage", {})}
    return {"type": "assistant", "timestamp": _WHEN, "requestId": "req_1", "message": message, **given}


#: Small transcripts on which counters can differ.
CASES: dict[str, dict[str, list[dict[str, Any]]]] = {
    "one message, streamed": {"a": [_line(1), _line(300)]},
    "a session and its fork": {
        "parent": [_line()],
        "fork": [_line(forkedFrom={"sessionId": "parent"}), _line(id="msg_2", requestId="req_2")],
    },
    "a side question that replays": {
        "a": [_line()],
        "a/subagents/agent-1": [_line(requestId="req_2", isSidechain=True), _line(id="msg_2", isSidechain=True)],
    },
    "one message without a request id": {
        "a": [_line(requestId=None), _line(requestId=None, timestamp="2026-05-04T12:00:01.000Z")]
    },
    "a million written to the cache for an hour": {
        "a": [
            _line(
                usage={
                    "cache_creation_input_tokens": 10**6,
                    "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 10**6},
                }
            )
        ]
    },
    "300,000 read, Sonnet 4.5": {"a": [_line(model="claude-sonnet-4-5", usage={"cache_read_input_tokens": 300_000})]},
    "300,000 read, Opus 4.6, February": {
        "a": [
            _line(
                model="claude-opus-4-6",
                timestamp="2026-02-04T12:00:00.000Z",
                usage={"cache_read_input_tokens": 300_000},
            )
        ]
    },
    "a million written in fast mode, Opus 4.8": {"a": [_line(10**6, model="claude-opus-4-8", usage={"speed": "fast"})]},
    "100 web searches": {"a": [_line(usage={"server_tool_use": {"web_search_requests": 100}})]},
    "costUSD of 7 in an old line": {"a": [_line(costUSD=7.0)]},
    "a newer model": {"a": [_line(10**6, model="claude-opus-5-5")]},
    "a model that nobody knows": {"a": [_line(10**6, model="my-model")]},
}


def _cases(report: Report, folder: Path, processes: Processes, ours: list[str], native: list[str] | None) -> None:
    rows = []
    for number, (name, files) in enumerate(CASES.items()):
        config = folder / str(number)
        for file, lines in files.items():
            path = config / "projects" / "-shop" / f"{file}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            dropped = [{key: value for key, value in each.items() if value is not None} for each in lines]
            path.write_text("".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in dropped))
        processes.environment["CLAUDE_CONFIG_DIR"] = str(config)
        mine = _totals(processes, ours, "total")
        row = [name, sum(mine[key] for key in _FIGURES[:4]), _dollars(mine["cost"])]
        if native:
            other = _totals(processes, native, "totals")
            row += [sum(other[key] for key in _THEIRS[:4]), _dollars(other["totalCost"])]
        rows.append(row)
    columns = ["case", "unspin: tokens", "dollars"]
    report.table("Where counters can differ", columns + (["ccusage: tokens", "dollars"] if native else []), rows)


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:.5f}"


# -- what is read ----------------------------------------------------------------------


def unpack(projects: Path, limit: int) -> tuple[int, int]:
    """Lay transcripts out as the client does; return their bytes and how many they are."""
    recorded = sorted(sessions.TRANSCRIPTS.glob("*.jsonl.gz"))[:limit]
    projects.mkdir(parents=True)
    size = 0
    for packed in recorded:
        project, _, session = packed.name.removesuffix(".jsonl.gz").partition("__claude__")
        path = projects / f"-{project.replace('+', '-')}" / f"{session}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.decompress(packed.read_bytes()))
        size += path.stat().st_size
    for number in range(0 if recorded else limit):
        path = projects / "-shop" / f"{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(_made(number)))
        size += path.stat().st_size
    return size, len(recorded) or limit


def _made(number: int) -> Iterator[str]:
    """Yield the lines of a session that nobody had: results of 8 KB between messages of two lines."""
    result = {"type": "user", "timestamp": _WHEN, "message": {"role": "user", "content": "x" * 8000}}
    for message in range(50):
        request = {"id": f"msg_{number}_{message}", "requestId": f"req_{number}_{message}"}
        for each in (_line(1, **request), _line(300, **request), result):
            yield json.dumps(each, separators=(",", ":")) + "\n"


def _install(folder: Path, report: Report) -> dict[str, list[str]]:
    """Install ccusage into this run's folder; return how it is started: by its launcher, and its program alone."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        report.note("ccusage is left out: there is no npm here.")
        return {}
    place = folder / "npm"
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"ccusage@{CCUSAGE}"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        report.note(
            f"ccusage is left out: {type(error).__name__} while installing it from npm, which needs the network."
        )
        return {}
    found = {"ccusage, as npm starts it": [node, str(place / "node_modules" / "ccusage" / "src" / "cli.js")]}
    for program in place.glob("node_modules/@ccusage/*/bin/ccusage"):
        program.chmod(0o755)
        found["ccusage, its program"] = [str(program)]
    return found
