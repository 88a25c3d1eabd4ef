"""A small real repository and scripted workers, for tests of runs."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from checkpoint.trees import git
from unspin.cli.app import app
from unspin.run.workspace import data_folder

AUTHOR = """
    import os, pathlib, sys
    prompt = sys.stdin.read()
    stage, turn = os.environ["UNSPIN_STAGE"], os.environ["UNSPIN_TURN"]
    if stage in ("sketch", "design"):
        pathlib.Path(os.environ["UNSPIN_DESIGN"]).write_text(f"{stage} of turn {turn}: add() in calc.py")
    else:
        pathlib.Path("calc.py").write_text("def add(a, b):\\n    return a + b\\n")
        pathlib.Path("junk.tmp").write_text("ignored")
    print("done", len(prompt))
"""
REVIEWER = """
    import json, os, pathlib, sys
    stage, turn = os.environ["UNSPIN_STAGE"], int(os.environ["UNSPIN_TURN"])
    first = turn == 2
    found = [{"id": "F1", "severity": "major", "blocking": True, "location": "design", "claim": "say what b is"}] if first else []
    verdict = "revise" if first else "ready" if stage == "review-design" else "ship"
    pathlib.Path(os.environ["UNSPIN_FINDINGS"]).write_text(json.dumps({"verdict": verdict, "findings": found}))
    pathlib.Path("reviewer-was-here.txt").write_text("x")
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(name="project")
def make_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (folder / "check.py").write_text("from calc import add\nassert add(1, 2) == 3\n")
    (folder / ".gitignore").write_text("__pycache__/\n*.tmp\n")
    (folder / "TICKET.md").write_text("# Mend add()\n\nIt subtracts.\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(folder)
    configure(folder)
    return folder


def configure(folder: Path, *, author: str = AUTHOR, reviewer: str = REVIEWER, more: str = "") -> None:
    for name, text in (("author", author), ("reviewer", reviewer)):
        (folder.parent / f"{name}.py").write_text(textwrap.dedent(text))
    commands = {
        name: json.dumps([sys.executable, str(folder.parent / f"{name}.py")]) for name in ("author", "reviewer")
    }
    (folder.parent / "run.toml").write_text(
        f'[run]\nauthor = {commands["author"]}\nchecks = {{ test = "{sys.executable} check.py" }}\ntime_limit = 20\n'
        f'{more}\n[[run.reviewers]]\nname = "one"\ncommand = {commands["reviewer"]}\n'
    )


def go(folder: Path, *arguments: str) -> Result:
    return run("run", *(arguments or ("TICKET.md",)), "--config", str(folder.parent / "run.toml"))


def last(folder: Path) -> dict[str, Any]:
    (name,) = os.listdir(data_folder())
    found: dict[str, Any] = json.loads(run("runs", "show", name, "--json").stdout)
    return found


def workspace(folder: Path) -> Path:
    """The workspace of the only run."""
    del folder
    (name,) = os.listdir(data_folder())
    return Path(data_folder()) / name / "workspace"


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The events of a kind in the log of the only run."""
    lines = (workspace(folder) / "events.jsonl").read_text().splitlines()
    return [each for line in lines if (each := json.loads(line))["event"] == kind]
