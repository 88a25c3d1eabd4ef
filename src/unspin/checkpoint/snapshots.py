"""A work tree as a tree object in a store of our own, and what differs between two of them.

One bare repository for each work tree, in the state folder, with an index of its own whose
cache of file times makes the next snapshot as cheap as ``git status``. The first one starts
from a copy of the person's index where that says what the files hold, byte for byte, and
copies the objects it needs: after that the store stands alone. Files are stored as they
are: no line endings are converted, no filters run.

What is left out is listed: files over the limit, repositories inside the work tree, what
cannot be read. What git ignores is not looked at.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import stat
import time

from unspin.checkpoint.git import Git, GitError, answer, ask, finish, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any

    from unspin.checkpoint.place import Place
    from unspin.store import Checkpoint

TEMPORARY = ".unspin-restore-"  # how files are named while they are written into the work tree

#: Why a file is not in a snapshot.
TOO_LARGE, OWN_REPOSITORY, UNREADABLE = "larger than the limit", "a repository of its own", "cannot be read"
RESERVED = "git keeps this name for itself"

_MOST_FILES = 500_000  # of a folder: more is no project
_MOST_BYTES = 8_000_000_000
_RAW = ("-z", "--no-renames", "--raw")
_EXCLUDES = ("config", "--type=path", "--get", "core.excludesFile")
_PATIENCE = 20.0  # seconds to wait for another process
_MANY_LOOSE = 3_000  # objects that lie loose before they are packed
_CERTAINLY = f"{TEMPORARY}0".encode()  # a name that our own list ignores
_THEIRS = "unspin-index"  # which state of the person's index was followed

#: What git says where the store is at fault and not the file.
_STORE_FAILS = re.compile(
    "No space left on device|quota exceeded|Read-only file system|Input/output error|File too large"
    "|failed to insert into database|unable to write new index file|index.lock",
    re.IGNORECASE,
)

#: Where a folder has no git, and so nobody said what is not worth keeping.
_NEVER_WORTH_IT = ("node_modules/", ".venv/", "__pycache__/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".tox/")

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tautocrlf = false
\tsafecrlf = false
\tsymlinks = true
\tprotectNTFS = false
\tprotectHFS = false
\tfsmonitor = false
\tsplitIndex = false
\thooksPath = /dev/null
\tignorecase = {ignorecase}
\tprecomposeunicode = false
[gc]
\tauto = 0
[index]
\tskipHash = true
[advice]
\taddEmbeddedRepo = false
"""

_ATTRIBUTES = "* -text !crlf !eol !filter !ident !working-tree-encoding\n"
_CONVERTS = re.compile(rb"\b(?:filter|working-tree-encoding)\b")
_UNLIKE_OURS = re.compile(r"objectformat\s*=\s*(?!sha1)|partialclone|promisor|sparsecheckout\s*=\s*true", re.IGNORECASE)


class Busy(Exception):
    """Another process holds the store of this work tree."""

    for_people = True


class Snapshot:
    """A work tree at one moment.

    ``tree`` is the id of the tree object, ``modes`` the permissions of its files (JSON, see
    ``Modes``), ``left_out`` pairs of path and reason. ``newest`` is the latest moment at
    which a file that changed since the snapshot before did so, in nanoseconds since the
    epoch, and ``began`` the moment at which this one began to look. ``changed`` is how the
    tree differs from that of ``since``, where that was asked for.
    """

    __slots__ = ("began", "changed", "left_out", "modes", "newest", "since", "tree")

    def __init__(self, tree: str, modes: str, left_out: list[tuple[str, str]], newest: int, began: int):
        self.since = ""
        self.changed: list[Change] = []
        self.tree = tree
        self.modes = modes
        self.left_out = left_out
        self.newest = newest
        self.began = began


class Change:
    """How one path differs between two trees. Modes are git's (``100644``); an empty one means that it is not there."""

    __slots__ = ("new_id", "new_mode", "old_id", "old_mode", "path")

    def __init__(self, path: bytes, old_mode: str, new_mode: str, old_id: str, new_id: str):
        self.path = path
        self.old_mode = old_mode
        self.new_mode = new_mode
        self.old_id = old_id
        self.new_id = new_id


