"""SWE-agent's trajectories."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.guard import Settings
from unspin.scan import documents
from unspin.scan.readers import swe_agent
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source

SYNTAX = (
    "Your proposed edit has introduced new syntax error(s). Please read this error message carefully.\n\n"
    "ERRORS:\n- E999 IndentationError: unexpected indent\n"
)
TASK = {"role": "user", "content": "Fix the price in shop.py.", "agent": "main"}
INFO = {
    "exit_status": "submitted",
    "model_stats": {"instance_cost": 0.3, "tokens_sent": 300, "tokens_received": 30, "api_calls": 3},
}


def old(action: str, observation: str = "", file: str = "n/a", folder: str = "/shop") -> dict[str, Any]:
    """A step of a version before 1: the state is that before the action, as text."""
    state = json.dumps({"open_file": file, "working_dir": folder})
    return {"action": action, "observation": observation, "response": "", "state": state, "thought": ""}


def new(action: str, observation: str = "", file: str = "n/a", folder: str = "/shop") -> dict[str, Any]:
    """A step since version 1: the state is that after the action."""
    state = {"open_file": file, "working_dir": folder}
    return {"action": action, "observation": observation, "thought": "", "execution_time": 0.1, "state": state}


def write(folder: Path, steps: Any, info: Any = INFO, history: Any = None) -> Source:
    path = folder / "shop-1.traj"
    document = {"environment": "main", "trajectory": steps, "history": history or [{"role": "system"}, TASK]}
    path.write_text(json.dumps({**document, "info": info}))
    return Source(str(path))


def results(source: Source) -> list[ev.ToolResult]:
    return [thing for thing, _ in swe_agent.read(source) if isinstance(thing, ev.ToolResult)]


def scanned(source: Source) -> Result:
    return scan(source, Settings())


def test_a_run(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        [
            old("open shop.py\n", "[File: /shop/shop.py (3 lines total)]\n1:"),
            old("edit 1:2\nprice = 1\nend_of_edit\n", "[File: /shop/shop.py (2 lines total)]", "/shop/shop.py"),
            old("submit\n", "diff", "/shop/shop.py"),
        ],
    )
    result = scanned(source)
    assert result.format == "swe-agent" and result.errors == []
    (session,) = result.sessions
    assert (session.session, session.project, session.how) == ("shop-1", "/shop", "submitted")
    assert (session.tool_calls, session.rounds, session.messages, session.edits) == (3, 3, 1, 1)
    assert session.dollars == pytest.approx(0.3) and session.tokens == 330
    found = results(source)
    assert [each.call.action for each in found] == [ev.READ, ev.EDIT, ev.SHELL]
    (edit,) = found[1].call.edits
    assert (edit.path, edit.old, edit.new) == ("/shop/shop.py", None, "price = 1")


@pytest.mark.parametrize(
    ("action", "path", "before", "after"),
    [
        ("edit 3:4\na\n\nb\nend_of_edit", "/shop/open.py", None, "a\n\nb"),
        ("edit\na = 1\nend_of_edit", "/shop/open.py", None, "a = 1"),
        ("edit 3:4\nend_of_edit", "/shop/open.py", None, ""),
        ("edit 'a b' 'it'\\''s' False", "/shop/open.py", "a b", "it's"),
        ("insert 'one\ntwo' 3", "/shop/open.py", None, "one\ntwo"),
        ('create "new file.py"', "/shop/new file.py", None, ""),
        ("create /tmp/x.py", "/tmp/x.py", None, ""),
        (
            "str_replace_editor str_replace /shop/a.py --old_str 'x = 1\n' --new_str 'x = 2\n'",
            "/shop/a.py",
            "x = 1\n",
            "x = 2\n",
        ),
        ("str_replace_editor create /shop/b.py --file_text 'print(1)'", "/shop/b.py", None, "print(1)"),
        ("str_replace_editor insert /shop/b.py --insert_line 3 --new_str='y'", "/shop/b.py", None, "y"),
        ("str_replace_editor undo_edit /shop/b.py", "/shop/b.py", None, ""),
    ],
)
def test_edits(tmp_path: Path, action: str, path: str, before: str | None, after: str) -> None:
    (found,) = results(write(tmp_path, [old(action, "done", "/shop/open.py")]))
    (edit,) = found.call.edits
    assert found.call.action == ev.EDIT and not found.refused
    assert (edit.path, edit.old, edit.new) == (path, before, after)


@pytest.mark.parametrize(
    "observation",
    [
        SYNTAX,
        "Your edit was not applied (file not modified): Text 'x' not found in displayed lines.",
        "No replacement was performed, old_str `x` did not appear verbatim in /shop/a.py.",
        "Your search and replace strings are the same. No changes were made.",
        "No file open. Use the open command first.",
        "File already exists at: /shop/a.py. Cannot overwrite files using command `create`.",
        "Error: File 'a.py' already exists.",
        "bash: edit: command not found",
    ],
)
def test_edits_that_the_tool_refused(tmp_path: Path, observation: str) -> None:
    (found,) = results(write(tmp_path, [old("edit 1:1\nx\nend_of_edit", observation, "/shop/a.py")]))
    assert (found.refused, found.failed) == (ev.BY_TOOL, True)


def test_refused_edits_are_noticed_whatever_they_say(tmp_path: Path) -> None:
    steps = [old(f"edit {line}:9\nx\nend_of_edit", SYNTAX, "/shop/a.py") for line in (7, 8, 9)]
    (session,) = scanned(write(tmp_path, steps)).sessions
    assert [(each.rule, each.file, each.event_index) for each in session.found] == [("rejected_edits", "a.py", 3)]


def test_paging_is_no_loop(tmp_path: Path) -> None:
    steps = [old("scroll_down", f"[File: /shop/a.py (900 lines total)]\n{page}00:x = {page}") for page in range(8)]
    (session,) = scanned(write(tmp_path, steps)).sessions
    assert session.found == [] and session.tool_calls == 8
    assert {each.call.action for each in results(write(tmp_path, steps))} == {ev.READ}


def test_a_step_before_version_1_tells_the_folder_before_its_action(tmp_path: Path) -> None:
    steps = [old("cd src"), old("sed -i s/a/b/ x.py", folder="/shop/src")]
    assert [each.call.cwd for each in results(write(tmp_path, steps))] == ["/shop", "/shop/src"]


def test_a_step_of_version_1_tells_the_folder_and_file_after_it(tmp_path: Path) -> None:
    steps = [
        new("ls", folder="/shop"),
        new("cd src", folder="/shop/src"),
        new("open x.py", "[File: x.py (9 lines total)]", "x.py", "/shop/src"),
        new("edit 'a' 'b'", "Text replaced.", "/shop/src/x.py", "/shop/src"),
    ]
    found = results(write(tmp_path, steps))
    assert [each.call.cwd for each in found] == ["/shop", "/shop", "/shop/src", "/shop/src"]
    assert found[3].call.edits[0].path == "/shop/src/x.py"


@pytest.mark.parametrize(
    ("command", "output", "status", "bad"),
    [
        ("python x.py", 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no\n', None, True),
        ("python x.py", "ValueError: this is printed", None, False),
        ("pytest", "FAILED a.py::test_x\n===== 1 failed, 2 passed in 0.1s =====", None, True),
        ("pytest", "===== 3 passed in 0.1s =====", None, False),
        ("grep x y", "", None, False),
        ("tsc", "a.ts(1,2): error TS2304: Cannot find name 'x'.", None, True),
        ("frobnicate", "/bin/bash: line 1: frobnicate: command not found", None, True),
        ("curl x", "<html>///PROCESS-DONE:7:PROCESS-DONE///", 7, True),
        ("curl x", "<html>///PROCESS-DONE:0:PROCESS-DONE///", 0, False),
        ("./rock", "\nEXECUTION TIMED OUT", 124, True),
    ],
)
def test_how_a_command_ended(tmp_path: Path, command: str, output: str, status: int | None, bad: bool) -> None:
    (found,) = results(write(tmp_path, [old(command, output)]))
    assert (found.exit_code, found.failed) == (status, bad)


def test_steps_that_are_no_calls(tmp_path: Path) -> None:
    steps = [old("exit_cost", "Exit due to cost limit"), old(""), new("ls"), 7, None]
    result = scanned(write(tmp_path, steps, info={"exit_status": "submitted (exit_cost)"}))
    assert result.sessions[0].tool_calls == 1 and result.sessions[0].how == "submitted (exit_cost)"
    assert result.skipped == {"step without action": 2, "int": 1, "NoneType": 1}


def test_the_task_is_the_first_message_that_is_no_demonstration(tmp_path: Path) -> None:
    demo = {"role": "user", "content": "Here is a demonstration", "is_demo": True, "agent": "main"}
    source = write(tmp_path, [old("ls")], history=[{"role": "system"}, demo, TASK, {"role": "user", "content": "out"}])
    messages = [thing for thing, _ in swe_agent.read(source) if isinstance(thing, ev.Message)]
    assert [(each.text, each.by_person) for each in messages] == [("Fix the price in shop.py.", True)]


def test_a_demonstration_has_its_history_alone(tmp_path: Path) -> None:
    after = "\n(Open file: /shop/a.py)\n(Current directory: /shop)\nbash-$"
    history = [
        {"role": "system", "content": "x", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": f"Fix it{after}", "agent": "main", "message_type": "observation"},
        {"role": "assistant", "action": "open a.py", "content": "", "agent": "main"},
        {"role": "tool", "content": f"[File: a.py (3 lines total)]{after}", "agent": "main"},
        {"role": "assistant", "action": "edit 'a' 'b'", "content": "", "agent": "main"},
        {"role": "tool", "content": f"Text replaced.{after}", "agent": "main"},
        {"role": "assistant", "action": "submit", "content": "", "agent": "main"},
    ]
    path = tmp_path / "demo.traj"
    path.write_text(json.dumps({"history": history}))
    result = scanned(Source(str(path)))
    (session,) = result.sessions
    assert (session.tool_calls, session.messages, session.edits, session.project) == (3, 1, 1, "/shop")
    found = results(Source(str(path)))
    assert found[0].output == "[File: a.py (3 lines total)]"
    assert found[1].call.edits[0].path == "/shop/a.py"


def test_in_pieces_it_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, [old("open a.py", "[File: /shop/a.py (3 lines total)]"), old("ls"), new("pytest")])
    whole = scanned(source)
    monkeypatch.setattr(documents, "WHOLE", 100)
    assert scanned(source) == whole


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ACTION = st.sampled_from(
    ["edit", "edit 'a", "create", "str_replace_editor", "insert", "open", "\0", "submit '", " \n "]
)
STEP = st.dictionaries(
    st.sampled_from(["action", "observation", "state", "execution_time", "role", "content", "is_demo"]), ACTION | JSON
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP | JSON, max_size=6) | JSON, info=JSON | st.just(INFO), history=st.lists(STEP | JSON))
def test_no_content_raises(tmp_path: Path, steps: Any, info: Any, history: Any) -> None:
    scanned(write(tmp_path, steps, info, history))


@pytest.mark.corpora
def test_recorded_runs(shared: Path) -> None:
    """Every file reads without an error; calls equal a count by plain json."""
    files = sorted((shared / "corpora" / "swe_agent_demos").glob("*.gz"))
    assert len(files) == 22
    for file in files:
        document = json.loads(gzip.decompress(file.read_bytes()))
        steps = document.get("trajectory") or [each for each in document["history"] if each["role"] == "assistant"]
        result = scanned(Source(str(file)))
        assert (result.format, result.errors) == ("swe-agent", []), file.name
        (session,) = result.sessions
        assert session.tool_calls == session.rounds == len(steps) and session.messages == 1
        assert session.how == document.get("info", {}).get("exit_status", "")
        edits = [each for each in steps if each["action"].split()[0] in ("edit", "insert", "create")]
        refused = [each for each in edits if "new syntax error" in str(each.get("observation"))[:200]]
        assert session.edits == len(edits) - len(refused)
        stats = document.get("info", {}).get("model_stats", {})
        assert session.dollars == pytest.approx(stats.get("instance_cost", 0))
        assert session.tokens == stats.get("tokens_sent", 0) + stats.get("tokens_received", 0)
