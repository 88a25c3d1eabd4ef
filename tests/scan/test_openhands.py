"""OpenHands' events, those of its agent SDK and the older ones: small files in the real shapes."""

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
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.readers import openhands
from unspin.scan.scanning import scan
from unspin.scan.source import Source


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def read(path: Path, content: Any) -> list[Any]:
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    source = Source(str(path))
    assert formats.reader(source).NAME == "openhands"
    return [thing for thing, _ in openhands.read(source)]


# -- the agent SDK ---------------------------------------------------------------------


class Sdk:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.add("SystemPromptEvent", "agent", system_prompt={"type": "text", "text": "You are ..."})

    def add(self, kind: str, source: str, **more: Any) -> Sdk:
        at = len(self.events)
        event = {"id": f"e{at}", "timestamp": f"2026-03-01T10:00:{at % 60:02}.000000", "source": source, **more}
        self.events.append({**event, "kind": kind})
        return self

    def user(self, text: str, **more: Any) -> Sdk:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return self.add("MessageEvent", "user", llm_message=message, **more)

    def act(self, call: str, tool: str, action: Any, response: str = "") -> Sdk:
        asked = {"id": call, "name": tool, "arguments": json.dumps(action)}
        body = {"action": action} if action and "bad" not in action else {}
        more = {"tool_name": tool, "tool_call_id": call, "tool_call": asked, "llm_response_id": response or call}
        return self.add("ActionEvent", "agent", thought=[], **body, **more)

    def see(self, call: str, text: str, *, error: bool = False, **more: Any) -> Sdk:
        seen = {"content": [{"type": "text", "text": text}], "is_error": error, **more}
        action = next(each["id"] for each in self.events if each.get("tool_call_id") == call)
        return self.add("ObservationEvent", "environment", tool_call_id=call, action_id=action, observation=seen)

    def folder(self, path: Path, state: dict[str, Any] | None = None) -> list[Path]:
        (path / "events").mkdir(parents=True)
        files = []
        for at, event in enumerate(self.events):
            files.append(path / "events" / f"event-{at:05d}-0a0b0c0d-{at:04d}.json")
            files[-1].write_text(json.dumps(event))
        if state is not None:
            files.append(path / "base_state.json")
            files[-1].write_text(json.dumps(state))
        return files


def ran(code: int | None, folder: str = "/shop") -> dict[str, Any]:
    return {"exit_code": code, "metadata": {"exit_code": -1 if code is None else code, "working_dir": folder}}


def a_session() -> Sdk:
    log = Sdk().user("Fix it.")
    log.act("a", "terminal", {"command": "make"}, "r1").act(
        "b", "file_editor", {"command": "view", "path": "/shop/a.py"}, "r1"
    )
    log.see("b", "x = 1").see("a", "no", **ran(2))
    edit = {"command": "str_replace", "path": "/shop/a.py", "old_str": "1", "new_str": "2"}
    log.act("c", "file_editor", edit).see("c", "edited", old_content="x = 1", new_content="x = 2", prev_exist=True)
    return log.act("d", "finish", {"message": "Done."}).see("d", "Done.")


