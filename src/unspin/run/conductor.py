"""Takes a run from step to step: asks the machine what comes next, has it done, writes down what came of it.

Every change of state is written before what it allows is started, so that a run that is
killed anywhere goes on from the files. Nothing in here decides when it is enough.
"""

from __future__ import annotations

import json
import os
import re
import time

from unspin.events import TurnReport, shell
from unspin.facts.digest import digest
from unspin.facts.failures import failing_tests
from unspin.facts.reading import Reader
from unspin.facts.redact import redact
from unspin.facts.step import FAILED
from unspin.guard import Guard, Settings
from unspin.guard.budget import Budget, StopReport
from unspin.run import clients, clone, prompts, usage, worker
from unspin.run import machine as m
from unspin.run.clone import RunError
from unspin.run.findings import CHECKS, SCHEMA, Finding, Review, ReviewError, Verdict, merge, read
from unspin.run.ledger import read_plain
from unspin.run.machine import Machine
from unspin.run.settings import ENVIRONMENT, PREFIXES, RunSettings
from unspin.run.workspace import Files, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unspin.run.machine import Step
    from unspin.run.settings import Worker

_LONGEST_DESIGN = 400_000  # characters
_LARGEST_REVIEW = 1_000_001  # bytes: one more than a review may have
_LONGEST_PART = 10_000  # characters of each of the six parts of the description
_EXCERPT = 600  # characters of a check's output in the report
_PLACE = re.compile(r"[\w./@+-]*[\w/]\.\w+(?::\d[\d-]*)?|(?:[\w.@+-]+/)+[\w.@+-]+(?::\d[\d-]*)?")
_MOST_PLACES = 40
#: How a finding came to its end.
NOT_RAISED, NOT_BLOCKING, APPROVED = "not raised again", "did not block", "approved all the same"
#: The state of a run that is to go on and that no process has: its own was killed, or a decision was made since.
INTERRUPTED = "interrupted"
_NOTHING = "nothing is changed: the branch holds what the run began from"
#: Python's cache takes an edit for none that came within a second and left the size as it was.
_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}


