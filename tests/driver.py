"""Drives the hook as Claude Code would, without the client: real payload shapes, a store in a temporary folder."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from unspin import live
from unspin.store import Store


class Answered:
    """What one hook process said."""

    def __init__(self, stdout: str, stderr: str, status: int):
        self.stdout = stdout
        self.stderr = stderr
        self.status = status
        self.document: dict[str, Any] = json.loads(stdout) if stdout else {}

    @property
    def line(self) -> str:
        """The line given to the agent, empty if none."""
        return self.document.get("hookSpecificOutput", {}).get("additionalContext", "")

    @property
    def reason(self) -> str:
        """The reason of a refusal, empty if the call was let through."""
        return self.document.get("hookSpecificOutput", {}).get("permissionDecisionReason", "")


class Client:
    """One session of an agent in ``folder``."""

    def __init__(self, folder: Path, *, settings: str = "", agent: str = "claude-code"):
        self.agent = agent
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.project = self.project.resolve()
        self.store = Store(str(folder / "state"))
        self.session = str(uuid.uuid4())
        self.cwd = str(self.project)
        self.calls = 0
        self.said: list[str] = []
        self.checkpoints = False  # take them: tests of other things need no snapshots
        if settings:
            (self.project / "unspin.toml").write_text(settings)

    # -- events ------------------------------------------------------------------------

    def send(self, event: str, **fields: Any) -> Answered:
        payload = {
            "session_id": self.session,
            "transcript_path": str(self.project / "none.jsonl"),
            "cwd": self.cwd,
            "hook_event_name": event,
            "permission_mode": "default",
            **fields,
        }
        os.environ.pop("CLAUDE_PROJECT_DIR", None)
        answer = live.handle(self.agent, json.loads(json.dumps(payload)), self.store)
        if answer.checkpoint is not None and self.checkpoints:
            answer.checkpoint.take(os.path.dirname(self.store.path))
        answered = Answered(answer.stdout, answer.stderr, answer.status)
        if answered.line:
            self.said.append(answered.line)
        return answered

    def prompt(self, text: str = "go on", **fields: Any) -> Answered:
        return self.send("UserPromptSubmit", prompt=text, **fields)

    def before(self, call: dict[str, Any], **fields: Any) -> Answered:
        """The hook before a tool."""
        return self.send(
            "PreToolUse", **{key: value for key, value in call.items() if key != "tool_response"}, **fields
        )

    def round(self, *calls: dict[str, Any], **fields: Any) -> str:
        """A round whose calls all ran; returns the line given, empty if none."""
        for call in calls:
            answered = self.before(call, **fields)
            assert answered.status == 0, f"refused: {answered.reason}"
        return self.batch(*calls, **fields)

    def batch(self, *calls: dict[str, Any], **fields: Any) -> str:
        """The hook after a round, alone."""
        return self.send("PostToolBatch", tool_calls=list(calls), **fields).line

    # -- calls -------------------------------------------------------------------------

    def call(self, tool: str, response: Any, **given: Any) -> dict[str, Any]:
        self.calls += 1
        return {
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"toolu_{self.calls:04}",
            "tool_response": response,
        }

    def path(self, name: str) -> str:
        return name if name.startswith("/") else str(self.project / name)

    def edit(self, name: str, old: str = "a", new: str | None = None) -> dict[str, Any]:
        """An edit that the tool accepted; different each time unless ``new`` is given."""
        new = f"b{self.calls}" if new is None else new
        text = f"The file {self.path(name)} has been updated successfully. (file state is current in your context)"
        return self.call("Edit", text, file_path=self.path(name), old_string=old, new_string=new, replace_all=False)

    def refused(self, name: str, old: str = "a", text: str = "String to replace not found in file.") -> dict[str, Any]:
        response = f"<tool_use_error>{text}\nString: {old}</tool_use_error>"
        return self.call("Edit", response, file_path=self.path(name), old_string=old, new_string="b")

    def write(self, name: str, content: str) -> dict[str, Any]:
        text = f"File created successfully at: {self.path(name)} (file state is current in your context)"
        return self.call("Write", text, file_path=self.path(name), content=content)

    def read(self, name: str, content: str = "1\tx = 1") -> dict[str, Any]:
        return self.call("Read", content, file_path=self.path(name))

    def bash(self, command: str, output: str = "", status: int = 0) -> dict[str, Any]:
        if status:
            output = f"Exit code {status}\n{output}" if output else f"Exit code {status}"
        return self.call("Bash", output or "(Bash completed with no output)", command=command, description="d")

    # -- what came of it ---------------------------------------------------------------

    def log(self) -> list[dict[str, Any]]:
        found = list(self.store.detections(self.session))
        return [{**each, "evidence": json.loads(each["evidence"])} for each in found]

    def rules(self) -> list[str]:
        """The rules that were noticed, each identity once, in order."""
        return [each["rule"] for each in self.log() if each["response"] in ("none", "nudge")]
