"""Starts the git command line on our own store, or for a look at the person's repository.

Whatever the person's environment and configuration say about git (hooks, filters, file
system monitors, line endings, signatures) has no part in it; which files are ignored does.
"""

from __future__ import annotations

import os
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_IDENTITY = {
    "GIT_AUTHOR_NAME": "unspin",
    "GIT_AUTHOR_EMAIL": "unspin@localhost",
    "GIT_COMMITTER_NAME": "unspin",
    "GIT_COMMITTER_EMAIL": "unspin@localhost",
}

#: Reading an index can start programs, too.
_UNHOOKED = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class GitError(Exception):
    """Git did not do what was asked; the text is git's own, shortened."""


def environment() -> dict[str, str]:
    """Return the environment without what points git elsewhere, in a language that can be read."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}


class Git:
    """Runs git with ``git_folder`` as the repository and ``root`` as the work tree."""

    def __init__(self, git_folder: str, root: str, options: Sequence[str] = ()):
        self._options = list(options)
        self._root = root
        self._env = {
            **environment(),
            **_IDENTITY,
            "GIT_DIR": git_folder,
            "GIT_WORK_TREE": root,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }

    def start(self, *arguments: str | bytes, input: bool = False) -> subprocess.Popen[bytes]:
        """Start git and return the process; its output is to be read."""
        try:
            return subprocess.Popen(
                ["git", *self._options, *arguments],
                stdin=subprocess.PIPE if input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._env,
                cwd=self._root,
            )
        except FileNotFoundError as error:
            raise GitError(_missing(error, self._root)) from None

    def run(self, *arguments: str | bytes, data: bytes | None = None) -> bytes:
        """Run git to its end and return what it printed; raise ``GitError`` where its status is not zero."""
        return finish(self.start(*arguments, input=data is not None), data)


def finish(process: subprocess.Popen[bytes], data: bytes | None = None) -> bytes:
    """Wait for a started git and return what it printed; raise ``GitError`` where its status is not zero."""
    output, fault = process.communicate(data)
    if process.returncode:
        raise GitError(" ".join(fault.decode("utf-8", "replace").split())[:500] or f"status {process.returncode}")
    return output


def look(folder: str, *arguments: str) -> str | None:
    """Ask the person's own repository something that changes nothing; ``None`` where it does not answer."""
    try:
        done = subprocess.run(
            ["git", *_UNHOOKED, "-C", folder, *arguments],
            capture_output=True,
            env=environment(),
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return None
    return os.fsdecode(done.stdout).removesuffix("\n") if done.returncode == 0 else None


def version() -> str:
    """Return which git is used, empty where there is none."""
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, env=environment(), check=False)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def _missing(error: FileNotFoundError, root: str) -> str:
    if not os.path.isdir(root):
        return f"the folder {root} is gone"
    return f"git is not installed, or not on PATH ({error.strerror}): checkpoints need it"
