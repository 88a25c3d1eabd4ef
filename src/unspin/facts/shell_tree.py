"""The tree of a shell line: what tree-sitter-bash makes of it, brought into the shape that a shell runs.

The parser's own tree differs from what runs in places (a redirect after `a && b` is hung on both, a heredoc
holds the pipe that follows it, a long list nests as deep as it is long); here these are put right. Words lose
their quotes; a word that the shell would still expand is `Loose`. The parser is loaded at the first line that
needs it: a line of one plain command does not.
"""

from __future__ import annotations

from .runners import Loose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .writes import Write

MAX_LINE = 64 * 1024
MAX_DEPTH = 40
MAX_PARTS = 3000  # a line with more simple commands is unknown as a whole
MAX_PUNCTUATION = 3000


class Part:
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
        "written",
    )

    def __init__(self, kind: str, parts: list[Part] | None = None) -> None:
        self.kind = kind
        self.parts: list[Part] = parts if parts is not None else []
        self.ops: list[
            str
        ] = []  # "andor": the operator before each part; "seq": "&" where a part is put in the background
        self.redirects: list[Redirect] = []
        self.subs: list[Part] = []  # command and process substitutions
        self.words: list[str] = []
        self.raws: list[str] = []
        self.assigns = False
        self.text = ""
        self.name = ""
        self.flags = ""
        # filled by the walk
        self.lo = self.hi = 0  # the checks inside, by number
        self.check = -1
        self.written: list[Write] = []  # by its redirects
        self.inner: Part | None = None
        self.errexit = False
        self.pipefail = False
        self.sure = False
        self.sure_after = False
        self.ends = ""  # exit: "0", "1", "$" (the last status), "?"
        self.place = 0


class Redirect:
    __slots__ = ("descriptor", "operator", "target", "text")

    def __init__(self, operator: str, target: str, descriptor: str = "", text: str = "") -> None:
        self.operator = operator
        self.target = target
        self.descriptor = descriptor
        self.text = text


