"""The ways out on the real client: checkpoints at passes, rollback and undo, a handoff for the next session."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import git, repository, seen
from real_client.harness import Client
from real_client.scripted_model import Calls, Text, tool
from real_client.test_guard import CHECK, CODE, TEST, bash, lines, loop, read, unspin

pytestmark = pytest.mark.real_client

RIGHT = "def area(w, h):\n    return w * h  # 0\n"


@pytest.fixture
def guarded(client: Client) -> Client:
    """The client with unspin installed, in a repository whose test fails."""
    unspin(client, "install", "claude-code")
    git(client.work, "init", "-q")
    client.write("shape.py", CODE)
    client.write("test_shape.py", TEST)
    client.write(".gitignore", "__pycache__/\n*.log\n")
    git(client.work, "add", "-A")
    git(client.work, "commit", "-qm", "one")
    return client


def checkpoints(client: Client) -> list[dict[str, Any]]:
    return [json.loads(line) for line in unspin(client, "checkpoints", "--json").splitlines()]


def replace(client: Client, name: str, old: str, new: str) -> Calls:
    return Calls(tool("Edit", file_path=str(client.work / name), old_string=old, new_string=new))


def test_after_a_loop_the_rollback_brings_the_working_tree_back_and_undo_the_other(guarded: Client) -> None:
    work = guarded.work
    broken = ["w * h  # 0", *(f"w + h  # {number}" for number in range(1, 4))]
    script: list[Any] = [
        bash(CHECK),
        read(guarded),
        replace(guarded, "shape.py", "w + h", "w * h"),
        bash(CHECK),
        Text("It passes."),
    ]
    first = guarded.run("make it pass", script)
    assert first.outcome["result"] == "It passes.", first.explain()
    found = checkpoints(guarded)
    assert [(each["reason"], each["working"]) for each in found] == [("message", False), ("passed check", True)]
    assert found[1]["check"].startswith("python3 -m unittest") and found[1]["files_changed"] == 1
    assert found[1]["session"] == first.session_id
    working, theirs = seen(work), repository(work)

    script = [read(guarded)]
    for old, new in itertools.pairwise(broken):
        script += [replace(guarded, "shape.py", old, new), bash(CHECK)]
    script += [bash("echo made > made.txt; echo x > x.log"), Text("I ask you.")]
    second = guarded.run("now round it", script, resume=first.session_id)
    said = lines(second)
    assert len(said) == 1, second.explain()
    assert (
        'Unspin: loop (3 failing edits on "shape.py"). Stop editing and ask the user now: roll back to the last'
        in said[0]
    )
    looped = seen(work)
    assert looped != working

    told = unspin(guarded, "rollback")
    assert "restore  shape.py" in told and "delete   made.txt" in told
    ignored = {name: each for name, each in looped.items() if name.endswith((b".pyc", b".log"))}
    kept = {name: each for name, each in working.items() if not name.endswith(b".pyc")}
    assert seen(work) == {**kept, **ignored}
    unspin(guarded, "rollback", "--undo")
    assert seen(work) == looped
    assert repository(work) == theirs

    # a rollback is a new episode: the edit that would have been refused is let through
    unspin(guarded, "rollback")
    third = guarded.run(
        "go on", [read(guarded), replace(guarded, "shape.py", "# 0", "# 1"), Text("done")], resume=first.session_id
    )
    assert third.outcome["result"] == "done" and (work / "shape.py").read_text() == RIGHT.replace("# 0", "# 1")


def test_a_piped_pass_and_a_tampered_pass_are_no_working_checkpoint(guarded: Client) -> None:
    result = guarded.run(
        "make it pass",
        [
            bash(f"{CHECK} | tail -3"),
            bash(CHECK),
            read(guarded, "test_shape.py"),
            replace(guarded, "test_shape.py", "area(2, 5), 10", "area(2, 5), 7"),
            bash(CHECK),
            bash(f"{CHECK} && true"),
            Text("It passes."),
        ],
    )
    assert any('"test_shape.py" was changed, not the code' in line for line in lines(result)), result.explain()
    found = [each for each in checkpoints(guarded) if each["reason"] == "passed check"]
    assert found and not any(each["working"] for each in found)
    assert {each["why_not_working"] for each in found} == {"tests were changed, not the code"}
    done = subprocess.run(
        ["unspin", "rollback"], cwd=guarded.work, env=guarded.env(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "there is no working checkpoint" in done.stderr
    guarded.run("piped", [bash(f"{CHECK} | tail -3"), bash("sed -i 's/w + h/w*h/' shape.py"), Text("x")])
    assert not any(each["working"] for each in checkpoints(guarded))


def test_nothing_is_kept_where_checkpoints_are_off(guarded: Client) -> None:
    (guarded.work / "unspin.toml").write_text("[checkpoints]\nenabled = false\n")
    result = guarded.run("make it pass", [read(guarded), *loop(guarded, 3), Text("I ask you.")])
    assert "rethink the approach, or start fresh?" in lines(result)[0]
    assert checkpoints(guarded) == []
    assert not list(Path(guarded.state_home).rglob("objects"))


def test_a_fresh_session_gets_the_handoff_once(guarded: Client) -> None:
    first = guarded.run("make the test pass", [read(guarded), *loop(guarded, 2), Text("I give up.")])
    made = unspin(guarded, "handoff")
    assert "make the test pass" in made and '"shape.py": 2 edits, 2 of them followed by a failing check' in made
    second = guarded.run("go on", [Text("I read it.")])
    assert f"# Handoff of session {first.session_id[:8]}" in second.texts_sent_to_model(0)
    third = guarded.run("and on", [Text("Nothing.")])
    assert "# Handoff" not in third.texts_sent_to_model(0)
