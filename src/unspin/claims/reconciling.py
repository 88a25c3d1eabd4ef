"""Holds the claims of a final text against what the tools did.

Three ways: a claim with a matching call that succeeded passes; with one that failed it passes too, and is noted;
with none it is unbacked. A call that could have done it unseen (a script, a subagent, another server's tool) counts
as matching: a claim that is missed is better than an honest one that is flagged. It keeps no state, and decides nothing
about what is said to the agent but the words.
"""

from __future__ import annotations

import re

from unspin.claims.activity import (
    MADE,
    MAY_CHECK,
    MAY_DO,
    MAY_EDIT,
    MAY_FORMAT,
    MAY_INSTALL,
    MAY_READ,
    RAN_UNSEEN,
    Activity,
)
from unspin.claims.lists import compiled, tools, words
from unspin.claims.statements import ANNOUNCED, asks, standing, statements
from unspin.events import AGENT, ASK, EDIT, NOTE, SHELL, WAIT
from unspin.facts.claims import CHECK, DEED, FILE, RAN, Claim, claims
from unspin.facts.shell import read_line
from unspin.guard.messages import quote
from unspin.guard.notice import WARNING, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from unspin.claims.activity import Entry, Given
    from unspin.claims.statements import Statement

    #: Is this catch right? Anything but ``False`` says so: a judge vetoes, and adds nothing.
    Judge: TypeAlias = Callable[["Finding"], object]

DONE, FAILED, POSSIBLE, UNBACKED, VETOED = "done", "failed", "possible", "unbacked", "vetoed"

#: Kinds of check whose commands often do the work of another kind as well.
_BESIDE = {"test": ("test",), "build": ("build", "test", "type"), "type": ("type", "build", "test", "lint"),
           "lint": ("lint", "build", "type")}  # fmt: skip
_NAMES = {"test": "ran tests", "build": "ran a build", "lint": "ran a linter", "type": "ran a type check"}
_DEEDS = {"commit": "committed anything", "push": "pushed anything", "merge": "merged anything",
          "publish": "published anything", "install": "installed anything", "deploy": "deployed anything",
          "open": "opened a pull request"}  # fmt: skip
_MANIFESTS = re.compile(
    r"(?:lock\w*\.(?:json|ya?ml)|\.lock\w?|package\.json|requirements\S*\.txt|pyproject\.toml|go\.(?:mod|sum)|cargo\.toml)\Z",
    re.I,
)


