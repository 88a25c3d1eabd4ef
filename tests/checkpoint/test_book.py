"""Checkpoints taken and gone back to, on real repositories."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from checkpoint.trees import always, book_of, git, repository, seen
from unspin.checkpoint.book import MESSAGE, PASSED, Wanted
from unspin.checkpoint.place import Refused


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text("a = 1\n")
    (folder / "pkg").mkdir()
    (folder / "pkg" / "b.py").write_text("b = 1\n")
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


def test_rollback_brings_the_tree_back_and_undo_the_other(project: Path) -> None:
    book = book_of(project)
    working = book.take(Wanted(PASSED, "s", command="pytest", working=True))
    assert working and working.working
    before = seen(project)
    (project / "a.py").write_text("a = 2\n")
    (project / "new.py").write_text("new\n")
    (project / "x.log").write_text("ignored\n")
    (project / "pkg" / "b.py").unlink()
    (project / "deep" / "er").mkdir(parents=True)
    (project / "deep" / "er" / "f").write_text("f")
    after, theirs = seen(project), repository(project)
    outcome = book.roll_back(working, [], "s", always)
    assert sorted(outcome.done.written) == [b"a.py", b"pkg/b.py"]
    assert sorted(outcome.done.removed) == [b"deep/er/f", b"new.py"]
    assert seen(project) == {**before, b"x.log": after[b"x.log"]}
    assert not (project / "deep").exists()
    book.undo("s", always)
    assert seen(project) == after
    assert repository(project) == theirs
    book.undo("s", always)
    assert seen(project) == {**before, b"x.log": after[b"x.log"]}


def test_an_unchanged_tree_is_no_new_checkpoint_for_a_message(project: Path) -> None:
    book = book_of(project)
    assert book.take(Wanted(MESSAGE, "s"))
    assert book.take(Wanted(MESSAGE, "s")) is None
    assert book.take(Wanted(PASSED, "s", command="pytest", working=True))
    (project / "a.py").write_text("a = 3\n")
    found = book.take(Wanted(MESSAGE, "s"))
    assert found and found.files_changed == 1


@pytest.mark.parametrize("folder", ["/", "~", "~/.."])
def test_home_and_what_holds_it_are_refused(folder: str) -> None:
    with pytest.raises(Refused):
        book_of(Path(os.path.expanduser(folder)))


def test_a_folder_without_git(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "x.js").write_text("x")
    (folder / "a").write_text("1")
    book = book_of(folder)
    first = book.take(Wanted(MESSAGE))
    assert first
    (folder / "a").write_text("2")
    book.roll_back(first, [], "", always)
    assert (folder / "a").read_text() == "1"
    assert not (folder / ".git").exists()
    assert (folder / "node_modules" / "x.js").exists()


def test_line_endings_and_filters_are_left_as_they_are(project: Path) -> None:
    git(project, "config", "core.autocrlf", "true")
    (project / ".gitattributes").write_text("*.txt text eol=lf\n*.bin filter=lfs\n*.id ident\n")
    git(project, "config", "filter.lfs.clean", "tr a-z b-za")
    (project / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (project / "mixed.txt").write_bytes(b"one\r\ntwo\n")
    (project / "big.bin").write_bytes(b"\0\r\n" * 100)
    (project / "v.id").write_text("$Id: abc $\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    git(project, "config", "filter.lfs.clean", "false")
    git(project, "config", "filter.lfs.required", "true")
    before = seen(project)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    for name in ("dos.txt", "mixed.txt", "big.bin", "v.id"):
        (project / name).write_bytes(b"else\n")
    book.roll_back(first, [], "", always)
    assert seen(project) == before


def test_a_file_over_the_limit_is_left_out_listed_and_never_touched(project: Path) -> None:
    book = book_of(project, max_file_mb=1)
    (project / "small").write_bytes(b"x" * 999_000)
    first = book.take(Wanted(MESSAGE))
    assert first and first.left_out == "[]"
    (project / "small").write_bytes(b"y" * 1_000_001)
    (project / "large").write_bytes(b"z" * 2_000_000)
    second = book.take(Wanted(MESSAGE))
    assert second and "large" in second.left_out and "small" in second.left_out
    outcome = book.roll_back(first, [], "", always)
    assert (project / "small").read_bytes() == b"y" * 1_000_001
    assert (project / "large").stat().st_size == 2_000_000
    assert [path for path, _ in outcome.done.left_alone] == [b"small"]


def test_the_persons_gc_takes_nothing_away(project: Path) -> None:
    book = book_of(project)
    first = book.take(Wanted(PASSED, working=True))
    assert first
    before = seen(project)
    for name in ("a.py", "pkg/b.py"):
        (project / name).write_text("other\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "--amend", "-m", "other")
    git(project, "reflog", "expire", "--expire=now", "--all")
    git(project, "gc", "-q", "--prune=now")
    book.roll_back(first, [], "", always)
    assert seen(project) == before


def test_a_nested_repository_and_a_submodule_are_left_out_and_left_alone(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "o").write_text("o")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "o")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(project, "commit", "-qm", "sub")
    nested = project / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "n").write_text("n")
    empty = project / "deep" / "empty"
    empty.mkdir(parents=True)
    git(empty, "init", "-q")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    assert {name.rstrip("/") for name, _ in __import__("json").loads(first.left_out)} == {"sub", "nested", "deep/empty"}
    (nested / "n").write_text("changed")
    (project / "sub" / "o").write_text("changed")
    (project / "a.py").write_text("changed")
    book.roll_back(first, [], "", always)
    assert (nested / "n").read_text() == "changed"
    assert (project / "sub" / "o").read_text() == "changed"
    assert (project / "a.py").read_text() == "a = 1\n"


def test_a_merge_under_way_a_detached_and_an_unborn_head(project: Path, tmp_path: Path) -> None:
    git(project, "checkout", "-q", "-b", "other")
    (project / "a.py").write_text("a = 'other'\n")
    git(project, "commit", "-qam", "other")
    git(project, "checkout", "-q", "-")
    (project / "a.py").write_text("a = 'main'\n")
    git(project, "commit", "-qam", "main")
    git(project, "merge", "other", check=False)
    theirs, before = repository(project), seen(project)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "a.py").write_text("resolved\n")
    book.roll_back(first, [], "", always)
    assert seen(project) == before and repository(project) == theirs
    git(project, "merge", "--abort")
    git(project, "checkout", "-q", "--detach")
    assert book.take(Wanted(MESSAGE))
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q")
    (unborn / "a").write_text("1")
    other = book_of(unborn)
    first = other.take(Wanted(MESSAGE))
    assert first
    (unborn / "a").write_text("2")
    other.roll_back(first, [], "", always)
    assert (unborn / "a").read_text() == "1"


def test_a_worktree_has_checkpoints_of_its_own(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    book = book_of(tmp_path / "tree" / "pkg")
    assert book.place.root == str(tmp_path / "tree")
    first = book.take(Wanted(MESSAGE))
    assert first
    (tmp_path / "tree" / "a.py").write_text("2")
    book.roll_back(first, [], "", always)
    assert (tmp_path / "tree" / "a.py").read_text() == "a = 1\n"


def test_a_sparse_checkout_is_kept_as_far_as_it_is_there(project: Path) -> None:
    git(project, "sparse-checkout", "set", "--cone", "other")
    assert not (project / "pkg").exists()
    before = seen(project)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "a.py").write_text("2")
    book.roll_back(first, [], "", always)
    assert seen(project) == before


def test_files_that_hide_their_changes_are_seen(project: Path) -> None:
    git(project, "update-index", "--skip-worktree", "a.py")
    git(project, "update-index", "--assume-unchanged", "pkg/b.py")
    (project / "added").write_text("x")
    git(project, "add", "-N", "added")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    before = seen(project)
    for name in ("a.py", "pkg/b.py", "added"):
        (project / name).write_text("changed")
    book.roll_back(first, [], "", always)
    assert seen(project) == before


def test_a_tracked_file_that_is_ignored_belongs_in_and_one_that_came_to_be_ignored_is_left_alone(project: Path) -> None:
    (project / "kept.log").write_text("1")
    git(project, "add", "-f", "kept.log")
    (project / "later.tmp").write_text("1")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "forced.log").write_text("1")
    git(project, "add", "-f", "forced.log")
    second = book.take(Wanted(MESSAGE))
    assert second
    for name in ("kept.log", "forced.log"):
        (project / name).write_text("2")
    (project / ".gitignore").write_text("*.log\n*.tmp\n")
    (project / "later.tmp").write_text("2")
    outcome = book.roll_back(second, [], "", always)
    assert (project / "kept.log").read_text() == "1"
    assert (project / "forced.log").read_text() == "1"
    assert (project / "later.tmp").read_text() == "2"
    assert [path for path, _ in outcome.done.left_alone] == [b"later.tmp"]


def test_a_rollback_that_could_change_nothing_does_not_stand_before_the_one_to_undo(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    (project / "x").write_text("a file\n")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "a.py").write_text("2")
    (project / "x").unlink()
    (project / "x").mkdir()
    (project / "x" / "big.log").write_text("ignored")
    (project / ".gitignore").write_text("*.log\n")
    before = seen(project)
    assert book.roll_back(first, ["a.py", "x"], "", always).done.written == [b"a.py"]
    again = book.roll_back(first, ["a.py", "x"], "", always)
    assert again.done.written == [] and [path for path, _ in again.done.left_alone] == [b"x"]
    book.undo("", always)
    assert seen(project) == before


def test_only_the_named_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "a.py").write_text("2")
    (project / "pkg" / "b.py").write_text("2")
    (project / "pkg" / "c.py").write_text("2")
    monkeypatch.chdir(project)
    outcome = book.roll_back(first, ["pkg", "nothing"], "", always)
    assert (project / "a.py").read_text() == "2"
    assert (project / "pkg" / "b.py").read_text() == "b = 1\n"
    assert not (project / "pkg" / "c.py").exists()
    assert outcome.plan.missing == ["nothing"]
    book.undo("", always)
    assert (project / "pkg" / "c.py").read_text() == "2"


def test_nothing_is_written_through_a_link(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("outside\n")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "pkg" / "b.py").unlink()
    (project / "pkg").rmdir()
    (project / "pkg").symlink_to(outside)
    book.roll_back(first, [], "", always)
    assert (outside / "b.py").read_text() == "outside\n"
    assert (project / "pkg" / "b.py").read_text() == "b = 1\n" and not (project / "pkg").is_symlink()
    book.undo("", always)
    assert (project / "pkg").is_symlink() and (outside / "b.py").read_text() == "outside\n"


def test_hooks_filters_and_monitors_of_the_repository_do_not_run(project: Path) -> None:
    ran = project.parent / "ran"
    for name in ("post-index-change", "fsmonitor", "pre-commit", "reference-transaction"):
        hook = project / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    git(project, "config", "core.fsmonitor", str(project / ".git" / "hooks" / "fsmonitor"))
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "a.py").write_text("2")
    book.roll_back(first, [], "", always)
    assert not ran.exists()


def test_permissions_come_back(project: Path) -> None:
    (project / "secret").write_text("s")
    (project / "secret").chmod(0o600)
    (project / "run").write_text("#!/bin/sh\n")
    (project / "run").chmod(0o750)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    before = seen(project)
    (project / "secret").unlink()
    (project / "run").chmod(0o640)
    (project / "a.py").chmod(0o755)
    (project / "pkg" / "b.py").chmod(0o400)
    after = seen(project)
    book.roll_back(first, [], "", always)
    assert seen(project) == before
    book.undo("", always)
    assert seen(project) == after


def test_git_sees_nothing_of_ours(project: Path) -> None:
    theirs = [
        git(project, "status", "--porcelain"),
        git(project, "log", "--all", "--format=%H"),
        git(project, "stash", "list"),
    ]
    kept = repository(project)
    book = book_of(project)
    assert book.take(Wanted(MESSAGE))
    assert repository(project) == kept
    assert [
        git(project, "status", "--porcelain"),
        git(project, "log", "--all", "--format=%H"),
        git(project, "stash", "list"),
    ] == theirs
    assert subprocess.run(["git", "-C", str(project), "count-objects", "-v"], capture_output=True, check=True)


def test_a_file_rewritten_in_the_second_of_a_snapshot_with_its_old_time_is_seen(project: Path) -> None:
    book = book_of(project)
    book.take(Wanted(MESSAGE))  # the first one looks at everything
    while time.time() % 1 > 0.3:  # both within one second: more finely git does not look
        time.sleep(0.01)
    for text in (b"aaaa", b"bbbb"):
        (project / "a.py").write_bytes(text)
        os.utime(project / "a.py", (10**9, 10**9))
        taken = book.take(Wanted(MESSAGE))
        assert taken
        assert git(Path(book.place.store), "cat-file", "blob", f"{taken.tree}:a.py") == text.decode()