class Builder:
    """Turns the parser's tree into parts."""

    def __init__(self, source: bytes, heredocs: Mapping[str, Redirect] | None = None) -> None:
        self.source = source
        self.heredocs = heredocs or {}
        self.broken = False
        self.commands = 0

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def sequence(self, nodes: Sequence[Any], depth: int) -> Part:
        result = Part("seq")
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

    def part(self, node: Any, depth: int) -> Part | None:
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
            return self.pipeline(node, depth)
        if kind == "redirected_statement":
            return self.redirected(node, depth)
        if kind == "negated_command":
            inner = self.sequence(node.children, depth + 1)
            return Part("not", inner.parts[:1] if len(inner.parts) == 1 else [inner])
        if kind == "subshell":
            return Part("sub", [self.sequence(node.children, depth + 1)])
        if kind == "compound_statement":
            if node.child_count and node.children[0].type == "((":
                return self.test(node, depth)
            return Part("group", [self.sequence(node.children, depth + 1)])
        if kind in ("program", "do_group", "else_clause"):
            return self.sequence(node.children, depth + 1)
        if kind == "if_statement":
            return self.branches(node, depth)
        if kind in ("while_statement", "for_statement", "c_style_for_statement"):
            return self.loop(node, depth)
        if kind == "case_statement":
            result = Part("case")
            for child in node.children:
                if child.type == "case_item":
                    result.parts.append(self.case_item(child, depth + 1))
            return result
        if kind == "function_definition":
            result = Part("func")
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
            result = Part("cmd")
            self.commands += 1
            result.assigns = True
            result.text = self.text(node)
            self.substitutions(node, result, depth)
            return result
        if kind in ("declaration_command", "unset_command"):
            result = Part("cmd")
            self.commands += 1
            result.text = self.text(node)
            for child in node.children:
                self.word_into(child, result, depth)
            return result
        if kind == "test_command":
            return self.test(node, depth)
        if kind in ("heredoc_redirect", "file_redirect", "herestring_redirect"):
            result = Part("cmd")
            self.commands += 1
            self.redirect(node, result, depth)
            return result
        # something of an expression that stands where a command should
        self.broken = True
        return None

    def test(self, node: Any, depth: int) -> Part:
        result = Part("cmd")
        self.commands += 1
        result.words = ["["]
        result.raws = ["["]
        result.text = self.text(node)
        self.substitutions(node, result, depth)
        return result

    def and_or(self, node: Any, depth: int) -> Part:
        # a list nests to the left, as deep as it is long: unrolled without recursion
        stack = [node]
        flat: list[Any] = []
        while stack:
            top = stack.pop()
            if top.type == "list":
                stack.extend(reversed(top.children))
            else:
                flat.append(top)
        result = Part("andor")
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

    def pipeline(self, node: Any, depth: int) -> Part:
        """A pipe binds tighter than `&&`, whatever the parser says of `a && b 2>&1 | c`."""
        result, pipe, operator = Part("andor"), Part("pipe"), ""
        for child in node.children:
            part = self.part(child, depth + 1) if child.is_named else None
            if part is None:
                continue
            for place, inner in enumerate(part.parts if part.kind == "andor" else [part]):
                if place:
                    self.append(result, operator, _alone(pipe))
                    pipe, operator = Part("pipe"), part.ops[place]
                pipe.parts.extend(inner.parts if inner.kind == "pipe" and not inner.redirects else [inner])
        self.append(result, operator, _alone(pipe))
        return _alone(result)

    @staticmethod
    def append(result: Part, operator: str, part: Part) -> None:
        if part.kind == "andor" and part.parts:
            result.ops.extend([operator, *part.ops[1:]])
            result.parts.extend(part.parts)
        else:
            result.ops.append(operator)
            result.parts.append(part)

    def redirected(self, node: Any, depth: int) -> Part | None:
        body: Part | None = None
        redirects: list[Any] = []
        for child in node.children:
            if child.type.endswith("_redirect"):
                redirects.append(child)
            elif child.is_named and body is None:
                body = self.part(child, depth + 1)
        if body is None:
            body = Part("cmd")
            self.commands += 1
        return self.with_redirects(body, redirects, depth)

    def with_redirects(self, body: Part, nodes: Sequence[Any], depth: int) -> Part:
        """Redirects belong to the last command of a list or pipe, wherever the parser put them."""
        for node in nodes:
            last = _last(body)
            more = self.redirect(node, last, depth)
            for operator, part in more:
                if operator == "|":
                    body = _replace_last(
                        body, last, Part("pipe", [last, *(part.parts if part.kind == "pipe" else [part])])
                    )
                else:
                    holder = body if body.kind == "andor" else Part("andor", [body])
                    if not holder.ops:
                        holder.ops = [""]
                    self.append(holder, operator, part)
                    body = holder
        return body

    def redirect(self, node: Any, part: Part, depth: int) -> list[tuple[str, Part]]:
        more: list[tuple[str, Part]] = []
        if node.type == "herestring_redirect":
            holder = Part("cmd")
            for child in node.children:
                if child.type != "<<<":
                    self.word_into(child, holder, depth)
            part.subs.extend(holder.subs)
            part.redirects.append(Redirect("<<<", "", text=holder.words[0] if holder.words else ""))
            return more
        if node.type == "file_redirect":
            operator, descriptor = "", ""
            holder = Part("cmd")
            for child in node.children:
                if child.type == "file_descriptor":
                    descriptor = self.text(child)
                elif not child.is_named:
                    operator = operator or child.type
                else:
                    self.word_into(child, holder, depth)
            target: str = holder.words[0] if holder.words else ""
            part.redirects.append(self.heredocs.get(target) or Redirect(operator, target, descriptor))
            part.subs.extend(holder.subs)
            # `> file more`: the parser takes what follows for more destinations
            part.words.extend(holder.words[1:])
            part.raws.extend(holder.raws[1:])
            return more
        start, body = "", ""
        operator = ""
        right: Part | None = None
        pipes: Part | None = None
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
        part.redirects.append(Redirect("<<" if not quoted else "<<'", "", text=body))
        for child in inner:
            more.extend(self.redirect(child, part, depth))
        if pipes is not None:
            more.append(("|", pipes))
        if right is not None:
            more.append((operator, right))
        return more

    def branches(self, node: Any, depth: int) -> Part:
        """Parts: condition, body, condition, body, ..., and the else body (empty where there is none)."""
        result = Part("if")
        held: list[Any] = []
        rest: list[Any] = []
        condition: Part | None = None
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
        result.parts.append(condition or Part("seq"))
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
            result.parts.append(condition or Part("seq"))
            result.parts.append(self.sequence(held, depth + 1))
        result.parts.append(Part("seq"))
        return result

    def loop(self, node: Any, depth: int) -> Part:
        result = Part("loop")
        condition: list[Any] = []
        body = Part("seq")
        words = Part("cmd")
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                body = self.sequence(child.children, depth + 1)
            elif node.type == "while_statement":
                condition.append(child)
            elif child.is_named:
                self.substitutions(child, words, depth)
                if node.type == "for_statement" and child.type == "variable_name" and not result.name:
                    result.name = self.text(child)
                elif result.name:
                    result.words.append(self.word(child))
                    result.raws.append(self.text(child))
        first = self.sequence(condition, depth + 1)
        first.parts[:0] = words.subs
        first.ops[:0] = [""] * len(words.subs)
        result.parts = [first, body]
        return result

    def case_item(self, node: Any, depth: int) -> Part:
        held: list[Any] = []
        open_ = False
        for child in node.children:
            if open_:
                held.append(child)
            elif child.type == ")":
                open_ = True
        return self.sequence(held, depth + 1)

    def command(self, node: Any, depth: int) -> Part:
        result = Part("cmd")
        self.commands += 1
        redirects: list[Any] = []
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                result.assigns = True
                result.text += self.text(child)[:200] + "\n"
                self.substitutions(child, result, depth)
            elif kind.endswith("_redirect"):
                redirects.append(child)
            elif kind == "command_name":
                for inner in child.children or [child]:
                    self.word_into(inner, result, depth)
            else:
                self.word_into(child, result, depth)
        return self.with_redirects(result, redirects, depth) if redirects else result

    def word_into(self, node: Any, part: Part, depth: int) -> None:
        kind = node.type
        if kind == "comment":
            return
        raw = self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        if kind == "word" and "\\" not in raw:
            part.words.append(raw)
            part.raws.append(raw)
        else:
            word = self.word(node, kind, raw)
            part.words.append(word)
            part.raws.append(raw)
            if isinstance(word, Loose) or kind == "ERROR":
                self.substitutions(node, part, depth)
        if kind == "ERROR" or node.is_missing:
            self.broken = True

    def word(self, node: Any, kind: str = "", text: str = "") -> str:
        kind = kind or node.type
        text = text or self.text(node)
        if kind in ("word", "number", "variable_name", "special_variable_name"):
            return _unescape(text, _unquoted) if "\\" in text else text
        if kind == "raw_string":
            return text[1:-1]
        if kind == "string":
            inner = text[1:-1] if len(text) >= 2 and text[-1] == '"' else text[1:]
            if "$" in inner or "`" in inner:
                for child in node.children:
                    if child.is_named and child.type != "string_content":
                        return Loose(inner)
            return _unescape(inner, _double_quoted) if "\\" in inner else inner
        if kind == "ansi_c_string":
            return _unescape(text[2:-1], _ansi_quoted)
        if kind == "concatenation":
            pieces = [self.word(child) for child in node.children]
            joined = "".join(pieces)
            return Loose(joined) if any(isinstance(piece, Loose) for piece in pieces) else joined
        if not node.is_named:
            return text
        return Loose(text)

    def substitutions(self, node: Any, part: Part, depth: int) -> None:
        stack = [node]
        while stack:
            top = stack.pop()
            if self.commands > MAX_PARTS:
                return
            if top.type in ("command_substitution", "process_substitution"):
                if depth > MAX_DEPTH:
                    self.broken = True
                    return
                sub = Part("sub", [self.sequence(top.children, depth + 1)])
                sub.flags = top.type
                part.subs.append(sub)
            elif top.child_count:
                stack.extend(reversed(top.children))


