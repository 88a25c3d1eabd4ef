"""Starts the git command line on our own store, or for a look at the person's repository.

Whatever the person's environment and configuration say about git (hooks, filters, file
system monitors, line endings, signatures) has no part in it; which files are ignored does.
"""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import BinaryIO

_IDENTITY = {
    b"GIT_AUTHOR_NAME": b"unspin",
    b"GIT_AUTHOR_EMAIL": b"unspin@localhost",
    b"GIT_COMMITTER_NAME": b"unspin",
    b"GIT_COMMITTER_EMAIL": b"unspin@localhost",
}

#: Reading an index can start programs, too.
_UNHOOKED = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")

_AT_ONCE = 65536  # bytes
_SILENCE = 600  # seconds in which nothing is heard of a git, and it does not end


class GitError(Exception):
    """Git did not do what was asked; the text is git's own, shortened."""

    for_people = True


def environment() -> dict[bytes, bytes]:
    """Return the environment without what points git elsewhere, in a language that can be read."""
    kept = {key: value for key, value in os.environb.items() if not key.startswith(b"GIT_")}
    return {**kept, b"LC_ALL": b"C", b"GIT_TERMINAL_PROMPT": b"0", b"GIT_OPTIONAL_LOCKS": b"0"}


class Process:
    """A git at work, with pipes to it. Lighter to start than ``subprocess``, which takes a hook long to load, too."""

    __slots__ = ("pid", "stderr", "stdin", "stdout")

    def __init__(self, arguments: Sequence[str | bytes], environment: Mapping[bytes, bytes], *, input: bool):
        """Start it; raise ``FileNotFoundError`` where there is no git."""
        there = [os.pipe(), os.pipe(), os.pipe()] if input else [os.pipe(), os.pipe()]
        (out, its_out), (fault, its_fault) = there[:2]
        actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
            (os.POSIX_SPAWN_DUP2, its_out, 1),
            (os.POSIX_SPAWN_DUP2, its_fault, 2),
        ]
        if input:
            actions.append((os.POSIX_SPAWN_DUP2, there[2][0], 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
        try:
            self.pid = os.posix_spawnp("git", ["git", *arguments], environment, file_actions=actions)
        except BaseException:
            for end in [each for pair in there for each in pair]:
                os.close(end)
            raise
        os.close(its_out)
        os.close(its_fault)
        self.stdout, self.stderr = os.fdopen(out, "rb"), os.fdopen(fault, "rb")
        self.stdin: BinaryIO | None = None
        if input:
            os.close(there[2][0])
            self.stdin = os.fdopen(there[2][1], "wb")

    def communicate(self, data: bytes | None = None) -> tuple[int, bytes, bytes]:
        """Give it ``data``, wait for its end and return its status and what it printed, complaints apart."""
        import select
        import signal

        out, fault = self.stdout.fileno(), self.stderr.fileno()
        printed: dict[int, list[bytes]] = {out: [], fault: []}
        waiting = select.poll()
        for each in printed:
            waiting.register(each, select.POLLIN)
        at, left = 0, len(printed)
        if self.stdin:
            os.set_blocking(self.stdin.fileno(), False)
            waiting.register(self.stdin, select.POLLOUT)
        try:
            while left:
                ready = waiting.poll(_SILENCE * 1000)
                if not ready:  # it waits for ever, for a writer of a pipe named .gitignore, say
                    os.kill(self.pid, signal.SIGKILL)
                for end, _ in ready:
                    if end in printed:
                        some = os.read(end, _AT_ONCE)
                        printed[end].append(some)
                        if not some:
                            waiting.unregister(end)
                            left -= 1
                        continue
                    assert self.stdin
                    try:
                        at += os.write(end, memoryview(data or b"")[at : at + _AT_ONCE])
                    except BrokenPipeError:  # it has ended; why, its status tells
                        at = len(data or b"")
                    if at >= len(data or b""):
                        waiting.unregister(end)
                        self.stdin.close()
        finally:
            status = self.wait()
        return status, b"".join(printed[out]), b"".join(printed[fault])

    def wait(self) -> int:
        """Close the pipes, wait for its end and return its status."""
        for each in (self.stdin, self.stdout, self.stderr):
            if each:
                with contextlib.suppress(BrokenPipeError):
                    each.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


class Git:
    """Runs git with ``git_folder`` as the repository and ``root`` as the work tree."""

    def __init__(self, git_folder: str, root: str, options: Sequence[str] = ()):
        self._options = ["-C", root, *options]
        self._root = root
        self._env = {
            **environment(),
            **_IDENTITY,
            b"GIT_DIR": os.fsencode(git_folder),
            b"GIT_WORK_TREE": os.fsencode(root),
            b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_CONFIG_GLOBAL": os.fsencode(os.devnull),
        }

    def start(self, *arguments: str | bytes, input: bool = False) -> Process:
        """Start git and return the process; its output is to be read."""
        if not os.path.isdir(self._root):
            raise GitError(f"the folder {self._root} is gone")
        try:
            return Process([*self._options, *arguments], self._env, input=input)
        except FileNotFoundError as error:
            raise GitError(f"git is not installed, or not on PATH ({error.strerror}): checkpoints need it") from None

    def run(self, *arguments: str | bytes, data: bytes | None = None) -> bytes:
        """Run git to its end and return what it printed; raise ``GitError`` where its status is not zero."""
        return finish(self.start(*arguments, input=data is not None), data)


def finish(process: Process, data: bytes | None = None) -> bytes:
    """Wait for a started git and return what it printed; raise ``GitError`` where its status is not zero."""
    status, output, fault = process.communicate(data)
    if status:
        raise GitError(" ".join(fault.decode("utf-8", "replace").split())[:500] or f"status {status}")
    return output


def ask(folder: str, *arguments: str) -> Process | None:
    """Start to ask the person's own repository something that changes nothing; ``answer`` gives the answer."""
    try:
        return Process([*_UNHOOKED, "-C", folder, *arguments], environment(), input=False)
    except OSError:
        return None


def answer(process: Process | None) -> str | None:
    """Return what was asked for; ``None`` where the repository does not answer."""
    if process is None:
        return None
    status, output, _ = process.communicate()
    return os.fsdecode(output).removesuffix("\n") if status == 0 else None


def look(folder: str, *arguments: str) -> str | None:
    """Ask the person's own repository something that changes nothing; ``None`` where it does not answer."""
    return answer(ask(folder, *arguments))


def version() -> str:
    """Return which git is used, empty where there is none."""
    return (look("/", "--version") or "").strip()
