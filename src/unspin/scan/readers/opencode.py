"""OpenCode's sessions: its database ``opencode.db``, ``opencode export`` documents, and the older files in ``storage``.

All three hold the same: sessions, their messages, and the parts of these; a tool part is a call
with what came of it. A session whose parent is another one is a subagent's, and is read with it.
The database is never locked and nothing beside it is written: where what was last written stands in
its ``-wal``, a copy of both is read.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from unspin import events as ev
from unspin.agents.claude_code import canonical
from unspin.cost.prices import Usage
from unspin.facts.files import absolute
from unspin.paths import as_uri
from unspin.scan.documents import Document
from unspin.scan.items import Began, Broken, Skipped, Used
from unspin.scan.patches import edits_of
from unspin.scan.readers.plain import (
    WRONG,
    Round,
    amount,
    decode,
    kind,
    listing,
    mapping,
    merged,
    moment,
    note_texts,
    status,
    text,
    whole,
)
from unspin.scan.source import LONGEST_LINE, Source, SourceError
from unspin.scan.untold import TIMED_OUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Item

NAME = "opencode"

_MAGIC = b"SQLite format 3\0"
_ROOM = 256 << 20  # bytes that a copy leaves free
_TRIES = 3  # times that a database which is being written is copied
_DEEPEST = 40  # subagents of subagents

_ACTIONS: dict[str, str] = {
    "bash": ev.SHELL,
    **dict.fromkeys(("edit", "write", "multiedit", "patch", "apply_patch"), ev.EDIT),
    **dict.fromkeys(
        ("read", "list", "ls", "glob", "grep", "webfetch", "websearch", "codesearch", "lsp", "skill",
         "lsp_diagnostics", "lsp_hover"),
        ev.READ,
    ),
    **dict.fromkeys(("todowrite", "todoread", "plan_enter"), ev.NOTE),
    **dict.fromkeys(("question", "plan_exit"), ev.ASK),
    "task": ev.AGENT,
}  # fmt: skip

#: The agent's own gloss on a call, which is no part of what identifies it.
_GLOSS: dict[str, tuple[str, ...]] = {"bash": ("description", "timeout"), "task": ("description",)}

_REJECTED = "The user rejected permission to use this specific tool call"
_DISMISSED = "The user dismissed this question"
_RULE = "The user has specified a rule which prevents you"
_ABORTED = ("Tool execution aborted", "Tool execution was interrupted")
_NOTES = ("<shell_metadata>", "<bash_metadata>")

_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
_STORED = re.compile(rb'"id"\s*:\s*"(ses|msg|prt)_?[0-9A-Za-z]{6,}"')


def sniff(head: bytes, path: str) -> bool:
    """Tell whether content that begins so is such a database, export, or file of the storage."""
    if head.startswith(_MAGIC):
        return all(name in head for name in (b"`session`", b"`message`", b"`part`")) or os.path.basename(
            path
        ).startswith("opencode")
    if _EXPORT.match(head):
        return b'"ses_' in head[:8000] or b'"sessionID"' in head[:8000]
    return bool(_stored(head))


def _stored(head: bytes) -> str:
    """Return what a file of the storage holds: ``ses``, ``msg`` or ``prt``; empty where it is none."""
    if not head.lstrip().startswith(b"{") or not _STORED.search(head):
        return ""
    try:
        found = decode(head)
    except WRONG:  # longer than the head, or no single document
        first = _STORED.match(head.lstrip()[1:].lstrip())
        return first[1].decode() if first else ""
    what = text(found, "id")[:3]
    beside = {"ses": ("directory", "projectID", "title"), "msg": ("role",), "prt": ("messageID",)}.get(what, ())
    return what if any(each in found for each in beside) else ""


def read(source: Source) -> Iterator[Item]:
    """Yield what happened in the sessions that a file holds."""
    try:
        head = source.head()
    except SourceError as error:
        return iter([(Broken(0, str(error)), "")])
    if head.startswith(_MAGIC):
        return _database(source)
    if _EXPORT.match(head):
        return _export(source)
    return _storage(source, _stored(head))


# -- one session -----------------------------------------------------------------------


class _Session:
    """Turns the messages of one session into events. ``agent`` is its id where it is a subagent's."""

    def __init__(self, session: str, cwd: str, agent: str = ""):
        self._session = session
        self._cwd = cwd if cwd.startswith("/") else "/"
        self._agent = agent
        self._round = Round(agent)
        self._calls = 0
        self._compacting = False

    def message(self, info: Any, parts: Iterable[Any]) -> Iterator[Item]:
        """Yield what a message and its parts tell; the parts may come one at a time."""
        if not isinstance(info, dict):
            yield kind("message", type(info).__name__), ""
            return
        when = moment(mapping(info, "time").get("created"))
        try:
            if info.get("role") == "user":
                yield from self._user(info, parts, when)
            elif info.get("role") == "assistant":
                yield from self._assistant(info, parts, when)
            else:
                yield kind("message", info.get("role")), when
        except WRONG as error:
            yield Broken(0, f"message {text(info, 'id')[:60]} is not as it should be: {error}"), when

    def _user(self, info: dict[str, Any], parts: Iterable[Any], when: str) -> Iterator[Item]:
        own: list[str] = []
        machine: list[str] = []
        compacts = False
        for part in parts:
            if not isinstance(part, dict):
                yield kind("part", type(part).__name__), when
            elif part.get("type") == "text":
                (machine if part.get("synthetic") or part.get("ignored") else own).append(text(part, "text"))
            elif part.get("type") == "compaction":
                compacts = True
            else:
                yield kind("part", part.get("type")), when
        if compacts:
            if not self._agent:
                self._compacting = True
                yield ev.Compaction(done=False), when
        elif self._agent:
            yield kind("user", "task"), when
        elif any(own) or any(machine):
            yield ev.Message("\n".join(filter(None, own if any(own) else machine)), by_person=any(own)), when
        else:
            yield kind("user", "without text"), when

    def _assistant(self, info: dict[str, Any], parts: Iterable[Any], when: str) -> Iterator[Item]:
        cwd = text(mapping(info, "path"), "cwd")
        self._cwd = cwd if cwd.startswith("/") else self._cwd
        model, steps = text(info, "modelID") or text(mapping(info, "model"), "modelID"), 0
        for part in parts:
            if not isinstance(part, dict):
                yield kind("part", type(part).__name__), when
                continue
            of = part.get("type")
            if of == "tool":
                yield from self._tool(part, when)
            elif of == "step-finish":
                steps += 1
                yield from self._used(part, model, f"{text(info, 'id')}:{steps}", when)
                yield from self._close()
            elif of == "step-start":
                yield from self._close()
            elif of not in ("text", "reasoning"):
                yield kind("part", of), when
        if not steps:
            yield from self._used(info, model, text(info, "id"), when)
        yield from self._close()
        if info.get("summary") is True and not self._agent:
            if not self._compacting:
                yield ev.Compaction(done=False), when
            self._compacting = False
            yield ev.Compaction(done=True), when

    def _used(self, given: dict[str, Any], model: str, key: str, when: str) -> Iterator[Item]:
        tokens = mapping(given, "tokens")
        cache = mapping(tokens, "cache")
        fresh, cached, written = whole(tokens, "input"), whole(cache, "read"), whole(cache, "write")
        before = fresh + cached + written
        total = whole(tokens, "total")
        output = total - before if total > before else whole(tokens, "output") + whole(tokens, "reasoning")
        if not before + output:
            return
        usage = Usage(fresh, output, cached, written)
        yield Used(model, usage, key, agent=self._agent, dollars=amount(given, "cost")), when
        self._round.context = ev.ContextSize(before + output)

    def _tool(self, part: dict[str, Any], when: str) -> Iterator[Item]:
        state, name = mapping(part, "state"), text(part, "tool")
        ended = state.get("status")
        if ended not in ("completed", "error") or not name:
            yield kind("tool", ended), when
            return
        if name == "batch":  # the calls in it have parts of their own
            yield kind("tool", name), when
            return
        call = _call(name, state.get("input"), self._cwd, self._agent, text(part, "callID"))
        self._round.done.append(_result(call, state, len(self._round.done)))
        self._round.when = moment(mapping(state, "time").get("end")) or when

    def _close(self) -> Iterator[Item]:
        yield from self._round.close()
        self._round = Round(self._agent)


