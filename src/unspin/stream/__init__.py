"""Streams that degenerate: one line for ever, a paragraph over and over, a text that drifts in circles.

    from unspin.stream import StreamGuard

Stands alone: knows no events, no rules, no store, no provider. ``guard`` is the entry, ``tail``
finds loops at the end of a text, ``units`` says how much of what is too much, ``drift`` finds
loops without a period. ``recovery`` says how a model is asked again, ``wrappers`` feeds the
guard from the streams of the providers' SDKs; neither is loaded unless asked for.
"""

from __future__ import annotations

from unspin.stream.config import StreamConfig
from unspin.stream.guard import LoopTripped, StreamGuard, Trip

__all__ = ["LoopTripped", "StreamConfig", "StreamGuard", "Trip"]
