"""The guard on the real client: installed by its own command, driven by a scripted model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from real_client.harness import Client, Result
from real_client.scripted_model import TOO_LONG, Calls, Text, tool

pytestmark = pytest.mark.real_client

CODE = "def area(w, h):\n    return w + h  # 0\n"
TEST = """\
import unittest
from shape import area


class AreaTest(unittest.TestCase):
    def test_area(self):
        self.assertEqual(area(2, 5), 10)
"""
CHECK = "python3 -m unittest test_shape 2>&1"


@pytest.fixture
def guarded(client: Client) -> Client:
    """The client with unspin installed, in a project whose test fails."""
    unspin(client, "install", "claude-code")
    client.write("shape.py", CODE)
    client.write("test_shape.py", TEST)
    return client


def unspin(client: Client, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "unspin", *arguments],
        cwd=client.work,
        env=client.env(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def edit(client: Client, number: int, name: str = "shape.py") -> Any:
    return tool(
        "Edit",
        file_path=str(client.work / name),
        old_string=f"w + h  # {number}",
        new_string=f"w + h  # {number + 1}",
    )


def read(client: Client, name: str = "shape.py") -> Calls:
    return Calls(tool("Read", file_path=str(client.work / name)))


def bash(command: str) -> Calls:
    return Calls(tool("Bash", command=command))


def loop(client: Client, rounds: int, first: int = 0, check: str = CHECK) -> list[Any]:
    """Edits that change nothing that matters, each followed by the failing test."""
    return [step for number in range(first, first + rounds) for step in (Calls(edit(client, number)), bash(check))]


def lines(result: Result) -> list[str]:
    """Everything of ours that the model was sent, request by request."""
    return [
        line
        for index in range(len(result.requests))
        for line in result.texts_sent_to_model(index).splitlines()
        if "Unspin: " in line
    ]


def test_three_edits_with_the_same_failure_reach_the_models_next_request_once(guarded: Client) -> None:
    result = guarded.run("make it pass", [read(guarded), *loop(guarded, 3), bash("ls"), Text("I ask you.")])
    assert result.outcome["result"] == "I ask you.", result.explain()
    said = lines(result)
    assert len(said) == 1, said
    assert 'Unspin: loop (3 failing edits on "shape.py"; nothing has passed yet). Stop editing and ask' in said[0]
    assert "Unspin: loop" in result.texts_sent_to_model(7)


def test_three_different_failures_say_nothing(guarded: Client) -> None:
    script: list[Any] = [read(guarded)]
    for number, broken in enumerate(("area(2)", "volume(2, 5)", "area(2, 5).x")):
        script += [
            Calls(edit(guarded, number)),
            bash(f'sed -i "s/(area(.*10)/({broken}, 10)/" test_shape.py'),
            bash(CHECK),
        ]
        script[-2].tools[0].input["command"] = (
            f"python3 -c \"import re;p='test_shape.py';s=open(p).read();open(p,'w').write(re.sub(r'assertEqual.*', 'assertEqual({broken}, 10)', s))\""
        )
    result = guarded.run("make it pass", [*script, Text("done")])
    assert lines(result) == [], result.explain()
    assert not result.unplayed


def test_the_next_edit_is_refused_by_any_means_and_a_message_releases_it(guarded: Client) -> None:
    result = guarded.run(
        ["make it pass", "go on, try once more"],
        [
            read(guarded),
            *loop(guarded, 3),
            Calls(edit(guarded, 3)),
            bash("sed -i 's/+/*/' shape.py"),
            bash("cat > shape.py <<'EOF'\ndef area(w, h):\n    return w * h\nEOF"),
            Text("What shall I do?"),
            Calls(edit(guarded, 3)),
            Text("done"),
        ],
    )
    assert not result.unplayed, result.explain()
    told = [result.texts_sent_to_model(index) for index in range(len(result.requests))]
    for index in (8, 9, 10):
        assert 'Unspin: edit of "shape.py" refused: 3 failing edits, and the user has not answered yet.' in told[index]
    assert "has been updated successfully" in told[12]
    assert (guarded.work / "shape.py").read_text() == CODE.replace("# 0", "# 4")


def test_an_answered_question_releases(guarded: Client) -> None:
    question = {
        "question": "How to go on?",
        "header": "Loop",
        "multiSelect": False,
        "options": [{"label": "Try again", "description": "."}, {"label": "Stop", "description": "."}],
    }
    result = guarded.run(
        "make it pass",
        [
            read(guarded),
            *loop(guarded, 3),
            Calls(tool("AskUserQuestion", questions=[question])),
            Calls(edit(guarded, 3)),
            Text("done"),
        ],
        permission=lambda request: {
            "behavior": "allow",
            "updatedInput": {**request["input"], "answers": {question["question"]: "Try again"}}
            if request["tool_name"] == "AskUserQuestion"
            else request["input"],
        },
    )
    assert "has been updated successfully" in result.texts_sent_to_model(len(result.requests) - 1), result.explain()


def test_a_pass_in_between_resets(guarded: Client) -> None:
    passing = "python3 -m unittest test_other"
    guarded.write("test_other.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n")
    result = guarded.run(
        "make it pass",
        [read(guarded), *loop(guarded, 2), bash(passing), *loop(guarded, 2, first=2), Text("done")],
    )
    assert lines(result) == [], result.explain()
    assert not result.unplayed


def test_a_piped_check_neither_counts_nor_resets(guarded: Client) -> None:
    piped = f"{CHECK} | tail -4"
    result = guarded.run(
        "make it pass",
        [
            read(guarded),
            *loop(guarded, 2),
            *loop(guarded, 3, first=2, check=piped),
            *loop(guarded, 1, first=5),
            Text("done"),
        ],
    )
    said = lines(result)
    assert len(said) == 1 and '3 failing edits on "shape.py"' in said[0], result.explain()
    assert "Unspin" in result.texts_sent_to_model(len(result.requests) - 1)


def test_a_test_edited_until_it_passes_is_told(guarded: Client) -> None:
    weaken = tool("Edit", file_path=str(guarded.work / "test_shape.py"), old_string="5), 10)", new_string="5), 7)")
    result = guarded.run(
        "make it pass",
        [read(guarded, "test_shape.py"), bash(CHECK), Calls(weaken), bash(CHECK), Text("done")],
    )
    said = lines(result)
    assert len(said) == 1, result.explain()
    assert 'Unspin: "test_shape.py" was changed, not the code, and now passes' in said[0]


def test_a_test_overwritten_until_it_passes_is_told(guarded: Client) -> None:
    rewrite = tool("Write", file_path=str(guarded.work / "test_shape.py"), content=TEST.replace("10)", "7)"))
    result = guarded.run(
        "make it pass",
        [read(guarded, "test_shape.py"), bash(CHECK), Calls(rewrite), bash(CHECK), Text("done")],
    )
    assert len(lines(result)) == 1, result.explain()


def test_a_test_changed_with_its_source_is_not(guarded: Client) -> None:
    weaken = tool("Edit", file_path=str(guarded.work / "test_shape.py"), old_string="5), 10)", new_string="5), 7)")
    result = guarded.run(
        "make it pass",
        [
            read(guarded, "test_shape.py"),
            read(guarded),
            bash(CHECK),
            Calls(weaken),
            Calls(edit(guarded, 0)),
            bash(CHECK),
            Text("done"),
        ],
    )
    assert lines(result) == [], result.explain()


def test_a_subagents_failures_count_for_nothing(guarded: Client) -> None:
    subagent = tool(
        "Agent",
        description="fix",
        prompt="FIX-IT please",
        subagent_type="general-purpose",
        run_in_background=False,
    )
    result = guarded.run(
        "make it pass",
        [Calls(subagent), read(guarded), *loop(guarded, 2, first=4), Text("done")],
        subscripts={"FIX-IT": [read(guarded), *loop(guarded, 4), Text("gave up")]},
    )
    assert not result.unplayed, result.explain()
    assert "Unspin: " not in "".join(request.text for request in result.all_requests)


def test_refused_edits_are_told(guarded: Client) -> None:
    wrong = [
        Calls(
            tool(
                "Edit",
                file_path=str(guarded.work / "shape.py"),
                old_string=f"nowhere {number}",
                new_string="x",
            )
        )
        for number in range(3)
    ]
    result = guarded.run("make it pass", [read(guarded), *wrong, Text("done")])
    said = lines(result)
    assert len(said) == 1 and 'edits of "shape.py" refused by the edit tool 3 times' in said[0], result.explain()


def test_a_compaction_is_told_after_it(guarded: Client) -> None:
    result = guarded.run(
        ["look around", "/compact", "and now?"],
        [bash("ls"), bash("cat shape.py"), Text("looked"), Text("a summary of all that"), Text("on we go")],
    )
    said = lines(result)
    assert len(said) == 1, result.explain()
    assert "Unspin: the context is about to be compacted. Finish the current step, then offer the user" in said[0]


def test_an_automatic_compaction_is_told_in_the_same_turn(guarded: Client) -> None:
    result = guarded.run(
        "look around",
        [
            bash("ls"),
            bash("cat shape.py"),
            TOO_LONG,
            Text("a summary of all that"),
            bash("ls -a"),
            Text("done"),
        ],
    )
    assert len(lines(result)) == 1, result.explain()


def test_a_clean_run_is_told_nothing_and_leaves_nothing(guarded: Client) -> None:
    before = sorted(path.name for path in Path(guarded.work).iterdir())
    fix = tool("Edit", file_path=str(guarded.work / "shape.py"), old_string="w + h", new_string="w * h")
    result = guarded.run(
        "make it pass",
        [read(guarded), bash(CHECK), Calls(fix), bash(CHECK), bash("git status || true"), Text("done")],
    )
    assert result.outcome["result"] == "done", result.explain()
    assert "Unspin" not in "".join(request.text for request in result.all_requests)
    assert "unspin" not in "".join(request.text for request in result.all_requests)
    assert sorted(path.name for path in Path(guarded.work).iterdir() if path.name != "__pycache__") == before


def test_too_many_refusals_stop_the_turn(guarded: Client) -> None:
    result = guarded.run(
        "make it pass",
        [read(guarded), *loop(guarded, 3), *(Calls(edit(guarded, 3)) for _ in range(4)), Text("never said")],
    )
    assert result.outcome.get("terminal_reason") == "hook_stopped", result.explain()
    assert (guarded.work / "shape.py").read_text() == CODE.replace("# 0", "# 3")


def test_uninstalled_it_is_gone(guarded: Client) -> None:
    unspin(guarded, "uninstall", "claude-code")
    result = guarded.run("make it pass", [read(guarded), *loop(guarded, 4), Text("done")])
    assert lines(result) == []


def test_the_log_and_the_status_tell_what_happened(guarded: Client) -> None:
    guarded.run("make it pass", [read(guarded), *loop(guarded, 3), Calls(edit(guarded, 3)), Text("What now?")])
    log = [json.loads(line) for line in unspin(guarded, "log", "--json").splitlines()]
    assert [(each["rule"], each["response"]) for each in log] == [
        ("failing_edits", "nudge"),
        ("recurring_error", "none"),
        ("failing_edits", "block"),
    ]
    assert {each["tool"] for each in log[0]["evidence"]} == {"Edit", "Bash"}
    status = json.loads(unspin(guarded, "status", "--json"))
    assert status["refusing"] == ["shape.py"] and status["blocks"] == 1
    assert "Released: shape.py" in unspin(guarded, "release")
    assert json.loads(unspin(guarded, "status", "--json"))["refusing"] == []


def test_sixteen_parallel_calls_are_one_round_in_the_right_order_with_one_line(guarded: Client) -> None:
    def parallel(number: int) -> Calls:
        reads = [tool("Bash", command=f"cat shape.py | head -{place}") for place in range(1, 15)]
        return Calls(edit(guarded, number), *reads, tool("Bash", command=CHECK))

    result = guarded.run(
        "make it pass",
        [read(guarded), *(parallel(number) for number in range(3)), Calls(edit(guarded, 3)), Text("What now?")],
    )
    said = lines(result)
    assert "3 failing edits" in said[0], result.explain()
    assert "refused: 3 failing edits" in said[1]
    assert len(said) == 2
    log = [json.loads(line) for line in unspin(guarded, "log", "--json").splitlines()]
    indices = [each["event_index"] for each in log[0]["evidence"]]
    assert indices == [2, 17, 18, 33, 34, 49]
