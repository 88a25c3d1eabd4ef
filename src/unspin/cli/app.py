"""The list of commands. Each is short: it asks the rooms below and shows what they say."""

from __future__ import annotations

import importlib
import io
import os
import sqlite3
import sys
import traceback

import click

import unspin
from unspin.cli import common
from unspin.paths import state_folder
from unspin.store import StoreError, record_fault

#: Command: the module of ``unspin.cli`` that holds it. Only what is asked for is loaded.
COMMANDS: dict[str, str] = {
    "install": "installing",
    "uninstall": "installing",
    "hook": "running",
    "status": "looking",
    "log": "looking",
    "settings": "looking",
    "doctor": "looking",
    "release": "deciding",
    "mute": "deciding",
    "mode": "deciding",
    "forget": "deciding",
    "check": "running",
    "statusline": "running",
    "checkpoints": "rewinding",
    "diff": "rewinding",
    "rollback": "rewinding",
    "handoff": "handing",
    "cost": "costing",
    "stream": "streaming",
    "run": "conducting",
    "gate": "conducting",
    "runs": "conducting",
    "scan": "scanning",
    "show": "scanning",
    "report": "reporting",
    "replay": "reporting",
    "tune": "tuning",
}

_INTERRUPTED = 130  # as a shell tells it: 1 would say that something was found
_NAMES = {"show": "show_session"}  # where the function cannot have the command's name


class _Commands(click.Group):
    """Commands in the order of their list, described in full; whatever fails is told in one line."""

    def list_commands(self, ctx: click.Context | None = None) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        held = importlib.import_module(f"unspin.cli.{module}")
        command: click.Command = getattr(held, _NAMES.get(cmd_name, cmd_name))
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            if near:
                raise click.UsageError(f"No such command {args[0]!r}. Did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def every(self) -> dict[str, click.Command]:
        """Return all commands by their names, loaded."""
        return {name: each for name in COMMANDS if (each := self.get_command(None, name)) is not None}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(200)) for name, each in self.every().items()])

    def invoke(self, ctx: click.Context) -> object:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a file's name may have no place in the terminal's encoding
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            common.warn("interrupted")
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except (StoreError, sqlite3.Error) as error:
            raise common.Problem(common.store_remedy(error)) from error
        except OSError as error:
            about = f"{error.filename}: " if error.filename else ""
            raise common.Problem(f"{about}{error.strerror or error}") from error
        except Exception as error:
            told = getattr(error, "for_people", False)  # an error whose text says what to do
            raise common.Problem(str(error) if told else _own_fault(error)) from error


def _own_fault(error: Exception) -> str:
    """Record a fault of our own, as the hook does, and return what to say of it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    try:
        record_fault(state_folder(), f"{os.path.basename(where.filename)}:{where.lineno}", repr(error))
    except OSError:
        return f"a fault of unspin's own: {error!r} in {where.filename} line {where.lineno}"
    return f"a fault of unspin's own: {error!r}. It is recorded; see: unspin doctor"


@click.command(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=common.examples("unspin install claude-code", "unspin status", "unspin log -v", "unspin release"),
)
@click.version_option(unspin.__version__, prog_name="unspin")
def app() -> None:
    """Traction control for AI agents: notices when an agent is spinning, says so in one line, holds the door."""
