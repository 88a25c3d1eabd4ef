"""What unspin adds to a worker that is Claude Code: the live guard where the person has not installed it, and leave
to write the one file that is handed over. Any other command is started as it stands.
"""

from __future__ import annotations

import json
import os

from unspin import agents
from unspin.agents import installing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_CLAUDE = "claude-code"
_LOOKING = ("Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)", "Bash(git status:*)")

INSTALLED = "unspin's hooks of your own settings"
GIVEN = "unspin's hooks, by --settings"
OWN_SETTINGS = "none added: the command has --settings of its own"
NOT_KNOWN = "none: not a client that unspin has hooks for"


def is_claude(command: Sequence[str]) -> bool:
    """Tell whether a command line starts Claude Code."""
    return os.path.basename(command[0]) in ("claude", "claude.exe")


def guard_of(command: Sequence[str], project: str) -> str:
    """Return in words which live guard a worker has."""
    if not is_claude(command):
        return NOT_KNOWN
    found = installing.look(_CLAUDE, agents.load(_CLAUDE, "_install"), project)
    if found.state == installing.INSTALLED:
        return INSTALLED
    return OWN_SETTINGS if _has_settings(command) else GIVEN


def prepared(
    command: Sequence[str], *, path: str, project: str, hand: str, workspace: str
) -> tuple[list[str], str | None]:
    """Return the command as it is started, and what the settings file at ``path`` has to hold for it."""
    if not is_claude(command) or _has_settings(command):
        return list(command), None
    settings: dict[str, Any] = {
        "permissions": {
            "allow": [f"Edit(/{hand}/**)", f"Read(/{hand}/**)", f"Read(/{workspace}/**)", *_LOOKING],
            "additionalDirectories": [hand, workspace],
        }
    }
    if guard_of(command, project) == GIVEN:
        client = agents.load(_CLAUDE, "_install")
        plan = client.plan_install(os.path.join(os.path.dirname(path), "no-settings.json"))
        settings.update(json.loads(plan.after or "{}"))
    return [command[0], "--settings", path, *command[1:]], json.dumps(settings, indent=1) + "\n"


def _has_settings(command: Sequence[str]) -> bool:
    return any(each == "--settings" or each.startswith("--settings=") for each in command)
