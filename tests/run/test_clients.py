"""What is added to a worker that is a client unspin knows, and what such a worker used."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from run.scripted import AUTHOR, configure, events, go, last, run
from unspin.run import clients, usage
from unspin.run.workspace import data_folder


def started(*command: str) -> list[str]:
    words, settings = clients.prepared(command, path="/p", project="/tree", hand="/hand", workspace="/w")
    assert settings is None
    return words


def test_codex_may_write_its_folder_and_the_handed_over_file() -> None:
    assert started("/bin/codex", "exec") == [
        "/bin/codex", "--sandbox", "workspace-write", "--add-dir", "/hand", "exec"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ["--sandbox", "read-only", "exec"],
        ["exec", "-s", "danger-full-access"],
        ["exec", "--sandbox=workspace-write"],
        ["exec", "--dangerously-bypass-approvals-and-sandbox"],
        ["exec", "--yolo"],
        ["exec", "-c", 'sandbox_mode = "workspace-write"'],
    ],
)
def test_a_sandbox_that_the_command_names_holds(words: list[str]) -> None:
    assert started("codex", *words) == ["codex", "--add-dir", "/hand", *words]


def test_other_commands_are_started_as_they_stand() -> None:
    assert started("codexes", "exec") == ["codexes", "exec"]


def rollout(base: Path, name: str, cwd: str, *, tokens: tuple[int, ...]) -> Path:
    """A transcript of Codex's, written now: one line of counts for each of the model's answers, said twice."""
    folder = base / "sessions" / time.strftime("%Y/%m/%d")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"type": "session_meta", "payload": {"id": name, "cwd": cwd}},
        {"type": "turn_context", "payload": {"cwd": cwd, "model": "gpt-5"}},
    ]
    total = 0
    for each in tokens:
        total += each
        count = {"input_tokens": each, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": each}
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": count}
        lines += [{"type": "event_msg", "payload": {"type": "token_count", "info": info}}] * 2
    stamped = [{"timestamp": f"2026-01-01T00:00:0{at % 10}Z", **line} for at, line in enumerate(lines)]
    path = folder / f"rollout-{name}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in stamped))
    return path


def test_what_codex_used_in_the_folder_since_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    rollout(tmp_path, "a", "/tree", tokens=(100, 250))
    rollout(tmp_path, "elsewhere", "/other", tokens=(7,))
    rollout(tmp_path, "nowhere", "/tr\0ee", tokens=(8,))
    os.utime(rollout(tmp_path, "before", "/tree", tokens=(9,)), (1, 1))
    tokens, dollars = usage.since(time.time() - 60, "/tree")
    assert tokens == 350 and dollars == pytest.approx(350 * 1.25 / 1e6)
    assert usage.since(time.time() - 60, "/nothing") == (0, 0.0)


CODEX = """
    base = pathlib.Path(os.environ["CODEX_HOME"])
    import json as j, time
    folder = base / "sessions" / time.strftime("%Y/%m/%d")
    folder.mkdir(parents=True, exist_ok=True)
    count = {"input_tokens": 500, "output_tokens": 100, "total_tokens": 600}
    lines = [{"type": "session_meta", "payload": {"id": f"s{stage}{turn}", "cwd": os.getcwd()}},
             {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": count, "last_token_usage": count}}}]
    (folder / f"rollout-{stage}{turn}.jsonl").write_text("".join(j.dumps({"timestamp": "2026-01-01T00:00:00Z", **each}) + chr(10) for each in lines))
"""


def test_a_budget_of_tokens_holds_for_codex_too(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    configure(project, author=AUTHOR + CODEX, more="[run.budget]\ntokens = 1000\n")
    assert go(project).exit_code == 3
    told = last(project)
    assert (told["stop_reason"], told["cost"]["tokens"], told["author_turns"]) == ("token budget", 1200, 2)
    assert events(project, "end")[0]["stop_reason"] == "token budget"


def test_a_budget_that_does_not_see_a_worker_says_so(project: Path) -> None:
    configure(project, more="[run.budget]\ntokens = 100000\ncost = 5.0\n")
    told = " ".join(go(project, "TICKET.md", "--plan").output.split())
    assert told.count("the budget of tokens and cost does not see what this worker uses: ") == 2, told
    assert "does not see" in go(project).stderr and os.path.exists(data_folder())
    path = project.parent / "clients.toml"
    path.write_text('[run]\nauthor = "codex exec"\n[run.budget]\ntokens = 5\n')
    assert "does not see" not in run("run", "TICKET.md", "--plan", "--config", str(path)).output


@pytest.mark.parametrize(
    "command",
    ["claude -p --continue", "claude -c -p", "claude --resume=x -p", "codex exec resume --last", "codex exec fork x"],
)
@pytest.mark.parametrize(
    "where",
    [
        "author = '{}'",
        "author = 'x'\n[run.stages.code]\nauthor = '{}'",
        "author = 'x'\n[[run.reviewers]]\nname = 'a'\ncommand = '{}'",
    ],
)
def test_a_worker_that_would_go_on_with_a_session_is_refused(project: Path, command: str, where: str) -> None:
    path = project.parent / "clients.toml"
    path.write_text(f"[run]\n{where.format(command)}\n")
    result = run("run", "TICKET.md", "--config", str(path))
    assert result.exit_code == 2 and "begins with an empty context" in " ".join(result.output.split())
    assert not os.path.exists(data_folder())


def test_the_same_words_of_other_commands_are_theirs(project: Path) -> None:
    assert clients.goes_on_with(["sh", "-c", "claude -p"]) == clients.goes_on_with(["codex", "exec", "-c", "a=b"]) == ""
