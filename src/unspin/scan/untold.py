"""How a command ended where nobody wrote its status down: what its output proves, and nothing else."""

from __future__ import annotations

import re

from unspin.facts.diagnostics import compiler_error
from unspin.facts.failures import failing_tests, summary
from unspin.facts.shell import read_line

TIMED_OUT = 124  # the status of `timeout`

_TAIL = 4000  # characters of an output's end in which an interpreter says what ended it
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit)(?::.*)?")
_NOT_STARTED = re.compile(
    r"\S*(?:ba|z|da)?sh: (?:line \d+: )?"
    r"(?:.*: (?:command )?not found|syntax error.*|.*: No such file or directory|.*: Permission denied)"
)
_MISSED = re.compile(r": (\S+): (?:command )?not found$")


def failed(command: str, output: str) -> bool:
    """Tell whether the output proves that the command failed."""
    tail = output[-_TAIL:].rstrip()
    last = tail.rpartition("\n")[2].strip()
    if _NOT_STARTED.fullmatch(last) and _asked_for(last, command, output):
        return True
    if _EXCEPTION.fullmatch(last) and ("Traceback (most recent call last)" in output or 'File "' in tail):
        return True
    kinds = {check.kind for check in read_line(command).checks} if output.strip() else set()
    if "test" in kinds:
        seen = summary(output)
        return bool(seen is not None and (seen.failed or seen.errors)) or bool(failing_tests(output, 1))
    return not kinds.isdisjoint(("build", "type")) and compiler_error(output)


def _asked_for(complaint: str, command: str, output: str) -> bool:
    """Tell whether a shell misses what the line wanted: clients send commands of their own behind it."""
    missed = _MISSED.search(complaint)
    return missed is None or missed[1] in command or output.count(missed[1]) > 1
