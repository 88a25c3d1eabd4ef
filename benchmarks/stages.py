"""Where a hook's time goes: modules by what their import costs, and the steps of the work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import sessions
from harness import Processes, Report, median, python, standing_in
from hook_latency import SameFolders, Scene, installed, scenes

_SHOWN = (
    "before an edit, nothing armed",
    "before an edit, armed for another file",
    "after a Read",
    "after ls",
    "after a failing test run, new line",
    "after an edit of source",
    "prompt",
)

#: Runs the hook's own code with its own flags and notes the time between its steps.
_STAGED = """
import time
last = time.perf_counter()
import sys
sys.path[:0] = {paths!r}
marks = []
def mark(name):
    global last
    marks.append([name, time.perf_counter() - last])
    last = time.perf_counter()
def watch(owner, name, label):
    inner = getattr(owner, name)
    def outer(*given, **named):
        mark("the rest")
        result = inner(*given, **named)
        mark(label)
        return result
    setattr(owner, name, outer)
from unspin import hook
mark("import unspin.hook")
payload = hook._parse(sys.stdin.buffer.read())
mark("parse the payload")
concerns_nobody = hook._concerns_nobody(payload)
mark("is anything armed?")
if not concerns_nobody:
    import json
    dumps = json.dumps
    mark("import json")
    from unspin import live
    mark("import unspin.live")
    from unspin import agents, config, guard, store
    protocol = agents.load("claude-code")
    mark("import the protocol")
    watch(store.Store, "_open", "open the store")
    watch(store.Store, "__enter__", "begin")
    watch(store.Store, "__exit__", "commit")
    watch(store.Store, "session", "select the session")
    watch(store.Store, "save_session", "write the session")
    watch(store.Store, "close", "close the store")
    watch(protocol, "read", "protocol.read")
    watch(config, "compiled", "settings")
    watch(guard.Guard, "__init__", "Guard()")
    watch(guard.Guard, "observe", "Guard.observe")
    watch(json, "dumps", "json.dumps")
    watch(json, "loads", "json.loads")
    last = time.perf_counter()
    live.handle("claude-code", payload)
    mark("the rest")
else:
    import json
    dumps = json.dumps
sys.__stdout__.write(dumps(marks))
"""


def run(report: Report, folder: Path) -> None:
    report.title("Where the time goes")
    processes = Processes(folder)
    project = sessions.Project(folder)
    with SameFolders(processes), standing_in(project.folder):
        chosen = [scene for scene in scenes(processes, project) if scene.name in _SHOWN]
        imports(report, processes, chosen)
        stages(report, processes, chosen)


def imports(report: Report, processes: Processes, chosen: Sequence[Scene]) -> None:
    """Self time of imports, summed by package: more than they cost without the listing, but in proportion."""
    line = installed()
    line[1:1] = ["-X", "importtime"]
    found: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for scene in chosen:
        stdin = processes.payload(scene.payload)
        sums: dict[str, list[float]] = {}
        for _ in range(12):
            scene.state.restore()
            processes.run(line, stdin)
            once: dict[str, float] = {}
            lines = [each for each in processes.complained.splitlines() if each.startswith("import time:")]
            for each in lines[1:]:
                own, _, name = each.removeprefix("import time:").split("|")
                group = _group(name.strip())
                once[group] = once.get(group, 0.0) + int(own) / 1000
            counts[scene.name] = len(lines) - 1
            for group, spent in once.items():
                sums.setdefault(group, []).append(spent)
        for group, values in sums.items():
            found.setdefault(group, {})[scene.name] = median(values)
    order = sorted(found, key=lambda group: -max(found[group].values()))
    rows: list[list[object]] = [["modules", *[counts[scene.name] for scene in chosen]]]
    rows += [[group, *[round(found[group].get(scene.name, 0.0), 2) for scene in chosen]] for group in order]
    report.table("Imports, ms by package", ["package", *[scene.name for scene in chosen]], rows)


_OURS = ("unspin.facts", "unspin.detect", "unspin.guard", "unspin.agents", "unspin")
_RE = ("re", "enum", "functools", "collections", "reprlib", "operator", "keyword", "copyreg", "types")


def _group(name: str) -> str:
    for each in _OURS:
        if name == each or name.startswith(f"{each}."):
            return each
    top = name.partition(".")[0]
    if top in ("json", "tree_sitter", "tree_sitter_bash", "_sqlite3", "sqlite3", "ast", "typing"):
        return "json" if top == "json" else top
    if top in _RE or top.lstrip("_") in ("sre", "functools", "operator", "collections"):
        return "re and what it loads"
    return "start-up and the rest"


def stages(report: Report, processes: Processes, chosen: Sequence[Scene]) -> None:
    """The steps of one hook, measured inside it."""
    entry = installed()
    paths = _paths(entry[-1])
    line = [*entry[:-1], _STAGED.format(paths=paths)]
    found: dict[str, dict[str, float]] = {}
    for scene in chosen:
        stdin = processes.payload(scene.payload)
        sums: dict[str, list[float]] = {}
        for _ in range(15):
            scene.state.restore()
            processes.run(line, stdin)
            if processes.status:
                report.note(f"{scene.name}: {processes.complained[-300:]}")
                break
            once: dict[str, float] = {}
            for name, spent in json.loads(processes.said):
                once[name] = once.get(name, 0.0) + spent * 1000
            for name, each in once.items():
                sums.setdefault(name, []).append(each)
        for name, values in sums.items():
            found.setdefault(name, {})[scene.name] = median(values)
    rows = [[name, *[round(each.get(scene.name, 0.0), 2) for scene in chosen]] for name, each in found.items()]
    rows.append(["sum", *[round(_sum(found, scene.name), 2) for scene in chosen]])
    report.table("Steps inside the process, ms", ["step", *[scene.name for scene in chosen]], rows)
    report.note(f"The process itself (a bare start of {Path(python()).name}) comes on top.")


def _sum(found: Mapping[str, Mapping[str, float]], scene: str) -> float:
    return sum(each.get(scene, 0.0) for each in found.values())


def _paths(bootstrap: str) -> list[str]:
    """Return the folders that the installed command line puts in front of the path."""
    import ast

    return list(ast.literal_eval(bootstrap.partition("sys.path[:0]=")[2].partition("\n")[0]))
