"""What a worker is told: everything it needs, and nothing of earlier transcripts, within a bound.

The prompt of turn 15 is as large as that of turn 2: it holds the ticket, the design, and the
findings that this turn must address; what is longer than its share is cut, and says so.
"""

from __future__ import annotations

import json
import os

from unspin.handoff.document import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from unspin.run.findings import Finding

_SHARES = {"ticket": 0.3, "design": 0.35, "findings": 0.25}

with open(os.path.join(os.path.dirname(__file__), "texts.json"), encoding="utf-8") as _file:
    _TEXTS = json.load(_file)


def author(stage: str, *, ticket: str, design: str, findings: Sequence[Finding], tokens: int) -> str:
    """Return the prompt of an author turn, of at most ``tokens`` tokens."""
    parts = [_TEXTS["tasks"][stage], _TEXTS["read"], _part("The ticket", ticket, tokens, "ticket")]
    if design.strip():
        title = "The design so far" if stage == "design" else "The approved design" if stage == "code" else "The sketch"
        parts.append(_part(title, design, tokens, "design"))
    if findings:
        parts.append(_findings(findings, tokens))
    return "\n\n".join(parts) + "\n"


def reviewer(
    stage: str, look: str, *, ticket: str, design: str, changed: str, findings: Sequence[Finding], tokens: int
) -> str:
    """Return the prompt of a review of a stage."""
    what = "the design below" if stage == "design" else "the change in this folder, against the design below"
    terminal = "ready" if stage == "design" else "ship"
    parts = [f"You review {what}. {look}", _TEXTS["review"] % terminal, _part("The ticket", ticket, tokens, "ticket")]
    parts.append(_part("The design", design, tokens, "design"))
    if changed:
        parts.append(_part("Files changed", changed, tokens, "findings"))
    if findings:
        parts.append(_findings(findings, tokens))
    return "\n\n".join(parts) + "\n"


def _part(title: str, text: str, tokens: int, share: str) -> str:
    return f"## {title}\n\n{cut(text.strip(), int(tokens * _SHARES[share]))}"


def _findings(findings: Sequence[Finding], tokens: int) -> str:
    lines = ["## Open findings: this turn must address these", ""]
    room = int(tokens * _SHARES["findings"])
    for at, each in enumerate(findings):
        kind = f"{each.severity}, blocking" if each.blocking else each.severity
        line = f"- {each.id} ({kind}) {each.location}: {' '.join(each.claim.split())}"
        if estimate("\n".join([*lines, line])) > room:
            lines.append(f"- and {len(findings) - at} more, in the verdict file of the turn before")
            break
        lines.append(line)
    return "\n".join(lines)


def cut(text: str, tokens: int) -> str:
    """Return a text within a bound, its end left out where it is longer."""
    if estimate(text) <= tokens:
        return text
    note = "\n\n(The rest is left out: it is in the workspace.)"
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate(text[:middle] + note) <= tokens:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + note
