"""Copilot CLI's events: small files in the real shapes, and the recorded ones."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from unspin import events as ev
from unspin.scan import formats
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.readers import copilot
from unspin.scan.source import Source


class Events:
    """Writes an ``events.jsonl``, a line after another."""

    def __init__(self, path: Path):
        self.path = path / "events.jsonl"
        self.lines: list[str] = []
        self.add("session.start", {"sessionId": "s-1", "producer": "copilot-agent", "context": {"cwd": "/shop"}})

    def add(self, kind: str, data: Any, agent: str = "") -> Events:
        at = len(self.lines)
        line = {"type": kind, "data": data, "id": f"e{at}", "timestamp": f"2026-03-01T10:00:{at % 60:02}.000Z"}
        line["parentId"] = None
        if agent:
            line["agentId"] = agent
        self.lines.append(json.dumps(line, separators=(",", ":")))
        return self

    def ask(self, message: str, *calls: tuple[str, str, Any], agent: str = "", tokens: int = 0) -> Events:
        requests = [{"toolCallId": id, "name": name, "arguments": given} for id, name, given in calls]
        data = {"messageId": message, "model": "m", "content": "", "toolRequests": requests, "outputTokens": tokens}
        self.add("assistant.message", data, agent)
        for id, name, given in calls:
            self.add("tool.execution_start", {"toolCallId": id, "toolName": name, "arguments": given}, agent)
        return self

    def done(self, id: str, content: str, agent: str = "", **more: Any) -> Events:
        data = {"toolCallId": id, "success": True, "result": {"content": content, "detailedContent": content}, **more}
        return self.add("tool.execution_complete", data, agent)

    def failed(self, id: str, words: str) -> Events:
        data = {"toolCallId": id, "success": False, "error": {"message": words, "code": "failure"}}
        return self.add("tool.execution_complete", data)

    def read(self) -> list[Any]:
        self.path.write_text("\n".join(self.lines) + "\n", "utf-8")
        return [thing for thing, _ in copilot.read(Source(str(self.path)))]


@pytest.fixture
def log(tmp_path: Path) -> Events:
    return Events(tmp_path)


def bash(id: str, command: str) -> tuple[str, str, Any]:
    return id, "bash", {"command": command, "description": "says what it does"}


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def shape(things: list[Any]) -> str:
    letters = {ev.ToolResult: "r", ev.RoundEnd: ".", ev.Message: "m", ev.Compaction: "C"}
    return "".join(letters.get(type(each), "") for each in things)


def test_lines_written_anew_with_blanks_are_told_as_well(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for kind, data in (("session.start", {"producer": "copilot-agent"}), ("user.message", {"content": "Go."})):
        line = {"type": kind, "data": data, "id": "e1", "timestamp": "2026-03-01T10:00:00.000Z"}
        for written in (line, {**line, "parentId": None}) if kind == "session.start" else ({**line, "parentId": None},):
            path.write_text(json.dumps(written) + "\n")
            assert formats.reader(Source(str(path))) is copilot


def test_what_a_message_asks_for_is_a_round(log: Events) -> None:
    log.add("user.message", {"content": "Fix it.", "transformedContent": "<x>Fix it.</x>", "parentAgentTaskId": "t"})
    log.add("assistant.turn_start", {"turnId": "0"})
    log.ask("m1", bash("a", "pytest"), ("b", "view", {"path": "/shop/a.py"}))
    log.done("b", "1. x").done("a", "1 failed\n<shellId: 0 completed with exit code 1>")
    log.add("assistant.turn_end", {"turnId": "0"})
    log.ask("m2", bash("c", "ls")).done("c", "a.py\n<exited with exit code 0>")
    things = log.read()
    assert isinstance(things[0], Began) and things[0].cwd == "/shop"
    assert shape(things) == "mrr.r."
    first, second, third = results(things)
    assert (first.call.command, first.exit_code, first.failed, first.output) == ("pytest", 1, True, "1 failed\n")
    assert (second.call.action, second.call.label, second.position) == (ev.READ, "view a.py", 1)
    assert (third.exit_code, third.failed, third.output) == (0, False, "a.py\n")
    assert "description" not in first.call.arguments


def test_the_shells_own_word_counts(log: Events) -> None:
    log.ask("m1", bash("a", "make")).done("a", "x", shellExecution={"exitCode": 2})
    (result,) = results(log.read())
    assert result.exit_code == 2 and result.failed


def test_without_an_exit_code_nobody_knows_how_it_ended(log: Events) -> None:
    log.ask("m1", bash("a", "make")).done("a", "x")
    (result,) = results(log.read())
    assert result.exit_code is None and result.background and not result.failed


def test_the_read_in_which_a_command_ends_carries_its_outcome(log: Events) -> None:
    still = "begun\n<command with shellId: 7 is still running after 10 seconds. Use read_bash to continue waiting.>"
    log.ask("m1", bash("a", "pytest")).done("a", still)
    log.ask("m2", ("b", "read_bash", {"shellId": "7", "delay": 2})).done("b", still.replace("begun", "half"))
    log.ask("m3", ("c", "read_bash", {"shellId": "7"})).done("c", "end\n<shellId: 7 completed with exit code 1>")
    log.ask("m4", ("d", "stop_bash", {"shellId": "9"})).done("d", "<command with id: 9 stopped>")
    one, two, three, four = results(log.read())
    assert one.background and one.exit_code is None and one.output == "begun\n"
    assert two.call.action == ev.WAIT and not two.background
    assert (three.call.command, three.exit_code, three.output) == ("pytest", 1, "begun\nhalf\nend\n")
    assert four.call.action == ev.WAIT and four.exit_code is None


def test_edits(log: Events) -> None:
    log.ask(
        "m1",
        ("a", "edit", {"path": "/shop/a.py", "old_str": "x", "new_str": "y"}),
        ("b", "create", {"path": "/shop/b.py", "file_text": "z\n"}),
        ("c", "apply_patch", "*** Begin Patch\n*** Update File: c.py\n@@\n-1\n+2\n*** End Patch"),
        ("d", "str_replace_editor", {"command": "view", "path": "/shop/a.py"}),
        ("e", "edit", {"path": "/shop/a.py", "old_str": "q", "new_str": "y"}),
    )
    log.done("a", "File updated").done("b", "Created file").done("c", "Done!").done("d", "x").failed(
        "e", "No match found"
    )
    found = results(log.read())
    assert [[(each.path, each.old, each.new) for each in result.call.edits] for result in found] == [
        [("/shop/a.py", "x", "y")],
        [("/shop/b.py", None, "z\n")],
        [("c.py", "1", "2")],
        [],
        [("/shop/a.py", "q", "y")],
    ]
    assert [each.call.action for each in found] == [ev.EDIT, ev.EDIT, ev.EDIT, ev.READ, ev.EDIT]
    assert [each.refused for each in found] == ["", "", "", "", ev.BY_TOOL]
    assert found[4].failed


def test_who_refused(log: Events) -> None:
    log.ask("m1", bash("a", "rm x"), bash("b", "rm y"), bash("c", "rm z"))
    log.failed("a", "The user rejected this tool call. User feedback: not that").failed(
        "b", "Denied by preToolUse hook"
    )
    answer = {"kind": "denied-interactively-by-user", "feedback": "no"}
    log.add("permission.completed", {"requestId": "r", "toolCallId": "c", "result": answer}).failed("c", "no")
    one, two, three = results(log.read())
    assert (one.refused, one.comment, one.failed) == (ev.BY_PERSON, True, False)
    assert (two.refused, two.comment) == (ev.BY_HOOK, False)
    assert (three.refused, three.comment) == (ev.BY_PERSON, True)


def test_only_the_person_speaks(log: Events) -> None:
    log.add("user.message", {"content": "Fix it."}).add("user.message", {"content": "Go on.", "source": "autopilot"})
    log.add("user.message", {"content": "Do this part."}, agent="sub").add("user.message", {"content": " "})
    log.add("system.notification", {"content": "<system_notification>done</system_notification>"})
    said = [(each.text, each.by_person) for each in log.read() if isinstance(each, ev.Message)]
    assert said[:2] == [("Fix it.", True), ("Go on.", False)]
    assert [by_person for _, by_person in said[2:]] == [False]


def test_subagents_have_rounds_of_their_own(log: Events) -> None:
    log.ask("m1", ("t", "task", {"prompt": "look"}))
    log.ask("m2", bash("a", "ls"), agent="sub").done("a", "<exited with exit code 0>", agent="sub")
    log.add("assistant.turn_end", {"turnId": "0"}, agent="sub").done("t", "found")
    things = log.read()
    assert [(each.call.agent, each.call.action) for each in results(things)] == [("sub", ev.SHELL), ("", ev.AGENT)]
    assert [each.agent for each in things if isinstance(each, ev.RoundEnd)] == ["sub", ""]


def test_aborted_and_unanswered_calls(log: Events) -> None:
    log.ask("m1", bash("a", "ls"), bash("b", "pwd")).done("a", "<exited with exit code 0>")
    log.add("abort", {"reason": "user_initiated"}).done("b", "late")
    things = log.read()
    assert shape(things) == "r."
    assert [each.kind for each in things if isinstance(each, Skipped)] == ["abort", "result without a call"]


def test_tokens(log: Events) -> None:
    log.ask("m1", tokens=50)
    usage = {"inputTokens": 1000, "outputTokens": 50, "cacheReadTokens": 600, "maxPromptTokens": 9000}
    log.add("session.usage_record", {"model": "m", "usage": usage})
    log.ask("m2", tokens=7)
    metrics = {"m": {"usage": {"inputTokens": 3000, "outputTokens": 57, "cacheReadTokens": 600, "cacheWriteTokens": 0}}}
    log.add("session.shutdown", {"modelMetrics": metrics, "currentModel": "m"})
    things = log.read()
    total = Counter[str]()
    for each in things:
        if isinstance(each, Used):
            total.update(input=each.usage.input, output=each.usage.output, read=each.usage.cache_read)
    assert total == {"input": 2400, "output": 57, "read": 600}
    assert [(each.tokens, each.window) for each in things if isinstance(each, ev.ContextSize)] == [(1050, 9000)]


def test_a_compaction(log: Events) -> None:
    log.add("session.compaction_start", {}).add("session.compaction_complete", {"success": True})
    assert [each.done for each in log.read() if isinstance(each, ev.Compaction)] == [False, True]


def everything(log: Events) -> Events:
    """Fill a log with a line of each kind."""
    log.add("session.model_change", {"newModel": "m"}).add("user.message", {"content": "Hi"})
    log.ask("m1", bash("a", "make"), ("b", "edit", {"path": "a", "old_str": "x", "new_str": "y"}), tokens=3)
    log.done("a", "<command with shellId: 7 is still running>", shellExecution={"exitCode": None})
    log.add("permission.completed", {"toolCallId": "b", "result": {"kind": "denied-by-rules"}}).failed("b", "no")
    log.ask("m2", ("c", "read_bash", {"shellId": "7"}), ("d", "apply_patch", "x"), ("e", "odd", {"q": 1}))
    log.done("c", "x <shellId: 7 completed with exit code 1>").done("d", "").done("e", "")
    log.add("session.usage_record", {"usage": {"inputTokens": 1, "outputTokens": 2}}).add("abort", {})
    log.add("session.shutdown", {"modelMetrics": {"m": {"usage": {"inputTokens": 4}}}})
    return log.add("session.compaction_start", {}).add("system.notification", {"content": "x"})


def mutated(value: Any, wrong: Any) -> Iterator[Any]:
    """Yield copies of plain data with one part replaced by ``wrong``, or taken out."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            for other in mutated(value[key], wrong):
                changed = copy.copy(value)
                changed[key] = other
                yield changed
            if isinstance(value, dict):
                yield {name: each for name, each in value.items() if name != key}
    yield wrong