class Conductor:
    """One run under way. ``told`` is called with each event, for whoever watches."""

    def __init__(
        self,
        files: Files,
        settings: RunSettings,
        record: dict[str, Any],
        told: Callable[[str, dict[str, Any]], None] = lambda kind, fields: None,
    ):
        self.files = files
        self.settings = settings
        self.record = record
        self.told = told
        reviewers = {stage: settings.of_stage(stage) for stage in ("design", "code")}
        self.machine = Machine(
            settings.caps, reviewers, gates=settings.gates, checks=bool(settings.checks), state=record["machine"]
        )
        self._checkout: dict[str, str] | None = None  # what was last seen of the person's

    # -- beginning ---------------------------------------------------------------------

    @classmethod
    def begin(
        cls,
        files: Files,
        settings: RunSettings,
        *,
        repository: str,
        ticket: str,
        table: dict[str, Any] | None = None,
        pull_request: bool = False,
        told: Callable[[str, dict[str, Any]], None],
    ) -> Conductor:
        """Make a new run. ``table`` are the settings as they were read: they hold to the run's end."""
        base = clone.git(repository, "rev-parse", "HEAD")
        reason = clone.unfit(repository, base)
        if reason:
            raise RunError(f"{repository}: {reason}")
        record = {
            "id": files.id,
            "repository": repository,
            "branch": files.clone.branch,
            "base": base,
            "head": base,
            "made": False,
            "commit": "",
            "tree": "",
            "events": 0,
            "open": [],
            "failed_checks": [],
            "checks": [],
            "spent": {"seconds": 0.0, "tokens": 0, "cost": 0.0},
            "since": None,
            "began": time.time(),
            "rot": None,
            "settings": table,
            "gates": list(settings.gates),
            "pull_request": pull_request,
            "machine": m.initial(),
        }
        files.prepare(ticket)
        files.keep(record)
        self = cls(files, settings, record, told)
        self._make()
        return self

    def _make(self) -> None:
        record = self.record
        self.files.make(record["repository"], record["base"])
        self._note("run_begun", repository=record["repository"], branch=record["branch"], base=record["base"])
        record["made"] = True
        self._settle("The run begins", commit=True)

    @classmethod
    def resume(
        cls,
        files: Files,
        settings: RunSettings,
        told: Callable[[str, dict[str, Any]], None],
        *,
        record: dict[str, Any] | None = None,
        repository: str = "",
    ) -> Conductor:
        """Go on with a run, from its files: what was under way when it ended is done again."""
        record = record or files.load()
        worker.end_marked(_mark(files))
        self = cls(files, settings, record, told)
        if not record.get("elsewhere") and repository and repository != record["repository"]:
            clone.demand(repository, record["base"])
            record["repository"] = repository
        if record.get("elsewhere"):
            files.arrive(record, repository or record["repository"])
            self._note("arrived", repository=record["repository"])
        elif not record["made"]:
            self._make()
            return self
        changed = files.take_up(record)
        if record["since"] is not None:  # a worker was at work when the run was killed: what it used counts
            self._count_cost()
        if self.machine.state["state"] == m.RUNNING:
            self._note("resumed", turn=self.machine.state["turn"], put_back=changed[:20])
        return self

    # -- the loop ----------------------------------------------------------------------

    def go(self) -> str:
        """Go on until the run is over or waits for a person; return its state."""
        self._checkout = self._look()
        while True:
            step = self.machine.next()
            if step.what in (m.WAIT, m.OVER):
                self._end(step)
                return str(self.machine.state["state"])
            if step.what in (m.AUTHOR, m.CHECKS, m.REVIEW) and self._spent(step):
                continue
            getattr(self, f"_{step.what}")(step)

    def _spent(self, step: Step) -> bool:
        """Halt where a budget is used up; tell whether it is. An override grants each of them once more."""
        spent, times = self.record["spent"], self.machine.state["budgets"]
        budget = Budget(
            **{name: value * times for name, value in self.settings.budget.items()},
            used={"tokens": spent["tokens"], "cost": spent["cost"]},
        )
        report = budget.before(step.what, elapsed=spent["seconds"])
        if report is not None:
            self.machine.spent(report.reason)
        return report is not None

    # -- an author turn ----------------------------------------------------------------

    def _author(self, step: Step) -> None:
        turn = self.machine.begin_author()
        stage = step.stage
        self.files.clone.reset(self.record["head"])
        self.files.clear_hand()
        write(os.path.join(self.files.hand, "design.md"), self._read("design.md"))
        self._note("author_begun", turn=turn, stage=stage)
        prompt = prompts.author(
            stage,
            ticket=self._read("ticket.md"),
            design=self._read("design.md"),
            decisions=self._decisions(),
            findings=self._open(),
            files=self._places() if stage == m.CODE else (),
            verdict=self._last_verdict(),
            problem=self.record.get("problem", ""),
            tokens=self.settings.prompt_tokens,
        )
        folder = self._folder(turn, stage)
        self._write(f"{folder}/prompt.md", prompt)
        outcome = self._work(self.settings.authors[stage], prompt, stage, turn, gives="design")
        self._keep(folder, "author", outcome)
        problem = outcome.problem or ("" if outcome.status == 0 else f"exit status {outcome.status}")
        if not problem and stage != m.CODE:
            text = self.files.handed("design.md", _LONGEST_DESIGN * 4).decode("utf-8", "replace")[:_LONGEST_DESIGN]
            if text.strip():
                self._write("design.md", text)
            else:
                problem = "it left no design"
        elif not problem:
            problem = self._commit_code(turn, folder)
        self.record["problem"] = problem
        if outcome.startable:
            self.machine.author_done(ok=not problem)
        else:
            self.machine.broken()
        self._note(
            "author_done", turn=turn, stage=stage, ok=not problem, problem=problem, seconds=round(outcome.seconds, 3)
        )
        self._settle(f"Turn {turn} ({stage}): {problem or 'done'}", commit=bool(problem) or stage == m.SKETCH)
        if problem:
            self._look_again(turn, stage)

    def _commit_code(self, turn: int, folder: str) -> str:
        """Commit what the worker left; return what is wrong with it, if anything is."""
        before = self.record["head"]
        try:
            head = self.files.clone.commit(f"{self._title()} (turn {turn})", before)
        except RunError as error:
            return str(error)
        self.record["head"] = head
        if head != before:
            self.files.ledger.write(f"{folder}/commit.pack", self.files.clone.pack(before, head))
        return ""

    def _changes_anything(self) -> bool:
        """Tell whether the branch differs from what the run began from: one that does not is no result."""
        return not self.files.clone.same(self.record["base"], self.record["head"])

    def _title(self) -> str:
        lines = (line.lstrip("# ").strip() for line in self._read("ticket.md").splitlines())
        return next(filter(None, lines), "Change")[:72]

    def _body(self) -> str:
        """Return the ticket without the heading that is its title."""
        text = self._read("ticket.md").strip()
        first, _, rest = text.partition("\n")
        return rest.strip() if first.startswith("#") and first.lstrip("# ").strip() == self._title() else text

    def _places(self) -> list[str]:
        """Return the files, with their insertion points, that the design names and that are there."""
        found: dict[str, None] = {}
        for match in _PLACE.finditer(self._read("design.md")[:100_000]):
            name, colon, line = match.group().partition(":")
            path = os.path.normpath(name)
            if not path.startswith(("..", "/", ".git/")) and os.path.isfile(os.path.join(self.files.tree, path)):
                found[f"{path}{colon}{line}"] = None
                if len(found) == _MOST_PLACES:
                    break
        return list(found)

    # -- the project's own checks ------------------------------------------------------

    def _checks(self, step: Step) -> None:
        found, told = [], []
        failing: list[str] | None = None
        build = ""
        for kind, command in self.settings.checks:
            self.files.clone.reset(self.record["head"])
            self.files.clone.touched()
            self.files.watch()
            outcome = worker.run(
                command,
                b"",
                folder=self.files.tree,
                env={**_NO_BYTECODE, **self._environment("check", step.turn)},
                limit=self.settings.check_limit,
                keep=self.settings.output_bytes,
                mark=_mark(self.files),
            )
            self._mend(step.turn, f"check {kind}")
            self.record["spent"]["seconds"] += outcome.seconds
            output = outcome.output.decode("utf-8", "replace")
            status = outcome.status if outcome.status is not None else 124
            seen = Reader(Settings({"checks.commands": {kind: [command]}})).read(shell(command, output, status))
            result = next((each.outcome for each in seen.checks), "passed" if status == 0 else "failed")
            names = [each.id for each in failing_tests(output, 40)] if result == FAILED else []
            if kind == "test" and result != "unknown":
                failing = names
            if kind == "build":
                build = result
            excerpt = redact(output[-_EXCERPT:])
            told.append({"kind": kind, "command": command, "outcome": result, "status": status, "failing": names})
            self.record["checks"] = [each for each in self.record["checks"] if each["kind"] != kind]
            self.record["checks"].append(
                {
                    "kind": kind,
                    "command": command,
                    "outcome": result,
                    "failing": names,
                    "excerpt": excerpt,
                    "turn": step.turn,
                }
            )
            self._write(f"{self._folder(step.turn, step.stage)}/check-{kind}.txt", redact(output[-200_000:]))
            if result != "passed":
                what = (
                    f"{len(names)} {'test fails' if len(names) == 1 else 'tests fail'}: {', '.join(names[:10])}"
                    if names
                    else outcome.problem or (f"exit status {status}" if status else "its outcome cannot be told")
                )
                found.append(
                    Finding(f"check-{kind}", "critical", True, command, what, reviewer=CHECKS, since=step.turn)
                )
        self.record["failed_checks"] = [each.as_mapping() for each in found]
        self.record["failing"], self.record["build"] = failing, build
        self.machine.checks_done()
        self._note("checks_done", turn=step.turn, stage=step.stage, checks=told)
        self._settle()

    # -- reviews -----------------------------------------------------------------------

    def _review(self, step: Step) -> None:
        who = next(each for each in self.settings.reviewers if each.name == step.reviewer)
        record = self.record
        self.files.clone.reset(record["head"])
        self.files.clear_hand()
        stage = f"review-{step.stage}"
        code = step.stage == m.CODE
        prompt = prompts.reviewer(
            step.stage,
            who.prompt,
            ticket=self._read("ticket.md"),
            design=self._read("design.md"),
            changed=self.files.clone.changes(record["base"], record["head"]) if code else "",
            base=record["base"] if code else "",
            decisions=self._decisions(),
            findings=[each for each in self._open() if each.reviewer in (who.name, "")],
            problem=record.get("problem", ""),
            tokens=self.settings.prompt_tokens,
        )
        folder = f"{self._folder(step.turn, step.stage)}/reviews"
        name = who.name if step.attempt == 1 else f"{who.name}-{step.attempt}"
        self._write(f"{folder}/{name}.prompt.md", prompt)
        outcome = self._work(who, prompt, stage, step.turn, gives="findings")
        self._keep(folder, name, outcome)
        problem = outcome.problem or ("" if outcome.status == 0 else f"exit status {outcome.status}")
        try:
            review = read(self.files.handed("findings.json", _LARGEST_REVIEW), who.name, turn=step.turn)
            if problem:
                raise ReviewError("a review by a worker that failed does not count")
            self._write(f"{folder}/{who.name}.json", json.dumps(_plain(review), indent=1) + "\n")
        except ReviewError as error:
            problem = f"{error}{f' ({problem})' if problem else ''}"
            self.machine.review_done(who.name, ok=False)
        else:
            self.machine.review_done(who.name, ok=True)
        record["problem"] = problem
        self._note(
            "review_done", turn=step.turn, stage=step.stage, reviewer=who.name, attempt=step.attempt, problem=problem
        )
        self._settle()

    def _judge(self, step: Step) -> None:
        folder = self._folder(step.turn, step.stage)
        names = self.machine.reviewers[step.stage]
        reviews = [
            read(self.files.ledger.read(f"{folder}/reviews/{name}.json") or b"", name, turn=step.turn) for name in names
        ]
        failed = [Finding.of(each) for each in self.record["failed_checks"]] if step.stage == m.CODE else []
        if step.stage == m.CODE and not self._changes_anything():
            failed.append(Finding("no-change", "critical", True, "", _NOTHING, reviewer=CHECKS, since=step.turn))
        verdict = merge(step.stage, reviews, failed, self._open())
        self._write(f"{folder}/verdict.json", _pretty(verdict.as_mapping()))
        self._rot(step, verdict)
        ended = verdict.verdict != "revise" and step.stage == m.DESIGN
        self.record["open"] = [] if ended else [each.as_mapping() for each in verdict.open]
        self.machine.judged(verdict.verdict)
        self._note(
            "verdict",
            turn=step.turn,
            stage=step.stage,
            verdict=verdict.verdict,
            open=len(verdict.open),
            blocking=sum(each.blocking for each in verdict.open),
            returned=[each.id for each in verdict.returned],
            resolved=[_settled(each.as_mapping(), step.turn, NOT_RAISED) for each in verdict.resolved]
            + [_settled(each.as_mapping(), step.turn, NOT_BLOCKING) for each in verdict.open if ended],
        )
        self._look_again(step.turn, step.stage)
        self._settle(f"Turn {step.turn} ({step.stage}): {verdict.verdict}", commit=True)

    def _rot(self, step: Step, verdict: Verdict) -> None:
        """Note a turn that ends as the one before did."""
        guard = Guard(state=self.record["rot"])
        report = TurnReport(
            self.record["id"],
            step.turn,
            failing_tests=self.record.get("failing") if step.stage == m.CODE else None,
            build=self.record.get("build", "") if step.stage == m.CODE else "",
            findings=[each.claim for each in verdict.open if each.reviewer != CHECKS],
        )
        for response in guard.observe(report):
            self._note("rot", turn=step.turn, stage=step.stage, message=response.message)
        self.record["rot"] = json.loads(json.dumps(guard.state))

    # -- the end -----------------------------------------------------------------------

    def _finish(self, step: Step) -> None:
        record = self.record
        changed = self.files.clone.changes(record["base"], record["head"])
        parts = [f"# {self._title()}", _within(self._body(), "ticket.md")]
        parts += ["## Design", _within(self._read("design.md").strip(), "design.md")]
        parts += ["## Changed", f"```\n{_within(changed)}\n```"]
        if record["checks"]:
            lines = [f"- {each['kind']}: {each['outcome']} (`{each['command']}`)" for each in record["checks"]]
            parts += ["## Checks", _within("\n".join(lines))]
        if record["open"]:  # a person approved it all the same, or none of it blocks
            lines = [f"- {each['id']} ({each['severity']}{', blocking' * each['blocking']}, {each['reviewer']}): "
                     f"{' '.join(each['claim'].split())}" for each in record["open"]]  # fmt: skip
            parts += ["## Objections that are open", _within("\n".join(lines), "run.json")]
        resolved = _resolved(self.files)
        if resolved:
            lines = [f"- {each['id']} ({each['reviewer']}, {each['how']}): {' '.join(each['claim'].split())}"
                     for each in resolved]  # fmt: skip
            parts += ["## Objections that were resolved", _within("\n".join(lines), "events.jsonl")]
        self._write("description.md", "\n\n".join(filter(None, parts)) + "\n")
        self.files.clone.deliver(record["repository"])
        self.machine.finished()
        self._note("shipped", branch=record["branch"], head=record["head"])
        self._settle()

    def _end(self, step: Step) -> None:
        """Leave the report of a run that is over or waits, and tell."""
        state = self.machine.state
        told = {"state": state["state"], "stop_reason": state["stop_reason"], "turns": state["turn"]}
        if self.record.get("ended") != [*told.values(), state["overrides"]]:  # else it was written down before a crash
            self.record["ended"] = [*told.values(), state["overrides"]]
            self._write("report.json", _pretty(self.report(step).as_mapping()))
            self._note("end", **told)
            self._settle(f"{state['state']}: {state['stop_reason']}", commit=True)
        self.files.finish(self.record)
        if self.settings.notify:
            worker.run(
                self.settings.notify,
                json.dumps(story(self.record, self.files)).encode(),
                folder=self.files.home,
                env={**self._environment("notify", state["turn"]), "UNSPIN_STATE": state["state"]},
                limit=60,
                keep=10_000,
                mark=_mark(self.files),
            )

    def report(self, step: Step) -> StopReport:
        """Return DESIGN's stop report of a run that is over or waits."""
        state, record = self.machine.state, self.record
        waits = state["state"] == m.HALTED
        stage = m.CODE if state["halted"] == m.GATE else step.stage  # the design is approved, code would begin
        tail = [f"{each['id']} ({each['severity']}) {each['location']}: {each['claim']}" for each in record["open"]]
        notes = [os.path.join(self.files.workspace, "events.jsonl")]
        last = self._last_verdict()
        notes += [os.path.join(self.files.workspace, last)] if last else []
        return StopReport(
            state["stop_reason"],
            completed_steps=state["turn"] - state["begun"],
            next_step=f"author turn {state['turn'] + 1} ({stage})" if waits else "",
            tokens_used=record["spent"]["tokens"],
            checks=[{key: each[key] for key in ("kind", "command", "outcome", "excerpt")} for each in record["checks"]],
            tail=tail,
            notes=notes,
        )

    # -- what all steps share ----------------------------------------------------------

    def _work(self, who: Worker, prompt: str, stage: str, turn: int, *, gives: str) -> worker.Outcome:
        """Write down that a worker starts, start it, and put right what it was not asked to touch."""
        files = self.files
        target = os.path.join(files.hand, "design.md" if gives == "design" else "findings.json")
        env = {**self._environment(stage, turn), f"UNSPIN_{gives.upper()}": target}
        path = os.path.join(files.place, "worker-settings.json")
        command, text = clients.prepared(
            who.command, path=path, project=files.tree, hand=files.hand, workspace=files.workspace
        )
        if text is not None:
            write(path, text)
        if self.record["since"] is None:
            self.record["since"] = time.time()
        self._settle()
        files.clone.touched()
        files.watch()
        outcome = worker.run(
            command,
            prompt.encode("utf-8", "replace"),
            folder=files.tree,
            env=env,
            limit=who.time_limit,
            keep=self.settings.output_bytes,
            mark=_mark(files),
        )
        self._mend(turn, stage)
        self.record["spent"]["seconds"] += outcome.seconds
        self._count_cost()
        return outcome

    def _mend(self, turn: int, stage: str) -> None:
        changed = self.files.mend(self.record)
        if changed:
            self._note("workspace_mended", turn=turn, stage=stage, changed=changed[:20])

    def _look(self) -> dict[str, str]:
        found = clone.look(self.record["repository"])
        return {name: each for name, each in found.items() if name != f"refs/heads/{self.record['branch']}"}

    def _look_again(self, turn: int, stage: str) -> None:
        """Tell where the person's checkout is not as it was: a worker that wrote outside of its folder, or a person."""
        before, now = self._checkout, self._look()
        self._checkout = now
        if before is not None and before != now:
            changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
            self._note("checkout_changed", turn=turn, stage=stage, changed=changed[:20])

    def _environment(self, stage: str, turn: int) -> dict[str, str]:
        names = {*ENVIRONMENT, *self.settings.environment}
        env = {key: value for key, value in os.environ.items() if key in names or key.startswith(PREFIXES)}
        return {
            **env,
            "UNSPIN_RUN": self.record["id"],
            "UNSPIN_STAGE": stage,
            "UNSPIN_TURN": str(turn),
            "UNSPIN_WORKSPACE": self.files.workspace,
        }

    def _count_cost(self) -> None:
        """Add what the last worker used, where it leaves transcripts that we can read: those written since it began."""
        began, self.record["since"] = self.record["since"], None
        tokens, dollars = usage.since(began or 0.0, self.files.tree)
        self.record["spent"]["tokens"] += tokens
        self.record["spent"]["cost"] += dollars

    def _keep(self, folder: str, name: str, outcome: worker.Outcome) -> None:
        self._write(f"{folder}/{name}.output.txt", redact(outcome.output.decode("utf-8", "replace")))
        told = {
            "status": outcome.status,
            "seconds": round(outcome.seconds, 3),
            "problem": outcome.problem,
            "bytes_left_out": outcome.truncated,
        }
        self._write(f"{folder}/{name}.outcome.json", json.dumps(told) + "\n")

    def _settle(self, message: str = "", *, commit: bool = False) -> None:
        """Write down the state: from here on a crash goes back to this moment at most."""
        self.record["machine"] = self.machine.state
        self.files.settle(self.record, message if commit else "")

    def _note(self, kind: str, **fields: Any) -> None:
        self.files.event(kind, **fields)
        self.told(kind, {**fields, "spent": self.record["spent"]})

    def decide(self, decision: str, note: str, when: str) -> None:
        """Take in what the person decided, and write it down; raise ``ValueError`` where it does not fit."""
        stage = self.machine.state["stage"]
        if decision == "approve" and stage == m.SKETCH:
            raise ValueError("approve: there is no design yet")
        if decision == "approve" and stage == m.CODE and not self._changes_anything():
            raise ValueError("approve: no code was written yet")
        if decision:
            getattr(self.machine, decision)()
        resolved = []
        if decision == "approve" and stage == m.DESIGN:
            resolved = [_settled(each, self.machine.state["turn"], APPROVED) for each in self.record["open"]]
            self.record["open"] = []
        text = "\n  ".join(filter(None, (line.strip() for line in note.splitlines())))
        said = f"- {when} {decision or 'note'}{f': {text}' if text else ''}\n"
        self._write("decisions.md", self._read("decisions.md") + said)
        self._note("decided", decision=decision or "note", note=note, resolved=resolved)
        step = self.machine.next()
        if step.what == m.OVER:
            self._write("report.json", _pretty(self.report(step).as_mapping()))
        self._settle(f"Decided: {decision or 'note'}", commit=True)
        self.files.finish(self.record)

    def changed(self, path: str) -> None:
        """Note that other settings hold from here on."""
        self._note("settings", path=path)
        self._settle()

    def _open(self) -> list[Finding]:
        return [Finding.of(each) for each in self.record["open"]]

    def _decisions(self) -> str:
        """Return what the person decided with a note, the newest first."""
        entries = self._read("decisions.md").split("\n- ")[1:]
        return "\n".join(f"- {each.rstrip()}" for each in reversed(entries) if ": " in each)

    def _last_verdict(self) -> str:
        verdicts = self.machine.state["verdicts"]
        return f"{self._folder(verdicts[-1][0], verdicts[-1][1])}/verdict.json" if verdicts else ""

    def _folder(self, turn: int, stage: str) -> str:
        return f"turns/{turn:03}-{stage}"

    def _write(self, name: str, text: str) -> None:
        self.files.ledger.write(name, text.encode("utf-8", "replace"))

    def _read(self, name: str) -> str:
        return (self.files.ledger.read(name) or b"").decode("utf-8", "replace")


