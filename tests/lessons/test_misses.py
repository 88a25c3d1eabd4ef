"""What makes detectors blind: each session here has to be noticed, in the right words, at the right moment, once."""

from __future__ import annotations

import pytest

from driver import Client
from lessons.sessions import NOT_FOUND, loop, pytest_red, step, traceback, vitest_red


def only_line(lines: list[str], at: int, begins: str) -> None:
    """Exactly one line was given, after step ``at`` (counted from 1), and it begins so."""
    spoken = [(number, line) for number, line in enumerate(lines, 1) if line]
    assert [number for number, _ in spoken] == [at], spoken
    assert spoken[0][1].startswith(begins), spoken[0][1]


# -- volatile parts ---------------------------------------------------------------------------------------------

VOLATILE = {
    "a time of day": "[10:31:0{n}] cannot reach the queue",
    "a date and time": "2026-03-0{n}T10:3{n}:07.12{n}Z cannot reach the queue",
    "a duration": "cannot reach the queue (gave up after 1.{n}3s)",
    "milliseconds": "cannot reach the queue in {n}37ms",
    "an address": "<Queue object at 0x7f8a{n}c3e10> cannot be reached",
    "a temporary path": "cannot reach the queue, see /tmp/tmp{n}x8k2q/queue.log",
    "a temporary folder of macOS": "see /var/folders/3k/xy7z0q1s5fd_n2w8r9t0000gn/T/tmp.k{n}AbQ3zPx/queue.log: cannot reach the queue",
    "a uuid": "request 3f2b8c1{n}-1d2e-4f5a-9b8c-0123456789ab: cannot reach the queue",
    "a hash": "commit 9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c3b2a1f0{n}: cannot reach the queue",
    "a process id": "[pid 4711{n}] cannot reach the queue",
}


@pytest.mark.parametrize("output", VOLATILE.values(), ids=VOLATILE)
def test_a_repetition_is_seen_through_what_changes_by_itself(agent: Client, output: str) -> None:
    lines = [agent.round(agent.bash("./send.sh --all", output.format(n=n), 1)) for n in range(1, 6)]
    only_line(lines, 3, 'Unspin: loop ("./send.sh --all" repeated 3 times with the same result). ')


@pytest.mark.parametrize("output", VOLATILE.values(), ids=VOLATILE)
def test_an_unchanged_result_is_seen_through_what_changes_by_itself(agent: Client, output: str) -> None:
    lines = []
    for n in range(1, 8):
        agent.round(agent.edit(f"src/part{n}.py"))
        lines.append(agent.round(agent.bash("python repro.py", output.format(n=n))))
    only_line(lines, 5, 'Unspin: loop ("python repro.py" gave the same output 5 times across edits). ')


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: row {n} of 12 has no key",
        "TypeError: expected -{n}.5e-3, got None",
        "FileNotFoundError: no such file /tmp/pytest-of-dev/pytest-{n}/data.csv",
        "RuntimeError: <Pool at 0x7f{n}0c3e10> is closed",
        "\x1b[31mKeyError: {n}\x1b[0m",
        "ConnectionError: request 3f2b8c1{n}-1d2e-4f5a-9b8c-0123456789ab failed",
    ],
)
def test_an_error_recurs_through_its_volatile_parts(agent: Client, error: str) -> None:
    lines = []
    for n in range(1, 6):
        agent.round(agent.edit(f"src/part{n}.py"))
        lines.append(agent.round(agent.bash("python main.py", traceback(error.format(n=n), "main.py"), 1)))
    only_line(lines, 3, "Unspin: loop (the same error 3 times with edits in between: ")


def test_a_failure_whose_lines_and_durations_move_is_the_same_failure(agent: Client) -> None:
    lines = []
    for n in range(1, 6):
        output = pytest_red(seconds=f"0.{n}7").replace("test_format.py:4:", f"test_format.py:{n * 10}:")
        agent.round(agent.edit("format.py"))
        lines.append(agent.round(agent.bash("pytest", output, 1)))
        if lines[-1]:
            break
    only_line(lines, 3, 'Unspin: loop (3 failing edits on "format.py"; nothing has passed yet). ')


