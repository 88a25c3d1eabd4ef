"""Commands over transcripts: scan, show."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click
from rich.cells import cell_len

from unspin import config, cost
from unspin.cli import common, show
from unspin.cost.files import folders
from unspin.guard import Settings
from unspin.guard.budget import Budget, BudgetError
from unspin.guard.settings import RULES
from unspin.scan.formats import FORMATS, UNKNOWN, find, without_parts
from unspin.scan.scanning import Found, Result, Scanned, Summary, each_of
from unspin.scan.source import Source, SourceError

UNREADABLE = 3  # exit status: something could not be read
_SHOWN_ERRORS = 10
_SHOWN_PATHS = 3
_SHOWN_SESSIONS = 5  # where an id is ambiguous
_SHORTEST, _LONGEST = 8, 100  # characters of a session's id
_FIELDS = (
    "path", "session", "rule", "identity", "count", "event_index", "time", "response", "file", "message", "evidence",
)  # fmt: skip
READS = f"unspin reads {', '.join(FORMATS)} (--format names one)"
_SPANS = {"h": 3600, "d": 86400, "w": 7 * 86400}


class _Since(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A date or a span of time: 2026-11-01, 7d, 24h."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        span = re.fullmatch(r"(\d{1,6})([hdw])", value)
        if span:
            return time.time() - int(span[1]) * _SPANS[span[2]]
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            self.fail(f"{value}: expected a date such as 2026-11-01, or a span such as 24h, 7d or 4w", param, ctx)


RULE = click.Choice(list(RULES))
_RULES = f"Of {', '.join(RULES)}. May be given more than once."
_PATHS = click.argument("paths", nargs=-1, metavar="[PATH...]")
FORMAT = click.option(
    "--format",
    "format",
    type=click.Choice(list(FORMATS)),
    metavar="FORMAT",
    help=f"What it is, if it cannot be told: {', '.join(FORMATS)}.",
)


@click.command(
    epilog=common.examples(
        "unspin scan ~/.claude/projects",
        "unspin scan --since 7d --rule failing_edits",
        "unspin scan runs/*.traj --json > scan.json",
        "unspin scan logs/ --fail-on failing_edits --fail-on rot",
    )
)
@_PATHS
@click.option("-r", "--rule", "rules", multiple=True, type=RULE, metavar="RULE", help=f"Only this rule. {_RULES}")
@click.option("--since", type=_Since(), metavar="WHEN", help="Only files written since: a date, or 24h, 7d, 4w.")
@FORMAT
@click.option("--json", "form", flag_value="json", help="One document: summary, detections, errors.")
@click.option("--jsonl", "form", flag_value="jsonl", help="One detection a line.")
@click.option("--csv", "form", flag_value="csv", help="One detection a row.")
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    type=RULE,
    metavar="RULE",
    help="Exit status 1 where this rule fired. May be given more than once.",
)
@click.option("--all", "everything", is_flag=True, help="Sessions without a detection, too.")
@click.option("--steps", type=float, metavar="N", help="Where a budget of N steps would have stopped each run.")
@click.option("--tokens", type=float, metavar="N", help="The same for N tokens.")
@click.option("--cost", "dollars", type=float, metavar="N", help="The same for N dollars.")
@click.option("--seconds", type=float, metavar="N", help="The same for N seconds.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes (default: as many as there are cores).")
def scan(
    paths: tuple[str, ...],
    rules: tuple[str, ...],
    since: float | None,
    format: str,
    form: str | None,
    fail_on: tuple[str, ...],
    everything: bool,
    steps: float | None,
    tokens: float | None,
    dollars: float | None,
    seconds: float | None,
    jobs: int | None,
) -> None:
    """Find where agents spun, in any pile of transcripts.

    PATH is a file, a folder, a pattern, or a URL that fsspec knows; without one, Claude Code's own
    transcripts. The rules and settings are those of the live guard in this folder. Exit status: 0; 1 where
    a --fail-on rule fired; 2 for bad usage; 3 where something could not be read.
    """
    settings, prices = _settings(), _prices()
    sources, errors = _sources(paths, since)
    named = {os.path.expanduser(each) for each in paths if os.path.isfile(os.path.expanduser(each))}
    strange: list[str] = []  # files that were named and are of no known format
    summary = Summary()
    sessions: list[Scanned] = []
    ids: set[str] = set()
    out = _Output(form)
    limits = _limits(steps=steps, tokens=tokens, cost=dollars, seconds=seconds)
    reported = limits if limits or form == "json" else None
    for result in _progress(sources, settings, prices, format, jobs, reported):
        result.sessions = [_only(each, rules) for each in result.sessions]
        summary.add(result)
        errors += result.errors
        if UNKNOWN in result.skipped and result.path in named:
            strange.append(result.path)
        elif format and not result.errors and not any(each.events for each in result.sessions):
            where = show.tilde(result.path)
            common.warn(f"{where}: nothing was found in what was read as {format}. Is it another format?")
        for each in result.sessions:
            out.take(each)
            ids.add(_id(each))
            if form is None and (each.found or everything or limits):
                sessions.append(each)
    if not summary.formats and not errors:
        errors += [{"path": each, "line": 0, "error": f"{UNKNOWN}; {READS}"} for each in strange]
    if form == "json":
        out.end(summary, errors)
    elif form is None:
        _table(sessions, summary, paths, ids)
    if form != "json":
        _tell_errors(errors)
    fired = {found for found in summary.rules if found in fail_on}
    sys.exit(1 if fired else UNREADABLE if errors else 0)


def _settings() -> Settings:
    """Return the settings that hold in this folder; the scan writes nothing, and needs no store."""
    return config.find(common.here()).settings


def _prices() -> cost.Prices:
    try:
        return cost.known_prices()
    except cost.PriceError as error:
        raise common.Problem(str(error)) from error


def _sources(paths: tuple[str, ...], since: float | None) -> tuple[list[Source], list[dict[str, Any]]]:
    given = list(paths) or folders()
    if not given:
        raise click.UsageError("no transcripts of Claude Code are on this machine: name a file or a folder to scan.")
    found: dict[str, Source] = {}
    errors: list[dict[str, Any]] = []
    for each in given:
        try:
            for source in find([each], since=since or 0):
                found.setdefault(source.key, source)
        except SourceError as error:
            errors.append({"path": each, "line": 0, "error": str(error)})
    return without_parts(found.values()), errors


def _only(scanned: Scanned, rules: tuple[str, ...]) -> Scanned:
    if rules:
        scanned.found = [each for each in scanned.found if each.rule in rules]
    return scanned


def _limits(**given: float | None) -> dict[str, float]:
    """Return the budgets that were given, checked."""
    limits = {name: int(value) if value.is_integer() else value for name, value in given.items() if value is not None}
    try:
        Budget(**limits)  # type: ignore[arg-type]
    except BudgetError as error:
        raise click.UsageError(str(error)) from error
    return limits


def _progress(
    sources: list[Source],
    settings: Settings,
    prices: cost.Prices,
    format: str,
    jobs: int | None,
    limits: dict[str, float] | None,
) -> Iterator[Result]:
    """Scan, with a bar on a terminal where it takes long."""
    jobs = jobs if jobs else (os.cpu_count() or 1)
    jobs = jobs if len(sources) > 1 else 1
    results = each_of(sources, settings, prices=prices, format=format, jobs=jobs, limits=limits)
    if not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("scanning"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=len(sources))
        for result in results:
            yield result
            bar.advance(task)


# -- for scripts -----------------------------------------------------------------------


def mapping(found: Found) -> dict[str, Any]:
    """Return a detection with the field names of the live log."""
    values = found.as_mapping()
    return {
        **{field: values[field] for field in _FIELDS},
        "tool_calls_before": found.tool_calls,
        "tokens_before": found.tokens,
    }


class _Output:
    """Writes detections as they come, or keeps them for one document."""

    def __init__(self, form: str | None):
        self._form = form
        self._kept: list[dict[str, Any]] = []
        self._runs: list[dict[str, Any]] = []
        if form == "csv":
            self._csv([*_FIELDS])

    def take(self, scanned: Scanned) -> None:
        if self._form == "json":
            self._runs.append({"path": scanned.path, "session": scanned.session, **(scanned.stop or {})})
        for found in scanned.found:
            if self._form == "jsonl":
                click.echo(json.dumps(mapping(found)))
            elif self._form == "csv":
                values = {**mapping(found), "evidence": json.dumps(found.evidence)}
                self._csv([values[field] for field in _FIELDS])
            elif self._form == "json":
                self._kept.append(mapping(found))

    def _csv(self, values: list[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow([_harmless(each) for each in values])
        click.echo(line.getvalue(), nl=False)

    def end(self, summary: Summary, errors: list[dict[str, Any]]) -> None:
        sums = {**summary.as_mapping(), "runs": self._runs}
        click.echo(json.dumps({"summary": sums, "detections": self._kept, "errors": errors}))


def _harmless(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


# -- for people ------------------------------------------------------------------------


def _table(sessions: list[Scanned], summary: Summary, paths: tuple[str, ...], ids: set[str]) -> None:
    page = show.Page()
    names = _names(sessions, ids)
    width = max(map(cell_len, names), default=0)
    for each, name in sorted(zip(sessions, names, strict=True), key=lambda pair: pair[0].ended):
        spent = f"{each.tool_calls:>6,} calls  {_spent(each) or '-':>9}"
        head = f"{show.clean(each.ended[:10]) or '-':<10}  {name}{' ' * (width - cell_len(name))}  {spent}"
        about = _noticed(each)
        if cell_len(head) + 2 + len(about) <= page.width:
            page.line(f"{head}  {about}")
        else:
            page.line(head)
            page.hang("", about, indent=12)
    if sessions:
        page.line("")
    _rules(page, summary)
    files = show.number(summary.files, "file")
    sums = f"{show.number(summary.sessions, 'session')} in {files}, {summary.tool_calls:,} tool calls"
    tokens = f", {summary.tokens:,} tokens" if summary.tokens else ""
    money = f", {'at least ' if summary.unpriced else ''}${summary.dollars:,.2f}"
    page.line(sums, tokens, money if summary.tokens or summary.dollars else "")
    unknown = summary.skipped.get(UNKNOWN, 0) + summary.skipped.get("empty file", 0)
    if unknown:
        page.line(f"{show.number(unknown, 'file')} of no known format skipped")
    noticed = [each for each in sessions if each.found]
    if noticed:
        page.line((f"Evidence: {_command(noticed, paths)}", "dim"))


def _noticed(scanned: Scanned) -> str:
    """Return how often each rule fired in a session, and where a budget would have ended it."""
    counts: dict[str, int] = {}
    for found in scanned.found:
        counts[found.rule] = counts.get(found.rule, 0) + 1
    about = ", ".join(f"{rule} {count}" for rule, count in counts.items()) or "nothing"
    if scanned.stop and scanned.stop["next_step"]:
        about = f"{scanned.stop['reason']} after {scanned.stop['completed_steps']} steps; {about}"
    return about


def _id(scanned: Scanned) -> str:
    """Return what a session is called: its id, where it has one."""
    return scanned.session or os.path.basename(scanned.path)


def _names(sessions: list[Scanned], ids: set[str]) -> list[str]:
    """Return as much of each session's id as means it alone among ``ids``, up to a bound, in the form that is shown."""
    ordered, names = sorted(ids), {}
    for at, each in enumerate(ordered):
        beside = (*ordered[max(at - 1, 0) : at], *ordered[at + 1 : at + 2])  # the most alike are neighbours
        alike = max((_alike(each, other) for other in beside), default=0)
        names[each] = show.clean(each[: min(max(_SHORTEST, alike + 1), _LONGEST)])
    return [names[_id(each)] for each in sessions]


