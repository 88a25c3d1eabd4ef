"""Random trees and histories: going back gives the tree of the checkpoint, undoing gives all of the other back.

More examples: UNSPIN_EXAMPLES=5000 pytest tests/checkpoint/test_properties.py. Making one that failed smaller takes
minutes: UNSPIN_SHRINK=1.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from checkpoint.trees import GIT, always, book_of, repository, seen
from unspin.checkpoint.book import MESSAGE, Wanted
from unspin.checkpoint.restore import IGNORED_THEN
from unspin.checkpoint.snapshots import KnownModes

EXAMPLES = int(os.environ.get("UNSPIN_EXAMPLES", "40"))

#: Names are taken for files and for folders, so that one takes the place of the other.
NAMES = [
    b"a", b"b.log", b"c.tmp", b"-rf", b"tab\t", b"new\nline", b"q\"uo'te", b"trailing ", b"C:x", b"back\\slash",
    b"\xff\xfe", "ö".encode(), "o\u0308".encode(), b"n" * 200, b"build", b"*", b"!neg", b"#hash", b".gitmodules",
    b".gitattributes", b".hidden", b"A",
    b".GIT",
]  # fmt: skip
FOLDERS = [b"", b"", b"", b"d", b"d/e", b"build", b"new\nline", b"\xff\xfe", b"a", b"b.log"]
RULES = [
    b"", b"*.log\n", b"*.tmp\nbuild/\n", b"/d/\n", b"*\n!a\n!*/\n!.gitignore\n", b"!*.log\n", b"a\n", b"d/*\n!d/e\n",
    b"\\#hash\n", b"# nothing\n\n", b"new*\n",
]  # fmt: skip
CONTENTS = [b"", b"1\n", b"2\n", b"3\n", b"\0\r\n\xff", b"one\r\ntwo\n", b"x" * 5000, b"$Id$\n"]
MODES = [0o644, 0o644, 0o600, 0o755, 0o444, 0o640, 0o777, 0o500]
TARGETS = [b"a", b"nowhere", b"d", b"..", b"@outside", b"@outside/kept", b"/", b"new\nline", b"."]

paths = st.builds(lambda folder, name: (folder + b"/" if folder else b"") + name,
                  st.sampled_from(FOLDERS), st.sampled_from(NAMES))  # fmt: skip
edits = st.one_of(
    st.tuples(st.just("write"), paths, st.sampled_from(CONTENTS), st.sampled_from(MODES)),
    st.tuples(st.just("write"), paths, st.sampled_from(CONTENTS), st.sampled_from(MODES)),
    st.tuples(st.just("stealth"), paths, st.sampled_from(CONTENTS)),
    st.tuples(st.just("link"), paths, st.sampled_from(TARGETS)),
    st.tuples(st.just("chmod"), paths, st.sampled_from(MODES)),
    st.tuples(st.just("delete"), paths),
    st.tuples(st.just("rename"), paths, paths),
    st.tuples(st.just("ignore"), st.sampled_from([b"", b"d/", b"build/", b".git/info/"]), st.sampled_from(RULES)),
    st.tuples(st.just("nested"), paths),
    st.tuples(st.just("pipe"), paths),
    st.tuples(st.just("folder"), paths, st.sampled_from([0o755, 0o700])),
)
persons = st.sampled_from(
    [
        ("add", "-A"), ("add", "-A", "-f"), ("add", "-u"), ("add", "-N", "."), ("commit", "-qm", "some"),
        ("commit", "-qam", "all"), ("stash", "-q"), ("stash", "-q", "-u"), ("stash", "pop", "-q"),
        ("checkout", "-q", "-B", "other"), ("checkout", "-q", "-f", "main"), ("checkout", "-q", "-f", "--detach"),
        ("rm", "-rq", "--cached", "."), ("reset", "-q"), ("reset", "-q", "--hard", "HEAD~1"), ("clean", "-fdq"),
        ("gc", "-q", "--prune=now"), ("update-index", "--index-version", "4"), ("update-index", "--split-index"),
        ("config", "core.untrackedCache", "true"), ("status", "-s"), ("config", "core.autocrlf", "true"),
        ("update-index", "--skip-worktree", "a"), ("merge", "-q", "other", "-m", "merged"),
    ]
)  # fmt: skip
steps = st.one_of(
    edits, edits, edits, st.tuples(st.just("git"), persons), st.just(("take",)), st.just(("back", 0)),
    st.tuples(st.just("back"), st.integers(0, 5)), st.tuples(st.just("paths"), st.integers(0, 5), paths),
)  # fmt: skip


class World:
    """A folder, the person's git in it, and its checkpoints: does what a script says and looks after each command."""

    def __init__(self, top: Path, *, with_git: bool):
        self.top = top
        self.root = top / "project"
        self.outside = top / "outside"
        self.with_git = with_git
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "kept").write_text("outside\n")
        os.environ["XDG_STATE_HOME"] = str(top / "state")
        if with_git:
            self.git("init", "-q", "--template=", "-b", "main")
            hook = self.root / ".git" / "hooks" / "post-index-change"
            hook.parent.mkdir()
            hook.write_text(f"#!/bin/sh\ntouch {top}/ran\n")
        self.book = book_of(self.root)
        self.taken: list[tuple[Any, dict[bytes, Any], set[bytes]]] = []

    def git(self, *arguments: str) -> bytes:
        env = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"} if arguments[0] == "status" else None
        done = subprocess.run([*GIT, *arguments], cwd=self.root, capture_output=True, env=env, check=False)
        return done.stdout

    def full(self, path: bytes) -> bytes:
        return os.path.join(os.fsencode(self.root), path)

    # -- what people and agents do -----------------------------------------------------

    def do(self, step: tuple[Any, ...]) -> None:
        ours = step[0] in ("take", "back", "paths")
        impossible = (FileNotFoundError, NotADirectoryError, FileExistsError, IsADirectoryError)
        with contextlib.suppress(*(() if ours else impossible)):
            getattr(self, f"do_{step[0]}")(*step[1:])

    def clear(self, path: bytes) -> None:
        """Make room for a path: what stands there goes, and each file or link on the way."""
        way = b""
        for part in path.split(b"/"):
            way = way + b"/" + part if way else part
            full = self.full(way)
            if os.path.islink(full) or not os.path.isdir(full):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(full)
            elif way == path:
                shutil.rmtree(full)
        os.makedirs(os.path.dirname(self.full(path)), exist_ok=True)

    def do_write(self, path: bytes, content: bytes, mode: int) -> None:
        self.clear(path)
        Path(os.fsdecode(self.full(path))).write_bytes(content)
        os.chmod(self.full(path), mode)

    def do_stealth(self, path: bytes, content: bytes) -> None:
        """Write over a file and set its time back."""
        full = self.full(path)
        if not stat.S_ISREG(os.lstat(full).st_mode):
            return
        times = os.stat(full)
        with open(full, "r+b") as file:
            file.truncate()
            file.write(content)
        os.utime(full, ns=(times.st_atime_ns, times.st_mtime_ns))

    def do_link(self, path: bytes, target: bytes) -> None:
        self.clear(path)
        os.symlink(target.replace(b"@outside", os.fsencode(self.outside)), self.full(path))

    def do_chmod(self, path: bytes, mode: int) -> None:
        if stat.S_ISREG(os.lstat(self.full(path)).st_mode):
            os.chmod(self.full(path), mode)

    def do_delete(self, path: bytes) -> None:
        if os.path.islink(self.full(os.path.dirname(path))):
            return
        full = self.full(path)
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        else:
            os.unlink(full)

    def do_rename(self, old: bytes, new: bytes) -> None:
        if os.path.lexists(self.full(old)) and not new.startswith(old) and not old.startswith(new):
            if any(os.path.islink(self.full(os.path.dirname(each))) for each in (old, new)):
                return
            self.clear(new)
            os.rename(self.full(old), self.full(new))

    def do_ignore(self, folder: bytes, rules: bytes) -> None:
        if folder == b".git/info/":
            if self.with_git:
                os.makedirs(self.full(folder), exist_ok=True)
                Path(os.fsdecode(self.full(folder + b"exclude"))).write_bytes(rules)
        else:
            self.do_write(folder + b".gitignore", rules, 0o644)

    def do_nested(self, path: bytes) -> None:
        self.clear(path)
        os.makedirs(self.full(path))
        subprocess.run([*GIT, "init", "-q", "--template="], cwd=self.full(path), check=True)
        Path(os.fsdecode(self.full(path + b"/inside"))).write_bytes(b"theirs\n")

    def do_pipe(self, path: bytes) -> None:
        if os.path.basename(path).startswith(b".git"):
            return  # the person's own git would wait for ever
        self.clear(path)
        os.mkfifo(self.full(path))

    def do_folder(self, path: bytes, mode: int) -> None:
        self.clear(path + b"/x")
        os.chmod(self.full(path), mode)

    def do_git(self, arguments: tuple[str, ...]) -> None:
        if self.with_git:
            self.git(*arguments)

    # -- what we do --------------------------------------------------------------------

    @contextlib.contextmanager
    def untouched(self, *, same_tree: bool = False) -> Any:
        """Hold that the person's repository and all outside stay as they are."""
        before = self.theirs(same_tree)
        yield
        assert self.theirs(same_tree) == before
        assert not (self.top / "ran").exists()

    def theirs(self, same_tree: bool) -> list[Any]:
        found: list[Any] = [seen(self.outside), repository(self.root)]
        if self.with_git:
            found += [
                self.git("log", "--all", "--format=%H %D"),
                self.git("stash", "list"),
                self.git("reflog", "--all"),
            ]
            if same_tree:
                found.append(self.git("status", "--porcelain", "-z"))
        return found

    def folders(self) -> dict[bytes, int]:
        """The permissions of the folders that hold files."""
        found = {}
        for path in seen(self.root):
            while path := os.path.dirname(path):
                found[path] = stat.S_IMODE(os.lstat(self.full(path)).st_mode)
        return found

    def visible(self) -> set[bytes] | None:
        """What git sees: tracked and untracked, not ignored, in no repository of its own."""
        if not self.with_git:
            return None
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")
        found = set()
        for path in listed:
            real = not any(os.path.islink(self.full(each)) for each in _ways(path))
            if path and not path.endswith(b"/") and real and os.path.lexists(self.full(path)):
                kind = os.lstat(self.full(path)).st_mode
                if stat.S_ISREG(kind) or stat.S_ISLNK(kind):
                    found.add(path)
        return found

    def nested(self) -> set[bytes]:
        """The repositories inside the work tree. Whether tracked files in one are seen depends on who asks when."""
        found = set()
        for base, folders, _ in os.walk(os.fsencode(self.root)):
            if b".git" in folders:
                folders.remove(b".git")
                found.add(os.path.relpath(base, os.fsencode(self.root)))
        return found - {b"."}

    def ignored(self, path: bytes) -> bool:
        done = subprocess.run(
            ["git", "check-ignore", "-q", "--no-index", "-z", "--stdin"], cwd=self.root, input=path, check=False
        )
        return done.returncode == 0 or not self.with_git

    def do_take(self) -> None:
        with self.untouched(same_tree=True):
            found = self.book.take(Wanted(MESSAGE, str(len(self.taken))))
        assert found
        held = set(self.book.snapshots.files(found.tree))
        out = {os.fsencode(path).rstrip(b"/") for path, _ in json.loads(found.left_out)}
        visible = self.visible()
        state = seen(self.root)
        if visible is not None:
            nested = self.nested()
            assert {each for each in held - visible if not _below(each, nested)} == set()
            # a submodule's content, and what git itself does not take, are left out and listed
            assert {each for each in visible - held if not _below(each, out | nested)} == set()
        for path in out:
            assert not os.path.isfile(self.full(path)) or b".git" in path.lower()
        assert held <= set(state)
        self.taken.append((found, {path: state[path] for path in held}, held))

    def do_back(self, which: int) -> None:
        if not self.taken:
            self.do_take()
        self.go_back(*self.taken[-1 - which % len(self.taken)][:2], [])

    def do_paths(self, which: int, path: bytes) -> None:
        if not self.taken:
            self.do_take()
        target, state, _ = self.taken[-1 - which % len(self.taken)]
        if not any(os.path.islink(self.full(each)) for each in _ways(path)):
            self.go_back(target, state, [path])

    def go_back(self, target: Any, wanted: dict[bytes, Any], only: list[bytes]) -> None:
        before, folders = seen(self.root), self.folders()
        status = self.git("status", "--porcelain", "-z") if self.with_git else b""
        with self.untouched():
            files = [os.fsdecode(self.full(each)) for each in only]
            outcome = self.book.roll_back(target, files, "", always)
        after = seen(self.root)
        held = set(self.book.snapshots.files(outcome.plan.present.tree))
        alone = dict(outcome.done.left_alone)
        note(f"left alone: {alone}")
        meant = {
            path for path in {*wanted, *held} if not only or any(path == p or path.startswith(p + b"/") for p in only)
        }
        for path in {*before, *after, *wanted}:
            if path in alone or path not in meant:  # all that is not saved is as it was
                assert after.get(path) == before.get(path), path
            else:
                assert after.get(path) == wanted.get(path), path
        unsaved = set(before) - held
        rules = any(path.endswith(b".gitignore") for path in {*outcome.done.written, *outcome.done.removed})
        for path, why in alone.items():
            if why == IGNORED_THEN:
                assert path in held and path not in wanted and self.ignored(path), path
            else:
                others = unsaved | self.nested()
                assert path in unsaved or any(_below(each, {path}) or _below(path, {each}) for each in others), path
        if rules and self.with_git and not only:
            tracked = set(self.git("ls-files", "-z").split(b"\0"))
            assert [path for path in outcome.done.removed if path not in tracked and self.ignored(path)] == []
        if outcome.safety is None:
            assert after == before
            return
        with self.untouched():
            undone = self.book.undo("", always)
        assert undone.done.left_alone == []
        assert seen(self.root) == before
        assert {path: mode for path, mode in self.folders().items() if path in folders} == folders
        if self.with_git:
            assert self.git("status", "--porcelain", "-z") == status
        with self.untouched():
            self.book.undo("", always)
        assert seen(self.root) == after


