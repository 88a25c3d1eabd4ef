"""The lists of this room, in data files: the words of each language, and what tools and programs do, by their names.

Read through the import system, as the code is; the one place in this room where a file is opened.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: The languages whose claims can be read.
LANGUAGES = ("en",)

_read: dict[str, dict[str, Any]] = {}
_compiled: dict[str, re.Pattern[str]] = {}
_made: dict[tuple[str, str], re.Pattern[str]] = {}


def words(language: str) -> dict[str, Any]:
    """Return the lists of a language. Raises ``ValueError`` for one that is not there."""
    if language not in LANGUAGES:
        raise ValueError(f"language {language!r}: expected one of {', '.join(LANGUAGES)}")
    return _lists(f"languages/{language}")


def tools() -> dict[str, Any]:
    """Return the lists of what tools and programs do."""
    return _lists("tools")


def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of the lists, made once."""
    if pattern not in _compiled:
        _compiled[pattern] = re.compile(pattern, re.IGNORECASE)
    return _compiled[pattern]


def made(name: str, language: str, make: Callable[[dict[str, Any]], str]) -> re.Pattern[str]:
    """Return the pattern that ``make`` makes of a language's lists, made once for each name."""
    key = (name, language)
    if key not in _made:
        _made[key] = re.compile(make(words(language)), re.IGNORECASE)
    return _made[key]


def _lists(name: str) -> dict[str, Any]:
    if name not in _read:
        import json

        loader: Any = __spec__.loader
        folder = __file__.rpartition("lists.")[0]
        _read[name] = json.loads(loader.get_data(f"{folder}{name}.json"))
    return _read[name]
