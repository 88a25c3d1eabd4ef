"""Edits that try nothing are no attempts: the one that undoes the last, and debug output put in or out."""

from __future__ import annotations

import pytest

from unspin import Guard, events

FAILS = "E   ValueError: wrong kind of node\nFAILED tests/test_repr.py::test_add\n1 failed, 4 passed"
SHELL = ["sed -i 's/total(a)/total(b)/' src/repr.py", "sed -i 's/total(b)/total(a)/' src/repr.py"]


def said(*edits: events.ToolResult | str, red: str = FAILS) -> list[str]:
    """Give a guard these edits, a failing test after each; return the rules that it named."""
    guard = Guard(project="/shop")
    found = []
    for edit in edits:
        guard.observe(events.shell(edit, cwd="/shop") if isinstance(edit, str) else edit)
        guard.observe(events.RoundEnd())
        guard.observe(events.shell("pytest tests/test_repr.py", red, exit_code=1, cwd="/shop"))
        found += [each.rule for each in guard.observe(events.RoundEnd()) if each.kind == "nudge"]
    return found


def edit(old: str, new: str, path: str = "/shop/src/repr.py") -> events.ToolResult:
    return events.edit(path, old, new)


def test_to_take_a_change_out_and_put_it_back_is_one_attempt() -> None:
    there, back = SHELL
    assert said(there, back, there) == []
    assert said(edit("total(a)", "total(b)"), edit("total(b)", "total(a)"), edit("total(a)", "total(b)")) == []


def test_a_change_that_was_looked_at_without_it_counts_on_with_the_next_attempts() -> None:
    there, back = SHELL
    assert said(there, back, there, "sed -i 's/a/c/' src/repr.py") == []
    assert said(there, back, there, "sed -i 's/a/c/' src/repr.py", "sed -i 's/c/d/' src/repr.py") == ["failing_edits"]


def test_the_same_text_in_another_file_undoes_nothing() -> None:
    swapped = [
        edit("total(a)", "total(b)"),
        edit("total(b)", "total(a)", "/shop/src/other.py"),
        edit("total(a)", "total(b)", "/shop/src/third.py"),
    ]
    assert said(*swapped) == ["recurring_error"]


@pytest.mark.parametrize(
    "prints",
    [
        [edit("x = f()", f"x = f()\nprint({number}, x)") for number in range(4)],
        [f"sed -i '1{number}i\\    print(\"at {number}\")' src/repr.py" for number in range(4)],
        ["sed -i '12a\\ print(x)' src/repr.py", "sed -i '/print(x)/d' src/repr.py"] * 2,
    ],
)
def test_debug_output_is_no_attempt(prints: list[events.ToolResult | str]) -> None:
    assert said(*prints) == []


@pytest.mark.parametrize(
    "formats",
    ["black src/repr.py", "ruff format src/repr.py", "ruff check --fix src/repr.py", "yapf -i src/repr.py", "black ."],
)
def test_what_a_formatter_lays_out_anew_is_no_attempt(formats: str) -> None:
    tries = [f"sed -i 's/a/{name}/' src/repr.py" for name in "bcd"]
    assert said(tries[0], formats, formats, formats) == []
    assert said(tries[0], formats, tries[1], formats, tries[2]) == ["failing_edits"]


def test_attempts_with_debug_output_between_them_still_count() -> None:
    looks = "sed -i '12a\\ print(x)' src/repr.py"
    tries = [f"sed -i 's/a/{name}/' src/repr.py" for name in "bcd"]
    assert said(tries[0], looks, tries[1], looks, tries[2]) == ["failing_edits"]


def test_to_go_back_and_forth_without_end_is_a_cycle() -> None:
    assert "repeated_action" in said(*SHELL * 3)


def test_runs_of_defects4j_are_tests_and_name_what_fails() -> None:
    red = "Failing tests: 1\n  - org.shop.CartTest::addsUp\n"
    guard = Guard(project="/shop")
    found = []
    for number in range(3):
        guard.observe(edit(f"a{number}", f"b{number}", "/shop/src/Cart.java"))
        guard.observe(events.RoundEnd())
        guard.observe(events.shell("defects4j test", red, exit_code=1, cwd="/shop"))
        found += guard.observe(events.RoundEnd())
    assert [each.rule for each in found] == ["failing_edits"]


REVERT = "git checkout src/repr.py"


def test_a_change_that_was_reverted_and_is_made_again_is_one_attempt() -> None:
    """It was taken out to see that the test fails anyway."""
    for there in (SHELL[0], "sed -i '12,17d' src/repr.py"):
        assert said(there, REVERT, there, REVERT, there) == []
    assert said(edit("total(a)", "total(b)"), REVERT, edit("total(a)", "total(b)"), REVERT) == []


def test_several_changes_that_were_reverted_and_are_made_again_in_their_order_are_none_more() -> None:
    first, second = "sed -i '12,17d' src/repr.py", "sed -i 's/a/c/' src/repr.py"
    both = f"{first}\n{second}"
    assert said(both, REVERT, both, REVERT, both) == []
    assert said(both, REVERT, f"{second}\n{first}", REVERT, both) == ["failing_edits"]


def test_another_change_after_a_revert_is_another_attempt() -> None:
    tries = [f"sed -i 's/a/{name}/' src/repr.py" for name in "bcd"]
    assert said(tries[0], REVERT, tries[1], REVERT, tries[2]) == ["failing_edits"]


def test_to_revert_and_make_the_same_change_without_end_is_a_cycle() -> None:
    assert "repeated_action" in said(*[SHELL[0], REVERT] * 4)
