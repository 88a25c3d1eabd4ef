"""unspin's own log format: one structured event a line, for agents and loops that no other reader knows.

``FIELDS`` is the one list of what a line can hold; docs/scan-formats.md describes it. A
line's ``event`` says what happened; fields that are not there have their defaults, those
that nobody knows are let be. The name may also stand as ``type`` or ``kind``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from unspin import events as ev
from unspin.cost.prices import Usage
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "unspin"

#: Event: its fields. Those in every event: ``event``, ``time``, ``session``.
FIELDS: dict[str, tuple[str, ...]] = {
    "session": ("session", "cwd", "agent", "model"),
    "message": ("text", "by_person"),
    "tool": (
        "tool", "action", "arguments", "label", "command", "edits", "output", "exit_code", "failed", "refused",
        "comment", "interrupted", "background", "cwd", "agent", "position", "id",
    ),
    "round_end": ("agent",),
    "compaction": ("done",),
    "context": ("tokens", "window"),
    "usage": (
        "model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost", "id", "agent",
    ),
    "tests_run": ("run", "turn", "failing_tests"),
    "build": ("run", "turn", "outcome"),
    "finding": ("run", "turn", "text"),
    "end": ("how",),
}  # fmt: skip

_ACTIONS = frozenset((ev.EDIT, ev.SHELL, ev.READ, ev.WAIT, ev.NOTE, ev.ASK, ev.AGENT, ev.OTHER))
_REFUSALS = frozenset(("", ev.BY_TOOL, ev.BY_PERSON, ev.BY_GUARD, ev.BY_HOOK, ev.BY_SIBLING))
_NAMED = ("event", "type", "kind")
_UNMISTAKABLE = frozenset(("tests_run", "round_end", "finding"))  # under any of these names
_LOOKED_AT = 20  # lines
_decode = msgspec.json.Decoder().decode


class _Wrong(Exception):
    """A field that cannot be used; the text says which, what was given and what is expected."""


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a log: its first lines are events of the list."""
    for line in head.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        try:
            found = _decode(line)
        except (msgspec.DecodeError, RecursionError):
            continue
        if not isinstance(found, dict):
            continue
        event = found.get("event")
        if (isinstance(event, str) and event in FIELDS) or _name(found) in _UNMISTAKABLE:
            return True
    return False


def read(source: Source) -> Iterator[Item]:
    """Yield what the lines say."""
    reader = _Reader()
    try:
        for number, data in source.lines():
            if data is None:
                yield Broken(number, "a line that is too long to be read"), reader.when
                continue
            if data.strip():
                yield from reader.line(number, data)
    except SourceError as error:
        yield Broken(0, str(error)), reader.when
    yield from reader.close()


class _Reader:
    def __init__(self) -> None:
        self.when = ""
        self._session: str | None = None
        self._named = False  # the log names its sessions; else a run is one
        self._open: set[str] = set()  # agents whose round has results and no end yet

    def line(self, number: int, data: bytes) -> Iterator[Item]:
        try:
            found = _decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            yield Broken(number, f"no JSON: {error}"), self.when
            return
        if not isinstance(found, dict):
            yield (
                Broken(number, f'{type(found).__name__}, expected an object such as {{"event": "message"}}'),
                self.when,
            )
            return
        time = found.get("time")
        self.when = str(time) if isinstance(time, (str, int, float)) else self.when
        name = _name(found)
        if name not in FIELDS:
            yield Skipped(name[:40] or "line without an event"), self.when
            return
        try:
            made = list(_MAKE[name](found))
        except _Wrong as error:
            yield Broken(number, f"{name}: {error}"), self.when
            return
        yield from self._to_session(name, found)
        for thing in made:
            yield from self._ordered(thing)

    def _to_session(self, name: str, found: dict[str, Any]) -> Iterator[Item]:
        self._named = self._named or "session" in found
        given = found.get("session", None if self._named else found.get("run"))
        session = str(given) if isinstance(given, (str, int)) else self._session
        if name == "session" or session != self._session or self._session is None:
            yield from self.close()
            self._session = session or ""
            cwd, agent, model = (found.get(each) for each in ("cwd", "agent", "model"))
            yield (
                Began(
                    self._session,
                    cwd if isinstance(cwd, str) else "",
                    agent if isinstance(agent, str) and name == "session" else "",
                    model if isinstance(model, str) else "",
                ),
                self.when,
            )

    def _ordered(self, thing: Any) -> Iterator[Item]:
        if isinstance(thing, ev.ToolResult):
            self._open.add(thing.call.agent)
        elif isinstance(thing, ev.RoundEnd):
            self._open.discard(thing.agent)
        elif isinstance(thing, (ev.Message, ev.Compaction)):
            yield from self.close()
        yield thing, self.when

    def close(self) -> Iterator[Item]:
        """End the rounds whose end nobody wrote down."""
        for agent in sorted(self._open):
            yield ev.RoundEnd(agent), self.when
        self._open.clear()


# -- one event each --------------------------------------------------------------------


def _name(found: dict[str, Any]) -> str:
    return next((str(found[key]) for key in _NAMED if isinstance(found.get(key), str)), "")


