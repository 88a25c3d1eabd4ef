"""The commands. Each is short: it asks the rooms below and shows what they say."""

from __future__ import annotations

import difflib
import json
import os
import pathlib
import shlex
import subprocess
import sys

import click

import unspin
from unspin import agents, config, live
from unspin.agents.installing import InstallError, Plan
from unspin.cli import show
from unspin.events import Message
from unspin.facts.shell import read_line
from unspin.guard.settings import CHECK_KINDS, MODES, RULES, SettingsError
from unspin.paths import config_folder, state_folder
from unspin.store import Session, Store, StoreError

_AGENT = click.argument("agent", type=click.Choice(list(agents.AGENTS)))
_JSON = click.option("--json", "as_json", is_flag=True, help="JSON for scripts.")


class _Problem(click.ClickException):
    """Something the person can mend: one line on stderr, exit status 1."""

    def show(self, file: object = None) -> None:
        click.echo(f"unspin: {self.message}", err=True)


class _Commands(click.Group):
    """Commands in the order of their writing; our own errors shown as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except (StoreError, SettingsError, InstallError, OSError) as error:
            raise _Problem(str(error)) from error


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_examples("unspin install claude-code", "unspin status", "unspin log --json", "unspin release"),
)
@click.version_option(unspin.__version__, prog_name="unspin")
def app() -> None:
    """Traction control for AI agents: notices when an agent is spinning, says so in one line, holds the door."""


# -- installing ------------------------------------------------------------------------


@app.command(
    epilog=_examples(
        "unspin install claude-code",
        "unspin install claude-code --mode nudge",
        "unspin install claude-code --project --dry-run",
    )
)
@_AGENT
@click.option("--user", "where", flag_value="user", default="user", help="For all your projects (default).")
@click.option("--project", "where", flag_value="project", help="For this folder only, in settings.local.json.")
@click.option("--mode", type=click.Choice(MODES), help="observe, nudge or guard (the default).")
@click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")
def install(agent: str, where: str, mode: str | None, dry_run: bool) -> None:
    """Put unspin's hooks into an agent's settings; all else there stays as it is."""
    installer = agents.load(agent, "_install")
    plan = installer.plan_install(installer.settings_path(project=os.getcwd() if where == "project" else None))
    if dry_run:
        _show_plan(plan)
        return
    backup = plan.apply()
    if mode:
        _set_installed_mode(mode, where)
    click.echo(f"{'Installed' if plan.changes else 'Already installed'}: {plan.path}")
    if backup:
        click.echo(f"Backup of what was there: {backup}")
    if plan.changes:
        click.echo("Sessions that you start from now on are watched. See how it goes with: unspin status")


@app.command(epilog=_examples("unspin uninstall claude-code", "unspin uninstall claude-code --project"))
@_AGENT
@click.option("--user", "where", flag_value="user", default="user", help="From your own settings (default).")
@click.option("--project", "where", flag_value="project", help="From this folder's settings.local.json.")
@click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")
def uninstall(agent: str, where: str, dry_run: bool) -> None:
    """Take exactly unspin's hooks out of an agent's settings."""
    installer = agents.load(agent, "_install")
    plan = installer.plan_uninstall(installer.settings_path(project=os.getcwd() if where == "project" else None))
    if dry_run:
        _show_plan(plan)
        return
    backup = plan.apply()
    click.echo(f"{'Uninstalled' if plan.changes else 'Nothing of unspin is installed there'}: {plan.path}")
    if backup:
        click.echo(f"Backup of what was there: {backup}")


def _show_plan(plan: Plan) -> None:
    if not plan.changes:
        click.echo(f"Nothing to change in {plan.path}")
        return
    before, after = (plan.before or "").splitlines(True), (plan.after or "").splitlines(True)
    click.echo("".join(difflib.unified_diff(before, after, plan.path, f"{plan.path} (after)")), nl=False)


def _set_installed_mode(mode: str, where: str) -> None:
    if where == "project":
        with Store(state_folder()) as store:
            store.set_mode(os.path.realpath(os.getcwd()), mode)
        return
    path = os.path.join(config_folder(), "unspin.toml")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    lines = pathlib.Path(path).read_text("utf-8").splitlines() if os.path.exists(path) else []
    first_table = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    kept = [line for line in lines[:first_table] if line.split("=")[0].strip() != "mode"]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([f'mode = "{mode}"', *kept, *lines[first_table:]]) + "\n")


@app.command(
    epilog=_examples("unspin hook claude-code < payload.json"),
    short_help="Answer one hook payload (agents call this).",
)
@click.argument("agent")
def hook(agent: str) -> None:
    """Read one hook payload on stdin and answer as the agent's protocol wants.

    Agents call this; you need it only for trying things out. Whatever goes wrong, nothing
    is printed on stdout and the exit status is 0; 2 means a decided block.
    """
    from unspin import hook as entry

    entry.main(agent)


# -- looking ---------------------------------------------------------------------------


@app.command(epilog=_examples("unspin status", "unspin status --json"))
@click.option("--session", default="", help="A session's id, or how it begins, instead of this folder's newest.")
@_JSON
def status(session: str, as_json: bool) -> None:
    """Show this folder's session: mode, streaks, detections, blocks."""
    with _store() as store:
        row = _session(store, session)
        guard = live.restore(store, row.project, row)
        found = list(store.detections(row.id))
    report = {
        "session": row.id,
        "agent": row.agent,
        "project": row.project,
        "updated": row.updated,
        "mode": guard.mode,
        "streaks": guard.streaks(),
        "refusing": [guard.reader.place.relative(each) for each in guard.standing_blocks()],
        "muted": [{"rule": rule, "file": file} for rule, file in guard.muted],
        "detections": _count(each["rule"] for each in found if each["response"] in ("none", "nudge")),
        "nudges": sum(each["response"] == "nudge" for each in found),
        "blocks": sum(each["response"] in ("block", "halt") for each in found),
    }
    if as_json:
        click.echo(json.dumps(report))
    else:
        show.status(report)


