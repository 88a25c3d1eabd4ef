"""``unspin cost``: what it shows, what scripts get, and what it says to a wrong command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cost.conftest import MODEL, Folder, line
from unspin.cli import costing
from unspin.cost import BY

ONE, TWO = "3eb2d320-0000-4000-8000-000000000001", "3eb2d320-0000-4000-8000-000000000002"


@pytest.fixture
def sessions(folder: Folder) -> Folder:
    """Two sessions of two days, one of them with a subagent and a model that has no price."""
    folder.write(f"{ONE}.jsonl", line(output=1_000_000))
    folder.write(f"{ONE}/subagents/agent-1.jsonl", line("msg_2", model="my-model", output=500, isSidechain=True))
    later = {"timestamp": "2026-05-06T12:00:00.000Z", "cwd": "/other"}
    folder.write(f"{TWO}.jsonl", line("msg_3", **later), project="-other")
    return folder


def document(unspin: Any, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(unspin("cost", "--json", "--utc", *arguments).output)
    return found


def test_other_commands_do_not_load_what_reads_transcripts() -> None:
    code = "import sys, unspin.cli.costing, unspin.cost; print('msgspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# -- json ------------------------------------------------------------------------------


def test_scripts_get_one_document(sessions: Folder, unspin: Any) -> None:
    found = document(unspin)
    assert found.keys() == {"prices_dated", "by", "total", "rows", "unknown_models", "skipped_lines", "unread_files"}
    assert found["total"] == {
        "messages": 3,
        "input_tokens": 30,
        "output_tokens": 1_000_600,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "web_searches": 0,
        "unended_messages": 0,
        "cost": pytest.approx(25 + 100 * 25e-6 + 20 * 5e-6),
        "cost_at_least": True,
    }
    assert [(row["day"], row["messages"], row["cost_at_least"]) for row in found["rows"]] == [
        ("2026-05-04", 2, True),
        ("2026-05-06", 1, False),
    ]
    (unknown,) = found["unknown_models"]
    assert (unknown["model"], unknown["output_tokens"], unknown["cost"]) == ("my-model", 500, None)


@pytest.mark.parametrize("by", BY)
def test_rows_add_up_whatever_they_are_of(sessions: Folder, unspin: Any, by: str) -> None:
    found = document(unspin, "--by", by)
    assert sum(row["output_tokens"] for row in found["rows"]) == found["total"]["output_tokens"]
    assert all(by in row for row in found["rows"])


def test_the_command_offers_what_a_report_can_do() -> None:
    choice = next(each for each in costing.cost.params if each.name == "by").type
    assert tuple(choice.choices) == BY  # type: ignore[attr-defined]


def test_a_row_of_an_unknown_model_has_no_cost(sessions: Folder, unspin: Any) -> None:
    rows = {row["model"]: row["cost"] for row in document(unspin, "--by", "model")["rows"]}
    assert rows == {MODEL: pytest.approx(25.0026), "my-model": None}


def test_sessions_are_told_with_their_project_and_time(sessions: Folder, unspin: Any) -> None:
    row = document(unspin, "--by", "session")["rows"][0]
    assert (row["session"], row["project"], row["folder"]) == (ONE, "-shop", "/shop")
    assert row["models"] == [MODEL, "my-model"] and row["first"].startswith("2026-05-04")


def test_skipped_lines_and_unread_files_are_told(sessions: Folder, unspin: Any) -> None:
    sessions.write("x.jsonl", '{"type":"assistant","message":{"usage":{"output_tokens"')
    broken = sessions.write("y.jsonl.gz", "no gzip")
    found = document(unspin)
    assert (found["skipped_lines"], found["unread_files"]) == (1, [str(broken)])


# -- which -----------------------------------------------------------------------------


def test_one_session_is_shown_by_model(sessions: Folder, unspin: Any) -> None:
    found = document(unspin, ONE)
    assert found["by"] == "model" and found["total"]["messages"] == 2


def test_a_session_is_found_by_how_it_begins_where_that_is_enough(sessions: Folder, unspin: Any) -> None:
    assert document(unspin, ONE[:-1] + "1")["total"]["messages"] == 2
    told = unspin("cost", "3eb2", status=1).output
    assert "2 sessions begin with 3eb2" in told and ONE in told and TWO in told
    assert "no session with a transcript begins with nope" in unspin("cost", "nope", status=1).output


def test_a_session_with_a_whole_id_that_others_begin_with_is_found(folder: Folder, unspin: Any) -> None:
    folder.write("a.jsonl", line())
    folder.write("ab.jsonl", line("msg_2"))
    assert document(unspin, "a")["total"]["messages"] == 1


def test_a_forked_session_costs_what_it_added(folder: Folder, unspin: Any) -> None:
    folder.write("parent.jsonl", line(output=100))
    folder.write("fork.jsonl", line(output=100, forkedFrom={"sessionId": "parent"}), line("msg_2", output=7))
    assert document(unspin, "fork")["total"]["output_tokens"] == 7
    assert document(unspin, "parent")["total"]["output_tokens"] == 100
    assert document(unspin)["total"]["output_tokens"] == 107


@pytest.mark.parametrize(
    ("since", "days"),
    [("2026-05-04", 2), ("2026-05-05", 1), ("2026-05-06", 1), ("2026-05-07", 0), ("1900-01-01", 2), ("99999w", 2)],
)
def test_since_takes_a_day(sessions: Folder, unspin: Any, since: str, days: int) -> None:
    assert len(document(unspin, "--since", since)["rows"]) == days


@pytest.mark.parametrize(("since", "messages"), [("30m", 1), ("3h", 2), ("2d", 3), ("1w", 3)])
def test_since_takes_a_time_that_has_passed(folder: Folder, unspin: Any, since: str, messages: int) -> None:
    for number, hours in enumerate((0.1, 2, 30)):
        when = (datetime.now(UTC) - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        folder.write(f"{number}.jsonl", line(f"msg_{number}", timestamp=when))
    assert document(unspin, "--since", since)["total"]["messages"] == messages


def test_files_that_were_left_before_are_not_read(folder: Folder, unspin: Any) -> None:
    path = folder.write("old.jsonl.gz", "this would be told")
    os.utime(path, (time.time() - 90000,) * 2)
    assert document(unspin, "--since", "1d")["unread_files"] == []
    assert document(unspin, "--since", "2d")["unread_files"] == [str(path)]


@pytest.mark.parametrize(
    "since", ["yesterday", "7", "d", "-7d", "2026-13-01", "7 d", "٧d", "\x1b[31m", "1e3d", "01.11.2026"]
)
def test_a_date_that_is_none_is_told_with_what_is_expected(folder: Folder, unspin: Any, since: str) -> None:
    told = unspin("cost", "--since", since, status=2).output
    assert "such as 2026-11-01 or a time such as 24h" in " ".join(told.split()) and "\x1b" not in told


def test_files_and_folders_can_be_named(sessions: Folder, unspin: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.jsonl"
    elsewhere.write_text(json.dumps(line("msg_9")) + "\n")
    assert document(unspin, "--path", str(elsewhere))["total"]["messages"] == 1
    assert document(unspin, "--path", str(elsewhere), "--path", str(sessions.root))["total"]["messages"] == 4
    assert "there is no file or folder" in unspin("cost", "--path", "/none/such", status=2).output


def test_a_wrong_grouping_is_a_wrong_command_line(unspin: Any) -> None:
    unspin("cost", "--by", "moon", status=2)


def test_an_empty_or_missing_folder_is_no_mistake(unspin: Any, folder: Folder) -> None:
    assert document(unspin)["total"]["cost"] == 0
    assert unspin("cost").output.startswith("No model message was found: there is no folder of transcripts")
    folder.write("a.jsonl")
    assert unspin("cost").output.startswith("No model message was found: 1 transcript in ")


# -- what people see -------------------------------------------------------------------


def test_the_table_has_a_row_for_each_day_and_a_total(sessions: Folder, unspin: Any) -> None:
    told = unspin("cost", "--utc").output
    lines = told.splitlines()
    assert lines[0].split() == ["day", "messages", "input", "output", "cache", "write", "cache", "read", "cost"]
    assert lines[1].split() == ["2026-05-04", "2", "20", "1,000,500", "0", "0", "$25.00+"]
    assert lines[3].split()[0] == "total" and lines[3].split()[-1] == "$25.00+"
    assert "no price is known for my-model: 1 message, 510 tokens" in told
    assert "list prices as of 20" in told


def test_what_costs_less_than_a_cent_is_not_shown_as_nothing(sessions: Folder, unspin: Any) -> None:
    assert "$0.0026" in unspin("cost", TWO).output


def test_a_row_whose_price_is_not_known_says_so(sessions: Folder, unspin: Any) -> None:
    row = next(each for each in unspin("cost", ONE).output.splitlines() if each.startswith("my-model"))
    assert row.split()[-1] == "unknown"


@pytest.mark.parametrize("columns", [30, 60, 80, 200])
@pytest.mark.parametrize("by", BY)
def test_the_table_fits_the_terminal_as_far_as_that_can_be(
    sessions: Folder, unspin: Any, monkeypatch: pytest.MonkeyPatch, columns: int, by: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    told = unspin("cost", "--by", by).output
    assert "$25.00" in told
    assert max(map(len, told.splitlines())) <= max(columns, 76)


def test_output_that_the_client_did_not_write_down_is_told(folder: Folder, unspin: Any) -> None:
    folder.write("a.jsonl", line(output=1, stop=None), line(output=1, stop=None), line("msg_2"))
    assert document(unspin)["total"]["unended_messages"] == 1
    assert "more than is told: the client did not write the end of 1 message\n" in unspin("cost").output


def test_what_transcripts_say_cannot_move_the_terminal(folder: Folder, unspin: Any) -> None:
    evil = "\x1b[2J\x1b]0;x\x07\nclaude"
    folder.write("\x1b[31mx.jsonl", line(model=evil, cwd=f"/{evil}", timestamp=evil, request=evil, message=evil))
    for by in BY:
        assert "\x1b" not in unspin("cost", "--by", by).output.replace("\x1b[0m", "")
        assert "\x07" not in unspin("cost", "--by", by).output


def test_a_mistake_in_the_own_prices_is_one_line(folder: Folder, own_home: Path, unspin: Any) -> None:
    path = own_home / "config" / "unspin" / "prices.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[models."x"]\ninput = 1\n')
    told = unspin("cost", status=1).output
    assert told.count("\n") == 1 and "output is missing" in told


def test_an_own_price_makes_an_unknown_model_known(sessions: Folder, own_home: Path, unspin: Any) -> None:
    path = own_home / "config" / "unspin" / "prices.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[models."my-*"]\ninput = 1\noutput = 1_000\n')
    found = document(unspin)
    assert found["unknown_models"] == [] and found["total"]["cost"] == pytest.approx(25.5027, abs=1e-3)
