"""Where unspin's own files lie, from the environment. Nothing here creates anything."""

from __future__ import annotations

import os


def state_folder() -> str:
    """Return the folder of the state: ``$XDG_STATE_HOME/unspin``, else below the home folder.

    Raises ``OSError`` where there is neither.
    """
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "unspin")


def config_folder() -> str:
    """Return the folder of the person's settings: ``$XDG_CONFIG_HOME/unspin``."""
    return os.path.join(_base("XDG_CONFIG_HOME", ".config"), "unspin")


def real(path: str) -> str:
    """Return the file that ``path`` is, links resolved; the path itself where that cannot be told.

    A name can hold what no file's can: a NUL, a lone surrogate.
    """
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def as_uri(path: str) -> str:
    """Return a path as SQLite wants it in a URI: every byte that is no letter or digit of ASCII by its number."""
    name = os.fsencode(path)
    return "".join(chr(each) if each < 128 and chr(each).isalnum() else f"%{each:02x}" for each in name)


def _base(variable: str, below_home: str) -> str:
    base = os.environ.get(variable, "")
    if os.path.isabs(base):  # the XDG specification: a relative value is to be ignored
        return base
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise OSError(f"no home folder is known, and {variable} is not set: set one of HOME and {variable}")
    return os.path.join(home, below_home)
