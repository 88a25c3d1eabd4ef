"""Traction control for AI agents.

``from unspin import Guard, events`` for people who write their own agent loop; the
command ``unspin`` for everybody else. Importing this package loads nothing: names are
looked up when they are used, because a hook pays for every module on every call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin import events
    from unspin.guard import Guard, Response, Settings, SettingsError

__version__ = "0.1.0"
__all__ = ["Guard", "Response", "Settings", "SettingsError", "__version__", "events"]


def __getattr__(name: str) -> object:
    if name == "events":
        import importlib

        return importlib.import_module("unspin.events")
    if name in __all__:
        import unspin.guard

        return getattr(unspin.guard, name)
    raise AttributeError(f"module 'unspin' has no attribute {name!r}")
