"""Putting unspin's hooks into Claude Code's settings, and taking exactly those out again."""

from __future__ import annotations

import json
import os
import sys

from unspin.agents import claude_code_plugin as plugin
from unspin.agents import claude_code_statusline as statusline
from unspin.agents import json_text
from unspin.agents.claude_code import HOOKS
from unspin.agents.claude_code_files import MARK, settings_files, settings_path
from unspin.agents.installing import InstallError, Plan, made_here, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ("HOOKS", "plugin", "settings_files", "settings_path", "statusline")

_TIMEOUT = 10  # seconds

#: The hook's start. It must not end in status 2 by accident, which blocks the tool: a missing
#: file, a moved environment and a usage error all would. It is short, because the client
#: shows hooks' command lines to the model after a compaction.
_BOOTSTRAP = """\
try:
 import sys;sys.path[:0]={paths!r}
 from unspin.hook import main;main('claude-code')
except BaseException:0"""


def entries(text: str) -> list[tuple[str, int, Any]] | None:
    """Return our entries in a settings text: event, place in its list, group; ``None`` where the text is no JSON."""
    try:
        return _our_groups(text, json_text.parse(text or "{}"))
    except (ValueError, RecursionError):
        return None


def switched_off(text: str) -> bool:
    """Tell whether the settings text switches our hooks off, or sends them to another state."""
    try:
        settings = json.loads(text or "{}")
        moved = {"XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"} & set(settings.get("env") or ())
        return bool(settings.get("disableAllHooks") or settings.get("allowManagedHooksOnly") or moved)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return "disableAllHooks" in text


def command() -> dict[str, Any]:
    """Return the hook entry that starts unspin: this interpreter, in exec form, without a shell."""
    return {
        "type": "command",
        "command": _interpreter(),
        "args": ["-I", "-S", "-c", _BOOTSTRAP.format(paths=_paths())],
        "timeout": _TIMEOUT,
    }


def _paths() -> list[str]:
    """Return the folders of unspin and of what it needs."""
    import tree_sitter

    import unspin

    package = os.path.dirname(os.path.dirname(os.path.abspath(unspin.__file__)))
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(tree_sitter.__file__)))
    return list(dict.fromkeys((package, libraries)))


def _interpreter() -> str:
    python = sys.executable
    if not python:
        raise InstallError("this Python does not know where its own program lies, so no hook can start it")
    parts = os.path.normpath(sys.prefix).split(os.sep)
    vanishing = any(part.startswith(("archive-v", "environments-v")) for part in parts) and "uv" in parts
    if vanishing or ("pipx" in parts and ".cache" in parts):
        raise InstallError(
            f"unspin runs from an environment that will vanish ({sys.prefix}): the hooks would point into "
            "nothing. Install it for good first: uv tool install unspin (or pipx install unspin), then run "
            "unspin install claude-code."
        )
    return python


def plan_install(path: str, *, hooks: bool = True, line: str | None = None) -> Plan:
    """Return what it takes for the settings file to hold our hooks, once and up to date.

    ``line`` asks for our status line too; it is the command of another file's status line
    that ours in this file would hide, empty where there is none. One that is there already
    is brought up to date in any case.
    """
    before = read_settings(path)
    text = "{}\n" if before is None or not before.strip() else before
    _parse(path, text)
    others = json.loads(statusline.removed(_without_ours(text))) != {}
    if hooks:
        text = _with_hooks(text)
    if line is not None or statusline.is_there(text):
        text = statusline.added(path, text, _interpreter(), _paths(), line or "")
    _parse(path, text)
    return Plan(path, before, text if json.loads(text) else before, keep=others)


def _with_hooks(text: str) -> str:
    ours = {event: _group(matcher) for event, matcher in HOOKS.items()}
    groups = _our_groups(text, json_text.parse(text))
    if {event: value for event, _, value in groups} == ours and len(groups) == len(ours):
        return text
    text = _without_ours(text)
    for event, group in ours.items():
        text = _with_group(text, event, group)
    return text


def hidden_line(project: str) -> str:
    """Return the person's status line that one in the project's ``settings.local.json`` would hide."""
    commands = [statusline.command_of(_text(path)) for path in settings_files(project)[:-1]]
    return statusline.persons(next(filter(None, reversed(commands)), ""))


def hiding_line(project: str) -> str:
    """Return the settings file of a project whose status line is shown instead of ours, empty where none is."""
    lines = [(path, statusline.command_of(_text(path))) for path in settings_files(project)]
    path, command = next((each for each in reversed(lines) if each[1]), ("", statusline.MARK))
    return "" if statusline.MARK in command else path


