"""Checkpoints: beside ``git stash create`` and ``git status`` on the same trees; the first one, the hook, the disk."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sessions
from harness import Processes, Report, interleave, median, spread, standing_in
from hook_latency import installed

from unspin.checkpoint.book import MESSAGE, PASSED, Book, Wanted
from unspin.checkpoint.taking import wait_for_others
from unspin.paths import state_folder
from unspin.store import Checkpoint, Store, patiently

AIM_STASH = 1.2
AIM_GROWTH = 1.25
_CHANGED = (1, 10, 100)  # files changed between two checkpoints whose disk is weighed
_IN_A_FOLDER = 20
_OFF = "[checkpoints]\nenabled = false\n"


def run(report: Report, folder: Path, *, quick: bool = False) -> None:
    report.title("7. Checkpoints")
    processes = Processes(folder)
    git = shutil.which("git")
    if git is None:
        report.note("Left out: git is not on PATH.")
        return
    processes.environment["PATH"] = f"{os.path.dirname(git)}:{os.defpath}"
    sizes = {100: 2, 200: 2} if quick else {1_000: 60, 10_000: 25, 100_000: 5}
    aimed = list(sizes)[:2]
    weighed: dict[int, dict[int, int]] = {}
    with _environment(processes):
        for size, rounds in sizes.items():
            tree = Tree(processes, size, git)
            with standing_in(tree.folder):
                ratio = after_one_edit(report, tree, rounds)
                if size in aimed:
                    report.aim(f"a checkpoint after one edit over git stash create, {size:,} files", ratio, AIM_STASH)
                weighed[size] = disk(report, tree)
                first(report, tree, max(2, rounds // 4))
                hooks(report, tree, max(2, rounds // 3))
            tree.remove()
    small, large = (weighed[size] for size in aimed)
    most = _CHANGED[-1]
    report.aim(
        f"disk of a checkpoint per changed file, {most} changed over 1, {aimed[-1]:,} files",
        large[most] / most / large[1],
        AIM_GROWTH,
    )
    report.aim(
        f"disk of a checkpoint after one edit, {aimed[-1]:,} files over {aimed[0]:,}", large[1] / small[1], AIM_GROWTH
    )


@contextlib.contextmanager
def _environment(processes: Processes) -> Iterator[None]:
    """In-process work sees what the processes see, and nothing else."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(processes.environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class Tree:
    """A committed work tree of so many files, all packed, and the checkpoints of it."""

    def __init__(self, processes: Processes, size: int, git: str):
        self.processes = processes
        self.size = size
        self.git = git
        self.folder = processes.folder / f"tree-{size}"
        self.folder.mkdir()
        self.folder = self.folder.resolve()
        self.transcript = processes.folder / "transcript.jsonl"  # none: nothing is read of it
        self.edits = 0
        for number in range(size):
            path = self.file(number)
            if number % _IN_A_FOLDER == 0:
                path.parent.mkdir(parents=True)
            path.write_text(f"NUMBER = {number}\n\n\n{sessions.SOURCE}", "utf-8")
        (self.folder / ".gitignore").write_text("build/\n*.log\n", "utf-8")
        self.bytes = size * (self.folder / self.name(0)).stat().st_size
        self.run_git("init", "-q")
        for name, value in {"user.name": "a", "user.email": "a@b", "gc.auto": "0"}.items():
            self.run_git("config", name, value)
        self.run_git("-c", "core.bigFileThreshold=1", "add", "-A")  # one pack, as of a clone
        self.run_git("commit", "-q", "-m", "first")
        self.settle()

    def name(self, number: int) -> str:
        folder = number // _IN_A_FOLDER
        return f"src/part{folder // 20}/unit{folder}/module{number}.py"

    def file(self, number: int) -> Path:
        return self.folder / self.name(number)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def run_git(self, *arguments: str) -> None:
        subprocess.run([self.git, "-C", str(self.folder), *arguments], check=True, capture_output=True)

    def settle(self) -> None:
        """Let the second of the last change go by, so that git need not look into files again."""
        time.sleep(2.1)
        self.run_git("status")

    def edit(self, number: int = 0) -> None:
        """Change one file against the commit and against the checkpoint before."""
        self.edits += 1
        path = self.file(number)
        text = path.read_text("utf-8").partition("# edit")[0]
        path.write_text(f"{text}# edit {self.edits}\n", "utf-8")

    def book(self) -> Book:
        return Book(str(self.folder), lambda: patiently(state_folder()), state_folder=state_folder())

    def take_beside(self) -> tuple[float, Checkpoint | None]:
        """Do the same in a fork, as beside a hook: each page of memory that it writes to is copied first."""
        there, here = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(here, pickle.dumps(self.take()))
            finally:
                os._exit(0)
        os.close(here)
        with open(there, "rb") as answer:
            found: tuple[float, Checkpoint | None] = pickle.load(answer)
        os.waitpid(child, 0)
        return found

    def take(self, reason: str = PASSED) -> tuple[float, Checkpoint | None]:
        """Take a checkpoint; return the seconds it took, and itself. The list is closed before and after."""
        passed, opened = reason == PASSED, list[Store]()
        wanted = Wanted(reason, "bench", command="pytest" if passed else "", working=passed, before=time.time_ns())
        folder = state_folder()
        begin = time.perf_counter()
        found = Book(str(self.folder), lambda: patiently(folder, kept=opened), state_folder=folder).take(wanted)
        return time.perf_counter() - begin, found

    def remove_checkpoints(self) -> None:
        shutil.rmtree(state_folder(), ignore_errors=True)

    def remove(self) -> None:
        shutil.rmtree(self.folder)
        self.remove_checkpoints()


