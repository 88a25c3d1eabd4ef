"""The names that a piece of source defines, in any of the common languages, by the look of its lines.

Used to see whether what a test no longer asks about is code that the session removed. A guess, line by
line: a name too many makes the guard quieter, never louder.
"""

from unspin.facts.patterns import pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_LINE = 1000
_FEW = 40  # names that each line is searched for, one by one

_DEFINED = pattern(
    r"\b(?:def|defp|defmodule|defmacrop?|class|function\*?|func|fn|fun|struct|enum|trait|interface|type"
    r"|module|mod"
    r"|namespace|protocol|object|record|macro_rules!|const|let|var|val|static|union|impl)[ \t]+"
    r"(?:\([^()]{0,80}\)[ \t]*)?(?:mut[ \t]+|self\.)?([A-Za-z_$][\w$]*[?!]?)"
)
_ASSIGNED = pattern(r"(?:export[ \t]+(?:default[ \t]+)?)?([A-Za-z_]\w*)[ \t]*(?::[ \t]*[\w.\[\], |]{1,60})?=(?![=>])")
_METHOD = pattern(
    r"[ \t]*(?:(?:public|private|protected|internal|static|async|final|abstract|override|virtual|readonly"
    r"|export|inline"
    r"|extern|unsafe|get|set|synchronized|constexpr|suspend|open)[ \t]+){0,5}"
    r"(?:[A-Za-z_][\w<>,.:\[\]?*&]{0,80}[ \t]+[*&]?)?([A-Za-z_$][\w$]*)[ \t]*\([^;{}]{0,200}\)[^;{}=]{0,80}\{"
)
_MEMBER = pattern(r"\b(?:exports|this|self|prototype)\.([A-Za-z_$][\w$]*)[ \t]*=(?![=>])")
_EXPORTED = pattern(r"\bexport[ \t]*\{([^}]{0,500})\}|\b__all__[ \t]*=[ \t]*\[([^\]]{0,500})\]")
_NAME = pattern(r"[A-Za-z_$][\w$]*")
_COMMENT = ("//", "*", "/*", "# ", "#!", "--")
_NO_NAMES = frozenset(
    (
        *(
            "if",
            "for",
            "while",
            "switch",
            "catch",
            "return",
            "function",
            "else",
            "do",
            "try",
            "with",
            "match",
        ),
        *(
            "elif",
            "and",
            "or",
            "not",
            "in",
            "is",
            "new",
            "typeof",
            "await",
            "async",
            "def",
            "class",
            "struct",
        ),
        *("enum", "self", "cls", "this", "super", "mut", "const", "let", "var", "default", "extends"),
    )
)


def defined_names(text: str) -> "set[str]":
    """Functions, classes, methods, variables, constants and exports that the text defines. Linear, never
    raises.
    """
    return _names_on(text.splitlines()) - _NO_NAMES


def _names_on(lines: "Iterable[str]") -> "set[str]":
    out: set[str] = set()
    for line in lines:
        line = line[:_MAX_LINE]
        if line.lstrip().startswith(_COMMENT):
            continue
        out.update([found.group(1) for found in _DEFINED.finditer(line)])
        if "." in line:
            out.update([found.group(1) for found in _MEMBER.finditer(line)])
        if "=" in line:
            found = _ASSIGNED.match(line)
            if found:
                out.add(found.group(1))
        if "{" in line:
            found = _METHOD.match(line)
            if found:
                out.add(found.group(1))
        if "export" in line or "__all__" in line:
            for found in _EXPORTED.finditer(line):
                out.update(name.group() for name in _NAME.finditer(found.group(1) or found.group(2) or ""))
    return out


def removed_names(before: str, after: str) -> "set[str]":
    """What `before` defines and `after` does not.

    Only a line that differs can take a name away, and only a line that holds its letters can keep it.
    """
    begin, end = _same_beginning(before, after), _same_end(before, after)
    end = min(end, len(before) - begin, len(after) - begin)
    ours, theirs = before[begin : len(before) - end].splitlines(), after[begin : len(after) - end].splitlines()
    names = _names_on(set(ours).difference(theirs)) - _NO_NAMES
    gone = {name for name in names if name not in after}
    names -= gone
    if names:
        names -= _names_on(theirs)
    if names:
        left = set(after.splitlines())
        few = len(names) <= _FEW
        names -= _names_on([line for line in left if any(name in line for name in names)] if few else left)
    return gone | names


def _same_beginning(before: str, after: str) -> int:
    """How many characters of whole lines both texts begin with."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before.startswith(after[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return before.rfind("\n", 0, low) + 1


def _same_end(before: str, after: str) -> int:
    """How many characters of whole lines both texts end with."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before.endswith(after[len(after) - middle : len(after) - low], 0, len(before) - low):
            low = middle
        else:
            high = middle - 1
    at = before.find("\n", len(before) - low)
    return len(before) - at - 1 if at >= 0 else 0
