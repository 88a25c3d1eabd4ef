"""What a final text announces, states in the first person, and whether it asks: read by rules, by the words of a language.

Beside ``facts.claims``, which reads what is said of checks, commands, files and deeds, this reads what names none of
them: "I am dispatching the sub-agents now", "I've implemented the retry". Code, quotes, tables and what is
planned or conditional are none. It does not know what was done.
"""

from __future__ import annotations

import re

from unspin.claims.lists import compiled, words
from unspin.facts.claim_text import CODED, QUOTED, sentences
from unspin.facts.claims import claims_nothing, held_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.facts.claim_text import Sentence

ANNOUNCED = "announced"  # is about to be done
STATED = "stated"  # has been done, in the first person or with no subject

_LAST = 3  # sentences at the end of a text in which an announcement counts; of a look at something, one less
_FENCED = re.compile(r"^ {0,8}(`{3,}|~{3,})[^\n]*\n(?:.*?\n)?? {0,8}\1[ \t]*$", re.M | re.S)
_INLINE = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|https?://\S{1,400}")
_QUESTION = re.compile(r"[\w)\]\"'”’*`]\s?\?+(?=[\s*_)\"'”’]|\Z)")


class Statement:
    """One sentence that announces or states something. ``about`` is what kind of work: ``dispatch``, ``edit``, ``run``,
    ``read``, ``check``, ``deed``, ``start``. ``own`` is set where it is said in the first person."""

    __slots__ = ("about", "end", "kind", "own", "quote", "start")

    def __init__(self, kind: str, about: str, quote: str, start: int, end: int, *, own: bool = True):
        self.kind = kind
        self.about = about
        self.quote = quote
        self.start = start
        self.end = end
        self.own = own

    def __repr__(self) -> str:
        return f"Statement({self.kind!r}, {self.about!r}, {self.quote!r})"


def asks(text: str, language: str = "en") -> bool:
    """Tell whether a text stops to ask, to offer or to wait for the person."""
    plain = _FENCED.sub(" ", text) if "```" in text or "~~~" in text else text
    plain = _INLINE.sub("x", plain.replace("’", "'"))
    plain = "\n".join(line for line in plain.split("\n") if not line.lstrip().startswith((">", "|")))
    if _QUESTION.search(plain):
        return True
    return bool(standing("asking", language).search(plain))


def statements(text: str, language: str = "en") -> list[Statement]:
    """Return what a text announces and states, in order. Linear in its length; never raises for any text."""
    every = list(sentences(text))
    found = []
    for place, sentence in enumerate(every):
        left = len(every) - place
        announced = _announced(text, sentence, left, language)
        if announced is not None:
            found.append(announced)
        else:
            found += _stated(text, sentence, language)
    return found


# -- announcements ---------------------------------------------------------------------


def _announced(text: str, sentence: Sentence, left: int, language: str) -> Statement | None:
    if left > _LAST or sentence.item:
        return None
    low = sentence.masked.lower().replace("’", "'")
    if low.rstrip(" \"')*_").endswith("?") or standing("conditions", language).search(low):
        return None
    opened = _begins(language).match(low)
    at = opened.end() if opened else 0
    for about, pattern in _kinds("announcing", language).items():
        said = pattern.match(low, at)
        if said is None:
            continue
        rest = low[said.end() :]
        if not (opened and opened["by"]) and not (said[0].split(" ", 1)[0].endswith("ing") and _marked(low, language)):
            continue
        if standing("spoken_objects", language).search(rest[:60]) or (about == "read" and left > _LAST - 1):
            continue
        return _statement(ANNOUNCED, about, text, sentence, 0, len(sentence.masked))
    return None


def _begins(language: str) -> re.Pattern[str]:
    """Return the pattern of how an announcement begins: "Okay, I'll now ", "Now "."""
    lists = words(language)
    openers = "|".join(lists["announcement_openers"])
    ways = "|".join(lists["announced_by"])
    return compiled(rf"[\s*_]*(?:(?:{openers})(?:[,:!.—–-]+\s*|\s+)){{0,3}}(?:(?P<by>{ways})\s+)?")


def _marked(low: str, language: str) -> bool:
    """Tell whether a sentence that begins with "Running the tests" is one of the present: "now", or an ellipsis."""
    return low.rstrip(" *_").endswith(("...", "…")) or bool(standing("gerund_markers", language).search(low))


# -- statements ------------------------------------------------------------------------


def _stated(text: str, sentence: Sentence, language: str) -> list[Statement]:
    low = sentence.masked.lower().replace("’", "'")
    if claims_nothing(sentence.masked):
        return []
    found = []
    own = compiled(rf"(?:^|[.;:,—–(]\s*|\b(?:and|then|so)\s+)[\s*_]*(?:{words(language)['stated_by']})\s+")
    for match in own.finditer(low):
        found += _of_kind(text, sentence, low, match.start(), match.end(), language, own=True)
    if not found:
        implicit = compiled(
            rf"[\s*_✅✓✔]*(?:done[.:,!—–-]+\s*)?(?=(?:{'|'.join(words(language)['implicit'])})\b)"
        ).match(low)
        if implicit:
            found += _of_kind(text, sentence, low, implicit.start(), implicit.end(), language, own=False)
    return found


def _of_kind(
    text: str, sentence: Sentence, low: str, begin: int, at: int, language: str, *, own: bool
) -> list[Statement]:
    for about, pattern in _kinds("stated", language).items():
        said = pattern.match(low, at)
        if said is None:
            continue
        if not own and not re.match(r"\s+[\w`(\x01\x02]", low[said.end() :]):
            return []  # "Updated:", and the text goes on with what it is now
        stop = min([place for mark in ".;,—–(" if (place := low.find(mark, said.end())) >= 0], default=len(low))
        if held_off(sentence.masked, begin, stop) or standing("not_stated", language).search(low, said.end(), stop):
            return []
        if standing("spoken_objects", language).search(low, said.end(), stop):
            return []
        if about == "edit" and standing("not_files", language).search(low, said.end(), stop):
            about = "run"
        return [_statement(STATED, about, text, sentence, begin, stop, own=own)]
    return []


def _statement(
    kind: str, about: str, text: str, sentence: Sentence, begin: int, stop: int, *, own: bool = True
) -> Statement:
    start = sentence.start + begin
    quote = " ".join(text[sentence.start : sentence.end].split())
    return Statement(kind, about, quote, start, sentence.start + stop, own=own)


def standing(name: str, language: str) -> re.Pattern[str]:
    """Return the pattern of a list's words standing anywhere."""
    return compiled(rf"(?<![\w\-/.{CODED}{QUOTED}])(?:{'|'.join(words(language)[name])})(?![\w\-/]|\.\w)")


def _kinds(name: str, language: str) -> dict[str, re.Pattern[str]]:
    return {kind: compiled(rf"(?:{'|'.join(each)})(?![\w'-])") for kind, each in words(language)[name].items()}
