"""What the workspace of a run truly holds: every file of it as a git object in the state folder, away from workers.

The objects are written here, without starting git: the cost of a step does not grow with
the run, and nothing that a worker leaves in the workspace's ``.git`` is ever asked. The
workspace's own repository is filled from them, one commit a turn.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_BRANCH = "main"
_WHO = "unspin <unspin@localhost>"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[gc]\n\tauto = 0\n"
_LARGEST = 100_000_000  # bytes of one file of a workspace
_SKELETON = {"HEAD", "config", "index", "objects", "refs"}


class Ledger:
    """The true content of ``folder``, kept as objects below ``objects``.

    ``derived`` are files whose truth is kept elsewhere: they are put back as well, and are part of commits only.
    """

    def __init__(self, folder: str, objects: str):
        self.folder = folder
        self.objects = objects
        self._root: dict[str, Any] = {}  # name: object, or a dict for a folder
        self._shas: dict[str, str] = {}  # folders whose tree is written
        self._seen: dict[str, tuple[int, ...]] = {}  # what the files looked like when they were written
        self._fresh: list[str] = []  # objects that the workspace's repository has not got yet
        self._git: list[object] = []  # what the workspace's repository looked like
        self.derived: dict[str, bytes] = {}

    # -- writing -----------------------------------------------------------------------

    def write(self, path: str, data: bytes) -> None:
        """Write a file of the workspace, and keep it as true."""
        *parents, name = path.split("/")
        folder = self._root
        for each in parents:
            folder = folder.setdefault(each, {})
        folder[name] = self._store("blob", data)
        for depth in range(len(parents) + 1):
            self._shas.pop("/".join(parents[:depth]), None)
        self._put(path, data)

    def derive(self, path: str, data: bytes) -> None:
        """Write a file whose truth is kept elsewhere."""
        self.derived[path] = data
        self._put(path, data)

    def derive_more(self, path: str, data: bytes) -> None:
        """Add to the end of such a file."""
        self.derived[path] = self.derived.get(path, b"") + data
        full = os.path.join(self.folder, path)
        if _look(full) != self._seen.get(path):
            self._put(path, self.derived[path])
            return
        with open(full, "ab") as file:
            file.write(data)
        self._seen[path] = _look(full)

    def read(self, path: str) -> bytes | None:
        """Return the true content of a file, ``None`` where there is none."""
        found: Any = self._root
        for each in path.split("/"):
            found = found.get(each) if isinstance(found, dict) else None
        return self._load(found) if isinstance(found, str) else self.derived.get(path)

    def paths(self) -> list[str]:
        """Return the names of all files but the derived ones, in order."""
        return sorted(path for path, _ in self._files(self._root, ""))

    def _put(self, path: str, data: bytes) -> None:
        full = os.path.join(self.folder, path)
        parent = os.path.dirname(full)
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(full).st_mode):
                remove(full)
        new = f"{full}.new"
        try:
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except OSError:
            _make_way(self.folder, parent)
            remove(new)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with open(file, "wb") as opened:
            opened.write(data)
        os.replace(new, full)
        self._seen[path] = _look(full)

    # -- what a worker did to it -------------------------------------------------------

    def mend(self) -> list[str]:
        """Put the workspace back to what is true; return the paths that were changed."""
        if self._untouched(self.folder, ""):
            return []
        true = dict(self._files(self._root, ""))
        names = {*true, *self.derived}
        folders = {"/".join(path.split("/")[:depth]) for path in names for depth in range(path.count("/") + 1)} - {""}
        changed = []
        if os.path.islink(self.folder) or not os.path.isdir(self.folder):
            remove(self.folder)
            os.makedirs(self.folder)
        for path, is_folder in list(_walk(self.folder)):
            if path not in (folders if is_folder else names):
                remove(os.path.join(self.folder, path))
                changed.append(path)
        for path in sorted(names):
            now = _look(os.path.join(self.folder, path))
            if now and now == self._seen.get(path):
                continue
            wanted = self.derived[path] if path in self.derived else self._load(true[path])
            if wanted == _content(os.path.join(self.folder, path), len(wanted)):
                self._seen[path] = _look(os.path.join(self.folder, path))
                continue
            self._put(path, wanted)
            changed.append(path)
        return sorted(set(changed))

    def _untouched(self, folder: str, prefix: str) -> bool:
        """Tell whether all is there as it was written, and nothing else: the quick look, in one pass."""
        count = [0]
        if os.path.islink(folder) or not self._as_written(folder, prefix, self._root, count):
            return False
        return count[0] == len(self._seen)

    def _as_written(self, folder: str, prefix: str, known: dict[str, Any], count: list[int]) -> bool:
        try:
            entries = os.scandir(folder)
        except OSError:
            return False
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                inner = known.get(each.name)
                if isinstance(inner, dict):
                    if not self._as_written(each.path, f"{prefix}{each.name}/", inner, count):
                        return False
                elif prefix or each.name != ".git":
                    return False
            elif self._seen.get(f"{prefix}{each.name}") != _marks(each.stat(follow_symlinks=False)):
                return False
            else:
                count[0] += 1
        return True

    def _files(self, folder: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
        for name, each in folder.items():
            if isinstance(each, dict):
                yield from self._files(each, f"{prefix}{name}/")
            else:
                yield f"{prefix}{name}", each

    def recover(self) -> list[str]:
        """Bring back objects that are gone, from the workspace, where it still has them as they were.

        Returns the files whose true content is lost all the same.
        """
        lost = []
        for path, sha in self._files(self._root, ""):
            if self.has(sha):
                continue
            data = read_plain(os.path.join(self.folder, path), _LARGEST)
            if data is None or self._store("blob", data) != sha:
                lost.append((path, sha))
        place = os.path.join(self.folder, ".git", "objects")
        for folder in os.listdir(place) if os.path.isdir(place) else []:
            for name in os.listdir(os.path.join(place, folder)) if len(folder) == 2 else []:
                with contextlib.suppress(OSError, zlib.error):
                    if not self.has(folder + name):
                        whole = zlib.decompress(read_plain(os.path.join(place, folder, name), _LARGEST) or b"")
                        kind, _, data = whole.partition(b"\0")
                        self._store(kind.partition(b" ")[0].decode("ascii", "replace"), data)
        self._shas = {}
        return [path for path, sha in lost if not self.has(sha)]

    def has(self, sha: str) -> bool:
        """Tell whether an object is there."""
        return os.path.exists(self._place(sha))

    # -- trees and commits -------------------------------------------------------------

    def tree(self) -> str:
        """Return the object that stands for all files but the derived ones."""
        return self._tree(self._root, "")

    def take(self, tree: str) -> None:
        """Take as true what a tree holds; what was written after it is forgotten."""
        self._root = self._read_tree(tree)
        self._shas, self._seen = {}, {}

    def take_files(self) -> None:
        """Take as true what lies in the folder now: a run that came from another machine."""
        for path, is_folder in list(_walk(self.folder)):
            data = None if is_folder or path in self.derived else read_plain(os.path.join(self.folder, path), _LARGEST)
            if data is not None:
                self.write(path, data)

    def take_history(self) -> str:
        """Take over the commits of the workspace's repository; return the newest, empty where it was packed."""
        place = os.path.join(self.folder, ".git")
        commit = (read_plain(os.path.join(place, "refs", "heads", _BRANCH), 100) or b"").decode("ascii", "replace")
        for folder in os.listdir(os.path.join(place, "objects")) if os.path.isdir(place) else []:
            if folder == "pack" and os.listdir(os.path.join(place, "objects", folder)):
                return ""
            for name in os.listdir(os.path.join(place, "objects", folder)) if len(folder) == 2 else []:
                data = read_plain(os.path.join(place, "objects", folder, name), _LARGEST)
                there = os.path.join(self.objects, folder, name)
                if data and not os.path.exists(there):
                    os.makedirs(os.path.dirname(there), mode=0o700, exist_ok=True)
                    with open(there, "wb") as file:
                        file.write(data)
        return commit.strip()

    def _tree(self, folder: dict[str, Any], path: str) -> str:
        known = self._shas.get(path)
        if known:
            return known
        rows = []
        for name, each in folder.items():
            is_folder = isinstance(each, dict)
            sha = self._tree(each, f"{path}/{name}".lstrip("/")) if is_folder else each
            mode = b"40000" if is_folder else b"100644"
            rows.append((f"{name}/" if is_folder else name, mode, name, sha))
        data = b"".join(
            mode + b" " + name.encode() + b"\0" + bytes.fromhex(sha)
            for _, mode, name, sha in sorted(rows, key=lambda row: row[0].encode())
        )
        self._shas[path] = self._store("tree", data)
        return self._shas[path]

    def _read_tree(self, sha: str) -> dict[str, Any]:
        data, found = self._load(sha), {}
        at = 0
        while at < len(data):
            end = data.index(b"\0", at)
            mode, _, name = data[at:end].partition(b" ")
            child = data[end + 1 : end + 21].hex()
            found[name.decode()] = self._read_tree(child) if mode == b"40000" else child
            at = end + 21
        return found

    def commit(self, message: str, parent: str, when: float) -> str:
        """Make a commit of everything, and bring the workspace's repository up to it; return it."""
        root = dict(self._root)
        for path, data in self.derived.items():
            root[path] = self._store("blob", data)
        self._shas.pop("", None)
        tree = self._tree(root, "")
        self._shas.pop("", None)
        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else [])]
        lines += [f"author {_WHO} {int(when)} +0000", f"committer {_WHO} {int(when)} +0000", "", message, ""]
        commit = self._store("commit", "\n".join(lines).encode("utf-8", "replace"))
        self._publish(commit)
        return commit

    def _publish(self, commit: str) -> None:
        repository = os.path.join(self.folder, ".git")
        try:
            if not stat.S_ISDIR(os.lstat(repository).st_mode):
                raise OSError
            for sha in self._fresh:
                self._copy(sha, repository)
            self._refer(repository, commit)
        except OSError:  # a worker was at it
            self.restore_repository(commit)
        self._fresh = []

    def restore_repository(self, commit: str) -> None:
        """Make the workspace's repository whole, whatever was done to it."""
        repository = os.path.join(self.folder, ".git")
        if os.path.islink(repository) or not os.path.isdir(repository):
            remove(repository)
        with contextlib.suppress(OSError):
            for name in os.listdir(repository):
                if name not in _SKELETON or os.path.islink(os.path.join(repository, name)):
                    remove(os.path.join(repository, name))
        for name in ("HEAD", "config", "index", "refs", *(() if self._whole(repository) else ("objects",))):
            remove(os.path.join(repository, name))
        for folder in os.listdir(self.objects):
            for name in os.listdir(os.path.join(self.objects, folder)):
                self._copy(folder + name, repository)
        self._refer(repository, commit)
        self._fresh = []

    def _whole(self, repository: str) -> bool:
        """Tell whether the objects there are ours and nothing else, as far as names and sizes tell."""
        place = os.path.join(repository, "objects")
        with contextlib.suppress(OSError):
            for folder in os.listdir(place):
                ours = os.path.join(self.objects, folder)
                for each in os.scandir(os.path.join(place, folder)):
                    if not each.is_file(follow_symlinks=False):
                        return False
                    if each.stat().st_size != os.stat(os.path.join(ours, each.name)).st_size:
                        return False
            return True
        return False

    def _copy(self, sha: str, repository: str) -> None:
        there = os.path.join(repository, "objects", sha[:2], sha[2:])
        if not os.path.exists(there):
            os.makedirs(os.path.dirname(there), exist_ok=True)
            shutil.copyfile(os.path.join(self.objects, sha[:2], sha[2:]), f"{there}.new")
            os.replace(f"{there}.new", there)

    def _refer(self, repository: str, commit: str) -> None:
        texts = {"HEAD": f"ref: refs/heads/{_BRANCH}\n", "config": _CONFIG, f"refs/heads/{_BRANCH}": f"{commit}\n"}
        for name, text in texts.items():
            path = os.path.join(repository, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            new = f"{path}.{secrets.token_hex(4)}"
            with open(new, "x", encoding="ascii") as file:
                file.write(text)
            os.replace(new, path)
        self._git = self._look_at_git()

    def _look_at_git(self) -> list[object]:
        place = os.path.join(self.folder, ".git")
        found: list[object] = [_look(os.path.join(place, name)) for name in ("HEAD", "config", f"refs/heads/{_BRANCH}")]
        for name in ("", "refs", "refs/heads"):
            with contextlib.suppress(OSError):
                found.append(sorted(set(os.listdir(os.path.join(place, name))) - {"index"}))
        return found

    def repository_changed(self) -> bool:
        """Tell whether somebody else wrote to the workspace's repository since it was last brought up."""
        return self._look_at_git() != self._git

    # -- objects -----------------------------------------------------------------------

    def _place(self, sha: str) -> str:
        return os.path.join(self.objects, sha[:2], sha[2:])

    def _store(self, kind: str, data: bytes) -> str:
        whole = f"{kind} {len(data)}\0".encode() + data
        sha = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        path = self._place(sha)
        self._fresh.append(sha)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(f"{path}.new", "wb") as file:
                file.write(zlib.compress(whole, 1))
            os.replace(f"{path}.new", path)
        return sha

    def _load(self, sha: str) -> bytes:
        with open(self._place(sha), "rb") as file:
            return zlib.decompress(file.read()).partition(b"\0")[2]


# -- files that anybody may have put there ----------------------------------------------


def marks(folder: str) -> list[tuple[str, int, int]]:
    """Return what tells whether a file was made or removed in a folder of objects, or in a folder of that."""
    found = []
    for each in (folder, *(path for path in _entries(folder) if os.path.isdir(path))):
        with contextlib.suppress(OSError):
            seen = os.lstat(each)
            found.append((each, seen.st_ino, seen.st_mtime_ns))
    return found


def _entries(folder: str) -> list[str]:
    try:
        return sorted(each.path for each in os.scandir(folder))
    except OSError:
        return []


def _look(path: str) -> tuple[int, ...]:
    """Return what tells whether a file was written to since; empty where it is no plain file."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ()
    return _marks(seen)


def _marks(seen: os.stat_result) -> tuple[int, ...]:
    if not stat.S_ISREG(seen.st_mode):
        return ()
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode)


def _content(path: str, size: int) -> bytes | None:
    data = read_plain(path, size + 1)
    return data if data is not None and len(data) == size else None


def read_plain(path: str, most: int, *, folder: str = "") -> bytes | None:
    """Return up to ``most`` bytes of a plain file, ``None`` where it is none: no link is followed, no pipe waited for.

    With ``folder``, ``path`` is a name in it, and the folder may be no link either.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    place = None
    try:
        if folder:
            place = os.open(folder, flags | os.O_DIRECTORY)
        file = os.open(path, flags, dir_fd=place)
    except OSError:
        return None
    finally:
        if place is not None:
            os.close(place)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None
    with open(file, "rb") as opened:
        return opened.read(most)


def _walk(folder: str, prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Yield what is in a folder, but for its own ``.git``: path, and whether it is a folder. No link is followed."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for each in entries:
        if not prefix and each.name == ".git":
            continue
        is_folder = each.is_dir(follow_symlinks=False)
        yield f"{prefix}{each.name}", is_folder
        if is_folder:
            yield from _walk(each.path, f"{prefix}{each.name}/")


def remove(path: str) -> None:
    """Remove whatever is there, rights or not; no link is followed."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)
            return
    except OSError:
        return

    def again(function: Any, name: str, _: Any) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)
            if stat.S_ISDIR(os.lstat(name).st_mode):
                os.chmod(name, 0o700)
                shutil.rmtree(name, ignore_errors=True)
            else:
                os.unlink(name)

    shutil.rmtree(path, onerror=again)


def _make_way(top: str, folder: str) -> None:
    """Make a folder below ``top`` where links or files may stand in its way."""
    path = top
    for each in ["", *os.path.relpath(folder, top).split(os.sep)]:
        path = os.path.normpath(os.path.join(path, each))
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)
                raise FileNotFoundError
        except FileNotFoundError:
            os.makedirs(path, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            os.chmod(path, 0o755)
