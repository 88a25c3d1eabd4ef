"""Reads one shell line: which checks it runs, what its exit status says of them, which files it writes.

The line is parsed by tree-sitter-bash and turned into a small tree of our own (sequence, and-or list,
pipeline, subshell, branch, loop); one walk over it in the order of the text finds checks and writes and
follows `cd`; then, for each check, the tree is run over abstract states (the check passed, failed or did not
run; the status is zero or not; the shell has ended or not). What the exit status says of the check is read
off the states that remain.

What it does not know: aliases, functions called later, what a script does inside itself, variables, which
shell runs the line, and whether a program that practically cannot fail (`cd`, `git status`) failed after all.
It never raises and takes time linear in the line. A line over 64 KB, with thousands of commands, or nested
deeper than anybody writes, is unknown.
"""

from __future__ import annotations

from .runners import (
    SHELLS,
    Found,
    Loose,
    Unwrapped,
    base_name,
    classify,
    data,
    named_kind,
    unwrap,
)
from .writes import MAX_TEXT, Write, writes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MAX_LINE = 64 * 1024
MAX_DEPTH = 40
MAX_INNER = 4  # bash -c within bash -c ...
MAX_COMMANDS = 400  # with more simple commands than these no outcome is told
MAX_PARTS = 3000  # a line with more simple commands is unknown as a whole
MAX_CHECKS = 40
MAX_FOLDER = 4096
MAX_PUNCTUATION = 3000
MAX_REPARSES = 8  # heredocs in which the parser loses its way
MAX_WRITES = 400
MAX_COMMAND = 200


class Check:
    """A test, build, lint, type check or program run in a shell line."""

    __slots__ = (
        "command",
        "folder",
        "kind",
        "on_nonzero",
        "on_zero",
        "output_redirected",
        "piped",
        "pipefail",
        "runner",
        "script",
        "targets",
        "usage_exits",
    )

    def __init__(
        self,
        kind: str,
        command: str,
        runner: str,
        script: str = "",
        targets: tuple[str, ...] = (),
        on_zero: str = "unknown",
        on_nonzero: str = "unknown",
        piped: bool = False,
        pipefail: bool = False,
        usage_exits: tuple[int, ...] = (),
        output_redirected: bool = False,
        folder: str | None = "",
    ) -> None:
        self.kind = kind  # "test", "build", "lint", "type" or "run"
        self.command = command  # as written, without wrappers, at most 200 characters
        self.runner = runner  # "pytest", "cargo test", "python", ...
        self.script = script  # the program run, as written
        self.targets = targets  # arguments that look like files, as written
        self.on_zero = on_zero  # "passed" or "unknown", by status 0 of the whole line
        self.on_nonzero = on_nonzero  # "failed", "perhaps" or "unknown"
        self.piped = piped  # it feeds a pipe
        self.pipefail = pipefail  # ... under pipefail: 141 is unknown
        self.usage_exits = usage_exits  # statuses that mean that nothing was checked
        self.output_redirected = output_redirected  # its output is not ours to read
        self.folder = folder  # where it runs, relative to the start; None where unknowable

    def __repr__(self) -> str:
        return f"Check({self.kind!r}, {self.command!r}, {self.on_zero}/{self.on_nonzero})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Check) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.command))


class Line:
    """What one shell line is and does. The defaults are those of an empty line."""

    __slots__ = (
        "background",
        "checks",
        "cwd",
        "harmless",
        "only_sleeps",
        "polls",
        "role",
        "shell_checks_wrapped",
        "writes",
    )

    def __init__(
        self,
        checks: tuple[Check, ...] = (),
        writes: tuple[Write, ...] = (),
        polls: bool = False,
        only_sleeps: bool = False,
        harmless: bool = True,
        role: str = "read",
        background: bool = False,
        cwd: str | None = "",
        shell_checks_wrapped: bool = False,
    ) -> None:
        self.checks = checks  # in the order of the text
        self.writes = writes
        self.polls = polls  # sleeps, waits, or looks after a job, a service or a log
        self.only_sleeps = only_sleeps  # a mere spacer
        self.harmless = harmless  # nothing in it can change a file of the work tree
        self.role = role  # "check", "server", "vcs", "read", "install", "inline" or "other"
        self.background = background  # the whole line ends in &
        self.cwd = cwd  # the folder after it, relative to the start; None where unknowable
        self.shell_checks_wrapped = shell_checks_wrapped  # it runs `unspin check -- ...`

    def __repr__(self) -> str:
        return "Line(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__) + ")"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Line) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash((self.checks, self.writes, self.role))


def _unknown_line() -> Line:
    return Line(harmless=False, role="other", cwd=None)


def read_line(command: str, named: Mapping[str, Sequence[str]] | None = None) -> Line:
    """Reads a shell line.

    `named` are the person's own check commands: `{kind: [command, ...]}`; they win over the built-in list and
    are compared word by word with the start of a simple command. Never raises: what cannot be read
    is unknown.
    """
    try:
        return _read(command, named or {})
    except Exception:
        # a fault of ours must never reach the agent; the line is then simply not understood
        return _unknown_line()


def worth_parsing(command: str) -> bool:
    """False only where `read_line` answers `Line()`, found without the parser: plain readers, empty lines."""
    if len(command) > 4096:
        return True
    text = command.strip(" ")
    if not text:
        return False
    for char in "><`$();&\n\r\\#!{}~*?[]'\t^=":
        if char in text:
            return True
    if text.count('"') % 2 or ".log" in text or ".out" in text:
        return True
    readers = data()["plain_readers"]
    for segment in text.split("|"):
        words = segment.split(None, 1)
        if not words or words[0] not in readers:
            return True
        if not (text.isascii() and text.isprintable()):
            return True
    return False


# -- the tree of our own ---------------------------------------------------------------------------


class _Part:
    """A node: "cmd", "seq", "andor", "pipe", "not", "sub", "group", "if", "loop", "case" or "func"."""

    __slots__ = (
        "assigns",
        "check",
        "ends",
        "errexit",
        "flags",
        "hi",
        "inner",
        "kind",
        "lo",
        "name",
        "ops",
        "parts",
        "pipefail",
        "place",
        "raws",
        "redirects",
        "subs",
        "sure",
        "sure_after",
        "text",
        "words",
    )

    def __init__(self, kind: str, parts: list[_Part] | None = None) -> None:
        self.kind = kind
        self.parts: list[_Part] = parts if parts is not None else []
        self.ops: list[
            str
        ] = []  # "andor": the operator before each part; "seq": "&" where a part is put in the background
        self.redirects: list[_Redirect] = []
        self.subs: list[_Part] = []  # command and process substitutions
        self.words: list[str] = []
        self.raws: list[str] = []
        self.assigns = False
        self.text = ""
        self.name = ""
        self.flags = ""
        # filled by the walk
        self.lo = self.hi = 0  # the checks inside, by number
        self.check = -1
        self.inner: _Part | None = None
        self.errexit = False
        self.pipefail = False
        self.sure = False
        self.sure_after = False
        self.ends = ""  # exit: "0", "1", "$" (the last status), "?"
        self.place = 0


class _Redirect:
    __slots__ = ("descriptor", "operator", "target", "text")

    def __init__(self, operator: str, target: str, descriptor: str = "", text: str = "") -> None:
        self.operator = operator
        self.target = target
        self.descriptor = descriptor
        self.text = text


