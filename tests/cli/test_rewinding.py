"""unspin checkpoints, diff and rollback, as people type them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from checkpoint.trees import book_of, git
from driver import Client
from unspin.checkpoint.book import MESSAGE, PASSED, Wanted
from unspin.cli.app import app
from unspin.paths import state_folder
from unspin.store import Store


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "a.py").write_text("a = 1\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(folder)
    return folder


def test_the_list(project: Path) -> None:
    assert "No checkpoint" in run("checkpoints").output
    book = book_of(project)
    book.take(Wanted(MESSAGE, "s", why="no check passed on it"))
    (project / "a.py").write_text("a = 2\n")
    book.take(Wanted(PASSED, "s", command="pytest -q", working=True))
    lines = run("checkpoints").output.splitlines()
    assert lines[0].split()[0] == "c1" and "message" in lines[0] and "no check passed on it" in lines[0]
    assert "working" in lines[1] and "pytest -q" in lines[1] and "1 file " in lines[1]
    rows = [json.loads(line) for line in run("checkpoints", "--json").output.splitlines()]
    assert [row["id"] for row in rows] == ["c1", "c2"]
    assert rows[1]["working"] is True and rows[1]["check"] == "pytest -q" and rows[1]["files_changed"] == 1
    assert rows[0]["working"] is False and rows[0]["why_not_working"] == "no check passed on it"


def test_differences(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(MESSAGE))
    (project / "a.py").write_text("a = 2\n")
    book.take(Wanted(MESSAGE))
    (project / "a.py").write_text("a = 3\n")
    assert "-a = 1\n+a = 3\n" in run("diff", "c1").output
    assert "-a = 1\n+a = 2\n" in run("diff", "1", "c2").output
    assert "1 file changed" in run("diff", "c1", "--stat").output


def test_rollback_says_first_what_will_change_and_can_be_undone(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(PASSED, "s", command="pytest", working=True))
    (project / "a.py").write_text("a = 2\n")
    (project / "new.py").write_text("new\n")
    dry = run("rollback", "--dry-run")
    assert "Would go back to c1 (working, passed check: pytest" in dry.output
    assert "restore  a.py" in dry.output and "delete   new.py" in dry.output
    assert (project / "a.py").read_text() == "a = 2\n"
    done = run("rollback")
    assert done.exit_code == 0 and "Done: 2 files. What was there is c2" in done.output
    assert (project / "a.py").read_text() == "a = 1\n" and not (project / "new.py").exists()
    assert run("rollback", "--undo").exit_code == 0
    assert (project / "a.py").read_text() == "a = 2\n" and (project / "new.py").exists()


def test_rollback_of_some_files_from_a_folder_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "sub" / "b.py").write_text("b = 1\n")
    book_of(project).take(Wanted(MESSAGE))
    (project / "a.py").write_text("a = 2\n")
    (project / "sub" / "b.py").write_text("b = 2\n")
    monkeypatch.chdir(project / "sub")
    assert run("rollback", "c1", "--files", "b.py").exit_code == 0
    assert (project / "sub" / "b.py").read_text() == "b = 1\n" and (project / "a.py").read_text() == "a = 2\n"
    assert run("rollback", "c1", "--files", "../a.py", "b.py").exit_code == 0
    assert (project / "a.py").read_text() == "a = 1\n"


def test_commits_made_since_are_told_and_left(project: Path) -> None:
    book_of(project).take(Wanted(PASSED, working=True, command="pytest"))
    (project / "a.py").write_text("a = 2\n")
    git(project, "commit", "-qam", "the agent's commit")
    head = git(project, "rev-parse", "HEAD")
    output = run("rollback").output
    assert "1 commit made since then stay as they are" in output or "1 commit made since then" in output
    assert "the agent's commit" in output
    assert git(project, "rev-parse", "HEAD") == head
    assert git(project, "status", "--porcelain") == " M a.py\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rollback"], "there is no working checkpoint"),
        (["rollback", "--undo"], "there is no rollback to undo here"),
        (["rollback", "c99"], "no checkpoint c99"),
        (["rollback", "nonsense"], "no checkpoint nonsense"),
        (["diff", "c1"], "no checkpoint c1"),
        (["rollback", "c1", "c2"], "one ID is expected"),
        (["rollback", "--undo", "c1"], "--undo takes no ID"),
    ],
)
def test_what_cannot_be_done_is_said(project: Path, arguments: list[str], says: str) -> None:
    result = run(*arguments)
    assert result.exit_code in (1, 2) and says in result.output and "Traceback" not in result.output


def test_what_a_rollback_keeps_of_a_tree_that_passed_is_not_said_to_have_passed_nothing(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(MESSAGE, why="no check passed on it"))
    (project / "a.py").write_text("a = 2\n")
    book.take(Wanted(PASSED, command="pytest", working=True))
    run("rollback", "c1")
    assert run("checkpoints").output.splitlines()[-1].endswith("the same as c2")


def test_why_a_pass_is_not_working_is_told_whole(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "what ran after it in the same line may have changed files"
    book_of(project).take(Wanted(PASSED, command="pytest " + "tests/unit " * 20, why=why))
    for columns, lines in (("80", 2), ("60", 3), ("400", 1)):
        monkeypatch.setenv("COLUMNS", columns)
        output = run("checkpoints").output
        assert f"({why})" in " ".join(output.split()) and len(output.splitlines()) == lines
        assert all(len(line) <= int(columns) for line in output.splitlines())


def test_a_pass_that_is_not_working_is_not_denied(project: Path) -> None:
    book_of(project).take(Wanted(PASSED, command="pytest", why="tests were changed, not the code"))
    assert "no pass here was one (unspin checkpoints says why)" in run("rollback").output


def test_differences_to_one_whose_content_is_gone(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(MESSAGE))
    shutil.rmtree(book.place.store)
    (project / "a.py").write_text("a = 2\n")
    result = run("diff", "c1")
    assert result.exit_code == 1 and "the content of c1 is not in the store any more" in result.output


def test_the_home_folder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(os.environ["HOME"])
    result = run("checkpoints")
    assert result.exit_code == 1 and "is the home folder" in result.output


def test_a_checkpoint_of_another_folder(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book_of(project).take(Wanted(MESSAGE))
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    assert "cd there first" in run("rollback", "c1").output


def test_pruning_keeps_what_is_needed(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(PASSED, working=True, command="pytest"))
    for number in range(5):
        (project / "a.py").write_text(f"{number}\n")
        book.take(Wanted(MESSAGE))
    assert "Removed 3 checkpoints" in run("checkpoints", "prune", "--keep", "2").output
    assert [line.split()[0] for line in run("checkpoints").output.splitlines()] == ["c1", "c5", "c6"]
    assert run("rollback").exit_code == 0
    assert (project / "a.py").read_text() == "a = 1\n"


@pytest.fixture
def session(project: Path) -> Client:
    """A session in that folder whose test has passed, then failed after an edit."""
    agent = Client(project.parent)
    agent.checkpoints = True
    agent.store.close()
    agent.store = Store(state_folder())
    agent.prompt("Make it right.")
    for number, status in ((2, 0), (3, 1)):
        (project / "a.py").write_text(f"a = {number}\n")
        agent.round(agent.edit("a.py", f"a = {number - 1}", f"a = {number}"))
        agent.round(agent.bash("pytest", "E   TypeError: no\n1 failed" if status else "1 passed in 0.01s", status))
    return agent


def test_after_a_rollback_the_newest_session_is_the_same_one(session: Client) -> None:
    newest = session.session
    session.session = "another"
    session.prompt("An older one.")
    session.session = newest
    session.prompt("Go on.")
    before = json.loads(run("status", "--json").stdout)
    assert run("rollback").exit_code == 0
    after = json.loads(run("status", "--json").stdout)
    assert after["session"] == newest and after["updated"] == before["updated"]
    assert f"# Handoff of session {newest[:8]}" in run("handoff", "--no-keep").stdout


def test_after_a_rollback_nothing_is_said_of_what_was_before_it(session: Client) -> None:
    def tagged(text: str) -> str:
        return CliRunner().invoke(app, ["handoff", "--check", "-"], input=text).stdout

    assert tagged("All tests pass.") == "All tests pass. [contradicted: last test run failed]"
    assert tagged("I updated `a.py`.") == "I updated `a.py`. [verified]"
    assert run("rollback").exit_code == 0
    assert tagged("All tests pass.") == "All tests pass."
    assert tagged("I updated `a.py`.") == "I updated `a.py`."
    assert tagged("Lint is clean.") == "Lint is clean. [unverified: not run]"
    assert "1 failed in" not in run("handoff", "--no-keep").stdout
    said = run("handoff", "--no-keep").stdout
    assert "; files changed since" in next(line for line in said.splitlines() if line.startswith("- test: failed"))
    assert "may have changed files that the record cannot name" not in said
    assert run("rollback", "--undo").exit_code == 0
    assert tagged("All tests pass.") == "All tests pass."
    session.round(session.edit("a.py"))
    session.round(session.bash("pytest", "1 passed in 0.01s"))
    assert tagged("All tests pass.") == "All tests pass. [verified]"
    assert tagged("I updated `a.py`.") == "I updated `a.py`. [verified]"
    assert run("rollback", "c1").exit_code == 0
    assert tagged("All tests pass.") == "All tests pass."


def test_an_empty_path_is_no_path(project: Path) -> None:
    book_of(project).take(Wanted(PASSED, command="pytest", working=True))
    (project / "a.py").write_text("mine\n")
    for arguments in (["--files", ""], ["c1", "--files", "a.py", ""], [""]):
        done = run("rollback", *arguments)
        assert done.exit_code == 2 and "is empty" in done.output
        assert (project / "a.py").read_text() == "mine\n"


def test_a_file_that_is_nowhere_is_told_by_the_status(session: Client) -> None:
    result = run("rollback", "--files", "typo.py")
    assert result.exit_code == 1 and "Neither here nor in c2: typo.py" in result.output
    assert run("rollback", "--files", "typo.py", "--dry-run").exit_code == 1


def test_what_a_rollback_would_leave_alone_is_said_before(project: Path) -> None:
    (project / "kept.txt").write_text("old\n")
    book_of(project).take(Wanted(PASSED, working=True, command="pytest"))
    (project / "kept.txt").write_text("new\n")
    (project / ".gitignore").write_text("kept.txt\n")
    dry = run("rollback", "--dry-run")
    assert "Would be left alone: kept.txt (what is there is not in the snapshot" in dry.output
    assert json.loads(run("rollback", "--dry-run", "--json").output)["left_alone"][0]["path"] == "kept.txt"


def test_an_undo_says_which_state_it_brings_back(session: Client) -> None:
    assert run("rollback").exit_code == 0
    assert run("rollback", "--undo").output.startswith("Going back to c3, what was there before the rollback (")
    assert run("rollback", "--undo").output.startswith("Going back to c4, what was there before the undo (")


def test_forgetting_a_session_leaves_those_of_others_however_old(session: Client) -> None:
    mine = session.session
    session.session = "another"
    session.prompt("Another one.")
    with session.store as store:
        store._db.execute("UPDATE checkpoint SET time = time - 90 * 86400")
    assert run("forget", mine).exit_code == 0
    assert [line.split()[0] for line in run("checkpoints").output.splitlines()] == ["c3"]


def test_forgetting_a_session_takes_its_checkpoints_away(project: Path) -> None:
    agent = Client(project.parent)
    agent.checkpoints = True
    agent.store.close()
    agent.store = Store(state_folder())
    (project / "secret").write_text("the content of the session")
    agent.prompt("x")
    assert run("checkpoints").output.startswith("c1")
    assert "with 0 log entries and 1 checkpoint" in run("forget", agent.session).output
    assert "No checkpoint" in run("checkpoints").output
    found = [
        path for path in Path(state_folder(), "checkpoints").rglob("*") if path.is_file() and path.parent.name != "pack"
    ]
    assert not [path for path in found if "objects" in path.parts and path.parent.name not in ("info", "pack")]
