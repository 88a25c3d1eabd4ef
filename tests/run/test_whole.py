"""What else a run does: budgets, gates, reports, repositories of all kinds, another machine, a pull request."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from checkpoint.trees import git, seen
from run.scripted import AUTHOR, REVIEWER, configure, events, go, last, run, workspace
from unspin.cli.app import app
from unspin.guard.budget import REASONS
from unspin.paths import state_folder
from unspin.run.workspace import data_folder

ENDLESS = REVIEWER.replace("first = turn == 2", "first = True").replace('"say what b is"', 'f"objection {turn}"')
REPORT = {"reason", "completed_steps", "next_step", "tokens_used", "checks", "tail", "notes"}


def report(project: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((workspace(project) / "report.json").read_text())
    assert set(found) == REPORT and found["reason"] in REASONS
    assert last(project)["report"] == found
    return found


def test_every_end_gives_the_stop_report(project: Path) -> None:
    assert go(project).exit_code == 0
    found = report(project)
    assert (found["reason"], found["completed_steps"], found["next_step"]) == ("done", 4, "")
    assert [(each["kind"], each["outcome"]) for each in found["checks"]] == [("test", "passed")]  # type: ignore[attr-defined]


def test_a_halt_names_the_step_that_was_not_started_and_quotes_what_is_open(project: Path) -> None:
    configure(project, reviewer=ENDLESS)
    assert go(project).exit_code == 3
    found = report(project)
    assert (found["reason"], found["completed_steps"]) == ("review streak", 4)
    assert found["next_step"] == "author turn 5 (design)" and "objection 4" in str(found["tail"])
    assert "author turn 5 (design), not started" in run("runs", "show", last(project)["id"]).output
    assert run("gate", last(project)["id"], "stop").exit_code == 0
    assert report(project)["reason"] == "stopped by person"
    assert go(project, "--resume", last(project)["id"]).exit_code == 1


def test_a_budget_of_seconds_halts_and_an_override_grants_it_once_more(project: Path) -> None:
    slow = AUTHOR.replace('print("done"', 'import time; time.sleep(0.3)\n    print("done"')
    configure(project, author=slow, more="[run.budget]\nseconds = 0.5\n")
    halts = 0
    status = go(project).exit_code
    while status == 3:
        halts += 1
        assert last(project)["stop_reason"] == "time budget"
        assert run("gate", last(project)["id"], "override").exit_code == 0
        status = go(project, "--resume", last(project)["id"]).exit_code
    assert status == 0 and 1 <= halts <= 4 and last(project)["author_turns"] == 4


TRANSCRIPT = """
    slug = "".join(each if each.isalnum() else "-" for each in os.getcwd())
    place = pathlib.Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / slug
    place.mkdir(parents=True, exist_ok=True)
    usage = {"input_tokens": 1000, "output_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": f"m{stage}{turn}", "model": "claude-opus-4-5", "role": "assistant", "usage": usage, "content": []}
    line = {"type": "assistant", "sessionId": f"s{stage}{turn}", "requestId": f"r{stage}{turn}", "cwd": os.getcwd(),
            "timestamp": "2026-01-01T00:00:00Z", "uuid": f"u{stage}{turn}", "message": message}
    import json as j
    (place / f"s{stage}{turn}.jsonl").write_text(j.dumps(line) + chr(10))
