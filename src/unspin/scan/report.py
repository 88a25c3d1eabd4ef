"""One self-contained page of one or more sessions: HTML, styles, script and data in one file that loads nothing.

The parts of the page lie in ``page/``. Whatever comes from a log goes in as JSON, in an element that is not run, with
everything escaped that could end it; the page's script puts it into place as text. A Content-Security-Policy allows
the page's own script and styles by their hashes and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from array import array
from typing import Any

from unspin import __version__
from unspin.scan import timeline
from unspin.scan.items import Used
from unspin.scan.scanning import scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from unspin.cost.prices import Prices, Usage
    from unspin.guard import Settings
    from unspin.scan.items import Thing
    from unspin.scan.scanning import Found, Result, Scanned, Session
    from unspin.scan.source import Source
    from unspin.scan.timeline import Entry

#: How each page begins: a file that begins so may be written over.
MARK = '<!doctype html>\n<html lang="en" data-made-by="unspin report">'

MOST_ENTRIES = 50_000  # of one session
MOST_FOUND = 500  # detections of one session

_PARTS = os.path.join(os.path.dirname(__file__), "page")
_KINDS = {
    timeline.PERSON: "m",
    timeline.MACHINE: "w",
    timeline.EDIT: "e",
    timeline.CHECK: "c",
    timeline.RUN: "r",
    timeline.READ: "v",
    timeline.ASK: "q",
    timeline.AGENT: "g",
    timeline.OTHER: "o",
    timeline.COMPACTION: "k",
    timeline.TURN: "n",
    timeline.SAID: "s",
    timeline.LOGGED: "l",
}
_OUTCOMES = {"": ".", "passed": "p", "failed": "f", "unknown": "u", timeline.REFUSED: "x", timeline.ERROR: "e"}
_POLICY = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
#: In JSON these stand in strings only; what is not ASCII (U+2028, U+2029) is escaped anyway.
_ESCAPES = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&"})


class Collector:
    """What the page shows of one file. Give its ``watch`` to ``scan``, its result to ``sessions``."""

    def __init__(self, prices: Prices | None = None):
        self._prices = prices
        self._sessions: dict[int, _Collected] = {}

    def watch(self, thing: Thing, when: str, session: Session) -> None:
        """Take one thing of a session after the session has."""
        collected = self._sessions.get(id(session.scanned))
        if collected is None:
            collected = self._sessions[id(session.scanned)] = _Collected(session, self._prices)
        collected.take(thing, when)

    def sessions(self, result: Result) -> list[dict[str, Any]]:
        """Return the sessions of the file in which anything happened, as the page takes them."""
        found = []
        for scanned in result.sessions:
            collected = self._sessions.get(id(scanned))
            if collected is not None and (collected.entries or scanned.tokens):
                found.append({**collected.as_mapping(scanned), "problems": len(result.errors)})
        return found


def collect(
    source: Source, settings: Settings, *, prices: Prices | None = None, format: str = ""
) -> tuple[Result, list[dict[str, Any]]]:
    """Read one file; return its scan, and its sessions as the page takes them."""
    collector = Collector(prices)
    result = scan(source, settings, prices=prices, format=format, watch=collector.watch)
    return result, collector.sessions(result)


def page(sessions: Iterable[dict[str, Any]], *, made: str, prices_dated: str = "", left_out: int = 0) -> str:
    """Return the page. The same sessions give the same text; ``made`` is the time stamp that it shows.

    ``left_out`` tells how many sessions with detections there are besides these.
    """
    style, script = _part("page.css"), _part("page.js")
    about = {"version": __version__, "made": made, "prices": prices_dated, "left_out": left_out}
    blocks = [_block("about", about)] + [_block("session", each) for each in sessions]
    parts = {
        "policy": _POLICY.format(script=_hash(script), style=_hash(style)),
        "style": style,
        "script": script,
        "data": "\n".join(blocks),
    }
    text = _part("page.html")
    for name, value in parts.items():
        before, _, after = text.partition(f"[[{name}]]")  # the data last: nothing is looked for in it
        text = f"{before}{value}{after}"
    return text


def _part(name: str) -> str:
    with open(os.path.join(_PARTS, name), encoding="utf-8", newline="") as file:
        return file.read().replace("\r\n", "\n")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _block(kind: str, data: dict[str, Any]) -> str:
    return f'<script type="application/json" data-kind="{kind}">{as_json(data)}</script>'


def as_json(data: Any) -> str:
    """Return data as JSON in ASCII that holds nothing that HTML could take for its own."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