def _count(rules: object) -> dict[str, int]:
    counts: dict[str, int] = {}
    for rule in rules:  # type: ignore[attr-defined]
        counts[rule] = counts.get(rule, 0) + 1
    return counts


@app.command(epilog=_examples("unspin log", "unspin log 3eb2d320 --json", "unspin log --all --json"))
@click.argument("session", default="")
@click.option("--all", "everything", is_flag=True, help="All sessions of all folders.")
@_JSON
def log(session: str, everything: bool, as_json: bool) -> None:
    """Show what was noticed and what was done about it, oldest first.

    SESSION is a session's id or how it begins; without it, this folder's sessions.
    """
    with _store() as store:
        if everything:
            found = list(store.detections())
        else:
            rows = [_session(store, session)] if session else _folder_sessions(store)
            found = [each for row in reversed(rows) for each in store.detections(row.id)]
    for each in found:
        each["evidence"] = json.loads(each["evidence"])
    if as_json:
        for each in found:
            click.echo(json.dumps(each))
    else:
        show.log(found)


@app.command(epilog=_examples("unspin doctor", "unspin doctor --json"))
@click.option("--agent", type=click.Choice(list(agents.AGENTS)), default=next(iter(agents.AGENTS)), show_default=True)
@_JSON
def doctor(agent: str, as_json: bool) -> None:
    """See whether unspin works here: the hooks, a synthetic loop, settings with their origin, recent faults.

    The exit status is 1 where something is wrong.
    """
    from unspin.doctor import WRONG, examine

    wrong = False
    for finding in examine(agent, os.path.realpath(os.getcwd())):
        wrong = wrong or finding.state == WRONG
        if as_json:
            click.echo(json.dumps(finding.as_mapping()))
        else:
            show.finding(finding.as_mapping())
    sys.exit(int(wrong))


# -- the person's commands -------------------------------------------------------------


@app.command(epilog=_examples("unspin release"))
@click.option("--session", default="", help="A session's id, or how it begins, instead of this folder's newest.")
def release(session: str) -> None:
    """Let the agent edit again: the same as answering it. Counters start at zero."""
    with _store() as store:
        row = _session(store, session)
        guard = live.restore(store, row.project, row)
        files = [guard.reader.place.relative(each) for each in guard.standing_blocks()]
        guard.observe(Message(by_person=True))
        live.save(store, row.id, row.agent, row.project, row.cwd, guard)
    click.echo(
        f"Released: {', '.join(map(show.plain, files))}"
        if files
        else "Nothing was being refused. Counters start at zero."
    )