def test_the_order_of_keys_in_the_arguments_hides_no_repetition(agent: Client) -> None:
    lines = []
    for n in range(4):
        call = agent.call("mcp__jira__find", "no issue matches", text="queue", project="APP")
        if n % 2:
            call["tool_input"] = dict(reversed(call["tool_input"].items()))
        lines.append(agent.round(call))
    assert [bool(line) for line in lines] == [False, False, True, False]


def test_the_agents_own_description_of_a_command_hides_no_repetition(agent: Client) -> None:
    lines = []
    for thought in ("Try to send", "Send again", "Retry the send", "Check whether it is sent now"):
        call = agent.bash("./send.sh --all", "cannot reach the queue", 1)
        call["tool_input"]["description"] = thought
        lines.append(agent.round(call))
    only_line(lines, 3, 'Unspin: loop ("./send.sh --all" repeated 3 times with the same result). ')


# -- spacers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spacer", ["sleep", "todo", "task"])
def test_spacers_between_repeats_hide_no_repetition(agent: Client, spacer: str) -> None:
    lines = []
    for n in range(4):
        lines.append(agent.round(agent.bash("./send.sh --all", "cannot reach the queue", 1)))
        agent.round(
            {
                "sleep": agent.bash(f"sleep {n + 1}"),
                "todo": agent.call("TodoWrite", "Todos have been modified successfully.", todos=[{"n": n}]),
                "task": agent.call("TaskUpdate", f"Updated task {n}", taskId=str(n), status="in_progress"),
            }[spacer]
        )
    only_line(lines, 3, 'Unspin: loop ("./send.sh --all" repeated 3 times with the same result). ')


# -- not consecutive --------------------------------------------------------------------------------------------


def test_a_script_run_forty_times_over_forty_edits_with_the_same_output_is_noticed_at_the_fifth(agent: Client) -> None:
    agent.prompt("fix the rounding")
    lines = []
    for n in range(42):
        name = f"src/part{n % 7}.py"
        agent.round(agent.edit(name))
        if n % 3 == 0:
            agent.round(agent.read(name, f"1\tx = {n}"))
        lines.append(agent.round(agent.bash("python check_totals.py", "total of the invoice is off by a cent")))
    only_line(lines, 5, 'Unspin: loop ("python check_totals.py" gave the same output 5 times across edits). ')


def test_five_searches_in_a_ring_are_noticed_in_the_third_lap(agent: Client) -> None:
    words = ("legacy_total", "net_total", "gross_total", "tax_total", "sub_total")
    lines = [agent.round(agent.bash(f"grep -rn {words[n % 5]} src", f"src/{words[n % 5]}.py:3: x")) for n in range(30)]
    only_line(lines, 15, "Unspin: loop (a cycle of 5 actions: ")
    assert '"grep -rn legacy_total src"' in lines[14]


def test_a_cycle_of_eight_is_not_longer_than_the_window(agent: Client) -> None:
    lines = [agent.round(agent.read(f"m{n % 8}.py", f"1\tm = {n % 8}")) for n in range(32)]
    only_line(lines, 24, "Unspin: loop (a cycle of 8 actions: ")


def test_two_searches_in_turn_are_noticed_at_the_fourth(agent: Client) -> None:
    lines = []
    for _ in range(6):
        lines.append(agent.round(agent.call("Grep", "No matches found", pattern="getUser", path="src")))
        lines.append(agent.round(agent.call("Grep", "No matches found", pattern="fetchUser", path="src")))
    only_line(lines, 4, "Unspin: loop (a cycle of 2 actions: ")


# -- real runs that simple rules miss --------------------------------------------------------------------------------


def test_one_edit_that_is_applied_again_and_again_and_accepted_each_time(agent: Client) -> None:
    lines = []
    for n in range(34):
        call = agent.edit("src/app.py", "import os", "import os\nimport re")
        call["tool_response"] += f" (now {120 + n} lines)"
        lines.append(agent.round(call))
    only_line(lines, 3, "Unspin: loop (")
    assert '"edit src/app.py" repeated 3 times' in lines[2]


