"""What the lines around an error add to it: the place, the types, the values, the line of code.

Many headlines are the same for many errors: `error[E0308]: mismatched types`, `SyntaxError: invalid syntax`,
`Error: Unsupported argument`. Who goes from one to the next is moving, so an error's text has to hold the line
that tells them apart. Line numbers are left out: they change with every edit.

Takes the lines of an output, the index of the headline and the headline; gives the headline, longer where
something was found. Looks a bounded number of lines ahead and back, and raises on no text.
"""

from __future__ import annotations

from unspin.facts.patterns import pattern

_MAX_DETAIL = 300  # characters of one joined detail
_ARROW = pattern(r"(?:--> |╭▸ )(\S.*?):\d+:\d+$")
_GUTTER = pattern(r"(?:\d{1,7} ?)?[|│╎](?: |$)")
_PLACE = pattern(r"((?:\./|/|[A-Za-z]:\\|file://)?[^\s:()]*\.\w{1,10})(?::\d+){1,2}$")
_ON_LINE = pattern(r"on (\S+) line \d+(?:, (in .+))?:$")
_FRAME = pattern(r"> ?\d{1,7} ?[|│] ?(\S.*)$")
_BARE_CODE = pattern(r"Error: [A-Z]{1,12}[-_]?\d{1,6}$")
_SYNTAX = ("SyntaxError: ", "IndentationError: ", "TabError: ")
_VALUES = ("Expected values to be ", 'Expected "actual" ')


def with_details(lines: list[str], at: int, line: str) -> str:
    """The error at `lines[at]`, read as `line`, with what its neighbours add."""
    if line.startswith("error") and line[5:6] in ("[", ":"):
        return _of_rustc(lines, at, line)
    if any(name in line for name in _SYNTAX) or line.isidentifier():
        return _of_syntax(lines, at, line)
    if line.startswith("Error: "):
        return _of_headline(lines, at, line)
    if line.startswith("Type error: "):
        return _after_place(lines, at, line)
    if "panicked at " in line and "assertion `left" in line:
        return _with_sides(lines, at, line)
    if line.endswith(" cannot find symbol"):
        return _with_symbol(lines, at, line)
    if "rror: " in line and ("xpected" in line or "before" in line):
        return _with_code_below(lines, at, line)
    return line


def _plain(raw: str) -> str:
    """A line without the frame that some tools draw around their messages."""
    line = raw.strip()
    if line[:1] in ("│", "|", "╷", "╵"):
        line = line[1:].strip()
    return line[:_MAX_DETAIL]


def _is_caret(raw: str) -> bool:
    line = raw.strip(" \t|│E")
    return bool(line) and not line.strip("^~ ")


def _of_rustc(lines: list[str], at: int, line: str) -> str:
    """`--> file:line:column`, then code with labels, then notes."""
    following = lines[at + 1].strip() if at + 1 < len(lines) else ""
    arrow = _ARROW.match(following)
    if not arrow:
        return line
    label = code = note = ""
    pending = False  # the carets had no label of their own beside them
    for raw in lines[at + 2 : at + 40]:
        body = raw.strip()
        if not body or body.startswith(("error", "warning", "help: ", "note: ")):
            break
        if body.startswith("= note: expected "):
            note = body[8:]
            continue
        if note and body.startswith("found "):
            note += ", " + body
            break
        gutter = _GUTTER.match(body)
        if not gutter or label:
            continue
        shown = body[gutter.end() :].strip()
        if body[0].isdigit():
            if not pending:
                code = shown
            continue
        mark = shown.find("^")
        if mark >= 0 and not shown[:mark].strip("-_ |"):
            label = shown[mark:].lstrip("^-~_ ")
            pending = not label
        elif pending and shown.strip("| "):
            label = shown.lstrip("|_ ")
    parts = [part for part in (label, note if "`" not in label else "") if part] or [code]
    return _joined(line, arrow.group(1), "; ".join(parts))


def _joined(line: str, place: str, detail: str) -> str:
    detail = detail[:_MAX_DETAIL].rstrip(" :")  # an error's text that ends in a colon is a heading
    place = place[-_MAX_DETAIL:]
    return line + (f" --> {place}" if place else "") + (f": {detail}" if detail else "")


