"""Commands that look: status, log, settings, doctor. None of them changes anything."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import click

from unspin import agents, config, live
from unspin.agents import installing
from unspin.cli import common, show
from unspin.guard import BLOCK, HALT, NONE, NUDGE
from unspin.guard.settings import KEYS
from unspin.paths import state_folder
from unspin.store import FAULTS_FILE, Session, Store

_WEEK = 7 * 86400
_CHECKS = 3  # recorded checks shown


# -- status ----------------------------------------------------------------------------


@click.command(epilog=common.examples("unspin status", "unspin status --json", "unspin status --all"))
@common.SESSION
@click.option("--all", "everything", is_flag=True, help="All sessions of all folders, one a line.")
@common.JSON
def status(session: str, everything: bool, as_json: bool) -> None:
    """Show this folder's session: mode, streaks, blocks.

    Also what is wrong with the settings, whether the hooks are installed, recent faults, and the
    checks that "unspin check" recorded and no session has taken in yet.
    """
    if everything:
        _all_sessions(as_json)
        return
    page = show.Page()
    missing = None
    with common.opened() as store:
        try:
            row = common.find_session(store, session)
        except common.NoSession as none:
            missing, row = none, None
        project = row.project if row else common.storable(common.here())
        report = {**_of_session(store, row, project), **_around(store, project)}
    if as_json:
        click.echo(json.dumps(report))
    else:
        show.surroundings(page, report)
        origin = common.origin_words(report["mode_origin"])
        if row:
            show.status(page, report, origin)
        else:
            page.hang("mode", f"{report['mode']} ({origin})")
        show.records(page, report)
    if missing:
        raise missing


def _of_session(store: Store, row: Session | None, project: str) -> dict[str, Any]:
    mode, origin = common.mode_of(store, project)
    guard = live.restore(store, project, row)
    found = list(store.detections(row.id)) if row else []
    return {
        "session": row.id if row else None,
        "agent": row.agent if row else None,
        "project": project,
        "updated": row.updated if row else None,
        "mode": mode,
        "mode_origin": origin,
        "streaks": guard.streaks(),
        "refusing": [guard.reader.place.relative(each) for each in guard.standing_blocks()],
        "muted": [{"rule": rule, "file": file} for rule, file in guard.muted],
        "detections": _count([each["rule"] for each in found if each["response"] in (NONE, NUDGE)]),
        "nudges": sum(each["response"] == NUDGE for each in found),
        "blocks": sum(each["response"] in (BLOCK, HALT) for each in found),
        "released": next((each["time"] for each in reversed(found) if each["response"] == common.RELEASE), None),
    }


def _around(store: Store, project: str) -> dict[str, Any]:
    """Return what holds besides the session."""
    hooks = [installing.look(name, agents.load(name, "_install"), project) for name in agents.AGENTS]
    checks = store.check_runs(project)[-_CHECKS:]
    return {
        "settings_problems": config.problems(project),
        "hooks": [each.as_mapping() for each in hooks],
        "checks": [
            {"time": when, "command": command, "kind": kind, "status": status} for when, command, kind, status in checks
        ],
        "faults": _recent_faults(store),
    }


def _recent_faults(store: Store) -> int:
    """Return how many faults of our own the last week had, in the store and beside it."""
    since = time.time() - _WEEK
    times = [when for when, _, _ in store.faults()]
    try:
        with open(os.path.join(state_folder(), FAULTS_FILE), encoding="utf-8", errors="replace") as file:
            stamps = [line.partition("\t")[0] for line in file]
    except OSError:
        stamps = []
    return sum(when > since for when in [*times, *(int(stamp) for stamp in stamps if stamp.isdigit())])


def _count(rules: list[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for rule in rules:
        counts[rule] = counts.get(rule, 0) + 1
    return counts


def _all_sessions(as_json: bool) -> None:
    with common.opened() as store:
        sessions = store.sessions()
        length = common.prefix_length(store)
        modes = {project: common.mode_of(store, project)[0] for project in {each.project for each in sessions}}
    rows = [
        {
            "session": each.id,
            "project": each.project,
            "agent": each.agent,
            "updated": each.updated,
            "mode": modes[each.project],
        }
        for each in sessions
    ]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
    elif rows:
        show.sessions(show.Page(), rows, length)
    else:
        show.Page().line("No session was seen yet.")


# -- the log ---------------------------------------------------------------------------


@click.command(
    epilog=common.examples("unspin log", "unspin log -v", "unspin log 3eb2d320 --json", "unspin log --all --json")
)
@click.argument("session", default="")
@click.option("--all", "everything", is_flag=True, help="All sessions of all folders.")
@click.option("-v", "--verbose", is_flag=True, help="Whole lines, and the evidence: index, tool, file, excerpt.")
@common.JSON
def log(session: str, everything: bool, verbose: bool, as_json: bool) -> None:
    """Show what was noticed and what was done about it.

    Oldest first, one line an entry: time, response, rule, file, cause. The responses: logged (not
    said), nudge, block, halt, release, rollback. SESSION is a session's id or how it begins; without it,
    this folder's sessions.
    """
    with common.opened() as store:
        if everything:
            found = list(store.detections())
        else:
            rows = [common.find_session(store, session)] if session else common.sessions_here(store)
            found = [each for row in reversed(rows) for each in store.detections(row.id)]
        several = len({each["session"] for each in found}) > 1
        length = common.prefix_length(store) if several else 0
    for each in found:
        each["evidence"] = json.loads(each["evidence"])
    if as_json:
        for each in found:
            if each["response"] not in (common.RELEASE, common.ROLLBACK):
                click.echo(json.dumps(each))
    elif verbose:
        show.log_fully(show.Page(), found, length)
    else:
        show.log(show.Page(), found, length)


# -- settings --------------------------------------------------------------------------


@click.command(epilog=common.examples("unspin settings", "unspin settings --all", "unspin settings --json"))
@click.option("--all", "everything", is_flag=True, help="Those that have their defaults too.")
@common.JSON
def settings(everything: bool, as_json: bool) -> None:
    """Show the settings that hold in this folder, and who set them.

    Those that are set come first. With --json: every key, one object a line.
    """
    with common.opened() as store:
        project = common.find_project(store)
        mode, mode_origin = common.mode_of(store, project)
    found = config.find(project)
    rows = []
    for key, (_, default, meaning) in KEYS.items():
        value, origin = found.settings[key], found.origin.get(key, common.DEFAULT)
        if key == "mode":
            value, origin = mode, mode_origin
        rows.append({"key": key, "value": value, "default": default, "origin": origin, "meaning": meaning})
    tables = list(dict.fromkeys(key.rpartition(".")[0] for key in KEYS))
    rows.sort(key=lambda row: (row["origin"] == common.DEFAULT, tables.index(row["key"].rpartition(".")[0])))
    common.warn_of_settings(project)
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
        return
    page = show.Page()
    shown = rows if everything else [row for row in rows if row["origin"] != common.DEFAULT]
    for row in shown:
        show.setting(page, {**row, "words": common.origin_words(row["origin"])})
    rest = len(rows) - len(shown)
    if rest:
        which = f"{rest} more have" if shown else f"All {rest} settings have"
        page.hang("", f"{which} their defaults: unspin settings --all", indent=0)


# -- doctor ----------------------------------------------------------------------------


@click.command(epilog=common.examples("unspin doctor", "unspin doctor --json"))
@click.option("--agent", type=click.Choice(list(agents.AGENTS)), default=next(iter(agents.AGENTS)), show_default=True)
@common.JSON
def doctor(agent: str, as_json: bool) -> None:
    """See whether unspin works here; what to do if not.

    Looks at the hooks, feeds a synthetic loop through them, and shows settings with their origin and
    recent faults. The exit status is 1 where something is wrong.
    """
    from unspin.doctor import WRONG, examine

    page = show.Page()
    wrong = False
    for finding in examine(agent, common.here()):
        wrong = wrong or finding.state == WRONG
        if as_json:
            click.echo(json.dumps(finding.as_mapping()))
        else:
            show.finding(page, finding.as_mapping())
    sys.exit(int(wrong))
