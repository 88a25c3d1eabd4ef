"""The recorded texts beside the project: degenerate ones are caught, honest ones are left alone."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from unspin.stream import StreamGuard, Trip

pytestmark = pytest.mark.corpora

#: Three iterations of a line are all there is of it: too few to tell a loop from a short list.
TOO_SHORT = {"issue_openclaw_39961.txt"}


def trips(folder: Path) -> dict[str, Trip | None]:
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in sorted(folder.glob("*.txt"))}
    return {name: StreamGuard().feed_content_delta(text) for name, text in texts.items() if text}


def test_every_degenerate_text_is_caught(shared: Path) -> None:
    found = trips(shared / "corpora" / "text" / "degenerate")
    assert {name for name, trip in found.items() if trip is None} == TOO_SHORT
    assert len(found) >= 25
    assert statistics.median(trip.chars for trip in found.values() if trip) < 500


def test_no_honest_text_trips(shared: Path) -> None:
    found = trips(shared / "corpora" / "text" / "legit")
    assert len(found) >= 71
    assert {name: trip for name, trip in found.items() if trip} == {}
