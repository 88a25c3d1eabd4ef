"""aider's chat history."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unspin import events as ev
from unspin.guard import Settings
from unspin.scan.items import Ended, Used
from unspin.scan.readers import aider
from unspin.scan.scanning import Result, scan
from unspin.scan.source import Source

START = """
# aider chat started at 2026-01-02 03:04:05

> Aider v0.86.2{e}
> Main model: some-model with diff edit format{e}
> Git repo: .git with 9 files{e}
> Git working dir: /shop{e}
""".replace("{e}", "  ")
EDIT = """
I will round it.

price.py
```python
<<<<<<< SEARCH
return units
=======
return round(units)
>>>>>>> REPLACE
```

And in the tests:

tests/test_price.py
```python
<<<<<<< SEARCH
assert price(1) == 1
=======
assert price(1.2) == 1
>>>>>>> REPLACE
```

> Tokens: 3.4k sent, 1.2k cache write, 1k cache hit, 184 received. Cost: $0.01 message, $0.03 session.{e}
""".replace("{e}", "  ")
MISMATCH = """> The LLM did not conform to the edit format.{e}
> https://aider.chat/docs/troubleshooting/edit-errors.html{e}
> # 1 SEARCH/REPLACE block failed to match!

## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in price.py
<<<<<<< SEARCH
return units
=======
return round(units)
>>>>>>> REPLACE

The SEARCH section must exactly match an existing block of lines including all white space, comments, and so on

