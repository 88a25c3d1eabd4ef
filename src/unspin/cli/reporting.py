"""Commands that show a recorded session: report as a page, replay in the terminal."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import time
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from unspin import config, cost
from unspin.cli import common, show
from unspin.cli.scanning import READS
from unspin.cost.files import Transcript, folders
from unspin.cost.files import find as transcripts
from unspin.guard import HALT, Settings
from unspin.guard.settings import MODES
from unspin.scan import report as reporting
from unspin.scan import timeline
from unspin.scan.formats import FORMATS, UNKNOWN, find
from unspin.scan.scanning import Result, Session, scan
from unspin.scan.source import Source, SourceError, is_candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Thing
    from unspin.scan.timeline import Entry

_FILE = "report.html"
_LAST = 20
_NAMED = 5  # sessions named in one message
_LONGEST_WAIT = 10.0  # seconds
_WIDEST = 110  # columns
_INDENT = 10  # columns of the speaker's name
_FORMAT = click.option(
    "--format",
    "format",
    type=click.Choice(list(FORMATS)),
    metavar="FORMAT",
    help="What it is, if it cannot be told (unspin scan --help lists the formats).",
)


# -- report ----------------------------------------------------------------------------


@click.command(
    epilog=common.examples(
        "unspin report 3eb2d320",
        "unspin report session.jsonl -o spin.html",
        "unspin report ~/.claude/projects --last 50",
        "unspin report run.jsonl -o - > run.html",
    )
)
@click.argument("path", metavar="[PATH|SESSION]", default="")
@click.option("-o", "--output", metavar="FILE", default=_FILE, show_default=True, help="Where to; - is stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is no report of unspin's.")
@click.option(
    "--last",
    type=click.IntRange(1, 500),
    default=_LAST,
    show_default=True,
    help="Of a folder: at most so many sessions.",
)
@_FORMAT
def report(path: str, output: str, force: bool, last: int, format: str) -> None:
    """Write a page of a session: its timeline, its loops with their evidence, its cost.

    One file that works offline and asks nobody for anything. PATH is any transcript that "unspin scan" reads; of a
    folder, the newest sessions in which something was noticed. SESSION is a session's id or how it begins;
    without either, this folder's newest session.
    """
    _may_write(output, force)
    prices = _prices()
    settings = _settings("guard")
    if path and not _is_session(path) and _is_many(path):
        sessions, left_out = _of_many(_found(path), settings, prices, format, last)
        if not sessions:
            raise common.Problem(
                f"nothing was noticed in the sessions of {show.tilde(path)}: there is nothing to report."
            )
    else:
        sources = _meant(path)
        sessions, left_out = [], 0
        for source in sources:
            result, found = reporting.collect(source, settings, prices=prices, format=format)
            _check(result, found)
            sessions += found
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = reporting.page(sessions, made=made, prices_dated=prices.dated, left_out=left_out)
    if output == "-":
        sys.stdout.write(text)
        return
    _write(output, text)
    told = show.number(len(sessions), "session")
    common.warn(f"{told}, {len(text) / 1e6:.1f} MB, written to {show.tilde(output)}")


def _of_many(
    sources: list[Source], settings: Settings, prices: cost.Prices, format: str, last: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the newest sessions in which something was noticed, newest first, and how many there are besides.

    All are scanned, and those that are shown are read once more: the data of all would be too much to keep.
    """
    noticed: list[tuple[str, Source, set[str]]] = []
    count = 0
    with _bar(len(sources)) as advance:
        for source in sources:
            result = scan(source, settings, format=format)
            found = [each for each in result.sessions if each.found]
            count += len(found)
            if found:
                noticed.append((max(each.ended for each in found), source, {each.session for each in found}))
            advance()
    sessions: list[dict[str, Any]] = []
    for _, source, _ids in sorted(noticed, key=lambda each: (each[0], each[1].path), reverse=True):
        if len(sessions) >= last:
            break
        _, collected = reporting.collect(source, settings, prices=prices, format=format)
        newest = sorted(
            (each for each in collected if each["found"]), key=lambda each: str(each["ended"]), reverse=True
        )
        sessions += newest[: last - len(sessions)]
    return sessions, max(0, count - len(sessions))


