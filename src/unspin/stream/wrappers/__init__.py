"""The stream guard on the streams of four providers' SDKs, none of which is needed to import this.

    from unspin.stream.wrappers import watch_openai

    client = watch_openai(OpenAI())

A wrapped client is used like the one that it wraps. Where a stream degenerates it is closed, and
``LoopTripped`` is raised where it was read. ``unspin.stream.recovery.ask_again`` does the retries.
"""

from __future__ import annotations

from unspin.stream.wrappers.anthropic import watch_anthropic
from unspin.stream.wrappers.bedrock import watch_bedrock
from unspin.stream.wrappers.gemini import watch_gemini
from unspin.stream.wrappers.openai import watch_openai

__all__ = ["watch_anthropic", "watch_bedrock", "watch_gemini", "watch_openai"]
