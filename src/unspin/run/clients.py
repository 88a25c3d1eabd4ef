"""What unspin adds to a worker that is a client it knows; any other command is started as it stands.

Claude Code gets the live guard where the person has not installed it, and leave to write the one file that is
handed over. Codex gets that leave: else its sandbox, which is read-only where none is named, lets it write nothing.
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
#: Options of Codex that choose a sandbox.
_SANDBOXES = (
    "-s", "--sandbox", "--approve-for-me", "--dangerously-bypass-approvals-and-sandbox", "--yolo"
)  # fmt: skip
#: By which a client goes on with an earlier session: a worker begins with an empty context.
_RESUMING = ("-c", "--continue", "-r", "--resume", "--from-pr", "--session-id")
_CODEX_RESUMING = ("resume", "fork")
_LOOKING = ("Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)", "Bash(git status:*)")

INSTALLED = "unspin's hooks of your own settings"
GIVEN = "unspin's hooks, by --settings"
OWN_SETTINGS = "none added: the command has --settings of its own"
NOT_KNOWN = "none: not a client that unspin has hooks for"


def is_claude(command: Sequence[str]) -> bool:
    """Tell whether a command line starts Claude Code."""
    return os.path.basename(command[0]) in ("claude", "claude.exe")


def is_codex(command: Sequence[str]) -> bool:
    """Tell whether a command line starts Codex."""
    return os.path.basename(command[0]) in ("codex", "codex.exe")


def is_counted(command: Sequence[str]) -> bool:
    """Tell whether what a worker uses can be known: see ``usage``."""
    return is_claude(command) or is_codex(command)


def goes_on_with(command: Sequence[str]) -> str:
    """Return the word of a command line by which it would go on with an earlier session, empty where it has none."""
    known = _RESUMING if is_claude(command) else _CODEX_RESUMING if is_codex(command) else ()
    return next((each for each in command[1:] if each.partition("=")[0] in known), "")


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
    if is_codex(command):
        sandbox = [] if _has_sandbox(command) else ["--sandbox", "workspace-write"]
        return [command[0], *sandbox, "--add-dir", hand, *command[1:]], None
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


def _has_sandbox(command: Sequence[str]) -> bool:
    return any(each.startswith(_SANDBOXES) or "sandbox_mode=" in each.replace(" ", "") for each in command)
