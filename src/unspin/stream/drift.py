"""Loops that drift: the same sentences over and over with a word or a counter changed, so that no period fits.

Told by how few sequences of three words are new in a block of text (digits left out): nearly
none in a loop, 0.29 and more in honest prose. Tables, logs and code repeat their shapes by
nature, so what talks is looked at first: blocks of written language in which somebody says "I",
"we", "let me". "I will send. I will stop. I will finish." has ever new words, and is told by
how its sentences begin. Prose in which nobody talks has to go on for longer, and four blocks of
it to hold next to no different sequences at all: 0.21 for each word and more in honest prose.

Costs nothing on most texts: a block is only read when the pieces with which it was looked at
(``tail``) had nearly all been seen before, or when it is full of "I".
"""

from __future__ import annotations

from unspin.stream import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.stream.units import Measure

BLOCK = 1_024  # characters
_BLOCKS = 8  # that are looked back on
_FULL = 12  # at which it is a loop

#: Talking words of a block, share of new sequences at most: what the block adds to the score.
_SCORES = ((20, 0.15, 6), (10, 0.35, 4), (6, 0.25, 3))
_LITTLE = 0.35  # the most of them
_SENTENCES_SCORE = (0.10, 0.75)
_FEW_BLOCKS = 4  # of prose, and the different sequences in all of them, for each word, at most
_FEW_SEQUENCES = 0.10
_FEW_SCORE = 3
_FEW_DIGITS = 8  # of a block without talk: a list may be numbered
_BEGINNINGS = 20  # sentences of a block that begin with the same talking word
_BEGINNINGS_SCORE = 6

_NO_DIGITS = str.maketrans("", "", "0123456789")
_TO_SENTENCES = str.maketrans("!?;", "...")


class Drift:
    """How much is new in the last blocks of one channel's text."""

    __slots__ = ("_begin", "_due", "_hits", "_known", "_last", "_looks", "_needed", "_score", "_words")

    def __init__(self, measure: Measure, at: int = 0):
        self._needed = max(_FULL * measure.factor, measure.expected / BLOCK * _SCORES[0][2])
        self._due = at + BLOCK
        self._begin = at  # the offset at which the block began
        self._looks = 0
        self._hits = 0
        self._known: list[set[int]] = []
        self._words: list[int] = []  # how many each of these blocks has
        self._score = 0.0
        self._last = ("", 0)  # the last line of the last block, the offset at which the drift began

    def step(self, hit: bool, text: str, at: int, fenced: bool) -> bool:
        """Take one look of the tail, and the block that ends with it if one does; tell whether it is a loop."""
        self._looks += 1
        if hit:
            self._hits += 1
        if at < self._due:
            return False
        block = text[self._begin - at :]
        hot = 2 * self._hits >= self._looks
        begin, self._begin = self._begin, at
        self._due = at + BLOCK
        self._looks = self._hits = 0
        score = 0.0
        if hot or _talks_much(block):
            score = self._read(block)
            if fenced and score < _SCORES[1][2]:
                score = 0.0
        if not score:
            self._score = 0.0
            if not hot:
                self._known.clear()
                self._words.clear()
            return False
        if not self._score:
            self._last = ("", begin)
        self._score += score
        self._last = (block, self._last[1])
        return self._score >= self._needed

    def found(self) -> tuple[str, int]:
        """Return the last whole line of the loop, or its last words, and the offset at which it began."""
        block, begin = self._last
        line = block.rstrip().rpartition("\n")[0].rpartition("\n")[2].strip()
        return line or block[-80:].partition(" ")[2] or block[-80:], begin

    def _read(self, block: str) -> float:
        """Return what a block adds to the score."""
        plain = block.translate(_NO_DIGITS).lower().split()
        if len(plain) < 40:  # a script without spaces
            plain = list("".join(plain))
        new = set(map(hash, zip(plain, plain[1:], plain[2:], strict=False)))
        share = len(new.difference(*self._known)) / len(plain) if plain else 1.0
        self._known.append(new)
        self._words.append(len(plain))
        del self._known[:-_BLOCKS], self._words[:-_BLOCKS]
        full = _full_of_i(block)
        if (share > _LITTLE and not full) or not units.is_language(block):
            return 0.0
        talk, words = units.talk_of(block)
        for least, most, score in _SCORES:
            if talk >= least and share <= most:
                return score
        if full and talk >= _BEGINNINGS and _same_beginnings(block) >= _BEGINNINGS:
            return _BEGINNINGS_SCORE
        if words < 0.25 * len(plain) or len(block) - len(block.translate(_NO_DIGITS)) > _FEW_DIGITS:
            return 0.0
        if self._has_few_sequences():
            return _FEW_SCORE
        most, little = _SENTENCES_SCORE
        return little if share <= most else 0.0

    def _has_few_sequences(self) -> bool:
        last = self._known[-_FEW_BLOCKS:]
        words = sum(self._words[-_FEW_BLOCKS:])
        return len(last) == _FEW_BLOCKS and len(set().union(*last)) <= _FEW_SEQUENCES * words


def _full_of_i(block: str) -> bool:
    return block.count("I ") + block.count("I'") + block.count("et's ") >= _BEGINNINGS


def _talks_much(block: str) -> bool:
    """Tell whether a block is worth a reading though its pieces are new: a counter in short sentences makes them so."""
    return _full_of_i(block) or (not block.isascii() and units.talks_anywhere(block) >= _BEGINNINGS)


def _same_beginnings(block: str) -> int:
    """Count the sentences that begin with the talking word with which most do, if that is most of them."""
    sentences = block.lower().translate(_TO_SENTENCES).replace("\n", ".").split(".")
    firsts = [each.split(None, 1)[0] for each in sentences if each and not each.isspace()]
    counts: dict[str, int] = {}
    for first in firsts:
        counts[first] = counts.get(first, 0) + 1
    most = max(counts, key=lambda first: counts[first], default="")
    return counts[most] if (most == "i" or most in units.TALKING) and counts[most] >= 0.7 * len(firsts) else 0
