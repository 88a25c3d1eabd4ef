"""Qwen Code's chats: small files in the real shapes."""

from __future__ import annotations

import copy
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
from unspin.scan.readers import qwen
from unspin.scan.scanning import scan
from unspin.scan.source import Source

USAGE = {"promptTokenCount": 1000, "candidatesTokenCount": 50, "thoughtsTokenCount": 20, "totalTokenCount": 1050,
         "cachedContentTokenCount": 200}  # fmt: skip


class Chat:
    def __init__(self, **common: Any) -> None:
        self.records: list[Any] = []
        self.common = common

    def add(self, of: str, **more: Any) -> Chat:
        at = len(self.records)
        time = f"2026-03-01T10:00:{at % 60:02}.000Z"
        record = {"uuid": f"u{at}", "parentUuid": None, "sessionId": "s-1", "timestamp": time, "type": of}
        self.records.append({**record, "cwd": "/shop", "version": "0.24.4", **self.common, **more})
        return self

    def user(self, text: str, **more: Any) -> Chat:
        message = {"role": "user", "parts": [{"text": text}]}
        return self.add("user", **{"provenance": "real_user", "message": message, **more})

    def model(self, *calls: tuple[str, str, Any]) -> Chat:
        parts = [{"text": "I will."}, *({"functionCall": {"id": i, "name": n, "args": a}} for i, n, a in calls)]
        message = {"role": "model", "parts": parts}
        return self.add("assistant", message=message, model="qwen3", usageMetadata=USAGE, contextWindowSize=256000)

    def done(self, identity: str, output: str, *, error: bool = False, display: Any = "", **more: Any) -> Chat:
        response = {"id": identity, "name": "x", "response": {"error" if error else "output": output}}
        told = {"callId": identity, "status": "error" if error else "success", "resultDisplay": display, **more}
        parts = [{"functionResponse": response}]
        return self.add("tool_result", message={"role": "user", "parts": parts}, toolCallResult=told)

    def write(self, path: Path) -> Source:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in self.records)
        path.write_text(data, "utf-8")
        return Source(str(path))

    def read(self, folder: Path) -> list[Any]:
        return [thing for thing, _ in qwen.read(self.write(folder / "s-1.jsonl"))]


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def ran(code: int | None, signal: int | None = None) -> dict[str, Any]:
    return {
        "type": "shell_result",
        "version": 1,
        "exitCode": code,
        "signal": signal,
        "outcome": "completed",
        "output": "",
    }


def test_a_session(tmp_path: Path) -> None:
    chat = Chat().user("Fix it.").add("system", subtype="ui_telemetry", systemPayload={})
    chat.model(("a", "run_shell_command", {"command": "make"}), ("b", "read_file", {"file_path": "/shop/a.py"}))
    text = "Command: make\nDirectory: (root)\nOutput: no\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 1"
    chat.done("b", "x = 1").done("a", text, error=True, display=ran(2)).model()
    source = chat.write(tmp_path / "s-1.jsonl")
    assert formats.reader(source).NAME == "qwen"
    things = [thing for thing, _ in qwen.read(source)]
    assert [type(each).__name__ for each in things] == [
        "Began", "Message", "Skipped", "Used", "ContextSize", "ToolResult", "ToolResult", "RoundEnd", "Used",
    ]  # fmt: skip
    assert (things[0].session, things[0].cwd) == ("s-1", "/shop")
    used = next(each for each in things if isinstance(each, Used))
    assert (used.model, used.usage) == ("qwen3", Usage(800, 50, 200))
    size = next(each for each in things if isinstance(each, ev.ContextSize))
    assert (size.tokens, size.window) == (1050, 256000)
    command, read = results(things)  # in the order of the response
    assert (command.exit_code, command.failed, command.output) == (2, True, "no")
    assert read.call.action == ev.READ and read.output == "x = 1"


@pytest.mark.parametrize(
    ("output", "display", "code"),
    [
        ("Output: no\nExit Code: 4\nSignal: (none)\nProcess Group PGID: (none)\n\nsaid by a hook", "", 4),
        ("Output: a\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: (none)", ran(0), 0),
        ("Output: (empty)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: (none)", ran(None, 9), 137),
        ("Output: (empty)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: (none)", "", 137),
        ("Background shell started.\nid: bg_1", "Background shell bg_1 started.", None),
    ],
)
def test_the_status_of_a_command(tmp_path: Path, output: str, display: Any, code: int | None) -> None:
    chat = Chat().user("x").model(("a", "run_shell_command", {"command": "make"}))
    (result,) = results(chat.done("a", output, error=bool(code), display=display).read(tmp_path))
    assert (result.exit_code, result.failed) == (code, bool(code))
    assert result.background == output.startswith("Background")