class _Builder:
    """Turns the parser's tree into parts."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.broken = False
        self.commands = 0

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def sequence(self, nodes: Sequence[Any], depth: int) -> _Part:
        result = _Part("seq")
        for node in nodes:
            if node.type == "&":
                if result.ops:
                    result.ops[-1] = "&"
                continue
            if not node.is_named:
                if node.is_missing:
                    self.broken = True
                continue
            part = self.part(node, depth)
            if part is not None:
                result.parts.append(part)
                result.ops.append("")
        return result

    def part(self, node: Any, depth: int) -> _Part | None:
        kind = node.type
        if self.commands > MAX_PARTS:
            self.broken = True
            return None
        if kind == "comment" or kind == "heredoc_body" or kind == "heredoc_end":
            return None
        if depth > MAX_DEPTH:
            self.broken = True
            return None
        if node.is_missing or kind == "ERROR":
            self.broken = True
            return self.sequence(node.children, depth + 1)
        if kind == "command":
            return self.command(node, depth)
        if kind == "list":
            return self.and_or(node, depth)
        if kind == "pipeline":
            result = _Part("pipe")
            for child in node.children:
                if child.is_named:
                    part = self.part(child, depth + 1)
                    if part is not None:
                        result.parts.extend(
                            part.parts if part.kind == "pipe" and not part.redirects else [part]
                        )
            if len(result.parts) == 1:
                return result.parts[0]
            return result
        if kind == "redirected_statement":
            return self.redirected(node, depth)
        if kind == "negated_command":
            inner = self.sequence(node.children, depth + 1)
            return _Part("not", inner.parts[:1] if len(inner.parts) == 1 else [inner])
        if kind == "subshell":
            return _Part("sub", [self.sequence(node.children, depth + 1)])
        if kind == "compound_statement":
            if node.child_count and node.children[0].type == "((":
                return self.test(node, depth)
            return _Part("group", [self.sequence(node.children, depth + 1)])
        if kind in ("program", "do_group", "else_clause"):
            return self.sequence(node.children, depth + 1)
        if kind == "if_statement":
            return self.branches(node, depth)
        if kind in ("while_statement", "for_statement", "c_style_for_statement"):
            return self.loop(node, depth)
        if kind == "case_statement":
            result = _Part("case")
            for child in node.children:
                if child.type == "case_item":
                    result.parts.append(self.case_item(child, depth + 1))
            return result
        if kind == "function_definition":
            result = _Part("func")
            body = [
                child
                for child in node.children
                if child.type
                in (
                    "compound_statement",
                    "subshell",
                    "redirected_statement",
                    "if_statement",
                    "while_statement",
                    "test_command",
                    "command",
                )
            ]
            result.parts.append(self.sequence(body, depth + 1))
            return result
        if kind in ("variable_assignment", "variable_assignments"):
            result = _Part("cmd")
            self.commands += 1
            result.assigns = True
            result.text = self.text(node)
            self.substitutions(node, result, depth)
            return result
        if kind in ("declaration_command", "unset_command"):
            result = _Part("cmd")
            self.commands += 1
            result.text = self.text(node)
            for child in node.children:
                self.word_into(child, result, depth)
            return result
        if kind == "test_command":
            return self.test(node, depth)
        if kind in ("heredoc_redirect", "file_redirect", "herestring_redirect"):
            result = _Part("cmd")
            self.commands += 1
            self.redirect(node, result, depth)
            return result
        # something of an expression that stands where a command should
        self.broken = True
        return None

    def test(self, node: Any, depth: int) -> _Part:
        result = _Part("cmd")
        self.commands += 1
        result.words = ["["]
        result.raws = ["["]
        result.text = self.text(node)
        self.substitutions(node, result, depth)
        return result

    def and_or(self, node: Any, depth: int) -> _Part:
        # a list nests to the left, as deep as it is long: unrolled without recursion
        stack = [node]
        flat: list[Any] = []
        while stack:
            top = stack.pop()
            if top.type == "list":
                stack.extend(reversed(top.children))
            else:
                flat.append(top)
        result = _Part("andor")
        operator = ""
        for child in flat:
            if child.type in ("&&", "||"):
                operator = child.type
                if child.is_missing:
                    self.broken = True
            elif child.is_named:
                part = self.part(child, depth + 1)
                if part is None:
                    continue
                self.append(result, operator, part)
        return result

    @staticmethod
    def append(result: _Part, operator: str, part: _Part) -> None:
        if part.kind == "andor" and part.parts:
            result.ops.extend([operator, *part.ops[1:]])
            result.parts.extend(part.parts)
        else:
            result.ops.append(operator)
            result.parts.append(part)

    def redirected(self, node: Any, depth: int) -> _Part | None:
        body: _Part | None = None
        redirects: list[Any] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects.append(child)
            elif child.is_named and body is None:
                body = self.part(child, depth + 1)
        if body is None:
            body = _Part("cmd")
            self.commands += 1
        return self.with_redirects(body, redirects, depth)

    def with_redirects(self, body: _Part, nodes: Sequence[Any], depth: int) -> _Part:
        """Redirects belong to the last command of a list or pipe, wherever the parser put them."""
        for node in nodes:
            last = _last(body)
            more = self.redirect(node, last, depth)
            for operator, part in more:
                if operator == "|":
                    body = _replace_last(
                        body, last, _Part("pipe", [last, *(part.parts if part.kind == "pipe" else [part])])
                    )
                else:
                    holder = body if body.kind == "andor" else _Part("andor", [body])
                    if not holder.ops:
                        holder.ops = [""]
                    self.append(holder, operator, part)
                    body = holder
        return body

    def redirect(self, node: Any, part: _Part, depth: int) -> list[tuple[str, _Part]]:
        more: list[tuple[str, _Part]] = []
        if node.type == "herestring_redirect":
            holder = _Part("cmd")
            for child in node.children:
                if child.type != "<<<":
                    self.word_into(child, holder, depth)
            part.subs.extend(holder.subs)
            part.redirects.append(_Redirect("<<<", "", text=holder.words[0] if holder.words else ""))
            return more
        if node.type == "file_redirect":
            operator, descriptor = "", ""
            holder = _Part("cmd")
            for child in node.children:
                if child.type == "file_descriptor":
                    descriptor = self.text(child)
                elif not child.is_named:
                    operator = operator or child.type
                else:
                    self.word_into(child, holder, depth)
            target: str = holder.words[0] if holder.words else ""
            part.redirects.append(_Redirect(operator, target, descriptor))
            part.subs.extend(holder.subs)
            # `> file more`: the parser takes what follows for more destinations
            part.words.extend(holder.words[1:])
            part.raws.extend(holder.raws[1:])
            return more
        start, body = "", ""
        operator = ""
        right: _Part | None = None
        pipes: _Part | None = None
        inner: list[Any] = []
        for child in node.children:
            kind = child.type
            if kind == "heredoc_start":
                start = self.text(child)
            elif kind == "heredoc_body":
                body = self.text(child)
                self.substitutions(child, part, depth)
            elif kind == "heredoc_end":
                pass
            elif kind.endswith("_redirect"):
                inner.append(child)
            elif kind in ("&&", "||"):
                operator = kind
            elif kind == "pipeline":
                pipes = self.part(child, depth + 1)
            elif kind in ("<<", "<<-", "file_descriptor"):
                if child.is_missing:
                    self.broken = True
            elif operator and child.is_named:
                right = self.part(child, depth + 1)
            elif child.is_named and kind == "ERROR":
                self.broken = True
            elif child.is_named:
                self.word_into(child, part, depth)
        quoted = start[:1] in ("'", '"', "\\")
        part.redirects.append(_Redirect("<<" if not quoted else "<<'", "", text=body))
        for child in inner:
            more.extend(self.redirect(child, part, depth))
        if pipes is not None:
            more.append(("|", pipes))
        if right is not None:
            more.append((operator, right))
        return more

    def branches(self, node: Any, depth: int) -> _Part:
        """Parts: condition, body, condition, body, ..., and the else body (empty where there is none)."""
        result = _Part("if")
        held: list[Any] = []
        rest: list[Any] = []
        condition: _Part | None = None
        for child in node.children:
            if child.type in ("if", "fi"):
                continue
            if child.type == "then":
                condition = self.sequence(held, depth + 1)
                held = []
            elif child.type in ("elif_clause", "else_clause"):
                rest.append(child)
            else:
                held.append(child)
        result.parts.append(condition or _Part("seq"))
        result.parts.append(self.sequence(held, depth + 1))
        for child in rest:
            if child.type == "else_clause":
                result.parts.append(self.sequence(child.children, depth + 1))
                return result
            held = []
            condition = None
            for inner in child.children:
                if inner.type == "elif":
                    continue
                if inner.type == "then":
                    condition = self.sequence(held, depth + 1)
                    held = []
                else:
                    held.append(inner)
            result.parts.append(condition or _Part("seq"))
            result.parts.append(self.sequence(held, depth + 1))
        result.parts.append(_Part("seq"))
        return result

    def loop(self, node: Any, depth: int) -> _Part:
        result = _Part("loop")
        condition: list[Any] = []
        body = _Part("seq")
        words = _Part("cmd")
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                body = self.sequence(child.children, depth + 1)
            elif node.type == "while_statement":
                condition.append(child)
            elif child.is_named:
                self.substitutions(child, words, depth)
        first = self.sequence(condition, depth + 1)
        first.parts[:0] = words.subs
        first.ops[:0] = [""] * len(words.subs)
        result.parts = [first, body]
        return result

    def case_item(self, node: Any, depth: int) -> _Part:
        held: list[Any] = []
        open_ = False
        for child in node.children:
            if open_:
                held.append(child)
            elif child.type == ")":
                open_ = True
        return self.sequence(held, depth + 1)

    def command(self, node: Any, depth: int) -> _Part:
        result = _Part("cmd")
        self.commands += 1
        redirects: list[Any] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                result.assigns = True
                self.substitutions(child, result, depth)
            elif kind.endswith("_redirect"):
                redirects.append(child)
            elif kind == "command_name":
                for inner in child.children or [child]:
                    self.word_into(inner, result, depth)
            else:
                self.word_into(child, result, depth)
        return self.with_redirects(result, redirects, depth) if redirects else result

    def word_into(self, node: Any, part: _Part, depth: int) -> None:
        if node.type == "comment":
            return
        word = self.word(node)
        raw = self.text(node)
        part.words.append(word)
        part.raws.append(raw)
        if isinstance(word, Loose) or node.type == "ERROR":
            self.substitutions(node, part, depth)
        if node.type == "ERROR" or node.is_missing:
            self.broken = True

    def word(self, node: Any) -> str:
        kind = node.type
        text = self.text(node)
        if kind in ("word", "number", "variable_name", "special_variable_name"):
            return _unescape(text) if "\\" in text else text
        if kind == "raw_string":
            return text[1:-1]
        if kind == "string":
            inner = text[1:-1] if len(text) >= 2 and text[-1] == '"' else text[1:]
            if "$" in inner or "`" in inner:
                for child in node.children:
                    if child.is_named and child.type != "string_content":
                        return Loose(inner)
            return _unescape_double(inner) if "\\" in inner else inner
        if kind == "ansi_c_string":
            return _unescape_ansi(text[2:-1])
        if kind == "concatenation":
            pieces = [self.word(child) for child in node.children]
            joined = "".join(pieces)
            return Loose(joined) if any(isinstance(piece, Loose) for piece in pieces) else joined
        if not node.is_named:
            return text
        return Loose(text)

    def substitutions(self, node: Any, part: _Part, depth: int) -> None:
        stack = [node]
        while stack:
            top = stack.pop()
            if self.commands > MAX_PARTS:
                return
            if top.type in ("command_substitution", "process_substitution"):
                if depth > MAX_DEPTH:
                    self.broken = True
                    return
                sub = _Part("sub", [self.sequence(top.children, depth + 1)])
                sub.flags = top.type
                part.subs.append(sub)
            elif top.child_count:
                stack.extend(reversed(top.children))


def _last(part: _Part) -> _Part:
    while part.kind in ("andor", "pipe", "not") and part.parts:
        part = part.parts[-1]
    return part


def _replace_last(part: _Part, last: _Part, new: _Part) -> _Part:
    if part is last:
        return new
    holder = part
    while holder.parts and holder.parts[-1] is not last:
        holder = holder.parts[-1]
    if holder.kind == "pipe" and new.kind == "pipe":
        holder.parts[-1:] = new.parts
    elif holder.parts:
        holder.parts[-1] = new
    return part


def _unescape(text: str) -> str:
    result: list[str] = []
    skip = False
    for char in text:
        if skip:
            if char != "\n":
                result.append(char)
            skip = False
        elif char == "\\":
            skip = True
        else:
            result.append(char)
    return "".join(result)


def _unescape_double(text: str) -> str:
    result: list[str] = []
    skip = False
    for char in text:
        if skip:
            if char not in '$`"\\\n':
                result.append("\\")
            if char != "\n":
                result.append(char)
            skip = False
        elif char == "\\":
            skip = True
        else:
            result.append(char)
    return "".join(result)


_ANSI = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "0": "\0",
}


def _unescape_ansi(text: str) -> str:
    result: list[str] = []
    skip = False
    for char in text:
        if skip:
            result.append(_ANSI.get(char, "\\" + char))
            skip = False
        elif char == "\\":
            skip = True
        else:
            result.append(char)
    return "".join(result)


# -- parsing ---------------------------------------------------------------------------------------

_parser: Any = None

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@%+= ")
_RESERVED = frozenset(
    (
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "function",
        "select",
        "time",
        "coproc",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
        "unsetenv",
        "let",
        "repeat",
    )
)


def _plain_words(command: str) -> list[str] | None:
    """The words of a line that is one plain command; None where the parser is needed."""
    if len(command) > 2000 or not _PLAIN.issuperset(command):
        return None
    words = command.split()
    if not words or words[0] in _RESERVED or "=" in words[0]:
        return None
    return words


def _parse(source: bytes) -> Any:
    global _parser  # noqa: PLW0603
    if _parser is None:
        import tree_sitter
        import tree_sitter_bash

        _parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    return _parser.parse(source)


def _crowded(source: bytes) -> bool:
    """So much punctuation that the parser, whose recovery from an error is quadratic, could take long?"""
    return (
        len(source) > MAX_PUNCTUATION
        and sum(map(source.count, (b"|", b"<", b">", b"(", b"["))) > MAX_PUNCTUATION
    )


def _blank_heredocs(source: bytes) -> bytes:
    """The bodies of heredocs overwritten, offsets kept: for long lines that write long files."""
    kept: list[bytes] = []
    delimiters: list[bytes] = []
    for line in source.split(b"\n"):
        if delimiters:
            if line.lstrip(b"\t") == delimiters[0]:
                del delimiters[0]
                kept.append(line)
            else:
                kept.append(b"x" * len(line))
            continue
        kept.append(line)
        at = line.find(b"<<")
        while at >= 0 and len(delimiters) < 8:
            word = line[at + 2 : at + 80].lstrip(b"- ")
            if word[:1] != b"<":
                name = word.strip(b"'\"\\").split(None, 1)[0] if word.strip(b"'\"\\ ") else b""
                for mark in (b"'", b'"', b";", b"|", b"&", b">", b")"):
                    name = name.split(mark, 1)[0]
                if name:
                    delimiters.append(name)
            at = line.find(b"<<", at + 3)
    return source if delimiters else b"\n".join(kept)


def _mend_heredocs(root: Any, source: bytes, parsed: bytes) -> bytes | None:
    """The text with the body of a heredoc blanked where the parser saw it end elsewhere than a shell would.

    The parser takes a delimiter in the middle of a body for its end, and would read the rest as commands.
    Offsets stay as they are. None where there is nothing to mend.
    """
    stack = [root]
    found: list[Any] = []
    while stack:
        node = stack.pop()
        if node.type == "heredoc_redirect":
            found.append(node)
        if node.child_count:
            stack.extend(reversed(node.children))
    blanked: bytearray | None = None
    skip = 0  # the end of the body before: heredocs of one line follow each other
    for node in found:
        start = end = None
        tabs = False
        for child in node.children:
            if child.type == "heredoc_start":
                start = child
            elif child.type == "heredoc_end":
                end = child
            elif child.type == "<<-":
                tabs = True
        if start is None:
            continue
        delimiter = (
            parsed[start.start_byte : start.end_byte]
            .replace(b"'", b"")
            .replace(b'"', b"")
            .replace(b"\\", b"")
        )
        first = parsed.find(b"\n", start.end_byte)
        if first < 0 or not delimiter:
            continue
        place = max(first + 1, skip)
        at = place
        while at < len(parsed):
            stop = parsed.find(b"\n", at)
            stop = len(parsed) if stop < 0 else stop
            line = parsed[at:stop]
            if (line.lstrip(b"\t") if tabs else line) == delimiter:
                break
            at = stop + 1
        ended = at < len(parsed)
        skip = min(at + len(delimiter) + 1, len(parsed)) if ended else len(parsed)
        if (
            ended
            and end is not None
            and at <= end.start_byte <= at + len(parsed[at : parsed.find(b"\n", at)])
        ):
            continue
        body = bytes(10 if byte == 10 else 120 for byte in parsed[place : at if ended else len(parsed)])
        if body == parsed[place : at if ended else len(parsed)]:
            continue
        blanked = bytearray(parsed)
        blanked[place : place + len(body)] = body
        if not ended:
            blanked += b"\n" + delimiter + b"\n"
        break
    return bytes(blanked) if blanked is not None else None


def _too_deep(text: str) -> bool:
    """Brackets nested deeper than anybody writes: the parser's own recovery could take long."""
    depth = 0
    for char in text:
        if char in "({":
            depth += 1
            if depth > 400:
                return True
        elif char in ")}" and depth:
            depth -= 1
    return False


