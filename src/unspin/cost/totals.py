"""Adding up what messages used and cost, by day, model, session or project. Knows no transcript and no price table.

What has no price is added up beside what has: a total then is "at least" its cost, never too little in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

from unspin.cost.prices import Usage

DAY, MODEL, SESSION, PROJECT = "day", "model", "session", "project"
BY = (DAY, MODEL, SESSION, PROJECT)
NO_DAY = "no date"


class Counted(Protocol):
    """What a message has to tell to be added up; any agent's reader can bring it."""

    @property
    def when(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def session(self) -> str: ...
    @property
    def project(self) -> str: ...
    @property
    def folder(self) -> str: ...
    @property
    def ended(self) -> bool: ...


class Totals:
    """Messages, tokens and money of many messages."""

    __slots__ = (
        "cache_read",
        "cache_write",
        "dollars",
        "input",
        "messages",
        "output",
        "unended",
        "unpriced",
        "web_searches",
    )

    def __init__(self) -> None:
        self.messages = self.input = self.output = self.cache_read = self.cache_write = self.web_searches = 0
        self.dollars = 0.0
        self.unpriced = 0  # messages whose price is not known
        self.unended = 0  # messages whose output is more than is told

    def add(self, usage: Usage, dollars: float | None, *, ended: bool = True) -> None:
        """Add one message; ``None`` stands for a price that is not known."""
        self.messages += 1
        self.input += usage[0]
        self.output += usage[1]
        self.cache_read += usage[2]
        self.cache_write += usage[3] + usage[4]
        self.web_searches += usage[5]
        self.unended += not ended
        if dollars is None:
            self.unpriced += 1
        else:
            self.dollars += dollars

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def cost(self) -> float | None:
        """The dollars that are known: 0 for no message, ``None`` where no message has a known price."""
        return None if self.messages and self.unpriced == self.messages else self.dollars

    @property
    def at_least(self) -> bool:
        """Whether the cost leaves out messages whose price is not known."""
        return self.unpriced > 0

    def as_mapping(self) -> dict[str, Any]:
        """Return the figures as plain data; dollars to the millionth."""
        return {
            "messages": self.messages,
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_read_tokens": self.cache_read,
            "cache_write_tokens": self.cache_write,
            "web_searches": self.web_searches,
            "unended_messages": self.unended,
            "cost": None if self.cost is None else round(self.cost, 6),
            "cost_at_least": self.at_least,
        }


class Row:
    """One row of a report: its totals, the models in it, and what it is of."""

    __slots__ = ("first", "folder", "last", "models", "project", "totals")

    def __init__(self, project: str, folder: str, when: str):
        self.totals = Totals()
        self.models: set[str] = set()
        self.project, self.folder = project, folder
        self.first = self.last = when


class Report:
    """Totals by one thing; ``total`` is that of all rows, ``unknown`` that of each model without a price."""

    def __init__(self, by: str, zone: tzinfo | None = None):
        day = Days(zone).of
        self.by = by
        self.total = Totals()
        self.rows: dict[str, Row] = {}
        self.unknown: dict[str, Totals] = {}
        self._key: Callable[[Any], str] = {
            DAY: lambda message: day(message.when),
            MODEL: lambda message: message.model,
            SESSION: lambda message: message.session,
            PROJECT: lambda message: message.project,
        }[by]

    def add(self, message: Counted, dollars: float | None) -> None:
        """Add one message with its cost."""
        usage, when = message.usage, message.when
        key = self._key(message)
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(message.project, message.folder, when)
        row.totals.add(usage, dollars, ended=message.ended)
        row.models.add(message.model)
        if when > row.last:
            row.last = when
        elif when and (not row.first or when < row.first):
            row.first = when
        self.total.add(usage, dollars, ended=message.ended)
        if dollars is None:
            self.unknown.setdefault(message.model, Totals()).add(usage, None, ended=message.ended)


class Days:
    """The calendar day of a moment, in one time zone: the machine's own where none is given."""

    def __init__(self, zone: tzinfo | None = None):
        self._zone = zone
        self._known: dict[str, str] = {}

    def of(self, when: str) -> str:
        """Return the day of an ISO 8601 time as ``2026-11-30``; a time that cannot be read has none."""
        minute = when[:16] if when.endswith("Z") else when
        day = self._known.get(minute)
        if day is None:
            day = self._known[minute] = self._read(when)
        return day

    def _read(self, when: str) -> str:
        try:
            moment = datetime.fromisoformat(when)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(self._zone).date().isoformat()
        except (ValueError, OverflowError, OSError):
            return NO_DAY