def _alike(one: str, other: str) -> int:
    """Return how many characters both begin with."""
    return next(
        (at for at, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs),
        min(len(one), len(other)),
    )


def _command(noticed: list[Scanned], paths: tuple[str, ...]) -> str:
    """Return the command that shows the evidence: of the one session there is, else of any."""
    one = len(noticed) == 1
    session = shlex.quote(_id(noticed[0])) if one else "SESSION"
    given = " ".join(map(shlex.quote, paths)) if len(paths) <= _SHOWN_PATHS else "PATH..."
    return show.clean(f"unspin show {session} {given}".rstrip())


def _rules(page: show.Page, summary: Summary) -> None:
    rows = summary.as_mapping()["rules"]
    if not rows:
        page.line("Nothing was noticed." if summary.sessions else "No session was found.")
        return
    width = max(map(len, rows))
    page.line((f"{'rule':<{width}}  detections  sessions  /1,000 calls  used after the first", "dim"))
    for rule in [each for each in RULES if each in rows]:
        row = rows[rule]
        after = show.spent(row["tokens_after"], row["dollars_after"]) or "-"
        counts = f"{row['detections']:>10,}  {row['sessions']:>8,}  {row['per_1000_calls']:>12.2f}"
        page.line(f"{rule:<{width}}  {counts}  {after}")