def _build(command: str) -> tuple[_Part | None, bool, int]:
    """The tree of a line, whether it is broken, and how many simple commands it holds."""
    words = _plain_words(command)
    if words is not None:
        part = _Part("cmd")
        part.words = list(words)
        part.raws = words
        sequence = _Part("seq", [part])
        sequence.ops = [""]
        return sequence, False, 1
    if len(command) > MAX_LINE or _too_deep(command):
        return None, True, 0
    source = command.encode("utf-8", "surrogatepass")
    if len(source) > MAX_LINE or b"\0" in source:
        return None, True, 0
    neutral = source
    if _crowded(source):
        neutral = _blank_heredocs(source)
        if _crowded(neutral):
            return None, True, 0
    tree = _parse(neutral)
    unclosed = False
    if b"<<" in source:
        for _ in range(MAX_REPARSES):
            mended = _mend_heredocs(tree.root_node, source, neutral)
            if mended is None:
                break
            neutral = mended
            tree = _parse(neutral)
        else:
            unclosed = True
    root = tree.root_node
    builder = _Builder(source)
    part_ = builder.sequence(root.children, 0)
    if builder.commands > MAX_PARTS:
        return None, True, 0
    return part_, builder.broken or unclosed or root.type == "ERROR", builder.commands


# -- the walk --------------------------------------------------------------------------------------


