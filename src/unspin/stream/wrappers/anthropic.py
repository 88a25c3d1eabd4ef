"""Streams of the ``anthropic`` SDK, sync and async: text, thinking and input of tools."""

from __future__ import annotations

from unspin.stream.wrappers.watching import (
    ARGUMENTS,
    CONTENT,
    REASONING,
    WatchedClient,
    Watching,
    always,
    get,
    if_stream,
    watched_call,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from unspin.stream.config import StreamConfig
    from unspin.stream.guard import Trip

_DELTAS = {
    "text_delta": (CONTENT, "text"),
    "thinking_delta": (REASONING, "thinking"),
    "input_json_delta": (ARGUMENTS, "partial_json"),
}


def watch_anthropic(
    client: Any, config: StreamConfig | None = None, *, on_trip: Callable[[Trip], None] | None = None
) -> Any:
    """Return an ``Anthropic`` or ``AsyncAnthropic`` client (or Bedrock's, Vertex's) whose streams are watched.

    Watched are ``messages.create(stream=True)`` and ``messages.stream()``, and the same of ``beta``; calls without a
    stream are left alone.

    Args:
        config: the guard's settings.
        on_trip: called with the trip, after which the stream is over; without it ``LoopTripped`` is raised.
    """
    watching = Watching(pieces, config, on_trip)
    calls = {"create": watched_call(watching, if_stream), "stream": watched_call(watching, always)}
    return WatchedClient(
        client, {f"{room}.{name}": call for room in ("messages", "beta.messages") for name, call in calls.items()}
    )


def pieces(event: Any) -> Iterator[tuple[int, str, str, object]]:
    """Yield what an event of a Messages stream holds; the helper's own events repeat it, and are left out."""
    if get(event, "type") != "content_block_delta":
        return
    delta = get(event, "delta")
    channel, name = _DELTAS.get(get(delta, "type"), ("", ""))
    if channel and (text := get(delta, name)):
        yield 0, channel, text, get(event, "index")
