"""Checkpoints where things are not as they should be: others at work, odd repositories, full disks, damaged stores."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint.trees import always, book_of, git, repository, seen
from unspin.checkpoint import restore
from unspin.checkpoint.book import MESSAGE, PASSED, CheckpointError, GitError, Wanted
from unspin.paths import state_folder


def command(folder: Path | str | bytes, *arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "unspin", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        check=False,
    )
    error = os.fsdecode(done.stderr)
    assert "Traceback" not in error and "fault of unspin's own" not in error, error
    return done.returncode, os.fsdecode(done.stdout), error


def filled(folder: Path, *options: str, count: int = 5) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", *options)
    for number in range(count):
        (folder / f"{number}.py").write_text(f"{number}\n" * 10)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return filled(tmp_path / "project")


def goes_and_comes_back(folder: Path) -> None:
    """Take, change, go back, undo: with the person's repository untouched."""
    before, theirs = seen(folder), repository(folder)
    book = book_of(folder)
    first = book.take(Wanted(PASSED, command="pytest", working=True))
    assert first
    assert set(book.snapshots.files(first.tree)) == set(before) - {b".git"}
    (folder / "0.py").write_text("changed\n")
    (folder / "1.py").unlink()
    (folder / "new").write_text("new\n")
    after = seen(folder)
    assert book.take(Wanted(MESSAGE))
    assert not book.roll_back(first, [], "", always).done.left_alone
    assert seen(folder) == before
    assert not book.undo("", always).done.left_alone
    assert seen(folder) == after
    assert repository(folder) == theirs


# -- races -----------------------------------------------------------------------------


def test_many_take_at_once(project: Path) -> None:
    faults: list[BaseException] = []

    def take(number: int) -> None:
        try:
            for turn in range(3):
                (project / f"t{number}").write_text(str(turn))
                book_of(project).take(Wanted(MESSAGE, f"{number} {turn}"))
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=take, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert faults == []
    book = book_of(project)
    with book._opened() as store:
        known = store.checkpoints(book.place.root)
    assert known and all(book.snapshots.holds(each.tree) for each in known)


@pytest.mark.parametrize("how", ["in place", "renamed over", "deleted and made", "appended"])
def test_what_an_agent_writes_while_a_rollback_runs_is_not_lost(project: Path, how: str) -> None:
    """Each file's last words are in the work tree or in a checkpoint."""
    names = [f"f{number}" for number in range(60)]
    for name in names:
        (project / name).write_text("then\n" * 20)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    for name in names:
        (project / name).write_text("now\n")
    rest = random.Random(how)
    wrote: dict[str, set[str]] = {name: set() for name in names}
    stop = threading.Event()

    def agent() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            name, text = rest.choice(names[:40]), f"agent {number}\n"  # the others are there to go back
            path = project / name
            if how == "renamed over":
                (project / "tmp~").write_text(text)
                os.rename(project / "tmp~", path)
            elif how == "deleted and made":
                path.unlink(missing_ok=True)
                path.write_text(text)
            elif how == "appended":
                with path.open("a") as file:
                    file.write(text)
            else:
                path.write_text(text)
            wrote[name].add(text)
            last[name] = text
            time.sleep(0)

    last: dict[str, str] = {}
    thread = threading.Thread(target=agent)
    thread.start()
    try:
        outcome = book.roll_back(first, [], "", always)
    finally:
        stop.set()
        thread.join()
    assert outcome.safety
    saved = {path: blob for _, blob, path in book.snapshots._listed(outcome.safety.tree)}
    lost = []
    for name, text in last.items():
        there = (project / name).read_text() if (project / name).exists() else ""
        kept = b"".join(book.snapshots.blobs([saved[name.encode()]])).decode() if name.encode() in saved else ""
        if text not in there and text not in kept:
            lost.append(name)
    assert lost == []


