"""Pages opened in a headless Chromium: nothing is asked of a network, nothing is complained of, nothing from a log acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scan import browser, logs
from unspin.cost.prices import Prices, shipped
from unspin.guard import Settings
from unspin.scan import report
from unspin.scan.source import Source

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A browser, started once; where there is none, or it does not start here, the test is skipped."""
    if not browser.found():
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    try:
        started = browser.Browser(tmp_path_factory.mktemp("profile"))
    except (AssertionError, OSError) as error:
        pytest.skip(f"Chromium does not start here: {error}")
    with started:
        yield started


def written(folder: Path, *sessions: list[Any]) -> str:
    found = []
    for number, lines in enumerate(sessions):
        path = logs.write(folder / f"{number}.jsonl", lines)
        found += report.collect(Source(str(path)), Settings(), prices=Prices(shipped()))[1]
    page = folder / "report.html"
    page.write_text(report.page(found, made="now", prices_dated="2026-05-01"), "utf-8")
    return page.as_uri()


def quiet(chromium: browser.Browser, url: str) -> None:
    assert chromium.complaints() == []
    assert chromium.requests() == [url]


def session() -> list[Any]:
    compaction = [{"event": "compaction", "done": done, "time": logs.at(400)} for done in (False, True)]
    context = {"event": "context", "tokens": 50_000, "window": 200_000}
    return [logs.began(), logs.said("Fix a.py.", 1), context, *logs.loop(5), *compaction, *logs.check(500, passes=True)]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_is_drawn_without_a_request_or_a_complaint(
    chromium: browser.Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    url = written(tmp_path, session())
    chromium.look(width, dark=dark, narrow=width < 400)
    chromium.open(url)
    quiet(chromium, url)
    assert "2 lines of unspin, 2 only logged" in chromium.ask("document.getElementById('verdict').textContent")
    assert chromium.ask("document.documentElement.scrollWidth") <= width, "it is wider than the window"
    drawn = "new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)"
    assert chromium.ask(f"new Set({drawn}).size") > 20


def test_money_is_shown_where_the_log_tells_no_tokens(chromium: browser.Browser, tmp_path: Path) -> None:
    url = written(tmp_path, [{**logs.began(), "cwd": "/"}, *logs.paid_loop()])
    chromium.look(1280)
    chromium.open(url)
    told = chromium.ask("document.body.innerText")
    assert chromium.ask("document.getElementById('title').textContent") == logs.began()["session"]
    for part in ("as the log says", ", $", " · $"):
        assert part in told, part
    assert "0 tokens" not in told
    quiet(chromium, url)


def test_hostile_texts_are_shown_as_text(chromium: browser.Browser, tmp_path: Path) -> None:
    url = written(tmp_path, logs.hostile(), session())
    chromium.look(1280)
    chromium.open(url)
    for row in range(12):
        chromium.ask(f"document.querySelectorAll('.row')[{row}]?.click()")
    quiet(chromium, url)
    assert "</script><img src=x onerror=" in chromium.ask("document.getElementById('asked').textContent")
    assert chromium.ask("document.querySelectorAll('img, iframe, a[href^=http], object, embed').length") == 0
    assert chromium.ask("document.querySelectorAll('script:not([type])').length") == 1


def test_markup_made_of_text_is_an_error_in_the_page(chromium: browser.Browser, tmp_path: Path) -> None:
    chromium.open(written(tmp_path, session()))
    tried = (
        "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'made' } catch (error) { return error.name } })()"
    )
    assert chromium.ask(tried) == "TypeError"


def test_of_10_000_events_few_are_elements(chromium: browser.Browser, tmp_path: Path) -> None:
    url = written(tmp_path, logs.long(10_000))
    chromium.look(1280)
    chromium.open(url)
    quiet(chromium, url)
    assert chromium.ask("document.querySelectorAll('*').length") < 1500
    chromium.ask("document.getElementById('list').scrollTop = 200000")
    chromium.wait(
        lambda: chromium.ask("Number(document.querySelector('.row')?.getAttribute('aria-posinset')) || 0") > 6000
    )
    assert chromium.ask("document.querySelectorAll('.row').length") < 60


def test_the_timeline_and_the_list_work_with_the_keyboard(chromium: browser.Browser, tmp_path: Path) -> None:
    url = written(tmp_path, session())
    chromium.look(1280)
    chromium.open(url)
    chosen = "document.getElementById('detail').textContent"
    chromium.ask("document.getElementById('canvas').focus()")
    chromium.keys("n")
    assert "loop (3 failing edits" in chromium.ask(chosen)
    chromium.keys("ArrowLeft", "+", "-", "0")
    assert "pytest" in chromium.ask(chosen)
    chromium.ask("document.getElementById('list').focus()")
    chromium.keys("End")
    assert "passed" in chromium.ask(chosen)
    chromium.keys("Home")
    assert "Fix a.py." in chromium.ask(chosen)
    assert chromium.ask("document.getElementById('list').getAttribute('aria-activedescendant')") == "row-0"
    quiet(chromium, url)


def test_filters_axes_and_sessions_can_be_chosen(chromium: browser.Browser, tmp_path: Path) -> None:
    url = written(tmp_path, session(), [logs.began("other"), logs.said("Something else.", 1), *logs.loop(3, "b.py")])
    chromium.look(1280)
    chromium.open(url)
    chromium.ask("document.getElementById('by-time').click()")
    assert chromium.ask("document.getElementById('by-time').getAttribute('aria-pressed')") == "true"
    chromium.ask(
        "{ const f = document.getElementById('filter'); f.value = '3'; f.dispatchEvent(new Event('change')); }"
    )
    assert chromium.ask("document.getElementById('count').textContent").startswith("5 of ")
    assert chromium.ask("document.querySelectorAll('#sessions tbody tr').length") == 2
    chromium.ask("document.querySelectorAll('#sessions tbody button')[1].click()")
    assert "Something else." in chromium.ask("document.getElementById('asked').textContent")
    quiet(chromium, url)


def test_sessions_are_named_by_as_much_of_their_ids_as_tells_them_apart(
    chromium: browser.Browser, tmp_path: Path
) -> None:
    several = [[logs.began(f"django__django-1{number}"), *logs.loop(5)] for number in (1, 2)]
    chromium.open(written(tmp_path, *several))
    named = "[...document.querySelectorAll('#sessions button')].map((each) => each.textContent)"
    assert chromium.ask(named) == ["django__django-11", "django__django-12"]
