"""The rounds that a scan's guard judged, as its detectors got them.

A guard keeps what its last event closed, and a scan asks it once more after most events
(can the agent be told something now?): what was judged is taken down in between.
"""

from __future__ import annotations

from unspin.events import BY_GUARD, Message
from unspin.facts.step import Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.events import Event
    from unspin.guard import Guard, Response


class Judged:
    """Takes down what ``guard`` judges from now on: ``taken()`` returns it, and begins anew."""

    def __init__(self, guard: Guard):
        self._observe = guard.observe
        self._guard = guard
        self._rounds: list[Round] = []
        guard.observe = self._observed  # type: ignore[method-assign]

    def _observed(self, event: Event) -> list[Response]:
        responses = self._observe(event)
        self._rounds += self._guard.judged
        return responses

    def taken(self) -> list[Round]:
        """Return the rounds that were judged since it was asked last."""
        rounds, self._rounds = self._rounds, []
        return rounds


def as_noticed(judged: Round) -> list[Round | Message]:
    """Return a judged round as detectors get it: without our own refusals; who spoke through a call has spoken."""
    steps = [step for step in judged.steps if step.refused != BY_GUARD or judged.agent]
    found: list[Round | Message] = [Round(steps, judged.agent)] if steps else []
    if not judged.agent and any(step.spoke for step in judged.steps):
        found.append(Message(by_person=True))
    return found
