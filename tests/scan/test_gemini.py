"""Gemini CLI's chats: small files in the real shapes."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.cost.prices import Usage
from unspin.guard import Settings
from unspin.scan import formats
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.readers import gemini
from unspin.scan.scanning import scan
from unspin.scan.source import Source

CONTEXT = "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /shop\n</session_context>"
TOKENS = {"input": 1000, "output": 50, "cached": 200, "thoughts": 5, "tool": 0, "total": 1055}


def call(
    identity: str, name: str, args: Any, output: str = "ok", *, error: bool = False, **more: Any
) -> dict[str, Any]:
    response = {"error" if error else "output": output}
    return {
        "id": identity,
        "name": name,
        "args": args,
        "result": [{"functionResponse": {"id": identity, "name": name, "response": response}}],
        "status": "error" if error else "success",
        "timestamp": "2026-03-01T10:00:05.000Z",
        **more,
    }


def shell(identity: str, command: str, output: str) -> dict[str, Any]:
    return call(
        identity, "run_shell_command", {"command": command}, f"<untrusted_context>\n{output}\n</untrusted_context>"
    )


class Chat:
    """Writes a chat as the client does: a message, then the same again with its calls."""

    def __init__(self) -> None:
        self.entries: list[Any] = [
            {
                "sessionId": "s-1234567890",
                "projectHash": "f" * 64,
                "startTime": "t",
                "lastUpdated": "t",
                "kind": "main",
            },
            {"$set": {"messages": [self.message("user", [{"text": CONTEXT}], "c0")], "lastUpdated": "t"}},
        ]

    def message(self, of: str, content: Any, identity: str = "", **more: Any) -> dict[str, Any]:
        at = len(getattr(self, "entries", ()))
        time = f"2026-03-01T10:00:{at % 60:02}.000Z"
        return {"id": identity or f"m{at}", "timestamp": time, "type": of, "content": content, **more}

    def user(self, text: Any, identity: str = "") -> Chat:
        self.entries.append(self.message("user", [{"text": text}] if isinstance(text, str) else text, identity))
        return self

    def model(self, *calls: dict[str, Any], text: str = "I will.", **more: Any) -> Chat:
        first = self.message("gemini", text, tokens=TOKENS, thoughts=[], model="gemini-3-pro", **more)
        self.entries += [first, {"$set": {"lastUpdated": "t"}}]
        if calls:
            answers = [each["result"][0] for each in calls if each.get("result")]
            self.entries += [{**first, "toolCalls": list(calls)}, self.message("user", answers, f"{first['id']}r")]
        return self

    def write(self, path: Path) -> Source:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in self.entries)
        path.write_text(data, "utf-8")
        return Source(str(path))

    def read(self, folder: Path) -> list[Any]:
        return [thing for thing, _ in gemini.read(self.write(folder / "session-2026-03-01T10-00-s-123456.jsonl"))]


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def test_a_message_written_again_counts_once_and_the_last_one_holds(tmp_path: Path) -> None:
    things = Chat().user("Fix it.").model(shell("a", "npm test", "Output: fine")).model(text="Done.").read(tmp_path)
    shapes = [type(each).__name__ for each in things if not isinstance(each, Skipped)]
    assert shapes == ["Began", "Message", "Used", "ContextSize", "ToolResult", "RoundEnd", "Used"]
    began, message = things[0], next(each for each in things if isinstance(each, ev.Message))
    assert (began.session, began.cwd, began.agent) == ("s-1234567890", "/shop", "gemini")
    assert message.text == "Fix it." and message.by_person
    used = next(each for each in things if isinstance(each, Used))
    assert used.usage == Usage(800, 55, 200) and used.model == "gemini-3-pro"
    assert next(each for each in things if isinstance(each, ev.ContextSize)).tokens == 1055


@pytest.mark.parametrize(
    ("output", "code", "text"),
    [
        ("Output: out\nerr\nProcess Group PGID: 7", 0, "out\nerr"),
        ("Output: bad\nExit Code: 3\nProcess Group PGID: 7", 3, "bad"),
        ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", 137, ""),
        ("Output: (empty)\nSignal: SIGTERM\nProcess Group PGID: 7", 143, ""),
        ("Output: Exit Code: 3\nProcess Group PGID: 7", 0, "Exit Code: 3"),
        ("Output: a\nExit Code: 1\nb\nProcess Group PGID: 7", 0, "a\nExit Code: 1\nb"),
        (
            "Command: npm test\nDirectory: (root)\nOutput: no\nError: (none)\nExit Code: 1\nSignal: (none)\n"
            "Background PIDs: (none)\nProcess Group PGID: 9",
            1,
            "no",
        ),
        ("Command: npm test\nDirectory: (root)\nStdout: a\nStderr: (empty)\nError: (none)\nExit Code: 0", 0, "a\nStderr: (empty)"),
        ("Command was automatically cancelled because it exceeded the timeout of 5.0 minutes", 124, None),
        ("something else", None, "something else"),
    ],
)  # fmt: skip
def test_the_status_of_a_command(tmp_path: Path, output: str, code: int | None, text: str | None) -> None:
    (result,) = results(Chat().user("x").model(shell("a", "npm test", output)).read(tmp_path))
    assert result.exit_code == code and result.failed == bool(code)
    assert text is None or result.output == text


def test_what_was_refused_and_stopped(tmp_path: Path) -> None:
    edit = {"file_path": "/shop/a.py", "old_string": "x", "new_string": "y"}
    chat = Chat().user("x")
    chat.model(call("a", "replace", edit, "Could not find an exact match", error=True))
    chat.model(call("b", "replace", edit, "[Operation Cancelled] Reason: User denied execution.", error=True))
    chat.model(
        {
            **call("c", "run_shell_command", {"command": "make"}, "Command was cancelled by user", error=True),
            "status": "cancelled",
        }
    )
    chat.model(call("d", "run_shell_command", {"command": "make"}, "Tool execution denied by policy.", error=True))
    chat.model(shell("e", "make serve", "Command moved to background (PID: 7). Output hidden."))
    chat.model(call("f", "no_such_tool", {}, "not found", error=True))
    a, b, c, d, e, f = results(chat.read(tmp_path))
    assert (a.refused, a.failed) == (ev.BY_TOOL, True)
    assert b.refused == ev.BY_PERSON
    assert c.interrupted and not c.refused
    assert d.refused == ev.BY_HOOK
    assert e.background and e.exit_code is None
    assert f.failed and f.call.action == ev.OTHER


def test_edits_have_their_texts(tmp_path: Path) -> None:
    shown = {"fileName": "a.py", "filePath": "/shop/a.py", "originalContent": "x = 1\n", "newContent": "x = 2\n"}
    given = {"file_path": "a.py", "old_string": "1", "new_string": "2", "instruction": "count up"}
    write = call("b", "write_file", {"file_path": "/shop/b.py", "content": "y\n"})
    replaced, written = results(
        Chat().user("x").model(call("a", "replace", given, resultDisplay=shown), write).read(tmp_path)
    )
    (edit,) = replaced.call.edits
    assert (edit.path, edit.old, edit.new) == ("a.py", "1", "2")
    assert replaced.call.texts == {"/shop/a.py": ("x = 1\n", "x = 2\n")}
    assert "count up" not in replaced.call.arguments
    assert (written.call.edits[0].old, written.call.edits[0].new, written.position) == (None, "y\n", 1)


def test_who_spoke(tmp_path: Path) -> None:
    chat = Chat().user("/compress").user("?").user("<hook_context>be kind</hook_context>\n\nFix it.")
    chat.user("/home/shop is broken").user("   ")
    things = chat.read(tmp_path)
    assert [each.text for each in things if isinstance(each, ev.Message)] == ["Fix it.", "/home/shop is broken"]


def test_actions(tmp_path: Path) -> None:
    names = {
        "write_todos": ev.NOTE,
        "ask_user": ev.ASK,
        "invoke_agent": ev.AGENT,
        "grep_search": ev.READ,
        "mcp_x": ev.OTHER,
    }
    found = results(Chat().user("x").model(*(call(f"i{each}", each, {"a": 1}) for each in names)).read(tmp_path))
    assert {each.call.tool: each.call.action for each in found} == names


def test_a_compression_and_a_history_written_again(tmp_path: Path) -> None:
    chat = Chat().user("Fix it.", "u1").model(shell("a", "make", "Output: fine"))
    kept = [each for each in chat.entries if isinstance(each, dict) and each.get("type") == "gemini"][-1:]
    summary = chat.message("user", [{"text": "<state_snapshot>\nall is well\n</state_snapshot>"}], "sum")
    chat.entries.append({"$set": {"messages": [summary, *kept], "lastUpdated": "t"}})
    chat.entries.append({"$set": {"messages": [summary, *kept], "lastUpdated": "t"}})
    chat.entries.append({"$rewindTo": "u1"})
    things = chat.user("Go on.").read(tmp_path)
    assert [each.done for each in things if isinstance(each, ev.Compaction)] == [False, True]
    assert len(results(things)) == 1
    assert [each.text for each in things if isinstance(each, ev.Message)] == ["Fix it.", "Go on."]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_older_document(tmp_path: Path, indent: int | None) -> None:
    messages = [
        {"id": "1", "timestamp": "2025-10-18T14:57:28.974Z", "type": "user", "content": "List the files"},
        {
            "id": "2", "timestamp": "2025-10-18T14:57:29.974Z", "type": "gemini", "content": "", "model": "gemini-2.5-pro",
            "tokens": TOKENS, "toolCalls": [call("a", "list_directory", {"path": "/shop"}, "a.py")],
        },
        {"id": "3", "timestamp": "2025-10-18T14:57:30.974Z", "type": "info", "content": "bye"},
    ]  # fmt: skip
    path = tmp_path / "session-2025-10-18T14-57-f86f5318.json"
    document = {
        "sessionId": "f86f5318",
        "projectHash": "a" * 64,
        "startTime": "t",
        "lastUpdated": "t",
        "messages": messages,
    }
    path.write_text(json.dumps(document, indent=indent))
    source = Source(str(path))
    assert formats.reader(source).NAME == "gemini"
    things = [thing for thing, _ in gemini.read(source)]
    assert [type(each).__name__ for each in things] == [
        "Began", "Message", "Used", "ContextSize", "ToolResult", "RoundEnd", "Skipped",
    ]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_whose_members_were_sorted(tmp_path: Path, indent: int | None) -> None:
    """Tools that keep chats elsewhere write them anew: then its names stand behind all its messages."""
    answer = {
        "id": "m2",
        "timestamp": "t",
        "type": "gemini",
        "content": "y" * 5000,
        "toolCalls": [shell("c1", "ls", "a")],
    }
    document = {
        "kind": "main",
        "lastUpdated": "2026-03-01T10:00:09.000Z",
        "messages": [{"id": "m1", "timestamp": "t", "type": "user", "content": "List it"}, answer],
        "projectHash": "f" * 64,
        "sessionId": "s-1234567890",
    }
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(document, indent=indent))
    assert formats.reader(Source(str(path))) is gemini
    found = scan(Source(str(path)), Settings())
    assert [(each.session, each.tool_calls) for each in found.sessions] == [("s-1234567890", 1)]


def test_the_project_is_known_from_beside_the_chats(tmp_path: Path) -> None:
    chat = Chat()
    del chat.entries[1]
    (tmp_path / ".project_root").write_text("/shop")
    things = [thing for thing, _ in gemini.read(chat.user("x").write(tmp_path / "chats" / "session-a.jsonl"))]
    assert things[0].cwd == "/shop"


def test_subagents_are_read_with_their_session(tmp_path: Path) -> None:
    chats = tmp_path / "chats"
    main = (
        Chat().user("x").model(call("a", "invoke_agent", {"prompt": "look"})).write(chats / "session-1-s-123456.jsonl")
    )
    sub = Chat().user("look").model(shell("b", "ls", "Output: a"))
    sub.entries[0] = {**sub.entries[0], "sessionId": "sub-1", "kind": "subagent"}
    beside = sub.write(chats / "s-1234567890" / "sub-1.jsonl")
    things = [thing for thing, _ in gemini.read(main)]
    assert sum(isinstance(each, Began) for each in things) == 1
    assert {(each.call.action, each.call.agent) for each in results(things)} == {(ev.AGENT, ""), (ev.SHELL, "sub-1")}
    assert [type(thing).__name__ for thing, _ in gemini.read(beside)] == ["Skipped"]
    alone = [thing for thing, _ in gemini.read(sub.write(tmp_path / "sub-1.jsonl"))]
    assert [each.call.agent for each in results(alone)] == ["sub-1"]
    assert not any(isinstance(each, ev.Message) for each in alone)


def test_broken_and_strange_lines(tmp_path: Path) -> None:
    chat = Chat().user("x")
    chat.entries += [
        "{",
        "[1]",
        '"text"',
        json.dumps({"id": "z", "type": "gemini", "toolCalls": "no", "tokens": []}),
        '{"id":"q","type":7}',
    ]
    things = chat.model(shell("a", "ls", "Output: a")).read(tmp_path)
    assert [each.line for each in things if isinstance(each, Broken)] == [4]
    assert len(results(things)) == 1


def test_a_first_line_that_is_broken_does_not_cost_the_others(tmp_path: Path) -> None:
    chat = Chat().user("x").model(shell("a", "ls", "Output: a"))
    chat.entries[0] = json.dumps(chat.entries[0])[:-1]
    things = chat.read(tmp_path)
    assert [each.line for each in things if isinstance(each, Broken)] == [1]
    assert len(results(things)) == 1


def test_a_damaged_archive_is_reported(tmp_path: Path) -> None:
    whole = Chat().user("x").model(shell("a", "ls", "Output: a")).write(tmp_path / "a.jsonl")
    path = tmp_path / "b.jsonl.gz"
    path.write_bytes(gzip.compress(Path(whole.path).read_bytes())[:-20])
    assert any(isinstance(thing, Broken) for thing, _ in gemini.read(Source(str(path))))


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.integers(0, 60), ANY), max_size=6))
@settings(max_examples=60, deadline=None)
def test_values_of_any_type(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]]) -> None:
    chat = Chat().user("x").model(shell("a", "ls", "Output: a"), call("b", "replace", {"file_path": "/a"}))
    for at, value in changes:
        places: list[tuple[Any, Any]] = []

        def walk(value: Any, places: list[tuple[Any, Any]] = places) -> None:
            for key, each in value.items() if isinstance(value, dict) else enumerate(value):
                places.append((value, key))
                if isinstance(each, dict | list):
                    walk(each)

        walk(chat.entries)
        holder, key = places[at % len(places)]
        holder[key] = copy.deepcopy(value)
    source = chat.write(tmp_path_factory.mktemp("any") / "session-a.jsonl")
    scan(source, Settings(), format="gemini")
