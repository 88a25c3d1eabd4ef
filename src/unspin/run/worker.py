"""Starts one worker: a process of its own, with a time limit, named variables, and an output that is kept.

When it is over, so is everything that it started: its process group, and what left that
group, as far as the system lets us see it. Linux hands us orphans (a "child subreaper").
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATIENCE = 2.0  # seconds between asking a process to end and ending it
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


class Outcome:
    """What became of a worker. ``status`` is its exit status, ``None`` where it could not be started or was ended."""

    __slots__ = ("output", "problem", "seconds", "status", "truncated")

    def __init__(self, status: int | None, output: bytes, seconds: float, *, problem: str = "", truncated: int = 0):
        self.status = status
        self.output = output
        self.seconds = seconds
        self.problem = problem
        self.truncated = truncated  # bytes that are left out of the middle

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.problem


def run(
    command: Sequence[str] | str, prompt: bytes, *, folder: str, env: Mapping[str, str], limit: float, keep: int
) -> Outcome:
    """Run a worker to its end, or to its limit (seconds); keep ``keep`` bytes of what it prints.

    ``command`` as a text is a shell line.
    """
    _adopt_orphans()
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            command,
            shell=isinstance(command, str),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        name = command if isinstance(command, str) else command[0]
        return Outcome(None, b"", 0.0, problem=f"{name} cannot be started: {error.strerror or error}")
    kept = _Kept(keep)
    try:
        late = _converse(process, prompt, kept, began + limit)
    finally:
        _end(process)
    seconds = time.monotonic() - began
    problem = f"ended after its time limit of {limit:.0f} s" if late else ""
    status = None if late else process.returncode
    return Outcome(status, kept.data(), seconds, problem=problem, truncated=kept.lost)


def _converse(process: subprocess.Popen[bytes], prompt: bytes, kept: _Kept, end: float) -> bool:
    """Write the prompt, read what comes; return whether the time limit passed."""
    assert process.stdin and process.stdout
    os.set_blocking(process.stdin.fileno(), False)
    os.set_blocking(process.stdout.fileno(), False)
    left = memoryview(prompt)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            now = time.monotonic()
            if now > end:
                return True
            for key, _ in selector.select(min(0.2, end - now)):
                if key.fileobj is process.stdin:
                    try:
                        left = left[os.write(key.fd, left[:65536]) :] if left else left
                    except (BlockingIOError, InterruptedError):
                        continue
                    except OSError:  # it does not read its prompt
                        left = left[:0]
                    if not left:
                        selector.unregister(process.stdin)
                        with contextlib.suppress(OSError):
                            process.stdin.close()
                else:
                    data = os.read(key.fd, 65536)
                    if data:
                        kept.add(data)
                    else:
                        selector.unregister(process.stdout)
            if process.poll() is not None:  # what it started may hold the pipe open for ever
                with contextlib.suppress(BlockingIOError):
                    while data := os.read(process.stdout.fileno(), 65536):
                        kept.add(data)
                return False
    while process.poll() is None:
        if time.monotonic() > end:
            return True
        time.sleep(0.02)
    return False


class _Kept:
    """The beginning and the end of an output, whatever its size."""

    def __init__(self, size: int):
        self._half = max(1, size // 2)
        self._head = bytearray()
        self._tail = bytearray()
        self.lost = 0

    def add(self, data: bytes) -> None:
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        over = len(self._tail) - self._half
        if over > self._half:  # now and then: each time would move it all
            self.lost += over
            del self._tail[:over]

    def data(self) -> bytes:
        over = len(self._tail) - self._half
        if over > 0:
            self.lost += over
            del self._tail[:over]
        gap = f"\n[... {self.lost:,} bytes left out ...]\n".encode() if self.lost else b""
        return bytes(self._head) + gap + bytes(self._tail)


# -- ending ----------------------------------------------------------------------------


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all that it started."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        if process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)
        if process.poll() is not None and not _orphans():
            break
    for stream in (process.stdin, process.stdout):
        if stream:
            with contextlib.suppress(OSError):
                stream.close()
    _end_orphans()


def _adopt_orphans() -> None:
    """Ask the system to hand us what workers leave behind; where it does not, their group is all that is ended."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def _orphans() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(each) for each in file.read().split()]
    except (OSError, ValueError):
        return []


def _end_orphans() -> None:
    """End what was handed to us, and what that hands to us in turn."""
    for _ in range(50):
        found = _orphans()
        if not found:
            return
        for each in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        for each in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(each, 0)
