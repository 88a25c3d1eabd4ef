"""Loops that drift: the same sentences over and over with a word changed, so that no period fits.

The share of three-word sequences that are new tells them: near 0 in a loop, 0.14 in one
that drifts, 0.29 and more in honest text. Only prose is looked at: tables, logs and code
repeat their shapes by nature.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.stream.units import Leniency

_BLOCK = 1_024  # characters
_BLOCKS = 8  # that are looked back on
_ENOUGH = 5  # blocks running with little new in them
_LITTLE = 0.16  # share of new sequences
_FEWEST = 90  # words of a block that is looked at


class Novelty:
    """How much is new in the last blocks of a text."""

    __slots__ = ("_known", "_low", "_next", "_wanted")

    def __init__(self, leniency: Leniency):
        self._wanted = round(_ENOUGH * leniency.factor) if leniency.drift else 0
        self._next = _BLOCK
        self._known: list[set[tuple[str, str, str]]] = []
        self._low = 0  # blocks running with little new in them

    def look(self, text: str, at: int) -> tuple[int, str] | None:
        """Look at the block that ends at ``at``, if one does; return where the drift began, and its last line."""
        if at < self._next:
            return None
        self._next = at - at % _BLOCK + _BLOCK
        if not self._wanted:
            return None
        block = text[-_BLOCK:]
        words = block.split()
        if len(words) < _FEWEST or not _is_prose(block, words):
            self._low = 0
            self._known = []
            return None
        triples = set(zip(words, words[1:], words[2:], strict=False))
        new = triples.difference(*self._known) if self._known else triples
        self._low = self._low + 1 if len(new) < _LITTLE * (len(words) - 2) else 0
        self._known.append(triples)
        del self._known[:-_BLOCKS]
        if self._low < self._wanted:
            return None
        last = block.rstrip().rpartition("\n")[2] or block
        return max(0, at - self._low * _BLOCK), last[-200:]


def _is_prose(block: str, words: list[str]) -> bool:
    """Tell whether a block is written language: mostly letters, in words of ordinary length, few symbols."""
    bare = len(block) - block.count(" ") - block.count("\n")
    letters = sum(map(str.isalpha, words))
    symbols = sum(map(block.count, "{}[]=<>|\\/_#*$&"))
    digits = sum(map(block.count, "0123456789"))
    return letters >= 0.5 * len(words) and symbols <= 0.04 * bare and digits <= 0.05 * bare
