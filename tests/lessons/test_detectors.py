"""Each rule of the core at its edges: how often, how near, how long, and what is written down about it."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from driver import Client
from lessons.sessions import go_red, loop, pytest_green, pytest_red, quiet, step, traceback, unsaid
from unspin.cli.app import app
from unspin.detect import is_stalled
from unspin.paths import state_folder
from unspin.store import Store

QUEUE = "cannot reach the queue"


def at(lines: list[str]) -> list[int]:
    """After which steps, counted from 1, a line was given."""
    return [number for number, line in enumerate(lines, 1) if line]


# -- is_stalled -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "stalled"),
    [
        ([], False),
        (["a"], False),
        (["a", "a"], False),
        (["a", "a", "a"], True),
        (["a", "a", "a", "a"], True),
        (["a", "b", "a"], False),
        (["a", "b", "a", "b"], True),
        (["b", "a", "b", "a", "b"], True),
        (["x", "a", "b", "a", "b"], True),
        (["a", "b", "a", "b", "c"], False),
        (["a", "a", "a", "b"], False),
        (["a", "a", "b", "b"], False),
        (["a", "b", "b", "a"], False),
        (["a", "b", "c", "a", "b", "c"], False),
        (["a", "b", "b", "b"], True),
        (["a", "a", "b", "a"], False),
        (["read", "edit", "test", "read", "edit", "test"], False),
        ([None, None, None], True),
        ([1, 1.0, True], True),
        ([("read", "a.py"), ("read", "b.py"), ("read", "a.py")], False),
    ],
)
@pytest.mark.parametrize("kind", [list, tuple, deque])
def test_the_bare_rule_on_names(actions: list[Any], stalled: bool, kind: type) -> None:
    assert is_stalled(kind(actions)) is stalled


@pytest.mark.parametrize(
    ("text", "stalled"), [("", False), ("aaa", True), ("abab", True), ("abc", False), ("ab", False)]
)
def test_the_bare_rule_takes_any_sequence_strings_included(text: str, stalled: bool) -> None:
    assert is_stalled(text) is stalled


class Counted:
    """An action that counts how often it is compared."""

    comparisons = 0

    def __init__(self, name: str):
        self.name = name

    def __eq__(self, other: object) -> bool:
        Counted.comparisons += 1
        return isinstance(other, Counted) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@pytest.mark.parametrize(
    "names", ["", "a", "aa", "aaa", "abab", "abcd", "aabb", "abba", "a" * 9999, "ab" * 5000, "abc" * 3000]
)
def test_the_bare_rule_makes_at_most_four_comparisons(names: str) -> None:
    actions = [Counted(name) for name in names]
    Counted.comparisons = 0
    is_stalled(actions)
    assert Counted.comparisons <= 4


def test_the_bare_rule_changes_nothing_and_needs_no_slices() -> None:
    actions = deque(["a", "b", "a", "b"], maxlen=4)
    is_stalled(actions)
    assert list(actions) == ["a", "b", "a", "b"]


# -- repeated_action: running ------------------------------------------------------------------------------------------


def test_the_same_action_with_the_same_result_is_said_the_third_time_and_once(agent: Client) -> None:
    lines = [agent.round(agent.bash("./send.sh", QUEUE, 1)) for _ in range(9)]
    assert at(lines) == [3]
    assert lines[2].startswith('Unspin: loop ("./send.sh" repeated 3 times with the same result). ')


def test_twice_is_quiet(agent: Client) -> None:
    for _ in range(2):
        agent.round(agent.bash("./send.sh", QUEUE, 1))
    assert quiet(agent)


def test_a_test_run_three_times_running_with_the_same_result_is_a_repetition(agent: Client) -> None:
    lines = [agent.round(agent.bash("pytest", pytest_red(seconds=f"0.1{n}"), 1)) for n in range(3)]
    assert at(lines) == [3]
    assert '"pytest" repeated 3 times' in lines[2]


def test_another_result_is_another_action(agent: Client) -> None:
    for text in ("one", "two", "one", "three", "two"):
        agent.round(agent.bash("./send.sh", text))
    assert quiet(agent)


def test_other_arguments_are_another_action(agent: Client) -> None:
    for n in range(5):
        agent.round(agent.bash(f"./send.sh {n}", QUEUE, 1))
    assert "repeated_action" not in agent.rules()


def test_arguments_are_compared_byte_for_byte(agent: Client) -> None:
    for n in range(5):
        agent.round(agent.edit("a.py", "x = 1", " " * n + "x = 1"))
    assert quiet(agent)


def test_another_action_between_breaks_the_run(agent: Client) -> None:
    for n in range(5):
        agent.round(agent.bash("./send.sh", QUEUE, 1))
        agent.round(agent.read(f"m{n}.py", f"1\tm = {n}"))
    assert "repeated_action" not in agent.rules()


def test_the_same_edit_counts_by_its_arguments_alone(agent: Client) -> None:
    lines = []
    for n in range(5):
        call = agent.edit("a.py", "import os", "import os\nimport re")
        call["tool_response"] = f"The file {agent.path('a.py')} has been updated successfully. Lines: {n}"
        lines.append(agent.round(call))
    assert at(lines) == [3]


def test_the_same_file_written_again_counts_by_its_arguments_alone(agent: Client) -> None:
    assert at([agent.round(agent.write("a.py", "x = 1\n")) for _ in range(5)]) == [3]


def test_parallel_duplicates_count_once_a_round(agent: Client) -> None:
    lines = [agent.round(*[agent.bash("./send.sh", QUEUE, 1) for _ in range(4)]) for _ in range(4)]
    assert at(lines) == [3]


def test_the_persons_message_starts_the_count_again(agent: Client) -> None:
    lines = []
    for n in range(8):
        if n in (2, 4):
            agent.prompt("again, please")
        lines.append(agent.round(agent.bash("./send.sh", QUEUE, 1)))
    assert at(lines) == [7]


def test_a_later_repetition_of_something_else_is_said_too(agent: Client) -> None:
    first = [agent.round(agent.bash("./send.sh", QUEUE, 1)) for _ in range(3)]
    second = [agent.round(agent.bash("./receive.sh", "no message", 1)) for _ in range(3)]
    assert (at(first), at(second)) == ([3], [3])


@pytest.mark.parametrize("count", [2, 4, 6])
def test_how_often_can_be_set(tmp_path: Path, count: int) -> None:
    agent = Client(tmp_path, settings=f"[loop]\nrepeated_actions = {count}\n")
    lines = [agent.round(agent.bash("./send.sh", QUEUE, 1)) for _ in range(8)]
    assert at(lines) == [max(count, 3)]


# -- repeated_action: cycles -------------------------------------------------------------------------------------------


def ring(agent: Client, period: int, count: int) -> list[str]:
    return [agent.round(agent.read(f"m{n % period}.py", f"1\tm = {n % period}")) for n in range(count)]


def test_a_cycle_of_two_is_said_at_the_fourth_action_and_once(agent: Client) -> None:
    lines = ring(agent, 2, 12)
    assert at(lines) == [4]
    assert lines[3].startswith('Unspin: loop (a cycle of 2 actions: "read m0.py", "read m1.py"). ')


@pytest.mark.parametrize("period", range(3, 9))
def test_a_longer_cycle_is_said_in_its_third_lap_and_once(agent: Client, period: int) -> None:
    lines = ring(agent, period, period * 5)
    assert at(lines) == [period * 3]
    assert lines[period * 3 - 1].startswith(f"Unspin: loop (a cycle of {period} actions: ")


def test_a_cycle_of_nine_is_out_of_reach(agent: Client) -> None:
    assert at(ring(agent, 9, 45)) == []


def test_two_laps_of_a_longer_cycle_are_quiet(agent: Client) -> None:
    assert at(ring(agent, 5, 14)) == []


def test_a_cycle_whose_results_change_is_none(agent: Client) -> None:
    for n in range(12):
        agent.round(agent.read(f"m{n % 2}.py", f"1\tm = {'abcdefghijkl'[n]}"))
    assert quiet(agent)


def pair(agent: Client, laps: int) -> list[str]:
    lines = []
    for _ in range(laps):
        lines.append(agent.round(agent.edit("a.py", "x = 1", "x = 2")))
        lines.append(agent.round(agent.bash("pytest -q", "3 passed in 0.04s")))
    return lines


def test_a_pair_of_an_edit_and_a_check_needs_three_laps(agent: Client) -> None:
    lines = pair(agent, 5)
    assert at(lines) == [6]
    assert lines[5].startswith("Unspin: loop (a cycle of 2 actions: ")


def test_a_pair_of_an_edit_and_a_reading_needs_two_laps(agent: Client) -> None:
    lines = []
    for _ in range(3):
        lines.append(agent.round(agent.read("a.py", "1\tx = 1")))
        lines.append(agent.round(agent.edit("a.py", "x = 1", "x = 2")))
    assert at(lines) == [4]
    assert '"read a.py", "edit a.py"' in lines[3]


def test_edits_that_differ_and_the_same_check_are_no_cycle(agent: Client) -> None:
    for n in range(6):
        agent.round(agent.edit(f"m{n}.py"))
        agent.round(agent.bash("pytest -q", "3 passed in 0.04s"))
    assert quiet(agent)


def test_spacers_hide_no_cycle(agent: Client) -> None:
    lines = []
    for n in range(6):
        lines.append(agent.round(agent.read(f"m{n % 2}.py", f"1\tm = {n % 2}")))
        agent.round(agent.call("TodoWrite", "Todos have been modified successfully.", todos=[{"n": n}]))
        agent.round(agent.bash(f"sleep {n + 1}"))
    assert at(lines) == [4]


# -- failing_edits -----------------------------------------------------------------------------------------------------


def test_two_failing_edits_are_quiet_and_the_third_is_said_once(agent: Client) -> None:
    lines = [step(agent) for _ in range(2)]
    assert at(lines) == [] and quiet(agent)
    assert at([loop_line(agent)]) == [1]
    agent.round(agent.bash("pytest -x", pytest_red(), 1))
    assert len(agent.said) == 1


def loop_line(agent: Client) -> str:
    return step(agent)


def test_checks_without_an_edit_between_count_no_edits(agent: Client) -> None:
    agent.round(agent.edit("format.py"))
    for n in range(4):
        agent.round(agent.bash(f"pytest -k t{n}", pytest_red(), 1))
    assert "failing_edits" not in agent.rules()


def test_several_edits_of_one_file_before_one_check_are_one(agent: Client) -> None:
    for _ in range(2):
        agent.round(agent.edit("format.py"))
        agent.round(agent.edit("format.py"))
        agent.round(agent.edit("format.py"))
        assert agent.round(agent.bash("pytest", pytest_red(), 1)) == ""
    assert quiet(agent)


def test_several_files_edited_before_one_check_each_count_one(agent: Client) -> None:
    lines = [step(agent, "a.py", "b.py"), step(agent, "b.py", "c.py"), step(agent, "b.py", "d.py")]
    assert at(lines) == [3]
    assert lines[2].startswith('Unspin: loop (3 failing edits on "b.py"')


def test_another_signature_starts_again_at_one(agent: Client) -> None:
    other = pytest_red({"tests/test_format.py::test_y": "KeyError: 'y'"})
    lines = [step(agent), step(agent), step(agent, output=other), step(agent, output=other)]
    assert at(lines) == []
    assert at([step(agent, output=other)]) == [1]


def test_one_more_failing_test_is_another_signature(agent: Client) -> None:
    tests = {f"tests/test_format.py::test_{name}": f"KeyError: '{name}'" for name in "abcd"}
    for count in (4, 3, 2, 1):
        shown = dict(list(tests.items())[-count:])
        assert step(agent, output=pytest_red(shown)) == ""
    assert unsaid(agent)


def test_the_order_of_failing_tests_is_no_part_of_the_signature(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="[loop]\nrepeated_errors = false\n")
    tests = {f"tests/test_format.py::test_{name}": "KeyError: 'x'" for name in "abc"}
    lines = []
    for turn in range(3):
        names = list(tests)[turn:] + list(tests)[:turn]
        lines.append(step(agent, output=pytest_red({name: tests[name] for name in names})))
    assert at(lines) == [3]


def test_edits_of_another_file_with_the_same_failure_do_not_reset(agent: Client) -> None:
    (agent.project / "unspin.toml").write_text("[loop]\nrepeated_errors = false\n")
    lines = [step(agent), step(agent, "other.py"), step(agent), step(agent, "other.py"), step(agent)]
    assert at(lines) == [5]


def test_a_plain_streak_of_five_is_logged_and_not_said(agent: Client) -> None:
    for name in "abcdefg":
        failures = {f"tests/test_format.py::test_{name}": f"KeyError: '{name}'"}
        assert step(agent, output=pytest_red(failures)) == ""
    logged = [each for each in agent.log() if each["rule"] == "failing_edits"]
    assert [each["response"] for each in logged] == ["none"]


def test_the_plain_rule_can_be_chosen(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="[loop]\nsame_failure = false\n")
    lines = []
    for name in "abc":
        failures = {f"tests/test_format.py::test_{name}": f"KeyError: '{name}'"}
        lines.append(step(agent, output=pytest_red(failures)))
    assert at(lines) == [3]


def test_where_all_failing_tests_were_red_before_they_count(agent: Client) -> None:
    (agent.project / "unspin.toml").write_text("[loop]\nrepeated_errors = false\n")
    agent.prompt("make test_x pass")
    agent.round(agent.bash("pytest", pytest_red(), 1))
    lines = [step(agent) for _ in range(3)]
    assert at(lines) == [3]


def test_where_some_were_red_before_the_signature_is_made_of_the_others(agent: Client) -> None:
    old = {f"tests/test_net.py::test_{n}": "ConnectionError: no network" for n in ("dns", "http")}
    agent.round(agent.bash("pytest", pytest_red(old, passed=3), 1))
    new = {"tests/test_format.py::test_x": "TypeError: x is missing"}
    lines = []
    for n in range(3):
        shown = dict(list(old.items())[: 1 + n % 2])
        lines.append(step(agent, output=pytest_red({**shown, **new})))
    assert at(lines) == [3]
    assert lines[2].startswith('Unspin: loop (3 failing edits on "format.py"')


def test_a_revert_between_is_not_another_edit(agent: Client) -> None:
    for line in ("git checkout format.py", "git restore format.py", "git stash"):
        agent.round(agent.edit("format.py"))
        agent.round(agent.bash(line, ""))
    assert "failing_edits" not in agent.rules()


def test_a_refused_edit_is_no_edit(agent: Client) -> None:
    for n in range(2):
        agent.batch(agent.refused("format.py", f"x{n}"))
        agent.round(agent.bash("pytest", pytest_red(), 1))
    assert step(agent) == ""
    assert "failing_edits" not in agent.rules()


def test_the_persons_message_starts_the_streak_again(agent: Client) -> None:
    step(agent)
    step(agent)
    agent.prompt("hm")
    assert at([step(agent), step(agent), step(agent)]) == [3]


@pytest.mark.parametrize("count", [2, 5])
def test_how_many_failing_edits_can_be_set(tmp_path: Path, count: int) -> None:
    agent = Client(
        tmp_path, settings=f"[loop]\nfailing_edits = {count}\nrepeated_errors = false\nunchanged_results = false\n"
    )
    lines = [step(agent) for _ in range(count)]
    assert at(lines) == [count]
    assert lines[-1].startswith(f'Unspin: loop ({count} failing edits on "format.py"')


# -- rejected_edits ----------------------------------------------------------------------------------------------------

REASONS = [
    "String to replace not found in file.",
    "Found 3 matches of the string to replace, but replace_all is false. To replace all occurrences, set it.",
    "File has not been read yet. Read it first before writing to it.",
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.",
    "No changes to make: old_string and new_string are exactly the same.",
]


@pytest.mark.parametrize("text", REASONS)
def test_three_rounds_of_edits_refused_by_the_tool_are_said_once(agent: Client, text: str) -> None:
    lines = [agent.batch(agent.refused("a.py", f"x{n}", text)) for n in range(6)]
    assert at(lines) == [3]
    assert lines[2].startswith('Unspin: loop (edits of "a.py" refused by the edit tool 3 times). Read the file again, ')


def test_a_batch_refused_together_is_one(agent: Client) -> None:
    lines = [agent.batch(*[agent.refused("a.py", f"x{n}{k}") for k in range(4)]) for n in range(4)]
    assert at(lines) == [3]


def test_an_accepted_edit_in_the_same_round_resets(agent: Client) -> None:
    for n in range(5):
        call = agent.edit("a.py")
        agent.batch(agent.refused("a.py", f"x{n}"), call)
    assert quiet(agent)


def test_an_accepted_edit_of_another_file_resets_nothing(agent: Client) -> None:
    lines = []
    for n in range(3):
        lines.append(agent.batch(agent.refused("a.py", f"x{n}")))
        agent.round(agent.edit("b.py"))
    assert at(lines) == [3]


def test_a_stale_write_over_a_file_counts_like_a_refused_edit(agent: Client) -> None:
    text = f"<tool_use_error>{REASONS[3]}</tool_use_error>"
    calls = [agent.call("Write", text, file_path=agent.path("a.py"), content=f"x{n}") for n in range(3)]
    assert at([agent.batch(call) for call in calls]) == [3]


def test_the_persons_message_starts_refused_edits_again(agent: Client) -> None:
    agent.batch(agent.refused("a.py", "x"))
    agent.batch(agent.refused("a.py", "y"))
    agent.prompt("go on")
    assert agent.batch(agent.refused("a.py", "z")) == ""


@pytest.mark.parametrize("count", [2, 4])
def test_how_many_refused_rounds_can_be_set(tmp_path: Path, count: int) -> None:
    agent = Client(tmp_path, settings=f"[loop]\nrejected_edits = {count}\n")
    assert at([agent.batch(agent.refused("a.py", f"x{n}")) for n in range(6)]) == [count]


# -- recurring_error ---------------------------------------------------------------------------------------------------


def recur(agent: Client, errors: list[str], command: str = "python main.py") -> list[str]:
    lines = []
    for n, error in enumerate(errors):
        agent.round(agent.edit(f"m{n}.py"))
        lines.append(agent.round(agent.bash(command, traceback(error, "main.py"), 1)))
    return lines


def test_the_same_error_three_times_with_edits_between_is_said_and_quoted(agent: Client) -> None:
    lines = recur(agent, ["TypeError: x is not a function"] * 5)
    assert at(lines)[0] == 3
    assert 'the same error 3 times with edits in between: "TypeError: x is not a function"' in lines[2]
    assert [each["rule"] for each in agent.log()].count("recurring_error") == 1


def test_the_same_error_without_an_edit_between_does_not_count(agent: Client) -> None:
    for n in range(5):
        agent.round(agent.bash(f"python main.py --n {n}", traceback("KeyError: 'rows'", "main.py"), 1))
    assert "recurring_error" not in agent.rules()


def test_other_errors_between_do_not_reset(agent: Client) -> None:
    same, other = "KeyError: 'rows'", "TypeError: no rows"
    assert at(recur(agent, [same, other, same, "ValueError: bad", same])) == [5]


def test_a_name_in_quotes_makes_another_error(agent: Client) -> None:
    assert at(recur(agent, [f"KeyError: '{name}'" for name in ("a", "b", "c", "d")])) == []


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("IndexError: list index 3 out of range", "IndexError: list index 41 out of range", "IndexError: list index 0 out of range"),
        ("ValueError: bad value -1.5e-3", "ValueError: bad value 2", "ValueError: bad value +7.25"),
        ("OSError: cannot open /tmp/a1/x.csv", "OSError: cannot open /tmp/b22/x.csv", "OSError: cannot open /var/tmp/c/x.csv"),
        ("RuntimeError: <A at 0x7f01aa>", "RuntimeError: <A at 0x7fffe2>", "RuntimeError: <A at 0x10>"),
    ],
)  # fmt: skip
def test_numbers_paths_and_addresses_are_no_part_of_an_error(
    agent: Client, first: str, second: str, third: str
) -> None:
    assert at(recur(agent, [first, second, third])) == [3]


def test_a_pass_of_the_kind_resets_a_recurring_error(agent: Client) -> None:
    error = "KeyError: 'rows'"
    recur(agent, [error, error])
    agent.round(agent.bash("python main.py", "done: 14 rows"))
    assert at(recur(agent, [error, error])) == []


def test_a_passed_test_resets_a_recurring_error(agent: Client) -> None:
    error = "KeyError: 'rows'"
    recur(agent, [error, error])
    agent.round(agent.bash("pytest", pytest_green()))
    assert at(recur(agent, [error, error])) == []


def test_the_persons_message_resets_a_recurring_error(agent: Client) -> None:
    error = "KeyError: 'rows'"
    recur(agent, [error, error])
    agent.prompt("go on")
    assert at(recur(agent, [error, error])) == []


def test_the_same_error_of_different_commands_is_the_same_error(agent: Client) -> None:
    lines = []
    for n, command in enumerate(("python main.py", "python -m app", "pytest tests/test_app.py")):
        agent.round(agent.edit(f"m{n}.py"))
        lines.append(agent.round(agent.bash(command, traceback("ModuleNotFoundError: No module named 'app.db'"), 1)))
    assert at(lines) == [3]


def test_an_error_that_stands_in_passing_output_too_is_none(agent: Client) -> None:
    noise = "ERROR:app.mail: cannot reach the mail server"
    agent.round(agent.bash("pytest -q", f"{noise}\n3 passed in 0.1s"))
    for n, name in enumerate("abcd"):
        agent.round(agent.edit(f"m{n}.py"))
        output = f"{noise}\n" + pytest_red({f"tests/test_a.py::test_{name}": f"KeyError: '{name}'"})
        assert agent.round(agent.bash("pytest -q", output, 1)) == ""
    assert agent.said == []


def test_an_error_in_a_result_that_did_not_fail_is_none(agent: Client) -> None:
    for n in range(5):
        agent.round(agent.edit(f"m{n}.py"))
        agent.round(agent.bash(f"grep -rn TypeError logs/{n}.txt", "TypeError: x is not a function"))
    assert "recurring_error" not in agent.rules()


# -- unchanged_result --------------------------------------------------------------------------------------------------


def unchanged(agent: Client, outputs: list[str], command: str = "python repro.py", status: int = 0) -> list[str]:
    lines = []
    for n, output in enumerate(outputs):
        agent.round(agent.edit(f"m{n}.py"))
        lines.append(agent.round(agent.bash(command, output, status)))
    return lines


def test_four_times_is_quiet_and_the_fifth_is_said_once(agent: Client) -> None:
    lines = unchanged(agent, ["rounding is still wrong for the third invoice"] * 9)
    assert at(lines) == [5]
    assert lines[4].startswith('Unspin: loop ("python repro.py" gave the same output 5 times across edits). ')


@pytest.mark.parametrize(
    "output",
    [
        "the file was written, and the third invoice is wrong",
        "invoice 3: not saved, rounding failed",
        "wrote the report: 2 of 9 invoices are off by a cent",
    ],
)
def test_an_output_that_says_more_than_that_it_is_done_is_no_acknowledgement(agent: Client, output: str) -> None:
    assert at(unchanged(agent, [output] * 6)) == [5]


@pytest.mark.parametrize(
    "output", ["total: {n}", "{n} of 12 rows match", "mean error {n}.25", "score=0.{n}", "{n} errors left"]
)
def test_counts_and_values_that_change_are_real_differences(agent: Client, output: str) -> None:
    assert at(unchanged(agent, [output.format(n=n) for n in range(1, 8)])) == []


@pytest.mark.parametrize(
    "output",
    [
        "[2026-03-0{n}T10:31:0{n}.12{n}Z] rounding is wrong",
        "rounding is wrong (took {n}.31s)",
        "<Invoice at 0x7f8a{n}c3e10>: rounding is wrong",
        "wrote /tmp/tmp{n}k2x9q/out.pdf: rounding is wrong",
        "run 3f2b8c1{n}-1d2e-4f5a-9b8c-0123456789ab: rounding is wrong",
    ],
)
def test_volatile_parts_are_no_difference(agent: Client, output: str) -> None:
    assert at(unchanged(agent, [output.format(n=n) for n in range(1, 8)])) == [5]


def test_a_failing_command_counts_too(agent: Client) -> None:
    output = "the service answered with the old schema"
    assert at(unchanged(agent, [output] * 6, "./scripts/probe.sh", 1)) == [5]


def test_other_outputs_between_do_not_reset(agent: Client) -> None:
    wrong = "rounding is still wrong"
    outputs = [wrong, wrong, "crash in the parser", wrong, wrong, "another thing", wrong]
    assert at(unchanged(agent, outputs)) == [7]


def test_how_often_the_output_may_stay_can_be_set(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="[loop]\nunchanged_results = 3\n")
    assert at(unchanged(agent, ["rounding is still wrong"] * 6)) == [3]


def test_the_persons_message_starts_unchanged_results_again(agent: Client) -> None:
    unchanged(agent, ["rounding is still wrong"] * 4)
    agent.prompt("go on")
    assert at(unchanged(agent, ["rounding is still wrong"] * 4)) == []


# -- oscillation -------------------------------------------------------------------------------------------------------


def swing(agent: Client, contents: list[str], *, passing: bool = False) -> None:
    for content in contents:
        call = agent.write("m.py", content)
        agent.before(call)
        (agent.project / "m.py").write_text(content)
        agent.batch(call)
        if passing:
            agent.round(agent.bash("go test ./...", "ok  \texample.com/app\t0.003s"))
        else:
            agent.round(agent.bash("go test ./...", go_red(f"Test{content[0].upper()}", f"{content[:1]} is wrong"), 1))


QUIET_OTHERS = "[rot]\nenabled = false\n[loop]\nfailing_edits = false\nrepeated_errors = false\nrepeated_actions = false\nunchanged_results = false\n"


def test_a_content_that_returns_with_failing_checks_is_logged_and_not_said(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings=QUIET_OTHERS)
    swing(agent, ["a = 1\n", "b = 1\n", "a = 1\n", "b = 1\n", "a = 1\n", "b = 1\n"])
    assert agent.rules() == ["oscillation"]
    assert unsaid(agent)


def test_a_content_that_returns_is_said_where_the_person_asks_for_it(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings="log_only = []\n" + QUIET_OTHERS)
    swing(agent, ["a = 1\n", "b = 1\n", "a = 1\n", "b = 1\n", "a = 1\n"])
    assert len(agent.said) == 1
    assert agent.said[0].startswith('Unspin: loop ("m.py" returned to an earlier content 2 times). ')


def test_a_content_that_returns_with_passing_checks_is_no_oscillation(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings=QUIET_OTHERS)
    swing(agent, ["a = 1\n", "b = 1\n"] * 3, passing=True)
    assert agent.log() == []


def test_a_message_between_ends_an_oscillation(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings=QUIET_OTHERS)
    for _ in range(4):
        swing(agent, ["a = 1\n", "b = 1\n"])
        agent.prompt("go on")
    assert agent.log() == []


def test_contents_that_never_return_are_no_oscillation(tmp_path: Path) -> None:
    agent = Client(tmp_path, settings=QUIET_OTHERS)
    swing(agent, [f"{name} = 1\n" for name in "abcdefgh"])
    assert agent.log() == []


# -- evidence and log ---------------------------------------------------------------------------------------------------


def everything(agent: Client) -> None:
    loop(agent)
    agent.prompt("go on")
    for n in range(3):
        agent.batch(agent.refused("b.py", f"x{n}"))
    for _ in range(3):
        agent.round(agent.bash("./send.sh", QUEUE, 1))
    ring(agent, 3, 9)
    unchanged(agent, ["rounding is still wrong"] * 5)


def test_every_detection_quotes_what_it_counted(agent: Client) -> None:
    everything(agent)
    seen = set()
    for each in agent.log():
        seen.add(each["rule"])
        assert each["evidence"], each
        indexes = [piece["event_index"] for piece in each["evidence"]]
        assert all({"event_index", "tool", "file", "excerpt"} == set(piece) for piece in each["evidence"])
        assert all(isinstance(piece["excerpt"], str) and isinstance(piece["tool"], str) for piece in each["evidence"])
        assert indexes == sorted(indexes), each
        assert all(0 <= index <= each["event_index"] for index in indexes), each
    assert seen >= {"failing_edits", "rejected_edits", "repeated_action", "unchanged_result"}


def test_the_evidence_of_failing_edits_holds_each_edit_and_each_failure(agent: Client) -> None:
    loop(agent)
    found = next(each for each in agent.log() if each["rule"] == "failing_edits")
    assert found["count"] == 3
    tools = [piece["tool"] for piece in found["evidence"]]
    assert tools.count("Edit") == 3
    assert tools.count("Bash") == 3
    assert any("TypeError" in piece["excerpt"] for piece in found["evidence"])


def test_the_log_as_json_has_the_fields_that_scripts_need(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.store = Store(state_folder())
    everything(agent)
    agent.before(agent.edit("format.py"))
    monkeypatch.chdir(agent.project)
    done = CliRunner().invoke(app, ["log", "--json"])
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.output.splitlines()]
    assert len(lines) >= 4
    fields = {"session", "rule", "identity", "count", "event_index", "message", "evidence", "response"}
    for each in lines:
        assert fields <= set(each)
        assert each["session"] == agent.session
        assert each["response"] in ("none", "nudge", "block", "halt")
        assert isinstance(each["evidence"], list)


def test_no_identity_is_said_twice(agent: Client) -> None:
    everything(agent)
    everything(agent)
    said = [each["identity"] for each in agent.log() if each["response"] == "nudge"]
    assert len(said) == len(set(said))


def test_secrets_in_what_is_quoted_are_not_kept(agent: Client) -> None:
    secret = "sk-ant-api03-" + "Ab3xK9" * 8
    for _ in range(3):
        agent.round(agent.bash(f"curl -H 'Authorization: Bearer {secret}' https://api.example.com", "401 denied", 22))
    assert agent.log()
    assert secret not in json.dumps(agent.log())
    assert all(secret not in line for line in agent.said)
