"""The person's commands: release, mute, mode, forget. Agents that run them are refused."""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex

import click

from unspin import config, live
from unspin.checkpoint.book import Book
from unspin.checkpoint.git import GitError
from unspin.checkpoint.place import Refused
from unspin.checkpoint.snapshots import Busy
from unspin.cli import common, show
from unspin.detect import LOOP_RULES
from unspin.events import Message
from unspin.guard import Guard
from unspin.guard.settings import MODES, RULES
from unspin.store import Store

_LOOPS = [rule for rule in RULES if rule in LOOP_RULES]


@click.command(epilog=common.examples("unspin release", "unspin release --session 3eb2d320"))
@common.SESSION
def release(session: str) -> None:
    """Let the agent edit again, as your answer would.

    Counters start at zero. The release stands in "unspin log".
    """
    with common.opened() as store:
        row = common.find_session(store, session)
        guard = live.restore(store, row.project, row)
        files = [guard.reader.place.relative(each) for each in guard.standing_blocks()]
        guard.observe(Message(by_person=True))
        live.save(store, row.id, row.agent, row.project, row.cwd, guard)
        store.log(row.id, _release_entry(guard, files))
    named = show.clean(", ".join(files))
    click.echo(f"Released: {named}" if files else "Nothing was being refused. Counters start at zero.")


def _release_entry(guard: Guard, files: list[str]) -> dict[str, object]:
    """Return a release in the form of the log; ``unspin log --json``, which lists detections, leaves it out."""
    return {
        "rule": "",
        "identity": "",
        "count": len(files),
        "event_index": max(int(guard.state["index"]) - 1, 0),
        "file": files[0] if len(files) == 1 else "",
        "message": f"released by you: {', '.join(files)}" if files else "by you; nothing was being refused",
        "evidence": "[]",
        "response": common.RELEASE,
    }


# -- mute ------------------------------------------------------------------------------


@click.command(
    context_settings={"allow_extra_args": True},
    help=f"""Log a rule and do not say it any more.

    In this folder, or with --file for one file in it. RULE is one of {", ".join(RULES)}. With --file,
    and no RULE or "all": every loop rule on that file. Without anything: what is muted.""",
    epilog=common.examples(
        "unspin mute bloat",
        "unspin mute failing_edits --file src/gen.py",
        "unspin mute --file src/gen.py",
        "unspin mute bloat --off",
        "unspin mute",
    ),
)
@click.argument("rule", required=False, default="", metavar="[RULE]")
@click.option("--file", "file", metavar="FILE", default="", help="Only for this file.")
@click.option("--off", is_flag=True, help="Say it again.")
@click.pass_context
def mute(ctx: click.Context, rule: str, file: str, off: bool) -> None:
    if ctx.args:
        extra = shlex.join(ctx.args)
        if file:
            raise click.UsageError(f"one rule is expected; {extra} is too much.")
        raise click.UsageError(f"one rule is expected, got {extra} too. For one file, use --file: --file {extra}")
    if off and not rule and not file:
        raise click.UsageError("--off of what? Name a rule or a file: unspin mute lists what is muted.")
    rules = _named_rules(rule, file)
    with common.opened() as store:
        project = common.find_project(store)
        muted = store.mutes(project)
        if not rules:
            _list(store, project, muted)
            return
        path = _in_project(file, project, [each for _, each in muted] if off else []) if file else ""
        changed = [each for each in rules if ((each, path) in muted) == off]
        for each in changed:
            store.mute(project, each, path, off=off)
        after = store.mutes(project)
        still = _still_said(store, project, path, after)
    name = "all loop rules" if len(rules) > 1 else rules[0]
    what = f"{name} on {show.clean(path)}" if path else name
    place = show.tilde(project)
    if off:
        _say_off(what, place, changed, [each for each in rules if (each, "") in after] if path else [])
        return
    click.echo(f"{'Muted' if changed else 'Already muted'} in {place}: {what}")
    if path and still:
        show.Page().hang("", f"Still said about it: {', '.join(still)}.", indent=0)
        click.echo(f"To mute them too: {_command('', path)}")