def _text(path: str) -> str:
    try:
        return read_settings(path) or ""
    except InstallError:
        return ""


def plan_uninstall(path: str) -> Plan:
    """Return what it takes for the settings file to be without our hooks and status line; all else stays.

    A file that installing made, with nothing else in it, is removed.
    """
    before = read_settings(path)
    if before is None or not before.strip():
        return Plan(path, before, before)
    _parse(path, before)
    after = statusline.removed(_without_ours(before))
    others = json.loads(after) != {}
    if after != before and not others and made_here(path):
        return Plan(path, before, None, keep=False)
    return Plan(path, before, after, keep=others)


def _group(matcher: str) -> dict[str, Any]:
    group: dict[str, Any] = {"matcher": matcher} if matcher else {}
    group["hooks"] = [command()]
    return group


def _parse(path: str, text: str) -> json_text.Value:
    try:
        root = json_text.parse(text)
    except json.JSONDecodeError as error:
        raise InstallError(
            f"{path} is not valid JSON: {_json_fault(error)}. Mend it, then try again; nothing was changed."
        ) from None
    except RecursionError:
        raise InstallError(f"{path} is nested too deeply to be a settings file. Nothing was changed.") from None
    hooks = root.get("hooks")
    groups = [
        (f"hooks.{event}", value, "array") for event, _, value in (hooks.items if hooks else []) if event in HOOKS
    ]
    for name, value, kind in (("the file", root, "object"), ("hooks", hooks, "object"), *groups):
        if value is not None and value.kind != kind:
            raise InstallError(
                f"{path}: {name} holds {_named(value, text)}, expected {_KINDS[kind]}, as Claude Code wants it. "
                "Mend it, then try again; nothing was changed."
            )
    return root


_KINDS = {"object": "an object ({...})", "array": "a list ([...])"}


def _named(value: json_text.Value, text: str) -> str:
    scalar = text[value.start : value.end]
    return _KINDS.get(value.kind) or (scalar if len(scalar) <= 40 else "a text")


def _json_fault(error: json.JSONDecodeError) -> str:
    """Return what is wrong with a JSON text, in words for what people write into it most."""
    where = f"line {error.lineno} column {error.colno}"
    rest, before = error.doc[error.pos :].lstrip(), error.doc[: error.pos].rstrip()
    if rest.startswith(("//", "/*", "#")):
        return f"comments are not allowed in JSON ({where})"
    if before.endswith(",") and rest[:1] in ("}", "]"):
        return f"a comma before {rest[0]} is not allowed in JSON ({where})"
    if rest.startswith(",") and rest[1:].lstrip()[:1] in ("}", "]"):
        return f"a comma before {rest[1:].lstrip()[0]} is not allowed in JSON ({where})"
    return f"{error.msg} ({where})"


def _our_groups(text: str, root: json_text.Value) -> list[tuple[str, int, Any]]:
    """Return (event, number in its list, value) of every group that starts unspin."""
    hooks = root.get("hooks")
    return [
        (event, number, value)
        for event, _, groups in (hooks.items if hooks else [])
        if groups.kind == "array"
        for number, _, group in groups.items
        if _is_ours(value := json.loads(text[group.start : group.end]))
    ]


def _is_ours(group: Any) -> bool:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list) or not hooks:
        return False
    return all(isinstance(each, dict) and MARK in json.dumps(each) for each in hooks)


def _without_ours(text: str) -> str:
    while True:
        root = json_text.parse(text)
        hooks = root.get("hooks")
        groups = _our_groups(text, root)
        if hooks is None or not groups:
            return text
        event, number, _ = groups[-1]
        container = hooks.get(event)
        if container is None:
            return text
        if len(container.items) > 1:
            text = json_text.remove(text, container, number)
        elif len(hooks.items) > 1:
            text = json_text.remove(text, hooks, [name for name, _, _ in hooks.items].index(event))
        else:
            text = json_text.remove(text, root, [name for name, _, _ in root.items].index("hooks"))


def _with_group(text: str, event: str, group: dict[str, Any]) -> str:
    root = json_text.parse(text)
    hooks = root.get("hooks")
    if hooks is None:
        return json_text.append(text, root, {event: [group]}, "hooks")
    groups = hooks.get(event)
    if groups is None:
        return json_text.append(text, hooks, [group], event)
    return json_text.append(text, groups, group)
