"""What a turn of `unspin run` costs besides its workers, in a repository of many files, from turn 2 to turn 100.

Workers are `sh` scripts that do next to nothing; what they take of themselves is measured
beside and taken off.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness import Report, median, quantile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

_FILES, _TURNS = 10_000, 100
_LIMIT = 300  # ms
_AUTHOR = (
    'cat > /dev/null; case $UNSPIN_STAGE in code) echo "x = $UNSPIN_TURN" > made.py;; '
    '*) echo made.py > "$UNSPIN_DESIGN";; esac'
)
_REVIEWER = (
    'cat > /dev/null; v=revise; f=\'{"id": "F1", "severity": "minor", "blocking": true, "location": "made.py:1", '
    '"claim": "objection \'$UNSPIN_TURN\'"}\'; [ $UNSPIN_STAGE = review-design ] && v=ready f=; '
    'echo "{\\"verdict\\": \\"$v\\", \\"findings\\": [$f]}" > "$UNSPIN_FINDINGS"'
)


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    """Print the table."""
    files, turns = (1000, 12) if quick else (_FILES, _TURNS)
    report.title("Run")
    took, worker = turns_of(folder, files, turns)
    rows = []
    for name, part in (
        ("turns 3 to 12", took[:10]),
        (f"turns {turns // 2 - 4} to {turns // 2 + 5}", took[turns // 2 - 7 : turns // 2 + 3]),
        (f"turns {turns - 9} to {turns}", took[-10:]),
    ):
        rows.append([name, median(part), quantile(part, 0.9)])
    report.table(
        f"One turn without its workers (author, check, review), {files:,} files, ms",
        ["", "median", "p90"],
        rows,
    )
    report.note(f"Taken off: {worker:.1f} ms for each of the three workers, what `sh` takes for the same script.")
    report.aim("run: a turn without its workers, ms", median(took), _LIMIT)
    report.aim("run: the last turns against the first", median(took[-10:]) / median(took[:10]), 1.25)


def turns_of(folder: Path, files: int, turns: int) -> tuple[list[float], float]:
    """Return what each code turn took in ms, its workers taken off, and what one worker takes."""
    os.environ["XDG_DATA_HOME"], os.environ["XDG_STATE_HOME"] = str(folder / "data"), str(folder / "state")
    from unspin.run.conductor import Conductor
    from unspin.run.settings import RunSettings
    from unspin.run.workspace import Files

    repository = _repository(folder / "repository", files)
    settings = RunSettings(
        {
            "author": ["sh", "-c", _AUTHOR],
            "checks": {"test": "true"},
            "reviewers": [{"name": "one", "command": ["sh", "-c", _REVIEWER]}],
            "caps": {"turns": turns},
        }
    )
    ends: list[float] = []

    def told(kind: str, fields: dict[str, Any]) -> None:
        if kind == "verdict" and fields["stage"] == "code":
            ends.append(time.perf_counter())

    conductor = Conductor.begin(
        Files("bench", str(folder / "state" / "unspin")), settings, repository=str(repository), ticket="x", told=told
    )
    conductor.go()
    worker = median([_plain_worker(folder) for _ in range(20)])
    return [(b - a) * 1000 - 3 * worker for a, b in itertools.pairwise(ends)], worker


def _plain_worker(folder: Path) -> float:
    began = time.perf_counter()
    env = {**os.environ, "UNSPIN_STAGE": "code", "UNSPIN_TURN": "1", "UNSPIN_FINDINGS": str(folder / "f")}
    subprocess.run(["sh", "-c", _REVIEWER], input=b"x" * 2000, env=env, check=True)
    return (time.perf_counter() - began) * 1000


def _repository(folder: Path, files: int) -> Path:
    for number in range(files):
        path = folder / f"package{number % 100:02}" / f"module{number:05}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def function_{number}():\n    return {number}\n" * 10)
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"]
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *who, *line], cwd=folder, check=True)
    return folder
