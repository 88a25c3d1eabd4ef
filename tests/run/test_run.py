"""A whole run on a real small repository with scripted workers: from the ticket to the branch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint.trees import git, seen
from run.scripted import AUTHOR, REVIEWER, configure, go, last, run
from unspin.run.workspace import data_folder


def test_from_the_ticket_to_the_branch(project: Path) -> None:
    before, theirs = seen(project), git(project, "status", "--porcelain")
    result = go(project)
    assert result.exit_code == 0, result.output
    told = last(project)
    assert (told["state"], told["stop_reason"], told["author_turns"]) == ("shipped", "done", 4)
    assert [(each["stage"], each["verdict"]) for each in told["verdicts"]] == [
        ("design", "revise"),
        ("design", "ready"),
        ("code", "ship"),
    ]
    assert [each["claim"] for each in told["resolved_findings"]] == ["say what b is"]
    branch = told["branch"]
    assert git(project, "show", f"{branch}:calc.py") == "def add(a, b):\n    return a + b\n"
    assert git(project, "log", "--format=%s", f"HEAD..{branch}").strip() == "Mend add() (turn 4)"
    assert git(project, "diff", "--name-only", "HEAD", branch).split() == ["calc.py"]
    assert seen(project) == before and git(project, "status", "--porcelain") == theirs
    workspace = Path(data_folder()) / told["id"] / "workspace"
    names = {str(each.relative_to(workspace)) for each in workspace.rglob("*") if ".git" not in each.parts}
    assert {
        "ticket.md", "design.md", "decisions.md", "run.json", "events.jsonl", "description.md",
        "turns/001-sketch/prompt.md", "turns/001-sketch/author.output.txt", "turns/001-sketch/author.outcome.json",
        "turns/002-design/reviews/one.json", "turns/002-design/verdict.json", "turns/004-code/check-test.txt",
    } <= names  # fmt: skip
    assert "say what b is" in (workspace / "turns/003-design/prompt.md").read_text()
    assert git(workspace, "status", "--porcelain") == ""
    assert "Mend add()" in (workspace / "description.md").read_text()


def test_a_review_that_never_ends_halts_and_overrides_have_their_bound(project: Path) -> None:
    endless = (
        REVIEWER.replace("first = turn == 2", "first = True")
        .replace("say what b is", "objection ")
        .replace('"objection "', 'f"objection {turn}"')
    )
    configure(project, reviewer=endless, more="[run.caps]\ndesign_turns = 4\n")
    first = go(project)
    assert first.exit_code == 3 and "review streak" in first.output
    told = last(project)
    assert told["state"] == "halted" and told["stop_reason"] == "review streak" and len(told["verdicts"]) == 3
    assert [each["claim"] for each in told["open_findings"]] == ["objection 4"]
    assert "objection 4" in run("gate", told["id"]).output
    assert run("gate", told["id"], "override", "--note", "once more").exit_code == 0
    second = go(project, "--resume", told["id"])
    assert second.exit_code == 3 and "turn cap" not in second.output
    run("gate", told["id"], "override")
    third = go(project, "--resume", told["id"])
    assert third.exit_code == 3 and last(project)["stop_reason"] == "turn cap"
    assert last(project)["design_turns"] == 4 + 2 * 2
    decisions = (Path(data_folder()) / told["id"] / "workspace" / "decisions.md").read_text()
    assert "override: once more" in decisions
    assert run("gate", told["id"], "stop").exit_code == 0
    assert last(project)["stop_reason"] == "stopped by person"
    assert git(project, "branch", "--list", "unspin/*") == ""


@pytest.mark.parametrize(
    "reviewer",
    [
        "print('Looks good to me!')",
        "import os; open(os.environ['UNSPIN_FINDINGS'], 'w').write('{\"verdict\": \"ship\", \"findings\": [')",
        "import os; open(os.environ['UNSPIN_FINDINGS'], 'w').write('{\"approved\": true}')",
        "import sys; sys.exit(1)",
    ],
)
def test_a_reviewer_that_writes_nothing_usable_fails_the_run(project: Path, reviewer: str) -> None:
    configure(project, reviewer=reviewer)
    result = go(project)
    assert result.exit_code == 1 and last(project)["stop_reason"] == "reviewer failed"
    events = [
        json.loads(line) for line in (Path(data_folder()) / last(project)["id"] / "workspace" / "events.jsonl").open()
    ]
    assert [each["attempt"] for each in events if each["event"] == "review_done"] == [1, 2, 3]


def test_an_attempt_that_came_to_nothing_is_told_to_the_next(project: Path) -> None:
    once = "mark = pathlib.Path(sys.argv[0] + stage); first = not mark.exists(); mark.touch()\n"
    author = AUTHOR.replace(
        "if stage in", f"{once}    if first and stage == 'sketch':\n        sys.exit(3)\n    if stage in"
    )
    reviewer = REVIEWER.replace("first = turn == 2", f"{once}    verdict_file = os.environ['UNSPIN_FINDINGS']")
    reviewer += "    if first: pathlib.Path(verdict_file).write_text('Looks good!')\n"
    reviewer = reviewer.replace("if first else []", "if False else []").replace('"revise" if first else', "")
    configure(project, author=author, reviewer=reviewer)
    done = go(project)
    assert done.exit_code == 0, done.output
    turns = Path(data_folder()) / last(project)["id"] / "workspace" / "turns"
    words = "The attempt before this one came to nothing: "
    told = {str(each.relative_to(turns)): each.read_text() for each in turns.rglob("*prompt.md")}
    assert f"{words}exit status 3. " in told["002-sketch/prompt.md"]
    assert f"{words}the review is no JSON" in told["003-design/reviews/one-2.prompt.md"]
    assert sum(words in each for each in told.values()) == 3  # and the second review of the code


def test_a_failing_check_blocks(project: Path) -> None:
    configure(project, author=AUTHOR.replace("return a + b", "return a * b"), more="[run.caps]\nturns = 4\n")
    assert go(project).exit_code == 3
    told = last(project)
    assert told["stop_reason"] == "turn cap" and told["open_findings"][0]["reviewer"] == "checks"


BACK_AND_FORTH = """
    import os, pathlib
    stage, turn = os.environ["UNSPIN_STAGE"], int(os.environ["UNSPIN_TURN"])
    if stage in ("sketch", "design"):
        pathlib.Path(os.environ["UNSPIN_DESIGN"]).write_text("add() in calc.py")
    elif turn in (3, 4):
        pathlib.Path("more.txt").write_text("x")
    else:
        pathlib.Path("more.txt").unlink(missing_ok=True)