class _Scope:
    """What holds where a command stands: one shell, and the constructs around it."""

    __slots__ = (
        "blind",
        "condition",
        "container",
        "cwd",
        "errexit",
        "fed",
        "old",
        "pipe_fails",
        "piped",
        "pipefail",
        "redirected",
        "remote",
        "stack",
        "unsure",
    )

    def __init__(self) -> None:
        self.cwd: str | None = ""
        self.old: str | None = None
        self.stack: tuple[str | None, ...] = ()
        self.errexit = False
        self.pipefail = False
        self.blind = False  # its status cannot reach us
        self.remote = False  # on another machine
        self.container = False
        self.condition = False  # set -e does not hold here
        self.unsure = False  # it may not be reached: options set here do not count
        self.piped = False
        self.pipe_fails = True  # every pipe that it feeds is under pipefail
        self.redirected = False
        self.fed = False

    def copy(self) -> _Scope:
        new = _Scope.__new__(_Scope)
        for name in _Scope.__slots__:
            setattr(new, name, getattr(self, name))
        return new


class _Walk:
    def __init__(self, named: Mapping[str, Sequence[str]]) -> None:
        self.named = named
        self.checks: list[Check] = []
        self.hidden: list[bool] = []  # the outcome of this check cannot reach us
        self.zero_hidden: list[bool] = []  # ... at least status 0 says nothing
        self.writes: list[Write] = []
        self.roles: set[str] = set()
        self.harmless = True
        self.poll = False
        self.sleeps = 0
        self.others = 0
        self.broken = False
        self.commands = 0
        self.wrapped = False
        self.trapped = False
        self.inner = 0
        self.server = False

    # constructs

    def walk(self, part: _Part, scope: _Scope) -> None:
        part.lo = len(self.checks)
        kind = part.kind
        if kind == "cmd":
            self.simple(part, scope)
        elif kind == "seq":
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "&":
                    self.walk(inner, scope.copy())
                else:
                    self.walk(inner, scope)
        elif kind == "andor":
            self.andor(part, scope)
        elif kind == "pipe":
            self.pipe(part, scope)
        elif kind == "not":
            held = scope.condition
            scope.condition = True
            for inner in part.parts:
                self.walk(inner, scope)
            scope.condition = held
        elif kind == "sub":
            inside = scope.copy()
            self.redirects(part, scope, inside)
            part.errexit = scope.errexit and not scope.condition
            for inner in part.parts:
                self.walk(inner, inside)
        elif kind == "group":
            held_redirected = scope.redirected
            self.redirects(part, scope, scope)
            for inner in part.parts:
                self.walk(inner, scope)
            scope.redirected = held_redirected
        elif kind == "if":
            self.branch(part, scope)
        elif kind == "loop":
            self.loop(part, scope)
        elif kind == "case":
            self.alternatives(part, part.parts, scope)
        elif kind == "func":
            inside = scope.copy()
            inside.blind = True
            for inner in part.parts:
                self.walk(inner, inside)
        part.hi = len(self.checks)

    def andor(self, part: _Part, scope: _Scope) -> None:
        held, held_unsure = scope.condition, scope.unsure
        last = len(part.parts) - 1
        for place, inner in enumerate(part.parts):
            scope.condition = held or place < last
            if part.ops[place] == "||":
                # reached only where what came before failed
                before = scope.cwd
                scope.unsure = True
                self.walk(inner, scope)
                scope.unsure = held_unsure
                if scope.cwd != before:
                    scope.cwd = None
            else:
                self.walk(inner, scope)
        scope.condition = held

    def pipe(self, part: _Part, scope: _Scope) -> None:
        part.errexit = scope.errexit and not scope.condition
        part.pipefail = scope.pipefail
        last = len(part.parts) - 1
        tail_redirected = (
            any(_stdout_to_file(redirect) for redirect in part.parts[last].redirects) if last >= 0 else False
        )
        for place, inner in enumerate(part.parts):
            inside = scope.copy()
            inside.condition = True
            inside.fed = scope.fed or place > 0
            if place < last:
                inside.piped = True
                inside.pipe_fails = scope.pipe_fails and scope.pipefail
                inside.redirected = inside.redirected or tail_redirected
            self.walk(inner, inside)

    def branch(self, part: _Part, scope: _Scope) -> None:
        self.redirects(part, scope, scope)
        ends: list[str | None] = []
        for place in range(0, len(part.parts) - 1, 2):
            held, blind, unsure = scope.condition, scope.blind, scope.unsure
            scope.condition = scope.blind = scope.unsure = True
            self.walk(part.parts[place], scope)
            scope.condition, scope.blind, scope.unsure = held, blind, unsure
            inside = scope.copy()
            inside.unsure = True
            self.walk(part.parts[place + 1], inside)
            ends.append(inside.cwd)
        inside = scope.copy()
        inside.unsure = True
        self.walk(part.parts[-1], inside)
        ends.append(inside.cwd)
        scope.cwd = ends[0] if all(end == ends[0] for end in ends) else None

    def alternatives(self, part: _Part, parts: Sequence[_Part], scope: _Scope) -> None:
        self.redirects(part, scope, scope)
        ends: list[str | None] = [scope.cwd]
        for inner in parts:
            inside = scope.copy()
            inside.unsure = True
            self.walk(inner, inside)
            ends.append(inside.cwd)
        if any(end != ends[0] for end in ends):
            scope.cwd = None

    def loop(self, part: _Part, scope: _Scope) -> None:
        inside = scope.copy()
        self.redirects(part, scope, inside)
        inside.blind = inside.unsure = True
        condition = inside.condition
        inside.condition = True
        self.walk(part.parts[0], inside)
        inside.condition = condition
        self.walk(part.parts[1], inside)
        if inside.cwd != scope.cwd:
            scope.cwd = None

    # simple commands

    def simple(self, part: _Part, scope: _Scope) -> None:
        self.commands += 1
        part.place = self.commands
        part.errexit = scope.errexit and not scope.condition
        if part.subs:
            inside = scope.copy()
            inside.blind = True
            inside.piped = False
            for sub in part.subs:
                self.walk(sub, inside)
        heredoc, fed, quoted = "", scope.fed, False
        for redirect in part.redirects:
            if redirect.operator in ("<<", "<<'", "<<<", "<"):
                fed = True
                if redirect.operator.startswith("<<"):
                    heredoc = redirect.text
                    quoted = redirect.operator == "<<'"
        words: Sequence[str] = part.words
        if not words:
            self.redirects(part, scope, scope.copy())
            part.sure = part.assigns and not part.subs
            if part.assigns and part.subs:
                part.sure = all(_always_zero(sub) for sub in part.subs)
            if not part.redirects:
                self.others += 1
            return
        self.command(part, words, part.raws, scope, fed, heredoc, quoted)

    def command(
        self,
        part: _Part,
        words: Sequence[str],
        raws: Sequence[str],
        scope: _Scope,
        fed: bool,
        heredoc: str,
        quoted: bool,
    ) -> None:
        how = unwrap(words)
        inside = scope
        if how.remote or how.container or how.blind or how.folder is not None or how.xargs:
            inside = scope.copy()
            inside.remote = scope.remote or how.remote
            inside.container = scope.container or how.container
            inside.blind = scope.blind or how.remote or how.blind
            if how.folder is not None:
                inside.cwd = _join(inside.cwd, how.folder)
        if how.exec:
            part.ends = "exec"
        self.wrapped = self.wrapped or how.checked
        if how.script is not None:
            self.redirects(part, scope, inside)
            self.script(part, how.script, inside, isinstance(how.script, Loose), "", subshell=True)
            return
        at = how.at
        argv: list[str] = list(words[at:])
        text = raws[at:]
        if how.xargs:
            argv.append(Loose("{}"))
        kind = named_kind(argv, self.named) if self.named else ""
        name = base_name(argv[0]) if argv else ""
        # a shell within the line
        if not kind and name in SHELLS and not isinstance(argv[0], Loose):
            script, flags = _shell_script(argv)
            if script is None and heredoc and fed and _shell_reads_stdin(argv):
                script = heredoc
            if script is not None:
                self.redirects(part, scope, inside)
                loose = isinstance(script, Loose)
                self.script(part, script, inside, loose, flags, subshell=True)
                return
        if not kind and name == "eval" and len(argv) > 1:
            loose = any(isinstance(word, Loose) for word in argv)
            self.redirects(part, scope, inside)
            self.script(part, " ".join(argv[1:]), inside, loose, "", subshell=False)
            return
        if name == "find" and not kind:
            self.find(part, argv, text, inside)
        found = classify(argv, how, fed)
        if kind:
            found = Found("check", kind if kind in ("test", "build", "lint", "type", "run") else "test", name)
            found.targets = tuple(word for word in argv[1:] if "/" in word and not word.startswith("-"))[:20]
        if how.checked and found.what != "check":
            found = Found(
                "check",
                how.kind if how.kind in ("test", "build", "lint", "type", "run") else "test",
                "unspin check",
            )
        elif how.checked:
            found.runner = "unspin check"
            if how.kind in ("test", "build", "lint", "type", "run") and not kind:
                found.kind = how.kind
        self.builtin(part, name, argv, scope)
        if name == "exec" and part.redirects and len(words) == 1:
            scope.redirected = scope.redirected or any(
                _stdout_to_file(redirect) for redirect in part.redirects
            )
        self.settle(part, name, argv, text, found, how, inside, heredoc, quoted)

    def builtin(self, part: _Part, name: str, argv: Sequence[str], scope: _Scope) -> None:
        """What changes the shell itself."""
        if name in ("cd", "pushd", "chdir"):
            operands = [word for word in argv[1:] if word not in ("--", "-P", "-L")]
            old = scope.cwd
            if name == "pushd":
                scope.stack = (*scope.stack[-20:], old)
            if not operands:
                scope.cwd = "~"
            elif operands[0] == "-":
                scope.cwd = scope.old
            else:
                scope.cwd = _join(scope.cwd, operands[0])
            scope.old = old
        elif name == "popd":
            if scope.stack:
                scope.cwd = scope.stack[-1]
                scope.stack = scope.stack[:-1]
            else:
                scope.cwd = None
        elif name in ("set", "setopt"):
            self.options(argv, scope)
        elif name in ("exit", "return"):
            operand = argv[1] if len(argv) > 1 else "$?"
            part.ends = (
                "$"
                if operand in ("$?", "${?}")
                else ("0" if operand == "0" else "1")
                if operand.isdigit()
                else "?"
            )
        elif name == "trap":
            self.trapped = True

    def options(self, argv: Sequence[str], scope: _Scope) -> None:
        at = 1
        while at < len(argv):
            word = argv[at]
            if argv[0] == "setopt":
                self.option(word.lower().replace("_", ""), True, scope)
            elif word.startswith(("-", "+")) and len(word) > 1 and not word.startswith("--"):
                on = word[0] == "-"
                if "e" in word[1:]:
                    self.option("errexit", on, scope)
                if word.endswith("o") and at + 1 < len(argv):
                    at += 1
                    self.option(argv[at], on, scope)
            else:
                break
            at += 1

    @staticmethod
    def option(name: str, on: bool, scope: _Scope) -> None:
        if name not in ("errexit", "pipefail"):
            return
        if scope.unsure:
            on = False  # set where it may not be reached: better not relied upon
        setattr(scope, name, on)

    def find(self, part: _Part, argv: Sequence[str], text: Sequence[str], scope: _Scope) -> None:
        for flag in ("-exec", "-execdir", "-ok"):
            if flag not in argv:
                continue
            start = argv.index(flag) + 1
            end = next((at for at in range(start, len(argv)) if argv[at] in (";", "+")), len(argv))
            words: list[str] = [Loose(word) if "{}" in word else word for word in argv[start:end]]
            if not words:
                continue
            if self.inner >= MAX_INNER:
                self.broken = True
                return
            inside = scope.copy()
            inside.blind = True
            inner = _Part("cmd")
            inner.words = words
            inner.raws = list(text[start:end])
            part.subs.append(inner)
            self.inner += 1
            self.walk(inner, inside)
            self.inner -= 1

    def script(
        self, part: _Part, script: str, scope: _Scope, loose: bool, flags: str, subshell: bool
    ) -> None:
        """A line within the line: `bash -c '...'`, `eval '...'`, `bash <<EOF`."""
        if self.inner >= MAX_INNER:
            self.harmless = False
            self.broken = True
            return
        inside = scope.copy() if subshell else scope
        if subshell:
            inside.errexit = "e" in flags.split()
            inside.pipefail = "pipefail" in flags.split()
            inside.condition = False
        tree, broken, commands = _build(script)
        self.commands += commands
        if tree is None:
            self.harmless = False
            self.broken = True
            return
        before = len(self.checks)
        self.inner += 1
        self.walk(tree, inside)
        self.inner -= 1
        if broken or (loose and not subshell):
            self.harmless = False
            for place in range(before, len(self.checks)):
                self.hidden[place] = True
        if loose and not tree.parts:
            self.harmless = False
        part.inner = tree
        part.flags = "sub" if subshell else "eval"

    def settle(
        self,
        part: _Part,
        name: str,
        argv: Sequence[str],
        text: Sequence[str],
        found: Found,
        how: Unwrapped,
        scope: _Scope,
        heredoc: str,
        quoted: bool,
    ) -> None:
        written = [] if scope.remote or scope.container else writes_of(name, argv, heredoc)
        if found.what == "format" or (found.what == "check" and found.fixes):
            kind = found.kind
            if kind in ("test", "type"):
                written = [*written, Write("", "write", "snapshots")]
            else:
                named = [
                    path
                    for path in found.targets
                    if "." in path.rsplit("/", 1)[-1].lstrip(".") and "*" not in path
                ]
                written = [
                    *written,
                    *(
                        [Write(path, "write", "formatter") for path in named]
                        or [Write("", "write", "formatter")]
                    ),
                ]
        safe = True
        for write in written:
            loose = isinstance(write.path, Loose)
            whole = not loose and write.path == ""
            if not whole:
                write.path = _joined(scope.cwd, write.path)
            if write.path in _NOWHERE:
                continue
            safe = safe and _safe(write.path)
            self.add(write)
        texts = ""
        if name in ("echo", "printf"):
            texts = _echoed(name, argv)
        elif name == "cat" and heredoc and not [word for word in argv[1:] if not word.startswith("-")]:
            texts = heredoc
        redirected, unsafe = self.redirects(
            part, scope, None, texts, "heredoc" if heredoc and name == "cat" else "redirect"
        )
        if unsafe:
            self.harmless = False
        if not (found.harmless or (written and name not in ("git", "scp"))) or not safe:
            self.harmless = False
        if scope.remote and not found.harmless:
            self.harmless = False
        what = found.what
        if what == "check":
            self.check(part, argv, text, found, how, scope, redirected)
        else:
            self.others += 0 if name in ("sleep", "wait", "true", ":") else 1
            self.sleeps += 1 if name in ("sleep", "wait", "true", ":") else 0
        if found.poll or name in ("sleep", "wait"):
            self.poll = True
        if what in ("read", "quiet", "poll"):
            role = "other" if (written and what != "quiet") or (redirected and unsafe) else "read"
        elif what == "format":
            role = "other"
        else:
            role = what
        self.roles.add(role)
        part.sure = found.sure or (name in ("true", ":", "sleep") and what != "check")
        if (name == "cat" and len(argv) == 1) or name == "tee":
            part.sure = True
        part.sure_after = part.sure or (what == "read" and name in data()["sure_after"])
        if name == "false":
            part.ends = "false"
        if name == "yes" or name == "grep":
            part.sure_after = False

    def check(
        self,
        part: _Part,
        argv: Sequence[str],
        text: Sequence[str],
        found: Found,
        how: Unwrapped,
        scope: _Scope,
        redirected: bool,
    ) -> None:
        if len(self.checks) >= MAX_CHECKS:
            self.others += 1
            self.broken = True
            return
        part.check = len(self.checks)
        folder = scope.cwd
        self.checks.append(
            Check(
                found.kind,
                _command_text(text),
                found.runner,
                str(found.script),
                tuple(str(target) for target in found.targets),
                piped=scope.piped,
                pipefail=scope.piped and scope.pipe_fails,
                usage_exits=found.usage_exits,
                output_redirected=redirected or scope.redirected,
                folder=folder,
            )
        )
        self.hidden.append(scope.blind)
        self.zero_hidden.append(how.xargs)

    def redirects(
        self,
        part: _Part,
        scope: _Scope,
        inside: _Scope | None,
        text: str = "",
        how: str = "redirect",
    ) -> tuple[bool, bool]:
        """Writes of the redirects of a part: is its output sent to a file, does one write within the tree."""
        redirected = unsafe = False
        for redirect in part.redirects:
            operator = redirect.operator
            if operator in ("<", "<<", "<<'", "<<<", "<&", "<&-", ">&-", "<>"):
                continue
            target = redirect.target
            if operator in (">&", "&>") and (target.isdigit() or target == "-"):
                continue
            if operator == ">&" and redirect.descriptor and target.isdigit():
                continue
            if _stdout_to_file(redirect):
                redirected = True
            if target in _NOWHERE:
                continue
            if isinstance(target, Loose) and target.startswith((">(", "<(")):
                continue
            if scope.remote:
                continue
            path = _joined(scope.cwd, target)
            appended = operator in (">>", "&>>")
            content = text if _stdout_to_file(redirect) else ""
            self.add(Write(path, "write", ("append" if appended else how), content))
            if not _safe(path):
                unsafe = True
        if inside is not None:
            if redirected:
                inside.redirected = True
            if unsafe:
                self.harmless = False
                self.roles.add("other")
        return redirected, unsafe

    def add(self, write: Write) -> None:
        if len(self.writes) < MAX_WRITES:
            self.writes.append(write)


