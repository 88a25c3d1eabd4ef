"""A turn ends as the one before it did: red in the same places."""

from __future__ import annotations

from unspin.detect.detection import Detection, Detector, evidence, forget_oldest, note
from unspin.events import Message, TurnReport
from unspin.facts.digest import digest
from unspin.facts.step import FAILED, PASSED, Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from unspin.detect.detection import Noticed
    from unspin.facts.step import CheckResult, Step

_TESTS = 400  # that were red before the first change
_RUNS = 128
_FINDINGS = 60
_SESSION = ""  # the run that a session's own rounds belong to


class Rot(Detector):
    """Fires when a turn ends with the same failing tests, or a failed build, as the turn before it.

    A turn ends with the person's message, or where whoever runs it reports it. What counts is
    the last test run and the last build of a turn whose outcome is certain; tests that failed
    before the session's first change are left out, and no failing test is no rot. A review
    finding that returns word for word counts where turns are reported. Logged, never said.

    State: ``runs``, per run the turn under way and the one before; ``old``, tests that were red before
    the first change; ``edited``, whether there was one.
    """

    rule = "rot"
    loop = False
    keys = {
        "rot.enabled": ("flag", True, "log turns that end with the same failing tests as the last one"),
    }

    def initial(self) -> dict[str, Any]:
        return {"runs": {}, "old": {}, "edited": False}

    def observe(self, event: Noticed) -> list[Detection]:
        if isinstance(event, TurnReport):
            return self._report(event)
        if isinstance(event, Message):
            return self._end() if event.by_person else []
        if isinstance(event, Round) and not event.agent:
            for step in event.steps:
                self._step(step)
        return []

    # -- a session's own rounds --------------------------------------------------------

    def _step(self, step: Step) -> None:
        if step.refused:
            return
        if not self.state["edited"]:
            if step.changes and step.written():
                self.state["edited"] = True
            elif step.failing:
                self.state["old"].update(dict.fromkeys((each[0] for each in step.failing), 1))
                forget_oldest(self.state["old"], _TESTS)
        for check in step.checks:
            if check.kind == "test" and check.outcome in (PASSED, FAILED):
                red = [each[0] for each in step.failing if each[0] not in self.state["old"]]
                self._now()["tests"] = _set(red if check.outcome == FAILED else [])
                self._now()["seen"] = note(step, step.error_text)
            elif _builds(check) and check.outcome in (PASSED, FAILED):
                self._now()["build"] = check.outcome
                self._now()["seen"] = note(step, step.error_text)

    def _now(self) -> dict[str, Any]:
        run = self.state["runs"].setdefault(_SESSION, _run())
        now: dict[str, Any] = run["now"]
        return now

    def _end(self) -> list[Detection]:
        run = self.state["runs"].get(_SESSION)
        if run is None:
            return []
        found = self._compare(_SESSION, run)
        run["last"], run["now"] = run["now"], _turn()
        return found

    # -- turns that are reported -------------------------------------------------------

    def _report(self, event: TurnReport) -> list[Detection]:
        """Take what somebody says of a turn; several reports of one turn are one, the last word counts."""
        runs = self.state["runs"]
        run = runs.setdefault(f"run {event.run}"[:200], _run())
        if run["turn"] != event.turn:
            if run["turn"]:
                run["last"], run["now"] = run["now"], _turn()
            run["turn"] = event.turn
        now = run["now"]
        if event.failing_tests is not None:
            now["tests"] = _set([digest(str(each)) for each in event.failing_tests])
        if event.build:
            now["build"] = event.build
        texts = {digest(" ".join(each.split())): each for each in event.findings}
        now["findings"] = sorted({*now["findings"], *texts})[:_FINDINGS]
        now["seen"] = [0, "turn", "", f"turn {event.turn} of {event.run}"[:100]]
        forget_oldest(runs, _RUNS)
        return self._compare(f"{event.run} {event.turn}", run, texts)

    def _compare(self, about: str, run: dict[str, Any], texts: dict[str, str] | None = None) -> list[Detection]:
        now, last = run["now"], run["last"]
        if last is None:
            return []
        found = []
        if now["tests"] and now["tests"][0] and now["tests"] == last["tests"]:
            now["red"] = last["red"] + 1
            found.append(self._detection("tests", f"{about} {now['tests'][1]}", now["red"], now, last))
        if now["build"] == FAILED and last["build"] == FAILED:
            now["unbuilt"] = last["unbuilt"] + 1
            found.append(self._detection("build", f"{about} build", now["unbuilt"], now, last))
        for each in texts or ():
            if each in last["findings"]:
                text = " ".join((texts or {})[each].split())
                found.append(self._detection("finding", f"{about} {each}", 2, now, last, text))
        return found

    def _detection(
        self, signal: str, subject: str, count: int, now: dict[str, Any], last: dict[str, Any], text: str = ""
    ) -> Detection:
        return Detection(
            self.rule,
            f"{signal} {subject}",
            count,
            evidence([each["seen"] for each in (last, now) if each["seen"]]),
            details={"signal": signal, "size": (now["tests"] or [0])[0], "text": text[:200]},
            quiet=True,
        )


def _builds(check: CheckResult) -> bool:
    """Tell whether a check is a build; TypeScript's compiler is one, whether it writes files or not."""
    return check.kind == "build" or (check.kind == "type" and any(w.endswith("tsc") for w in check.command.split()))


def _set(tests: list[str]) -> list[Any]:
    """Return how many tests a set has, and what tells it from any other."""
    unlike = sorted(set(tests))
    return [len(unlike), digest(" ".join(unlike))]


def _turn() -> dict[str, Any]:
    return {"tests": None, "build": "", "findings": [], "red": 1, "unbuilt": 1, "seen": None}


def _run() -> dict[str, Any]:
    return {"turn": "", "now": _turn(), "last": None}
