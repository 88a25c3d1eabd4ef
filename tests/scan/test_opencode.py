"""OpenCode's sessions: a small database, export and storage in the real shapes, with the same content."""

from __future__ import annotations

import copy
import gzip
import json
import os
import sqlite3
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
from unspin.scan.readers import opencode
from unspin.scan.scanning import scan
from unspin.scan.source import Source

TABLES = """
CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text, `parent_id` text, `directory` text NOT NULL,
  `title` text, `time_created` integer NOT NULL);
CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL,
  `time_updated` integer NOT NULL, `data` text NOT NULL);
CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,
  `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL);
"""
TOKENS = {"total": 1050, "input": 800, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 200}}
START = 1_772_359_200_000  # 2026-03-01T10:00:00Z


def tool(name: str, given: Any, output: str = "ok", *, error: bool = False, **metadata: Any) -> dict[str, Any]:
    state = {"status": "error" if error else "completed", "input": given, "error" if error else "output": output}
    return {
        "type": "tool",
        "tool": name,
        "callID": "c",
        "state": {**state, "metadata": metadata, "time": {"start": START}},
    }


class Store:
    """Sessions with their messages and parts, to be written in each of the forms."""

    def __init__(self) -> None:
        self.sessions: list[dict[str, Any]] = []
        self.messages: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        self.session("ses_main0001")

    def session(self, identity: str, parent: str = "") -> Store:
        info = {"id": identity, "version": "1", "projectID": "global", "directory": "/shop", "title": "t"}
        info["time"] = {"created": START + len(self.messages)}
        self.sessions.append({**info, **({"parentID": parent} if parent else {})})
        return self

    def add(self, role: str, *parts: dict[str, Any], **more: Any) -> Store:
        session = more.pop("sessionID", self.sessions[-1]["id"])
        identity = f"msg_{len(self.messages):08}"
        info = {
            "id": identity,
            "sessionID": session,
            "role": role,
            "time": {"created": START + len(self.messages) * 1000},
        }
        named = [
            {"id": f"prt_{len(self.messages):04}{at:04}", "sessionID": session, "messageID": identity, **each}
            for at, each in enumerate(parts)
        ]
        self.messages.append(({**info, **more}, named))
        return self

    def user(self, text: str, **more: Any) -> Store:
        return self.add("user", {"type": "text", "text": text, **more})

    def model(self, *calls: dict[str, Any], **more: Any) -> Store:
        finish = {"type": "step-finish", "reason": "tool-calls", "tokens": TOKENS, "cost": 0.25}
        said = {"type": "text", "text": "I will."}
        more = {"modelID": "m", "path": {"cwd": "/shop", "root": "/"}, "tokens": TOKENS, **more}
        return self.add("assistant", {"type": "step-start"}, said, *calls, finish, **more)

    def database(self, path: Path) -> Source:
        connection = sqlite3.connect(path)
        connection.executescript(TABLES)
        for each in self.sessions:
            row = (each["id"], each["projectID"], each.get("parentID"), each["directory"], each["title"])
            connection.execute("INSERT INTO session VALUES (?,?,?,?,?,?)", (*row, each["time"]["created"]))
        for info, parts in self.messages:
            held = {key: value for key, value in info.items() if key not in ("id", "sessionID")}
            at = info["time"]["created"]
            connection.execute(
                "INSERT INTO message VALUES (?,?,?,?,?)", (info["id"], info["sessionID"], at, at, json.dumps(held))
            )
            for part in parts:
                held = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
                row = (part["id"], info["id"], info["sessionID"], at, at, json.dumps(held))
                connection.execute("INSERT INTO part VALUES (?,?,?,?,?,?)", row)
        connection.commit()
        connection.close()
        return Source(str(path))

    def export(self, path: Path) -> Source:
        own = self.sessions[0]
        messages = [{"info": info, "parts": parts} for info, parts in self.messages if info["sessionID"] == own["id"]]
        path.write_text(json.dumps({"info": own, "messages": messages}, indent=2))
        return Source(str(path))

    def storage(self, folder: Path, *, older: bool = False) -> Source:
        base = folder / "storage" / ("session" if older else "")
        infos = base / "info" if older else base / "session" / "global"
        for path, value in [
            *((infos / f"{each['id']}.json", each) for each in self.sessions),
            *((base / "message" / info["sessionID"] / f"{info['id']}.json", info) for info, _ in self.messages),
            *(
                (base / "part" / (info["sessionID"] if older else "") / info["id"] / f"{part['id']}.json", part)
                for info, parts in self.messages
                for part in parts
            ),
        ]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value, indent=2))
        return Source(str(infos / f"{self.sessions[0]['id']}.json"))

    def read(self, folder: Path) -> list[Any]:
        return [thing for thing, _ in opencode.read(self.database(folder / "opencode.db"))]


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def shape(source: Source) -> list[Any]:
    assert formats.reader(source).NAME == "opencode"
    return [
        (type(thing).__name__, when[:19], getattr(getattr(thing, "call", None), "label", ""))
        for thing, when in opencode.read(source)
        if not isinstance(thing, Began)
    ]