def test_a_folder_of_events_is_one_session(tmp_path: Path) -> None:
    count = {
        "model": "m",
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "cache_read_tokens": 200,
        "response_id": "r1",
    }
    metrics = {"token_usages": [count, {**count, "response_id": "other"}], "costs": [{"cost": 0.5}, {"cost": 0.25}]}
    state = {
        "id": "c-1", "agent": {"llm": {"model": "m"}}, "workspace": {"working_dir": "/shop"}, "persistence_dir": "/x",
        "execution_status": "finished", "stats": {"usage_to_metrics": {"a": metrics}},
    }  # fmt: skip
    files = a_session().folder(tmp_path / "7b2f", state)
    first = Source(str(files[0]))
    assert formats.reader(first).NAME == "openhands"
    things = [thing for thing, _ in openhands.read(first)]
    assert [type(each).__name__ for each in things] == [
        "Began", "Skipped", "Message", "Used", "ContextSize", "ToolResult", "ToolResult", "RoundEnd",
        "ToolResult", "RoundEnd", "Ended", "Skipped", "Used",
    ]  # fmt: skip
    began = things[0]
    assert (began.session, began.cwd, began.model) == ("c-1", "/shop", "m")
    used = [each for each in things if isinstance(each, Used)]
    assert (used[0].usage, used[0].dollars, used[1].dollars) == (Usage(800, 50, 200), 0.5, 0.25)
    make, view, edit = results(things)
    assert (make.exit_code, make.failed, make.call.action, view.call.action) == (2, True, ev.SHELL, ev.READ)
    assert edit.call.texts == {"/shop/a.py": ("x = 1", "x = 2")} and edit.call.edits[0].old == "1"
    for path in files[1:]:
        source = Source(str(path))
        assert formats.reader(source).NAME == "openhands"
        assert [type(thing).__name__ for thing, _ in openhands.read(source)] == ["Skipped"]


@pytest.mark.parametrize("form", ["list", "document", "lines", "evaluation"])
def test_the_same_in_one_file(tmp_path: Path, form: str) -> None:
    events = a_session().events
    if form == "list":
        things = read(tmp_path / "trajectory.json", events)
    elif form == "document":
        things = read(tmp_path / "answer.json", {"items": events, "next_page_id": None})
    elif form == "lines":
        things = read(tmp_path / "events.jsonl", "".join(json.dumps(each) + "\n" for each in events))
    else:
        lines = [json.dumps({"instance_id": f"a__b-{at}", "history": events, "error": None}) for at in range(2)]
        things = read(tmp_path / "output.jsonl", "\n".join(lines))
        assert [each.session for each in things if isinstance(each, Began)] == ["a__b-0", "a__b-1"]
        things = things[: len(things) // 2]
    assert [each.call.label for each in results(things)] == ["make", "view /shop/a.py", "str_replace a.py"]


def test_how_calls_of_the_sdk_end(tmp_path: Path) -> None:
    log = Sdk().user("x")
    edit = {"command": "str_replace", "path": "/shop/a.py", "old_str": "1", "new_str": "2"}
    log.act("a", "file_editor", edit).see("a", "No replacement was performed", error=True)
    log.act("b", "terminal", {"bad": 1}).add("AgentErrorEvent", "agent", tool_call_id="b", error="not valid")
    log.act("c", "terminal", {"command": "make"})
    log.add(
        "UserRejectObservation", "environment", tool_call_id="c", rejection_reason="use tox", rejection_source="user"
    )
    log.act("d", "terminal", {"command": "make"})
    log.add("UserRejectObservation", "environment", tool_call_id="d", rejection_reason="no", rejection_source="hook")
    log.act("e", "terminal", {"command": "sleep 99"}).see("e", "", exit_code=-1, metadata={"exit_code": -1})
    log.act("f", "terminal", {"command": "", "is_input": False}).see("f", "still", exit_code=-1)
    log.act("g", "terminal", {"command": "C-c", "is_input": True}).see("g", "^C", **ran(130))
    log.act("h", "terminal", {"command": "yes", "is_input": True}).see("h", "ok", **ran(0))
    log.act("i", "file_editor", {"command": "undo_edit", "path": "/shop/a.py"})
    log.see("i", "undone", old_content="x = 2", new_content="x = 1")
    log.act("j", "file_editor", {"command": "insert", "path": "/shop/a.py", "insert_line": 1, "new_str": "y"}).see(
        "j", "ok"
    )
    log.act("k", "apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** End Patch"}).see(
        "k", "ok"
    )
    log.act("l", "terminal", {"command": "ls"}).see("l", "old shape", **ran(0, "/shop/lib"))
    log.act("m", "terminal", {"command": "ls"}).see("m", "a", **ran(0))
    a, b, c, d, e, f, g, h, i, j, k, _l, m = results(read(tmp_path / "t.json", log.events))
    assert (a.refused, a.failed) == (ev.BY_TOOL, True)
    assert (b.call.action, b.failed) == (ev.OTHER, True)
    assert (c.refused, c.comment, d.refused, d.comment) == (ev.BY_PERSON, True, ev.BY_HOOK, False)
    assert (e.background, e.exit_code, e.failed) == (True, None, False)
    assert [each.call.action for each in (f, g, h)] == [ev.WAIT, ev.WAIT, ev.OTHER]
    assert [(each.old, each.new) for each in i.call.edits] == [("x = 2", "x = 1")]
    assert [(each.old, each.new) for each in j.call.edits] == [("", "y")]
    assert [(each.old, each.new) for each in k.call.edits] == [("1", "2")]
    assert m.call.cwd == "/shop/lib"


