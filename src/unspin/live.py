"""One hook event, live: from the payload through the guard and the store to the answer.

The only place where an agent's protocol, the store and the guard meet.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from unspin import agents, config, records
from unspin.agents import protection
from unspin.agents.suspicion import worth_a_look
from unspin.events import Compaction, Message, Opportunity, ToolCall, ToolResult
from unspin.guard import NONE, NUDGE, REFUSING, WATCHING, Guard
from unspin.paths import state_folder
from unspin.spool import Spool
from unspin.store import Store, StoreError

_WAIT_FOR_PASS, _WAIT_FOR_MESSAGE = 2.0, 0.5  # seconds that a hook waits for a checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from unspin.agents import Answer, Incoming
    from unspin.events import Event
    from unspin.guard import Response, Settings
    from unspin.store import Session


class Checkpointing:
    """A checkpoint that a payload asks for: of which project and session, and how long the hook may wait for it."""

    __slots__ = (
        "after",
        "began",
        "command",
        "event_index",
        "folder",
        "opened",
        "passed",
        "project",
        "session",
        "settings",
        "wait",
        "why",
    )

    def __init__(
        self,
        project: str,
        session: str,
        settings: Settings,
        wait: float,
        *,
        passed: bool,
        event_index: int,
        command: str = "",
        why: str = "",
        after: float = 0.0,
        folder: str = "",
    ):
        self.after = int(after * 1e9)
        self.folder = folder
        self.project = project
        self.session = session
        self.settings = settings
        self.wait = wait
        self.passed = passed
        self.event_index = event_index
        self.command = command
        self.why = why
        self.began = time.time_ns()  # what changes later is not what the check saw
        self.opened: list[Store] = []  # left open: closing costs a sync of the disk

    def take(self, state_folder: str) -> None:
        """Take it now. A folder of which no checkpoints are kept is no fault."""
        from unspin.checkpoint import book
        from unspin.checkpoint.place import Refused
        from unspin.store import patiently

        limits = book.limits_of(self.settings)
        try:
            kept = book.Book(self.project, lambda: patiently(state_folder, kept=self.opened), limits, state_folder)
        except Refused:
            return
        kept.take(
            book.Wanted(
                book.PASSED if self.passed else book.MESSAGE,
                self.session,
                event_index=self.event_index,
                command=self.command,
                working=self.passed and not self.why,
                why=self.why or ("" if self.passed else book.NO_CHECK),
                before=self.began,
                after=self.after,
                folder=self.folder,
            )
        )


def handle(agent: str, payload: dict[str, Any], store: Store | None = None) -> Answer:
    """Answer one payload. Whatever goes wrong is raised: the caller lets the agent go on.

    The answer also names the checkpoint that is to be taken; whoever gives the answer does that after.
    """
    protocol = agents.load(agent)
    own = store is None
    store = store or Store(state_folder())
    spool = Spool(os.path.dirname(store.path))
    try:
        name = protocol.session(payload)
        before_tool = protocol.before_tool(payload)
        looked_at = before_tool and worth_a_look(payload)
        if before_tool and not _prepare(protocol, payload, store, name) and not looked_at:
            return agents.Answer()
        try:
            with store:
                kept = _take_in(store, spool)
                incoming, responses = _handle(agent, payload, store, looked_at=looked_at)
            spool.drop(kept)
        except StoreError as error:
            if not (before_tool and error.locked):
                raise
            incoming, responses = _handle(agent, payload, store, looked_at=looked_at, keep=False)
        if incoming is None:
            return agents.Answer()
        answer: Answer = protocol.answer(incoming, responses)
        answer.checkpoint = incoming.checkpoint
        return answer
    finally:
        if own:
            store.close()


def _handle(
    agent: str,
    payload: dict[str, Any],
    store: Store,
    *,
    looked_at: bool = False,
    late: bool = False,
    keep: bool = True,
) -> tuple[Incoming | None, list[Response]]:
    """Take one payload through the guard, inside a transaction.

    With ``keep=False`` outside one, for a question that has to be answered while another
    process holds the store: the answer is the same, only the refusal is not counted.
    """
    protocol = agents.load(agent)
    name = protocol.session(payload)
    session = store.session(name)
    before_tool = protocol.before_tool(payload)
    known = agents.Known(session.cwd if session else "", {} if before_tool else store.take_stash(name))
    incoming = protocol.read(payload, known)
    if incoming is None:
        return None, []
    if looked_at:
        _forbid(incoming, agents.load(agent, "_install"), session)
    return incoming, observe(store, agent, incoming, session, late=late, keep=keep)


def _take_in(store: Store, spool: Spool) -> list[str]:
    """Take in what came while the store was locked, oldest first; return the names of what can go."""
    names = spool.names()
    if names:
        store.forget_taken(names)
    for name in names:
        agent, _, data = spool.read(name).partition(b"\n")
        if not store.take_in(name) or not data:
            continue
        try:
            payload = json.loads(data.decode("utf-8", "replace"), strict=False)
            _handle(agent.decode("utf-8", "replace"), payload, store, late=True)
        except (StoreError, OSError):
            raise
        except Exception as error:  # one event that cannot be read must not keep the next ones waiting
            store.fault("spool", f"a kept event could not be taken in ({type(error).__name__}: {error})")
    return names


def _forbid(incoming: Incoming, client: ModuleType, session: Session | None) -> None:
    """Mark the calls that only the person may make."""
    for event in incoming.events:
        if isinstance(event, ToolCall):
            event.forbidden = protection.forbidden(event, session.project if session else incoming.project, client)


def _prepare(protocol: Any, payload: dict[str, Any], store: Store, session: str) -> bool:
    """Do what is due before a tool; return whether the guard has to be asked about the call."""
    row = store.session(session)
    armed = row.armed if row else 0
    if armed & WATCHING:
        test_paths = config.compiled(row.project if row else "/", store, keep=False)["tampering.test_paths"]
        texts = protocol.contents_before(payload, test_paths)
        if texts:
            with contextlib.suppress(StoreError), store:  # without them a test is compared less well, that is all
                store.stash(session, texts)
    return bool(armed & REFUSING)


def observe(
    store: Store,
    agent: str,
    incoming: Incoming,
    session: Session | None,
    *,
    late: bool = False,
    keep: bool = True,
) -> list[Response]:
    """Feed events to the session's guard, store what it became, log what it noticed.

    What a ``late`` event gives cannot be told any more: it is kept for the next one.
    """
    project = session.project if session else incoming.project
    guard = restore(store, project, None if incoming.fresh else session, keep=keep)
    wrapped = [each for each in incoming.events if isinstance(each, ToolResult) and "unspin check" in each.call.command]
    runs = store.take_check_runs(project) if wrapped else []
    for each in wrapped:
        each.recorded = tuple(reversed(runs))
    guard.know_checkpoint(working=session is not None and store.has_working(session.id))
    responses = []
    kept: list[records.Record] = []
    put: dict[int, str] = {}
    for event in incoming.events:
        responses += guard.observe(event)
        if guard.settings["checkpoints.enabled"] and not late:
            incoming.checkpoint = _checkpoint_after(event, guard, incoming, project, session) or incoming.checkpoint
        if isinstance(event, ToolResult):
            if event.call.edits:
                put[event.position] = records.put_in(event)
            kept += [said for said in (records.of_answer(event, guard.index),) if said]
        for judged in guard.judged:
            kept += records.of_round(judged, guard.reader.place, put)
            put = {}
        if isinstance(event, (Message, Compaction)):
            kept.append(records.of_message(event, guard.index))
    if late:
        for response in [each for each in responses if each.kind == NUDGE]:
            guard.hold(response)
            responses.remove(response)
    elif incoming.carries and not any(response.kind == NUDGE for response in responses):
        responses += guard.observe(Opportunity())
    if not keep:
        return [response for response in responses if response.kind != NONE]
    if incoming.begins:
        incoming.context = store.take_handoff(project, session=incoming.session)
    store.record(incoming.session, kept)
    for response in responses:
        store.log(incoming.session, {**response.as_mapping(), "evidence": json.dumps(response.evidence)})
    if session is None:
        store.prune()
    cwd = session.cwd if session and incoming.subagent else incoming.cwd
    save(store, incoming.session, agent, project, cwd, guard)
    return [response for response in responses if response.kind != NONE]


def _checkpoint_after(
    event: Event, guard: Guard, incoming: Incoming, project: str, session: Session | None
) -> Checkpointing | None:
    """Return the checkpoint that an event asks for: at a passed check, and when the person speaks."""
    done = guard.passed
    if done is not None:
        return Checkpointing(
            project,
            incoming.session,
            guard.settings,
            _WAIT_FOR_PASS,
            passed=True,
            event_index=done.event_index,
            command=done.command,
            why=done.why,
            after=session.updated if session else 0.0,  # the event before: the check's round came after it
            folder=done.folder,
        )
    if isinstance(event, Message) and event.by_person and not incoming.subagent:
        return Checkpointing(
            project, incoming.session, guard.settings, _WAIT_FOR_MESSAGE, passed=False, event_index=guard.index
        )
    return None


def restore(store: Store, project: str, session: Session | None, *, keep: bool = True) -> Guard:
    """Return the guard of a session as it was stored, or a new one."""
    settings, muted, mode = config.compiled(project, store, keep=keep), store.mutes(project), store.mode(project)
    if session:
        try:
            return Guard(settings, project=project, state=json.loads(session.state), muted=muted, mode=mode)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if not keep:
                raise
            store.fault("session", f"the state of session {session.id} cannot be read ({error}): it starts afresh")
    return Guard(settings, project=project, muted=muted, mode=mode)


def save(store: Store, session: str, agent: str, project: str, cwd: str, guard: Guard, *, updated: float = 0.0) -> None:
    """Store what the guard remembers; ``updated`` is the time of the session's last event, by default now."""
    store.save_session(
        session,
        agent=agent,
        project=project,
        cwd=cwd,
        state=json.dumps(guard.state, separators=(",", ":")),
        armed=guard.armed,
        updated=updated,
    )
