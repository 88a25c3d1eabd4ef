"""What the agent is told about loops, and what is refused: through the hook's own code, with real payloads."""

from __future__ import annotations

from pathlib import Path

from driver import Client

FAILURE = """\
=================================== FAILURES ===================================
____________________________________ test_x ____________________________________
E       TypeError: format() missing 1 required positional argument: 'x'

tests/test_format.py:4: TypeError
=========================== short test summary info ============================
FAILED tests/test_format.py::test_x - TypeError: format() missing 1 required positional argument: 'x'
============================== 1 failed in 0.12s ===============================
"""


def failing(agent: Client, name: str = "format.py", output: str = FAILURE) -> str:
    agent.round(agent.edit(name))
    return agent.round(agent.bash("pytest", output, 1))


def test_three_edits_with_the_same_failure_are_said_once_with_the_way_out(agent: Client) -> None:
    agent.prompt("make it work")
    lines = [failing(agent) for _ in range(5 - 2)]
    assert lines == [
        "",
        "",
        'Unspin: loop (3 failing edits on "format.py"; nothing has passed yet). '
        "Stop editing and ask the user now: rethink the approach, or hand off and restart?",
    ]


def test_the_edit_after_the_nudge_is_refused_until_the_person_speaks(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    refused = agent.before(agent.edit("format.py"))
    assert refused.status == 2
    assert refused.reason == refused.stderr
    assert refused.reason.startswith('Unspin: edit of "format.py" refused: 3 failing edits, and the user has not')
    assert agent.before(agent.edit("other.py")).status == 0
    agent.prompt("try again")
    assert agent.before(agent.edit("format.py")).status == 0


def test_writes_through_the_shell_are_refused_too(agent: Client) -> None:
    (agent.project / "sub").mkdir()
    (agent.project / "link.py").symlink_to("format.py")
    (agent.project / "format.py").write_text("a")
    for _ in range(3):
        failing(agent)
    for command in (
        "sed -i 's/a/b/' format.py",
        "cat > format.py <<'EOF'\nx = 1\nEOF",
        "cd sub && tee ../format.py < /dev/null",
        "echo x >> ./link.py",
        "git checkout format.py",
        "mv other.py format.py",
        "cp other.py format.py",
        f"perl -pi -e 's/a/b/' {agent.project}/format.py",
    ):
        assert agent.before(agent.bash(command)).status == 2, command
    for command in (
        "cat format.py",
        "sed -n 1,20p format.py",
        "git diff format.py",
        "pytest > /tmp/log",
        "cp format.py old.py",
    ):
        assert agent.before(agent.bash(command)).status == 0, command


def test_three_different_failures_are_progress(agent: Client) -> None:
    for name in ("srcdir", "events", "config"):
        assert failing(agent, output=FAILURE.replace("'x'", f"'{name}'")) == ""
    assert agent.rules() == []


def test_a_pass_in_between_starts_again(agent: Client) -> None:
    failing(agent)
    failing(agent)
    agent.round(agent.bash("pytest", "1 passed in 0.1s"))
    assert failing(agent) == ""
    assert failing(agent) == ""
    assert failing(agent).startswith('Unspin: loop (3 failing edits on "format.py"). ')


def test_a_piped_check_neither_counts_nor_resets(agent: Client) -> None:
    failing(agent)
    failing(agent)
    agent.round(agent.edit("format.py"))
    assert agent.round(agent.bash("pytest | tail -3", FAILURE)) == ""
    assert failing(agent) != ""


def test_a_pass_lifts_what_stands(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    agent.round(agent.bash("pytest", "1 passed in 0.1s"))
    assert agent.before(agent.edit("format.py")).status == 0


def test_the_same_refusal_three_times_then_the_turn_is_stopped(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    for _ in range(3):
        call = agent.edit("format.py")
        refused = agent.before(call)
        assert refused.status == 2 and "continue" not in refused.document
        assert agent.batch({**call, "tool_response": f"PreToolUse:Edit hook error: {refused.reason}"}) == ""
    stopped = agent.before(agent.edit("format.py"))
    assert stopped.document["continue"] is False
    assert stopped.document["stopReason"] == stopped.reason
    assert stopped.reason == ('Unspin: stopped after 3 refusals: loop on "format.py". The user decides how to go on.')


def test_a_subagents_failures_count_for_nothing(agent: Client) -> None:
    for _ in range(4):
        agent.round(agent.edit("format.py"), agent_id="a1", agent_type="general-purpose")
        agent.round(agent.bash("pytest", FAILURE, 1), agent_id="a1", agent_type="general-purpose")
    assert agent.log() == []


def test_refused_edits_of_one_file_in_three_rounds(agent: Client) -> None:
    assert agent.batch(agent.refused("a.py", "x"), agent.refused("a.py", "y")) == ""
    agent.round(agent.read("a.py"))
    assert agent.batch(agent.refused("a.py", "x ")) == ""
    assert agent.batch(agent.refused("a.py", "z", "Found 2 matches of the string to replace")).startswith(
        'Unspin: loop (edits of "a.py" refused by the edit tool 3 times). Read the file again, then ask'
    )


def test_an_accepted_edit_resets_refused_ones(agent: Client) -> None:
    agent.batch(agent.refused("a.py"))
    agent.batch(agent.refused("a.py"))
    agent.round(agent.edit("a.py"))
    assert agent.batch(agent.refused("a.py")) == ""


def test_an_answered_question_releases(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    answer = 'Your questions have been answered: "How?"="Go on". You can now continue with these answers in mind.'
    agent.round(agent.call("AskUserQuestion", answer, questions=[]))
    assert agent.before(agent.edit("format.py")).status == 0


def test_a_machines_prompt_does_not_release(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    agent.prompt("<task-notification>\n<status>completed</status></task-notification>")
    assert agent.before(agent.edit("format.py")).status == 2


def test_compaction_is_told_at_the_next_event_that_can_carry_it(agent: Client) -> None:
    assert agent.send("PreCompact", trigger="auto", custom_instructions=None).stdout == ""
    told = agent.send("SessionStart", source="compact")
    assert told.line.startswith("Unspin: the context is about to be compacted. Finish the current step")
    assert agent.send("SessionStart", source="compact").stdout == ""
    agent.send("PreCompact", trigger="auto", custom_instructions=None)
    assert agent.send("SessionStart", source="compact").line


def test_observe_logs_and_says_nothing(agent: Client) -> None:
    agent.store.set_mode(str(agent.project), "observe")
    for _ in range(3):
        assert failing(agent) == ""
    assert [each["response"] for each in agent.log()] == ["none", "none"]
    assert agent.rules() == ["failing_edits", "recurring_error"]
    assert agent.before(agent.edit("format.py")).status == 0


def test_nothing_is_written_to_the_project(agent: Client) -> None:
    for _ in range(3):
        failing(agent)
    assert list(Path(agent.project).iterdir()) == []
