"""check and hook: what they say to people, and that agents see nothing of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from driver import Client

UNSPIN = [sys.executable, "-m", "unspin"]


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*UNSPIN, "check", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--", "exit 3"), "recorded as test: failed (3)"),
        (("--", "true"), "recorded as test: passed"),
        (("--kind", "build", "--", "true"), "recorded as build: passed"),
        (("--", "exit 124"), "recorded as test: unknown (124)"),
        (("--", "mypy ./gone.py"), "recorded as type: "),
    ],
)
def test_what_was_recorded_is_said_on_stderr(arguments: tuple[str, ...], said: str) -> None:
    done = check(*arguments)
    assert done.stderr.splitlines()[-1].startswith(f"unspin: {said}")
    quiet = check("-q", *arguments)
    assert (quiet.stdout, quiet.returncode) == (done.stdout, done.returncode) and "recorded" not in quiet.stderr


def test_everything_after_the_command_goes_to_it() -> None:
    done = check("echo", "--kind", "build", "-q", "--help")
    assert done.stdout == "--kind build -q --help\n" and "recorded as test: passed" in done.stderr


def test_the_line_that_is_said_is_no_failure_of_its_own(spinning: Client, unspin: Any) -> None:
    spinning.prompt()
    for number in range(4):
        unspin("check", "--", f"exit {number % 2}", status=number % 2)
        said = f"unspin: recorded as test: {'failed (1)' if number % 2 else 'passed'}"
        spinning.round(spinning.edit("a.py"))
        assert spinning.round(spinning.bash(f"unspin check -- 'exit {number % 2}'", said, number % 2)) == ""


@pytest.mark.parametrize("command", [("no-such-program", "x"), ("/", "x")])
def test_a_command_that_cannot_be_started(command: tuple[str, ...]) -> None:
    done = check("--", *command)
    assert done.returncode in (126, 127) and "Traceback" not in done.stderr
    assert f"unspin: {command[0]}: " in done.stderr


def at_a_terminal(arguments: list[str], stdin: Any) -> tuple[int, str]:
    """Run ``unspin hook`` with stderr, and stdin unless given, at a terminal; return status and what it shows."""
    outer, inner = pty.openpty()
    done = subprocess.Popen(
        [*UNSPIN, "hook", *arguments], stdin=inner if stdin is None else stdin, stdout=subprocess.PIPE, stderr=inner
    )
    os.close(inner)
    shown = b""
    try:
        while data := os.read(outer, 1000):
            shown += data
    except OSError:  # the other end is closed
        pass
    os.close(outer)
    assert done.stdout is not None
    assert done.stdout.read() == b""
    done.stdout.close()
    return done.wait(timeout=20), shown.decode()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "an agent is expected (claude-code)"),
        (["no-such"], "no-such is no agent that unspin knows; it knows claude-code"),
        (["claude-code"], "unspin hook claude-code < payload.json"),
    ],
)
def test_a_person_who_calls_the_hook_is_told(arguments: list[str], said: str) -> None:
    status, shown = at_a_terminal(arguments, None)
    assert status == 0 and said in shown


def test_a_payload_at_a_terminal_is_answered_in_silence() -> None:
    assert at_a_terminal(["claude-code"], subprocess.DEVNULL) == (0, "")
