"""Source text of any language, cut into statements: tokens without comments, white space and quote style.

This is no parser. It knows strings, comments, brackets, blocks and line ends well enough to put the lines
of one call together and to keep a block's statements apart from the statement that opens it. Snippets that
begin or end in the middle are read as far as they go. One pass, linear in the text, never raises.

What it does not know: grammar. Where a brace is a block and where a literal is a guess from the token
before it.
"""

from unspin.facts.patterns import DOTALL, MULTILINE, pattern

WORD, NUMBER, STRING, OPERATOR, BLOCK = "w", "n", "s", "o", "b"

_FAMILIES = {
    "python": "py pyi pyx",
    "ruby": "rb rake cr",
    "elixir": "ex exs",
    "shell": "sh bash bats zsh",
    "hash": "pl pm t r jl nim yml yaml toml feature robot tcl",
    "dash": "lua sql hs elm",
    "js": "js jsx ts tsx mjs cjs mts cts vue svelte astro coffee",
    "braces": "kt kts swift groovy scala dart java php phpt",
    "literals": "go rs c h cc cpp cxx hpp hh hxx cs fs vb m mm zig d",
    "lisp": "clj cljs cljc el lisp scm rkt",
    "erlang": "erl hrl",
}
_LANGUAGES = {extension: family for family, names in _FAMILIES.items() for extension in names.split()}
_COMMENT = {
    "python": "#",
    "ruby": "#",
    "elixir": "#",
    "shell": "#",
    "hash": "#",
    "dash": "--",
    "lisp": ";",
    "erlang": "%",
}

_TOKEN = pattern(
    r"(?P<nl>\r\n|\n|\r)|(?P<ws>[^\S\r\n]+)"
    r"|(?P<triple>[rRbBfFuU]{0,2}(?:\"\"\"|'''))"
    r"|(?P<raw>r#+\")"
    r"|(?P<quote>(?:[rbfuRBFU]{1,2}|@|\$@?|@\$)?\"|(?:[rbfuRBFU]{1,2})?')"
    r"|(?P<tick>`)"
    r"|(?P<num>\d[\w]*(?:\.\d[\w]*)?(?:(?<=[eE])[+-]\d+)?)"
    r"|(?P<word>[^\W\d][\w$]*|\$[\w$]*)"
    r"|(?P<op>\\.|===|!==|==|!=|<=>|<=|>=|=>|->|&&|\|\||::|:=|\?\.|\.\.\.|\.\.|=~|!~|\|>|<-|\+=|-=|/\*|//"
    r"|--|.)"
)
_DOUBLE = pattern(r"(?:[^\"\\\r\n]|\\.|\\\r?\n)*+")
_SINGLE = pattern(r"(?:[^'\\\r\n]|\\.|\\\r?\n)*+")
_TICKED = pattern(r"\\.|`|\$\{|[{}]|\\\n", DOTALL)
_REGEX = pattern(r"/(?![*/])(?:[^/\\\r\n\[]|\\.|\[(?:[^\]\\\r\n]|\\.)*+\])++/[a-z]*")
_CHAR = pattern(r"'(?:\\[^'\n]{1,8}|[^'\\\n])'")
_LINE_END = pattern(r"[\r\n]|\Z")
_REGEX_AFTER = pattern(r"[(,=:\[!&|?{};]|=>|&&|\|\||[!=]==?|=~|!~|->|return|and|or|not")
_JOINS_NEXT = pattern(r"=|===?|!==?|&&|\|\||\.|=>|:=|\+|\?\.|::|and|or|not")
_STARTS_JOINED = pattern(r"\s*(?=\.(?!\d)[A-Za-z_]|\?\.|&&|\|\||\|>|::|->|===?\s|!==?\s|[?:]\s\S)")
_OPENS_BLOCK = pattern(r"\s*(?=\{\s*$)", MULTILINE)  # the brace of a block on a line of its own
_ROW = pattern(r"\{\s*[\w\"']+[ \t]*:[ \t][^\r\n]*,[ \t\r]*$", MULTILINE)  # no block begins with `a: 1,`
_LITERAL_AFTER = pattern(
    r"[=(\[,:?+$]|:=|\|\||&&|\.\.\.|return|import|export|const|let|var|default|yield|await|in|of|case"
    r"|typeof|from"
)
_HEADS = pattern(  # words that open a block, first or last before the brace
    r"if|for|while|switch|match|else|try|catch|finally|do|func|fn|fun|def|class|struct|impl|trait|mod"
    r"|enum|interface"
    r"|type|namespace|module|union|unsafe|loop|select|go|defer|pub|void|static|public|private|protected"
    r"|internal"
    r"|async|test|suite|describe|extern|object|override|open|abstract|sealed|template|using|lock|foreach"
    r"|TEST(?:_\w+)?"
    r"|SECTION|SCENARIO|GIVEN|WHEN|THEN|SUBCASE"
)
# How a line of a snippet looks whose file name is not known.
_PYTHON_LOOK = pattern(
    r"(?:def|class|async def|if|for|with|elif|else|try|except)\b[^{]*:$|assert |from \S+ import|@pytest"
    r"|self\."
)
_RUBY_LOOK = pattern(r"end$|require ['\"]|(?:it|describe|context) .*\bdo$")
_BRACE_LOOK = pattern(r"//|const |(?:await )?expect\(|.*(?:[{;]|=>)$")


