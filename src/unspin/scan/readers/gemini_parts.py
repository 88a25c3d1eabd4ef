"""What Gemini CLI and Qwen Code have in common: content in parts, the names of tools, what results look like."""

from __future__ import annotations

import re
import signal
from typing import Any

from unspin import events as ev
from unspin.agents.claude_code import canonical
from unspin.cost.prices import Usage
from unspin.facts.files import absolute
from unspin.scan.readers.plain import listing, note_texts, status, text, whole
from unspin.scan.untold import TIMED_OUT

_ACTIONS: dict[str, str] = {
    "run_shell_command": ev.SHELL,
    **dict.fromkeys(("replace", "edit", "write_file", "notebook_edit"), ev.EDIT),
    **dict.fromkeys(
        (
            "read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content",
            "google_web_search", "web_search", "web_fetch", "get_internal_docs", "activate_skill", "skill", "lsp",
            "read_mcp_resource", "list_mcp_resources", "tool_search", "zoom_image",
        ),
        ev.READ,
    ),
    **dict.fromkeys(
        ("task_stop", "monitor", "loop_wakeup", "list_agents", "list_background_processes", "read_background_output"),
        ev.WAIT,
    ),
    **dict.fromkeys(
        (
            "write_todos", "todo_write", "save_memory", "update_topic", "enter_plan_mode", "complete_task",
            "task_create", "task_update", "task_list", "tracker_create_task", "tracker_update_task",
            "tracker_get_task", "tracker_list_tasks", "tracker_add_dependency", "tracker_visualize",
            "get_goal", "update_goal", "structured_output", "report_findings", "record_artifact", "record_source",
        ),
        ev.NOTE,
    ),
    **dict.fromkeys(("ask_user", "ask_user_question", "exit_plan_mode"), ev.ASK),
    **dict.fromkeys(
        ("invoke_agent", "agent", "task", "delegate_to_agent", "codebase_investigator", "generalist", "cli_help"),
        ev.AGENT,
    ),
}  # fmt: skip

#: The agent's own gloss on a call, which is no part of what identifies it.
_GLOSS: dict[str, tuple[str, ...]] = {
    "run_shell_command": ("description", "timeout"),
    "replace": ("instruction",),
    "edit": ("instruction",),
    "invoke_agent": ("description",),
    "agent": ("description",),
    "task": ("description",),
}

_DENIED = (
    "[Operation Cancelled] Reason: User denied",
    "[Operation Cancelled] Reason: User did not allow",
    "[Operation Cancelled] Reason: User rejected",
    "User denied",
    "User did not allow",
)
_STOPPED = (
    "[Operation Cancelled]",
    "User cancelled",
    "Command was cancelled by user",
    "Command was cancelled.",
    "Tool call cancelled",
)
_HOOKS = ("Tool execution blocked", "Tool execution denied by policy", "Tool execution for ")
_IN_BACKGROUND = ("Command moved to background", "Command is running in background", "Background shell started")
_TIMED_OUT = ("Command was automatically cancelled because it exceeded the timeout", "Command timed out")

_UNTRUSTED = ("<untrusted_context>\n", "\n</untrusted_context>")
_TRAILER = re.compile(r"(Exit Code|Signal|Background PIDs|Process Group PGID): ?(.*)")
_NOTHING = ("", "(none)", "(empty)")
_TRAILING = 40  # lines at the end of an output among which its status stands


def said(content: Any) -> str:
    """Return the text of content: a text, a part, or a list of them. Thoughts are left out."""
    parts = content if isinstance(content, list) else [content]
    texts = [
        each if isinstance(each, str) else text(each, "text")
        for each in parts
        if not (isinstance(each, dict) and each.get("thought"))
    ]
    return "\n".join(each for each in texts if each)


def parts_of(content: Any, name: str) -> list[dict[str, Any]]:
    """Return the function calls or responses (``name``) among the parts of content."""
    parts = content if isinstance(content, list) else [content]
    return [each[name] for each in parts if isinstance(each, dict) and isinstance(each.get(name), dict)]


def response_text(responses: Any) -> tuple[str, bool]:
    """Return what the model read as a result, and whether that was told as an error."""
    if isinstance(responses, str):
        return responses, False
    found, wrong = [], False
    for each in parts_of(responses, "functionResponse"):
        response = each.get("response")
        if isinstance(response, str):
            found.append(response)
            continue
        error = text(response, "error")
        wrong = wrong or bool(error)
        output = error or text(response, "output", "content", "result")
        if not output and isinstance(response, dict):
            output = said(listing(response, "content")) or (canonical(response) if response else "")
        found.append(output)
    return "\n".join(each for each in found if each) or said(responses), wrong


def call_of(name: Any, given: Any, root: str, agent: str, call_id: str) -> ev.ToolCall | None:
    """Return a call as the client names it; ``None`` where it names no tool. A shell line starts in the root again."""
    if not isinstance(name, str) or not name:
        return None
    given = given if isinstance(given, dict) else {}
    action = _ACTIONS.get(name, ev.OTHER)
    command = text(given, "command") if action == ev.SHELL else ""
    if action == ev.SHELL and not command:
        action = ev.OTHER
    folder = text(given, "dir_path", "directory") if command else ""
    gloss = _GLOSS.get(name, ())
    return ev.ToolCall(
        name,
        canonical({key: value for key, value in given.items() if key not in gloss}),
        action=action,
        label=_label(name, given, command, root),
        command=command,
        edits=_edits(name, given) if action == ev.EDIT else (),
        cwd=absolute(folder, root) if folder else root,
        agent=agent,
        call_id=call_id,
    )