def test_a_refused_edit_that_is_tried_with_a_blank_changed_is_noticed_at_the_third_round(agent: Client) -> None:
    lines = []
    for n in range(8):
        agent.round(agent.read("src/app.py", f"{n}\tx = 1"))
        lines.append(agent.batch(agent.refused("src/app.py", "def f():" + " " * n, NOT_FOUND)))
    only_line(
        lines,
        3,
        'Unspin: loop (edits of "src/app.py" refused by the edit tool 3 times). Read the file again, then ask the user',
    )


def test_a_refused_edit_whose_reason_changes_is_noticed_too(agent: Client) -> None:
    reasons = (
        NOT_FOUND,
        "Found 2 matches of the string to replace, but replace_all is false. To replace all occurrences, set it.",
        "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it.",
    )
    lines = [agent.batch(agent.refused("src/app.py", f"line {n}", text)) for n, text in enumerate(reasons)]
    only_line(lines, 3, 'Unspin: loop (edits of "src/app.py" refused by the edit tool 3 times). ')


def test_a_change_into_a_folder_that_is_not_there_again_and_again(agent: Client) -> None:
    output = "/bin/bash: line 1: cd: /home/dev/projct: No such file or directory"
    lines = [agent.round(agent.bash("cd /home/dev/projct", output, 1)) for _ in range(53)]
    only_line(lines, 3, 'Unspin: loop ("cd /home/dev/projct" repeated 3 times with the same result). ')


def test_a_compiler_that_is_not_installed_and_is_called_twenty_times(agent: Client) -> None:
    output = "/bin/bash: line 1: javac: command not found"
    lines = [agent.round(agent.bash("javac Main.java", output, 127)) for _ in range(20)]
    only_line(lines, 3, 'Unspin: loop ("javac Main.java" repeated 3 times with the same result). ')


def test_a_compiler_that_is_not_installed_is_a_recurring_error_across_edits(agent: Client) -> None:
    lines = []
    for n in range(6):
        agent.round(agent.edit(f"src/M{n}.java"))
        output = f"/bin/bash: line {n + 1}: javac: command not found"
        lines.append(agent.round(agent.bash(f"javac src/M{n}.java", output, 127)))
    only_line(lines, 3, "Unspin: loop (the same error 3 times with edits in between: ")
    assert "javac: command not found" in lines[2]


def test_a_dead_tool_called_with_other_arguments_recurs_across_edits(agent: Client) -> None:
    text = "Error: spawn language-server ENOENT"
    lines = []
    for n in range(5):
        agent.round(agent.edit(f"src/m{n}.ts"))
        lines.append(agent.round(agent.bash(f"npx lsp-query src/m{n}.ts", text, 1)))
    only_line(lines, 3, "Unspin: loop (the same error 3 times with edits in between: ")


def test_the_same_failure_of_the_pipeline_read_after_each_push_recurs(agent: Client) -> None:
    lines = []
    for n in range(5):
        agent.round(agent.edit(f"src/m{n}.py"))
        agent.round(agent.bash(f"git commit -am 'try {n}' && git push", f"[main 1a2b3c{n}] try {n}"))
        output = (
            f"X main CI · 1711{n}\nbuild\tRun tests\t2026-03-0{n + 1}T10:31:07.1234567Z "
            "E   AttributeError: 'App' object has no attribute 'srcdir'"
        )
        lines.append(agent.round(agent.bash(f"gh run view 1711{n} --log-failed --exit-status", output, 1)))
    only_line(lines, 3, "Unspin: loop (the same error 3 times with edits in between: ")


def test_the_same_failure_with_one_line_of_its_import_chain_changed_recurs(agent: Client) -> None:
    lines = []
    for n in range(5):
        agent.round(agent.edit(f"app/m{n}.py"))
        output = traceback(
            "ImportError: cannot import name 'Engine' from 'app.db'", "main.py", f"app/m{n}.py", "app/db.py"
        )
        lines.append(agent.round(agent.bash("python main.py", output, 1)))
    only_line(lines, 3, "Unspin: loop (the same error 3 times with edits in between: ")
    assert "Engine" in lines[2]


