"""What a worker is told: everything it needs, and nothing of earlier transcripts, within a bound.

The prompt of turn 15 is as large as that of turn 2: it holds the ticket, the design, what the
person decided, and the findings that this turn must address. What is longer than its share
is cut, and says so; a share that is not used goes to the others.
"""

from __future__ import annotations

import json
import os

from unspin.handoff.document import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unspin.run.findings import Finding

#: Tokens that a prompt needs at least.
LEAST = 1000

_PROBLEM = 120  # tokens of the reason why an attempt came to nothing
_CHARACTERS = 8  # of a token at most: longer texts are cut there, whatever they come to
_REST = "\n\n(The rest is left out here; the workspace has it whole: {})"

with open(os.path.join(os.path.dirname(__file__), "texts.json"), encoding="utf-8") as _file:
    _TEXTS = json.load(_file)


def author(
    stage: str,
    *,
    ticket: str,
    design: str,
    findings: Sequence[Finding],
    tokens: int,
    decisions: str = "",
    files: Sequence[str] = (),
    verdict: str = "",
    problem: str = "",
) -> str:
    """Return the prompt of an author turn, of at most ``tokens`` tokens.

    ``files`` are those that the design names, ``verdict`` the file with the findings that are open, ``problem`` why
    the attempt before this one came to nothing, if it did.
    """
    title = "The design so far" if stage == "design" else "The approved design" if stage == "code" else "The sketch"
    parts = [("The ticket", ticket, 5.0, "ticket.md")]
    if design.strip():
        parts.append((title, design, 6.0, "design.md"))
    if files:
        parts.append((_TEXTS["files"], "\n".join(f"- {each}" for each in files), 1.0, "design.md"))
    if decisions.strip():
        parts.append(("Decided by the person", decisions, 1.0, "decisions.md"))
    if findings:
        parts.append((_TEXTS["open"], _listed(findings), 4.0, verdict or "verdict.json"))
    return _whole([_TEXTS["tasks"][stage], *_again(problem), _TEXTS["read"]], parts, tokens)


def reviewer(
    stage: str,
    look: str,
    *,
    ticket: str,
    design: str,
    changed: str,
    findings: Sequence[Finding],
    tokens: int,
    base: str = "",
    decisions: str = "",
    problem: str = "",
) -> str:
    """Return the prompt of a review of a stage; ``base`` is the commit that the change began from.

    ``problem`` is why the attempt before this one does not count, if there was one.
    """
    what = "the design below" if stage == "design" else "the change in this folder, against the design below"
    terminal = "ready" if stage == "design" else "ship"
    head = [cut(f"You review {what}. {look}", tokens // 4), _TEXTS["review"] % terminal, _TEXTS["read_review"]]
    head += _again(problem)
    if base:
        head.append(f"See the change with: git diff {base}")
    parts = [("The ticket", ticket, 4.0, "ticket.md"), ("The design", design, 5.0, "design.md")]
    if changed:
        parts.append(("Files changed", changed, 2.0, "description.md"))
    if decisions.strip():
        parts.append(("Decided by the person", decisions, 1.0, "decisions.md"))
    if findings:
        parts.append((_TEXTS["yours"], _listed(findings), 3.0, "verdict.json"))
    return _whole(head, parts, tokens)


def _again(problem: str) -> list[str]:
    return [_TEXTS["again"] % cut(" ".join(problem.split()), _PROBLEM)] if problem else []


def _whole(head: list[str], parts: list[tuple[str, str, float, str]], tokens: int) -> str:
    """Put a prompt together: what has to be said, and each part within its share of what is left."""
    fixed = "\n\n".join(head) + "".join(f"\n\n## {title}\n\n" for title, *_ in parts)
    room = tokens - estimate(fixed) - 4 * len(parts)
    wanted = {at: _most(text.strip(), room) for at, (_, text, _, _) in enumerate(parts)}
    given: dict[int, int] = {}
    for at in sorted(wanted, key=lambda each: wanted[each] / parts[each][2]):
        weight = sum(parts[each][2] for each in wanted if each not in given)
        given[at] = max(0, min(wanted[at], int((room - sum(given.values())) * parts[at][2] / weight)))
    texts = [f"## {title}\n\n{cut(text.strip(), given[at], where)}" for at, (title, text, _, where) in enumerate(parts)]
    return cut("\n\n".join([*head, *texts]), tokens - 3) + "\n"


def _most(text: str, room: int) -> int:
    """Return the tokens that a text wants, ``room`` where it is more than that."""
    return room if len(text) > room * _CHARACTERS else min(room, estimate(text))


def _listed(findings: Sequence[Finding]) -> str:
    lines = []
    for each in findings:
        kind = f"{each.severity}, blocking" if each.blocking else each.severity
        who = f", {each.reviewer}" if each.reviewer else ""
        where, claim = " ".join(each.location.split()), " ".join(each.claim.split())
        lines.append(f"- {' '.join(each.id.split())} ({kind}{who}) {where}: {claim}")
    return "\n".join(lines)


def cut(text: str, tokens: int, where: str = "") -> str:
    """Return a text within a bound, its end left out where it is longer; ``where`` it stands whole."""
    note = _REST.format(where) if where else " (...)"
    head = text[: int(max(0, tokens) * _CHARACTERS)]
    if len(head) == len(text) and estimate(text) <= tokens:
        return text
    if estimate(note) > tokens:
        note = ""
    low, high = 0, len(head)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(head[:middle] + note) <= tokens:
            low = middle
        else:
            high = middle - 1
    return head[:low].rstrip() + note
