"""Commands that put unspin into an agent's settings and take it out: install, uninstall."""

from __future__ import annotations

import difflib
import os
import shlex
import sqlite3
import tomllib
from types import ModuleType

import click

from unspin import agents
from unspin.agents import installing
from unspin.agents.installing import InstallError, Plan, backups_beside, read_settings
from unspin.cli import common, show
from unspin.guard.settings import MODES
from unspin.paths import config_folder, state_folder
from unspin.store import StoreError


@click.command(
    epilog=common.examples(
        "unspin install claude-code",
        "unspin install claude-code --mode nudge",
        "unspin install claude-code --statusline",
        "unspin install claude-code --project --dry-run",
    )
)
@common.AGENT
@click.option("--user", "where", flag_value="user", default="user", help="For all your projects (default).")
@click.option("--project", "where", flag_value="project", help="For this folder only, in settings.local.json.")
@click.option("--mode", type=click.Choice(MODES), help="Log only; say it; say it and refuse edits (the default).")
@click.option("--statusline", is_flag=True, help="A line in the agent's status line too, below one that is there.")
@click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")
def install(agent: str, where: str, mode: str | None, statusline: bool, dry_run: bool) -> None:
    """Put unspin's hooks into an agent's settings.

    With --statusline where unspin's plugin starts the hooks, only that line is put in. All else in
    the settings file stays as it is; a backup goes beside it, a project's into unspin's state folder.
    """
    installer = agents.load(agent, "_install")
    project = common.here() if where == "project" else None
    hooks = not (statusline and _plugin_alone(agent, installer, project or _here()))
    line = (installer.hidden_line(project) if project else "") if statusline else None
    plan = installer.plan_install(installer.settings_path(project=project), hooks=hooks, line=line)
    mode_plan = _plan_mode(mode) if mode and not project else None
    if dry_run:
        _show_plan(plan)
        if mode_plan:
            _show_plan(mode_plan)
        _say_mode(mode, mode_plan, planned=True)
        return
    if mode_plan:
        mode_plan.apply()
    backup = plan.apply()
    if mode and project:
        with common.opened() as store:
            store.set_mode(common.storable(project), mode)
    click.echo(f"{'Installed' if plan.changes else 'Already installed'}: {show.clean(plan.path)}")
    if backup:
        click.echo(f"Backup of what was there: {show.clean(backup)}")
    _say_mode(mode, mode_plan, planned=False)
    if statusline:
        text = installer.statusline.command_of(plan.after or "")
        theirs = installer.statusline.persons(text)
        click.echo(f"Status line: {'below your own, which stays as it is' if theirs else 'ours'}")
    if not hooks:
        click.echo("Hooks: those of the plugin; none are needed in the settings.")
    elif plan.changes:
        click.echo("Watched: new sessions, and within about a second those that run already.")
        click.echo("See how it goes with: unspin status")
    found = installing.look(agent, installer, project or _here())
    if found.problem:
        common.warn(f"hooks: {found.problem}")
    hiding = installer.hiding_line(project or _here()) if statusline else ""
    if hiding:
        where = f"{show.tilde(hiding)} has a status line of its own, which is shown here instead"
        common.warn(f"status line: {where}. For this folder: unspin install {agent} --project --statusline")


@click.command(epilog=common.examples("unspin uninstall claude-code", "unspin uninstall claude-code --project"))
@common.AGENT
@click.option("--user", "where", flag_value="user", default="user", help="From your own settings (default).")
@click.option("--project", "where", flag_value="project", help="From this folder's settings.local.json.")
@click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")
def uninstall(agent: str, where: str, dry_run: bool) -> None:
    """Take exactly unspin's hooks and status line out of an agent's settings.

    A status line that was there before is put back as it was. A settings file that "unspin install"
    made, and that holds nothing else, is removed.
    """
    installer = agents.load(agent, "_install")
    project = common.here() if where == "project" else None
    plan = installer.plan_uninstall(installer.settings_path(project=project))
    if dry_run:
        _show_plan(plan)
        return
    backup = plan.apply()
    removed = plan.changes and plan.after is None
    click.echo(
        f"{'Uninstalled' if plan.changes else 'Nothing of unspin is installed there'}: {show.clean(plan.path)}"
        f"{' (nothing else was in it: removed)' if removed else ''}"
    )
    if backup:
        click.echo(f"Backup of what was there: {show.clean(backup)}")
    _say_left(agent)