class Statement:
    """One statement: its tokens without those of the blocks in it, and where it stands."""

    __slots__ = ("block", "blocks", "column", "parent", "tokens")

    def __init__(self, column: int, parent: "Statement | None") -> None:
        self.column = column
        self.parent = parent
        self.tokens: list[tuple[str, str]] = []
        self.blocks = 0  # how many blocks it opens
        self.block = parent.blocks if parent else 0  # in which of its parent's it stands, from 1


class Text:
    """What was read: the statements in order, the language it was read as, the words of its comments."""

    __slots__ = ("comments", "language", "statements")

    def __init__(self, language: str) -> None:
        self.language = language
        self.statements: list[Statement] = []
        self.comments: list[str] = []


def language_of(path: str, text: str) -> str:
    """The family of languages that decides about comments and braces, by extension, else by the look of the
    text.
    """
    known = _LANGUAGES.get(path.rpartition(".")[2].lower() if "." in path else "")
    if known:
        return known
    hashes = False
    for line in text[:20_000].splitlines():
        line = line[:200].strip()
        if _BRACE_LOOK.match(line):
            return "js"
        if _PYTHON_LOOK.match(line):
            return "python"
        if _RUBY_LOOK.match(line):
            return "ruby"
        hashes = hashes or line.startswith("# ")
    return "python" if hashes else "js"