class Snapshots:
    """The snapshots of one work tree. Use ``held()`` around everything that takes or drops one."""

    def __init__(self, place: Place, *, max_file_bytes: int = 50_000_000):
        self.place = place
        self._max = max_file_bytes
        self._git = Git(place.store, place.root)
        self._ready = os.path.join(place.store, "unspin-ready")
        self._excludes: bytes | None = None  # the person's own file of ignored files, once it was looked up

    # -- the lock ----------------------------------------------------------------------

    @contextlib.contextmanager
    def held(self, patience: float = _PATIENCE) -> Iterator[None]:
        """Hold the store for this process alone; raise ``Busy`` where another does not let go."""
        os.makedirs(self.place.store, mode=0o700, exist_ok=True)
        lock = os.open(f"{self.place.store}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise Busy(f"another process is at the checkpoints of {self.place.root}") from None
                    time.sleep(0.005)
            # each git holds it, too: one whose starter was killed may still be at work
            os.set_inheritable(lock, True)
            self._sweep()
            try:
                yield
            except BaseException:
                self._sweep(loose=True)  # a full disk would stay full with what was not finished
                raise
        finally:
            os.close(lock)

    def _sweep(self, *, loose: bool = False) -> None:
        """Remove what an unfinished process left behind: whoever holds our lock, nobody is at work.

        ``loose`` looks through the folders of single objects, too.
        """
        for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "config.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.place.store, name))
        objects = os.path.join(self.place.store, "objects")
        names = os.listdir(objects) if loose and os.path.isdir(objects) else ["pack"]
        for folder in (os.path.join(objects, name) for name in names):
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if name.startswith(("tmp_", ".tmp-")):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, name))

    # -- taking ------------------------------------------------------------------------

    def take(self, also: Sequence[bytes] = (), *, since: str = "") -> Snapshot:
        """Return the work tree as it is now, stored. Raises ``GitError`` where that is not possible.

        ``also`` are paths that belong in even where git ignores them now: those of a rollback,
        which changes what is ignored while it is under way. How it differs from the tree
        ``since`` is looked up on the way, where that can be told.
        """
        fresh = not os.path.exists(self._ready)
        snapshot = self._first() if fresh else None
        if snapshot and not also:
            return snapshot
        try:
            return self._next(also, since)
        except GitError:
            if fresh:
                raise
            return self._mend(also)

    def take_whole(self, also: Sequence[bytes] = ()) -> Snapshot:
        """Return the same, with each object looked for: before files are written over."""
        snapshot = self.take(also)
        if not self.holds(snapshot.tree):
            snapshot = self._mend(also)
            if not self.holds(snapshot.tree):
                raise GitError(f"the store {self.place.store} is damaged, and could not be mended")
        return snapshot

    def _mend(self, also: Sequence[bytes]) -> Snapshot:
        """Take a first snapshot again, into a store that has lost something: what it still holds stays."""
        self._git.run("--version")  # nothing to mend where there is no git
        for folder, _, names in os.walk(os.path.join(self.place.store, "objects")):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    if name.startswith("tmp_") or not os.path.getsize(path):
                        os.unlink(path)  # what a crash left of an object: git takes an empty one for whole
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._ready)
        snapshot = self._first()
        for name in os.listdir(os.path.join(self.place.store, "refs", "trees")):
            if not self.holds(name):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self.place.store, "refs", "trees", name))
        return self._next(also) if also else snapshot

    def _next(self, also: Sequence[bytes], since: str = "") -> Snapshot:
        began = time.time_ns()
        names, new = self._look()
        known, seen = self._exclude(), set(names)
        names, left_out, newest, modes = self._sort_out(names)
        gone = self._add(names, left_out)  # while those that are new are still looked for
        found = [name for name in new() if name not in seen]  # what was just left out looks new
        if found:
            more, rest, later, _ = self._sort_out(found, modes)
            gone = self._add(more, rest) or gone
            names += more
            left_out += rest
            newest = max(newest, later)
        again = self._reconcile(changed=not known or gone or any(name.endswith(b".gitignore") for name in names))
        if again:
            more, rest, later, _ = self._sort_out(again, modes)
            self._add(more, rest)
            left_out += rest
            newest = max(newest, later)
        if also:
            more, rest, _, _ = self._sort_out([name for name in also if name not in set(names)], modes)
            self._add(more, rest)
            _write(os.path.join(self.place.store, _THEIRS), b"")  # the next one looks again whether they belong in
        modes.save()
        comparing = self._git.start("diff-index", "--cached", *_RAW, since) if since else None
        writing = self._git.start("write-tree")  # they only read the same index
        status, compared, _ = comparing.communicate() if comparing else (1, b"", b"")
        tree = finish(writing).decode().strip()
        self._protect(tree)
        snapshot = Snapshot(tree, modes.dump(), _readable(left_out), max(newest, self._latest(names)), began)
        if status == 0:
            snapshot.since, snapshot.changed = since, _changes(compared)
        return snapshot

    def _latest(self, names: Sequence[bytes]) -> int:
        """Return the latest change of files that are stored now: one may have come since they were looked at."""
        latest = 0
        for name in names:
            with contextlib.suppress(OSError):
                latest = max(latest, os.lstat(os.path.join(os.fsencode(self.place.root), name)).st_ctime_ns)
        return latest

    def _unlike_index(self) -> list[bytes]:
        """Return the paths that differ from our index: changed, gone, and new ones that are not ignored."""
        names, new = self._look()
        return names + new()

    def _look(self) -> tuple[list[bytes], Callable[[], list[bytes]]]:
        """Return the paths that changed or are gone, and what waits for the new ones that are not ignored."""
        listing = ("ls-files", "-z", "--others", "--exclude-standard")
        kept = os.path.join(self.place.store, "unspin-excludes")
        guess = _read(kept)  # looked up while the others are at work, as it hardly ever changes
        changed = self._git.start("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        others = self._git.start(*_excluding(guess), *listing)
        asked = ask(self.place.root, *_EXCLUDES)

        def new() -> list[bytes]:
            found = finish(others)
            self._excludes = named = os.fsencode(answer(asked) or "")
            if named != guess:
                found = self._git.run(*_excluding(named), *listing)
                _write(kept, named)
            return self._outermost([name for name in found.split(b"\0") if name])

        return [name for name in finish(changed).split(b"\0") if name], new

    def _outermost(self, names: Sequence[bytes]) -> list[bytes]:
        """Return new paths with those in repositories of their own taken together.

        Git does that only where none of the folder's files is in the index.
        """
        root = os.fsencode(self.place.root)
        known: dict[bytes, bytes] = {b"": b""}

        def repository(folder: bytes) -> bytes:
            found = known.get(folder)
            if found is None:
                found = repository(os.path.dirname(folder))
                if not found and os.path.lexists(os.path.join(root, folder, b".git")):
                    found = folder + b"/"
                known[folder] = found
            return found

        return list(dict.fromkeys(repository(os.path.dirname(name.rstrip(b"/"))) or name for name in names))

    def _excluding(self) -> list[str]:
        """Return the option that names the person's own file of ignored files."""
        if self._excludes is None:
            self._excludes = os.fsencode(look(self.place.root, *_EXCLUDES) or "")
        return _excluding(self._excludes)

    def _exclude(self) -> bool:
        """Bring our copy of the repository's own list of ignored files up to date; return whether it was."""
        wanted = b""
        if self.place.git_folder:
            wanted = _read(os.path.join(self.place.common_folder, "info", "exclude"))
        else:
            wanted = "".join(f"{each}\n" for each in _NEVER_WORTH_IT).encode()
        inside = os.path.relpath(os.path.dirname(os.path.dirname(self.place.store)), self.place.root)
        if not inside.startswith(".."):
            wanted += b"\n/" + os.fsencode(inside) + b"/\n"  # our own state lies inside the work tree
        wanted += f"\n{TEMPORARY}*\n".encode()
        path = os.path.join(self.place.store, "info", "exclude")
        if _read(path) == wanted:
            return True
        _write(path, wanted)
        return False

    def _sort_out(
        self, names: list[bytes], modes: Modes | None = None
    ) -> tuple[list[bytes], list[tuple[bytes, str]], int, Modes]:
        """Return which of ``names`` go in, what is left out and why, the latest change, and the modes."""
        root = os.fsencode(self.place.root)
        if modes is None:
            modes = Modes(self.place.store)
            again = []
            for name in set(modes.young).difference(names):
                with contextlib.suppress(OSError):
                    seen = os.lstat(root + b"/" + name)
                    if stat.S_ISREG(seen.st_mode):
                        modes.note(name, seen)
                        if seen.st_ctime_ns != modes.young[name]:
                            again.append(name)
            if again:
                self._forget(again)  # else git would take it for the one that it knows
                names += again
        wanted, left_out, newest = [], [], 0
        real: dict[bytes, bool] = {b"": True}
        for name in names:
            path = root + b"/" + name
            if name.endswith(b"/"):  # git lists a repository inside the work tree as a folder
                left_out.append((name, OWN_REPOSITORY))
                continue
            try:
                if not _is_real(root, os.path.dirname(name), real):
                    raise FileNotFoundError
                seen = os.lstat(path)
            except OSError:  # gone: its folder tells since when
                newest = max(newest, _changed_at(os.path.dirname(path)))
                modes.forget(name)
                wanted.append(name)
                continue
            newest = max(newest, seen.st_ctime_ns)
            if _is_reserved(name, link=stat.S_ISLNK(seen.st_mode)):
                left_out.append((name, RESERVED))  # git would pass over it and say nothing
            elif stat.S_ISLNK(seen.st_mode):
                modes.forget(name)
            elif not stat.S_ISREG(seen.st_mode):
                modes.forget(name)
                if stat.S_ISDIR(seen.st_mode) and os.path.lexists(path + b"/.git"):
                    left_out.append((name, OWN_REPOSITORY))
            elif seen.st_size > self._max:
                left_out.append((name, TOO_LARGE))
            elif not os.access(path, os.R_OK):
                left_out.append((name, UNREADABLE))
            else:
                modes.note(name, seen)
            wanted.append(name)
        out = {name for name, _ in left_out}
        return [name for name in wanted if name not in out], left_out, newest, modes

    def _add(self, names: list[bytes], left_out: list[tuple[bytes, str]], *options: str) -> bool:
        """Bring our index up to date for ``names``; what git cannot take is left out. Return whether some are gone."""
        root = os.fsencode(self.place.root)
        real: dict[bytes, bool] = {b"": True}
        there: list[bytes] = []
        gone = [name.rstrip(b"/") for name, _ in left_out]
        for name in names:
            is_there = _is_real(root, os.path.dirname(name), real) and os.path.lexists(root + b"/" + name)
            (there if is_there and not _is_real(root, name, real) else gone).append(name)
        if gone:
            self._forget(gone)
        self._store(there, left_out, *options)
        return bool(gone)

    def _store(self, names: list[bytes], left_out: list[tuple[bytes, str]], *options: str) -> None:
        if not names:
            return
        try:
            data = b"".join(name + b"\0" for name in names)
            self._git.run(*options, "update-index", "-z", "--add", "--remove", "--replace", "--stdin", data=data)
        except GitError as error:
            if _STORE_FAILS.search(str(error)) or not os.path.isdir(self.place.root):
                raise
            if len(names) == 1:
                left_out.append((names[0], UNREADABLE))
                self._forget(names)
                return
            half = len(names) // 2
            self._store(names[:half], left_out, *options)
            self._store(names[half:], left_out, *options)

    def _forget(self, names: Sequence[bytes]) -> None:
        """Take paths out of our index."""
        data = b"".join(b"0 " + b"0" * 40 + b"\t" + name + b"\0" for name in names)
        self._git.run("update-index", "-z", "--index-info", data=data)

    def _reconcile(self, *, changed: bool) -> list[bytes]:
        """Follow what the person's index and the lists of ignored files say now, where that may have ``changed``.

        A file that is tracked although it is ignored belongs in; one that has come to be
        ignored, and is not tracked, belongs out. Returns the paths that are to be added.
        """
        path = os.path.join(self.place.git_folder, "index") if self.place.git_folder else ""
        stamp = _stamp(path) if path else ""
        kept = os.path.join(self.place.store, _THEIRS)
        if not changed and _read(kept).decode("ascii", "replace") == stamp:
            return []
        listing = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        asked = ask(self.place.root, *listing) if path else None
        ours = {name for name in self._git.run(*self._excluding(), *listing).split(b"\0") if name}
        theirs = {os.fsencode(name) for name in (answer(asked) or "").split("\0") if name}
        if ours - theirs:
            self._forget(sorted(ours - theirs))
        root = os.fsencode(self.place.root)
        if not all(os.path.lexists(root + b"/" + name) for name in theirs):
            stamp = ""  # one that comes again is ignored like any other: it has to be looked for
        _write(kept, stamp.encode())
        return sorted(theirs - ours)

    def _protect(self, tree: str) -> None:
        """Keep a tree from our own clearing away."""
        path = os.path.join(self.place.store, "refs", "trees", tree)
        if not os.path.exists(path):
            _write(path, f"{tree}\n".encode())

    # -- the first one -----------------------------------------------------------------

    def _first(self) -> Snapshot:
        """Make the store and take the first snapshot, from the person's index where it can be used."""
        if self.place.git_folder and self._may_start_from_index():
            try:
                self._make()
                return self._from_index()
            except GitError:  # an object that is not there, an index of another kind: the files say it all
                pass
        self._make()
        return self._from_files()

    def _make(self) -> None:
        """Make a store without an index. What whole snapshots hold, where there are any, stays."""
        import shutil  # it loads compressors, which no hook after the first has a use for

        folder = self.place.store
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in ("objects", "refs"):
                path = os.path.join(folder, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, "objects", "info", "alternates"))
        for name in ("objects/info", "objects/pack", "refs/trees", "refs/heads", "info"):
            os.makedirs(os.path.join(folder, name), mode=0o700, exist_ok=True)
        ignorecase = os.path.exists(self.place.root.swapcase()) and self.place.root.swapcase() != self.place.root
        _write(os.path.join(folder, "config"), _CONFIG.format(ignorecase=str(ignorecase).lower()).encode())
        _write(os.path.join(folder, "HEAD"), b"ref: refs/heads/none\n")
        _write(os.path.join(folder, "info", "attributes"), _ATTRIBUTES.encode())
        _write(os.path.join(folder, "unspin-root"), os.fsencode(self.place.root))

    def _may_start_from_index(self) -> bool:
        """Tell whether the person's index says what the files hold, as far as a quick look can tell."""
        index = os.path.join(self.place.git_folder, "index")
        configs = (
            os.path.join(self.place.common_folder, "config"),
            os.path.join(self.place.git_folder, "config.worktree"),
        )
        said = "".join(_read(each).decode("utf-8", "replace") for each in configs)
        return os.path.isfile(index) and not _UNLIKE_OURS.search(said)

    def _from_index(self) -> Snapshot:
        import shutil

        began = time.time_ns()
        folder = self.place.store
        # with its time: git tells by it which entries it has to look at again
        shutil.copy2(os.path.join(self.place.git_folder, "index"), os.path.join(folder, "index"))
        theirs = os.path.join(self.place.common_folder, "objects")
        _write(os.path.join(folder, "objects", "info", "alternates"), os.fsencode(_quoted(theirs)) + b"\n")
        entries = self._entries()
        attributes = [name for _, _, name in entries if name.rpartition(b"/")[2] == b".gitattributes"]
        root = os.fsencode(self.place.root)
        if any(_CONVERTS.search(_read(os.path.join(root, name))) for name in attributes) or _CONVERTS.search(
            self._attributes_elsewhere()
        ):
            raise GitError("files are converted between work tree and index")
        differing = self._unlike_blobs(entries)
        if differing:
            self._forget(differing)
        snapshot = self._take_all(began, self._unlike_index())
        self._git.run("-c", "pack.window=0", "-c", "pack.threads=1", "repack", "-a", "-d", "-q")
        os.unlink(os.path.join(folder, "objects", "info", "alternates"))
        self._git.run("cat-file", "-e", snapshot.tree)
        _write(self._ready, b"")
        return snapshot

    def _entries(self) -> list[tuple[bytes, bytes, bytes]]:
        """Return the copied index's entries as (mode, id, path), repositories inside taken out."""
        flags = self._git.run("ls-files", "-v", "-z").split(b"\0")
        if any(not each.startswith(b"H ") for each in flags if each):
            raise GitError("the index holds entries that hide changes, or a merge under way")
        entries = []
        for each in self._git.run("ls-files", "-s", "-z").split(b"\0"):
            if each:
                head, _, name = each.partition(b"\t")
                mode, identity, _ = head.split(b" ")
                entries.append((mode, identity, name))
        inside = [name for mode, _, name in entries if mode == b"160000"]
        if inside:
            self._forget(inside)
        return [each for each in entries if each[0] != b"160000"]

    def _attributes_elsewhere(self) -> bytes:
        named = look(self.place.root, "config", "--type=path", "--get", "core.attributesFile") or ""
        default = os.path.join(
            os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config"), "git", "attributes"
        )
        paths = (os.path.join(self.place.common_folder, "info", "attributes"), named, default, "/etc/gitattributes")
        return b"\n".join(_read(each) for each in paths if each)

    def _unlike_blobs(self, entries: list[tuple[bytes, bytes, bytes]]) -> list[bytes]:
        """Return the files whose size is not that of their blob: changed, or stored with other line endings."""
        asked = b"".join(identity + b"\n" for _, identity, _ in entries)
        sizes = self._git.run("cat-file", "--batch-check=%(objectsize)", data=asked).split(b"\n")
        root = os.fsencode(self.place.root)
        differing = []
        for (mode, _, name), size in zip(entries, sizes, strict=False):
            if not size.isdigit():
                raise GitError("an object of the index is missing")
            with contextlib.suppress(OSError):
                if mode != b"120000" and os.lstat(root + b"/" + name).st_size != int(size):
                    differing.append(name)
        return differing

    def _from_files(self) -> Snapshot:
        began = time.time_ns()
        self._exclude()
        names = self._unlike_index()
        self._refuse_giants(names)
        snapshot = self._take_all(began, names)
        _write(self._ready, b"")
        return snapshot

    def _take_all(self, began: int, names: list[bytes]) -> Snapshot:
        """Take a first snapshot, whose index and modes are not known yet."""
        self._exclude()
        modes = Modes(self.place.store, fresh=True)
        wanted, left_out, newest, modes = self._sort_out(names, modes)
        # as if every file were large: git then writes one pack, and not a file for each
        self._add(wanted, left_out, "-c", "core.bigFileThreshold=1")
        again = self._reconcile(changed=True)
        if again:
            more, rest, later, _ = self._sort_out(again, modes)
            self._add(more, rest, "-c", "core.bigFileThreshold=1")
            left_out += rest
            newest = max(newest, later)
        listed = self._git.run("ls-files", "-z").split(b"\0")
        self._refuse_large([name for name in listed if name], left_out)
        modes.gather(self.place.root, [name for name in listed if name])
        tree = self._git.run("write-tree").decode().strip()
        self._protect(tree)
        modes.save()
        return Snapshot(tree, modes.dump(), _readable(left_out), newest, began)

    def _refuse_large(self, names: list[bytes], left_out: list[tuple[bytes, str]]) -> None:
        """Take out of a copied index what is over the limit: tracked files can be."""
        root = os.fsencode(self.place.root)
        large = []
        for name in names:
            with contextlib.suppress(OSError):
                if os.lstat(root + b"/" + name).st_size > self._max:
                    large.append(name)
        if large:
            self._forget(large)
            left_out += [(name, TOO_LARGE) for name in large]

    def _refuse_giants(self, names: list[bytes]) -> None:
        """Refuse a folder that is no project: by the number of its files, and their size together."""
        root = os.fsencode(self.place.root)
        size = 0
        for name in names[:_MOST_FILES]:
            with contextlib.suppress(OSError):
                each = os.lstat(root + b"/" + name).st_size
                size += each if each <= self._max else 0
        if len(names) > _MOST_FILES or size > _MOST_BYTES:
            raise GitError(
                f"{self.place.root} holds {len(names):,} files ({size / 1e9:.1f} GB) that git does not ignore: "
                f"too much for checkpoints (at most {_MOST_FILES:,} files, {_MOST_BYTES / 1e9:.0f} GB). "
                "Ignore what is no source"
            )

    # -- looking -----------------------------------------------------------------------

    def changes(self, old: str, new: str) -> list[Change]:
        """Return how ``new`` differs from ``old``, path by path."""
        if old == new:
            return []
        return _changes(self._git.run("diff-tree", "-r", *_RAW, old, new))

    def all_changes(self, old: Snapshot | Checkpoint, new: Snapshot | Checkpoint) -> list[Change]:
        """Return the same for two snapshots, with files of which only the permissions differ."""
        if isinstance(new, Snapshot) and new.since == old.tree:
            found = list(new.changed)
        else:
            found = self.changes(old.tree, new.tree)
        before, after = KnownModes(old.modes), KnownModes(new.modes)
        if before == after:
            return found
        known = {each.path for each in found}
        for mode, identity, path in self._listed(new.tree):
            if path not in known and mode != "120000" and before.of(path, mode) != after.of(path, mode):
                found.append(Change(path, mode, mode, identity, identity))
        return found

    def _listed(self, tree: str) -> list[tuple[str, str, bytes]]:
        """Return the files of a tree as (mode, id, path)."""
        found = []
        for each in self._git.run("ls-tree", "-r", "-z", tree).split(b"\0"):
            if each:
                head, _, path = each.partition(b"\t")
                mode, _, identity = head.decode().split(" ")
                found.append((mode, identity, path))
        return found

    def numbers(self, old: str, new: str) -> list[tuple[str, int | None, int | None]]:
        """Return the lines added and removed by file; ``None`` for what is no text."""
        found: list[tuple[str, int | None, int | None]] = []
        for each in self._git.run("diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new).split(b"\0"):
            if each:
                added, removed, path = each.split(b"\t", 2)
                known = added.isdigit()
                found.append((os.fsdecode(path), int(added) if known else None, int(removed) if known else None))
        return found

    def files(self, tree: str) -> list[bytes]:
        """Return the paths of all files of a tree."""
        return [name for name in self._git.run("ls-tree", "-r", "-z", "--name-only", tree).split(b"\0") if name]

    def text_of_changes(self, old: str, new: str, *options: str) -> bytes:
        """Return the differences as git shows them."""
        return self._git.run("diff-tree", "-r", *options, old, new)

    def blobs(self, identities: Sequence[str]) -> Generator[bytes]:
        """Yield the contents of blobs, in order."""
        process = self._git.start("cat-file", "--batch", input=True)
        assert process.stdin and process.stdout
        try:
            for each in identities:
                process.stdin.write(f"{each}\n".encode())
                process.stdin.flush()
                head = process.stdout.readline().split()
                if len(head) != 3 or head[1] != b"blob":
                    raise GitError(f"the object {each} of a checkpoint is missing: its store is damaged")
                data = process.stdout.read(int(head[2]))
                process.stdout.read(1)
                yield data
        finally:
            process.stdin.close()
            process.stdout.close()
            if process.stderr:
                process.stderr.close()
            process.wait()

    def holds(self, tree: str) -> bool:
        """Tell whether a tree is there with all that is in it."""
        try:
            self._git.run("rev-list", "--objects", "--quiet", tree, "--")
        except GitError:
            return False
        return True

    def there(self, trees: Sequence[str]) -> set[str]:
        """Return which of these trees are there."""
        asked = "".join(f"{each}\n" for each in trees).encode()
        found = self._git.run("cat-file", "--batch-check=%(objecttype)", data=asked).split(b"\n") if trees else []
        return {each for each, kind in zip(trees, found, strict=False) if kind == b"tree"}

    def ignored_by(self, tree: str, names: Sequence[bytes]) -> set[bytes]:
        """Return which of ``names`` the ignore files of a snapshot ignore."""
        import shutil

        if not names:
            return set()
        rules = [
            (identity, path)
            for mode, identity, path in self._listed(tree)
            if path.rpartition(b"/")[2] == b".gitignore" and mode != "120000"
        ]
        folder = os.path.join(self.place.store, "rules")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700)
        try:
            for (_, path), data in zip(rules, self.blobs([identity for identity, _ in rules]), strict=True):
                full = os.path.join(os.fsencode(folder), path)
                os.makedirs(os.path.dirname(full), mode=0o700, exist_ok=True)
                with open(full, "wb") as file:
                    file.write(data)
            beside = Git(self.place.store, folder)
            asked = b"".join(name + b"\0" for name in names)
            # one name that is ignored for certain: with none at all, git's status is not zero
            found = beside.run(
                *self._excluding(), "check-ignore", "-z", "--no-index", "--stdin", data=asked + _CERTAINLY + b"\0"
            )
            return set(found.split(b"\0")).difference((b"", _CERTAINLY))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    # -- clearing away -----------------------------------------------------------------

    def keep_only(self, trees: set[str], *, now: bool = False) -> None:
        """Let all trees but ``trees`` go; the space is freed ``now``, or when enough has come together."""
        folder = os.path.join(self.place.store, "refs", "trees")
        dropped = False
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if name not in trees and not name.endswith(".new"):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))
                    dropped = True
        if (now and dropped) or now or self._loose() > _MANY_LOOSE:
            self.pack()

    def pack(self) -> None:
        """Pack what is kept, and free what is not."""
        self._git.run("-c", "pack.threads=1", "-c", "repack.writeBitmaps=false", "repack", "-a", "-d", "-q", "-l")
        self._git.run("prune", "--expire=now")

    def _loose(self) -> int:
        """Return about how many objects lie loose: from one of the 256 folders, as ``git gc`` does."""
        try:
            return 256 * len(os.listdir(os.path.join(self.place.store, "objects", "17")))
        except OSError:
            return 0

    def size(self) -> int:
        """Return the bytes that the store takes on the disk."""
        total = 0
        for folder, _, files in os.walk(self.place.store):
            for name in files:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
        return total

    def remove(self) -> None:
        """Remove the whole store of this work tree."""
        import shutil

        shutil.rmtree(self.place.store, ignore_errors=True)


