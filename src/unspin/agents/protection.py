"""The watched must not switch off the watcher: which calls only the person may make.

Looks at calls before they are made: writes to unspin's settings and state, to what starts
its hooks in a client's settings, and the person's own commands. It sees what a parser can
see; what it cannot is listed in docs/security.md.
"""

from __future__ import annotations

import json
import os

from unspin.config import candidates
from unspin.facts.files import absolute, written_paths
from unspin.paths import config_folder, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from unspin.events import ToolCall

SETTINGS, COMMAND = "settings", "command"

#: unspin's commands that are the person's.
PERSONS = frozenset(("release", "mute", "mode", "install", "uninstall", "forget"))

#: What a call has to speak of to be worth a look. Nearly none does.
_WORDS = ("unspin", ".claude", "settings", "disableAllHooks", ".local", ".config", "XDG_", "CLAUDE_CONFIG")
_LINKED = 40  # links and folders looked through


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


def forbidden(call: ToolCall, project: str, clients: list[str]) -> str:
    """Return why only the person may make this call, empty if the agent may.

    ``clients`` are the client's settings files, whose hook entry of ours must stay.
    """
    folders, files = _protected(project)
    real = [call.real_paths.get(path, os.path.realpath(path)) for path in written_paths(call)]
    if any(_touches(path, folders, files) for path in real):
        return SETTINGS
    if call.command:
        return _forbidden_line(call, folders, files, clients, real)
    for edit in call.edits:
        path = os.path.realpath(absolute(edit.path, call.cwd))
        if os.path.basename(path) == "pyproject.toml" and "tool.unspin" in f"{edit.old or ''}{edit.new}":
            return SETTINGS
        if path in map(os.path.realpath, clients) and _disarms(path, edit.old, edit.new):
            return SETTINGS
    return ""


def _protected(project: str) -> tuple[list[str], list[str]]:
    """Return the folders of which nothing may change, and the single files."""
    folders = []
    for find in (state_folder, config_folder):
        try:
            folders.append(os.path.realpath(find()))
        except OSError:
            continue
    return folders, [os.path.realpath(path) for path in candidates(project) if path.endswith("unspin.toml")]


def _touches(path: str, folders: list[str], files: list[str]) -> bool:
    """Tell whether a write to ``path`` writes to a protected place, or takes one away with its folder."""
    if path in files:
        return True
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _contains(path: str, folders: list[str], files: list[str]) -> bool:
    return any(place.startswith(f"{path.rstrip('/')}/") for place in (*folders, *files) if os.path.exists(place))


def _forbidden_line(
    call: ToolCall, folders: list[str], files: list[str], clients: list[str], written: list[str]
) -> str:
    from unspin.facts.shell import read_line

    line = read_line(call.command)
    if not PERSONS.isdisjoint(line.own):
        return COMMAND
    for write in line.writes:
        path = os.path.realpath(absolute(_expanded(write.path), call.cwd)) if write.path else ""
        if path and _touches(path, folders, files):
            return SETTINGS
        taken = write.change in ("delete", "move")
        if path and taken and _contains(path.removesuffix("/*"), folders, [*files, *clients]):
            return SETTINGS
        if path and path in map(os.path.realpath, clients) and _holds_entry(path):
            return SETTINGS
        if path.endswith("pyproject.toml") and "unspin" in f"{write.text}{write.script}":
            return SETTINGS
    linked = [os.path.realpath(absolute(_expanded(path), call.cwd)) for path in line.links[:_LINKED] if path]
    guarded = [path for path in map(os.path.realpath, clients) if _holds_entry(path)]
    if any(_touches(path, folders, [*files, *guarded]) for path in linked):
        return SETTINGS
    speaks = any(word in text for text in line.inline for word in (*folders, "unspin.toml", ".claude/settings"))
    if speaks or ("disableAllHooks" in call.command and not line.harmless):
        return SETTINGS
    return ""


def _expanded(path: str) -> str:
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        for form in (f"${variable}", f"${{{variable}}}"):
            if path.startswith(form) and os.environ.get(variable):
                path = os.environ[variable] + path[len(form) :]
    return os.path.expanduser(path)


def _disarms(path: str, old: str | None, new: str) -> bool:
    """Tell whether an edit of a client's settings takes our entry away, or switches all hooks off."""
    before = _read(path)
    after = new if old is None else before.replace(old, new, 1)
    if _entries(before) and _entries(after) != _entries(before):
        return True
    return _switched_off(after) and not _switched_off(before)


def _holds_entry(path: str) -> bool:
    return bool(_entries(_read(path)))


def _entries(text: str) -> list[str] | None:
    """Return our entries in a settings text, each as one text; ``None`` where the text is no JSON."""
    try:
        hooks = json.loads(text or "{}").get("hooks", {})
        return [
            f"{event} {json.dumps(group, sort_keys=True)}"
            for event, groups in hooks.items()
            for group in groups
            if "unspin.hook" in json.dumps(group)
        ]
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None


def _switched_off(text: str) -> bool:
    try:
        return bool(json.loads(text or "{}").get("disableAllHooks"))
    except (ValueError, AttributeError, RecursionError):
        return "disableAllHooks" in text


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1_000_000)
    except (OSError, ValueError):
        return ""
