"""The same action over and over, or a few in turn."""

from __future__ import annotations

from unspin.detect.detection import Detection, Detector, evidence, note
from unspin.events import BY_GUARD, BY_PERSON, BY_SIBLING, EDIT, Compaction, Message
from unspin.facts.digest import digest
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import Step

_LONGEST_CYCLE = 8
_SHOWN = 24  # actions of a cycle that are shown as evidence
_LABEL = 60
_MAX_HELD = 4_000_000


def is_stalled(actions: Sequence[Hashable]) -> bool:
    """Tell whether a sequence of action names ends in a triple repeat or an A B A B.

    The bare rule for any sequence, the empty one included: looks at the tail only, with at
    most three comparisons, and knows neither arguments nor results.

    >>> is_stalled(["read", "edit", "test", "test", "test"])
    True
    >>> is_stalled(["read", "edit", "read", "edit"])
    True
    >>> is_stalled(["read", "read"])
    False
    """
    if len(actions) < 3:
        return False
    if actions[-1] == actions[-2]:
        return bool(actions[-2] == actions[-3])
    return len(actions) > 3 and bool(actions[-1] == actions[-3]) and bool(actions[-2] == actions[-4])


class RepeatedAction(Detector):
    """Fires when the same action with the same result came that many times running, or in a cycle of 2 to 8.

    The calls of one round are one action; identical ones in it count once. An action is
    its tool, its exact arguments and its normalised result; an accepted edit counts by
    its arguments alone (one public run applied one edit 34 times), and a program that
    could not even be started by that error alone. A cycle of two fires at the fourth
    action, after three laps where the two are an edit and a check; longer cycles after
    three laps. Notes, sleeps and polling are looked through; an exempt call parts a row. A compaction starts afresh
    (files are read again after it), and so does the person's message.

    State: ``tail``, the last actions: ``[identity, label, is edit, is check, evidence]``. An identity
    that nothing was compared with is not known yet (``_Late``): it is read when the state is asked for.
    Default threshold 3 (``loop.repeated_actions``).
    """

    rule = "repeated_action"
    keys = {
        "loop.repeated_actions": ("laps", 3, "times running the same action with the same result"),
    }

    def initial(self) -> dict[str, Any]:
        self._held = 0  # bytes of outputs that identities may still be read from
        return {"tail": []}

    @property
    def state(self) -> dict[str, Any]:
        """All that the detector remembers, as plain data."""
        self._held = 0
        for each in self._state["tail"]:
            each[0] = str(each[0])
        return self._state

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self._held = 0
        self._state = state

    def observe(self, event: Noticed) -> list[Detection]:
        if (isinstance(event, Message) and event.by_person) or isinstance(event, Compaction):
            self.state = self.initial()
        if not isinstance(event, Round) or event.agent:
            return []
        action = _action(event.steps)
        if action is None:
            return []
        self._held += sum(step.size for step in event.steps)
        tail = self._state["tail"] if self._held < _MAX_HELD else self.state["tail"]
        tail.append(action)
        del tail[: -self.threshold * _LONGEST_CYCLE]
        period, laps = self._cycle(tail)
        if not period:
            return []
        lap = tail[-period:]
        names = sorted(str(each[0]) for each in lap)
        files = {each[4][2] for each in lap if each[4][2]}
        return [
            Detection(
                self.rule,
                digest("\n".join(names)),
                laps,
                evidence([each[4] for each in tail[-laps * period :]][-_SHOWN:]),
                file=files.pop() if len(files) == 1 else "",
                details={"actions": [each[1] for each in lap]},
            )
        ]

    def _cycle(self, tail: list[list[Any]]) -> tuple[int, int]:
        """Return the shortest period in which the tail repeats itself, and its laps; else 0, 0."""
        last = tail[-1][0]
        for period in range(1, _LONGEST_CYCLE + 1):
            if period >= len(tail) or _differ(last, tail[-1 - period][0]):
                continue
            laps = self.threshold
            if period == 2 and not self._is_edit_and_check():
                laps -= 1
            names = [each[0] for each in tail]
            if len(tail) < period * laps or not _may_repeat(names, period, laps) or names[-1] != names[-1 - period]:
                continue
            if _repeats(names, period, laps):
                while len(names) >= period * (laps + 1) and _repeats(names, period, laps + 1):
                    laps += 1
                return period, laps
        return 0, 0

    def _is_edit_and_check(self) -> bool:
        pair = self._state["tail"][-2:]
        return len(pair) == 2 and (
            (pair[0][2] and pair[1][3] and not pair[1][2]) or (pair[1][2] and pair[0][3] and not pair[0][2])
        )


def _may_repeat(names: list[Any], period: int, laps: int) -> bool:
    """Tell whether the beginnings of identities repeat: only then are outputs worth reading."""
    tail = names[-period * laps :]
    return not any(_differ(one, other) for one, other in zip(tail, tail[period:], strict=False))


def _repeats(names: list[Any], period: int, laps: int) -> bool:
    tail = names[-period * laps :]
    return all(tail[at] == tail[at + period] for at in range(len(tail) - period))


def _action(steps: list[Step]) -> list[Any] | None:
    """Return the round as one action, or nothing where only notes, waits and refusals are in it."""
    counted: list[Step] = []
    for step in steps:
        if step.exempt:
            return [f"exempt {step.index}", step.label[:_LABEL], False, False, note(step)]
        if not (step.spacer or step.polls or step.refused in (BY_PERSON, BY_GUARD, BY_SIBLING)):
            counted.append(step)
    if not counted:
        return None
    if len(counted) > 1 and len({_beginning(step) for step in counted}) < len(counted):
        found: dict[str, Step] = {}
        for step in counted:
            found.setdefault(_identity(step), step)
        counted = list(found.values())
    first = counted[0]
    label = first.label[:_LABEL]
    if len(counted) > 1:
        label = f"{label} and {len(counted) - 1} more"
    return [
        _Late(counted),
        label,
        any(step.changes and step.written() for step in counted),
        any(step.checks for step in counted),
        note(first, file=first.changes[0].path if first.changes else ""),
    ]


class _Late:
    """The identity of an action, read where its beginning does not tell it from another: most outputs never are."""

    __slots__ = ("_known", "_parts", "beginning")

    def __init__(self, steps: list[Step]):
        self._parts = [_identity(step) if _is_told(step) else step for step in steps]
        beginnings = [_beginning(step) for step in steps]
        self.beginning = beginnings[0] if len(steps) == 1 else "\n".join(sorted(beginnings))
        self._known = ""

    def __str__(self) -> str:
        if not self._known:
            found = sorted(each if isinstance(each, str) else _identity(each) for each in self._parts)
            self._known = found[0] if len(found) == 1 else digest("\n".join(found))
            self._parts = []
        return self._known

    def __eq__(self, other: object) -> bool:
        if _differ(self, other):
            return False
        return str(self) == str(other)

    __hash__ = None  # type: ignore[assignment]


def _differ(one: object, other: object) -> bool:
    """Tell whether two identities differ from their beginnings on."""
    return isinstance(one, _Late) and isinstance(other, _Late) and one.beginning != other.beginning


def _beginning(step: Step) -> str:
    """Return what an identity begins with, the output not looked at."""
    return f"{step.tool} {step.unstartable}" if step.unstartable else step.what


def _is_told(step: Step) -> bool:
    """Tell whether a beginning is the whole identity."""
    return bool(step.unstartable) or (step.action == EDIT and not step.failed and not step.refused)


def _identity(step: Step) -> str:
    if _is_told(step):
        return _beginning(step)
    return f"{step.what} {step.result}{step.refused}"
