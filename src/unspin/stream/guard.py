"""The stream guard: one tail for each channel of a stream, and the trip that stays until ``reset``.

Knows no provider: ``wrappers`` feeds it, ``recovery`` says what to do after a trip.
"""

from __future__ import annotations

import re

from unspin.stream import units
from unspin.stream.config import StreamConfig
from unspin.stream.tail import Tail
from unspin.stream.units import Measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.stream.tail import Loop

CONTENT, REASONING, TOOL_ARGUMENTS = "content", "reasoning", "tool arguments"

_LONGEST_UNIT = 80
#: Characters that could break out of a line or out of sight.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\U000e0000-\U000e007f]+"
)
_NOT_LETTERS = re.compile(r"[\W\d_]+")


class Trip:
    """Where one channel of a stream degenerated, and what it repeated.

    Attributes:
        channel: ``"content"``, ``"reasoning"`` or ``"tool arguments"``.
        unit: what repeated, quoted, on one line, shortened to 80 characters. Of a loop that drifts: its last line.
        repeats: how often the whole unit stood there, one after the other; 0 for a loop that drifts.
        chars: length of the looped part so far.
        onset: offset, in characters of the channel, where the loop began.
        offset: offset at which it was too much: the same however the text was cut into deltas.
        kind: what repeats: talk, sentence, words, lines, code, numbers, symbols, run, drift.
    """

    __slots__ = ("channel", "chars", "kind", "offset", "onset", "repeats", "unit")

    def __init__(self, channel: str, unit: str, repeats: int, chars: int, onset: int, kind: str):
        self.channel = channel
        self.unit = unit
        self.repeats = repeats
        self.chars = chars
        self.onset = onset
        self.offset = onset + chars
        self.kind = kind

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain data, for a log."""
        return {
            name: getattr(self, name) for name in ("channel", "kind", "unit", "repeats", "chars", "onset", "offset")
        }

    def __str__(self) -> str:
        if not self.repeats:
            return f"the {self.channel} went in circles for {self.chars} characters: {self.unit}"
        return f"the {self.channel} repeated {self.unit} {self.repeats} times"

    def __repr__(self) -> str:
        return f"Trip({', '.join(f'{name}={value!r}' for name, value in self.as_mapping().items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trip) and self.as_mapping() == other.as_mapping()

    def __hash__(self) -> int:
        return hash(tuple(self.as_mapping().values()))


class LoopTripped(Exception):
    """A watched stream degenerated and was closed. What came of it is to be thrown away.

    Attributes:
        trip: where, and what it repeated.
    """

    def __init__(self, trip: Trip):
        super().__init__(str(trip))
        self.trip = trip


class StreamGuard:
    """Tells when a stream degenerates: give it every delta of the stream, and close the stream when it answers.

        guard = StreamGuard()
        for delta in stream:
            if trip := guard.feed_content_delta(delta):
                break

    One guard watches one response; ``reset`` makes it ready for the next. It holds at most 64,000 characters.
    """

    __slots__ = ("_arguments", "_call", "_config", "_content", "_expected", "_off", "_reasoning", "trip")

    def __init__(self, config: StreamConfig | None = None):
        self._config = config or StreamConfig()
        self._off = not self._config.enabled
        self.trip: Trip | None = None
        self.reset(expected_repetition=self._config.expected_repetition)

    def reset(self, *, expected_repetition: bool | int | str | None = None) -> None:
        """Forget the text and the trip. What the person asked for stays, unless it is given anew."""
        if expected_repetition is not None:
            self._expected = StreamConfig(expected_repetition=expected_repetition).expected_repetition
        config = self._config
        self.trip = None
        self._call: object = None
        self._content = self._channel(config.content, drift=config.drift)
        self._reasoning = self._channel(config.reasoning, drift=config.drift)
        self._arguments = self._channel(config.tool_arguments, drift=False)

    def feed_content_delta(self, delta: str | None) -> Trip | None:
        """Take the next piece of the answer's text; return the trip if it degenerates here, or has before."""
        if self._off:
            return None
        tail = self._content
        tail.pending = pending = tail.pending + (delta or "")  # providers send pieces without text
        return self._look(tail, CONTENT) if len(pending) >= tail.due or self.trip else None

    def feed_reasoning_delta(self, delta: str | None) -> Trip | None:
        """The same for the model's reasoning, which is judged more loosely."""
        if self._off:
            return None
        tail = self._reasoning
        tail.pending = pending = tail.pending + (delta or "")  # providers send pieces without text
        return self._look(tail, REASONING) if len(pending) >= tail.due or self.trip else None

    def feed_tool_arguments_delta(self, delta: str | None, call: object = None) -> Trip | None:
        """The same for the arguments of a tool call; with another ``call`` than before, a new text begins."""
        if self._off:
            return None
        if call != self._call and not self.trip:
            self._call = call
            self._arguments = self._channel(self._config.tool_arguments, drift=False)
        tail = self._arguments
        tail.pending = pending = tail.pending + (delta or "")  # providers send pieces without text
        return self._look(tail, TOOL_ARGUMENTS) if len(pending) >= tail.due or self.trip else None

    # -- the rest ----------------------------------------------------------------------

    def _channel(self, looseness: float | bool, *, drift: bool) -> Tail:
        expected = self._expected
        if looseness is False or expected is True:
            return _Deaf()
        chars = 0 if isinstance(expected, (bool, str)) else expected
        return Tail(Measure(float(looseness), drift=drift, expected=chars))

    def _look(self, tail: Tail, channel: str) -> Trip | None:
        if self.trip is not None:
            tail.pending = ""
            return self.trip
        loop = tail.look()
        while loop is not None and self._is_expected(loop):
            loop = tail.go_on()
        if loop is not None:
            unit = quoted(units.whole(loop.unit) if loop.repeats else loop.unit)
            self.trip = Trip(channel, unit, loop.repeats, loop.chars, loop.onset, loop.kind)
        return self.trip

    def _is_expected(self, loop: Loop) -> bool:
        return isinstance(self._expected, str) and _says(self._expected, loop.unit)


class _Deaf(Tail):
    """A channel that is not listened to."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Measure(drift=False))

    def look(self) -> Loop | None:
        self.pending = ""
        return None


def quoted(text: str) -> str:
    """Return a text on one line, without what could break out of it, shortened, in quotes."""
    text = _UNSEEN.sub(" ", text[: 4 * _LONGEST_UNIT])
    text = " ".join(text.split()) or "\N{OPEN BOX}"
    if len(text) > _LONGEST_UNIT:
        text = text[: _LONGEST_UNIT - 3] + "..."
    return '"' + text.replace('"', "'") + '"'


def _says(asked: str, unit: str) -> bool:
    """Tell whether a unit repeats nothing but what was asked for: numbers, marks and white space aside."""
    short, said = _NOT_LETTERS.sub("", asked).casefold(), _NOT_LETTERS.sub("", unit).casefold()
    if not said or not short:
        short, said = asked, unit
    return said in short * (len(said) // len(short) + 2)
