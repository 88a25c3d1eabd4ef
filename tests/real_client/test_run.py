"""The real client as worker of `unspin run`, with a scripted model: one design turn and one code turn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import git
from real_client.harness import Client, read_jsonl
from real_client.scripted_model import Calls, Request, ScriptedModel, Text, tool

pytestmark = pytest.mark.real_client

REVIEW = json.dumps({"verdict": "%s", "findings": []})


def told(body: dict[str, Any]) -> str:
    """What the model was sent."""
    return Request("main", body, 0.0, "").text


def writes(variable: str, text: str) -> Any:
    """A step of the model: it asks the shell for the file's name, as a model would, and writes it."""
    return lambda body: Calls(tool("Write", file_path=found(body, variable), content=text))


def found(body: dict[str, Any], variable: str) -> str:
    """The hand-over file: known by where the client may write besides its folder."""
    name = "design.md" if variable == "UNSPIN_DESIGN" else "findings.json"
    words = told(body).replace("\n", " ").replace('"', " ").replace("`", " ").split()
    return next(each.rstrip("/.,") for each in words if each.rstrip("/.,").endswith("/hand")) + f"/{name}"


def test_one_design_and_one_code_turn(client: Client, tmp_path: Path) -> None:
    git(client.work, "init", "-q")
    client.write("calc.py", "def add(a, b):\n    return a - b\n")
    client.write("check.py", "from calc import add\nassert add(1, 2) == 3\n")
    client.write("TICKET.md", "# Mend add()\n\nIt subtracts.\n")
    assert client.executable
    settings = f"""
[run]
author = "{client.executable} -p --permission-mode acceptEdits"
checks = {{ test = "{sys.executable} check.py" }}
environment = ["CLAUDE_CODE_TMPDIR", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "IS_SANDBOX"]
[run.stages.sketch]
author = ["sh", "-c", "echo calc.py > $UNSPIN_DESIGN"]
[[run.reviewers]]
name = "correctness"
command = "{client.executable} -p"
"""
    client.write("unspin.toml", settings)
    git(client.work, "add", "-A")
    git(client.work, "commit", "-qm", "one")
    edited = Calls(tool("Edit", file_path="calc.py", old_string="a - b", new_string="a + b"))
    with ScriptedModel() as model:
        model.play([
            writes("UNSPIN_DESIGN", "calc.py:2: add instead of subtract"), Text("designed"),
            writes("UNSPIN_FINDINGS", REVIEW % "ready"), Text("reviewed"),
            Calls(tool("Read", file_path="calc.py")), edited, Text("coded"),
            writes("UNSPIN_FINDINGS", REVIEW % "ship"), Text("reviewed"),
        ])  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "unspin", "run", "TICKET.md"],
            cwd=client.work,
            env=client.env(ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY="scripted"),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        requests = model.of_kind("main")
    (home,) = (client.home / ".local/share/unspin/runs").iterdir()
    outputs = [each.read_text() for each in sorted(home.rglob("*.output.txt"))]
    assert done.returncode == 0, (done.stdout, done.stderr, outputs, [told(each.body)[-600:] for each in requests])
    assert not model.overruns and not model.unplayed
    shown = subprocess.run(
        [sys.executable, "-m", "unspin", "runs", "show", home.name, "--json"],
        env=client.env(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    story = json.loads(shown.stdout)
    assert (story["state"], story["author_turns"]) == ("shipped", 3)
    assert git(client.work, "show", f"{story['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"
    assert story["cost"]["tokens"] == 9 * 120  # of each of the model's answers once
    # a fresh process with an empty context each time: no session goes on with another
    transcripts = sorted((client.config_dir / "projects").rglob("*.jsonl"))
    assert len(transcripts) == 4
    firsts = [read_jsonl(each) for each in transcripts]
    assert len({line["sessionId"] for lines in firsts for line in lines if "sessionId" in line}) == 4
    # the live guard was in place, though nothing is installed in this home
    assert not client.settings_path.exists()
    sessions = subprocess.run(
        [sys.executable, "-m", "unspin", "status", "--all", "--json"],
        env=client.env(), cwd=client.work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert str(home / "tree") in sessions.stdout, sessions
