"""What the tools did: the ledger that claims are held against.

A ``Call`` is one tool call with its outcome, made from any agent loop: by hand, from a mapping, or from a
``ToolResult`` of ``unspin.events``. Of each, an ``Activity`` keeps a small entry of plain data: what it wrote, which
checks it ran, and what it may have done that nobody can see: a script, a tool of another server, a subagent.
Whole outputs are not kept. It does not know what was claimed.
"""

from __future__ import annotations

import re

from unspin.claims.lists import compiled, tools
from unspin.events import AGENT, ASK, EDIT, NOTE, OTHER, READ, SHELL, WAIT, ToolResult
from unspin.facts.claims import as_path
from unspin.facts.redact import redact
from unspin.facts.shell import Line, read_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    Entry: TypeAlias = dict[str, Any]
    Given: TypeAlias = "Call | ToolResult | Mapping[str, Any]"

ACTIONS = (EDIT, SHELL, READ, WAIT, NOTE, ASK, AGENT, OTHER)

_EXCERPT = 600  # characters of a command line, or of arguments, that are kept
_MOST_CALLS = 4_000  # of a session: the newest
_MOST_PATHS = 40  # that one call wrote
_LOOKED_AT = 20_000  # characters of a command line, or of either end of an output

#: What a call may have done that its words do not show.
MAY_EDIT, MAY_FORMAT, MAY_INSTALL, MAY_CHECK, MAY_DO, MAY_READ = "edit", "format", "install", "check", "do", "read"
RAN_UNSEEN = "run"  # it ran something, whatever its output shows
MADE = "made"  # a folder, a link


class Call:
    """One tool call with its outcome.

    ``action`` says what it does (``unspin.events``: ``EDIT``, ``SHELL``, ``READ``, ...); left out, it is told from
    what is given: a ``command`` is a shell line, ``wrote`` makes it an edit, ``read`` a read, and what is left is
    ``OTHER``, a tool that the guard cannot see into. ``wrote`` and ``read`` are paths, ``about`` is whatever else says
    what the call was for (its arguments as text). ``failed`` covers refusals, errors and exit statuses.
    ``background`` means that it still runs, ``agent`` names the subagent that made the call. ``output`` is what it
    printed, where that is known: a script that shows nothing of a check has run none. It is looked at, and not kept.
    """

    __slots__ = (
        "about", "action", "agent", "background", "command", "failed", "output", "read", "tool", "wrote",
    )  # fmt: skip

    def __init__(
        self,
        tool: str,
        *,
        action: str = "",
        command: str = "",
        wrote: Sequence[str] = (),
        read: Sequence[str] = (),
        about: str = "",
        failed: bool = False,
        background: bool = False,
        agent: str = "",
        output: str | None = None,
    ):
        for name, value in (("tool", tool), ("command", command), ("about", about), ("agent", agent)):
            if not isinstance(value, str):
                raise TypeError(f"{name} is text, not {type(value).__name__}")
        for name, paths in (("wrote", wrote), ("read", read)):
            if isinstance(paths, str) or not all(isinstance(each, str) for each in paths):
                raise TypeError(f"{name} is a list of paths, not {paths!r}")
        if action and action not in ACTIONS:
            raise ValueError(f"action {action!r}: expected one of {', '.join(ACTIONS)}, or nothing")
        self.tool = tool
        self.action = action or (SHELL if command else EDIT if wrote else READ if read else OTHER)
        self.command = command
        self.wrote = tuple(wrote)
        self.read = tuple(read)
        self.about = about
        self.failed = failed
        self.background = background
        self.agent = agent
        self.output = output

    @classmethod
    def of(cls, given: Given) -> Call:
        """Return a call made of a ``ToolResult``, or of a mapping with the names of the arguments.

        A mapping may also say ``exit_code`` (anything but 0 has failed).
        """
        if isinstance(given, Call):
            return given
        if isinstance(given, ToolResult):
            call = given.call
            return cls(
                call.tool,
                action=call.action,
                command=call.command,
                wrote=[edit.path for edit in call.edits],
                about=f"{call.label} {call.arguments[:_EXCERPT]}",
                failed=given.failed or bool(given.refused) or given.interrupted or bool(given.exit_code),
                background=given.background,
                agent=call.agent,
                output=None if given.background else given.output,
            )
        if not hasattr(given, "keys"):
            raise TypeError(f"a call is a Call, a ToolResult or a mapping, not {type(given).__name__}")
        fields = dict(given)
        status = fields.pop("exit_code", 0)
        unknown = set(fields) - set(cls.__slots__)
        if unknown or "tool" not in fields:
            what = f"no field {', '.join(sorted(unknown))}" if unknown else "a tool is missing"
            raise ValueError(f"that is no call: {what}; expected {', '.join(cls.__slots__)} and exit_code")
        fields["failed"] = bool(fields.get("failed")) or bool(status)
        return cls(**fields)

    def __repr__(self) -> str:
        return f"Call({self.tool!r}, action={self.action!r}, failed={self.failed})"


