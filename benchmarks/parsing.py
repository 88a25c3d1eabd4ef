"""Reading shell lines and outputs: cold, warm, and whether the time stays linear on what nobody writes."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

import sessions
from harness import Processes, Report, interleave, median, python, quantile, timed
from hook_latency import installed

from unspin.facts.errors import count_errors, error_lines, primary_error
from unspin.facts.failures import failing_tests, summary
from unspin.facts.normalise import normalise_error, normalise_output
from unspin.facts.redact import redact
from unspin.facts.shell import read_line

LINES = (
    "ls",
    "cat src/cart.py | head -50",
    "git status --short && git diff --stat",
    "pytest -q",
    "cd backend && python -m pytest tests/test_cart.py::test_total -x -q 2>&1 | tail -40",
    "npm test -- --run src/cart.test.ts; echo done",
    "sed -i 's/a/b/' src/*.py && ruff check . && mypy src",
    'for f in $(ls tests/*.py); do timeout 60 python "$f" || exit 1; done',
    "cat > src/new.py <<'EOF'\nimport os\n\nprint(os.getcwd())\nEOF\npython src/new.py",
    "FOO=1 docker compose run --rm app bash -lc 'cargo test --workspace -- --nocapture'",
)

READERS: dict[str, Callable[[str], object]] = {
    "primary_error": primary_error,
    "error_lines": error_lines,
    "count_errors": count_errors,
    "failing_tests": failing_tests,
    "summary": summary,
    "normalise_output": normalise_output,
    "normalise_error": normalise_error,
    "redact": redact,
}

#: A text repeated until the wanted size is reached.
OUTPUTS: dict[str, str] = {
    "pytest, failing": sessions.PYTEST_FAILED.format(name="pens", address=1, time=7),
    "plain lines": "12:30:01 INFO  worker-3 handled /var/lib/item_42.json in 13 ms\n",
    "one line of words": "word ",
    "one line of digits": "0123456789",
    "one line of hex": "deadbeef01",
    "error on every line": "E   AssertionError: assert 1 == 2 at 0x7f001122 in /tmp/a/b.py:12\n",
    "FAILED on every line": "FAILED tests/test_a.py::test_b[1-2] - AssertionError: 1 != 2\n",
    "escapes": "\x1b[31m\x1b[0m\x1b]0;title\x07\x1b",
    "carriage returns": "10%\r",
    "brackets": "[{(",
    "quotes and backslashes": "\\\"'`",
    "slashes": "/a",
    "separators": "=-_:.,",
    "empty lines": "\n",
    "secrets": "token=",
    "nested JSON": '{"a":[',
}

#: Shell lines: an opening, a part that is repeated until the wanted size is reached, an end.
LONG: dict[str, tuple[str, str, str]] = {
    "commands": ("", "pytest -q; ", "true"),
    "pipes": ("cat a", " | grep b", ""),
    "and-or": ("true", " && pytest || make", ""),
    "substitutions": ("echo ", "$(", ""),
    "subshells": ("", "(", ""),
    "quotes": ("echo ", "\"'", ""),
    "back quotes": ("echo ", "`", ""),
    "heredocs": ("", "cat <<A\n", ""),
    "redirects": ("echo a", " > b", ""),
    "blanks": ("pytest", " ", ""),
    "braces": ("echo ", "{a,", ""),
    "bash -c within": ("", "bash -c '", ""),
    "one word": ("pytest ", "x", ""),
}

_COLD = """
import sys, time, json
sys.path[:0] = {paths!r}
line = {line!r}
a = time.perf_counter()
from unspin.facts.shell import read_line
b = time.perf_counter()
read_line(line)
c = time.perf_counter()
read_line(line)
d = time.perf_counter()
print(json.dumps([b - a, c - b, d - c]))
"""


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("5. Reading text")
    shell_lines(report, 2 if quick else 15)
    outputs(report, (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000), 1 if quick else 3)
    long_lines(report, (1_000, 10_000) if quick else (1_000, 10_000, 60_000, 1_000_000), 1 if quick else 3)
    giants(report, folder, (1,) if quick else (1, 10, 100))


def shell_lines(report: Report, rounds: int) -> None:
    """A line in a new process (its first reading loads the parser and compiles patterns), and once it is warm."""
    import tree_sitter

    import unspin

    paths = [str(Path(package.__file__ or "").parent.parent) for package in (unspin, tree_sitter)]
    rows = []
    for line in LINES:
        cold = []
        for _ in range(rounds):
            script = _COLD.format(paths=paths, line=line)
            done = subprocess.run([python(), "-I", "-S", "-c", script], check=True, capture_output=True)
            cold.append([each * 1000 for each in json.loads(done.stdout)])
        parsed = [timed(_reading(line, number)) * 1e6 for number in range(200)]
        known = [timed(_reading(line, 0)) * 1e6 for _ in range(200)]
        shown = line if len(line) <= 48 else f"{line[:45]}..."
        loading, first = (median([each[at] for each in cold]) for at in (0, 1))
        rows.append([shown.replace("\n", "\\n").replace("|", "¦"), loading, first, median(parsed), median(known)])
    report.table(
        "facts.shell.read_line (¦ stands for a pipe)",
        ["line", "import ms", "first line ms", "parsed again µs", "remembered µs"],
        rows,
    )


def _reading(line: str, number: int) -> Callable[[], object]:
    """Return the reading of a line that was not read before: another number is another line that says the same."""
    text = line + " " * number
    return lambda: read_line(text)


def outputs(report: Report, sizes: tuple[int, ...], rounds: int) -> None:
    """The slowest kind of text for each reader, at each size; linear is ten times for ten times."""
    rows = []
    for name, reader in READERS.items():
        table: dict[str, list[float]] = {}
        for text, part in OUTPUTS.items():
            table[text] = [
                median([timed(lambda: reader(given)) * 1000 for _ in range(rounds)])  # noqa: B023 - called at once
                for given in ((part * (size // len(part) + 1))[:size] for size in sizes)
            ]
        typical = table["pytest, failing"]
        worst = max(table, key=lambda text: table[text][-1])
        steepest = max(table, key=lambda text: _growth(table[text], sizes))
        rows.append([f"{name}: pytest, failing", *typical, _growth(typical, sizes)])
        rows.append([f"{name}: slowest, {worst}", *table[worst], _growth(table[worst], sizes)])
        if steepest != worst and table[steepest][-1] > 1:
            rows.append([f"{name}: steepest, {steepest}", *table[steepest], _growth(table[steepest], sizes)])
    columns = [f"{size // 1000:,} KB: ms" for size in sizes]
    report.table(
        "Readers of outputs (growth: steepest step, 1 is linear, 2 quadratic)",
        ["reader: text", *columns, "growth"],
        rows,
    )


def long_lines(report: Report, sizes: tuple[int, ...], rounds: int) -> None:
    rows = []
    for name, (opening, part, end) in LONG.items():
        spent = []
        for size in sizes:
            line = opening + part * (size // len(part)) + end
            spent.append(median([timed(_reading(line, number)) * 1000 for number in range(rounds)]))
        rows.append([name, *spent, _growth(spent, sizes)])
    report.table(
        "read_line on long lines (over 64 KB a line is not read)",
        ["line", *[f"{size // 1000:,} KB: ms" for size in sizes], "growth"],
        rows,
    )


def _growth(spent: list[float], sizes: tuple[int, ...]) -> float:
    """Return the steepest exponent between two sizes; times too short to tell are left out."""
    steps = [
        math.log(spent[at] / spent[at - 1]) / math.log(sizes[at] / sizes[at - 1])
        for at in range(1, len(sizes))
        if spent[at] > 0.5 and spent[at - 1] > 0.05
    ]
    return max(steps, default=0.0)


def giants(report: Report, folder: Path, megabytes: tuple[int, ...]) -> None:
    """A whole hook on a payload of many megabytes."""
    processes = Processes(folder)
    make = sessions.Payloads(sessions.Project(folder))
    variants: dict[str, Callable[[], float]] = {}
    part = OUTPUTS["pytest, failing"]

    def variant(stdin: str) -> Callable[[], float]:
        return lambda: processes.run(installed(), stdin)

    for size in megabytes:
        text = part * (size * 1_000_000 // len(part))
        variants[f"after a failing test run, {size} MB"] = variant(
            processes.payload(make.batch(make.shell("pytest -q", text, 1)))
        )
        variants[f"after a Read, {size} MB"] = variant(
            processes.payload(make.batch(make.call("Read", text, file_path="/x")))
        )
        variants[f"before a Write, {size} MB"] = variant(processes.payload(make.before(make.write("x.py", text))))
    times = interleave(variants, 3 if len(megabytes) > 1 else 1, warm=0)
    rows = [[name, median(spent), quantile(spent, 1.0)] for name, spent in times.items()]
    report.table("Giant payloads", ["hook", "median ms", "longest ms"], rows)