"""


@pytest.mark.parametrize(("budget", "reason"), [("tokens = 2000", "token budget"), ("cost = 0.001", "cost budget")])
def test_budgets_of_tokens_and_cost(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, reason: str
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    configure(project, author=AUTHOR + TRANSCRIPT, more=f"[run.budget]\n{budget}\n")
    assert go(project).exit_code == 3
    told = last(project)
    assert told["stop_reason"] == reason and told["cost"]["tokens"] in (1100, 2200) and told["cost"]["cost"] > 0
    assert report(project)["tokens_used"] == told["cost"]["tokens"]


def test_the_gate_after_the_design(project: Path) -> None:
    assert go(project, "TICKET.md", "--gate", "design").exit_code == 3
    told = last(project)
    assert told["stop_reason"] == "waits for approval" and told["author_turns"] == 3
    assert told["report"]["next_step"] == "author turn 4 (code)"
    assert run("gate", told["id"], "approve", "--note", "mind the tests").exit_code == 0
    assert go(project, "--resume", told["id"]).exit_code == 0
    assert "approve: mind the tests" in (workspace(project) / "turns/004-code/prompt.md").read_text()


def test_what_a_person_approves_with_open_objections_says_so_in_its_description(project: Path) -> None:
    configure(project, author=AUTHOR.replace("return a + b", "return a * b"), more="[run.caps]\nturns = 4\n")
    assert go(project).exit_code == 3
    told = last(project)
    assert run("gate", told["id"], "approve").exit_code == 0 and go(project, "--resume", told["id"]).exit_code == 0
    text = (workspace(project) / "description.md").read_text()
    assert "- test: failed (" in text and "- check-test (critical, blocking, checks): exit status 1" in text


def test_the_description_fits_into_a_pull_request_and_says_its_title_once(project: Path) -> None:
    (project / "TICKET.md").write_text("# Mend add()\n\n" + "It subtracts. " * 9_000)
    author = AUTHOR.replace("add() in calc.py", "add() in calc.py" + "x" * 200_000)
    many = 'found = [dict(found[0], id=f"F{n}", claim=f"claim {n} " + "y" * 3_900) for n in range(90)] if first else []'
    reviewer = REVIEWER.replace("    verdict =", f"    {many}\n    verdict =", 1)
    configure(project, author=author, reviewer=reviewer)
    done = go(project)
    assert done.exit_code == 0, done.output
    text = (workspace(project) / "description.md").read_text()
    assert len(text) < 65_536 and text.count("Mend add()") == 1
    assert text.startswith("# Mend add()\n\nIt subtracts.") and text.count("The rest is left out here") == 3


def test_the_gate_shows_what_is_open_and_the_story_what_was_resolved(project: Path) -> None:
    assert go(project, "TICKET.md", "--gate", "design").exit_code == 3
    id = last(project)["id"]
    assert "say what b is" in run("runs", "show", id).output and "say what b is" not in run("gate", id).output


def test_the_story_of_a_run_that_is_not_shipped_claims_no_branch_and_no_price(project: Path) -> None:
    assert go(project, "TICKET.md", "--gate", "design").exit_code == 3
    id = last(project)["id"]
    halted, stopped = (" ".join(run(*line).output.split()) for line in (("gate", id), ("gate", id, "stop")))
    assert f"branch unspin/{id}, once it is shipped" in halted and f"unspin/{id}" not in stopped
    for said in (halted, stopped):
        assert "$" not in said and "tokens not known" in said


def test_a_ticket_and_a_run_to_go_on_with_are_not_one_line(project: Path) -> None:
    assert "not both" in go(project, "TICKET.md", "--resume", "r1").output


def test_the_story_tells_how_each_finding_came_to_its_end(project: Path) -> None:
    found = '[{"id": "F1", "severity": "nit", "blocking": turn < 4, "location": "design", "claim": f"claim {turn}"}]'
    reviewer = REVIEWER.replace("found = [{", f"found = {found} if True else [{{").replace(
        "first = turn == 2", "first = turn < 4"
    )
    configure(project, reviewer=reviewer, more="[run.caps]\nreview_streak = 2\n")
    assert go(project).exit_code == 3
    told = last(project)
    assert run("gate", told["id"], "approve", "--note", "good enough:\n\n  keep it\n- small").exit_code == 0
    told = last(project)
    ways = [(each["claim"], each["how"], each["in_turn"]) for each in told["resolved_findings"]]
    assert ways == [("claim 2", "not raised again", 3), ("claim 3", "approved all the same", 3)]
    assert told["open_findings"] == []
    assert "raised in turn 3, approved all the same in turn 3" in " ".join(
        run("runs", "show", told["id"]).output.split()
    )
    assert go(project, "--resume", told["id"]).exit_code == 0
    prompt = (workspace(project) / "turns/004-code/prompt.md").read_text()
    assert "approve: good enough:\n  keep it\n  - small" in prompt and "claim 3" not in prompt
    assert "(one, approved all the same): claim 3" in (workspace(project) / "description.md").read_text()
    assert [each["claim"] for each in last(project)["open_findings"]] == ["claim 4"]


def test_what_did_not_block_a_design_is_part_of_the_story(project: Path) -> None:
    configure(
        project,
        reviewer=REVIEWER.replace('"blocking": True', '"blocking": False').replace('"revise" if first else ', ""),
    )
    assert go(project).exit_code == 0
    ways = [(each["claim"], each["how"]) for each in last(project)["resolved_findings"]]
    assert ways == [("say what b is", "did not block")] and last(project)["author_turns"] == 3


def test_somebody_is_told_where_it_ends(project: Path) -> None:
    notify = f"{sys.executable} -c \\\"import os, sys; open('{project.parent}/told', 'a').write(os.environ['UNSPIN_RUN'] + sys.stdin.read())\\\""
    configure(project, more=f'notify = "{notify}"\n')
    assert go(project).exit_code == 0
    told = (project.parent / "told").read_text()
    assert told.startswith(last(project)["id"]) and '"state": "shipped"' in told


def test_what_fails_may_be_mended_and_overridden(project: Path) -> None:
    configure(project, reviewer="print('fine')")
    failed = go(project)
    id = last(project)["id"]
    remedy = f"When that is mended: unspin gate {id} override, then unspin run --resume {id}"
    for told in (failed, run("gate", id), go(project, "--resume", id)):
        assert remedy in " ".join(told.output.split())
    assert failed.exit_code == 1
    configure(project)
    assert run("gate", last(project)["id"], "override").exit_code == 0
    assert go(project, "--resume", last(project)["id"]).exit_code == 0
    assert last(project)["overrides"] == 1 and last(project)["author_turns"] == 4


def test_a_run_that_is_over_says_so_where_it_is_resumed(project: Path) -> None:
    assert go(project).exit_code == 0
    id = last(project)["id"]
    told = go(project, "--resume", id)
    assert told.exit_code == 0 and f"Run {id} is over: shipped, branch unspin/{id}" in told.output


def test_the_plan_names_a_worker_that_is_not_there(project: Path) -> None:
    path = project.parent / "none.toml"
    path.write_text('[run]\nauthor = "no-such-program -p"\n')
    told = " ".join(run("run", "TICKET.md", "--plan", "--config", str(path)).output.split())
    assert told.count("no-such-program is not on the PATH: it cannot be started") == 1
    path.write_text('[run]\nauthor = "sh"\n')
    assert "PATH" not in run("run", "TICKET.md", "--plan", "--config", str(path)).output


def test_rot_is_told_each_turn(project: Path) -> None:
    checks = f'checks = {{ test = "{sys.executable} -m pytest -q -p no:cacheprovider", build = "sh -c \'exit 1\'" }}'
    (project / "test_calc.py").write_text("from calc import add\ndef test_add():\n    assert add(1, 2) == 3\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "test")
    configure(project, author=AUTHOR.replace("a + b", "a * b"), reviewer=ENDLESS_CODE, more="[run.caps]\nturns = 5\n")
    path = project.parent / "run.toml"
    old = next(line for line in path.read_text().splitlines() if line.startswith("checks"))
    path.write_text(path.read_text().replace(old, checks))
    assert go(project).exit_code == 3
    told = " ".join(each["message"] for each in events(project, "rot"))
    assert "build" in told and ("1 test fails" in told or "same" in told), told
    assert "test_add" in str(last(project)["open_findings"])
    checks = {each["kind"]: each["failing"] for each in last(project)["checks"]}
    assert checks == {"test": ["test_calc.py::test_add"], "build": []}
    assert "fails at the end" in run("runs", "show", last(project)["id"]).output or "same" in told


ENDLESS_CODE = REVIEWER.replace("first = turn == 2", 'first = stage == "review-code"').replace(
    '"say what b is"', '"the same words each turn"'
)


def test_a_finding_that_returns_word_for_word_is_told(project: Path) -> None:
    configure(project, reviewer=ENDLESS_CODE, more="[run.caps]\nturns = 5\n")
    assert go(project).exit_code == 3
    assert "word for word" in " ".join(each["message"] for each in events(project, "rot")).lower()
    assert events(project, "verdict")[-1]["returned"] == ["F1"]


def test_another_machine_goes_on_from_the_workspace_alone(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "[run.caps]\nturns = 4\n"
    configure(project, reviewer=REVIEWER.replace("first = turn == 2", "first = turn in (2, 4)"), more=more)
    assert go(project).exit_code == 3
    id = last(project)["id"]
    there = tmp_path / "elsewhere"
    git(tmp_path, "clone", "-q", str(project), str(there / "project"))
    shutil.copytree(workspace(project), there / "data/unspin/runs" / id / "workspace")
    shutil.rmtree(data_folder())
    shutil.rmtree(Path(state_folder()) / "runs")
    shutil.rmtree(project)
    monkeypatch.setenv("XDG_DATA_HOME", str(there / "data"))
    monkeypatch.chdir(there / "project")
    assert run("gate", id, "override").exit_code == 0
    result = run("run", "--resume", id)
    assert result.exit_code == 0, result.output
    told = json.loads(run("runs", "show", id, "--json").stdout)
    assert (told["state"], told["author_turns"]) == ("shipped", 5)
    assert git(there / "project", "show", f"{told['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"
    assert told["repository"] == str(there / "project") and len(told["verdicts"]) == 4
    history = git(Path(data_folder()) / id / "workspace", "log", "--format=%s").splitlines()
    assert history[-1] == "The run begins" and f"Taken up elsewhere from {id}" in history
    git(Path(data_folder()) / id / "workspace", "fsck", "--full")


def test_a_repository_that_was_moved_is_taken_from_where_the_person_stands(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert go(project, "TICKET.md", "--gate", "design").exit_code == 3
    id = last(project)["id"]
    monkeypatch.chdir(tmp_path)
    project.rename(tmp_path / "moved")
    assert run("gate", id, "approve").exit_code == 0
    result = run("run", "--resume", id)
    assert result.exit_code == 2 and "is not there any more" in " ".join(result.output.split())
    git(tmp_path, "init", "-q", "another")
    git(tmp_path / "another", "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(tmp_path / "another")
    result = run("run", "--resume", id)
    assert result.exit_code == 1 and "does not have the commit" in " ".join(result.output.split())
    monkeypatch.chdir(tmp_path / "moved")
    result = run("run", "--resume", id)
    assert result.exit_code == 0, result.output
    told = last(project)
    assert told["repository"] == str(tmp_path / "moved") and told["author_turns"] == 4
    assert git(tmp_path / "moved", "show", f"{told['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"


# -- repositories ----------------------------------------------------------------------


def test_a_detached_and_dirty_checkout_works_and_is_told(project: Path) -> None:
    git(project, "checkout", "-q", "--detach")
    (project / "calc.py").write_text("dirty\n")
    (project / "new.txt").write_text("x")
    before = seen(project, inside_git=True)
    result = CliRunner().invoke(app, ["run", "TICKET.md", "--config", str(project.parent / "run.toml")])
    assert result.exit_code == 0
    assert "not taken along: uncommitted changes of 1 file" in result.output
    assert "not taken along: untracked files (1)" in result.output
    assert git(project, "show", f"{last(project)['branch']}:calc.py") == "def add(a, b):\n    return a + b\n"
    after = seen(project, inside_git=True)
    assert [name for name in before if after.get(name) != before[name]] == []


def test_a_shallow_clone_works(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        git(project, "commit", "-q", "--allow-empty", "-m", str(number))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{project}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    result = go(project)
    assert result.exit_code == 0, result.output
    shallow = tmp_path / "shallow"
    assert git(shallow, "log", "--format=%s", f"HEAD..{last(project)['branch']}").strip() == "Mend add() (turn 4)"
    git(shallow, "fsck", "--no-dangling")


def test_a_linked_work_tree_works(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(project, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    (tmp_path / "linked" / "more.txt").write_text("x")
    git(tmp_path / "linked", "add", "-A")
    git(tmp_path / "linked", "commit", "-qm", "only here")
    monkeypatch.chdir(tmp_path / "linked")
    result = go(project)
    assert result.exit_code == 0, result.output
    assert git(project, "show", f"{last(project)['branch']}:more.txt") == "x"


def test_submodules_are_refused_with_the_reason(project: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", str(tmp_path / "module"))
    git(tmp_path / "module", "commit", "-q", "--allow-empty", "-m", "m")
    git(project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "module"), "vendor/x")
    git(project, "commit", "-qm", "with it")
    result = go(project)
    assert result.exit_code == 1 and "it has submodules (vendor/x)" in result.output
    assert "submodules" in go(project, "TICKET.md", "--plan").output
    assert not os.path.exists(data_folder())
    git(project, "submodule", "deinit", "-q", "-f", "vendor/x")
    assert go(project).exit_code == 0, "where the person has not got them either, nothing is missing"


def test_a_partial_clone_is_refused_with_the_reason(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{project}", str(tmp_path / "partial"))
    monkeypatch.chdir(tmp_path / "partial")
    result = go(project)
    assert result.exit_code == 1 and "partial clone" in result.output


def test_a_branch_in_the_way_of_the_runs_own_is_refused_with_the_reason(project: Path) -> None:
    git(project, "branch", "unspin")
    result = go(project)
    assert result.exit_code in (1, 2) and 'has a branch "unspin"' in " ".join(result.output.split())
    assert not os.path.exists(data_folder())


def test_a_branch_of_the_runs_name_that_is_not_its_own_is_left_alone_and_named(project: Path) -> None:
    assert go(project, "TICKET.md", "--gate", "design").exit_code == 3
    told = last(project)
    other = git(project, "commit-tree", "HEAD^{tree}", "-m", "other").strip()
    git(project, "branch", told["branch"], other)
    run("gate", told["id"], "approve")
    result = go(project, "--resume", told["id"])
    assert result.exit_code == 1 and f"the branch {told['branch']} is there already" in result.output
    assert f"go on with: unspin run --resume {told['id']}" in " ".join(result.output.split())
    assert git(project, "rev-parse", told["branch"]).strip() == other
    git(project, "branch", "-m", told["branch"], "mine")
    assert go(project, "--resume", told["id"]).exit_code == 0 and last(project)["author_turns"] == 4


def test_files_of_git_lfs_stay_pointers_and_no_filter_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    (project / "big.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 3\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "pointers")
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text('[filter "lfs"]\n\tsmudge = false\n\tclean = false\n\trequired = true\n')
    monkeypatch.setenv("HOME", str(home))
    result = go(project)
    assert result.exit_code == 0, result.output
    assert "Git LFS" in result.output
    assert "big.bin" not in git(project, "diff", "--name-only", "HEAD", last(project)["branch"])


def test_a_repository_without_a_commit_or_none_at_all(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    git(tmp_path, "init", "-q", str(empty))
    for folder in (empty, tmp_path / "nothing"):
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        result = go(project, str(project / "TICKET.md"))
        assert result.exit_code in (1, 2) and "git repository with a commit" in result.output


def test_where_git_itself_cannot_look_its_words_are_told(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools").mkdir()
    words = "fatal: detected dubious ownership in repository at 'x'. Call: git config --global --add safe.directory x"
    (tmp_path / "tools" / "git").write_text(f'#!/bin/sh\necho "{words}" >&2\nexit 128\n')
    (tmp_path / "tools" / "git").chmod(0o755)
    for path, says in ((tmp_path / "tools", "add safe.directory"), (tmp_path / "none", "git cannot be started")):
        monkeypatch.setenv("PATH", str(path))
        result = go(project)
        assert result.exit_code == 2 and says in " ".join(result.output.split()), result.output


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"id": "r1"}', "{"])
def test_a_state_that_is_none_is_named_and_the_other_runs_are_listed(project: Path, text: str) -> None:
    assert go(project).exit_code == 0
    id = last(project)["id"]
    (Path(state_folder()) / "runs" / "rbad.json").write_text(text)
    listed = run("runs")
    assert listed.exit_code == 0 and id in listed.stdout and "rbad.json cannot be read" in listed.stderr
    shown = run("runs", "show", "rbad")
    assert shown.exit_code == 1 and "cannot be read" in shown.output and "fault" not in shown.output


# -- settings hold; a pull request only when asked ---------------------------------------


def test_settings_hold_from_beginning_to_end_unless_the_person_names_others(project: Path) -> None:
    configure(project, reviewer=ENDLESS, more="[run.caps]\nreview_streak = 2\n")
    shutil.copy(project.parent / "run.toml", project / "unspin.toml")
    assert run("run", "TICKET.md").exit_code == 3
    (project / "unspin.toml").write_text((project / "unspin.toml").read_text().replace("streak = 2", "streak = 9"))
    run("gate", last(project)["id"], "override")
    assert run("run", "--resume", last(project)["id"]).exit_code == 3
    assert len(last(project)["verdicts"]) == 4
    run("gate", last(project)["id"], "override")
    assert run("run", "--resume", last(project)["id"], "--config", str(project / "unspin.toml")).exit_code == 3
    assert last(project)["stop_reason"] == "turn cap"


def test_a_pull_request_is_made_only_when_asked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "gh").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/gh.log\necho https://example.com/pull/1\n')
    (tools / "gh").chmod((tools / "gh").stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote"))
    git(project, "remote", "add", "origin", str(tmp_path / "remote"))
    assert go(project).exit_code == 0
    assert git(tmp_path / "remote", "branch", "--list", "*unspin*") == "" and not (tmp_path / "gh.log").exists()
    shutil.rmtree(data_folder())
    result = go(project, "TICKET.md", "--pr")
    assert result.exit_code == 0 and "https://example.com/pull/1" in result.output
    branch = last(project)["branch"]
    assert branch in git(tmp_path / "remote", "branch", "--list", "*unspin*")
    assert (tmp_path / "gh.log").read_text().startswith(f"pr create --head {branch} --title Mend add() --body-file")


def test_the_plan_tells_workers_guard_and_bounds(project: Path) -> None:
    path = project.parent / "claude.toml"
    path.write_text('[run]\nauthor = "claude -p --permission-mode acceptEdits"\n')
    told = " ".join(run("run", "TICKET.md", "--plan", "--config", str(path)).output.split())
    assert "unspin's hooks, by --settings" in told and "a person after 3 design reviews" in told
    assert "correctness, tests, security, simplicity" in told and not os.path.exists(data_folder())


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("author = 3", "run.author = 3: expected a command"),
        ('author = "x"\ncheks = {}', "Did you mean run.checks?"),
        ('author = "x"\n[run.caps]\nturns = 0', "expected a whole number from 1"),
        ('author = "x"\n[run.caps]\nturns = inf', "expected a whole number from 1"),
        ('author = "x"\n[[run.reviewers]]\nname = "a"\ncomand = "x"', "unknown setting run.reviewers[0].comand"),
        ('author = "x"\n[[run.reviewers]]\nname = "checks"', 'not "checks"'),
        ('author = "x"\n[[run.reviewers]]\nname = "a"\n[[run.reviewers]]\nname = "A"', "a name of its own"),
        ('author = "x"\n[[run.reviewers]]\nname = "a-2"\n[[run.reviewers]]\nname = "a"', "a name of its own"),
        ('author = "x"\n[run.stages.review]\nauthor = "x"', "stages of: sketch, design, code"),
        ('author = "x"\n[run.budget]\ncost = -1', "expected a number above 0"),
        ('author = "x"\nprompt_tokens = 10', "at least 1000"),
        ("checks = {}", "run.author is missing"),
    ],
)
def test_a_wrong_setting_is_one_clear_line_and_starts_nothing(project: Path, lines: str, says: str) -> None:
    path = project.parent / "wrong.toml"
    path.write_text(f"[run]\n{lines}\n")
    result = run("run", "TICKET.md", "--config", str(path))
    assert result.exit_code == 2 and says in result.output
    assert sum("run." in line for line in result.output.splitlines()) == 1
    assert not os.path.exists(data_folder())


def test_the_fields_that_scripts_rely_on(project: Path) -> None:
    assert go(project).exit_code == 0
    told = last(project)
    assert {
        "id", "state", "stage", "stop_reason", "author_turns", "verdicts", "open_findings", "branch", "cost"
    } <= set(told)  # fmt: skip
    assert json.loads(run("gate", told["id"], "--json").output) == told
    assert [json.loads(line) for line in run("runs", "--json").output.splitlines()] == [told]


def test_the_contracts_environment(project: Path) -> None:
    seen_env = f"""
    import json as j
    names = {{name: value for name, value in os.environ.items() if name.startswith("UNSPIN_") or name == "SECRET"}}
    open({str(project.parent / "env.jsonl")!r}, "a").write(j.dumps({{**names, "cwd": os.getcwd()}}) + chr(10))
    """
    configure(project, author=AUTHOR + seen_env, reviewer=REVIEWER + seen_env, more='environment = ["WANTED"]\n')
    os.environ["SECRET"] = "x"
    try:
        assert go(project).exit_code == 0
    finally:
        del os.environ["SECRET"]
    told = [json.loads(line) for line in (project.parent / "env.jsonl").read_text().splitlines()]
    assert [(each["UNSPIN_STAGE"], each["UNSPIN_TURN"]) for each in told] == [
        ("sketch", "1"), ("design", "2"), ("review-design", "2"), ("design", "3"), ("review-design", "3"),
        ("code", "4"), ("review-code", "4"),
    ]  # fmt: skip
    home = Path(data_folder()) / last(project)["id"]
    for each in told:
        assert each["UNSPIN_RUN"] == home.name and each["UNSPIN_WORKSPACE"] == str(home / "workspace")
        assert each["cwd"] == str(home / "tree") and "SECRET" not in each
        assert ("UNSPIN_FINDINGS" in each) == each["UNSPIN_STAGE"].startswith("review")
        assert ("UNSPIN_DESIGN" in each) == (not each["UNSPIN_STAGE"].startswith("review"))