def test_a_file_that_is_written_after_it_was_looked_at_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent comes at the worst moment: between the last look and the renaming."""
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    for name in ("0.py", "1.py", "2.py", "3.py"):
        (project / name).write_text("now\n")
    (project / "gone").write_text("now\n")
    look = restore._Writer._look

    def looked(writer: Any, parent: int, name: bytes, change: Any) -> Any:
        found = look(writer, parent, name, change)
        if name == b"0.py":
            (project / "0.py").write_text("agent\n")
        elif name == b"1.py":
            (project / "other").write_text("agent\n")
            os.rename(project / "other", project / "1.py")
        elif name == b"gone":
            with (project / "gone").open("a") as file:
                file.write("agent\n")
        elif name == b"2.py":
            (project / "2.py").unlink()
        return found

    monkeypatch.setattr(restore._Writer, "_look", looked)
    outcome = book.roll_back(first, [], "", always)
    assert (project / "0.py").read_text() == (project / "1.py").read_text() == "agent\n"
    assert (project / "gone").read_text() == "now\nagent\n"
    assert not (project / "2.py").exists()
    assert (project / "3.py").read_text().startswith("3\n")
    assert {path for path, _ in outcome.done.left_alone} == {b"0.py", b"1.py", b"2.py", b"gone"}
    assert not [name for name in os.listdir(project) if name.startswith(restore.TEMPORARY)]


# -- where files and state lie ---------------------------------------------------------


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def test_the_work_tree_on_another_file_system(tmp_path: Path) -> None:
    with mounted(tmp_path / "other", "50m"):
        goes_and_comes_back(filled(tmp_path / "other" / "project"))


def test_a_mount_inside_the_work_tree(project: Path) -> None:
    with mounted(project / "mounted", "10m"):
        (project / "mounted" / "a").write_text("1")
        goes_and_comes_back(project)
        book = book_of(project)
        first = book.take(Wanted(MESSAGE, "again"))
        assert first
        (project / "mounted" / "a").write_text("2")
        assert not book.roll_back(first, [], "", always).done.left_alone
        assert (project / "mounted" / "a").read_text() == "1"


def test_a_full_disk_is_told_and_loses_nothing(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mounted(tmp_path / "small", "3m"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "small"))
        book = book_of(project)
        first = book.take(Wanted(PASSED, command="x", working=True))
        assert first
        (project / "0.py").write_text("changed\n")
        (project / "large").write_bytes(random.randbytes(4_000_000))
        before = seen(project)
        status, _, error = command(project, "rollback")
        assert status == 1 and "No space left on device" in error
        assert seen(project) == before
        assert shutil.disk_usage(tmp_path / "small").free > 2_000_000, "what was not finished keeps it full"
        assert command(project, "checkpoints")[0] == 0
        with pytest.raises((GitError, OSError), match="No space left"):
            book.take(Wanted(MESSAGE))
        assert seen(project) == before
        (project / "large").unlink()
        assert book.take(Wanted(MESSAGE))
        assert not book.roll_back(first, [], "", always).done.left_alone
        assert (project / "0.py").read_text().startswith("0\n")


def test_a_store_on_a_disk_that_others_filled_is_not_said_to_be_damaged(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted(tmp_path / "small", "3m"):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "small"))
        assert book_of(project).take(Wanted(MESSAGE))
        with contextlib.suppress(OSError), (tmp_path / "small" / "fill").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        status, _, error = command(project, "checkpoints")
        assert status == 1 and "disk is full: free some space" in error and "damaged" not in error
        assert "The disk is full: free some space." in command(project, "doctor")[1]


def test_a_full_disk_of_the_work_tree_leaves_the_old_files(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "2m"):
        root = filled(tmp_path / "small" / "project")
        (root / "data").write_bytes(b"a" * 600_000)
        book = book_of(root)
        first = book.take(Wanted(MESSAGE))
        assert first
        (root / "data").write_bytes(b"b" * 600_000)
        with contextlib.suppress(OSError), (root / "full").open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        outcome = book.roll_back(first, ["/" + str(root / "data").lstrip("/")], "", always)
        assert [path for path, _ in outcome.done.left_alone] == [b"data"]
        assert (root / "data").read_bytes() == b"b" * 600_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_a_folder_without_permission_is_told(project: Path) -> None:
    (project / "shut").mkdir()
    (project / "shut" / "a").write_text("1")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "shut" / "a").write_text("2")
    (project / "0.py").write_text("2")
    (project / "shut").chmod(0o500)
    outcome = book.roll_back(first, [], "", always)
    (project / "shut").chmod(0o700)
    assert [path for path, _ in outcome.done.left_alone] == [b"shut/a"]
    assert (project / "shut" / "a").read_text() == "2" and (project / "0.py").read_text() != "2"


def test_read_only_files_are_written(project: Path) -> None:
    (project / "0.py").chmod(0o444)
    before = seen(project)
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "0.py").chmod(0o644)
    (project / "0.py").write_text("2")
    (project / "0.py").chmod(0o400)
    book.roll_back(first, [], "", always)
    assert seen(project) == before


# -- a damaged store -------------------------------------------------------------------


def loose_and_packs(book: Any) -> list[Path]:
    return [each for each in (Path(book.place.store) / "objects").rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    "damage",
    ["store deleted", "all objects", "half of the objects", "emptied objects", "index", "refs", "ready", "config"],
)
def test_a_damaged_store_is_told_and_mends(project: Path, damage: str) -> None:
    book = book_of(project)
    assert book.take(Wanted(PASSED, command="x", working=True))
    for number in range(5):
        (project / f"{number}.py").write_text(f"other {number}")
        assert book.take(Wanted(MESSAGE))
    store = Path(book.place.store)
    if damage == "store deleted":
        shutil.rmtree(store)
    elif damage == "index":
        (store / "index").write_bytes(b"nonsense")
    elif damage == "refs":
        shutil.rmtree(store / "refs")
    elif damage == "ready":
        (store / "unspin-ready").unlink()
    elif damage == "config":
        (store / "config").write_text("[[[")
    else:
        files = loose_and_packs(book)
        for each in files if damage == "all objects" else files[::2]:
            if damage == "emptied objects":
                each.chmod(0o600)
                each.write_bytes(b"")
            else:
                each.unlink()
    before = seen(project)
    status, _, error = command(project, "rollback")
    assert status == 0 or error.startswith("unspin: ")
    if status:
        assert seen(project) == before
    (project / "0.py").write_text("mended")
    first = book.take(Wanted(MESSAGE, "mended"))
    assert first and book.snapshots.holds(first.tree)
    state = seen(project)
    (project / "0.py").write_text("later")
    (project / "1.py").unlink()
    later = seen(project)
    assert not book.roll_back(first, [], "", always).done.left_alone
    assert seen(project) == state
    book.undo("", always)
    assert seen(project) == later
    for words in (["checkpoints"], ["checkpoints", "prune"], ["diff", first.name], ["rollback", "--dry-run"]):
        command(project, *words)


def test_a_checkpoint_that_lost_its_content_is_refused_before_anything_is_written(project: Path) -> None:
    book = book_of(project)
    (project / "0.py").write_text("precious " * 100)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "1.py").unlink()
    (project / "0.py").write_text("else")
    before = seen(project)
    for each in loose_and_packs(book):
        each.unlink()
    with pytest.raises(CheckpointError, match="not in the store any more"):
        book.roll_back(first, [], "", always)
    assert seen(project) == before


def test_a_missing_blob_of_the_present_is_stored_again_before_it_is_written_over(project: Path) -> None:
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    (project / "0.py").write_text("precious " * 100)
    second = book.take(Wanted(MESSAGE))
    assert second
    after = seen(project)
    blob = next(blob for _, blob, path in book.snapshots._listed(second.tree) if path == b"0.py")
    (Path(book.place.store) / "objects" / blob[:2] / blob[2:]).unlink()
    book.roll_back(first, [], "", always)
    book.undo("", always)
    assert seen(project) == after


# -- git and the environment -----------------------------------------------------------


def test_without_git_it_is_told(project: Path, tmp_path: Path) -> None:
    book = book_of(project)
    assert book.take(Wanted(PASSED, command="x", working=True))
    (project / "0.py").write_text("2")
    before = seen(project)
    for words in (["rollback"], ["rollback", "--undo"], ["diff", "c1"]):
        status, _, error = command(project, *words, PATH=str(tmp_path))
        assert status == 1
        assert "git is not installed" in error or "no rollback" in error
    assert seen(project) == before
    assert command(project, "rollback")[0] == 0


def test_a_git_that_waits_for_ever_is_ended(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = book_of(project)
    assert book.take(Wanted(MESSAGE))
    os.mkfifo(project / ".gitignore")
    monkeypatch.setattr("unspin.checkpoint.git._SILENCE", 0.2)
    with pytest.raises(GitError):
        book.take(Wanted(MESSAGE))
    (project / ".gitignore").unlink()
    (project / "0.py").write_text("2")
    assert book.take(Wanted(MESSAGE))


def test_an_environment_that_points_git_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = filled(tmp_path / "other")
    theirs = repository(other), seen(other)
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git" / "index",
        "GIT_OBJECT_DIRECTORY": other / ".git" / "objects",
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_TRACE": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    goes_and_comes_back(project)
    assert (repository(other), seen(other)) == theirs


@pytest.mark.parametrize(
    "steps",
    [
        ["update-index --index-version 4"],
        ["update-index --split-index"],
        ["config core.untrackedCache true", "update-index --untracked-cache", "status"],
        ["config core.fsmonitor true"],
        ["config feature.manyFiles true", "status"],
        ["config core.ignoreStat true"],
        ["config core.fileMode false"],
        ["config core.symlinks false"],
        ["config core.quotePath true", "config core.precomposeUnicode true"],
        ["config extensions.worktreeConfig true"],
        ["config status.showUntrackedFiles no"],
        ["config core.checkStat minimal", "config core.trustctime false"],
        ["pack-refs --all", "repack -adq", "prune-packed"],
        ["config alias.ls-files !false"],
    ],
    ids=lambda steps: steps[0].replace(" ", "-"),
)
def test_repositories_of_all_kinds(project: Path, steps: list[str]) -> None:
    (project / "run").write_text("x")
    (project / "run").chmod(0o755)
    (project / "link").symlink_to("run")
    for each in steps:
        git(project, *each.split(" "))
    goes_and_comes_back(project)


def test_a_repository_with_sha256(tmp_path: Path) -> None:
    goes_and_comes_back(filled(tmp_path / "project", "--object-format=sha256"))


def test_a_partial_and_a_shallow_clone(project: Path, tmp_path: Path) -> None:
    git(project, "config", "uploadpack.allowFilter", "true")
    for name, option in (("partial", "--filter=blob:none"), ("shallow", "--depth=1"), ("shared", "--shared")):
        source = f"file://{project}" if name != "shared" else str(project)
        git(tmp_path, "clone", "-q", option, source, name)
        goes_and_comes_back(tmp_path / name)


def test_a_partial_clone_fetches_nothing(project: Path, tmp_path: Path) -> None:
    git(project, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--no-checkout", f"file://{project}", "partial")
    clone = tmp_path / "partial"
    git(clone, "reset", "-q")
    for number in range(5):
        (clone / f"{number}.py").write_text("mine")
    shutil.rmtree(project)
    goes_and_comes_back(clone)


def test_a_submodule_as_the_project(project: Path, tmp_path: Path) -> None:
    over = filled(tmp_path / "over")
    git(over, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project), "sub")
    sub = over / "sub"
    assert (sub / ".git").is_file()
    before = repository(over)
    goes_and_comes_back(sub)
    assert repository(over) == before


def test_the_git_folder_as_a_link_or_elsewhere(project: Path, tmp_path: Path) -> None:
    (project / ".git").rename(tmp_path / "elsewhere")
    (project / ".git").symlink_to(tmp_path / "elsewhere")
    goes_and_comes_back(project)
    (project / ".git").unlink()
    (project / ".git").write_text("gitdir: ../elsewhere\n")
    (project / "1.py").write_text("again\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "two")
    goes_and_comes_back(project)


@pytest.mark.parametrize(
    "name",
    [
        b"with space",
        b"new\nline",
        b"q\"uo'te",
        b"\xff\xfe",
        b"-rf",
        b"back\\slash",
        b"a:b;c",
        b"$HOME `x`",
        b"#hash",
        b"\t",
    ],
)
@pytest.mark.parametrize("with_git", [True, False], ids=["git", "plain"])
def test_odd_names_of_the_project(tmp_path: Path, name: bytes, with_git: bool) -> None:
    folder = filled(tmp_path / os.fsdecode(name))
    if not with_git:
        shutil.rmtree(folder / ".git")
    goes_and_comes_back(folder)
    assert command(folder, "checkpoints")[0] == 0
    (folder / "0.py").write_text("by hand")
    assert command(folder, "rollback")[0] == 0
    assert (folder / "0.py").read_text() != "by hand"
    assert command(folder, "rollback", "--undo")[0] == 0
    assert (folder / "0.py").read_text() == "by hand"


def test_the_state_inside_the_work_tree(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "state"))
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    assert not [path for path in book.snapshots.files(first.tree) if path.startswith(b"state")]
    (project / "0.py").write_text("2")
    book.roll_back(first, [], "", always)
    assert Path(state_folder()).is_dir() and (project / "0.py").read_text() != "2"


def test_a_folder_replaced_by_a_link_takes_no_time(tmp_path: Path) -> None:
    root = filled(tmp_path / "project", count=1)
    (root / "many").mkdir()
    for number in range(1000):
        (root / "many" / str(number)).write_text(str(number))
    book = book_of(root)
    first = book.take(Wanted(MESSAGE))
    assert first
    before = seen(root)
    (root / "many").rename(tmp_path / "elsewhere")
    (root / "many").symlink_to(tmp_path / "elsewhere")
    begin = time.monotonic()
    second = book.take(Wanted(MESSAGE))
    assert time.monotonic() - begin < 3
    assert second and second.left_out == "[]"
    book.roll_back(first, [], "", always)
    assert seen(root) == before
    assert len(os.listdir(tmp_path / "elsewhere")) == 1000


def test_a_folder_replaced_by_a_link_to_a_repository_comes_back(project: Path) -> None:
    (project / "pkg").mkdir()
    (project / "pkg" / "a").write_text("1")
    book = book_of(project)
    first = book.take(Wanted(MESSAGE))
    assert first
    before = seen(project)
    shutil.rmtree(project / "pkg")
    (project / "pkg").symlink_to(".")
    assert not book.roll_back(first, [], "", always).done.left_alone
    assert seen(project) == before