class Finding:
    """One claim and what the ledger says of it.

    ``kind`` is ``check``, ``ran``, ``file``, ``deed``, ``stated`` or ``announced``, ``quote`` the sentence, ``start``
    and ``end`` its place in the text. ``verdict`` is ``done`` (a matching call succeeded), ``failed`` (the matching
    calls failed), ``possible`` (it could have been done where nobody can see), ``unbacked``, or ``vetoed`` (by the
    judge). ``missing`` says what no call did; ``calls`` are the matching ones, by their place in the ledger.
    """

    __slots__ = ("calls", "end", "kind", "missing", "quote", "start", "subject", "verdict")

    def __init__(self, kind: str, subject: str, quote: str, start: int, end: int, missing: str):
        self.kind = kind
        self.subject = subject
        self.quote = quote
        self.start = start
        self.end = end
        self.missing = missing
        self.verdict = UNBACKED
        self.calls: list[int] = []

    def as_mapping(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return {name: getattr(self, name) for name in sorted(self.__slots__)}

    def __repr__(self) -> str:
        return f"Finding({self.kind!r}, {self.subject!r}, {self.verdict!r}, {self.quote[:60]!r})"


class ClaimVerdict:
    """What became of the claims of one final text.

    ``unbacked`` are those with no matching call, ``findings`` all of them; ``message`` is the line for the model, empty
    where nothing is unbacked. ``asking`` is set where the text stops to ask, ``notes`` say what is to be known besides
    (a claim whose calls failed, a judge that broke). ``reprompt`` says that the message is to be sent; ``checked`` is
    false where a ``ClaimGuard`` is off. ``notice`` is for a host's own UI.
    """

    __slots__ = ("asking", "checked", "findings", "key", "message", "notes", "reprompt")

    def __init__(self, findings: list[Finding], *, asking: bool = False, notes: list[str] | None = None):
        self.findings = findings
        self.asking = asking
        self.notes = notes or []
        self.message = line(self.unbacked)
        self.reprompt = bool(self.message)
        self.checked = True
        self.key = ""

    @property
    def unbacked(self) -> list[Finding]:
        return [each for each in self.findings if each.verdict == UNBACKED]

    @property
    def notice(self) -> Notice | None:
        """The notice of this firing, ``None`` where nothing is unbacked."""
        return Notice(WARNING, self.key or "unbacked_claim", self.message) if self.message else None

    def __repr__(self) -> str:
        return f"ClaimVerdict(unbacked={self.unbacked!r}, reprompt={self.reprompt})"


def reconcile(
    final_text: str,
    activity: Activity | Iterable[Given],
    *,
    earlier: Iterable[Given] = (),
    language: str = "en",
    judge: Judge | None = None,
) -> ClaimVerdict:
    """Return what the claims of a turn's final text come to.

    ``activity`` are the calls of the turn with their outcomes, or an ``Activity`` of the whole session; ``earlier``
    the calls of the turns before, where ``activity`` is no ``Activity``. ``judge`` is asked about each catch; ``False``
    vetoes it, and so does an exception. Raises ``ValueError`` for a language that is not there, ``TypeError`` for a
    text that is none.
    """
    if not isinstance(final_text, str):
        raise TypeError(f"final_text is text, not {type(final_text).__name__}")
    words(language)
    if not isinstance(activity, Activity):
        calls = activity
        activity = Activity(earlier)
        activity.begin_turn()
        for each in calls:
            activity.add(each)
    ledger = _Ledger(activity, language)
    asking = asks(final_text, language) or any(each["action"] == ASK for each in ledger.now)
    findings = []
    for found in statements(final_text, language):
        if found.kind == ANNOUNCED:
            if not asking:
                findings.append(ledger.announcement(found))
        elif activity.complete:
            findings.append(ledger.statement(found))
    if activity.complete:
        findings += [finding for claim in claims(final_text) if (finding := ledger.claim(claim)) is not None]
    findings = _each_once(findings)
    notes = [
        f"{each.kind} {quote(each.subject)}: its calls failed; narrating that is honest"
        for each in findings
        if each.verdict == FAILED
    ]
    if judge is not None:
        notes += _asked(judge, findings)
    return ClaimVerdict(findings, asking=asking, notes=notes)


def _asked(judge: Judge, findings: list[Finding]) -> list[str]:
    """Ask the judge about each catch: it can take one back, and nothing else."""
    notes = []
    for each in findings:
        if each.verdict != UNBACKED:
            continue
        try:
            answer = judge(each)
        except Exception as error:
            each.verdict = VETOED
            notes.append(f"the judge failed ({type(error).__name__}): {quote(each.quote)} is let through")
            continue
        if answer is False:
            each.verdict = VETOED
    return notes


def _each_once(findings: list[Finding]) -> list[Finding]:
    """Return the findings in the order of the text. Of one sentence read twice the better founded reading counts."""
    named = {(each.start, each.end) for each in findings if each.kind not in ("stated", "announced")}

    def covered(found: Finding) -> bool:
        return found.kind == "stated" and any(start < found.end and found.start < end for start, end in named)

    once = {(each.kind, each.subject, each.quote): each for each in reversed(findings) if not covered(each)}
    return sorted(once.values(), key=lambda each: each.start)


def line(unbacked: list[Finding]) -> str:
    """Return the one line that the model is told, empty for nothing unbacked."""
    if not unbacked:
        return ""
    first = unbacked[0]
    more = f" (and {len(unbacked) - 1} more like it)" if len(unbacked) > 1 else ""
    if first.kind == "announced":
        return (
            f"Unspin: you wrote {quote(first.quote, longest=160)}{more}, and the turn ended with no tool call that "
            f"{first.missing}. Do it now, or say plainly that it has not been done."
        )
    return (
        f"Unspin: you wrote {quote(first.quote, longest=160)}{more}, and no tool call of this session {first.missing}. "
        "Do it now, or correct the statement: say plainly what was not done, or who did it and how you know."
    )


class _Ledger:
    """An activity, asked about one claim at a time."""

    def __init__(self, activity: Activity, language: str):
        self.every = activity.calls
        self.now = activity.of_turn()
        self.turn = activity.turn
        self.language = language
        running = any(each["background"] or each["action"] == AGENT for each in self.every)
        self.waits = running or any(each["action"] == WAIT for each in self.now)
        # a turn that looked at what was done before, and did nothing: what it says may be of others
        looked = any(each["history"] for each in self.now)
        self.reports = looked and not any(_works(each) for each in self.now)

    # -- what is about to be done --------------------------------------------------------

    def announcement(self, said: Statement) -> Finding:
        missing = {
            "dispatch": "starts a subagent", "check": "runs it", "deed": "does it", "edit": "changes a file",
            "read": "reads or runs anything", "start": "does anything",
        }[said.about]  # fmt: skip
        found = Finding("announced", said.about, said.quote, said.start, said.end, missing)
        fits = {"dispatch": _dispatches, "check": _could_check, "deed": _could_do, "edit": _could_edit}.get(
            said.about, _acts
        )
        if self.waits and said.about != "dispatch":
            found.verdict = POSSIBLE
            return found
        return self._judged(found, [at for at in self._places(now=True) if fits(self.every[at])], [])

    # -- what was done, and names no file or check ---------------------------------------

    def statement(self, said: Statement) -> Finding:
        missing = {"dispatch": "started a subagent", "edit": "could have changed a file", "read": "read anything",
                   "run": "ran anything", "work": "ran anything or changed a file"}[said.about]  # fmt: skip
        found = Finding("stated", said.about, said.quote, said.start, said.end, missing)
        if said.path:
            claim = Claim(FILE, said.path, "change", start=said.start, end=said.end, quote=said.quote)
            return self._file(claim)
        if not said.own and (self.reports or not self.now):  # "Added in 3.10: ..." tells of the world
            found.verdict = POSSIBLE
            return found
        fits = {"dispatch": _dispatches, "edit": _could_edit, "run": _could_do, "work": _could_work}.get(
            said.about, _could_read
        )
        return self._judged(found, [at for at in self._places() if fits(self.every[at])], [])

    # -- what was done -------------------------------------------------------------------

    def claim(self, claim: Claim) -> Finding | None:
        if claim.place:  # CI and hooks run elsewhere
            return None
        if claim.kind == CHECK:
            return self._check(claim) if claim.holds else None
        if claim.kind == RAN:
            return self._ran(claim)
        if not _own(claim) and self.reports:
            return None
        if claim.kind == FILE:
            return self._file(claim)
        return self._deed(claim) if claim.kind == DEED else None

    def _check(self, claim: Claim) -> Finding:
        kinds = claim.subject.split("|")
        found = _finding(claim, _NAMES.get(kinds[0], "ran it"))
        beside = {each for kind in kinds for each in _BESIDE.get(kind, (kind,))}
        shown = {f"{MAY_CHECK}:{kind}" for kind in beside}  # by the output of a script, or of a commit's hooks
        exact = [
            at
            for at, each in enumerate(self.every)
            if not beside.isdisjoint(each["checks"]) or not shown.isdisjoint(each["may"])
        ]
        return self._judged(found, exact, [at for at, each in enumerate(self.every) if MAY_CHECK in each["may"]])

    def _ran(self, claim: Claim) -> Finding:
        if claim.subject in _NAMES:
            return self._check(claim)
        found = _finding(claim, f"ran {quote(claim.subject)}")
        wanted = _program(claim.subject)  # texts shorten a command and quote it otherwise
        kinds = {check.kind for check in read_line(claim.subject).checks}
        exact = [
            at
            for at, each in enumerate(self.every)
            if wanted in _spaced(f"{each['command']} {each['about']}") or not kinds.isdisjoint(each["checks"])
        ]
        return self._judged(
            found, exact, [at for at, each in enumerate(self.every) if MAY_DO in each["may"] or "run" in kinds]
        )

    def _file(self, claim: Claim) -> Finding:
        done = {"create": "wrote", "change": "changed", "delete": "deleted", "move": "moved"}[claim.verb]
        found = _finding(claim, f"{done} {quote(claim.subject, keep_end=True)}")
        exact = [at for at, each in enumerate(self.every) if any(_same(claim.subject, path) for path in each["wrote"])]
        produced = compiled(tools()["produced"]).search(claim.subject) or standing("producing", self.language).search(
            claim.quote
        )
        name = claim.subject.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower()
        may = [
            at
            for at, each in enumerate(self.every)
            if MAY_EDIT in each["may"]
            or (MAY_FORMAT in each["may"] and standing("formatting", self.language).search(claim.quote))
            or (MAY_INSTALL in each["may"] and _MANIFESTS.search(name))
            or (produced and (each["checks"] or MAY_INSTALL in each["may"]))
            or (each["action"] == EDIT and not each["wrote"])
        ]
        return self._judged(found, exact, may)

    def _deed(self, claim: Claim) -> Finding | None:
        pattern = tools()["deeds"].get(claim.subject)
        about = words(self.language)["deeds_of"].get(claim.subject)
        if pattern is None or (about and not compiled(about).search(claim.quote)):
            return None
        found = _finding(claim, _DEEDS.get(claim.subject, "did that"))
        shown = f"{MAY_DO}:{claim.subject}"  # by the output of a script
        exact = [at for at, each in enumerate(self.every) if claim.subject in each["deeds"] or shown in each["may"]]
        return self._judged(found, exact, [at for at, each in enumerate(self.every) if MAY_DO in each["may"]])

    # -- the three ways ------------------------------------------------------------------

    def _places(self, *, now: bool = False) -> list[int]:
        return [at for at, each in enumerate(self.every) if not now or each["turn"] == self.turn]

    def _judged(self, found: Finding, exact: list[int], may: list[int]) -> Finding:
        """Say which of the three ways it is: done, failed, or nothing that could have done it."""
        found.calls = exact
        if any(not self.every[at]["failed"] for at in exact):
            found.verdict = DONE
        elif exact:
            found.verdict = FAILED
        elif may:
            found.verdict = POSSIBLE
        return found


def _finding(claim: Claim, missing: str) -> Finding:
    return Finding(claim.kind, claim.subject, claim.quote, claim.start, claim.end, missing)


def _own(claim: Claim) -> bool:
    """Tell whether a claim stands in the first person."""
    at = claim.quote.lower().replace("’", "'")
    return bool(re.match(r"\W*(?:\w+[,.!:]? ){0,3}i(?:'ve)? ", at))


def _program(command: str) -> str:
    """Return the program of a command line with its subcommand, as ``_spaced`` words."""
    said = command.split()
    name = said[0].rsplit("/", 1)[-1]
    return _spaced(f"{name} {said[1]}" if len(said) > 1 and said[1].isalpha() else name)


def _spaced(text: str) -> str:
    return f" {' '.join(re.findall(r'[a-z0-9_.-]+', text.lower()))} "


def _same(claimed: str, path: str) -> bool:
    """Tell whether a path in a text can mean a file that a call wrote: texts leave folders out, calls write folders."""
    wanted = [each for each in claimed.replace("\\", "/").lower().split("/") if each not in ("", ".")]
    there = [each for each in path.replace("\\", "/").lower().split("/") if each not in ("", ".")]
    if not wanted or not there:
        return False
    if wanted[-1] == there[-1]:
        return True
    return there[-1] in wanted or any(char in there[-1] for char in "*?")


# -- what an entry can have done -----------------------------------------------------------


def _dispatches(entry: Entry) -> bool:
    return bool(entry["action"] == AGENT or (entry["action"] != EDIT and {MAY_DO, RAN_UNSEEN} & set(entry["may"])))


def _could_check(entry: Entry) -> bool:
    return bool(entry["checks"] or {MAY_CHECK, MAY_DO, RAN_UNSEEN} & set(entry["may"]))


def _could_do(entry: Entry) -> bool:
    return bool(entry["action"] in (SHELL, AGENT, WAIT) or MAY_DO in entry["may"])


def _could_edit(entry: Entry) -> bool:
    hints = {MAY_EDIT, MAY_FORMAT, MAY_INSTALL, MADE}
    return bool(entry["action"] == EDIT or entry["wrote"] or hints & set(entry["may"]))


def _could_work(entry: Entry) -> bool:
    return _could_do(entry) or _could_edit(entry)


def _could_read(entry: Entry) -> bool:
    return bool(MAY_READ in entry["may"])


def _acts(entry: Entry) -> bool:
    return entry["action"] not in (NOTE, ASK)


def _works(entry: Entry) -> bool:
    """Tell whether a call did work of its own, or checked some: a turn that only looks may tell of what others did."""
    return bool(entry["action"] in (EDIT, AGENT) or entry["wrote"] or entry["checks"] or MAY_EDIT in entry["may"])
