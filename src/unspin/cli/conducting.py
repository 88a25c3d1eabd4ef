"""Commands for runs without people: run, gate, runs."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from unspin.cli import common, show
from unspin.paths import state_folder
from unspin.run import machine as m
from unspin.run.conductor import Conductor, story
from unspin.run.settings import RunSettings
from unspin.run.workspace import Files, RunError, data_folder, git, write

FAILED, HALTED = 1, 3  # exit statuses besides 0 for shipped and 2 for bad usage
_LARGEST_TICKET = 400_000  # characters


def _settings(folder: str, given: str | None) -> RunSettings:
    """Return the settings of a run: of the named file, else of the project's unspin.toml or pyproject.toml."""
    paths = [given] if given else [os.path.join(folder, name) for name in ("unspin.toml", "pyproject.toml")]
    for path in paths:
        if not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except (OSError, ValueError) as error:
            raise click.UsageError(f"{path}: it cannot be read as TOML ({error}). Mend it.") from None
        if path.endswith("pyproject.toml"):
            tables = tables.get("tool", {}).get("unspin", {})
        if "run" in tables:
            try:
                return RunSettings(tables["run"] if isinstance(tables["run"], dict) else {})
            except ValueError as error:
                raise click.UsageError(f"{path}: {error}") from None
    named = given or "unspin.toml"
    raise click.UsageError(
        f"no table [run] in {named}: it needs at least "
        'author = "claude -p --permission-mode acceptEdits"; see docs/run.md'
    )


@click.command(
    epilog=common.examples(
        "unspin run TICKET.md --plan",
        "unspin run TICKET.md",
        "unspin run --resume r1a2b3c4",
        "unspin run --drill",
    )
)
@click.argument("ticket", required=False, default="")
@click.option("--plan", is_flag=True, help="Say what would happen; start nothing.")
@click.option("--resume", "resumed", metavar="ID", default="", help="Go on with a run that was interrupted.")
@click.option("--drill", is_flag=True, help="Run the caps against a scripted review that never ends, in seconds.")
@click.option("--gate", "gates", multiple=True, type=click.Choice(["design"]), help="Ask before code starts.")
@click.option("--config", "path", metavar="FILE", help="The settings file (default: the project's).")
def run(ticket: str, plan: bool, resumed: str, drill: bool, gates: tuple[str, ...], path: str | None) -> None:
    """Take a ticket through sketch, design, code and review to a finished branch, unattended.

    Every turn is a fresh worker. Exit status: 0 shipped, 1 failed, 2 bad usage or settings, 3 halted for a
    person (unspin gate ID).
    """
    if drill:
        sys.exit(_drill())
    if bool(ticket) == bool(resumed):
        raise click.UsageError("a ticket is expected, or --resume with the id of a run.")
    repository = _repository() if ticket else ""
    if resumed:
        files = _files(resumed)
        record = files.load()
        settings = _settings(record["repository"], path or record.get("settings"))
        settings.gates = tuple({*settings.gates, *record.get("gates", ())})
        sys.exit(_go(files, lambda: Conductor.resume(files, settings, _tell)))
    settings = _settings(repository, path)
    settings.gates = tuple({*settings.gates, *gates})
    text = _ticket(ticket)
    if plan:
        _plan(settings, repository, text)
        return
    files = Files(f"r{secrets.token_hex(4)}", state_folder())
    click.echo(f"Run {files.id}: {show.tilde(files.home)}")
    sys.exit(_go(files, lambda: _begun(files, settings, repository, text, path)))


def _begun(files: Files, settings: RunSettings, repository: str, text: str, path: str | None) -> Conductor:
    conductor = Conductor.begin(files, settings, repository=repository, ticket=text, told=_tell)
    conductor.record["settings"] = os.path.abspath(path) if path else None
    conductor.record["gates"] = list(settings.gates)
    return conductor