@pytest.mark.parametrize("wrong", [None, 7, "x", "", [], {}, [[{}]], {"type": []}, True, "\ud800x"])
def test_whatever_a_line_holds_nothing_is_raised(tmp_path: Path, wrong: Any) -> None:
    log = everything(Events(tmp_path))
    lines = list(log.lines)
    for at, line in enumerate(lines):
        others = [json.dumps(other) for other in mutated(json.loads(line), wrong)]
        log.lines = [*lines[:at], *others, *lines[at:]]
        assert sum(isinstance(each, Broken) for each in log.read()) <= len(others)


def test_broken_and_unknown_lines_are_told_and_the_rest_is_read(log: Events) -> None:
    log.lines += ["{", "[1]", '{"type":"later","data":{}}', '{"type":"user.message"}', '{"type":"abort"', "\x00"]
    log.ask("m1", bash("a", "ls")).done("a", "<exited with exit code 0>")
    things = log.read()
    assert [each.line for each in things if isinstance(each, Broken)] == [2, 6, 7]
    assert [each.kind for each in things if isinstance(each, Skipped)] == ["list", "later", "user.message"]
    assert len(results(things)) == 1


def test_it_is_told_from_its_content(log: Events) -> None:
    log.read()
    assert formats.reader(Source(str(log.path))) is copilot
    assert not copilot.sniff(b'{"type":"session_meta","payload":{}}\n', "events.jsonl")
    assert not copilot.sniff(b"", "")


