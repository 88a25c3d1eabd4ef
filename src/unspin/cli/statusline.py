"""One short line for an agent's status line: edits since the last pass, context, cost, mode, what is refused.

It runs whenever the agent's screen changes: nothing of the command line is loaded, the
store is only read, and whatever goes wrong a short line is printed all the same. Where
the person has a status line of their own, it runs that first and adds its own line. How
a client's settings start it is not known here.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from unspin.store import Session, Store

_NAME = "unspin"
_LARGEST = 4_000_000  # bytes of a payload
_PATIENCE = 10.0  # seconds for the person's own status line
_MOST_STEPS = 1000  # looked through for the last pass
_LONGEST_NAME = 40  # characters of a file's name
_WORDS = {"test": "tests", "type": "types", "lint": "linter"}  # a kind of check, as the line has it
_ARMED = 1  # guard.REFUSING: an edit of some file would be refused


def main(arguments: list[str]) -> None:
    """Print the status line for the payload on stdin and end the process.

    ``arguments`` may hold one: the shell line of the person's own status line.
    """
    try:
        data = b"" if os.isatty(0) else sys.stdin.buffer.read(_LARGEST)
        theirs = _Theirs(arguments[0], data) if arguments else None
        line = _line(data)
        out = (theirs.output() if theirs else b"") + line.encode("utf-8", "replace") + b"\n"
        while out:
            out = out[os.write(1, out) :]
    except BaseException:  # no traceback may reach the person's screen
        os._exit(0)
    os._exit(0)


def _line(data: bytes) -> str:
    try:
        payload = json.loads(data.decode("utf-8", "replace") or "{}")
        return line_of(payload if isinstance(payload, dict) else {})
    except Exception:
        return _NAME


def line_of(payload: dict[str, Any]) -> str:
    """Return the line for a payload of the status line."""
    mode, facts = _stored(payload)
    context = _number(payload, "context_window", "used_percentage")
    cost = _number(payload, "cost", "total_cost_usd")
    facts.append(f"context {context:.0f}%" if context >= 0.5 else "")
    facts.append(f"${cost:.2f}" if cost >= 0.005 else "")
    return " · ".join(filter(None, (f"{_NAME} {mode}".strip(), *facts)))


# -- from the store --------------------------------------------------------------------


def _stored(payload: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the mode and what is known of the session; what cannot be read is left out."""
    from unspin import config
    from unspin.paths import state_folder
    from unspin.store import Store

    project = _text(payload, "workspace", "project_dir") or str(payload.get("cwd") or "") or os.getcwd()
    try:
        store = Store(state_folder(), read_only=True)
        session = store.session(_text(payload, "session_id"))
        project = session.project if session else os.path.realpath(project)
        mode = store.mode(project) or str(config.compiled(project, store, keep=False)["mode"])
    except Exception:
        return str(config.find(project).settings["mode"]), []
    try:
        return mode, [
            _refusing(store, session),
            _edits(store.newest_records(session.id, _MOST_STEPS)),
        ] if session else []
    except Exception:
        return mode, []


def _refusing(store: Store, session: Session) -> str:
    if not session.armed & _ARMED:
        return ""
    from unspin import live

    guard = live.restore(store, session.project, session, keep=False)
    files = [_clean(guard.reader.place.relative(each)) for each in guard.standing_blocks()]
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"refusing {files[0]}{more}" if files else ""


def _edits(newest: Iterable[dict[str, Any]]) -> str:
    """Return how many edits the main agent made since the tests passed; where none did, since anything passed.

    A rollback ends the counting: what was before it is undone.
    """
    edits = looked_at = 0
    since = ""  # what passed last
    before = 0  # edits after that
    for step in newest:
        looked_at += 1
        if step["kind"] == "rollback":
            if not since:
                return _since_rollback(edits, step)
            break
        passed = [each["kind"] for each in step.get("checks", ()) if each["outcome"] == "passed"]
        if "test" in passed:
            since, before = "test", edits
            break
        if passed and not since and passed[-1] != "lint":
            since, before = passed[-1], edits
        if not step.get("agent"):
            changes = step.get("changes", ())
            edits += sum(each["change"] == "write" and not each.get("refused") for each in changes)
    if not since:
        often = f"{edits}{'+' if looked_at >= _MOST_STEPS else ''} edit{'' if edits == 1 else 's'}"
        return f"{often}, nothing passed yet" if edits else ""
    what = f"{_WORDS.get(since, since)} passed"
    return f"{before} edit{'' if before == 1 else 's'} since {what}" if before else what


def _since_rollback(edits: int, step: dict[str, Any]) -> str:
    what = "the rollback was undone" if step["undo"] else f"the rollback to {step['to']}"
    if edits:
        return f"{edits} edit{'' if edits == 1 else 's'} since {what}"
    return "rollback undone" if step["undo"] else f"rolled back to {step['to']}"


def _clean(name: str) -> str:
    shown = "".join(each if each.isprintable() else "?" for each in name)
    return shown if len(shown) <= _LONGEST_NAME else f"…{shown[1 - _LONGEST_NAME :]}"


def _text(payload: dict[str, Any], *keys: str) -> str:
    value: Any = payload
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _number(payload: dict[str, Any], *keys: str) -> float:
    value: Any = payload
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if fits else 0.0


# -- the person's own ------------------------------------------------------------------


class _Theirs:
    """The person's own status line, running beside ours: the same payload, the same shell and environment."""

    def __init__(self, command: str, data: bytes):
        import signal
        import subprocess

        self._data = data
        self._subprocess = subprocess
        try:
            self._process: Any = subprocess.Popen(
                ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
            )
        except OSError:
            self._process = None
            return
        signal.signal(signal.SIGTERM, self._end)  # the client ends a line that a newer one overtook

    def output(self) -> bytes:
        """Return its lines, unchanged but for a line's end after the last; nothing where it failed.

        The client shows nothing of a status line that ends with another status than 0. One that
        takes too long is ended.
        """
        if self._process is None:
            return b""
        try:
            out, _ = self._process.communicate(self._data, timeout=_PATIENCE)
        except self._subprocess.TimeoutExpired as error:
            out = error.output  # it may have ended well and left something running behind it
            self._process.poll()
            self._kill()
        if self._process.returncode != 0 or not out:
            return b""
        return bytes(out) if out.endswith(b"\n") else bytes(out) + b"\n"

    def _end(self, *_: object) -> None:
        self._kill()
        os._exit(0)

    def _kill(self) -> None:
        import signal

        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except OSError:
            return
