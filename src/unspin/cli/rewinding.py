"""Commands about checkpoints: checkpoints, diff, rollback."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from unspin import config, live, records
from unspin.checkpoint.book import (
    BEFORE_UNDO,
    GONE,
    PASSED,
    Book,
    Limits,
    Outcome,
    Plan,
    drop_what_nobody_lists,
    limits_of,
)
from unspin.checkpoint.taking import wait_for_others
from unspin.cli import common, show
from unspin.paths import state_folder
from unspin.store import Checkpoint, Session

_SHOWN = 30  # files of a plan that are named
_RECENT = 86400  # seconds: sessions that a rollback tells


def _book() -> Book:
    """Return the checkpoints of the folder that the person stands in."""
    wait_for_others()
    here = common.here()
    with common.opened() as store:
        settings = config.compiled(common.find_project(store), store)
    return Book(here, common.opened, limits_of(settings))


def _find(book: Book, given: str) -> Checkpoint:
    """Return the checkpoint that an id means."""
    number = re.fullmatch(r"c?(\d{1,15})", given.strip())
    with common.opened() as store:
        found = store.checkpoint(int(number[1])) if number else None
        known = store.checkpoints(book.place.root)
    if found is None:
        newest = f"the newest is {known[-1].name}" if known else "there are none yet"
        raise common.Problem(f"no checkpoint {show.clean(given)}; {newest}. unspin checkpoints lists them.")
    if found.root != common.storable(book.place.root):
        raise common.Problem(f"{found.name} is a checkpoint of {show.tilde(found.root)}: cd there first.")
    return found


# -- the list --------------------------------------------------------------------------


@click.group(
    invoke_without_command=True,
    epilog=common.examples("unspin checkpoints", "unspin checkpoints --json", "unspin checkpoints prune --keep 20"),
)
@click.option("--session", metavar="ID", default="", help="Only those of a session: its id, or how it begins.")
@common.JSON
@click.pass_context
def checkpoints(ctx: click.Context, session: str, as_json: bool) -> None:
    """List the checkpoints of this folder's work tree, newest last.

    One is taken when a check passed, when you write to the agent and files changed, and before a
    rollback. It is "working" only where a check honestly passed on exactly that tree.
    """
    if ctx.invoked_subcommand:
        return
    book = _book()
    with common.opened() as store:
        of = common.find_session(store, session).id if session else ""
        rows = store.checkpoints(book.place.root, session=of)
    if as_json:
        for each in rows:
            click.echo(json.dumps(_mapping(each)))
        return
    page = show.Page()
    if not rows:
        page.line(f"No checkpoint of {show.tilde(book.place.root)} yet.")
    times = [show.moment(each.time) for each in rows]
    names = max((len(each.name) for each in rows), default=0)
    for each, time_ in zip(rows, times, strict=True):
        _row(page, each, f"{each.name.ljust(names)}  {time_.ljust(max(map(len, times)))}  ")


def _mapping(each: Checkpoint) -> dict[str, Any]:
    return {
        "id": each.name,
        "time": each.time,
        "session": each.session,
        "root": each.root,
        "working": each.working,
        "reason": each.reason,
        "why_not_working": each.why,
        "check": each.command or None,
        "files_changed": each.files_changed,
        "left_out": [{"path": path, "why": why} for path, why in json.loads(each.left_out)],
        "head": each.head or None,
        "event_index": each.event_index,
    }


def _row(page: show.Page, each: Checkpoint, head: str) -> None:
    state = ("working  ", "green") if each.working else "         "
    about, why = (each.command, each.why) if each.command else (each.why, "")
    files = show.number(each.files_changed, "file")
    lead = f"{each.reason:<17}{files:>9}  "
    left_out = len(json.loads(each.left_out))
    more = f"  ({show.number(left_out, 'path')} left out)" if left_out else ""
    room = max(10, page.width - len(head) - len(lead) - 9 - len(more))
    if why and len(about) + len(why) + 4 <= room:
        about, why = f"{about}  ({why})", ""
    page.line(head, state, lead, show.fit(show.clean(about), room), more)
    if why:  # it is what the list is looked at for: in a line of its own where there is no room
        page.hang("", f"({why})", indent=len(head) + 9)


@checkpoints.command(epilog=common.examples("unspin checkpoints prune", "unspin checkpoints prune --keep 10"))
@click.option("--keep", type=click.IntRange(min=1), help="How many to keep (default: checkpoints.keep).")
@click.option("--days", type=click.IntRange(min=1), help="How old they may be (default: checkpoints.keep_days).")
@click.option("--megabytes", type=click.IntRange(min=1), help="How much they may take (default: checkpoints.keep_mb).")
def prune(keep: int | None, days: int | None, megabytes: int | None) -> None:
    """Remove old checkpoints of this work tree and free their space.

    The last working one stays, and so does what "unspin rollback --undo" needs.
    """
    book = _book()
    own = book.limits
    with book.snapshots.held():
        before = book.snapshots.size()
        gone = book.prune(limits=Limits(keep or own.keep, days or own.days, megabytes or own.megabytes))
        freed = max(0, before - book.snapshots.size())
    trees = drop_what_nobody_lists(common.opened, state_folder(), days=days or own.days)
    click.echo(f"Removed {show.number(gone, 'checkpoint')}; {freed / 1e6:.1f} MB freed.")
    if trees:
        click.echo(f"Removed those of {show.number(trees, 'folder')} that are gone.")


# -- differences -----------------------------------------------------------------------


@click.command(epilog=common.examples("unspin diff c12", "unspin diff c12 c14", "unspin diff c12 --stat"))
@click.argument("first", metavar="ID")
@click.argument("second", metavar="[ID]", required=False, default="")
@click.option("--stat", is_flag=True, help="Only the files, and how many lines changed.")
def diff(first: str, second: str, stat: bool) -> None:
    """Show what changed since a checkpoint, or between two."""
    book = _book()
    old = _find(book, first)
    to = _find(book, second) if second else None
    new = to.tree if to else book.present().tree
    colour = "always" if sys.stdout.isatty() else "never"
    options = ["--stat"] if stat else ["-p"]
    for each in (old, to) if to else (old,):
        if not book.snapshots.there([each.tree]):
            raise common.Problem(GONE.format(each.name))
    text = book.snapshots.text_of_changes(
        old.tree, new, "--no-ext-diff", "--no-textconv", "-M", f"--color={colour}", *options
    )
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


# -- going back ------------------------------------------------------------------------


@click.command(
    epilog=common.examples(
        "unspin rollback",
        "unspin rollback --dry-run",
        "unspin rollback c12 --files src/a.py",
        "unspin rollback --undo",
    )
)
@click.argument("id", required=False, metavar="[ID]")
@click.argument("more", nargs=-1, metavar="")
@click.option("--files", multiple=True, metavar="PATH", help="Only these files and folders.")
@click.option("--undo", is_flag=True, help="Bring back what was there before the last rollback.")
@click.option("--dry-run", is_flag=True, help="Say what would change, change nothing.")
@common.JSON
def rollback(
    id: str | None, more: tuple[str, ...], files: tuple[str, ...], undo: bool, dry_run: bool, as_json: bool
) -> None:
    """Bring the work tree back to a checkpoint.

    Without an ID to the last working one. What is there now is kept first: --undo brings every byte
    of it back. Commits, the index and what git ignores are not touched.
    """
    if "" in (id, *more, *files):  # an unset variable in a script, not the whole tree
        raise click.UsageError("an ID or path is empty.")
    id, paths = _sorted_out(id or "", more, files)
    if undo and (id or paths or dry_run):
        raise click.UsageError(
            "--undo takes no ID, --files or --dry-run: it brings back what the last rollback changed."
        )
    book = _book()
    teller = _Teller(as_json)
    if undo:
        outcome = book.undo(_session_here(), teller.tell_undo)
    else:
        target = _find(book, id) if id else _last_working(book)
        if dry_run:
            plan = book.plan(target, paths)
            teller.tell(plan, would=True)
            teller.end_dry(plan)
            if plan.missing:
                sys.exit(1)
            return
        outcome = book.roll_back(target, paths, _session_here(), teller.tell)
    if outcome.safety is not None:
        _begin_episodes(book, outcome)
    teller.end(outcome)
    if outcome.done.left_alone or outcome.plan.missing:
        sys.exit(1)


def _session_here() -> str:
    """Return this folder's newest session, empty if there is none: what a rollback keeps belongs to it."""
    with common.opened() as store:
        try:
            return common.sessions_here(store)[0].id
        except common.NoSession:
            return ""


