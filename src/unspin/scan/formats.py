"""The list of formats, and which one a file is: told from its content, never from its name alone."""

from __future__ import annotations

import sys
from types import ModuleType

from unspin.scan.source import Source

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


def reader(source: Source, format: str = "") -> ModuleType:
    """Return the module that reads a file. Raises ``Unknown``, and ``SourceError`` where it cannot be opened."""
    if format:
        return load(format)
    head = source.head()
    if not head.strip():
        raise Unknown("empty file")
    for name in FORMATS:
        module = load(name)
        if module.sniff(head, source.path):
            return module
    raise Unknown(UNKNOWN)


def load(format: str) -> ModuleType:
    """Return a format's module."""
    name = FORMATS[format]
    __import__(name)
    return sys.modules[name]
