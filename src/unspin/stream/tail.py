"""Whether a text ends in a loop: one channel of a stream, looked at every few characters.

Everything is decided at fixed offsets of the whole text, so how it was cut into deltas makes
no difference. Bounded: at most ``KEPT`` characters of the text and ``LONGEST_PERIOD`` in pieces
are remembered, and a look costs the same whatever the text.

How a period is found: pieces of ``PIECE`` characters that begin at multiples of ``PIECE`` are
remembered with where they stood last, and before that. Where a text repeats itself, one of
the ``PIECE`` windows with which it ends stood one period before. Such a candidate is then
compared character by character, so that nothing rests on a hash. From then on each look only
compares what is new with what stood one period before it.

How much of a loop is too much is not decided here (``units``), nor whether a text goes in
circles without one (``drift``).
"""

from __future__ import annotations

from unspin.stream import units
from unspin.stream.drift import Drift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.stream.units import Measure

LONGEST_PERIOD = 6_144
KEPT = 2 * LONGEST_PERIOD + 1_024  # characters of the text that are remembered; the last is let go at a time
PIECE = 16

_STEP = 64  # characters between two looks, give or take _SWAY: no period may keep in step with the looks
_SWAY = 15
_SLOTS = LONGEST_PERIOD // PIECE + 8  # pieces that are remembered
_FEWEST = 3  # repeats of any unit that may be too much
_SHORT = 64  # a period whose smallest one is asked for at once
WITHOUT_LIMIT = 10**12
_CANDIDATES = 6  # periods that are tried at one look


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
    """The end of one channel's text.

    Feed it by adding to ``pending`` and calling ``look`` once that is ``due`` characters long.
    """

    __slots__ = (
        "_at",
        "_begin",
        "_drift",
        "_fenced",
        "_heads",
        "_kind",
        "_limit",
        "_measure",
        "_names",
        "_older",
        "_period",
        "_run",
        "_text",
        "due",
        "pending",
    )

    def __init__(self, measure: Measure):
        self.pending = ""  # taken and not looked at yet
        self.due = _STEP
        self._measure = measure
        self._text = ""  # what is remembered
        self._begin = 0  # the offset of its first character
        self._at = 0  # the offset of its end
        self._heads: dict[str, int] = {}  # a piece: the number of its newest place
        self._older = [-1] * _SLOTS  # a place's number, modulo _SLOTS: the place before it of the same piece
        self._names = [""] * _SLOTS  # the same: the piece
        self._period = 0  # of the loop that is under way, 0 for none
        self._run = 0  # the offset at which it began
        self._kind = ""
        self._limit = 0  # the offset from which on it is too much
        self._fenced = False  # inside a fence of code
        self._drift = Drift(measure) if measure.drift else None

    def take(self, delta: str) -> Loop | None:
        """Take the next characters; return the loop that they complete, if they do."""
        self.pending += delta
        return self.look() if len(self.pending) >= self.due else None

    @property
    def seen(self) -> int:
        """Characters taken so far."""
        return self._at + len(self.pending)

    def look(self) -> Loop | None:
        """Look at the text at every offset that is due."""
        pending = self.pending
        total, done = len(pending), 0
        while total - done >= self.due:
            size = self.due
            chunk = pending[done : done + size]
            done += size
            loop = self._step(chunk, size)
            if loop is not None:
                self.pending = pending[done:]
                return loop
        self.pending = pending[done:]
        return None

    def go_on(self) -> Loop | None:
        """Let the loop that was just returned pass; look at what is left."""
        self._limit = WITHOUT_LIMIT
        self.due = _STEP
        if self._drift is not None:
            self._drift = Drift(self._measure, self._at)
        return self.look() if len(self.pending) >= self.due else None

    def _step(self, chunk: str, size: int) -> Loop | None:
        """Take a chunk whose end is an offset at which the text is looked at."""
        begin = self._begin
        at = self._at + size
        self._at = at
        text = self._text
        self._text = ""  # so that the text is held once, and grows in its place
        text += chunk
        if len(text) > KEPT:
            begin = self._begin = at - 2 * LONGEST_PERIOD
            text = text[begin - at :]
        self._text = text
        new = text[-size - 2 :]  # with what may be the beginning of a fence
        if "```" in new and new.count("```") % 2:
            self._fenced = not self._fenced

        end = at - begin
        period = self._period
        if period:  # it goes on, or is over
            if end >= size + period and text.endswith(text[end - size - period : end - period]):
                self._remember(text, begin, at, size)
                return self._judge(at)
            self._period = period = 0
        known = self._known(text, end)
        hit = known >= 0
        self._remember(text, begin, at, size)
        if hit:
            self._find(text, begin, at, known)
            if self._period:
                return self._judge(at)
        self.due = _STEP + (at * 7 & _SWAY)
        drift = self._drift
        if drift is not None and drift.step(hit, text, at, self._fenced):
            unit, onset = drift.found()
            return Loop(unit, 0, onset, at - onset, units.DRIFT)
        return None

    def _known(self, text: str, end: int) -> int:
        """Return where the last window with which the text ends begins that is a known piece; -1 where none is."""
        heads = self._heads
        for start in range(end - PIECE, max(end - 2 * PIECE, -1), -1):
            if text[start : start + PIECE] in heads:
                return start
        return -1

    def _remember(self, text: str, begin: int, at: int, size: int) -> None:
        """Remember the pieces that are complete now."""
        heads, older, names = self._heads, self._older, self._names
        last = at // PIECE
        first = (at - size) // PIECE
        start = first * PIECE - begin
        for number in range(first, last):
            piece = text[start : start + PIECE]
            start += PIECE
            slot = number % _SLOTS
            name = names[slot]
            if heads.get(name) == number - _SLOTS:
                del heads[name]
            older[slot] = heads.get(piece, -1)
            names[slot] = piece
            heads[piece] = number

    # -- periods -----------------------------------------------------------------------

    def _find(self, text: str, begin: int, at: int, known: int) -> None:
        """Find the period with which the text ends, if it does twice at least."""
        heads, older = self._heads, self._older
        end = at - begin
        oldest = max(at // PIECE - _SLOTS, -(-begin // PIECE))
        tried: set[int] = set()
        for start in range(known, max(end - 2 * PIECE, -1), -1):
            number = heads.get(text[start : start + PIECE], -1)
            while number >= oldest:
                period = begin + start - number * PIECE
                if period > 0 and 2 * period <= end and period not in tried:
                    tried.add(period)
                    if text.endswith(text[end - _SHORT - period : end - period]) and text.endswith(
                        text[end - 2 * period : end - period]
                    ):
                        self._begin_loop(period, text, at)
                        return
                    if len(tried) >= _CANDIDATES:
                        return
                number = older[number % _SLOTS]

    def _begin_loop(self, period: int, text: str, at: int) -> None:
        """Note the loop with which the text ends. What costs more is done once it stands there three times."""
        if 1 < period <= _SHORT:
            unit = text[-period:]
            period = (unit + unit).find(unit, 1)
        self._period = period
        self._run = at - _reach(text, period)
        self._kind = ""
        self._limit = self._run + _FEWEST * period

    def _judge(self, at: int) -> Loop | None:
        """Return the loop under way if it is too much already; else say when to look again."""
        if at >= self._limit and not self._kind:
            self._weigh(at)
        left = self._limit - at
        if left > 0:
            self.due = min(left, _STEP)
            return None
        period, chars = self._period, at - self._run
        return Loop(self._text[-period:], chars // period, self._run, chars, self._kind)

    def _weigh(self, at: int) -> None:
        """Find what repeats, and from which offset on it is too much."""
        text, period = self._text, self._period
        unit = text[-period:]
        smallest = (unit + unit).find(unit, 1)
        if smallest < period:
            self._period = period = smallest
            self._run = min(self._run, at - _reach(text, period))
            unit = text[-period:]
        start = max(self._run - self._begin, 0)
        before = text[max(start - units.BEFORE, 0) : start]
        self._kind, repeats, chars = units.limits(unit, self._fenced, self._measure, before)
        self._limit = self._run + max(repeats * period, chars)


def _reach(text: str, period: int) -> int:
    """Return how many characters at the end have the period: found by doubling, then by halving."""
    end = len(text)
    low, high = period, 2 * period
    while high <= end - period and text.endswith(text[end - high - period : end - period]):
        low, high = high, 2 * high
    high = min(high, end - period)
    while low < high:
        middle = (low + high + 1) // 2
        if text.endswith(text[end - middle - period : end - period]):
            low = middle
        else:
            high = middle - 1
    return low + period
