"""aider's chat history (``.aider.chat.history.md``): many chats in one file, each a session.

``####`` lines are what the person typed, ``>`` lines what aider said, all else the model's text.
Edits are in that text and count once aider says that it applied them, or that it could not.
What commands printed is mostly not in the file, and then nothing is concluded from them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from unspin import events as ev
from unspin.cost.prices import Usage
from unspin.facts.files import absolute
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.source import Source, SourceError
from unspin.scan.untold import failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "aider"

_STARTED = b"# aider chat started at "
_TOKENS = re.compile(r"Tokens: ([\d.,]+)([kM]?) sent")
_PARTS = re.compile(r"([\d.,]+)([kM]?) (cache write|cache hit|received)")
_COST = re.compile(r"Cost: \$([\d.,]+) message")
_MODEL = re.compile(r"(?:Main model|Model|Models): (\S+)")
_FOLDER = re.compile(r"Git working dir: (/.*)")
_NO_MATCH = re.compile(r"(?:failed to exactly match lines in|failed to apply.{0,80}? in|match.{0,80}? in) `?([^\s`]+)")
_OTHERS = re.compile(r"^# The other \d+ SEARCH/REPLACE blocks? were applied", re.M)
_QUESTION = re.compile(r".{1,400}\? (?:\(Y\)es|\[Yes\]|\(y/n\)|y$|n$)")
_ADDED = re.compile(r"Added \d+ lines? of output to the chat")
_TEST_COMMAND = re.compile(r"--test-cmd[ =](?:\"([^\"]+)\"|'([^']+)'|(\S+))")
_SHELL = ("/run ", "/test ", "!")
_SAYING = ("/ask ", "/code ", "/architect ", "/chat-mode ")
_NAME_MARKS = "#*`:\"'> "
_LONGEST_TEXT = 200_000  # characters of one block that are kept
_MOST_BLOCKS = 200


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a history."""
    return head.lstrip().startswith(_STARTED) or b"\n" + _STARTED in head


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in the chats of a file."""
    return _Reader(source).items()


class _Block:
    """A change that the model's text asks for."""

    __slots__ = ("new", "old", "path")

    def __init__(self, path: str, old: str | None, new: str):
        self.path = path
        self.old = old
        self.new = new


