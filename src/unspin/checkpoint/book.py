"""The list of checkpoints: what hooks and commands do with snapshots, written down beside the sessions.

The one place where snapshots, the restoring of files and the store meet. A checkpoint is
in the list only after its snapshot is complete, and stays in the store of snapshots as
long as it is in the list.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from unspin import paths
from unspin.checkpoint import place as places
from unspin.checkpoint import restore
from unspin.checkpoint.git import GitError, look
from unspin.checkpoint.snapshots import Snapshots, read_root
from unspin.guard import passes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from unspin.checkpoint.place import Place
    from unspin.checkpoint.snapshots import Change, Snapshot
    from unspin.facts.reading import Values
    from unspin.store import Checkpoint, Rollback, Store

    Opened = Callable[[], AbstractContextManager[Store]]

#: Reasons of a checkpoint.
PASSED, MESSAGE, BEFORE_ROLLBACK, BEFORE_UNDO = "passed check", "message", "before rollback", "before undo"

#: States of a rollback.
BEGUN, DONE, UNDONE = "begun", "done", "undone"

#: Why a checkpoint is not working.
NO_CHECK = "no check passed on it"
CHANGED_MEANWHILE = "files changed after the check had ended"
CHANGED_BESIDE = "code changed while the check ran, or shortly before"

ELSEWHERE = "it ran in another folder"

#: Reasons by which nobody knows on which tree a check passed.
UNSURE = (*passes.UNSURE, CHANGED_MEANWHILE, CHANGED_BESIDE, ELSEWHERE)


GONE = "the content of {} is not in the store any more: choose another checkpoint. unspin checkpoints lists them"


class CheckpointError(Exception):
    """It cannot be done; the text says what was found and what to do."""

    for_people = True


class Limits:
    """How much is kept of one work tree: checkpoints, days, and megabytes on the disk."""

    __slots__ = ("days", "keep", "max_file_mb", "megabytes")

    def __init__(self, keep: int = 100, days: int = 30, megabytes: int = 2000, max_file_mb: int = 50):
        self.keep = keep
        self.days = days
        self.megabytes = megabytes
        self.max_file_mb = max_file_mb


def limits_of(settings: Values) -> Limits:
    """Return the limits that the settings name."""
    return Limits(
        settings["checkpoints.keep"],
        settings["checkpoints.keep_days"],
        settings["checkpoints.keep_mb"],
        settings["checkpoints.max_file_mb"],
    )


class Wanted:
    """A checkpoint that a hook asks for.

    ``working`` is what the session says of the check that passed, ``why`` the reason where
    it is not; ``before`` is the moment (nanoseconds) that the work tree has to be as it was,
    ``after`` the last one at which the check had not begun, 0 where that is not known. ``folder``
    is where the check ran, empty where that is not known.
    """

    __slots__ = ("after", "before", "command", "event_index", "folder", "reason", "session", "why", "working")

    def __init__(
        self,
        reason: str,
        session: str = "",
        *,
        event_index: int = 0,
        command: str = "",
        working: bool = False,
        why: str = "",
        before: int = 0,
        after: int = 0,
        folder: str = "",
    ):
        self.after = after
        self.folder = folder
        self.reason = reason
        self.session = session
        self.event_index = event_index
        self.command = command
        self.working = working
        self.why = why
        self.before = before


class Plan:
    """What a rollback would do: the checkpoint, the present, and the files that differ."""

    __slots__ = ("changes", "commits", "left_alone", "missing", "present", "target", "undoes")

    def __init__(self, target: Checkpoint, present: Snapshot, changes: list[Change], undoes: Rollback | None = None):
        self.target = target
        self.present = present
        self.changes = changes
        self.undoes = undoes
        self.left_alone: list[tuple[bytes, str]] = []  # paths that differ and stay as they are, and why
        self.missing: list[str] = []  # paths that were asked for and are in neither
        self.commits: list[str] | None = None  # made since: one line each; None where that is not known


class Book:
    """The checkpoints of the work tree that ``folder`` lies in.

    ``opened`` opens the store for one transaction: it is never held while a snapshot is
    taken. Raises ``place.Refused`` for a folder of which no checkpoints are kept.
    """

    def __init__(self, folder: str, opened: Opened, limits: Limits | None = None, state_folder: str = ""):
        self.place: Place = places.find(folder, state_folder or paths.state_folder())
        self.limits = limits or Limits()
        self.snapshots = Snapshots(self.place, max_file_bytes=self.limits.max_file_mb * 1_000_000)
        self._opened = opened

    # -- taking ------------------------------------------------------------------------

    def take(self, wanted: Wanted) -> Checkpoint | None:
        """Take a checkpoint; ``None`` where the list holds it already."""
        with self.snapshots.held():
            with self._opened() as store:
                last = store.last_checkpoint(self.place.root)
            snapshot = self.snapshots.take(since=last.tree if last else "")
            found = self._enter(snapshot, wanted)
            if found is not None:
                self._retain()
            return found

    def _enter(self, snapshot: Snapshot, wanted: Wanted) -> Checkpoint | None:
        working, why = wanted.working, wanted.why
        if working and wanted.before and snapshot.newest > wanted.before:
            working, why = False, CHANGED_MEANWHILE
        with self._opened() as store:
            last = store.last_checkpoint(self.place.root)
        if working and wanted.folder and not self._is_inside(wanted.folder):
            working, why = False, ELSEWHERE
        if working and wanted.after and last and self._changed_beside(snapshot, last, wanted.after):
            working, why = False, CHANGED_BESIDE
        if (
            last
            and (last.tree, last.modes) == (snapshot.tree, snapshot.modes)
            and not self._is_news(last, wanted, working)
        ):
            if wanted.reason == PASSED:  # it has passed again on the same tree: that is when it was last known to
                with self._opened() as store:
                    store.confirm_checkpoint(last.id, wanted.event_index)
            return None
        if last and why == NO_CHECK and (last.tree, last.modes) == (snapshot.tree, snapshot.modes):
            why = f"the same as {last.name}"  # on which one may have passed
        changed = 0
        if last:
            with contextlib.suppress(GitError):  # its content is not there any more
                changed = len(self.snapshots.all_changes(last, snapshot))
        with self._opened() as store:
            return store.add_checkpoint(
                session=wanted.session,
                root=self.place.root,
                event_index=wanted.event_index,
                tree=snapshot.tree,
                modes=snapshot.modes,
                working=working,
                reason=wanted.reason,
                why=why,
                command=wanted.command,
                files_changed=changed,
                left_out=json.dumps(snapshot.left_out),
                head=self._head(),
            )

    def _is_inside(self, folder: str) -> bool:
        real = os.path.realpath(os.path.expanduser(folder))
        return real == self.place.root or real.startswith(f"{self.place.root}/")

    def _changed_beside(self, snapshot: Snapshot, last: Checkpoint, after: int) -> bool:
        """Tell whether code that the last checkpoint holds was written to after a moment: nobody knows which state ran.

        By whom does not matter: the check itself, an editor, another session. What a check adds,
        and its snapshots and data, are its outputs; what a rollback wrote is no work in progress.
        """
        from unspin.facts.roles import file_role

        if snapshot.since != last.tree or last.reason in (BEFORE_ROLLBACK, BEFORE_UNDO):
            return False
        for each in snapshot.changed:
            if each.old_mode and each.new_mode and file_role(os.fsdecode(each.path)) in ("source", "test"):
                with contextlib.suppress(OSError):
                    if os.lstat(os.path.join(os.fsencode(self.place.root), each.path)).st_ctime_ns > after:
                        return True
        return False

    def _is_news(self, last: Checkpoint, wanted: Wanted, working: bool) -> bool:
        """Tell whether a checkpoint of an unchanged tree says something that the last one does not."""
        if wanted.reason in (BEFORE_ROLLBACK, BEFORE_UNDO) or last.session != wanted.session:
            return True
        if wanted.reason == MESSAGE:
            return False
        return (last.reason, last.command, last.working) != (wanted.reason, wanted.command, working)

    def _head(self) -> str:
        if not self.place.git_folder:
            return ""
        return places.head(self.place) or look(self.place.root, "rev-parse", "--verify", "-q", "HEAD") or ""

    # -- looking -----------------------------------------------------------------------

    def present(self) -> Snapshot:
        """Return the work tree as it is, stored but in no list."""
        with self.snapshots.held():
            return self.snapshots.take()

    def plan(self, target: Checkpoint, files: Sequence[str] = ()) -> Plan:
        """Return what going back to ``target`` would change; ``files`` limits it to these paths, and what is below."""
        with self.snapshots.held():
            return self._plan(target, self.snapshots.take_whole(), files)

    def _plan(
        self, target: Checkpoint, present: Snapshot, files: Sequence[str], touched: set[bytes] | None = None
    ) -> Plan:
        if not self.snapshots.holds(target.tree):
            raise CheckpointError(GONE.format(target.name))
        changes = self.snapshots.all_changes(present, target)
        if touched is not None:
            changes = [each for each in changes if each.path in touched]
        plan = Plan(target, present, changes)
        if files:
            asked = [self._inside(each) for each in files]
            plan.changes = [each for each in changes if any(_is_below(each.path, path) for path in asked)]
            known = [*self.snapshots.files(present.tree), *self.snapshots.files(target.tree)]
            plan.missing = [
                each for each, path in zip(files, asked, strict=True) if not any(_is_below(one, path) for one in known)
            ]
        self._leave_alone(plan, undoing=touched is not None)
        plan.commits = self._commits_since(target)
        return plan

    def _leave_alone(self, plan: Plan, *, undoing: bool) -> None:
        """Take out of a plan what is not to be touched: it was not in the snapshot that would bring it back."""
        gone = [each.path for each in plan.changes if not each.new_mode]
        if not undoing and any(each.path.rpartition(b"/")[2] == b".gitignore" for each in plan.changes):
            then = self.snapshots.ignored_by(plan.target.tree, gone)
        else:
            then = set()
        kept = []
        for each in plan.changes:
            if not each.old_mode and restore.stands(self.place.root, each.path):
                plan.left_alone.append((each.path, restore.NOT_SAVED))
            elif not undoing and not each.old_mode and restore.is_in_repository(self.place.root, each.path):
                plan.left_alone.append((each.path, restore.OTHERS))
            elif each.path in then:
                plan.left_alone.append((each.path, restore.IGNORED_THEN))
            else:
                kept.append(each)
        plan.changes = kept

    def _inside(self, path: str) -> bytes:
        full = os.path.normpath(os.path.join(os.getcwd(), path))
        parent = os.path.realpath(os.path.dirname(full))
        full = os.path.join(parent, os.path.basename(full)) if full != self.place.root else full
        if full == self.place.root:
            return b""
        if not full.startswith(f"{self.place.root}/"):
            raise CheckpointError(f"{path} is not inside {self.place.root}: its checkpoints do not hold it")
        return os.fsencode(full[len(self.place.root) + 1 :])

    def _commits_since(self, target: Checkpoint) -> list[str] | None:
        """Return the commits made since a checkpoint, newest first; ``None`` where HEAD has moved in another way."""
        head = self._head()
        if not target.head or head == target.head:
            return []
        found = look(self.place.root, "log", "--no-show-signature", "--format=%h %s", f"{target.head}..{head}", "--")
        return found.splitlines() if found else None

    # -- going back --------------------------------------------------------------------

    def roll_back(
        self, target: Checkpoint, files: Sequence[str], session: str, told: Callable[[Plan], bool]
    ) -> Outcome:
        """Go back to a checkpoint: snapshot the present, tell the plan, write the files.

        ``told`` gets the plan and says whether to go on. What is there now can be brought
        back with ``undo``.
        """
        with self.snapshots.held():
            interrupted = self._interrupted()
            if interrupted and interrupted.target != target.id:
                interrupted = None
            present = self.snapshots.take_whole(interrupted.paths if interrupted else ())
            plan = self._plan(target, present, files)
            first = self._beginning(interrupted, plan) if interrupted else None
            if not told(plan) or not plan.changes:
                return Outcome(plan, restore.Restored(plan.left_alone), None)
            safety = self._enter_safety(present, BEFORE_ROLLBACK, session)
            touched, folders = [each.path for each in plan.changes], {}
            if interrupted and first:  # what the interrupted one had changed is undone with it
                touched, folders = sorted({*touched, *interrupted.paths}), interrupted.folders
            return self._carry_out(plan, safety, first or safety, touched, folders)

    def undo(self, session: str, told: Callable[[Plan], bool]) -> Outcome:
        """Bring back what was there before the last rollback (or undo) that was not undone."""
        with self.snapshots.held():
            with self._opened() as store:
                last = store.last_rollback(self.place.root)
                target = store.checkpoint(last.safety) if last else None
            if last is None or target is None:
                raise CheckpointError("there is no rollback to undo here")
            restore.sweep(self.place.root, last.paths)
            present = self.snapshots.take_whole(last.paths)
            plan = self._plan(target, present, (), touched=set(last.paths))
            plan.undoes = last
            if not told(plan):
                return Outcome(plan, restore.Restored(plan.left_alone), None)
            safety = self._enter_safety(present, BEFORE_UNDO, session)
            return self._carry_out(plan, safety, safety, [each.path for each in plan.changes], {})

    def _enter_safety(self, present: Snapshot, reason: str, session: str) -> Checkpoint:
        entered = self._enter(present, Wanted(reason, session, why=NO_CHECK))
        assert entered is not None
        return entered

    def _interrupted(self) -> Rollback | None:
        """Return the rollback that was cut off, its unfinished files cleared away."""
        with self._opened() as store:
            last = store.last_rollback(self.place.root)
        if last and last.state == BEGUN:
            restore.sweep(self.place.root, last.paths)
            return last
        return None

    def _beginning(self, interrupted: Rollback, plan: Plan) -> Checkpoint | None:
        """Return what undoing goes back to where a rollback that was cut off is made again: its beginning.

        That holds where nothing else happened since: each file that differs from the
        beginning is as the rollback would have left it. Takes out of the plan what the first
        one had left alone.
        """
        with self._opened() as store:
            first = store.checkpoint(interrupted.safety)
        if first is None or not self.snapshots.holds(first.tree):
            return None
        mine = set(interrupted.paths)
        since = {
            each.path: (each.new_mode, each.new_id) for each in self.snapshots.changes(first.tree, plan.present.tree)
        }
        meant = {each.path: each for each in self.snapshots.changes(first.tree, plan.target.tree)}
        planned = {each.path for each in plan.changes}
        unknown = []
        for path, state in since.items():
            change = meant.get(path)
            if path in mine:
                if change is None or (change.new_mode, change.new_id) != state:
                    return None
            elif path in planned:
                unknown.append(path)
        alone = self.snapshots.ignored_by(first.tree, unknown)
        if len(alone) < len(unknown):
            return None
        plan.left_alone += [(path, restore.NOT_SAVED) for path in sorted(alone) if path in meant]
        plan.changes = [each for each in plan.changes if each.path not in alone]
        return first

    def _carry_out(
        self, plan: Plan, safety: Checkpoint, origin: Checkpoint, touched: list[bytes], folders: dict[str, int]
    ) -> Outcome:
        """Write the files. ``origin`` is what undoing goes back to, ``folders`` those that were there then."""
        undone = plan.undoes
        with self._opened() as store:
            number = store.begin_rollback(
                self.place.root,
                target=plan.target.id,
                safety=origin.id,
                paths=touched,
                undoes=undone.id if undone else 0,
            )
            store.end_rollback(number, state=BEGUN, folders={**restore.folders_of(self.place.root, touched), **folders})
        done = restore.apply(
            self.snapshots,
            plan.changes,
            modes=plan.target.modes,
            present=plan.present.modes,
            folders=undone.folders if undone else {},
        )
        done.left_alone[:0] = plan.left_alone
        # one that could change nothing is not what undoing is about, and an undo that could not is still due
        void = not done.written and not done.removed and bool(done.left_alone)
        with self._opened() as store:
            store.end_rollback(number, state=UNDONE if void else DONE)
            if undone and not void:
                store.end_rollback(undone.id, state=UNDONE)
        return Outcome(plan, done, None if void else safety)

    # -- clearing away -----------------------------------------------------------------

    def _retain(self) -> None:
        """Let go of what is over the limits; the space is freed when enough has come together."""
        self.prune(now=False)

    def prune(self, *, now: bool = True, limits: Limits | None = None) -> int:
        """Remove checkpoints over the limits; return how many. The last working one and what undo needs stay."""
        limits = limits or self.limits
        with self._opened() as store:
            known = store.checkpoints(self.place.root)
            last = store.last_rollback(self.place.root)
        needed = {last.safety, last.target} if last else set()
        working = next((each.id for each in reversed(known) if each.working), None)
        oldest = time.time() - limits.days * 86400
        gone = [
            each.id
            for at, each in enumerate(known)
            if (at < len(known) - limits.keep or each.time < oldest) and each.id != working and each.id not in needed
        ]
        kept = [each for each in known if each.id not in set(gone)]
        self._drop(gone, kept, now=now)
        if now:
            droppable = [each for each in kept if each.id != working and each.id not in needed]
            while droppable and self.snapshots.size() > limits.megabytes * 1_000_000:
                some, droppable = droppable[: max(1, len(droppable) // 2)], droppable[max(1, len(droppable) // 2) :]
                gone += [each.id for each in some]
                kept = [each for each in kept if each.id not in set(gone)]
                self._drop([each.id for each in some], kept, now=True)
        return len(gone)

    def free(self) -> None:
        """Free the space of what is in the list no more; the list stays as it is."""
        with self._opened() as store:
            kept = store.checkpoints(self.place.root)
        self.snapshots.keep_only({each.tree for each in kept}, now=True)

    def _drop(self, gone: Sequence[int], kept: Sequence[Checkpoint], *, now: bool) -> None:
        if gone:
            with self._opened() as store:
                store.drop_checkpoints(gone)
        self.snapshots.keep_only({each.tree for each in kept}, now=now)


def drop_what_nobody_lists(opened: Opened, state_folder: str, *, days: int) -> int:
    """Remove the stores of work trees that are gone and had no checkpoint for ``days``; return how many."""
    import shutil

    with opened() as store:
        known = {root: store.last_checkpoint(root) for root in store.roots()}
    folder = os.path.join(state_folder, "checkpoints")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    gone = 0
    for name in names:
        path = os.path.join(folder, name)
        root = read_root(path)
        if not root or os.path.isdir(root):
            continue
        last = known.get(root)
        if last is None or last.time < time.time() - days * 86400:
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(f"{path}.lock")
            with opened() as store:
                store.drop_checkpoints([each.id for each in store.checkpoints(root)])
            gone += 1
    return gone


class Outcome:
    """What came of a rollback: its plan, what was done, and the checkpoint of what was there before.

    That is ``None`` where nothing was changed.
    """

    __slots__ = ("done", "plan", "safety")

    def __init__(self, plan: Plan, done: restore.Restored, safety: Checkpoint | None):
        self.plan = plan
        self.done = done
        self.safety = safety


def _is_below(path: bytes, folder: bytes) -> bool:
    return not folder or path == folder or path.startswith(folder + b"/")


__all__ = ["Book", "CheckpointError", "GitError", "Limits", "Plan", "Wanted"]