def test_messages_and_condensations_of_the_sdk(tmp_path: Path) -> None:
    log = Sdk().user("Fix it.").user("from an agent", sender="planner")
    log.add("Condensation", "environment", forgotten_event_ids=[], summary="s", llm_response_id="r")
    log.add("ConversationErrorEvent", "environment", code="LLMError", detail="d").add("PauseEvent", "user").add(
        "NewEvent", "agent"
    )
    things = read(tmp_path / "t.json", log.events)
    assert [each.by_person for each in things if isinstance(each, ev.Message)] == [True, False]
    assert [each.done for each in things if isinstance(each, ev.Compaction)] == [False, True]
    assert [each.how for each in things if isinstance(each, Ended)] == ["LLMError"]
    assert [each.kind for each in things if isinstance(each, Skipped)] == [
        "SystemPromptEvent",
        "PauseEvent",
        "NewEvent",
    ]


# -- the older events ------------------------------------------------------------------


class Old:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add(self, source: str, **more: Any) -> Old:
        at = len(self.events)
        event = {"id": at, "timestamp": f"2025-02-01T00:14:{at % 60:02}.000000", "source": source, "message": ""}
        self.events.append({**event, **more})
        return self

    def act(
        self, action: str, args: dict[str, Any], response: str = "", asked: Any = None, source: str = "agent"
    ) -> Old:
        more: dict[str, Any] = {}
        if response:
            at = f"toolu_{len(self.events)}"
            call = {"id": at, "function": {"name": "x", "arguments": json.dumps(asked or {})}}
            usage = {
                "prompt_tokens": 1000,
                "completion_tokens": 50,
                "cache_read_input_tokens": 200,
                "cache_creation_input_tokens": 100,
            }
            answer = {"id": response, "model": "m", "choices": [{"message": {"tool_calls": [call]}}], "usage": usage}
            more["tool_call_metadata"] = {"function_name": "x", "tool_call_id": at, "model_response": answer}
        return self.add(source, action=action, args=args, **more)

    def see(self, observation: str, content: str, cause: int | None = None, **extras: Any) -> Old:
        cause = len(self.events) - 1 if cause is None else cause
        return self.add("agent", observation=observation, content=content, extras=extras, cause=cause)


def test_older_events(tmp_path: Path) -> None:
    log = Old().act("message", {"content": "Fix it."}, source="user")
    log.see("agent_state_changed", "", 99, agent_state="running")
    log.act("run", {"command": "make", "thought": "t"}, "r1").act("read", {"path": "/shop/a.py"}, "r1")
    log.see("run", "no", 2, metadata={"exit_code": 2, "working_dir": "/shop"}).see("read", "x = 1", 3)
    edit = {"command": "str_replace", "path": "/shop/a.py", "old_str": "1", "new_str": "2"}
    log.act("edit", {"path": "/shop/a.py", "translated_ipython_code": "..."}, "r2", edit)
    log.see("edit", "diff", old_content="x = 1", new_content="x = 2", prev_exist=True)
    log.act("edit", edit, "r3").see("error", "ERROR:\nNo replacement was performed")
    log.act("condensation", {"summary": "s"}).act("finish", {"outputs": {}}, "r4")
    things = read(tmp_path / "t.json", log.events)
    assert [type(each).__name__ for each in things if not isinstance(each, Skipped)] == [
        "Began", "Message", "Used", "Used", "ContextSize", "ToolResult", "ToolResult", "RoundEnd",
        "Used", "ContextSize", "ToolResult", "RoundEnd", "Used", "ContextSize", "ToolResult", "RoundEnd",
        "Compaction", "Compaction", "Used", "Ended",
    ]  # fmt: skip
    make, view, done, refused = results(things)
    assert (make.exit_code, make.failed, view.call.action) == (2, True, ev.READ)
    assert [(each.old, each.new) for each in done.call.edits] == [("1", "2")] and done.call.cwd == "/shop"
    assert done.call.texts == {"/shop/a.py": ("x = 1", "x = 2")}
    assert (refused.refused, refused.failed) == (ev.BY_TOOL, True)
    used = next(each for each in things if isinstance(each, Used))
    assert (used.key, used.usage) == ("r1", Usage(700, 50, 200, 100))