def _spent(scanned: Scanned) -> str:
    """Return what a session cost; nothing where its transcript tells neither tokens nor money."""
    if scanned.dollars is None:
        return "unpriced"
    return f"${scanned.dollars:,.2f}" if scanned.tokens or scanned.dollars else ""


def _tell_errors(errors: list[dict[str, Any]]) -> None:
    """Say on stderr what could not be read, a file a line."""
    by_path: dict[str, list[dict[str, Any]]] = {}
    for each in errors:
        by_path.setdefault(each["path"], []).append(each)
    for path, found in list(by_path.items())[:_SHOWN_ERRORS]:
        first = found[0]
        line = f", line {first['line']}" if first["line"] else ""
        text = first["error"].removeprefix(f"{path}: ")
        more = f" (and {len(found) - 1} more in this file)" if len(found) > 1 else ""
        common.warn(f"{show.tilde(path)}{line}: {text}{more}")
    if len(by_path) > _SHOWN_ERRORS:
        common.warn(f"and {len(by_path) - _SHOWN_ERRORS} more files with something that could not be read; see --json")


# -- one session -----------------------------------------------------------------------


@click.command(
    name="show",
    epilog=common.examples(
        "unspin show 3eb2d320", "unspin show run.traj", "unspin show run-7 logs/", "unspin show 3eb2 -r rot"
    ),
)
@click.argument("session", metavar="SESSION|FILE")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-r", "--rule", "rules", multiple=True, type=RULE, metavar="RULE", help=f"Only this rule. {_RULES}")
@FORMAT
@common.JSON
def show_session(session: str, paths: tuple[str, ...], rules: tuple[str, ...], format: str, as_json: bool) -> None:
    """Show what was noticed in one session, with the evidence.

    SESSION is a session's id, or how it begins: one of Claude Code's, or of those in PATH, which is what scan
    takes. Or name any file that scan reads.
    """
    settings, prices = _settings(), _prices()
    sources, errors = _sources(paths, None) if paths else (_meant(session), [])
    results = []
    for result in _progress(sources, settings, prices, format, None, None):
        if paths:
            result.sessions = [each for each in result.sessions if _id(each).startswith(session)]
        results.append(result)
    scanned = [_only(each, rules) for result in results for each in result.sessions]
    if paths:
        scanned = _the_one(scanned, session)
    if as_json:
        for each in scanned:
            for found in each.found:
                click.echo(json.dumps(mapping(found)))
    else:
        page = show.Page()
        for each in scanned:
            _one(page, each)
    errors += [error for result in results for error in result.errors]
    _tell_errors(errors)
    if not scanned and not errors:
        why = next((kind for result in results for kind in result.skipped), "no file that could be a transcript")
        common.warn(f"{show.clean(session)}: {why}")
    sys.exit(UNREADABLE if errors or not scanned else 0)


