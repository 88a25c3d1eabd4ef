"""Whether unspin works on this machine, in this folder: every finding with what to do about it.

Looks from outside, as the client does: the hook entries in the settings files, the
interpreter they name, and a synthetic loop fed through the very command line that is
installed, which must be answered with a block.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time

from unspin import agents, config
from unspin.detect import DETECTORS
from unspin.guard.settings import KEYS
from unspin.paths import state_folder
from unspin.spool import Spool
from unspin.store import FAULTS_FILE, Store, StoreError, disk_is_full

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

OK, NOTE, WRONG = "ok", "note", "wrong"

_RECENT_FAULTS = 5
_RECENT_SECONDS = 7 * 86400
_TIME_LIMIT = 20  # seconds for one hook process
_WAITING = 50  # kept events after which something is wrong


class Finding:
    """One thing looked at: ``state`` is ok, note or wrong; ``remedy`` says what to do."""

    __slots__ = ("about", "remedy", "state", "text")

    def __init__(self, state: str, about: str, text: str, remedy: str = ""):
        self.state = state
        self.about = about
        self.text = text
        self.remedy = remedy

    def as_mapping(self) -> dict[str, str]:
        """Return the finding as plain data."""
        return {"state": self.state, "about": self.about, "text": self.text, "remedy": self.remedy}


def examine(agent: str, project: str) -> Iterator[Finding]:
    """Yield findings about unspin for ``agent`` in the folder ``project``."""
    client = agents.load(agent, "_install")
    yield from _entries(agent, client, project)
    yield from _settings(project)
    yield from _store()
    yield from _checkpoints(project)


# -- what starts the hooks -------------------------------------------------------------


def _entries(agent: str, client: ModuleType, project: str) -> Iterator[Finding]:
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for path in client.settings_files(project):
        text = _text(path)
        if text is None:
            continue
        entries = client.entries(text)
        if entries is None:
            yield Finding(WRONG, "hooks", f"{path} is not valid JSON: the client ignores it", "Mend the file.")
            continue
        if client.switched_off(text):
            switches = "disableAllHooks, allowManagedHooksOnly, or XDG_STATE_HOME, XDG_CONFIG_HOME, HOME in env"
            yield Finding(
                WRONG, "hooks", f"{path} switches our hooks off or moves their state ({switches})", "Take it out of it."
            )
        for event, _, value in entries:
            found.setdefault(event, []).extend((path, hook) for hook in value["hooks"])
    install = f"unspin install {agent}"
    plugin = client.plugin.enabled_in(project)
    if plugin and not client.plugin.installed():
        text = f"{plugin} enables unspin's plugin, but it is not installed"
        yield Finding(NOTE, "plugin", text, "Install it, or take it out there.")
        plugin = ""
    missing = [event for event in client.HOOKS if event not in found]
    if plugin and not found:
        yield Finding(OK, "plugin", f"it starts the hooks; enabled in {plugin}")
        yield from _plugin_starts(client)
        return
    if not found:
        yield Finding(WRONG, "hooks", "unspin is not installed: no settings file starts it", f"Run: {install}")
        return
    if missing:
        yield Finding(
            NOTE if plugin else WRONG, "hooks", f"no hook in the settings for {', '.join(missing)}", f"Run: {install}"
        )
    twice = sorted({event for event, hooks in found.items() if len(hooks) > 1})
    if twice:
        places = sorted({path for event in twice for path, _ in found[event]})
        yield Finding(
            WRONG,
            "hooks",
            f"installed more than once ({', '.join(places)}): every event would count twice",
            f"Keep one of them: unspin uninstall {agent}, or unspin uninstall {agent} --project",
        )
    hooks = {json.dumps(hook): hook for each in found.values() for _, hook in each}
    if not missing and not twice:
        yield Finding(OK, "hooks", f"installed once, {len(found)} events, in {next(iter(found.values()))[0][0]}")
    gone = sorted({str(hook.get("command")) for hook in hooks.values() if not _can_be_run(hook)})
    if plugin and (gone or missing):
        yield Finding(OK, "plugin", f"it answers what these hooks cannot; enabled in {plugin}")
        yield from _plugin_starts(client)
    elif plugin:
        yield Finding(OK, "plugin", f"enabled in {plugin} as well: it is silent, the settings' hooks are used")
    for hook in hooks.values():
        if _can_be_run(hook):
            yield Finding(OK, "interpreter", str(hook.get("command")))
            yield from _answers(hook, f"Run: {install}")
    for python in gone:
        yield Finding(
            NOTE if plugin else WRONG,
            "interpreter",
            f"{python} is gone: {'this hook' if plugin else 'unspin'} is silent, the agent goes on",
            f"Run: {install}",
        )


def _can_be_run(hook: dict[str, Any]) -> bool:
    return os.access(str(hook.get("command")), os.X_OK)


def _plugin_starts(client: ModuleType) -> Iterator[Finding]:
    """Look at what the plugin finds: the program unspin on the PATH, and whether it answers."""
    path = os.pathsep.join((os.environ.get("PATH", ""), os.path.expanduser("~/.local/bin")))
    program = shutil.which("unspin", path=path)
    hook = client.plugin.hook()
    if program is None:
        text = "there is no unspin on the PATH: the plugin is silent, the agent goes on"
        yield Finding(WRONG, "plugin", text, "Install unspin for good: uv tool install, or pipx install.")
    elif hook is None:
        yield Finding(WRONG, "plugin", "its hooks cannot be read", "Install it again.")
    else:
        yield Finding(OK, "program", f"{program} (the client's own PATH may differ)")
        yield from _answers(hook, "Install unspin and the plugin again")


def _answers(hook: dict[str, Any], remedy: str) -> Iterator[Finding]:
    try:
        blocked, seconds, said = _synthetic_loop(hook)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding(WRONG, "synthetic loop", f"the installed command cannot be run: {error}", remedy)
        return
    if blocked:
        yield Finding(OK, "synthetic loop", f"answered with a block; {seconds * 1000:.0f} ms a hook")
    else:
        yield Finding(
            WRONG,
            "synthetic loop",
            f"the installed command does not answer a loop with a block{f' ({said})' if said else ''}",
            f"{remedy.rstrip('.')}. If that does not help, see the faults below.",
        )


def _synthetic_loop(hook: dict[str, Any]) -> tuple[bool, float, str]:
    """Feed three failing edits through a hook entry; return whether the fourth is refused, and seconds a hook."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_STATE_HOME": folder, "XDG_CONFIG_HOME": folder, "CLAUDE_CONFIG_DIR": folder}
        env.pop("CLAUDE_PROJECT_DIR", None)
        base = {"session_id": "doctor", "cwd": folder, "transcript_path": ""}
        edit = {"file_path": f"{folder}/a.py", "old_string": "a", "new_string": "b"}
        fails = "Exit code 1\nE   TypeError: synthetic\nFAILED test_a.py::test_a - TypeError: synthetic"
        rounds: list[dict[str, Any]] = [
            {"tool_name": "Edit", "tool_input": edit, "tool_response": "The file has been updated"},
            {"tool_name": "Bash", "tool_input": {"command": "pytest"}, "tool_response": fails},
        ]
        payloads = [{**base, "hook_event_name": "PostToolBatch", "tool_calls": [call]} for call in rounds * 3]
        payloads.append({**base, "hook_event_name": "PreToolUse", **rounds[0]})
        began = time.monotonic()
        for payload in payloads:
            done = subprocess.run(
                [hook["command"], *hook.get("args", [])],
                input=json.dumps(payload),
                capture_output=True,
                text=True,
                timeout=_TIME_LIMIT,
                check=False,
                env=env,
            )
        seconds = (time.monotonic() - began) / len(payloads)
        blocked = done.returncode == 2 and "Unspin:" in done.stderr
        blocked = blocked or (
            done.returncode == 0 and '"permissionDecision": "deny"' in done.stdout
        )  # the plugin's way
        return blocked, seconds, done.stderr.strip()[-200:]


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


