"""What happened in a session, one entry for each thing that people would tell: for the report and the replay.

Made from what the guard has read of a session (``Session`` while it is under way): nothing is concluded here. Texts
are one line each, shortened, secrets taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from unspin import events as ev
from unspin.facts.redact import redact
from unspin.facts.step import FAILED, PASSED, UNKNOWN
from unspin.guard import BLOCK, HALT, NUDGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.facts.step import Step
    from unspin.guard import Response
    from unspin.scan.items import Thing
    from unspin.scan.scanning import Session

#: What an entry tells of.
PERSON, MACHINE = "person", "machine"  # messages
EDIT, CHECK, RUN, READ, ASK, AGENT, OTHER = "edit", "check", "run", "read", "ask", "agent", "other"  # tool calls
COMPACTION, TURN = "compaction", "turn"
SAID, LOGGED, RELEASED = "said", "logged", "released"  # unspin
CALLS = frozenset((EDIT, CHECK, RUN, READ, ASK, AGENT, OTHER))

REFUSED, ERROR = "refused", "error"  # outcomes besides those of checks

_TEXT = 200  # characters of a text
_MESSAGE = 600
_BUFFERED = 64  # calls of one round that the guard takes
_KINDS = {ev.EDIT: EDIT, ev.SHELL: RUN, ev.READ: READ, ev.ASK: ASK, ev.AGENT: AGENT}
_REFUSERS = {
    ev.BY_TOOL: "refused by the tool",
    ev.BY_PERSON: "refused by the person",
    ev.BY_GUARD: "refused by unspin",
    ev.BY_HOOK: "refused by a hook or a permission rule",
    ev.BY_SIBLING: "dropped: a call beside it failed",
}
_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]{0,4000})")
_JOINERS = dict.fromkeys((0x200B, 0x200C, 0x200D, 0xFEFF))


@dataclass(slots=True)
class Entry:
    """One thing that happened. ``index`` is its event's, ``None`` for subagents and for what unspin does.

    ``outcome`` is that of a check (``passed``, ``failed``, ``unknown``), ``refused`` or ``error``; empty if there is
    nothing to say. ``tokens``, ``dollars`` and ``context`` are the session's at this point. ``refusal`` is what the
    guard would have answered to the call before it ran (only where it was asked), ``response`` what is said or logged.
    """

    kind: str
    text: str
    when: str = ""
    index: int | None = None
    outcome: str = ""
    detail: str = ""
    agent: str = ""
    edits: bool = False
    context: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    refusal: Response | None = None
    response: Response | None = None


class Teller:
    """Tells one session. Give it every thing after the session has taken it.

    With ``asking``, the guard is asked about each call as the live hook asks before it, and what it would have
    refused is told. The recorded agent went on: its call counts as what it was.
    """

    def __init__(self, session: Session, *, asking: bool = False):
        self._session = session
        self._asking = asking
        self._calls: dict[str, list[tuple[int, str, Response | None]]] = {}
        self._context = 0
        self._compacting = False
        self._refusing = False

    def take(self, thing: Thing, when: str) -> list[Entry]:
        """Return what there is to tell after this, mostly one entry or none."""
        guard = self._session.guard
        if isinstance(thing, ev.ContextSize):
            self._context = thing.tokens
        if isinstance(thing, ev.ToolResult):
            self._note(thing)
            return []
        if not isinstance(thing, (ev.RoundEnd, ev.Message, ev.Compaction, ev.ContextSize, ev.TurnReport)):
            return []
        found = [entry for judged in guard.judged for entry in self._of_round(judged.steps, judged.agent)]
        if isinstance(thing, ev.Message):
            kind = PERSON if thing.by_person else MACHINE
            found.append(Entry(kind, one_line(_spoken(thing.text), _MESSAGE), index=guard.index))
            if thing.by_person and self._refusing:
                self._refusing = False
                text = "released: the person has spoken, edits are let through again"
                found.append(Entry(RELEASED, text))
        elif isinstance(thing, ev.Compaction):
            if not (thing.done and self._compacting):
                found.append(Entry(COMPACTION, "the context is compacted", index=guard.index))
            self._compacting = not thing.done
        elif isinstance(thing, ev.TurnReport):
            found.append(_turn(thing, guard.index))
        for each in self._session.responses:
            kind = SAID if each.kind == NUDGE else LOGGED
            found.append(Entry(kind, one_line(each.message, _MESSAGE), response=each))
        for entry in found:
            entry.when = when
            entry.context = self._context
            entry.tokens = self._session.scanned.tokens
            entry.dollars = self._session.scanned.dollars
            self._compacting = self._compacting and entry.kind == COMPACTION
        return found

    def _note(self, result: ev.ToolResult) -> None:
        """Keep what a step does not: what an edit put in, and whether the call would have been refused."""
        call = result.call
        kept = self._calls.setdefault(call.agent, [])
        if len(kept) >= _BUFFERED:
            return
        put = next((edit.new for edit in call.edits if edit.new.strip()), "").strip()
        kept.append((result.position, one_line(put.partition("\n")[0], _TEXT), self._asked(call)))

    def _asked(self, call: ev.ToolCall) -> Response | None:
        """Ask the guard about a call. What stands changes with the end of a round, not with results: no matter that
        the session has taken this one. Without its id, so that the guard does not take the call for refused."""
        if not self._asking:
            return None
        call_id, call.call_id = call.call_id, ""
        responses = self._session.guard.observe(call)
        call.call_id = call_id
        refusal = next((each for each in responses if each.kind in (BLOCK, HALT)), None)
        self._refusing = self._refusing or refusal is not None
        return refusal

    def _of_round(self, steps: list[Step], agent: str) -> list[Entry]:
        noted = sorted(self._calls.pop(agent, ()), key=lambda each: each[0])
        noted += [(0, "", None)] * (len(steps) - len(noted))
        return [self._of_step(step, agent, put, refusal) for step, (_, put, refusal) in zip(steps, noted, strict=False)]

    def _of_step(self, step: Step, agent: str, put: str, refusal: Response | None) -> Entry:
        kind = CHECK if step.checks else _KINDS.get(step.action, OTHER)
        written = bool(step.written())
        if kind == RUN and written:
            kind = EDIT
        text = self.short(one_line(step.label, _TEXT))
        detail = ""
        outcome = ""
        if step.refused:
            outcome, detail = REFUSED, _REFUSERS.get(step.refused, f"refused: {step.refused}")
        elif step.checks:
            outcome, detail = _checked(step)
        elif step.failed:
            outcome, detail = ERROR, one_line(step.error_text, _TEXT)
        elif put and step.action == ev.EDIT:
            detail = put
        return Entry(
            kind,
            text,
            index=None if agent else step.index,
            outcome=outcome,
            detail=detail,
            agent=one_line(agent, 40),
            edits=written,
            refusal=refusal,
        )

    def short(self, label: str) -> str:
        """Return how a call is named, its files told from the project."""
        project = self._session.scanned.project
        return label.replace(f"{project}/", "") if len(project) > 1 else label


def _checked(step: Step) -> tuple[str, str]:
    """Return how the checks of a step ended, and what there is to say of it."""
    outcomes = [check.outcome for check in step.checks]
    outcome = FAILED if FAILED in outcomes else PASSED if PASSED in outcomes else UNKNOWN
    check = next(each for each in step.checks if each.outcome == outcome)
    said = [one_line(step.error_text, _TEXT)] if outcome != PASSED else []
    if outcome == UNKNOWN and check.hidden:
        said.append(check.hidden)
    names = zip(check.counts, ("passed", "failed", "skipped"), strict=False)
    said.append(", ".join(f"{count} {name}" for count, name in names if count))
    return outcome, "; ".join(each for each in said if each)


def _turn(report: ev.TurnReport, index: int) -> Entry:
    text = one_line(f"turn {report.turn} of {report.run}" if report.run else f"turn {report.turn}", _TEXT)
    outcome, detail = report.build, one_line("; ".join(report.findings), _TEXT)
    if report.failing_tests is not None:
        outcome = FAILED if report.failing_tests else PASSED
        detail = one_line(", ".join(report.failing_tests), _TEXT)
    return Entry(TURN, text, index=index, outcome=outcome, detail=detail)


def _spoken(text: str) -> str:
    """Return a message as it was typed: a client may wrap a command of its own in tags."""
    if not text.lstrip().startswith(("<command-name>", "<command-message>")):
        return text
    name, arguments = _COMMAND.search(text[:4000]), _ARGUMENTS.search(text[:8000])
    return f"{name[1]} {arguments[1] if arguments else ''}" if name else text


def one_line(text: str, most: int) -> str:
    """Return foreign text as one short line: secrets taken out, nothing that moves, hides or turns text round."""
    cut = redact(text[: 4 * most]).translate(_JOINERS)
    cut = " ".join("".join(each if each.isprintable() else " " if each.isspace() else "?" for each in cut).split())
    return cut if len(cut) <= most else cut[: most - 1].rstrip() + "…"


def seconds(when: str) -> float | None:
    """Return a transcript's time stamp in seconds: ISO 8601, or seconds or milliseconds since 1970."""
    try:
        if when[:4].isdigit() and when[4:5] == "-":
            moment = datetime.fromisoformat(when)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        value = float(when)
    except (ValueError, OverflowError):
        return None
    if not 0 <= value < 1e14:
        return None
    return value / 1000 if value > 1e11 else value
