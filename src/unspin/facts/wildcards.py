"""Matching against patterns with stars, whatever the pieces are: characters of a name, folders of a path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


def fits_all(wanted: Sequence[Any], given: Sequence[Any], star: str, fits: Callable[[Any, Any], bool]) -> bool:
    """Match with one kind of star, in time that grows with both lengths multiplied at most."""
    at = place = 0
    back, resume = -1, 0
    while place < len(given):
        if at < len(wanted) and wanted[at] == star:
            back, resume = at, place
            at += 1
        elif at < len(wanted) and fits(wanted[at], given[place]):
            at += 1
            place += 1
        elif back >= 0:
            at = back + 1
            resume += 1
            place = resume
        else:
            return False
    return all(each == star for each in wanted[at:])