def _the_one(scanned: list[Scanned], session: str) -> list[Scanned]:
    """Return the session that an id, or how it begins, means: all that has its id. Raises ``Problem``."""
    ids = {_id(each) for each in scanned}
    if not ids:
        raise common.Problem(f"no session there begins with {show.clean(session)}. unspin scan --all shows them.")
    if session not in ids and len(ids) > 1:
        some = ", ".join(show.clean(each) for each in sorted(ids)[:_SHOWN_SESSIONS])
        more = f" and {len(ids) - _SHOWN_SESSIONS} more" if len(ids) > _SHOWN_SESSIONS else ""
        raise common.Problem(
            f"{len(ids)} sessions begin with {show.clean(session)}: {some}{more}. Give more of the id."
        )
    return [each for each in scanned if _id(each) == session] if session in ids else scanned


def _meant(session: str) -> list[Source]:
    if os.path.exists(session) or "://" in session:
        return list(find([session]))
    if not re.fullmatch(r"[\w.-]{1,100}", session):
        raise common.Problem(f"{show.clean(session)}: no such file, and no session's id.")
    found = [each for each in find(folders()) if os.path.basename(each.path).startswith(session)] if folders() else []
    names = {os.path.basename(each.path).partition(".")[0] for each in found}
    if not found:
        raise common.Problem(f"no transcript of a session {show.clean(session)}... was found; name its file instead.")
    if len(names) > 1:
        raise common.Problem(f"{len(names)} sessions begin with {show.clean(session)}. Give more of the id.")
    return found


def _one(page: show.Page, scanned: Scanned) -> None:
    page.line(
        (show.clean(scanned.session or os.path.basename(scanned.path)), "bold"),
        f"  {scanned.format}  {show.tilde(scanned.path)}",
    )
    when = (
        show.clean(f"{scanned.began[:16].replace('T', ' ')} to {scanned.ended[:16].replace('T', ' ')}, ")
        if scanned.began
        else ""
    )
    counts = (show.number(scanned.rounds, "round"), show.number(scanned.tool_calls, "tool call"), _spent(scanned))
    page.line(f"{when}{', '.join(filter(None, counts))}")
    entries = [{**found.as_mapping(), "time": _seconds(found.time)} for found in scanned.found]
    page.line("")
    show.log_fully(page, entries, 0)


def _seconds(when: str) -> float:
    try:
        return datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
    except ValueError:
        try:
            return float(when)
        except ValueError:
            return float("nan")  # it has none: shown as "?"
