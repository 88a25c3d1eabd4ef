"""Other guards' hooks beside ours: the same calls, in the same run.

They are installed from PyPI into a folder of their own below the cache folder, never into
the project, and started by the command lines that they install or document.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sessions
from harness import BARE, Processes, Report, interleave, median, python, spread, standing_in
from hook_latency import SameFolders, State, installed

PEERS = {"unwedge": "0.2.0", "agent-guard-hooks": "0.7.0"}
_SECONDS = 120


def cache(wanted: Mapping[str, str] = PEERS) -> Path:
    """Return the folder in which these versions are, or will be."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "unspin-benchmarks" / ("peers-" + "-".join(wanted.values()))


def install(peers: Mapping[str, str] = PEERS) -> str:
    """Install the peers where they are not yet; return why that failed, empty if it did not."""
    folder = cache(peers)
    if (folder / "complete").exists():
        return ""
    wanted = [f"{name}=={version}" for name, version in peers.items()]
    try:
        subprocess.run([python(), "-m", "venv", str(folder)], check=True, capture_output=True, timeout=_SECONDS)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted], check=True, capture_output=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__} while installing {', '.join(wanted)}"
    (folder / "complete").touch()
    return ""


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("2. Beside other guards' hooks")
    reason = "left out with --quick" if quick else install()
    if reason:
        report.note(f"Skipped: {reason}. They are installed from PyPI, which needs the network.")
        return
    processes = Processes(folder)
    project = sessions.Project(folder)
    subprocess.run(["git", "init", "--quiet", str(project.folder)], check=False, capture_output=True)
    make = sessions.Payloads(project)
    environment = {
        **processes.environment,
        "PATH": f"{cache() / 'bin'}{os.pathsep}{os.defpath}",
        "UNWEDGE_MODE": "hint",
    }
    guard_hooks = _agent_guard_hooks(environment)
    calls = {
        "edit of source": make.edit("src/cart.py"),
        "ls": make.shell("ls src", "cart.py\n"),
        "failing test run": make.failing("pytest -q tests", 3),
    }
    history = [make.make("SessionStart", source="startup"), make.prompt()]
    history += [make.batch(make.shell(f"ls {n}", "x")) for n in range(20)]
    variants: dict[str, Callable[[], float]] = {
        "python -I -S -c pass": lambda: processes.run([python(), *BARE], environment=environment)
    }

    kept = folder / "kept"

    def sequence(*starts: tuple[list[str], str]) -> Callable[[], float]:
        def once() -> float:
            shutil.rmtree(processes.home)
            shutil.copytree(kept, processes.home)  # the same history for all, every time
            return sum(processes.run(command, stdin, environment) for command, stdin in starts)

        return once

    with SameFolders(processes), standing_in(project.folder):
        State(processes, "mid", history)
        for number in range(20):  # a history for those that look back
            after = processes.payload(_after(make, make.shell(f"ls {number}", "x")))
            processes.run(_shell("unwedge hook"), after, environment)
        _start_of_session(processes, make, environment, guard_hooks)
        shutil.copytree(processes.home, kept)
        hooks: dict[str, int] = {}
        for name, call in calls.items():
            before, after = processes.payload(make.before(call)), processes.payload(_after(make, call))
            batch = processes.payload(make.batch(call))
            theirs = [(_shell(line), before) for line in _matching(guard_hooks, "PreToolUse", call["tool_name"])]
            theirs += [(_shell(line), after) for line in _matching(guard_hooks, "PostToolUse", call["tool_name"])]
            ours = [(installed(), before), (installed(), batch)]
            for who, starts in {
                "unspin": ours,
                "unwedge": [(_shell("unwedge hook"), after)],
                "agent-guard-hooks": theirs,
            }.items():
                variants[f"{name}: {who}"] = sequence(*starts)
                hooks[f"{name}: {who}"] = len(starts)
        times = interleave(variants, 25)
    bare = median(times["python -I -S -c pass"])
    report.note(
        "All hooks of one tool call, one after another (a client may run those of one event side by side). unwedge "
        f"{PEERS['unwedge']} with its documented `unwedge hook` after each tool and no model; agent-guard-hooks "
        f"{PEERS['agent-guard-hooks']} with what `agent-guard install` wrote. They do other things than unspin does."
    )
    report.table(
        "One tool call (baseline: python -I -S -c pass)",
        ["call: guard", "processes", "ms", "ratio", "ratio a process", "p10 - p90 ms"],
        [
            [
                name,
                hooks.get(name, 1),
                median(spent),
                median(spent) / bare,
                median(spent) / bare / hooks.get(name, 1) if hooks.get(name, 1) else 0.0,
                spread(spent),
            ]
            for name, spent in times.items()
        ],
    )


def _shell(line: str) -> list[str]:
    """A command line without arguments of its own is given to a shell by the client."""
    return ["/bin/sh", "-c", line]


def _after(make: sessions.Payloads, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of the older hook after one tool, which the peers use."""
    text = str(call["tool_response"])
    failed = text.startswith("Exit code")
    fields = {key: value for key, value in call.items() if key != "tool_response"}
    if failed:
        return make.make("PostToolUseFailure", **fields, error=text, is_interrupt=False)
    return make.make("PostToolUse", **fields, tool_response={"stdout": text, "stderr": "", "interrupted": False})


def _agent_guard_hooks(environment: Mapping[str, str]) -> dict[str, Any]:
    command = [str(cache() / "bin" / "agent-guard"), "install"]
    subprocess.run(command, check=True, capture_output=True, env=dict(environment), timeout=_SECONDS)
    settings = Path(environment["HOME"]) / ".claude" / "settings.json"
    hooks: dict[str, Any] = json.loads(settings.read_text("utf-8"))["hooks"]
    return hooks


def _matching(hooks: Mapping[str, Any], event: str, tool: str) -> list[str]:
    return [
        hook["command"]
        for group in hooks.get(event, ())
        if tool in group.get("matcher", tool).split("|")
        for hook in group["hooks"]
    ]


def _start_of_session(
    processes: Processes, make: sessions.Payloads, environment: Mapping[str, str], hooks: Mapping[str, Any]
) -> None:
    start = processes.payload(make.make("SessionStart", source="startup"))
    for line in _matching(hooks, "SessionStart", ""):
        processes.run(_shell(line), start, environment)
