"""The tail of a Claude Code transcript: what hooks are not told."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAIL = 256 * 1024
_LOOKS = 12
_BETWEEN_LOOKS = 0.02  # seconds


def last_context(path: str) -> tuple[int, int | None] | None:
    """Return the tokens in the context as of the last model message, and the model's window.

    Context is what went in (fresh, written to and read from the cache) and what came out.
    ``None`` stands for what is not known.
    """
    for line in reversed(_tail(path).split(b"\n")):
        if b'"usage"' not in line or b'"assistant"' not in line:
            continue
        entry = _parse(line)
        if not isinstance(entry, dict) or entry.get("type") != "assistant" or entry.get("isSidechain"):
            continue
        message = entry.get("message")
        usage = message.get("usage") if isinstance(message, dict) else None
        if isinstance(message, dict) and isinstance(usage, dict):
            return tokens_of(usage, str(message.get("model")))
    return None


def tokens_of(usage: dict[str, Any], model: str) -> tuple[int, int | None]:
    """Return the tokens in the context after a model message with this usage, and the model's window."""
    keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    tokens = sum(value for key in keys if isinstance(value := usage.get(key), int))
    return tokens, window_of(model, tokens)


def is_error(path: str, call_id: str) -> bool | None:
    """Return whether a call's result is marked as an error, ``None`` where the transcript does not tell.

    The client writes it up to a tenth of a second late, so this waits a little: ask only
    where much depends on it.
    """
    import os
    import time

    if not call_id or not os.path.isfile(path):
        return None
    mark = call_id.encode("utf-8", "replace")
    for _ in range(_LOOKS):
        for line in reversed(_tail(path).split(b"\n")):
            if mark in line and b'"tool_result"' in line:
                found = _result_in(_parse(line), call_id)
                if found is not None:
                    return found
        time.sleep(_BETWEEN_LOOKS)
    return None


def _result_in(entry: Any, call_id: str) -> bool | None:
    message = entry.get("message") if isinstance(entry, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("tool_use_id") == call_id:
            return bool(block.get("is_error"))
    return None


def window_of(model: str, tokens: int) -> int | None:
    """Return the model's window; a context that is larger shows that the known one does not hold."""
    if not _windows:
        import json

        with open(__file__.rpartition("claude_transcript")[0] + "claude_windows.json", encoding="utf-8") as file:
            _windows.update(json.load(file)["windows"])
    window = next((size for name, size in _windows.items() if model.startswith(name)), None)
    return window if window is not None and tokens <= window else None


_windows: dict[str, int] = {}  # by how a model's name begins


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            end = file.seek(0, 2)
            file.seek(max(0, end - _TAIL))
            return file.read()
    except (OSError, ValueError):
        return b""


def _parse(line: bytes) -> Any:
    import json

    try:
        return json.loads(line)
    except ValueError:
        return None