@pytest.mark.corpora
def test_the_recorded_sessions(shared: Path) -> None:
    files = sorted((shared / "corpora" / "copilot_cli").glob("*.gz"))
    assert len(files) == 12
    totals: Counter[str] = Counter()
    for file in files:
        source = Source(str(file))
        assert formats.reader(source) is copilot
        things = [thing for thing, _ in copilot.read(source)]
        assert not [each for each in things if isinstance(each, Broken)]
        found = results(things)
        counted = {
            "results": len(found),
            "failed": sum(each.failed or bool(each.refused) for each in found),
            "exit codes": sum(each.exit_code is not None for each in found),
            "edits": sum(each.call.action == ev.EDIT for each in found),
            "rounds": sum(isinstance(each, ev.RoundEnd) for each in things),
            "messages": sum(isinstance(each, ev.Message) and each.by_person for each in things),
            "most output tokens": sum(each.usage.output for each in things if isinstance(each, Used)),
        }
        assert counted == independent_count(file), file.name
        totals.update(counted)
    assert totals["results"] == 129


def independent_count(file: Path) -> dict[str, int]:
    """Count by the format's own words, with nothing of the reader."""
    count: Counter[str] = Counter()
    names: dict[str, str] = {}
    told = total = 0
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            data, kind = line["data"], line["type"]
            if kind == "user.message":
                count["messages"] += 1
            elif kind == "assistant.message":
                count["rounds"] += bool(data["toolRequests"])
                told += data["outputTokens"]
            elif kind == "session.shutdown":
                total += sum(each["usage"]["outputTokens"] for each in data["modelMetrics"].values())
            elif kind == "tool.execution_start":
                names[data["toolCallId"]] = data["toolName"]
            elif kind == "tool.execution_complete":
                count["results"] += 1
                count["edits"] += names[data["toolCallId"]] in ("edit", "create")
                content = data.get("result", {}).get("content", "")
                last = content.rstrip().rpartition("\n")[2]
                ends = "completed with exit code " in last and names[data["toolCallId"]] == "bash"
                count["exit codes"] += ends
                nonzero = ends and "exit code 0>" not in last
                count["failed"] += nonzero or not data["success"]
    count["most output tokens"] = max(told, total)
    return {
        name: count[name]
        for name in ("results", "failed", "exit codes", "edits", "rounds", "messages", "most output tokens")
    }
