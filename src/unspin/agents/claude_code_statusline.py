"""Our line in Claude Code's status line, beside the person's own, in a settings text.

Where the settings have a status line already, its command is put inside of ours, which
runs it first; all other keys stay. Taking ours out puts back the very bytes that stood
there. What the line says is not known here.
"""

from __future__ import annotations

import json
import shlex

from unspin.agents import json_text
from unspin.agents.installing import InstallError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

KEY = "statusLine"
MARK = "unspin.cli.statusline"  # what tells a status line that is ours

#: The start of ours. Where it cannot start it has read nothing, and the person's own runs alone.
_BOOTSTRAP = """\
try:
 import sys;sys.path[:0]={paths!r}
 from unspin.cli.statusline import main;main(sys.argv[1:])
except BaseException:sys.exit(1)"""

#: Whose status line ours runs: that of the same file, or one of another file that ours would hide.
_OWN, _OTHERS = "own", "others"


def added(path: str, text: str, python: str, paths: Sequence[str], others: str = "") -> str:
    """Return the settings text with our status line, once and up to date.

    ``others`` is the command of another settings file's status line, which one in this file
    would hide.
    """
    root = json_text.parse(text)
    line = root.get(KEY)
    if line is None:
        entry = {"type": "command", "command": _command(python, paths, _OTHERS, others)}
        return json_text.append(text, root, entry, KEY)
    command = line.get("command") if line.kind == "object" else None
    theirs = _loaded(text, command)
    if command is None or not isinstance(theirs, str) or _loaded(text, line.get("type")) not in (None, "command"):
        raise InstallError(
            f"{path}: {KEY} holds something else than a command, so ours cannot be put beside it. "
            "Mend it, or take it out, then try again; nothing was changed."
        )
    raw = text[command.start : command.end]
    whose = _OWN
    if MARK in theirs:
        whose, theirs, raw = _within(theirs)
    ours = json.dumps(_command(python, paths, whose, theirs, raw), ensure_ascii=False)
    return text[: command.start] + ours + text[command.end :]


def removed(text: str) -> str:
    """Return the settings text without our status line: as it was before."""
    if not is_there(text):
        return text
    root = json_text.parse(text)
    line = root.get(KEY)
    command = line.get("command") if line else None
    if command is None:
        return text
    whose, theirs, raw = _within(str(_loaded(text, command)))
    if whose == _OWN and theirs:
        return text[: command.start] + raw + text[command.end :]
    return json_text.remove(text, root, [name for name, _, _ in root.items].index(KEY))


def is_there(text: str) -> bool:
    """Tell whether a settings text has our status line."""
    return MARK in command_of(text)


def command_of(text: str) -> str:
    """Return the command of a settings text's status line, empty where it has none."""
    try:
        line = json.loads(text or "{}").get(KEY)
        return str(line["command"]) if isinstance(line, dict) and "command" in line else ""
    except (ValueError, AttributeError, RecursionError):
        return ""


def persons(command: str) -> str:
    """Return the person's own command: of ours the one within it."""
    return _within(command)[1] if MARK in command else command


def _command(python: str, paths: Sequence[str], whose: str, theirs: str, raw: str = "") -> str:
    """Return the shell text that runs ours, and the person's within it.

    ``raw`` is theirs as it stood in the file. It is kept where JSON can be written in another way.
    """
    ours = f"{shlex.quote(python)} -I -S -c {shlex.quote(_BOOTSTRAP.format(paths=list(paths)))}"
    if not theirs:
        return ours
    text = f'{whose}={shlex.quote(theirs)}\n{ours} "${whose}" || /bin/sh -c "${whose}"'
    return text if raw in ("", json.dumps(theirs, ensure_ascii=False)) else f"{text}\n#{raw}"


def _within(command: str) -> tuple[str, str, str]:
    """Return whose command ours runs, that command, and how it stood in the file; empty where it runs none."""
    body, _, last = command.rpartition("\n")
    raw = last[1:] if last.startswith("#") else ""
    try:
        first = shlex.split(body if raw else command)[0]
    except (ValueError, IndexError):
        first = ""
    whose, _, theirs = first.partition("=")
    if whose not in (_OWN, _OTHERS):
        return _OWN, "", ""
    return whose, theirs, raw or json.dumps(theirs, ensure_ascii=False)


def _loaded(text: str, value: json_text.Value | None) -> Any:
    return None if value is None else json.loads(text[value.start : value.end])
