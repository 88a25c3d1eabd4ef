"""Starts one worker: a process of its own, with a time limit, named variables, and an output that is kept.

When it is over, so is everything that it started: a keeper (``keeper.py``) stands between, and
holds all that is the worker's below itself. No other process of whoever calls this is touched.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: In the environment of a worker and of all that it starts: whose they are.
MARK = "UNSPIN_WORKER"

_PATIENCE = 2.0  # seconds between asking a worker to end and ending it
_GRACE = 8.0  # seconds that ending everything may take
_REST = 4_000_000  # bytes that are read after its end
_KEEPER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "keeper.py")


class Outcome:
    """What became of a worker. ``status`` is its exit status, ``None`` where it could not be started or was ended."""

    __slots__ = ("output", "problem", "seconds", "startable", "status", "truncated")

    def __init__(
        self,
        status: int | None,
        output: bytes,
        seconds: float,
        *,
        problem: str = "",
        truncated: int = 0,
        startable: bool = True,
    ):
        self.status = status
        self.output = output
        self.seconds = seconds
        self.problem = problem
        self.truncated = truncated  # bytes that are left out of the middle
        self.startable = startable

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.problem


def run(
    command: Sequence[str] | str,
    prompt: bytes,
    *,
    folder: str,
    env: Mapping[str, str],
    limit: float,
    keep: int,
    mark: str = "",
) -> Outcome:
    """Run a worker to its end, or to its limit (seconds); keep ``keep`` bytes of what it prints.

    ``command`` as a text is a shell line. ``mark`` begins the mark in its environment by which ``end_marked``
    finds what is left of it.
    """
    began = time.monotonic()
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    name = command if isinstance(command, str) else words[0]
    token = f"{mark}{secrets.token_hex(8)}"
    listens, control = os.pipe()
    report, reports = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _KEEPER, str(listens), str(reports), str(_PATIENCE), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**env, MARK: token},
            start_new_session=True,
            pass_fds=(listens, reports),
        )
    except (OSError, ValueError) as error:
        for each in (listens, control, report, reports):
            os.close(each)
        return Outcome(None, b"", 0.0, problem=f"{name} cannot be started: {error}", startable=False)
    os.close(listens)
    os.close(reports)
    talk = _Talk(process, prompt, keep, control, report)
    try:
        late = talk.until(began + limit)
    finally:
        talk.close()
        if talk.status is None:  # the keeper itself was ended: what it held may be left
            end_marked(token)
    seconds = time.monotonic() - began
    if talk.fault:
        return Outcome(None, b"", seconds, problem=f"{name} cannot be started: {talk.fault}", startable=False)
    problem = f"ended after its time limit of {limit:.0f} s" if late else ""
    if not late and talk.status is None:
        problem = "it ended the process that watches it"
    kept = talk.kept
    return Outcome(None if problem else talk.status, kept.data(), seconds, problem=problem, truncated=kept.lost)


class _Talk:
    """What goes to and fro while a worker runs."""

    def __init__(self, process: subprocess.Popen[bytes], prompt: bytes, keep: int, control: int, report: int):
        assert process.stdin and process.stdout
        self.process = process
        self.kept = _Kept(keep)
        self.status: int | None = None
        self.fault = ""
        self._stdin, self._stdout = process.stdin, process.stdout
        self._left = memoryview(prompt)
        self._control, self._report = control, report
        self._said = b""
        self._selector = selectors.DefaultSelector()
        for fd in (process.stdin.fileno(), process.stdout.fileno(), report):
            os.set_blocking(fd, False)
        self._selector.register(process.stdout, selectors.EVENT_READ, self._hear)
        self._selector.register(process.stdin, selectors.EVENT_WRITE, self._tell)
        self._selector.register(report, selectors.EVENT_READ, self._end_heard)
        self._over = False

    def until(self, end: float) -> bool:
        """Write the prompt, read what comes until it is over; return whether the time limit passed."""
        late = not self._go(end)
        if late:
            with contextlib.suppress(OSError):
                os.write(self._control, b"e")
            self._go(time.monotonic() + _PATIENCE + _GRACE)
        rest = 0
        with contextlib.suppress(OSError):
            while rest < _REST and (data := os.read(self._stdout.fileno(), 65536)):
                self.kept.add(data)
                rest += len(data)
        return late

    def _go(self, end: float) -> bool:
        while not self._over:
            now = time.monotonic()
            if now > end:
                return False
            for key, _ in self._selector.select(max(0.0, min(0.5, end - now))):
                key.data()
        return True

    def _hear(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            data = os.read(self._stdout.fileno(), 65536)
            if data:
                self.kept.add(data)
            else:
                self._selector.unregister(self._stdout)

    def _tell(self) -> None:
        try:
            self._left = self._left[os.write(self._stdin.fileno(), self._left[:65536]) :] if self._left else self._left
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # it does not read its prompt
            self._left = self._left[:0]
        if not self._left:
            self._selector.unregister(self._stdin)
            with contextlib.suppress(OSError):
                self._stdin.close()

    def _end_heard(self) -> None:
        with contextlib.suppress(BlockingIOError, InterruptedError):
            data = os.read(self._report, 4096)
            if data:
                self._said += data
                return
            self._over = True
            fault, _, status = self._said.decode("utf-8", "replace").rpartition("\n")
            self.fault = fault.removeprefix("E")
            with contextlib.suppress(ValueError):
                self.status = int(status)

    def close(self) -> None:
        """Let go of everything: with its pipe closed the keeper ends what is left."""
        self._selector.close()
        os.close(self._control)
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                stream.close()
        try:
            self.process.wait(_GRACE if self._over else 1.0)
        except subprocess.TimeoutExpired:  # stopped by its worker, perhaps
            self.process.kill()
            self.process.wait()
            self.status = None
        os.close(self._report)


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


# -- what is left of workers whose run was killed ---------------------------------------


def end_marked(mark: str) -> int:
    """End the processes in whose environment the worker's mark begins with ``mark``; return how many (Linux)."""
    needle = f"{MARK}={mark}".encode()
    ended: set[int] = set()
    until = time.monotonic() + _GRACE
    while time.monotonic() < until:
        found = _marked(needle)
        if not found:
            break
        for each in found:
            with contextlib.suppress(OSError):
                os.kill(each, signal.SIGKILL)
        ended.update(found)
        time.sleep(0.01)
    return len(ended)


def _marked(needle: bytes) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:
                    values = file.read()
                if values.startswith(needle) or b"\0" + needle in values:
                    found.append(int(name))
    return found
