"""Takes a run from step to step: asks the machine what comes next, has it done, writes down what came of it.

Every change of state is written before what it allows is started, so that a run that is
killed anywhere goes on from the files. Nothing in here decides when it is enough.
"""

from __future__ import annotations

import json
import os
import time

from unspin import cost
from unspin.cost.files import folders
from unspin.events import TurnReport, shell
from unspin.facts.failures import failing_tests
from unspin.facts.reading import Reader
from unspin.facts.redact import redact
from unspin.facts.step import FAILED
from unspin.guard import Guard, Settings
from unspin.guard.budget import Budget
from unspin.run import machine as m
from unspin.run import prompts, worker
from unspin.run.findings import SCHEMA, Finding, Review, ReviewError, Verdict, merge, read
from unspin.run.machine import Machine
from unspin.run.settings import ENVIRONMENT, PREFIXES, RunSettings
from unspin.run.workspace import Files, RunError, git, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unspin.run.machine import Step
    from unspin.run.settings import Worker

_LONGEST_DESIGN = 400_000  # characters


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
        self._began = time.monotonic()

    # -- beginning ---------------------------------------------------------------------

    @classmethod
    def begin(
        cls,
        files: Files,
        settings: RunSettings,
        *,
        repository: str,
        ticket: str,
        told: Callable[[str, dict[str, Any]], None],
    ) -> Conductor:
        """Make a new run."""
        branch = f"unspin/{files.id}"
        files.make(repository, ticket, branch)
        base = git(files.tree, "rev-parse", "HEAD")
        record = {
            "id": files.id,
            "repository": repository,
            "branch": branch,
            "base": base,
            "head": base,
            "commit": "",
            "open": [],
            "failed_checks": [],
            "resolved": [],
            "spent": {"seconds": 0.0, "tokens": 0, "cost": 0.0},
            "began": time.time(),
            "rot": None,
            "machine": m.initial(),
        }
        self = cls(files, settings, record, told)
        self._note("run_begun", repository=repository, branch=branch, base=base)
        self._settle("The run begins")
        return self

    @classmethod
    def resume(cls, files: Files, settings: RunSettings, told: Callable[[str, dict[str, Any]], None]) -> Conductor:
        """Go on with a run, from its files: what was under way when it ended is done again."""
        record = files.load()
        files.mend_workspace(record["commit"])
        return cls(files, settings, record, told)

    # -- the loop ----------------------------------------------------------------------

    def go(self) -> str:
        """Go on until the run is over or waits for a person; return its state."""
        while True:
            step = self.machine.next()
            if step.what in (m.WAIT, m.OVER):
                self._settle(f"{self.machine.state['state']}: {self.machine.state['stop_reason']}")
                self._note_end()
                return str(self.machine.state["state"])
            if step.what == m.AUTHOR and not self.machine.state["begun"] and self._spent():
                continue
            getattr(self, f"_{step.what}")(step)

    def _spent(self) -> bool:
        """Halt where a budget is used up; tell whether it is."""
        spent = self.record["spent"]
        budget = Budget(**self.settings.budget)
        if "tokens" in self.settings.budget or "cost" in self.settings.budget:
            budget.after(tokens=spent["tokens"], cost=spent["cost"])
        report = budget.before("author turn", elapsed=spent["seconds"])
        if report is not None:
            self.machine.spent(report.reason)
        return report is not None

    # -- an author turn ----------------------------------------------------------------

    def _author(self, step: Step) -> None:
        turn = self.machine.begin_author()
        stage = step.stage
        self.files.reset_tree(self.record["head"], self.record["branch"])
        self.files.clear_hand()
        design = os.path.join(self.files.hand, "design.md")
        write(design, self._read("design.md"))
        self._note("author_begun", turn=turn, stage=stage)
        prompt = prompts.author(
            stage,
            ticket=self._read("ticket.md"),
            design=self._read("design.md"),
            findings=self._open(),
            tokens=self.settings.prompt_tokens,
        )
        folder = self.files.turn_folder(turn, stage)
        write(os.path.join(folder, "prompt.md"), prompt)
        self._settle(f"Turn {turn} ({stage}): the prompt")
        outcome = self._work(self.settings.authors[stage], prompt, stage, turn, design=design)
        self._keep(folder, "author", outcome)
        ok = outcome.ok
        if ok and stage != m.CODE:
            text = _text(design)[:_LONGEST_DESIGN]
            ok = bool(text.strip())
            if ok:
                write(os.path.join(self.files.workspace, "design.md"), text)
        elif ok:
            message = f"{self._title()} (turn {turn})"
            self.record["head"] = self.files.commit_tree(message, self.record["branch"], self.record["head"])
        problem = outcome.problem or ("" if outcome.ok else f"exit status {outcome.status}")
        problem = problem or ("" if ok else "it left no design")
        self.machine.author_done(ok=ok)
        self._note("author_done", turn=turn, stage=stage, ok=ok, problem=problem, seconds=round(outcome.seconds, 3))
        if outcome.status is None and "cannot be started" in outcome.problem:
            self.machine.state.update(state=m.FAILED, stop_reason=m.WORKER_FAILED)
        self._settle(f"Turn {turn} ({stage}): {'done' if ok else problem}")

    def _title(self) -> str:
        first = next(
            (line.lstrip("# ").strip() for line in self._read("ticket.md").splitlines() if line.strip()), "Change"
        )
        return first[:72]

    # -- the project's own checks ------------------------------------------------------

    def _checks(self, step: Step) -> None:
        self.files.reset_tree(self.record["head"], self.record["branch"])
        found, told = [], []
        failing: list[str] | None = None
        build = ""
        for kind, command in self.settings.checks:
            outcome = worker.run(
                command,
                b"",
                folder=self.files.tree,
                env=self._environment("check", step.turn),
                limit=self.settings.check_limit,
                keep=self.settings.output_bytes,
            )
            output = outcome.output.decode("utf-8", "replace")
            status = outcome.status if outcome.status is not None else 124
            seen = Reader(Settings({"checks.commands": {kind: [command]}})).read(shell(command, output, status))
            result = next((each.outcome for each in seen.checks), "passed" if status == 0 else "failed")
            names = [each.id for each in failing_tests(output, 40)] if result == FAILED else []
            if kind == "test" and result != "unknown":
                failing = names
            if kind == "build":
                build = result
            told.append({"kind": kind, "command": command, "outcome": result, "status": status, "failing": names})
            write(
                os.path.join(self.files.turn_folder(step.turn, step.stage), f"check-{kind}.txt"),
                redact(output[-200_000:]),
            )
            if result != "passed":
                what = (
                    f"{len(names)} tests fail: {', '.join(names[:10])}"
                    if names
                    else outcome.problem or f"exit status {status}"
                )
                found.append(
                    Finding(f"check-{kind}", "critical", True, command, what, reviewer="checks", since=step.turn)
                )
        self.record["failed_checks"] = [each.as_mapping() for each in found]
        self.record["failing"], self.record["build"] = failing, build
        self.machine.checks_done()
        self._note("checks_done", turn=step.turn, checks=told)
        self._settle(f"Turn {step.turn} ({step.stage}): checks")

    # -- reviews -----------------------------------------------------------------------

    def _review(self, step: Step) -> None:
        who = next(each for each in self.settings.reviewers if each.name == step.reviewer)
        self.files.reset_tree(self.record["head"], self.record["branch"])
        self.files.clear_hand()
        target = os.path.join(self.files.hand, "findings.json")
        stage = f"review-{step.stage}"
        changed = self.files.diff(self.record["base"], self.record["head"]) if step.stage == m.CODE else ""
        prompt = prompts.reviewer(
            step.stage,
            who.prompt,
            ticket=self._read("ticket.md"),
            design=self._read("design.md"),
            changed=changed,
            findings=[each for each in self._open() if each.reviewer in (who.name, "")],
            tokens=self.settings.prompt_tokens,
        )
        folder = os.path.join(self.files.turn_folder(step.turn, step.stage), "reviews")
        name = who.name if step.attempt == 1 else f"{who.name}-{step.attempt}"
        write(os.path.join(folder, f"{name}.prompt.md"), prompt)
        self._settle(f"Turn {step.turn} ({step.stage}): review by {who.name}")
        outcome = self._work(who, prompt, stage, step.turn, findings=target)
        self._keep(folder, name, outcome)
        problem = outcome.problem
        try:
            data = _bytes(target)
            review = read(data, who.name, turn=step.turn)
            write(os.path.join(folder, f"{who.name}.json"), json.dumps(_plain(review), indent=1) + "\n")
        except ReviewError as error:
            problem = f"{error}{f' ({problem})' if problem else ''}"
            self.machine.review_done(who.name, ok=False)
        else:
            self.machine.review_done(who.name, ok=True)
        self._note(
            "review_done", turn=step.turn, stage=step.stage, reviewer=who.name, attempt=step.attempt, problem=problem
        )
        self._settle(f"Turn {step.turn} ({step.stage}): {who.name}: {problem or 'reviewed'}")

    def _judge(self, step: Step) -> None:
        folder = os.path.join(self.files.turn_folder(step.turn, step.stage), "reviews")
        names = self.machine.reviewers[step.stage]
        reviews = [read(_bytes(os.path.join(folder, f"{name}.json")), name, turn=step.turn) for name in names]
        failed = [Finding.of(each) for each in self.record["failed_checks"]] if step.stage == m.CODE else []
        verdict = merge(step.stage, reviews, failed, self._open())
        path = os.path.join(self.files.turn_folder(step.turn, step.stage), "verdict.json")
        write(path, json.dumps(verdict.as_mapping(), indent=1, ensure_ascii=False) + "\n")
        self._rot(step, verdict)
        ended = verdict.verdict != "revise" and step.stage == m.DESIGN
        self.record["open"] = [] if ended else [each.as_mapping() for each in verdict.open]
        self.record["resolved"] += [{**each.as_mapping(), "in_turn": step.turn} for each in verdict.resolved]
        self.machine.judged(verdict.verdict)
        self._note(
            "verdict",
            turn=step.turn,
            stage=step.stage,
            verdict=verdict.verdict,
            open=len(verdict.open),
            blocking=sum(each.blocking for each in verdict.open),
            resolved=[each.id for each in verdict.resolved],
        )
        self._settle(f"Turn {step.turn} ({step.stage}): {verdict.verdict}")

    def _rot(self, step: Step, verdict: Verdict) -> None:
        """Note a turn that ends as the one before did."""
        guard = Guard(offline=True, state=self.record["rot"])
        report = TurnReport(
            self.record["id"],
            step.turn,
            failing_tests=self.record.get("failing") if step.stage == m.CODE else None,
            build=self.record.get("build", "") if step.stage == m.CODE else "",
            findings=[each.claim for each in verdict.open],
        )
        for response in guard.observe(report):
            self._note("rot", turn=step.turn, message=response.message)
        self.record["rot"] = json.loads(json.dumps(guard.state))

    # -- the end -----------------------------------------------------------------------

    def _finish(self, step: Step) -> None:
        record = self.record
        lines = [
            f"# {self._title()}",
            "",
            self._read("ticket.md").strip(),
            "",
            "## Design",
            "",
            self._read("design.md").strip(),
        ]
        lines += ["", "## Changed", "", "```", self.files.diff(record["base"], record["head"]), "```", ""]
        if record["resolved"]:
            lines += ["## Objections that were resolved", ""]
            lines += [
                f"- {each['id']} ({each['reviewer']}): {' '.join(each['claim'].split())}" for each in record["resolved"]
            ]
        write(os.path.join(self.files.workspace, "description.md"), "\n".join(lines) + "\n")
        self.files.deliver(record["repository"], record["branch"])
        self.machine.finished()
        self._note("shipped", branch=record["branch"], head=record["head"])

    # -- what all steps share ----------------------------------------------------------

    def _work(
        self, who: Worker, prompt: str, stage: str, turn: int, *, design: str = "", findings: str = ""
    ) -> worker.Outcome:
        env = self._environment(stage, turn)
        env.update({name: path for name, path in (("UNSPIN_DESIGN", design), ("UNSPIN_FINDINGS", findings)) if path})
        outcome = worker.run(
            who.command,
            prompt.encode("utf-8", "replace"),
            folder=self.files.tree,
            env=env,
            limit=who.time_limit,
            keep=self.settings.output_bytes,
        )
        changed = self.files.mend_workspace(self.record["commit"])
        if changed:
            self._note("workspace_mended", turn=turn, stage=stage, changed=changed[:20])
        self.record["spent"]["seconds"] += outcome.seconds
        self._count_cost()
        return outcome

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
        """Add up what workers used, where they leave transcripts that we can read."""
        slug = "".join(char if char.isalnum() else "-" for char in self.files.tree)
        places = [path for base in folders() if os.path.isdir(path := os.path.join(base, slug))]
        if not places:
            return
        from unspin.cost.files import find
        from unspin.cost.transcripts import Reading

        report = cost.report(Reading().messages(find(places)), cost.known_prices(), cost.Report(cost.PROJECT))
        self.record["spent"]["tokens"] = sum(row.totals.tokens for row in report.rows.values())
        self.record["spent"]["cost"] = sum(row.totals.cost or 0.0 for row in report.rows.values())

    def _keep(self, folder: str, name: str, outcome: worker.Outcome) -> None:
        write(os.path.join(folder, f"{name}.output.txt"), redact(outcome.output.decode("utf-8", "replace")))
        told = {
            "status": outcome.status,
            "seconds": round(outcome.seconds, 3),
            "problem": outcome.problem,
            "bytes_left_out": outcome.truncated,
        }
        write(os.path.join(folder, f"{name}.outcome.json"), json.dumps(told) + "\n")

    def _settle(self, message: str) -> None:
        """Write down the state and commit the workspace: from here on a crash goes back to this moment at most."""
        self.record["machine"] = self.machine.state
        self.record["commit"] = self.files.commit(self.record, message)
        self.files.keep(self.record)

    def _note(self, kind: str, **fields: Any) -> None:
        self.files.event(kind, **fields)
        self.told(kind, fields)

    def _note_end(self) -> None:
        state = self.machine.state
        self.told("end", {"state": state["state"], "stop_reason": state["stop_reason"], "turns": state["turn"]})
        if self.settings.notify:
            worker.run(
                self.settings.notify,
                json.dumps(story(self.record)).encode(),
                folder=self.files.home,
                env=self._environment("notify", state["turn"]),
                limit=60,
                keep=10_000,
            )

    def decided(self, decision: str, note: str) -> None:
        """Write down what the person decided."""
        self._note("decided", decision=decision, note=note)
        self._settle(f"Decided: {decision}")

    def _open(self) -> list[Finding]:
        return [Finding.of(each) for each in self.record["open"]]

    def _read(self, name: str) -> str:
        return _text(os.path.join(self.files.workspace, name))


def story(record: dict[str, Any]) -> dict[str, Any]:
    """Return what ``unspin runs show --json`` tells of a run."""
    state = record["machine"]
    return {
        "id": record["id"],
        "state": state["state"],
        "stage": state["stage"],
        "stop_reason": state["stop_reason"] or None,
        "author_turns": state["turn"],
        "design_turns": state["design_turns"],
        "overrides": state["overrides"],
        "verdicts": [{"turn": turn, "stage": stage, "verdict": verdict} for turn, stage, verdict in state["verdicts"]],
        "open_findings": record["open"],
        "resolved_findings": record["resolved"],
        "branch": record["branch"],
        "repository": record["repository"],
        "cost": record["spent"],
    }


def _plain(review: Review) -> dict[str, Any]:
    return {"verdict": review.verdict, "findings": [each.as_mapping() for each in review.findings]}


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1_100_000)
    except OSError:
        return b""


def _text(path: str) -> str:
    return _bytes(path).decode("utf-8", "replace")


__all__ = ["SCHEMA", "Conductor", "RunError", "story"]
