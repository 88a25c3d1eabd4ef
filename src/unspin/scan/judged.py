"""The rounds that a scan's guard judges, for those who watch it, and as its detectors get them."""

from __future__ import annotations

from unspin.events import BY_GUARD, Message
from unspin.facts.step import Round
from unspin.scan.items import Ended, Used

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.scan.items import Thing
    from unspin.scan.scanning import Session


def judged(thing: Thing, session: Session) -> list[Round]:
    """Return the rounds that ``thing`` closed: of what the guard is not shown, none."""
    return [] if isinstance(thing, (Used, Ended)) else session.guard.judged


def as_noticed(closed: Round) -> list[Round | Message]:
    """Return a judged round as detectors get it: without our own refusals; who spoke through a call has spoken."""
    steps = [step for step in closed.steps if step.refused != BY_GUARD or closed.agent]
    found: list[Round | Message] = [Round(steps, closed.agent)] if steps else []
    if not closed.agent and any(step.spoke for step in closed.steps):
        found.append(Message(by_person=True))
    return found
