"""What to do after a trip: throw the looped partial away, tell the model in one line, ask again, twice at most.

``apply_loop_recovery_nudge`` puts the line where no rule of a provider is broken: on the
trailing user or tool message, and after an assistant message, and only there, as a new user
turn. ``Recovery`` keeps the bound of one turn; ``ask_again`` and ``ask_again_async`` do the
whole of it around a function of yours.
"""

from __future__ import annotations

import re

from unspin.stream.guard import LoopTripped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from unspin.stream.guard import Trip

#: The message shapes that are known: by name, for where the messages alone do not tell.
SHAPES = ("openai-chat", "openai-responses", "anthropic", "bedrock", "gemini")
LOOP, DONE = "loop", "done"

_BEGIN = "Unspin: loop (your last answer was cut off: "
_END = "If you cannot go on, say what is missing."
_NUDGE = re.compile(r"(?:\A|\n\n)" + re.escape(_BEGIN) + r".*?" + re.escape(_END), re.DOTALL)
_CALLS = ("tool_use", "toolUse", "function_call", "functionCall", "server_tool_use")
#: Results of Responses that are free text; a line in the others would break their form.
_TEXT_OUTPUTS = ("function_call_output", "custom_tool_call_output", "apply_patch_call_output")


def nudge(trip: Trip) -> str:
    """Return the line that the model is given with the next request."""
    return (
        f"{_BEGIN}{trip}). It was discarded. Do not write that again. Go on with the task from here in other words; "
        f"if it is done, say so in one sentence. {_END}"
    )


def apply_loop_recovery_nudge(messages: Sequence[Any] | str, trip: Trip, *, shape: str | None = None) -> list[Any]:
    """Return the messages with the nudge; what was given is not changed.

    Args:
        messages: the request's messages as they were before the looped answer, which is no part of them. In the shape
            of OpenAI chat completions, OpenAI Responses (``input``), Anthropic Messages, Bedrock Converse or Gemini
            (``contents``); of the last three texts alone will do.
        trip: what the guard answered.
        shape: one of ``SHAPES``; needed only where the messages do not tell (one message with an empty content).

    A message that has a nudge already gets the new one in its place. Where the last message holds tool calls that
    have no results yet nothing can be said without breaking their pairs: the messages are returned as they were.

    Raises:
        ValueError: a ``shape`` that is not known.
    """
    if shape is not None and shape not in SHAPES:
        raise ValueError(f"shape is {shape!r}; expected one of {', '.join(SHAPES)}, or None")
    line = nudge(trip)
    before = [messages] if isinstance(messages, str) else list(messages)
    shape = shape or _shape_of(before)
    if not before:
        return [_user_turn(line, shape)]
    last = before[-1]
    if isinstance(last, str):  # Gemini and Responses take a bare text for the user's
        return (
            [*before[:-1], _with_text(last, line)]
            if shape == "gemini"
            else [
                *before[:-1],
                {"role": "user", "content": _with_text(last, line)},
            ]
        )
    role, kind = _get(last, "role"), _get(last, "type")
    if isinstance(kind, str) and kind.endswith("_output") and role is None:
        output = _get(last, "output")
        if kind in _TEXT_OUTPUTS and isinstance(output, (str, list)):
            return [*before[:-1], _replaced(last, output=_with(output, line, shape))]
        return [*before, _user_turn(line, shape)]
    if _is_open_item(last) or _has_open_calls(last):
        return before
    field = "parts" if shape == "gemini" else "content"
    if role in ("user", "tool", "function") or (role is None and _get(last, "parts") is not None):  # Gemini's default
        return [*before[:-1], _replaced(last, **{field: _with(_get(last, field), line, shape)})]
    return [*before, _user_turn(line, shape)]


class Recovery:
    """The retries of one turn.

    Attributes:
        max_retries: how often the model is asked again; 2.
        trips: what tripped, in order.
        stop_reason: ``"loop"`` once the bound is reached, else ``None``.
    """

    __slots__ = ("max_retries", "stop_reason", "trips")

    def __init__(self, max_retries: int = 2):
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise ValueError(f"max_retries is {max_retries!r}; expected a whole number of 0 or more")
        self.max_retries = max_retries
        self.trips: list[Trip] = []
        self.stop_reason: str | None = None

    def next(self, messages: Sequence[Any] | str, trip: Trip, *, shape: str | None = None) -> list[Any] | None:
        """Return the messages to ask again with, or ``None``: end the turn with ``stop_reason``."""
        self.trips.append(trip)
        if len(self.trips) > self.max_retries:
            self.stop_reason = LOOP
            return None
        return apply_loop_recovery_nudge(messages, trip, shape=shape)


class Outcome:
    """How a turn ended.

    Attributes:
        result: what your function returned; ``None`` after the last retry looped too.
        messages: the messages of the last request: what to persist, before the answer. No looped partial is in them.
        trips: what tripped, in order; empty on a turn without a loop.
        stop_reason: ``"done"`` or ``"loop"``.
    """

    __slots__ = ("messages", "result", "stop_reason", "trips")

    def __init__(self, result: Any, messages: list[Any], trips: list[Trip], stop_reason: str):
        self.result = result
        self.messages = messages
        self.trips = trips
        self.stop_reason = stop_reason


