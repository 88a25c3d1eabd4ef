"""What a model's tokens cost: a model's name, what one message used, and its day give dollars, or "not known".

The prices ship with the release (``prices.json``, dated, made by ``scripts/make_prices.py``); nothing is
fetched. This room knows no transcript and no agent: whoever reads one brings a :class:`Usage`.

A price that is not known is ``None`` and never 0: what a total does with it is the total's business.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

#: The figures of one price, in dollars per million tokens; ``web_search`` per thousand requests.
FIGURES = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "web_search")

_ROUTE = re.compile(r"^(?:[a-z]{2,6}\.)?anthropic\.(?=claude)")  # Bedrock: eu.anthropic.claude-opus-4-6-v1:0
_NOT_NAME = re.compile(r"\[[^\]]*\]$")  # claude-sonnet-4-5[1m]


class Usage(NamedTuple):
    """What one model message used. All counts are tokens and no two overlap, ``web_searches`` are requests."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0  # kept for five minutes, or for a time that is not told
    cache_write_1h: int = 0
    web_searches: int = 0
    fast: bool = False

    @property
    def tokens(self) -> int:
        """All tokens together: what was in the context after the message."""
        return self.input + self.output + self.cache_read + self.cache_write + self.cache_write_1h


class Prices:
    """A price table: that of the release, with the person's own prices over it.

    ``own`` gives a name (or how it begins, with ``*`` at the end) its figures in dollars per million tokens.
    Such an entry stands for the whole price: a class of tokens that it leaves out is paid as input.
    """

    def __init__(self, shipped: Mapping[str, Any], own: Mapping[str, Mapping[str, float]] | None = None):
        self.dated: str = shipped["dated"]
        self._models = [model for models in shipped["providers"].values() for model in models]
        self._own = own or {}
        self._found: dict[str, dict[str, Any] | None] = {}

    def cost(self, model: str, usage: Usage, when: str = "") -> float | None:
        """Return what a message cost in dollars, ``None`` where the model has no price here.

        ``when`` is its time in UTC as ISO 8601: prices have changed. Without it, today's price holds.
        """
        try:
            found = self._found[model]
        except KeyError:
            found = self._found[model] = self._find(model)
        if found is None:
            return None
        rows = found["prices"]
        price = rows[0] if len(rows) == 1 else _at(rows, when)
        if usage.fast and "fast" in found:
            price = {**price, "tiers": (), **found["fast"]}
        fresh = price["input"]
        output, read, write = price["output"], price.get("cache_read", fresh), price.get("cache_write", fresh)
        hour = price.get("cache_write_1h", write)
        tiers = price.get("tiers")
        if tiers:
            context = usage.input + usage.cache_read + usage.cache_write + usage.cache_write_1h
            for tier in tiers:  # the highest that is reached holds for all tokens of the message
                if context > tier["above"]:
                    fresh, output = tier.get("input", fresh), tier.get("output", output)
                    read, write = tier.get("cache_read", read), tier.get("cache_write", write)
                    hour = tier.get("cache_write_1h", hour)
        dollars: float = usage.input * fresh + usage.output * output + usage.cache_read * read
        dollars += usage.cache_write * write + usage.cache_write_1h * hour
        searches: float = usage.web_searches * price.get("web_search", 0)
        return dollars / 1e6 + searches / 1e3

    def knows(self, model: str) -> bool:
        """Return whether the model has a price."""
        return self.cost(model, Usage()) is not None

    def _find(self, model: str) -> dict[str, Any] | None:
        name = plain_name(model)
        for wanted, figures in self._own.items():
            if wanted in (model, name) or (wanted.endswith("*") and name.startswith(wanted[:-1])):
                return {"prices": [figures]}
        return next((each for each in self._models if _matches(each["match"], name)), None)


def shipped() -> dict[str, Any]:
    """Return the price table of this release."""
    path = os.path.join(os.path.dirname(__file__), "prices.json")
    with open(path, encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
    return table


def plain_name(model: str) -> str:
    """Return a model's own name: lower case, without a cloud's or a router's words around it."""
    name = _NOT_NAME.sub("", model.strip().lower().rpartition("/")[2])
    return _ROUTE.sub("", name)


def _at(rows: list[dict[str, Any]], when: str) -> dict[str, Any]:
    """Return the last price whose condition holds at that time; a price may be bound to a day or to hours."""
    found = rows[0]
    for row in rows:
        if "from" in row and when and when[:10] < row["from"]:
            continue
        if "hours" in row and not _within(row["hours"], when[11:16]):
            continue
        found = row
    return found


def _within(hours: list[str], clock: str) -> bool:
    begin, end = hours
    return begin <= clock < end if begin <= end else clock >= begin or "" < clock < end


def _matches(clause: dict[str, Any], name: str) -> bool:
    ((kind, value),) = clause.items()
    if kind == "or":
        return any(_matches(each, name) for each in value)
    if kind == "and":
        return all(_matches(each, name) for each in value)
    if kind == "regex":
        return re.search(value, name) is not None
    value = value.lower()
    if kind == "equals":
        return bool(name == value)
    if kind == "starts_with":
        return name.startswith(value)
    return name.endswith(value) if kind == "ends_with" else value in name