def read(text: str, language: str) -> Text:
    """Cut `text` into statements. Linear; never raises."""
    out = Text(language)
    comment = _COMMENT.get(language, "//")
    braces_are_blocks = language in ("js", "braces", "literals", "shell", "hash")
    # One frame for each open block: the statement being read in it and the brackets open in that.
    current: Statement | None = None
    brackets: list[str] = []
    frames: list[tuple[Statement | None, list[str]]] = []
    unclosed: set[str] = set()  # kinds of multi-line string that have no end: never searched again
    no_regex_before = 0
    line_start = 0
    pos = 0
    size = len(text)
    match = _TOKEN.match

    def put(kind: str, value: str, at: int) -> None:
        nonlocal current
        if current is None:
            current = Statement(at - line_start, frames[-1][0] if frames else None)
            out.statements.append(current)
        tokens = current.tokens
        if kind == STRING and tokens and tokens[-1][0] == STRING and language in ("python", "literals", "js"):
            tokens[-1] = (STRING, tokens[-1][1] + value)  # adjacent strings are one
            return
        tokens.append((kind, value))

    while pos < size:
        found = match(text, pos)
        if found is None:  # cannot be: the last branch takes any character
            pos += 1
            continue
        kind = found.lastgroup
        value = found.group()
        at = pos
        pos = found.end()
        if kind == "ws":
            continue
        if kind == "nl":
            line_start = pos
            if current is None or brackets:
                continue
            last = current.tokens[-1]
            if last[0] == OPERATOR and last[1] in ("\\\n", "\\"):
                current.tokens.pop()
                if not current.tokens:
                    out.statements.pop()
                    current = None
                continue
            if language != "python":
                if _JOINS_NEXT.fullmatch(last[1]) and last[0] in (OPERATOR, WORD):
                    continue
                joined = _STARTS_JOINED.match(text, pos)
                if not joined and last[1] != "," and language in ("js", "braces", "literals"):
                    joined = _OPENS_BLOCK.match(text, pos)
                    if joined and _is_whole(current, language, row=bool(_ROW.match(text, joined.end()))):
                        joined = None
                if joined:
                    pos = joined.end()
                    continue
            current = None
            continue
        if kind == "word":
            put(WORD, value, at)
            continue
        if kind == "num":
            put(NUMBER, value, at)
            continue
        if kind in ("triple", "raw"):
            end_mark = value[-3:] if kind == "triple" else '"' + "#" * (len(value) - 2)
            end = -1 if end_mark in unclosed else text.find(end_mark, pos)
            if end < 0:
                unclosed.add(end_mark)
                continue
            if current is None and kind == "triple":
                out.comments.append(text[pos:end])  # a docstring
            else:
                put(STRING, _dedent(text[pos:end]), at)
            pos = end + len(end_mark)
            continue
        if kind == "quote":
            mark = value[-1]
            if mark == "'" and len(value) == 1 and language in ("literals", "lisp", "erlang", "dash"):
                char = _CHAR.match(text, at)
                if char is None:
                    put(OPERATOR, "'", at)  # a lifetime, a quoted form, a prime
                else:
                    put(STRING, char.group()[1:-1], at)
                    pos = char.end()
                continue
            body = (_DOUBLE if mark == '"' else _SINGLE).match(text, pos)
            end = body.end() if body else pos
            if text.startswith(mark, end):
                put(STRING, text[pos:end], at)
                pos = end + 1
            elif mark == '"' and language in ("ruby", "elixir", "shell", "hash", "braces") and '"' not in unclosed:
                end = text.find('"', end)  # strings over several lines
                if end < 0:
                    unclosed.add('"')
                else:
                    put(STRING, _dedent(text[pos:end]), at)
                    pos = end + 1
            continue
        if kind == "tick":
            end = -1 if "`" in unclosed else _tick_end(text, pos, language)
            if end < 0:
                unclosed.add("`")
                continue
            put(STRING, _dedent(text[pos:end]), at)
            pos = end + 1
            continue
        # operators, brackets, comments
        if value[0] == "/" and language in ("js", "literals", "braces") and value in ("/*", "//"):
            if value == "//":
                end_found = _LINE_END.search(text, pos)
                end = end_found.start() if end_found else size
                out.comments.append(text[pos:end])
                pos = end
                continue
            end = -1 if "*/" in unclosed else text.find("*/", pos)
            if end < 0:
                unclosed.add("*/")
                continue
            out.comments.append(text[pos:end])
            pos = end + 2
            continue
        if value[0] == comment[0] and text.startswith(comment, at):
            if not (comment == "#" and language in ("shell", "hash") and at > 0 and not text[at - 1].isspace()):
                end_found = _LINE_END.search(text, at)
                end = end_found.start() if end_found else size
                out.comments.append(text[at + len(comment) : end])
                pos = end
                continue
        elif value == "#" and language == "braces" and text.startswith("# ", at):  # PHP
            end_found = _LINE_END.search(text, at)
            end = end_found.start() if end_found else size
            out.comments.append(text[at + 1 : end])
            pos = end
            continue
        if value[0] == "/" and language in ("js", "ruby", "hash", "elixir") and at >= no_regex_before:
            before = current.tokens[-1][1] if current and current.tokens else ""
            if not before or _REGEX_AFTER.fullmatch(before):
                whole = _REGEX.match(text, at)
                if whole:
                    put(STRING, whole.group(), at)
                    pos = whole.end()
                    continue
                end_found = _LINE_END.search(text, at)
                no_regex_before = end_found.start() if end_found else size
        if value == "\\" or (value[0] == "\\" and len(value) == 2):
            put(OPERATOR, value, at)
            continue
        if (
            value == ":"
            and language in ("ruby", "elixir")
            and text[at - 1 : at] not in (":",)
            and not (at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_?!\"'"))
        ):
            symbol = match(text, pos)
            if symbol is not None and symbol.lastgroup == "word":
                put(STRING, ":" + symbol.group(), at)
                pos = symbol.end()
                continue
        if value in ("(", "["):
            put(OPERATOR, value, at)
            brackets.append(value)
        elif value in (")", "]"):
            wanted = "(" if value == ")" else "["
            if wanted in brackets[-8:]:
                while brackets.pop() != wanted:
                    pass
            elif brackets and len(brackets) > 8:
                brackets.pop()
            put(OPERATOR, value, at)
        elif value == "{":
            if braces_are_blocks and _opens_block(current, brackets, language):
                put(BLOCK, "{}", at)
                if current is not None:
                    current.blocks += 1
                frames.append((current, brackets))
                current, brackets = None, []
            else:
                put(OPERATOR, "{", at)
                brackets.append("{")
        elif value == "}":
            if "{" in brackets[-64:]:
                while brackets.pop() != "{":
                    pass
                put(OPERATOR, "}", at)
            elif frames:
                current, brackets = frames.pop()
            elif current is not None:
                put(OPERATOR, "}", at)
        elif value == ";":
            head = current.tokens[0][1] if current and current.tokens else ""
            if brackets or head in ("for", "if", "switch", "while"):
                put(OPERATOR, ";", at)
            else:
                current = None
        else:
            put(OPERATOR, value, at)
    return out


