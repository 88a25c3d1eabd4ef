"""Claude Code's hook protocol: payloads to events, responses to its JSON.

The round is ``PostToolBatch``: it fires once after all calls of a response, and shows
failed edits and refused calls that no other hook shows. What was seen of the protocol
on the real client stands in docs/protocols/claude-code.md.
"""

from __future__ import annotations

import os

from unspin import events as ev
from unspin.agents import Answer, Incoming, Known
from unspin.agents.claude_transcript import is_error, last_context
from unspin.facts.digest import digest_bytes
from unspin.facts.files import absolute, written_paths
from unspin.facts.roles import file_role, is_test_like
from unspin.facts.shell import read_line
from unspin.paths import real as real_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from unspin.guard import Response

#: The hooks that are installed: event -> matcher ("" for all).
HOOKS: dict[str, str] = {
    "SessionStart": "",
    "UserPromptSubmit": "",
    "PreToolUse": "Bash|Edit|MultiEdit|Write|NotebookEdit",
    "PostToolBatch": "",
    "PreCompact": "",
}

#: The events whose answer reaches the model. (What PreCompact prints would become part of the summary's task.)
_CARRYING = ("SessionStart", "UserPromptSubmit", "PostToolBatch")

_ACTIONS: dict[str, str] = {
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), ev.EDIT),
    **dict.fromkeys(
        ("Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch", "Skill", "LSP"),
        ev.READ,
    ),
    **dict.fromkeys(
        (
            "BashOutput",
            "TaskOutput",
            "AgentOutputTool",
            "Monitor",
            "KillShell",
            "KillBash",
            "TaskStop",
            "Sleep",
        ),
        ev.WAIT,
    ),
    **dict.fromkeys(
        ("TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode"), ev.NOTE
    ),
    **dict.fromkeys(("AskUserQuestion", "ExitPlanMode"), ev.ASK),
    **dict.fromkeys(("Agent", "Task"), ev.AGENT),
    "Bash": ev.SHELL,
}

#: The agent's own gloss on a call, which is no part of what identifies it.
_GLOSS: dict[str, tuple[str, ...]] = {"Bash": ("description", "timeout"), "Agent": ("description",)}

#: Words in the names of tools that wait for something or look after it.
_WAITING = ("wait", "poll", "status", "progress", "logs")
_RUNNING = (
    "run",
    "runs",
    "job",
    "jobs",
    "build",
    "builds",
    "deployment",
    "deployments",
    "pipeline",
    "workflow",
    "task",
)

MACHINE_SOURCES = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
MACHINE_OPENINGS = (
    "<task-notification>",
    "<system-reminder>",
    "<local-command-",
    "<bash-",
    "[SYSTEM NOTIFICATION",
)
_OWN_COMMANDS = "/unspin:"  # the plugin's
_MAX_HASHED = 2_000_000  # bytes of a file whose content is hashed
_MAX_TEXT = 256_000  # bytes of a file whose text is compared


def session(payload: Mapping[str, Any]) -> str:
    """Return the session's id, empty where the payload names none."""
    return _string(payload, "session_id")


def before_tool(payload: Mapping[str, Any]) -> bool:
    """Tell whether the payload asks about a call that is about to be made."""
    return payload.get("hook_event_name") == "PreToolUse"


def read(payload: Mapping[str, Any], known: Known) -> Incoming | None:
    """Return what a payload says, or ``None`` where it says nothing to us."""
    event, identity = _string(payload, "hook_event_name"), session(payload)
    if not identity:
        return None
    cwd = payload.get("cwd")
    cwd = cwd if isinstance(cwd, str) and cwd.startswith("/") and _can_be_a_folder(cwd) else known.cwd or "/"
    reader = _READERS.get(event)
    if reader is None:
        return None
    incoming = Incoming(identity, _project(cwd), cwd, event, [])
    incoming.subagent = bool(_agent(payload))
    incoming.carries = event in _CARRYING and not incoming.subagent
    reader(incoming, payload, known)
    return incoming


def contents_before(payload: Mapping[str, Any], test_paths: Sequence[str] = ()) -> dict[str, str]:
    """Return the present texts of the test files that a call is about to write over, by real path.

    Only where the call itself does not say what stood there. ``test_paths`` are the
    person's own patterns of test files.
    """
    cwd = payload.get("cwd")
    if payload.get("tool_name") not in ("Write", "Bash") or not isinstance(cwd, str):
        return {}
    call = _call(payload, cwd, _agent(payload))
    paths = [call.real_paths.get(each, each) for each in written_paths(call)] if call else []
    project = _project(cwd)
    tests = [path for path in paths if is_test_like(file_role(os.path.relpath(path, project), test_paths))]
    texts = {path: _read_text(path) for path in tests}
    return {path: text for path, text in texts.items() if text is not None}