def a_session() -> Store:
    store = Store().user("Fix it.")
    store.model(
        tool("bash", {"command": "make", "description": "d"}, "no\n", exit=2), tool("read", {"filePath": "/shop/a.py"})
    )
    store.model(tool("edit", {"filePath": "/shop/a.py", "oldString": "1", "newString": "2"}))
    return store.model()


def test_all_forms_say_the_same(tmp_path: Path) -> None:
    store = a_session()
    found = shape(store.database(tmp_path / "opencode.db"))
    assert [each[0] for each in found] == [
        "Message", "Used", "ContextSize", "ToolResult", "ToolResult", "RoundEnd",
        "Used", "ContextSize", "ToolResult", "RoundEnd", "Used",
    ]  # fmt: skip
    assert found[0][1] == "2026-03-01T10:00:00" and found[3][2] == "make"
    assert shape(store.export(tmp_path / "export.json")) == found
    assert shape(store.storage(tmp_path / "a")) == found
    assert shape(store.storage(tmp_path / "b", older=True)) == found
    packed = tmp_path / "opencode.db.gz"
    packed.write_bytes(gzip.compress((tmp_path / "opencode.db").read_bytes()))
    assert shape(Source(str(packed))) == found


def test_what_was_used(tmp_path: Path) -> None:
    things = a_session().read(tmp_path)
    used = [each for each in things if isinstance(each, Used)]
    assert used[0].usage == Usage(800, 50, 200) and used[0].dollars == 0.25
    assert len({each.key for each in used}) == 3
    assert next(each for each in things if isinstance(each, ev.ContextSize)).tokens == 1050


def test_a_message_without_steps_tells_its_own_count(tmp_path: Path) -> None:
    old = {"input": 10, "output": 5, "reasoning": 1, "cache": {"read": 2, "write": 3}}
    call = tool("bash", {"command": "ls"}, "a", exit=0)
    things = Store().add("assistant", call, modelID="m", tokens=old, cost=0).read(tmp_path)
    (used,) = [each for each in things if isinstance(each, Used)]
    assert used.usage == Usage(10, 6, 2, 3) and used.dollars is None
    assert len(results(things)) == 1


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (tool("bash", {"command": "x"}, "a\n", exit=0), {"exit_code": 0, "failed": False, "output": "a\n"}),
        (tool("bash", {"command": "x"}, "(no output)", exit=3), {"exit_code": 3, "failed": True, "output": ""}),
        (
            tool("bash", {"command": "x"}, "a\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 9 ms.\n</shell_metadata>", exit=None),
            {"exit_code": 124, "failed": True, "output": "a"},
        ),
        (
            tool("bash", {"command": "x"}, "a\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>", exit=None),
            {"exit_code": None, "interrupted": True, "output": "a"},
        ),
        (tool("bash", {"command": "x"}, "The user rejected permission to use this specific tool call.", error=True), {"refused": ev.BY_PERSON, "comment": False}),
        (
            tool("edit", {"filePath": "/a"}, "The user rejected permission to use this specific tool call with the following feedback: no", error=True),
            {"refused": ev.BY_PERSON, "comment": True},
        ),
        (tool("bash", {"command": "x"}, "The user has specified a rule which prevents you from it", error=True), {"refused": ev.BY_HOOK}),
        (tool("edit", {"filePath": "/a"}, "Could not find oldString in the file.", error=True), {"refused": ev.BY_TOOL, "failed": True}),
        (tool("bash", {"command": "x"}, "Tool execution aborted", error=True), {"interrupted": True, "refused": ""}),
        (tool("question", {"questions": []}, "The user dismissed this question", error=True), {"refused": ev.BY_PERSON}),
        (tool("webfetch", {"url": "u"}, "404", error=True), {"refused": "", "failed": True}),
        (tool("invalid", {"tool": "zap", "error": "e"}, "The arguments provided to the tool are invalid: e"), {"failed": True}),
    ],
)  # fmt: skip
def test_how_calls_end(tmp_path: Path, part: dict[str, Any], expected: dict[str, Any]) -> None:
    (result,) = results(Store().user("x").model(part).read(tmp_path))
    assert {key: getattr(result, key) for key in expected} == expected


