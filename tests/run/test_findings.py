"""What reviewers write, and the verdict that code makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.run.findings import READY, REVISE, SHIP, Finding, Review, ReviewError, merge, read


def objection(claim: str = "no test for the empty cart", **given: Any) -> dict[str, Any]:
    return {"id": "F1", "severity": "major", "blocking": True, "location": "cart.py:3", "claim": claim, **given}


def review(verdict: str, *findings: dict[str, Any], reviewer: str = "one", turn: int = 1) -> Review:
    return read(json.dumps({"verdict": verdict, "findings": list(findings)}).encode(), reviewer, turn=turn)


def test_a_stage_ends_where_all_agree_and_nothing_blocks() -> None:
    assert merge("design", [review(READY), review(READY)]).verdict == READY
    assert merge("code", [review(SHIP, objection(blocking=False))]).verdict == SHIP


@pytest.mark.parametrize(
    ("stage", "reviews"),
    [
        ("design", [review(READY), review(REVISE)]),
        ("design", [review(READY, objection())]),
        ("design", [review(SHIP)]),
        ("code", [review(READY)]),
        ("code", []),
    ],
)
def test_anything_else_is_revise(stage: str, reviews: list[Review]) -> None:
    assert merge(stage, reviews).verdict == REVISE


def test_a_failed_check_blocks() -> None:
    failed = Finding("check", "critical", True, "pytest -q", "2 tests fail: test_a, test_b")
    verdict = merge("code", [review(SHIP)], [failed])
    assert verdict.verdict == REVISE and verdict.open == [failed]


def test_a_check_that_goes_on_failing_is_the_same_finding_whatever_fails_in_it() -> None:
    def failed(words: str, turn: int) -> list[Finding]:
        return [Finding("check-test", "critical", True, "pytest -q", words, reviewer="checks", since=turn)]

    first = merge("code", [review(SHIP)], failed("2 tests fail: test_a, test_b", 3))
    second = merge("code", [review(SHIP)], failed("1 test fails: test_a", 4), first.open)
    assert [(each.id, each.since, each.claim) for each in second.open] == [("check-test", 3, "1 test fails: test_a")]
    assert not second.resolved and not second.returned, "it is the same finding, and not word for word"
    third = merge("code", [review(SHIP)], failed("1 test fails: test_a", 5), second.open)
    assert [each.id for each in third.returned] == ["check-test"]
    assert [each.id for each in merge("code", [review(SHIP)], [], third.open).resolved] == ["check-test"]


def test_findings_keep_their_identity_from_turn_to_turn() -> None:
    first = merge("design", [review(REVISE, objection(id="A7"), objection("name it better", id="A8"))])
    again = merge(
        "design", [review(REVISE, objection("no  test for\nthe empty cart", id="B1"), turn=2)], earlier=first.open
    )
    assert [(each.id, each.since) for each in again.open] == [("A7", 1)]
    assert [each.claim for each in again.resolved] == ["name it better"]
    assert [each.id for each in again.returned] == ["A7"]


def test_two_reviewers_that_number_alike_are_told_apart() -> None:
    verdict = merge("design", [review(REVISE, objection()), review(REVISE, objection("else"), reviewer="two")])
    assert sorted(each.id for each in verdict.open) == ["F1", "F1-2"]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"LGTM, ship it!", "no JSON"),
        (b'{"verdict": "ship", "findings": [', "no JSON"),
        (b"[]", "is a list"),
        (b'{"verdict": "approve", "findings": []}', "expected one of ready, ship, revise"),
        (b'{"verdict": "ship"}', "findings is no list"),
        (b'{"verdict": "ship", "findings": ["x"]}', "findings[0] is a str"),
        (json.dumps({"verdict": "revise", "findings": [objection(severity="huge")]}).encode(), "severity is 'huge'"),
        (json.dumps({"verdict": "revise", "findings": [objection(blocking="yes")]}).encode(), "blocking is 'yes'"),
        (json.dumps({"verdict": "revise", "findings": [objection(claim=" ")]}).encode(), "claim is ' '"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_no_findings(data: bytes, says: str) -> None:
    with pytest.raises(ReviewError, match=says.replace("[", r"\[").replace("]", r"\]")):
        read(data, "one")


@given(data=st.binary(max_size=200))
def test_whatever_it_holds_it_is_read_or_an_error(data: bytes) -> None:
    try:
        assert read(data, "one").verdict in (READY, SHIP, REVISE)
    except ReviewError as error:
        assert str(error)


def test_a_key_that_is_there_twice_leaves_open_what_was_meant() -> None:
    for text in (
        '{"verdict": "revise", "verdict": "ship", "findings": []}',
        '{"verdict": "ship", "findings": [1], "findings": []}',
    ):
        with pytest.raises(ReviewError, match="twice"):
            read(text.encode(), "one")
