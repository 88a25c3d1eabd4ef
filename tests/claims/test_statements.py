"""What announces, what asks, and what is no claim at all: cases in text files, one a line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.claims import reconcile
from unspin.claims.statements import asks, statements

HERE = Path(__file__).parent


def _lines(name: str) -> list[str]:
    lines = (HERE / name).read_text("utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if line and not line.startswith("# ")]


def _pairs(name: str) -> list[tuple[str, str]]:
    return [(kind, text) for kind, _, text in (line.partition("\t") for line in _lines(name))]


ASKING = _pairs("asking.txt")


@pytest.mark.parametrize(("kind", "text"), ASKING)
def test_a_turn_that_stops_to_ask_is_not_re_prompted_for_what_it_announces(kind: str, text: str) -> None:
    verdict = reconcile(text, [])
    assert verdict.asking, kind
    assert not verdict.reprompt


def test_each_way_of_asking_has_cases() -> None:
    kinds = [kind for kind, _ in ASKING]
    assert {kind: kinds.count(kind) >= 5 for kind in set(kinds)} == dict.fromkeys(
        ("question", "conditional", "offer", "clarification", "blocked"), True
    )


@pytest.mark.parametrize(
    "asking",
    ["Which approach do you prefer?", "Let me know if you want more.", "I'm blocked: please send the key."],
)
def test_asking_does_not_cover_what_is_said_to_have_been_done(asking: str) -> None:
    verdict = reconcile(f"I confirmed the plan earlier. I have now deployed the changes. {asking}", [])
    assert verdict.asking
    assert [each.quote for each in verdict.unbacked] == ["I have now deployed the changes."]


@pytest.mark.parametrize(("about", "text"), _pairs("announcements.txt"))
def test_an_announcement_with_nothing_done_is_caught_at_the_end_of_a_turn(about: str, text: str) -> None:
    (found,) = reconcile(text, []).unbacked
    assert (found.kind, found.subject) == ("announced", about)


@pytest.mark.parametrize("text", _lines("silent.txt"))
def test_what_is_no_claim_is_left_alone(text: str) -> None:
    assert reconcile(text, []).unbacked == []


def test_an_announcement_far_from_the_end_is_none() -> None:
    later = "The parser reads a line. It keeps the rest. Then it stops. That is all there is to it."
    assert not reconcile(f"Let me look at the parser. {later}", []).reprompt


def test_the_person_is_asked_only_in_the_agents_own_words() -> None:
    assert asks("Which of the two?")
    assert asks("It’s done. Which of the two? I'll write it.")
    assert not asks('The page says "Ready to go?" and stops.')
    assert not asks("```\nconst ready = a ? b : c; // ready?\n```\nI'm running it now.")
    assert not asks("> Which one do you want?\n\nI'm running the tests now.")
    assert not asks("See https://example.org/search?q=a for it.")


def test_offsets_are_those_of_the_text_as_given() -> None:
    text = "Fine.\n\n**I have now deployed the changes**, and all is well."
    found = reconcile(text, []).unbacked[0]
    assert "deployed" in text[found.start : found.end]


@given(st.text(max_size=400))
def test_no_text_breaks_the_reading(text: str) -> None:
    for found in statements(text):
        assert 0 <= found.start <= found.end <= len(text)
    asks(text)


@given(
    st.lists(
        st.sampled_from(
            ["I'm ", "running ", "I've ", "updated ", "`a.py`", "now", ". ", "? ", "\n", "```\n", "İ", "’"]
        ),
        max_size=60,
    )
)
def test_no_mixture_of_claim_words_breaks_the_reading(words: list[str]) -> None:
    text = "".join(words)
    for found in reconcile(text, []).findings:
        assert 0 <= found.start <= found.end <= len(text)


@pytest.mark.parametrize(
    "unit",
    ["```\n", "I've updated ", "awaiting a ", "launching the ", "`", '"', "? ", "> ", "I am running tests, ", "İ"],
)
def test_reading_takes_time_linear_in_the_text(unit: str) -> None:
    def taken(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.perf_counter()
        reconcile(text, [])
        return time.perf_counter() - began

    taken(1_000)
    short = min(taken(20_000) for _ in range(2))
    assert taken(160_000) < max(8 * 4 * short, 0.5)