def test_calls(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    several = {
        "filePath": "/shop/a.py",
        "edits": [{"oldString": "1", "newString": "2"}, {"oldString": "3", "newString": "4"}],
    }
    store = Store().user("x").model(
        tool("apply_patch", {"patchText": patch}),
        tool("multiedit", several),
        tool("write", {"filePath": "/shop/b.py", "content": "y"}),
        tool("bash", {"command": "ls", "workdir": "/shop/lib"}, exit=0),
        tool("todowrite", {"todos": []}),
        tool("question", {"questions": []}),
        tool("task", {"prompt": "look"}),
        tool("batch", {"tool_calls": []}),
        tool("server_deploy", {}),
        {**tool("bash", {"command": "x"}), "state": {"status": "running", "input": {"command": "x"}}},
    )  # fmt: skip
    things = store.read(tmp_path)
    found = results(things)
    assert [each.call.action for each in found] == [
        ev.EDIT, ev.EDIT, ev.EDIT, ev.SHELL, ev.NOTE, ev.ASK, ev.AGENT, ev.OTHER,
    ]  # fmt: skip
    assert [(each.path, each.old, each.new) for each in found[0].call.edits] == [("a.py", "x = 1", "x = 2")]
    assert [each.old for each in found[1].call.edits] == ["1", "3"]
    assert found[2].call.edits[0].old is None and found[3].call.cwd == "/shop/lib"
    assert sorted(each.kind for each in things if isinstance(each, Skipped)) == ["tool/batch", "tool/running"]


def test_texts_where_the_client_kept_them(tmp_path: Path) -> None:
    given = {"filePath": "/shop/a.py", "oldString": "1", "newString": "2"}
    told = {"file": "/shop/a.py", "before": "x = 1", "after": "x = 2", "additions": 1}
    (result,) = results(Store().user("x").model(tool("edit", given, filediff=told)).read(tmp_path))
    assert result.call.texts == {"/shop/a.py": ("x = 1", "x = 2")}


def test_who_spoke_and_compactions(tmp_path: Path) -> None:
    store = Store().user("Fix it.").user("go on", synthetic=True)
    store.add(
        "user",
        {"type": "text", "text": "mine"},
        {"type": "text", "text": "a file", "synthetic": True},
        {"type": "file"},
    )
    store.add("user", {"type": "compaction", "auto": True}).model(summary=True).model(summary=True)
    things = store.read(tmp_path)
    said = [(each.text, each.by_person) for each in things if isinstance(each, ev.Message)]
    assert said == [("Fix it.", True), ("go on", False), ("mine", True)]
    assert [each.done for each in things if isinstance(each, ev.Compaction)] == [False, True, False, True]


def test_subagents(tmp_path: Path) -> None:
    store = Store().user("x").model(tool("task", {"prompt": "look"}))
    store.session("ses_sub00001", "ses_main0001").user("look").model(tool("bash", {"command": "ls"}, exit=0))
    store.session("ses_other001").user("y").model(tool("glob", {}))
    things = store.read(tmp_path)
    assert [each.session for each in things if isinstance(each, Began)] == ["ses_main0001", "ses_other001"]
    assert {(each.call.tool, each.call.agent) for each in results(things)} == {
        ("task", ""), ("bash", "ses_sub00001"), ("glob", ""),
    }  # fmt: skip
    assert [each.text for each in things if isinstance(each, ev.Message)] == ["x", "y"]
    first = store.storage(tmp_path)
    kept = [thing for thing, _ in opencode.read(first)]
    assert {(each.call.tool, each.call.agent) for each in results(kept)} == {("task", ""), ("bash", "ses_sub00001")}
    others = [each for each in Path(tmp_path / "storage").rglob("*.json") if each.name[:3] in ("msg", "prt")]
    sub = Path(first.path).with_name("ses_sub00001.json")
    for path in [sub, *others]:
        source = Source(str(path))
        assert formats.reader(source).NAME == "opencode"
        assert [type(thing).__name__ for thing, _ in opencode.read(source)] == ["Skipped"]


def test_the_database_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    source = a_session().database(folder / "opencode.db")
    writer = sqlite3.connect(source.path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    late = json.dumps({"type": "text", "text": "written last"})
    writer.execute("INSERT INTO part VALUES ('prt_00000009', 'msg_00000000', 'ses_main0001', 0, 0, ?)", (late,))
    writer.execute("BEGIN EXCLUSIVE")  # nobody else would get a lock now
    before = {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in folder.iterdir()}
    assert "opencode.db-wal" in before
    things = [thing for thing, _ in opencode.read(source)]
    assert [each.text for each in things if isinstance(each, ev.Message)] == ["Fix it.\nwritten last"]
    assert {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in folder.iterdir()} == before
    writer.execute("ROLLBACK")
    writer.close()


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    source = a_session().database(tmp_path / "opencode.db")
    os.chmod(source.path, 0o400)
    os.chmod(tmp_path, 0o500)
    try:
        assert len(results([thing for thing, _ in opencode.read(source)])) == 3
    finally:
        os.chmod(tmp_path, 0o700)


def test_broken_rows_and_databases(tmp_path: Path) -> None:
    store = a_session()
    source = store.database(tmp_path / "opencode.db")
    connection = sqlite3.connect(source.path)
    connection.execute("UPDATE part SET data = '{' WHERE id = 'prt_00010003'")
    connection.execute("UPDATE message SET data = X'FF' WHERE id = 'msg_00000002'")
    connection.execute("UPDATE session SET parent_id = 'ses_main0001' WHERE id = 'ses_main0001'")
    connection.execute("INSERT INTO session VALUES ('ses_b', 'p', NULL, '/shop', 't', 1)")
    connection.execute("UPDATE message SET session_id = 'ses_b'")
    connection.commit()
    connection.close()
    things = [thing for thing, _ in opencode.read(source)]
    assert len([each for each in things if isinstance(each, Broken)]) == 2
    assert [each.call.label for each in results(things)] == ["make"]
    assert any(isinstance(each, Skipped) and "its own parent" in each.kind for each in things)
    data = Path(source.path).read_bytes()
    for at, content in enumerate([data[: len(data) // 2], data[:100] + b"\xff" * 4000 + data[4100:], data[:100]]):
        path = tmp_path / f"opencode{at}.db"
        path.write_bytes(content)
        scan(Source(str(path)), Settings())
    other = tmp_path / "other.db"
    sqlite3.connect(other).execute("CREATE TABLE a (b)")
    assert not opencode.sniff(Source(str(other)).head(), str(other))


def test_ids_are_no_paths(tmp_path: Path) -> None:
    source = a_session().storage(tmp_path)
    (path,) = (tmp_path / "storage").rglob("msg_00000001.json")
    path.write_text(path.read_text().replace('"msg_00000001"', '"../../../../etc"'))
    things = [thing for thing, _ in opencode.read(source)]
    assert any(isinstance(each, Broken) for each in things) and len(results(things)) == 1


VALUES = st.sampled_from([None, True, 1, -1.5, 1e300, "", "x", "/", [], {}, [[]], {"text": 1}, [{"type": "text"}]])


@given(st.lists(st.tuples(st.integers(0, 200), VALUES), max_size=8))
@settings(max_examples=60, deadline=None)
def test_values_of_any_type(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]]) -> None:
    store = a_session()
    document = json.loads(
        json.dumps({"info": store.sessions[0], "messages": [{"info": i, "parts": p} for i, p in store.messages]})
    )
    for at, value in changes:
        places: list[tuple[Any, Any]] = []
        level: list[Any] = [document]
        while level:
            holder = level.pop()
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                places.append((holder, key))
                if isinstance(holder[key], dict | list):
                    level.append(holder[key])
        holder, key = places[at % len(places)]
        holder[key] = copy.deepcopy(value)
    path = tmp_path_factory.mktemp("any") / "export.json"
    path.write_text(json.dumps(document))
    scan(Source(str(path)), Settings(), format="opencode")