@contextlib.contextmanager
def _bar(total: int) -> Any:
    """Show a bar on a terminal; yield what moves it on."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def _may_write(output: str, force: bool) -> None:
    """Refuse a place that cannot be written, or that holds something else, before anything is read."""
    if output == "-" or not os.path.lexists(output):
        folder = os.path.dirname(output)
        if output != "-" and folder and not os.path.isdir(folder):
            raise common.Problem(f"there is no folder {show.tilde(folder)}: make it, or name another file with -o.")
        return
    if os.path.isdir(output):
        raise common.Problem(f"{show.tilde(output)} is a folder: name a file to write the page to.")
    if not force and os.path.isfile(output):
        with open(output, "rb") as file:
            ours = file.read(len(reporting.MARK)) == reporting.MARK.encode()
        if not ours and os.path.getsize(output):
            raise common.Problem(
                f"{show.tilde(output)} is there and no report of unspin's: name another file with -o, or give --force."
            )


def _write(output: str, text: str) -> None:
    """Write the page in one piece; what is no plain file (a link, a device) is written into."""
    if os.path.lexists(output) and (os.path.islink(output) or not os.path.isfile(output)):
        with open(output, "w", encoding="utf-8") as file:
            file.write(text)
        return
    handle, name = tempfile.mkstemp(dir=os.path.dirname(output) or ".", prefix=".unspin-report-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, output)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _check(result: Result, found: list[Any]) -> None:
    """Raise what keeps a file from being shown; tell what could not be read of it."""
    name = show.tilde(result.path)
    if not result.format:
        if result.errors:
            raise common.Problem(f"{name}: {result.errors[0]['error']}")
        why = next(iter(result.skipped), UNKNOWN)
        hint = "" if why == "empty file" else f"; {READS}"
        raise common.Problem(f"{name}: {why}{hint}")
    if not found:
        broken = f" ({_broken(result)})" if result.errors else ""
        raise common.Problem(f"{name}: a session in which nothing happened{broken}")
    if result.errors:
        common.warn(f"{name}: {_broken(result)}; the rest was read")


def _broken(result: Result) -> str:
    first = result.errors[0]
    line = f"line {first['line']}: " if first["line"] else ""
    more = f" (and {len(result.errors) - 1} more)" if len(result.errors) > 1 else ""
    return f"{line}{' '.join(str(first['error']).split())[:200]}{more}"


# -- what is meant ---------------------------------------------------------------------


def _settings(mode: str) -> Settings:
    """Return the settings that hold in this folder, in this mode."""
    return Settings({**config.find(common.here()).settings.as_mapping(), "mode": mode})


def _prices() -> cost.Prices:
    try:
        return cost.known_prices()
    except cost.PriceError as error:
        raise common.Problem(str(error)) from None


def _is_session(given: str) -> bool:
    """Tell whether what was given can only be a session: no file, and nothing that looks like the name of one."""
    if os.path.lexists(os.path.expanduser(given)) or is_candidate(given):
        return False
    return re.fullmatch(r"[\w.-]{1,200}", given) is not None


def _is_many(given: str) -> bool:
    return os.path.isdir(os.path.expanduser(given)) or any(char in given for char in "*?[")


def _found(given: str) -> list[Source]:
    try:
        sources = list(find([given]))
    except SourceError as error:
        raise common.Problem(_plain(str(error))) from None
    parts = f"{os.sep}subagents{os.sep}"
    return [each for each in sources if parts not in each.path] or sources


def _plain(text: str) -> str:
    return text.removesuffix(", and no file fits it as a pattern")


def _meant(given: str) -> list[Source]:
    """Return the file that is meant: by its name, or as the transcript of a session."""
    if given and not _is_session(given):
        return _found(given)
    files = [each for each in transcripts(folders()) if not each.subagent]
    with common.opened() as store:
        rows = store.sessions(begins=common.storable(given)) if given else common.sessions_here(store)[:1]
    exact = {row.id for row in rows if row.id == given}
    ids = exact or {row.id for row in rows}
    ids = ids or {each.session for each in files if each.session == given}
    ids = ids or {each.session for each in files if each.session.startswith(given)}
    if not ids:
        raise common.Problem(
            f"{given}: no such file, and no session begins so. unspin status --all shows the sessions."
        )
    if len(ids) > 1:
        some = ", ".join(sorted(ids)[:_NAMED])
        raise common.Problem(f"{len(ids)} sessions begin with {given}: {some}. Give more of the id.")
    return [Source(_transcript(files, ids.pop()))]


def _transcript(files: list[Transcript], session: str) -> str:
    """Return the largest transcript of a session: a copy of it may lie in another project."""
    own = [each for each in files if each.session == session]
    if not own:
        raise common.Problem(f"the transcript of session {session} is not among those of Claude Code (any more).")
    return max(own, key=lambda each: each.size).path


# -- replay ----------------------------------------------------------------------------


@click.command(
    epilog=common.examples(
        "unspin replay session.jsonl", "unspin replay 3eb2d320 --speed 60", "unspin replay run.jsonl --json"
    )
)
@click.argument("path", metavar="FILE|SESSION")
@click.option(
    "--mode", type=click.Choice(list(MODES)), default="guard", show_default=True, help="As if this mode had been set."
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    help="X times as fast as it was, by the file's own time stamps (default: no waiting). No wait is over 10 s.",
)
@_FORMAT
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event; the last one holds the sums.")
def replay(path: str, mode: str, speed: float | None, format: str, as_json: bool) -> None:
    """Replay a session through the guard as if live: who did what, and what unspin would have said and refused.

    The recorded agent went on whatever it would have been told. A call that would have been refused is shown as such
    and counts as what it was; your next message ends a block, as it does live.
    """
    if not _is_session(path) and _is_many(path):
        raise common.Problem(f"{show.tilde(path)} is more than one file: name the one to replay.")
    (source, *_) = _meant(path)
    player = _Player(_Json() if as_json else _Print(), speed)
    result = scan(source, _settings(mode), prices=_prices(), format=format, watch=player.watch)
    _check(result, player.shown)
    player.end(result)


class _Played:
    """What a session's replay came to so far."""

    def __init__(self, session: Session):
        self.session = session
        self.teller = timeline.Teller(session, asking=True)
        self.began: float | None = None
        self.at = 0.0  # seconds since it began, of the last entry
        self.timed = False
        self.events = 0
        self.said = 0
        self.logged = 0
        self.refused = 0
        self.first: dict[str, Any] | None = None
        self.stopped = False  # the turn would have been ended
        self.stops = 0
        self.refusing: set[str] = set()  # identities whose refusal has been shown since the person spoke

    def time(self, when: str) -> float:
        """Take the time of an entry; return how long it is after the one before."""
        moment = timeline.seconds(when)
        if moment is None:
            return 0.0
        self.timed = True
        if self.began is None:
            self.began = moment
        before, self.at = self.at, max(self.at, moment - self.began)
        return self.at - before


