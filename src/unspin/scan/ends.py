"""What a run says of its own end, read: it is the run's word, and no proof that the work was good."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

WELL = "well"  # it handed in its work, or says that it was done
LIMIT, STUCK, PERSON, ERROR = "limit", "stuck", "person", "error"


def read(how: str) -> tuple[str, str]:
    """Return what an end in the run's own words is, and the reason in a stop report; empty where nothing is known."""
    said = how.lower()
    return next(((kind, reason) for word, kind, reason in _ends() if word in said), ("", ""))


@cache
def _ends() -> list[tuple[str, str, str]]:
    listed = json.loads(files("unspin.scan").joinpath("ends.json").read_text("utf-8"))["ends"]
    return [(word, kind, reason) for word, kind, reason in listed]
