"""How long one hook takes: the installed command line, a process for every event, beside a bare start of Python."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sessions
from harness import BARE, PLAIN, Processes, Report, interleave, median, python, quantile, spread, standing_in

from unspin import live
from unspin.agents.claude_code_install import command
from unspin.store import Store

AIM_BEFORE = 2.0
AIM_CALL = 6.0


def installed() -> list[str]:
    """Return the command line that ``unspin install claude-code`` writes."""
    entry = command()
    return [entry["command"], *entry["args"]]


class State:
    """A state folder as it was at one moment of a session; every measured hook starts from it."""

    def __init__(self, processes: Processes, name: str, payloads: Sequence[Mapping[str, Any]]):
        self.kept = processes.folder / f"state-{name}"
        self.folder = processes.home / "state" / "unspin"
        self.clear()
        for payload in payloads:
            store = Store(str(self.folder))
            live.handle("claude-code", json.loads(json.dumps(payload)), store)
            store.close()
        if payloads:
            shutil.copytree(self.folder, self.kept)

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def restore(self) -> None:
        self.clear()
        if self.kept.exists():
            shutil.copytree(self.kept, self.folder)


class Scene:
    """One hook event at one moment."""

    def __init__(self, name: str, state: State, payload: Mapping[str, Any], expect: str = ""):
        self.name = name
        self.state = state
        self.payload = payload
        self.expect = expect  # a word of the answer; empty: nothing is to be said


def scenes(processes: Processes, project: sessions.Project) -> list[Scene]:
    """Return the events that are measured one by one."""
    make = sessions.Payloads(project)
    seen = "pytest -q tests/test_cart.py"
    start = [make.make("SessionStart", source="startup"), make.prompt()]
    work = [*start, make.batch(make.read())]
    for number in range(10):
        work.append(make.batch(make.shell(f"ls src/{number}", "cart.py\n"), make.read("src/other.py")))
        work.append(make.batch(make.edit("src/other.py", "count + 1", f"count + {number}")))
        work.append(make.batch(make.shell(f"grep -n total{number} src | head", f"{number}: total\n")))
        passed = sessions.PYTEST_PASSED.format(time=number)
        work.append(make.batch(make.shell("pytest -q tests/test_other.py", passed)))
    work.append(make.batch(make.failing(seen, 5)))
    work.append(make.batch(make.shell("pytest -q tests/test_cart.py tests/test_other.py", passed)))
    looping = list(work)
    for number in range(3):
        looping.append(make.batch(make.edit("src/cart.py", "count + 7", f"count + {number + 20}")))
        looping.append(make.batch(make.failing(seen, number)))
    none, early = State(processes, "none", ()), State(processes, "early", start)
    mid, armed = State(processes, "mid", work), State(processes, "armed", looping)
    watching = State(processes, "watching", [*work, make.batch(make.failing(seen, 3))])
    test_edit = make.edit("tests/test_cart.py", "== 13", "== 14")
    ten = [make.read("src/other.py") for _ in range(8)]
    return [
        Scene("before an edit, nothing armed", mid, make.before(make.edit("src/cart.py"))),
        Scene("before a shell line, nothing armed", mid, make.before(make.shell("pytest -q"))),
        Scene("before an edit, a word of unspin's in it", mid, make.before(make.edit("src/cart.py", new="settings"))),
        Scene("before an edit, armed for another file", armed, make.before(make.edit("src/other.py"))),
        Scene("before a shell line, armed", armed, make.before(make.shell("ls src"))),
        Scene("before an edit, refused", armed, make.before(make.edit("src/cart.py")), "deny"),
        Scene(
            "before a test file is written over, watched", watching, make.before(make.write("tests/test_cart.py", "x"))
        ),
        Scene("after a Read", mid, make.batch(make.read())),
        Scene("after 8 Reads at once", mid, make.batch(*ten)),
        Scene("after ls", mid, make.batch(make.shell("ls src", "cart.py\nother.py\n"))),
        Scene("after a piped line", mid, make.batch(make.shell("pytest -q 2>&1 | tail -3", "1 failed, 13 passed\n"))),
        Scene("after a failing test run, line seen before", mid, make.batch(make.failing(seen, 9))),
        Scene("after a failing test run, new line", mid, make.batch(make.failing("cd src && pytest -x ../tests", 9))),
        Scene("after a passing test run", mid, make.batch(make.shell(seen, passed))),
        Scene("after an edit of source", mid, make.batch(make.edit("src/cart.py"))),
        Scene("after an edit of a test, in an open span", watching, make.batch(test_edit)),
        Scene("prompt", mid, make.prompt()),
        Scene("session start, no store yet", none, make.make("SessionStart", source="startup")),
        Scene("session start", early, make.make("SessionStart", source="resume")),
        Scene("before compaction", early, make.make("PreCompact", trigger="auto")),
    ]


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    """Measure and print."""
    report.title("1. Hook latency")
    processes = Processes(folder)
    project = sessions.Project(folder)
    with SameFolders(processes), standing_in(project.folder):
        one_by_one(report, processes, project, 2 if quick else 40)
        mixes = {"the demonstration": sessions.recorded(project)}
        for number, path in enumerate([] if quick else sessions.transcripts(3), 1):
            mixes[f"transcript {number}"] = sessions.from_transcript(path, project)[:160]
        for name, payloads in mixes.items():
            mix(report, processes, name, payloads, 1 if quick else 5)


class SameFolders:
    """In-process work sees the same folders as the processes."""

    def __init__(self, processes: Processes):
        self.wanted = {key: value for key, value in processes.environment.items() if key.startswith("XDG_")}

    def __enter__(self) -> None:
        self.before = dict(os.environ)
        os.environ.pop("CLAUDE_PROJECT_DIR", None)
        os.environ.update(self.wanted)

    def __exit__(self, *_: object) -> None:
        os.environ.clear()
        os.environ.update(self.before)


def one_by_one(report: Report, processes: Processes, project: sessions.Project, rounds: int) -> None:
    hook = installed()
    variants: dict[str, Callable[[], float]] = {
        "python -I -S -c pass": lambda: processes.run([python(), *BARE]),
        "python -c pass": lambda: processes.run([python(), *PLAIN]),
    }

    def variant(scene: Scene, stdin: str) -> Callable[[], float]:
        def once() -> float:
            scene.state.restore()
            spent = processes.run(hook, stdin)
            answered = processes.said
            if processes.status not in (0, 2) or (scene.expect not in answered if scene.expect else answered):
                raise AssertionError(f"{scene.name}: status {processes.status}, said {answered!r}")
            return spent

        return once

    for scene in scenes(processes, project):
        variants[scene.name] = variant(scene, processes.payload(scene.payload))
    times = interleave(variants, rounds)
    bare = median(times["python -I -S -c pass"])
    rows = [[name, median(spent), median(spent) / bare, spread(spent)] for name, spent in times.items()]
    report.table(
        "One event, one process (baseline: python -I -S -c pass)", ["event", "ms", "ratio", "p10 - p90 ms"], rows
    )


def mix(report: Report, processes: Processes, name: str, payloads: Sequence[Mapping[str, Any]], rounds: int) -> None:
    """Play a session, a process for every event, a bare start between each two of them."""
    hook = installed()
    files = [processes.payload(payload) for payload in payloads]
    nothing = State(processes, "nothing", ())
    spent: list[list[float]] = [[] for _ in payloads]
    bare: list[float] = []
    for _ in range(rounds):
        nothing.clear()
        for at, file in enumerate(files):
            bare.append(processes.run([python(), *BARE]) * 1000)
            spent[at].append(processes.run(hook, file) * 1000)
    per_event = [median(each) for each in spent]
    base = median(bare)
    calls = _calls(payloads, per_event)
    kinds: dict[str, list[float]] = {}
    for payload, each in zip(payloads, per_event, strict=True):
        kinds.setdefault(payload["hook_event_name"], []).append(each)
    kinds["all hooks of one tool call"] = calls
    rows: list[list[Any]] = [["python -I -S -c pass", len(bare), base, 1.0, quantile(bare, 0.9) / base]]
    rows += [
        [kind, len(each), median(each), median(each) / base, quantile(each, 0.9) / base] for kind, each in kinds.items()
    ]
    report.table(
        f"A session played: {name}, {len(payloads)} events",
        ["hook", "events", "median ms", "median ratio", "p90 ratio"],
        rows,
    )
    if "PreToolUse" in kinds:
        report.aim(f"one before-tool call, {name}", median(kinds["PreToolUse"]) / base, AIM_BEFORE)
    report.aim(f"all hooks of one tool call, {name}", median(calls) / base, AIM_CALL)


def _calls(payloads: Sequence[Mapping[str, Any]], spent: Sequence[float]) -> list[float]:
    """Return what each tool call cost: its own hook before it, and its share of the hook after its round."""
    before: dict[str, float] = {}
    costs = []
    for payload, each in zip(payloads, spent, strict=True):
        if payload["hook_event_name"] == "PreToolUse":
            before[payload["tool_use_id"]] = each
        elif payload["hook_event_name"] == "PostToolBatch":
            calls = payload["tool_calls"]
            costs += [before.get(call["tool_use_id"], 0.0) + each / len(calls) for call in calls]
    return costs
