"""The command that guards a pipe: text through, as it comes, until it degenerates."""

from __future__ import annotations

import codecs
import json
import os
import sys

import click

from unspin.cli import common
from unspin.stream import StreamConfig, StreamGuard, Trip

DEGENERATED = 4
_READ = 4_096  # bytes at a time; a read returns as soon as there are any


@click.command(
    epilog=common.examples(
        "llm 'Summarise this' < notes.txt | unspin stream",
        "my-model | unspin stream --json 2> trips.jsonl",
        "my-model | unspin stream --expect 20000",
    )
)
@click.option("--json", "as_json", is_flag=True, help="The trip as a line of JSON on stderr, for scripts.")
@click.option(
    "--expect",
    metavar="N|TEXT",
    help="What was asked for: loops of up to N characters, or TEXT over and over, are let through.",
)
@click.option("--loosely", type=float, default=1.0, metavar="FACTOR", help="Judge less strictly; 1 is the default.")
def stream(as_json: bool, expect: str | None, loosely: float) -> None:
    """Pass stdin to stdout as it comes; stop where the text degenerates.

    Stops with exit status 4 where one line or paragraph comes over and over, a token is glued to
    itself for ever, or the text goes in circles; what repeated is said on stderr. What came before the
    loop was found is on stdout by then. Bytes pass as they are, those that are no UTF-8 too.
    """
    expected: bool | int | str = False
    if expect is not None:
        expected = int(expect) if expect.isdecimal() else expect
    try:
        guard = StreamGuard(StreamConfig(content=loosely, expected_repetition=expected))
    except ValueError as error:
        told = str(error).replace("content is", "--loosely is").replace("expected_repetition is", "--expect is")
        raise click.UsageError(told.replace(", or False to leave this channel out", "")) from None
    sys.exit(_pass_on(guard, as_json))


def _pass_on(guard: StreamGuard, as_json: bool) -> int:
    if sys.stdin is None or sys.stdout is None:  # closed by who started it
        raise common.Problem("stdin and stdout are needed: one of them is closed.")
    source, sink = sys.stdin.fileno(), sys.stdout.fileno()
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    seen = 0
    try:
        while True:
            data = os.read(source, _READ)
            text = decoder.decode(data, not data)
            seen += len(text)
            trip = guard.feed_content_delta(text)
            if trip is not None:
                text = text[: len(text) - (seen - trip.offset)]
            _write(sink, text.encode("utf-8", "surrogateescape"))
            if trip is not None:
                _tell(trip, as_json)
                return DEGENERATED
            if not data:
                return 0
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sink)
        return 0
    except KeyboardInterrupt:
        return 130


def _write(sink: int, data: bytes) -> None:
    while data:
        data = data[os.write(sink, data) :]


def _tell(trip: Trip, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"trip": trip.as_mapping()}, ensure_ascii=False), err=True)
    else:
        common.warn(f"stopped: {trip} ({trip.chars:,} characters, from character {trip.onset:,} on)")
