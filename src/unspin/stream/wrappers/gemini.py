"""Streams of the ``google-genai`` SDK, sync and async: ``models.generate_content_stream`` and chats."""

from __future__ import annotations

import json

from unspin.stream.wrappers.watching import (
    ARGUMENTS,
    CONTENT,
    REASONING,
    WatchedClient,
    Watching,
    always,
    get,
    watched_call,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from unspin.stream.config import StreamConfig
    from unspin.stream.guard import Trip


def watch_gemini(
    client: Any, config: StreamConfig | None = None, *, on_trip: Callable[[Trip], None] | None = None
) -> Any:
    """Return a ``google.genai.Client`` whose streams are watched.

    Watched are ``models.generate_content_stream``, ``send_message_stream`` of chats, and the same of ``aio``; calls
    without a stream are left alone. A chat whose stream tripped keeps neither the answer nor the message in its
    history.

    Args:
        config: the guard's settings.
        on_trip: called with the trip, after which the stream is over; without it ``LoopTripped`` is raised.
    """
    watching = Watching(pieces, config, on_trip)
    stream = watched_call(watching, always)

    def chat(held: Any) -> Any:
        return WatchedClient(held, {"send_message_stream": stream})

    calls = {"models.generate_content_stream": stream, "chats.create": watched_call(watching, always, chat)}
    return WatchedClient(client, {f"{room}{name}": call for room in ("", "aio.") for name, call in calls.items()})


def pieces(event: Any) -> Iterator[tuple[int, str, str, object]]:
    """Yield what a chunk holds: calls of functions come whole."""
    for place, candidate in enumerate(get(event, "candidates") or ()):
        number = get(candidate, "index") or place
        for part in get(get(candidate, "content"), "parts") or ():
            if text := get(part, "text"):
                yield number, REASONING if get(part, "thought") else CONTENT, text, None
            if (call := get(part, "function_call")) is not None and (given := get(call, "args")):
                yield number, ARGUMENTS, json.dumps(given, ensure_ascii=False, default=str), object()