def read_root(folder: str) -> str:
    """Return the work tree whose store ``folder`` is, empty if it is none."""
    return os.fsdecode(_read(os.path.join(folder, "unspin-root")))


class Modes:
    """The permissions of the files in our index: git knows only whether a file may be executed.

    The two that most files have, plain and executable ones, are kept once, the others by path.
    Git compares times by the second: a file that changed in the second of a snapshot is looked
    at again by the next one (``young``, with the time of its last change in nanoseconds).
    """

    __slots__ = ("_changed", "_defaults", "_others", "_path", "_since", "_young", "young")

    def __init__(self, folder: str, *, fresh: bool = False):
        self._path = os.path.join(folder, "unspin-modes")
        data = b"" if fresh else _read(self._path)
        self._defaults, self._others = _modes(data)
        self.young = {os.fsencode(name): changed for name, changed in _parsed(data).get("recent", ())}
        self._young: dict[bytes, int] = {}
        self._since = (time.time_ns() // 10**9 - 1) * 10**9
        self._changed = fresh or bool(self.young)

    def note(self, name: bytes, seen: os.stat_result) -> None:
        """Remember the permissions of a file."""
        key, mode = os.fsdecode(name), stat.S_IMODE(seen.st_mode)
        if seen.st_ctime_ns >= self._since:
            self._young[name] = seen.st_ctime_ns
            self._changed = True
        if mode == self._defaults[bool(mode & 0o100)]:
            self.forget(name)
        elif self._others.get(key) != mode:
            self._others[key] = mode
            self._changed = True

    def forget(self, name: bytes) -> None:
        """Forget a file that is gone, or has the permissions that most have."""
        if self._others.pop(os.fsdecode(name), None) is not None:
            self._changed = True

    def gather(self, root: str, names: Sequence[bytes]) -> None:
        """Look at all files: which permissions most have, and which others."""
        seen: dict[bytes, os.stat_result] = {}
        counts: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for name in names:
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(os.fsencode(root), name))
                if stat.S_ISREG(found.st_mode):
                    seen[name] = found
                    mode = stat.S_IMODE(found.st_mode)
                    of = counts[bool(mode & 0o100)]
                    of[mode] = of.get(mode, 0) + 1
        plain, executable = (max(of, key=of.__getitem__, default=0) for of in counts)
        self._defaults = (plain or 0o644, executable or 0o755)
        self._others = {}
        for name, state in seen.items():
            self.note(name, state)
        self._changed = True

    def dump(self) -> str:
        """Return them as JSON."""
        return json.dumps({"defaults": self._defaults, "others": self._others}, separators=(",", ":"))

    def save(self) -> None:
        """Keep them beside our index."""
        if self._changed:
            young = sorted((os.fsdecode(name), changed) for name, changed in self._young.items())
            data = {"defaults": self._defaults, "others": self._others, "recent": young}
            _write(self._path, json.dumps(data, separators=(",", ":")).encode())
            self._changed = False