class _Player:
    """Takes a session event by event, and shows it."""

    def __init__(self, out: _Print | _Json, speed: float | None):
        self._out = out
        self._speed = speed
        self._played: dict[int, _Played] = {}
        self._current: _Played | None = None
        self.shown: list[_Played] = []

    def watch(self, thing: Thing, when: str, session: Session) -> None:
        """Take one thing after the session has."""
        played = self._played.get(id(session))
        if played is None:
            played = self._played[id(session)] = _Played(session)
        for entry in played.teller.take(thing, when):
            if self._current is not played:
                self._current = played
                if played not in self.shown:
                    self.shown.append(played)
                self._out.session(session.scanned.session, several=len(self.shown) > 1)
            wait = played.time(entry.when)
            if self._speed and wait:
                sys.stdout.flush()
                time.sleep(min(wait / self._speed, _LONGEST_WAIT))
            _count(played, entry)
            self._out.entry(played, entry)
            if entry.kind == timeline.PERSON:
                played.stopped = False
                played.refusing.clear()

    def end(self, result: Result) -> None:
        """Show what each session came to."""
        for played in self.shown:
            self._out.sums(played, _sums(played, result), several=len(self.shown) > 1)


def _count(played: _Played, entry: Entry) -> None:
    played.events += entry.index is not None
    played.said += entry.kind == timeline.SAID
    played.logged += entry.kind == timeline.LOGGED
    played.refused += entry.refusal is not None
    if entry.kind == timeline.SAID and played.first is None:
        response = entry.response
        played.first = {
            "rule": response.rule if response else "",
            "event_index": response.event_index if response else 0,
            "time": entry.when,
            "elapsed": round(played.at, 3) if played.timed else None,
            "tokens": entry.tokens,
            "dollars": entry.dollars,
            "tool_calls": played.session.scanned.tool_calls,
        }
    if entry.refusal is not None and entry.refusal.kind == HALT and not played.stopped:
        played.stopped = True
        played.stops += 1