def test_edits(tmp_path: Path) -> None:
    shown = {"fileName": "a.py", "filePath": "/shop/a.py", "originalContent": "x = 1\n", "newContent": "x = 2\n"}
    given = {"file_path": "/shop/a.py", "old_string": "1", "new_string": "2"}
    chat = Chat().user("x").model(("a", "edit", given)).done("a", "updated", display=shown)
    chat.model(("b", "edit", given)).done("b", "Failed to edit, 0 occurrences found", error=True)
    chat.model(("c", "edit", given)).done("c", "updated", display={**shown, "truncatedForSession": True})
    done, refused, cut = results(chat.read(tmp_path))
    assert done.call.texts == {"/shop/a.py": ("x = 1\n", "x = 2\n")} and not done.refused
    assert (refused.refused, refused.failed, refused.call.texts) == (ev.BY_TOOL, True, {})
    assert cut.call.texts == {}


def test_who_spoke(tmp_path: Path) -> None:
    chat = Chat().user("Fix it.").user("/stats").user("a task is done", subtype="notification", provenance="system")
    chat.user("wait", subtype="mid_turn_user_message").user("go on", provenance="goal_control")
    payload = {"displayText": "mine", "hookContext": "theirs"}
    chat.user("<hook_context>theirs</hook_context>mine", systemPayload=payload)
    said = [(each.text, each.by_person) for each in chat.read(tmp_path) if isinstance(each, ev.Message)]
    assert said == [
        ("Fix it.", True), ("a task is done", False), ("wait", True), ("go on", False), ("mine", True),
    ]  # fmt: skip


def test_a_compression(tmp_path: Path) -> None:
    things = Chat().user("x").add("system", subtype="chat_compression", systemPayload={"info": {}}).read(tmp_path)
    assert [each.done for each in things if isinstance(each, ev.Compaction)] == [False, True]


def test_subagents_are_read_with_their_session(tmp_path: Path) -> None:
    main = Chat().user("x").model(("a", "agent", {"prompt": "look"})).done("a", "seen")
    source = main.write(tmp_path / "chats" / "s-1.jsonl")
    sub = Chat(agentId="explore-1", isSidechain=True).user("look").model(("b", "glob", {"pattern": "*"})).done("b", "a")
    beside = sub.write(tmp_path / "subagents" / "s-1" / "agent-explore-1.jsonl")
    things = [thing for thing, _ in qwen.read(source)]
    assert sum(isinstance(each, Began) for each in things) == 1
    assert {(each.call.action, each.call.agent) for each in results(things)} == {(ev.AGENT, ""), (ev.READ, "explore-1")}
    assert [type(thing).__name__ for thing, _ in qwen.read(beside)] == ["Skipped"]
    alone = [thing for thing, _ in qwen.read(sub.write(tmp_path / "agent-explore-1.jsonl"))]
    assert [each.call.agent for each in results(alone)] == ["explore-1"]


def test_broken_and_strange_lines(tmp_path: Path) -> None:
    chat = Chat().user("x").model(("a", "glob", {}), ("b", "", {}))
    chat.records += ["{", "[1]", json.dumps({"type": ["x"]}), json.dumps({"type": "tool_result", "message": 7})]
    things = chat.done("nobody", "x").done("a", "y").read(tmp_path)
    assert [each.line for each in things if isinstance(each, Broken)] == [3]
    assert [each.output for each in results(things)] == ["y"]
    assert sum(isinstance(each, Skipped) for each in things) == 5


@given(
    st.lists(
        st.tuples(st.integers(0, 90), st.sampled_from([None, 1, -1.5, "", "x", [], {}, [[]], {"text": 1}])), max_size=8
    )
)
@settings(max_examples=60, deadline=None)
def test_values_of_any_type(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]]) -> None:
    chat = Chat().user("x").model(("a", "run_shell_command", {"command": "ls"}), ("b", "edit", {"file_path": "/a"}))
    chat.done("a", "Output: a\nExit Code: 1", display=ran(1)).done("b", "no", error=True)
    chat.records = json.loads(json.dumps(chat.records))
    for at, value in changes:
        places: list[tuple[Any, Any]] = []
        level: list[Any] = [chat.records]
        while level:
            holder = level.pop()
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                places.append((holder, key))
                if isinstance(holder[key], dict | list):
                    level.append(holder[key])
        holder, key = places[at % len(places)]
        holder[key] = copy.deepcopy(value)
    scan(chat.write(tmp_path_factory.mktemp("any") / "s.jsonl"), Settings(), format="qwen")
