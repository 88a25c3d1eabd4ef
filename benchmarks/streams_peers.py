"""Runs a peer's detector over texts, in the peers' own environment: started by ``streams.py``, imports nothing of ours.

    python streams_peers.py NAME TEXTS.json > RESULT.json

The result: for each text the offset at which the peer called it a loop, or null; and the processor's time in all.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

DELTA = 16


def degen_guard() -> Callable[[str], bool]:
    from degen_guard import DegenGuard

    guard = DegenGuard()
    return lambda delta: guard.feed(delta)[0]


def simurg() -> Callable[[str], bool]:
    from simurg import Simurg

    guard = Simurg()
    return lambda delta: guard.feed(delta).state == "corrupt"


def mimo_stable() -> Callable[[str], bool]:
    """It takes blocks: here each line is one, judged at once and not after three minutes."""
    import contextlib
    import io

    from mimo_stable.detect_loop import LoopDetector

    detector, rest = LoopDetector(text_mode="instant"), ""

    def feed(delta: str) -> bool:
        nonlocal rest
        *lines, rest = (rest + delta).split("\n")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for line in lines:
                detector.process_block(line)
        return detector.loop_detected

    return feed


PEERS = {"llm-degen-guard": degen_guard, "simurg": simurg, "mimo-stable": mimo_stable}


def main(name: str, path: str) -> None:
    with open(path, encoding="utf-8") as file:
        texts: dict[str, str] = json.load(file)
    make, offsets, read = PEERS[name], {}, 0
    make()("warm")
    begin = time.process_time()
    for key, text in texts.items():
        feed, offsets[key] = make(), None
        for at in range(0, len(text), DELTA):
            if feed(text[at : at + DELTA]):
                offsets[key] = at + DELTA
                break
        read += offsets[key] or len(text)
    json.dump({"offsets": offsets, "seconds": time.process_time() - begin, "read": read}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
