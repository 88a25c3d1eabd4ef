"""One transcript through the guard: a pure function of its content and the settings; results add up.

The guard is fed as the live hook feeds it, but for the questions before a call: those
were asked and answered when the session ran.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from unspin import events as ev
from unspin.cost.prices import Prices
from unspin.guard import NONE, NUDGE, Guard, Settings
from unspin.scan import formats
from unspin.scan.items import Began, Broken, Ended, Skipped, Used
from unspin.scan.source import Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from unspin.scan.items import Item, Thing

_MOST_SEEN = 50_000  # model messages of one session that are told apart: those that came last
_MOST_ERRORS = 1_000  # of one file that are listed
_MOST_KINDS = 500  # of skipped lines that are counted apart


@dataclass(slots=True)
class Found:
    """One detection, with the field names of the live log, and where it stood.

    ``tokens_after`` and ``dollars_after`` are what the session used after it.
    """

    path: str
    session: str
    rule: str
    identity: str
    count: int
    event_index: int
    file: str
    message: str
    evidence: list[dict[str, Any]]
    response: str
    time: str
    tool_calls: int  # of the session before it
    tokens: int
    dollars: float | None

    def as_mapping(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Scanned:
    """What one session came to. ``tokens`` and ``dollars`` include subagents; ``dollars`` is ``None`` if unknown."""

    path: str
    session: str
    format: str
    project: str = ""
    agent: str = ""
    began: str = ""
    ended: str = ""
    how: str = ""
    events: int = 0
    rounds: int = 0
    messages: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    edits: int = 0
    checks: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    models: dict[str, int] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    stop: dict[str, Any] | None = None  # its stop report, where one was asked for


@dataclass(slots=True)
class Result:
    """What one file came to: its sessions, what was skipped, and what could not be read."""

    path: str
    format: str = ""
    sessions: list[Scanned] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    lines: int = 0


def scan(
    source: Source,
    settings: Settings,
    *,
    prices: Prices | None = None,
    format: str = "",
    watch: Callable[[Thing, str, Session], None] | None = None,
) -> Result:
    """Scan one file. What cannot be read is in the result's ``errors``; nothing is raised for it.

    ``format`` names it where it is not to be found out; ``watch`` is shown every event after the guard
    has seen it.
    """
    result = Result(source.path)
    try:
        reader = formats.reader(source, format)
        result.format = reader.NAME
        _feed(reader.read(source), result, settings, prices, watch)
    except SourceError as error:
        result.errors.append({"path": source.path, "line": 0, "error": str(error)})
    except formats.Unknown as error:
        result.skipped[str(error)] = 1
    return result


def _feed(
    items: Iterable[Item],
    result: Result,
    settings: Settings,
    prices: Prices | None,
    watch: Callable[[Thing, str, Session], None] | None,
) -> None:
    sessions: dict[str, Session] = {}
    current: Session | None = None
    skipped = result.skipped
    for thing, when in items:
        if isinstance(thing, Skipped):
            kind = thing.kind if thing.kind in skipped or len(skipped) < _MOST_KINDS else "other kinds"
            skipped[kind] = skipped.get(kind, 0) + 1
            continue
        if isinstance(thing, Broken):
            if len(result.errors) < _MOST_ERRORS:
                result.errors.append({"path": result.path, "line": thing.line, "error": thing.why})
            else:
                skipped["broken, not listed"] = skipped.get("broken, not listed", 0) + 1
            continue
        if isinstance(thing, Began):
            current = sessions.get(thing.session)
            if current is None:
                current = sessions[thing.session] = Session(result, thing, settings, prices)
            continue
        if current is None:
            current = sessions[""] = Session(result, Began(""), settings, prices)
        current.take(thing, when)
        if watch is not None:
            watch(thing, when, current)
    for each in sessions.values():
        each.end()
        if watch is not None and each.responses:
            watch(ev.RoundEnd(), each.scanned.ended, each)


_NOTHING: list[Any] = []  # the answers to nearly every event; never changed


class Session:
    """One session under way: its guard, and what it has come to so far (``scanned``)."""

    def __init__(self, result: Result, began: Began, settings: Settings, prices: Prices | None):
        self.guard = Guard(settings, project=began.cwd)
        self.scanned = Scanned(result.path, began.session, result.format, began.cwd, began.agent)
        self.responses: list[Any] = []  # the guard's answers to the last event
        self._prices = prices
        self._seen: set[str] = set()
        self._largest: dict[str, tuple[int, int, float | None]] = {}  # output, all tokens and dollars of a message
        result.sessions.append(self.scanned)

    def take(self, thing: Thing, when: str) -> None:
        """Take one thing of the transcript."""
        scanned = self.scanned
        if when:
            scanned.began = scanned.began or when
            scanned.ended = when
        self.responses = _NOTHING
        if isinstance(thing, Used):
            self._use(thing, when)
            return
        if isinstance(thing, Ended):
            scanned.how = thing.how
            return
        if isinstance(thing, ev.ToolResult):
            self._count(thing)
        elif isinstance(thing, ev.RoundEnd):
            scanned.rounds += not thing.agent
        elif isinstance(thing, ev.Message):
            scanned.messages += thing.by_person
        elif not isinstance(thing, (ev.Compaction, ev.ContextSize)):
            assert not isinstance(thing, (Began, Skipped, Broken))
        responses = self.guard.observe(thing)
        if self.guard.keeps and _carries(thing) and not any(each.kind == NUDGE for each in responses):
            judged = self.guard.judged
            responses += self.guard.observe(ev.Opportunity())
            self.guard.judged = judged  # for those who watch: an opportunity closes no round
        if responses:
            self._note(responses, when)

    def _note(self, responses: list[Any], when: str) -> None:
        scanned = self.scanned
        self.responses = responses
        for each in responses:
            if each.kind in (NONE, NUDGE):
                scanned.found.append(
                    Found(
                        scanned.path,
                        scanned.session,
                        each.rule,
                        each.identity,
                        each.count,
                        each.event_index,
                        each.file,
                        each.message,
                        each.evidence,
                        each.kind,
                        when,
                        scanned.tool_calls,
                        scanned.tokens,
                        scanned.dollars,
                    )
                )

    def _count(self, result: ev.ToolResult) -> None:
        scanned = self.scanned
        scanned.tool_calls += 1
        scanned.failed_calls += result.failed
        scanned.edits += result.call.action == ev.EDIT and not result.refused

    def _use(self, used: Used, when: str) -> None:
        """Add what a model message used; of lines that repeat it, the one with the most output."""
        usage = used.usage
        dollars = used.dollars
        if dollars is None and self._prices is not None:
            dollars = self._prices.cost(used.model, usage, when)
        known = self._largest.get(used.key) if used.key else None
        tokens = usage.tokens
        if known is not None:
            if usage.output <= known[0]:
                return
            self._add(used.model, known[1], known[2], -1)
        if used.key:
            if len(self._largest) >= _MOST_SEEN:
                self._largest.pop(next(iter(self._largest)))
            self._largest[used.key] = (usage.output, tokens, dollars)
        self._add(used.model, tokens, dollars, 1)

    def _add(self, model: str, tokens: int, dollars: float | None, sign: int) -> None:
        scanned = self.scanned
        scanned.tokens += sign * tokens
        scanned.models[model] = scanned.models.get(model, 0) + sign * tokens
        if dollars is None:
            scanned.dollars = scanned.dollars if not tokens else None
        elif scanned.dollars is not None:
            scanned.dollars += sign * dollars

    def end(self) -> None:
        """The transcript is over, and its last turn with it: nobody's message ended that one."""
        self._largest.clear()
        self._note(self.guard.close(), self.scanned.ended)
        self.scanned.events = self.guard.events


