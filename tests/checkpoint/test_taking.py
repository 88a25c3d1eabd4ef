"""When hooks take checkpoints, and which of them are working."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import git
from driver import Client
from unspin.checkpoint.taking import beside, wait_for_others
from unspin.store import Checkpoint

PASSES = "===== 3 passed in 0.02s ====="
FAILS = "E   AssertionError: no\nFAILED test_a.py::test_a - AssertionError: no"


@pytest.fixture
def project(agent: Client) -> Client:
    agent.checkpoints = True
    git(agent.project, "init", "-q")
    (agent.project / "a.py").write_text("a = 1\n")
    (agent.project / "test_a.py").write_text("def test_a():\n    assert f(1) == 2\n")
    git(agent.project, "add", "-A")
    git(agent.project, "commit", "-qm", "one")
    return agent


def taken(agent: Client) -> list[Checkpoint]:
    with agent.store as store:
        return store.checkpoints(str(agent.project))


def change(agent: Client, name: str = "a.py", text: str = "") -> dict[str, Any]:
    (agent.project / name).write_text(text or f"a = {agent.calls}\n")
    return agent.edit(name)


def test_a_pass_makes_a_working_checkpoint(project: Client) -> None:
    project.prompt("fix it")
    project.round(change(project))
    project.round(project.bash("pytest -q", PASSES))
    assert [(each.reason, each.working, each.command, each.files_changed) for each in taken(project)] == [
        ("message", False, "", 0),
        ("passed check", True, "pytest -q", 1),
    ]


def test_a_message_makes_one_only_when_files_changed(project: Client) -> None:
    project.prompt("fix it")
    project.prompt("and now?")
    assert len(taken(project)) == 1
    (project.project / "b.py").write_text("by hand")
    project.prompt("and now?")
    project.prompt("<task-notification>done</task-notification>")
    assert [each.reason for each in taken(project)] == ["message", "message"]


@pytest.mark.parametrize(
    "command",
    ["pytest | tail -3", "pytest || true", "pytest; echo done", "pytest &", "make test | tee out.log"],
)
def test_a_hidden_outcome_makes_none(project: Client, command: str) -> None:
    project.round(project.bash(command, PASSES))
    assert taken(project) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go test ./...", "?   \texample.com/a\t[no test files]"),
        ("npx jest --passWithNoTests", "No tests found, exiting with code 0"),
        ("npm test", "> shop@1.0.0 test\n> echo 'Error: no test specified'\n\nError: no test specified"),
    ],
)
def test_a_run_of_no_tests_proves_nothing(project: Client, command: str, output: str) -> None:
    project.round(project.bash(command, output))
    assert not any(each.working for each in taken(project))


def test_a_summary_that_is_read_is_no_honest_pass(agent: Client) -> None:
    agent.checkpoints = True
    (agent.project / "unspin.toml").write_text("[checks]\nread_summaries = true\n")
    agent.round(agent.bash("pytest | tail -3", PASSES))
    assert taken(agent) == []
    agent.round(agent.bash("mypy src", "Success: no issues found"), agent.bash("pytest | tail", "1 failed in 0.1s"))
    assert [each.working for each in taken(agent)] == [False]


def test_an_edit_in_the_checks_own_round(project: Client) -> None:
    project.round(project.bash("pytest", PASSES), change(project))
    (project.project / "a.py").write_text("a = 'sed'\n")
    project.round(project.bash("sed -i s/1/2/ a.py && pytest", PASSES))
    assert [(each.working, each.why) for each in taken(project)] == [(False, "the same round also changed files")] * 2
    project.round(project.bash("pytest > out.log", ""))
    assert taken(project)[-1].working


def test_a_call_beside_the_check_that_may_have_changed_anything(project: Client) -> None:
    project.round(project.bash("pytest", PASSES), project.bash("./generate.sh", ""))
    assert taken(project)[0].why == "another call of the same round may have changed files"


@pytest.mark.parametrize(
    "command",
    [
        "pytest && ./deploy.sh",
        "pytest && python fix.py",
        "pytest && git pull",
        'pytest && python -c \'open("a.py", "w")\'',
        "pytest && npx some-codemod",
        "pytest && bash -c './gen.sh'",
        'pytest && eval "$FIX"',
        "pytest && (npx prisma generate)",
    ],
)
def test_what_runs_behind_the_check_in_its_line_may_change_files(project: Client, command: str) -> None:
    project.round(project.bash(command, PASSES))
    assert [(each.working, each.why) for each in taken(project)] == [
        (False, "what ran after it in the same line may have changed files")
    ]


@pytest.mark.parametrize(
    "command",
    [
        "source .venv/bin/activate && pytest",
        "npm install && npm test",
        "pytest && git add -A && git commit -qm done && git push",
        "pytest && mypy src && echo fine",
        "pytest && npm run build",
        "cd sub && pytest",
    ],
)
def test_what_runs_before_the_check_or_changes_nothing_is_no_matter(project: Client, command: str) -> None:
    project.round(project.bash(command, PASSES))
    assert [each.working for each in taken(project)] == [True]


@pytest.mark.parametrize(
    "command",
    [
        "pytest && echo '{}' > conf.json",
        "echo '{}' > conf.json && pytest",
        "echo done > notes.md; pytest",
        "cp -f a.csv b.csv && pytest",
        "pytest > log.txt && echo '{}' > conf.json",
        "pytest && rm -rf data/",
        "pytest && echo x | tee words.txt",
    ],
)
def test_data_written_by_another_command_of_the_checks_own_line(project: Client, command: str) -> None:
    project.round(project.bash(command, PASSES))
    assert [(each.working, each.why) for each in taken(project)] == [(False, "the same round also changed files")]


@pytest.mark.parametrize(
    "command",
    [
        "pytest > log.txt 2>&1",
        "(cd sub; pytest) > log.txt",
        "{ pytest; } >> log.txt",
        "set -o pipefail; pytest | tee log.txt",
        "set -o pipefail && pytest 2>&1 | tee log.txt",
        "if true; then pytest; fi > log.txt",
        "rm -f test.db && pytest",
    ],
)
def test_the_checks_own_log_and_clearing_away_before_it_are_no_edits(project: Client, command: str) -> None:
    (project.project / "sub").mkdir()
    project.round(project.bash(command, PASSES))
    assert [each.working for each in taken(project)] in ([True], [])
    project.round(project.bash("pytest > log.txt", PASSES))
    assert taken(project)[-1].working


@pytest.mark.parametrize("command", ["git checkout -- a.py", "git restore a.py", "git checkout other", "git stash pop"])
def test_files_put_back_in_the_checks_own_round(project: Client, command: str) -> None:
    project.round(project.bash("pytest", PASSES), project.bash(command))
    project.round(project.bash(f"pytest -q && {command}", PASSES))
    assert [each.working for each in taken(project)] == [False, False]


def test_a_subagent_in_the_checks_own_round(project: Client) -> None:
    project.round(project.bash("pytest", PASSES), project.call("Agent", "[Subagent hand-back] done", prompt="fix"))
    assert taken(project)[0].why == "another call of the same round may have changed files"


def test_a_subagent_that_works_beside_the_check(project: Client) -> None:
    project.batch(change(project), agent_id="a1")
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].why == "a subagent may have changed files meanwhile"
    project.batch(project.read("a.py"), agent_id="a1")
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].working


def test_a_subagent_that_has_ended_before_the_check(project: Client) -> None:
    project.batch(change(project), agent_id="a1")
    project.round(project.call("Agent", "[Subagent hand-back] done", prompt="fix"))
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].working


def test_a_check_in_another_folder_says_nothing_of_this_one(project: Client, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (project.project / "sub").mkdir()
    for command in ("cd ../other && pytest", "(cd /tmp && pytest)", "cd sub && pytest", "cd sub && cd .. && pytest"):
        project.round(project.bash(command, PASSES))
    project.round(project.bash("cd sub"), project.bash("cd .. && pytest -x", PASSES))
    project.round(project.bash("cd && pytest tests", PASSES))
    project.cwd = str(tmp_path / "other")
    project.round(project.bash("cd ../other"))
    project.round(project.bash("pytest -q", PASSES))
    assert [(each.command, each.working, each.why) for each in taken(project)] == [
        ("pytest", False, "it ran in another folder"),
        ("pytest", True, ""),
        ("pytest -x", True, ""),
        ("pytest tests", False, "it ran in another folder"),
        ("pytest -q", False, "it ran in another folder"),
    ]


def test_a_part_that_passes_on_files_on_which_another_run_has_failed(project: Client) -> None:
    part = "another test run failed on the same files"
    project.round(project.bash("pytest", FAILS, 1))
    project.round(project.bash("pytest test_b.py", PASSES))
    assert (taken(project)[-1].working, taken(project)[-1].why) == (False, part)
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].working
    project.round(project.bash("pytest", FAILS, 1))
    project.round(change(project))
    project.round(project.bash("pytest test_b.py", PASSES))
    assert taken(project)[-1].working
    project.round(project.bash("pytest", FAILS, 1))
    project.prompt("I have mended it by hand.")
    project.round(project.bash("pytest test_a.py", PASSES))
    assert taken(project)[-1].working


def test_a_green_build_on_red_tests(project: Client) -> None:
    project.round(project.bash("pytest", FAILS, 1))
    project.round(project.bash("npm run build", "built in 1s"))
    assert not taken(project)[-1].working and "the last test run failed" in taken(project)[-1].why
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].working
    project.round(change(project))
    project.round(project.bash("npm run build", "built in 1s"))
    assert taken(project)[-1].working


def test_a_linter_alone(project: Client) -> None:
    project.round(project.bash("ruff check .", "All checks passed!"))
    assert not taken(project)[-1].working and "linter" in taken(project)[-1].why


def test_a_tampered_pass_and_those_after_it_until_the_person_spoke(project: Client) -> None:
    def tamper(value: int) -> dict[str, Any]:
        return project.edit("test_a.py", "    assert f(1) == 2", f"    assert f(1) == {value}")

    project.round(project.bash("pytest", FAILS, 1))
    (project.project / "test_a.py").write_text("def test_a():\n    assert f(1) == 3\n")
    project.round(tamper(3))
    line = project.round(project.bash("pytest", PASSES))
    assert "was changed, not the code" in line
    project.round(project.bash("pytest -q", PASSES))
    assert [each.working for each in taken(project)] == [False, False]
    assert {each.why for each in taken(project)} == {"tests were changed, not the code"}
    project.prompt("that was intended")
    project.round(project.bash("pytest", PASSES))
    assert taken(project)[-1].working


def test_a_subagents_pass_makes_none(project: Client) -> None:
    project.round(project.bash("pytest", PASSES), agent_id="sub")
    assert taken(project) == []


def test_a_file_that_changes_after_the_hook_began(project: Client) -> None:
    call = project.bash("pytest", PASSES)
    project.before(call)
    from unspin import live

    payload = {
        "session_id": project.session,
        "cwd": project.cwd,
        "hook_event_name": "PostToolBatch",
        "tool_calls": [call],
        "transcript_path": "",
    }
    answer = live.handle("claude-code", payload, project.store)
    time.sleep(0.02)
    (project.project / "a.py").write_text("changed after the check\n")
    answer.checkpoint.take(os.path.dirname(project.store.path))
    assert [(each.working, each.why) for each in taken(project)] == [(False, "files changed after the check had ended")]


@pytest.mark.parametrize("command", ["python fix_imports.py", "unspin check -- ./x", "pytest"])
def test_code_that_changes_while_the_check_runs(project: Client, command: str) -> None:
    project.prompt("fix it")
    project.round(change(project))
    call = project.bash(command, PASSES)
    project.before(call)
    (project.project / "a.py").write_text("written by the check, an editor, or another agent\n")
    project.batch(call)
    assert taken(project)[-1].why == "code changed while the check ran, or shortly before"
    project.round(project.bash(command, PASSES))
    assert taken(project)[-1].working


def test_what_a_check_puts_out_is_no_change_of_code(project: Client) -> None:
    (project.project / "tests" / "snapshots").mkdir(parents=True)
    outputs = ["report.xml", "out.log", "tests/snapshots/a.snap", "dist.js"]
    for name in outputs[:3]:
        (project.project / name).write_text("old\n")
    project.prompt("fix it")
    project.round(change(project))
    call = project.bash("pytest", PASSES)
    project.before(call)
    for name in outputs:
        (project.project / name).write_text("new\n")
    project.batch(call)
    assert taken(project)[-1].working


def test_the_first_ending_is_offered_only_where_a_working_checkpoint_exists(project: Client) -> None:
    def lap() -> str:
        project.round(change(project))
        return project.round(project.bash("pytest", FAILS, 1))

    lap()
    lap()
    assert "rethink the approach, or hand off and restart?" in lap()
    project.prompt("again")
    project.round(project.bash("pytest", PASSES))
    lap()
    lap()
    assert "roll back to the last working checkpoint, or hand off and restart?" in lap()


def test_off(project: Client) -> None:
    (project.project / "unspin.toml").write_text("[checkpoints]\nenabled = false\n")
    project.prompt("x")
    project.round(project.bash("pytest", PASSES))
    assert taken(project) == []


def test_old_checkpoints_go_and_the_last_working_one_stays(project: Client) -> None:
    (project.project / "unspin.toml").write_text("[checkpoints]\nkeep = 3\n")
    project.round(project.bash("pytest", PASSES))
    for number in range(6):
        (project.project / "a.py").write_text(f"a = {number}\n")
        project.prompt(f"message {number}")
    found = taken(project)
    assert [each.working for each in found] == [True, False, False, False]


def test_work_beside_is_waited_for_only_so_long(own_home: Path) -> None:
    def slow() -> None:
        time.sleep(0.6)
        (own_home / "done").write_text("x")

    began = time.monotonic()
    beside(slow, 0.1)
    assert time.monotonic() - began < 0.5
    wait_for_others()
    assert (own_home / "done").exists()
    began = time.monotonic()
    beside(lambda: None, 5)
    assert time.monotonic() - began < 2


def test_a_hook_leaves_no_pipe_open_to_the_process_that_goes_on(project: Client, own_home: Path) -> None:
    """The agent waits for the hook's output to end: a snapshot that takes long must not hold it."""
    code = (
        "import time, unspin.live as live\n"
        "live.Checkpointing.take = lambda self, folder: time.sleep(5)\n"
        "live._WAIT_FOR_MESSAGE = 0.1\n"
        "from unspin import hook\n"
        "hook.main('claude-code')\n"
    )
    payload = {"session_id": "s", "cwd": project.cwd, "hook_event_name": "UserPromptSubmit", "prompt": "x"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(payload), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert time.monotonic() - began < 4


def test_a_fault_is_recorded_and_the_agent_hears_nothing(project: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from unspin.paths import state_folder
    from unspin.store import Store

    def broken() -> None:
        raise RuntimeError("no snapshot today")

    beside(broken, 5)
    store = Store(state_folder())
    with store:
        assert "no snapshot today" in store.faults()[-1][2]
    store.close()