def test_older_events_without_a_response_are_rounds_of_their_own(tmp_path: Path) -> None:
    log = Old().act("message", {"content": "x"}, source="user")
    log.act("run", {"command": "a"}).see("run", "1", exit_code=0).act("run", {"command": "b"}).see(
        "run", "2", exit_code=1
    )
    log.act("run_ipython", {"code": "1/0"})
    log.see(
        "run_ipython",
        "Traceback (most recent call last)\nZeroDivisionError: division by zero\n[Jupyter current working directory: /]",
    )
    log.act("think", {"thought": "hm"}).act("run", {"command": ""}).see("run", "", exit_code=-1)
    log.act("run", {"command": "c"}).see("user_rejected", "no").act(
        "call_tool_mcp", {"name": "deploy", "arguments": {}}
    ).see("mcp", "ok")
    log.act("run", {"command": "mine"}, source="user").act(
        "message", {"content": "Please proceed with the task"}, source="user"
    )
    things = read(tmp_path / "t.json", log.events)
    a, b, cell, think, wait, rejected, other = results(things)
    assert (a.exit_code, b.exit_code, cell.failed) == (0, 1, True)
    assert cell.output.endswith("division by zero")
    assert [each.call.action for each in (think, wait, other)] == [ev.NOTE, ev.WAIT, ev.OTHER]
    assert (rejected.refused, other.call.tool) == (ev.BY_PERSON, "deploy")
    assert sum(isinstance(each, ev.RoundEnd) for each in things) == 7
    assert [each.by_person for each in things if isinstance(each, ev.Message)] == [True, False]


def test_delegates_are_subagents(tmp_path: Path) -> None:
    log = (
        Old().act("message", {"content": "x"}, source="user").act("delegate", {"agent": "BrowsingAgent", "inputs": {}})
    )
    log.act("run", {"command": "ls"}).see("run", "a", exit_code=0).act("finish", {})
    log.see("delegate", "found it", 1).act("run", {"command": "make"}).see("run", "b", exit_code=0)
    found = [(each.call.action, each.call.agent) for each in results(read(tmp_path / "t.json", log.events))]
    assert found == [(ev.SHELL, "BrowsingAgent"), (ev.AGENT, ""), (ev.SHELL, "")]


def test_sums_of_tokens(tmp_path: Path) -> None:
    def sums(prompt: int, cost: float) -> dict[str, Any]:
        return {
            "accumulated_cost": cost,
            "accumulated_token_usage": {"model": "m", "prompt_tokens": prompt, "completion_tokens": 10},
        }

    log = Old().act("message", {"content": "x"}, source="user").act("run", {"command": "a"}).see("run", "", exit_code=0)
    log.act("run", {"command": "b"})
    log.events[1]["llm_metrics"], log.events[3]["llm_metrics"] = sums(100, 0.5), sums(250, 0.75)
    used = [each for each in read(tmp_path / "t.json", log.events) if isinstance(each, Used)]
    assert [(each.usage.input, each.usage.output, each.dollars) for each in used] == [(100, 10, 0.5), (150, 0, 0.25)]


