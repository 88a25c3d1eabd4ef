"""The vocabulary: what an agent, a tool or a person did, in order.

Events are the only input of the core. They carry what happened and nothing that
anybody concluded from it: reading a shell line or an error is the business of
``facts``. They know no agent's wire format: ``agents`` translates.

Paths are absolute and, where whoever makes the event can ask the file system, real
(symlinks resolved). Text is taken as it came.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

#: What a call does, whatever the agent names its tool.
EDIT = "edit"  # its edit tool: writes files, and may refuse to
SHELL = "shell"  # runs a command line
READ = "read"  # reads or searches files, changes nothing
WAIT = "wait"  # waits for something, or asks how far it is
NOTE = "note"  # the agent's own notes: todo lists, thoughts
ASK = "ask"  # puts a question to the person
AGENT = "agent"  # starts a subagent
OTHER = "other"

#: Who refused a call before it ran to its end.
BY_TOOL = "tool"  # the tool itself: old text not found, stale file, syntax check
BY_PERSON = "person"
BY_GUARD = "guard"  # one of our own blocks
BY_HOOK = "hook"  # somebody else's hook or permission rule
BY_SIBLING = "sibling"  # dropped because a call beside it failed


class Edit:
    """One change of one file that an edit tool was asked for.

    ``old`` and ``new`` are the replaced and the new text; ``old`` is ``None`` where the
    call writes the whole file and what stood there is not known. ``before`` and
    ``after`` are hashes of the file's whole content, empty where nobody looked.
    """

    __slots__ = ("after", "before", "new", "old", "path")

    def __init__(self, path: str, old: str | None = None, new: str = "", *, before: str = "", after: str = ""):
        self.path = path
        self.old = old
        self.new = new
        self.before = before
        self.after = after


class ToolCall:
    """A tool call that the agent is about to make: the question of a hook before the tool.

    ``arguments`` is what identifies the call, as one text in a canonical order, without
    the agent's own gloss (a description of the command, a thought). ``label`` is how a
    person would name the call ("npm test", "read a.py"). ``real_paths`` maps a path as
    the call names it (made absolute against ``cwd``) to the file it really is, where
    the two differ. ``hashes`` and ``texts`` tell of files that it wrote, by real path: a
    hash of the content after its round, and the whole text before and after, where
    somebody looked. ``agent`` is empty for the main agent and names a subagent otherwise.
    ``forbidden`` says why only the person may do this (``settings``, ``command``).
    """

    __slots__ = (
        "action",
        "agent",
        "arguments",
        "call_id",
        "command",
        "cwd",
        "edits",
        "forbidden",
        "hashes",
        "label",
        "real_paths",
        "texts",
        "tool",
    )

    def __init__(
        self,
        tool: str,
        arguments: str = "",
        *,
        action: str = OTHER,
        label: str = "",
        command: str = "",
        edits: Sequence[Edit] = (),
        cwd: str = "/",
        agent: str = "",
        call_id: str = "",
        real_paths: Mapping[str, str] | None = None,
        hashes: Mapping[str, str] | None = None,
        texts: Mapping[str, tuple[str, str]] | None = None,
        forbidden: str = "",
    ):
        self.tool = tool
        self.arguments = arguments
        self.action = action
        self.label = label or tool
        self.command = command
        self.edits = tuple(edits)
        self.cwd = cwd
        self.agent = agent
        self.call_id = call_id
        self.real_paths = real_paths or {}
        self.hashes = hashes or {}
        self.texts = texts or {}
        self.forbidden = forbidden


class ToolResult:
    """A tool call together with what came of it.

    ``failed`` is the agent's own word (an error result); ``exit_code`` is ``None`` where
    the agent does not tell it. ``refused`` says who refused the call (``BY_...``), empty
    if it ran. ``comment`` is true where the person refused it and said what to do.
    ``interrupted`` means stopped by the person, ``background`` that it still runs, ``untold`` that
    nobody said how it ended, as in logs that keep the output alone.
    ``recorded`` holds outcomes that ``unspin check`` saw itself: ``(command, kind, status)``,
    newest first.
    ``position`` is the call's place in the model's response, from 0: the order that
    counts, whatever the order of arrival. ``size`` is the output's size in bytes as the
    model got it.
    """

    __slots__ = (
        "background",
        "call",
        "comment",
        "exit_code",
        "failed",
        "interrupted",
        "output",
        "position",
        "recorded",
        "refused",
        "size",
        "untold",
    )

    def __init__(
        self,
        call: ToolCall,
        output: str = "",
        *,
        failed: bool = False,
        exit_code: int | None = None,
        refused: str = "",
        comment: bool = False,
        interrupted: bool = False,
        background: bool = False,
        position: int = 0,
        size: int | None = None,
        recorded: Sequence[tuple[str, str, int]] = (),
        untold: bool = False,
    ):
        self.call = call
        self.output = output
        self.failed = failed
        self.exit_code = exit_code
        self.refused = refused
        self.comment = comment
        self.interrupted = interrupted
        self.background = background
        self.position = position
        self.size = len(output) if size is None else size
        self.recorded = tuple(recorded)
        self.untold = untold


class RoundEnd:
    """All results of one model response are in: the moment at which rounds are judged."""

    __slots__ = ("agent",)

    def __init__(self, agent: str = ""):
        self.agent = agent


class Message:
    """Somebody wrote to the agent. Only the person's words end an episode."""

    __slots__ = ("by_person", "text")

    def __init__(self, text: str = "", *, by_person: bool = True):
        self.text = text
        self.by_person = by_person