def _can_be_a_folder(path: str) -> bool:
    try:
        return b"\0" not in path.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False


def _project(cwd: str) -> str:
    given = os.environ.get("CLAUDE_PROJECT_DIR", "")
    return real_path(given if os.path.isabs(given) else cwd)


def _session_start(incoming: Incoming, payload: Mapping[str, Any], known: Known) -> None:
    source = payload.get("source")
    if source == "compact":
        incoming.events.append(ev.Compaction(done=True))
    incoming.fresh = source == "clear"
    incoming.begins = source in ("startup", "clear") and not incoming.subagent
    tokens = payload.get("context_tokens")
    if isinstance(tokens, int) and tokens > 0:
        incoming.events.append(ev.ContextSize(tokens))


def _prompt(incoming: Incoming, payload: Mapping[str, Any], known: Known) -> None:
    prompt = payload.get("prompt")
    text = prompt if isinstance(prompt, str) else ""
    if text.lstrip().startswith(_OWN_COMMANDS):
        return  # the person works with us, and has not spoken to the agent
    machine = (
        not text.strip()
        or bool(payload.get("agent_id"))
        or payload.get("source") in MACHINE_SOURCES
        or text.lstrip().startswith(MACHINE_OPENINGS)
    )
    incoming.events.append(ev.Message(text, by_person=not machine))


def _before_compaction(incoming: Incoming, payload: Mapping[str, Any], known: Known) -> None:
    incoming.events.append(ev.Compaction(done=False))


def _before_tool(incoming: Incoming, payload: Mapping[str, Any], known: Known) -> None:
    call = _call(payload, incoming.cwd, _agent(payload))
    if call is not None:
        incoming.events.append(call)


def _batch(incoming: Incoming, payload: Mapping[str, Any], known: Known) -> None:
    calls = payload.get("tool_calls")
    agent = _agent(payload)
    if not agent:
        size = _context_size(payload)
        if size is not None:
            incoming.events.append(size)
    cwd = incoming.cwd if agent else known.cwd or incoming.cwd
    for position, each in enumerate(calls if isinstance(calls, list) else ()):
        if not isinstance(each, dict):
            continue
        call = _call(each, cwd, agent, incoming.cwd)
        if call is None:
            continue
        _look_at_texts(call, known.texts)
        result = result_of(call, text_of(each.get("tool_response")), position)
        if result.comment and call.action not in (ev.EDIT, ev.ASK):
            _confirm_refusal(result, _string(payload, "transcript_path"))
        incoming.events.append(result)
        if call.action == ev.SHELL:
            moved = read_line(call.command).cwd
            cwd = absolute(moved, cwd) if moved else cwd
    incoming.events.append(ev.RoundEnd(agent))


def _agent(payload: Mapping[str, Any]) -> str:
    agent = payload.get("agent_id")
    return agent if isinstance(agent, str) else ""


_READERS = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "PreToolUse": _before_tool,
    "PostToolBatch": _batch,
    "PreCompact": _before_compaction,
}


# -- calls -----------------------------------------------------------------------------


def _call(payload: Mapping[str, Any], cwd: str, agent: str, later_cwd: str = "") -> ev.ToolCall | None:
    call = call_of(
        payload.get("tool_name"), payload.get("tool_input"), cwd, agent, call_id=_string(payload, "tool_use_id")
    )
    if call is not None:
        _look_at_files(call, later_cwd)
    return call


def call_of(tool: Any, given: Any, cwd: str, agent: str, *, call_id: str) -> ev.ToolCall | None:
    """Return a call as the client names it, without a look at any file; ``None`` where it names no tool."""
    if not isinstance(tool, str) or not tool:
        return None
    given = given if isinstance(given, dict) else {}
    action = _ACTIONS.get(tool) or (ev.WAIT if _looks_after(tool) else ev.OTHER)
    command = _string(given, "command") if action == ev.SHELL else ""
    gloss = _GLOSS.get(tool, ())
    return ev.ToolCall(
        tool,
        canonical({key: value for key, value in given.items() if key not in gloss} if gloss else given),
        action=action,
        label=_label(tool, given, command, cwd),
        command=command,
        edits=_edits(tool, given) if action == ev.EDIT else (),
        cwd=cwd,
        agent=agent,
        call_id=call_id,
    )


