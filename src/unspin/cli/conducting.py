"""Commands for runs without people: run, gate, runs."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from typing import Any

import click

from unspin.cli import common, show, watching
from unspin.paths import state_folder
from unspin.run import clients, clone
from unspin.run import machine as m
from unspin.run.clone import RunError, git
from unspin.run.conductor import INTERRUPTED, Conductor, story
from unspin.run.settings import RunSettings
from unspin.run.worker import MARK
from unspin.run.workspace import Files, data_folder

FAILED, HALTED = 1, 3  # exit statuses besides 0 for shipped and 2 for bad usage
_LARGEST_TICKET = 400_000  # characters


def _table(folder: str, given: str | None) -> dict[str, Any]:
    """Return the table [run]: of the named file, else of the project's unspin.toml or pyproject.toml."""
    if given and not os.path.isfile(given):
        raise click.UsageError(f"{given}: there is no such file; a settings file with a table [run] is expected.")
    paths = [given] if given else [os.path.join(folder, name) for name in ("unspin.toml", "pyproject.toml")]
    for path in paths:
        if not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as file:
                tables = tomllib.load(file)
        except (OSError, ValueError) as error:
            raise click.UsageError(f"{path}: it cannot be read as TOML ({error}). Mend it.") from None
        if os.path.basename(path) == "pyproject.toml":
            tables = tables.get("tool", {}).get("unspin", {}) if isinstance(tables.get("tool"), dict) else {}
        if "run" in tables:
            _checked(tables["run"], path)
            table: dict[str, Any] = tables["run"]
            return table
    named = given or "unspin.toml"
    raise click.UsageError(
        f"no table [run] in {named}: it needs at least "
        'author = "claude -p --permission-mode acceptEdits"; see docs/run.md'
    )


def _checked(table: Any, where: str) -> RunSettings:
    if not isinstance(table, dict):
        raise click.UsageError(f"{where}: run = {table!r}: expected a table [run]")
    try:
        settings = RunSettings(table)
    except ValueError as error:
        raise click.UsageError(f"{where}: {error}") from None
    for who in (*settings.authors.values(), *settings.reviewers):
        word = clients.goes_on_with(who.command)
        if word:
            raise click.UsageError(
                f"{where}: {shlex.join(who.command)}: every worker begins with an empty context. Leave out {word}."
            )
    return settings


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
@click.option("--pr", is_flag=True, help="When it is shipped, push the branch and open a pull request (gh).")
@click.option("--config", "path", metavar="FILE", help="The settings file (default: the project's).")
def run(ticket: str, plan: bool, resumed: str, drill: bool, gates: tuple[str, ...], pr: bool, path: str | None) -> None:
    """Take a ticket through sketch, design, code and review to a finished branch, unattended.

    Every turn is a fresh worker. Exit status: 0 shipped, 1 failed, 2 bad usage or settings, 3 halted for a
    person (unspin gate ID).
    """
    _not_a_worker("run")
    if drill:
        sys.exit(_drill())
    if bool(ticket) == bool(resumed):
        both = ", not both: a run has its own ticket" if ticket else ""
        raise click.UsageError(f"a ticket is expected, or --resume with the id of a run{both}.")
    if resumed:
        sys.exit(_resume(_files(resumed), path, gates, pr))
    repository = _repository()
    table = _table(repository, path)
    settings = _checked(table, path or "unspin.toml")
    settings.gates = tuple({*settings.gates, *gates})
    text = _ticket(ticket)
    if plan:
        _plan(settings, repository, text, pr)
        return
    files = Files(f"r{secrets.token_hex(4)}", state_folder())
    base = git(repository, "rev-parse", "HEAD")
    watching.say(f"Run {files.id}: {show.tilde(files.home)}")
    for each in clone.left_behind(repository, base):
        watching.say(f"unspin: not taken along: {each}", err=True)
    for each in _uncounted(settings):
        watching.say(f"unspin: {each}", err=True)

    def begin(tell: Any) -> Conductor:
        return Conductor.begin(
            files, settings, repository=repository, ticket=text, table=table, pull_request=pr, told=tell
        )

    sys.exit(_go(files, begin))