# The other 1 SEARCH/REPLACE block were applied successfully.
Don't re-send them.
Just reply with fixed versions of the block above that failed to match.{e}
""".replace("{e}", "  ")


def person(*lines: str) -> str:
    return "\n" + "".join(f"#### {line}  \n" for line in lines)


def said(*lines: str) -> str:
    return "".join(f"> {line}  \n" for line in lines)


def write(folder: Path, *parts: str) -> Source:
    path = folder / ".aider.chat.history.md"
    path.write_text("".join(parts))
    return Source(str(path))


def things(source: Source, kind: Any) -> list[Any]:
    return [thing for thing, _ in aider.read(source) if isinstance(thing, kind)]


def scanned(source: Source) -> Result:
    return scan(source, Settings())


def test_chats_are_sessions(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        START,
        person("round the price", "and test it"),
        EDIT,
        said("Applied edit to price.py", "Applied edit to tests/test_price.py", "Commit 1234567 fix: round"),
        START,
        START,
        person("/add price.py"),
        said("Added price.py to the chat"),
        person("thanks"),
        "\nYou are welcome.\n\n",
    )
    result = scanned(source)
    assert result.format == "aider" and result.errors == []
    first, second = result.sessions
    assert (first.tool_calls, first.rounds, first.messages, first.edits) == (2, 1, 1, 2)
    assert (first.project, first.began, first.dollars) == ("/shop", "2026-01-02T03:04:05", 0.01)
    assert (second.tool_calls, second.messages) == (0, 1)
    assert result.skipped["chat in which nothing was said"] == 1
    assert result.skipped["command of the person"] == 1
    assert things(source, ev.Message)[0].text == "round the price\nand test it"
    (used,) = things(source, Used)
    assert used.model == "some-model" and tuple(used.usage[:4]) == (1200, 184, 1000, 1200)


def test_edits_hold_what_the_answer_asked_for(tmp_path: Path) -> None:
    source = write(tmp_path, START, person("go"), EDIT, said("Applied edit to price.py"))
    (found,) = things(source, ev.ToolResult)
    (edit,) = found.call.edits
    assert (edit.path, edit.old, edit.new) == ("/shop/price.py", "return units", "return round(units)")
    assert found.call.action == ev.EDIT and not found.refused


def test_a_whole_file(tmp_path: Path) -> None:
    text = "\nHere it is:\n\nhello.py\n```\nprint('hello')\n```\n\nRun it:\n\n```bash\npython hello.py\n```\n\n"
    source = write(tmp_path, START, person("go"), text, said("Applied edit to hello.py"))
    ((edit,),) = [each.call.edits for each in things(source, ev.ToolResult)]
    assert (edit.path, edit.old, edit.new) == ("/shop/hello.py", None, "print('hello')")


def test_blocks_that_did_not_match_were_refused_and_the_others_were_applied(tmp_path: Path) -> None:
    found = things(write(tmp_path, START, person("go"), EDIT, MISMATCH), ev.ToolResult)
    assert [(each.call.edits[0].path, each.refused) for each in found] == [
        ("/shop/tests/test_price.py", ""),
        ("/shop/price.py", ev.BY_TOOL),
    ]


def test_a_block_that_does_not_match_three_times(tmp_path: Path) -> None:
    source = write(
        tmp_path, START, person("go"), *[EDIT, MISMATCH.replace("# The other 1 ", "# None of the other ")] * 3
    )
    (session,) = scanned(source).sessions
    assert (session.found[0].rule, session.found[0].file) == ("rejected_edits", "price.py")
    assert session.failed_calls == 3


def test_commands_whose_output_is_not_there_prove_nothing(tmp_path: Path) -> None:
    once = "\nLet us see.\n\n" + said("pytest", "Run shell command? (Y)es/(N)o [Yes]: y", "Running pytest")
    source = write(tmp_path, START, person("go"), *[once] * 4)
    (session,) = scanned(source).sessions
    assert session.tool_calls == 4 and session.found == [] and session.failed_calls == 0
    found = things(source, ev.ToolResult)
    assert {each.call.command for each in found} == {"pytest"}
    assert all(each.background for each in found), "how it ended is not told"


def test_what_a_command_of_the_person_printed(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        START,
        person("/run pytest"),
        said("===== 1 failed, 2 passed in 0.10s =====", "Added 1 line of output to the chat."),
        person("!ls"),
        said("price.py"),
        person("fix it"),
    )
    first, second = things(source, ev.ToolResult)
    assert (first.call.command, first.failed, first.output) == (
        "pytest",
        True,
        "===== 1 failed, 2 passed in 0.10s =====",
    )
    assert (second.call.command, second.failed) == ("ls", False)
    assert len(things(source, ev.Message)) == 1


def test_lint_and_test_errors(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        START,
        "> /usr/bin/aider --auto-test --test-cmd 'pytest -q'  \n",
        person("go"),
        EDIT,
        said("Applied edit to price.py", "# Fix any errors below, if possible.", "", "## Running: flake8 price.py"),
        said("price.py:1:1: E999 SyntaxError: invalid syntax", "Attempt to fix lint errors? (Y)es/(N)o [Yes]: y"),
        EDIT,
        said("Applied edit to price.py", "Added 9 lines of output to the chat.", "Attempt to fix test errors? (Y)es"),
        said("Only 3 reflections allowed, stopping."),
    )
    found = things(source, ev.ToolResult)
    assert [(each.call.tool, each.failed) for each in found] == [
        ("edit", False),
        ("lint", True),
        ("edit", False),
        ("test", True),
    ]
    assert found[1].call.command == "flake8 price.py" and "E999" in found[1].output
    assert found[3].call.command == "pytest -q"
    assert things(source, Ended)[0].how == "Only 3 reflections allowed, stopping."


def test_marks_in_the_models_text_are_text(tmp_path: Path) -> None:
    text = "\n> a quotation\n#### a heading\n```md\n#### in a block  \n> too  \n```\n\n"
    source = write(tmp_path, START, person("go"), text, person("and now?"))
    assert [each.text for each in things(source, ev.Message)] == ["go", "and now?"]


def test_answers_to_aider_are_no_messages(tmp_path: Path) -> None:
    source = write(tmp_path, START, person("go"), person("Add file to the chat? (Y)es/(N)o/(A)ll [Yes]: all"))
    assert len(things(source, ev.Message)) == 1


LINE = st.sampled_from(
    [*EDIT.split("\n"), *MISMATCH.split("\n"), *START.split("\n"), "#### go  ", "#### /run x  ", "> Running x  ", "```"]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINE | st.text(st.characters(codec="utf-8"), max_size=30), max_size=40))
def test_no_content_raises(tmp_path: Path, lines: list[str]) -> None:
    scanned(write(tmp_path, START, "\n".join(lines)))


@pytest.mark.corpora
def test_recorded_histories(shared: Path) -> None:
    files = sorted((shared / "corpora" / "aider").glob("*.gz"))
    assert len(files) == 2
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        result = scanned(Source(str(file)))
        assert (result.format, result.errors) == ("aider", [])
        applied = len(re.findall(r"^> Applied edit to ", text, re.M))
        silent = sum(
            int(each[0]) for each in re.findall(r"^# The other (\d+) SEARCH/REPLACE blocks? were applied", text, re.M)
        )
        ran = len(re.findall(r"^> Running ", text, re.M)) + len(re.findall(r"^#### (?:/run|/test|!)", text, re.M))
        failed = len(re.findall(r"^## SearchReplaceNoExactMatch: ", text, re.M))
        assert sum(each.tool_calls for each in result.sessions) == applied + ran + failed + bool(silent)
        assert sum(each.edits for each in result.sessions) == applied + bool(silent)
        chats = len(re.findall(r"^# aider chat started at ", text, re.M))
        assert len(result.sessions) + result.skipped["chat in which nothing was said"] == chats
        costs = re.findall(r"Cost: \$([\d.]+) message", text)
        assert sum(each.dollars or 0 for each in result.sessions) == pytest.approx(sum(map(float, costs)))
