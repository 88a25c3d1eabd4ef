"""From a tool result to a step: the one place where outputs and command lines are read.

Knows the words of runners, shells and test files (its neighbours in this package), no
agent's wire format, and nothing of what detectors make of a step. It remembers two
things of a session: which error-looking lines a command also prints when it passes, and
which tests were red before the first edit. Its memory changes only when a round is
settled, so that the order in which the results of a round arrive makes no difference.
"""

from __future__ import annotations

from unspin.events import ASK, BY_PERSON, BY_TOOL, EDIT, NOTE, OTHER, READ, SHELL, WAIT, ToolCall, ToolResult
from unspin.facts import errors, failures, shell
from unspin.facts.digest import digest
from unspin.facts.roles import file_role, is_test_like
from unspin.facts.step import FAILED, PASSED, UNKNOWN, CheckResult, FileChange, Step
from unspin.facts.test_changes import changes_by_sed, compare, removed_names
from unspin.facts.writes import Write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Values(Protocol):
        """Settings by dotted key, whoever keeps them."""

        def __getitem__(self, key: str) -> Any: ...


_MAX_COMMANDS = 24  # commands whose passing output is remembered
_MAX_NOISE = 12  # error-looking lines remembered of each
_MAX_FAILING = 40  # failing tests kept of one result
_MAX_RED = 120  # tests remembered as red before the first edit
_MAX_NAMES = 20
_MAX_EXCERPT = 200

_USAGE_OPENINGS = (
    "usage:",
    "error: unrecognized argument",
    "error: unknown option",
    "error: unexpected argument",
    "error: unrecognized subcommand",
    "unknown option",
    "unrecognized option",
    "unknown command",
    "error: script not found",
    "npm error missing script",
    "npm err! missing script",
    "make: *** no rule to make target",
    "error: no such command",
)
_ACKNOWLEDGING = frozenset(
    "ok okay done success successful successfully succeeded updated created written wrote saved generated built"
    " finished complete completed passed copied started stopped removed deleted installed formatted exported"
    " loaded ready true yes".split()
)


