"""Takes a checkpoint beside a hook: in a process of its own that the hook waits for only a little while.

Small and middling trees are done before the hook answers, so that the next edit comes
after. A first snapshot of a large one goes on when the hook has gone; whether the tree
was still that of the check is then told by the times of its files.
"""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PENDING = "pending"  # a folder of the checkpoints': one file for each process at work, named after it
_HIGHEST = 256  # file descriptors that a hook can have open


def beside(work: Callable[[], object], wait: float) -> None:
    """Do ``work`` in a process of its own; return when it is done, or after ``wait`` seconds.

    What goes wrong in it is recorded as a fault. Where no process can be made, nothing is
    done.
    """
    import select

    there, here = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(there)
        os.close(here)
        raise
    if child == 0:
        try:
            _leave(here)
            _noted(work)
        finally:
            os._exit(0)
    os.close(here)
    try:
        select.select([there], [], [], wait)  # readable once the other end is closed
    finally:
        os.close(there)


def _leave(keep: int) -> None:
    """Let go of the hook: its pipes, which the agent waits on, and its session."""
    os.setsid()
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    os.closerange(3, keep)
    os.closerange(keep + 1, _HIGHEST)


def _noted(work: Callable[[], object]) -> None:
    """Do the work while a note says so; record what goes wrong."""
    from unspin.paths import state_folder

    folder = os.path.join(state_folder(), "checkpoints", _PENDING)
    note = os.path.join(folder, str(os.getpid()))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(note, os.O_CREAT | os.O_WRONLY, 0o600))
        work()
    except BaseException as error:
        from unspin.store import record_fault

        record_fault(state_folder(), "checkpoint", f"no checkpoint was taken: {error}")
    finally:
        os.unlink(note)


def wait_for_others(seconds: float = 10.0) -> None:
    """Wait for checkpoints that hooks have asked for and that are still being taken."""
    import time

    from unspin.paths import state_folder

    folder = os.path.join(state_folder(), "checkpoints", _PENDING)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        names = os.listdir(folder) if os.path.isdir(folder) else []
        if not any(_at_work(folder, name) for name in names):
            return
        time.sleep(0.02)


def _at_work(folder: str, name: str) -> bool:
    try:
        os.kill(int(name), 0)
    except (ValueError, ProcessLookupError):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))  # it was killed
        return False
    except PermissionError:
        return True
    return True
