"""The common part: what is measured is interleaved, repeated, and given as medians with their spread.

Everything in one table was measured in one run, its variants in turn (one repetition of each, then the next), so
that whatever else the machine does falls on all of them alike. Ratios are those of medians, against the
baseline that the table names.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BARE = ("-I", "-S", "-c", "pass")
PLAIN = ("-c", "pass")


class Report:
    """Collects tables: prints each as it is ready, keeps it for ``--json``."""

    def __init__(self) -> None:
        self.tables: list[dict[str, Any]] = []
        self.aims: list[dict[str, Any]] = []
        self._part = ""

    def title(self, text: str) -> None:
        self._part = text
        print(f"\n## {text}\n", flush=True)

    def note(self, text: str) -> None:
        print(f"{text}\n", flush=True)

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        plain = [list(row) for row in rows]
        self.tables.append({"part": self._part, "name": name, "columns": list(columns), "rows": plain})
        texts = [[_cell(value) for value in row] for row in rows]
        widths = [max(len(row[at]) for row in [list(columns), *texts]) for at in range(len(columns))]
        print(f"{name}\n")
        print(_line(columns, widths))
        print("|" + "|".join("-" * (width + 1) + ("-" if at == 0 else ":") for at, width in enumerate(widths)) + "|")
        for row in texts:
            print(_line(row, widths))
        print(flush=True)

    def aim(self, text: str, measured: float, limit: float, *, at_least: bool = False) -> None:
        """Note a figure that has an aim."""
        met = measured >= limit if at_least else measured <= limit
        self.aims.append({"aim": text, "measured": measured, "limit": limit, "met": met})


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if at == 0 else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "| " + " | ".join(padded) + " |"


# -- time ------------------------------------------------------------------------------


def interleave(variants: Mapping[str, Callable[[], float]], rounds: int, *, warm: int = 1) -> dict[str, list[float]]:
    """Run each variant once a round, the first one another each time; return their times in milliseconds.

    A variant prepares what it needs, and returns the seconds that count.
    """
    names = list(variants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(-warm, rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            spent = variants[name]()
            if number >= 0:
                times[name].append(spent * 1000)
    return times


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of processor time that ``work`` takes in this process: what others do is not in it."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` of the values lie."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def spread(values: Sequence[float]) -> str:
    """Return the p10 and the p90."""
    return f"{_cell(quantile(values, 0.1))} - {_cell(quantile(values, 0.9))}"


# -- processes -------------------------------------------------------------------------


class Processes:
    """Starts programs as a client does: a payload on stdin, the answer caught, in a clean environment."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.environment = {
            "PATH": os.defpath,
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
        }
        self._out = str(folder / "stdout")
        self._error = str(folder / "stderr")
        self._payloads = 0

    def payload(self, data: Mapping[str, Any] | bytes) -> str:
        """Write a payload down; return its file."""
        self._payloads += 1
        path = self.folder / f"payload-{self._payloads}.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode())
        return str(path)

    def run(
        self, command: Sequence[str], stdin: str = os.devnull, environment: Mapping[str, str] | None = None
    ) -> float:
        """Run a program to its end; return the seconds from its start. ``status``, ``said`` tell how it went."""
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, self._out, flags, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, self._error, flags, 0o600),
        ]
        given = self.environment if environment is None else environment
        begin = time.perf_counter()
        child = os.posix_spawn(command[0], list(command), given, file_actions=actions)
        _, status = os.waitpid(child, 0)
        spent = time.perf_counter() - begin
        self.status = os.waitstatus_to_exitcode(status)
        return spent

    @property
    def said(self) -> str:
        return Path(self._out).read_text("utf-8", "replace")

    @property
    def complained(self) -> str:
        return Path(self._error).read_text("utf-8", "replace")


@contextlib.contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """Make ``folder`` the working folder of what is started."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# -- the machine -----------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return what figures depend on; nothing that names the machine."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "date": time.strftime("%Y-%m-%d"),
    }


def load() -> float:
    """Return how many processes wanted to run in the last minute, 0 where that is not told."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return 0.0


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def python() -> str:
    return sys.executable
