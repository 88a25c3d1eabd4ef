"""What a reader yields: events of ``unspin.events``, and what a transcript tells besides.

A reader yields ``(thing, when)`` in the order in which things happened: ``when`` is the
transcript's own time stamp, empty where it has none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from unspin.cost.prices import Usage
    from unspin.events import Event


class Began:
    """From here on it is this session: ``cwd`` is the folder that the agent was started in."""

    __slots__ = ("agent", "cwd", "model", "session")

    def __init__(self, session: str, cwd: str = "", agent: str = "", model: str = ""):
        self.session = session
        self.cwd = cwd
        self.agent = agent
        self.model = model


class Used:
    """One model message and what it used. ``key`` identifies it: a message counts once, empty counts always.

    ``agent`` names the subagent whose message it is.
    """

    __slots__ = ("agent", "dollars", "key", "model", "usage")

    def __init__(self, model: str, usage: Usage, key: str = "", *, agent: str = "", dollars: float | None = None):
        self.model = model
        self.usage = usage
        self.key = key
        self.agent = agent
        self.dollars = dollars  # where the transcript itself says what it cost


class Skipped:
    """A line of a type that says nothing to us, or that we do not know: counted by ``kind``."""

    __slots__ = ("kind",)

    def __init__(self, kind: str):
        self.kind = kind


class Broken:
    """Something that could not be read: where, and why. The rest is still read."""

    __slots__ = ("line", "why")

    def __init__(self, line: int, why: str):
        self.line = line
        self.why = why


class Ended:
    """The run says how it ended: ``submitted``, ``cost limit``, ... in its own words."""

    __slots__ = ("how",)

    def __init__(self, how: str):
        self.how = how


if TYPE_CHECKING:
    Thing: TypeAlias = Event | Began | Used | Skipped | Broken | Ended
    Item: TypeAlias = tuple[Thing, str]
