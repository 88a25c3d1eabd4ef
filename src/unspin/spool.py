"""Events that came while the store was locked, kept as one file each until the next hook takes them in.

A file is complete or not there: it is written under another name first. Which files were
taken in is recorded in the same transaction as what they did, so that a process killed in
between neither loses an event nor counts it twice.
"""

from __future__ import annotations

import os
import time

_MOST = 100  # files taken in at once: a hook has a few seconds


class Spool:
    """The folder of kept events, beside the store."""

    __slots__ = ("_folder",)

    def __init__(self, state_folder: str):
        self._folder = os.path.join(state_folder, "spool")

    def keep(self, data: bytes) -> None:
        """Keep one payload, as it came."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        name = f"{time.time_ns():020}-{os.getpid()}"
        temporary = os.path.join(self._folder, f".{name}")
        out = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            while data:
                data = data[os.write(out, data) :]
            os.fsync(out)
        except OSError:
            os.unlink(temporary)
            raise
        finally:
            os.close(out)
        os.rename(temporary, os.path.join(self._folder, name))

    def names(self) -> list[str]:
        """Return the kept events' names, oldest first."""
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(name for name in names if not name.startswith("."))[:_MOST]

    def read(self, name: str) -> bytes:
        """Return a kept payload; empty if another process has taken it."""
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def drop(self, names: list[str]) -> None:
        """Remove what was taken in."""
        for name in names:
            try:
                os.unlink(os.path.join(self._folder, name))
            except OSError:
                continue
