"""RepairAgent's runs: actions in one text, results in another."""

from __future__ import annotations

import ast
import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.guard import Settings
from unspin.scan.readers import repair_agent
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source

SAID = "The result of executing that last command is:\n "
FIX = {
    "project_name": "Shop",
    "bug_index": 3,
    "changes_dicts": [
        {"file_name": "org/shop/Price.java", "modifications": [{"line_number": 7, "modified_line": "return 1;"}]}
    ],
}
WRITTEN = (
    "Command write_fix returned: Lines written successfully, the result of running test cases on the modified code is "
    "the following:\nThere are {count} failing test cases, here is the full log of failing cases:\n{log}"
)
READ: dict[str, Any] = {"name": "read_range", "args": {"filepath": "org/shop/Price.java", "startline": 1, "endline": 2}}


def write(
    folder: Path, *steps: tuple[Any, str], names: tuple[str, str] = ("actions_Shop_3", "results_Shop_3")
) -> Source:
    pairs = list(enumerate(steps))
    actions = "".join(f"Action at iteration {number}: {action!r}\n" for number, (action, _) in pairs)
    results = "".join(f"Result at iteration {number}: {SAID}{text}\n" for number, (_, text) in pairs)
    for name, text in zip(names, (actions, results), strict=True):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return Source(str(folder / names[0]))


def results(source: Source) -> list[ev.ToolResult]:
    return [thing for thing, _ in repair_agent.read(source) if isinstance(thing, ev.ToolResult)]


def scanned(source: Source) -> Result:
    return scan(source, Settings())


def test_a_run(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        (READ, "Command read_range returned: Line 1: int price;\nLine 2:\n; Next action: {'name': 'x'}\n---\n"),
        ({"name": "express_hypothesis", "args": {"hypothesis": "h"}}, "Command express_hypothesis returned: Since"),
        ({"name": "write_fix", "args": FIX}, WRITTEN.format(count=0, log="")),
    )
    result = scanned(source)
    assert result.format == "repair-agent" and result.errors == []
    (session,) = result.sessions
    assert (session.tool_calls, session.rounds, session.edits, session.failed_calls) == (4, 3, 1, 0)
    found = results(source)
    assert found[0].output == "Line 1: int price;\nLine 2:" and found[0].call.action == ev.READ
    assert found[2].call.edits[0].path == "/org/shop/Price.java" and found[2].call.edits[0].new == "return 1;"
    assert (found[3].call.command, found[3].exit_code, found[3].position) == ("defects4j test", 0, 1)


def test_a_fix_is_an_edit_and_a_run_of_the_tests(tmp_path: Path) -> None:
    log = "--- org.shop.PriceTest::testSum\njunit.framework.AssertionFailedError: expected:<1> but was:<2>\n"
    steps: list[tuple[Any, str]] = []
    for line in range(3):
        change = {"file_name": "org/shop/Price.java", "insertions": [{"line_number": line, "new_lines": ["x();"]}]}
        steps.append(({"name": "write_fix", "args": {"changes_dicts": [change]}}, WRITTEN.format(count=2, log=log)))
    (session,) = scanned(write(tmp_path, *steps)).sessions
    assert session.failed_calls == 3
    found = [(each.rule, each.file, each.response) for each in session.found]
    file = "/org/shop/Price.java"
    assert found == [("failing_edits", file, "nudge"), ("recurring_error", file, "none")]


@pytest.mark.parametrize(
    "said",
    [
        "Your fix did not target all the buggy lines. Here is the list of all the buggy lines: [7]",
        "Error: 'NoneType' object is not iterable",
        "The fix you passed is empty. Please provide a non empty implementation of the fix.",
    ],
)
def test_fixes_that_were_refused(tmp_path: Path, said: str) -> None:
    (found,) = results(write(tmp_path, ({"name": "write_fix", "args": FIX}, f"Command write_fix returned: {said}")))
    assert found.refused == ev.BY_TOOL


def test_errors_are_failures(tmp_path: Path) -> None:
    said = "Failure: command search_code_base returned too much output. Use another.\n; Next action: {}\n---"
    (found,) = results(write(tmp_path, ({"name": "search_code_base", "args": {}}, said)))
    assert found.failed and found.output == "Failure: command search_code_base returned too much output. Use another."


def test_the_same_call_three_times(tmp_path: Path) -> None:
    steps = [(READ, "Command read_range returned: Line 1:")] * 3
    (session,) = scanned(write(tmp_path, *steps)).sessions
    assert [(each.rule, each.event_index) for each in session.found] == [("repeated_action", 2)]


def test_folders_as_in_the_study(tmp_path: Path) -> None:
    names = ("actions_actions/Shop_3", "results_actions/Shop_3")
    assert len(results(write(tmp_path, (READ, "Command read_range returned: x"), names=names))) == 1


def test_without_its_results_nothing_is_said(tmp_path: Path) -> None:
    source = write(tmp_path, (READ, "x"))
    (tmp_path / "results_Shop_3").unlink()
    result = scanned(source)
    assert result.sessions[0].tool_calls == 0 and "no results beside it" in result.errors[0]["error"]


def test_lines_that_cannot_be_read_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    source = write(tmp_path, (READ, "Command read_range returned: a"), (READ, "b"), (READ, "c"))
    path = Path(source.path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "Action at iteration 1: {'name': ", "what is this", lines[2]]))
    result = scanned(source)
    assert [each["line"] for each in result.errors] == [2]
    assert result.sessions[0].tool_calls == 2 and result.skipped == {"line of no action": 1}
    assert results(source)[1].output == "c"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ACTION = st.dictionaries(
    st.sampled_from(["name", "args", "changes_dicts"]), JSON | st.sampled_from(["write_fix", "run_tests", "read_range"])
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(ACTION | JSON, st.text(st.characters(codec="utf-8"), max_size=40)), max_size=5))
def test_no_content_raises(tmp_path: Path, steps: list[tuple[Any, str]]) -> None:
    scanned(write(tmp_path, (READ, "x"), *steps))


@pytest.mark.corpora
def test_recorded_runs(shared: Path) -> None:
    """Every run reads; calls equal a plain count; each that repeats a call three times with one result is found."""
    files = sorted((shared / "corpora" / "llm_agents_study").glob("repairagent__actions_actions__*.gz"))
    assert len(files) == 60
    repeats, found = set(), set()
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        actions = [ast.literal_eval(each) for each in re.findall(r"^Action at iteration \d+: (.*)$", text, re.M)]
        beside = file.with_name(file.name.replace("actions_actions", "results_actions"))
        said = re.split(r"^Result at iteration \d+: ", gzip.decompress(beside.read_bytes()).decode(), flags=re.M)[1:]
        assert len(said) == len(actions)
        said = [re.sub(r"\n; (Next action|Action at iteration ?\d+ ?):[\s\S]*", "", each).strip() for each in said]
        fixed = sum(
            action.get("name") == "write_fix" and "Lines written successfully" in text[:200]
            for action, text in zip(actions, said, strict=True)
        )
        result = scanned(Source(str(file)))
        assert result.errors == [], file.name
        (session,) = result.sessions
        assert session.rounds == len(actions) and session.tool_calls == len(actions) + fixed
        pairs = [(repr(action), text) for action, text in zip(actions, said, strict=True)]
        if any(pairs[at] == pairs[at + 1] == pairs[at + 2] for at in range(len(pairs) - 2)):
            repeats.add(file.name)
        if any(each.rule == "repeated_action" for each in session.found):
            found.add(file.name)
    assert len(repeats) >= 20
    assert repeats <= found
