"""What a command line was and what its output shows: checks, their outcomes, errors, failing tests."""

from __future__ import annotations

from unspin.events import SHELL, ToolResult
from unspin.facts.diagnostics import build_stopped, compiler_error
from unspin.facts.digest import digest
from unspin.facts.errors import count_errors, environment_line, error_lines, misses_command, primary_error
from unspin.facts.failures import failing_tests, summary
from unspin.facts.files import Place, absolute, read_writes
from unspin.facts.normalise import normalise_error
from unspin.facts.redact import redact
from unspin.facts.roles import file_role
from unspin.facts.shell import Check, Line, read_line
from unspin.facts.step import EXCERPT, FAILED, PASSED, UNKNOWN, CheckResult, Step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unspin.facts.failures import FailingTest, Summary
    from unspin.facts.reading import Values

_MAX_FAILING = 400  # failing tests kept of one result: two sets are told apart by all of them
_MAX_ERRORS = 6  # errors kept of one result
_USAGE_LINES = 5  # a usage error says so at the top
_NOT_STARTED = (126, 127)
_TIMED_OUT = 124  # the status of `timeout`; from there on come signals

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


_SERVES = (
    "listening on", "listening at", "running on http", "running at http", "server running", "serving http",
    "serving on", "local:   http", "local: http", "started server on", "server started", "ready on http",
    "press ctrl+c to quit", "press ctrl-c to", "uvicorn running", "watching for file changes",
)  # fmt: skip
_TIME_OUTS = ("pexpect", "timeout exceeded", "exceeded timeout", "test timed out", "timed out after", "test timeout")


def read(step: Step, event: ToolResult, place: Place, settings: Values) -> None:
    """Fill in what a shell line, or another tool's failure, tells."""
    failing: list[FailingTest] = []
    if event.call.action == SHELL:
        line = read_line(event.call.command, settings["checks.commands"])
        _read_line(step, event, line, settings)
        if event.refused:
            return
        step.changes = read_writes(event, line, place)
        step.stopped = (event.exit_code or 0) >= _TIMED_OUT and event.exit_code not in _NOT_STARTED
        if any(check.kind == "run" for check in line.checks) and _serves(event.output):
            step.role = "server"
        if line.checks or event.failed:
            failing = failing_tests(event.output, _MAX_FAILING)
        step.checks = [
            _result(check, event, failing, read_summaries=settings["checks.read_summaries"]) for check in line.checks
        ]
    if step.failed or any(check.failed for check in step.checks) or _reports_failure(event):
        _read_failure(step, _inside(event.output, place), failing, not_started=event.exit_code in _NOT_STARTED)
    elif any(check.outcome == PASSED for check in step.checks):
        step.noise = [digest(normalise_error(each)) for each in error_lines(event.output)]


def _inside(output: str, place: Place) -> str:
    """Return the output with the project's own folder taken off its files: what is left tells them apart."""
    return output.replace(f"{place.project}/", "") if len(place.project) > 1 else output


def _read_line(step: Step, event: ToolResult, line: Line, settings: Values) -> None:
    command = event.call.command
    step.command = digest(command)
    step.role = line.role
    step.polls = line.polls
    step.spacer = line.only_sleeps
    step.opaque = _is_opaque(line)
    step.exempt = step.exempt or command.lstrip().startswith(tuple(settings["exempt.commands"]))


def _is_opaque(line: Line) -> bool:
    """Tell whether the line may have changed files that nobody can name."""
    if line.harmless:
        return False
    in_place = line.writes and all(write.how.endswith(" -i") for write in line.writes)
    return (
        not line.writes
        or any(not write.path and write.how != "snapshots" for write in line.writes)
        or line.role in ("install", "server")
        or (line.role == "inline" and not in_place)
        or any(check.kind == "run" for check in line.checks)
    )


def _result(check: Check, event: ToolResult, failing: list[FailingTest], *, read_summaries: bool) -> CheckResult:
    recorded = _recorded(check, event)
    seen = summary(event.output) if check.kind == "test" and not event.background else None
    result = CheckResult(
        recorded[0] if recorded else check.kind,
        redact(check.command),
        outcome(check, event, failing, seen),
        scratch=check.kind == "run" and file_role(check.script) == "scratch",
    )
    result.followed = check.followed
    if check.folder is not None and event.call.cwd:
        home = check.folder.startswith("~")
        result.folder = check.folder if home else absolute(check.folder or ".", event.call.cwd)
    if result.outcome == UNKNOWN:
        result.hidden = _why_unknown(check, event)
    if seen is not None:
        result.counts = [seen.passed, seen.failed + seen.errors, seen.skipped]
        if result.outcome == UNKNOWN and (event.untold or (read_summaries and check.piped)):
            result.shown = FAILED if seen.failed or seen.errors else PASSED if seen.passed else ""
    return result