_NOWHERE = frozenset(("/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty", "/dev/fd/1", "/dev/fd/2"))


def _stdout_to_file(redirect: _Redirect) -> bool:
    if redirect.operator in ("&>", "&>>"):
        return True
    if redirect.operator in (">", ">>", ">|"):
        return redirect.descriptor in ("", "1") and redirect.target not in (
            "/dev/stderr",
            "/dev/stdout",
            "/dev/tty",
        )
    return (
        redirect.operator == ">&"
        and not redirect.descriptor
        and not redirect.target.isdigit()
        and redirect.target != "-"
    )


def _command_text(raws: Sequence[str]) -> str:
    pieces: list[str] = []
    size = 0
    for raw in raws:
        piece = " ".join(raw[: MAX_COMMAND + 1].replace("\\\n", " ").split())
        pieces.append(piece)
        size += len(piece) + 1
        if size > MAX_COMMAND:
            break
    return " ".join(pieces)[:MAX_COMMAND]


def _echoed(name: str, argv: Sequence[str]) -> str:
    at = 1
    while at < len(argv) and name == "echo" and argv[at] in ("-e", "-n", "-E", "-en", "-ne"):
        at += 1
    if name == "printf" and at < len(argv) and argv[at] == "--":
        at += 1
    pieces: list[str] = []
    size = 0
    for word in argv[at:]:
        pieces.append(word)
        size += len(word)
        if size > MAX_TEXT:
            break
    return " ".join(pieces)


