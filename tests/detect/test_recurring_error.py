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


def test_a_line_is_not_said_again_for_a_pass_in_the_very_round_of_the_next_failure() -> None:
    guard = Guard(project="/shop")
    said = []
    for number in range(4):
        guard.observe(events.shell(f"sed -i s/a/{number}/ src/repr{number}.py", cwd="/shop"))
        guard.observe(events.RoundEnd())
        guard.observe(events.shell("pytest tests/test_repr.py", FAILS, exit_code=1, cwd="/shop"))
        if number == 3:
            guard.observe(events.shell("pytest tests/test_other.py", "2 passed", exit_code=0, cwd="/shop"))
        said += [each.rule for each in guard.observe(events.RoundEnd())]
    assert said == ["recurring_error"]


def noticed(*results: events.ToolResult) -> set[str]:
    guard = Guard(project="/shop")
    found = set()
    for result in results:
        guard.observe(result)
        found |= {each.rule for each in guard.observe(events.RoundEnd())}
    return found


def test_a_word_that_the_shell_did_not_find_is_not_why_a_script_behind_it_fails() -> None:
    """Each of these runs fails in another way: the agent writes a sentence before its commands, and moves."""
    results = []
    for number, error in enumerate(("KeyError: 'a'", "TypeError: no len()", "ValueError: no digits", "OSError: gone")):
        output = f'bash: line 1: NOTE:: command not found\nTraceback (most recent call last):\n  File "t.py", line 3\n{error}'
        line = f"NOTE: attempt {number}\ncat > t.py <<'EOF'\nprint({number})\nEOF\npython t.py"
        results.append(events.shell(line, output, exit_code=1, cwd="/shop"))
    assert noticed(*results) == set()


def test_tests_that_ran_were_not_unstartable_whatever_else_the_shell_did_not_find() -> None:
    """Three different runs, and a client whose shell misses a function of its own at the end of each."""
    results = [
        events.shell(
            f"cd {folder} && npm run test:{folder}",
            f"  ✕ {folder} works (3 ms)\n\nTests: 1 failed, {len(folder)} passed\nzsh:1: command not found: dump_state",
            exit_code=1,
            cwd="/shop",
        )
        for folder in ("agent", "front", "server", "tools")
    ]
    assert noticed(*results) == set()
    after_edits = []
    for number in range(4):
        after_edits.append(events.edit("/shop/a.ts", f"a{number}", f"b{number}"))
        after_edits.append(
            events.shell(
                "npm test",
                f"  ✕ test {number} works (3 ms)\n\nTests: 1 failed, 2 passed\nzsh:1: command not found: dump_state",
                exit_code=1,
                cwd="/shop",
            )
        )
    assert noticed(*after_edits) == set()


def test_a_status_of_127_says_that_the_program_was_not_found_whatever_stands_before() -> None:
    results = []
    for number in range(4):
        output = f"KeyError: 'k{number}'\nbash: line 2: frobnicate: command not found"
        results.append(events.shell(f"python a.py {number}\nfrobnicate {number}", output, exit_code=127, cwd="/shop"))
    assert noticed(*results) == {"repeated_action"}