def _plugin_alone(agent: str, installer: ModuleType, project: str) -> bool:
    """Tell whether unspin's plugin starts the hooks, and no settings file does."""
    found = installing.look(agent, installer, project)
    return bool(found.plugin and not found.files)


def _show_plan(plan: Plan) -> None:
    if not plan.changes:
        click.echo(f"Nothing to change in {show.clean(plan.path)}")
        return
    before, after = (plan.before or "").splitlines(), (plan.after or "").splitlines()
    names = (
        plan.path if plan.before is not None else "/dev/null",
        f"{plan.path} (after)" if plan.after is not None else "/dev/null",
    )
    for line in difflib.unified_diff(before, after, *names, lineterm=""):
        click.echo("".join(each if each.isprintable() or each == "\t" else "�" for each in line))


def _here() -> str:
    """Return the folder that the person stands in; installing for all projects needs none."""
    try:
        return common.here()
    except common.Problem:
        return os.sep


def _say_left(agent: str) -> None:
    """List what uninstalling leaves, and how to remove it."""
    installer = agents.load(agent, "_install")
    found = installing.look(agent, installer, _here())
    if found.files:
        click.echo(f"Still installed: {', '.join(map(show.tilde, found.files))}")
    if found.plugin:
        click.echo(f"Still installed: the plugin, in {show.tilde(found.plugin)}: claude plugin uninstall unspin")
    if found.files or found.plugin:
        return
    left = [
        (what, folder)
        for what, folder in (("state and backups", state_folder()), ("settings", config_folder()))
        if os.path.isdir(folder)
    ]
    left += [("your settings as they were", each) for each in backups_beside(installer.settings_path())]
    if left:
        named = ", ".join(f"{what} in {show.tilde(folder)}" for what, folder in left)
        folders = " ".join(show.clean(shlex.quote(folder)) for _, folder in left)
        show.Page().hang("", f"Left: {named}. To remove them, if you want:", indent=0)
        click.echo(f"  rm -r {folders}")


# -- the mode --------------------------------------------------------------------------


def _plan_mode(mode: str) -> Plan:
    """Return what it takes for the person's settings file to set the mode; all else there stays."""
    path = os.path.join(config_folder(), "unspin.toml")
    before = read_settings(path)
    known = _tables(path, before or "")
    lines = (before or "").splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    first_table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    kept = [line for line in lines[:first_table] if line.split("=")[0].strip().strip("\"'") != "mode"]
    after = "".join([f'mode = "{mode}"{end}', *kept, *lines[first_table:]])
    if not after.endswith("\n"):
        after += end
    if known.get("mode") == mode:
        after = before or ""
    elif _parsed(after) != {**known, "mode": mode}:
        raise InstallError(f'{path} is written in a way that cannot be changed safely: put mode = "{mode}" into it.')
    return Plan(path, before, after, keep=False)


def _tables(path: str, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except ValueError as error:
        raise InstallError(f"{path} is not valid TOML ({error}). Mend it first; nothing was changed.") from None


def _parsed(text: str) -> dict[str, object] | None:
    try:
        return tomllib.loads(text)
    except ValueError:
        return None


def _say_mode(mode: str | None, mode_plan: Plan | None, *, planned: bool) -> None:
    """Say which mode holds, and where that stands."""
    here = common.storable(_here())
    try:
        with common.opened() as store:
            effective, origin = common.mode_of(store, here)
    except (StoreError, sqlite3.Error) as error:
        common.warn(common.store_remedy(error))
        return
    words = common.origin_words(origin)
    if planned and mode:
        where = f"in {show.tilde(mode_plan.path)}" if mode_plan else f"for {show.tilde(here)}, as by unspin mode"
        click.echo(f"Mode: {mode} ({where})" + ("" if mode == effective else f"; now {effective} ({words})"))
    elif mode_plan and origin != mode_plan.path:
        click.echo(f"Mode: {mode} (in {show.tilde(mode_plan.path)})")
        click.echo(f"In this folder: {effective} ({words})")
    else:
        click.echo(f"Mode: {effective} ({words})")
    common.warn_of_settings(here)
