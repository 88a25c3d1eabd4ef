"""The hook's process: one payload on stdin, one answer, and never in the agent's way.

Whatever goes wrong in here, nothing is said to the agent, the exit status is 0, and the
fault is recorded for ``unspin doctor``. Exit status 2 leaves this process on a decided
block and in no other way.
"""

from __future__ import annotations

import gc
import os
import sys

_LARGEST = 64_000_000  # bytes of a payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from unspin import live


def main(agent: str = "claude-code", *, plugin: bool = False) -> None:
    """Answer the payload on stdin as ``agent`` and end the process.

    As a ``plugin`` it is silent where a hook in the client's settings answers the same event,
    and its exit status is always 0: whatever else is called unspin on somebody's PATH may end
    in 2, so the plugin's start lets no status through, and the answer's text alone refuses.
    """
    gc.disable()  # a process this short has nothing to collect
    status = 0
    try:
        out = _silence_stdout()
        status = _answer(agent, out, plugin=plugin)
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


def _answer(agent: str, out: int, *, plugin: bool) -> int:
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError(f"a payload of more than {_LARGEST:,} bytes was not read")
    payload = _parse(data)
    if _concerns_nobody(payload) or (plugin and _answered_by_settings(payload)):
        return 0
    from unspin import agents, live
    from unspin.paths import state_folder
    from unspin.store import Store, StoreError

    if agent not in agents.AGENTS:
        raise ValueError(f"unknown agent {agent!r}; known: {', '.join(agents.AGENTS)}")
    try:
        store = Store(state_folder())
        answer = live.handle(agent, payload, store)  # left open: closing costs a sync of the disk
    except StoreError as error:
        if not error.locked or payload.get("hook_event_name") == "PreToolUse":
            raise
        _keep_for_later(agent, data)
        return 0
    if answer.stdout:
        _write(out, answer.stdout)
    if answer.checkpoint is not None:
        store.close()  # what SQLite holds must not go with a process into another
        _take(answer.checkpoint)
    if plugin:
        return 0
    if answer.stderr:
        _write(2, answer.stderr)
    return answer.status


def _take(checkpoint: live.Checkpointing) -> None:
    """Take a checkpoint beside the agent; a tree that takes long is done when this process has gone."""
    from unspin.checkpoint.taking import beside
    from unspin.paths import state_folder

    beside(lambda: checkpoint.take(state_folder()), checkpoint.wait)


def _keep_for_later(agent: str, data: bytes) -> None:
    """Keep an event that the locked store could not take; the next hook takes it in."""
    from unspin.paths import state_folder
    from unspin.spool import Spool

    Spool(state_folder()).keep(agent.encode() + b"\n" + data)


def _concerns_nobody(payload: dict[str, Any]) -> bool:
    """Tell whether a call is about to be made for which nothing is armed: nearly always.

    This is the path that people feel: it looks whether a file is there, and opens no store.
    """
    if payload.get("hook_event_name") != "PreToolUse":
        return False
    from unspin.agents.suspicion import worth_a_look
    from unspin.flags import is_armed
    from unspin.paths import state_folder

    session = payload.get("session_id")
    return isinstance(session, str) and not worth_a_look(payload) and not is_armed(state_folder(), session)


def _answered_by_settings(payload: dict[str, Any]) -> bool:
    """Tell whether the plugin's hook has a twin in the client's settings: an event counts once."""
    from unspin.agents.claude_code_files import settings_start

    project = os.environ.get("CLAUDE_PROJECT_DIR") or str(payload.get("cwd") or "")
    return settings_start(str(payload.get("hook_event_name")), project, _parse)


def _parse(data: bytes) -> dict[str, Any]:
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return {}
    try:
        payload, end = _scanner()(text, 0)
    except (StopIteration, SystemError, RecursionError):  # the bare scanner's ways to say so
        raise ValueError(f"the payload of {len(data)} bytes is no JSON") from None
    if end != len(text) or not isinstance(payload, dict):
        raise ValueError(f"the payload is {type(payload).__name__} to {end} of {len(text)}, expected one JSON object")
    return payload


def _scanner() -> Any:
    """Return JSON's scanner: the C one alone, without the package around it, where it is to be had."""
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        return JSONDecoder(strict=False).raw_decode
    return make_scanner(_Reading)  # type: ignore[arg-type]


class _Reading:
    """How the scanner reads: as ``json.loads`` does, control characters in texts let through."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: ClassVar[dict[str, str]] = {}


def _write(to: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(to, data) :]


def _record(error: BaseException) -> None:
    """Record a fault where ``unspin doctor`` shows it; if that fails too, leave it."""
    try:
        import traceback

        from unspin.paths import state_folder
        from unspin.store import record_fault

        where = traceback.extract_tb(error.__traceback__)
        place = f"{os.path.basename(where[-1].filename)}:{where[-1].lineno}" if where else "hook"
        record_fault(state_folder(), place, f"{type(error).__name__}: {error}")
    except BaseException:
        return