def _edits(name: str, given: dict[str, Any]) -> list[ev.Edit]:
    path = text(given, "file_path", "absolute_path", "notebook_path", "path")
    if not path:
        return []
    if name == "write_file":
        return [ev.Edit(path, None, text(given, "content"))]
    if name == "notebook_edit":
        return [ev.Edit(path, None, text(given, "new_source"))]
    return [ev.Edit(path, text(given, "old_string"), text(given, "new_string"))]


def _label(name: str, given: dict[str, Any], command: str, root: str) -> str:
    if command:
        return command
    about = text(given, "file_path", "absolute_path", "dir_path", "pattern", "path", "query", "url", "prompt")
    about = about.removeprefix(f"{root}/") if root != "/" else about
    return f"{name} {about}" if about else name


def result_of(call: ev.ToolCall, output: str, position: int, *, wrong: bool, state: str, display: Any) -> ev.ToolResult:
    """Return the result as the model read it. ``state`` is the call's status, ``display`` what the person was shown."""
    start, end = _UNTRUSTED
    if output.startswith(start):
        output = output.removeprefix(start).removesuffix(end)
    result = ev.ToolResult(call, output, position=position)
    wrong = wrong or state == "error"
    if output.startswith(_DENIED) or (state == "cancelled" and call.action == ev.ASK):
        result.refused = ev.BY_PERSON
    elif state == "cancelled" or output.startswith(_STOPPED):
        result.interrupted = True
        result.failed = call.action != ev.EDIT
        result.refused = ev.BY_PERSON if call.action == ev.EDIT else ""
    elif output.startswith(_HOOKS):
        result.refused = ev.BY_HOOK
    elif call.action == ev.SHELL:
        _shell_result(result, output, wrong=wrong, display=display)
    elif wrong:
        result.failed = True
        result.refused = ev.BY_TOOL if call.action == ev.EDIT else ""
    told = isinstance(display, dict) and not display.get("truncatedForSession")
    if told and call.action == ev.EDIT and not result.refused:
        path = text(display, "filePath") or (call.edits[0].path if call.edits else "")
        note_texts(call, path, display.get("originalContent"), display.get("newContent"))
    return result


def _shell_result(result: ev.ToolResult, output: str, *, wrong: bool, display: Any) -> None:
    if output.startswith(_IN_BACKGROUND):
        result.background = True
        return
    if output.startswith(_TIMED_OUT):
        result.failed, result.exit_code = True, TIMED_OUT
        return
    code: Any
    sign: Any
    result.output, code, sign, told = _taken_apart(result.call.command, output)
    if isinstance(display, dict) and display.get("type") == "shell_result":
        code, sign, told = display.get("exitCode"), display.get("signal"), True
        result.background = display.get("outcome") == "backgrounded"
        if display.get("outcome") == "timed_out":
            code = TIMED_OUT
    result.exit_code = status(code)
    number = _signal(sign)
    if result.exit_code is None and number:
        result.exit_code = 128 + number
    elif result.exit_code is None and told and not wrong and not result.background:
        result.exit_code = 0
    result.failed = wrong or bool(result.exit_code)


def _taken_apart(command: str, output: str) -> tuple[str, int | None, str, bool]:
    """Return what the command printed, its status, the signal that ended it, and whether any of that was told."""
    lines = output.rsplit("\n", _TRAILING)
    last = next((at for at in range(len(lines) - 1, -1, -1) if _TRAILER.fullmatch(lines[at])), None)
    code, sign = None, ""
    if last is not None and not any(each.strip() for each in lines[last + 1 : last + 2]):
        first = last
        while first >= 0 and (found := _TRAILER.fullmatch(lines[first])):
            if found[1] == "Exit Code" and found[2].isdecimal() and len(found[2]) <= 10:
                code = int(found[2])
            elif found[1] == "Signal" and found[2].strip() not in _NOTHING:
                sign = found[2].strip()
            first -= 1
        if first >= 0 and lines[first] == "Error: (none)":
            first -= 1
        output = "\n".join(lines[: first + 1])
    started = f"Command: {command}\n"
    if output.startswith(started):
        output = output[len(started) :]
        if output.startswith("Directory: "):
            output = output.partition("\n")[2]
    told = last is not None or output.startswith(("Output: ", "Stdout: "))
    for name in ("Output: ", "Stdout: "):
        if output.startswith(name):
            output = output[len(name) :]
    return ("" if output in _NOTHING else output), code, sign, told


def _signal(sign: Any) -> int:
    if isinstance(sign, int) and not isinstance(sign, bool):
        return sign if 0 < sign < 65 else 0
    if not isinstance(sign, str) or not sign:
        return 0
    if sign.isdecimal():
        return int(sign[:3]) if int(sign[:3]) < 65 else 0
    found = getattr(signal, sign, 0) if sign.startswith("SIG") and sign.isalnum() else 0
    return int(found) if isinstance(found, int) else 0


def usage_of(prompt: int, output: int, cached: int, thoughts: int, tool: int, total: int) -> Usage:
    """Return what a message used; the total tells whether thoughts are part of what was given out."""
    cached = min(cached, prompt)
    given = total - prompt - tool if total > prompt + tool else output + thoughts
    return Usage(prompt - cached + tool, max(given, output), cached)


def usage_of_metadata(given: Any) -> Usage:
    """Return what a message used, as the programming interface counts it."""
    return usage_of(
        whole(given, "promptTokenCount"),
        whole(given, "candidatesTokenCount"),
        whole(given, "cachedContentTokenCount"),
        whole(given, "thoughtsTokenCount"),
        whole(given, "toolUsePromptTokenCount"),
        whole(given, "totalTokenCount"),
    )


def size_of(usage: Usage) -> int:
    """Return the tokens in the context after a message with this usage."""
    return usage.input + usage.cache_read + usage.output