def _go(files: Files, make: Any) -> int:
    with _held(files):
        state = make().go()
    if state == m.SHIPPED:
        return 0
    if state == m.HALTED:
        click.echo(f"It waits for you: unspin gate {files.id}")
        return HALTED
    return FAILED


@contextmanager
def _held(files: Files) -> Iterator[None]:
    """Hold a run for this process alone."""
    os.makedirs(os.path.dirname(files.kept), mode=0o700, exist_ok=True)
    lock = os.open(f"{files.kept}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise common.Problem(f"the run {files.id} is under way in another process.") from None
        yield
    finally:
        os.close(lock)


def _repository() -> str:
    here = common.here()
    try:
        root = git(here, "rev-parse", "--show-toplevel")
        git(here, "rev-parse", "--verify", "-q", "HEAD")
    except RunError:
        raise common.Problem(
            f"{show.tilde(here)} is in no git repository with a commit: a run works in a clone of one."
        ) from None
    return root


def _ticket(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_TICKET)
    except OSError as error:
        raise click.UsageError(
            f"{path}: {(error.strerror or str(error)).lower()}; a file with the ticket is expected."
        ) from None
    if not text.strip():
        raise click.UsageError(f"{path} is empty: a ticket is expected.")
    return text


def _files(begins: str) -> Files:
    names = _ids()
    found = [each for each in names if each.startswith(begins)]
    if begins in found:
        found = [begins]
    if len(found) != 1:
        many = "no run begins" if not found else f"{len(found)} runs begin"
        raise common.Problem(f"{many} with {show.clean(begins)}; unspin runs lists them.")
    return Files(found[0], state_folder())


def _ids() -> list[str]:
    folder = data_folder()
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


# -- while it runs ---------------------------------------------------------------------


def _tell(kind: str, fields: dict[str, Any]) -> None:
    """Print one event of a run."""
    stamp = time.strftime("%H:%M:%S")
    turn = f"turn {fields['turn']:>2} {fields.get('stage', ''):<7}" if "turn" in fields else ""
    text = _words(kind, fields)
    if text:
        click.echo(show.clean(f"{stamp}  {turn}  {text}" if turn else f"{stamp}  {text}"))


def _words(kind: str, fields: dict[str, Any]) -> str:
    if kind == "run_begun":
        return f"branch {fields['branch']} from {fields['base'][:10]}"
    if kind == "author_begun":
        return "author at work"
    if kind == "author_done":
        return f"author done in {fields['seconds']:.0f} s" if fields["ok"] else f"author failed: {fields['problem']}"
    if kind == "checks_done":
        return "checks: " + ", ".join(f"{each['kind']} {each['outcome']}" for each in fields["checks"])
    if kind == "review_done":
        return f"{fields['reviewer']}: {fields['problem'] or 'reviewed'}"
    if kind == "verdict":
        return (
            f"verdict {fields['verdict']}, {show.number(fields['open'], 'finding')} open, {fields['blocking']} blocking"
        )
    if kind == "workspace_mended":
        return f"a worker changed the workspace; put back: {', '.join(fields['changed'])}"
    if kind == "rot":
        return str(fields["message"]).removeprefix("Unspin: ")
    if kind == "shipped":
        return f"shipped: branch {fields['branch']}"
    if kind == "end":
        return f"{fields['state']}: {fields['stop_reason']} after {show.number(fields['turns'], 'author turn')}"
    return ""


def _plan(settings: RunSettings, repository: str, ticket: str) -> None:
    page = show.Page()
    caps = settings.caps
    page.hang("ticket", ticket.strip().splitlines()[0][:200])
    page.hang("from", show.tilde(repository))
    for stage, each in settings.authors.items():
        who = ", ".join(settings.of_stage(stage)) if stage != m.SKETCH else "nobody"
        page.hang(stage, f"{' '.join(each.command)} (at most {each.time_limit:.0f} s); reviewed by {who}")
    page.hang("checks", ", ".join(f"{kind}: {command}" for kind, command in settings.checks) or "none")
    page.hang(
        "caps",
        f"{caps.design_turns} design turns, {caps.turns} author turns in all, a person after {caps.review_streak} "
        f"design reviews running that do not approve; each override adds {caps.override_increment}",
    )
    budget = ", ".join(f"{name} {value}" for name, value in settings.budget.items())
    page.hang("budget", budget or "none")
    page.hang("gates", ", ".join(settings.gates) or "none")


# -- the person's gate -----------------------------------------------------------------


@click.command(
    epilog=common.examples("unspin gate r1a2b3c4", 'unspin gate r1a2b3c4 override --note "keep the old API"')
)
@click.argument("id")
@click.argument("decision", type=click.Choice(["approve", "override", "stop"]), required=False)
@click.option("--note", metavar="TEXT", default="", help="Goes into the run's decisions log.")
@common.JSON
def gate(id: str, decision: str | None, note: str, as_json: bool) -> None:
    """See why a run halted, and decide: approve what is there, override the cap, or stop.

    approve takes the design as ready, or the code as it is; override goes on for some more turns. Then
    unspin run --resume ID goes on.
    """
    files = _files(id)
    with _held(files):
        record = files.load()
        if decision is not None or note:
            _decide(files, record, decision, note)
    if as_json:
        click.echo(json.dumps(story(record)))
        return
    _show(record)
    if record["machine"]["state"] == m.RUNNING and decision:
        click.echo(f"Go on with: unspin run --resume {files.id}")


def _decide(files: Files, record: dict[str, Any], decision: str | None, note: str) -> None:
    settings = _settings(record["repository"], record.get("settings"))
    conductor = Conductor(files, settings, record)
    files.mend_workspace(record["commit"])
    if decision:
        try:
            getattr(conductor.machine, decision)()
        except ValueError as error:
            raise common.Problem(f"{error}.") from None
    said = f"- {time.strftime('%Y-%m-%d %H:%M')} {decision or 'note'}{f': {note}' if note else ''}\n"
    path = os.path.join(files.workspace, "decisions.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    write(path, text + said)
    conductor.decided(decision or "note", note)


# -- looking ---------------------------------------------------------------------------


@click.group(invoke_without_command=True, epilog=common.examples("unspin runs", "unspin runs show r1a2b3c4"))
@common.JSON
@click.pass_context
def runs(ctx: click.Context, as_json: bool) -> None:
    """List the runs on this machine, newest last."""
    if ctx.invoked_subcommand:
        return
    records = []
    for each in _ids():
        try:
            records.append(Files(each, state_folder()).load())
        except RunError as error:
            common.warn(str(error))
    records.sort(key=lambda each: each["began"])
    page = show.Page()
    if not records and not as_json:
        page.line("No run yet.")
    for record in records:
        if as_json:
            click.echo(json.dumps(story(record)))
            continue
        told = story(record)
        why = f"  {told['stop_reason']}" if told["stop_reason"] else ""
        page.line(
            f"{told['id']}  {show.moment(record['began']):<13}{told['state']:<8}  {told['stage']:<7}"
            f"{told['author_turns']:>3} turns  {show.tilde(told['repository'])}{why}"
        )


@runs.command(name="show", epilog=common.examples("unspin runs show r1a2b3c4", "unspin runs show r1a2b3c4 --json"))
@click.argument("id")
@common.JSON
def show_run(id: str, as_json: bool) -> None:
    """Show the whole story of a run: verdicts, findings and how each was resolved, cost."""
    files = _files(id)
    record = files.load()
    if as_json:
        click.echo(json.dumps(story(record)))
        return
    _show(record)
    for each in files.events():
        fields = {key: value for key, value in each.items() if key not in ("event", "time")}
        text = _words(each["event"], fields)
        if text:
            turn = f"turn {fields['turn']:>2}  " if "turn" in fields else ""
            click.echo(show.clean(f"  {time.strftime('%H:%M:%S', time.localtime(each['time']))}  {turn}{text}"))


def _show(record: dict[str, Any]) -> None:
    page, told = show.Page(), story(record)
    why = f": {told['stop_reason']}" if told["stop_reason"] else ""
    page.hang("run", f"{told['id']}, {told['state']}{why}", style="bold")
    page.hang("branch", f"{told['branch']} of {show.tilde(told['repository'])}")
    page.hang(
        "stage", f"{told['stage']}, {show.number(told['author_turns'], 'author turn')}, {told['overrides']} overrides"
    )
    spent = told["cost"]
    page.hang("cost", f"{spent['tokens']:,} tokens, ${spent['cost']:,.2f}, {spent['seconds']:,.0f} s of work")
    verdicts = ", ".join(f"{each['stage']} {each['turn']}: {each['verdict']}" for each in told["verdicts"])
    page.hang("verdicts", verdicts or "none yet")
    for each in told["open_findings"]:
        kind = f"{each['severity']}, blocking" if each["blocking"] else each["severity"]
        about = f"{each['id']} ({kind}, {each['reviewer']}, since turn {each['since']})"
        page.hang("open", f"{about} {each['location']}: {each['claim']}")
    for each in told["resolved_findings"]:
        page.hang("resolved", f"{each['id']} in turn {each['in_turn']}: {each['claim']}", style="dim")


# -- the drill -------------------------------------------------------------------------

_DRILL_AUTHOR = "import os, pathlib; pathlib.Path(os.environ.get('UNSPIN_DESIGN', 'made.txt')).write_text('a design')"
_DRILL_REVIEW = (
    "import json, os, pathlib; turn = os.environ['UNSPIN_TURN']; "
    "found = {'id': 'F' + turn, 'severity': 'major', 'blocking': True, 'location': 'x:1', 'claim': 'no. ' + turn}; "
    "pathlib.Path(os.environ['UNSPIN_FINDINGS']).write_text(json.dumps({'verdict': 'revise', 'findings': [found]}))"
)


def _drill() -> int:
    """Run the caps against a review that never ends; return 0 where they held."""
    with tempfile.TemporaryDirectory() as folder:
        before = {name: os.environ.get(name) for name in ("XDG_DATA_HOME",)}
        os.environ["XDG_DATA_HOME"] = os.path.join(folder, "data")
        try:
            return _drilled(folder)
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value


def _drilled(folder: str) -> int:
    repository = os.path.join(folder, "repository")
    os.makedirs(repository)
    git(repository, "init", "-q")
    git(repository, "commit", "-q", "--allow-empty", "-m", "drill")
    settings = RunSettings(
        {
            "author": [sys.executable, "-c", _DRILL_AUTHOR],
            "reviewers": [{"name": "endless", "command": [sys.executable, "-c", _DRILL_REVIEW]}],
        }
    )
    files = Files("drill", os.path.join(folder, "state"))
    conductor = Conductor.begin(
        files, settings, repository=repository, ticket="A drill.", told=lambda kind, fields: None
    )
    halts = []
    while conductor.go() == m.HALTED:
        state = conductor.machine.state
        halts.append((state["design_turns"], state["stop_reason"]))
        if state["stop_reason"] == m.TURN_CAP:
            break
        conductor.machine.override()
    state, caps = conductor.machine.state, settings.caps
    held = (
        bool(halts)
        and halts[0] == (caps.review_streak, m.REVIEW_STREAK)
        and halts[-1] == (conductor.machine.bound("design_turns"), m.TURN_CAP)
    )
    for turns, why in halts:
        click.echo(f"halted after {turns} design turns: {why}")
    bound = f"{caps.design_turns} + {caps.override_increment} x {state['overrides']} overrides"
    click.echo(
        f"{'The caps held' if held else 'THE CAPS DID NOT HOLD'}: {state['design_turns']} design turns, bound {bound}"
    )
    return 0 if held else FAILED
