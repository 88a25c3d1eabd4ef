"""Hook processes as the client starts them: the installed command line, one payload each."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from unspin.agents.claude_code_install import command

FAILURE = "Exit code 1\nE   TypeError: bad 'x'\nFAILED tests/test_a.py::test_a - TypeError: bad 'x'\n"


def hook_command() -> list[str]:
    entry = command()
    return [entry["command"], *entry["args"]]


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), **more}


def run(payload: Any, env: dict[str, str], **options: Any) -> subprocess.CompletedProcess[bytes]:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return subprocess.run(hook_command(), input=data, capture_output=True, env=env, timeout=60, check=False, **options)


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def batch(session: str, *calls: dict[str, Any], cwd: str = "/p") -> dict[str, Any]:
    return {"session_id": session, "cwd": cwd, "hook_event_name": "PostToolBatch", "tool_calls": list(calls)}


def edit(path: str = "/p/a.py", new: str = "b") -> dict[str, Any]:
    given = {"file_path": path, "old_string": "a", "new_string": new}
    return {"tool_name": "Edit", "tool_input": given, "tool_response": "The file has been updated", "tool_use_id": "t"}


def fails(output: str = FAILURE) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_response": output, "tool_use_id": "t"}


def before(session: str, call: dict[str, Any], cwd: str = "/p") -> dict[str, Any]:
    return {"session_id": session, "cwd": cwd, "hook_event_name": "PreToolUse", **call}
