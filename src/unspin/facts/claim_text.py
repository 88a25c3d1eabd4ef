"""An agent's text cut into the sentences in which something may be claimed.

Markdown is read as far as it decides that: code blocks, quotes, tables and HTML comments hold no claims, nor do
open boxes and the sections that tell of what is still to be done. It does not know what a claim is.
Offsets are those of the text as it was given.
"""

from __future__ import annotations

import re

from unspin.facts.lists import read_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_SENTENCE = 800  # characters; what is longer is no sentence

_FENCE = re.compile(r" {0,12}(?:[-*+] {1,4}|\d{1,3}[.)] {1,4})?(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})\s{1,9}(.*)")
_BOLD_LINE = re.compile(r" {0,6}(?:\*\*|__)([^*_]{2,80})(?:\*\*:?|__:?|:\*\*|:__)\s{0,4}\Z")
_ITEM = re.compile(r"(\s{0,16})(?:[-*+•‣]|\d{1,3}[.)])\s{1,4}")
_BOX = re.compile(r"\[([ xX✓✔~-])\]\s{1,4}")
_OPEN_MARKS = ("⏳", "🔲", "⬜", "☐", "◻", "❌", "✗", "✘", "🚧", "⚠", "🔴", "🟡", "⏭", "❓", "💡", "👉")
_END = re.compile(r"[.!?…]+[\"'”’)\]*_`]{0,6}(?=\s|\Z)")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|no|incl|resp|ca)|\s[A-Z])\.\Z", re.IGNORECASE)
_CODE = re.compile(r"(`{1,3})(?!`)([^`\n]{1,300})\1")
_LINK = re.compile(r"\]\([^()\s]{0,400}\)|<https?://[^>\s]{1,400}>|https?://[^\s)>\]]{1,400}")
_SPOKEN = re.compile(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|(?<![\w’'])'[^'\n]{2,200}'(?!\w)")
_UNREAD = (("<!--", "-->"), ("<pre>", "</pre>"), ("<code>", "</code>"), ("<blockquote>", "</blockquote>"))
_MARKS = re.compile(r"\*{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|~~|\n")

QUOTED = "\x01"  # stands for each character of quoted speech
CODED = "\x02"  # stands for each character inside of backticks


class Sentence:
    """A sentence: its offsets, its words with markup blanked out, and where a tag would go.

    ``masked`` is as long as the text between ``start`` and ``end``: bold marks and link targets are
    blanks, code in backticks and quoted speech are filled with ``CODED`` and ``QUOTED``.
    """

    __slots__ = ("end", "item", "masked", "start", "stop")

    def __init__(self, start: int, end: int, masked: str, *, item: bool):
        self.start = start
        self.end = end
        self.masked = masked
        self.item = item  # it begins a list item
        self.stop = end  # where a tag goes: after the sentence with its marks


_lists: dict[str, Any] = {}


def words_of(name: str) -> Any:
    """Return a list of ``claims.json``."""
    if not _lists:
        _lists.update(read_list("claims"))
    return _lists[name]


def one_of(words: list[str]) -> str:
    """Return the words as one alternative of a pattern, longest first; each word is a pattern itself."""
    return "|".join(sorted(words, key=lambda each: -len(each)))


_made: dict[str, re.Pattern[str]] = {}


def _begins_with(list_name: str, text: str) -> bool:
    if list_name not in _made:
        _made[list_name] = re.compile(rf"\W*(?:{one_of(words_of(list_name))})(?![\w'’-])", re.IGNORECASE)
    return bool(_made[list_name].match(text[:200]))


def _tells_of_plans(title: str) -> bool:
    """Tell whether a heading, or what stands before a colon, opens things that are still to be done, or were before."""
    return _begins_with("plan_sections", title)


def _opens_a_list_of_plans(line: str) -> bool:
    if "plan_lines" not in _made:
        _made["plan_lines"] = re.compile(rf"\b(?:{one_of(words_of('plan_lines'))})\b|['’]ll\b", re.IGNORECASE)
    return _tells_of_plans(line) or bool(_made["plan_lines"].search(line[-400:]))


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of ``text`` that may hold claims, in order."""
    masked = _mask(text)
    plan_level = 0  # of the heading under which things are planned
    plan_list = False  # after "Next steps:"
    for start, end, kind, level in _blocks(masked):
        title = masked[start:end]
        if kind == "heading":
            if not plan_level or level <= plan_level:
                plan_level = level if _tells_of_plans(title) else 0
            plan_list = False
            if plan_level:
                continue
        elif kind == "item":
            plan_list = plan_list or _begins_with("checking_steps", title)  # what follows is what to see then
            if plan_list:
                continue
        elif title.rstrip().rstrip("*_ ").endswith(":"):
            plan_list = _opens_a_list_of_plans(title)
        elif level and level < 9:  # a bold line stands for a heading
            plan_list = _tells_of_plans(title)
        elif kind == "text":
            plan_list = False
        if plan_level or kind == "open" or (plan_list and kind == "text" and level):
            continue
        yield from _cut(text, masked, start, end, item=kind == "item")


def _mask(text: str) -> str:
    def blank(match: re.Match[str]) -> str:
        return "".join("\n" if char == "\n" else " " for char in match[0])

    masked = _unread(text) if "<" in text else text
    masked = _CODE.sub(lambda m: m[1] + CODED * len(m[2]) + m[1], masked) if "`" in text else masked
    masked = _LINK.sub(blank, masked)
    return _SPOKEN.sub(lambda m: QUOTED * len(m[0]), masked)


def _unread(text: str) -> str:
    """Blank out what is no text of the agent's own, between pairs of marks; a pair that does not close is none."""
    for opening, closing in _UNREAD:
        parts, at = [], 0
        while (first := text.find(opening, at)) >= 0 and (last := text.find(closing, first)) >= 0:
            last += len(closing)
            parts += [text[at:first], "".join("\n" if char == "\n" else " " for char in text[first:last])]
            at = last
        text = "".join([*parts, text[at:]])
    return text


def _blocks(masked: str) -> Iterator[tuple[int, int, str, int]]:
    """Yield headings, list items, open boxes and paragraphs: start, end, kind, level."""
    at = 0
    fence = ""
    opened = -1  # where the paragraph under way began
    kind, last = "text", 0
    for line in masked.splitlines(keepends=True):
        start, at = at, at + len(line)
        body = line.rstrip()
        mark = _FENCE.match(line)
        if fence or mark:
            if opened >= 0:
                yield opened, last, kind, 0
                opened = -1
            if fence:
                fence = (
                    ""
                    if body.strip() and set(body.strip()) == {fence[0]} and len(body.strip()) >= len(fence)
                    else fence
                )
            elif mark:
                fence = mark[1]
            continue
        item = _ITEM.match(line)
        heading = _HEADING.match(body)
        bold = _BOLD_LINE.match(body)
        table = body.lstrip().startswith("|") or re.match(r"\s*:?-{3,}", body)
        coded = line.startswith(("    ", "\t")) and not item and opened < 0 and kind != "item"
        skipped = not body or table or coded or body.lstrip().startswith(">")
        continued = (
            opened >= 0
            and not (skipped or item or heading or bold)
            and _continues(masked[max(opened, last - 400) : last], body)
        )
        if continued:
            last = start + len(body)
            continue
        if opened >= 0:
            yield opened, last, kind, 0
            opened = -1
        if skipped:
            kind = "item" if not body and kind == "item" else "text"
            continue
        if heading:
            kind = "heading"
            yield start + heading.start(2), start + len(body), kind, len(heading[1])
        elif bold:
            kind = "text"
            yield start, start + len(body), kind, 7
        elif item:
            first = start + item.end()
            box = _BOX.match(masked, first)
            first = box.end() if box else first
            kind = "open" if (box and box[1] in " ~-") or masked.startswith(_OPEN_MARKS, first) else "item"
            opened, last = first, start + len(body)
        else:
            first = start + len(line) - len(line.lstrip())
            kind = "open" if masked.startswith(_OPEN_MARKS, first) else "text"
            opened, last = first, start + len(body)
    if opened >= 0:
        yield opened, last, kind, 0


def _continues(so_far: str, line: str) -> bool:
    """Tell whether a line goes on with the sentence above it: a hard wrap, and no new statement."""
    above = so_far.rsplit("\n", 1)[-1].rstrip()
    first = line.lstrip()[:1]
    return len(above) >= 50 and above[-1:] not in ".!?:;" and (first.islower() or first in "(`0123456789\x01")


def _cut(text: str, masked: str, start: int, end: int, *, item: bool) -> Iterator[Sentence]:
    first = start
    block = masked[start:end]
    cuts = [
        start + match.end()
        for match in _END.finditer(block)
        if not _ABBREVIATED.search(block[max(0, match.end() - 9) : match.end()])
    ]
    for cut in [*cuts, end]:
        begin = first
        while begin < cut and masked[begin].isspace():
            begin += 1
        first = cut
        stop = cut
        while stop > begin and text[stop - 1].isspace():
            stop -= 1
        if begin >= stop or stop - begin > MAX_SENTENCE:
            continue
        title, colon, _ = masked[begin : min(stop, begin + 40)].partition(":")
        if colon and _tells_of_plans(title):
            continue
        words = _MARKS.sub(lambda match: " " * len(match[0]), masked[begin:stop])
        yield Sentence(begin, stop, words, item=item and begin == start)