class Reader:
    """Reads results into steps. ``state`` is plain data: store it, give it back later."""

    def __init__(self, settings: Values, project: str = "", state: dict[str, Any] | None = None):
        self.settings = settings
        self.project = project.rstrip("/")
        self.state: dict[str, Any] = state if state is not None else {"noise": {}, "red": [], "edited": False}

    def read(self, event: ToolResult) -> Step:
        """Return the step that ``event`` amounts to."""
        call = event.call
        step = Step(call.tool, call.label[:_MAX_EXCERPT], call.action, identity(call), event.position)
        step.size = event.size
        step.refused = event.refused
        step.failed = event.failed and not event.refused
        step.spoke = (event.refused == BY_PERSON and event.comment) or (
            call.action == ASK and not event.refused and not event.failed
        )
        step.exempt = call.tool in self.settings["exempt.tools"]
        step.spacer = call.action == NOTE
        step.polls = call.action == WAIT
        step.opaque = call.action == OTHER
        output = event.output
        if call.action == SHELL:
            self._read_shell(step, event)
        elif call.action == EDIT:
            self._read_edits(step, event)
        elif call.action == READ:
            step.polls = call.label.endswith((".log", ".output", ".out"))
        elif step.failed and call.action == OTHER:
            self._read_failure(step, output, [])
        if event.refused:
            return step
        step.result = digest(errors.normalise_output(output))
        step.constant = acknowledges(output) if not step.failed else not output.strip()
        if step.failed:
            started = errors.environment_error(output)
            step.unstartable = digest(started) if started else ""
        return step

    def _read_shell(self, step: Step, event: ToolResult) -> None:
        call = event.call
        line = shell.read_line(call.command, self.settings["checks.commands"])
        step.command = digest(call.command)
        step.role = "server" if line.role == "server" else line.role
        step.polls = line.polls
        step.spacer = line.only_sleeps
        step.opaque = _is_opaque(line)
        step.exempt = step.exempt or any(
            call.command.lstrip().startswith(each) for each in self.settings["exempt.commands"]
        )
        if event.refused:
            return
        for write in line.writes:
            self._add_change(step, event, write)
        failing = failures.failing_tests(event.output, _MAX_FAILING) if line.checks or event.failed else []
        for check in line.checks:
            step.checks.append(self._outcome(check, event, failing))
        reports = event.failed or _reports_failure(call.command, event.output)
        if reports or any(check.failed for check in step.checks):
            self._read_failure(step, event.output, failing)
        elif any(check.outcome == PASSED for check in step.checks):
            lines = errors.error_lines(event.output, _MAX_NOISE)
            step.noise = [digest(errors.normalise_error(each)) for each in lines]

    def _outcome(
        self, check: shell.Check, event: ToolResult, failing: list[failures.FailingTest]
    ) -> CheckResult:
        scratch = check.kind == "run" and file_role(check.script or "") == "scratch"
        recorded = _recorded(check, event)
        result = CheckResult(recorded[0] if recorded else check.kind, check.command, UNKNOWN, scratch=scratch)
        result.outcome = outcome(check, event, failing)
        if (
            result.outcome == UNKNOWN
            and check.piped
            and check.kind == "test"
            and self.settings["checks.read_summaries"]
            and not event.background
        ):
            seen = failures.summary(event.output)
            if seen is not None:
                result.shown = FAILED if seen.failed or seen.errors else PASSED if seen.passed else ""
        return result

    def _read_failure(self, step: Step, output: str, failing: list[failures.FailingTest]) -> None:
        noise = self.state["noise"].get(_noise_key(step), ())
        lines = [
            each for each in errors.error_lines(output) if digest(errors.normalise_error(each)) not in noise
        ]
        first = errors.primary_error(output)
        if first is not None and digest(errors.normalise_error(first)) in noise:
            first = lines[0] if lines else None
        if first is not None:
            step.error = digest(errors.normalise_error(first))
            step.error_text = first.strip()[:_MAX_EXCERPT]
            if step.checks and _timed_out(first):
                step.error = ""
                for check in step.checks:
                    if check.outcome == FAILED:
                        check.outcome = UNKNOWN
        step.error_count = errors.count_errors(output)
        step.failing = [
            [digest(each.id), each.file[-_MAX_EXCERPT:], _error_identity(each.message)] for each in failing
        ]

    def settle(self, steps: list[Step]) -> None:
        """Take in a whole round, in order: fill in signatures, remember what it showed."""
        red = self.state["red"]
        for step in steps:
            if step.written():
                self.state["edited"] = True
            if step.failing and not self.state["edited"]:
                red.extend(each[0] for each in step.failing if each[0] not in red)
                del red[_MAX_RED:]
            _sign(step, set(red))
            if step.noise:
                self._remember(step)

    def _remember(self, step: Step) -> None:
        noise = self.state["noise"]
        known = noise.pop(_noise_key(step), [])
        known.extend(each for each in step.noise if each not in known)
        noise[_noise_key(step)] = known[:_MAX_NOISE]
        while len(noise) > _MAX_COMMANDS:
            del noise[next(iter(noise))]

    def _read_edits(self, step: Step, event: ToolResult) -> None:
        for edit in event.call.edits:
            path = self.real(event.call, edit.path)
            change = FileChange(
                path,
                role=self.role(path),
                refused=event.refused == BY_TOOL or event.failed,
                before=edit.before,
                after=edit.after or event.call.hashes.get(path, ""),
            )
            if event.refused and event.refused != BY_TOOL:
                continue
            texts = event.call.texts.get(path)
            if not change.refused and texts is not None:
                self._compare(change, *texts)
            elif not change.refused and edit.old is not None:
                self._compare(change, edit.old, edit.new)
            step.changes.append(change)

    def _add_change(self, step: Step, event: ToolResult, write: Write) -> None:
        path = self.real(event.call, write.path) if write.path else ""
        change = FileChange(
            path,
            write.change,
            role=self.role(path) if path else "source",
            shell=True,
            after=event.call.hashes.get(path, ""),
        )
        if is_test_like(change.role):
            if write.change == "delete":
                change.weakened = [0, 0, 0, 1]
            elif path in event.call.texts:
                self._compare(change, *event.call.texts[path])
            elif write.script:
                made = changes_by_sed(write.script, path)
                change.weakened = _weakened(made)
                change.mentions = list(made.names[:_MAX_NAMES])
        elif write.change == "delete" and path:
            change.gone = [_stem(path)]
        step.changes.append(change)

    def _compare(self, change: FileChange, old: str, new: str) -> None:
        if is_test_like(change.role):
            made = compare(old, new, change.path)
            change.weakened = _weakened(made)
            change.mentions = list(made.names[:_MAX_NAMES])
        else:
            change.gone = sorted(removed_names(old, new))[:_MAX_NAMES]

    def role(self, path: str) -> str:
        """Return the file's role, judged by its path inside the project where it lies there."""
        return file_role(self.relative(path), self.settings["tampering.test_paths"])

    def relative(self, path: str) -> str:
        """Return the path as people see it: relative to the project where it lies inside."""
        if self.project and path.startswith(f"{self.project}/"):
            return path[len(self.project) + 1 :]
        return path

    def real(self, call: ToolCall, path: str) -> str:
        """Return the file that ``path`` is, by the call's folder and what its maker resolved."""
        full = absolute(path, call.cwd)
        return call.real_paths.get(full, full)

    def targets(self, call: ToolCall) -> list[str]:
        """Return the files that a call is about to write, move or take away, reverts included."""
        if call.action == EDIT:
            return [self.real(call, edit.path) for edit in call.edits]
        if call.action == SHELL:
            line = shell.read_line(call.command, self.settings["checks.commands"])
            return [self.real(call, write.path) for write in line.writes if write.path]
        return []


