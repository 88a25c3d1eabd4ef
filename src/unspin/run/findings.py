"""What reviewers write, checked against one schema; and the one verdict that code makes of it.

A review that cannot be read is never "no findings": it is an error. Findings keep their
identity from turn to turn, so that what is still open can be told from what is new.
"""

from __future__ import annotations

import json
import re

from unspin.facts.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

READY, SHIP, REVISE = "ready", "ship", "revise"

#: The verdict that ends a stage.
TERMINAL = {"design": READY, "code": SHIP}

#: The reviewer that unspin itself is: its own checks.
CHECKS = "checks"

SEVERITIES = ("critical", "major", "minor", "nit")

_LARGEST = 1_000_000  # bytes of a review
_MOST = 200  # findings of one review
_LONGEST = 4_000  # characters of a claim
_LINE = re.compile(r"[:#L0-9,-]+$")  # the end of "cart.py:12-15"

#: What a reviewer's file has to look like (JSON Schema, draft 2020-12); docs/run.md shows it to workers.
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["verdict", "findings"],
    "properties": {
        "verdict": {"enum": [READY, SHIP, REVISE]},
        "findings": {
            "type": "array",
            "maxItems": _MOST,
            "items": {
                "type": "object",
                "required": ["id", "severity", "blocking", "location", "claim"],
                "properties": {
                    "id": {"type": "string", "minLength": 1, "maxLength": 200},
                    "severity": {"enum": list(SEVERITIES)},
                    "blocking": {"type": "boolean"},
                    "location": {"type": "string", "maxLength": 500},
                    "claim": {"type": "string", "minLength": 1, "maxLength": _LONGEST},
                },
            },
        },
    },
}


class ReviewError(Exception):
    """A review cannot be used; the text says what was given and what is expected."""


class Finding:
    """One objection. ``key`` is the same for the same objection in another turn, ``loose`` when lines moved too.

    A reviewer's is known by its words and place, one of our own checks by its id: what fails in it may change.
    """

    __slots__ = ("blocking", "claim", "id", "key", "location", "loose", "reviewer", "severity", "since", "words")

    def __init__(
        self, id: str, severity: str, blocking: bool, location: str, claim: str, *, reviewer: str = "", since: int = 0
    ):
        self.id = id
        self.severity = severity
        self.blocking = blocking
        self.location = location
        self.claim = claim
        self.reviewer = reviewer
        self.since = since  # the turn in which it was raised first
        self.words = " ".join(claim.split())
        place, said = (location.strip(), self.words) if reviewer != CHECKS else (id, "")
        self.key = digest(f"{reviewer}\0{place}\0{said}")
        self.loose = digest(f"{reviewer}\0{_LINE.sub('', place)}\0{said}")

    def as_mapping(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "id": self.id,
            "severity": self.severity,
            "blocking": self.blocking,
            "location": self.location,
            "claim": self.claim,
            "reviewer": self.reviewer,
            "since": self.since,
        }

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Finding:
        """Return the finding that plain data holds."""
        return cls(
            given["id"],
            given["severity"],
            given["blocking"],
            given["location"],
            given["claim"],
            reviewer=given.get("reviewer", ""),
            since=given.get("since", 0),
        )


class Review:
    """What one reviewer said in one turn."""

    __slots__ = ("findings", "reviewer", "verdict")

    def __init__(self, reviewer: str, verdict: str, findings: list[Finding]):
        self.reviewer = reviewer
        self.verdict = verdict
        self.findings = findings