def _sorted_out(id: str, more: tuple[str, ...], files: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return the id and the paths: after --files several may stand, as people write it."""
    paths = list(files)
    if more and not files:
        raise click.UsageError(f"one ID is expected, got {len(more) + 1} arguments. For single files: --files PATH")
    words = [each for each in (id, *more) if each]
    if files and words:
        if re.fullmatch(r"c\d+|\d+", words[0]) and not os.path.lexists(words[0]):
            return words[0], paths + words[1:]
        return "", paths + words
    return id, paths


def _last_working(book: Book) -> Checkpoint:
    with common.opened() as store:
        rows = store.checkpoints(book.place.root)
    found = next((each for each in reversed(rows) if each.working), None)
    if found is None:
        others = "unspin checkpoints lists the others: unspin rollback ID" if rows else "There are no others either"
        why = "no check has passed in this folder yet"
        if any(each.reason == PASSED for each in rows):
            why = "no pass here was one (unspin checkpoints says why)"
        raise common.Problem(f"there is no working checkpoint: {why}. {others}.")
    return found


class _Teller:
    """Says what will change before it does, and what came of it."""

    def __init__(self, as_json: bool):
        self._page = None if as_json else show.Page()

    def tell_undo(self, plan: Plan) -> bool:
        return self.tell(plan, undo=True)

    def tell(self, plan: Plan, *, would: bool = False, undo: bool = False) -> bool:
        """Print what will change; return whether to go on."""
        page = self._page
        if page is None:
            return True
        target = plan.target
        about = f"{target.reason}{f': {target.command}' if target.command else ''}"
        state = "working, " if target.working else ""
        what = f"{target.name} ({state}{about}, {show.ago(target.time)})"
        if undo:
            done = "undo" if target.reason == BEFORE_UNDO else "rollback"
            what = f"{target.name}, what was there before the {done} ({show.ago(target.time)})"
        if plan.changes:
            page.line(f"{'Would go back' if would else 'Going back'} to {what}:")
            for each in plan.changes[:_SHOWN]:
                page.line(f"  {_word(each):<9}{show.clean(os.fsdecode(each.path))}")
            if len(plan.changes) > _SHOWN:
                page.line(f"  and {len(plan.changes) - _SHOWN} more")
        else:
            page.line(f"Nothing differs from {what}.")
        if would:
            self._left_alone(page, "Would be left alone", plan.left_alone)
        for path in plan.missing:
            page.line(f"Neither here nor in {target.name}: {show.clean(path)}")
        self._commits(page, plan)
        return True

    def _commits(self, page: show.Page, plan: Plan) -> None:
        if plan.commits is None:
            page.line("HEAD is another than it was then; it stays where it is.")
        elif plan.commits:
            count = show.number(len(plan.commits), "commit")
            page.line(f"{count} made since then stay as they are; only files change:")
            for each in plan.commits[:5]:
                page.line(f"  {show.clean(each)}")

    def end(self, outcome: Outcome) -> None:
        """Print what was done."""
        if self._page is None:
            click.echo(json.dumps(_outcome(outcome.plan, outcome)))
            return
        done, page = outcome.done, self._page
        self._left_alone(page, "Left alone", done.left_alone)
        if outcome.safety is not None:
            files = show.number(len(done.written) + len(done.removed), "file")
            page.line(f"Done: {files}. What was there is {outcome.safety.name}: unspin rollback --undo brings it back.")
        elif done.left_alone:
            page.line("Nothing was changed.")

    def end_dry(self, plan: Plan) -> None:
        if self._page is None:
            click.echo(json.dumps(_outcome(plan, None)))

    def _left_alone(self, page: show.Page, what: str, paths: Sequence[tuple[bytes, str]]) -> None:
        for path, why in paths[:_SHOWN]:
            page.line((f"{what}: {show.clean(os.fsdecode(path))}", "yellow"), f" ({why})")
        if len(paths) > _SHOWN:
            page.line(f"{what}: {len(paths) - _SHOWN} more")


def _word(change: Any) -> str:
    if not change.new_mode:
        return "delete"
    if not change.old_mode:
        return "create"
    return "restore" if change.old_id != change.new_id else "chmod"


def _outcome(plan: Plan, outcome: Outcome | None) -> dict[str, Any]:
    report: dict[str, Any] = {
        "target": plan.target.name,
        "changes": [{"path": os.fsdecode(each.path), "change": _word(each)} for each in plan.changes],
        "commits_since": plan.commits,
        "not_found": plan.missing,
        "dry_run": outcome is None,
    }
    left_alone = plan.left_alone if outcome is None else outcome.done.left_alone
    if outcome is not None:
        report["kept_as"] = outcome.safety.name if outcome.safety else None
    report["left_alone"] = [{"path": os.fsdecode(path), "why": why} for path, why in left_alone]
    return report


def _begin_episodes(book: Book, outcome: Outcome) -> None:
    """A rollback begins a new episode in the sessions of this work tree."""
    files = len(outcome.done.written) + len(outcome.done.removed)
    with common.opened() as store:
        for row in store.sessions():
            if not _is_inside(row, book.place.root) or row.updated < time.time() - _RECENT:
                continue
            guard = live.restore(store, row.project, row)
            guard.rolled_back()
            live.save(store, row.id, row.agent, row.project, row.cwd, guard, updated=row.updated)
            undo = outcome.plan.undoes is not None
            store.record(row.id, [records.of_rollback(outcome.plan.target.name, guard.index, undo=undo, files=files)])
            entry = {
                "rule": "",
                "identity": "",
                "count": files,
                "event_index": guard.index,
                "file": "",
                "message": f"to {outcome.plan.target.name}: {show.number(files, 'file')}",
                "evidence": "[]",
                "response": common.ROLLBACK,
            }
            store.log(row.id, entry)


def _is_inside(row: Session, root: str) -> bool:
    root = common.storable(root)
    return row.project == root or row.project.startswith(f"{root}/")