"""
DOES_NOTHING = BACK_AND_FORTH.replace("turn in (3, 4)", "False")
REVISES_CODE = REVIEWER.replace("first = turn == 2", 'first = stage == "review-code" and turn < 5')


@pytest.mark.parametrize(
    ("author", "reviewer", "since"), [(DOES_NOTHING, REVIEWER, 4), (BACK_AND_FORTH, REVISES_CODE, 5)]
)
def test_a_branch_that_changes_nothing_is_not_shipped(project: Path, author: str, reviewer: str, since: int) -> None:
    (project / "check.py").write_text("")  # passes as it is
    git(project, "commit", "-qam", "no test")
    configure(project, author=author, reviewer=reviewer, more="[run.caps]\nturns = 6\n")
    done = go(project)
    assert done.exit_code == 3, done.output
    found = last(project)
    assert {each["verdict"] for each in found["verdicts"] if each["stage"] == "code"} == {"revise"}
    (open_one,) = found["open_findings"]
    assert (open_one["id"], open_one["blocking"], open_one["reviewer"]) == ("no-change", True, "checks")
    assert open_one["since"] == since, "the same finding from turn to turn"
    prompts = Path(data_folder()) / found["id"] / "workspace" / "turns"
    assert "nothing is changed" in (prompts / "006-code/prompt.md").read_text()
    assert run("gate", found["id"], "approve").exit_code == 1, "a person cannot ship it either"


def test_a_check_sees_an_edit_that_the_cache_of_python_does_not(project: Path) -> None:
    """Two code turns in one second that leave the size of a file as it was."""
    author = """
        import os, pathlib
        stage = os.environ["UNSPIN_STAGE"]
        if stage in ("sketch", "design"):
            pathlib.Path(os.environ["UNSPIN_DESIGN"]).write_text("add() in calc.py")
        else:
            file = pathlib.Path("calc.py")
            sign = "+" if "a * b" in file.read_text() else "*"
            file.write_text(f"def add(a, b):\\n    return a {sign} b\\n")
            os.utime(file, (1_700_000_000, 1_700_000_000))
    """
    configure(project, author=author)
    done = go(project)
    assert done.exit_code == 0, done.output
    found = last(project)
    assert [each["verdict"] for each in found["verdicts"] if each["stage"] == "code"] == ["revise", "ship"]


def test_a_worker_that_cannot_be_started(project: Path) -> None:
    configure(project)
    path = project.parent / "run.toml"
    path.write_text(path.read_text().replace(json.dumps(sys.executable), '"/no/such/program"', 1))
    assert go(project).exit_code == 1 and last(project)["stop_reason"] == "worker failed"


def test_a_worker_that_edits_the_state_changes_nothing_and_is_told(project: Path) -> None:
    meddler = (
        AUTHOR
        + """
    workspace = pathlib.Path(os.environ["UNSPIN_WORKSPACE"])
    (workspace / "run.json").write_text("{}")
    (workspace / "decisions.md").write_text("ship it")
    (workspace / "new.txt").write_text("x")
    os.system(f"git -C {workspace} -c user.name=a -c user.email=a@b commit -qam meddled")
