"""Streams of the ``openai`` SDK, sync and async: chat completions and Responses, created or through their helpers."""

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

_RESPONSES = {
    "response.output_text.delta": CONTENT,
    "response.refusal.delta": CONTENT,
    "response.reasoning_text.delta": REASONING,
    "response.reasoning_summary_text.delta": REASONING,
    "response.function_call_arguments.delta": ARGUMENTS,
    "response.custom_tool_call_input.delta": ARGUMENTS,
    "response.mcp_call_arguments.delta": ARGUMENTS,
    "response.code_interpreter_call_code.delta": ARGUMENTS,
}


def watch_openai(
    client: Any, config: StreamConfig | None = None, *, on_trip: Callable[[Trip], None] | None = None
) -> Any:
    """Return an ``OpenAI`` or ``AsyncOpenAI`` client whose streams are watched.

    Watched are ``chat.completions.create(stream=True)`` and ``.stream()``, ``responses.create(stream=True)``,
    ``.retrieve(stream=True)`` and ``.stream()``; calls without a stream, and raw responses, are left alone.

    Args:
        config: the guard's settings.
        on_trip: called with the trip, after which the stream is over; without it ``LoopTripped`` is raised.
    """
    chat, responses = Watching(chat_pieces, config, on_trip), Watching(responses_pieces, config, on_trip)
    calls = {
        "chat.completions.create": watched_call(chat, if_stream),
        "chat.completions.stream": watched_call(chat, always),
        "responses.create": watched_call(responses, if_stream),
        "responses.retrieve": watched_call(responses, if_stream),  # one that runs in the background, from the start
        "responses.stream": watched_call(responses, always),
    }
    older = {f"beta.{name}": call for name, call in calls.items() if name.startswith("chat.")}
    return WatchedClient(client, calls | older)


def chat_pieces(event: Any) -> Iterator[tuple[int, str, str, object]]:
    """Yield what a chunk of chat completions holds; several answers (``n``) are several texts."""
    kind = get(event, "type")
    if kind is not None:  # of the helper's events, the one that holds the chunk
        event = get(event, "chunk") if kind == "chunk" else None
    for choice in get(event, "choices") or ():
        number, delta = get(choice, "index") or 0, get(choice, "delta")
        for name in ("content", "refusal"):
            if text := get(delta, name):
                yield number, CONTENT, text, None
        for name in ("reasoning_content", "reasoning"):  # of servers that speak this protocol
            text = get(delta, name)
            if isinstance(text, str) and text:
                yield number, REASONING, text, None
                break
        for call in get(delta, "tool_calls") or ():
            if text := get(get(call, "function"), "arguments") or get(get(call, "custom"), "input"):
                yield number, ARGUMENTS, text, get(call, "index") or 0


def responses_pieces(event: Any) -> Iterator[tuple[int, str, str, object]]:
    """Yield what an event of a Responses stream holds."""
    channel = _RESPONSES.get(get(event, "type"))
    if channel is not None and (text := get(event, "delta")):
        yield 0, channel, text, get(event, "item_id")
