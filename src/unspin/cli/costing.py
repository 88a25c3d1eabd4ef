"""The command that counts: cost. It reads transcripts and changes nothing.

What it needs is loaded when it runs: the other commands have no use for it.
"""

from __future__ import annotations

import json
import os
import re
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len

from unspin.cli import common, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unspin import cost as counting
    from unspin.cost.totals import Row

DAY, MODEL, SESSION, PROJECT = "day", "model", "session", "project"

_SPANS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_SPAN = re.compile(r"([0-9]{1,6})([mhdw])")
_NAMED = 5  # sessions or files named in one message
_SHORT = 8  # characters of a session's id shown
_HEADS = ("messages", "input", "output", "cache write", "cache read", "cost")


@click.command(
    epilog=common.examples(
        "unspin cost",
        "unspin cost --since 7d --by project",
        "unspin cost 3eb2d320",
        "unspin cost --since 2026-11-01 --json",
    )
)
@click.argument("session", default="")
@click.option("--since", metavar="DATE", default="", help="From a day on (2026-11-01), or of the last 24h, 7d, 4w.")
@click.option(
    "--by",
    type=click.Choice([DAY, MODEL, SESSION, PROJECT]),
    help="What a row is of: day (the default), or model (that of a SESSION).",
)
@click.option(
    "--path",
    "places",
    metavar="PATH",
    multiple=True,
    help="A transcript or a folder of them, instead of the agent's own.",
)
@click.option("--utc", is_flag=True, help="Days and dates in UTC, not in this machine's time zone.")
@common.JSON
def cost(session: str, since: str, by: str | None, places: tuple[str, ...], utc: bool, as_json: bool) -> None:
    """Show what sessions of Claude Code used, in tokens and dollars.

    Of all projects, every model message once, subagents included. Dollars are what the tokens cost by the
    providers' list prices, whatever you pay; a model without a known price is shown with its tokens, and the
    total is then "at least". SESSION is a session's id or how it begins.
    """
    from unspin import cost as counting

    zone = UTC if utc else None
    start = _start(since, zone) if since else 0.0
    try:
        prices = counting.known_prices()
    except counting.PriceError as error:
        raise common.Problem(str(error)) from None
    files = _files(places, start)
    if session:
        files, session = _of_session(files, session)
    reading = counting.Reading()
    found = counting.Report(by or (MODEL if session else DAY), zone)
    counting.report(_wanted(reading, files, session, start), prices, found)
    if as_json:
        click.echo(json.dumps(_document(found, reading, prices)))
    else:
        _show(found, reading, prices, _where(places, files, since))


# -- what is meant ---------------------------------------------------------------------


def _start(given: str, zone: tzinfo | None) -> float:
    """Return the moment that ``--since`` means, in seconds."""
    span = _SPAN.fullmatch(given)
    try:
        if span:
            return max(0.0, time.time() - int(span[1]) * _SPANS[span[2]])
        day = date.fromisoformat(given)
        return max(0.0, datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"a day such as 2026-11-01 or a time such as 24h, 7d, 4w is expected, not {show.clean(given)!r}",
            param_hint="--since",
        ) from None


def _files(places: tuple[str, ...], start: float) -> list[counting.Transcript]:
    from unspin.cost.files import find, folders

    for place in places:
        if not os.path.isfile(place) and not os.path.isdir(place):
            raise click.BadParameter(f"there is no file or folder {show.clean(place)}", param_hint="--path")
    return find(places or folders(), start)


def _of_session(files: list[counting.Transcript], begins: str) -> tuple[list[counting.Transcript], str]:
    """Return the files that can hold messages of a session, those of its project, and its whole id."""
    named = {each.session: each.project for each in files if each.session.startswith(begins)}
    if begins in named:
        named = {begins: named[begins]}
    if not named:
        raise common.Problem(f"no session with a transcript begins with {begins}. unspin cost --by session shows them.")
    if len(named) > 1:
        some = ", ".join(sorted(named)[:_NAMED])
        raise common.Problem(f"{len(named)} sessions begin with {begins}: {some}. Give more of the id.")
    ((session, project),) = named.items()
    return [each for each in files if each.project == project], session


def _wanted(
    reading: counting.Reading, files: list[counting.Transcript], session: str, start: float
) -> Iterator[counting.Message]:
    """Return the messages that are asked for."""
    messages = reading.messages(files)
    if session:
        messages = (each for each in messages if each.session == session)
    if start:
        first = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start)).strftime("%Y-%m-%dT%H:%M:%S")
        messages = (each for each in messages if each.when >= first)
    return messages


# -- what is said ----------------------------------------------------------------------


def _document(found: counting.Report, reading: counting.Reading, prices: counting.Prices) -> dict[str, Any]:
    return {
        "prices_dated": prices.dated,
        "by": found.by,
        "total": found.total.as_mapping(),
        "rows": [{found.by: key, **_about(found.by, row), **row.totals.as_mapping()} for key, row in _ordered(found)],
        "unknown_models": [{"model": model, **totals.as_mapping()} for model, totals in sorted(found.unknown.items())],
        "skipped_lines": reading.skipped,
        "unread_files": [path for path, _ in reading.unread],
    }