def identity(call: ToolCall) -> str:
    """Return what identifies a call: its tool and its arguments, byte for byte."""
    return digest(f"{call.tool}\x00{call.arguments}")


def written_paths(call: ToolCall) -> list[str]:
    """Return the absolute paths that a call names for writing, for whoever can resolve links."""
    if call.action == EDIT:
        return [absolute(edit.path, call.cwd) for edit in call.edits]
    if call.action == SHELL:
        return [
            absolute(write.path, call.cwd) for write in shell.read_line(call.command).writes if write.path
        ]
    return []


def absolute(path: str, cwd: str) -> str:
    """Return ``path`` made absolute against ``cwd``, with ``.`` and ``..`` taken out."""
    if not path.startswith("/"):
        if path[1:3] in (":\\", ":/"):
            return path
        path = f"{cwd}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part and part != ".":
            parts.append(part)
    return "/" + "/".join(parts)


def outcome(check: shell.Check, event: ToolResult, failing: list[failures.FailingTest]) -> str:
    """Return what is known of a check: the status of its line, and what the output proves.

    Not failing checks are those ended by a signal or a time-out, usage errors, and
    programs that could not be started; a pass whose own summary speaks of failures
    proves nothing either.
    """
    recorded = _recorded(check, event)
    if recorded is not None:
        status = recorded[1]
        return PASSED if status == 0 else UNKNOWN if _no_verdict(status, check) else FAILED
    if event.background or event.interrupted or event.refused:
        return UNKNOWN
    status = event.exit_code if event.exit_code is not None else int(event.failed)
    if status == 0:
        if check.on_zero != PASSED:
            return UNKNOWN
        if check.kind == "test":
            seen = failures.summary(event.output)
            if seen is not None and (seen.failed or seen.errors or not seen.passed):
                return UNKNOWN
        return PASSED
    if check.on_nonzero == UNKNOWN or _no_verdict(status, check) or _is_usage_error(event.output):
        return UNKNOWN
    if check.on_nonzero == "perhaps":
        return FAILED if check.kind == "test" and failing else UNKNOWN
    return FAILED


def _recorded(check: shell.Check, event: ToolResult) -> tuple[str, int] | None:
    """Return kind and status of a check that ``unspin check`` ran, if that was recorded."""
    if check.runner != "unspin check":
        return None
    command = check.command.strip("\"'")
    return next(
        ((kind, status) for known, kind, status in event.recorded if known[: len(command)] == command), None
    )


def _no_verdict(status: int, check: shell.Check) -> bool:
    return status < 0 or status >= 124 or status in check.usage_exits


def _is_usage_error(output: str) -> bool:
    seen = 0
    for line in output[:2000].splitlines():
        text = line.strip().lower()
        if text:
            if text.startswith(_USAGE_OPENINGS):
                return True
            seen += 1
            if seen == 5:
                break
    return False


def _error_identity(message: str) -> str:
    return digest(errors.normalise_error(message)) if message else ""


def _is_opaque(line: shell.Line) -> bool:
    """Tell whether the line may have changed files that nobody can name."""
    if line.harmless:
        return False
    return (
        not line.writes
        or any(not write.path for write in line.writes)
        or line.role in ("install", "inline", "server")
        or any(check.kind == "run" for check in line.checks)
    )


def _timed_out(error: str) -> bool:
    lowered = error.lower()
    return "timeout" in lowered or "timed out" in lowered


def _reports_failure(command: str, output: str) -> bool:
    """Tell whether a reading of a remote run's log shows its failure, though the reading itself succeeded."""
    return "--log-failed" in command and command.lstrip().startswith("gh ") and bool(output.strip())


def acknowledges(output: str) -> bool:
    """Tell whether an output says no more than that the thing was done."""
    text = output.strip()
    if len(text) > 120 or text.count("\n") > 1:
        return False
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return (
        not words or not _ACKNOWLEDGING.isdisjoint(words) or text.startswith("(Bash completed with no output")
    )


def _sign(step: Step, red: set[str]) -> None:
    """Say which failure this is: the failing tests with the first error line.

    Where some of the failing tests were red before the session's first edit and others
    were not, only the others count. Without test names the number of errors is part of
    it: an error that is one of twelve and then one of nine is not the same failure.
    """
    if step.failing:
        new = [each for each in step.failing if each[0] not in red] or step.failing
        if len(new) < len(step.failing) or new[0][2]:
            step.error = new[0][2]
        step.signature = digest("\n".join(sorted(each[0] for each in new)) + "\n" + step.error)
    elif step.error:
        step.signature = digest(f"{step.error}\n{step.error_count}")


def _noise_key(step: Step) -> str:
    return digest(step.checks[0].command) if step.checks else step.command


def _weakened(made: Any) -> list[int]:
    return [made.removed_assertions, made.altered_assertions, made.added_skips, made.deleted_tests]


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].split(".", 1)[0]