def _shell_script(argv: Sequence[str]) -> tuple[str | None, str]:
    """The script of `bash -c SCRIPT`, and the options given with it ("e", "pipefail")."""
    flags: list[str] = []
    at = 1
    given = False
    while at < len(argv):
        word = argv[at]
        if not word.startswith(("-", "+")) or word in ("-", "--"):
            break
        if word in ("-o", "+o", "-O"):
            if at + 1 < len(argv) and word == "-o":
                flags.append({"errexit": "e"}.get(argv[at + 1], argv[at + 1]))
            at += 2
            continue
        if word.startswith("--"):
            at += 2 if word in ("--rcfile", "--init-file") else 1
            continue
        cluster = word[1:]
        if "e" in cluster and word[0] == "-":
            flags.append("e")
        if "c" in cluster:
            given = True
        at += 1
        if "o" in cluster and at < len(argv):
            flags.append({"errexit": "e"}.get(argv[at], argv[at]))
            at += 1
    if given:
        return (argv[at] if at < len(argv) else "", " ".join(flags))
    return None, " ".join(flags)


def _shell_reads_stdin(argv: Sequence[str]) -> bool:
    operands = [word for word in argv[1:] if not word.startswith("-") or word == "-"]
    return not operands or operands[0] == "-" or "-s" in argv


