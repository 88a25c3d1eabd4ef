"""What a person sees while a run goes on, on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from unspin.cli.watching import View

SPENT = {"tokens": 1200, "cost": 0.5, "seconds": 61.0}


def test_the_view_holds_stage_turn_verdicts_checks_and_cost() -> None:
    console = Console(file=io.StringIO(), width=90)
    view = View(console)
    view.tell("author_begun", {"turn": 4, "stage": "code", "spent": SPENT})
    view.tell("checks_done", {"turn": 4, "stage": "code", "spent": SPENT, "checks": [
        {"kind": "test", "outcome": "failed"}]})  # fmt: skip
    verdict = {
        "turn": 4,
        "stage": "code",
        "verdict": "revise",
        "open": 1,
        "blocking": 1,
        "returned": [],
        "spent": SPENT,
    }
    view.tell("verdict", verdict)
    view.tell("author_begun", {"turn": 5, "stage": "code\x1b[2J", "spent": SPENT})
    with console.capture() as shown:
        console.print(view)
    text = shown.get()
    assert "turn 5, code" in text and "code 4 revise" in text and "test failed" in text
    assert "1,200 tokens, $0.50, 61 s of work" in text and "\x1b" not in text