def _alone(part: Part) -> Part:
    """A list or pipe of one command is that command."""
    return part.parts[0] if len(part.parts) == 1 else part


def _last(part: Part) -> Part:
    while part.kind in ("andor", "pipe", "not") and part.parts:
        part = part.parts[-1]
    return part


def _replace_last(part: Part, last: Part, new: Part) -> Part:
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


def _unescape(text: str, meaning: Callable[[str], str]) -> str:
    """Return the text with ``meaning`` of what stands behind each backslash; a last lone one is dropped."""
    result: list[str] = []
    begin, at = 0, text.find("\\")
    while at >= 0:
        result.append(text[begin:at])
        if at + 1 < len(text):
            result.append(meaning(text[at + 1]))
        begin = at + 2
        at = text.find("\\", begin)
    result.append(text[begin:])
    return "".join(result)


def _unquoted(escaped: str) -> str:
    return "" if escaped == "\n" else escaped


def _double_quoted(escaped: str) -> str:
    return _unquoted(escaped) if escaped in '$`"\\\n' else "\\" + escaped


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


def _ansi_quoted(escaped: str) -> str:
    return _ANSI.get(escaped, "\\" + escaped)


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


def plain_words(command: str) -> list[str] | None:
    """The words of a line that is one plain command; None where the parser is needed."""
    if len(command) > 2000 or not _PLAIN.issuperset(command):
        return None
    words = command.split()
    if not words or words[0] in _RESERVED or "=" in words[0] or not (words[0][0].isalnum() or words[0][0] in "./_"):
        return None
    return words