class KnownModes:
    """The permissions that a snapshot's files had."""

    __slots__ = ("_defaults", "_others")

    def __init__(self, modes: str):
        self._defaults, self._others = _modes(modes.encode())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownModes) and (self._defaults, self._others) == (other._defaults, other._others)

    __hash__ = None  # type: ignore[assignment]

    def of(self, path: bytes, git_mode: str) -> int:
        """Return a file's permissions; ``git_mode`` is its mode in the tree."""
        return self._others.get(os.fsdecode(path), self._defaults[git_mode == "100755"])


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _modes(data: bytes) -> tuple[tuple[int, int], dict[str, int]]:
    try:
        found = json.loads(data)
        plain, executable = found["defaults"]
        return (plain, executable), found["others"]
    except (ValueError, KeyError, TypeError):
        return (0o644, 0o755), {}


def _changes(raw: bytes) -> list[Change]:
    """Return the changes that git tells in its raw format."""
    fields = raw.split(b"\0")
    found = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        if not head.startswith(b":"):
            continue
        old_mode, new_mode, old_id, new_id, _ = head[1:].decode().split(" ")
        found.append(Change(path, _mode(old_mode), _mode(new_mode), old_id, new_id))
    return found


def _mode(given: str) -> str:
    return "" if given == "000000" else given