def _is_whole(statement: Statement, language: str, row: bool) -> bool:
    """Whether a brace on the next line begins another statement; `row`: it begins with `name: value,`."""
    kind, last = statement.tokens[-1]
    if kind == BLOCK or statement.tokens[0][1] == "{":
        return True
    if kind in (STRING, NUMBER) or last == "}":
        return not _opens_block(statement, [], language)
    return row and last == ")"


def _opens_block(current: "Statement | None", brackets: "list[str]", language: str) -> bool:
    if current is None or not current.tokens:
        return False  # a row of a table, or a bare block: a literal tells more
    tokens = current.tokens
    kind, last = tokens[-1]
    first = tokens[0][1]
    if kind == BLOCK or last in (")", "=>", "->"):
        return True
    if first in ("if", "for", "switch", "while", "guard") and not brackets and last not in ("=", ":=", ",", "return"):
        return True
    if language == "braces" and (
        (kind == STRING and len(tokens) == 1) or (last == "(" and any(value == "class" for _, value in tokens[:6]))
    ):
        return True  # Kotest: `class CartTest : StringSpec({`, `"adds" {`
    if kind in (STRING, NUMBER):
        return not brackets and first in ("@", "describe", "it", "test", "context", "suite")
    if _LITERAL_AFTER.fullmatch(last):
        return False
    if last in (">", "]", "?", "!", "}"):  # a return type, `Promise<void> {`, or `new int[] {`
        return not brackets and not any(value in ("=", ":=", "new") for _, value in tokens[:40])
    if kind == OPERATOR:
        return False
    if language == "literals":
        if len(tokens) > 1 and last in ("struct", "interface", "enum") and first != last:
            return False  # `[]struct{`: the type in front of a table
        return bool(_HEADS.fullmatch(first) or _HEADS.fullmatch(last))
    if brackets and language == "js":
        return last in ("do", "try", "else", "finally", "class") or first in ("class", "function")
    return True


def _tick_end(text: str, pos: int, language: str) -> int:
    """Where a back-quoted string ends; templates nest through `${ }`."""
    if language != "js":
        return text.find("`", pos)
    depth: list[str] = ["`"]
    for found in _TICKED.finditer(text, pos):
        mark = found.group()
        if mark == "`":
            if depth[-1] == "`":
                depth.pop()
                if not depth:
                    return found.start()
            else:
                depth.append("`")
        elif mark == "${":
            if depth[-1] == "`":
                depth.append("{")
        elif mark == "{" and depth[-1] == "{":
            depth.append("{")
        elif mark == "}" and depth[-1] == "{":
            depth.pop()
    return -1


def _dedent(text: str) -> str:
    """A string over several lines without its indentation: formatters move it."""
    if "\n" not in text:
        return text
    return "\n".join(line.strip() for line in text.splitlines())
