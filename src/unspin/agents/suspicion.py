"""Whether a call could concern unspin itself: plain words, for every call pays for this look."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: What a command line, and what the path of an edit has to speak of to be worth a look.
_IN_COMMAND = ("unspin", "claude", "disableAllHooks", ".local", ".config", "XDG_", "CLAUDE_CONFIG")
_IN_PATH = ("unspin", ".claude")
_IN_TEXT = ("disableAllHooks", "enabledPlugins", "tool.unspin")


def worth_a_look(payload: Mapping[str, Any]) -> bool:
    """Tell whether a call could concern us."""
    given, cwd = payload.get("tool_input"), payload.get("cwd")
    if not isinstance(given, dict):
        return False
    if isinstance(cwd, str) and (".claude" in cwd or "unspin" in cwd.split("/")):
        return True
    for key, value in given.items():
        if isinstance(value, list):
            value = repr(value)
        if not isinstance(value, str):
            continue
        words: tuple[str, ...] = _IN_TEXT
        if key == "command":
            words = _IN_COMMAND
        elif key in ("file_path", "notebook_path"):
            if os.path.islink(value):
                return True
            words = _IN_PATH
        for word in words:
            if word in value:
                return True
    return False
