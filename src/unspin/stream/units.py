"""How much repetition is too much: what repeats decides.

A sentence that stands eight times running is a loop; eight equal rows of a table are not,
nor a thousand zeros. The limits were chosen by reading what repeats in degenerate and in
honest texts; every one of them is stated in docs/stream.md.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTERS = re.compile(r"[^\W\d_]")
_SYMBOLS = re.compile(r"[{}()\[\];=<>|\\/*#+$&^%@~`\"]")
_IN_ROW = re.compile(
    r"^[\s,;|\[\](){}]*(?:null|none|nil|true|false|nan|undefined|void|xx+|ff+)?[\s,;|\[\](){}]*$", re.IGNORECASE
)
_DIVIDERS = frozenset("-=_*#~.+ \t\n─━═·•–—^:|/\\<>\u3000")

PROSE, WORDS, ROW, SYMBOLS, RUN = "prose", "words", "row", "symbols", "run"


class Leniency:
    """How loosely a channel is judged: limits are multiplied by ``factor``."""

    __slots__ = ("drift", "factor")

    def __init__(self, factor: float = 1.0, *, drift: bool = True):
        self.factor = factor
        self.drift = drift


#: Prose: the period from which on so many repeats are too many; the first that fits.
_PROSE = ((1000, 3), (400, 4), (150, 5), (60, 6), (30, 7), (0, 8))
_PROSE_CHARS = 176

#: Kind: repeats and characters from which on it is too much.
LIMITS: dict[str, tuple[int, int]] = {
    WORDS: (8, 800),
    ROW: (20, 6_000),
    SYMBOLS: (20, 1_600),
    RUN: (1, 400),
}
_RUN_OF_DIVIDERS = 1_200
_RUN_OF_LETTERS = 3_000  # base64 of zeros is a run of As


def egregious(unit: str, repeats: int, chars: int, before: str, leniency: Leniency) -> str:
    """Return the kind of loop, empty where so much of it is still ordinary."""
    kind = kind_of(unit, before)
    least, size = limits(kind, unit)
    if repeats < least * leniency.factor or chars < size * leniency.factor:
        return ""
    return kind


def limits(kind: str, unit: str) -> tuple[int, int]:
    """Return repeats and characters from which on a unit of this kind is too much."""
    if kind == PROSE:
        return next(count for size, count in _PROSE if len(unit) >= size), _PROSE_CHARS
    if kind == RUN:
        char = unit[0]
        if char.isalnum():
            return 1, _RUN_OF_LETTERS
        return 1, _RUN_OF_DIVIDERS if char in _DIVIDERS else LIMITS[RUN][1]
    return LIMITS[kind]


def kind_of(unit: str, before: str) -> str:
    """Return what repeats: prose, words, a row of a table or matrix, symbols, or one character."""
    if len(set(unit)) == 1:
        return RUN
    bare = "".join(unit.split())
    letters = len(_LETTERS.findall(bare))
    words = _WORD.findall(unit)
    if not letters:
        return ROW if any(char.isdigit() for char in bare) else SYMBOLS
    if _IN_ROW.match(unit) or (not words and any(char.isdigit() for char in bare)):
        return ROW
    symbols = len(_SYMBOLS.findall(bare))
    fenced = before.count("```") % 2 == 1
    if len(words) >= 3 and letters >= 0.6 * len(bare) and symbols <= 0.1 * len(bare) and not fenced:
        return PROSE
    return WORDS
