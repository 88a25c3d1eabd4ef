"""Secrets out of what is kept for people to read: keys, tokens, passwords in URLs and assignments."""

from __future__ import annotations

from unspin.facts.patterns import IGNORECASE, pattern

_HIDDEN = "[redacted]"

#: Words without which none of the patterns can match: most texts hold none of them.
_TRACES = (
    "key", "token", "secret", "passw", "pwd", "bearer", "basic ", "authorization", "cookie", "credential",
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat", "glpat-", "xox", "akia", "asia",
    "aiza", "eyj", "://", "npm_", "pypi-", "hf_", "dop_", "sg.", "-----begin",
)  # fmt: skip

_KNOWN = pattern(
    r"\b(?:sk-[A-Za-z0-9_-]{16,200}|[srp]k_(?:live|test)_[A-Za-z0-9]{10,100}|gh[pousr]_[A-Za-z0-9]{20,100}"
    r"|github_pat_[A-Za-z0-9_]{20,120}|glpat-[A-Za-z0-9_-]{16,60}|xox[abeoprs]-[A-Za-z0-9-]{10,120}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,50}|npm_[A-Za-z0-9]{30,50}|pypi-[A-Za-z0-9_-]{30,250}"
    r"|hf_[A-Za-z0-9]{20,60}|dop_v1_[a-f0-9]{40,80}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,60}"
    r"|eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,2000}(?:\.[A-Za-z0-9_-]{0,2000})?)"
)
_HEADER = pattern(r"\b((?:bearer|basic|token) +)[A-Za-z0-9._~+/=-]{8,2000}", IGNORECASE)
_URL = pattern(r"([a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)", IGNORECASE)
_ASSIGNED = pattern(
    r"((?:^|[^a-z0-9])(?:[a-z0-9_-]{0,40}(?:api[_-]?key|access[_-]?key|secret|token|passw(?:or)?d|passphrase|pwd|credentials?))"
    r"[\"']?(?: {0,3}[:=]{1,2} {0,3}| {1,2})[\"']?)(?=[^\s\"'=])([^\s\"'&;,]{4,500})",
    IGNORECASE,
)
_ASSIGNED_WORDS = ("key", "secret", "token", "passw", "passphrase", "pwd", "credential")
_PRIVATE = pattern(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{0,20000}")


def redact(text: str) -> str:
    """Return ``text`` with what looks like a secret replaced; linear in its length."""
    lowered = text.lower()
    for trace in _TRACES:
        if trace in lowered:
            break
    else:
        return text
    if "-----begin" in lowered:
        text = _PRIVATE.sub(_HIDDEN, text)
    text = _KNOWN.sub(_HIDDEN, text)
    if "bearer" in lowered or "basic" in lowered or "token" in lowered:
        text = _HEADER.sub(rf"\1{_HIDDEN}", text)
    if "://" in lowered:
        text = _URL.sub(rf"\1{_HIDDEN}", text)
    for word in _ASSIGNED_WORDS:
        if word in lowered:
            return _ASSIGNED.sub(_hide_value, text)
    return text


def _hide_value(match: object) -> str:
    name, value = match.group(1), match.group(2)  # type: ignore[attr-defined]
    spoken = name.endswith(" ") and not any(char.isdigit() for char in value)  # "invalid token found": prose, no value
    return f"{name}{value}" if spoken or value.startswith(("[redacted", "$", "<")) else f"{name}{_HIDDEN}"
