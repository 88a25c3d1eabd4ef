"""What several edits of a span did together: put back and moved is not lost, what stays lost is told."""

from __future__ import annotations

import pytest

from driver import Client

RED = "FAILED tests/test_a.py::test_a - assert 1 == 2\n"
TEST = "def test_a():\n    assert f() == 2\n\n\ndef test_b():\n    assert g() == 3\n"


@pytest.fixture
def red(agent: Client) -> Client:
    (agent.project / "tests").mkdir()
    (agent.project / "tests" / "test_a.py").write_text(TEST)
    agent.round(agent.bash("pytest", RED, 1))
    return agent


def change(agent: Client, old: str, new: str) -> None:
    path = agent.project / "tests" / "test_a.py"
    call = agent.edit("tests/test_a.py", old, new)
    assert agent.before(call).status == 0
    path.write_text(path.read_text().replace(old, new, 1))
    agent.batch(call)


def green(agent: Client) -> str:
    return agent.round(agent.bash("pytest", "2 passed in 0.1s"))


def test_removed_in_one_edit_and_put_back_in_the_next(red: Client) -> None:
    change(red, "    assert f() == 2\n", "    f()\n")
    change(red, "    f()\n", "    assert f() == 2\n")
    assert green(red) == ""


def test_put_back_together_with_a_stricter_one(red: Client) -> None:
    change(red, "    assert f() == 2\n", "    f()\n")
    change(red, "    f()\n", "    assert f() == 2\n    assert f() != 5\n")
    assert green(red) == ""


def test_one_put_back_and_another_lost(red: Client) -> None:
    change(red, "    assert f() == 2\n", "    f()\n")
    change(red, "    f()\n", "    assert f() == 2\n")
    change(red, "    assert g() == 3\n", "    g()\n")
    assert "(assertions were removed)" in green(red)


def test_a_value_changed_in_two_steps(red: Client) -> None:
    change(red, "f() == 2", "f() == 7")
    change(red, "f() == 7", "f() == 1")
    assert green(red).startswith('Unspin: "tests/test_a.py" was changed, not the code, and now passes')
