"""Claude Code's transcripts: which lines are the person, which block belongs to which response, when a round is over."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.cost.lines import whole_characters
from unspin.guard import Settings
from unspin.scan import formats
from unspin.scan.items import Broken
from unspin.scan.readers import claude_code
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source

_USAGE = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0, "output_tokens": 3}


class Transcript:
    """Lines as the client writes them, with invented content."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._at = 0

    def add(self, kind: str, message: dict[str, Any] | None = None, **fields: Any) -> None:
        self._at += 1
        line = {
            "type": kind,
            "sessionId": "s1",
            "uuid": f"u{self._at}",
            "parentUuid": None,
            "isSidechain": False,
            "cwd": "/shop",
            "timestamp": f"2026-11-30T10:00:{self._at:02}.000Z",
            **fields,
        }
        if message is not None:
            line["message"] = message
        self.lines.append(json.dumps(line))

    def prompt(self, content: Any, **fields: Any) -> None:
        self.add("user", {"role": "user", "content": content}, **fields)

    def call(self, message: str, id: str, tool: str = "Bash", **given: Any) -> None:
        block = {"type": "tool_use", "id": id, "name": tool, "input": given}
        model = {"id": message, "role": "assistant", "model": "claude-opus-4-6", "content": [block], "usage": _USAGE}
        self.add("assistant", model, requestId=f"r-{message}")

    def result(self, id: str, text: str, **fields: Any) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": text}
        self.add("user", {"role": "user", "content": [block]}, **fields)

    def write(self, folder: Path, name: str = "s1.jsonl") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines))
        return path


def read(path: Path) -> list[Any]:
    return [thing for thing, _ in claude_code.read(Source(str(path)))]


def kinds(path: Path) -> list[str]:
    return [type(each).__name__ for each in read(path) if isinstance(each, (ev.Message, ev.ToolResult, ev.RoundEnd))]


def test_parallel_calls_of_one_response_are_one_round_in_the_order_of_the_response(tmp_path: Path) -> None:
    log = Transcript()
    log.prompt("look")
    log.call("m1", "a", command="ls")
    log.call("m1", "b", command="pwd")
    log.result("b", "/shop")
    log.result("a", "x.py")
    log.call("m2", "c", command="true")
    log.result("c", "")
    path = log.write(tmp_path)
    assert kinds(path) == ["Message", "ToolResult", "ToolResult", "RoundEnd", "ToolResult", "RoundEnd"]
    results = [each for each in read(path) if isinstance(each, ev.ToolResult)]
    assert [each.call.command for each in results] == ["ls", "pwd", "true"]


def test_a_result_between_two_blocks_of_one_response_ends_no_round(tmp_path: Path) -> None:
    log = Transcript()
    log.call("m1", "a", command="ls")
    log.result("a", "x.py")
    log.call("m1", "b", command="pwd")
    log.result("b", "/shop")
    assert kinds(log.write(tmp_path)) == ["ToolResult", "ToolResult", "RoundEnd"]


def test_a_call_without_a_result_is_left_out(tmp_path: Path) -> None:
    log = Transcript()
    log.call("m1", "a", command="sleep 100")
    log.prompt("[Request interrupted by user]")
    log.prompt("go on")
    assert kinds(log.write(tmp_path)) == ["Message"]


@pytest.mark.parametrize(
    ("content", "fields", "by_person"),
    [
        ("mend it", {}, True),
        ([{"type": "text", "text": "mend it"}, {"type": "image"}], {}, True),
        ("<task-notification>done</task-notification>", {}, False),
        ("mend it", {"promptSource": "system"}, False),
        ("<command-message>mine</command-message>\n<command-name>/mine</command-name>", {}, True),
        ("<command-name>/clear</command-name>", {}, None),
        ("<local-command-stdout>x</local-command-stdout>", {}, None),
        ("<bash-input>ls</bash-input>", {}, None),
        ("mend it", {"isMeta": True}, None),
        ("This session is being continued from a previous conversation.", {"isCompactSummary": True}, None),
        ("a task", {"isSidechain": True, "agentId": "x"}, None),
    ],
)
def test_who_speaks(tmp_path: Path, content: Any, fields: dict[str, Any], by_person: bool | None) -> None:
    log = Transcript()
    log.prompt(content, **fields)
    messages = [each for each in read(log.write(tmp_path)) if isinstance(each, ev.Message)]
    assert [each.by_person for each in messages] == ([] if by_person is None else [by_person])


