"""Codex rollouts to events: small files in the real shapes, and the recorded ones."""

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
from unspin.scan.readers import codex
from unspin.scan.source import Source

META = {"id": "s-1", "timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/shop", "source": "cli", "cli_version": "0.140.0"}
PATCH = """*** Begin Patch
*** Update File: price.py
@@ def price
 def price(units):
-    return units
+    return units * 2
*** Add File: /shop/tax.py
+RATE = 0.2
*** Delete File: old.py
*** Update File: a.py
*** Move to: b.py
@@
-x = 1
+x = 2
*** End Patch
"""


class Rollout:
    """Writes a rollout, a line after another."""

    def __init__(self, path: Path, meta: dict[str, Any] | None = None):
        self.path = path / "rollout.jsonl"
        self.lines: list[str] = []
        self.seconds = 0
        self.total = 0
        if meta != {}:
            self.line("session_meta", meta or META)

    def line(self, kind: str, payload: Any) -> Rollout:
        self.seconds += 1
        when = f"2026-03-01T10:{self.seconds // 60:02}:{self.seconds % 60:02}.000Z"
        self.lines.append(json.dumps({"timestamp": when, "type": kind, "payload": payload}))
        return self

    def item(self, kind: str, **fields: Any) -> Rollout:
        return self.line("response_item", {"type": kind, **fields})

    def event(self, kind: str, **fields: Any) -> Rollout:
        return self.line("event_msg", {"type": kind, **fields})

    def call(self, call_id: str, name: str, given: Any, **fields: Any) -> Rollout:
        return self.item("function_call", name=name, arguments=json.dumps(given), call_id=call_id, **fields)

    def run(self, call_id: str, command: str, **fields: Any) -> Rollout:
        return self.call(call_id, "exec_command", {"cmd": command, "yield_time_ms": 1000}, **fields)

    def custom(self, call_id: str, name: str, text: str) -> Rollout:
        return self.item("custom_tool_call", status="completed", name=name, input=text, call_id=call_id)

    def result(self, call_id: str, output: Any, kind: str = "function_call_output") -> Rollout:
        return self.item(kind, call_id=call_id, output=output)

    def count(self, tokens: int = 100, cached: int = 40) -> Rollout:
        self.total += tokens + 10
        last = {"input_tokens": tokens, "cached_input_tokens": cached, "output_tokens": 10, "total_tokens": tokens + 10}
        total = {**last, "total_tokens": self.total}
        info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": 1000}
        return self.event("token_count", info=info, rate_limits={})

    def read(self) -> list[Any]:
        self.path.write_text("\n".join(self.lines) + "\n", "utf-8")
        return [thing for thing, _ in codex.read(Source(str(self.path)))]


@pytest.fixture
def rollout(tmp_path: Path) -> Rollout:
    return Rollout(tmp_path)


def ended(code: int, text: str) -> str:
    return f"Chunk ID: a1b2c3\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\n{text}"


def running(session: int, text: str = "") -> str:
    return f"Chunk ID: a1b2c3\nWall time: 1.0 seconds\nProcess running with session ID {session}\nOutput:\n{text}"


def results(things: list[Any]) -> list[ev.ToolResult]:
    return [each for each in things if isinstance(each, ev.ToolResult)]


def shape(things: list[Any]) -> str:
    """Return the events as letters: r a result, . a round's end, m a message, C compactions."""
    letters = {ev.ToolResult: "r", ev.RoundEnd: ".", ev.Message: "m", ev.Compaction: "C"}
    return "".join(letters.get(type(each), "") for each in things)


