"""What workers used: tokens and dollars, from the transcripts that clients leave of what they did in the run's folder.

Claude Code's and Codex's are read. What other clients use is not known here.
"""

from __future__ import annotations

import contextlib
import os
import time

from unspin import cost
from unspin.cost.files import find, folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from unspin.cost import Prices

_DAY = 86_400.0


def since(began: float, tree: str) -> tuple[int, float]:
    """Return tokens and dollars of the sessions in ``tree`` that were written to since ``began``.

    Every worker is a session of its own, so each is told once. What has no known price adds no dollars.
    """
    tree = os.path.realpath(tree)
    found = (_of_claude(began, tree), _of_codex(began, tree))
    return sum(tokens for tokens, _ in found), sum(dollars for _, dollars in found)


def _of_claude(began: float, tree: str) -> tuple[int, float]:
    slug = "".join(char if char.isalnum() else "-" for char in tree)
    places = [path for base in folders() if os.path.isdir(path := os.path.join(base, slug))]
    found = find(places, since=began) if places else []
    if not found:
        return 0, 0.0
    from unspin.cost.transcripts import Reading

    report = cost.report(Reading().messages(found), cost.known_prices(), cost.Report(cost.PROJECT))
    rows = report.rows.values()
    return sum(row.totals.tokens for row in rows), sum(row.totals.cost or 0.0 for row in rows)


def _of_codex(began: float, tree: str) -> tuple[int, float]:
    paths = list(_rollouts(began))
    if not paths:
        return 0, 0.0
    prices, tokens, dollars = cost.known_prices(), 0, 0.0
    for path in paths:
        with contextlib.suppress(OSError, ValueError):  # what cannot be read, or names no folder, is of no worker here
            more, paid = _of_rollout(path, tree, prices)
            tokens += more
            dollars += paid
    return tokens, dollars


def _rollouts(began: float) -> Iterator[str]:
    """Yield Codex's transcripts that were written to since then: they lie by the day on which a session began."""
    base = os.environ.get("CODEX_HOME", "") or os.path.join(os.path.expanduser("~"), ".codex")
    top = os.path.join(base, "sessions")
    if not os.path.isdir(top):
        return
    at, end = began - _DAY, time.time() + 2 * _DAY  # a day more at each end: whatever the time zone
    while at < end:
        folder = os.path.join(top, *time.strftime("%Y %m %d", time.localtime(at)).split())
        at += _DAY
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):  # gone since it was listed
                if name.endswith(".jsonl") and os.path.isfile(path) and os.stat(path).st_mtime >= began:
                    yield path


def _of_rollout(path: str, tree: str, prices: Prices) -> tuple[int, float]:
    from unspin.scan.items import Began, Used
    from unspin.scan.readers import codex
    from unspin.scan.source import Source

    used: dict[str, tuple[int, float]] = {}
    for thing, when in codex.read(Source(path)):
        if isinstance(thing, Began) and os.path.realpath(thing.cwd) != tree:
            return 0, 0.0
        if isinstance(thing, Used):
            used[thing.key] = thing.usage.tokens, prices.cost(thing.model, thing.usage, when) or 0.0
    return sum(tokens for tokens, _ in used.values()), sum(dollars for _, dollars in used.values())
