"""Edits that try nothing: one that takes the last one back, one that only puts debug output in or out.

An agent that undoes its change to see whether the tests fail without it as well, or that prints what a variable
holds, learns something; it has not tried another cure. Both are told from what the edit says alone: the replaced
and the new text, or the script of ``sed``. Knows nothing of what is concluded from it.
"""

from __future__ import annotations

from unspin.facts.digest import digest
from unspin.facts.lists import read_list
from unspin.facts.patterns import DOTALL, pattern

_MAX = 4_000  # characters of a text or a script that are looked at

_ADDRESS = r"(?:\d{1,9}|\$|/(?:\\.|[^/\\\n]){0,400}/)"
_PLACE = rf"(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?)?"
_PUT = pattern(rf"{_PLACE}\s{{0,9}}[ai](?:\\|(?=\s))\s?(.*)", DOTALL)
_DROP = pattern(rf"{_ADDRESS}(?:,[+~]?{_ADDRESS})?\s?d;?")
_NAMES = pattern(r"(?:const |let |var )?([A-Za-z_]\w{0,60}) ?:?= ?[^=]")  # a name for what is then shown
_ESCAPED = pattern(r"\\(\W)")
_SWAP = pattern(rf"({_PLACE})\s?s([/|#,@!~:])(.*)", DOTALL)


def swap(old: str | None, new: str, before: str = "", after: str = "") -> list[str]:
    """Return two digests: what an edit did, and what would undo it; none where its old text is not known.

    ``before`` and ``after`` are hashes of the file's whole content, where somebody looked.
    """
    if before and after:
        old, new = before, after
    if old is None or old == new or not (old or new):
        return []
    return [digest(f"{old}\x00{new}"), digest(f"{new}\x00{old}")]


def swap_by_sed(script: str) -> list[str]:
    """Return the same of a script that is one substitution; with other places it is another change."""
    parts = _substitution(script)
    if parts is None:
        return []
    place, old, new, flags = parts
    return swap(f"{place}\x00{old}\x00{flags}", f"{place}\x00{new}\x00{flags}") if old != new else []


def shows_only(old: str | None, new: str) -> bool:
    """Tell whether an edit only puts lines in that show something, or only takes such lines out."""
    if old is None or max(len(old), len(new)) > _MAX:
        return False
    return _shows(
        [line.rstrip() for line in old.split("\n") if line.strip()],
        [line.rstrip() for line in new.split("\n") if line.strip()],
    )


def shows_only_by_sed(script: str) -> bool:
    """Tell the same of a script of ``sed``: lines put in, lines with a mark of debugging taken out."""
    script = script.strip()
    if not script or len(script) > _MAX:
        return False
    parts = _substitution(script)
    if parts is not None:
        return _shows(_stripped(parts[1]), _stripped(parts[2]))
    if _DROP.fullmatch(script):
        return any(mark in script for mark in _words()["marks"])
    put = _PUT.fullmatch(script)
    return put is not None and _shows([], _stripped(put[1]))


def _substitution(script: str) -> tuple[str, str, str, str] | None:
    """Return place, old text, new text and flags; anchors and the escapes of plain characters are taken off."""
    script = script.strip()
    found = _SWAP.fullmatch(script) if len(script) <= _MAX else None
    if found is None:
        return None
    place, mark, rest = found.groups()
    parts = [""]
    at = 0
    while at < len(rest):
        if rest[at] == "\\" and at + 1 < len(rest):
            parts[-1] += rest[at : at + 2] if rest[at + 1] != mark else mark
            at += 2
            continue
        if rest[at] == mark and len(parts) < 3:
            parts.append("")
        else:
            parts[-1] += rest[at]
        at += 1
    if len(parts) != 3 or not all(flag in "gpiIm0123456789; " for flag in parts[2]):
        return None
    old = parts[0].removeprefix("^")
    old = old[:-1] if old.endswith("$") and not old.endswith("\\$") else old
    return place, _plain(old), _plain(parts[1]), parts[2].strip("; ")


def _plain(text: str) -> str:
    """Take off the backslashes before characters that mean nothing else; a new line is one."""
    return _ESCAPED.sub(r"\1", text.replace("\\n", "\n").replace("\\t", "\t"))


def _stripped(text: str) -> list[str]:
    lines = text.replace("\\n", "\n").split("\n")
    return [line.strip(" \t\\") for line in lines if line.strip(" \t\\")]


def _without(lines: list[str], others: list[str]) -> list[str]:
    """Return the lines that are no others', each as often as there are more of it."""
    left: dict[str, int] = {}
    for line in others:
        left[line] = left.get(line, 0) + 1
    found = []
    for line in lines:
        if left.get(line):
            left[line] -= 1
        else:
            found.append(line)
    return found


def _shows(old: list[str], new: list[str]) -> bool:
    gone, come = _without(old, new), _without(new, old)
    if bool(gone) == bool(come):
        return False
    words = _words()
    lines = [line.strip() for line in gone or come]
    shown = [line for line in lines if line.startswith(words["statements"]) or _shown_beside(line, words)]
    for line in lines:
        named = _NAMES.match(line)
        if line in shown or line.startswith(words["beside"]):
            continue
        if named is None or not any(named[1] in each for each in shown):
            return False
    return bool(shown)


def _shown_beside(line: str, words: dict[str, tuple[str, ...]]) -> bool:
    """Tell whether a line is a condition or a loop with what it shows behind the colon."""
    return line.startswith(words["beside"]) and line.rpartition(": ")[2].startswith(words["statements"])


_read: dict[str, tuple[str, ...]] = {}


def _words() -> dict[str, tuple[str, ...]]:
    if not _read:
        found = read_list("probes")
        _read.update({name: tuple(found[name]) for name in ("statements", "beside", "marks")})
    return _read