# -- settings --------------------------------------------------------------------------


def _settings(project: str) -> Iterator[Finding]:
    found = config.find(project)
    for problem in found.problems:
        yield Finding(WRONG, "settings", problem, "Mend the file; what can be used of it is used.")
    if not found.origin and not found.problems:
        yield Finding(OK, "settings", "the defaults; no settings file sets anything")
    for key, path in sorted(found.origin.items()):
        yield Finding(OK, "settings", f"{key} = {found.settings[key]!r}  ({path}; default {KEYS[key][1]!r})")


# -- the store -------------------------------------------------------------------------


def _store() -> Iterator[Finding]:
    try:
        folder = state_folder()
    except OSError as error:
        yield Finding(WRONG, "store", str(error))
        return
    yield from _fault_file(os.path.join(folder, FAULTS_FILE))
    waiting = len(Spool(folder).names())
    if waiting > _WAITING:
        yield Finding(NOTE, "store", f"{waiting} events wait to be taken in", "The next hook does it; look again.")
    try:
        store = Store(folder)
        with store:
            damage, faults, fired = store.damage(), store.faults(), store.fired()
    except (StoreError, sqlite3.Error) as error:
        yield Finding(
            WRONG,
            "store",
            str(error),
            "The disk is full: free some space."
            if disk_is_full(folder)
            else f"Move {folder} away: unspin starts afresh, without sessions and checkpoints of before.",
        )
        return
    if damage:
        yield Finding(WRONG, "store", f"{store.path} is damaged: {damage}", "Move it away: unspin starts afresh.")
    else:
        yield Finding(OK, "store", f"{store.path}, {os.path.getsize(store.path) // 1024} kB")
    recent = [each for each in faults if each[0] > time.time() - _RECENT_SECONDS]
    for when, place, text in recent[-_RECENT_FAULTS:]:
        yield Finding(NOTE, "fault", f"{_date(when)}  {place}: {text}", _remedy(place))
    never = [each.rule for each in DETECTORS if not fired.get(each.rule)]
    if never and fired:
        yield Finding(OK, "rules", f"never fired so far: {', '.join(never)}")


def _checkpoints(project: str) -> Iterator[Finding]:
    from unspin.checkpoint.git import version
    from unspin.checkpoint.place import Refused, find

    if not config.find(project).settings["checkpoints.enabled"]:
        yield Finding(OK, "checkpoints", "off (checkpoints.enabled = false)")
        return
    found = version()
    if not found:
        yield Finding(NOTE, "checkpoints", "git is not on PATH: none are kept", "Install git.")
        return
    try:
        place = find(project, state_folder())
    except (Refused, OSError) as error:
        yield Finding(NOTE, "checkpoints", f"none are kept in this folder: {error}")
        return
    yield Finding(OK, "checkpoints", f"of {place.root}, with {found}")


def _fault_file(path: str) -> Iterator[Finding]:
    text = _text(path)
    lines = [line.split("\t", 2) for line in (text or "").splitlines() if line.count("\t") >= 2]
    recent = [line for line in lines if line[0].isdigit() and int(line[0]) > time.time() - _RECENT_SECONDS]
    for when, place, what in recent[-_RECENT_FAULTS:]:
        yield Finding(NOTE, "fault", f"{_date(int(when))}  {place}: {what}")


def _date(when: float) -> str:
    return time.strftime("%d %b %H:%M", time.localtime(when))


def _remedy(place: str) -> str:
    return "Mend the settings file." if place == "settings" else ""
