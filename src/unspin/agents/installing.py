"""What installing into any agent's settings file has in common: a plan, a backup, one atomic replacement.

A backup is kept of the first of a day: beside the person's own settings, and of a
project's in the state folder, so that no ``git status`` shows it. Which files and
folders were made here is noted there too, so that uninstalling can take them away again.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from zlib import crc32

from unspin.paths import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

INSTALLED, MISSING, BROKEN = "installed", "not installed", "broken"

_MADE = "made.json"  # in the state folder: the files and folders that installing made
_OF_A_PROJECT = "settings.local.json"
_BACKUP = ".unspin-backup-"  # and the day
_LONGEST_NAME = 120


class InstallError(Exception):
    """Installing is not possible; the text says what was found and what to do."""

    for_people = True


class Plan:
    """What installing or uninstalling would do to one settings file.

    ``before`` is ``None`` where there is no such file, ``after`` where it would be removed.
    ``keep`` asks for a backup of what is there.
    """

    __slots__ = ("after", "before", "keep", "path")

    def __init__(self, path: str, before: str | None, after: str | None, *, keep: bool = True):
        self.path = path
        self.before = before
        self.after = after
        self.keep = keep

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def apply(self) -> str | None:
        """Carry it out; return the path of the backup, if one was made."""
        if not self.changes:
            return None
        backup = _backup(self.path, self.before) if self.keep and self.before is not None else None
        if self.after is None:
            _remove(self.path)
            return backup
        made = _make_folders(os.path.dirname(self.path))
        target = os.path.realpath(self.path)  # people link their settings from elsewhere
        temporary = f"{target}.unspin-{os.getpid()}"
        try:
            _write(temporary, self.after)
            if self.before is not None:
                os.chmod(temporary, os.stat(target).st_mode & 0o7777)
            os.replace(temporary, target)
        except OSError as error:
            raise InstallError(f"{self.path} cannot be written ({_reason(error)}). Nothing was changed.") from None
        if self.before is None:
            _note([*made, self.path])
        return backup


def read_settings(path: str) -> str | None:
    """Return a settings file's text, ``None`` where there is no such file; raise ``InstallError`` if unreadable."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise InstallError(f"{path} is not UTF-8 text. Nothing was changed.") from None
    except OSError as error:
        raise InstallError(f"{path} cannot be read ({_reason(error)}). Nothing was changed.") from None


def made_here(path: str) -> bool:
    """Tell whether installing made this file: then uninstalling may remove it, once nothing is in it."""
    return path in _made() and not os.path.islink(path)


# -- what is installed -----------------------------------------------------------------


class Installed:
    """Whether an agent starts unspin: ``state``, the settings ``files`` that do it, and the ``problem`` if any.

    ``plugin`` is the settings file that enables unspin's plugin, empty where none does.
    """

    __slots__ = ("agent", "files", "plugin", "problem", "state")

    def __init__(self, agent: str, state: str, files: list[str], problem: str, plugin: str = ""):
        self.agent = agent
        self.state = state
        self.files = files
        self.problem = problem
        self.plugin = plugin

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "agent": self.agent,
            "state": self.state,
            "files": self.files,
            "plugin": self.plugin,
            "problem": self.problem,
        }


def look(agent: str, client: ModuleType, project: str) -> Installed:
    """Look at the settings files of ``agent`` for a project; starts nothing (``unspin doctor`` does)."""
    files: list[str] = []
    seen: dict[str, int] = {}
    problems: list[str] = []
    plugin = client.plugin.enabled_in(project) if client.plugin.installed() else ""
    for path in client.settings_files(project):
        try:
            text = read_settings(path)
        except InstallError as error:
            problems.append(str(error).removesuffix(". Nothing was changed."))
            continue
        if text is None or not text.strip():
            continue
        entries = client.entries(text)
        if entries is None:
            problems.append(f"{path} is not valid JSON; see: unspin doctor")
            continue
        if client.switched_off(text):
            problems.append(f"{path} switches all hooks off; see: unspin doctor")
        if entries:
            files.append(path)
        for event, _, group in entries:
            seen[event] = seen.get(event, 0) + len(group["hooks"])
            if not plugin:  # else it answers where these cannot
                problems += [f"{each} is gone, run: unspin install {agent}" for each in _gone(group)]
    missing = [event for event in client.HOOKS if event not in seen]
    if not files and not plugin:
        return Installed(agent, MISSING, [], problems[0] if problems else "")
    if missing and not plugin:
        problems.append(f"no hook for {', '.join(missing)}, run: unspin install {agent}")
    if max(seen.values(), default=0) > 1:
        problems.append(f"installed more than once ({', '.join(files)}); see: unspin doctor")
    return Installed(agent, BROKEN if problems else INSTALLED, files, problems[0] if problems else "", plugin)