def test_parallel_calls_are_one_round_in_the_order_of_the_response(rollout: Rollout) -> None:
    rollout.run("a", "pytest").run("b", "ruff check .")
    rollout.result("b", ended(0, "fine")).result("a", ended(1, "1 failed")).count()
    rollout.item("reasoning", summary=[]).run("c", "ls").result("c", ended(0, "")).count()
    things = rollout.read()
    assert shape(things) == "rr.r."
    first, second, third = results(things)
    assert [first.call.command, second.call.command, third.call.command] == ["pytest", "ruff check .", "ls"]
    assert [first.position, second.position, third.position] == [0, 1, 0]
    assert (first.exit_code, first.failed, first.output) == (1, True, "1 failed")
    assert (second.exit_code, second.failed, second.output) == (0, False, "fine")
    assert first.call.cwd == "/shop"


def test_tokens_may_be_counted_before_the_results_are_in(rollout: Rollout) -> None:
    rollout.run("a", "ls").run("b", "pwd").count().result("a", ended(0, "")).result("b", ended(0, ""))
    rollout.run("c", "ls").count().result("c", ended(0, ""))
    assert shape(rollout.read()) == "rr.r."


def test_calls_written_in_pairs_with_their_results_are_one_response(rollout: Rollout) -> None:
    """Versions of 2025 wrote a response's items after it had run."""
    rollout.count().run("a", "ls").result("a", ended(0, "")).run("b", "pwd").result("b", ended(0, ""))
    rollout.count().run("c", "ls").result("c", ended(0, ""))
    assert shape(rollout.read()) == "rr.r."


def test_without_counts_a_call_after_a_result_is_another_response(rollout: Rollout) -> None:
    rollout.run("a", "ls").result("a", ended(0, "")).run("b", "ls").result("b", ended(0, ""))
    assert shape(rollout.read()) == "r.r."


def test_a_call_without_a_result_is_left_out(rollout: Rollout) -> None:
    rollout.run("a", "ls").count().item("reasoning").run("b", "pwd").result("b", ended(0, "")).result(
        "a", "late"
    ).count()
    things = rollout.read()
    assert [each.call.command for each in results(things)] == ["pwd"]
    assert [each.kind for each in things if isinstance(each, Skipped)] == ["output without a call"]


def test_ids_that_are_not_one_of_a_kind_are_joined_by_order(rollout: Rollout) -> None:
    rollout.run("REDACTED", "one").run("REDACTED", "two")
    rollout.result("REDACTED", ended(0, "1")).result("REDACTED", ended(0, "2"))
    assert [(each.call.command, each.output) for each in results(rollout.read())] == [("one", "1"), ("two", "2")]


def test_an_interrupted_call(rollout: Rollout) -> None:
    rollout.run("a", "pytest").result("a", "aborted by user after 29.7s").event("turn_aborted", reason="interrupted")
    (result,) = results(rollout.read())
    assert result.interrupted and not result.failed and result.exit_code is None


@pytest.mark.parametrize(
    ("name", "given", "output", "command", "code"),
    [
        ("shell", {"command": ["bash", "-lc", "npm test"], "workdir": "/shop/web"},
         json.dumps({"output": "bad\n", "metadata": {"exit_code": 3, "duration_seconds": 0.1}}), "npm test", 3),
        ("shell", {"command": ["git", "log", "a b"]}, "Exit code: 0\nWall time: 1 seconds\nOutput:\nx", "git log 'a b'", 0),
        ("shell_command", {"command": "make"},
         "Exit code: 2\nWall time: 1 seconds\nTotal output lines: 900\nOutput:\nx", "make", 2),
        ("exec_command", {"cmd": "make"}, 'Command: /bin/zsh -lc make\nChunk ID: 5e02fe\nWall time: 0.0 seconds\n'
         "Process exited with code 1\nOutput:\nx", "make", 1),
    ],
)  # fmt: skip
def test_exit_codes_of_all_generations(
    rollout: Rollout, name: str, given: Any, output: str, command: str, code: int
) -> None:
    (result,) = results(rollout.call("a", name, given).result("a", output).read())
    assert (result.call.command, result.exit_code, result.failed) == (command, code, code != 0)
    assert result.output.strip() in ("bad", "x")
    assert result.call.cwd == given.get("workdir", "/shop")