class Activity:
    """The calls of a session, turn by turn; bounded: of a very long one the newest 4,000.

    >>> activity = Activity()
    >>> activity.add({"tool": "write_file", "wrote": ["src/cart.py"]})
    >>> activity.add({"tool": "bash", "command": "pytest -q", "exit_code": 1})
    >>> activity.begin_turn()
    >>> activity.turn, [entry["checks"] for entry in activity.calls]
    (1, [[], ['test']])

    ``complete`` is false where the session has a beginning that is not in it (it goes on from another one): then what
    is told of the past is not judged. ``checks`` names commands of your own by their kind: ``{"test": ["./ci.sh"]}``.
    ``state`` is plain data: store it, and give it back.
    """

    __slots__ = ("_checks", "state")

    def __init__(
        self,
        calls: Iterable[Given] = (),
        *,
        complete: bool = True,
        checks: Mapping[str, Sequence[str]] | None = None,
        state: dict[str, Any] | None = None,
    ):
        self.state: dict[str, Any] = state if state is not None else {"turn": 0, "complete": complete, "calls": []}
        self._checks = dict(checks or {})
        for each in calls:
            self.add(each)

    @property
    def turn(self) -> int:
        """The turn under way, from 0."""
        return int(self.state["turn"])

    @property
    def complete(self) -> bool:
        return bool(self.state["complete"])

    @property
    def calls(self) -> list[Entry]:
        """The entries of the calls, oldest first."""
        return self.state["calls"]  # type: ignore[no-any-return]

    def of_turn(self) -> list[Entry]:
        """Return the entries of the turn under way."""
        return [each for each in self.calls if each["turn"] == self.turn]

    def begin_turn(self) -> None:
        """Take in that a new turn began: what is announced from here on has to be done in it."""
        self.state["turn"] += 1

    def add(self, given: Given) -> None:
        """Take in one call with its outcome, in the turn under way."""
        call = Call.of(given)
        entry: Entry = {
            "turn": self.turn,
            "tool": call.tool[:100],
            "action": call.action,
            "command": redact(call.command[: 2 * _EXCERPT])[:_EXCERPT],
            "about": redact(" ".join((*call.read, call.about))[: 2 * _EXCERPT])[:_EXCERPT],
            "wrote": list(call.wrote[:_MOST_PATHS]),
            "checks": [],
            "deeds": [],
            "may": [],
            "history": False,
            "failed": bool(call.failed),
            "background": bool(call.background),
            "agent": call.agent,
        }
        if call.action == SHELL:
            self._shell(entry, call.command, call.output)
        elif call.action == AGENT and _fits("looking_agents", call.about):
            entry["may"] = [MAY_READ]
        elif call.action == AGENT:
            entry["may"] = [MAY_EDIT, MAY_CHECK, MAY_DO, MAY_READ]
        elif call.action == OTHER and not call.wrote:
            entry["may"] = _of_tool(call.tool)
        elif call.action in (READ, WAIT):
            entry["may"] = [MAY_READ, *([MAY_CHECK] if _fits("telling", entry["about"]) else [])]
        if call.action in (OTHER, AGENT, WAIT):
            about = f"{call.tool} {call.about[:_LOOKED_AT]}"
            entry["deeds"] = [deed for deed, words in tools()["deeds"].items() if compiled(words).search(about)]
        if call.action in (OTHER, READ):
            entry["history"] = _fits("accounts", f"{call.tool} {entry['about']}")
        self.calls.append(entry)
        if len(self.calls) > _MOST_CALLS:
            self.state["complete"] = False
            del self.calls[:-_MOST_CALLS]

    def _shell(self, entry: Entry, command: str, output: str | None) -> None:
        line = read_line(command, self._checks)
        lists = tools()
        bare = _unquoted(command[:_LOOKED_AT])
        entry["checks"] = list(dict.fromkeys(check.kind for check in line.checks if check.kind != "run"))
        entry["wrote"] += [each.path for each in line.writes if each.path][:_MOST_PATHS]
        entry["wrote"] += [cover for each in line.writes for cover in each.covers][:_MOST_PATHS]
        entry["history"] = _fits("history", bare)
        inline = bool(line.inline)
        programs = [] if _fits("only_looks", bare) else _programs(bare, lists, inline=inline)
        looks = not programs and (line.harmless or _fits("only_looks", bare)) and line.role in ("read", "other")
        if line.role == "check":  # what is a check is known: only programs and scripts are not
            programs = [] if entry["checks"] else [each for each in programs if each in lists["interpreters"]]
            programs += [check.script for check in line.checks if check.kind == "run"]
        entry["deeds"] = [
            deed for deed, said in lists["deeds"].items() if not looks and compiled(said).search(command[:_LOOKED_AT])
        ]
        named = _named(command) if inline and _fits("writing", command) else []
        entry["wrote"] += named
        unseen = self._unseen(line, command, bare, programs, inline=inline, named=bool(named), output=output)
        entry["may"] = [MAY_READ, *unseen]

    @staticmethod
    def _unseen(
        line: Line, command: str, bare: str, programs: list[str], *, inline: bool, named: bool, output: str | None
    ) -> Iterator[str]:
        """Yield what a line may have done that its words do not show, as far as its output does not tell."""
        lists = tools()
        blank = output is None or not output.strip()
        shown = "" if output is None else output[:_LOOKED_AT] + output[-_LOOKED_AT:]
        wrapped = line.shell_checks_wrapped or len(command) > _LOOKED_AT
        unnamed = any(not each.path and each.how not in ("formatter", "snapshots") for each in line.writes)
        changing = any(each in lists["clients"] for each in programs) and _fits("client_changes", bare)
        if not changing:  # what a client of a service is asked for stands on the line
            programs = [each for each in programs if each not in lists["clients"]]
        writes = inline and _fits("writing", command) and (not named or _fits("computing", command))
        made = line.role == "install" and _fits("scaffolding", bare)
        if unnamed or wrapped or programs or made or writes or _fits("git_changes", bare):
            yield MAY_EDIT
        if any(each.how in ("formatter", "snapshots") for each in line.writes):
            yield MAY_FORMAT
        if line.role == "install":
            yield MAY_INSTALL
        runs = bool(programs) or wrapped or (inline and _fits("running", command))
        if runs:
            yield RAN_UNSEEN
        if _fits("making", bare):
            yield MADE
        if runs and blank:
            yield MAY_DO
        elif runs:
            yield from (
                f"{MAY_DO}:{deed}" for deed, words in lists["deed_shown"].items() if compiled(words).search(shown)
            )
        if wrapped or (runs and blank) or _fits("telling", bare):
            yield MAY_CHECK
        elif runs or _fits("git_hooks", bare):
            if not runs:
                shown = re.sub(lists["gits_own"], "", shown, flags=re.M)
            yield from (
                f"{MAY_CHECK}:{kind}"
                for kind, words in lists["shows"].items()
                if output is None or compiled(words).search(shown)
            )


