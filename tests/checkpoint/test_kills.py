"""A rollback, an undo and a checkpoint killed at any moment: nothing is lost, and the next command goes on from there.

UNSPIN_KILLS=1000 kills at more points.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import always, book_of, git, repository, seen
from unspin.checkpoint import restore
from unspin.checkpoint.book import MESSAGE, PASSED, Wanted

KILLS = int(os.environ.get("UNSPIN_KILLS", "100"))

#: What changes files or starts git: a process is killed before or after one of these.
CALLS = ("rename", "replace", "unlink", "rmdir", "mkdir", "symlink", "link", "write", "fchmod", "posix_spawnp", "open")

Tree = dict[bytes, tuple[str, int, bytes]]


class Scene:
    """A project between two states: ``now`` is there, the checkpoint holds the other one."""

    def __init__(self, top: Path):
        self.root = top / "project"
        self.root.mkdir(parents=True)
        git(self.root, "init", "-q")
        (self.root / ".gitignore").write_text("*.log\n")
        (self.root / "kept.log").write_text("ignored\n")
        for number in range(200):
            path = self.root / f"d{number % 7}" / f"e{number % 3}" / f"{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{number}\n" * (number % 50 + 1))
        (self.root / "link").symlink_to("d1")
        (self.root / "turns").write_text("a file\n")
        (self.root / "then.tmp").write_text("not ignored yet\n")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "one")
        self.book = book_of(self.root)
        target = self.book.take(Wanted(PASSED, "s", command="pytest", working=True))
        assert target
        self.target = target
        self.then = seen(self.root)
        rest = random.Random(4)
        for number in range(200):
            path = self.root / f"d{number % 7}" / f"e{number % 3}" / f"{number}.py"
            fate = rest.random()
            if fate < 0.4:
                path.write_text("changed\n" * (number % 30 + 1))
            elif fate < 0.5:
                path.chmod(0o600)
            elif fate < 0.7:
                path.unlink()
            elif fate < 0.8:
                path.with_suffix(".new").write_text(f"new {number}\n")
        shutil.rmtree(self.root / "d6")
        (self.root / "d6").symlink_to("d5")
        (self.root / "link").unlink()
        (self.root / "link").mkdir()
        (self.root / "link" / "inside").write_text("x\n")
        (self.root / "turns").unlink()
        (self.root / "turns" / "empty").mkdir(parents=True)
        (self.root / "private").mkdir(mode=0o700)
        (self.root / "private" / "x").write_text("x\n")
        (self.root / ".gitignore").write_text("*.log\n*.tmp\n")
        (self.root / "then.tmp").unlink()
        (self.root / "now.tmp").write_text("ignored now\n")
        self.now = seen(self.root)
        self.theirs = repository(self.root)
        self.mode = (self.root / "private").stat().st_mode

    def each_is_whole(self) -> None:
        """Hold that each file is the one or the other, and that nothing else is there but what is not finished."""
        there = seen(self.root)
        for path in {*there, *self.now, *self.then}:
            if os.path.basename(path).startswith(restore.TEMPORARY.encode()):
                continue
            assert there.get(path) in (self.now.get(path), self.then.get(path)), path
        for path in (b"kept.log", b"now.tmp"):
            assert there[path] == self.now[path]

    def is_at_the_beginning(self) -> None:
        assert seen(self.root) == self.now
        assert (self.root / "turns" / "empty").is_dir()
        assert (self.root / "private").stat().st_mode == self.mode
        assert repository(self.root) == self.theirs
        assert restore.TEMPORARY not in git(self.root, "--no-optional-locks", "status", "--porcelain", "-uall")

    def is_gone_back(self) -> None:
        assert seen(self.root) == {**self.then, b"now.tmp": self.now[b"now.tmp"]}

    def roll_back(self) -> None:
        assert not self.book.roll_back(self.target, [], "", always).done.left_alone

    def undo(self) -> None:
        assert not self.book.undo("", always).done.left_alone


def killed(work: Callable[[], object], at: int, *, after: bool) -> bool:
    """Do ``work`` in a process that kills itself at its call number ``at``; tell whether it came so far."""
    child = os.fork()
    if child == 0:
        try:
            _count(at, after=after)
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def _count(at: int, *, after: bool) -> None:
    made = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            this = made
            if this == at and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return call(*args, **named)
            finally:
                if this == at:
                    os.kill(os.getpid(), signal.SIGKILL)

        return wrapped

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    exchange = restore._renameat2()
    restore._renameat2 = lambda: counted(exchange) if exchange else None  # type: ignore[assignment]


@pytest.fixture(params=["near", "far"])
def scene(request: Any, tmp_path: Path) -> Iterator[Scene]:
    """With the state on the same file system, and on another, where files are finished inside the work tree."""
    with contextlib.ExitStack() as stack:
        top = tmp_path / "work"
        if request.param == "far":
            if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
                pytest.skip("there is no second file system here")
            top = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))) / "work"
        yield Scene(top)


def count(work: Callable[[], object]) -> int:
    """The number of calls that ``work`` makes."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        made = 0

        def counted(call: Callable[..., Any]) -> Callable[..., Any]:
            def wrapped(*args: Any, **named: Any) -> Any:
                nonlocal made
                made += 1
                return call(*args, **named)

            return wrapped

        write = os.write
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        exchange = restore._renameat2()
        restore._renameat2 = lambda: counted(exchange) if exchange else None  # type: ignore[assignment]
        try:
            work()
        finally:
            write(here, str(made).encode())
            os._exit(0)
    os.close(here)
    os.waitpid(child, 0)
    with os.fdopen(there) as file:
        return int(file.read())