def test_the_events_own_exit_code_counts_where_the_output_has_none(rollout: Rollout) -> None:
    rollout.run("a", "make").event("exec_command_end", call_id="a", exit_code=2, status="failed", aggregated_output="x")
    (result,) = results(rollout.result("a", "something else").read())
    assert result.exit_code == 2 and result.failed


def test_local_shell_calls(rollout: Rollout) -> None:
    action = {"type": "exec", "command": ["zsh", "-c", "ls"], "working_directory": "/else", "timeout_ms": 10}
    rollout.item("local_shell_call", call_id="a", status="completed", action=action)
    (result,) = results(rollout.result("a", '{"output":"","metadata":{"exit_code":0}}').read())
    assert (result.call.action, result.call.command, result.call.cwd, result.exit_code) == (ev.SHELL, "ls", "/else", 0)


def test_what_the_person_and_the_reviewer_refuse(rollout: Rollout) -> None:
    rollout.run("a", "rm -rf x").result("a", "exec command rejected by user")
    rollout.run("b", "rm -rf y").result("b", 'Rejected("This action was rejected due to unacceptable risk.")')
    rollout.run("c", "nothere").result("c", "exec_command failed for `nothere`: No such file or directory")
    one, two, three = results(rollout.read())
    assert (one.refused, one.failed) == (ev.BY_PERSON, False)
    assert (two.refused, two.failed) == (ev.BY_HOOK, False)
    assert (three.refused, three.failed, three.exit_code) == ("", True, None)


def test_the_wait_in_which_a_command_ends_carries_its_outcome(rollout: Rollout) -> None:
    rollout.run("a", "pytest").result("a", running(7, "begun\n")).count()
    rollout.call("b", "write_stdin", {"session_id": 7, "chars": ""}).result("b", running(7, "half\n")).count()
    rollout.call("c", "write_stdin", {"session_id": 7, "chars": ""}).result("c", ended(1, "1 failed\n")).count()
    one, two, three = results(rollout.read())
    assert one.background and one.exit_code is None
    assert two.call.action == ev.WAIT and two.exit_code is None and not two.failed
    assert three.call.action == ev.SHELL and three.call.command == "pytest"
    assert (three.exit_code, three.failed, three.output) == (1, True, "begun\nhalf\n1 failed\n")
    assert three.size == len("1 failed\n")


def test_what_is_typed_into_a_program_is_no_wait(rollout: Rollout) -> None:
    rollout.call("a", "write_stdin", {"session_id": 9, "chars": "y\n"}).result("a", running(9))
    rollout.call("b", "write_stdin", {"session_id": 9, "chars": "\u0003"}).result("b", running(9))
    assert [each.call.action for each in results(rollout.read())] == [ev.OTHER, ev.WAIT]


def test_patches_are_edits_a_hunk_at_a_time(rollout: Rollout) -> None:
    rollout.custom("a", "apply_patch", PATCH)
    changes = {"old.py": {"type": "delete", "content": "gone\n"}}
    rollout.event("patch_apply_end", call_id="a", success=True, status="completed", changes=changes)
    rollout.result("a", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\n",
                   "custom_tool_call_output")  # fmt: skip
    (result,) = results(rollout.read())
    assert (result.call.action, result.refused, result.failed) == (ev.EDIT, "", False)
    assert [(each.path, each.old, each.new) for each in result.call.edits] == [
        ("price.py", "def price(units):\n    return units", "def price(units):\n    return units * 2"),
        ("/shop/tax.py", "", "RATE = 0.2\n"),
        ("old.py", "gone\n", ""),
        ("a.py", "x = 1", "x = 2"),
        ("b.py", None, ""),
    ]
    assert result.call.label == "edit price.py tax.py old.py"