def _carries(thing: Thing) -> bool:
    """Tell whether the live hook could have told the agent something after this."""
    if isinstance(thing, ev.RoundEnd):
        return not thing.agent
    return isinstance(thing, ev.Message) or (isinstance(thing, ev.Compaction) and thing.done)


# -- results that add up ---------------------------------------------------------------


@dataclass(slots=True)
class Summary:
    """The results of many files, added up. Merging is associative: parts may be made anywhere."""

    files: int = 0
    sessions: int = 0
    events: int = 0
    tool_calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    unpriced: int = 0  # sessions whose cost is not known
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)

    def add(self, result: Result) -> None:
        """Add one file."""
        self.files += 1
        if result.format:
            self.formats[result.format] = self.formats.get(result.format, 0) + 1
        for kind, count in result.skipped.items():
            self.skipped[kind] = self.skipped.get(kind, 0) + count
        for each in result.sessions:
            self._session(each)

    def _session(self, scanned: Scanned) -> None:
        self.sessions += 1
        self.events += scanned.events
        self.tool_calls += scanned.tool_calls
        self.tokens += scanned.tokens
        if scanned.dollars is None:
            self.unpriced += 1
        else:
            self.dollars += scanned.dollars
        first: set[str] = set()
        for found in scanned.found:
            row = self.rules.setdefault(
                found.rule, {"detections": 0, "said": 0, "sessions": 0, "tokens_after": 0, "dollars_after": 0.0}
            )
            row["detections"] += 1
            row["said"] += found.response == NUDGE
            if found.rule not in first:
                first.add(found.rule)
                row["sessions"] += 1
                row["tokens_after"] += scanned.tokens - found.tokens
                if scanned.dollars is not None and found.dollars is not None:
                    row["dollars_after"] += scanned.dollars - found.dollars

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain data, with detections per 1,000 tool calls."""
        per = 1000 / self.tool_calls if self.tool_calls else 0.0
        rules = {rule: {**row, "per_1000_calls": round(row["detections"] * per, 3)} for rule, row in self.rules.items()}
        total = sum(row["detections"] for row in self.rules.values())
        return {
            "files": self.files,
            "sessions": self.sessions,
            "events": self.events,
            "tool_calls": self.tool_calls,
            "tokens": self.tokens,
            "dollars": round(self.dollars, 6),
            "sessions_without_price": self.unpriced,
            "detections": total,
            "detections_per_1000_calls": round(total * per, 3),
            "rules": rules,
            "formats": self.formats,
            "skipped": self.skipped,
        }


def each_of(
    sources: Iterable[Source],
    settings: Settings,
    *,
    prices: Prices | None = None,
    format: str = "",
    jobs: int = 1,
    limits: Mapping[str, float] | None = None,
) -> Iterator[Result]:
    """Scan many files, in their order; with ``jobs`` above 1 in as many processes.

    Where ``limits`` are given, none at all included, each session gets its stop report under them.
    """
    if jobs <= 1:
        for source in sources:
            yield _reported(source, settings, prices, format, limits)
        return
    from concurrent.futures import ProcessPoolExecutor

    paths = [source.path for source in sources]
    given = (settings.as_mapping(), prices, format, limits)
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=given) as pool:
        yield from pool.map(_scan_path, paths, chunksize=max(1, min(8, len(paths) // (jobs * 4))))


_worker: dict[str, Any] = {}


def _begin(settings: dict[str, Any], prices: Prices | None, format: str, limits: Mapping[str, float] | None) -> None:
    _worker.update(settings=Settings(settings), prices=prices, format=format, limits=limits)


def _scan_path(path: str) -> Result:
    return _reported(Source(path), _worker["settings"], _worker["prices"], _worker["format"], _worker["limits"])


def _reported(
    source: Source, settings: Settings, prices: Prices | None, format: str, limits: Mapping[str, float] | None
) -> Result:
    """Scan one file, with a stop report for each session where limits are given."""
    if limits is None:
        return scan(source, settings, prices=prices, format=format)
    from unspin.scan.budget import Stops  # it asks this module to scan

    stops = Stops(limits)
    result = scan(source, settings, prices=prices, format=format, watch=stops)
    for each in result.sessions:
        each.stop = stops.report(each).as_mapping()
    return result
