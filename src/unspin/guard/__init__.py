"""The guard: events in, responses out."""

from __future__ import annotations

from unspin.guard.guard import BLOCK, HALT, NONE, NUDGE, REFUSING, WATCHING, Guard, Response
from unspin.guard.settings import Settings, SettingsError

__all__ = [
    "BLOCK",
    "HALT",
    "NONE",
    "NUDGE",
    "REFUSING",
    "WATCHING",
    "Guard",
    "Response",
    "Settings",
    "SettingsError",
]
