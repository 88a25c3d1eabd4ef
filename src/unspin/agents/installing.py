"""What installing into any agent's settings file has in common: a plan, a backup, one atomic replacement."""

from __future__ import annotations

import os
import time


class InstallError(Exception):
    """Installing is not possible; the text says what was found and what to do."""


class Plan:
    """What installing or uninstalling would do to one settings file."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: str | None, after: str | None):
        self.path = path
        self.before = before
        self.after = after

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def apply(self) -> str | None:
        """Carry it out; return the path of the backup, if there was something to back up."""
        if not self.changes or self.after is None:
            return None
        backup = None
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        target = os.path.realpath(self.path)  # people link their settings from elsewhere
        if self.before is not None:
            backup = f"{self.path}.unspin-backup-{time.strftime('%Y%m%d-%H%M%S')}"
            _write(backup, self.before)
        temporary = f"{target}.unspin-{os.getpid()}"
        _write(temporary, self.after)
        if self.before is not None:
            os.chmod(temporary, os.stat(target).st_mode & 0o7777)
        os.replace(temporary, target)
        return backup


def read_settings(path: str) -> str | None:
    """Return a settings file's text, ``None`` where there is no such file; raise ``InstallError`` if unreadable."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InstallError(f"{path} cannot be read ({error}). Nothing was changed.") from None


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise InstallError(f"{path} cannot be written ({error}). Nothing was changed.") from None
