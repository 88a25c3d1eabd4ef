"""The hook's process: one payload on stdin, one answer, and never in the agent's way.

Whatever goes wrong in here, nothing is said to the agent, the exit status is 0, and the
fault is recorded for ``unspin doctor``. Exit status 2 leaves this process on a decided
block and in no other way.
"""

from __future__ import annotations

import os
import sys


def main(agent: str = "claude-code") -> None:
    """Answer the payload on stdin as ``agent`` and end the process."""
    status = 0
    try:
        out = _silence_stdout()
        status = _answer(agent, out)
    except BaseException as error:  # no fault of ours may reach the agent, not even an interrupt
        status = 0
        _record(error)
    os._exit(status)


def _silence_stdout() -> int:
    """Keep stdout for our answer alone: a stray line on it voids the JSON. Return where to write."""
    out = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)
    return out


def _answer(agent: str, out: int) -> int:
    import json

    from unspin import agents, live

    data = sys.stdin.buffer.read()
    if agent not in agents.AGENTS:
        raise ValueError(f"unknown agent {agent!r}; known: {', '.join(agents.AGENTS)}")
    payload = json.loads(data) if data.strip() else {}
    if not isinstance(payload, dict):
        raise ValueError(f"the payload is {type(payload).__name__}, expected one JSON object")
    answer = live.handle(agent, payload)
    if answer.stdout:
        _write(out, answer.stdout)
    if answer.stderr:
        _write(2, answer.stderr)
    return answer.status


def _write(to: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(to, data) :]


def _record(error: BaseException) -> None:
    """Record a fault where ``unspin doctor`` shows it; if that fails too, leave it."""
    try:
        import traceback

        from unspin.paths import state_folder
        from unspin.store import Store

        where = traceback.extract_tb(error.__traceback__)
        place = f"{os.path.basename(where[-1].filename)}:{where[-1].lineno}" if where else "hook"
        store = Store(state_folder())
        with store:
            store.fault(place, f"{type(error).__name__}: {error}")
    except BaseException:
        return
