"""A run's files: the workspace (a git repository, one commit a turn), a clone to work in, and what is handed over.

The workspace holds all that a person or the next turn needs. Which commit of it is the
true one is written down in the state folder, away from workers: what a worker changes in
the workspace is noticed after its turn and put back.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time

from unspin.checkpoint.git import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_IDENTITY = ("-c", "user.name=unspin", "-c", "user.email=unspin@localhost", "-c", "commit.gpgsign=false")
_QUIET = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "init.defaultBranch=main",
)


class RunError(Exception):
    """A run cannot begin or go on; the text says what was found and what to do."""

    for_people = True


def git(folder: str, *arguments: str, check: bool = True) -> str:
    """Run git in ``folder`` and return what it printed; raise ``RunError`` where it fails."""
    done = subprocess.run(
        ["git", *_QUIET, *_IDENTITY, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if check and done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:400]
        raise RunError(f"git {arguments[0]} failed in {folder}: {said}")
    return os.fsdecode(done.stdout).rstrip("\n")


def write(path: str, text: str) -> None:
    """Write a file whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)


def _dumped(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def data_folder() -> str:
    """Return where runs lie: ``$XDG_DATA_HOME/unspin/runs``."""
    base = os.environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "unspin", "runs")


class Files:
    """The files of one run.

    ``home`` is its folder, with ``workspace`` and the clone ``tree`` in it; ``kept`` is the file in the
    state folder that says what is true.
    """

    def __init__(self, id: str, state_folder: str):
        self.id = id
        self.home = os.path.join(data_folder(), id)
        self.workspace = os.path.join(self.home, "workspace")
        self.tree = os.path.join(self.home, "tree")
        self.hand = os.path.join(self.home, "hand")
        self.kept = os.path.join(state_folder, "runs", f"{id}.json")

    # -- making ------------------------------------------------------------------------

    def make(self, repository: str, ticket: str, branch: str) -> None:
        """Make the workspace and a clone of the repository, on a branch of its own from what is checked out there."""
        if os.path.exists(self.home):
            raise RunError(f"a run {self.id} is there already: {self.home}")
        os.makedirs(self.workspace)
        git(self.workspace, "init", "-q")
        git(self.home, "clone", "-q", "--no-hardlinks", "--no-tags", repository, self.tree)
        git(self.tree, "checkout", "-q", "-b", branch)
        write(os.path.join(self.workspace, "ticket.md"), ticket)
        write(os.path.join(self.workspace, "design.md"), "")
        write(os.path.join(self.workspace, "decisions.md"), "# Decisions\n")
        write(os.path.join(self.workspace, "events.jsonl"), "")

    # -- what is true ------------------------------------------------------------------

    def keep(self, record: dict[str, Any]) -> None:
        """Write down what is true, in the state folder."""
        os.makedirs(os.path.dirname(self.kept), mode=0o700, exist_ok=True)
        write(self.kept, _dumped(record))

    def load(self) -> dict[str, Any]:
        """Return the run's state: from the state folder, on another machine from the workspace."""
        for path in (self.kept, os.path.join(self.workspace, "run.json")):
            try:
                with open(path, encoding="utf-8") as file:
                    record: dict[str, Any] = json.load(file)
                if path != self.kept:  # another machine: the newest commit is all there is
                    record["commit"] = git(self.workspace, "rev-parse", "HEAD")
                return record
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise RunError(f"{path} cannot be read ({error})") from None
        raise RunError(f"there is no run {self.id}: unspin runs lists them")

    def commit(self, record: dict[str, Any], message: str) -> str:
        """Write the run's state into the workspace and commit it; return the commit."""
        write(os.path.join(self.workspace, "run.json"), _dumped(record))
        git(self.workspace, "add", "-A")
        if git(self.workspace, "status", "--porcelain"):
            git(self.workspace, "commit", "-q", "-m", message)
        return git(self.workspace, "rev-parse", "HEAD")

    def event(self, kind: str, **fields: Any) -> None:
        """Add one structured event to the log of the run."""
        line = json.dumps({"event": kind, "time": round(time.time(), 3), **fields}, ensure_ascii=False)
        with open(os.path.join(self.workspace, "events.jsonl"), "a", encoding="utf-8", errors="replace") as file:
            file.write(line + "\n")

    def events(self) -> list[dict[str, Any]]:
        """Return the log; a last line that was cut off by a crash is left out."""
        found = []
        with contextlib.suppress(OSError), open(os.path.join(self.workspace, "events.jsonl"), encoding="utf-8") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found

    def mend_workspace(self, commit: str) -> list[str]:
        """Put the workspace back to ``commit`` where a worker changed it; return what it had changed."""
        changed = git(self.workspace, "status", "--porcelain", "--untracked-files=all", check=False).splitlines()
        moved = git(self.workspace, "rev-parse", "HEAD", check=False) != commit
        if changed or moved:
            git(self.workspace, "reset", "-q", "--hard", commit)
            git(self.workspace, "clean", "-q", "-ffdx")
        return [line[3:] for line in changed] + (["HEAD"] if moved else [])

    # -- the clone ---------------------------------------------------------------------

    def reset_tree(self, commit: str, branch: str) -> None:
        """Bring the clone to a commit of its branch: what a turn that was cut off left is gone."""
        for name in ("index.lock", "HEAD.lock"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.tree, ".git", name))
        git(self.tree, "checkout", "-q", "-f", "-B", branch, commit)
        git(self.tree, "clean", "-q", "-ffd")

    def commit_tree(self, message: str, branch: str, base: str) -> str:
        """Commit what a worker left in the clone on top of ``base``, as one commit; return the new head."""
        git(self.tree, "symbolic-ref", "HEAD", f"refs/heads/{branch}")
        git(self.tree, "add", "-A")
        tree = git(self.tree, "write-tree")
        if tree == git(self.tree, "rev-parse", f"{base}^{{tree}}"):
            git(self.tree, "update-ref", f"refs/heads/{branch}", base)
            return base
        commit = git(self.tree, "commit-tree", tree, "-p", base, "-m", message)
        git(self.tree, "update-ref", f"refs/heads/{branch}", commit)
        return commit

    def diff(self, old: str, new: str) -> str:
        """Return what changed between two commits of the clone, file by file."""
        return git(self.tree, "diff", "--stat=100", old, new, check=False)

    def deliver(self, repository: str, branch: str) -> None:
        """Bring the branch into the person's repository; nothing else in it changes."""
        git(
            repository,
            "fetch",
            "-q",
            "--no-tags",
            "--no-write-fetch-head",
            self.tree,
            f"+refs/heads/{branch}:refs/heads/{branch}",
        )

    # -- handing over ------------------------------------------------------------------

    def clear_hand(self) -> None:
        """Empty the folder through which workers hand over their files."""
        shutil.rmtree(self.hand, ignore_errors=True)
        os.makedirs(self.hand)

    def turn_folder(self, turn: int, stage: str) -> str:
        """Return the folder of a turn in the workspace."""
        path = os.path.join(self.workspace, "turns", f"{turn:03}-{stage}")
        os.makedirs(path, exist_ok=True)
        return path