def _resume(files: Files, path: str | None, gates: tuple[str, ...], pr: bool) -> int:
    record = files.load()
    repository = record["repository"]
    if not os.path.isdir(repository):
        try:
            repository = _repository()
        except click.UsageError:
            raise click.UsageError(
                f"{show.tilde(repository)}, which the run works for, is not there any more: resume it from where that "
                "repository is now, or from a clone that has the commit it began from."
            ) from None
    if record["machine"]["state"] == m.SHIPPED:
        watching.say(f"Run {files.id} is over: shipped, branch {record['branch']}")
    table = _table(repository, path) if path or record["settings"] is None else record["settings"]
    settings = _checked(table, path or f"the settings of run {files.id}")
    settings.gates = tuple({*settings.gates, *record["gates"], *gates})

    def resume(tell: Any) -> Conductor:
        record = files.load()  # nobody else can change it now
        record["gates"] = list(settings.gates)
        record["pull_request"] = bool(record.get("pull_request") or pr)
        conductor = Conductor.resume(files, settings, tell, record=record, repository=repository)
        if path and table != record["settings"]:
            record["settings"] = table
            conductor.changed(os.path.abspath(path))
        return conductor

    return _go(files, resume)


def _go(files: Files, make: Any) -> int:
    try:
        with files.held(), watching.watched() as tell:
            try:
                conductor = make(tell)
                state = conductor.go()
            except (RunError, OSError):
                if os.path.exists(files.kept):  # it had begun
                    common.warn(f"interrupted; when that is mended, go on with: unspin run --resume {files.id}")
                raise
    except (KeyboardInterrupt, click.Abort):
        common.warn(f"interrupted; go on with: unspin run --resume {files.id}")
        return FAILED
    if state == m.SHIPPED:
        if conductor.record["pull_request"]:
            _pull_request(files, conductor.record)
        return 0
    if state == m.HALTED:
        watching.say(f"It waits for you: unspin gate {files.id}")
        return HALTED
    if state == m.FAILED:
        watching.say(_remedy(files))
    return FAILED


def _remedy(files: Files) -> str:
    """Return what to do about a run that failed."""
    way = f"unspin gate {files.id} override, then unspin run --resume {files.id}"
    return f"When that is mended: {way} (changed settings: --config FILE)"


def _not_a_worker(what: str) -> None:
    """A worker starts no runs and decides nothing: that is the person's."""
    if os.environ.get(MARK):
        raise common.Problem(f"{what} is for people: this is a worker of the run {os.environ.get('UNSPIN_RUN', '?')}.")


def _pull_request(files: Files, record: dict[str, Any]) -> None:
    """Push the branch and open a pull request: only where that was asked for."""
    repository, branch = record["repository"], record["branch"]
    remote = git(repository, "remote", check=False).split()
    if not remote or not shutil.which("gh"):
        lacks = "gh is not on the PATH" if remote else "the repository has no remote"
        common.warn(f"no pull request: {lacks}. The branch {branch} is there.")
        return
    name = "origin" if "origin" in remote else remote[0]
    with open(os.path.join(files.workspace, "description.md"), encoding="utf-8", errors="replace") as file:
        title = file.readline().lstrip("# ").strip()
    body = os.path.join(files.workspace, "description.md")
    for command in (
        ["git", "push", name, f"refs/heads/{branch}:refs/heads/{branch}"],
        ["gh", "pr", "create", "--head", branch, "--title", title, "--body-file", body],
    ):
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            common.warn(f"no pull request: {shlex.join(command[:3])} failed: {' '.join(done.stderr.split())[:300]}")
            return
    click.echo(show.clean(done.stdout.strip()))


def _repository() -> str:
    here = common.here()
    try:
        root = git(here, "rev-parse", "--show-toplevel")
        git(here, "rev-parse", "--verify", "-q", "HEAD")
    except RunError as error:
        if "dubious ownership" in str(error) or "cannot be started" in str(error):
            raise click.UsageError(f"{error}") from None
        raise click.UsageError(
            f"{show.tilde(here)} is in no git repository with a commit: a run works in a clone of one."
        ) from None
    return root


def _ticket(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_TICKET + 1)
    except OSError as error:
        raise click.UsageError(
            f"{path}: {(error.strerror or str(error)).lower()}; a file with the ticket is expected."
        ) from None
    if not text.strip():
        raise click.UsageError(f"{path} is empty: a ticket is expected.")
    if "\0" in text:
        raise click.UsageError(f"{path} is no text (it holds zero bytes): a ticket in words is expected.")
    if len(text) > _LARGEST_TICKET:
        raise click.UsageError(
            f"{path} is too long: a ticket of at most {_LARGEST_TICKET:,} characters is expected. "
            "Put the rest into files of the repository, and name them."
        )
    return text


