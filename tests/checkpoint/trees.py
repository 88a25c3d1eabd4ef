"""Random work trees for tests of checkpoints: what is in them, and what people and git see of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from unspin.checkpoint.book import Book, Limits
from unspin.store import Store

GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", "-c", "gc.auto=0"]


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run([*GIT, *arguments], cwd=folder, capture_output=True, env=env, check=False)
    assert not check or done.returncode == 0, done.stderr
    return os.fsdecode(done.stdout)


def book_of(folder: Path, **limits: int) -> Book:
    """The checkpoints of `folder`, with the store where the environment says."""
    from unspin.paths import state_folder

    @contextlib.contextmanager
    def opened():  # type: ignore[no-untyped-def]
        store = Store(state_folder())
        try:
            with store:
                yield store
        finally:
            store.close()

    return Book(str(folder), opened, Limits(**limits))


def seen(folder: Path, *, inside_git: bool = False) -> dict[bytes, tuple[str, int, bytes]]:
    """Every file, link and special file below `folder` with kind, permissions and content; `.git` left out."""
    found: dict[bytes, tuple[str, int, bytes]] = {}
    for base, folders, files in os.walk(os.fsencode(folder)):
        if not inside_git and b".git" in folders and base == os.fsencode(folder):
            folders.remove(b".git")
        for name in [*files, *(each for each in folders if os.path.islink(os.path.join(base, each)))]:
            path = os.path.join(base, name)
            state = os.lstat(path)
            if stat.S_ISLNK(state.st_mode):
                value = ("link", 0, os.readlink(path))
            elif stat.S_ISREG(state.st_mode):
                value = ("file", stat.S_IMODE(state.st_mode), Path(os.fsdecode(path)).read_bytes())
            else:
                value = ("other", stat.S_IFMT(state.st_mode), b"")
            found[os.path.relpath(path, os.fsencode(folder))] = value
    return found


def repository(folder: Path) -> str:
    """A digest of all that belongs to the person's repository: to the byte, times left out."""
    digest = hashlib.sha256()
    top = folder / ".git"
    for base, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(base, name)
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0")
            if not os.path.islink(path):
                digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def always(plan: object) -> bool:
    return True


def removed(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


Told = Callable[[object], bool]
