"""RepairAgent's runs as the public study of agents' trajectories keeps them.

Two texts: ``Action at iteration N: {...}`` a line, and beside it, in a file of the same name
with ``results`` for ``actions``, ``Result at iteration N: ...`` over many lines. The tool that
writes a fix also runs the tests on it: that is an edit, and then a run of the tests.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import Any

from unspin import events as ev
from unspin.agents.claude_code import canonical
from unspin.facts.files import absolute
from unspin.scan.items import Began, Broken, Skipped
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "repair-agent"

_ACTION = re.compile(r"Action at iteration (\d{1,9}): ?(.*)", re.S)
_RESULT = re.compile(rb"Result at iteration (\d{1,9}): ?")
_FRAME = re.compile(
    r"\s*(?:The result of executing that last command is:\s*)?"
    r"(?:Command [^\n:]{0,200}? returned(?: a lengthy response, we truncated it to the first \d+ characters)?: ?)?"
)
_NEXT = re.compile(r"\n; (?:Next action|Action at iteration ?\d+ ?):")
_FAILING = re.compile(r"There are (\d{1,7}) failing test cases")
_READS = frozenset(
    ("read_range", "search_code_base", "extract_method_code", "extract_test_code", "get_classes_and_methods",
     "extract_similar_functions_calls", "AI_generates_method_code", "extract_code_snippet", "extract_method")
)  # fmt: skip
_TESTS = "defects4j test"
_LONGEST_ACTION = 1 << 20
_LONGEST_RESULT = 4 << 20


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is the actions of such a run."""
    return head.lstrip()[:24].startswith(b"Action at iteration ")


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in a run; without the results beside it, nothing can be said of it."""
    name = os.path.basename(source.path).removesuffix(".gz").removesuffix(".zst")
    yield Began(name, "/", NAME), ""
    results = _results(source)
    if results is None:
        yield Broken(0, "no results beside it: a file of the same name with 'results' for 'actions'"), ""
        return
    try:
        for number, data in source.lines():
            if data is None:
                yield Broken(number, "a line that is too long to be read"), ""
            elif data.strip():
                yield from _line(number, data.decode("utf-8", "replace"), results)
    except SourceError as error:
        yield Broken(0, str(error)), ""


def _results(source: Source) -> Iterator[tuple[int, str]] | None:
    """Return the results, read along; ``None`` where there is no such file."""
    base, name = os.path.split(source.path)
    if "actions" in name:
        beside = Source(os.path.join(base, name.replace("actions", "results", 1)))
    else:
        above, folder = os.path.split(base)
        if "actions" not in folder:
            return None
        beside = Source(os.path.join(above, folder.replace("actions", "results", 1), name))
    try:
        beside.head()
    except (SourceError, OSError):
        return None
    return _each_result(beside)


def _each_result(source: Source) -> Iterator[tuple[int, str]]:
    number, size = -1, 0
    parts: list[bytes] = []
    try:
        for _, data in source.lines():
            found = _RESULT.match(data) if data is not None else None
            if found and data is not None:
                if number >= 0:
                    yield number, b"\n".join(parts).decode("utf-8", "replace")
                number, parts, size = int(found[1]), [data[found.end() :]], 0
            elif data is not None and size < _LONGEST_RESULT:
                parts.append(data[:_LONGEST_RESULT])
                size += len(data) + 1
    except SourceError:
        pass  # the end is missing: those calls have no result
    if number >= 0:
        yield number, b"\n".join(parts).decode("utf-8", "replace")


def _line(number: int, text: str, results: Iterator[tuple[int, str]]) -> Iterator[Item]:
    found = _ACTION.match(text)
    if found is None:
        yield Skipped("line of no action"), ""
        return
    action = _value(found[2])
    if not isinstance(action, dict):
        yield Broken(number, "no action that can be read"), ""
    iteration, result = next(results, (-1, ""))
    while 0 <= iteration < int(found[1]):
        iteration, result = next(results, (-1, ""))
    if iteration < 0:
        yield Skipped("action without result"), ""
        return
    if isinstance(action, dict):
        yield from _act(action, _output(result))


def _act(action: dict[str, Any], output: str) -> Iterator[Item]:
    name = action.get("name")
    name = name if isinstance(name, str) and name else "missing_command"
    given = action.get("args")
    wrong = output.startswith(("Error", "Failure"))
    if name == "write_fix":
        yield from _fix(name, given, output)
    elif name == "run_tests":
        yield _shell(output, given, failed=wrong), ""
    else:
        kind = ev.READ if name in _READS else ev.OTHER
        call = ev.ToolCall(name, canonical(given), action=kind, label=_label(name, given))
        yield ev.ToolResult(call, output, failed=wrong), ""
    yield ev.RoundEnd(), ""


def _fix(name: str, given: Any, output: str) -> Iterator[Item]:
    edits = _edits(given)
    label = f"{name} {edits[0].path.rpartition('/')[2]}" if edits else name
    written = output.startswith("Lines written successfully")
    call = ev.ToolCall(name, canonical(given), action=ev.EDIT, label=label, edits=edits)
    said = output.partition("\n")[0] if written else output
    yield ev.ToolResult(call, said, failed=not written, refused="" if written else ev.BY_TOOL), ""
    if written:
        yield _shell(output.partition("\n")[2], None, position=1), ""


def _shell(output: str, given: Any, *, failed: bool = False, position: int = 0) -> ev.ToolResult:
    """Return a run of the tests, which the agent's own tools make."""
    call = ev.ToolCall(
        "run_tests",
        canonical(given) if given else _TESTS,
        action=ev.OTHER if failed else ev.SHELL,
        label=_TESTS,
        command="" if failed else _TESTS,
    )
    count = _FAILING.search(output[:400])
    status = None if failed else int(count is None or count[1].strip("0") != "")
    return ev.ToolResult(call, output, failed=failed or bool(status), exit_code=status, position=position)


def _edits(given: Any) -> list[ev.Edit]:
    changes = given.get("changes_dicts") if isinstance(given, dict) else None
    found = []
    for each in changes if isinstance(changes, list) else ():
        path = each.get("file_name") or each.get("file_path") if isinstance(each, dict) else None
        if isinstance(path, str) and path:
            found.append(ev.Edit(absolute(path, "/"), None, "\n".join(_new_lines(each))))
    return found[:100]


def _new_lines(change: dict[str, Any]) -> Iterator[str]:
    for name in ("insertions", "modifications"):
        parts = change.get(name)
        for each in parts if isinstance(parts, list) else ():
            new = each.get("new_lines", each.get("modified_line")) if isinstance(each, dict) else None
            yield from (str(line) for line in (new if isinstance(new, list) else [new] if new else []))


def _output(text: str) -> str:
    """Return what a command said, without the frame that it came in."""
    frame = _FRAME.match(text)
    text = text[frame.end() :] if frame else text
    if text.startswith("Failure: command "):
        return text.partition("\n; ")[0].rstrip()
    ends = [each.start() for each in _NEXT.finditer(text)]
    return text[: ends[-1]].rstrip() if ends else text.removesuffix("---").rstrip()


def _label(name: str, given: Any) -> str:
    about = ""
    if isinstance(given, dict):
        names = ("filepath", "file_path", "file_name", "method_name", "test_file_path", "key_words", "hypothesis")
        about = next((str(given[each]) for each in names if given.get(each)), "")
    return f"{name} {about[:80]}".rstrip()


def _value(text: str) -> Any:
    """Return a value that is written as Python writes it."""
    if len(text) > _LONGEST_ACTION:
        return None
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