def _call(name: str, given: Any, cwd: str, agent: str, call_id: str) -> ev.ToolCall:
    given = given if isinstance(given, dict) else {}
    action = _ACTIONS.get(name, ev.OTHER)
    command = text(given, "command") if action == ev.SHELL else ""
    folder = text(given, "workdir") if command else ""
    gloss = _GLOSS.get(name, ())
    tool = text(given, "tool") if name == "invalid" else ""
    return ev.ToolCall(
        tool or name,
        canonical({key: value for key, value in given.items() if key not in gloss}),
        action=action if command or action != ev.SHELL else ev.OTHER,
        label=command or _label(tool or name, given, cwd),
        command=command,
        edits=_edits(name, given) if action == ev.EDIT else (),
        cwd=absolute(folder, cwd) if folder else cwd,
        agent=agent,
        call_id=call_id,
    )


def _label(name: str, given: dict[str, Any], cwd: str) -> str:
    about = text(given, "filePath", "path", "pattern", "url", "query", "description")
    about = about.removeprefix(f"{cwd}/") if cwd != "/" else about
    return f"{name} {about}" if about else name


def _edits(name: str, given: dict[str, Any]) -> list[ev.Edit]:
    patch = text(given, "patchText", "patch")
    if name in ("patch", "apply_patch"):
        return edits_of(patch)
    path = text(given, "filePath", "file_path")
    if not path:
        return []
    if name == "write":
        return [ev.Edit(path, None, text(given, "content"))]
    several = listing(given, "edits") if name == "multiedit" else [given]
    return [
        ev.Edit(path, text(each, "oldString"), text(each, "newString")) for each in several if isinstance(each, dict)
    ] or [ev.Edit(path)]