def _tool(found: dict[str, Any]) -> Iterator[Any]:
    command = _text(found, "command")
    action = _text(found, "action") or (ev.SHELL if command else ev.EDIT if "edits" in found else ev.OTHER)
    if action not in _ACTIONS:
        raise _Wrong(f"action {action!r}, expected one of {', '.join(sorted(_ACTIONS))}")
    refused = _text(found, "refused")
    if refused not in _REFUSALS:
        raise _Wrong(f"refused {refused!r}, expected one of {', '.join(sorted(_REFUSALS - {''}))}")
    edits = [_edit(each) for each in _list(found, "edits")]
    arguments = found.get("arguments", "")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments, order="deterministic").decode()
    call = ev.ToolCall(
        _text(found, "tool") or action,
        text or command or "\0".join(f"{each.path}\0{each.old or ''}\0{each.new}" for each in edits),
        action=action,
        label=_text(found, "label") or command or (f"edit {edits[0].path}" if edits else ""),
        command=command if action == ev.SHELL else "",
        edits=edits,
        cwd=_text(found, "cwd") or "/",
        agent=_text(found, "agent"),
        call_id=_text(found, "id"),
    )
    code = found.get("exit_code")
    if code is not None and (isinstance(code, bool) or not isinstance(code, int)):
        raise _Wrong(f"exit_code {code!r}, expected a whole number")
    yield ev.ToolResult(
        call,
        _text(found, "output"),
        failed=_flag(found, "failed") if "failed" in found else bool(code) or refused == ev.BY_TOOL,
        exit_code=code,
        refused=refused,
        comment=_flag(found, "comment"),
        interrupted=_flag(found, "interrupted"),
        background=_flag(found, "background"),
        position=_whole(found, "position"),
    )


def _edit(given: Any) -> ev.Edit:
    if not isinstance(given, dict) or not isinstance(given.get("path"), str):
        raise _Wrong('edits, expected a list such as [{"path": "/a.py", "old": "x", "new": "y"}]')
    old = given.get("old")
    return ev.Edit(
        given["path"],
        old if isinstance(old, str) else None,
        _text(given, "new"),
        before=_text(given, "before"),
        after=_text(given, "after"),
    )


def _usage(found: dict[str, Any]) -> Iterator[Any]:
    cost = found.get("cost")
    usage = Usage(
        _whole(found, "input_tokens"),
        _whole(found, "output_tokens"),
        _whole(found, "cache_read_tokens"),
        _whole(found, "cache_write_tokens"),
    )
    dollars = float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
    yield Used(_text(found, "model"), usage, _text(found, "id"), agent=_text(found, "agent"), dollars=dollars)


def _turn(found: dict[str, Any], **told: Any) -> Iterator[Any]:
    run, turn = found.get("run", ""), found.get("turn")
    if isinstance(turn, float) and turn.is_integer():
        turn = int(turn)  # as tools write it that know no other numbers
    if isinstance(turn, bool) or not isinstance(turn, (int, str)):
        raise _Wrong(f"turn {turn!r}, expected a whole number or a name")
    yield ev.TurnReport(str(run), turn, **told)


def _tests_run(found: dict[str, Any]) -> Iterator[Any]:
    failing = found.get("failing_tests")
    if not isinstance(failing, list):
        raise _Wrong(f"failing_tests {failing!r}, expected a list of test ids")
    return _turn(found, failing_tests=[str(each) for each in failing])


def _build(found: dict[str, Any]) -> Iterator[Any]:
    outcome = _text(found, "outcome")
    if outcome not in ("passed", "failed"):
        raise _Wrong(f"outcome {outcome!r}, expected passed or failed")
    return _turn(found, build=outcome)


def _context(found: dict[str, Any]) -> Iterator[Any]:
    window = found.get("window")
    yield ev.ContextSize(_whole(found, "tokens"), window if isinstance(window, int) and window > 0 else None)


def _message(found: dict[str, Any]) -> Iterator[Any]:
    yield ev.Message(_text(found, "text"), by_person=_flag(found, "by_person") if "by_person" in found else True)


_MAKE: dict[str, Callable[[dict[str, Any]], Iterator[Any]]] = {
    "session": lambda found: iter(()),
    "message": _message,
    "tool": _tool,
    "round_end": lambda found: iter((ev.RoundEnd(_text(found, "agent")),)),
    "compaction": lambda found: iter((ev.Compaction(done=_flag(found, "done")),)),
    "context": _context,
    "usage": _usage,
    "tests_run": _tests_run,
    "build": _build,
    "finding": lambda found: _turn(found, findings=[_text(found, "text")]),
    "end": lambda found: iter((Ended(_text(found, "how")),)),
}


def _text(found: dict[str, Any], key: str) -> str:
    value = found.get(key, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Wrong(f"{key} {value!r}, expected a text")
    return value


def _flag(found: dict[str, Any], key: str) -> bool:
    value = found.get(key, False)
    if not isinstance(value, bool):
        raise _Wrong(f"{key} {value!r}, expected true or false")
    return value


def _whole(found: dict[str, Any], key: str) -> int:
    value = found.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Wrong(f"{key} {value!r}, expected a whole number from 0")
    return value


def _list(found: dict[str, Any], key: str) -> list[Any]:
    value = found.get(key) or []
    if not isinstance(value, list):
        raise _Wrong(f"{key} {value!r}, expected a list")
    return value
