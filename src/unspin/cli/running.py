"""Commands that run something: check, and what agents call: the hook, the status line."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys

import click

from unspin import config
from unspin.cli import common, show
from unspin.facts.shell import read_line
from unspin.guard.settings import CHECK_KINDS
from unspin.store import StoreError


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=common.examples("unspin check -- ./ci.sh", "unspin check --kind build -- 'make | tail'"),
)
@click.option(
    "--kind",
    type=click.Choice(CHECK_KINDS),
    help="What it checks (default: as the command tells; test for a script).",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not say what was recorded.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def check(kind: str | None, quiet: bool, command: tuple[str, ...]) -> None:
    """Run COMMAND and record its real outcome.

    For scripts that no parser can see into, and checks whose status a pipe would hide. All that
    follows COMMAND goes to it, options too; one argument alone is a shell line. The exit status is
    the command's own. What was recorded is said on stderr.
    """
    line = " ".join((command[0] if len(command) == 1 else shlex.join(command)).split())
    if not line:
        raise click.UsageError("a command is expected, got an empty one: unspin check -- ./ci.sh")
    status = _run(command)
    try:
        project = common.storable(common.here())
        with common.opened() as store:
            kind = kind or _kind(line, config.compiled(project, store)["checks.commands"])
            store.add_check_run(project, common.storable(line), kind, status)
        if not quiet:
            common.warn(f"recorded as {show.outcome(kind, status)}")
    except (StoreError, sqlite3.Error) as error:
        common.warn(f"the outcome could not be recorded: {common.store_remedy(error)}")
    except (OSError, common.Problem) as error:
        common.warn(f"the outcome could not be recorded: {error}")
    sys.exit(status)


def _kind(line: str, own: dict[str, list[str]]) -> str:
    found = read_line(line, own).checks
    return found[0].kind if found and found[0].kind != "run" else "test"


def _run(command: tuple[str, ...]) -> int:
    try:
        done = subprocess.run(command[0] if len(command) == 1 else command, shell=len(command) == 1, check=False)
    except FileNotFoundError:
        common.warn(f"{command[0]}: command not found")
        return 127
    except OSError as error:
        common.warn(f"{command[0]}: {(error.strerror or str(error)).lower()}")
        return 126
    except KeyboardInterrupt:
        return 130
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    epilog=common.examples("unspin hook claude-code < payload.json"),
)
@click.argument("agent")
def hook(agent: str) -> None:
    """Answer one hook payload (agents call this).

    Reads one payload on stdin and answers as the agent's protocol wants. You need it only for
    trying things out. Whatever goes wrong, nothing is printed on stdout and the exit status is 0; 2
    means a decided block.
    """
    from unspin import hook as entry

    entry.main(agent)


@click.command(epilog=common.examples("unspin install claude-code --statusline", "unspin statusline < payload.json"))
def statusline() -> None:
    """Print one short line for an agent's status line.

    Reads the status line's JSON on stdin: edits since the last pass, what is refused, context, cost
    and mode, as far as they are known. It changes nothing, and its exit status is always 0.
    """
    from unspin.cli import statusline as entry

    entry.main([])
