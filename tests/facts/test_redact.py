"""Secrets do not reach what is stored; ordinary text does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspin.facts.redact import redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("curl -H 'Authorization: Bearer abcDEF123456789xyz' https://x", "abcDEF123456789xyz"),
        ("export ANTHROPIC_API_KEY=sk-ant-REDACTED", "sk-ant-REDACTED"),
        ("git clone https://me:hunter2pass@example.org/r.git", "hunter2pass"),
        ("mysql --password=tr0ub4dor -u root", "tr0ub4dor"),
        ("psql postgres://app:s3cr3t@db/x", "s3cr3t"),
        ('{"token": "abc123def456"}', "abc123def456"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrst"),
        ("ghr_abcdefghijklmnopqrstuvwxyz0123456789", "ghr_abcdefghijklmnopqrst"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "eyJzdWIi"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END", "MIIEow"),
        ("DB_PASSWORD='p4ssw0rd!'", "p4ssw0rd"),
    ],
)
def test_a_secret_is_taken_out(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert "[redacted]" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "npm test",
        "SyntaxError: Unexpected token } in JSON",
        "KeyError: 'key'",
        "error: unexpected token 'fi'",
        "pytest tests/test_token.py -k password",
        "https://example.org/docs",
        "git commit -m 'Hash the password before it is stored'",
        "token: $TOKEN",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@given(st.text())
def test_any_text_is_taken_and_twice_is_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)
