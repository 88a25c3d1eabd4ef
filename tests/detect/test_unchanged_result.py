"""One command, the same output across edits: what counts, and what is honest work."""

from __future__ import annotations

import pytest

from driver import Client


def five(agent: Client, command: str, output: str, status: int = 0) -> list[str]:
    lines = []
    for number in range(6):
        agent.round(agent.edit(f"src/m{number}.py"))
        lines.append(agent.round(agent.bash(command, output, status)))
    return [line for line in lines if line]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("python repro.py", "value: 3 (wanted 4)"),
        ("python check_totals.py", "total of the invoice is off by a cent"),
        ("node main.js", "rendered 3 of 4 rows"),
    ],
)
def test_a_run_that_stays_as_it_is_is_told_at_the_fifth(agent: Client, command: str, output: str) -> None:
    (line,) = five(agent, command, output)
    assert "gave the same output 5 times across edits" in line


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("./scripts/verify.sh", "tests ok: 120 passed"),
        ("python tools/check_links.py", "checked 412 links, 0 broken"),
        ("python -m scripts.validate", "✓ schema\n✓ examples"),
        ("python manage.py check", "System check identified no issues (0 silenced)."),
    ],
)
def test_a_program_that_says_that_all_is_well_is_no_loop(agent: Client, command: str, output: str) -> None:
    assert five(agent, command, output) == []


def test_an_unrelated_test_that_stays_red_is_no_loop(agent: Client) -> None:
    red = "FAILED tests/test_old.py::test_old - AssertionError: assert 'a' == 'b'\n1 failed, 7 passed in 0.2s"
    agent.round(agent.bash("pytest", red, 1))
    assert five(agent, "pytest", red, 1) == []


def test_a_program_ended_by_its_time_limit_is_no_loop(agent: Client) -> None:
    assert five(agent, "timeout 5 python train.py", "epoch 1", 124) == []
