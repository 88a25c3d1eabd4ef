"""The same error again: what is an edit between two of them."""

from __future__ import annotations

import pytest

from unspin import Guard, events

FAILS = "E   ValueError: wrong kind of node\nFAILED tests/test_repr.py::test_add\n1 failed, 4 passed"


def rules(*commands: str) -> list[str]:
    """Give a guard these commands, a failing test after each; return what it noticed."""
    guard = Guard(project="/shop")
    noticed = []
    for command in ("sed -i s/x/y/ src/repr.py", *commands):
        guard.observe(events.shell(command, cwd="/shop"))
        guard.observe(events.RoundEnd())
        guard.observe(events.shell("pytest tests/test_repr.py", FAILS, exit_code=1, cwd="/shop"))
        noticed += [each.rule for each in guard.observe(events.RoundEnd())]
    return noticed


@pytest.mark.parametrize(
    ("away", "back"),
    [
        ("cp src/repr.py src/repr.py.bak\ngit checkout src/repr.py", "mv src/repr.py.bak src/repr.py"),
        ("cp src/repr.py src/repr.py.orig && git checkout -- src/repr.py", "cp src/repr.py.orig src/repr.py"),
        ("mv src/repr.py src/repr.py~ && git restore src/repr.py", "mv src/repr.py~ src/repr.py"),
    ],
)
def test_to_look_at_the_state_before_with_a_backup_is_no_edit(away: str, back: str) -> None:
    assert rules(away, back) == []


def test_edits_between_are_edits() -> None:
    assert "recurring_error" in rules("sed -i s/a/b/ src/repr.py", "sed -i s/c/d/ src/repr.py")