def _mark(files: Files) -> str:
    """Return how the marks of this run's workers begin."""
    return f"{files.id}.{digest(files.place)}."


def _within(text: str, where: str = "") -> str:
    """Return a part of the description within its bound: GitHub takes 65,536 characters in all."""
    if len(text) <= _LONGEST_PART:
        return text
    note = f"the workspace has it whole: {where}" if where else "see the branch"
    return f"{text[:_LONGEST_PART].rstrip()}\n\n(The rest is left out here; {note})"


def _settled(finding: dict[str, Any], turn: int, how: str) -> dict[str, Any]:
    return {**finding, "in_turn": turn, "how": how}


def _resolved(files: Files) -> list[dict[str, Any]]:
    return [{"how": NOT_RAISED, **each} for event in files.events() for each in event.get("resolved", ())]


def story(record: dict[str, Any], files: Files) -> dict[str, Any]:
    """Return what ``unspin runs show --json`` tells of a run."""
    state = record["machine"]
    report = None
    if state["state"] != m.RUNNING:
        data = read_plain(os.path.join(files.workspace, "report.json"), 10_000_000)
        try:
            report = json.loads(data or b"null")
        except ValueError:
            report = None
    running = state["state"] == m.RUNNING
    return {
        "id": record["id"],
        "state": INTERRUPTED if running and not files.under_way() else state["state"],
        "stage": state["stage"],
        "stop_reason": state["stop_reason"] or None,
        "author_turns": state["turn"],
        "design_turns": state["design_turns"],
        "overrides": state["overrides"],
        "verdicts": [{"turn": turn, "stage": stage, "verdict": verdict} for turn, stage, verdict in state["verdicts"]],
        "open_findings": record["open"],
        "resolved_findings": _resolved(files),
        "checks": record["checks"],
        "branch": record["branch"],
        "head": record["head"],
        "repository": record["repository"],
        "cost": record["spent"],
        "report": report,
    }


def _pretty(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _plain(review: Review) -> dict[str, Any]:
    return {"verdict": review.verdict, "findings": [each.as_mapping() for each in review.findings]}


__all__ = ["INTERRUPTED", "SCHEMA", "Conductor", "RunError", "story"]