def _join(folder: str | None, path: str) -> str | None:
    """`path` seen from `folder`; None where it cannot be known. Links are not followed."""
    if folder is not None and len(folder) > MAX_FOLDER:
        return None
    if isinstance(path, Loose):
        for mark in ("$HOME", "${HOME}"):
            if path == mark or path.startswith(mark + "/"):
                rest = path[len(mark) :]
                return None if "$" in rest or "`" in rest else "~" + rest
        for mark in ("$PWD", "${PWD}", "$(pwd)", "`pwd`"):
            if path == mark or path.startswith(mark + "/"):
                rest = path[len(mark) + 1 :]
                return None if "$" in rest or "`" in rest else _join(folder, "./" + rest)
        return None
    if path.startswith("~"):
        return path
    if not path:
        return folder
    if path.startswith("/"):
        return _normal(path)
    if folder is None:
        return None
    if folder.startswith("~"):
        return folder.rstrip("/") + "/" + (_normal(path) or ".")
    return (
        _normal(folder.rstrip("/") + "/" + path if folder else path) if folder != "/" else _normal("/" + path)
    )


def _joined(folder: str | None, path: str) -> str:
    """`_join` for files: "." for the folder of the start itself, "" where unknowable."""
    found = _join(folder, path)
    if found is None or (not path and not isinstance(path, Loose)):
        return ""
    return found or "."


def _normal(path: str) -> str:
    """Takes out "." and "name/..": the folder of the start is ""."""
    rooted = path.startswith("/")
    kept: list[str] = []
    for piece in path.split("/"):
        if piece in ("", "."):
            continue
        if piece == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif piece == ".." and rooted:
            continue
        else:
            kept.append(piece)
    joined = "/".join(kept)
    return "/" + joined if rooted else joined


def _safe(path: str) -> bool:
    return path.startswith(
        ("/tmp/", "/var/tmp/", "/dev/", "/private/tmp/", "/private/var/folders/", "/var/folders/")
    )


# -- outcomes --------------------------------------------------------------------------------------
# A state is one bit of a mask: what became of the check (0 did not run, 1 passed, 2 failed) * 4
# + (status not zero) * 2 + (the shell has ended). Masks are sets of states.

_START = 1
_DEAD = 0b101010101010
_LIVE = 0b010101010101
_ZERO = 0b001100110011
_NONZERO = 0b110011001100
_ALL_FATES = (0b000000001111, 0b000011110000, 0b111100000000)


def _set_status(mask: int, zero: bool, nonzero: bool) -> int:
    """Every state with its status replaced."""
    result = 0
    folded = (mask & _ZERO) | ((mask & _NONZERO) >> 2)
    if zero:
        result |= folded
    if nonzero:
        result |= folded << 2
    return result


def _scatter(mask: int) -> int:
    """The check has run, with whatever outcome; status and end kept."""
    base = 0
    for fate in range(3):
        base |= (mask >> (4 * fate)) & 0b1111
    return (base << 4) | (base << 8)


def _end_nonzero(mask: int) -> int:
    """Under errexit: a live state with a status that is not zero ends the shell."""
    failing = mask & _NONZERO & _LIVE
    return (mask & ~failing) | (failing << 1)


def _revive(mask: int) -> int:
    """The end of a subshell ends nothing outside of it."""
    return (mask & _LIVE) | ((mask & _DEAD) >> 1)


