"""Reading settings files: the person's, over it the project's; compiled once into the store.

The person's is ``unspin.toml`` in the configuration folder. The project's is the nearest
``unspin.toml`` or ``pyproject.toml`` with a ``[tool.unspin]`` table, from the project's
folder up to the root of its repository. No environment variable turns a rule on or off.
"""

from __future__ import annotations

import os

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


def load(project: str) -> tuple[Settings, dict[str, str]]:
    """Return the settings for a project folder, and the file that each set key comes from.

    Raises ``SettingsError`` with the file's name where a file cannot be used.
    """
    files = candidates(project)
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    found_project = False
    for at, path in enumerate(files):
        is_person = at == 0 and path.startswith(_person_folder())
        if found_project and not is_person:
            break
        tables = _tables(path)
        if tables is None:
            continue
        found_project = found_project or not is_person
        try:
            read = Settings.from_mapping(tables).as_mapping(keep=tables)
        except SettingsError as error:
            raise SettingsError(f"{path}: {error}") from None
        values.update(read)
        origin.update(dict.fromkeys(read, path))
    return Settings(values), origin


def compiled(project: str, store: Store) -> Settings:
    """Return the settings for a project, from the store where no settings file has changed."""
    import json

    stamp = _stamp(project)
    known = store.compiled_settings(project, stamp)
    if known is not None:
        return Settings(json.loads(known))
    try:
        settings = load(project)[0]
    except SettingsError as error:
        store.fault("settings", f"{error} The defaults are used.")
        settings = Settings()
    store.save_settings(project, stamp, json.dumps(settings.as_mapping()))
    return settings


def _person_folder() -> str:
    try:
        return config_folder()
    except OSError:
        return "\x00"


def _stamp(project: str) -> str:
    stamps = []
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
        own = tables.get("tool", {}).get("unspin")
        return own if isinstance(own, dict) else None
    return tables
