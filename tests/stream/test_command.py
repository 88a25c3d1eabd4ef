"""``unspin stream``: text through as it comes, and the end where it degenerates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

LOOP = b"I'll send it now, as I said.\n" * 2_000


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from unspin.cli import main; main()", "stream", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(given: bytes, *arguments: str) -> tuple[int, bytes, str]:
    process = start(*arguments)
    out, err = process.communicate(given, timeout=60)
    return process.returncode, out, err.decode()


def test_honest_text_passes_byte_by_byte() -> None:
    given = "Der Müll ist 3 € wert.\r\n\x00".encode() + bytes(range(256)) + "…".encode()[:2]
    assert run(given) == (0, given, "")
    assert run(b"") == (0, b"", "")


def test_a_loop_ends_it_with_status_4_and_says_why() -> None:
    status, out, err = run(b"First words.\n" + LOOP)
    assert status == 4
    assert out.startswith(b"First words.\nI'll send it")
    assert len(out) < 300
    assert err == (
        'unspin: stopped: the content repeated "I\'ll send it now, as I said." 8 times (232 characters, from character 11 '
        "on)\n"
    )


def test_for_scripts_the_trip_is_a_line_of_json() -> None:
    status, out, err = run("Größe.\n".encode() + b"\xff" + LOOP, "--json")
    trip = json.loads(err)["trip"]
    assert status == 4
    assert (trip["channel"], trip["repeats"], trip["chars"]) == ("content", 8, 232)
    assert len(out.decode("utf-8", "surrogateescape")) == trip["offset"]


def test_what_was_asked_for_passes() -> None:
    assert run(LOOP, "--expect", "I'll send it now, as I said.") == (0, LOOP, "")
    assert run(LOOP[:3_000], "--expect", "5000")[0] == 0
    assert run(LOOP, "--expect", "5000")[0] == 4
    assert len(run(LOOP, "--loosely", "4")[1]) > 800


def test_a_value_that_is_none_is_refused() -> None:
    status, _, err = run(b"", "--loosely", "0")
    assert status == 2
    assert "--loosely is 0.0; expected a number from 1" in err


def test_text_comes_through_before_the_end() -> None:
    process = start()
    assert process.stdin is not None and process.stdout is not None
    for word in (b"one ", "zwölf ".encode(), b"three\n"):
        process.stdin.write(word)
        process.stdin.flush()
        assert os.read(process.stdout.fileno(), 100) == word
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    process.stdout.close()


def test_a_reader_that_has_seen_enough_ends_it_quietly() -> None:
    process = start()
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(b"first\n")
    process.stdin.flush()
    assert os.read(process.stdout.fileno(), 10) == b"first\n"
    process.stdout.close()
    try:
        process.stdin.write(b"second\n")
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert process.wait(timeout=30) == 0
    assert process.stderr.read() == b""


def test_ctrl_c_ends_it_without_a_traceback() -> None:
    process = start()
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(b"first\n")
    process.stdin.flush()
    assert os.read(process.stdout.fileno(), 10) == b"first\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert process.stderr.read() == b""


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_an_end_that_is_closed_is_said_plainly(closed: str) -> None:
    code = "from unspin.cli import main; main()"
    command = ["sh", "-c", f'exec "$0" -c "$1" stream {closed}', sys.executable, code]
    ended = subprocess.run(command, input=b"text", capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert ended.stderr == b"unspin: stdin and stdout are needed: one of them is closed.\n"
