"""Where Claude Code keeps what starts unspin: its settings files, and the plugins that it installed.

Loaded by the plugin's hook before every tool, so it imports next to nothing. It reads
settings with the reader that it is given, and changes none.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MARK = "unspin.hook"  # what tells the hooks in settings that are ours from others
PLUGIN = "unspin"  # the plugin's name, before the @ and its marketplace's

_LARGEST = 4_000_000  # bytes of a settings file that are read


def config_folder() -> str:
    """Return the client's own folder."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude")


def settings_path(*, project: str | None = None) -> str:
    """Return the settings file: the person's, or ``settings.local.json`` of a project folder."""
    if project is not None:
        return os.path.join(project, ".claude", "settings.local.json")
    return os.path.join(config_folder(), "settings.json")


def settings_files(project: str) -> list[str]:
    """Return the settings files that the client reads: the person's, then the project's; later ones win."""
    paths = [
        settings_path(),
        os.path.join(project, ".claude", "settings.json"),
        settings_path(project=project),
    ]
    return list({os.path.realpath(path): path for path in reversed(paths)}.values())[::-1]


# -- for the plugin's hook -------------------------------------------------------------


def settings_start(event: str, project: str, parse: Callable[[bytes], dict[str, Any]]) -> bool:
    """Tell whether a hook in the settings answers this event already: then the plugin's has nothing to do.

    One whose interpreter or package is gone answers nothing.
    """
    for path in settings_files(project):
        try:
            with open(path, "rb") as file:
                data = file.read(_LARGEST)
            if MARK.encode() in data and any(_works(hook) for hook in _ours(parse(data), event)):
                return True
        except (OSError, ValueError, AttributeError, TypeError):
            continue  # the client ignores such a file
    return False


def _ours(settings: dict[str, Any], event: str) -> Iterator[dict[str, Any]]:
    for group in settings.get("hooks", {}).get(event, ()):
        for hook in group.get("hooks", ()):
            if MARK in " ".join(map(str, hook.get("args", ()))):
                yield hook


def _works(hook: dict[str, Any]) -> bool:
    """Tell whether the interpreter of a hook in the settings is there, and unspin in a folder that it names."""
    start = str(hook["args"][-1])
    named = [each for quote in "'\"" for each in start.split(quote) if each.startswith("/")]
    there = any(os.path.exists(os.path.join(each, "unspin", "hook.py")) for each in named)
    return there and os.access(str(hook.get("command")), os.X_OK)