def _about(by: str, row: Row) -> dict[str, Any]:
    if by == MODEL:
        return {}
    about: dict[str, Any] = {"models": sorted(row.models)}
    if by == SESSION:
        about["project"] = row.project
    if by != DAY:
        about |= {"folder": row.folder, "first": row.first, "last": row.last}
    return about


def _ordered(found: counting.Report) -> list[tuple[str, Row]]:
    """Return the rows: days and sessions with the newest last, models and projects with the dearest first."""
    if found.by == DAY:
        return sorted(found.rows.items())
    if found.by == SESSION:
        return sorted(found.rows.items(), key=lambda each: (each[1].last, each[0]))
    return sorted(found.rows.items(), key=lambda each: (-each[1].totals.dollars, -each[1].totals.tokens, each[0]))


def _where(places: tuple[str, ...], files: list[counting.Transcript], since: str) -> str:
    """Return in words where it was looked, for the case that nothing is there."""
    from unspin.cost.files import folders

    looked = [show.tilde(each) for each in places or folders()]
    if not looked:
        return "there is no folder of transcripts (~/.claude/projects)"
    later = f" written since {since}" if since else ""
    return f"{show.number(len(files), 'transcript')}{later} in {', '.join(looked)}"


def _show(found: counting.Report, reading: counting.Reading, prices: counting.Prices, where: str) -> None:
    page = show.Page()
    if found.rows:
        ordered = _ordered(found)
        rows = [[found.by, *_HEADS]]
        rows += [[_label(found.by, key, row), *_cells(row.totals)] for key, row in ordered]
        if len(ordered) > 1:
            rows.append(["total", *_cells(found.total)])
        _table(page, rows, total=len(ordered) > 1)
    else:
        page.hang("", f"No model message was found: {where}.", indent=0)
    for model, totals in sorted(found.unknown.items()):
        page.hang(
            "unknown", f"no price is known for {model or 'a model without a name'}: {_tokens(totals)}", style="yellow"
        )
    if found.unknown:
        page.hang("", "A cost with + leaves it out: it is at least that. docs/cost.md tells how to set a price.")
    if found.total.unended:
        many = f"{found.total.unended:,} message{'s' if found.total.unended > 1 else ''}"
        page.hang("output", f"more than is told: the client did not write the end of {many}", style="yellow")
    if reading.skipped:
        page.hang("skipped", f"{show.number(reading.skipped, 'line')} could not be read", style="yellow")
    for path, why in reading.unread[:_NAMED]:
        page.hang("unread", f"{show.tilde(path)}: {why}", style="red")
    if len(reading.unread) > _NAMED:
        page.hang("unread", f"and {len(reading.unread) - _NAMED} files more", style="red")
    if found.rows:
        page.hang("prices", f"list prices as of {prices.dated}, in US dollars", label_style="dim", style="dim")


def _label(by: str, key: str, row: Row) -> str:
    if by == SESSION:
        return f"{show.clean(key[:_SHORT]) or '?'}  {show.clean(row.last[:10])}  {show.fit_end(_folder(row), 24)}"
    if by == PROJECT:
        return show.fit_end(_folder(row), 40)
    return show.fit(show.clean(key), 40) or "?"


def _folder(row: Row) -> str:
    return show.tilde(row.folder) if row.folder else show.clean(row.project)


def _cells(totals: counting.Totals) -> list[str]:
    counts = (totals.messages, totals.input, totals.output, totals.cache_write, totals.cache_read)
    return [*(f"{count:,}" for count in counts), _dollars(totals)]


def _dollars(totals: counting.Totals) -> str:
    if totals.cost is None:
        return "unknown"
    amount = f"${totals.cost:,.2f}" if totals.cost >= 0.01 or not totals.cost else f"${totals.cost:.4f}"
    return f"{amount}+" if totals.at_least else amount


def _tokens(totals: counting.Totals) -> str:
    return f"{show.number(totals.messages, 'message')}, {totals.tokens:,} tokens"


def _table(page: show.Page, rows: list[list[str]], *, total: bool) -> None:
    """Print rows, the first column from the left, figures from the right; where it is narrow, without some figures."""
    columns = list(range(len(rows[0])))
    for dispensable in (1, 2, 4, 5):  # messages, input, cache write, cache read
        if _width(rows, columns) <= page.width:
            break
        columns.remove(dispensable)
    widths = {at: max(cell_len(row[at]) for row in rows) for at in columns}
    for number, row in enumerate(rows):
        cells = [" " * (widths[at] - cell_len(row[at])) + row[at] for at in columns[1:]]
        text = "  ".join([row[0] + " " * (widths[0] - cell_len(row[0])), *cells])
        page.line((text, "dim" if not number else "bold" if total and number == len(rows) - 1 else ""))


def _width(rows: list[list[str]], columns: list[int]) -> int:
    return sum(max(cell_len(row[at]) for row in rows) + 2 for at in columns) - 2
