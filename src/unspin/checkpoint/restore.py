"""Writes files of a snapshot into the work tree, each whole or not at all.

A file is written over or removed only where its present content is in the snapshot that
was taken just before: all else is left alone and told. The old file is first put aside, in
one step with the new one's coming where the system can do that, and let go of only when it
is still the one that was looked at. Nothing is followed through a symbolic link, so
nothing outside the work tree is touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from unspin.checkpoint.snapshots import TEMPORARY, Change, KnownModes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from unspin.checkpoint.snapshots import Snapshots

#: Why a path was left as it is.
CHANGED_SINCE = "it changed in this very moment"
NOT_SAVED = "what is there is not in the snapshot: it is ignored or was left out"
IGNORED_THEN = "git ignored it then: what it held is not known"
OTHERS = "its folder has become a repository of its own"
IN_THE_WAY = "a folder or link stands in the way, with files that are not in the snapshot"

_RANDOM = 16  # hexadecimal digits behind that
_AT_ONCE = 1 << 20  # bytes that are read at once
_EXCHANGE, _NO_REPLACE = 2, 1  # renameat2


class Restored:
    """What was done: paths written and removed, and pairs of path and reason for what was left alone."""

    __slots__ = ("left_alone", "removed", "written")

    def __init__(self, left_alone: Sequence[tuple[bytes, str]] = ()) -> None:
        self.written: list[bytes] = []
        self.removed: list[bytes] = []
        self.left_alone = list(left_alone)


class _Refused(Exception):
    """This path is left alone; the text says why."""


class _Old:
    """A file that is about to go, as it was when it was found to be the one that is saved."""

    __slots__ = ("fd", "seen")

    def __init__(self, seen: os.stat_result, fd: int = -1):
        self.seen = seen
        self.fd = fd

    def is_still(self, now: os.stat_result) -> bool:
        """Tell whether that is the same file, and not written to since. Its times tell, its renaming does not."""
        then = self.seen
        return (then.st_dev, then.st_ino, then.st_size, then.st_mtime_ns) == (
            now.st_dev,
            now.st_ino,
            now.st_size,
            now.st_mtime_ns,
        )

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


def apply(
    snapshots: Snapshots,
    changes: Sequence[Change],
    *,
    modes: str,
    present: str,
    folders: dict[str, int] | None = None,
) -> Restored:
    """Carry out ``changes`` (from the present to the snapshot that is gone back to) in the work tree.

    ``modes`` are that snapshot's, ``present`` those of the present one. ``folders`` are
    folders that may have to be made again, with their permissions.
    """
    done = Restored()
    known = KnownModes(modes)
    writer = _Writer(snapshots, KnownModes(present), folders or {}, done)
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
        writer.make_folders()
    finally:
        writer.close()
    return done


def sweep(root: str, paths: Sequence[bytes]) -> None:
    """Remove the unfinished files of a restoring that was killed."""
    for folder in {os.path.dirname(os.path.join(os.fsencode(root), path)) for path in paths}:
        if os.path.realpath(folder) != folder:
            continue
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if _is_ours(name):
                    os.unlink(os.path.join(folder, name))


def _is_ours(name: bytes) -> bool:
    digits = name.removeprefix(TEMPORARY.encode())
    return len(digits) == _RANDOM == len(name) - len(TEMPORARY) and not digits.strip(b"0123456789abcdef")


def stands(root: str, path: bytes) -> bool:
    """Tell whether something other than a folder stands at a path, with no link on the way."""
    full = os.path.join(os.fsencode(root), path)
    parent = os.path.dirname(full)
    return (
        os.path.realpath(parent) == parent
        and os.path.lexists(full)
        and (os.path.islink(full) or not os.path.isdir(full))
    )


def is_in_repository(root: str, path: bytes) -> bool:
    """Tell whether a folder on the way to a path is a repository of its own; a link on the way leads elsewhere."""
    at, found = os.fsencode(root), False
    for part in path.split(b"/")[:-1]:
        at = os.path.join(at, part)
        if os.path.islink(at):
            return False
        found = found or os.path.lexists(os.path.join(at, b".git"))
    return found


def folders_of(root: str, paths: Sequence[bytes]) -> dict[str, int]:
    """Return the folders on the way to paths, and those without files that stand in their place, with permissions."""
    found: dict[str, int] = {}
    top = os.fsencode(root)
    on_the_way = set()
    for path in paths:
        while path and path not in on_the_way:
            on_the_way.add(path)
            path = os.path.dirname(path)
    for path in on_the_way:
        with contextlib.suppress(OSError):
            seen = os.lstat(os.path.join(top, path))
            if stat.S_ISDIR(seen.st_mode):
                found[os.fsdecode(path)] = stat.S_IMODE(seen.st_mode)
    for path in set(paths):
        if os.fsdecode(path) in found:
            for base, names, _ in os.walk(os.path.join(top, path)):
                for name in names:
                    below = os.path.join(base, name)
                    with contextlib.suppress(OSError):
                        seen = os.lstat(below)
                        if stat.S_ISDIR(seen.st_mode):
                            found[os.fsdecode(os.path.relpath(below, top))] = stat.S_IMODE(seen.st_mode)
    return found


class _Writer:
    """Writes below the root through open folders: no name on the way is looked up twice."""

    def __init__(self, snapshots: Snapshots, present: KnownModes, folders: dict[str, int], done: Restored):
        self._root = os.open(snapshots.place.root, os.O_RDONLY | os.O_DIRECTORY)
        self._stage = os.path.join(snapshots.place.store, "staging")
        self._present = present
        self._exchange = _renameat2()
        self._folders = folders
        self._done = done
        self._open: tuple[bytes, int] | None = None
        os.makedirs(self._stage, mode=0o700, exist_ok=True)
        for name in os.listdir(self._stage):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._stage, name))

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
        old = self._look(parent, name, change)
        if old:
            try:
                with self._aside(parent) as (aside, temporary):
                    os.rename(name, temporary, src_dir_fd=parent, dst_dir_fd=aside)
                    if not old.is_still(os.lstat(temporary, dir_fd=aside)):
                        self._put_back(aside, temporary, parent, name)
                        raise _Refused(CHANGED_SINCE)
            finally:
                old.close()
            self._done.removed.append(change.path)
        self._tidy(folder)

    def write(self, change: Change, data: bytes, mode: int) -> None:
        """Put a file or a link in its place, in one step."""
        folder, name = os.path.split(change.path)
        parent = self._folder(folder, make=True)
        link = change.new_mode == "120000"
        if change.old_id == change.new_id and change.old_mode != "120000" and not link:
            old = self._look(parent, name, change)
            if old:
                try:
                    os.fchmod(old.fd, mode)
                finally:
                    old.close()
                self._done.written.append(change.path)
                return
        with self._aside(parent) as (aside, temporary):
            self._prepare(aside, temporary, data, mode, link=link)
            old = self._look(parent, name, change)
            try:
                self._swap(aside, temporary, parent, name, old)
            finally:
                if old:
                    old.close()
        self._done.written.append(change.path)

    def _look(self, parent: int, name: bytes, change: Change) -> _Old | None:
        """Return what is there now; refuse where that is not what the snapshot of the present holds."""
        try:
            seen = os.lstat(name, dir_fd=parent)
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(seen.st_mode):
            try:
                _remove_empty(name, parent)
            except OSError:
                raise _Refused(IN_THE_WAY) from None
            return None
        if not change.old_mode:
            raise _Refused(NOT_SAVED)
        if stat.S_ISLNK(seen.st_mode) and change.old_mode == "120000":
            target = os.readlink(name, dir_fd=parent)
            if _identity(len(target), [target]) == change.old_id:
                return _Old(seen)
        elif stat.S_ISREG(seen.st_mode) and change.old_mode != "120000":
            old = self._read_through(parent, name, change)
            if old:
                return old
        raise _Refused(CHANGED_SINCE)

    def _read_through(self, parent: int, name: bytes, change: Change) -> _Old | None:
        """Return the file where content and permissions are those of the snapshot of the present."""
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        old = _Old(os.fstat(fd), fd)
        saved = (
            stat.S_ISREG(old.seen.st_mode)
            and stat.S_IMODE(old.seen.st_mode) == self._present.of(change.path, change.old_mode)
            and _identity(old.seen.st_size, iter(lambda: os.read(fd, _AT_ONCE), b"")) == change.old_id
        )
        if not saved:
            old.close()
            return None
        return old

    def _swap(self, aside: int, temporary: bytes, parent: int, name: bytes, old: _Old | None) -> None:
        """Put the new file in its place and the old one aside; change it back where the old is not as it was."""
        if old is None:
            if not self._rename(aside, temporary, parent, name, _NO_REPLACE):
                with contextlib.suppress(FileNotFoundError):
                    os.lstat(name, dir_fd=parent)
                    raise _Refused(CHANGED_SINCE)
                os.rename(temporary, name, src_dir_fd=aside, dst_dir_fd=parent)
        elif self._rename(aside, temporary, parent, name, _EXCHANGE):
            if not old.is_still(os.lstat(temporary, dir_fd=aside)):
                self._rename(aside, temporary, parent, name, _EXCHANGE)
                raise _Refused(CHANGED_SINCE)
        else:
            if not old.is_still(os.lstat(name, dir_fd=parent)):
                raise _Refused(CHANGED_SINCE)
            os.rename(temporary, name, src_dir_fd=aside, dst_dir_fd=parent)

    def _put_back(self, aside: int, temporary: bytes, parent: int, name: bytes) -> None:
        """Put a file back that was moved aside, unless another has come in its place."""
        if not self._rename(aside, temporary, parent, name, _NO_REPLACE):
            os.link(temporary, name, src_dir_fd=aside, dst_dir_fd=parent, follow_symlinks=False)

    def _rename(self, aside: int, temporary: bytes, parent: int, name: bytes, how: int) -> bool:
        """Rename as plain renaming cannot: tell whether the system could. Raises ``_Refused`` where a file has come."""
        if self._exchange is None:
            return False
        fault = self._exchange(aside, temporary, parent, name, how)
        if fault == errno.EEXIST:
            raise _Refused(CHANGED_SINCE)
        if fault == errno.ENOENT and how == _EXCHANGE:
            raise _Refused(CHANGED_SINCE)
        if fault in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
            return False
        if fault:
            raise OSError(fault, os.strerror(fault))
        return True

    @contextlib.contextmanager
    def _aside(self, parent: int) -> Iterator[tuple[int, bytes]]:
        """Offer a folder and a name in it for what is not finished; what is there in the end is removed.

        That is a folder of our own where it lies on the same file system, else the one that the file is in.
        """
        temporary = os.fsencode(f"{TEMPORARY}{os.urandom(_RANDOM // 2).hex()}")
        aside = os.open(self._stage, os.O_RDONLY | os.O_DIRECTORY) if self._is_near(parent) else os.dup(parent)
        try:
            yield aside, temporary
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=aside)
            os.close(aside)

    def _is_near(self, parent: int) -> bool:
        """Tell whether a file can be moved from our own folder into that one: mounts of one device are not near."""
        probe = os.fsencode(f"{TEMPORARY}{os.urandom(_RANDOM // 2).hex()}")
        stage = os.open(self._stage, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.rename(probe, probe, src_dir_fd=stage, dst_dir_fd=parent)  # a name that is not there
        except OSError as error:
            return error.errno != errno.EXDEV
        finally:
            os.close(stage)
        return True

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
                os.rmdir(name, dir_fd=self._folder(above, make=False))
            except (OSError, _Refused):
                return
            folder = above

    def make_folders(self) -> None:
        """Make the folders that are to be there again, and give them their permissions."""
        for name in sorted(self._folders, reverse=True):
            with contextlib.suppress(OSError, _Refused):
                os.fchmod(self._folder(os.fsencode(name), make=True), self._folders[name])


def _remove_empty(name: bytes, parent: int) -> None:
    """Remove a folder in which there are only folders; nothing where there is a file."""
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        below = os.listdir(fd)
        if not all(stat.S_ISDIR(os.lstat(each, dir_fd=fd).st_mode) for each in below):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        for each in below:
            _remove_empty(os.fsencode(each), fd)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=parent)


def _identity(size: int, parts: Iterable[bytes]) -> str:
    """Return the id that git gives to a content."""
    import hashlib

    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for each in parts:
        digest.update(each)
    return digest.hexdigest()


def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """Return Linux's renaming that exchanges, or refuses to replace, as a function that returns the fault's number."""
    import ctypes

    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None

    def rename(old: int, old_name: bytes, new: int, new_name: bytes, how: int) -> int:
        if found(old, ctypes.c_char_p(old_name), new, ctypes.c_char_p(new_name), ctypes.c_uint(how)) == 0:
            return 0
        return ctypes.get_errno()

    return rename
