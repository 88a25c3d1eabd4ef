"""Streams of Bedrock Converse through ``boto3``, and ``aiobotocore``'s clients of the same shape."""

from __future__ import annotations

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


def watch_bedrock(
    client: Any, config: StreamConfig | None = None, *, on_trip: Callable[[Trip], None] | None = None
) -> Any:
    """Return a ``bedrock-runtime`` client whose ``converse_stream`` answers with a watched ``stream``.

    Args:
        config: the guard's settings.
        on_trip: called with the trip, after which the stream is over; without it ``LoopTripped`` is raised.
    """
    watching = Watching(pieces, config, on_trip)

    def response(held: Any) -> Any:
        return {**held, "stream": watching.stream(held["stream"])}

    return WatchedClient(client, {"converse_stream": watched_call(watching, always, response)})


def pieces(event: Any) -> Iterator[tuple[int, str, str, object]]:
    """Yield what an event of Converse's stream holds."""
    block = get(event, "contentBlockDelta")
    delta = get(block, "delta")
    if not delta:
        return
    if text := get(delta, "text"):
        yield 0, CONTENT, text, None
    if text := get(get(delta, "reasoningContent"), "text"):
        yield 0, REASONING, text, None
    if text := get(get(delta, "toolUse"), "input"):
        yield 0, ARGUMENTS, text, get(block, "contentBlockIndex")
