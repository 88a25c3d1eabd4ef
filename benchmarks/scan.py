"""The scan of transcripts: lines a second beside parsing alone, jq and another tool's scan; by stage; memory.

Every variant is a process that does the whole of its work on the same files, kept to one core where it is
measured so; its time is that of the processor, told by the system when it has ended. The transcripts are recorded
ones where they lie beside the project (``../shared``), else made here.

    UNSPIN_SCAN_GB=5 .venv/bin/python benchmarks/run.py --only scan      # the long file as long as that, as a stream
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
AIM_RATE, AIM_PARSING, AIM_CORES, AIM_MEMORY = 40_000, 4.0, 1.8, 150
PEERS = {"unwedge": "0.2.0", "orjson": "3.13.0", "msgspec": "0.23.0"}
LONG = 200  # MB of the file made by repetition

PARSING, SCAN = "parsing alone, msgspec", "unspin scan, one core"
#: What our own processes do, by the name of the row.
STAGES = {
    "read and split into lines": "lines",
    "... and parse, of each line what is asked of it": "decode",
    "... and translate into events": "events",
    "... and read facts, no detector": "facts",
    "... and detectors, with the facts that they ask for: the scan": "scan",
}


def run(report: Any, folder: Path, *, quick: bool = False) -> None:
    import cost as costs  # benchmarks/cost.py, which lays transcripts out as the client does

    report.title("8. Scan")
    home = folder / "home"
    size, files = costs.unpack(home / ".claude" / "projects", limit=3 if quick else 1000)
    paths = sorted((home / ".claude" / "projects").glob("*/*.jsonl"))
    lines = sum(path.read_bytes().count(b"\n") for path in paths)
    report.note(f"{files} transcripts, {lines:,} lines, {size / 1e6:.0f} MB, unpacked, in the system's file cache.")
    rounds = 1 if quick else 5
    spent = _beside(report, home, paths, lines, rounds, quick=quick)
    _stages(report, home, lines, spent, rounds)
    _cores(report, home, lines, rounds)
    _memory(report, home, folder, paths, quick=quick)


# -- time ------------------------------------------------------------------------------


def _beside(report: Any, home: Path, paths: list[Path], lines: int, rounds: int, *, quick: bool) -> dict[str, float]:
    """Measure the scan beside others on the same bytes; return processor seconds by row, those of our stages too."""
    from harness import interleave, median, python, spread

    import cost as costs

    commands: dict[str, list[str]] = {SCAN: _child("scan", home), PARSING: _child("parse", home)}
    reason = "left out with --quick" if quick else _install()
    if reason:
        report.note(f"unwedge and orjson are left out: {reason}.")
    else:
        commands["parsing alone, orjson"] = _child("orjson", home, _theirs("python"))
        commands["unwedge scan"] = [_theirs("unwedge"), "scan", "--limit", "1000000"]
    if shutil.which("jq"):
        look = "jq -c 'select(.type == \"assistant\") | .message.usage' $file"
        loop = f"for file in .claude/projects/*/*.jsonl; do {look}; done"
        commands["jq, select and one field"] = ["/bin/sh", "-c", loop]
    commands |= {name: _child(mode, home) for name, mode in STAGES.items() if mode != "scan"}
    commands["python -c pass"] = [python(), "-c", "pass"]
    variants = {name: _timed(command, home) for name, command in commands.items()}
    times = interleave(variants, rounds, warm=0 if quick else 1)
    seconds = {name: median(each) / 1000 for name, each in times.items()}
    rows = [
        [name, seconds[name], lines / seconds[name], seconds[name] / seconds[PARSING], spread(times[name])]
        for name in commands
        if name not in STAGES and name != "python -c pass"
    ]
    report.table(
        f"The same files on one core (baseline: {PARSING}; seconds of the processor, start of the process included)",
        ["what", "s", "lines/s", "times parsing", "p10 - p90 ms"],
        rows,
    )
    if any(costs.sessions.TRANSCRIPTS.glob("*.jsonl.gz")):
        report.aim("scan: lines a second on one core", lines / seconds[SCAN], AIM_RATE, at_least=True)
        report.aim("scan: times of parsing alone", seconds[SCAN] / seconds[PARSING], AIM_PARSING)
    else:
        report.note("These transcripts were made for want of recorded ones: the aims are not held against them.")
    return seconds


def _stages(report: Any, home: Path, lines: int, spent: dict[str, float], rounds: int) -> None:
    before, rows = spent["python -c pass"], []
    for name, mode in STAGES.items():
        seconds = spent[SCAN if mode == "scan" else name]
        rows.append([name, seconds, seconds - before, (seconds - before) / spent[SCAN] * 100, lines / seconds])
        before = seconds
    report.table(
        "By stage: each row does what those above it do, and more; the first one starts Python as well",
        ["up to here", "s", "more than above", "% of the scan", "lines/s"],
        rows,
    )


def _cores(report: Any, home: Path, lines: int, rounds: int) -> None:
    from harness import interleave, median, spread

    variants = {
        f"{jobs} process{'es' * (jobs > 1)}": _timed(_child(f"jobs {jobs}", home), home, core=False, wall=True)
        for jobs in (1, 2)
    }
    times = interleave(variants, rounds, warm=0)
    alone = median(next(iter(times.values())))
    rows = [
        [name, median(each) / 1000, lines / median(each) * 1000, alone / median(each), spread(each)]
        for name, each in times.items()
    ]
    report.table(
        "Over both cores, by the clock (`each_of(jobs=2)`)", ["what", "s", "lines/s", "times one", "p10 - p90 ms"], rows
    )
    report.aim("scan: times as fast over two cores", rows[-1][3], AIM_CORES, at_least=True)


# -- memory ----------------------------------------------------------------------------


def _memory(report: Any, home: Path, folder: Path, paths: list[Path], *, quick: bool) -> None:
    largest = max(paths, key=lambda path: path.stat().st_size)
    asked = float(os.environ.get("UNSPIN_SCAN_GB", "0"))
    megabytes = asked * 1000 or (5 if quick else LONG)
    rows: list[list[Any]] = []
    for name, mode, path in (
        ("all transcripts, one after another", "scan", home),
        ("the largest transcript", "one", largest),
        ("a tenth of the long one", f"long {megabytes / 10}", largest),
        ("the largest, repeated, every message new", f"long {megabytes}", largest),
    ):
        said, peak, seconds = _measured(_child(mode, path), home)
        rows.append([name, float(said.strip() or 0) / 1e6, peak / 1000, seconds])
    report.table("Peak memory of the process", ["what", "MB read", "peak MB", "s"], rows)
    report.aim("scan: peak memory in MB", max(row[2] for row in rows), AIM_MEMORY)


# -- processes -------------------------------------------------------------------------


def _child(mode: str, about: Path, python: str = sys.executable) -> list[str]:
    return [python, str(HERE), mode, str(about)]


def _theirs(program: str) -> str:
    from peers import cache

    return str(cache(PEERS) / "bin" / program)


def _install() -> str:
    from peers import install

    return install(PEERS)


def _timed(command: list[str], home: Path, *, core: bool = True, wall: bool = False) -> Callable[[], float]:
    def once() -> float:
        return _measured(command, home, core=core, wall=wall)[2]

    return once


def _measured(command: list[str], home: Path, *, core: bool = True, wall: bool = False) -> tuple[str, float, float]:
    """Run a process, on one core or on all; return what it said, its peak memory in kB, and its seconds."""
    import time

    said = home / "said"
    begin = time.perf_counter()
    child = os.fork()
    if not child:
        try:
            if core and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
            os.chdir(home)
            os.dup2(os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.execve(command[0], command, {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8"})
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    clock = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status) == 127:
        raise OSError(f"{command[0]} does not start")
    peak = usage.ru_maxrss / (1000 if sys.platform == "darwin" else 1)
    return said.read_text("utf-8", "replace"), peak, clock if wall else usage.ru_utime + usage.ru_stime


# -- in the child ----------------------------------------------------------------------


def work(mode: str, about: str) -> None:
    """Do the work of one row, and print how many bytes were read."""
    files = [about] if os.path.isfile(about) else sorted(map(str, Path(about).glob(".claude/projects/*/*.jsonl")))
    if mode == "orjson":
        import orjson

        _parse(files, orjson.loads)
        return
    if mode == "parse":
        import msgspec

        _parse(files, msgspec.json.Decoder().decode)
        return
    _ours(mode, files)


def _parse(files: list[str], decode: Callable[[bytes], object]) -> None:
    for path in files:
        with open(path, "rb", buffering=0) as stream:
            for line in stream.read().split(b"\n"):
                if line:
                    with contextlib.suppress(ValueError):  # one recorded line holds half a character
                        decode(line)


def _ours(mode: str, files: list[str]) -> None:
    from unspin.guard import Settings
    from unspin.guard.settings import KEYS
    from unspin.scan import scanning
    from unspin.scan.readers import claude_code
    from unspin.scan.source import Source

    settings = Settings()
    if mode.startswith("jobs"):
        for _ in scanning.each_of(map(Source, files), settings, jobs=int(mode[5:])):
            pass
        return
    if mode.startswith("long"):
        source = _repeated(Source(files[0]), float(mode[5:]) * 1e6)
        scanning.scan(source, settings)
        print(source.given)
        return
    if mode == "facts":
        from unspin.detect import DETECTORS

        off = {each.switch(): False for each in DETECTORS if each.switch() in KEYS}
        settings = Settings(off)
    for path in files:
        source = Source(path)
        if mode == "lines":
            for _ in source.raw_lines():
                pass
        elif mode == "decode":
            for _, line in source.raw_lines():
                with contextlib.suppress(ValueError):
                    claude_code.decode(line)
        elif mode == "events":
            for _ in claude_code.read(source):
                pass
        else:
            scanning.scan(source, settings)
    print(sum(map(os.path.getsize, files)))


def _repeated(source: Any, most: float) -> Any:
    """Return a file that is another one over and over, its messages' and calls' names new each time, never on disk."""
    from unspin.scan.source import Source

    with source.open() as stream:
        text = stream.read()

    def laps() -> Iterator[bytes]:
        lap, given = 0, 0
        while given < most:
            piece = text.replace(b'"msg_', b'"msg_%d_' % lap).replace(b'"toolu_', b'"toolu_%d_' % lap)
            given += len(piece)
            lap += 1
            yield piece

    class Stream:
        def __init__(self) -> None:
            self._laps, self._rest = laps(), memoryview(b"")

        def read(self, size: int) -> bytes:
            if not self._rest:
                self._rest = memoryview(next(self._laps, b""))
            found, self._rest = bytes(self._rest[:size]), self._rest[size:]
            repeated.given += len(found)
            return found

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *error: object) -> None:
            return

    class Repeated(Source):
        __slots__ = ("given",)

        def __init__(self) -> None:
            super().__init__(source.path)
            self.given = 0

        def open(self) -> Any:
            return Stream()

    repeated = Repeated()
    return repeated


if __name__ == "__main__":
    work(*sys.argv[1:])
