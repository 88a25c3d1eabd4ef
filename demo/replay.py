"""Replays a recorded session through the hook's own code: what was said, refused, and when it was released.

The session was recorded with the real Claude Code client and a scripted model
(demo/record.py); nothing here talks to a model.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

SESSION = Path(__file__).resolve().parent / "session.jsonl"
_OUTCOME = {True: "[red]fails[/red]", False: "[green]passes[/green]"}


def main() -> None:
    console = Console(highlight=False, width=min(Console().width, 100))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
        os.environ.pop("CLAUDE_PROJECT_DIR", None)
        from unspin import live

        console.print("A session with Claude Code, as recorded. [dim]What unspin does is in colour.[/dim]\n")
        for line in SESSION.read_text("utf-8").splitlines():
            payload = json.loads(line)
            answer = live.handle("claude-code", payload)
            show(console, payload, json.loads(answer.stdout) if answer.stdout else {})
    console.print(
        "\nThat is the whole of it: one line when the agent spins, a closed door when it is ignored, "
        "and your word opens it.\nWatch your own sessions: [bold].venv/bin/unspin install claude-code[/bold]"
    )


def show(console: Console, payload: dict[str, Any], said: dict[str, Any]) -> None:
    """Print one event and what the hook answered to it."""
    event = payload["hook_event_name"]
    if event == "UserPromptSubmit":
        console.print(f"[bold]you[/bold]     {escape(payload['prompt'])}")
        if _refusing:
            _refusing.clear()
            console.print("[green]unspin  released: the person has spoken, edits are let through again[/green]")
    elif event == "PostToolBatch":
        for call in payload["tool_calls"]:
            _show_call(console, call)
    own = said.get("hookSpecificOutput", {})
    if "additionalContext" in own:
        console.print(f"[yellow]unspin  {escape(own['additionalContext'])}[/yellow]")
    if "permissionDecisionReason" in own:
        _refusing.append(True)
        console.print(f"agent   {escape(_name(payload))}")
        console.print(f"[red]unspin  {escape(own['permissionDecisionReason'])}[/red]")


_refusing: list[bool] = []


def _show_call(console: Console, call: dict[str, Any]) -> None:
    text = call["tool_response"] if isinstance(call["tool_response"], str) else ""
    if "hook error" in text:
        return  # shown when it was refused
    outcome = f"  {_OUTCOME[text.startswith('Exit code')]}" if "--test" in _name(call) else ""
    console.print(f"agent   {escape(_name(call))}{outcome}")


def _name(call: dict[str, Any]) -> str:
    given = call["tool_input"]
    if "command" in given:
        return str(given["command"])
    name = f"{call['tool_name'].lower()} {os.path.basename(given['file_path'])}"
    return f"{name}: {given['new_string'].strip()}" if "new_string" in given else name


if __name__ == "__main__":
    main()
