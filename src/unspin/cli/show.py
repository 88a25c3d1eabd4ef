"""What the commands show people: short, plain, no control character of anybody else's."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unspin.guard.messages import quote


def plain(text: str) -> str:
    """Return foreign text fit for a terminal: one line, no escape sequences."""
    return quote(text, keep_end=True)[1:-1]


def status(report: dict[str, Any]) -> None:
    """Print a session's state."""
    console = Console(highlight=False)
    console.print(
        f"[bold]{escape(plain(report['project']))}[/bold]  {report['agent']}  session {plain(report['session'])}"
    )
    console.print(f"mode      {report['mode']}    last event {_ago(report['updated'])}")
    if report["refusing"]:
        files = ", ".join(escape(plain(each)) for each in report["refusing"])
        console.print(f"[red]refusing  edits of {files}[/red]  (your next message ends it, or: unspin release)")
    for each in report["streaks"]:
        about = f" on {escape(plain(each['about']))}" if each["about"] else ""
        console.print(f"streak    {each['rule']} {each['count']} of {each['threshold']}{about}")
    for each in report["muted"]:
        console.print(f"muted     {each['rule']} {escape(plain(each['file']))}")
    counts = ", ".join(f"{rule} {count}" for rule, count in report["detections"].items()) or "none"
    console.print(f"noticed   {counts}")
    console.print(f"said      {report['nudges']} nudges, {report['blocks']} refusals")


def finding(found: dict[str, str]) -> None:
    """Print one finding of the doctor."""
    console = Console(highlight=False)
    colour = {"ok": "green", "note": "yellow", "wrong": "red"}[found["state"]]
    text = escape(" ".join(quote(found["text"], longest=400)[1:-1].split()))
    console.print(f"[{colour}]{found['state']:<6}[/{colour}]{found['about']:<15} {text}")
    if found["remedy"]:
        console.print(f"{'':21} [bold]{escape(found['remedy'])}[/bold]")


def log(found: list[dict[str, Any]]) -> None:
    """Print detections as a table."""
    console = Console(highlight=False)
    if not found:
        console.print("Nothing was noticed.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("when", "session", "response", "what"):
        table.add_column(name, overflow="fold", no_wrap=name != "what")
    colours = {"nudge": "yellow", "block": "red", "halt": "red"}
    for each in found:
        colour = colours.get(each["response"], "dim")
        table.add_row(
            time.strftime("%d %b %H:%M", time.localtime(each["time"])),
            escape(plain(each["session"])[:8]),
            f"[{colour}]{each['response']}[/{colour}]",
            escape(each["message"]),
        )
    console.print(table)


def _ago(then: float) -> str:
    seconds = max(0, int(time.time() - then))
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"