def _named_rules(rule: str, file: str) -> list[str]:
    """Return the rules that are meant; none where nothing was named."""
    if rule in RULES:
        return [rule]
    if rule in ("", "all"):
        if rule and not file:
            raise click.UsageError("all needs --file FILE. To log everything and say nothing: unspin mode observe")
        return _LOOPS if file else []
    near = difflib.get_close_matches(rule, RULES, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"The rules: {', '.join(RULES)}."
    if os.path.exists(rule) or not rule.isidentifier():
        hint = f"For a file: {_command('', rule)}"
    raise click.UsageError(f"there is no rule called {show.clean(rule)}. {hint}")


def _command(rule: str, path: str) -> str:
    return " ".join(each for each in ("unspin mute", rule, f"--file {show.clean(shlex.quote(path))}") if each)


def _in_project(file: str, project: str, known: list[str]) -> str:
    """Return a file's name in its project: as named from here or, where there is none, from the project."""
    places = [os.path.realpath(os.path.join(folder, file)) for folder in (common.here(), project)]
    names = [common.storable(_relative(place, project)) for place in places]
    for name in (*names, file):
        if name in known:
            return name
    for place, name in zip(places, names, strict=True):
        if os.path.isdir(place):
            raise common.Problem(f"{show.tilde(place)} is a folder: a mute is for one file")
        if os.path.exists(place):
            return name
    if not known:
        common.warn(f"there is no file {show.tilde(places[0])}; muted all the same")
    return names[0]


def _relative(path: str, project: str) -> str:
    return path[len(project) + 1 :] if path.startswith(f"{project.rstrip('/')}/") else path


def _still_said(store: Store, project: str, path: str, muted: list[tuple[str, str]]) -> list[str]:
    """Return the loop rules that still speak about a file."""
    settings = config.compiled(project, store)
    silent = {rule for rule, file in muted if file in ("", path)} | set(settings["log_only"])
    return [rule for rule in _LOOPS if rule not in silent and settings[RULES[rule]] is not False]


def _say_off(what: str, place: str, changed: list[str], everywhere: list[str]) -> None:
    if changed:
        click.echo(f"No longer muted in {place}: {what}")
    else:
        click.echo(f"Was not muted in {place}: {what}. What is: unspin mute")
    for rule in everywhere:
        click.echo(f"Muted for every file: {rule}. To say it again: unspin mute {rule} --off")


def _list(store: Store, project: str, muted: list[tuple[str, str]]) -> None:
    page = show.Page()
    if not muted:
        page.hang("", f"Nothing is muted in {show.tilde(project)}.", indent=0)
    show.mutes(page, muted)
    log_only = config.compiled(project, store)["log_only"]
    if log_only:
        page.hang("", f"By the settings (log_only): {', '.join(log_only)}", indent=0)


# -- mode, forget ----------------------------------------------------------------------


@click.command(epilog=common.examples("unspin mode", "unspin mode nudge", "unspin mode default"))
@click.argument("mode", required=False, type=click.Choice([*MODES, "default"]))
def mode(mode: str | None) -> None:
    """Show or set this folder's mode.

    observe logs only, nudge says it, guard says it and refuses edits; default goes back to the
    settings. Without one: the mode, and where it comes from.
    """
    with common.opened() as store:
        project = common.find_project(store)
        if mode:
            store.set_mode(project, None if mode == "default" else mode)
        now, origin = common.mode_of(store, project)
    click.echo(f"Mode in {show.tilde(project)}: {now} ({common.origin_words(origin)})")
    common.warn_of_settings(project)


@click.command(epilog=common.examples("unspin forget 3eb2d320"))
@click.argument("session")
def forget(session: str) -> None:
    """Remove a session and all that was noticed in it, its checkpoints too."""
    if not session:
        raise click.UsageError("a session's id, or how it begins, is expected: unspin status --all shows them.")
    with common.opened() as store:
        row = common.find_session(store, session)
        taken = store.checkpoints_of(row.id)
        count = store.forget(row.id)
    for root in sorted({each.root for each in taken}):
        with contextlib.suppress(Refused, GitError, Busy):  # a folder that is gone goes with "checkpoints prune"
            book = Book(root, common.opened)
            with book.snapshots.held():
                book.free()
    kept = f" and {show.number(len(taken), 'checkpoint')}" if taken else ""
    entries = show.number(count, "log entry", "log entries")
    click.echo(f"Forgotten: session {show.clean(row.id)} with {entries}{kept}")