class Compaction:
    """The context is about to be compacted (``done=False``), or has been."""

    __slots__ = ("done",)

    def __init__(self, *, done: bool):
        self.done = done


class ContextSize:
    """Tokens in the main agent's context, and the model's window where it is known."""

    __slots__ = ("tokens", "window")

    def __init__(self, tokens: int, window: int | None = None):
        self.tokens = tokens
        self.window = window


class TurnReport:
    """What a turn of a run came to, told by whoever runs it: for logs that hold no tool calls.

    ``run`` and ``turn`` say which. ``failing_tests`` are the ids of the tests that fail at
    its end, ``None`` where none were run; ``build`` is ``passed``, ``failed`` or empty;
    ``findings`` are the texts of what reviewers objected to. ``index`` is its place among the session's events,
    from 0; the guard fills it in.
    """

    __slots__ = ("build", "failing_tests", "findings", "index", "run", "turn")

    def __init__(
        self,
        run: str,
        turn: str | int,
        *,
        failing_tests: Sequence[str] | None = None,
        build: str = "",
        findings: Sequence[str] = (),
    ):
        self.run = run
        self.turn = str(turn)
        self.failing_tests = failing_tests
        self.build = build
        self.findings = tuple(findings)
        self.index = 0


class Opportunity:
    """Nothing happened, but the agent can be told something now: what was kept is given."""

    __slots__ = ()


if TYPE_CHECKING:
    Event: TypeAlias = ToolCall | ToolResult | RoundEnd | Message | Compaction | ContextSize | TurnReport | Opportunity


def shell(command: str, output: str = "", exit_code: int = 0, *, cwd: str = "/", position: int = 0) -> ToolResult:
    """Return the result of a command line, for people who write their own agent loop.

    ``output`` is what it printed, ``exit_code`` its status; ``cwd`` where it ran.
    """
    if not isinstance(command, str) or not isinstance(output, str):
        raise TypeError(f"command and output are text, not {type(command).__name__} and {type(output).__name__}")
    call = ToolCall("shell", command, action=SHELL, label=command, command=command, cwd=cwd)
    return ToolResult(call, output, failed=exit_code != 0, exit_code=exit_code, position=position)


def edit(
    path: str,
    old: str | None = None,
    new: str = "",
    *,
    refused: bool = False,
    output: str = "",
    position: int = 0,
) -> ToolResult:
    """Return the result of an edit of ``path``; ``refused`` if the edit tool did not apply it.

    ``old`` and ``new`` are the text that was replaced and the text that replaced it; ``old``
    is ``None`` where the whole file was written.
    """
    path = str(path)
    call = ToolCall(
        "edit",
        "\x00".join((path, old or "", new)),
        action=EDIT,
        label=f"edit {path}",
        edits=[Edit(path, old, new)],
    )
    return ToolResult(call, output, failed=refused, refused=BY_TOOL if refused else "", position=position)