def ask_again(
    ask: Callable[[list[Any]], Any], messages: Sequence[Any], *, max_retries: int = 2, shape: str | None = None
) -> Outcome:
    """Call ``ask(messages)``, and while it raises ``LoopTripped`` again with the nudge, ``max_retries`` times at most.

    ``ask`` sends the request, reads the watched stream to its end, and returns the whole answer. What it made of a
    stream that tripped is lost with the exception, as it should be.
    """
    recovery, now = Recovery(max_retries), list(messages)
    while True:
        try:
            return Outcome(ask(now), now, recovery.trips, DONE)
        except LoopTripped as tripped:
            following = recovery.next(now, tripped.trip, shape=shape)
        if following is None:
            return Outcome(None, now, recovery.trips, LOOP)
        now = following


async def ask_again_async(
    ask: Callable[[list[Any]], Awaitable[Any]],
    messages: Sequence[Any],
    *,
    max_retries: int = 2,
    shape: str | None = None,
) -> Outcome:
    """The same as ``ask_again`` for a coroutine function."""
    recovery, now = Recovery(max_retries), list(messages)
    while True:
        try:
            return Outcome(await ask(now), now, recovery.trips, DONE)
        except LoopTripped as tripped:
            following = recovery.next(now, tripped.trip, shape=shape)
        if following is None:
            return Outcome(None, now, recovery.trips, LOOP)
        now = following


# -- shapes ------------------------------------------------------------------------------


def _get(message: Any, name: str) -> Any:
    return message.get(name) if isinstance(message, dict) else getattr(message, name, None)


def _blocks(message: Any) -> list[Any]:
    """Return a message's blocks or parts; none where its content is a text."""
    for name in ("parts", "content"):
        held = _get(message, name)
        if isinstance(held, (list, tuple)):
            return list(held)
    return []


def _shape_of(messages: list[Any]) -> str:
    """Tell the shape from the messages; where several fit, one whose form for what is added is the same."""
    for message in messages:
        if isinstance(message, str):
            continue
        if _get(message, "parts") is not None:
            return "gemini"
        kind = _get(message, "type")
        if kind in ("message", "reasoning") or (
            isinstance(kind, str) and kind.startswith(("function_call", "custom_"))
        ):
            return "openai-responses"
        if _get(message, "role") == "tool" or _get(message, "tool_calls"):
            return "openai-chat"
        for block in _blocks(message):
            if isinstance(block, str):
                continue
            kind = _get(block, "type")
            if kind is None:
                return "bedrock"
            if kind in ("input_text", "input_image", "input_file", "output_text"):
                return "openai-responses"
            if kind in ("image_url", "input_audio", "file"):
                return "openai-chat"
            if kind in ("tool_use", "tool_result", "image", "document", "thinking"):
                return "anthropic"
    return "gemini" if messages and all(isinstance(each, str) for each in messages) else "openai-chat"


def _is_open_item(item: Any) -> bool:
    """Tell whether an item of Responses waits for a result; what OpenAI's side runs has no ``call_id`` and does not."""
    kind = _get(item, "type")
    if not isinstance(kind, str):
        return False
    return kind in ("function_call", "custom_tool_call", "mcp_approval_request") or (
        kind.endswith("_call") and bool(_get(item, "call_id"))
    )


def _has_open_calls(message: Any) -> bool:
    """Tell whether a message makes tool calls: the last one's have no results yet."""
    if _get(message, "role") not in ("assistant", "model"):
        return False
    if _get(message, "tool_calls") or _get(message, "function_call"):
        return True
    blocks = _blocks(message)
    answered = {_get(block, "tool_use_id") for block in blocks} - {None}  # by the provider's own tools, in place
    return any(
        (_get(block, "type") in _CALLS or any(_get(block, name) for name in _CALLS))
        and _get(block, "id") not in answered
        for block in blocks
    )


def _block(line: str, shape: str, beside: list[Any]) -> Any:
    if shape == "gemini":
        models = [type(each) for each in beside if hasattr(each, "model_copy")]
        return models[0](text=line) if models else {"text": line}
    if shape == "bedrock":
        return {"text": line}
    return {"type": "input_text" if shape == "openai-responses" else "text", "text": line}


def _user_turn(line: str, shape: str) -> dict[str, Any]:
    if shape == "gemini":
        return {"role": "user", "parts": [{"text": line}]}
    return {"role": "user", "content": [{"text": line}] if shape == "bedrock" else line}


def _with(content: Any, line: str, shape: str) -> Any:
    """Return a message's content with the line; a nudge that is there already gives way."""
    if isinstance(content, str):
        return _with_text(content, line)
    kept = [block for block in content or () if not _is_nudge(block)]
    return [*kept, _block(line, shape, kept)]


def _with_text(text: str, line: str) -> str:
    text = _NUDGE.sub("", text)
    return f"{text}\n\n{line}" if text else line


def _is_nudge(block: Any) -> bool:
    text = block if isinstance(block, str) else _get(block, "text")
    return isinstance(text, str) and _NUDGE.fullmatch(text) is not None


def _replaced(message: Any, **fields: Any) -> Any:
    """Return a copy of a message with some fields set anew."""
    if isinstance(message, dict):
        return {**message, **fields}
    return message.model_copy(update=fields)
