"""Events in, responses out: what is said, refused, stopped, or only logged.

Two rules: everything that decides about a response lives here, and nothing here knows
how an agent is told. The guard owns rounds, episodes and what stands; what is noticed is
the detectors' business, how it is worded that of ``messages``.
"""

from __future__ import annotations

from unspin.detect import DETECTORS, LOOP_RULES
from unspin.events import (
    BY_GUARD,
    Compaction,
    ContextSize,
    Message,
    Opportunity,
    RoundEnd,
    ToolCall,
    ToolResult,
    TurnReport,
)
from unspin.facts.digest import digest
from unspin.facts.files import covers
from unspin.facts.reading import Reader, forget_oldest
from unspin.facts.redact import redact
from unspin.facts.step import UNKNOWN, Round, Step
from unspin.guard import messages, passes
from unspin.guard.settings import MODES, Settings, SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from unspin.detect import Detection
    from unspin.events import Event
    from unspin.facts.step import CheckResult
    from unspin.guard.notice import Notice

NONE, NUDGE, BLOCK, HALT = "none", "nudge", "block", "halt"

REFUSING = 1  # an edit of some file would be refused
WATCHING = 2  # some rule wants to know what test files hold before they are written over

_VERSION = 3
_SAID = 200  # identities remembered
_STANDING = 8
_KEPT = 4  # lines kept for the next event that can carry one
_REFUSED_IDS = 32
_BUFFERED = 64  # calls of one round


class Response:
    """What the guard does about something: nothing (it is logged), a nudge, a block, a halt.

    ``message`` is the line as the agent or the person reads it. ``rule``, ``identity``,
    ``count``, ``event_index`` and ``evidence`` say what it stands on.
    """

    __slots__ = ("count", "event_index", "evidence", "file", "identity", "kind", "message", "rule")

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        rule: str,
        identity: str,
        count: int,
        event_index: int,
        evidence: list[dict[str, Any]],
        file: str = "",
    ):
        self.kind = kind
        self.message = message
        self.rule = rule
        self.identity = identity
        self.count = count
        self.event_index = event_index
        self.evidence = evidence
        self.file = file

    def as_mapping(self) -> dict[str, Any]:
        """Return the response as plain data, with the field names of the log."""
        return {
            "rule": self.rule,
            "identity": self.identity,
            "count": self.count,
            "event_index": self.event_index,
            "file": self.file,
            "message": self.message,
            "evidence": self.evidence,
            "response": self.kind,
        }

    @property
    def notice(self) -> Notice:
        """The notice of this response for a host's own UI; what fires again within one episode has the same key."""
        from unspin.guard.notice import ERROR, INFO, WARNING, Notice  # for hosts: a hook has no use for it

        level = {NONE: INFO, HALT: ERROR}.get(self.kind, WARNING)
        return Notice(level, self.identity, self.message)

    def __repr__(self) -> str:
        return f"Response({self.kind!r}, {self.message!r})"


