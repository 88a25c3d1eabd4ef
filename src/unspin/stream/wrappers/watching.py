"""What all wrappers share: a stream that is watched while it is read, and a client whose streams are.

Knows no provider and imports no SDK: an object is asked for what it can do. What a provider's
events hold is said by its module, as a function from an event to what each channel gets.
"""

from __future__ import annotations

import inspect

from unspin.stream.guard import LoopTripped, StreamGuard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator
    from typing import Any, TypeAlias

    from unspin.stream.config import StreamConfig
    from unspin.stream.guard import Trip

    #: (answer's number, channel, delta, tool call) of an event
    Pieces: TypeAlias = Iterable[tuple[int, str, str, object]]

CONTENT, REASONING, ARGUMENTS = "content", "reasoning", "arguments"


class Watching:
    """How streams are watched: the pieces of an event, the guard's settings, what happens on a trip."""

    __slots__ = ("config", "on_trip", "pieces")

    def __init__(
        self,
        pieces: Callable[[Any], Pieces],
        config: StreamConfig | None = None,
        on_trip: Callable[[Trip], None] | None = None,
    ):
        self.pieces = pieces
        self.config = config
        self.on_trip = on_trip

    def stream(self, target: Any) -> Any:
        """Return a stream, or a manager of one, watched."""
        if hasattr(target, "__aiter__") or hasattr(target, "__aenter__"):
            return AsyncWatched(target, self)
        return Watched(target, self)


class _Base:
    """What the watched streams have in common: everything that is not reading is the stream's own."""

    def __init__(self, target: Any, watching: Watching):
        self._target = target
        self._watching = watching
        self._guards: dict[int, StreamGuard] = {}
        self._trip: Trip | None = None

    def _fed(self, event: Any) -> Trip | None:
        for number, channel, delta, call in self._watching.pieces(event):
            guard = self._guards.get(number)
            if guard is None:
                guard = self._guards[number] = StreamGuard(self._watching.config)
            if channel == CONTENT:
                trip = guard.feed_content_delta(delta)
            elif channel == REASONING:
                trip = guard.feed_reasoning_delta(delta)
            else:
                trip = guard.feed_tool_arguments_delta(delta, call)
            if trip is not None:
                self._trip = trip
                return trip
        return None

    def _tripped(self) -> None:
        """Tell the caller of the trip: an exception, unless a callback was given, after which the stream is over."""
        trip = self._trip
        if trip is None:
            return
        if self._watching.on_trip is None:
            raise LoopTripped(trip)
        self._watching.on_trip(trip)

    def _discarded(self) -> None:
        """Raise where a final answer is asked for that looped: there is none."""
        if self._trip is not None:
            raise LoopTripped(self._trip)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # an SDK's own checks of what it is given hold
        return type(self._target)


class Watched(_Base):
    """A stream that is watched while it is read; it is closed where it degenerates."""

    _reader: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._reader is None:
            self._reader = self._read()
        return next(self._reader)

    def _read(self) -> Iterator[Any]:
        source = iter(self._target)
        for event in source:
            if self._fed(event) is not None:
                _close(source)
                self.close()
                self._tripped()
                return
            yield event

    def close(self) -> None:
        _close(self._target)

    def until_done(self) -> Any:
        for _ in self:
            pass
        return self

    @property
    def text_stream(self) -> Iterator[str]:
        """The pieces of the answer's text, as the SDK's helper gives them."""
        for event in self:
            yield from (delta for _, channel, delta, _ in self._watching.pieces(event) if channel == CONTENT)

    def __getattr__(self, name: str) -> Any:
        held = getattr(self._target, name)
        if name.startswith("get_final") and callable(held):

            def final(*arguments: Any, **named: Any) -> Any:
                self.until_done()
                self._discarded()
                return held(*arguments, **named)

            return final
        return held

    def __enter__(self) -> Any:
        entered = self._target.__enter__()
        return self if entered is self._target else Watched(entered, self._watching)

    def __exit__(self, *raised: Any) -> Any:
        return self._target.__exit__(*raised)


class AsyncWatched(_Base):
    """The same for an asynchronous stream."""

    _reader: AsyncIterator[Any] | None = None

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._reader is None:
            self._reader = self._read()
        return await anext(self._reader)

    async def _read(self) -> AsyncIterator[Any]:
        source = aiter(self._target)
        async for event in source:
            if self._fed(event) is not None:
                await _close_async(source)
                await self.close()
                self._tripped()
                return
            yield event

    async def close(self) -> None:
        await _close_async(self._target)

    async def until_done(self) -> Any:
        async for _ in self:
            pass
        return self

    @property
    async def text_stream(self) -> AsyncIterator[str]:
        """The pieces of the answer's text, as the SDK's helper gives them."""
        async for event in self:
            for _, channel, delta, _ in self._watching.pieces(event):
                if channel == CONTENT:
                    yield delta

    def __getattr__(self, name: str) -> Any:
        held = getattr(self._target, name)
        if name.startswith("get_final") and callable(held):

            async def final(*arguments: Any, **named: Any) -> Any:
                await self.until_done()
                self._discarded()
                return await held(*arguments, **named)

            return final
        return held

    async def __aenter__(self) -> Any:
        entered = await self._target.__aenter__()
        return self if entered is self._target else AsyncWatched(entered, self._watching)

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._target.__aexit__(*raised)


def _close(stream: Any) -> None:
    close = getattr(stream, "close", None)
    if close is not None:
        close()


async def _close_async(stream: Any) -> None:
    for name in ("close", "aclose"):
        close = getattr(stream, name, None)
        if close is not None:
            closed = close()
            if inspect.isawaitable(closed):
                await closed
            return


class WatchedClient:
    """A client, or one of its rooms, whose streaming calls return watched streams; all else is the client's own."""

    def __init__(self, target: Any, calls: dict[str, Callable[..., Any]], room: str = ""):
        self._target = target
        self._calls = calls
        self._room = room

    def __getattr__(self, name: str) -> Any:
        held = getattr(self._target, name)
        path = f"{self._room}{name}"
        if path in self._calls:
            return self._calls[path](held)
        if any(each.startswith(f"{path}.") for each in self._calls):
            return WatchedClient(held, self._calls, f"{path}.")
        if not self._room and name in ("with_options", "copy"):
            return lambda *arguments, **named: WatchedClient(held(*arguments, **named), self._calls)
        return held

    def __enter__(self) -> WatchedClient:
        self._target.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        return self._target.__exit__(*raised)

    async def __aenter__(self) -> WatchedClient:
        await self._target.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        return await self._target.__aexit__(*raised)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # an SDK's own checks of what it is given hold
        return type(self._target)


def watched_call(
    watching: Watching, asked: Callable[[dict[str, Any]], bool], stream: Callable[[Any], Any] | None = None
) -> Callable[..., Any]:
    """Return what makes of a client's method one whose stream is watched, where its arguments ask for a stream."""
    wrap = stream or watching.stream

    def make(held: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            result = held(*arguments, **named)
            if not asked(named):
                return result
            return _later(result, wrap) if inspect.isawaitable(result) else wrap(result)

        return call

    return make


async def _later(result: Any, wrap: Callable[[Any], Any]) -> Any:
    return wrap(await result)


def always(named: dict[str, Any]) -> bool:
    return True


def if_stream(named: dict[str, Any]) -> bool:
    return bool(named.get("stream"))  # an SDK's "not given" is false


def get(held: Any, name: str) -> Any:
    """Return a field of an SDK's object or of plain data; ``None`` where there is none."""
    return held.get(name) if isinstance(held, dict) else getattr(held, name, None)