def _files(begins: str) -> Files:
    names = _ids()
    found = [each for each in names if each.startswith(begins)]
    if begins in found:
        found = [begins]
    if len(found) != 1:
        many = "no run begins" if not found else f"{len(found)} runs begin"
        raise click.UsageError(f"{many} with {show.clean(begins)}; unspin runs lists them.")
    return Files(found[0], state_folder())


def _ids() -> list[str]:
    """Return the ids of all runs: those with a workspace, and those that ended before there was one."""
    found = set()
    for folder, ending in ((data_folder(), ""), (os.path.join(state_folder(), "runs"), ".json")):
        if os.path.isdir(folder):
            found |= {each.removesuffix(ending) for each in os.listdir(folder) if each.endswith(ending)}
    return sorted(found)


# -- what would happen ------------------------------------------------------------------


def _plan(settings: RunSettings, repository: str, ticket: str, pr: bool) -> None:
    page = show.Page()
    caps = settings.caps
    base = git(repository, "rev-parse", "HEAD")
    page.hang("ticket", ticket.strip().splitlines()[0][:200])
    branch = git(repository, "symbolic-ref", "--short", "-q", "HEAD", check=False) or "no branch"
    page.hang("from", f"{show.tilde(repository)} at {base[:10]} ({branch})")
    for each in clone.left_behind(repository, base):
        page.hang("", f"not taken along: {each}")
    unfit = clone.unfit(repository, base)
    if unfit:
        page.hang("refused", unfit, style="red")
    for stage, who in settings.authors.items():
        reviewed = ", ".join(settings.of_stage(stage)) if stage != m.SKETCH else "nobody"
        page.hang(stage, f"{shlex.join(who.command)} (at most {who.time_limit:.0f} s); reviewed by {reviewed}")
    for who in settings.reviewers:
        page.hang("reviewer", f"{who.name}: {shlex.join(who.command)} (at most {who.time_limit:.0f} s)")
    page.hang("checks", ", ".join(f"{kind}: {command}" for kind, command in settings.checks) or "none")
    commands = {shlex.join(each.command): each.command for each in (*settings.authors.values(), *settings.reviewers)}
    for name in dict.fromkeys(command[0] for command in commands.values()):
        if os.sep not in name and not shutil.which(name):
            page.hang("", f"{show.clean(name)} is not on the PATH: it cannot be started", style="red")
    for line, command in commands.items():
        page.hang("guard", f"{line}: {clients.guard_of(command, repository)}")
    page.hang(
        "caps",
        f"{caps.design_turns} design turns, {caps.turns} author turns in all, a person after {caps.review_streak} "
        f"design reviews running that do not approve; each override adds {caps.override_increment}",
    )
    budget = ", ".join(f"{name} {value}" for name, value in settings.budget.items())
    page.hang("budget", budget or "none")
    for each in _uncounted(settings):
        page.hang("", each)
    page.hang("gates", ", ".join(settings.gates) or "none")
    page.hang("prompts", f"at most {settings.prompt_tokens:,} tokens each")
    page.hang("ends with", "the branch pushed, and a pull request" if pr else "a branch in your repository")


def _uncounted(settings: RunSettings) -> list[str]:
    """Return what the budgets of tokens and dollars do not see, in words: a bound that cannot hold is told."""
    named = [name for name in ("tokens", "cost") if name in settings.budget]
    if not named:
        return []
    workers = (*settings.authors.values(), *settings.reviewers)
    lines = dict.fromkeys(shlex.join(each.command) for each in workers if not clients.is_counted(each.command))
    return [f"the budget of {' and '.join(named)} does not see what this worker uses: {each}" for each in lines]


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
    if decision is not None or note:
        _not_a_worker("gate")
        with files.held():
            record = files.load()
            _decide(files, record, decision or "", note)
    else:
        record = files.load()
    if as_json:
        click.echo(json.dumps(story(record, files)))
        return
    _show(record, files, resolved=False)
    if record["machine"]["state"] == m.HALTED:
        click.echo(f"Decide: unspin gate {files.id} approve, override or stop (--note TEXT)")
    elif record["machine"]["state"] == m.FAILED:
        show.Page().hang("", _remedy(files), indent=0)


