"""What the commands share: options, errors, the open store, and which session and project are meant."""

from __future__ import annotations

import contextlib
import os

import click

from unspin import agents, config
from unspin.agents import installing
from unspin.cli.show import ago, clean, tilde
from unspin.guard.settings import KEYS
from unspin.paths import state_folder
from unspin.store import Session, Store, disk_is_full, patiently

AGENT = click.argument("agent", type=click.Choice(list(agents.AGENTS)))
JSON = click.option("--json", "as_json", is_flag=True, help="JSON for scripts.")
SESSION = click.option(
    "--session", metavar="ID", default="", help="A session's id, or how it begins, instead of this folder's newest."
)

DEFAULT, BY_COMMAND, UNREAD = "default", "unspin mode", "as long as a settings file cannot be read"
RELEASE, ROLLBACK = "release", "rollback"  # the responses of log entries that are no detections

_SHORTEST = 8  # characters of an id shown
_CANDIDATES = 5  # sessions named where an id is ambiguous


class Problem(click.ClickException):
    """Something the person can mend: one line on stderr, exit status 1."""

    def show(self, file: object = None) -> None:
        warn(self.message)


class NoSession(Problem):
    """This folder has no session yet."""


def warn(text: str) -> None:
    """Print one line on stderr."""
    click.echo(f"unspin: {clean(text)}", err=True)


def examples(*lines: str) -> str:
    """Return the examples at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def storable(text: str) -> str:
    """Return text as the store holds it: what is no character replaced."""
    return text.encode("utf-8", "replace").decode()


def here() -> str:
    """Return the folder that the person stands in, links resolved."""
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        raise Problem("the folder that you stand in is gone: cd to one that is there, then try again") from None


# -- the store -------------------------------------------------------------------------


def opened() -> contextlib.AbstractContextManager[Store]:
    """Open the store for one transaction; wait a little for a hook that holds it."""
    return patiently(state_folder())


def store_remedy(error: Exception) -> str:
    """Return what a person can do about a store that cannot be used."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"{text}. Another unspin holds it; try again in a moment."
    if "move the file away" in text:
        return text
    if disk_is_full(state_folder()):
        return f"{text}. The disk is full: free some space, then try again."
    path = tilde(os.path.join(state_folder(), "state.db"))
    return f"{text}. If it is damaged, move it away and unspin starts afresh: mv {path} {path}.bad"


# -- which session, which project ------------------------------------------------------


def sessions_here(store: Store) -> list[Session]:
    """Return the sessions of the nearest folder, from this one up, that has any; newest first."""
    start = folder = storable(here())
    while True:
        rows = store.sessions(project=folder)
        if rows:
            return rows
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    agent = next(iter(agents.AGENTS))
    found = installing.look(agent, agents.load(agent, "_install"), start)
    todo = (
        "Start your agent there."
        if found.state == installing.INSTALLED
        else f"Put the hooks in first (unspin install {agent}), then start your agent there."
    )
    others = " Other folders have some: unspin status --all" if store.sessions() else ""
    raise NoSession(f"no session was seen in {tilde(start)} yet. {todo}{others}")


def find_session(store: Store, begins: str) -> Session:
    """Return the session that an id, or how it begins, means; without one, this folder's newest."""
    if not begins:
        return sessions_here(store)[0]
    rows = store.sessions(begins=storable(begins))
    exact = [row for row in rows if row.id == begins]
    if not rows:
        raise Problem(f"no session begins with {clean(begins)}. unspin status --all shows them.")
    if len(rows) > 1 and not exact:
        length = prefix_length(store)
        named = [f"{row.id[:length]} ({tilde(row.project)}, {ago(row.updated)})" for row in rows[:_CANDIDATES]]
        more = f" and {len(rows) - _CANDIDATES} more" if len(rows) > _CANDIDATES else ""
        raise Problem(
            f"{len(rows)} sessions begin with {clean(begins)}: {', '.join(named)}{more}. "
            "Give more of the id. unspin status --all shows them."
        )
    return (exact or rows)[0]


def find_project(store: Store) -> str:
    """Return the project that this folder belongs to: of its newest session, else itself."""
    try:
        return sessions_here(store)[0].project
    except NoSession:
        return storable(here())


def prefix_length(store: Store) -> int:
    """Return how much of an id tells each session from all others."""
    ids = [row.id for row in store.sessions()]
    length = _SHORTEST
    while length < max(map(len, ids), default=0) and len({each[:length] for each in ids}) < len(ids):
        length += 1
    return length


# -- mode and settings -----------------------------------------------------------------


def mode_of(store: Store, project: str) -> tuple[str, str]:
    """Return a project's mode and where it comes from: a file, or one of the words above."""
    chosen = store.mode(project)
    if chosen:
        return chosen, BY_COMMAND
    found = config.find(project)
    mode = str(found.settings["mode"])
    if "mode" in found.origin:
        return mode, found.origin["mode"]
    return mode, DEFAULT if mode == KEYS["mode"][1] else UNREAD


def origin_words(origin: str) -> str:
    """Return an origin as people read it."""
    known = {DEFAULT: "the default", BY_COMMAND: "set with unspin mode", UNREAD: UNREAD}
    return known.get(origin) or f"in {tilde(origin)}"


def warn_of_settings(project: str) -> None:
    """Say on stderr what is wrong with the settings files."""
    for problem in config.problems(project):
        warn(f"settings: {problem}")
