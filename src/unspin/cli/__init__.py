"""The command line. ``unspin hook`` and ``unspin statusline`` are answered before anything heavy is loaded."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; the entry point of the ``unspin`` program."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"--help", "-h"} & set(arguments):
        if os.isatty(2) and _told_person(arguments[1:]):
            sys.exit(0)
        from unspin import hook

        hook.main(arguments[1] if len(arguments) > 1 else "", plugin="--plugin" in arguments)
    if arguments[:1] == ["statusline"] and len(arguments) == 1:
        from unspin.cli import statusline

        statusline.main([])
    from unspin.cli.app import app

    app(prog_name="unspin")


def _told_person(arguments: list[str]) -> bool:
    """Tell a person at a terminal why this hook can answer nothing. Agents' hooks have no terminal."""
    from unspin.agents import AGENTS

    known = ", ".join(AGENTS)
    if not arguments:
        fault = f"hook: an agent is expected ({known}), none was given"
    elif arguments[0] not in AGENTS:
        fault = f"hook: {ascii(arguments[0])[1:-1]} is no agent that unspin knows; it knows {known}"
    elif os.isatty(0):
        fault = f"hook: a payload is expected on stdin, not a terminal: unspin hook {arguments[0]} < payload.json"
    else:
        return False
    print(f"unspin: {fault}", file=sys.stderr)
    return True
