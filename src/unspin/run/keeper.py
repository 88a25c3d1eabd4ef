"""Stands between a run and one worker, as a process of its own: when it is over, so is all that the worker started.

Started as a script, with the standard library alone. On Linux what a worker leaves behind is
handed to this process and to nobody else, whatever group or session it moved to; so
everything below this process is the worker's, and is ended with it: when the worker ends,
when the run asks for it, and when the run is gone (its end of a pipe is closed).

    keeper.py CONTROL REPORT PATIENCE COMMAND...
"""

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SUBREAPER, _DEATH_SIGNAL = 36, 1  # PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG
_LONGEST = 5.0  # seconds that ending everything may take


def main(arguments: list[str]) -> None:
    """Start the command, wait for its end or the order to end it, end what is left, report how it ended."""
    control, report = int(arguments[0]), int(arguments[1])
    patience, command = float(arguments[2]), arguments[3:]
    for each in (control, report):
        os.set_inheritable(each, False)
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    prctl = _prctl()
    prctl(_SUBREAPER, 1)
    waked, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    keeper = os.getpid()
    worker = os.fork()
    if not worker:
        _become(command, report, keeper, prctl)
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):  # else its output would not end with it
        os.dup2(nothing, each)
    status = None
    while status is None:
        ready, _, _ = select.select([control, waked], [], [], 1.0)
        if waked in ready:
            os.read(waked, 4096)
        status = _reaped(worker)
        if status is None and control in ready:
            if os.read(control, 1):  # asked: it may tidy up
                status = _asked_to_end(worker, patience)
            break
    _end_all(worker)
    _try(os.write, report, b"" if status is None else b"%d" % status)


def _become(command: list[str], report: int, keeper: int, prctl: "Callable[[int, int], object]") -> None:
    """Turn the forked child into the worker; tell why where that fails."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(sign, signal.SIG_DFL)
        prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() == keeper:
            os.execvp(command[0], command)
    except OSError as error:
        os.write(report, f"E{error.strerror or error}\n".encode())
    finally:
        os._exit(127)


def _prctl() -> "Callable[[int, int], object]":
    if not sys.platform.startswith("linux"):
        return lambda *_: None
    try:
        import ctypes

        function = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda *_: None
    return lambda what, value: function(what, int(value), 0, 0, 0)


def _reaped(worker: int) -> "int | None":
    """Take in what has ended; return the worker's exit status if it is among it."""
    status = None
    try:
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return status
            if pid == worker:
                status = os.waitstatus_to_exitcode(ended)
    except ChildProcessError:
        return status


def _asked_to_end(worker: int, patience: float) -> "int | None":
    """Ask the worker to end and give it a moment."""
    _try(os.killpg, worker, signal.SIGTERM)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        status = _reaped(worker)
        if status is not None:
            return status
        time.sleep(0.01)
    return None


def _end_all(worker: int) -> None:
    """End everything below this process: what loses its parent becomes a child of ours, so this comes to an end."""
    until = time.monotonic() + _LONGEST
    _try(os.killpg, worker, signal.SIGKILL)
    while time.monotonic() < until:
        children = _children()
        for each in children:
            _try(os.kill, each, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _children() -> list[int]:
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", encoding="ascii") as file:
            return [int(each) for each in file.read().split()]
    except (OSError, ValueError):
        pass
    found = []
    for name in _try(os.listdir, "/proc") or []:  # a system that does not tell children
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == me:
                    found.append(int(name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def _try(function: "Callable[..., Any]", *arguments: object) -> "Any":
    """Call a function; what it acts on may be gone."""
    try:
        return function(*arguments)
    except OSError:
        return None


if __name__ == "__main__":
    main(sys.argv[1:])
