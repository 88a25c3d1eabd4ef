"""``make bench``: prints tables of medians and ratios, all measured in this one run.

    python benchmarks/run.py [--quick] [--profile] [--only PART,...] [--json FILE]

The parts: hook, peers, core, store, parsing, cost, checkpoints, scan, detection, stream.

What the tables mean stands in docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import checkpoints
import core
import detection
import growth
import hook_latency
import parsing
import peers
import run_turns
import stages
import streams
from harness import Report, load, machine

import cost
import scan

PARTS = {
    "hook": hook_latency.run,
    "peers": peers.run,
    "core": core.run,
    "store": growth.run,
    "parsing": parsing.run,
    "cost": cost.run,
    "checkpoints": checkpoints.run,
    "scan": scan.run,
    "detection": detection.run,
    "run": run_turns.run,
    "stream": streams.run,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Timings of unspin: medians and ratios against named baselines.")
    parser.add_argument("--quick", action="store_true", help="few repetitions, no network: does it run at all?")
    parser.add_argument("--profile", action="store_true", help="show where a hook's time goes, and nothing else")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas: %(default)s")
    parser.add_argument("--json", metavar="FILE", help="write all tables there as well")
    given = parser.parse_args(arguments)
    chosen = given.only.split(",")
    unknown = [each for each in chosen if each not in PARTS]
    if unknown:
        parser.error(f"unknown part {unknown[0]!r}; parts: {', '.join(PARTS)}")
    report, facts = Report(), machine()
    facts["load at the start"] = load()
    print("unspin: benchmarks. " + ", ".join(f"{key}: {value}" for key, value in facts.items()))
    # the folder's name must hold no word that makes the hook look closer, such as its own
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if given.profile:
            stages.run(report, _room(folder, "profile"))
        for name in [] if given.profile else chosen:
            PARTS[name](report, _room(folder, name), quick=given.quick)
    facts["load at the end"] = load()
    if report.aims:
        report.title("Aims")
        rows = [
            [each["aim"], each["measured"], each["limit"], "met" if each["met"] else "missed"] for each in report.aims
        ]
        report.table("Measured in this run", ["aim", "measured", "aim", ""], rows)
    busy = facts["load at the start"] > (facts["cores"] or 1) / 2
    print(
        f"Load: {facts['load at the start']:.1f} at the start, {facts['load at the end']:.1f} at the end (ours is 1)."
    )
    if busy:
        print("The machine was busy when this began: ratios hold better than times, and neither holds well.")
    if given.json:
        result = {"machine": facts, "tables": report.tables, "aims": report.aims}
        Path(given.json).write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


def _room(folder: str, name: str) -> Path:
    room = Path(folder).resolve() / name
    room.mkdir()
    return room


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