def _result(call: ev.ToolCall, state: dict[str, Any], position: int) -> ev.ToolResult:
    wrong = state.get("status") == "error"
    output = text(state, "error") if wrong else text(state, "output")
    metadata = mapping(state, "metadata")
    result = ev.ToolResult(call, output, position=position)
    if wrong and output.startswith(_REJECTED):
        result.refused = ev.BY_PERSON
        result.comment = "with the following feedback:" in output[:200]
    elif wrong and output.startswith(_DISMISSED):
        result.refused = ev.BY_PERSON
    elif wrong and output.startswith(_RULE):
        result.refused = ev.BY_HOOK
    elif wrong and (output.startswith(_ABORTED) or metadata.get("interrupted") is True):
        result.failed = result.interrupted = True
        result.refused = ev.BY_PERSON if call.action == ev.EDIT else ""
    elif wrong:
        result.failed = True
        result.refused = ev.BY_TOOL if call.action == ev.EDIT else ""
    elif call.action == ev.SHELL:
        _shell_result(result, metadata)
    elif call.action == ev.EDIT:
        told = mapping(metadata, "filediff")
        note_texts(call, text(told, "file"), told.get("before"), told.get("after"))
    elif call.arguments and output.startswith("The arguments provided to the tool are invalid"):
        result.failed = True
    return result


def _shell_result(result: ev.ToolResult, metadata: dict[str, Any]) -> None:
    output = result.output
    result.exit_code = status(metadata.get("exit"))
    at = max(output.rfind(each) for each in _NOTES)
    if at >= 0:
        notes, output = output[at:], output[:at].rstrip("\n")
        if "terminated command after exceeding timeout" in notes and result.exit_code is None:
            result.exit_code = TIMED_OUT
        result.interrupted = "User aborted the command" in notes
    result.output = "" if output == "(no output)" else output
    result.failed = bool(result.exit_code) or result.interrupted


# -- the database ----------------------------------------------------------------------


def _database(source: Source) -> Iterator[Item]:
    try:
        with _opened(source) as (connection, lost):
            if lost:
                yield Broken(0, lost), ""
            yield from _sessions(connection)
    except (sqlite3.Error, OSError, SourceError, ValueError, OverflowError) as error:
        yield Broken(0, f"the database: {' '.join(str(error).split())[:200]}"), ""


@contextmanager
def _opened(source: Source) -> Iterator[tuple[sqlite3.Connection, str]]:
    """Open a database for reading, without a lock on it and without a file beside it; say what is lost by that."""
    lost = ""
    with tempfile.TemporaryDirectory(prefix="unspin-") as folder:
        copy = os.path.join(folder, "copy.db")
        if source.remote or not _is_plain(source.path):
            with source.open() as stream, open(copy, "wb") as file:
                while block := stream.read(1 << 20):
                    file.write(block)
            path = copy
        elif _size(f"{source.path}-wal"):
            lost = _copied(source.path, copy)
            path = source.path if lost else copy
        else:
            path = source.path
        how = "mode=rw" if path == copy and os.path.exists(f"{copy}-wal") else "mode=ro&immutable=1"
        connection = sqlite3.connect(f"file:{as_uri(os.path.abspath(path))}?{how}", uri=True, isolation_level=None)
        try:
            connection.text_factory = bytes
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection, lost
        finally:
            connection.close()