def _readable(left_out: list[tuple[bytes, str]]) -> list[tuple[str, str]]:
    return [(os.fsdecode(name), why) for name, why in left_out]


def _is_real(root: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    """Tell whether a folder below ``root`` is one, all the way down and through no link."""
    found = known.get(folder)
    if found is None:
        found = _is_real(root, os.path.dirname(folder), known)
        if found:
            try:
                found = stat.S_ISDIR(os.lstat(root + b"/" + folder).st_mode)
            except OSError:
                found = False
        known[folder] = found
    return found


def _excluding(named: bytes) -> list[str]:
    return ["-c", f"core.excludesFile={os.fsdecode(named)}"] if named else []


def _is_reserved(name: bytes, *, link: bool) -> bool:
    """Tell whether git takes no file of this name: it could be read as part of a repository."""
    lower = name.lower()
    if b".git" not in lower:
        return False
    parts = lower.split(b"/")
    return b".git" in parts or (link and b".gitmodules" in parts)


def _changed_at(folder: bytes) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _stamp(path: str) -> str:
    try:
        seen = os.stat(path)
    except OSError:
        return "none"
    return f"{seen.st_mtime_ns} {seen.st_size} {seen.st_ino}"


def _quoted(path: str) -> str:
    """Return a path as ``alternates`` wants it: in quotes where it has a character that means something there."""
    if '"' in path or "\n" in path or path.startswith("#"):
        escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return path


def _read(path: str | bytes) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # a pipe of that name keeps nobody waiting
            return file.read() or b""
    except OSError:
        return b""


def _write(path: str, data: bytes) -> None:
    """Write a file of the store whole or not at all."""
    with open(os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    os.replace(f"{path}.new", path)
