"""Claims without work: what an agent says at the end of a turn, held against what its tools did. Off by default.

``reconcile`` judges one text; ``ClaimGuard`` is the state machine around it for an agent loop.
"""

from __future__ import annotations

from unspin.claims.activity import Activity, Call
from unspin.claims.guard import ClaimGuard
from unspin.claims.lists import LANGUAGES
from unspin.claims.reconciling import DONE, FAILED, POSSIBLE, UNBACKED, VETOED, ClaimVerdict, Finding, reconcile

__all__ = [
    "DONE",
    "FAILED",
    "LANGUAGES",
    "POSSIBLE",
    "UNBACKED",
    "VETOED",
    "Activity",
    "Call",
    "ClaimGuard",
    "ClaimVerdict",
    "Finding",
    "reconcile",
]
