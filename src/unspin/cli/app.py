"""The list of commands. Each is short: it asks the rooms below and shows what they say."""

from __future__ import annotations

import io
import os
import sqlite3
import sys
import traceback

import click

import unspin
from unspin.agents.installing import InstallError
from unspin.checkpoint.book import CheckpointError
from unspin.checkpoint.git import GitError
from unspin.checkpoint.place import Refused
from unspin.checkpoint.snapshots import Busy
from unspin.cli import common, costing, deciding, handing, installing, looking, rewinding, running
from unspin.guard.settings import SettingsError
from unspin.paths import state_folder
from unspin.store import StoreError, record_fault

COMMANDS: tuple[click.Command, ...] = (
    installing.install,
    installing.uninstall,
    running.hook,
    looking.status,
    looking.log,
    looking.settings,
    looking.doctor,
    deciding.release,
    deciding.mute,
    deciding.mode,
    deciding.forget,
    running.check,
    running.statusline,
    rewinding.checkpoints,
    rewinding.diff,
    rewinding.rollback,
    handing.handoff,
    costing.cost,
)


class _Commands(click.Group):
    """Commands in the order of their list, described in full; whatever fails is told in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(200)) for name, each in self.commands.items()])

    def invoke(self, ctx: click.Context) -> object:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # a file's name may have no place in the terminal's encoding
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # `| head` has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        except (StoreError, sqlite3.Error) as error:
            raise common.Problem(common.store_remedy(error)) from error
        except (SettingsError, InstallError, Refused, Busy, GitError, CheckpointError) as error:
            raise common.Problem(str(error)) from error
        except OSError as error:
            about = f"{error.filename}: " if error.filename else ""
            raise common.Problem(f"{about}{error.strerror or error}") from error
        except Exception as error:
            raise common.Problem(_own_fault(error)) from error


def _own_fault(error: Exception) -> str:
    """Record a fault of our own, as the hook does, and return what to say of it."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    try:
        record_fault(state_folder(), f"{os.path.basename(where.filename)}:{where.lineno}", repr(error))
    except OSError:
        return f"a fault of unspin's own: {error!r} in {where.filename} line {where.lineno}"
    return f"a fault of unspin's own: {error!r}. It is recorded; see: unspin doctor"


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=common.examples("unspin install claude-code", "unspin status", "unspin log -v", "unspin release"),
)
@click.version_option(unspin.__version__, prog_name="unspin")
def app() -> None:
    """Traction control for AI agents: notices when an agent is spinning, says so in one line, holds the door."""


for _command in COMMANDS:
    app.add_command(_command)
