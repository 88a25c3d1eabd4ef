"""Where Claude Code keeps its transcripts, and which session each file is of. Reads no file.

projects/<project>/<session>.jsonl                        a session
projects/<project>/<session>/subagents/agent-<id>.jsonl   a subagent of it; formerly beside the session
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

_NAMES = (".jsonl", ".jsonl.gz")


class Transcript(NamedTuple):
    """One file: of a session (``session`` is its id) or of a subagent."""

    path: str
    project: str  # the name of the folder of its project
    session: str  # empty where only its lines tell
    subagent: bool
    changed: float
    size: int


def folders() -> list[str]:
    """Return the folders of transcripts: below ``$CLAUDE_CONFIG_DIR``, else ``~/.claude`` and ``~/.config/claude``."""
    chosen = os.environ.get("CLAUDE_CONFIG_DIR", "")
    bases = [chosen] if chosen else [os.path.expanduser(each) for each in ("~/.claude", "~/.config/claude")]
    return [each for base in bases if os.path.isdir(each := os.path.join(base, "projects"))]


def find(places: Iterable[str], since: float = 0) -> list[Transcript]:
    """Return the transcripts in these folders, and files that are named themselves, in the order of their names.

    ``since`` leaves out files that were last written before.
    """
    found: dict[str, Transcript] = {}
    for place in places:
        if os.path.isdir(place):
            for folder, _, names in os.walk(place):
                for name in names:
                    if name.endswith(_NAMES):
                        _note(found, os.path.join(folder, name), since)
        else:
            _note(found, place, since)
    return [found[path] for path in sorted(found)]


def of_session(path: str) -> list[Transcript]:
    """Return a session's own transcript and those of its subagents that have a folder beside it."""
    return find([path, os.path.join(_stem(path), "subagents")])


def session_of(path: str) -> str:
    """Return the id of the session whose transcript this is, by the file's name."""
    return os.path.basename(_stem(path))


def _note(found: dict[str, Transcript], path: str, since: float) -> None:
    try:
        seen = os.stat(path)
    except OSError:
        return  # gone since it was listed, or never there
    if seen.st_mtime < since or not stat.S_ISREG(seen.st_mode):  # a pipe would be waited for
        return
    parts = os.path.abspath(path).split(os.sep)
    name = os.path.basename(_stem(path))
    try:
        at = len(parts) - 1 - parts[::-1].index("subagents", 1)
    except ValueError:
        agent = name.startswith("agent-")
        found[path] = Transcript(path, parts[-2], "" if agent else name, agent, seen.st_mtime, seen.st_size)
    else:
        found[path] = Transcript(path, parts[at - 2], parts[at - 1], True, seen.st_mtime, seen.st_size)


def _stem(path: str) -> str:
    return path.removesuffix(".gz").removesuffix(".jsonl")