_ASCII = bytes(byte if 0 < byte < 128 else 120 for byte in range(256))


def _binding(package: str) -> Any:
    """The compiled half of a package, without its Python half.

    That half imports typing and importlib.resources, for things that nobody here needs: three quarters of the
    time to the first parse, in a hook that is a process per call.
    """
    from importlib import import_module
    from importlib.machinery import PathFinder

    name = package + "._binding"
    outer = PathFinder.find_spec(package)
    spec = PathFinder.find_spec(name, outer.submodule_search_locations) if outer is not None else None
    if spec is None or spec.loader is None:
        return import_module(name)
    module = spec.loader.create_module(spec)
    if module is None:
        return import_module(name)
    spec.loader.exec_module(module)
    return module


def parse(source: bytes) -> Any:
    global _parser  # noqa: PLW0603
    if _parser is None:
        core, grammar = _binding("tree_sitter"), _binding("tree_sitter_bash")
        _parser = core.Parser(core.Language(grammar.language()))
    # the grammar's scanner asks isdigit() of any character, which reads outside of its table for those beyond
    # ASCII, and can end the process: it never sees one (offsets stay, and a shell takes them all for letters)
    return _parser.parse(source.translate(_ASCII))


def _crowded(source: bytes) -> bool:
    """So much punctuation that the parser, whose recovery from an error is quadratic, could take long?"""
    return len(source) > MAX_PUNCTUATION and sum(map(source.count, (b"|", b"<", b">", b"(", b"["))) > MAX_PUNCTUATION


def _lost(root: Any, source: bytes) -> bool:
    """Does a heredoc end for the parser elsewhere than for a shell?

    The parser takes a delimiter at the end of a longer line for the end, and reads the rest as commands.
    """
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "heredoc_redirect":
            start = end = None
            for child in node.children:
                if child.type == "heredoc_start":
                    start = child
                elif child.type == "heredoc_end":
                    end = child
            if start is None or end is None:
                return True
            delimiter = _delimiter(source[start.start_byte : start.end_byte])[0]
            first = source.rfind(b"\n", 0, end.start_byte) + 1
            last = source.find(b"\n", end.start_byte)
            line = source[first : len(source) if last < 0 else last]
            if line.strip(b"\t") != delimiter:
                return True
        if node.child_count:
            stack.extend(node.children)
    return False


