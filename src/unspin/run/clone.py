"""The clone that workers work in: a folder for them, and a store of git objects in the state folder for us.

All that is concluded is concluded from the store and from what the files hold. The ``.git``
that workers see is made anew before each of them, out of a few files; what they do to it,
commits and rewritten history included, has no part in the result.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess

from unspin.checkpoint.git import environment
from unspin.run.ledger import marks, remove

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_IDENTITY = ("-c", "user.name=unspin", "-c", "user.email=unspin@localhost", "-c", "commit.gpgsign=false")
_QUIET = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "init.defaultBranch=main",
    "-c", "protocol.file.allow=always",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
_MOST_CHANGED = 100_000_000  # bytes that a turn may add or change: what is made of it is held in memory, and kept twice
_EXCLUDE = "# what workers leave that is no part of the work\n"


class RunError(Exception):
    """A run cannot begin or go on; the text says what was found and what to do."""

    for_people = True


def git(folder: str, *arguments: str, check: bool = True, more: Mapping[bytes, bytes] | None = None) -> str:
    """Run git in ``folder`` and return what it printed; raise ``RunError`` where it fails."""
    try:
        done = subprocess.run(
            ["git", *_QUIET, *_IDENTITY, *arguments],
            cwd=folder,
            env={**environment(), **(more or {})},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except OSError as error:
        raise RunError(f"git cannot be started in {folder}: {error}") from None
    if check and done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:400]
        raise RunError(f"git {arguments[0]} failed in {folder}: {said}")
    return os.fsdecode(done.stdout).rstrip("\n")


class Clone:
    """``tree`` is the folder of the workers, ``store`` the bare repository behind it, ``branch`` what is made."""

    def __init__(self, tree: str, store: str, branch: str):
        self.tree = tree
        self.store = store
        self.branch = branch
        self._clean = ""  # the commit that the folder is known to hold, as long as nobody worked in it
        self._head = ""  # where our branch stands, once it is known
        self._given: tuple[str, object] = ("", None)  # the .git that workers have: its commit, what it looked like
        self._told: dict[tuple[str, str], str] = {}

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git on the store, with the folder as its work tree."""
        more = {
            b"GIT_DIR": os.fsencode(self.store),
            b"GIT_WORK_TREE": os.fsencode(self.tree),
            b"GIT_INDEX_FILE": os.fsencode(os.path.join(self.store, "index")),
            b"GIT_OPTIONAL_LOCKS": b"1",  # ours to refresh
            b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_CONFIG_GLOBAL": os.devnull.encode(),  # no filter of the person's, such as Git LFS, has a part in it
        }
        return git(self.tree if os.path.isdir(self.tree) else self.store, *arguments, check=check, more=more)

    def fed(self, data: bytes, *arguments: str) -> bytes:
        """Run git on the store with something to read; return what it printed."""
        more = {b"GIT_DIR": os.fsencode(self.store)}
        done = subprocess.run(
            ["git", *_QUIET, *arguments],
            cwd=self.store, env={**environment(), **more}, input=data, capture_output=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RunError(f"git {arguments[0]} failed in {self.store}: {done.stderr.decode('utf-8', 'replace')[:400]}")
        return done.stdout

    # -- making ------------------------------------------------------------------------

    def make(self, repository: str, base: str) -> None:
        """Copy a repository's objects, and check ``base`` out into the folder."""
        remove(self.tree)
        os.makedirs(self.tree, mode=0o700)
        self._copy(repository, base)
        self.git("read-tree", "--reset", "-u", base)

    def make_again(self, repository: str, base: str, packs: Iterable[bytes], head: str) -> None:
        """Copy the objects once more and take in what was made since; the folder stays as it is."""
        self._copy(repository, base)
        for pack in packs:
            self.unpack(pack)
        self.git("update-ref", f"refs/heads/{self.branch}", head)
        self.git("read-tree", "--reset", head)
        self._head = head
        self.touched()

    def _copy(self, repository: str, base: str) -> None:
        remove(self.store)
        os.makedirs(os.path.dirname(self.store), mode=0o700, exist_ok=True)
        git(os.path.dirname(self.store), "clone", "-q", "--bare", repository, self.store)
        if self.git("cat-file", "-t", base, check=False) != "commit":
            # the tip of a detached work tree, where the copy went over the wire protocol
            self.git("fetch", "-q", "--no-tags", repository, base)
        self.git("config", "core.bare", "false")
        self.git("config", "core.untrackedCache", "true")
        self.git("config", "index.version", "4")
        self.git("remote", "remove", "origin", check=False)
        os.makedirs(os.path.join(self.store, "info"), exist_ok=True)
        with open(os.path.join(self.store, "info", "exclude"), "w", encoding="utf-8") as file:
            file.write(_EXCLUDE)
        self.git("update-ref", "--no-deref", f"refs/heads/{self.branch}", base)
        self.git("symbolic-ref", "HEAD", f"refs/heads/{self.branch}")

    # -- before a worker ---------------------------------------------------------------

    def reset(self, commit: str) -> None:
        """Bring the folder to a commit, with a ``.git`` as new; ignored files stay."""
        if self._clean == commit:
            self._new_git(commit)
            return
        if os.path.islink(self.tree) or not os.path.isdir(self.tree):
            remove(self.tree)
            os.makedirs(self.tree)
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.store, "index.lock"))  # ours, of a run that was killed
        try:
            self._bring(commit)
        except RunError:
            # a folder without rights, or worse: from nothing, what was ignored is lost
            remove(self.tree)
            os.makedirs(self.tree)
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.store, "index"))
            self._bring(commit)
        self._new_git(commit)
        self._clean = commit

    def _bring(self, commit: str) -> None:
        if self._head != commit:
            self.git("update-ref", f"refs/heads/{self.branch}", commit)
            self._head = commit
        elif not self.git("status", "--porcelain", "--ignore-submodules=none"):
            return
        self.git("reset", "-q", "--hard", commit)
        self.git("clean", "-q", "-ffd")

    def _new_git(self, commit: str) -> None:
        """Make the ``.git`` that workers see: a few files, the objects borrowed from the store."""
        folder = os.path.join(self.tree, ".git")
        if self._given == (commit, _looks(folder)):
            return
        remove(folder)
        os.makedirs(os.path.join(folder, "objects", "info"))
        os.makedirs(os.path.join(folder, "refs", "heads"))
        branch = os.path.join(folder, "refs", "heads", *self.branch.split("/"))
        os.makedirs(os.path.dirname(branch), exist_ok=True)
        for path, text in (
            (os.path.join(folder, "HEAD"), f"ref: refs/heads/{self.branch}\n"),
            (os.path.join(folder, "config"), _config(self.store)),
            (os.path.join(folder, "objects", "info", "alternates"), os.path.join(self.store, "objects") + "\n"),
            (branch, f"{commit}\n"),
        ):
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
        for name in ("index", "shallow"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(os.path.join(self.store, name), os.path.join(folder, name))
        self._given = (commit, _looks(folder))

    def marks(self) -> list[object]:
        """Return what tells whether somebody else was at the store."""
        found: list[object] = [marks(os.path.join(self.store, name)) for name in ("", "objects", "refs")]
        for folder in (self.store, os.path.join(self.store, "info")):
            with contextlib.suppress(OSError):
                files = [each for each in os.scandir(folder) if each.is_file(follow_symlinks=False)]
                found += sorted((each.path, each.stat().st_size, each.stat().st_mtime_ns) for each in files)
        return found

    def touched(self) -> None:
        """Somebody worked in the folder: what it holds is not known any more."""
        self._clean = ""

    # -- after an author ---------------------------------------------------------------

    def commit(self, message: str, base: str) -> str:
        """Commit what the folder holds on top of ``base``, as one commit; return it, ``base`` where nothing changed."""
        self.touched()
        if self._head != base:
            self.git("update-ref", f"refs/heads/{self.branch}", base)
            self._head = base
        if os.path.islink(self.tree) or not os.path.isdir(self.tree):
            raise RunError("it removed its folder")
        try:
            self.git("add", "-A")
        except RunError:
            inside = self._repository_inside()  # one without a commit, which git does not take
            if inside:
                raise RunError(f"it left a repository of its own in {inside}") from None
            raise
        changed = self.git("diff-index", "--cached", "--raw", "--no-renames", "-z", base)
        parts = iter(changed.split("\0"))
        sizes = []
        for facts, name in zip(parts, parts, strict=False):
            if facts.split()[1] == "160000":
                raise RunError(f"it left a repository of its own in {name}")
            with contextlib.suppress(OSError):
                sizes.append((os.lstat(os.path.join(self.tree, name)).st_size, name))
        if sum(size for size, _ in sizes) > _MOST_CHANGED:
            size, name = max(sizes)
            most = f"{_MOST_CHANGED // 1_000_000} MB of new content; the most in {name} ({size // 1_000_000} MB)"
            raise RunError(f"it left more than {most}")
        commit = base
        if changed:
            tree = self.git("write-tree")
            commit = self.git("commit-tree", tree, "-p", base, "-m", message)
            self.git("update-ref", f"refs/heads/{self.branch}", commit)
        self._clean = self._head = commit
        return commit

    def _repository_inside(self) -> str:
        for place, folders, _ in os.walk(self.tree):
            if ".git" in folders and place != self.tree:
                return os.path.relpath(place, self.tree)
        return ""

    def same(self, old: str, new: str) -> bool:
        """Tell whether two commits hold the same files."""
        return old == new or self.git("rev-parse", f"{old}^{{tree}}") == self.git("rev-parse", f"{new}^{{tree}}")

    def changes(self, old: str, new: str) -> str:
        """Return what changed between two commits, file by file."""
        if (old, new) not in self._told:
            self._told = {(old, new): self.git("diff", "--stat=100", "--no-ext-diff", old, new, check=False)}
        return self._told[old, new]

    # -- the end, and other machines ---------------------------------------------------

    def pack(self, old: str, new: str) -> bytes:
        """Return the objects of the commits between two as one pack that can be carried elsewhere."""
        asked = f"{new}\n^{old}\n".encode()
        return self.fed(asked, "pack-objects", "-q", "--thin", "--revs", "--stdout")

    def unpack(self, data: bytes) -> None:
        """Take in what ``pack`` made."""
        self.fed(data, "unpack-objects", "-q")

    def deliver(self, repository: str) -> None:
        """Bring the branch into the person's repository; nothing else in it changes."""
        ref = f"refs/heads/{self.branch}"
        arguments = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        try:
            git(repository, "fetch", "-q", *arguments, self.store, f"{ref}:{ref}")
        except RunError as error:
            if not git(repository, "rev-parse", "--verify", "-q", ref, check=False):
                raise
            raise RunError(
                f"{repository}: the branch {self.branch} is there already, and not this run's. "
                "Rename or remove it, then resume the run."
            ) from error


def _looks(folder: str) -> list[tuple[object, ...]]:
    """Return what everything in a folder looks like: another list where anything was written to."""
    found: list[tuple[object, ...]] = []
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(place, name)
            with contextlib.suppress(OSError):
                seen = os.lstat(path)
                found.append((path, seen.st_mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns))
    return found


def _config(store: str) -> str:
    kind = "\tobjectformat = sha256\n" if _is_sha256(store) else ""
    version = 1 if kind else 0
    text = f"[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n"
    return text + (f"[extensions]\n{kind}" if kind else "") + "[gc]\n\tauto = 0\n"


def _is_sha256(store: str) -> bool:
    with contextlib.suppress(OSError), open(os.path.join(store, "config"), encoding="utf-8", errors="replace") as file:
        return "sha256" in file.read().lower()
    return False


# -- the person's repository ------------------------------------------------------------


def demand(repository: str, base: str) -> None:
    """Raise ``RunError`` where a repository does not have the commit that a run began from."""
    if git(repository, "cat-file", "-t", base, check=False) != "commit":
        raise RunError(f"{repository} does not have the commit {base[:12]} that the run began from")


def unfit(repository: str, base: str) -> str:
    """Return why no run can work on this repository, empty where it can."""
    if git(repository, "for-each-ref", "refs/heads/unspin", "--format=%(refname)", check=False) == "refs/heads/unspin":
        return 'it has a branch "unspin", beside which git can make no branch unspin/ID. Rename it (git branch -m).'
    if git(repository, "config", "--get-regexp", r"^remote\..*\.promisor$", check=False):
        return (
            "it is a partial clone, whose missing files would have to be fetched while workers run. "
            "Fetch them first (git fetch --refetch --no-filter, then unset remote.origin.promisor), or start from "
            "a whole clone."
        )
    if git(repository, "ls-tree", "--name-only", base, ".gitmodules", check=False):
        rows = git(repository, "ls-tree", "-r", base, check=False).splitlines()
        modules = [row.partition("\t")[2] for row in rows if row.startswith("160000")]
        there = [each for each in modules if os.path.exists(os.path.join(repository, each, ".git"))]
        if there:
            return (
                f"it has submodules ({', '.join(there[:3])}), which a run cannot take along. Start it from a clone "
                "without them (git clone --no-recurse-submodules) if the work does not need them."
            )
    return ""


def left_behind(repository: str, base: str) -> list[str]:
    """Return what of the person's checkout is not taken along, in plain words."""
    rows = git(repository, "status", "--porcelain", check=False).splitlines()
    changed = sum(not row.startswith("??") for row in rows)
    told = []
    if changed:
        told.append(f"uncommitted changes of {changed} {'file' if changed == 1 else 'files'}")
    if len(rows) > changed:
        told.append(f"untracked files ({len(rows) - changed})")
    attributes = git(repository, "show", f"{base}:.gitattributes", check=False)
    if "filter=lfs" in attributes:
        told.append("content that Git LFS holds: its files are pointers in the run's clone")
    return told


def look(repository: str) -> dict[str, str]:
    """Return what can be seen of the person's checkout: to be compared after workers were at work."""
    rows = git(repository, "status", "--porcelain=v2", "--branch", check=False).splitlines()
    head = [row for row in rows if row.startswith("# branch.")]
    found = {"HEAD": " ".join(row.partition("# branch.")[2] for row in head if "oid" in row or "head" in row)}
    for row in rows:
        if row.startswith(("1 ", "u ", "2 ", "? ")):
            depth = {"1": 8, "2": 9, "u": 10, "?": 1}[row[0]]
            path = row.split(" ", depth)[depth]
            found[path] = f"{row} {_stamp(os.path.join(repository, path))}"
    refs = git(repository, "for-each-ref", "--format=%(objectname) %(refname)", check=False)
    found.update({name: sha for sha, _, name in (row.partition(" ") for row in refs.splitlines())})
    return found


def _stamp(path: str) -> str:
    try:
        seen = os.lstat(path)
    except OSError:
        return ""
    return f"{seen.st_mtime_ns} {seen.st_size}"
