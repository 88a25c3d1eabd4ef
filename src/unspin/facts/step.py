"""What plain reading of one tool call and its result yields, and the rounds made of them.

A step is small plain data: outputs are gone, only what detectors ask for is left. It can
be dumped to JSON values and loaded again. Detectors see nothing else of a call.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

PASSED = "passed"
FAILED = "failed"
UNKNOWN = "unknown"

EXCERPT = 200  # characters of a text that is kept for people to read


class Plain:
    """Fields that are plain data, in the order of ``__slots__``; dumped as one list."""

    __slots__: tuple[str, ...] = ()

    def dump(self) -> list[Any]:
        return [getattr(self, name) for name in self.__slots__]

    @classmethod
    def load(cls, values: list[Any]) -> Self:
        self = cls.__new__(cls)
        for name, value in zip(cls.__slots__, values, strict=True):
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class Late(Plain):
    """Plain data of which some fields are read only when they are asked for: they cost most, and few are asked for.

    ``later`` reads such a field, and puts it in its place.
    """

    __slots__ = ("later",)
    later: Callable[[Any, str], None] | None

    def defer(self, later: Callable[[Any, str], None], names: tuple[str, ...]) -> None:
        """Leave ``names`` to ``later``, which is given this object and the name of the field."""
        self.later = later
        for name in names:
            delattr(self, name)

    @classmethod
    def load(cls, values: list[Any]) -> Self:
        self = super().load(values)
        self.later = None
        return self

    if not TYPE_CHECKING:  # mypy would take it for any field that there is not

        def __getattr__(self, name):
            if name in self.__slots__ and self.later is not None:
                self.later(self, name)
                return object.__getattribute__(self, name)
            raise AttributeError(f"{type(self).__name__} has no {name!r}")


class CheckResult(Plain):
    """A check and how it ended.

    ``outcome`` is what the exit status proves. ``shown`` is what the own summary of a piped run
    says, filled in only where ``checks.read_summaries`` is on, or of one whose end nobody told; good for a
    streak, never for tampering. ``scratch`` marks a run of a script that is meant to fail. ``hidden`` says
    why an outcome is not known: ``piped``, ``background``, ``interrupted``, ``refused``, ``untold`` or ``masked`` (the
    line's status does not tell, or its own output speaks against it); else it is empty.
    ``counts`` are the tests that passed, failed and were skipped by the run's own summary, empty where there is none.
    ``followed`` says that something behind it in its line may have changed files that nobody can name.
    ``folder`` is where it ran, empty where that cannot be known.
    """

    __slots__ = ("command", "counts", "folder", "followed", "hidden", "kind", "outcome", "scratch", "shown")

    def __init__(
        self, kind: str, command: str, outcome: str, *, shown: str = "", scratch: bool = False, hidden: str = ""
    ):
        self.counts: list[int] = []
        self.folder = ""
        self.followed = False
        self.hidden = hidden
        self.kind = kind
        self.command = command
        self.outcome = outcome
        self.shown = shown
        self.scratch = scratch

    @property
    def passed(self) -> bool:
        return self.outcome == PASSED or self.shown == PASSED

    @property
    def failed(self) -> bool:
        return self.outcome == FAILED or self.shown == FAILED


class FileChange(Late):
    """One file that the call changed (or, where ``refused``, was not allowed to change).

    ``change`` is ``write``, ``revert``, ``delete`` or ``move`` (away from ``path``); ``path``
    is empty where it cannot be known. ``weakened`` counts what happened to a test:
    assertions removed and altered, skips added, tests deleted, assertions added; ``None``
    where nothing can be said. ``lost`` and ``came`` mark the same one by one, so that what
    one edit took away and another brought back can be told (``test_changes.still_lost``).
    ``gone`` holds names that the change took out of the file, ``mentions`` names on the
    lines of a test that were removed or altered. ``swap`` holds digests of what it did and of what would undo it;
    ``beside`` marks what a check of the same line prints into, and what was cleared away before one.
    ``probe`` is ``undo`` where it takes the last change of that file back or makes a reverted one again, ``debug``
    where it only puts lines in or out that show something, ``format`` where a formatter or a linter wrote it: none
    is an attempt.
    """

    __slots__ = (
        "after",
        "before",
        "beside",
        "came",
        "change",
        "gone",
        "lost",
        "mentions",
        "path",
        "probe",
        "refused",
        "role",
        "shell",
        "swap",
        "weakened",
    )

    def __init__(
        self,
        path: str,
        change: str = "write",
        *,
        role: str = "source",
        shell: bool = False,
        refused: bool = False,
        before: str = "",
        after: str = "",
        weakened: list[int] | None = None,
        gone: list[str] | None = None,
        mentions: list[str] | None = None,
    ):
        self.later = None
        self.path = path
        self.change = change
        self.role = role
        self.shell = shell
        self.refused = refused
        self.before = before
        self.after = after
        self.weakened = weakened
        self.lost: list[str] = []
        self.came: list[str] = []
        self.gone = gone or []
        self.mentions = mentions or []
        self.swap: list[str] = []
        self.beside = False
        self.probe = ""


class Step(Late):
    """One call of the main agent or a subagent, read.

    ``what`` identifies tool and arguments, ``result`` the normalised output; it and ``constant`` are
    read when they are asked for. ``errors``
    are those recognised in a failing result, the first one first: ``[identity, line]``.
    ``error`` is the identity of the one that counts, empty where there is none, and
    ``error_text`` its line as it stood; both are chosen when the round is settled. ``failing`` holds the failing tests:
    ``[digest of the id, file, digest of the reason]``. ``signature`` says which failure
    it is, empty where that cannot be said. ``noise`` holds error-looking lines of an
    output that passed. ``unstartable`` is set where the program or tool could not even
    be started. ``opaque`` means that the call may have
    changed files in a way that nobody can see.
    """

    __slots__ = (
        "action",
        "changes",
        "checks",
        "command",
        "constant",
        "error",
        "error_count",
        "error_text",
        "errors",
        "exempt",
        "failed",
        "failing",
        "index",
        "label",
        "noise",
        "old",
        "opaque",
        "polls",
        "position",
        "refused",
        "result",
        "role",
        "signature",
        "size",
        "spacer",
        "spoke",
        "stopped",
        "tool",
        "unstartable",
        "what",
    )

    def __init__(self, tool: str, label: str, action: str, what: str, position: int = 0):
        self.later = None
        self.index = 0
        self.position = position
        self.tool = tool
        self.label = label
        self.action = action
        self.what = what
        self.command = ""  # digest of the command line, "" for other tools
        self.role = ""  # of the command line: see ``facts.shell.Line.role``
        self.result = ""
        self.constant = False  # the output says only that it was done, or that all is well
        self.size = 0
        self.failed = False
        self.refused = ""
        self.spoke = False  # the person spoke through this call
        self.error = ""
        self.error_text = ""
        self.errors: list[list[str]] = []
        self.error_count = 0
        self.failing: list[list[str]] = []
        self.signature = ""
        self.noise: list[str] = []
        self.old = False  # all that fails was red before the session's first edit
        self.stopped = False  # ended by a signal or a time-out
        self.unstartable = ""
        self.checks: list[CheckResult] = []
        self.changes: list[FileChange] = []
        self.polls = False
        self.spacer = False
        self.opaque = False
        self.exempt = False

    def dump(self) -> list[Any]:
        values = super().dump()
        for name in ("checks", "changes"):
            at = self.__slots__.index(name)
            values[at] = [each.dump() for each in values[at]]
        return values

    @classmethod
    def load(cls, values: list[Any]) -> Self:
        self = super().load(values)
        self.checks = [CheckResult.load(each) for each in values[cls.__slots__.index("checks")]]
        self.changes = [FileChange.load(each) for each in values[cls.__slots__.index("changes")]]
        return self

    def contents(self) -> tuple[Any, ...]:
        """Return all that the step holds, for ``again``; what its lists hold is not changed after reading."""
        return _contents(self)

    @classmethod
    def again(cls, contents: tuple[Any, ...]) -> Self:
        """Return another step that holds ``contents``."""
        self = cls.__new__(cls)
        for name, value in zip(_HELD, contents, strict=True):
            setattr(self, name, value)
        if self.later is None:
            self.result, self.constant = "", False
        return self

    def failed_check(self) -> CheckResult | None:
        """Return the first check that failed for certain, linters left out."""
        return next((check for check in self.checks if check.outcome == FAILED and check.kind != "lint"), None)

    def failures_left(self) -> int:
        """Return how much is failing: tests where they are named, else error lines."""
        return len(self.failing) or self.error_count

    def written(self) -> list[FileChange]:
        """Return the changes that took place and are edits: reverts are none."""
        return [each for each in self.changes if not each.refused and each.change != "revert"]

    def attempts(self) -> list[FileChange]:
        """Return the edits that may cure something: see ``FileChange.probe`` for those that do not."""
        return [each for each in self.written() if not each.probe]


_OUTCOME = ("result", "constant")  # read late
_HELD = (*(name for name in Step.__slots__ if name not in _OUTCOME), "later")
_contents = attrgetter(*_HELD)


class Round:
    """The steps of one model response, in order: what detectors judge together."""

    __slots__ = ("agent", "steps")

    def __init__(self, steps: list[Step], agent: str = ""):
        self.steps = steps
        self.agent = agent