def _of_syntax(lines: list[str], at: int, line: str) -> str:
    """The quoted code stands above, below its place, or in a frame further down.

    So does the failing line of a traceback that ends in the bare name of an exception.
    """
    for i in range(at - 1, max(at - 6, -1), -1):
        body = lines[i].removeprefix("E ").strip()
        place = ""
        if body.startswith('File "'):
            place = body[6:].partition('"')[0]
        elif alone := _PLACE.match(body):
            place = alone.group(1)
        if place:
            code = lines[i + 1].removeprefix("E ").strip() if i + 1 < at else ""
            return _joined(line, place, "" if _is_caret(code) else code)
        if body.startswith(("at ", "Traceback ")) or _is_syntax(body):
            break
    for raw in lines[at + 1 : at + 10]:
        frame = _FRAME.match(raw.strip())
        if frame:
            return _joined(line, "", frame.group(1))
    return line


def _is_syntax(body: str) -> bool:
    return body.startswith(_SYNTAX)


def _of_headline(lines: list[str], at: int, line: str) -> str:
    """`Error: Unsupported argument`, `on main.tf line 3, in resource "a" "b":`, code, then the message."""
    for i in range(at + 1, min(at + 5, len(lines))):
        body = _plain(lines[i])
        on = _ON_LINE.match(body)
        if not on:
            continue
        after_code = False
        message = ""
        for raw in lines[i + 1 : i + 30]:
            body = _plain(raw)
            if body.startswith(("Error: ", "Warning: ")):
                break
            if after_code and body:
                message = f"{message} {body}".lstrip()
            elif message:
                break
            after_code = after_code or not body
        return _joined(line, on.group(1), ": ".join(part for part in (on.group(2), message) if part))
    if _BARE_CODE.match(line):
        for raw in lines[at + 1 : at + 4]:
            body = _plain(raw)
            if body:
                return _joined(line, "", body)
    return line


def _after_place(lines: list[str], at: int, line: str) -> str:
    """The place stands alone on the line above."""
    alone = _PLACE.match(lines[at - 1].strip()) if at else None
    return _joined(line, alone.group(1), "") if alone else line


def _with_sides(lines: list[str], at: int, line: str) -> str:
    """Rust shows the two sides of an assertion below it."""
    sides = [raw.strip() for raw in lines[at + 1 : at + 5] if raw.strip().startswith(("left: ", "right: "))]
    return _joined(line, "", " ".join(sides[:2]))


def _with_symbol(lines: list[str], at: int, line: str) -> str:
    """javac names the symbol that it cannot find some lines further down."""
    for raw in lines[at + 1 : at + 5]:
        _, mark, symbol = raw.partition("symbol: ")
        if mark:
            return line + ": " + symbol.strip()
    return line


def _with_code_below(lines: list[str], at: int, line: str) -> str:
    """Compilers quote the line of code, with a caret below it."""
    if at + 2 >= len(lines) or not _is_caret(lines[at + 2]):
        return line
    code = lines[at + 1].strip()
    gutter = _GUTTER.match(code)
    return _joined(line, "", code[gutter.end() :].strip() if gutter else code)


def values_of(lines: list[str], at: int, line: str) -> str:
    """The two values, or the lines that differ, of an assertion whose headline names neither."""
    if not any(words in line for words in _VALUES):
        return ""
    differing: list[str] = []
    shown: list[str] = []
    is_diff = False
    for raw in lines[at + 1 : at + 40]:
        body = raw.strip()
        if body.startswith(("at ", "code: ", "stack: ")) or len(differing) >= 4 or len(shown) >= 12:
            break
        if body.startswith(("+ actual - expected", "+ expected - actual")):
            is_diff = True
        elif is_diff:
            if body[:1] in ("+", "-"):
                differing.append(body)
        elif body:
            shown.append(body)
    return " ".join(differing if is_diff else shown)[:_MAX_DETAIL]


def of_scalatest(lines: list[str], at: int) -> str:
    """`[info] - name *** FAILED ***`, and on the next line what was not as expected."""
    name = lines[at].strip().removeprefix("[info]").strip(" -").partition(" *** FAILED ***")[0]
    following = lines[at + 1].strip().removeprefix("[info]").strip() if at + 1 < len(lines) else ""
    return _joined(name, "", following if following[:2] not in ("- ", "+ ") else "")


def of_perl(lines: list[str], at: int) -> str:
    """`#   Failed test 'x'`, `#   at t/a.t line 3.`, and what Test::More says of the values."""
    name = lines[at].strip().lstrip("# ")
    place = ""
    details: list[str] = []
    for raw in lines[at + 1 : at + 6]:
        body = raw.strip()
        if not body.startswith("#   "):
            break
        body = " ".join(body[1:].split())
        if body.startswith("at ") and " line " in body:
            place = body[3:].partition(" line ")[0]
        else:
            details.append(body)
    return _joined(name, place, " ".join(details))
