"""What people see of a run while it goes on: a line an event, and on a terminal a few that are kept up to date."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from unspin.cli import show


def words(kind: str, fields: dict[str, Any]) -> str:
    """Return one event of a run in words, empty where it needs none."""
    if kind == "run_begun":
        return f"branch {fields['branch']} from {fields['base'][:10]}"
    if kind == "author_begun":
        return "author at work"
    if kind == "author_done":
        return f"author done in {fields['seconds']:.0f} s" if fields["ok"] else f"author failed: {fields['problem']}"
    if kind == "checks_done":
        return "checks: " + ", ".join(f"{each['kind']} {each['outcome']}" for each in fields["checks"])
    if kind == "review_done":
        again = f" (attempt {fields['attempt']})" if fields["attempt"] > 1 else ""
        return f"{fields['reviewer']}{again}: {fields['problem'] or 'reviewed'}"
    if kind == "verdict":
        back = f", returned word for word: {', '.join(fields['returned'])}" if fields["returned"] else ""
        return (
            f"verdict {fields['verdict']}, {show.number(fields['open'], 'finding')} open, "
            f"{fields['blocking']} blocking{back}"
        )
    if kind == "workspace_mended":
        return f"a worker changed what is not its own; put back: {', '.join(fields['changed'])}"
    if kind == "checkout_changed":
        return f"your own checkout changed meanwhile (you, or the worker): {', '.join(fields['changed'])}"
    if kind == "rot":
        return str(fields["message"]).removeprefix("Unspin: ")
    return _rare(kind, fields)


def _rare(kind: str, fields: dict[str, Any]) -> str:
    if kind == "resumed":
        return "resumed"
    if kind == "arrived":
        return f"taken up from its workspace, for {show.tilde(fields['repository'])}"
    if kind == "settings":
        return f"settings of {show.tilde(fields['path'])} hold from here on"
    if kind == "decided":
        return f"you decided: {fields['decision']}{': ' if fields['note'] else ''}{fields['note']}"
    if kind == "shipped":
        return f"shipped: branch {fields['branch']}"
    if kind == "end":
        return f"{fields['state']}: {fields['stop_reason']} after {show.number(fields['turns'], 'author turn')}"
    return ""


def line(kind: str, fields: dict[str, Any], when: float) -> str:
    """Return the line of an event, empty where it needs none."""
    text = words(kind, fields)
    if not text:
        return ""
    turn = f"turn {fields['turn']:>2} {fields.get('stage', ''):<7}" if "turn" in fields else ""
    stamp = time.strftime("%H:%M:%S", time.localtime(when))
    return show.clean(f"{stamp}  {turn}  {text}" if turn else f"{stamp}  {text}")


class View:
    """The lines that stand below while a run goes on: what is at work, the verdicts so far, checks and cost."""

    def __init__(self, console: Console):
        self.console = console
        self._now, self._since = "begins", time.monotonic()
        self._verdicts: list[str] = []
        self._checks = ""
        self._spent = {"tokens": 0, "cost": 0.0, "seconds": 0.0}

    def tell(self, kind: str, fields: dict[str, Any]) -> None:
        """Take in one event, and print its line above."""
        text = line(kind, fields, time.time())
        if text:
            self.console.print(Text(text), soft_wrap=True)
        self._spent = fields.get("spent", self._spent)
        if "turn" in fields and kind != "verdict":
            what = {"author_begun": "author", "author_done": "checks or reviews", "checks_done": "reviews"}
            self._now = f"turn {fields['turn']}, {fields.get('stage', '')}: {what.get(kind, 'reviews')}"
            self._since = time.monotonic()
        if kind == "verdict":
            self._verdicts.append(f"{fields['stage']} {fields['turn']} {fields['verdict']}")
            self._now, self._since = "next turn", time.monotonic()
        if kind == "checks_done":
            self._checks = ", ".join(f"{each['kind']} {each['outcome']}" for each in fields["checks"])

    def __rich__(self) -> Group:
        took = int(time.monotonic() - self._since)
        spent = self._spent
        cost = f"{spent['tokens']:,} tokens, ${spent['cost']:,.2f}, {spent['seconds']:,.0f} s of work"
        rows = [f"now       {self._now} ({took // 60}:{took % 60:02})"]
        rows += [f"verdicts  {', '.join(self._verdicts[-6:])}"] if self._verdicts else []
        rows += [f"checks    {self._checks}"] if self._checks else []
        rows.append(f"cost      {cost}")
        return Group(*(Text(show.clean(row), style="dim", no_wrap=True, overflow="ellipsis") for row in rows))


@contextlib.contextmanager
def watched() -> Iterator[Any]:
    """Give the function that is told each event."""
    if not sys.stdout.isatty():
        yield lambda kind, fields: say(line(kind, fields, time.time()))
        return
    console = Console(highlight=False)
    view = View(console)
    with Live(view, console=console, refresh_per_second=2, transient=True):
        yield view.tell


def say(text: str, *, err: bool = False) -> None:
    """Print a line, if it is one; a run goes on where nobody reads it any more (``| head``)."""
    if not text:
        return
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), (sys.stderr if err else sys.stdout).fileno())
