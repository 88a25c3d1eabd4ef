"""The harness itself: what a scripted session with the real client shows, and that nothing stays behind."""

from __future__ import annotations

import subprocess
import time

import pytest

from real_client.harness import Client, ClientTimeout
from real_client.scripted_model import TOO_LONG, Calls, Text, tool

pytestmark = pytest.mark.real_client

QUESTION = {
    "question": "Roll back or hand off?",
    "header": "Loop",
    "multiSelect": False,
    "options": [{"label": "Roll back", "description": "."}, {"label": "Hand off", "description": "."}],
}


def test_a_scripted_call_is_run_and_a_hook_sees_it(client: Client) -> None:
    client.record_hooks("PreToolUse", "PostToolBatch")

    result = client.run("say hello", [Calls(tool("Bash", command="echo hello-$((40 + 2))")), Text("done")])

    assert result.returncode == 0, result.explain()
    assert result.outcome["result"] == "done"
    assert not result.overruns and not result.unplayed, result.explain()
    before, batch = client.recorded()
    assert before["hook_event_name"] == "PreToolUse"
    assert before["tool_input"]["command"] == "echo hello-$((40 + 2))"
    assert batch["tool_calls"][0]["tool_response"] == "hello-42"
    assert batch["session_id"] == result.session_id
    assert "hello-42" in result.texts_sent_to_model(1)
    assert "hello-42" not in result.texts_sent_to_model(0)
    assert str(result.transcript_path) == batch["transcript_path"]
    assert any(line.get("toolUseResult") for line in result.lines)


def test_parallel_calls_a_subagent_and_a_second_turn_each_take_their_own_steps(client: Client) -> None:
    client.record_hooks("PostToolBatch", "UserPromptSubmit")
    agent = tool("Agent", description="look", prompt="LOOK-AROUND", subagent_type="general-purpose")
    agent.input["run_in_background"] = False

    result = client.run(
        ["first", "second"],
        [
            Calls(tool("Bash", command="echo one"), tool("Bash", command="exit 3")),
            Calls(agent),
            Text("a"),
            Text("b"),
        ],
        subscripts={"LOOK-AROUND": [Calls(tool("Bash", command="echo below")), Text("looked")]},
    )

    assert not result.overruns and not result.unplayed, result.explain()
    assert [request.kind for request in result.all_requests].count("subagent") == 2
    parallel, below, above = client.recorded("PostToolBatch")
    assert [call["tool_response"] for call in parallel["tool_calls"]] == ["one", "Exit code 3"]
    assert below["agent_id"] and "agent_id" not in above
    assert [prompt["prompt"] for prompt in client.recorded("UserPromptSubmit")] == ["first", "second"]
    assert "second" in result.texts_sent_to_model(3)


def test_a_question_to_the_person_can_be_answered(client: Client) -> None:
    client.record_hooks("PostToolBatch")

    result = client.run(
        "go",
        [Calls(tool("AskUserQuestion", questions=[QUESTION])), Text("done")],
        permission=lambda request: {
            "behavior": "allow",
            "updatedInput": {**request["input"], "answers": {QUESTION["question"]: "Hand off"}},
        },
    )

    assert '"Hand off"' in result.texts_sent_to_model(1), result.explain()
    assert client.recorded("PostToolBatch")[0]["tool_calls"][0]["tool_name"] == "AskUserQuestion"


def test_a_prompt_that_is_too_long_makes_the_client_compact_within_the_turn(client: Client) -> None:
    client.record_hooks("PreCompact", "SessionStart")

    result = client.run("go", [Calls(tool("Bash", command="echo one")), TOO_LONG, Text("done")])

    assert result.outcome["result"] == "done", result.explain()
    assert [request.kind for request in result.all_requests] == ["main", "main", "compaction", "main"]
    assert [each.get("trigger") or each["source"] for each in client.recorded()] == [
        "startup",
        "auto",
        "compact",
    ]


def test_a_client_that_hangs_is_killed_with_all_that_it_started(client: Client) -> None:
    hang = Calls(tool("Bash", command="echo $PPID > parent; echo $$ > shell; exec sleep 60"))
    shell = client.work / "shell"

    with pytest.raises(ClientTimeout), client.open([hang], prompt="go") as conversation:
        while not (shell.exists() and shell.read_text().strip()):
            assert time.monotonic() < conversation.deadline
            time.sleep(0.05)
        conversation.deadline = time.monotonic()
        conversation.finish()

    assert not alive(int((client.work / "parent").read_text()))
    assert not alive(int(shell.read_text()))


def alive(process_id: int) -> bool:
    """False also for a process that has ended and that nobody has waited for yet."""
    command = ["ps", "-o", "stat=", "-p", str(process_id)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")
