"""What sessions used and what that costs: tokens and dollars, from transcripts, by the prices of this release.

    from unspin import cost
    cost.of_session("~/.claude/projects/-shop/3eb2d320.jsonl").dollars

``prices`` knows what tokens cost, ``files`` where transcripts lie, ``transcripts`` what was used, ``totals`` how it is
added up; none knows another's business. ``own`` reads the person's own prices. Nothing is fetched, nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unspin.cost import files, own
from unspin.cost.files import Transcript
from unspin.cost.own import PriceError
from unspin.cost.prices import Prices, Usage, shipped
from unspin.cost.totals import BY, DAY, MODEL, PROJECT, SESSION, Report, Totals
from unspin.paths import config_folder

if TYPE_CHECKING:
    from unspin.cost.transcripts import Message, Reading

__all__ = [
    "BY",
    "DAY",
    "MODEL",
    "PROJECT",
    "SESSION",
    "Message",
    "PriceError",
    "Prices",
    "Reading",
    "Report",
    "Totals",
    "Transcript",
    "Usage",
    "known_prices",
    "of_session",
    "report",
]


def __getattr__(name: str) -> Any:
    """Load what reads transcripts when it is asked for: a command that only names this room has no use for it."""
    if name not in ("Message", "Reading"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from unspin.cost import transcripts

    return getattr(transcripts, name)


def known_prices() -> Prices:
    """Return the prices of this release, under the person's own.

    Raises :class:`PriceError` where the person's file cannot be used.
    """
    try:
        folder = config_folder()
    except OSError:
        return Prices(shipped())
    return Prices(shipped(), own.read(folder))


def of_session(path: str, prices: Prices | None = None) -> Totals:
    """Return what one session used and cost so far, its subagents included. ``path`` is its transcript.

    What a forked session has from its parent is the parent's. A file that is not there has nothing.
    """
    from unspin.cost.transcripts import Reading

    path = os.path.expanduser(path)
    prices = prices or known_prices()
    session = files.session_of(path)
    totals = Totals()
    for message in Reading().messages(files.of_session(path)):
        if message.session == session:
            dollars = prices.cost(message.model, message.usage, message.when)
            totals.add(message.usage, dollars, ended=message.ended)
    return totals


def report(messages: Iterable[Message], prices: Prices, into: Report) -> Report:
    """Add messages to a report, with what they cost."""
    for message in messages:
        into.add(message, prices.cost(message.model, message.usage, message.when))
    return into