def _looks_after(tool: str) -> bool:
    """Tell whether another server's tool asks how far something is, by its name."""
    words = set(tool.lower().rpartition("__")[2].replace("-", "_").split("_"))
    asks = not words.isdisjoint(("get", "list", "show", "describe"))
    return not words.isdisjoint(_WAITING) or (asks and not words.isdisjoint(_RUNNING))


def _edits(tool: str, given: Mapping[str, Any]) -> list[ev.Edit]:
    path = _string(given, "file_path") or _string(given, "notebook_path")
    if not path:
        return []
    if tool == "Write":
        return [ev.Edit(path, None, _string(given, "content"))]
    if tool == "NotebookEdit":
        return [ev.Edit(path, None, _string(given, "new_source"))]
    parts = given.get("edits") if tool == "MultiEdit" else [given]
    return [
        ev.Edit(path, _string(each, "old_string"), _string(each, "new_string"))
        for each in (parts if isinstance(parts, list) else ())
        if isinstance(each, dict)
    ] or [ev.Edit(path)]


def _look_at_files(call: ev.ToolCall, later_cwd: str) -> None:
    """Resolve the files that a call writes to real paths, and hash what they hold after its round."""
    real, hashes = {}, {}
    paths = written_paths(call)
    if later_cwd and later_cwd != call.cwd and not any(os.path.exists(each) for each in paths):
        before, call.cwd = call.cwd, later_cwd  # our idea of the folder may be behind
        paths = written_paths(call)
        if not any(os.path.exists(each) for each in paths):
            call.cwd = before
            paths = written_paths(call)
    for path in paths:
        real[path] = real_path(path)
        if later_cwd:
            hashes[real[path]] = _hash(real[path])
    call.real_paths = {path: to for path, to in real.items() if to != path}
    call.hashes = hashes
    for edit in call.edits:
        edit.after = hashes.get(real.get(absolute(edit.path, call.cwd), ""), "")


def _look_at_texts(call: ev.ToolCall, before: Mapping[str, str]) -> None:
    """Add whole texts before and after where they can be known: an edit often shows half a line only."""
    texts = {}
    for path in call.hashes:
        if path in before:
            after = _read_text(path)
            texts[path] = (before[path], after or "")
    for edit in call.edits:
        path = absolute(edit.path, call.cwd)
        path = call.real_paths.get(path, path)
        after = _read_text(path) if edit.old and edit.new and path in call.hashes else None
        if after is not None and after.count(edit.new) == 1:
            texts[path] = (after.replace(edit.new, edit.old or "", 1), after)
    call.texts = texts


def _hash(path: str) -> str:
    data = _read_bytes(path, _MAX_HASHED)
    return digest_bytes(data) if data is not None else ""


def _read_text(path: str) -> str | None:
    data = _read_bytes(path, _MAX_TEXT)
    return data.decode("utf-8", "replace") if data is not None else None


def _read_bytes(path: str, limit: int) -> bytes | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > limit:
            return None
        with open(path, "rb") as file:
            return file.read(limit)
    except (OSError, ValueError):
        return None


def _label(tool: str, given: Mapping[str, Any], command: str, cwd: str) -> str:
    if command:
        return command
    about = next(
        (given[key] for key in ("file_path", "notebook_path", "pattern", "path", "url", "query") if key in given),
        "",
    )
    if isinstance(about, str) and about.startswith(f"{cwd}/"):
        about = about[len(cwd) + 1 :]
    return f"{tool.lower()} {about}" if isinstance(about, str) and about else tool


def canonical(value: Any) -> str:
    """Return plain data as one text, the same whatever the order of keys."""
    if isinstance(value, dict):
        parts = []
        for key in sorted(value, key=str) if len(value) > 1 else value:
            each = value[key]
            parts.append(f"{key!r}:{each!r}" if isinstance(each, str) else f"{key!r}:{canonical(each)}")
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return repr(value)


