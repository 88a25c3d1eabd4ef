"""A turn ends as the one before it did: red in the same places."""

from __future__ import annotations

from unspin.detect.detection import Detection, Detector, evidence, forget_oldest, note
from unspin.events import Message, TurnReport
from unspin.facts.digest import digest
from unspin.facts.step import FAILED, PASSED, Round

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
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
    the last test run and the last build of a turn whose outcome is certain; a later run of which
    only the summary is known, and that is green, leaves the end of the turn open. Tests that failed
    before the session's first change are left out, and no failing test is no rot. A review
    finding that returns word for word, from whichever turn, counts where turns are reported. Logged, never said.

    State: ``runs``, per run the turn under way, the one before and the findings so far; ``old``, tests that were
    red before the first change, if there was one; ``edited``, whether there was.
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
        if isinstance(event, Round):
            for step in event.steps:
                self._step(step, event.agent)
        return []

    # -- a session's own rounds --------------------------------------------------------

    def _step(self, step: Step, agent: str) -> None:
        if step.refused:
            return
        if not self.state["edited"] and step.changes and step.written():
            self.state["edited"] = True
        if agent:
            return  # its checks say nothing of how the turn ends
        if not self.state["edited"]:
            self._red_before(each[0] for each in step.failing)
        for check in step.checks:
            outcome = check.shown if check.hidden == "untold" and check.shown else check.outcome
            if check.kind == "test" and outcome in (PASSED, FAILED):
                red = [each[0] for each in step.failing if each[0] not in self.state["old"]]
                self._now()["tests"] = _set(red if outcome == FAILED else [])
                self._now()["seen"] = note(step, step.error_text)
            elif check.kind == "test" and _looks_green(check):
                self._now()["tests"] = None
            elif _builds(check) and check.outcome in (PASSED, FAILED):
                self._now()["build"] = check.outcome
                self._now()["seen"] = note(step, step.error_text)
            elif _builds(check):
                self._now()["build"] = ""  # it ran again, and nobody knows how it ended

    def _red_before(self, tests: Iterable[str]) -> None:
        self.state["old"].update(dict.fromkeys(tests, 1))
        forget_oldest(self.state["old"], _TESTS)

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
            red = [digest(str(each)) for each in event.failing_tests]
            if self.state["edited"]:
                red = [each for each in red if each not in self.state["old"]]
            else:
                self._red_before(red)  # left out once a change is seen: most logs of turns hold none
            now["tests"] = _set(red)
        if event.build:
            now["build"] = event.build
        now["seen"] = [event.index, "turn", "", f"turn {event.turn} of {event.run}"[:100]]
        forget_oldest(runs, _RUNS)
        about = f"{event.run} {event.turn}"
        return self._compare(about, run) + self._returned(about, run, event)

    def _returned(self, about: str, run: dict[str, Any], event: TurnReport) -> list[Detection]:
        """Take the turn's findings; return those that stood in a turn before, with in how many turns they did."""
        found = []
        for text in (" ".join(each.split()) for each in event.findings):
            key = digest(text)
            turn, count, seen = run["findings"].pop(key, ("", 0, None))
            if turn == event.turn:  # of this turn already
                run["findings"][key] = [turn, count, seen]
                continue
            run["findings"][key] = [event.turn, count + 1, run["now"]["seen"]]
            if seen:
                notes = evidence([seen, run["now"]["seen"]])
                found.append(self._detection("finding", f"{about} {key}", count + 1, notes, text=text))
        forget_oldest(run["findings"], _FINDINGS)
        return found

    def _compare(self, about: str, run: dict[str, Any]) -> list[Detection]:
        now, last = run["now"], run["last"]
        if last is None:
            return []
        found = []
        notes = evidence([each["seen"] for each in (last, now) if each["seen"]])
        if now["tests"] and now["tests"][0] and now["tests"] == last["tests"]:
            now["red"] = last["red"] + 1
            size, key = now["tests"]
            found.append(self._detection("tests", f"{about} {key}", now["red"], notes, size=size))
        if now["build"] == FAILED and last["build"] == FAILED:
            now["unbuilt"] = last["unbuilt"] + 1
            found.append(self._detection("build", f"{about} build", now["unbuilt"], notes))
        return found

    def _detection(
        self, signal: str, subject: str, count: int, notes: list[dict[str, Any]], *, size: int = 0, text: str = ""
    ) -> Detection:
        details = {"signal": signal, "size": size, "text": text[:200]}
        return Detection(self.rule, f"{signal} {subject}", count, notes, details=details, quiet=True)


def _builds(check: CheckResult) -> bool:
    """Tell whether a check is a build; TypeScript's compiler is one, whether it writes files or not."""
    return check.kind == "build" or (check.kind == "type" and any(w.endswith("tsc") for w in check.command.split()))


def _set(tests: list[str]) -> list[Any]:
    """Return how many tests a set has, and what tells it from any other."""
    unlike = sorted(set(tests))
    return [len(unlike), digest(" ".join(unlike))]


def _looks_green(check: CheckResult) -> bool:
    """Tell whether a run whose outcome nobody knows says itself that tests passed and none failed."""
    return bool(check.counts) and check.counts[0] > 0 and check.counts[1] == 0


def _turn() -> dict[str, Any]:
    return {"tests": None, "build": "", "red": 1, "unbuilt": 1, "seen": None}


def _run() -> dict[str, Any]:
    return {"turn": "", "now": _turn(), "last": None, "findings": {}}