@app.command(
    epilog=_examples("unspin mute bloat", "unspin mute failing_edits --file src/gen.py", "unspin mute bloat --off")
)
@click.argument("rule", type=click.Choice(list(RULES)))
@click.option("--file", "file", default="", help="Only for this file.")
@click.option("--off", is_flag=True, help="Say it again.")
def mute(rule: str, file: str, off: bool) -> None:
    """Log a rule in this folder and do not say it any more."""
    with _store() as store:
        project = _project(store)
        path = os.path.relpath(os.path.realpath(file), project) if file else ""
        store.mute(project, rule, path, off=off)
    where = f" on {show.plain(path)}" if path else ""
    click.echo(f"{'No longer muted' if off else 'Muted'} in {show.plain(project)}: {rule}{where}")


@app.command(epilog=_examples("unspin mode nudge", "unspin mode default"))
@click.argument("mode", type=click.Choice([*MODES, "default"]))
def mode(mode: str) -> None:
    """Set this folder's mode: observe, nudge or guard; default goes back to the settings."""
    with _store() as store:
        project = _project(store)
        store.set_mode(project, None if mode == "default" else mode)
        now = store.mode(project) or config.compiled(project, store)["mode"]
    click.echo(f"Mode in {show.plain(project)}: {now}")


@app.command(epilog=_examples("unspin forget 3eb2d320"))
@click.argument("session")
def forget(session: str) -> None:
    """Remove a session and all that was noticed in it."""
    with _store() as store:
        row = _session(store, session)
        count = store.forget(row.id)
    click.echo(f"Forgotten: session {row.id} with {count} log entries")


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=_examples("unspin check -- ./ci.sh", "unspin check --kind build -- make | tail"),
)
@click.option(
    "--kind",
    type=click.Choice(CHECK_KINDS),
    help="What it checks (default: as the command tells; test for a script).",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def check(kind: str | None, command: tuple[str, ...]) -> None:
    """Run COMMAND and record its real outcome, for scripts that no parser can see into.

    The exit status is the command's own. One argument alone is a shell line.
    """
    line = command[0] if len(command) == 1 else shlex.join(command)
    status = _run(command)
    try:
        project = os.path.realpath(os.getcwd())
        with _store() as store:
            if kind is None:
                found = read_line(line, config.compiled(project, store)["checks.commands"]).checks
                kind = found[0].kind if found and found[0].kind != "run" else "test"
            store.add_check_run(project, " ".join(line.split()), kind, status)
    except (StoreError, OSError) as error:
        click.echo(f"unspin: the outcome could not be recorded: {error}", err=True)
    sys.exit(status)


def _run(command: tuple[str, ...]) -> int:
    try:
        done = subprocess.run(command[0] if len(command) == 1 else command, shell=len(command) == 1, check=False)
    except FileNotFoundError:
        click.echo(f"unspin: {command[0]}: command not found", err=True)
        return 127
    except PermissionError:
        click.echo(f"unspin: {command[0]}: permission denied", err=True)
        return 126
    except KeyboardInterrupt:
        return 130
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


# -- finding the session ---------------------------------------------------------------


def _store() -> Store:
    return Store(state_folder())


def _folder_sessions(store: Store) -> list[Session]:
    """Return the sessions of the nearest folder, from this one up, that has any; newest first."""
    here = folder = os.path.realpath(os.getcwd())
    while True:
        rows = store.sessions(project=folder)
        if rows:
            return rows
        parent = os.path.dirname(folder)
        if parent == folder:
            raise _Problem(
                f"no session was seen in {here} yet. Start your agent there (unspin install claude-code comes "
                "first), or name a session: unspin log --all shows what there is."
            )
        folder = parent


def _session(store: Store, begins: str) -> Session:
    if not begins:
        return _folder_sessions(store)[0]
    rows = store.sessions(begins=begins)
    exact = [row for row in rows if row.id == begins]
    if len(rows) > 1 and not exact:
        raise _Problem(f"{len(rows)} sessions begin with {show.plain(begins)}: give more of the id.")
    if not rows:
        raise _Problem(f"no session begins with {show.plain(begins)}. unspin log --all shows what there is.")
    return (exact or rows)[0]


def _project(store: Store) -> str:
    """Return the project that this folder belongs to: of its newest session, else itself."""
    try:
        return _folder_sessions(store)[0].project
    except _Problem:
        return os.path.realpath(os.getcwd())
