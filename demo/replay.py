"""Replays a recorded session through the hook's own code: what was said, refused, and when it was released.

The session was recorded with the real Claude Code client and a scripted model
(demo/record.py); nothing here talks to a model.
"""

from __future__ import annotations

import json
import os
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

SESSION = Path(__file__).resolve().parent / "session.jsonl"
INDENT = 8  # columns of the speaker's name


class Page:
    """Prints who does what, wrapped beside the speaker's name; a blank line around what unspin does."""

    def __init__(self) -> None:
        terminal = Console()
        self._console = Console(highlight=False, width=min(terminal.width, 100), soft_wrap=True)
        self._last = ""
        self.refusing = False

    def say(self, speaker: str, text: str, style: str = "") -> None:
        """Print what a speaker does or says."""
        if self._last and "unspin" in (speaker, self._last):
            self._console.print()
        self._last = speaker
        wrapped = self._wrapped(text, INDENT)
        name = Text(speaker.ljust(INDENT), style or ("bold" if speaker == "you" else ""))
        self._console.print(name + Text(f"\n{' ' * INDENT}".join(wrapped), style))

    def tell(self, text: str) -> None:
        """Print a sentence of our own."""
        self._console.print(Text("\n".join(self._wrapped(text, 0))))

    def _wrapped(self, text: str, indent: int) -> list[str]:
        width = max(20, self._console.width - indent)
        return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def main() -> None:
    """Replay the session."""
    page = Page()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
        os.environ.pop("CLAUDE_PROJECT_DIR", None)
        from unspin import live

        page.tell("A session with Claude Code, as recorded. What unspin does is in colour.")
        print()
        for line in SESSION.read_text("utf-8").splitlines():
            payload = json.loads(line)
            answer = live.handle("claude-code", payload)
            show(page, payload, json.loads(answer.stdout) if answer.stdout else {})
    print()
    page.tell(
        "That is the whole of it: one line when the agent spins, a closed door when it is ignored, "
        "and your word opens it."
    )
    page.tell('To watch your own sessions, see "Use it" in README.md.')


def show(page: Page, payload: dict[str, Any], said: dict[str, Any]) -> None:
    """Print one event and what the hook answered to it."""
    event = payload["hook_event_name"]
    if event == "UserPromptSubmit":
        page.say("you", payload["prompt"])
        if page.refusing:
            page.refusing = False
            page.say("unspin", "released: the person has spoken, edits are let through again", "green")
    elif event == "PostToolBatch":
        for call in payload["tool_calls"]:
            _show_call(page, call)
    own = said.get("hookSpecificOutput", {})
    if "additionalContext" in own:
        page.say("unspin", _unnamed(own["additionalContext"]), "yellow")
    if "permissionDecisionReason" in own:
        page.refusing = True
        page.say("agent", _name(payload))
        page.say("unspin", _unnamed(own["permissionDecisionReason"]), "red")


def _show_call(page: Page, call: dict[str, Any]) -> None:
    text = call["tool_response"] if isinstance(call["tool_response"], str) else ""
    if "hook error" in text:
        return  # shown when it was refused
    outcome = ("  fails" if text.startswith("Exit code") else "  passes") if "--test" in _name(call) else ""
    page.say("agent", f"{_name(call)}{outcome}")


def _unnamed(line: str) -> str:
    """Return a line without the name that stands before it here anyway."""
    return line.removeprefix("Unspin: ")


def _name(call: dict[str, Any]) -> str:
    given = call["tool_input"]
    if "command" in given:
        return str(given["command"])
    name = f"{call['tool_name'].lower()} {os.path.basename(given['file_path'])}"
    return f"{name}: {given['new_string'].strip()}" if "new_string" in given else name


if __name__ == "__main__":
    main()
