"""Which of the run's commands an agent may type."""

from __future__ import annotations

import pytest

from driver import Client


@pytest.mark.parametrize(
    "line", ["unspin gate r1a2b3c4", "unspin gate --json r1a2b3c4", "unspin runs show r1", "unspin run T.md --plan"]
)
def test_looking_is_allowed(agent: Client, line: str) -> None:
    assert agent.before(agent.bash(line)).status == 0


@pytest.mark.parametrize("line", ["unspin gate r1 approve", "unspin gate --note x r1", "unspin run --resume r1"])
def test_deciding_and_going_on_is_refused(agent: Client, line: str) -> None:
    assert agent.before(agent.bash(line)).status == 2