def _ways(path: bytes) -> list[bytes]:
    found = []
    while path := os.path.dirname(path):
        found.append(path)
    return found


def _below(path: bytes, folders: set[bytes]) -> bool:
    return path in folders or any(each in folders for each in _ways(path))


@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_rollback_gives_the_checkpoint_and_undo_all_of_the_rest(with_git: bool, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")  # so that it is put back

    @settings(
        max_examples=EXAMPLES if with_git else EXAMPLES // 4,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        phases=[*Phase] if os.environ.get("UNSPIN_SHRINK") else [Phase.explicit, Phase.reuse, Phase.generate],
    )
    @given(st.lists(edits, max_size=8), st.booleans(), st.lists(steps, min_size=2, max_size=14))
    def run(first: list[Any], commit: bool, script: list[Any]) -> None:
        with tempfile.TemporaryDirectory(dir=os.environ.get("UNSPIN_WORK")) as folder:
            world = World(Path(folder), with_git=with_git)
            for step in first:
                world.do(step)
            if commit:
                world.do_git(("add", "-A"))
                world.do_git(("commit", "-qm", "first"))
            world.do(("take",))
            for step in script:
                world.do(step)
            world.do_take()
            world.do_back(1)
            one = world.book.present()
            os.environ["XDG_STATE_HOME"] = f"{folder}/fresh"
            book = book_of(world.root)
            other = book.present()
            nested = world.nested()
            if any(_below(path, nested) for path in world.book.snapshots.files(one.tree)):
                return
            assert one.tree == other.tree
            assert _modes(book, one) == _modes(book, other)

    run()


def _modes(book: Any, snapshot: Any) -> dict[bytes, int]:
    known = KnownModes(snapshot.modes)
    return {path: known.of(path, mode) for mode, _, path in book.snapshots._listed(snapshot.tree) if mode != "120000"}
