"""The list of formats, and which one a file is: told from its content, never from its name alone."""

from __future__ import annotations

import os
import sys
from types import ModuleType

from unspin.scan import source
from unspin.scan.source import COMPRESSED, Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Format: the module that reads it. The order is that in which they are asked.
FORMATS: dict[str, str] = {
    "gemini": "unspin.scan.readers.gemini",
    "qwen": "unspin.scan.readers.qwen",
    "opencode": "unspin.scan.readers.opencode",
    "claude-code": "unspin.scan.readers.claude_code",
    "codex": "unspin.scan.readers.codex",
    "copilot": "unspin.scan.readers.copilot",
    "openhands": "unspin.scan.readers.openhands",
    "mini-swe-agent": "unspin.scan.readers.mini_swe_agent",
    "swe-agent": "unspin.scan.readers.swe_agent",
    "repair-agent": "unspin.scan.readers.repair_agent",
    "aider": "unspin.scan.readers.aider",
    "specstory": "unspin.scan.readers.specstory",
    "unspin": "unspin.scan.readers.own",
}

UNKNOWN = "file of no known format"


class Unknown(Exception):
    """No reader knows this content; the text says what it is."""


def reader(given: Source, format: str = "") -> ModuleType:
    """Return the module that reads a file. Raises ``Unknown``, and ``SourceError`` where it cannot be opened."""
    if format:
        return load(format)
    head = given.head()
    if not head.strip():
        raise Unknown("empty file")
    for name in FORMATS:
        module = load(name)
        if module.sniff(head, given.path):
            return module
    raise Unknown(UNKNOWN)


def find(paths: Iterable[str], *, since: float = 0) -> Iterator[Source]:
    """Yield the files that ``paths`` mean, as ``source.find`` does; those of a folder whatever their names."""
    return source.find(paths, since=since, known=_is_known)


def without_parts(sources: Iterable[Source]) -> list[Source]:
    """Return sources without subagents' files of Claude Code that are read with their session's, given as well."""
    found = list(sources)
    given = {each.key for each in found if not each.remote}
    return [each for each in found if not _is_part(each, given)]


def _is_part(source: Source, given: set[str]) -> bool:
    folder, _, name = source.path.rpartition(f"{os.sep}subagents{os.sep}")
    ends = (f".jsonl{each}" for each in ("", *COMPRESSED))
    return bool(folder and name) and any(f"{os.path.realpath(folder)}{each}" in given for each in ends)


def _is_known(given: Source) -> bool:
    try:
        reader(Source(given.path))  # which keeps the head that it looked at: a pile of files would keep them all
    except (Unknown, SourceError):
        return False
    return True


def load(format: str) -> ModuleType:
    """Return a format's module."""
    name = FORMATS[format]
    __import__(name)
    return sys.modules[name]
