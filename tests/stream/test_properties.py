"""What holds for any text: any split gives the same trip, without its repeat it is quiet, time and memory are bounded."""

from __future__ import annotations

import itertools
import random
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream.texts import honest, loops
from unspin.stream import StreamGuard, Trip, units
from unspin.stream.tail import KEPT, LONGEST_PERIOD, Tail
from unspin.stream.units import Measure

HONEST = dict(honest())
LOOPS = {name: text for name, text, _ in loops()}


def split(text: str, cuts: list[int]) -> list[str]:
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[begin:end] for begin, end in itertools.pairwise(places)]


def fed(pieces: list[str]) -> Trip | None:
    guard = StreamGuard()
    for piece in pieces:
        trip = guard.feed_content_delta(piece)
        if trip is not None:
            return trip
    return None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(LOOPS)), st.lists(st.integers(0, 20_000), max_size=40))
def test_any_split_of_a_loop_gives_the_same_trip(name: str, cuts: list[int]) -> None:
    text = LOOPS[name]
    assert fed(split(text, cuts)) == fed([text])


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_character_by_character_gives_the_same_trip(name: str) -> None:
    text = LOOPS[name]
    assert fed(list(text)) == fed([text]) is not None


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet="ab \nI.", min_size=1, max_size=30),
    st.integers(1, 60),
    st.text(max_size=80),
    st.lists(st.integers(0, 4_000), max_size=12),
)
def test_any_split_of_any_text_gives_the_same_trip(unit: str, times: int, rest: str, cuts: list[int]) -> None:
    text = rest + unit * times + rest
    assert fed(split(text, cuts)) == fed([text])


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=300), st.text(max_size=300))
def test_a_text_without_its_repeat_is_quiet(unit: str, rest: str) -> None:
    """Up to two whole repeats of anything short are no loop."""
    assert fed([rest + unit + rest]) is None
    assert fed([rest + unit * 2]) is None or len(set(unit)) == 1


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_a_loop_without_its_repeats_is_quiet(name: str) -> None:
    text = LOOPS[name]
    trip = fed([text])
    assert trip is not None
    assert fed([text[: trip.onset + trip.chars // 3]]) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(2, LONGEST_PERIOD), st.integers(0, 500), st.integers(0, 2**32))
def test_every_period_is_found_before_the_third_repeat_ends(period: int, before: int, seed: int) -> None:
    """Whatever the period: no unit keeps in step with the offsets that are looked at."""
    pick = random.Random(seed)
    unit = "".join(pick.choices("abcdefgh ", k=period))
    text = "".join(pick.choices("xyz", k=before)) + unit * (3 + 400 // period)
    tail = Tail(Measure(drift=False))
    assert tail.take(text) is None or period < 20
    assert tail._period and period % tail._period == 0


# -- time and memory -----------------------------------------------------------------------

SIZE = 40_000


def fibonacci() -> str:
    one, two = "a", "ab"
    while len(two) < SIZE:
        one, two = two, two + one
    return two[:SIZE]


def thue_morse() -> str:
    return "".join("ab"[number.bit_count() % 2] for number in range(SIZE))


def de_bruijn(letters: str = "abcd", order: int = 8) -> str:
    """Return every word of ``order`` letters once, overlapping."""
    count, word, made = len(letters), [0] * len(letters) * order, []

    def extend(at: int, period: int) -> None:
        if at > order:
            if order % period == 0:
                made.extend(word[1 : period + 1])
            return
        word[at] = word[at - period]
        extend(at + 1, period)
        for letter in range(word[at - period] + 1, count):
            word[at] = letter
            extend(at + 1, at)

    extend(1, 1)
    return "".join(letters[letter] for letter in made)[:SIZE]


def almost_loops() -> str:
    """Return thousands of texts that stand there twice, and not a third time."""
    pick, out = random.Random(3), []
    unit = "".join(pick.choices("abcdefgh ", k=4_000))
    while sum(map(len, out)) < SIZE:
        part = unit[: pick.randint(20, 2_000)]
        out.append(part * 2 + pick.choice("xyz"))
    return "".join(out)


WORST: dict[str, Callable[[], str]] = {
    "Fibonacci": fibonacci,
    "Thue-Morse": thue_morse,
    "de Bruijn": de_bruijn,
    "almost loops": almost_loops,
    "a^n b": lambda: "".join("a" * number + "b" for number in range(1, 300))[:SIZE],
    "a^63 b": lambda: ("a" * 63 + "b") * (SIZE // 64),
    "a^2999 b": lambda: ("a" * 2_999 + "b") * (SIZE // 3_000),
    "a^n": lambda: "a" * SIZE,
    "two letters": lambda: "".join(random.Random(5).choices("ab", k=SIZE)),
    "four lines": lambda: "".join(
        random.Random(5).choices(["x = 1\n", "y = 2\n", "if a:\n", "    pass\n"], k=SIZE // 6)
    ),
    "sayings": lambda: "".join(random.Random(5).choices(["I'm done.\n", "I'll stop.\n", "Wait.\n"], k=SIZE // 9)),
}


class Endless(Tail):
    """A tail that never trips, so that all of a text is read."""

    __slots__ = ()

    def _judge(self, at: int) -> None:
        super()._judge(at)
        self._limit = max(self._limit, at + 1)
        self.due = max(self.due, 16)


def lines_run(text: str) -> int:
    """Count the lines of our code that run while a text is read in pieces of 16 characters."""
    tail = Endless(Measure())
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)
    try:
        for at in range(0, len(text), 16):
            tail.take(text[at : at + 16])
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("name", WORST)
def test_what_nobody_writes_costs_what_honest_text_does(name: str) -> None:
    """Each line of our code does a bounded amount of work: it looks at no more than ``KEPT`` characters."""
    text = WORST[name]()
    half, whole = lines_run(text[: len(text) // 2]), lines_run(text)
    assert whole < 2.4 * half + 2_000, "twice the text, twice the work"
    prose = HONEST["prose 0"]
    assert whole / len(text) < 6 * lines_run(prose) / len(prose)


@pytest.mark.parametrize(
    "piece", ["ab", ".a", "a-", "\n", " ", "({[\n", "a, b", "1a", '"', "\\n", "\u6211", "a/", "<", "W"]
)
def test_what_repeats_is_read_in_time_linear_in_its_length(piece: str) -> None:
    """Patterns run outside of our lines: a word of four thousand letters took one of them 0.1 s."""

    def taken(size: int) -> float:
        unit = piece * (size // len(piece)) + "a b"
        began = time.process_time()
        units.limits(unit, False, Measure())
        return time.process_time() - began

    taken(1_000)
    assert taken(80_000) < max(8 * 4 * min(taken(10_000) for _ in range(2)), 0.5)


def state(guard: StreamGuard) -> int:
    """Count the characters that a guard holds, in whatever holds them."""
    seen: dict[int, object] = {}
    left: list[object] = [guard]
    while left:
        held = left.pop()
        if id(held) in seen or held is None or isinstance(held, type):
            continue
        seen[id(held)] = held
        if isinstance(held, dict):
            left += [*held.keys(), *held.values()]
        elif isinstance(held, (list, tuple, set)):
            left += held
        else:
            left += [
                getattr(held, name, None) for kind in type(held).__mro__ for name in getattr(kind, "__slots__", ())
            ]
    return sum(len(held) for held in seen.values() if isinstance(held, str))


def test_a_guard_holds_at_most_64_000_characters() -> None:
    guard, pick = StreamGuard(), random.Random(2)
    most = 0
    for _ in range(2_000):
        delta = "".join(pick.choices("abcdefghijklmnopqrstuvwxyz ", k=50))
        guard.feed_content_delta(delta)
        guard.feed_reasoning_delta(delta)
        guard.feed_tool_arguments_delta(delta)
        most = max(most, state(guard))
    assert 3 * KEPT < most <= 64_000


def test_a_delta_of_a_megabyte_is_read_in_bounded_steps() -> None:
    text = "".join(random.Random(4).choices("abcdefgh ", k=300_000))
    guard = StreamGuard()
    assert guard.feed_content_delta(text) is None
    assert state(guard) <= 64_000