def test_a_failing_edit_is_seen_whatever_is_read_in_between(agent: Client) -> None:
    lines = []
    for n in range(4):
        agent.round(agent.read("format.py", f"{n}\tx"))
        agent.round(agent.edit("format.py"))
        agent.round(agent.bash("git diff", f"+{n}"))
        agent.round(agent.call("Grep", f"format.py:{n}", pattern="x"))
        lines.append(agent.round(agent.bash("pytest -x", pytest_red(), 1)))
        if lines[-1]:
            break
    only_line(lines, 3, 'Unspin: loop (3 failing edits on "format.py"')


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("npx vitest run", vitest_red("src/a.test.ts", "adds", "AssertionError: expected 2 to be 3"), 1),
        ("npx tsc --noEmit", "src/a.ts(4,11): error TS2339: Property 'total' does not exist on type 'Cart'.", 2),
        ("mypy src", 'src/a.py:3: error: Name "x" is not defined  [name-defined]\nFound 1 error in 1 file', 1),
        ("javac A.java", "A.java:1: error: cannot find symbol\n  symbol:   method foo()\n1 error", 1),
        (
            "node app.js",
            "/home/dev/project/app.js:3\n  x()\n  ^\n\nTypeError: x is not a function\n    at Object.<anonymous> (/home/dev/project/app.js:3:3)",
            1,
        ),
        ("cargo check", "error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:1:41", 101),
        ("go build ./...", "# example.com/app\n./main.go:5:2: undefined: foo", 1),
        (
            "make test",
            "cc -c a.c\na.c:1:20: error: ‘x’ undeclared (first use in this function)\nmake: *** [Makefile:2: test] Error 1",
            2,
        ),
    ],
)
def test_the_same_failure_of_any_kind_of_check_is_a_loop(agent: Client, command: str, output: str, status: int) -> None:
    lines = [step(agent, "src/a.x", command=command, output=output, status=status) for _ in range(3)]
    only_line(lines, 3, 'Unspin: loop (3 failing edits on "src/a.x"; nothing has passed yet). ')


# -- bloat ----------------------------------------------------------------------------------------------------------


def test_a_flood_of_tool_output_is_said_once_and_again_after_a_compaction(agent: Client) -> None:
    def flood() -> list[str]:
        return [agent.round(agent.bash(f"cat data{n}.csv", f"{n}," + "x" * 200_000)) for n in range(8)]

    lines = flood()
    assert [bool(line) for line in lines].count(True) == 1, lines
    said = next(line for line in lines if line)
    assert said.startswith("Unspin: 1.") and " MB of tool output in this session. Finish the current step" in said
    agent.send("PreCompact", trigger="manual", custom_instructions=None)
    agent.send("SessionStart", source="compact")
    assert [bool(line) for line in flood()].count(True) == 1


def test_output_of_subagents_is_no_bloat(agent: Client) -> None:
    for n in range(10):
        agent.round(agent.bash(f"cat d{n}", f"{n}" + "x" * 200_000), agent_id="a1", agent_type="general-purpose")
    assert agent.said == []


def test_the_size_limit_of_tool_output_can_be_set(agent: Client) -> None:
    (agent.project / "unspin.toml").write_text("[bloat]\ntool_output_kb = 50\n")
    lines = [agent.round(agent.bash(f"cat d{n}", f"{n}" + "x" * 20_000)) for n in range(5)]
    assert [bool(line) for line in lines].count(True) == 1, lines


def test_bloat_can_be_switched_off(agent: Client) -> None:
    (agent.project / "unspin.toml").write_text("[bloat]\nenabled = false\n")
    for n in range(8):
        agent.round(agent.bash(f"cat d{n}", f"{n}" + "x" * 200_000))
    agent.send("PreCompact", trigger="auto", custom_instructions=None)
    assert agent.send("SessionStart", source="compact").stdout == ""


def test_the_line_reaches_the_model_and_not_only_a_log(agent: Client) -> None:
    line = loop(agent)
    assert agent.said == [line]
    assert [each["response"] for each in agent.log() if each["rule"] == "failing_edits"] == ["nudge"]
