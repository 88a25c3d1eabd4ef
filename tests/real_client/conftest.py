"""Fixtures for tests that drive the real Claude Code client. Without it they are skipped, never in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from real_client.harness import Client, find_client

MISSING = (
    "the real Claude Code client is missing: it comes with the PyPI package claude-agent-sdk "
    "(dependency group `dev`; `make test` installs it)"
)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """The real client with a fresh home and an empty work folder."""
    if find_client() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{MISSING}. With CI=true it must be there.")
        pytest.skip(MISSING)
    return Client(tmp_path)