class Guard:
    """Watches one session.

    >>> from unspin import Guard, events
    >>> guard = Guard()
    >>> for number in range(3):
    ...     _ = guard.observe(events.edit("/p/a.py", "x", str(number)))
    ...     _ = guard.observe(events.RoundEnd())
    ...     _ = guard.observe(events.shell("pytest", "E   TypeError: no", exit_code=1))
    ...     responses = guard.observe(events.RoundEnd())
    >>> [response.kind for response in responses]
    ['nudge']

    ``state`` is plain data: take it after any event, and a guard made from it in another
    process answers as this one would have. ``project`` is the folder that files are named
    against. ``muted`` holds ``(rule, file)`` pairs that are logged and not said; an empty
    file means everywhere.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        project: str = "",
        state: dict[str, Any] | None = None,
        muted: Sequence[tuple[str, str]] = (),
        mode: str | None = None,
    ):
        if settings is not None and not isinstance(settings, Settings):
            raise SettingsError(
                f"Guard takes Settings, not {type(settings).__name__}: "
                "Settings({'mode': 'nudge'}) or Settings.from_mapping(tables)"
            )
        self.settings = settings or Settings()
        if mode is not None and mode not in MODES:
            raise SettingsError(f"mode = {mode!r}: expected one of {', '.join(MODES)}.")
        self.mode = mode or self.settings["mode"]
        self.muted = tuple((rule, file) for rule, file in muted)
        if state is not None and "version" not in state:
            raise ValueError("that is no state of a Guard: give what Guard.state returned, or nothing to start afresh")
        self._state = _initial() if state is None or state["version"] != _VERSION else state
        if project:
            self._state["project"] = project
        self.reader = Reader(self.settings, self._state["project"], self._state["reader"])
        self._state["reader"] = self.reader.state
        self.judged: list[Round] = []  # the rounds that the last event closed, as they were read
        self.passed: passes.Pass | None = None  # what the last event says of the work tree
        self._rounds = {agent: [Step.load(each) for each in steps] for agent, steps in self._state["rounds"].items()}
        self._detectors = [
            each(self.settings, self._state["detectors"].get(each.rule))
            for each in DETECTORS
            if self.settings[each.switch()] is not False
        ]
        self._observers = [each.observe for each in self._detectors]

    @property
    def state(self) -> dict[str, Any]:
        """All that the guard remembers, as plain data. Copy it before the next event."""
        self._state["detectors"].update({each.rule: each.state for each in self._detectors})
        self._state["rounds"] = {agent: [step.dump() for step in steps] for agent, steps in self._rounds.items()}
        return self._state

    @property
    def index(self) -> int:
        """The index of the newest event that counts, from 0."""
        return max(int(self._state["index"]) - 1, 0)

    @property
    def events(self) -> int:
        """How many events counted so far: messages, the main agent's results, compactions and reports of turns."""
        return int(self._state["index"])

    @property
    def armed(self) -> int:
        """What the next call has to be looked at for: ``REFUSING``, ``WATCHING``, both, or 0 for nothing.

        Whatever the mode is now: the person may change it before the next event.
        """
        watching = any(detector.wants_texts() for detector in self._detectors)
        refusing = any(each["blocks"] for each in self._state["standing"].values())
        return REFUSING * refusing + WATCHING * watching

    @property
    def keeps(self) -> bool:
        """Tell whether a line waits for an event that can carry it (``Opportunity``)."""
        return bool(self._state["kept"])

    def standing_blocks(self) -> list[str]:
        """Return the files whose next edit would be refused."""
        if self.mode != "guard" or not self.settings["loop.block_ignored"]:
            return []
        standing = self._state["standing"].values()
        return [
            each["file"]
            for each in standing
            if each["blocks"] and each["heard"] and not self._is_muted(each["rule"], each["file"])
        ]

    def streaks(self) -> list[dict[str, Any]]:
        """Return what is being counted, longest first: rule, what it is about, count, threshold."""
        found = [
            {
                "rule": each.rule,
                "about": self.reader.place.relative(about),
                "count": count,
                "threshold": each.threshold,
            }
            for each in self._detectors
            for about, count in each.streaks()
        ]
        return sorted(found, key=lambda each: -int(each["count"]))

    def know_checkpoint(self, *, working: bool) -> None:
        """Take in whether the session has a working checkpoint: then a line can offer to go back to it."""
        self._state["working_checkpoint"] = working

    def rolled_back(self) -> None:
        """Take in that files went back to an earlier state: a new episode begins."""
        self._close_rounds()
        self._spoken()

    def close(self) -> list[Response]:
        """Take in that the session is over; return what is noticed at the end of its last turn, for the log only.

        For those who read a session's record: live, a turn ends with the person's next message.
        """
        self.judged, self.passed = [], None
        return self._close_rounds() + self._turn_over()

    def observe(self, event: Event) -> list[Response]:
        """Take one event; return the responses to it, mostly none.

        At most one of them is a nudge: give its message to the agent. ``block``: refuse the
        call with the message. ``halt``: refuse it and end the turn. ``none`` is for the log
        only. Raises ``TypeError`` for what is no event.
        """
        self.judged, self.passed = [], None
        if isinstance(event, ToolResult):
            self._take(event)
            return []
        if isinstance(event, RoundEnd):
            return self._judge(event.agent)
        if isinstance(event, ToolCall):
            return self._before(event)
        if isinstance(event, Message):
            return self._close_rounds() + self._message(event)
        if isinstance(event, Opportunity):
            return self._give_kept()
        if isinstance(event, Compaction):
            responses = self._close_rounds()
            self._next_index()
            return responses + self._compaction(event)
        if isinstance(event, TurnReport):
            event.index = self._next_index()
            return self._respond(self._notice(event), can_say=False)
        if isinstance(event, ContextSize):
            return self._respond(self._notice(event), can_say=False)
        given = f"the class {event.__name__}" if isinstance(event, type) else type(event).__name__
        raise TypeError(f"observe takes an event of unspin.events, such as RoundEnd(), not {given}")

    # -- rounds ------------------------------------------------------------------------

    def _take(self, event: ToolResult) -> None:
        if event.call.call_id and event.call.call_id in self._state["refused_ids"]:
            event.refused = BY_GUARD
        buffer = self._rounds.setdefault(event.call.agent, [])
        if len(buffer) < _BUFFERED:
            buffer.append(self.reader.read(event))

    def _close_rounds(self) -> list[Response]:
        """Judge rounds whose end nobody announced."""
        return [response for agent in list(self._rounds) for response in self._judge(agent)]

    def _judge(self, agent: str) -> list[Response]:
        steps = self._rounds.pop(agent, [])
        if len(steps) > 1:
            steps.sort(key=lambda step: step.position)
        if steps:
            self.judged.append(Round(steps, agent))
        if agent:
            if any(map(passes.may_change_files, steps)):
                self._state["beside"] = True
                self._state.pop("red", None)
            return self._respond(self._notice(Round(steps, agent)), can_say=False) if steps else []
        self._state["round"] += 1
        spoke = False
        for step in steps:
            step.index = self._next_index()
            spoke = spoke or step.spoke
        steps = [step for step in steps if step.refused != BY_GUARD]
        self.reader.settle(steps)
        before = dict(self._state["passes"])  # what is noticed belongs to the streaks that a pass of this round ends
        found = self._notice(Round(steps)) if steps else []
        for step in steps:
            for check in step.checks:
                if check.passed:
                    self._passed(check)
            if step.command and not step.failed and not step.checks:
                self._lift(step.command)
        self._look_at_passes(steps, found)
        responses = self._respond(found, can_say=not spoke, passes=before)
        if spoke:
            responses += self._turn_over()
            self._spoken(told=True)
        return responses

    def _look_at_passes(self, steps: list[Step], found: list[Detection]) -> None:
        """Say what the checks of a round tell of the work tree: of a tampered test nothing, until the person spoke."""
        outcomes = self._state["outcomes"]
        for step in steps:
            for check in step.checks:
                if check.outcome != UNKNOWN:
                    outcomes[check.kind] = check.outcome
        if any(each.rule == "tampering" for each in found):
            self._state["tampered"] = True
        beside = self._state.pop("beside", False)
        red = passes.still_red(self._state.pop("red", ()), steps)
        if red:
            self._state["red"] = red
        self.passed = passes.read(steps, outcomes, tampered=self._state["tampered"], beside=beside, red=red)

    def _notice(self, event: Any) -> list[Detection]:
        noticed: list[Detection] = []
        for observe in self._observers:
            if found := observe(event):
                noticed += found
        return noticed

    def _next_index(self) -> int:
        self._state["index"] += 1
        return int(self._state["index"]) - 1

    # -- episodes ----------------------------------------------------------------------

    def _message(self, event: Message) -> list[Response]:
        self._next_index()
        responses = self._respond(self._notice(event), can_say=False)
        if event.by_person:
            self._spoken(told=True)
        return responses

    def _turn_over(self) -> list[Response]:
        """A turn ended, though no message says so: return what is noticed there, for the log only."""
        return self._respond(self._notice(Message(by_person=True)), can_say=False)

    def _spoken(self, *, told: bool = False) -> None:
        """The person spoke: the episode ends, blocks are released, counters start at zero."""
        if not told:
            self._notice(Message(by_person=True))
        self._state["episode"] += 1
        self._state["standing"] = {}
        self._state["said"] = {}
        self._state["tampered"] = False
        self._state.pop("red", None)
        self._state["kept"] = [each for each in self._state["kept"] if each["rule"] not in LOOP_RULES]

    def _passed(self, check: CheckResult) -> None:
        """A pass ends the streaks of its kind, a passed test all of them, and what stands on them."""
        if check.kind == "lint":
            return
        self._state["passed"] = True
        passes = self._state["passes"]
        passes[check.kind] = passes.get(check.kind, 0) + 1
        standing = self._state["standing"]
        for subject, each in list(standing.items()):
            if each["kind"] and check.kind in ("test", each["kind"]):
                del standing[subject]

    def _lift(self, command: str) -> None:
        """A command that is no check succeeded: what stands on its error stands no more."""
        standing = self._state["standing"]
        for subject in [subject for subject, each in standing.items() if each["kind"] == command]:
            del standing[subject]

    def _identity(self, found: Detection, passes: Mapping[str, int]) -> str:
        streak = 0
        if found.kind:
            streak = passes.get("test", 0) + (passes.get(found.kind, 0) if found.kind != "test" else 0)
        subject = self.reader.place.relative(found.subject) if found.file == found.subject else digest(found.subject)
        return f"{found.rule}:{subject}:{self._state['episode']}.{streak}"

    # -- responses ---------------------------------------------------------------------

    def _situation(self) -> messages.Situation:
        return messages.Situation(
            project=self._state["project"],
            passed=self._state["passed"],
            checkpoints=self.settings["checkpoints.enabled"],
            working_checkpoint=self._state["working_checkpoint"],
        )

    def _respond(
        self, detections: list[Detection], *, can_say: bool, passes: Mapping[str, int] | None = None
    ) -> list[Response]:
        """Decide about detections, in the order of their rules: at most one is said.

        ``passes`` counts, by kind of check, those that ended streaks before what was noticed (default: all so far).
        """
        if not detections and not self._state["kept"]:
            return []
        responses = []
        told = False
        for found in detections:
            identity = self._identity(found, self._state["passes"] if passes is None else passes)
            said, mark = self._state["said"], digest(identity)
            if said.get(mark) == NUDGE:
                continue
            response = self._response(NONE, messages.nudge(found, self._situation()), found, identity)
            if self._may_say(found):
                if can_say and not told:
                    told = True
                    response.kind = NUDGE
                    self._stand(found, response)
                elif found.rule not in LOOP_RULES:
                    self._keep(response)
                    said[mark] = NUDGE  # it will be, and is logged then
                    continue
            if response.kind == NUDGE or mark not in said:
                responses.append(response)
            said[mark] = response.kind
            forget_oldest(said, _SAID)
        if can_say and not told:
            responses += self._give_kept()
        return responses

    def _response(self, kind: str, message: str, found: Detection, identity: str) -> Response:
        return Response(
            kind,
            message,
            rule=found.rule,
            identity=identity,
            count=found.count,
            event_index=max(self._state["index"] - 1, 0),
            evidence=[{**each, "file": self.reader.place.relative(each["file"])} for each in found.evidence],
            file=self.reader.place.relative(found.file),
        )

    def _may_say(self, found: Detection) -> bool:
        if self.mode == "observe" or found.quiet or found.rule in self.settings["log_only"]:
            return False
        if self._is_muted(found.rule, found.file):
            return False
        return found.rule not in LOOP_RULES or not self._is_covered(found)

    def _is_muted(self, rule: str, file: str) -> bool:
        return any(
            rule == muted and about in ("", file, self.reader.place.relative(file)) for muted, about in self.muted
        )

    def _is_covered(self, found: Detection) -> bool:
        """Tell whether a loop nudge already stands on the same file or the same error."""
        return any(
            (found.file and found.file == each["file"]) or (found.error and found.error == each["error"])
            for each in self._state["standing"].values()
        )

    def _stand(self, found: Detection, response: Response) -> None:
        if found.rule not in LOOP_RULES:
            return
        standing = self._state["standing"]
        standing[response.identity] = {
            "rule": found.rule,
            "file": found.file,
            "error": found.error,
            "kind": found.kind,
            "blocks": found.blocks,
            "cause": messages.cause(found, self._situation()),
            "count": found.count,
            "evidence": response.evidence,
            "grace": self.settings["loop.grace_edits"],
            "heard": True,
            "refusals": 0,
            "refused_in": -1,
        }
        forget_oldest(standing, _STANDING)

    def _keep(self, response: Response) -> None:
        self._state["kept"].append(response.as_mapping())
        del self._state["kept"][:-_KEPT]

    def hold(self, response: Response) -> None:
        """Take back a nudge that nothing could carry: it is given at the next event that can.

        Until then it blocks nothing: the agent has not read it.
        """
        self._keep(response)
        standing = self._state["standing"].get(response.identity)
        if standing:
            standing["heard"] = False

    def _give_kept(self) -> list[Response]:
        """Return the oldest line that was kept because nothing could carry it."""
        kept = None
        while kept is None and self._state["kept"] and self.mode != "observe":
            kept = self._state["kept"].pop(0)
            if kept["rule"] in self.settings["log_only"] or self._is_muted(kept["rule"], kept["file"]):
                kept = None  # the person has had enough of it since
        if kept is None:
            return []
        if kept["identity"] in self._state["standing"]:
            self._state["standing"][kept["identity"]]["heard"] = True
        return [
            Response(
                NUDGE,
                kept["message"],
                rule=kept["rule"],
                identity=kept["identity"],
                count=kept["count"],
                event_index=kept["event_index"],
                evidence=kept["evidence"],
                file=kept["file"],
            )
        ]

    def _compaction(self, event: Compaction) -> list[Response]:
        return self._respond(self._notice(event), can_say=False)

    # -- before a tool -----------------------------------------------------------------

    def _before(self, call: ToolCall) -> list[Response]:
        """Refuse the edit of a file on which an ignored nudge stands."""
        if call.forbidden and self.mode == "guard":
            return [self._forbid(call)]
        if call.agent or not self.standing_blocks():
            return []
        targets = self.reader.targets(call)
        refusing = self.standing_blocks()
        for identity, each in self._state["standing"].items():
            if (
                not each["blocks"]
                or each["file"] not in refusing
                or not any(covers(to, each["file"]) for to in targets)
            ):
                continue
            if each["grace"] > 0:
                each["grace"] -= 1
                return []
            return [self._refuse(call, identity, each)]
        return []

    def _forbid(self, call: ToolCall) -> Response:
        """Refuse what only the person may do: the watched must not switch off the watcher."""
        self._remember_refused(call)
        return Response(
            BLOCK,
            messages.forbidden(call.forbidden),
            rule="self_protection",
            identity=f"self_protection:{call.forbidden}:{self._state['episode']}.0",
            count=1,
            event_index=self._state["index"],
            evidence=[
                {
                    "event_index": self._state["index"],
                    "tool": call.tool,
                    "file": "",
                    "excerpt": redact(call.label[:200])[:100],
                }
            ],
        )

    def _remember_refused(self, call: ToolCall) -> None:
        if call.call_id:
            self._state["refused_ids"].append(call.call_id)
            del self._state["refused_ids"][:-_REFUSED_IDS]

    def _refuse(self, call: ToolCall, identity: str, standing: dict[str, Any]) -> Response:
        if standing["refused_in"] != self._state["round"]:  # parallel edits of a round are one refusal
            standing["refused_in"] = self._state["round"]
            standing["refusals"] += 1
        limit = self.settings["loop.max_blocks"]
        self._remember_refused(call)
        now = self._situation()
        if standing["refusals"] > limit:
            kind, message = HALT, messages.stop(standing["file"], limit, now)
        else:
            kind, message = BLOCK, messages.refusal(standing["file"], standing["cause"], now)
        return Response(
            kind,
            message,
            rule=standing["rule"],
            identity=identity,
            count=standing["count"],
            event_index=self._state["index"],
            evidence=standing["evidence"],
            file=self.reader.place.relative(standing["file"]),
        )


def _initial() -> dict[str, Any]:
    return {
        "version": _VERSION,
        "project": "",
        "index": 0,
        "round": 0,
        "episode": 0,
        "passed": False,
        "passes": {},
        "outcomes": {},
        "tampered": False,
        "working_checkpoint": False,
        "reader": None,
        "detectors": {},
        "rounds": {},
        "said": {},
        "standing": {},
        "kept": [],
        "refused_ids": [],
    }