def _sums(played: _Played, result: Result) -> dict[str, Any]:
    scanned = played.session.scanned
    first, after = played.first, None
    if first is not None:
        known = scanned.dollars is not None and first["dollars"] is not None
        after = {
            "tool_calls": scanned.tool_calls - first["tool_calls"],
            "tokens": scanned.tokens - first["tokens"],
            "dollars": round(scanned.dollars - first["dollars"], 6) if known else None,
        }
    return {
        "session": scanned.session,
        "path": scanned.path,
        "events": scanned.events,
        "tool_calls": scanned.tool_calls,
        "tokens": scanned.tokens,
        "dollars": None if scanned.dollars is None else round(scanned.dollars, 6),
        "said": played.said,
        "logged": played.logged,
        "refused": played.refused,
        "stopped": played.stops,
        "first": first,
        "after_first": after,
        "errors": len(result.errors),
    }


class _Json:
    """One object an entry."""

    def session(self, name: str, *, several: bool) -> None:
        """Nothing: each object names its session."""

    def entry(self, played: _Played, entry: Entry) -> None:
        """Print an entry."""
        found: dict[str, Any] = {
            "session": played.session.scanned.session,
            "kind": entry.kind,
            "event_index": entry.index,
            "time": entry.when,
            "elapsed": round(played.at, 3) if played.timed else None,
            "text": entry.text,
            "outcome": entry.outcome,
            "detail": entry.detail,
            "agent": entry.agent,
            "context": entry.context,
            "tokens": entry.tokens,
            "dollars": None if entry.dollars is None else round(entry.dollars, 6),
            "would_be": entry.refusal.as_mapping() if entry.refusal else None,
        }
        if entry.response is not None:
            found["detection"] = entry.response.as_mapping()
        click.echo(json.dumps(found))

    def sums(self, played: _Played, sums: dict[str, Any], *, several: bool) -> None:
        """Print what it came to."""
        click.echo(json.dumps({"summary": sums}))


_STYLES = {timeline.SAID: "yellow", timeline.LOGGED: "dim", timeline.RELEASED: "green"}
_OUTCOME_WORDS = {"passed": "passes", "failed": "fails", "unknown": "outcome unknown", "refused": "", "error": "fails"}
_OUTCOME_STYLES = {"passed": "green", "failed": "red", "error": "red"}


