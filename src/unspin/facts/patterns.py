"""Regular expressions that are compiled when they are first used.

A hook is a process for every event, and most events need few of the patterns: compiling
all of them, and loading ``re`` at all, would cost more than the rest of the work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

IGNORECASE = 2  # the numbers of ``re``, which is not loaded for them
MULTILINE = 8
DOTALL = 16


class _Lazy:
    """Stands for a pattern; becomes one on the first call of any of its methods."""

    __slots__ = ("finditer", "flags", "fullmatch", "match", "search", "source", "split", "sub")

    def __init__(self, source: str, flags: int):
        self.source = source
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        import re

        pattern = re.compile(self.source, self.flags)
        for method in ("finditer", "fullmatch", "match", "search", "split", "sub"):
            setattr(self, method, getattr(pattern, method))
        return getattr(pattern, name)


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``source`` as a pattern that is compiled when it is first used."""
    return _Lazy(source, flags)  # type: ignore[return-value]