def _string(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


# -- results ---------------------------------------------------------------------------


def text_of(response: Any) -> str:
    """Return a result as text: it comes as text, as content blocks, or (other hooks' form) as an object."""
    if isinstance(response, str):
        return response
    if isinstance(response, dict):
        parts = [response.get(key) for key in ("stdout", "stderr", "error", "content")]
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    if isinstance(response, list):
        texts = [each.get("text") for each in response if isinstance(each, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""


def result_of(call: ev.ToolCall, text: str, position: int) -> ev.ToolResult:
    """Return the result as the model read it; the texts are the client's own."""
    result = ev.ToolResult(call, text, position=position)
    head = text[:400]
    if head.startswith("The user doesn't want to"):
        result.refused = ev.BY_PERSON
        result.comment = "the user said:" in head
    elif head.startswith((f"PreToolUse:{call.tool} hook error:", "Permission to use ")):
        result.refused = ev.BY_HOOK
    elif head.startswith("Claude requested permissions to "):
        result.refused = ev.BY_PERSON
    elif head.startswith("<tool_use_error>"):
        result.failed = True
        result.output = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        if "Sibling tool call errored" in head:
            result.refused = ev.BY_SIBLING
        elif call.action == ev.EDIT:
            result.refused = ev.BY_TOOL
    elif call.action == ev.SHELL:
        _shell_result(result, text)
    elif call.action == ev.EDIT and head.startswith(_EDIT_ERRORS):
        result.failed = True
        result.refused = ev.BY_TOOL
    elif call.action == ev.OTHER and head.startswith(("### Error", "Error:", "MCP error", "Error calling tool")):
        result.failed = True
    return result


def _confirm_refusal(result: ev.ToolResult, transcript: str) -> None:
    """See whether it was the person who spoke: a command can print the words of a refusal as well.

    The transcript marks a refused call as an error. Where there is none, the words alone
    have to do.
    """
    if is_error(transcript, result.call.call_id) is False or "user said" in result.call.command:
        result.comment = False
        result.refused = ""


_EDIT_ERRORS = (
    "Refusing to write ",
    "File does not exist",
    "File has not been read",
    "File has been modified",
    "File has been unexpectedly modified",
    "String to replace not found",
    "No changes to make",
    "Error",
    "EACCES",
    "EISDIR",
    "ENOENT",
    "EROFS",
    "EPERM",
)


_MOVED_TO_BACKGROUND = "timeout and was moved to the background"


def _shell_result(result: ev.ToolResult, text: str) -> None:
    if text.startswith("Command running in background with ID:") or _MOVED_TO_BACKGROUND in text[-600:]:
        result.background = True
    elif text.startswith("(Bash completed with no output"):
        result.output = ""
    elif text.startswith("Exit code "):
        first, _, rest = text.partition("\n")
        code = first.removeprefix("Exit code ").strip()
        if code.isdigit() and len(code) <= 3:
            result.failed = True
            result.exit_code = int(code)
            result.output = rest
            result.interrupted = "[Request interrupted by user" in rest[-200:]
    elif text.startswith(("ENOENT:", "EACCES:", "spawn ", "Error: spawn", "Error:")):
        result.failed = True


def _context_size(payload: Mapping[str, Any]) -> ev.ContextSize | None:
    path = payload.get("transcript_path")
    known = last_context(path) if isinstance(path, str) else None
    return ev.ContextSize(*known) if known and known[0] else None


# -- answers ---------------------------------------------------------------------------


def answer(incoming: Incoming, responses: Sequence[Response]) -> Answer:
    """Return what the hook says for the guard's responses."""
    import json

    for response in responses:
        if response.kind in ("block", "halt"):
            document: dict[str, Any] = {
                "hookSpecificOutput": {
                    "hookEventName": incoming.event,
                    "permissionDecision": "deny",
                    "permissionDecisionReason": response.message,
                }
            }
            if response.kind == "halt":
                document.update({"continue": False, "stopReason": response.message})
            return Answer(json.dumps(document), response.message, 2)
        if response.kind == "nudge":
            said, given = response.message, "\n\n".join(each for each in (incoming.context, response.message) if each)
            return Answer(json.dumps(_context(incoming.event, said, given)))
    if incoming.context:
        return Answer(json.dumps(_context(incoming.event, _HANDED_OFF, f"{_HANDED_OFF}\n\n{incoming.context}")))
    return Answer()


_HANDED_OFF = "Unspin: an earlier session in this folder was handed off; this session has what was recorded of it."


def _context(event: str, said: str, given: str) -> dict[str, Any]:
    """Return an answer with a line for the person and a text for the model."""
    return {
        "systemMessage": said,
        "hookSpecificOutput": {"hookEventName": event, "additionalContext": given},
    }
