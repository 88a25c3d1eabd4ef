"""Adding up: by day, model, session, project; what has no price stays visible."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest

from cost.conftest import MODEL, WHEN, Folder, line
from unspin import cost
from unspin.cost import Message, Report, Totals, Usage
from unspin.cost.totals import NO_DAY, Days


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def message(
    model: str = MODEL, when: str = WHEN, session: str = "a", project: str = "-shop", output: int = 10
) -> Message:
    return Message(when, model, Usage(output=output), session, project, "/shop", False, True)


def report(by: str, *messages: Message) -> Report:
    return cost.report(messages, cost.known_prices(), Report(by, UTC))


# -- totals ----------------------------------------------------------------------------


def test_nothing_costs_nothing() -> None:
    assert (Totals().cost, Totals().at_least) == (0, False)


def test_a_total_with_an_unknown_price_is_at_least_what_is_known() -> None:
    totals = Totals()
    totals.add(Usage(10), 0.5)
    totals.add(Usage(10), None)
    assert (totals.cost, totals.at_least, totals.messages, totals.input) == (0.5, True, 2, 20)


def test_a_total_of_unknown_prices_alone_is_unknown() -> None:
    totals = Totals()
    totals.add(Usage(10, 20), None)
    assert (totals.cost, totals.tokens, totals.as_mapping()["cost"]) == (None, 30, None)


def test_all_cache_writes_are_one_figure() -> None:
    totals = Totals()
    totals.add(Usage(1, 2, 3, 4, 5, 6), 0)
    assert totals.as_mapping() == {
        "messages": 1,
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_read_tokens": 3,
        "cache_write_tokens": 9,
        "web_searches": 6,
        "unended_messages": 0,
        "cost": 0,
        "cost_at_least": False,
    }


# -- reports ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        (cost.DAY, {"2026-05-04", "2026-05-05"}),
        (cost.MODEL, {MODEL, "odd"}),
        (cost.SESSION, {"a", "b"}),
        (cost.PROJECT, {"-shop", "-other"}),
    ],
)
def test_rows_are_of_what_is_asked_for_and_add_up_to_the_total(by: str, keys: set[str]) -> None:
    other = message("odd", "2026-05-05T01:00:00.000Z", "b", "-other", 30)
    found = report(by, message(), message(), other)
    assert found.rows.keys() == keys
    assert sum(row.totals.output for row in found.rows.values()) == found.total.output == 50
    assert found.unknown["odd"].output == 30 and found.unknown.keys() == {"odd"}


def test_a_row_knows_its_models_and_its_time() -> None:
    times = ("2026-05-04T12:00:00Z", "2026-05-03T12:00:00Z", "", "2026-05-05T12:00:00Z")
    row = report(cost.SESSION, *(message(when=each) for each in times), message("odd")).rows["a"]
    assert (row.first, row.last, row.models) == ("2026-05-03T12:00:00Z", "2026-05-05T12:00:00Z", {MODEL, "odd"})


# -- days ------------------------------------------------------------------------------


def test_days_are_those_of_this_machine(new_york: None) -> None:
    assert Days().of("2026-05-05T03:59:59.000Z") == "2026-05-04"
    assert Days().of("2026-05-05T04:00:00.000Z") == "2026-05-05"
    assert Days().of("2026-01-05T04:59:00.000Z") == "2026-01-04"  # winter


def test_days_are_those_of_a_zone_that_is_given(new_york: None) -> None:
    assert Days(UTC).of("2026-05-05T00:00:00.000Z") == "2026-05-05"
    assert Days(timezone(timedelta(hours=5, minutes=45))).of("2026-05-04T18:14:59Z") == "2026-05-04"
    assert Days(timezone(timedelta(hours=5, minutes=45))).of("2026-05-04T18:15:00Z") == "2026-05-05"


def test_times_in_other_zones_and_without_one_are_read() -> None:
    days = Days(UTC)
    assert [days.of("2026-05-05T01:00:00+02:00"), days.of("2026-05-05T01:00:00")] == ["2026-05-04", "2026-05-05"]


@pytest.mark.parametrize(
    "when", ["", "yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00Z", "9" * 5000, "\x1b[2J"]
)
def test_a_time_that_cannot_be_read_has_no_day(when: str, new_york: None) -> None:
    assert Days().of(when) == NO_DAY


# -- one session -----------------------------------------------------------------------


def test_one_session_is_itself_with_its_subagents(folder: Folder) -> None:
    path = folder.write("a.jsonl", line(output=100), line(output=200))
    folder.write("a/subagents/agent-1.jsonl", line("msg_2", output=1_000_000, isSidechain=True))
    folder.write("b.jsonl", line("msg_3"))
    totals = cost.of_session(str(path))
    assert (totals.messages, totals.output) == (2, 1_000_200)
    assert totals.cost == pytest.approx(20 * 5e-6 + 1_000_200 * 25e-6)


def test_a_forked_session_has_only_what_it_added(folder: Folder) -> None:
    path = folder.write("fork.jsonl", line(forkedFrom={"sessionId": "parent"}), line("msg_2"))
    assert cost.of_session(str(path)).messages == 1


def test_a_session_without_a_transcript_has_nothing(tmp_path: Path) -> None:
    assert cost.of_session(str(tmp_path / "gone.jsonl")).as_mapping()["messages"] == 0