def test_older_folders(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "s-1" / "events"
    folder.mkdir(parents=True)
    log = Old().act("message", {"content": "x"}, source="user")
    for at in range(12):
        log.act("run", {"command": f"echo {at}"}).see("run", str(at), exit_code=0)
    for at, event in enumerate(log.events):
        (folder / f"{at}.json").write_text(json.dumps(event))
    cache = folder.parent / "event_cache"
    cache.mkdir()
    (cache / "0-25.json").write_text(json.dumps(log.events))
    things = [thing for thing, _ in openhands.read(Source(str(folder / "0.json")))]
    assert [each.output for each in results(things)] == [str(at) for at in range(12)]
    assert things[0].session == "s-1"
    for path in (folder / "11.json", cache / "0-25.json"):
        assert [type(thing).__name__ for thing, _ in openhands.read(Source(str(path)))] == ["Skipped"]


# -- what is damaged -------------------------------------------------------------------


def test_a_damaged_list_is_read_on(tmp_path: Path) -> None:
    log = Old().act("message", {"content": "x"}, source="user")
    for at in range(5):
        log.act("run", {"command": f"echo {at}"}).see("run", str(at), exit_code=0)
    content = json.dumps(log.events, indent=1).replace('"command": "echo 1"', '"command": "echo 1')
    things = read(tmp_path / "t.json", content)
    assert [each.output for each in results(things)] == ["0", "2", "3", "4"]
    (broken,) = [each for each in things if isinstance(each, Broken)]
    assert broken.line > 1
    things = read(tmp_path / "u.json", json.dumps(log.events)[:-30])
    assert [each.output for each in results(things)] == ["0", "1", "2", "3"]


def test_deep_and_strange_lists(tmp_path: Path) -> None:
    begin = json.dumps(Old().act("message", {"content": "x"}, source="user").events)[:-1]
    for at, rest in enumerate(
        [', [], 7, null, {}, {"kind": 1}]', "," + "[" * 100_000, ",{" * 3000, ',{"a":' * 5000, "", "}"]
    ):
        path = tmp_path / f"{at}x.json"
        path.write_text(begin + rest)
        assert scan(Source(str(path)), Settings()).sessions


@given(
    st.lists(
        st.tuples(
            st.integers(0, 300),
            st.sampled_from([None, True, 1, -1.5, "", "x", [], {}, [[]], {"text": 1}, {"exit_code": "1"}]),
        ),
        max_size=8,
    ),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_values_of_any_type(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, Any]], old: bool
) -> None:
    log = (
        Old()
        .act("message", {"content": "x"}, source="user")
        .act("run", {"command": "a"}, "r")
        .see("run", "1", exit_code=1)
    )
    log.act("delegate", {"agent": "b"}).act("edit", {"path": "/a"}, "q", {"command": "create"}).see(
        "edit", "", old_content="a"
    )
    events = copy.deepcopy(log.events if old else a_session().events)
    for at, value in changes:
        places: list[tuple[Any, Any]] = []
        level: list[Any] = [events]
        while level:
            holder = level.pop()
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                places.append((holder, key))
                if isinstance(holder[key], dict | list):
                    level.append(holder[key])
        holder, key = places[at % len(places)]
        holder[key] = copy.deepcopy(value)
    path = tmp_path_factory.mktemp("any") / "t.json"
    path.write_text(json.dumps(events))
    scan(Source(str(path)), Settings(), format="openhands")


def test_a_list_whose_compression_is_cut_is_read_up_to_there(tmp_path: Path) -> None:
    events = [{"id": number, "source": "user", "message": f"part {number}", "timestamp": "2026-01-01T00:00:00",
               "action": "message", "args": {"content": f"part {number}"}} for number in range(5)]  # fmt: skip
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress(json.dumps(events).encode())[:-4])
    result = scan(Source(str(path)), Settings())
    assert [each["error"] for each in result.errors] == ["the file ends in the midst of its compression"]
    assert [each.messages for each in result.sessions] == [5]