def read(data: bytes, reviewer: str, *, turn: int = 0) -> Review:
    """Return the review that a reviewer's file holds; raise ``ReviewError`` where it does not keep to the schema."""
    if len(data) > _LARGEST:
        raise ReviewError(f"the review has {len(data):,} bytes, expected at most {_LARGEST:,}")
    if not data.strip():
        raise ReviewError("the review is empty, expected a JSON object with verdict and findings")
    try:
        given = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ReviewError(f"the review is no JSON ({error}), expected an object with verdict and findings") from None
    if not isinstance(given, dict):
        raise ReviewError(f"the review is a {type(given).__name__}, expected an object with verdict and findings")
    verdict, findings = given.get("verdict"), given.get("findings")
    if verdict not in (READY, SHIP, REVISE):
        raise ReviewError(f"verdict is {_shown(verdict)}, expected one of {READY}, {SHIP}, {REVISE}")
    if not isinstance(findings, list) or len(findings) > _MOST:
        raise ReviewError(f"findings is no list of at most {_MOST} entries")
    return Review(reviewer, verdict, [_finding(each, at, reviewer, turn) for at, each in enumerate(findings)])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; a key that is there twice leaves open what was meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _finding(given: Any, at: int, reviewer: str, turn: int) -> Finding:
    where = f"findings[{at}]"
    if not isinstance(given, dict):
        raise ReviewError(f"{where} is a {type(given).__name__}, expected an object")
    for name, most in (("id", 200), ("location", 500), ("claim", _LONGEST)):
        text = given.get(name)
        if not isinstance(text, str) or (name != "location" and not text.strip()):
            raise ReviewError(f"{where}.{name} is {_shown(text)}, expected a text")
        if len(text) > most:
            raise ReviewError(f"{where}.{name} has {len(text):,} characters, expected at most {most:,}")
    if given.get("severity") not in SEVERITIES:
        raise ReviewError(
            f"{where}.severity is {_shown(given.get('severity'))}, expected one of {', '.join(SEVERITIES)}"
        )
    if not isinstance(given.get("blocking"), bool):
        raise ReviewError(f"{where}.blocking is {_shown(given.get('blocking'))}, expected true or false")
    return Finding(
        _storable(given["id"]),
        given["severity"],
        given["blocking"],
        _storable(given["location"]),
        _storable(given["claim"]),
        reviewer=reviewer,
        since=turn,
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _storable(text: str) -> str:
    """Return a text that can be written down: half a character pair is none."""
    return text.encode("utf-8", "replace").decode()


class Verdict:
    """What code makes of all reviews of a turn: the verdict, what is open, what was resolved, what came back."""

    __slots__ = ("open", "resolved", "returned", "verdict")

    def __init__(self, verdict: str, open: list[Finding], resolved: list[Finding], returned: list[Finding]):
        self.verdict = verdict
        self.open = open
        self.resolved = resolved
        self.returned = returned

    def as_mapping(self) -> dict[str, Any]:
        """Return what the next turn must address, and nothing else."""
        return {"verdict": self.verdict, "findings": [each.as_mapping() for each in self.open]}


def merge(
    stage: str, reviews: Iterable[Review], failed_checks: Iterable[Finding] = (), earlier: Iterable[Finding] = ()
) -> Verdict:
    """Return the verdict of a turn.

    It is the stage's terminal one where every reviewer gave it, no check failed and no blocking
    finding is open; else ``revise``. What a reviewer does not raise again is resolved. A failed
    check is a blocking finding. ``earlier`` are the findings that were open before.
    """
    before = {each.key: each for each in earlier}
    verdicts: list[str] = []
    now: dict[str, Finding] = {}
    for review in reviews:
        verdicts.append(review.verdict)
        for each in review.findings:
            _take(now, each)
    for each in failed_checks:
        _take(now, each)
    gone = {key: each for key, each in before.items() if key not in now}
    known_ones, returned = [], []
    for key, each in now.items():
        known = before.get(key)
        if known is None:  # the same words about the same file: its lines moved
            moved = next((at for at, other in gone.items() if other.loose == each.loose), None)
            known = gone.pop(moved) if moved else None
        if known is not None:
            each.since, each.id = known.since, known.id
            known_ones.append(each)
            if each.words == known.words:
                returned.append(each)
    _name_apart(now.values(), known_ones)
    found = sorted(now.values(), key=lambda each: (not each.blocking, SEVERITIES.index(each.severity), each.since))
    wanted = TERMINAL[stage]
    done = bool(verdicts) and all(each == wanted for each in verdicts) and not any(each.blocking for each in found)
    return Verdict(wanted if done else REVISE, found, list(gone.values()), returned)


def _take(now: dict[str, Finding], each: Finding) -> None:
    """Take a finding in; of two that say the same the stricter one counts."""
    there = now.setdefault(each.key, each)
    there.blocking = there.blocking or each.blocking


def _name_apart(findings: Iterable[Finding], known: list[Finding]) -> None:
    """Give findings of the same id names of their own: two reviewers number alike. Known ones keep theirs."""
    taken = {each.id for each in known}
    for each in findings:
        if any(each is other for other in known):
            continue
        name, count = each.id, 1
        while each.id in taken:
            count += 1
            each.id = f"{name}-{count}"
        taken.add(each.id)