_QUOTED = re.compile(r"\"(?:[^\"\\]|\\[\s\S])*(?:\"|\Z)|'[^']*(?:'|\Z)")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w{1,80})['\"]?")
_UNSAID = re.compile(r"\\[\s\S]|(?:^|(?<=\s))#[^\n]*")  # escaped characters, comments
_STRING = re.compile(r"[\"']([\w@~./\\-]{3,200})[\"']")
_CUT = re.compile(r"&&|\|\||[;|\n(){}`]|\$\(")


def _named(command: str) -> list[str]:
    """Return the files that a program on the line itself names, in quotes."""
    found = (as_path(match[1]) for match in _STRING.finditer(command[:_LOOKED_AT]))
    return [path for path in dict.fromkeys(found) if path][:_MOST_PATHS]


def _unquoted(command: str) -> str:
    """Return a command line without what stands in quotes and in heredocs; commands within quotes stay."""
    ends, lines = "", []
    for each in command.split("\n"):
        if ends:
            ends = "" if each.strip() == ends else ends
            continue
        opened = _HEREDOC.search(each)
        ends = opened[1] if opened else ""
        lines.append(_HEREDOC.sub(" ", each))
    return _UNSAID.sub(" ", _QUOTED.sub(_blank, "\n".join(lines)))


def _blank(match: re.Match[str]) -> str:
    return f" {match[0][1:-1]} " if match[0][0] == '"' and ("$(" in match[0] or "`" in match[0]) else " _ "


def _programs(bare: str, lists: dict[str, Any], *, inline: bool) -> list[str]:
    """Return the programs of a line that can do what nobody sees: not those that only look, nor code on the line."""
    found = []
    for part in _CUT.split(bare):
        said = [each for each in part.split() if each]
        while said and (said[0] in lists["wrappers"] or "=" in said[0].split("/")[0] or said[0].isdigit()):
            del said[0]
        if not said or said[0] in lists["plain_programs"] or not re.match(r"[\w./~@-]+\Z", said[0]) or said[0] == "_":
            continue
        if any(each in lists["looking_words"] for each in said[1:3]):
            continue
        if inline and said[0] in lists["interpreters"] and (len(said) == 1 or said[1] in lists["inline_options"]):
            continue
        found.append(said[0])
    return found


def _fits(name: str, text: str) -> bool:
    return bool(compiled(tools()[name]).search(text))


def _of_tool(tool: str) -> list[str]:
    """Return what a tool of another server may have done, by the words of its name: "tracker__get_issue" only looks."""
    lists = tools()
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.rpartition("__")[2] or tool)
    parts = [each for each in re.split(r"[\W_]+", name.lower()) if each]
    looking = lists["reading_tools"]
    if parts and (parts[0] in looking or parts[-1] in looking or "".join(parts) in looking):
        return [MAY_READ]
    if not set(lists["client_tools"]).isdisjoint(parts):
        return [MAY_READ, MAY_DO]
    return [MAY_READ, MAY_EDIT, MAY_CHECK, MAY_DO]