# -- one session -----------------------------------------------------------------------


class _Collected:
    """What happened in one session, in columns, and what it used."""

    def __init__(self, session: Session, prices: Prices | None):
        self.entries = 0
        self._session = session
        self._scanned = session.scanned
        self._teller = timeline.Teller(session)
        self._used = _Used(prices)
        self._first = ""
        self._began: float | None = None
        self._texts: dict[str, int] = {}
        self._kinds: list[str] = []
        self._outcomes: list[str] = []
        self._labels = array("l")
        self._times = array("l")
        self._tokens = array("q")  # used since the entry before
        self._dollars = array("q")  # in millionths
        self._contexts: list[int] = []  # entry, tokens, entry, tokens
        self._details: dict[int, str] = {}
        self._agents: dict[int, str] = {}
        self._edits: list[int] = []  # entries that changed files and are no edits by their kind
        self._rows: dict[int, int] = {}  # event: entry
        self._indices: list[int] = []
        self._last = (0, 0)
        self._context = 0
        self._checks = {"passed": 0, "failed": 0, "unknown": 0}
        self._calls = {"main": 0, "subagents": 0}
        self._compactions = 0
        self._edited = 0  # calls that changed files, through the shell as well
        self._seen = 0  # detections
        self._found: list[dict[str, Any]] = []

    def take(self, thing: Thing, when: str) -> None:
        if isinstance(thing, Used):
            self._used.take(thing, when)
            return
        for entry in self._teller.take(thing, when):
            self._count(entry)
            if len(self._kinds) < MOST_ENTRIES:
                self._add(entry)
        for found in self._scanned.found[self._seen :]:
            self._notice(found)
        self._seen = len(self._scanned.found)

    def _count(self, entry: Entry) -> None:
        self.entries += 1
        if entry.kind == timeline.PERSON and not self._first:
            self._first = entry.text
        elif entry.kind in timeline.CALLS:
            self._calls["subagents" if entry.agent else "main"] += 1
            self._edited += (entry.edits or entry.kind == timeline.EDIT) and entry.outcome != timeline.REFUSED
            if entry.kind == timeline.CHECK and entry.outcome in self._checks:
                self._checks[entry.outcome] += 1
        elif entry.kind == timeline.COMPACTION:
            self._compactions += 1

    def _add(self, entry: Entry) -> None:
        row = len(self._kinds)
        self._kinds.append(_KINDS[entry.kind])
        self._outcomes.append(_OUTCOMES[entry.outcome])
        self._labels.append(self._texts.setdefault(entry.text, len(self._texts)))
        self._times.append(self._elapsed(entry.when))
        now = (self._used.tokens, round(self._used.dollars * 1e6))
        self._tokens.append(now[0] - self._last[0])
        self._dollars.append(now[1] - self._last[1])
        self._last = now
        if entry.context != self._context:
            self._context = entry.context
            self._contexts += (row, entry.context)
        if entry.detail:
            self._details[row] = entry.detail
        if entry.agent:
            self._agents[row] = entry.agent
        if entry.edits and entry.kind != timeline.EDIT:
            self._edits.append(row)
        self._indices.append(-1 if entry.index is None else entry.index)
        if entry.index is not None:
            self._rows[entry.index] = row

    def _elapsed(self, when: str) -> int:
        """Return whole seconds since the session began, -1 where the time is not known."""
        moment = timeline.seconds(when)
        if moment is None:
            return -1
        if self._began is None:
            self._began = moment
        return max(0, round(moment - self._began))

    def _notice(self, found: Found) -> None:
        if len(self._found) >= MOST_FOUND:
            return
        self._found.append(
            {
                "rule": found.rule,
                "response": found.response,
                "count": found.count,
                "event": found.event_index,
                "row": self._rows.get(found.event_index, -1),
                "file": timeline.one_line(found.file, 300),
                "message": timeline.one_line(found.message, 600),
                "time": self._elapsed(found.time),
                "calls": found.tool_calls,
                "tokens": self._used.tokens,
                "dollars": round(self._used.dollars, 6),
                "evidence": [
                    {
                        "event": each["event_index"],
                        "row": self._rows.get(each["event_index"], -1),
                        "tool": timeline.one_line(each["tool"], 40),
                        "file": timeline.one_line(each["file"], 300),
                        "excerpt": self._teller.short(timeline.one_line(each["excerpt"], 200)),
                    }
                    for each in found.evidence
                ],
            }
        )

    def as_mapping(self, scanned: Scanned) -> dict[str, Any]:
        """Return it as the page takes it."""
        if 0 < self.entries <= MOST_ENTRIES:  # what was used after the last entry is the last one's
            self._tokens[-1] += self._used.tokens - self._last[0]
            self._dollars[-1] += round(self._used.dollars * 1e6) - self._last[1]
            self._last = (self._used.tokens, round(self._used.dollars * 1e6))
        return {
            "id": timeline.one_line(scanned.session, 200),
            "path": timeline.one_line(_tilde(scanned.path), 300),
            "format": scanned.format,
            "project": timeline.one_line(_tilde(scanned.project), 300),
            "agent": timeline.one_line(scanned.agent, 100),
            "began": timeline.one_line(scanned.began, 40),
            "ended": timeline.one_line(scanned.ended, 40),
            "lasted": self._elapsed(scanned.ended),
            "how": timeline.one_line(scanned.how, 200),
            "first": self._first,
            "rounds": scanned.rounds,
            "messages": scanned.messages,
            "calls": scanned.tool_calls,
            "subagent_calls": self._calls["subagents"],
            "failed_calls": scanned.failed_calls,
            "edits": self._edited,
            "checks": self._checks,
            "compactions": self._compactions,
            "tokens": self._used.tokens,
            "dollars": round(self._used.dollars, 6),
            "unpriced": self._used.unpriced,
            "models": self._used.as_rows(),
            "noticed": len(scanned.found),
            "found": self._found,
            "entries": self.entries,
            "texts": list(self._texts),
            "kinds": "".join(self._kinds),
            "outcomes": "".join(self._outcomes),
            "labels": list(self._labels),
            "times": list(self._times),
            "indices": self._indices,
            "used_tokens": list(self._tokens),
            "used_dollars": list(self._dollars),
            "contexts": self._contexts,
            "details": self._details,
            "agents": self._agents,
            "edit_rows": self._edits,
        }