"""
    )
    configure(project, author=meddler)
    result = go(project)
    assert result.exit_code == 0, result.output
    assert "a worker changed what is not its own" in result.output
    workspace = Path(data_folder()) / last(project)["id"] / "workspace"
    assert (workspace / "decisions.md").read_text() == "# Decisions\n" and not (workspace / "new.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], "a ticket is expected"), (["missing.md"], "no such file"), (["--resume", "r0"], "no run begins")],
)
def test_bad_usage(project: Path, arguments: list[str], says: str) -> None:
    result = run("run", *arguments, "--config", str(project.parent / "run.toml"))
    assert result.exit_code in (1, 2) and says in result.output and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("ticket", "says"),
    [(b" \n", "is empty"), (b"# Add\0it", "is no text"), (b"a" * 400_001, "at most 400,000 characters")],
)
def test_a_ticket_that_is_none_starts_nothing(project: Path, ticket: bytes, says: str) -> None:
    (project / "TICKET.md").write_bytes(ticket)
    result = go(project)
    assert result.exit_code == 2 and says in " ".join(result.output.split())
    assert not os.path.exists(data_folder())


@pytest.mark.parametrize("streams", ["stdout", "both"])
def test_a_run_goes_on_where_nobody_reads_its_lines(project: Path, streams: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "unspin", "run", "TICKET.md", "--config", str(project.parent / "run.toml")]
    errors = write if streams == "both" else subprocess.PIPE
    (project / "untracked.txt").write_text("x")  # is told on stderr
    done = subprocess.run(command, stdout=write, stderr=errors, check=False)
    os.close(write)
    assert done.returncode == 0 and last(project)["state"] == "shipped"


def test_the_plan_starts_nothing(project: Path) -> None:
    result = go(project, "TICKET.md", "--plan")
    assert result.exit_code == 0 and "reviewed by one" in result.output
    assert not os.path.exists(data_folder())


def test_the_drill() -> None:
    result = run("run", "--drill")
    assert result.exit_code == 0 and "The caps held: 20 design turns" in result.output
