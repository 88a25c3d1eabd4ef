"""Whether a call could concern unspin itself: plain words, for every call pays for this look."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: What a call has to speak of to be worth a look. Nearly none does.
_WORDS = ("unspin", ".claude", "settings", "disableAllHooks", ".local", ".config", "XDG_", "CLAUDE_CONFIG")


def worth_a_look(payload: Mapping[str, Any]) -> bool:
    """Tell whether a call could concern us: by plain words, for every call pays for this."""
    given, cwd = payload.get("tool_input"), payload.get("cwd")
    if not isinstance(given, dict):
        return False
    texts = [value for value in given.values() if isinstance(value, str)]
    path = given.get("file_path")
    if isinstance(path, str) and os.path.islink(path):
        return True
    return any(word in text for text in [*texts, cwd if isinstance(cwd, str) else ""] for word in _WORDS)