def _why_unknown(check: Check, event: ToolResult) -> str:
    """Return why nothing is known of a check: a word of ``CheckResult.hidden``."""
    if event.refused:
        return "refused"
    if event.untold:
        return "untold"
    if event.background:
        return "background"
    if event.interrupted:
        return "interrupted"
    return "piped" if check.piped and not check.pipefail else "masked"


def outcome(check: Check, event: ToolResult, failing: list[FailingTest], seen: Summary | None = None) -> str:
    """Return what is known of a check: the status of its line, and what the output proves.

    ``seen`` is the summary of a test run, where its output shows one.

    Not failing checks are those ended by a signal or a time-out, usage errors, and
    programs that could not be started; a pass whose own summary speaks of failures
    proves nothing either.
    """
    recorded = _recorded(check, event)
    if recorded is not None:
        status = recorded[1]
        return PASSED if status == 0 else UNKNOWN if _no_verdict(status, check) else FAILED
    if event.background or event.interrupted or event.refused or event.untold:
        return UNKNOWN
    status = event.exit_code if event.exit_code is not None else int(event.failed)
    if status == 0:
        denied = seen is not None and (seen.failed or seen.errors or not seen.passed)
        return UNKNOWN if check.on_zero != PASSED or denied else PASSED
    if check.on_nonzero == UNKNOWN or _no_verdict(status, check) or _is_usage_error(event.output):
        return UNKNOWN
    if check.on_nonzero == "perhaps":
        return FAILED if _shown_to_fail(check, event.output, failing) else UNKNOWN
    error = primary_error(event.output)
    return UNKNOWN if error is not None and _is_time_out(error) else FAILED


def _shown_to_fail(check: Check, output: str, failing: list[FailingTest]) -> bool:
    """Tell whether the output shows that, of a chain of commands, it was this check that failed."""
    if failing:
        return check.kind == "test" or "kind" in check.proofs
    if not check.proofs:
        return False
    error = primary_error(output)
    if error is not None and _is_time_out(error):
        return False
    if "kind" in check.proofs:
        return True
    if "error" in check.proofs:
        return error is not None and not build_stopped(output)
    return compiler_error(output, typescript_only="diagnostic" not in check.proofs)


def _recorded(check: Check, event: ToolResult) -> tuple[str, int] | None:
    """Return kind and status of a check that ``unspin check`` ran, if that was recorded."""
    if check.runner != "unspin check":
        return None
    command = check.command.strip("\"'")
    return next(((kind, status) for known, kind, status in event.recorded if known[: len(command)] == command), None)


def _no_verdict(status: int, check: Check) -> bool:
    return status < 0 or status >= _TIMED_OUT or status in check.usage_exits


def _is_usage_error(output: str) -> bool:
    lines = [line.strip().lower() for line in output[:2000].splitlines()]
    return any(line.startswith(_USAGE_OPENINGS) for line in [line for line in lines if line][:_USAGE_LINES])


def _is_time_out(error: str) -> bool:
    """Tell whether a test or its terminal gave up waiting: that ends a check and proves nothing."""
    lowered = error.lower()
    return any(words in lowered for words in _TIME_OUTS)


def _serves(output: str) -> bool:
    """Tell whether a program says that it listens: it is a server, whatever its name."""
    head = output[:4000].lower()
    return any(words in head for words in _SERVES)


def _reports_failure(event: ToolResult) -> bool:
    """Tell whether a reading of a remote run's log shows its failure, though the reading itself succeeded."""
    command = event.call.command
    return "--log-failed" in command and command.lstrip().startswith("gh ") and bool(event.output.strip())


def _read_failure(step: Step, output: str, failing: list[FailingTest], *, not_started: bool) -> None:
    first = primary_error(output)
    found = ([first] if first is not None else []) + error_lines(output, _MAX_ERRORS)
    ran = bool(failing) or not all(map(misses_command, found))  # whatever else its shell did not find
    if failing:
        found = [each for each in found if not misses_command(each)]
    named = {digest(normalise_error(each)): redact(each.strip()[: 4 * EXCERPT])[:EXCERPT] for each in reversed(found)}
    step.errors = [[name, named[name]] for name in reversed(named)][:_MAX_ERRORS]
    if step.checks and not any(check.failed for check in step.checks) and first is not None and _is_time_out(first):
        step.errors = []
    step.error_count = count_errors(output)
    step.failing = [
        [digest(each.id), each.file[-EXCERPT:], digest(normalise_error(each.message)) if each.message else ""]
        for each in failing
    ]
    missing = environment_line(output) if step.failed else None
    if missing and (not_started or not ran or not misses_command(missing)):
        step.unstartable = digest(normalise_error(missing))