def test_what_the_person_writes_while_the_turn_runs(tmp_path: Path) -> None:
    log = Transcript()
    log.add("attachment", attachment={"type": "queued_command", "prompt": "stop that", "commandMode": "prompt"})
    assert [each.text for each in read(log.write(tmp_path)) if isinstance(each, ev.Message)] == ["stop that"]


def test_lines_that_were_glued_together_are_read_one_by_one(tmp_path: Path) -> None:
    """Two processes wrote at once: the second object stands on the line of the first."""
    log = Transcript()
    log.prompt("Round the price")
    log.call("m1", "c1", command="ls")
    log.result("c1", "a.py")
    log.lines[1:] = [log.lines[1] + '{"type":"summary","summary":"Round","leafUuid":"u1"}', log.lines[2] + log.lines[0]]
    assert kinds(log.write(tmp_path)) == ["Message", "ToolResult", "RoundEnd", "Message"]
    assert not scan(Source(str(tmp_path / "s1.jsonl")), Settings()).errors
    log.lines[1] = log.lines[1][:-5]
    result = scan(Source(str(log.write(tmp_path))), Settings())
    assert [(each["line"], each["error"].startswith("no JSON: ")) for each in result.errors] == [(2, True)]


def test_any_number_of_summaries_may_lead_a_transcript(tmp_path: Path) -> None:
    log = Transcript()
    log.prompt("Round the price")
    log.lines[:0] = [
        json.dumps({"type": "summary", "summary": "x", "leafUuid": f"u{n}"}, separators=(",", ":")) for n in range(40)
    ]
    assert formats.reader(Source(str(log.write(tmp_path)))) is claude_code


def test_a_compaction(tmp_path: Path) -> None:
    log = Transcript()
    log.prompt("x")
    log.add("system", subtype="compact_boundary")
    assert [each.done for each in read(log.write(tmp_path)) if isinstance(each, ev.Compaction)] == [False, True]


def test_a_subagents_file_beside_the_session_is_read_with_it(tmp_path: Path) -> None:
    log = Transcript()
    log.prompt("x")
    log.call("m1", "a", command="ls")
    log.result("a", "x.py")
    path = log.write(tmp_path)
    sub = Transcript()
    sub.call("m9", "z", "Edit", file_path="/shop/a.py", old_string="a", new_string="b")
    sub.result("z", "The file /shop/a.py has been updated.")
    sub.write(tmp_path, "s1/subagents/agent-x1.jsonl")
    results = [each for each in read(path) if isinstance(each, ev.ToolResult)]
    assert sorted((each.call.agent, each.call.action) for each in results) == [("", "shell"), ("x1", "edit")]
    assert [each.tool_calls for each in scan(Source(str(path)), Settings()).sessions] == [2]


