"""The guard as its callers see it: trips, channels, settings, what was asked for."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from stream.texts import ENOUGH, honest, loops
from unspin.stream import StreamConfig, StreamGuard, Trip
from unspin.stream.guard import quoted

LINE = "I'll send it now, as I said.\n"


def fed(text: str, config: StreamConfig | None = None, step: int = 4_000) -> Trip | None:
    """Feed a text to the content channel, piece by piece; return the trip."""
    guard = StreamGuard(config)
    for at in range(0, len(text), step):
        trip = guard.feed_content_delta(text[at : at + step])
        if trip is not None:
            return trip
    return None


@pytest.mark.parametrize(("name", "text"), list(honest()), ids=lambda value: value if len(value) < 60 else "")
def test_honest_text_is_left_alone(name: str, text: str) -> None:
    assert fed(text) is None


@pytest.mark.parametrize(
    ("name", "text", "onset"), list(loops()), ids=lambda value: value if len(str(value)) < 60 else ""
)
def test_a_loop_is_caught_soon_after_it_began(name: str, text: str, onset: int) -> None:
    trip = fed(text)
    assert trip is not None
    assert onset < trip.offset <= onset + ENOUGH[name]
    assert trip.offset == trip.onset + trip.chars


def test_source_and_docs_on_this_machine_are_left_alone() -> None:
    """The standard library, installed packages and their metadata: 300 files and more wherever this runs."""
    folders = [
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        "/usr/share/common-licenses",
        "/usr/include",
    ]
    tripped, seen = [], 0
    for folder in folders:
        taken = 0
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in (".py", ".pyi", ".h", ".json", ".txt", ".md", ".rst", ".js", ".html", ".toml", "") and (
                path.is_file() and 500 < path.stat().st_size < 400_000 and taken < 150
            ):
                head = path.read_bytes()[:1_000]
                if b"\0" in head:
                    continue
                taken += 1
                text = path.read_text("utf-8", "replace")
                if fed(text, step=100_000) is not None:
                    tripped.append(str(path))
        seen += taken
    assert seen >= 200
    assert tripped == []


def test_escapes_in_arguments_are_judged_as_what_they_stand_for() -> None:
    """A flood of line breaks in a file that is being written stands there as text of JSON."""
    for begin in ('{"content": "', '{"content": "x'):  # wherever the looks fall between a backslash and its letter
        guard = StreamGuard()
        trip = guard.feed_tool_arguments_delta(begin + "\\n" * 20_000)
        assert trip is not None
        assert (trip.kind, trip.repeats) == ("run", 1_600)
        assert trip.onset == len(begin)


def test_a_trip_says_what_repeated_how_often_and_where() -> None:
    before = "The total is computed in one pass;\n"
    trip = fed(before + LINE * 30)
    assert trip is not None
    assert trip.as_mapping() == {
        "channel": "content",
        "kind": "talk",
        "unit": '"I\'ll send it now, as I said."',
        "repeats": 8,
        "chars": 8 * len(LINE),
        "onset": len(before) - 1,  # the line break before it is part of the loop
        "offset": len(before) - 1 + 8 * len(LINE),
    }
    assert str(trip) == 'the content repeated "I\'ll send it now, as I said." 8 times'


def test_it_stays_tripped_until_reset() -> None:
    guard = StreamGuard()
    trip = guard.feed_content_delta(LINE * 30)
    assert trip is not None
    assert guard.feed_content_delta("All is well.") is trip
    assert guard.feed_reasoning_delta("x") is trip
    assert guard.feed_tool_arguments_delta("{}", 3) is trip
    guard.reset()
    assert guard.trip is None
    assert guard.feed_content_delta("All is well.") is None


def test_each_channel_has_a_text_of_its_own() -> None:
    guard = StreamGuard()
    for _ in range(7):
        assert guard.feed_content_delta(LINE) is None
        assert guard.feed_reasoning_delta(LINE) is None
        assert guard.feed_tool_arguments_delta(LINE) is None


def test_reasoning_and_tool_arguments_trip_only_on_what_is_egregious() -> None:
    offsets = []
    for name in ("content", "reasoning", "tool_arguments"):
        feed = getattr(StreamGuard(), f"feed_{name}_delta")
        trip = feed(LINE * 100)
        assert trip is not None
        assert trip.channel == name.replace("_", " ")
        offsets.append(trip.repeats)
    assert offsets == [8, 24, 32]


def test_calls_of_tools_are_texts_of_their_own() -> None:
    guard = StreamGuard()
    for call in range(200):
        assert guard.feed_tool_arguments_delta('{"path": "src/price.py", "what": "I need this file"}', call) is None


def test_repeats_that_overlap_are_not_counted() -> None:
    unit = "Let me look at it again, I said. "
    trip = fed(unit * 40)
    assert trip is not None
    assert trip.repeats * len(unit) <= trip.chars < (trip.repeats + 1) * len(unit)


def test_what_stands_between_repeats_ends_the_run() -> None:
    text = "".join(LINE * 6 + f"Then file {number} was read and changed.\n" for number in range(3))
    assert fed(text) is None


def test_a_fence_that_is_never_closed_hides_no_loop() -> None:
    text = "Here it is:\n```python\nx = 1\n"
    assert fed(text + LINE * 12) is None
    trip = fed(text + LINE * 30)
    assert trip is not None and trip.repeats == 16
    assert fed(text + "".join(f"Wait, I should check item {number}... Done.\n" for number in range(200))) is not None


def test_three_repeats_of_a_short_line_are_no_loop() -> None:
    assert fed("Wait, I should check item 1... Done. Sent.\n" * 3 + "x" * 100) is None


@pytest.mark.parametrize("period", [17, 61, 64, 79, 128, 500, 1_024, 3_000, 4_000])
def test_periods_up_to_four_thousand_characters_are_found(period: int) -> None:
    unit = ("I went on and said that " + " ".join(f"word{number}" for number in range(2_000)))[:period]
    trip = fed("Some words before it. " + unit * (12_000 // period + 40))
    assert trip is not None
    assert trip.repeats == trip.chars // period


def test_a_text_that_was_asked_for_may_repeat() -> None:
    asked = StreamConfig(expected_repetition="I will not talk in class.")
    lines = "".join(f"{number}. I will not talk in class!\n" for number in range(900))
    assert fed(lines) is not None
    assert fed(lines, asked) is None
    assert fed(lines, asked, step=7) is None
    assert fed(lines + LINE * 40, asked) is not None, "another text may not"
    assert fed("=" * 9_000, StreamConfig(expected_repetition="=")) is None


def test_a_number_of_characters_that_was_asked_for_is_let_through() -> None:
    config = StreamConfig(expected_repetition=2_000)
    trip = fed(LINE * 200, config)
    assert trip is not None and trip.chars == 2_000
    assert fed(LINE * 60, config) is None
    assert fed(LINE * 900, StreamConfig(expected_repetition=True)) is None


def test_what_was_asked_for_can_change_with_a_reset() -> None:
    guard = StreamGuard()
    guard.reset(expected_repetition=True)
    assert guard.feed_content_delta(LINE * 99) is None
    guard.reset()
    assert guard.feed_content_delta(LINE * 99) is None, "it stays"
    guard.reset(expected_repetition=False)
    assert guard.feed_content_delta(LINE * 99) is not None


def test_a_guard_that_is_off_says_nothing_and_holds_nothing() -> None:
    guard = StreamGuard(StreamConfig(enabled=False))
    assert guard.feed_content_delta(LINE * 99) is None
    assert guard.feed_reasoning_delta(LINE * 99) is None
    assert guard.feed_tool_arguments_delta(LINE * 99) is None
    assert guard._content.pending == ""


def test_a_channel_can_be_left_out() -> None:
    guard = StreamGuard(StreamConfig(reasoning=False))
    assert guard.feed_reasoning_delta(LINE * 999) is None
    assert guard.feed_content_delta(LINE * 99) is not None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"content": 0}, "content is 0; expected a number from 1"),
        ({"content": float("inf")}, "content is inf; expected"),
        ({"reasoning": -3}, "reasoning is -3; expected"),
        ({"tool_arguments": True}, "tool_arguments is True; expected"),
        ({"content": "2"}, "content is '2'; expected"),
        ({"enabled": 1}, "enabled is 1; expected True or False"),
        ({"drift": None}, "drift is None; expected True or False"),
        ({"expected_repetition": ""}, "expected_repetition is an empty text"),
        ({"expected_repetition": -1}, "expected_repetition is -1; expected"),
        ({"expected_repetition": 0}, "expected_repetition is 0; expected"),
        ({"expected_repetition": 2.5}, "expected_repetition is 2.5; expected"),
    ],
)
def test_a_value_that_is_no_setting_is_refused_with_what_was_expected(given: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        StreamConfig(**given)  # type: ignore[arg-type]


def test_what_is_quoted_is_one_short_line() -> None:
    text = quoted('a "b"\n\x1b[31m\u202e' + "c" * 500 + "\ud800")
    assert text == "\"a 'b' [31m " + "c" * 66 + '..."'
    assert quoted("\n\n") == '"\N{OPEN BOX}"'


def test_importing_the_guard_loads_no_sdk() -> None:
    import subprocess

    code = (
        "import sys, unspin.stream, unspin.stream.wrappers, unspin.stream.recovery;"
        "print([name for name in ('openai', 'anthropic', 'boto3', 'botocore', 'google.genai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_piece_without_text_is_nothing() -> None:
    guard = StreamGuard()
    assert guard.feed_content_delta(None) is None and guard.feed_content_delta("") is None
    assert guard.feed_reasoning_delta(None) is None and guard.feed_tool_arguments_delta(None) is None
    while guard.trip is None:
        guard.feed_content_delta("I will send it now. ")
    assert guard.feed_content_delta(None) is guard.trip
