"""Kinds of loop that recorded agents ran into, rebuilt from their description: found by the right rule, in time.

Only the shape is taken from those runs (how often, what changes, what stays); all contents are invented.
"""

from __future__ import annotations

from collections.abc import Iterable

from unspin import Guard, events
from unspin.guard import NUDGE, Response


def watch(rounds: Iterable[list[events.ToolResult]]) -> list[tuple[int, Response]]:
    """Give a guard these rounds; return what it said, and after how many of them."""
    guard = Guard(project="/shop")
    found = []
    for number, results in enumerate(rounds, 1):
        for result in results:
            guard.observe(result)
        found += [(number, each) for each in guard.observe(events.RoundEnd()) if each.kind == NUDGE]
    return found


def first(rounds: Iterable[list[events.ToolResult]]) -> tuple[str, int]:
    """Return the rule that was said first, and after how many rounds."""
    found = watch(rounds)
    assert found, "nothing was said"
    number, response = found[0]
    return response.rule, number


def test_one_script_with_the_same_output_over_ever_new_edits() -> None:
    """42 runs in 97 steps: 37 identical outputs, 43 distinct edits, other work between."""
    rounds: list[list[events.ToolResult]] = []
    for number in range(43):
        rounds.append([events.edit("/shop/decode.py", f"key = {number}", f"key = {number + 1}")])
        if number % 4 == 3:
            rounds.append([events.shell("ls", "decode.py\nmessage.bin\n", cwd="/shop")])
        output = f"round {number}: {'ab' * number}" if number in (4, 11, 12, 25, 30) else "no readable text found"
        rounds.append([events.shell("python decode.py message.bin", output, cwd="/shop")])
    rule, at = first(rounds)
    assert rule == "unchanged_result"
    assert at <= 20 < len(rounds) == 96


def test_the_same_where_the_script_ends_in_an_error() -> None:
    rounds: list[list[events.ToolResult]] = []
    for number in range(10):
        rounds.append([events.edit(f"/shop/part{number}.py", "a", f"b{number}")])
        trace = 'Traceback (most recent call last):\n  File "solve.py", line 9\nValueError: no solution for the grid'
        rounds.append([events.shell("python solve.py", trace, exit_code=1, cwd="/shop")])
    assert first(rounds) == ("recurring_error", 6)


def test_a_rotation_of_five_searches_to_the_step_cap() -> None:
    searches = [f"grep -rn {word} src" for word in ("total", "sum_of", "add_up", "amount", "price")]
    answers = {search: f"src/{at}.py:{at}: {search.split()[2]}\n" for at, search in enumerate(searches)}
    rounds = [[events.shell(search, answers[search], cwd="/shop")] for search in searches * 8]
    rule, at = first(rounds)
    assert (rule, at) == ("repeated_action", 15)


def test_one_accepted_edit_applied_again_and_again() -> None:
    """The file grows by a line each time, and the answer says another number of lines each time: 34 times."""
    rounds = [
        [events.edit("/shop/cart.py", "import os", "import os\nimport sys", output=f"File updated ({100 + at} lines)")]
        for at in range(34)
    ]
    assert first(rounds) == ("repeated_action", 3)


def test_a_rejected_edit_with_a_space_or_a_line_number_changed() -> None:
    olds = [
        "total = 1",
        "total = 1 ",
        " total = 1",
        "12: total = 1",
        "13: total = 1",
        "total  = 1",
        "total =1",
        "total=1",
    ]
    rounds = [
        [events.edit("/shop/cart.py", old, "total = 2", refused=True, output=f"No match for {old!r}")] for old in olds
    ]
    assert first(rounds) == ("rejected_edits", 3)


def test_a_change_into_a_missing_folder() -> None:
    error = "bash: line 1: cd: build: No such file or directory"
    rounds = [[events.shell("cd build && make", error, exit_code=1, cwd="/shop")] for _ in range(53)]
    assert first(rounds) == ("repeated_action", 3)


def test_a_change_into_a_missing_folder_with_another_command_behind_it_each_time() -> None:
    error = "bash: line 1: cd: build: No such file or directory"
    rounds = [[events.shell(f"cd build && make part{n}", error, exit_code=1, cwd="/shop")] for n in range(53)]
    assert first(rounds) == ("repeated_action", 3)


def test_a_compiler_that_is_not_installed() -> None:
    rounds: list[list[events.ToolResult]] = []
    for number in range(20):
        rounds.append([events.edit("/shop/Cart.java", f"int a{number};", f"long a{number};")])
        error = "bash: line 1: javac: command not found"
        rounds.append([events.shell("javac Cart.java", error, exit_code=127, cwd="/shop")])
    rule, at = first(rounds)
    assert rule in ("recurring_error", "failing_edits") and at == 6


def test_a_compiler_that_is_not_installed_called_and_called() -> None:
    error = "bash: line 1: javac: command not found"
    rounds = [[events.shell("javac Cart.java", error, exit_code=127, cwd="/shop")] for _ in range(20)]
    assert first(rounds) == ("repeated_action", 3)


def test_two_searches_in_turn_to_the_cost_limit() -> None:
    pair = [
        events.shell("grep -rn discount src", "src/cart.py:4: discount = 0\n", cwd="/shop"),
        events.shell("find . -name '*.cfg'", "./setup.cfg\n", cwd="/shop"),
    ]
    assert first([[each] for each in pair * 20]) == ("repeated_action", 4)


def test_a_dead_tool_called_with_other_arguments() -> None:
    rounds: list[list[events.ToolResult]] = []
    for number in range(6):
        call = events.ToolCall("search", f'{{"query": "term {number}"}}', label=f"search term {number}")
        error = "MCP error -32000: Connection closed: spawn searchd ENOENT"
        rounds.append([events.ToolResult(call, error, failed=True)])
    assert first(rounds) == ("repeated_action", 3)


def test_the_honest_neighbours_stay_quiet() -> None:
    """The same shapes without the loop: an output that changes, pages of a file, red tests that get fewer."""
    moving = []
    for number in range(12):
        moving.append([events.edit("/shop/decode.py", f"key = {number}", f"key = {number + 1}")])
        moving.append([events.shell("python decode.py", f"score {number * 7}: {'x' * number}", cwd="/shop")])
    pages = [[events.shell("less -p 1 log.txt", f"page {n}\nline {n}", cwd="/shop")] for n in range(12)]
    fewer = []
    for number in range(9, 0, -1):
        fewer.append([events.edit("/shop/cart.py", f"a{number}", f"b{number}")])
        red = "\n".join(f"FAILED tests/test_cart.py::test_{n} - AssertionError" for n in range(number))
        fewer.append([events.shell("pytest", red, exit_code=1, cwd="/shop")])
    assert watch(moving) == watch(pages) == watch(fewer) == []
