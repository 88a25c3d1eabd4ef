"""What a host shows its person of something that the library did: for a user interface of its own.

A notice is data: level, key, text. What happens again within one turn has the same key, so that a
host can show it once, with a count. Nothing here knows who shows it, and where.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Noticed(Protocol):
        """What has a notice of its own: a response, a stop report, a verdict on claims."""

        @property
        def notice(self) -> Notice | None: ...


INFO, WARNING, ERROR = "info", "warning", "error"


class Notice:
    """``level`` is ``info`` (for a log), ``warning`` (the agent was told, or refused something) or ``error`` (it was
    stopped). ``key`` is the same for repeats within one turn; ``text`` is one line."""

    __slots__ = ("key", "level", "text")

    def __init__(self, level: str, key: str, text: str):
        self.level = level
        self.key = key
        self.text = text

    def as_mapping(self) -> dict[str, str]:
        """Return the notice as plain data."""
        return {"level": self.level, "key": self.key, "text": self.text}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notice) and self.as_mapping() == other.as_mapping()

    def __hash__(self) -> int:
        return hash((self.level, self.key, self.text))

    def __repr__(self) -> str:
        return f"Notice({self.level!r}, {self.key!r}, {self.text!r})"


def notices(firings: list[Noticed]) -> list[Notice]:
    """Return the notices of what fired, one for each key: the last one, where something fired again."""
    found = {notice.key: notice for notice in (each.notice for each in firings) if notice is not None}
    return list(found.values())
