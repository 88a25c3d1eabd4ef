"""What the tests of the cost share: transcripts written line by line, and the command run in-process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from unspin.cli.app import app
from unspin.cost import Message, Reading
from unspin.cost.files import find

MODEL = "claude-opus-4-5"  # $5 in, $25 out, $0.50 cache read, $6.25 and $10 cache write, for a million tokens
WHEN = "2026-05-04T12:00:00.000Z"


def line(message: str = "msg_1", request: str | None = "req_1", output: int = 100, **given: Any) -> dict[str, Any]:
    """One line of a model message as the client writes it; ``usage`` and ``message`` are laid over."""
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
    }
    usage |= given.pop("usage", {})
    body = {"id": message, "type": "message", "role": "assistant", "model": given.pop("model", MODEL), "content": []}
    body["stop_reason"] = given.pop("stop", "end_turn")
    found = {"type": "assistant", "timestamp": WHEN, "cwd": "/shop", "message": {**body, "usage": usage}, **given}
    return found if request is None else {**found, "requestId": request}


def text(given: dict[str, Any]) -> str:
    """A line's text, as tight as the client writes it."""
    return json.dumps(given, separators=(",", ":"))


class Folder:
    """A configuration folder of the client with its transcripts."""

    def __init__(self, root: Path):
        self.root = root

    def write(self, name: str, *lines: dict[str, Any] | str, project: str = "-shop") -> Path:
        path = self.root / "projects" / project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{each if isinstance(each, str) else text(each)}\n" for each in lines))
        return path

    def read(self) -> list[Message]:
        return list(self.reading()[1])

    def reading(self) -> tuple[Reading, list[Message]]:
        reading = Reading()
        return reading, list(reading.messages(find([str(self.root)])))


@pytest.fixture
def folder(own_home: Path) -> Folder:
    """The folder in which the client keeps its transcripts when nothing else is said."""
    return Folder(own_home / ".claude")


@pytest.fixture
def unspin(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command at 100 columns, in UTC, and check its exit status."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(app, arguments, prog_name="unspin")
        assert result.exit_code == status, result.output
        assert "Traceback" not in result.output and "fault of unspin's own" not in result.output, result.output
        return result

    return run
