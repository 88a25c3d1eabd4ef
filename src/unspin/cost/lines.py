"""What can be read of a line of JSON that decoders refuse. Knows no format."""

from __future__ import annotations

import re

__all__ = ["objects", "whole_characters"]

_HALF, _OTHER = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # of a character, in JSON
_LONE = re.compile(  # begins with what is to be searched for: alternatives from the start take thirty times as long
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!%b)|(?<!%b\\u[dD])[c-fC-F][0-9a-fA-F]{2})" % (_OTHER, _HALF)
)
_ESCAPE = re.compile(rb"%b%b|(%b|%b)|\\." % (_HALF, _OTHER, _HALF, _OTHER), re.DOTALL)


def objects(data: bytes) -> list[bytes]:
    """Return what stands on a line that was refused, each object for itself; nothing where that is no more than before.

    Half characters are taken for none, and objects that stand one behind the other are told apart: two processes
    that write at once lose the end of a line between them.
    """
    whole = whole_characters(data)
    return _glued(whole) or ([whole] if whole != data else [])


def whole_characters(data: bytes) -> bytes:
    """Return JSON without escapes of half a character: programs write them that cut texts in UTF-16."""
    if (b"\\ud" not in data and b"\\uD" not in data) or _LONE.search(data) is None:
        return data  # looked for first: nearly no line has any
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], data)


def _glued(data: bytes) -> list[bytes]:
    if b"}{" not in data:
        return []
    from json import JSONDecoder  # which tells where an object ends; hardly any file needs it

    decoder = JSONDecoder()
    try:
        line = data.decode().strip()
        parts, at = [], 0
        while at < len(line):
            found, end = decoder.raw_decode(line, at)
            if not isinstance(found, dict):
                return []
            parts.append(line[at:end].encode())
            at = end
    except (ValueError, RecursionError):
        return []
    return parts if len(parts) > 1 else []
