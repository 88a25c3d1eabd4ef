"""Shared fixtures: a home of its own for every test, and a driven session."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from driver import Client

# A run of CI says of a change whether it broke something: the same examples each time, and no judgement by the clock of
# a busy machine. Runs on one's own machine go on looking for new ones.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI") == "true":
    hypothesis.settings.load_profile("ci")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep tests away from the person's own settings and state."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in ("CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


@pytest.fixture
def agent(tmp_path: Path) -> Client:
    """A session of Claude Code with the default settings."""
    return Client(tmp_path)


@pytest.fixture
def shared() -> Path:
    """The folder of recorded sessions and payloads beside the project, if it is there."""
    if not SHARED.is_dir():
        pytest.skip(f"the recorded sessions are not on this machine ({SHARED.name}/ beside the project)")
    return SHARED
