"""mini-swe-agent's trajectories."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.guard import Settings
from unspin.scan import documents, formats
from unspin.scan.items import Broken, Ended, Used
from unspin.scan.readers import mini_swe_agent
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source

INFO = {
    "exit_status": "Submitted",
    "submission": "diff --git a/shop.py b/shop.py",
    "model_stats": {"instance_cost": 0.5, "api_calls": 4},
    "mini_version": "1.15.0",
    "config": {"environment": {"cwd": "/shop"}, "model": {"model_name": "some-model"}},
}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def ran(command: str) -> dict[str, Any]:
    return said(f"THOUGHT: next.\n\n```bash\n{command}\n```")


def shown(output: str, code: int = 0) -> dict[str, Any]:
    return {"role": "user", "content": f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"}


START = [{"role": "system", "content": "You can use a computer."}, {"role": "user", "content": "Fix shop.py."}]


def write(folder: Path, messages: list[Any], info: Any = INFO, name: str = "shop-1.traj.json") -> Source:
    path = folder / name
    document = {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1"}
    path.write_text(json.dumps(document))
    return Source(str(path))


def test_a_run_whose_patch_fills_the_head_of_its_file(tmp_path: Path) -> None:
    large = {**INFO, "submission": "+ a line\n" * 60_000}
    source = write(tmp_path, [*START, ran("ls"), shown("a.py")], large)
    assert formats.reader(source) is mini_swe_agent
    assert len(results(source)) == 1
    elsewhere = Path(source.path).rename(tmp_path / "run.json")
    with pytest.raises(formats.Unknown):
        formats.reader(Source(str(elsewhere)))


def things(source: Source, kind: Any) -> list[Any]:
    return [thing for thing, _ in mini_swe_agent.read(source) if isinstance(thing, kind)]


def results(source: Source) -> list[ev.ToolResult]:
    return things(source, ev.ToolResult)


def scanned(source: Source) -> Result:
    return scan(source, Settings())


def test_a_run_of_version_1(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        [
            *START,
            ran("cat shop.py"),
            shown("def price(): ..."),
            ran("cat <<'EOF' > shop.py\ndef price(): return 1\nEOF"),
            shown(""),
            ran("pytest"),
            shown("1 failed", 1),
            ran("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff"),
            {"role": "user", "content": "diff --git a/shop.py b/shop.py"},
        ],
    )
    result = scanned(source)
    assert result.format == "mini-swe-agent" and result.errors == []
    (session,) = result.sessions
    assert (session.session, session.project, session.how) == ("shop-1", "/shop", "Submitted")
    assert (session.tool_calls, session.rounds, session.messages, session.failed_calls) == (4, 4, 1, 1)
    assert session.dollars == pytest.approx(0.5)
    found = results(source)
    assert [each.call.action for each in found] == [ev.SHELL] * 4
    assert [each.exit_code for each in found] == [0, 0, 1, 0]
    assert found[0].output == "def price(): ..." and found[3].output.startswith("diff")
    assert found[1].call.command == "cat <<'EOF' > shop.py\ndef price(): return 1\nEOF"


def test_the_cost_of_a_run_is_spread_over_its_calls(tmp_path: Path) -> None:
    used = things(write(tmp_path, [*START, ran("ls"), shown(""), ran("pwd"), shown("/")]), Used)
    assert [each.dollars for each in used] == pytest.approx([0.125, 0.125, 0.25])


def test_a_loop_is_found_where_it_stands(tmp_path: Path) -> None:
    messages = list(START)
    for _ in range(3):
        messages += [ran("sed -i s/a/a/ shop.py"), shown("")]
    (session,) = scanned(write(tmp_path, messages)).sessions
    assert [(each.rule, each.event_index) for each in session.found] == [("repeated_action", 3)]


def test_answers_without_exactly_one_command_are_no_calls(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        [
            *START,
            said("```bash\nls\n```\nand\n```bash\npwd\n```"),
            {"role": "user", "content": "Please always provide EXACTLY ONE action in triple backticks, found 2."},
            said("I think so."),
            {"role": "user", "content": "Please always provide EXACTLY ONE action in triple backticks, found 0."},
            ran("ls"),
            shown("shop.py"),
        ],
    )
    result = scanned(source)
    assert result.sessions[0].tool_calls == 1 and result.sessions[0].messages == 1
    assert result.skipped["format error"] == 2


def test_time_outs(tmp_path: Path) -> None:
    text = (
        "The last command <command>python run.py</command> timed out and has been killed.\n"
        "The output of the command was:\n <output>\nstep 1\n</output>\nPlease try another command."
    )
    (found,) = results(write(tmp_path, [*START, ran("python run.py"), {"role": "user", "content": text}]))
    assert found.exit_code == 124 and found.failed and "step 1" in found.output


def test_an_output_that_was_cut(tmp_path: Path) -> None:
    text = (
        "<returncode>1</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
        "<output_head>\nfirst\nsecond is cu\n</output_head>\n<elided_chars>\n9000 characters elided\n</elided_chars>\n"
        "<output_tail>\nt here\nlast\n</output_tail>"
    )
    (found,) = results(write(tmp_path, [*START, ran("pytest"), {"role": "user", "content": text}]))
    assert found.output == "first\nlast" and found.exit_code == 1


def test_version_2_with_tool_calls(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}}
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    other = {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": '{"command": "false"}'}}
    extra = {"cost": 0.1, "timestamp": 1_750_000_000.25, "response": {"model": "m", "usage": usage}}
    source = write(
        tmp_path,
        [
            *START,
            said("", tool_calls=[call, other], extra=extra),
            {"role": "tool", "tool_call_id": "c2", "content": "<returncode>1</returncode>\n<output>\nno\n</output>"},
            {"role": "tool", "tool_call_id": "c1", "content": "<returncode>0</returncode>\n<output>\nyes\n</output>"},
            said("", extra={"actions": [{"command": "sleep 99", "tool_call_id": "c3"}], "cost": 0.4}),
            {
                "role": "tool",
                "tool_call_id": "c3",
                "content": "<exception>Command timed out after 30 seconds</exception>\n<returncode>-1</returncode>\n"
                "<output>\n</output>",
                "extra": {"returncode": -1, "timestamp": 1_750_000_030},
            },
            {"role": "exit", "content": "LimitsExceeded", "extra": {"exit_status": "LimitsExceeded"}},
        ],
        info={**INFO, "exit_status": "LimitsExceeded"},
    )
    found = results(source)
    assert [(each.call.command, each.exit_code, each.output) for each in found] == [
        ("false", 1, "no"),
        ("ls", 0, "yes"),
        ("sleep 99", 124, ""),
    ]
    used = things(source, Used)
    assert used[0].model == "m" and tuple(used[0].usage[:3]) == (40, 7, 60)
    assert [each.dollars for each in used] == [0.1, 0.4]
    (session,) = scanned(source).sessions
    assert session.rounds == 2 and session.how == "LimitsExceeded" and session.dollars == pytest.approx(0.5)
    assert session.began == "2025-06-15T15:06:40.250Z"


def test_version_2_of_the_responses_interface(tmp_path: Path) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'}
    done = "<returncode>0</returncode>\n<output>\nshop.py\n</output>"
    messages = [
        *START,
        {"object": "response", "output": [{"type": "reasoning"}, call], "extra": {}},
        {"type": "function_call_output", "call_id": "c1", "output": done, "extra": {"returncode": 0}},
    ]
    (found,) = results(write(tmp_path, messages))
    assert found.call.command == "ls" and found.output == "shop.py"


def test_the_person_in_interactive_mode(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        [
            *START,
            ran("rm -r /shop"),
            {"role": "user", "content": "Command not executed. The user rejected your command: not that folder"},
            ran("ls"),
            shown("shop.py"),
            {"role": "user", "content": "The user added a new task: tests as well"},
        ],
    )
    found = results(source)
    assert (found[0].refused, found[0].comment) == (ev.BY_PERSON, True)
    assert len(things(source, ev.Message)) == 2


def test_in_pieces_it_reads_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, [*START, ran("ls"), shown("shop.py"), ran("pytest"), shown("no", 1)])
    whole = scanned(source)
    monkeypatch.setattr(documents, "WHOLE", 100)
    assert scanned(source) == whole


def test_a_run_that_breaks_off(tmp_path: Path) -> None:
    source = write(tmp_path, [*START, ran("ls"), shown("shop.py"), ran("pytest"), shown("no", 1)])
    path = Path(source.path)
    path.write_text(path.read_text()[:-150])
    result = scanned(source)
    assert result.sessions[0].tool_calls == 1 and len(result.errors) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["role", "content", "extra", "tool_calls", "tool_call_id", "actions", "output", "object", "response", "usage"]
)
MESSAGE = st.dictionaries(
    KEYS, JSON | st.sampled_from(["assistant", "user", "tool", "exit", "response", "<returncode>1</returncode>"])
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGE | JSON, max_size=6), info=JSON | st.just(INFO))
def test_no_content_raises(tmp_path: Path, messages: list[Any], info: Any) -> None:
    scanned(write(tmp_path, [*START, ran("ls"), *messages], info=info))


@pytest.mark.corpora
def test_recorded_runs(shared: Path) -> None:
    """Every file reads; calls and failures equal a count by plain json."""
    files = sorted((shared / "corpora" / "mini_gemini3_swebv").glob("*.gz"))
    assert len(files) == 138
    fired: Counter[str] = Counter()
    broken = []
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        messages = json.loads(text.replace("\\user@", "\\\\user@"))["messages"]
        shown = [each["content"] for each in messages[2:] if each["role"] == "user"]
        codes = [found[1] for found in (re.match(r"<returncode>(-?\d+)<", each) for each in shown) if found]
        late = sum(each.startswith("The last command <command>") for each in shown)
        things = [thing for thing, _ in mini_swe_agent.read(Source(str(file)))]
        found = [each for each in things if isinstance(each, ev.ToolResult)]
        assert len(found) == len(codes) + late + 1, file.name  # the last one prints what is submitted
        assert sum(each.exit_code not in (0, 124) for each in found) == sum(code != "0" for code in codes)
        assert [each.how for each in things if isinstance(each, Ended)] == ["Submitted"]
        assert len([each for each in things if isinstance(each, ev.Message)]) == 1
        broken += [each.why for each in things if isinstance(each, Broken)]
        result = scan(Source(str(file)), Settings())
        name = file.name.partition(".traj")[0]
        if any(each.response == "nudge" for session in result.sessions for each in session.found):
            fired[name] += 1
    assert len(broken) == 1 and "escape" in broken[0]  # a redaction in one file left a bad escape
    labels = (shared / "corpora" / "labels" / "mini_gemini3_swebv_resolved.tsv").read_text().splitlines()[1:]
    resolved = {name for name, ended in (line.split("\t") for line in labels) if ended == "True"}
    assert len(resolved) == 99
    assert len(resolved & set(fired)) <= 5