@pytest.mark.parametrize(
    "output",
    [
        "apply_patch verification failed: Failed to find expected lines in /shop/price.py:\nreturn",
        json.dumps({"output": "Failed to find expected lines", "metadata": {"exit_code": 1}}),
        "Exit code: 1\nWall time: 0 seconds\nOutput:\nno such file",
    ],
)
def test_a_patch_that_does_not_fit_is_refused_by_the_tool(rollout: Rollout, output: str) -> None:
    rollout.custom("a", "apply_patch", PATCH).result("a", output, "custom_tool_call_output")
    (result,) = results(rollout.read())
    assert result.refused == ev.BY_TOOL and result.failed


def test_patches_through_the_shell_are_edits(rollout: Rollout) -> None:
    given = {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF\n"]}
    rollout.call("a", "shell", given).result("a", '{"output":"Success.","metadata":{"exit_code":0}}')
    rollout.call("b", "shell", {"command": ["apply_patch", PATCH]})
    rollout.result("b", '{"output":"no","metadata":{"exit_code":1}}')
    one, two = results(rollout.read())
    assert one.call.edits[0].path == two.call.edits[0].path == "price.py"
    assert (one.refused, two.refused) == ("", ev.BY_TOOL)


def test_scripts_that_make_one_call_are_that_call(rollout: Rollout) -> None:
    done = {"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}
    whole = json.dumps({"chunk_id": "c", "exit_code": 1, "output": "1 failed"})
    rollout.custom(
        "a",
        "exec",
        'const r = await tools.exec_command({"cmd":"pytest","workdir":"/shop/x"});\ntext(JSON.stringify(r));',
    )
    rollout.result("a", [done, {"type": "input_text", "text": whole}], "custom_tool_call_output").count()
    rollout.custom(
        "b", "exec", "const r = await tools.exec_command({cmd:`pytest -k 'a'`, yield_time_ms:1}); text(r.output)"
    )
    rollout.result("b", [done, {"type": "input_text", "text": "1 passed"}], "custom_tool_call_output").count()
    rollout.custom("c", "exec", f"const p = {json.dumps(PATCH)};\nconst r = await tools.apply_patch(p);\ntext(r);")
    rollout.result("c", [done, {"type": "input_text", "text": "{}"}], "custom_tool_call_output").count()
    rollout.custom("d", "exec", "await Promise.all([tools.exec_command({cmd:'a'}), tools.exec_command({cmd:'b'})])")
    rollout.result("d", [done, {"type": "input_text", "text": "x"}], "custom_tool_call_output").count()
    one, two, three, four = results(rollout.read())
    assert (one.call.command, one.call.cwd, one.exit_code, one.output) == ("pytest", "/shop/x", 1, "1 failed")
    assert (two.call.command, two.exit_code, two.background) == (
        "pytest -k 'a'",
        None,
        True,
    )  # nobody knows how it ended
    assert three.call.action == ev.EDIT and three.call.edits[0].path == "price.py" and not three.refused
    assert four.call.action == ev.OTHER


def test_calls_that_a_script_made_stand_in_its_place_where_they_are_recorded(rollout: Rollout) -> None:
    rollout.custom("a", "exec", "for (const c of all) await tools.exec_command(c)")
    for at, code in enumerate((0, 3)):
        item = {"type": "CommandExecution", "id": f"exec-{at}", "command": ["/bin/bash", "-lc", f"run {at}"],
                "cwd": "/shop", "status": "completed", "exit_code": code, "aggregated_output": "out"}  # fmt: skip
        rollout.event("item_completed", item=item)
    change = {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x = 1\n+x = 2\n", "move_path": None}
    item = {"type": "FileChange", "id": "exec-3", "changes": {"/shop/a.py": change}, "status": "completed"}
    rollout.event("item_completed", item=item)
    rollout.result("a", "Script completed\nWall time 0.1 seconds\nOutput:\nx", "custom_tool_call_output").count()
    one, two, three = results(rollout.read())
    assert [one.call.command, two.call.command] == ["run 0", "run 1"]
    assert [one.exit_code, two.exit_code, two.failed, two.output] == [0, 3, True, "out"]
    assert [(each.path, each.old, each.new) for each in three.call.edits] == [("/shop/a.py", "x = 1", "x = 2")]


def test_an_item_that_repeats_a_call_is_no_second_one(rollout: Rollout) -> None:
    rollout.run("a", "make")
    item = {
        "type": "CommandExecution",
        "id": "a",
        "command": ["bash", "-lc", "make"],
        "status": "failed",
        "exit_code": 2,
    }
    rollout.event("item_completed", item=item).result("a", "odd words").count()
    (result,) = results(rollout.read())
    assert result.exit_code == 2


def test_notes_waits_and_reads(rollout: Rollout) -> None:
    for at, name in enumerate(("update_plan", "wait_agent", "view_image", "spawn_agent", "request_user_input")):
        rollout.call(f"c{at}", name, {"path": "x"}).result(f"c{at}", "ok").count()
    rollout.item("web_search_call", status="completed", action={"type": "search", "query": "q"}).count()
    rollout.call("m", "search", {"q": 1}, namespace="mcp__wiki").result(
        "m", "Wall time: 1 seconds\nOutput:\n{}"
    ).count()
    found = results(rollout.read())
    assert [each.call.action for each in found] == [
        ev.NOTE, ev.WAIT, ev.READ, ev.AGENT, ev.ASK, ev.READ, ev.OTHER,
    ]  # fmt: skip
    assert found[-1].call.tool == "mcp__wiki__search"


def test_a_failed_call_of_another_server(rollout: Rollout) -> None:
    rollout.call("m", "search", {"q": 1}, namespace="mcp__wiki")
    rollout.event("mcp_tool_call_end", call_id="m", result={"Ok": {"content": [], "isError": True}})
    (result,) = results(rollout.result("m", "no").read())
    assert result.failed


def test_only_the_person_speaks(rollout: Rollout) -> None:
    def user(text: str) -> None:
        rollout.item("message", role="user", content=[{"type": "input_text", "text": text}])

    user("# AGENTS.md instructions for /shop\n\n<INSTRUCTIONS>\nx")
    user("<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>")
    rollout.item("message", role="developer", content=[{"type": "input_text", "text": "<permissions>"}])
    user("Fix the price.")
    rollout.event("user_message", message="Fix the price.", images=[])
    rollout.run("a", "ls").result("a", ended(0, "")).count()
    user("<turn_aborted>\nThe user interrupted\n</turn_aborted>")
    user("<skill>\n<name>x</name>\n</skill>")
    rollout.event("user_message", message="# Context from my IDE setup:\n\n## My request for Codex:\nGo on")
    things = rollout.read()
    assert [each.text for each in things if isinstance(each, ev.Message)] == ["Fix the price.", "Go on"]
    assert all(each.by_person for each in things if isinstance(each, ev.Message))
    assert shape(things) == "mr.m"


def test_where_no_event_tells_it_the_message_itself_counts(rollout: Rollout) -> None:
    rollout.item("message", role="user", content=[{"type": "input_text", "text": "Fix it."}])
    rollout.run("a", "ls").result("a", ended(0, ""))
    rollout.item("message", role="user", content=[{"type": "input_text", "text": "More."}])
    assert shape(rollout.read()) == "mr.m"


@pytest.mark.parametrize(
    ("source", "agent"),
    [
        ({"subagent": {"thread_spawn": {"parent_thread_id": "p", "agent_path": "/root/review"}}}, "/root/review"),
        ({"subagent": {"other": "guardian"}}, "guardian"),
        ({"subagent": "review"}, "review"),
    ],
)
def test_a_subagents_rollout_is_a_subagents(tmp_path: Path, source: Any, agent: str) -> None:
    rollout = Rollout(tmp_path, {**META, "source": source})
    rollout.event("user_message", message="Review this.").run("a", "ls").result("a", ended(0, "")).count()
    things = rollout.read()
    assert shape(things) == "r."
    assert results(things)[0].call.agent == agent
    assert [each.agent for each in things if isinstance(each, (ev.RoundEnd, Used))] == [agent, agent]
    assert not [each for each in things if isinstance(each, ev.ContextSize)]


def test_what_a_fork_copies_from_another_session_is_left_out(rollout: Rollout) -> None:
    rollout.lines.append(rollout.lines[0].replace('"s-1"', '"parent"'))
    copied = Rollout(rollout.path.parent, {}).run("x", "ls").result("x", ended(0, "")).count().lines
    rollout.lines += [each.replace("10:00:02", "10:00:01").replace("10:00:03", "10:00:01") for each in copied]
    rollout.seconds = 10
    things = rollout.run("a", "pwd").result("a", ended(0, "")).count().read()
    assert [each.call.command for each in results(things)] == ["pwd"]
    assert len([each for each in things if isinstance(each, Used)]) == 1
    assert [each.session for each in things if isinstance(each, Began)] == ["s-1"]


def test_tokens_are_counted_once_a_response(rollout: Rollout) -> None:
    rollout.line("turn_context", {"cwd": "/shop", "model": "gpt-5.5"})
    rollout.event("token_count", info=None, rate_limits={})
    rollout.run("a", "ls").result("a", ended(0, "")).count(100, 40)
    rollout.lines.append(rollout.lines[-1])
    rollout.item("reasoning").run("b", "ls").result("b", ended(0, "")).count(200, 0)
    things = rollout.read()
    used = [each for each in things if isinstance(each, Used)]
    assert [(each.model, each.usage.input, each.usage.cache_read, each.usage.output) for each in used] == [
        ("gpt-5.5", 60, 40, 10),
        ("gpt-5.5", 200, 0, 10),
    ]
    sizes = [(each.tokens, each.window) for each in things if isinstance(each, ev.ContextSize)]
    assert sizes == [(110, 1000), (210, 1000)]
    at = things.index(next(each for each in things if isinstance(each, ev.ContextSize)))
    assert isinstance(things[at + 1], ev.ToolResult)  # the context is judged with its round


def test_a_compaction_is_told_twice_and_happens_once(rollout: Rollout) -> None:
    rollout.run("a", "ls").result("a", ended(0, "")).count()
    rollout.line("compacted", {"message": "", "replacement_history": []}).count(5, 0).event("context_compacted")
    rollout.item("reasoning").event("context_compacted")
    things = rollout.read()
    assert shape(things) == "r.CCCC"
    assert [each.done for each in things if isinstance(each, ev.Compaction)] == [False, True, False, True]


def test_the_oldest_rollouts_have_no_envelope(tmp_path: Path) -> None:
    rollout = Rollout(tmp_path, {})
    content = [
        {
            "type": "input_text",
            "text": "<environment_context>\nCurrent working directory: /shop\n</environment_context>",
        }
    ]
    for line in (
        {"id": "old-1", "timestamp": "2025-07-01T10:00:00Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": content},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["bash","-lc","make"]}', "call_id": "a"},
        {"type": "function_call_output", "call_id": "a", "output": '{"output":"x","metadata":{"exit_code":2}}'},
        {"type": "message", "role": "assistant", "content": []},
    ):
        rollout.lines.append(json.dumps(line, separators=(",", ":")))
    things = rollout.read()
    assert codex.sniff(rollout.path.read_bytes(), "")
    assert shape(things) == "mr."
    (result,) = results(things)
    assert (result.call.command, result.call.cwd, result.exit_code) == ("make", "/shop", 2)
    assert things[0].session == "old-1"


def test_broken_and_unknown_lines_are_told_and_the_rest_is_read(rollout: Rollout) -> None:
    rollout.lines += ["{", "[1]", '{"type":"later","payload":{}}', "", "3", '{"type":7}']
    rollout.line("event_msg", [1]).line("response_item", None)
    things = rollout.run("a", "ls").result("a", ended(0, "")).read()
    assert [each.line for each in things if isinstance(each, Broken)] == [2, 8, 9]
    kinds = [each.kind for each in things if isinstance(each, Skipped)]
    assert kinds == ["list", "later", "int", "7"]
    assert len(results(things)) == 1


def everything(rollout: Rollout) -> Rollout:
    """Fill a rollout with a line of each kind."""
    rollout.line("turn_context", {"cwd": "/shop", "model": "m"}).event("task_started", model_context_window=5)
    rollout.item("message", role="user", content=[{"type": "input_text", "text": "Hi"}])
    rollout.event("user_message", message="Hi")
    rollout.run("a", "pytest").result("a", running(3)).count()
    rollout.call("b", "write_stdin", {"session_id": 3, "chars": ""}).result("b", ended(0, "")).count()
    rollout.custom("c", "apply_patch", PATCH)
    rollout.event("patch_apply_end", call_id="c", success=True, changes={"old.py": {"type": "delete", "content": "x"}})
    rollout.result("c", [{"type": "input_text", "text": "Success"}], "custom_tool_call_output")
    rollout.custom("d", "exec", 'await tools.exec_command({"cmd":"ls"})')
    item = {"type": "CommandExecution", "id": "exec-1", "command": ["bash", "-lc", "ls"], "exit_code": 1}
    rollout.event("item_completed", item=item)
    change = {"type": "update", "unified_diff": "-a\n+b", "move_path": "z"}
    rollout.event("item_completed", item={"type": "FileChange", "id": "exec-2", "changes": {"a": change}})
    rollout.event("item_completed", item={"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "x"}]})
    rollout.result("d", "Script completed\nOutput:\n", "custom_tool_call_output")
    rollout.item("local_shell_call", call_id="e", action={"command": ["ls"], "working_directory": "/"})
    rollout.event("exec_command_end", call_id="e", exit_code=0, status="completed").result(
        "e", '{"output":"","metadata":{}}'
    )
    rollout.call("f", "x", {"q": 1}, namespace="mcp__y").event("mcp_tool_call_end", call_id="f", result={"Ok": {}})
    rollout.result("f", {"content": "x", "success": False}).item("web_search_call", action={"query": "q"})
    rollout.line("token_usage_record", {"usage": {"input_tokens": 1}, "thread_token_usage": {"total_tokens": 9}})
    return rollout.line("compacted", {"message": ""}).event("turn_aborted", reason="interrupted")


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


@pytest.mark.parametrize("wrong", [None, 7, -1.5, "x", "", [], {}, [[{}]], {"type": []}, True, "\ud800x"])
def test_whatever_a_line_holds_nothing_is_raised(tmp_path: Path, wrong: Any) -> None:
    lines = everything(Rollout(tmp_path)).lines
    for at, line in enumerate(lines):
        rollout = Rollout(tmp_path, {})
        others = [json.dumps(other) for other in mutated(json.loads(line), wrong)]
        rollout.lines = [*lines[:at], *others, *lines[at:]]
        assert sum(isinstance(each, Broken) for each in rollout.read()) <= len(others)


def test_whatever_is_cut_off_nothing_is_raised(tmp_path: Path) -> None:
    data = "\n".join(everything(Rollout(tmp_path)).lines).encode()
    path = tmp_path / "cut.jsonl"
    for end in range(0, len(data), 97):
        path.write_bytes(data[:end] + b"\xff\xfe\n" + b"[" * 3000)
        list(codex.read(Source(str(path))))


def test_it_is_told_from_its_content(rollout: Rollout) -> None:
    rollout.read()
    assert formats.reader(Source(str(rollout.path))) is codex
    assert not codex.sniff(b'{"type":"user","sessionId":"x","uuid":"y"}\n', "rollout-1.jsonl")
    assert not codex.sniff(b"", "")


@pytest.mark.corpora
def test_the_recorded_rollouts(shared: Path) -> None:
    files = sorted((shared / "corpora" / "codex").glob("*.gz"))
    assert len(files) == 55
    totals: Counter[str] = Counter()
    for file in files:
        source = Source(str(file))
        assert formats.reader(source) is codex
        things = [thing for thing, _ in codex.read(source)]
        expected = independent_count(file)
        broken = [each.line for each in things if isinstance(each, Broken)]
        assert broken == expected.pop("broken lines"), file.name
        found = results(things)
        counted = {
            "results": len(found),
            "patches": sum(each.call.action == ev.EDIT for each in found),
            "patches refused": sum(each.refused == ev.BY_TOOL for each in found),
            "exit codes": sum(each.exit_code is not None for each in found),
            "failed commands": sum(each.exit_code not in (None, 0) for each in found),
            "messages": sum(isinstance(each, ev.Message) for each in things),
            "compactions": sum(isinstance(each, ev.Compaction) and each.done for each in things),
            "output tokens": sum(each.usage.output for each in things if isinstance(each, Used)),
        }
        assert counted == expected, file.name
        totals.update(counted)
    assert totals["results"] == 4981 and totals["failed commands"] == 213


def independent_count(file: Path) -> dict[str, Any]:
    """Count by the format's own words, with nothing of the reader."""
    count: Counter[str] = Counter()
    broken: list[int] = []
    calls: dict[str, str] = {}
    subagent, first, sums = False, True, {0}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for number, text in enumerate(lines, 1):
            try:
                line = json.loads(text)
            except ValueError:
                broken.append(number)
                continue
            payload = line["payload"]
            kind = payload.get("type")
            if line["type"] == "session_meta":
                subagent = subagent or (first and isinstance(payload["source"], dict))
                # of the one session that copies another's history, the copied lines stand within its first second
                copied = "" if first else line["timestamp"][:19]
                first = False
            elif not first and copied and line["timestamp"][:19] == copied:
                continue
            elif line["type"] == "compacted":
                count["compactions"] += not subagent
            elif kind in ("function_call", "custom_tool_call"):
                calls[payload["call_id"]] = payload["name"] + " " + payload.get("input", "")
            elif kind == "tool_search_output" or kind == "web_search_call":
                count["results"] += 1
            elif kind in ("function_call_output", "custom_tool_call_output"):
                count["results"] += 1
                call, output = calls[payload["call_id"]], payload["output"]
                text = output if isinstance(output, str) else "\n".join(each.get("text", "") for each in output)
                if call.startswith("apply_patch") or "tools.apply_patch" in call:
                    count["patches"] += 1
                    count["patches refused"] += text.startswith("apply_patch verification failed")
                head, _, rest = text.partition("\nOutput:\n")
                code = None
                if "Process exited with code " in head:
                    code = int(head.partition("Process exited with code ")[2].split()[0])
                elif call.startswith("apply_patch"):
                    code = None
                elif rest.strip().startswith('{"chunk_id"'):
                    code = json.loads(rest).get("exit_code")
                count["exit codes"] += code is not None
                count["failed commands"] += code not in (None, 0)
            elif kind == "user_message":
                count["messages"] += not subagent
            elif kind == "token_count" and payload["info"]:
                total = payload["info"]["total_token_usage"]["total_tokens"]
                if total not in sums:
                    sums.add(total)
                    count["output tokens"] += payload["info"]["last_token_usage"]["output_tokens"]
    names = (
        "results",
        "patches",
        "patches refused",
        "exit codes",
        "failed commands",
        "messages",
        "compactions",
        "output tokens",
    )
    return {"broken lines": broken, **{name: count[name] for name in names}}
