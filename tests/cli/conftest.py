"""What the tests of the commands share: a session that spins, and the commands run in-process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from driver import Client
from unspin.cli.app import app
from unspin.paths import state_folder
from unspin.store import Store

FAILURE = "E   TypeError: bad 'x'\nFAILED tests/test_a.py::test_a - TypeError: bad 'x'\n"

Run = Callable[..., Result]


@pytest.fixture
def unspin(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command at 80 columns and check its exit status."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(app, arguments, prog_name="unspin")
        assert result.exit_code == status, result.output
        assert "Traceback" not in result.output and "fault of unspin's own" not in result.output, result.output
        return result

    return run


@pytest.fixture
def spinning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A session that spins on a.py and is refused twice, in the state folder that the commands use."""
    agent = Client(tmp_path)
    agent.store.close()
    agent.store = Store(state_folder())
    monkeypatch.chdir(agent.project)
    (agent.project / "a.py").write_text("x = 1\n")
    for _ in range(3):
        agent.round(agent.edit("a.py"))
        agent.round(agent.bash("pytest", FAILURE, 1))
    for _ in range(2):
        agent.before(agent.edit("a.py"))
    return agent