# -- time ------------------------------------------------------------------------------


def after_one_edit(report: Report, tree: Tree, rounds: int) -> float:
    """Beside git's own snapshot of a work tree, the same file changed before each; return the ratio."""

    def git(*arguments: str) -> Callable[[], float]:
        def once() -> float:
            tree.edit()
            spent = tree.processes.run([tree.git, *arguments])
            if tree.processes.status or not tree.processes.said:
                raise AssertionError(f"git {arguments[0]}: {tree.processes.complained}")
            return spent

        return once

    def checkpoint(take: Callable[[], tuple[float, Checkpoint | None]], *, index_changed: bool = False) -> float:
        tree.take()  # what the git commands in between did to the index is known then
        tree.edit()
        if index_changed:
            os.utime(tree.folder / ".git" / "index")
        spent, found = take()
        if found is None or found.files_changed != 1 or not found.working:
            raise AssertionError("no working checkpoint of one changed file was taken")
        return spent

    def unchanged() -> float:
        tree.take()
        spent, found = tree.take(MESSAGE)
        if found is not None:
            raise AssertionError("a checkpoint was taken of what had not changed")
        return spent

    tree.take()
    tree.settle()
    tree.edit()
    tree.take()
    base, ours = "git stash create", "a checkpoint"
    times = interleave(
        {
            base: git("stash", "create"),
            "git status --porcelain": git("status", "--porcelain"),
            ours: lambda: checkpoint(tree.take),
            "a checkpoint, in a fork": lambda: checkpoint(tree.take_beside),
            "a checkpoint, git has written its index as well": lambda: checkpoint(tree.take, index_changed=True),
            "a checkpoint, nothing changed since the last": unchanged,
        },
        rounds,
    )
    compared = median(times[base])
    rows = [[name, median(spent), median(spent) / compared, spread(spent)] for name, spent in times.items()]
    report.table(
        f"After one edit, {tree.size:,} files (baseline: {base})", ["snapshot", "ms", "ratio", "p10 - p90 ms"], rows
    )
    return median(times[ours]) / compared


def first(report: Report, tree: Tree, rounds: int) -> None:
    """The first checkpoint: from a copied index, and from files alone, the repository out of sight."""
    aside = tree.processes.folder / "aside"

    def once(with_git: bool) -> float:
        tree.remove_checkpoints()
        if not with_git:
            os.rename(tree.folder / ".git", aside)
        try:
            spent, found = tree.take()
        finally:
            if not with_git:
                os.rename(aside, tree.folder / ".git")
        if found is None:
            raise AssertionError("no checkpoint was taken")
        return spent

    def status() -> float:
        return tree.processes.run([tree.git, "status", "--porcelain"])

    base = "git status --porcelain"
    times = interleave(
        {
            base: status,
            "from a copied index": lambda: once(True),
            "from files alone, no git": lambda: once(False),
        },
        rounds,
    )
    rows = [[name, median(spent), median(spent) / median(times[base]), spread(spent)] for name, spent in times.items()]
    report.table(
        f"The first checkpoint, {tree.size:,} files of {tree.bytes / 1e6:.0f} MB (baseline: {base})",
        ["snapshot", "ms", "ratio", "p10 - p90 ms"],
        rows,
    )