def test_what_a_file_held_before_and_after_an_edit(tmp_path: Path) -> None:
    log = Transcript()
    log.call("m1", "a", "Edit", file_path="/shop/a.py", old_string="1", new_string="2")
    told = {
        "filePath": "/shop/a.py",
        "oldString": "1",
        "newString": "2",
        "originalFile": "x = 1\n",
        "replaceAll": False,
    }
    log.result("a", "The file /shop/a.py has been updated.", toolUseResult=told)
    (result,) = [each for each in read(log.write(tmp_path)) if isinstance(each, ev.ToolResult)]
    assert list(result.call.hashes) == ["/shop/a.py"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("half", [r"\ud83d", r"\uDE00", r"\ude00\ud83d", r"\ud83d\u0041", r"\ud83d\n", r"\\\ud83d"])
@pytest.mark.parametrize("place", ["text", "name", "unread", "input", "result", "told", "progress"])
def test_half_a_character_is_read_as_none_wherever_it_stands(tmp_path: Path, half: str, place: str) -> None:
    """The decoder is left to find it: it has to, also in what it passes over and in what is decoded later."""
    log = Transcript()
    log.prompt("<text>", **{"<name>": ["<unread>"]})
    log.call("m1", "a", "Edit", file_path="/shop/a.py", old_string="x", new_string="<input>")
    log.result("a", "<result>", toolUseResult={"filePath": "/shop/a.py", "originalFile": "x <told>"})
    content = [{"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "<progress>"}}]
    log.add("progress", data={"message": {"type": "assistant", "message": {"id": "m2", "content": content}}})
    content = [{"type": "tool_result", "tool_use_id": "b", "content": "<progress>"}]
    log.add("progress", data={"message": {"type": "user", "message": {"content": content}}})
    log.lines = [line.replace(f"<{place}>", half) for line in log.lines]
    path = log.write(tmp_path)
    found = [told(each) for each in read(path)]
    path.write_bytes(whole_characters(path.read_bytes()))
    assert found == [told(each) for each in read(path)]
    assert not any(isinstance(each, Broken) for each in read(path))
    assert ("\ufffd" in repr(found)) == (place not in ("name", "unread"))


def told(thing: Any) -> Any:
    """Return all that an event holds, as plain data."""
    if isinstance(thing, (list, tuple)):
        return [told(each) for each in thing]
    names = [name for each in type(thing).__mro__ for name in getattr(each, "__slots__", ())]
    return [type(thing).__name__, *(told(getattr(thing, name)) for name in names)] if names else thing


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_fields_of_any_type_raise_nothing(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    log = Transcript()
    log.prompt("x")
    log.call("m1", "a", command="ls")
    log.result("a", "x.py", toolUseResult={"filePath": "/a"})
    lines = [json.loads(line) for line in log.lines]
    line = data.draw(st.sampled_from(lines))
    keys = sorted(line["message"]) if data.draw(st.booleans()) else sorted(line)
    target = line["message"] if keys == sorted(line["message"]) else line
    target[data.draw(st.sampled_from(keys))] = data.draw(_JSON)
    log.lines = [json.dumps(each) for each in lines]
    path = log.write(tmp_path_factory.mktemp("log"))
    assert isinstance(scan(Source(str(path)), Settings(), format="claude-code"), Result)


@pytest.mark.corpora
def test_recorded_sessions_hold_what_a_plain_reading_counts(shared: Path) -> None:
    for path in sorted((shared / "corpora" / "claude_code").glob("*.jsonl.gz")):
        result = scan(Source(str(path)), Settings())
        (session,) = result.sessions
        calls, broken = _plain_count(path)
        assert session.tool_calls == calls, path.name
        assert len(result.errors) == broken, path.name


def _plain_count(path: Path) -> tuple[int, int]:
    """Count calls that have a result, of the main agent and of subagents, line by line; and lines that are no JSON."""
    asked: set[tuple[str, str]] = set()
    answered, broken = 0, 0
    with gzip.open(path, "rb") as file:
        for line in file:
            try:
                entry = json.loads(line)
            except ValueError:
                broken += 1
                continue
            agent = entry.get("agentId") or ("subagent" if entry.get("isSidechain") else "")
            message = entry.get("message")
            if entry.get("type") == "progress":
                data = entry.get("data") or {}
                inner = data.get("message") if isinstance(data, dict) else None
                message = inner.get("message") if isinstance(inner, dict) else None
                agent = str(data.get("agentId") or "subagent") if isinstance(data, dict) else ""
            elif entry.get("type") not in ("user", "assistant"):
                continue
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use" and block.get("name"):
                    asked.add((agent, block["id"]))
                elif block.get("type") == "tool_result" and (agent, block.get("tool_use_id")) in asked:
                    asked.discard((agent, block["tool_use_id"]))
                    answered += 1
    return answered, broken