def _delimiter(text: bytes) -> tuple[bytes, int]:
    """The delimiter at the start of a text, its quotes taken off, and how long it stands there."""
    quote = text[:1]
    if quote in (b"'", b'"'):
        end = text.find(quote, 1)
        return (text[1:end], end + 1) if end > 0 else (b"", 0)
    end = 0
    while end < len(text) and text[end : end + 1] not in _WORD_ENDS:
        end += 1
    return text[:end].replace(b"\\", b""), end


_WORD_ENDS = frozenset(bytes((byte,)) for byte in b" \t\n;|&<>()'\"`")
HEREDOC = "__heredoc_%d__"


def _lift_heredocs(source: bytes) -> tuple[bytes, dict[str, Redirect]] | None:
    """The text with its heredocs taken out, each `<<EOF` made `< name`, and the heredocs by name.

    For what the parser cannot read (`cat <<EOF > f; ls`, two heredocs on one line) or loses. None where a
    delimiter has no end.
    """
    kept: list[bytes] = []
    found: dict[str, Redirect] = {}
    lines = source.split(b"\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        place = line.find(b"<<")
        while place >= 0:
            begin = place + 2
            tabs = line[begin : begin + 1] == b"-"
            begin += 1 if tabs else 0
            while line[begin : begin + 1] == b" ":
                begin += 1
            if line[begin : begin + 1] == b"<":
                place = line.find(b"<<", begin + 1)
                continue
            word, size = _delimiter(line[begin : begin + 200])
            if not word or len(found) >= 50:
                place = line.find(b"<<", begin)
                continue
            end = at
            while end < len(lines) and (lines[end].lstrip(b"\t") if tabs else lines[end]) != word:
                end += 1
            if end >= len(lines):
                return None
            name = HEREDOC % len(found)
            body = b"".join(part + b"\n" for part in lines[at:end]).decode("utf-8", "replace")
            quoted = line[begin : begin + 1] in (b"'", b'"', b"\\")
            found[name] = Redirect("<<'" if quoted else "<<", "", text=body)
            line = line[:place] + b"< " + name.encode() + line[begin + size :]
            at = end + 1
            place = line.find(b"<<", place)
        kept.append(line)
    return (b"\n".join(kept), found) if found else None


def _too_deep(text: str) -> bool:
    """Brackets nested deeper than anybody writes: the parser's own recovery could take long."""
    if text.count("(") + text.count("{") <= 400:
        return False
    depth = 0
    for char in text:
        if char in "({":
            depth += 1
            if depth > 400:
                return True
        elif char in ")}" and depth:
            depth -= 1
    return False


def build(command: str) -> tuple[Part | None, bool, int]:
    """The tree of a line, whether it is broken, and how many simple commands it holds."""
    words = plain_words(command)
    if words is not None:
        part = Part("cmd")
        part.words = list(words)
        part.raws = words
        sequence = Part("seq", [part])
        sequence.ops = [""]
        return sequence, False, 1
    if len(command) > MAX_LINE or _too_deep(command):
        return None, True, 0
    source = command.encode("utf-8", "surrogatepass")
    if len(source) > MAX_LINE or b"\0" in source:
        return None, True, 0
    lifted = None
    if _crowded(source):
        lifted = _lift_heredocs(source)
        if lifted is None or _crowded(lifted[0]):
            return None, True, 0
    else:
        root = parse(source).root_node
        lost = b"<<" in source and _lost(root, source)
        if b"<<" in source and (lost or root.has_error):
            lifted = _lift_heredocs(source)
    if lifted is not None:
        root = parse(lifted[0]).root_node
        builder = Builder(lifted[0], lifted[1])
    else:
        builder = Builder(source)
        builder.broken = lost
    tree = builder.sequence(root.children, 0)
    if builder.commands > MAX_PARTS:
        return None, True, 0
    return tree, builder.broken or root.type == "ERROR", builder.commands
