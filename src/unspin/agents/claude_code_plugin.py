"""What Claude Code's settings and its own lists say of our plugin: where it is enabled, its files, its hooks.

Reads only. What the plugin's hook itself has to know stands in ``claude_code_files``.
"""

from __future__ import annotations

import json
import os

from unspin.agents.claude_code_files import PLUGIN, config_folder, settings_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_AWAY = ("disable", "uninstall", "remove", "rm")  # what takes a plugin away, or its marketplace
_ALL = ("--all", "-a")
_INSTALLED, _MARKETPLACES = "installed_plugins.json", "known_marketplaces.json"


def switch(text: str) -> bool | None:
    """Return how a settings text switches our plugin; ``None`` where it does not, or is no JSON."""
    found = {name: on for name, on in _mapping(_parsed(text).get("enabledPlugins")).items() if _is_ours(name)}
    return next((on is not False for on in reversed(found.values())), None)


def enabled_in(project: str) -> str:
    """Return the settings file that enables our plugin for a project, empty where none does; the last one decides."""
    for path in reversed(settings_files(project)):
        found = switch(_read(path))
        if found is not None:
            return path if found else ""
    return ""


def installed() -> list[str]:
    """Return the folders that our plugin is installed in, as the client's list has them."""
    plugins = _mapping(_parsed(_read(os.path.join(_folder(), _INSTALLED))).get("plugins"))
    places = [place for name, each in plugins.items() if _is_ours(name) and isinstance(each, list) for place in each]
    paths = [_mapping(place).get("installPath") for place in places]
    return list(dict.fromkeys(path for path in paths if isinstance(path, str) and os.path.isabs(path)))


def own_files() -> list[str]:
    """Return the client's files and folders that our plugin lives by, where it is installed.

    A marketplace that is a folder of the person's own is not among them.
    """
    found = installed()
    if not found:
        return []
    plugins = _mapping(_parsed(_read(os.path.join(_folder(), _INSTALLED))).get("plugins"))
    markets = {name.partition("@")[2] for name in plugins if _is_ours(name)}
    clones = [os.path.join(_folder(), "marketplaces", market) for market in sorted(markets) if market]
    return [*found, *clones, *(os.path.join(_folder(), name) for name in (_INSTALLED, _MARKETPLACES))]


def hook() -> dict[str, Any] | None:
    """Return the entry that starts the plugin's hooks, as it is installed; ``None`` where it cannot be read."""
    for folder in installed():
        hooks = _mapping(_parsed(_read(os.path.join(folder, "hooks", "hooks.json"))).get("hooks"))
        for groups in hooks.values():
            try:
                return dict(groups[0]["hooks"][0])
            except (KeyError, IndexError, TypeError, ValueError):
                continue
    return None


def takes_away(words: Sequence[str]) -> bool:
    """Tell whether the words of a command line ask the client to take our plugin away, or all of them."""
    for at, word in enumerate(words[:-2]):
        if word.rpartition("/")[2] in ("claude", "claude-code") and words[at + 1] in ("plugin", "plugins"):
            rest = words[at + 2 : at + 12]
            named = any(_is_ours(each) or each in _ALL for each in rest)
            if named and any(each in _AWAY for each in rest) and not {"--help", "-h"} & set(rest):
                return True
    return False


def _is_ours(name: str) -> bool:
    return name.partition("@")[0] == PLUGIN


def _folder() -> str:
    return os.path.join(config_folder(), "plugins")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        return _mapping(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(4_000_000)
    except (OSError, ValueError):
        return ""
