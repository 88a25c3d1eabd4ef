"""Which sessions are armed, as files that are there or not: the answer to nearly every question before a tool.

A flag may stand although nothing is armed any more, never the other way round: it is set
before the store says so, and taken away after. Opening the store would take longer than
everything else that the hook does before a tool.
"""

from __future__ import annotations

import os

from unspin.facts.digest import digest


def _path(state_folder: str, session: str) -> str:
    return os.path.join(state_folder, "armed", digest(session))


def is_armed(state_folder: str, session: str) -> bool:
    """Tell whether the session may be armed: then the store has to be asked."""
    return os.path.exists(_path(state_folder, session))


def raise_flag(state_folder: str, session: str) -> None:
    """Say that the session is armed, before the store does."""
    path = _path(state_folder, session)
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


def lower_flag(state_folder: str, session: str) -> None:
    """Say that it is not any more, after the store does."""
    try:
        os.unlink(_path(state_folder, session))
    except FileNotFoundError:
        return
