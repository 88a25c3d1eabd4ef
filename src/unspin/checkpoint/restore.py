"""Writes files of a snapshot into the work tree, each whole or not at all.

A file is written over or removed only where its present content is in the snapshot that
was taken just before: all else is left alone and told. Nothing is followed through a
symbolic link, so nothing outside the work tree is touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

from unspin.checkpoint.snapshots import TEMPORARY, Change, KnownModes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unspin.checkpoint.snapshots import Snapshots

#: Why a path was left as it is.
CHANGED_SINCE = "it changed in this very moment"
NOT_SAVED = "what is there is not in the snapshot: it is ignored or was left out"
IN_THE_WAY = "a folder or link stands in the way, with files that are not in the snapshot"


class Restored:
    """What was done: paths written and removed, and pairs of path and reason for what was left alone."""

    __slots__ = ("folders", "left_alone", "removed", "written")

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.removed: list[bytes] = []
        self.left_alone: list[tuple[bytes, str]] = []
        self.folders: dict[str, int] = {}  # folders that went with their last file, and their permissions


class _Refused(Exception):
    """This path is left alone; the text says why."""


def apply(
    snapshots: Snapshots,
    changes: Sequence[Change],
    *,
    modes: str,
    began: int,
    folders: dict[str, int] | None = None,
) -> Restored:
    """Carry out ``changes`` (from the present to the snapshot that is gone back to) in the work tree.

    ``modes`` are that snapshot's; ``began`` is when the present one began to look
    (nanoseconds): what changed after it is not in it. ``folders`` are permissions of
    folders that may have to be made again.
    """
    done = Restored()
    known = KnownModes(modes)
    writer = _Writer(snapshots, began, folders or {}, done)
    try:
        # from the end, so that a folder is empty before its turn comes
        for change in sorted((each for each in changes if not each.new_mode), key=lambda each: each.path, reverse=True):
            writer.attempt(writer.remove, change)
        wanted = [each for each in changes if each.new_mode]
        contents = snapshots.blobs([each.new_id for each in wanted])
        for change in wanted:
            data = next(contents)
            mode = known.of(change.path, change.new_mode)
            writer.attempt(lambda change, data=data, mode=mode: writer.write(change, data, mode), change)
        contents.close()
    finally:
        writer.close()
    return done


def sweep(root: str, paths: Sequence[bytes]) -> None:
    """Remove the unfinished files of a restoring that was killed."""
    for folder in {os.path.dirname(os.path.join(os.fsencode(root), path)) for path in paths}:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(TEMPORARY.encode()):
                    os.unlink(os.path.join(folder, name))


class _Writer:
    """Writes below the root through open folders: no name on the way is looked up twice."""

    def __init__(self, snapshots: Snapshots, began: int, folders: dict[str, int], done: Restored):
        self._root = os.open(snapshots.place.root, os.O_RDONLY | os.O_DIRECTORY)
        self._stage = os.path.join(snapshots.place.store, "staging")
        self._staged = self._same_device(snapshots.place.root)
        self._began = began
        self._folders = folders
        self._done = done
        self._open: tuple[bytes, int] | None = None

    def _same_device(self, root: str) -> bool:
        os.makedirs(self._stage, mode=0o700, exist_ok=True)
        for name in os.listdir(self._stage):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._stage, name))
        return os.stat(self._stage).st_dev == os.stat(root).st_dev

    def close(self) -> None:
        if self._open:
            os.close(self._open[1])
        os.close(self._root)

    def attempt(self, what: object, change: Change) -> None:
        """Do it, or say why the path was left alone: one that cannot be written keeps no other waiting."""
        try:
            what(change)  # type: ignore[operator]
        except _Refused as refused:
            self._done.left_alone.append((change.path, str(refused)))
        except OSError as error:
            self._done.left_alone.append((change.path, error.strerror or str(error)))

    def remove(self, change: Change) -> None:
        """Remove a file that is in the snapshot of the present, and the folders that it leaves empty."""
        folder, name = os.path.split(change.path)
        try:
            parent = self._folder(folder, make=False)
        except FileNotFoundError:
            return
        self._check(parent, name, change)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
            self._done.removed.append(change.path)
        self._tidy(folder)

    def write(self, change: Change, data: bytes, mode: int) -> None:
        """Put a file or a link in its place, in one step."""
        folder, name = os.path.split(change.path)
        parent = self._folder(folder, make=True)
        seen = self._check(parent, name, change)
        if change.old_id == change.new_id and seen and stat.S_ISREG(seen.st_mode) and change.new_mode != "120000":
            os.chmod(name, mode, dir_fd=parent)
        else:
            self._place(parent, name, data, mode, link=change.new_mode == "120000")
        self._done.written.append(change.path)

    def _check(self, parent: int, name: bytes, change: Change) -> os.stat_result | None:
        """Refuse where what is there now is not what the snapshot of the present holds."""
        try:
            seen = os.lstat(name, dir_fd=parent)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(seen.st_mode):
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError:
                raise _Refused(IN_THE_WAY) from None
            return None
        if not change.old_mode:
            raise _Refused(NOT_SAVED)
        if seen.st_ctime_ns > self._began:
            raise _Refused(CHANGED_SINCE)
        return seen

    def _place(self, parent: int, name: bytes, data: bytes, mode: int, *, link: bool) -> None:
        temporary = os.fsencode(f"{TEMPORARY}{secrets.token_hex(8)}")
        if self._staged:
            stage = os.open(self._stage, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._prepare(stage, temporary, data, mode, link=link)
                os.rename(temporary, name, src_dir_fd=stage, dst_dir_fd=parent)
                return
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=stage)
                if error.errno != errno.EXDEV:
                    raise
                self._staged = False
            finally:
                os.close(stage)
        try:
            self._prepare(parent, temporary, data, mode, link=link)
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise

    def _prepare(self, folder: int, name: bytes, data: bytes, mode: int, *, link: bool) -> None:
        if link:
            os.symlink(data, name, dir_fd=folder)
            return
        out = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            while data:
                data = data[os.write(out, data) :]
            os.fchmod(out, mode)
        finally:
            os.close(out)

    def _folder(self, path: bytes, *, make: bool) -> int:
        """Return the open folder ``path``, real all the way down; make it where it is not there."""
        if self._open and self._open[0] == path:
            return self._open[1]
        at = os.dup(self._root)
        try:
            done = b""
            for part in path.split(b"/") if path else ():
                done = done + b"/" + part if done else part
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=at)
                        known = self._folders.get(os.fsdecode(done))
                        if known is not None:
                            os.chmod(part, known, dir_fd=at)
                try:
                    below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                except OSError as error:
                    if error.errno in (errno.ENOTDIR, errno.ELOOP):
                        raise _Refused(IN_THE_WAY) from None
                    raise
                os.close(at)
                at = below
        except BaseException:
            os.close(at)
            raise
        if self._open:
            os.close(self._open[1])
        self._open = (path, at)
        return at

    def _tidy(self, folder: bytes) -> None:
        """Remove a folder that is empty now, and those above it."""
        while folder:
            above, name = os.path.split(folder)
            try:
                parent = self._folder(above, make=False)
                mode = stat.S_IMODE(os.lstat(name, dir_fd=parent).st_mode)
                os.rmdir(name, dir_fd=parent)
            except (OSError, _Refused):
                return
            self._done.folders[os.fsdecode(folder)] = mode
            folder = above