def points(number: int, kills: int) -> list[tuple[int, bool]]:
    """Spread over all calls, other ones in each run; each second one after the call."""
    step = max(1.0, number / kills)
    places = sorted({1 + int(step * (at + random.random())) for at in range(kills)})
    return [(each, bool(nth % 2)) for nth, each in enumerate(places) if each <= number]


def test_a_killed_rollback_can_be_undone_and_made_again(scene: Scene) -> None:
    number = count(scene.roll_back)
    scene.is_gone_back()
    scene.undo()
    scene.is_at_the_beginning()
    hit = 0
    for nth, (at, after) in enumerate(points(number, KILLS // 2)):
        hit += killed(scene.roll_back, at, after=after)
        scene.each_is_whole()
        if nth % 2:
            scene.roll_back()
            scene.is_gone_back()
        elif not begun(scene):
            continue
        scene.undo()
        scene.is_at_the_beginning()
    assert hit >= min(KILLS // 2, number) * 0.9


def begun(scene: Scene) -> bool:
    """Whether a rollback is there that was not undone; killed before it began, there is nothing to undo."""
    with scene.book._opened() as store:
        last = store.last_rollback(scene.book.place.root)
    if last and not last.undoes:
        return True
    assert seen(scene.root) == scene.now
    return False


def test_a_killed_undo_is_completed_by_the_next(scene: Scene) -> None:
    scene.roll_back()
    number = count(scene.undo)
    scene.is_at_the_beginning()
    for at, after in points(number, KILLS // 4):
        scene.roll_back()
        scene.is_gone_back()
        killed(scene.undo, at, after=after)
        scene.each_is_whole()
        if begun(scene):
            scene.undo()
        scene.is_at_the_beginning()


def test_after_a_killed_checkpoint_the_next_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    for number in range(200):
        (root / f"{number}.py").write_text(f"{number}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")

    def take() -> None:
        book_of(root).take(Wanted(MESSAGE, str(time.time())))

    for again in (False, True):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"state-{again}"))
        if again:
            take()
        change(root)
        number = count(take)
        for nth, (at, after) in enumerate(points(number, KILLS // 10)):
            if not again:
                monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / f"state-{nth}"))
            change(root)
            killed(take, at, after=after)
            book = book_of(root)
            found = book.take(Wanted(PASSED, str(time.time())))
            assert found
            held = {
                path: b"".join(book.snapshots.blobs([blob])) for _, blob, path in book.snapshots._listed(found.tree)
            }
            assert held == {path: content for path, (_, _, content) in seen(root).items()}
            assert not list((Path(book.place.store)).glob("*.lock"))


def change(root: Path) -> None:
    for number in random.sample(range(200), 20):
        (root / f"{number}.py").write_text(f"{random.random()}\n" * 100)


def test_a_lock_that_a_killed_git_left_is_in_nobodys_way(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a").write_text("1")
    book = book_of(root)
    assert book.take(Wanted(MESSAGE))
    (Path(book.place.store) / "index.lock").write_text("")
    (root / "a").write_text("2")
    assert book.take(Wanted(MESSAGE))


@pytest.mark.parametrize("what", [["rollback"], ["rollback", "--undo"]], ids=["rollback", "undo"])
def test_the_command_killed_at_random_moments(what: list[str], tmp_path: Path) -> None:
    scene = Scene(tmp_path / "work")
    run = [sys.executable, "-m", "unspin", *what]
    scene.roll_back()
    scene.undo()
    lasted = []
    for _ in range(2):
        if "--undo" in what:
            scene.roll_back()
        begin = time.monotonic()
        subprocess.run(run, cwd=scene.root, check=True, capture_output=True)
        lasted.append(time.monotonic() - begin)
        if "--undo" not in what:
            scene.undo()
    for _ in range(max(4, KILLS // 10)):
        if "--undo" in what:
            scene.roll_back()
        process = subprocess.Popen(run, cwd=scene.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0.1, 1.0) * max(lasted))
        process.kill()
        process.wait()
        scene.each_is_whole()
        if begun(scene):
            scene.undo()
        scene.is_at_the_beginning()
