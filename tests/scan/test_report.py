"""The page of a session: what is in it, and that nothing from a log can act in it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from scan import logs
from unspin.cost.prices import Prices, shipped
from unspin.guard import Settings
from unspin.scan import report
from unspin.scan.scanning import Scanned, scan
from unspin.scan.source import Source

MADE = "2026-05-06 12:00 UTC"
PRICES = Prices(shipped())


def collected(path: Path) -> list[dict[str, Any]]:
    return report.collect(Source(str(path)), Settings(), prices=PRICES)[1]


def page_of(path: Path) -> str:
    return report.page(collected(path), made=MADE, prices_dated="2026-05-01")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    lines = [
        logs.began(),
        logs.said("Fix a.py.", 1),
        *logs.loop(4),
        logs.said("Go on.", 100),
        *logs.check(110, passes=True),
    ]
    return logs.write(tmp_path / "small.jsonl", lines)


class Seen(HTMLParser):
    """What a parser of HTML makes of a page: its elements, its scripts, its policy."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self._within = ""
        self._attributes: dict[str, str | None] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._within, self._attributes = tag, dict(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        elif tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._within == "style":
            self.styles[-1] += data

    @property
    def policy(self) -> str:
        return next(attrs["content"] or "" for _, attrs in self.elements if "http-equiv" in attrs)

    def data(self) -> list[dict[str, Any]]:
        return [json.loads(text) for attrs, text in self.scripts if attrs.get("data-kind") == "session"]


# -- what is in it ---------------------------------------------------------------------


def test_the_page_holds_what_happened_in_order(small: Path) -> None:
    (session,) = Seen(page_of(small)).data()
    assert session["kinds"] == "m" + "ecececs" + "l" + "ec" + "m" + "c"
    assert session["outcomes"] == "." + ".f.f.f." + "." + ".f" + "." + "p"
    assert session["checks"] == {"passed": 1, "failed": 4, "unknown": 0}
    assert (session["edits"], session["calls"], session["messages"]) == (4, 9, 2)
    assert session["first"] == "Fix a.py."
    assert [session["texts"][at] for at in session["labels"]][1:3] == ["edit a.py", "pytest"]
    assert session["times"][0] == 0 and session["times"][-1] == session["lasted"] == 109


def test_detections_stand_with_their_evidence_and_what_came_after(small: Path) -> None:
    (session,) = Seen(page_of(small)).data()
    said, logged = session["found"]
    assert (said["rule"], said["response"], logged["response"]) == ("failing_edits", "nudge", "none")
    assert said["message"].startswith('Unspin: loop (3 failing edits on "a.py"')
    assert {session["kinds"][each["row"]] for each in said["evidence"]} == {"e", "c"}
    assert session["calls"] - said["calls"] == 3
    assert session["tokens"] - said["tokens"] == 1000 and session["dollars"] > said["dollars"] > 0


def test_the_detections_and_sums_are_those_of_scan(small: Path) -> None:
    (session,) = collected(small)
    result = scan(Source(str(small)), Settings(), prices=PRICES)
    (scanned,) = result.sessions
    assert [each["message"] for each in session["found"]] == [each.message for each in scanned.found]
    assert session["tokens"] == scanned.tokens and session["dollars"] == pytest.approx(scanned.dollars)


def test_a_model_without_a_price_is_told_beside_what_has_one(tmp_path: Path) -> None:
    lines = [logs.began(), logs.said("x", 1), logs.used(2), logs.used(3, 70, "no-such-model")]
    (session,) = collected(logs.write(tmp_path / "a.jsonl", lines))
    assert session["dollars"] == pytest.approx(25) and session["unpriced"] == 70
    assert [row["model"] for row in session["models"]] == ["claude-opus-4-6", "no-such-model"]


def test_a_message_that_is_repeated_counts_once_and_with_its_most_output(tmp_path: Path) -> None:
    first = {**logs.used(2, 10), "id": "m1"}
    (session,) = collected(
        logs.write(tmp_path / "a.jsonl", [logs.began(), first, {**first, "output_tokens": 30}, first])
    )
    assert session["tokens"] == 30 and session["models"][0]["messages"] == 1


def test_what_the_last_message_used_is_in_the_curve(tmp_path: Path) -> None:
    lines = [logs.began(), *logs.edit("x", 5), logs.used(6, 40), *logs.edit("y", 7), logs.used(9, 60)]
    (session,) = collected(logs.write(tmp_path / "a.jsonl", lines))
    assert session["used_tokens"] == [0, 100] and sum(session["used_dollars"]) == round(session["dollars"] * 1e6)


def test_compactions_and_the_size_of_the_context_are_there(tmp_path: Path) -> None:
    compaction = [{"event": "compaction", "done": done} for done in (False, True)]
    lines = [logs.began(), {"event": "context", "tokens": 900}, *logs.edit("x", 5), *compaction, *logs.edit("y", 9)]
    (session,) = collected(logs.write(tmp_path / "a.jsonl", lines))
    assert session["kinds"].replace("s", "").replace("l", "") == "eke" and session["compactions"] == 1
    assert session["contexts"] == [0, 900]


def test_a_log_of_turns_alone_makes_a_page(tmp_path: Path) -> None:
    turns = [{"event": "tests_run", "run": "a", "turn": turn, "failing_tests": ["x"]} for turn in (1, 2)]
    (session,) = collected(logs.write(tmp_path / "a.jsonl", turns))
    assert session["kinds"][:2] == "nn" and session["found"][0]["rule"] == "rot"


def test_secrets_are_taken_out(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    call = {"event": "tool", "tool": "Bash", "command": f"curl -H 'Authorization: Bearer {secret}' x", "exit_code": 0}
    lines = [logs.began(), logs.said(f"use {secret}", 1), call, {"event": "round_end"}]
    assert secret not in page_of(logs.write(tmp_path / "a.jsonl", lines))


def test_the_home_folder_is_not_in_the_page(own_home: Path) -> None:
    folder = own_home / "shop"
    folder.mkdir()
    path = logs.write(folder / "a.jsonl", [{**logs.began(), "cwd": str(folder)}, logs.said("x", 1)])
    page = page_of(path)
    assert str(own_home) not in page and f"~{os.sep}shop" in page


# -- nothing acts ----------------------------------------------------------------------


def test_hostile_texts_stay_inside_the_data(tmp_path: Path, small: Path) -> None:
    page = page_of(logs.write(tmp_path / "hostile.jsonl", logs.hostile()))
    seen, plain = Seen(page), Seen(page_of(small))
    assert [tag for tag, _ in seen.elements] == [tag for tag, _ in plain.elements]
    assert [text for attrs, text in seen.scripts if not attrs] == [text for attrs, text in plain.scripts if not attrs]
    (session,) = seen.data()
    assert "</script><img src=x onerror=" in session["first"]
    for attrs, text in seen.scripts:
        if attrs:
            assert not re.search("[<>&\u2028\u2029]", text) and text.isascii()


def test_characters_that_hide_or_turn_text_are_taken_out(tmp_path: Path) -> None:
    (session,) = collected(logs.write(tmp_path / "hostile.jsonl", logs.hostile()))
    texts = [session["first"], session["id"], session["how"], *session["texts"], *session["details"].values()]
    for text in texts:
        assert not re.search("[\u0000-\u001f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)


def test_a_lone_surrogate_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"event": "message", "text": "bad \\ud800 half"}\n')
    report.page(collected(path), made=MADE).encode("utf-8")


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(small: Path) -> None:
    seen = Seen(page_of(small))
    (script,) = [text for attrs, text in seen.scripts if not attrs]
    (style,) = seen.styles
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    directives = dict(each.strip().partition(" ")[::2] for each in seen.policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == f"'sha256-{hashes[0]}'" and directives["style-src"] == f"'sha256-{hashes[1]}'"
    assert directives["img-src"] == "data:" and directives["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in seen.policy and "http" not in seen.policy


def test_the_page_names_no_address_and_makes_no_markup_of_data(small: Path) -> None:
    page = re.sub("sha256-[^']*", "", page_of(small))
    assert not re.search(r"(?:https?:)?//[a-z0-9]", page, re.IGNORECASE)
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"):
        assert way not in page
    for tag, attrs in Seen(page).elements:
        assert not any(name.startswith("on") or name == "style" for name in attrs), tag
        assert not (attrs.get("src") or (attrs.get("href") or "#").lstrip("#dat:,").startswith("/")), tag


# -- the same, and large ---------------------------------------------------------------


def test_the_same_session_makes_the_same_page(small: Path) -> None:
    first, second = page_of(small), page_of(small)
    assert first == second
    other = report.page(collected(small), made="another time", prices_dated="2026-05-01")
    assert other.replace("another time", MADE) == first


def test_a_page_of_10_000_events_is_small(tmp_path: Path) -> None:
    path = logs.write(tmp_path / "long.jsonl", logs.long(10_000))
    page = page_of(path)
    (session,) = Seen(page).data()
    assert session["entries"] > 10_000 and len(session["kinds"]) == session["entries"]
    assert len(page) < 800_000  # 0.6 MB, says docs/report.md


def test_what_is_over_the_bounds_is_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_ENTRIES", 20)
    monkeypatch.setattr(report, "MOST_FOUND", 1)
    lines = [
        logs.began(),
        logs.said("x", 0),
        *logs.loop(3),
        logs.said("y", 80),
        *logs.loop(3, start=90),
        *logs.loop(9, "b.py", 200),
    ]
    (session,) = collected(logs.write(tmp_path / "a.jsonl", lines))
    assert len(session["kinds"]) == 20 < session["entries"]
    assert len(session["found"]) == 1 < session["noticed"]
    assert session["calls"] == 30


def test_sessions_in_which_nothing_happened_are_left_out(tmp_path: Path) -> None:
    path = logs.write(tmp_path / "a.jsonl", [logs.began("one"), logs.began("two"), logs.said("x", 1)])
    assert [each["id"] for each in collected(path)] == ["two"]


def test_broken_lines_are_counted(small: Path) -> None:
    small.write_text(small.read_text() + "{\n[1]\n")
    (session,) = collected(small)
    assert session["problems"] == 2


def test_the_recorded_sessions_make_pages(shared: Path) -> None:
    folder = shared / "corpora" / "claude_code"
    paths = sorted(folder.glob("*.jsonl.gz"), key=lambda path: path.stat().st_size)
    for path in [*paths[:3], *paths[-3:]]:
        result, sessions = report.collect(Source(str(path)), Settings(), prices=PRICES)
        scanned: Scanned = result.sessions[0]
        (session,) = sessions
        assert sum(session["kinds"].count(kind) for kind in "ecrvqgo") == scanned.tool_calls
        assert Seen(report.page(sessions, made=MADE)).data() == [json.loads(json.dumps(session))]