class _Text:
    """The model's text as it comes: which edits it asks for."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.fenced = False
        self._name = ""
        self._path = ""
        self._old: list[str] | None = None
        self._new: list[str] | None = None
        self._whole: list[str] | None = None

    def take(self, line: str) -> None:
        """Take one line."""
        mark = line.rstrip()
        if mark.startswith("<<<<<<< SEARCH"):
            self._old, self._new, self._whole = [], None, None
            self._path = self._name or self._path
        elif self._old is not None and self._new is None and mark == "=======":
            self._new = []
        elif self._old is not None and self._new is not None and mark.startswith(">>>>>>> REPLACE"):
            self._add(_Block(self._path, "\n".join(self._old), "\n".join(self._new)))
            self._old, self._new = None, None
        elif self._old is not None:
            (self._old if self._new is None else self._new).append(line)
        elif mark.startswith("```"):
            if self._whole is not None and self._name:
                self._add(_Block(self._name, None, "\n".join(self._whole)))
            if self.fenced:
                self._name = ""  # the name of a file stands right before its block
            self.fenced = not self.fenced
            self._whole = [] if self.fenced else None
        elif self._whole is not None:
            self._whole.append(line)
        elif mark:
            name = mark.strip(_NAME_MARKS)
            self._name = name if " " not in name and 0 < len(name) < 300 and ("." in name or "/" in name) else ""

    @property
    def open(self) -> bool:
        """A block is under way."""
        return self._old is not None

    def _add(self, block: _Block) -> None:
        if len(self.blocks) < _MOST_BLOCKS:
            block.old = block.old[:_LONGEST_TEXT] if block.old is not None else None
            block.new = block.new[:_LONGEST_TEXT]
            self.blocks.append(block)


class _Reader:
    def __init__(self, source: Source):
        self._source = source
        self._when = ""
        self._chat = 0
        self._begun = True
        self._cwd = "/"
        self._model = ""
        self._tests = ""
        self._said: list[str] = []  # the person's lines
        self._text = _Text()
        self._heard = False  # of the model, since the last thing that aider or the person said
        self._done: list[ev.ToolResult] = []
        self._command = ""  # of the person, whose output may follow
        self._output: list[str] = []
        self._lint: list[str] | None = None
        self._error: _Text | None = None  # what aider says of edits that failed, under way
        self._error_lines: list[str] = []
        self._lost = 0  # commands whose outcome is not told

    def items(self) -> Iterator[Item]:
        try:
            for number, data in self._source.lines():
                if data is None:
                    yield Broken(number, "a line that is too long to be read"), self._when
                    continue
                yield from self._line(data.decode("utf-8", "replace").rstrip("\r"))
        except SourceError as error:
            yield Broken(0, str(error)), self._when
        yield from self._end_chat()

    def _line(self, line: str) -> Iterator[Item]:
        if line.startswith("# aider chat started at "):
            yield from self._end_chat()
            self._start(line[24:].strip())
        elif line.startswith("#### ") and line.endswith("  ") and not (self._text.fenced and self._heard):
            if not self._said:
                yield from self._close()
            self._said.append(line[5:].rstrip())
        elif line.startswith("> ") and self._is_aiders(line):
            yield from self._spoken()
            yield from self._aider(line[2:].rstrip())
        elif line.rstrip() == ">":
            return
        elif self._error is not None:
            self._error_lines.append(line)
            self._error.take(line)
            if line.endswith("  ") and not self._error.open:
                self._failed_edits()  # that was all of it
        elif line.strip() or self._heard:
            yield from self._spoken()
            if not self._heard:
                yield from self._close()
                self._heard, self._text = True, _Text()
            self._text.take(line)

    def _is_aiders(self, line: str) -> bool:
        """Tell whether aider says this: its lines end in two blanks; within a block of the model only some can be."""
        if "SEARCH/REPLACE" in line[:60]:
            return True
        return line.endswith("  ") and (
            not (self._heard and self._text.fenced) or line[2:].startswith(("Tokens: ", "Applied edit to ", "^C"))
        )

    # -- chats -------------------------------------------------------------------------

    def _start(self, when: str) -> None:
        self._when = when.replace(" ", "T", 1)[:40]
        self._chat += 1
        self._begun = False
        self._cwd, self._model, self._tests = "/", "", ""

    def _begin(self) -> Iterator[Item]:
        if not self._begun:
            self._begun = True
            name = os.path.basename(self._source.path)
            yield Began(f"{name} {self._chat} {self._when}", self._cwd, NAME, self._model), self._when

    def _end_chat(self) -> Iterator[Item]:
        yield from self._spoken()
        yield from self._close()
        if not self._begun:
            yield Skipped("chat in which nothing was said"), self._when
            self._begun = True
        self._heard, self._text = False, _Text()

    # -- the person --------------------------------------------------------------------

    def _spoken(self) -> Iterator[Item]:
        """The person's lines are all there."""
        if not self._said:
            return
        text = "\n".join(self._said)
        self._said = []
        yield from self._begin()
        if text.startswith(_SHELL):
            self._command = text[1:] if text.startswith("!") else text.partition(" ")[2]
            self._output = []
        elif all(each.startswith("/") and not each.startswith(_SAYING) for each in text.split("\n")):
            yield Skipped("command of the person"), self._when
        elif _QUESTION.match(text):
            yield Skipped("answer to aider"), self._when
        else:
            yield ev.Message(text), self._when

    # -- aider -------------------------------------------------------------------------

    def _aider(self, said: str) -> Iterator[Item]:
        self._heard = False
        yield from self._begin_where_needed(said)
        if self._error is not None and not said.startswith("https://") and not _is_mismatch(said):
            self._failed_edits()
        if said.startswith("Tokens: "):
            yield from self._begin()
            yield from self._used(said)
        elif said.startswith("Applied edit to "):
            self._applied(said[16:].strip())
        elif _is_mismatch(said) or said.startswith("The LLM did not conform"):
            self._error, self._error_lines = _Text(), [said]
        elif said.startswith("# Fix any errors below"):
            self._close_lint()
            self._lint = []
        elif self._lint is not None and not _QUESTION.match(said):
            self._lint.append(said)
        elif said.startswith("Running "):
            self._run(said[8:])
        elif said.startswith("Attempt to fix test errors?"):
            self._tested()
        elif said.startswith("Only ") and "reflections allowed" in said:
            yield from self._begin()
            yield Ended(said), self._when
        elif self._command and not _QUESTION.match(said):
            if _ADDED.match(said):
                self._ran(told=True)
            else:
                self._output.append(said)
        else:
            self._close_lint()
            yield Skipped("aider"), self._when

    def _begin_where_needed(self, said: str) -> Iterator[Item]:
        """Take in what aider says of itself at the start; an edit before any message begins the chat."""
        if self._begun:
            return
        for pattern, name in ((_MODEL, "_model"), (_FOLDER, "_cwd")):
            found = pattern.match(said)
            if found:
                setattr(self, name, found[1].strip())
        found = _TEST_COMMAND.search(said[:2000])
        if found:
            self._tests = found[1] or found[2] or found[3]
        if said.startswith(("Applied edit to ", "Running ")):
            yield from self._begin()

    def _used(self, said: str) -> Iterator[Item]:
        sent = _TOKENS.match(said)
        parts = {name: _count(number, unit) for number, unit, name in _PARTS.findall(said[:300])}
        cost = _COST.search(said[:300])
        hit, write = parts.get("cache hit", 0), parts.get("cache write", 0)
        given = _count(sent[1], sent[2]) if sent else 0
        usage = Usage(max(given - hit - write, 0), parts.get("received", 0), hit, write)
        yield Used(self._model, usage, dollars=_amount(cost[1]) if cost else None), self._when

    # -- results -----------------------------------------------------------------------

    def _add(
        self, call: ev.ToolCall, output: str = "", *, failed: bool = False, refused: str = "", untold: bool = False
    ) -> None:
        # a command whose outcome nobody wrote down is as one that still runs: nothing is known of it
        result = ev.ToolResult(
            call, output, failed=failed, refused=refused, background=untold, position=len(self._done)
        )
        self._done.append(result)

    def _applied(self, path: str) -> None:
        blocks = [each for each in self._text.blocks if each.path == path]
        blocks = [each for each in blocks if each.old is not None] or blocks[:1]
        self._edit(path, blocks or [_Block(path, None, "")], "Applied edit")

    def _edit(self, path: str, blocks: list[_Block], said: str, refused: str = "") -> None:
        edits = [ev.Edit(absolute(path, self._cwd), each.old, each.new) for each in blocks if path]
        arguments = "\0".join([path, *(f"{each.old}\0{each.new}" for each in blocks)])
        call = ev.ToolCall("edit", arguments, action=ev.EDIT, label=f"edit {path}", edits=edits, cwd=self._cwd)
        self._add(call, said, failed=bool(refused), refused=refused)

    def _failed_edits(self) -> None:
        """Edits failed: those that aider names were refused; the others count where it says that they were applied."""
        text, error = self._error, "\n".join(self._error_lines)
        self._error, self._error_lines = None, []
        paths = list(dict.fromkeys(_NO_MATCH.findall(error[:_LONGEST_TEXT])))
        wrong = {(each.old, each.new) for each in text.blocks} if text else set()
        asked = self._text.blocks
        if _OTHERS.search(error):
            good = [each for each in asked if (each.old, each.new) not in wrong and each.path]
            for path in dict.fromkeys(each.path for each in good):
                self._edit(path, [each for each in good if each.path == path], "Applied edit")
        for path in paths or list(dict.fromkeys(each.path for each in asked))[:1]:
            blocks = [each for each in asked if each.path == path] or [_Block(path, None, "")]
            self._edit(path, blocks, error, ev.BY_TOOL)

    def _shell(self, command: str, tool: str, arguments: str = "") -> ev.ToolCall:
        return ev.ToolCall(
            tool,
            arguments or command,
            action=ev.SHELL if command else ev.OTHER,
            label=command or tool,
            command=command,
            cwd=self._cwd,
        )

    def _run(self, command: str) -> None:
        self._lost += 1
        self._add(self._shell(command, "shell", f"{command}\0{self._lost}"), untold=True)

    def _ran(self, *, told: bool) -> None:
        """The person ran a command: its output was given to the model, or not."""
        command, output = self._command, "\n".join(self._output)
        self._command, self._output = "", []
        self._lost += not output
        call = self._shell(command, "run", command if output else f"{command}\0{self._lost}")
        self._add(call, output, failed=bool(output) and failed(command, output), untold=not (told and output))

    def _tested(self) -> None:
        self._lost += 1
        self._add(self._shell(self._tests, "test", f"{self._tests}\0{self._lost}"), failed=True)

    def _close_lint(self) -> None:
        if self._lint is None:
            return
        lines, self._lint = self._lint, None
        command = next((each[12:].strip() for each in lines if each.startswith("## Running: ")), "")
        self._add(self._shell(command, "lint"), "\n".join(lines), failed=True)

    def _close(self) -> Iterator[Item]:
        """End a round: what aider did with one response."""
        if self._error is not None:
            self._failed_edits()
        self._close_lint()
        if self._command:
            self._ran(told=bool(self._output))
        if self._done:
            yield from self._begin()
            for result in self._done:
                yield result, self._when
            yield ev.RoundEnd(), self._when
            self._done = []


def _is_mismatch(said: str) -> bool:
    return "SEARCH/REPLACE" in said[:60] and "failed to match" in said


def _count(number: str, unit: str) -> int:
    return int(_amount(number) * {"k": 1_000, "M": 1_000_000}.get(unit, 1))


def _amount(number: str) -> float:
    try:
        return min(float(number.replace(",", "")), 1e9)
    except ValueError:
        return 0.0