def _decide(files: Files, record: dict[str, Any], decision: str, note: str) -> None:
    repository = record["repository"]
    if record.get("elsewhere"):
        repository = repository if os.path.isdir(repository) else _repository()
    table = record["settings"] if record["settings"] is not None else _table(repository, None)
    settings = _checked(table, f"the settings of run {files.id}")
    settings.gates = tuple(record["gates"])
    conductor = Conductor.resume(files, settings, lambda kind, fields: None, record=record, repository=repository)
    try:
        conductor.decide(decision, note, time.strftime("%Y-%m-%d %H:%M"))
    except ValueError as error:
        raise common.Problem(f"{error}.") from None


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
        files = Files(each, state_folder())
        try:
            records.append((files.load(), files))
        except RunError as error:
            common.warn(str(error))
    records.sort(key=lambda each: each[0]["began"])
    page = show.Page()
    if not records and not as_json:
        page.line("No run yet.")
    for record, files in records:
        if as_json:
            click.echo(json.dumps(story(record, files)))
            continue
        told = story(record, files)
        why = f"  {told['stop_reason']}" if told["stop_reason"] else ""
        if told["state"] == INTERRUPTED:
            why = f"  go on with: unspin run --resume {told['id']}"
        page.line(
            f"{told['id']}  {show.moment(record['began']):<13}{told['state']:<11}  {told['stage']:<7}"
            f"{told['author_turns']:>3} turns  {show.tilde(told['repository'])}{why}"
        )


@runs.command(
    name="show",
    short_help="Show the whole story of a run.",
    epilog=common.examples("unspin runs show r1a2b3c4", "unspin runs show r1a2b3c4 --json"),
)
@click.argument("id")
@common.JSON
def show_run(id: str, as_json: bool) -> None:
    """Show the whole story of a run: verdicts, findings and how each was resolved, cost."""
    files = _files(id)
    record = files.load()
    if as_json:
        click.echo(json.dumps(story(record, files)))
        return
    _show(record, files)
    for each in files.events():
        fields = {key: value for key, value in each.items() if key not in ("event", "time")}
        text = watching.line(each["event"], fields, each["time"])
        if text:
            click.echo(f"  {text}")


def _show(record: dict[str, Any], files: Files, *, resolved: bool = True) -> None:
    page, told = show.Page(), story(record, files)
    why = f": {told['stop_reason']}" if told["stop_reason"] else ""
    page.hang("run", f"{told['id']}, {told['state']}{why}", style="bold")
    _show_branch(page, told)
    page.hang("files", show.tilde(files.workspace))
    page.hang(
        "stage",
        f"{told['stage']}, {show.number(told['author_turns'], 'author turn')}, "
        f"{show.number(told['overrides'], 'override')}",
    )
    spent = told["cost"]
    used = f"{spent['tokens']:,} tokens, ${spent['cost']:,.2f}"
    if not spent["tokens"] and not spent["cost"]:
        used = "tokens not known" if told["author_turns"] else "none yet"
    page.hang("cost", f"{used}, {spent['seconds']:,.0f} s of work")
    verdicts = ", ".join(f"{each['stage']} {each['turn']}: {each['verdict']}" for each in told["verdicts"])
    page.hang("verdicts", verdicts or "none yet")
    for each in told["checks"]:
        page.hang("check", f"{each['kind']}: {each['outcome']} in turn {each['turn']} ({each['command']})")
    for each in told["open_findings"]:
        kind = f"{each['severity']}, blocking" if each["blocking"] else each["severity"]
        about = f"{each['id']} ({kind}, {each['reviewer']}, since turn {each['since']})"
        page.hang("open", f"{about} {each['location']}: {each['claim']}")
    for each in told["resolved_findings"] if resolved else ():
        since = f"raised in turn {each['since']}, {each['how']} in turn {each['in_turn']}"
        page.hang("resolved", f"{each['id']} ({each['reviewer']}, {since}): {each['claim']}", style="dim")
    report = told["report"]
    if report and report["next_step"]:
        page.hang("next", f"{report['next_step']}, not started")
    if told["state"] == INTERRUPTED:
        page.hang("go on", f"unspin run --resume {told['id']}")


def _show_branch(page: show.Page, told: dict[str, Any]) -> None:
    """Say which branch there is, or will be: the repository has one only of a run that was shipped."""
    where = show.tilde(told["repository"])
    if told["state"] == m.SHIPPED:
        page.hang("branch", f"{told['branch']} of {where}")
    elif told["state"] == m.ENDED:
        page.hang("branch", f"none: only a run that is shipped leaves one in {where}")
    else:
        page.hang("branch", f"{told['branch']}, once it is shipped, of {where}")


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