class _Print:
    """Prints who does what, as the demo does: the name, and what is done beside it; a blank line around unspin."""

    def __init__(self) -> None:
        width = min(Console().width, _WIDEST)
        self._console = show.Paper(highlight=False, width=width, soft_wrap=True)
        self._last = ""

    def session(self, name: str, *, several: bool) -> None:
        """Name the session that follows."""
        if several:
            self._console.print(Text(f"\nsession {show.clean(name)}\n", "bold"))
            self._last = ""

    def entry(self, played: _Played, entry: Entry) -> None:
        """Print an entry."""
        if entry.kind in timeline.CALLS:
            self._call(played, entry)
        elif entry.kind in (timeline.SAID, timeline.LOGGED, timeline.RELEASED):
            text = entry.text.removeprefix("Unspin: ")
            logged = "(only logged) " if entry.kind == timeline.LOGGED else ""
            self._say(played, "unspin", (f"{logged}{text}", _STYLES[entry.kind]))
            if entry.response is not None:
                self._where(played, entry, entry.response.event_index)
        elif entry.kind == timeline.PERSON:
            self._say(played, "you", (entry.text, ""), name="bold")
        elif entry.kind == timeline.MACHINE:
            self._say(played, "machine", (entry.text, "dim"))
        else:
            outcome = _OUTCOME_WORDS.get(entry.outcome, "")
            self._say(played, "run", (entry.text, ""), (f"  {outcome}", _OUTCOME_STYLES.get(entry.outcome, "dim")))

    def _call(self, played: _Played, entry: Entry) -> None:
        put = f": {entry.detail}" if entry.kind == timeline.EDIT and not entry.outcome and entry.detail else ""
        parts = [(f"{entry.text}{put}", "")]
        word = _OUTCOME_WORDS.get(entry.outcome, "")
        if entry.outcome == timeline.REFUSED:
            word = entry.detail
        elif entry.detail and not put:
            word = f"{word} ({entry.detail})"
        if word:
            parts.append((f"  {word}", _OUTCOME_STYLES.get(entry.outcome, "dim")))
        refusal = entry.refusal
        if refusal is not None:
            parts.append(("  would have been refused", "bold red"))
        self._say(played, "subagent" if entry.agent else "agent", *parts, name="dim" if entry.agent else "")
        if refusal is None or f"{refusal.kind}:{refusal.identity}" in played.refusing:
            return
        played.refusing.add(f"{refusal.kind}:{refusal.identity}")
        self._say(played, "unspin", (refusal.message.removeprefix("Unspin: "), "red"))
        ended = "; live, the turn would have ended here" if refusal.kind == HALT else ""
        self._where(played, entry, refusal.event_index, ended)

    def _say(self, played: _Played, speaker: str, *parts: tuple[str, str], name: str = "") -> None:
        """Print what a speaker does or says: texts with their styles, wrapped beside the name."""
        if self._last and "unspin" in (speaker, self._last) and speaker != self._last:
            self._console.print()
        self._last = speaker
        clock = f"{_clock(played.at):>8}  " if played.timed else ""
        indent = len(clock) + _INDENT
        said = Text.assemble(*((show.clean(text), style) for text, style in parts))
        lines = said.wrap(self._console, max(24, self._console.width - indent))
        lead = Text.assemble((clock, "dim"), (speaker.ljust(_INDENT), name or parts[0][1]))
        for line in lines:
            line.rstrip()
            self._console.print(lead + line)
            lead = Text(" " * indent)

    def _where(self, played: _Played, entry: Entry, event_index: int, more: str = "") -> None:
        """Say when that is: beside which event, how long after the beginning, at which cost."""
        parts = [f"event {event_index:,}"]
        if played.timed:
            parts.append(f"{_clock(played.at)} in")
        spent = show.spent(entry.tokens, entry.dollars)
        parts += [spent] if spent else []
        indent = (_INDENT + 10) if played.timed else _INDENT
        self._console.print(Text(f"{' ' * indent}{', '.join(parts)}{more}", "dim"))

    def sums(self, played: _Played, sums: dict[str, Any], *, several: bool) -> None:
        """Print what a session came to, in two lines."""
        self._console.print()
        name = f"session {show.clean(played.session.scanned.session)}: " if several else ""
        counts = [f"{show.number(sums['said'], 'line')} said", f"{show.number(sums['refused'], 'call')} refused"]
        if sums["stopped"]:
            counts.append(f"{show.number(sums['stopped'], 'turn')} ended")
        if sums["logged"]:
            counts.append(f"{sums['logged']} only logged")
        total = f"{show.number(sums['tool_calls'], 'tool call')}"
        spent = show.spent(sums["tokens"], sums["dollars"])
        total += f", {spent}" if spent else ""
        self._console.print(Text(f"{name}{', '.join(counts)}; the session: {total}", "bold"))
        first, after = sums["first"], sums["after_first"]
        if first is None or after is None:
            return
        when = f", {_clock(first['elapsed'])} in" if first["elapsed"] is not None else ""
        until, rest = (show.spent(each["tokens"], each["dollars"]) for each in (first, after))
        cost_so_far, used = (f", {each}" if each else "" for each in (until, rest))
        calls = show.number(after["tool_calls"], "tool call")
        self._console.print(f"first line: {first['rule']}, event {first['event_index']:,}{when}{cost_so_far}")
        self._console.print(f"used after it: {calls}{used}")


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
