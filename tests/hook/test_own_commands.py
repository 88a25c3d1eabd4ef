"""The plugin's own commands, typed by the person, say nothing to the agent: looking changes nothing."""

from __future__ import annotations

import pytest

from driver import Client


@pytest.mark.parametrize("typed", ["/unspin:status", "  /unspin:status --all", "/unspin:handoff", "/unspin:rollback 3"])
def test_a_command_of_the_plugin_is_not_the_persons_answer(agent: Client, typed: str) -> None:
    for _ in range(3):
        agent.round(agent.edit("a.py"))
        agent.round(agent.bash("pytest", "E   TypeError: x\nFAILED test_a.py::test_a - TypeError: x", 1))
    agent.prompt(typed)
    assert agent.before(agent.edit("a.py")).status == 2
    agent.prompt("unspin says you loop")
    assert agent.before(agent.edit("a.py")).status == 0
