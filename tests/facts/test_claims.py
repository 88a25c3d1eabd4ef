"""What of an agent's text is a claim: cases in claim_vectors.txt, offsets, and that reading stays linear."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.claims import Claim, claims

VECTORS = Path(__file__).with_name("claim_vectors.txt")


def _cases() -> list[tuple[str, str]]:
    lines = [line for line in VECTORS.read_text("utf-8").splitlines() if line and not line.startswith("# ")]
    return [(expected, text.replace("\\n", "\n")) for expected, _, text in (line.partition("\t") for line in lines)]


def _told(claim: Claim) -> str:
    count = f":{claim.count}" if claim.count is not None else ""
    return f"{claim.kind}:{claim.subject}:{claim.verb}{count}"


@pytest.mark.parametrize(("expected", "text"), _cases())
def test_of_a_text_what_it_claims(expected: str, text: str) -> None:
    found = " + ".join(_told(claim) for claim in claims(text))
    assert (found or "none") == expected


def test_the_cases_are_many() -> None:
    cases = _cases()
    assert len([text for expected, text in cases if expected == "none"]) >= 150
    assert len([text for expected, text in cases if expected != "none"]) >= 120


def test_offsets_are_those_of_the_text_as_given() -> None:
    text = "Done.\n\n- **All 12 tests pass** (unit).\n- lint is clean\n"
    first, second = claims(text)
    assert text[first.start : first.end] == "All 12 tests pass"
    assert text[: first.stop].endswith("(unit).")
    assert text[second.start : second.end] == "lint is clean"
    assert text[second.stop :] == "\n"
    assert first.quote == "**All 12 tests pass** (unit)."


def test_a_sentence_over_two_lines_is_one() -> None:
    text = "I went over the whole module again, found nothing more, and all tests\npass now. Good."
    (claim,) = claims(text)
    assert text[claim.start : claim.end] == "all tests\npass"
    assert text[: claim.stop].endswith("pass now.")


def test_the_part_that_a_claim_is_about_is_told() -> None:
    assert claims("All crypto tests pass.")[0].scope == ("crypto",)
    assert claims("All tests pass.")[0].scope == ()
    assert claims("All tests pass.")[0].whole
    assert not claims("Tests pass.")[0].whole
    assert claims("The tests in `tests/test_a.py` pass.")[0].scope == ("tests/test_a.py",)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The pre-commit hooks ran, and all tests pass.", "hook"),
        ("CI is green: all tests pass.", "ci"),
        ("All tests pass on GitHub.", "ci"),
        ("All tests pass.", ""),
    ],
)
def test_checks_that_run_elsewhere_are_marked(text: str, place: str) -> None:
    assert [claim.place for claim in claims(text)] == [place]


def test_after_a_section_of_plans_claims_count_again() -> None:
    text = "## Next steps\n\n- tests pass\n\n### Later\n\n- lint clean\n\n## Done\n\nAll tests pass.\n"
    assert [_told(claim) for claim in claims(text)] == ["check:test:pass"]


def test_after_a_list_of_plans_claims_count_again() -> None:
    text = "Next steps:\n- tests pass on Windows\n\nThe work here is done. All tests pass."
    assert [_told(claim) for claim in claims(text)] == ["check:test:pass"]


@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    for claim in claims(text):
        assert 0 <= claim.start < claim.end <= claim.stop <= len(text)


@given(
    st.lists(
        st.sampled_from(
            ["All tests pass", ". ", "\n", "- ", "**", "`a.py`", "Updated ", "(", ")", "12/12", " and ", "lint clean",
             "```\n", "> ", "| ", "[x] ", '"', ":", "—", " if ", "?", "## Next\n", "\t", "    ", "é", "✅"]
        ),
        max_size=40,
    )
)  # fmt: skip
def test_no_mixture_of_its_own_words_breaks_it(parts: list[str]) -> None:
    text = "".join(parts)
    for claim in claims(text):
        assert 0 <= claim.start < claim.end <= claim.stop <= len(text)


@pytest.mark.parametrize(
    "unit",
    ["All tests pass. ", "all tests ", "`", '"', "(", "<!--", "<pre>", "- [x] ", "**", "tests, ", "1/", "> ", "a.", "# ",
     "Updated `a.py`, ", "\n", "the ", "] (", "http://", "'x ", "e.g. ", "…", "|", "```\n", "pass pass "],
)  # fmt: skip
def test_reading_is_linear_in_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = unit * (size // len(unit))
        started = time.perf_counter()
        claims(text)
        return time.perf_counter() - started

    seconds(2000)
    small, large = min(seconds(40_000) for _ in range(2)), min(seconds(160_000) for _ in range(2))
    assert large < 9 * small + 0.6
