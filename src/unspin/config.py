"""Reading settings files: the person's, over it the project's; compiled once into the store.

The person's is ``unspin.toml`` in the configuration folder. The project's is the nearest
``unspin.toml`` or ``pyproject.toml`` with a ``[tool.unspin]`` table, from the project's
folder up to the root of its repository. No environment variable turns a rule on or off.
"""

from __future__ import annotations

import os

from unspin import __version__
from unspin.guard.settings import Settings, SettingsError
from unspin.paths import config_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.store import Store

_HIGHEST = 12  # folders looked at above the project


def candidates(project: str) -> list[str]:
    """Return the files that can hold settings: the person's first, then the project's, nearest first."""
    try:
        files = [os.path.join(config_folder(), "unspin.toml")]
    except OSError:
        files = []
    folder = project
    for _ in range(_HIGHEST):
        files += [os.path.join(folder, "unspin.toml"), os.path.join(folder, "pyproject.toml")]
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            break
        folder = parent
    return files


class Found:
    """The settings that hold for a folder: where each set key comes from, and what is wrong with the files."""

    __slots__ = ("origin", "problems", "settings")

    def __init__(self, settings: Settings, origin: dict[str, str], problems: list[str]):
        self.settings = settings
        self.origin = origin
        self.problems = problems


def find(project: str) -> Found:
    """Return the settings for a project folder; what cannot be used is left out and told.

    A settings file that cannot be read at all may have asked for a gentler mode: until it
    is mended nothing is refused, unless another file sets the mode.
    """
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    problems: list[str] = []
    unread = False
    found_project = False
    for path in candidates(project):
        is_person = path.startswith(_person_folder() + os.sep)
        if found_project and not is_person:
            break
        try:
            tables = _tables(path)
        except SettingsError as error:
            problems.append(str(error))
            if path.endswith("unspin.toml"):  # a broken pyproject.toml is somebody else's trouble first
                found_project, unread = found_project or not is_person, True
            continue
        if tables is None:
            continue
        found_project = found_project or not is_person
        read, wrong = Settings.salvage(tables)
        problems += [f"{path}: {each}" for each in wrong]
        values.update(read)
        origin.update(dict.fromkeys(read, path))
    if unread and "mode" not in values:
        values["mode"] = "nudge"
    return Found(Settings(values), origin, problems)


def compiled(project: str, store: Store, *, keep: bool = True) -> Settings:
    """Return the settings for a project, from the store where no settings file has changed.

    ``keep=False`` leaves the store as it is.
    """
    import json

    stamp = _stamp(project)
    known = store.compiled_settings(project, stamp)
    if known is not None:
        return Settings(json.loads(known))
    found = find(project)
    if keep:
        for problem in found.problems:
            store.fault("settings", problem)
        store.save_settings(project, stamp, json.dumps(found.settings.as_mapping()))
    return found.settings


def problems(project: str) -> list[str]:
    """Return what is wrong with the settings files that a project folder is under."""
    return find(project).problems


_RUN = "run"  # the table of ``unspin run``, which reads it itself


def _person_folder() -> str:
    try:
        return config_folder()
    except OSError:
        return "\x00"


def _stamp(project: str) -> str:
    stamps = [__version__]  # another release may know other keys
    for path in candidates(project):
        try:
            seen = os.stat(path)
        except OSError:
            continue
        stamps.append(f"{path} {seen.st_mtime_ns} {seen.st_size}")
    return "\n".join(stamps)


def _tables(path: str) -> dict[str, Any] | None:
    """Return the settings tables of a file, or ``None`` where it has none."""
    if not os.path.isfile(path):
        return None
    import tomllib

    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path}: it cannot be read as TOML ({error}). Mend it, or remove it.") from None
    if path.endswith("pyproject.toml"):
        tool = tables.get("tool")
        own = tool.get("unspin") if isinstance(tool, dict) else None
        if not isinstance(own, dict):
            return None
        tables = own
    return {key: value for key, value in tables.items() if key != _RUN}
