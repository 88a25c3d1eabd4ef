"""What a final text announces and states of its author, and whether it asks: read by rules, from lists of words.

Beside ``facts.claims``, which reads what is said of checks, commands, files and deeds, this reads what names none of
them: "I am dispatching the sub-agents now", "I've implemented the retry". Code, quotes, tables and what is
planned or conditional are none. It does not know what was done.
"""

from __future__ import annotations

import re
from operator import itemgetter

from unspin.claims.lists import made, words
from unspin.facts.claim_text import CODED, QUOTED, sentences
from unspin.facts.claims import as_path, claims_nothing, held_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.facts.claim_text import Sentence

ANNOUNCED = "announced"  # is about to be done
STATED = "stated"  # has been done, in the first person or with no subject

_LAST = 3  # sentences at the end of a text in which an announcement counts; of a look at something, one less
_INLINE = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|https?://\S{1,400}")
_OBJECT = re.compile(
    r"(?: (?:the|a|an|new|file|report|script|it|them|this|to|all|at|in|into|full)){0,5} [`*]{0,3}([\w@~./\\-]{1,200})"
)
_QUESTION = re.compile(r"[\w)\]\"'”’*`]\s?\?+(?=[\s*_)\"'”’]|\Z)")


class Statement:
    """One sentence that announces or states something. ``about`` is what kind of work: ``dispatch``, ``edit``, ``run``,
    ``work`` (either of these two), ``read``, ``check``, ``deed``, ``start``. ``own`` is set where it is said in the
    first person, or of the changes at hand; ``path`` is the file that was written, where it is named right behind."""

    __slots__ = ("about", "end", "kind", "own", "path", "quote", "start")

    def __init__(self, kind: str, about: str, quote: str, start: int, end: int, *, own: bool = True):
        self.kind = kind
        self.about = about
        self.quote = quote
        self.start = start
        self.end = end
        self.own = own
        self.path = ""

    def __repr__(self) -> str:
        return f"Statement({self.kind!r}, {self.about!r}, {self.quote!r})"


def asks(text: str, language: str = "en") -> bool:
    """Tell whether a text stops to ask, to offer or to wait for the person."""
    fenced, lines = "", []
    for each in text.replace("’", "'").split("\n"):
        bare = each.strip()
        mark = bare[:3] if bare[:3] in ("```", "~~~") else ""
        if mark and fenced in ("", mark):
            fenced = "" if fenced else mark
        elif not fenced and not bare.startswith((">", "|")):
            lines.append(each)
    plain = _INLINE.sub("x", "\n".join(lines))
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
    low = sentence.masked.replace("’", "'")
    told = standing("reporting_back", language).sub(" ", low)
    if low.rstrip(" \"')*_").endswith("?") or standing("conditions", language).search(told):
        return None
    opened = made("begins", language, _begins).match(low)
    at = opened.end() if opened else 0
    for about, pattern in _kinds("announcing", language).items():
        said = pattern.match(low, at)
        if said is None:
            continue
        rest = low[said.end() :]
        ing = said[0].split(" ", 1)[0].lower().endswith("ing")
        by = opened["by"] if opened else ""
        if not ing and by and made("being", language, itemgetter("being")).match(by):
            continue  # "I'm open to that"
        if not by and not (ing and _marked(low, language)):
            continue
        if standing("spoken_objects", language).search(rest[:60]) or (about == "read" and left > _LAST - 1):
            continue
        if about == "edit" and standing("not_files", language).search(rest):
            about = "deed"
        return _statement(ANNOUNCED, about, text, sentence, 0, len(sentence.masked))
    return None


def _begins(lists: dict[str, Any]) -> str:
    """Return the pattern of how an announcement begins: "Okay, I'll now ", "Now "."""
    openers = "|".join(lists["announcement_openers"])
    ways = "|".join(lists["announced_by"])
    return rf"[\s*_]*(?:(?:{openers})(?:[,:!.—–-]+\s*|\s+)){{0,3}}(?:(?P<by>{ways})\s+)?"


def _marked(low: str, language: str) -> bool:
    """Tell whether a sentence that begins with "Running the tests" is one of the present: "now", or an ellipsis."""
    return low.rstrip(" *_").endswith(("...", "…")) or bool(standing("gerund_markers", language).search(low))


# -- statements ------------------------------------------------------------------------


def _stated(text: str, sentence: Sentence, language: str) -> list[Statement]:
    low = sentence.masked.replace("’", "'")
    if claims_nothing(sentence.masked):
        return []
    found = []
    for match in made("own", language, _own).finditer(low):
        found += _of_kind(text, sentence, low, match.start(), match.end(), language, own=True)
    told = None if found else made("told_of", language, _told_of).match(low)
    if told:  # "The changes have been deployed"
        found += _of_kind(text, sentence, low, told.start(), told.end(), language, own=True, of="told")
    if not found:
        implicit = made("implicit", language, _implicit).match(low)
        if implicit:
            found += _of_kind(text, sentence, low, implicit.start(), implicit.end(), language, own=False)
    return found


def _own(lists: dict[str, Any]) -> str:
    return rf"(?:^|[.;:,—–(]\s*|\b(?:and|then|so)\s+)[\s*_]*(?:{lists['stated_by']})\s+"


def _told_of(lists: dict[str, Any]) -> str:
    return rf"[\s*_✅✓✔]*(?:(?:done|and|also)[.:,!—–-]*\s+)?(?:{lists['told_of']})\s+"


def _implicit(lists: dict[str, Any]) -> str:
    return rf"[\s*_✅✓✔]*(?:done[.:,!—–-]+\s*)?(?=(?:{'|'.join(lists['implicit'])})\b)"


def _of_kind(
    text: str, sentence: Sentence, low: str, begin: int, at: int, language: str, *, own: bool, of: str = "stated"
) -> list[Statement]:
    for about, pattern in _kinds(of, language).items():
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
        if of == "told" and standing("not_told", language).search(low, said.end(), stop):
            return []  # "The fix has been released in 2.0.3" tells of the world
        if about == "edit" and standing("not_files", language).search(low, said.end(), stop):
            about = "run"
        made_of = _statement(STATED, about, text, sentence, begin, stop, own=own)
        edits = own and about == "edit" and of == "stated"
        object_ = _OBJECT.match(text, sentence.start + said.end()) if edits else None
        made_of.path = as_path(object_[1].rstrip(".")) if object_ else ""
        return [made_of]
    return []


def _statement(
    kind: str, about: str, text: str, sentence: Sentence, begin: int, stop: int, *, own: bool = True
) -> Statement:
    start = sentence.start + begin
    quote = " ".join(text[sentence.start : sentence.end].split())
    return Statement(kind, about, quote, start, sentence.start + stop, own=own)


def standing(name: str, language: str) -> re.Pattern[str]:
    """Return the pattern of a list's words standing anywhere."""
    return made(
        name,
        language,
        lambda lists: rf"(?<![\w\-/.{CODED}{QUOTED}])(?:{'|'.join(lists[name])})(?![\w\-/]|\.\w)",
    )


def _kinds(name: str, language: str) -> dict[str, re.Pattern[str]]:
    return {
        kind: made(f"{name}.{kind}", language, lambda lists, kind=kind: rf"(?:{'|'.join(lists[name][kind])})(?![\w'-])")  # type: ignore[misc]
        for kind in words(language)[name]
    }