class _Outcome:
    def __init__(self, check: int, place: int) -> None:
        self.check = check
        self.place = place

    def holds(self, part: _Part) -> bool:
        return part.lo <= self.check < part.hi

    def run(self, part: _Part, mask: int) -> int:
        if not mask:
            return 0
        kind = part.kind
        if kind == "cmd":
            return self.command(part, mask)
        if kind == "seq":
            ended = 0
            live = mask
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "&":
                    live = _set_status(_scatter(live) if self.holds(inner) else live, True, False)
                else:
                    live = self.run(inner, live)
                ended |= live & _DEAD
                live &= _LIVE
            return live | ended
        if kind == "andor":
            current = mask
            for inner, operator in zip(part.parts, part.ops, strict=False):
                if operator == "":
                    current = self.run(inner, current)
                else:
                    chosen = current & _LIVE & (_ZERO if operator == "&&" else _NONZERO)
                    current = (current & ~chosen) | self.run(inner, chosen)
            return current
        if kind == "pipe":
            return self.pipe(part, mask)
        if kind == "not":
            for inner in part.parts:
                mask = self.run(inner, mask)
            live = mask & _LIVE
            return (mask & _DEAD) | ((live & _ZERO) << 2) | ((live & _NONZERO) >> 2)
        if kind == "sub":
            for inner in part.parts:
                mask = self.run(inner, mask)
            mask = _revive(mask)
            return _end_nonzero(mask) if part.errexit else mask
        if kind == "group":
            for inner in part.parts:
                mask = self.run(inner, mask)
            return mask
        if kind == "if":
            return self.branch(part, mask)
        if kind == "loop":
            condition = (
                self.run(part.parts[0], _set_status(mask, True, False)) if part.parts[0].parts else mask
            )
            ended = condition & _DEAD
            body = self.run(part.parts[1], condition & _LIVE)
            if self.holds(part):
                return _set_status(_scatter(mask), True, True)
            return ended | body | _set_status(condition & _LIVE, True, False)
        if kind == "case":
            result = _set_status(mask, True, False)
            for inner in part.parts:
                result |= self.run(inner, mask)
            return result
        return _set_status(_scatter(mask) if self.holds(part) else mask, True, False)

    def branch(self, part: _Part, mask: int) -> int:
        current = mask
        result = 0
        for place in range(0, len(part.parts) - 1, 2):
            current = self.run(part.parts[place], current)
            result |= current & _DEAD
            current &= _LIVE
            taken = current & _ZERO
            body = part.parts[place + 1]
            result |= self.run(body, taken)
            current &= _NONZERO
        last = part.parts[-1]
        if last.parts:
            return result | self.run(last, current)
        return result | _set_status(current, True, False)

    def pipe(self, part: _Part, mask: int) -> int:
        total = _set_status(mask, True, False)
        for place, inner in enumerate(part.parts):
            if self.holds(inner):
                # only one member can hold it: the others say nothing of its fate
                own = _revive(self.run(inner, mask))
                if part.pipefail:
                    zero = own & _ZERO if total & _ZERO else 0
                    nonzero = own & _NONZERO
                    if total & _NONZERO:
                        nonzero |= _set_status(own, False, True)
                    total = zero | nonzero
                else:
                    total = own
                continue
            status = _revive(self.run(inner, _set_status(mask, True, False)))
            can_zero, can_fail = bool(status & _ZERO), bool(status & _NONZERO)
            if part.pipefail and place:
                grown = 0
                if can_zero:
                    grown |= total
                if can_fail:
                    grown |= _set_status(total, False, True)
                total = grown
            else:
                total = _set_status(total, can_zero, can_fail)
        return _end_nonzero(total) if part.errexit else total

    def command(self, part: _Part, mask: int) -> int:
        if part.check == self.check:
            folded = 0
            for fate in range(3):
                folded |= (mask >> (4 * fate)) & 0b1111
            folded = (folded & 0b0001) | ((folded & 0b0100) >> 2)
            result = (folded << 4) | (folded << 10)
        elif part.inner is not None:
            result = self.run(part.inner, mask)
            if part.flags == "sub":
                result = _revive(result)
        elif part.ends in ("0", "1", "$", "?"):
            if part.ends == "$":
                result = mask
            else:
                result = _set_status(mask, part.ends in ("0", "?"), part.ends in ("1", "?"))
            return ((result & _LIVE) << 1) | (result & _DEAD)
        elif part.ends == "false":
            result = _set_status(mask, False, True)
        else:
            sure = part.sure or (part.sure_after and part.place > self.place)
            result = _set_status(mask, True, not sure)
        if part.subs and any(self.holds(sub) for sub in part.subs):
            result = _set_status(_scatter(result), bool(result & _ZERO), True)
        if part.ends == "exec":
            return ((result & _LIVE) << 1) | (result & _DEAD)
        return _end_nonzero(result) if part.errexit else result


def _always_zero(part: _Part) -> bool:
    """Can this substitution only end in status zero?"""
    return not _Outcome(-2, 1 << 30).run(part, _START) & _NONZERO


def _judge(tree: _Part, number: int, place: int) -> tuple[str, str]:
    mask = _Outcome(number, place).run(tree, _START)
    idle, passed, failed = _ALL_FATES
    zero, nonzero = mask & _ZERO, mask & _NONZERO
    on_zero = "passed" if zero and not zero & (idle | failed) else "unknown"
    if nonzero and not nonzero & (idle | passed):
        on_nonzero = "failed"
    elif nonzero & failed and not zero & failed:
        on_nonzero = "perhaps"
    else:
        on_nonzero = "unknown"
    return on_zero, on_nonzero


def _places(tree: _Part, result: dict[int, int]) -> None:
    stack = [tree]
    while stack:
        part = stack.pop()
        if part.check >= 0:
            result[part.check] = part.place
        stack.extend(part.parts)
        stack.extend(part.subs)
        if part.inner is not None:
            stack.append(part.inner)


def _read(command: str, named: Mapping[str, Sequence[str]]) -> Line:
    if not named and not worth_parsing(command):
        return Line()
    tree, broken, commands = _build(command)
    if tree is None:
        return _unknown_line()
    walk = _Walk(named)
    scope = _Scope()
    walk.walk(tree, scope)
    broken = broken or walk.broken
    if broken:
        walk.harmless = False
    if not broken and not walk.trapped and max(commands, walk.commands) <= MAX_COMMANDS and walk.checks:
        places: dict[int, int] = {}
        _places(tree, places)
        for number, check in enumerate(walk.checks):
            if walk.hidden[number] or number not in places:
                continue
            check.on_zero, check.on_nonzero = _judge(tree, number, places[number])
            if walk.zero_hidden[number]:
                check.on_zero = "unknown"
    role = "read"
    for candidate in ("check", "server", "install", "inline", "vcs", "other"):
        if candidate in walk.roles:
            role = candidate
            break
    polls = walk.poll and not any(check.kind != "run" for check in walk.checks)
    return Line(
        checks=tuple(walk.checks),
        writes=tuple(walk.writes),
        polls=polls,
        only_sleeps=walk.sleeps > 0
        and walk.others == 0
        and not walk.checks
        and not walk.writes
        and not broken,
        harmless=walk.harmless,
        role=role,
        background=bool(tree.ops) and tree.ops[-1] == "&",
        cwd=scope.cwd,
        shell_checks_wrapped=walk.wrapped,
    )
