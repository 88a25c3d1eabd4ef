"""Detectors: one rule, one file, one state machine.

``DETECTORS`` is the one list; its order is the order in which several that fire at once
are said. To add a rule, add its file and its line here (and see CONTRIBUTING.md).
"""

from __future__ import annotations

from unspin.detect.bloat import Bloat
from unspin.detect.detection import Detection, Detector
from unspin.detect.failing_edits import FailingEdits
from unspin.detect.oscillation import Oscillation
from unspin.detect.recurring_error import RecurringError
from unspin.detect.rejected_edits import RejectedEdits
from unspin.detect.repeated_action import RepeatedAction, is_stalled
from unspin.detect.rot import Rot
from unspin.detect.tampering import Tampering
from unspin.detect.unchanged_result import UnchangedResult

DETECTORS: tuple[type[Detector], ...] = (
    FailingEdits,
    RecurringError,
    RejectedEdits,
    RepeatedAction,
    UnchangedResult,
    Oscillation,
    Tampering,
    Bloat,
    Rot,
)

LOOP_RULES = frozenset(each.rule for each in DETECTORS if each.loop)

__all__ = ["DETECTORS", "LOOP_RULES", "Detection", "Detector", "is_stalled"]