def _gone(group: dict[str, Any]) -> list[str]:
    programs = [str(hook.get("command")) for hook in group["hooks"] if isinstance(hook, dict)]
    return [each for each in programs if not os.access(each, os.X_OK)]


# -- files -----------------------------------------------------------------------------


def _backup(path: str, text: str) -> str | None:
    """Keep what is there, once a day; return where, ``None`` where today's backup is there already.

    Beside the person's own settings; a project's go to the state folder, where they do not
    show as new files of the project.
    """
    full = os.path.abspath(path)
    day = time.strftime("%Y-%m-%d")
    backup = f"{path}{_BACKUP}{day}"
    if os.path.basename(path) == _OF_A_PROJECT:
        name = full.strip(os.sep).replace(os.sep, "-")[-_LONGEST_NAME:]
        backup = os.path.join(state_folder(), "backups", f"{name}.{day}.{crc32(os.fsencode(full)):08x}")
    if os.path.exists(backup):
        return None
    try:
        os.makedirs(os.path.dirname(backup), mode=0o700, exist_ok=True)
        _write(f"{backup}.new", text)
        os.replace(f"{backup}.new", backup)
    except OSError as error:
        raise InstallError(f"the backup {backup} cannot be written ({_reason(error)}). Nothing was changed.") from None
    return backup


def backups_beside(path: str) -> list[str]:
    """Return the backups of a person's settings file that lie beside it, the oldest first."""
    folder, name = os.path.split(path)
    with contextlib.suppress(OSError):
        return [
            os.path.join(folder, each) for each in sorted(os.listdir(folder)) if each.startswith(f"{name}{_BACKUP}")
        ]
    return []


def _write(path: str, text: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _make_folders(folder: str) -> list[str]:
    """Make a folder and those above it; return those that were not there."""
    made: list[str] = []
    at = folder
    while at and not os.path.isdir(at):
        made.insert(0, at)
        at = os.path.dirname(at)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InstallError(f"the folder {folder} cannot be made ({_reason(error)}). Nothing was changed.") from None
    return made


def _remove(path: str) -> None:
    """Remove a file that was made here, and the folders that were made for it, where they are empty."""
    try:
        os.unlink(path)
    except OSError as error:
        raise InstallError(f"{path} cannot be removed ({_reason(error)}). Nothing was changed.") from None
    gone = [path]
    made = _made()
    folder = os.path.dirname(path)
    with contextlib.suppress(OSError):
        while folder in made:
            os.rmdir(folder)
            gone.append(folder)
            folder = os.path.dirname(folder)
    _keep_note([each for each in made if each not in gone])


def _made() -> list[str]:
    try:
        with open(os.path.join(state_folder(), _MADE), encoding="utf-8") as file:
            made = json.load(file)
    except (OSError, ValueError):
        return []
    return [each for each in made if isinstance(each, str)] if isinstance(made, list) else []


def _note(paths: list[str]) -> None:
    _keep_note([*(each for each in _made() if each not in paths), *paths])


def _keep_note(paths: list[str]) -> None:
    """Note what was made. Where that is not possible, an empty file stays behind one day: no more."""
    with contextlib.suppress(OSError):
        folder = state_folder()
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _write(os.path.join(folder, _MADE), json.dumps(paths))


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
