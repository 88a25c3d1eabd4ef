"""Which work tree a folder belongs to, and which are refused. Reads a few small files, starts nothing."""

from __future__ import annotations

import os
import re

from unspin.facts.digest import digest_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")


class Refused(Exception):
    """No checkpoints are kept here; the text says why, and what to do."""

    for_people = True


class Place:
    """A work tree: its top folder, its repository (empty without git), and our store for it.

    ``git_folder`` holds HEAD and the index of this work tree, ``common_folder`` what all
    work trees of the repository share.
    """

    __slots__ = ("common_folder", "git_folder", "root", "store")

    def __init__(self, root: str, state_folder: str, git_folder: str = "", common_folder: str = ""):
        self.root = root
        self.git_folder = git_folder
        self.common_folder = common_folder or git_folder
        self.store = os.path.join(state_folder, "checkpoints", digest_bytes(os.fsencode(root)))


def find(folder: str, state_folder: str) -> Place:
    """Return the work tree that ``folder`` lies in: of its git repository, else the folder itself.

    Raises ``Refused`` for the root of the file system, the home folder and what holds it, and for a
    folder that is not there or is inside a repository's own files.
    """
    start = os.path.realpath(folder)
    if not os.path.isdir(start):
        raise Refused(f"{folder} is no folder: there is nothing to keep checkpoints of")
    for each in _upwards(start):
        git_folder = _git_folder(each)
        if git_folder:
            place = Place(each, state_folder, git_folder, _common_folder(git_folder))
            _refuse_home(place.root)
            return place
        if _is_bare(each):
            raise Refused(f"{each} is a git repository without a work tree: start in a work tree of it")
    _refuse_home(start)
    return Place(start, state_folder)


def head(place: Place) -> str:
    """Return the commit that is checked out where a file of its own says it; else it is empty, and git can tell."""
    line = _line(os.path.join(place.git_folder, "HEAD"))
    if line.startswith("ref: refs/heads/"):
        line = _line(os.path.join(place.common_folder, line.removeprefix("ref: ")))
    return line if _COMMIT.fullmatch(line) else ""


def _refuse_home(root: str) -> None:
    home = os.path.realpath(os.path.expanduser("~"))
    for each in _upwards(home):
        if root == each:
            what = "the home folder" if root == home else "a folder that holds the home folder"
            raise Refused(
                f"{root} is {what if root != '/' else 'the root of the file system'}: checkpoints of all that "
                "is in it would be too large. Start the agent in a project's own folder"
            )


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above


def _git_folder(folder: str) -> str:
    """Return the repository that ``folder`` is the work tree of, empty if it is none."""
    path = os.path.join(folder, ".git")
    if os.path.isdir(path):
        return path if os.path.exists(os.path.join(path, "HEAD")) else ""
    target = _line(path)
    if not target.startswith("gitdir: "):
        return ""
    target = os.path.normpath(os.path.join(folder, target.removeprefix("gitdir: ")))
    return target if os.path.isdir(target) else ""


def _common_folder(git_folder: str) -> str:
    named = _line(os.path.join(git_folder, "commondir"))
    return os.path.normpath(os.path.join(git_folder, named)) if named else git_folder


def _is_bare(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))


def _line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(10_000).rstrip("\n")
    except (OSError, ValueError):
        return ""