class _Used:
    """Adds up what model messages used, by model; of lines that repeat one, that with the most output counts."""

    def __init__(self, prices: Prices | None):
        self._prices = prices
        self._messages: dict[str, tuple[Usage, float | None]] = {}
        self._models: dict[str, list[float]] = {}  # messages, input, output, cache read, cache write, dollars, unpriced
        self.tokens = 0
        self.dollars = 0.0
        self.unpriced = 0  # tokens of models without a price

    def take(self, used: Used, when: str) -> None:
        dollars = used.dollars
        if dollars is None and self._prices is not None:
            dollars = self._prices.cost(used.model, used.usage, when)
        known = self._messages.get(used.key) if used.key else None
        if known is not None:
            if used.usage.output <= known[0].output:
                return
            self._add(used.model, *known, -1)
        if used.key:
            self._messages[used.key] = (used.usage, dollars)
        self._add(used.model, used.usage, dollars, 1)

    def _add(self, model: str, usage: Usage, dollars: float | None, sign: int) -> None:
        write = usage.cache_write + usage.cache_write_1h
        tokens = usage.input + usage.output + usage.cache_read + write
        row = self._models.setdefault(model, [0, 0, 0, 0, 0, 0.0, 0])
        values = (
            1,
            usage.input,
            usage.output,
            usage.cache_read,
            write,
            dollars or 0.0,
            0 if dollars is not None else tokens,
        )
        for at, value in enumerate(values):
            row[at] += sign * value
        self.tokens += sign * tokens
        self.dollars += sign * (dollars or 0.0)
        self.unpriced += sign * int(values[-1])

    def as_rows(self) -> list[dict[str, Any]]:
        names = ("messages", "input", "output", "cache_read", "cache_write", "dollars", "unpriced")
        rows = [
            {"model": timeline.one_line(model, 100), **dict(zip(names, row, strict=True)), "dollars": round(row[5], 6)}
            for model, row in self._models.items()
        ]
        return sorted(rows, key=lambda row: (-row["dollars"], row["model"]))


def _tilde(path: str) -> str:
    """Return a path with the home folder as ``~``: a page is given to others."""
    home = os.path.expanduser("~").rstrip(os.sep)
    return f"~{path[len(home) :]}" if len(home) > 1 and path.startswith(f"{home}{os.sep}") else path
