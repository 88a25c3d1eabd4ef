"""What faces the agents: one file for each agent's protocol.

``AGENTS`` is the one list: the name that people type, and the module. A module offers
``session(payload)`` (its id), ``before_tool(payload)`` (is it the question before a
tool?), ``contents_before(payload, test_paths)``, ``read(payload, known) -> Incoming | None`` and
``answer(incoming, responses) -> Answer``; beside it stands ``<module>_install`` with
``HOOKS``, ``settings_path``, ``settings_files``, ``entries``, ``switched_off``,
``plan_install``, ``plan_uninstall``, ``plugin``, ``statusline``, ``hidden_line`` and
``hiding_line`` (see CONTRIBUTING.md, "Add an agent").
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any

    from unspin.events import Event

AGENTS: dict[str, str] = {
    "claude-code": "unspin.agents.claude_code",
}


class Known:
    """What is known of a session when its next payload is read.

    ``cwd`` is the folder the agent stood in at its last event (the one in the payload of a
    finished round is the folder after it); ``texts`` what test files held before they
    were written over, by real path.
    """

    __slots__ = ("cwd", "texts")

    def __init__(self, cwd: str = "", texts: Mapping[str, str] | None = None):
        self.cwd = cwd
        self.texts = texts or {}


class Incoming:
    """A hook's payload, read: whose session it is, what happened, and where the agent stands."""

    __slots__ = (
        "begins",
        "carries",
        "checkpoint",
        "context",
        "cwd",
        "event",
        "events",
        "fresh",
        "project",
        "session",
        "subagent",
    )

    def __init__(self, session: str, project: str, cwd: str, event: str, events: list[Event], *, fresh: bool = False):
        self.session = session
        self.project = project
        self.cwd = cwd
        self.event = event  # the agent's own name of the hook event
        self.events = events
        self.carries = False  # an answer to it can bring a line to the main agent
        self.subagent = False  # its folder is not that of the main agent
        self.checkpoint: Any = None  # what is to be kept of the work tree after it (``live.Checkpointing``)
        self.begins = False  # a session with an empty context begins: what was handed off is given to it
        self.context = ""  # what it is given
        self.fresh = fresh  # the session's history is gone (the person cleared it)


class Answer:
    """What a hook process says: exit status 2 is for a decided block and nothing else.

    ``checkpoint`` is what is to be kept of the work tree after it was said.
    """

    __slots__ = ("checkpoint", "status", "stderr", "stdout")

    def __init__(self, stdout: str = "", stderr: str = "", status: int = 0):
        self.stdout = stdout
        self.stderr = stderr
        self.status = status
        self.checkpoint: Any = None


def load(name: str, part: str = "") -> ModuleType:
    """Return the module of an agent, or its ``_install`` part; raise ``KeyError`` for one not in ``AGENTS``."""
    module = AGENTS[name] + part
    __import__(module)
    return sys.modules[module]
