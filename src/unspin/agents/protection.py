"""The watched must not switch off the watcher: which calls only the person may make.

Looks at calls before they are made: writes to unspin's settings and state, to what starts
its hooks in a client's settings, and the person's own commands. It sees what a parser can
see; what it cannot is listed in docs/security.md.
"""

from __future__ import annotations

import os

from unspin.config import candidates
from unspin.facts.files import absolute, written_paths
from unspin.paths import config_folder, state_folder
from unspin.paths import real as real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from unspin.events import ToolCall

SETTINGS, COMMAND = "settings", "command"

#: unspin's commands that are the person's.
PERSONS = frozenset(("release", "mute", "mode", "install", "uninstall", "forget", "hook", "gate", "run"))

#: What runs a text of its own that the parser does not follow.
_BLIND = frozenset(("trap", "coproc", "-S", "parallel", "script", "expect"))
_PRUNING = ["checkpoints", "prune"]
_ASKING = frozenset(("mute", "mode"))  # these only tell, where nothing follows them
_DECISIONS = frozenset(("approve", "override", "stop"))
_LINKED = 40  # links and folders looked through


def forbidden(call: ToolCall, project: str, client: ModuleType) -> str:
    """Return why only the person may make this call, empty if the agent may.

    ``client`` is the agent's ``_install`` module: it knows its settings files and our
    entries in them, which must stay.
    """
    folders, files = _protected(project, client)
    clients = [real_path(path) for path in client.settings_files(project)]
    guarded = [path for path in clients if client.entries(text := _read(path)) or client.plugin.switch(text)]
    real = [call.real_paths.get(path, real_path(path)) for path in written_paths(call)]
    if any(_touches(path, folders, files) for path in real):
        return SETTINGS
    if call.command:
        return _forbidden_line(call, folders, files, clients, guarded, client)
    for edit in call.edits:
        path = real_path(absolute(edit.path, call.cwd))
        if os.path.basename(path) == "pyproject.toml" and "tool.unspin" in f"{edit.old or ''}{edit.new}":
            return SETTINGS
        if path in clients and _disarms(client, path, edit.old, edit.new):
            return SETTINGS
    return ""


def _protected(project: str, client: ModuleType) -> tuple[list[str], list[str]]:
    """Return the folders of which nothing may change, and the single files."""
    folders = [real_path(path) for path in client.plugin.own_files()]
    for find in (state_folder, config_folder):
        try:
            folders.append(real_path(find()))
        except OSError:
            continue
    return folders, [real_path(path) for path in candidates(project) if path.endswith("unspin.toml")]


def _touches(path: str, folders: list[str], files: list[str]) -> bool:
    """Tell whether a write to ``path`` writes to a protected place, or takes one away with its folder."""
    if path in files:
        return True
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _contains(path: str, folders: list[str], files: list[str]) -> bool:
    return any(place.startswith(f"{path.rstrip('/')}/") for place in (*folders, *files) if os.path.exists(place))


def _forbidden_line(
    call: ToolCall, folders: list[str], files: list[str], clients: list[str], guarded: list[str], client: ModuleType
) -> str:
    from unspin.facts.shell import read_line

    line = read_line(call.command)
    if any(_is_persons(own.split()) for own in line.own):
        return COMMAND
    words = call.command.split()
    blind = line.polls or not _BLIND.isdisjoint(words)
    if not blind and (line.harmless or (line.role == "vcs" and not line.writes)):
        return ""
    if _speaks_of_commands(call.command, client) or (line.role == "install" and {"unspin", "uninstall"} <= set(words)):
        return COMMAND
    for write in line.writes:
        path = real_path(absolute(_expanded(write.path), call.cwd)) if write.path else ""
        if path and _touches(path, folders, files):
            return SETTINGS
        taken = write.change in ("delete", "move")
        if path and taken and _contains(path.removesuffix("/*"), folders, [*files, *guarded]):
            return SETTINGS
        if path in guarded or (path in clients and (not write.text or _switches_off(client, write.text))):
            return SETTINGS
        if path.endswith("pyproject.toml") and "unspin" in f"{write.text}{write.script}":
            return SETTINGS
    linked = [real_path(absolute(_expanded(path), call.cwd)) for path in line.links[:_LINKED] if path]
    if any(_touches(path, folders, [*files, *guarded]) for path in linked):
        return SETTINGS
    places = (*folders, *(f"/{'/'.join(folder.split('/')[-2:])}" for folder in folders), "unspin.toml")
    inline = "\n".join(line.inline)
    if any(place in inline for place in (*places, ".claude/settings", "disableAllHooks")):
        return SETTINGS
    if line.role != "vcs" and any(place in call.command for place in places):
        return SETTINGS
    plugin = "enabledPlugins" in call.command and "unspin" in call.command
    switch = (plugin or "disableAllHooks" in call.command) and line.role != "vcs"
    return SETTINGS if switch and not (line.writes and all(write.path for write in line.writes)) else ""


def _is_persons(words: list[str]) -> bool:
    """Tell whether words are one of the person's commands that does something."""
    operands = [word for word in words if not word.startswith("-")]
    if operands[:2] == _PRUNING:  # the checkpoints are the person's way out
        return "--help" not in words
    if not operands or operands[0] not in PERSONS or "--help" in words or "-h" in words:
        return False
    if operands[0] == "run":  # a run of its own an agent may begin, but go on with none
        return any(word.startswith("--res") for word in words)
    if operands[0] == "gate":
        return not _DECISIONS.isdisjoint(operands[1:]) or any(word.startswith("--n") for word in words)
    return operands[0] not in _ASKING or len(words) > 1


def _speaks_of_commands(text: str, client: ModuleType) -> bool:
    """Tell whether a line that the parser could not follow into names one of the person's commands."""
    words = "".join(char if char.isalnum() or char in "-_./@" else " " for char in text).split()
    if client.plugin.takes_away(words):
        return True
    names = [at for at, word in enumerate(words) if word.rpartition("/")[2] == "unspin"]
    if any(_is_persons(words[at + 1 : at + 5]) for at in names):
        return True
    return bool(names) and "xargs" in words and not PERSONS.isdisjoint(words)


def _expanded(path: str) -> str:
    for variable in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        for form in (f"${variable}", f"${{{variable}}}"):
            if path.startswith(form) and os.environ.get(variable):
                path = os.environ[variable] + path[len(form) :]
    return os.path.expanduser(path)


def _disarms(client: ModuleType, path: str, old: str | None, new: str) -> bool:
    """Tell whether an edit of a client's settings takes our entries or plugin away, or switches all hooks off."""
    before = _read(path)
    after = new if old is None else before.replace(old, new, 1)
    if client.entries(before) and client.entries(after) != client.entries(before):
        return True
    if client.plugin.switch(before) and not client.plugin.switch(after):
        return True
    return _switches_off(client, after) and not _switches_off(client, before)


def _switches_off(client: ModuleType, text: str) -> bool:
    return bool(client.switched_off(text)) or client.plugin.switch(text) is False


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1_000_000)
    except (OSError, ValueError):
        return ""