def hooks(report: Report, tree: Tree, rounds: int) -> None:
    """What the agent waits for at a passed check: the whole hook, the checkpoint in it or not."""
    processes = tree.processes
    hook = installed()
    make = sessions.Payloads(tree)  # type: ignore[arg-type]
    edit = processes.payload(make.batch(make.edit(tree.name(0))))
    passed = processes.payload(
        make.batch(make.shell("pytest -q tests", sessions.PYTEST_PASSED.format(time=3))),
    )
    start = [processes.payload(make.make("SessionStart", source="startup")), processes.payload(make.prompt())]
    prompt = start[-1]
    homes = {name: _home(processes, name) for name in ("off", "on", "new")}
    config = Path(homes["off"]["XDG_CONFIG_HOME"]) / "unspin" / "unspin.toml"
    config.parent.mkdir(parents=True)
    config.write_text(_OFF, "utf-8")

    def played(name: str, payload: str, before: list[str], fresh: bool = False) -> float:
        there = homes[name]
        if fresh:
            shutil.rmtree(there["XDG_STATE_HOME"], ignore_errors=True)
        for each in before:
            processes.run(hook, each, there)
            _wait(there)
        if fresh:
            shutil.rmtree(Path(there["XDG_STATE_HOME"]) / "unspin" / "checkpoints", ignore_errors=True)
        tree.edit()
        spent = processes.run(hook, payload, there)
        if processes.status or processes.complained:
            raise AssertionError(f"{name}: status {processes.status}, {processes.complained}")
        _wait(there)
        return spent

    for name in ("off", "on"):
        for each in [*start, passed]:
            processes.run(hook, each, homes[name])
            _wait(homes[name])
    tree.settle()
    base = "a passed check, checkpoints off"
    times = interleave(
        {
            base: lambda: played("off", passed, [edit]),
            "a passed check, a checkpoint after one edit": lambda: played("on", passed, [edit]),
            "a passed check, the first checkpoint": lambda: played("new", passed, [start[0], edit], True),
            "the person speaks, the first checkpoint": lambda: played("new", prompt, [start[0]], True),
        },
        rounds,
    )
    _check(homes, tree, rounds)
    compared = median(times[base])
    rows = [[name, median(spent), median(spent) / compared, spread(spent)] for name, spent in times.items()]
    report.table(
        f"The whole hook, {tree.size:,} files (baseline: {base})", ["hook", "ms", "ratio", "p10 - p90 ms"], rows
    )
    for each in homes.values():
        shutil.rmtree(Path(each["HOME"]))


def _home(processes: Processes, name: str) -> dict[str, str]:
    home = processes.folder / f"home-{name}"
    home.mkdir()
    there = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    return {**processes.environment, **there}


@contextlib.contextmanager
def _at(there: dict[str, str]) -> Iterator[None]:
    before = os.environ["XDG_STATE_HOME"]
    os.environ["XDG_STATE_HOME"] = there["XDG_STATE_HOME"]
    try:
        yield
    finally:
        os.environ["XDG_STATE_HOME"] = before


def _wait(there: dict[str, str]) -> None:
    """Wait until what goes on behind a hook is done."""
    with _at(there):
        wait_for_others(300.0)


def _check(homes: dict[str, dict[str, str]], tree: Tree, rounds: int) -> None:
    """Make sure that what was timed took checkpoints, or did not."""
    for name, least in {"off": 0, "on": rounds, "new": 1}.items():
        with _at(homes[name]), patiently(state_folder()) as store:
            count, faults = len(store.checkpoints(str(tree.folder))), store.faults()
        if faults or count < least or (count and not least):
            raise AssertionError(f"{name}: {count} checkpoints, {faults}")


# -- disk ------------------------------------------------------------------------------


def disk(report: Report, tree: Tree) -> dict[int, int]:
    """What a checkpoint adds to the store of snapshots, by how many files changed; return its bytes on the disk."""
    book = tree.book()
    rows: list[list[Any]] = []
    found: dict[int, int] = {}
    for count in _CHANGED:
        tree.take()
        blocks, held = book.snapshots.size(), _weigh(book.place.store)
        apart = tree.size // count
        for number in range(count):
            tree.edit(number * apart)
        _, taken = tree.take()
        if taken is None or taken.files_changed != count:
            raise AssertionError(f"no checkpoint of {count} changed files was taken")
        found[count] = book.snapshots.size() - blocks
        added = _weigh(book.place.store) - held
        changed = sum(tree.file(number * apart).stat().st_size for number in range(count))
        rows.append(
            [count, changed, found[count], found[count] // count, added, added / changed, f"{added / tree.bytes:.4%}"]
        )
    report.table(
        f"What a checkpoint adds, {tree.size:,} files of {tree.bytes / 1e6:.0f} MB, the changed ones far apart",
        [
            "files changed",
            "bytes in them",
            "on the disk",
            "of it a file",
            "bytes added",
            "of the changed files",
            "of the tree",
        ],
        rows,
    )
    return found


def _weigh(folder: str) -> int:
    return sum(os.lstat(os.path.join(base, name)).st_size for base, _, files in os.walk(folder) for name in files)
