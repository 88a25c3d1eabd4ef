"""Whether a text ends in a loop: one channel of a stream, looked at every few characters.

Everything is decided at fixed offsets of the whole text, so how it was cut into deltas
makes no difference. Bounded: at most ``KEPT`` characters are remembered, and each look
costs the same whatever the text.

How a period is found: pieces of ``_PIECE`` characters that begin at multiples of ``_PIECE``
are remembered with their offsets. Where a text repeats, one of the last pieces stood one
period before. A candidate is then compared character by character, so that nothing rests
on a hash.
"""

from __future__ import annotations

from unspin.stream import units
from unspin.stream.novelty import Novelty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.stream.units import Leniency

KEPT = 24_000  # characters of the text that are remembered
LONGEST_PERIOD = 6_000

_PIECE = 16
_STEP = 64  # characters between two looks
_FINE = 16  # the same while a loop may be under way
_PIECES = KEPT // _PIECE
_PLACES = 3  # newest offsets of a piece that are remembered


class Loop:
    """A loop at the end of a text: what repeats, how often, where it began, how much of it there is."""

    __slots__ = ("chars", "kind", "onset", "repeats", "unit")

    def __init__(self, unit: str, repeats: int, onset: int, chars: int, kind: str):
        self.unit = unit
        self.repeats = repeats
        self.onset = onset
        self.chars = chars
        self.kind = kind


class Tail:
    """The end of one channel's text."""

    __slots__ = (
        "_begin",
        "_leniency",
        "_next",
        "_novelty",
        "_pending",
        "_period",
        "_pieces",
        "_run",
        "_text",
        "seen",
    )

    def __init__(self, leniency: Leniency):
        self.seen = 0  # characters taken so far
        self._leniency = leniency
        self._pending = ""
        self._next = _STEP  # the offset of the next look
        self._text = ""  # what is remembered; its first character is at ``_begin``
        self._begin = 0
        self._pieces: dict[str, tuple[int, ...]] = {}
        self._period = 0  # of the loop that is under way, 0 for none
        self._run = 0  # the offset at which it began
        self._novelty = Novelty(leniency)

    def take(self, delta: str) -> Loop | None:
        """Take the next characters; return the loop that they complete, if they do."""
        self._pending += delta
        self.seen += len(delta)
        if self.seen < self._next:
            return None
        return self._look()

    def _look(self) -> Loop | None:
        """Look at the text at every offset that is due."""
        pending, at = self._pending, self.seen - len(self._pending)
        done = 0
        while at + (len(pending) - done) >= self._next:
            size = self._next - at
            chunk = pending[done : done + size]
            done += size
            at += size
            self._append(chunk, at)
            loop = self._judge(at)
            if loop is not None:
                return loop
            self._next = at + (_FINE if self._period else _STEP - at % _STEP)
        self._pending = pending[done:]
        return None

    def _append(self, chunk: str, at: int) -> None:
        text = self._text + chunk
        if len(text) > KEPT:
            text = text[-KEPT:]
            self._begin = at - KEPT
        self._text = text
        pieces, begin = self._pieces, self._begin
        first = -(-(at - len(chunk) - _PIECE + 1) // _PIECE) * _PIECE
        for offset in range(max(first, -(-begin // _PIECE) * _PIECE), at - _PIECE + 1, _PIECE):
            piece = text[offset - begin : offset - begin + _PIECE]
            known = pieces.pop(piece, ())
            if not known or known[-1] != offset:
                known = (*known[1 - _PLACES :], offset) if len(known) >= _PLACES else (*known, offset)
            pieces[piece] = known
        while len(pieces) > _PIECES:
            del pieces[next(iter(pieces))]

    # -- periods -----------------------------------------------------------------------

    def _judge(self, at: int) -> Loop | None:
        if self._period and not self._goes_on(at):
            self._period = 0
        if not self._period:
            self._find(at)
        if self._period:
            loop = self._verdict(at)
            if loop is not None:
                return loop
        found = self._novelty.look(self._text, at)
        if found is None:
            return None
        begin, line = found
        return Loop(line, 0, begin, at - begin, "drift")

    def _goes_on(self, at: int) -> bool:
        """Tell whether the loop under way holds up to here."""
        size = min(len(self._text) - self._period, _STEP + _FINE)
        return size > 0 and self._text[-size:] == self._text[-size - self._period : -self._period]

    def _find(self, at: int) -> None:
        """Find the period with which the text ends, if it does twice at least."""
        text, begin, pieces = self._text, self._begin, self._pieces
        end = len(text)
        if end < 2 * _PIECE:
            return
        tried = set()
        for back in range(_PIECE):
            start = end - _PIECE - back
            if start <= 0:
                break
            for offset in reversed(pieces.get(text[start : start + _PIECE], ())):
                period = begin + start - offset
                if 0 < period <= LONGEST_PERIOD and period not in tried:
                    tried.add(period)
                    if 2 * period <= end and text[end - period :] == text[end - 2 * period : end - period]:
                        self._period = self._smallest(period)
                        self._run = at - self._reach()
                        return
                if len(tried) >= 2 * _PLACES:
                    return

    def _smallest(self, period: int) -> int:
        """Return the smallest period of which ``period`` is a multiple here."""
        unit = self._text[-period:]
        return min(period, (unit + unit).find(unit, 1)) if period > 1 else period

    def _reach(self) -> int:
        """Return how many characters at the end have the period: found by doubling, then by halving."""
        text, period = self._text, self._period
        end = len(text)
        low, high = period, 2 * period
        while high <= end - period and text[end - high :] == text[end - high - period : end - period]:
            low, high = high, 2 * high
        high = min(high, end - period)
        while low < high:
            middle = (low + high + 1) // 2
            if text[end - middle :] == text[end - middle - period : end - period]:
                low = middle
            else:
                high = middle - 1
        return low + period

    def _verdict(self, at: int) -> Loop | None:
        chars = at - self._run
        repeats = chars // self._period
        if repeats < 3:
            return None
        unit = self._text[-self._period :]
        before = self._text[: max(0, len(self._text) - chars)]
        kind = units.egregious(unit, repeats, chars, before, self._leniency)
        return Loop(unit, repeats, self._run, chars, kind) if kind else None
