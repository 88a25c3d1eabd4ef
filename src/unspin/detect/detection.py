"""What every detector is, and what it answers with."""

from __future__ import annotations

from unspin.facts.reading import forget_oldest as forget_oldest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from unspin.events import Compaction, ContextSize, Message, TurnReport
    from unspin.facts.reading import Values
    from unspin.facts.step import CheckResult, Round, Step

    Noticed = Round | Message | Compaction | ContextSize | TurnReport


class Detection:
    """Something noticed: the rule, its subject, how often, and the evidence.

    ``subject`` is what it is about (a file, an error, a command, a cycle): with the rule
    and the episode it makes the identity under which a detection is said once. ``file`` is
    the file that is looped on and ``error`` the identity of the error, empty where there is
    none. ``kind`` is the kind of check whose pass ends the streak (or the digest of a
    command that is no check and ends it by succeeding), empty where none does. ``details``
    holds what the rule's message needs. ``blocks`` is true where an ignored line may be
    followed by a refusal; ``quiet`` detections are logged and never said.
    """

    __slots__ = (
        "blocks",
        "count",
        "details",
        "error",
        "evidence",
        "file",
        "kind",
        "quiet",
        "rule",
        "subject",
    )

    def __init__(
        self,
        rule: str,
        subject: str,
        count: int,
        evidence: list[dict[str, Any]],
        *,
        file: str = "",
        error: str = "",
        kind: str = "",
        details: dict[str, Any] | None = None,
        blocks: bool = False,
        quiet: bool = False,
    ):
        self.rule = rule
        self.subject = subject
        self.count = count
        self.evidence = evidence
        self.file = file
        self.error = error
        self.kind = kind
        self.details = details or {}
        self.blocks = blocks
        self.quiet = quiet


class Detector:
    """A small state machine with one entry, ``observe``.

    ``state`` is all it remembers: plain data that can be stored after any event and given
    to another instance, with the same answers after. It knows nothing of other detectors,
    of messages, or of agents.

    ``keys`` are its settings: ``key: (kind of value, default, meaning)``, the first of
    them the threshold or switch with which the rule is turned off. ``loop`` is true of
    rules that speak of loops: while one of them stands on a file or an error, the others
    are not said.
    """

    rule = ""
    loop = True
    keys: ClassVar[dict[str, tuple[str, Any, str]]] = {}

    def __init__(self, settings: Values, state: dict[str, Any] | None = None):
        self.settings = settings
        self.threshold = int(settings[self.switch()])
        self.state: dict[str, Any] = self.initial() if state is None else state

    @classmethod
    def switch(cls) -> str:
        """Return the key whose value is the threshold; ``false`` there switches the rule off."""
        return next(iter(cls.keys))

    def initial(self) -> dict[str, Any]:
        """Return the state before the first event."""
        return {}

    def observe(self, event: Noticed) -> list[Detection]:
        """Take one event; return what it made this rule notice, mostly nothing."""
        raise NotImplementedError

    def wants_texts(self) -> bool:
        """Tell whether this rule needs to know what test files hold before the next call."""
        return False

    def streaks(self) -> list[tuple[str, int]]:
        """Return what is being counted and how far it is, for people who ask."""
        return []


EVIDENCE = 6  # notes kept of one streak: the newest
_EXCERPT = 100
_LONGEST_PATH = 500


def note(step: Step, excerpt: str = "", file: str = "") -> list[Any]:
    """Return the record of one step that was counted, in the short form that state holds."""
    return [step.index, step.tool[:40], file[-_LONGEST_PATH:], (excerpt or step.label)[:_EXCERPT]]


def evidence(notes: list[list[Any]], file: str = "") -> list[dict[str, Any]]:
    """Return notes in the form of the log; ``file`` is theirs where they name none."""
    return [
        {"event_index": index, "tool": tool, "file": own or file, "excerpt": excerpt}
        for index, tool, own, excerpt in notes
    ]


def followed(path: str) -> bool:
    """Tell whether a file can be followed: its name is known, and no longer than state can hold."""
    return 0 < len(path) <= _LONGEST_PATH


def resets(check: CheckResult, kind: str) -> bool:
    """Tell whether a check resets streaks of ``kind``: a pass its own kind's, a passed test all.

    A linter neither counts nor resets, and a green build says nothing about red tests.
    """
    return check.passed and check.kind != "lint" and check.kind in ("test", kind)
