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
    from unspin.guard.budget import Budget, BudgetError, StopReport
    from unspin.guard.notice import Notice, notices

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "BudgetError",
    "Guard",
    "Notice",
    "Response",
    "Settings",
    "SettingsError",
    "StopReport",
    "__version__",
    "events",
    "notices",
]


_MODULES = {
    **dict.fromkeys(("Guard", "Response", "Settings", "SettingsError"), "unspin.guard"),
    **dict.fromkeys(("Budget", "BudgetError", "StopReport"), "unspin.guard.budget"),
    **dict.fromkeys(("Notice", "notices"), "unspin.guard.notice"),
}


def __getattr__(name: str) -> object:
    if name == "events" or name in _MODULES:
        import importlib

        module = importlib.import_module(_MODULES.get(name, "unspin.events"))
        return module if name == "events" else getattr(module, name)
    raise AttributeError(f"module 'unspin' has no attribute {name!r}")
