"""Writes the parts of the docs that the code knows better: tables of rules and settings, the commands' help.

    python docs/generate.py            write them
    python docs/generate.py --check    change nothing; exit status 1 where a page is stale

What is written stands between `<!-- generated: NAME -->` and `<!-- end -->`; all else is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from unspin.cli.app import app
from unspin.detect import DETECTORS, Detection, Detector
from unspin.guard import messages
from unspin.guard.settings import _KINDS, KEYS
from unspin.run.settings import KEYS as RUN_KEYS

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WIDTH = 96
#: Settings that are read and checked, and do not do yet what their meaning says.
NOT_YET: dict[str, str] = {}
#: What the messages ask of a detection, with names in the place of what would be quoted.
_DETAILS = {
    "error": "ERROR",
    "actions": ["COMMAND"],
    "command": "COMMAND",
    "files": ["TEST"],
    "removed": 0,
    "skips": 0,
    "deleted": 0,
    "signal": "compaction",
    "size": 0,
    "text": "FINDING",
}
_DETAILS_OF = {"rot": {"signal": "tests", "size": 3}}
_BLOCK = re.compile(r"(<!-- generated: ([a-z_ -]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> dict[Path, str]:
    """Return every page that holds a generated part, with the text that it should have."""
    made = {}
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        text = path.read_text("utf-8")
        wanted = _BLOCK.sub(lambda block: block[1] + part(block[2]) + block[3], text)
        if _BLOCK.search(text):
            made[path] = wanted
    return made


def part(name: str) -> str:
    """Return one generated part: one of the names below, or a rule's own settings."""
    fixed: dict[str, Callable[[], str]] = {
        "settings": settings,
        "commands": commands,
        "run settings": run_settings,
        "rules": lambda: rules(""),
        "rules from the readme": lambda: rules("docs/rules/"),
    }
    if name in fixed:
        return fixed[name]()
    for detector in DETECTORS:
        if detector.rule == name:
            return settings_of(detector)
    known = ", ".join([*fixed, *(each.rule for each in DETECTORS)])
    raise SystemExit(f"docs: there is no generated part {name!r}; there are: {known}")


def rules(folder: str) -> str:
    """Return the table of rules; `folder` leads from the page to the rules' pages."""
    rows = []
    for detector in DETECTORS:
        first = (detector.__doc__ or "").strip().splitlines()[0]
        key = detector.switch()
        rows.append(
            (
                f"[`{detector.rule}`]({folder}{detector.rule}.md)",
                first.removeprefix("Fires when ").rstrip("."),
                f"`{key}` = {value(KEYS[key][1])}",
                f"`{opening(detector)}`",
            )
        )
    return table(("rule", "fires when", "threshold or switch", "the line begins with"), rows)


def opening(detector: type[Detector]) -> str:
    """Return the first sentence of a rule's line, as the messages make it."""
    default = KEYS[detector.switch()][1]
    count = 2 if isinstance(default, bool) else default
    details = {**_DETAILS, **_DETAILS_OF.get(detector.rule, {})}
    found = Detection(detector.rule, "FILE", count, [], file="FILE", details=details)
    now = messages.Situation(passed=True, checkpoints=True, working_checkpoint=False)
    return messages.nudge(found, now).partition(". ")[0]


def settings() -> str:
    """Return the table of all settings, in the order of their tables in the file."""
    order = {name: at for at, name in enumerate(dict.fromkeys(key.rpartition(".")[0] for key in KEYS))}
    keys = sorted(KEYS, key=lambda key: order[key.rpartition(".")[0]])  # a stable sort: as written within a table
    rule_of = {key: each.rule for each in DETECTORS for key in each.keys}
    return table(
        ("key", "default", "value", "meaning"),
        ((*_setting(key), f"{KEYS[key][2]}{_of_rule(rule_of.get(key, ''))}{_not_yet(key)}") for key in keys),
    )


def run_settings() -> str:
    """Return the table of the settings of `unspin run`."""
    rows = [
        (f"`run.{key}`", value(default) if default is not None else "none", meaning)
        for key, (default, meaning) in RUN_KEYS.items()
    ]
    return table(("key", "default", "meaning"), rows)


def settings_of(detector: type[Detector]) -> str:
    """Return a rule's own settings, and how it is switched off and muted."""
    rows = table(("key", "default", "value", "meaning"), ((*_setting(key), KEYS[key][2]) for key in detector.keys))
    rule = detector.rule
    return (
        f"{rows}\nOff: `{detector.switch()} = false`. "
        f'Logged and never said: `log_only = ["{rule}"]`, or in one folder\n'
        f"`unspin mute {rule}` (`--file F` for one file, `--off` takes it back). "
        "See [settings](../settings.md).\n"
    )


def _setting(key: str) -> tuple[str, str, str]:
    kind, default, _ = KEYS[key]
    return f"`{key}`", value(default), _KINDS[kind][1].replace("|", "\\|")


def _of_rule(rule: str) -> str:
    return f" ([{rule}](rules/{rule}.md))" if rule else ""


def _not_yet(key: str) -> str:
    return f" (**{NOT_YET[key]}**)" if key in NOT_YET else ""


def value(given: Any) -> str:
    """Return a value as it is written in TOML."""
    if isinstance(given, bool):
        text = str(given).lower()
    elif isinstance(given, str):
        text = f'"{given}"'
    elif isinstance(given, (tuple, list)):
        text = "[" + ", ".join(f'"{each}"' for each in given) + "]"
    elif isinstance(given, dict):
        text = "{}"
    else:
        text = str(given)
    return f"`{text}`"


def commands() -> str:
    """Return every command with its own help."""
    parts = [f"## unspin\n\n```text\n{_help(app, 'unspin')}\n```\n"]
    context = click.Context(app, info_name="unspin")
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        parts.append(f"## unspin {name}\n\n```text\n{_help(command, f'unspin {name}')}\n```\n")
    return "\n".join(parts)


def _help(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH)
    context.help_option_names = ["-h", "--help"]
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Write the pages, or say which are stale."""
    stale = [path for path, text in pages().items() if path.read_text("utf-8") != text]
    names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
    if "--check" in sys.argv[1:]:
        if stale:
            raise SystemExit(f"stale: {names}. Write them anew with: python docs/generate.py")
        return
    for path, text in pages().items():
        path.write_text(text, "utf-8")
    print(f"written: {names}" if stale else "all pages are fresh")


if __name__ == "__main__":
    main()
