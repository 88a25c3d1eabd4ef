"""unspin handoff, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from driver import Client
from unspin.cli.app import app
from unspin.paths import state_folder
from unspin.store import Store

FAILS = "E   TypeError: no price\nFAILED test_a.py::test_a - TypeError: no price"


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=text)


@pytest.fixture
def session(agent: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    agent.store.close()
    agent.store = Store(state_folder())
    agent.prompt("Make it right.")
    agent.round(agent.edit("a.py"))
    agent.round(agent.bash("pytest -q", FAILS, 1))
    agent.round(agent.bash("npm run build | tail -3", "ok"))
    monkeypatch.chdir(agent.project)
    return agent


def start(agent: Client, source: str = "startup", session: str = "fresh") -> str:
    agent.session = session
    return agent.send("SessionStart", source=source).line


def test_it_is_printed_and_kept_for_the_next_fresh_session_once(session: Client) -> None:
    made = run("handoff")
    assert made.exit_code == 0 and "# Handoff of session" in made.stdout and '"Make it right."' in made.stdout
    assert "kept for the next fresh session" in made.stderr
    own = session.session
    assert start(session, session=own) == ""
    assert start(session, "resume") == "" and start(session, "compact", "other") == ""
    assert "# Handoff of session" in start(session, "clear", "cleared")
    assert start(session, "startup", "later") == ""


def test_nothing_is_kept_when_not_wanted(session: Client) -> None:
    assert run("handoff", "--no-keep").exit_code == 0
    assert start(session) == ""


def test_another_folder_gets_none(session: Client, tmp_path: Path) -> None:
    run("handoff")
    session.cwd = str(tmp_path)
    assert start(session) == ""


def test_into_a_file_never_over_one_that_is_not_ours(session: Client) -> None:
    target = session.project / "HANDOFF.md"
    assert run("handoff", "-o", str(target)).exit_code == 0
    assert run("handoff", "-o", str(target), "--tokens", "400").exit_code == 0
    (session.project / "README.md").write_text("mine\n")
    refused = run("handoff", "-o", "README.md")
    assert refused.exit_code == 1 and "is there already" in refused.output
    assert (session.project / "README.md").read_text() == "mine\n"
    assert run("handoff", "-o", str(session.project)).exit_code == 1
    assert run("handoff", "-o", "no/such/folder/x.md").exit_code == 1


def test_the_facts_whole(session: Client) -> None:
    document = json.loads(run("handoff", "--json").stdout)
    assert document["session"] == session.session
    assert [each["outcome"] for each in document["checks"]] == ["failed", "unknown"]


def test_an_own_account_is_tagged(session: Client) -> None:
    text = "All tests pass.\nThe build passes, and I edited `a.py`.\nDo the tests pass?\n"
    tagged = run("handoff", "--check", "-", text=text)
    assert tagged.exit_code == 0
    lines = tagged.stdout.splitlines()
    assert lines[0] == "All tests pass. [contradicted: last test run failed]"
    assert "[unverified: piped]" in lines[1] and "[verified]" in lines[1]
    assert lines[2] == "Do the tests pass?"
    rows = [json.loads(line) for line in run("handoff", "--check", "-", "--json", text=text).stdout.splitlines()]
    assert rows[0]["tag"] == "[contradicted: last test run failed]" and rows[0]["claim"] in text
    assert run("handoff", "--check", "missing.md").exit_code == 1


def test_without_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("handoff")
    assert result.exit_code == 1 and "no session was seen" in result.output
