"""Short digests of texts, for identities that are compared and never shown."""

from __future__ import annotations

try:  # the bare C module: importing hashlib loads OpenSSL, which a hook pays for on every call
    from _blake2 import blake2b
except ImportError:  # another interpreter, or a build without it
    from hashlib import blake2b


def digest(text: str) -> str:
    """Return 16 hex digits that stand for ``text``; any text will do, lone surrogates included."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def digest_bytes(data: bytes) -> str:
    """Return 16 hex digits that stand for ``data``."""
    return blake2b(data, digest_size=8).hexdigest()
