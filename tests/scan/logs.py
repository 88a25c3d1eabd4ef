"""Logs in unspin's own format, for tests: a small loop, and sessions as long as one likes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROJECT = "/shop"
FAILURE = "E   TypeError: no 'price'\nFAILED tests/test_a.py::test_a - TypeError: no 'price'"

Line = dict[str, Any]


def write(path: Path, lines: Iterable[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def at(second: int) -> str:
    hours, rest = divmod(second, 3600)
    return f"2026-05-{6 + hours // 24:02}T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}Z"


def began(session: str = "run-7") -> Line:
    return {"event": "session", "session": session, "cwd": PROJECT, "agent": "own loop", "time": at(0)}


def edit(new: str, second: int, file: str = "a.py") -> list[Line]:
    edits = [{"path": f"{PROJECT}/{file}", "old": "x", "new": new}]
    return [
        {"event": "tool", "tool": "Edit", "edits": edits, "time": at(second)},
        {"event": "round_end", "time": at(second)},
    ]


def check(second: int, *, passes: bool = False) -> list[Line]:
    tool = {"event": "tool", "tool": "Bash", "command": "pytest", "output": "ok" if passes else FAILURE}
    return [{**tool, "exit_code": int(not passes), "time": at(second)}, {"event": "round_end", "time": at(second)}]


def said(text: str, second: int) -> Line:
    return {"event": "message", "text": text, "time": at(second)}


def used(second: int, output: int = 1_000_000, model: str = "claude-opus-4-6") -> Line:
    return {"event": "usage", "model": model, "output_tokens": output, "time": at(second)}


def loop(edits: int = 3, file: str = "a.py", start: int = 10) -> list[Line]:
    """As many edits, each followed by the same failing check: ten seconds each."""
    lines: list[Line] = []
    for number in range(edits):
        second = start + 20 * number
        lines += [*edit(f"return {number}", second, file), used(second, 1000), *check(second + 10)]
    return lines


def paid_loop() -> list[Line]:
    """A loop of four edits whose log tells money and no tokens: $0.25 a call."""
    paid = {"event": "usage", "model": "x", "input_tokens": 0, "output_tokens": 0, "cost": 0.25}
    return [each for line in loop(4) for each in ((paid,) if line["event"] == "usage" else (line,))]


def long(events: int) -> list[Line]:
    """A session of so many events: a message each 250, reads, edits, checks, a loop and a compaction now and then."""
    lines: list[Line] = [began("long")]
    second = 0
    for number in range(events):
        second += 7
        if number % 250 == 0:
            lines.append(said(f"Do part {number // 250}.", second))
            continue
        lines += [used(second, 100 + number % 77), {"event": "context", "tokens": 20_000 + 700 * (number % 250)}]
        kind = number % 250
        if 100 <= kind < 108:
            lines += edit(f"return {kind}", second, "src/looped.py") if kind % 2 == 0 else check(second)
        elif kind == 249:
            lines += [{"event": "compaction", "done": done, "time": at(second)} for done in (False, True)]
        elif kind % 5 == 0:
            lines += check(second, passes=kind % 3 == 0)
        elif kind % 3 == 0:
            lines += edit(f"value = {number}", second, f"src/part_{number % 40}.py")
        else:
            read = {"event": "tool", "tool": "Read", "action": "read", "label": f"read src/part_{number % 90}.py"}
            lines += [
                {**read, "arguments": str(number), "time": at(second)},
                {"event": "round_end", "time": at(second)},
            ]
    return lines


#: Text that would be markup, script, or the end of the page's data, if anything took it for its own.
HOSTILE = (
    "</script><img src=x onerror=\"console.error('ran')\"><script>console.error('ran')</script>"
    "<!-- <script> ${alert(1)} `${alert(2)}` {{x}} [[script]] [[data]] ]]> &lt;b&gt; &amp; \u2028\u2029 \u202e\u0000\x1b[31m ' \" \\"
)


def hostile() -> list[Line]:
    """A session in which every text is hostile."""
    text = HOSTILE
    lines: list[Line] = [
        {"event": "session", "session": f"{text}", "cwd": f"/{text}", "agent": text, "model": text, "time": at(0)},
        said(text, 1),
        {"event": "message", "text": text, "by_person": False, "time": at(2)},
        {"event": "usage", "model": text, "output_tokens": 5, "cost": 0.1, "time": at(3)},
    ]
    for number in range(4):
        edits = [{"path": f"/{text}/a.py", "old": text, "new": f"{text}{number}"}]
        lines += [
            {"event": "tool", "tool": text, "edits": edits, "label": text, "time": at(4 + number)},
            {"event": "round_end"},
            {
                "event": "tool",
                "tool": text,
                "command": "pytest",
                "output": f"E   TypeError: {text} 'x'",
                "exit_code": 1,
            },
            {"event": "round_end"},
            {
                "event": "tool",
                "tool": text,
                "action": "shell",
                "command": f"echo {text}",
                "label": text,
                "exit_code": 1,
            },
            {"event": "round_end", "agent": ""},
            {"event": "tool", "tool": text, "agent": text, "label": text, "action": "other"},
            {"event": "round_end", "agent": text},
        ]
    return [*lines, {"event": "end", "how": text}]