def _is_plain(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _copied(path: str, copy: str) -> str:
    """Copy a database with its ``-wal``; return why that was not possible."""
    for _ in range(_TRIES):
        before = _state(path)
        if shutil.disk_usage(os.path.dirname(copy)).free < sum(each[0] for each in before) + _ROOM:
            return "what was written last, in its -wal, is left out: no room for a copy"
        shutil.copyfile(path, copy)
        if before[1][0]:
            shutil.copyfile(f"{path}-wal", f"{copy}-wal")
        if _state(path) == before:
            return ""
        os.unlink(copy)
    return "what was written last, in its -wal, is left out: it is being written all the time"


def _state(path: str) -> list[tuple[int, int]]:
    found = []
    for each in (path, f"{path}-wal"):
        try:
            entry = os.stat(each)
            found.append((entry.st_size, entry.st_mtime_ns))
        except OSError:
            found.append((0, 0))
    return found


def _sessions(connection: sqlite3.Connection) -> Iterator[Item]:
    tables = {_plain(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables >= {"session", "message", "part"}:
        yield Broken(0, "a database without sessions, messages and parts"), ""
        return
    columns = {_plain(row[1]) for row in connection.execute("PRAGMA table_info(session)")}
    parent = "parent_id" if "parent_id" in columns else "NULL"
    folder = "directory" if "directory" in columns else "''"
    order = "time_created, id" if "time_created" in columns else "id"
    children: dict[str, list[str]] = {}
    known = {_plain(row[0]) for row in connection.execute("SELECT id FROM session")}
    roots: list[str] = []
    for own, above in connection.execute(f"SELECT id, {parent} FROM session ORDER BY {order}"):
        if above is not None and _plain(above) in known:
            children.setdefault(_plain(above), []).append(_plain(own))
        else:
            roots.append(_plain(own))
    left = len(known)
    for root in roots:
        row = connection.execute(f"SELECT {folder} FROM session WHERE id = ?", (root,)).fetchone()
        cwd = _plain(row[0]) if row else ""
        yield Began(root, cwd, NAME), ""
        family = list(_family(root, children))
        left -= len(family)
        yield from merged(_rows(connection, each, cwd, "" if each == root else each) for each in family)
    for _ in range(left):
        yield kind("session that is its own parent"), ""


def _family(root: str, children: dict[str, list[str]]) -> Iterator[str]:
    level, seen = [root], {root}
    for _ in range(_DEEPEST):
        yield from level
        level = [each for above in level for each in children.get(above, ()) if each not in seen]
        seen.update(level)
        if not level:
            return


def _rows(connection: sqlite3.Connection, session: str, cwd: str, agent: str) -> Iterator[Item]:
    reader = _Session(session, cwd, agent)
    shown = f"CASE WHEN length(CAST(data AS BLOB)) <= {LONGEST_LINE} THEN data END"
    messages = connection.execute(
        f"SELECT id, {shown} FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
    )
    for identity, data in messages:
        problems: list[Item] = []
        info = _row(data, f"message {_plain(identity)}", problems)
        yield from problems
        if not isinstance(info, dict):
            continue
        info.setdefault("id", _plain(identity))
        broken: list[Item] = []
        rows = connection.execute(f"SELECT id, {shown} FROM part WHERE message_id = ? ORDER BY id", (_plain(identity),))
        found = (_row(data, f"part {_plain(part)}", broken) for part, data in rows)
        yield from reader.message(info, (each for each in found if each is not None))
        yield from broken


def _row(data: Any, name: str, problems: list[Item]) -> Any:
    """Return what a row's JSON says; ``None`` with a note among the problems where it says nothing."""
    if data is None:
        problems.append((Broken(0, f"{name[:80]}: too large to be read"), ""))
        return None
    try:
        return decode(data if isinstance(data, bytes) else str(data).encode("utf-8", "replace"))
    except WRONG as error:
        problems.append((Broken(0, f"{name[:80]}: no JSON: {error}"), ""))
        return None


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


# -- exports ---------------------------------------------------------------------------


def _export(source: Source) -> Iterator[Item]:
    document = Document(source)
    info = document.value("info")
    session, cwd = text(info, "id") or _stem(source.path), text(info, "directory")
    agent = session if text(info, "parentID") else ""
    yield Began(session, cwd, NAME), moment(mapping(info, "time").get("created"))
    reader = _Session(session, cwd, agent)
    for each in document.each("messages"):
        if isinstance(each, dict):
            yield from reader.message(each.get("info"), listing(each, "parts"))
        else:
            yield kind("message", type(each).__name__), ""
    for problem in document.problems:
        yield problem, ""


def _stem(path: str) -> str:
    name = os.path.basename(path)
    for end in (".gz", ".zst", ".zstd", ".json"):
        name = name.removesuffix(end)
    return name


# -- the older storage -----------------------------------------------------------------


def _storage(source: Source, what: str) -> Iterator[Item]:
    if what != "ses":
        yield Skipped("a message or a part: read with its session"), ""
        return
    info = _document(source)
    if not isinstance(info, dict):
        yield Broken(1, "no session, or one that cannot be read"), ""
        return
    session, cwd, above = text(info, "id"), text(info, "directory"), text(info, "parentID")
    folder = os.path.dirname(os.path.abspath(source.path))
    if source.remote:
        yield Broken(0, "the storage is read where it is a folder of this machine"), ""
        return
    if above and any(os.path.exists(os.path.join(folder, f"{above}.json{end}")) for end in ("", ".gz", ".zst")):
        yield Skipped("subagent: read with its session"), ""
        return
    yield Began(session, cwd, NAME), moment(mapping(info, "time").get("created"))
    try:
        family = list(_family(session, _children(folder, os.stat(folder).st_mtime_ns)))
    except OSError:
        family = [session]
    where = _layout(folder)
    if where is None:
        yield Broken(0, "a session whose messages do not lie where they belong"), ""
        return
    yield from merged(
        _files(where, each, cwd, each if each != session or above else "") for each in family if _is_name(each)
    )


def _document(source: Source) -> Any:
    try:
        return decode(source.whole(LONGEST_LINE))
    except (SourceError, *WRONG):
        return None


@lru_cache(maxsize=2)
def _children(folder: str, changed: int) -> dict[str, list[str]]:
    """Return which sessions of a folder have which parents."""
    found: dict[str, list[str]] = {}
    for name in _names(folder):
        info = _document(Source(os.path.join(folder, name)))
        above = text(info, "parentID")
        if above:
            found.setdefault(above, []).append(text(info, "id"))
    return found


def _layout(folder: str) -> tuple[str, Callable[[str, str], str]] | None:
    """Return where messages lie, and how the folder of a message's parts is found."""
    base = os.path.dirname(folder)
    if os.path.basename(folder) == "info":  # storage/session/info, beside it message and part
        parts = os.path.join(base, "part")
        return os.path.join(base, "message"), lambda session, message: os.path.join(parts, session, message)
    base = os.path.dirname(base)
    if not os.path.isdir(os.path.join(base, "message")):
        return None
    return os.path.join(base, "message"), lambda _session, message: os.path.join(base, "part", message)


def _names(folder: str) -> list[str]:
    try:
        return sorted(each for each in os.listdir(folder) if ".json" in each and not each.startswith("."))
    except (OSError, ValueError):
        return []


def _is_name(given: str) -> bool:
    """Tell whether an id may be part of a path."""
    return bool(re.fullmatch(r"\w{1,100}", given))


def _files(where: tuple[str, Callable[[str, str], str]], session: str, cwd: str, agent: str) -> Iterator[Item]:
    reader = _Session(session, cwd, agent)
    messages, place = where
    for name in _names(os.path.join(messages, session)):
        path = os.path.join(messages, session, name)
        info = _document(Source(path))
        identity = text(info, "id")
        if not isinstance(info, dict) or not _is_name(identity):
            yield Broken(1, f"{os.path.basename(path)[:80]}: no message, or one that cannot be read"), ""
            continue
        broken: list[Item] = []
        yield from reader.message(info, _parts(place(session, identity), broken))
        yield from broken


def _parts(folder: str, broken: list[Item]) -> Iterator[Any]:
    for name in _names(folder):
        part = _document(Source(os.path.join(folder, name)))
        if part is None:
            broken.append((Broken(1, f"{name[:80]}: no part, or one that cannot be read"), ""))
        else:
            yield part
