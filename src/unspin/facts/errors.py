"""Errors in the output of commands: which lines are errors.

Takes text, gives text. Knows nothing of commands, exit statuses or agents: whether a result failed is told
elsewhere, and here only what it says. Two kinds of answers:

- the lines that are error messages (`error_lines`, `primary_error`, `count_errors`);
- whether the program could not be started at all (`environment_error`).

A line has to be recognised as an error. Banners, wrappers ("exited with code 1") and lines that only mention
the word are none, and where nothing is recognised there is no identity: a wrong identity makes a false alarm.

Everything is linear in its input and raises on no text, as in `normalise`.
"""

from unspin.facts.lists import read_list
from unspin.facts.normalise import MAX_FOUND, clean_lines, normalise_error
from unspin.facts.patterns import IGNORECASE, pattern
from unspin.facts.telling import of_perl, of_scalatest, values_of, with_details


class _Data:
    """The lists of errors.json, read once."""

    __slots__ = (
        "environment_lines",
        "environment_starts",
        "no_error_starts",
        "shell_endings",
        "starts",
        "wrapper_contains",
        "wrapper_lines",
        "wrapper_starts",
    )

    def __init__(self) -> None:
        lists = read_list("errors")
        self.wrapper_starts: tuple[str, ...] = tuple(lists["wrapper_starts"])
        self.wrapper_lines: frozenset[str] = frozenset(lists["wrapper_lines"])
        self.no_error_starts: tuple[str, ...] = tuple(lists["no_error_starts"])
        self.wrapper_contains: tuple[str, ...] = tuple(lists["wrapper_contains"])
        self.shell_endings: tuple[str, ...] = tuple(lists["shell_endings"])
        self.starts: tuple[str, ...] = tuple(lists["starts"])
        self.environment_starts: tuple[str, ...] = tuple(lists["environment_starts"])
        self.environment_lines: frozenset[str] = frozenset(lists["environment_lines"])


_loaded: list[_Data] = []


def _data() -> _Data:
    if not _loaded:
        _loaded.append(_Data())
    return _loaded[0]


# ---------------------------------------------------------------------------------------------- error lines

_ERROR, _DETAIL, _MARK = 0, 1, 2  # an error; more about the last one; only the name of what failed
_ASIDE = 3  # a shell misses a command: the failure only where the output tells of no other

_EXCEPTION = pattern(
    r"((?:[A-Za-z_][\w$]*(?:::|[./\\]))*[A-Za-z_][\w$]*)"  # a.b.SomeError
    r"(?: \[[A-Za-z0-9_]+\])?(?: \(\w[\w ]{0,40}\))?(?: ?:(?: |$)|$)"  # [ERR_CODE], (0 sub-exceptions), colon
)
_ENDS = ("Error", "Exception", "Failure", "Fault", "Panic", "StopIteration", "ImproperlyConfigured", "Abort")
_ENDS_OF_TWO_WORDS = (
    "Expired", "NotFound", "DoesNotExist", "Unavailable", "Invalid", "Timeout", "Denied", "Exceeded",
    "Interrupt", "Refused", "NotSupported", "Conflict", "Failed", "Required", "Disconnect", "Unauthorized",
    "Forbidden",
)  # fmt: skip
_DIAGNOSTIC = pattern(r"(?:fatal )?error(?: ?\[[\w:/ -]{1,40}\]| [A-Z]{1,8}-?\d{1,6})?: {0,3}\S", IGNORECASE)
_TOOL = pattern(r"[\w.+/@-]{1,80} ?: $")
_PLACE = pattern(r"(?::\d+|\(\d+(?:,\d+){0,3}\)|:\[\d+,\d+\]|, line \d+)(?::\d+)?(?: ?[:-]|) ?$")
_SHELL = pattern(
    r"(?:-?(?:/usr)?(?:/bin/)?(?:bash|zsh|sh|dash|ksh|fish)|\(eval\)|-c|[\w./-]{1,100}\.sh)"
    r"(?:: -c)?(?::? ?(?:line )?\d+)?: \S"
)
_GO_PLACE = pattern(r"(?:vet: )?[^\s:]+\.go:\d+:\d+: \S")
_GO_TEST_PLACE = pattern(r"[^\s:]+_test\.go:\d+: \S")
_PYTHON_PLACE = pattern(r"\S+\.pyx?:\d+: (?=[A-Z])")
_LINT = pattern(r"\d+:\d+ +error +\S")
_LINT_CODE = pattern(r"[^\s:]+:\d+:\d+: [A-Z]{1,5}\d{2,5} \S")
_KOTLIN = pattern(r"e: (?:file://)?\S+?:\d+:\d+:? \S|e: \S+: \(\d+, \d+\): \S")
_BUILD_TOOL = pattern(r"\[(?:ERROR|error)\] \S+?(?::\[\d+,\d+\]|:\d+(?::\d+)?:) \S")
_SQL = pattern(r"ERROR \d{3,5} \(\w{2,8}\)(?: at line \d+)?: \S")
_RUBY = pattern(r"\S+:\d+:in .*\([A-Z][\w:]*(?:Error|Exception)\)$")
_LEVEL = pattern(
    r"(?<![A-Za-z])(?:INFO|DEBUG|TRACE|NOTICE|VERBOSE|WARN|WARNING)(?![A-Za-z])"
    r"|\[(?:info|debug|trace|notice|warn|warning)\]|level\"?[=:] ?\"?(?:info|debug|trace|warn)"
    r"|^(?:info|debug|warn|warning)\b|: warning\b|Warning:|npm (?:warn|notice)"
)
_CODE = pattern(
    r"(?:raise|throw|return|except|catch|try|if|elif|else|for|while|with|assert|import|from|def|class|const|let|"
    r"var|print|println!|console\.\w+|logger\.\w+|log\.\w+|func|function|fn|await|yield|export|case|"
    r"public|private|pub|async|new|expect)\b ?[\w(\"'`{]"
)
_PERL = pattern(
    r"(?:syntax error|Can't (?:locate|call|use|modify|load|find)|Global symbol|Undefined subroutine|Bareword) ?"
    r".* at \S+ line \d+"
)
_STAMP = pattern(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?UTC| ?[+-]\d\d:?\d\d)?\]?:? {1,4}(?:- )?"
    r"(?=\[?(?:ERROR|Error|error|FATAL|Fatal|fatal|CRITICAL)\]?: {1,3}\S|(?:\w+[.:])*[A-Z]\w+(?:Error|Exception): \S)"
)  # the time of a line of a log, where an error's own word and a message follow
_WORKSPACE = pattern(
    r"@?[\w./-]{1,80}[ :](?:build|test|typecheck|check|lint|compile|dev|start)[\w:-]{0,20}: "
    r"|[\w.-]{0,60}[A-Za-z][\w.-]{0,20} {1,20}\| "
)
_ERROR_HEADING = pattern(r"(?:[A-Z]\w* ){0,3}[Ee]rror:$")
_EXPECTED = ("expected: ", "expected substring: ", "expected pattern: ", "expected string: ")
_RECEIVED = (
    "received: ",
    "received string: ",
    "received value: ",
    "actual: ",
    "actual:   ",
    "got: ",
    "but was: ",
)
_OWN_PRINTS = (
    "console.error", "console.log", "console.warn", "console.info", "console.debug",
)  # fmt: skip
_HINTS = (
    "error", "exception", "fail", "fatal", "panic", "not found", "no such file", "undefined", "fault",
    "cannot", "denied", "expected", "received", "assert", "uncaught", "abort", "not a directory", "unbound",
    "connection", "refused", "what():", ".go:", "err_", "err!", "** (", "e: ", "is a directory", "bad ",
    "unexpected", "invalid", "curl: (", "multiple definition", "could not", "no matches", "(eval):",
    "no matching", "no test", "what went wrong", "sqlstate", "instruction", "read-only", "no space",
    "timeout", "expired", "conflict", "stopiteration", "doesnotexist", "unavailable", "exceeded", "no rule",
    "exists", "timed out", "not permitted", "improperly", "interrupt", "binary file", "parameter not",
    "too many", "busy", "xpass", "during handling", "direct cause", "disconnect", "required", "actual:",
    "got:", "not supported", "bash:", "zsh:", "no module named", "not recognized", "not connected",
    "console.", "stderr |", "stdout |", "can't ", "not exported", "global symbol", "bareword",
)  # fmt: skip


def _found(output: str) -> "list[tuple[int, str]]":
    """What a scan found; of the output asked about last it is kept, since all is asked of one after another."""
    if not _last or _last[0][0] != output:
        _last[:] = [(output, _Scan(clean_lines(output)).found)]
    return _last[0][1]


_last: "list[tuple[str, list[tuple[int, str]]]]" = []


def error_lines(output: str, limit: int = 20) -> list[str]:
    """The recognised error lines of an output, stripped, in order of appearance; at most `limit`.

    A message that stands on the line after its heading (`panicked at src/x.rs:2:5:`) is joined to it.
    """
    found = _found(output)
    shown = [text for kind, text in found if kind != _MARK] or [text for _, text in found]
    return shown[: max(limit, 0)]


def primary_error(output: str) -> str | None:
    """The error that stands for the failure, or None where no line is recognised as one.

    The last exception of the first Python traceback (with its chain), the first `E` line of pytest, the first
    diagnostic of a compiler; for a failed `expect()` its line with what was expected and received.
    """
    found = _found(output)
    for i, (kind, text) in enumerate(found):
        if kind != _ERROR:
            continue
        if text.startswith(_JOINED):
            details = []
            for detail_kind, detail in found[i + 1 : i + 16]:
                if detail_kind != _DETAIL:
                    break
                details.append(detail)
            if text.endswith(" ERESOLVE"):
                details = [each for each in details if each.startswith(_CONFLICTS)]
                return " | ".join([text, *details[:3]])
            text = " | ".join([text, *details[:2]])
        return text
    return found[0][1] if found else None


_JOINED = (
    "expect(",
    "error: expect(",
    "Error: expect(",
    "npm ",
    "Failure/Error: ",
    "Assert",
    "Error: Assert",
)


_CONFLICTS = (
    "npm error While resolving: ", "npm error Found: ", "npm error peer ", "npm ERR! While resolving: ",
    "npm ERR! Found: ", "npm ERR! peer ",
)  # fmt: skip


def count_errors(output: str) -> int:
    """How many errors an output reports, so that a set that shrinks can be seen."""
    found = _found(output)
    errors = sum(kind == _ERROR for kind, _ in found)
    return errors or len(found)


class _Scan:
    """One pass over the lines of an output; `found` has every recognised line with its kind."""

    __slots__ = (
        "_chained",
        "_data",
        "_diff",
        "_e_place",
        "_expect_at",
        "_go_tests",
        "_hints",
        "_in_e",
        "_in_npm",
        "_last_traceback",
        "_lines",
        "_next",
        "_reasons",
        "_traceback",
        "found",
    )

    def __init__(self, lines: list[str]) -> None:
        self.found: list[tuple[int, str]] = []
        self._data = _data()
        self._lines = lines
        self._next = 0  # the line to go on with
        self._reasons: list[str] = []  # of a summary's failed tests; used only where nothing says more
        self._traceback = -1  # the indent of an open Python traceback
        self._chained = False  # the next traceback goes on with the last one
        self._last_traceback = -1  # index in `found` of the last traceback's exception
        self._in_e = False  # within pytest's E lines
        self._e_place = False
        self._in_npm = -100  # the last line of npm's report
        self._expect_at = -100
        self._diff = False
        text = "\n".join(lines)
        lower = text.lower()
        self._go_tests = text.startswith("--- FAIL: ") or "\n--- FAIL: " in text
        self._hints = [hint for hint in _HINTS if hint in lower]  # no line has any other
        self._read(text, lower.split("\n"))
        if self._reasons and not any(kind == _ERROR for kind, _ in self.found):
            self.found.extend((_ERROR, reason) for reason in self._reasons)
        asides = [text for kind, text in self.found if kind == _ASIDE]
        if asides:  # a line goes on behind a command that its shell did not find
            others = [each for each in self.found if each[0] != _ASIDE]
            self.found = others or [(_ERROR, text) for text in asides]

    def _read(self, text: str, lowers: list[str]) -> None:
        lines, hints = self._lines, self._hints
        marked = text.startswith(("E  ", "INTERNALERROR> ")) or "\nE  " in text or "\nINTERNALERROR> " in text
        marked = marked or "Traceback (most recent call last):" in text or len(lowers) != len(lines)
        if not marked and not hints:
            return
        diffs = "@@ " in text or "diff --git " in text
        while self._next < len(lines) and len(self.found) < MAX_FOUND:
            at = self._next
            self._next += 1
            if not marked:
                lower = lowers[at]
                for hint in hints:
                    if hint in lower:
                        break
                else:  # what most lines are: nothing of an error in them
                    if diffs and lines[at].lstrip().startswith(("@@ ", "diff --git ")):
                        self._diff = True
                    continue
            self._line(at, lines[at])

    def _line(self, at: int, raw: str) -> None:
        if raw.startswith("INTERNALERROR> "):
            raw = raw[15:]
        if self._traceback >= 0 and self._in_traceback(raw):
            return
        if raw.startswith("E  ") or (self._in_e and raw.rstrip() == "E"):
            self._pytest_line(at, raw)
            return
        self._in_e = False
        line = raw.strip()
        if len(line) < 4:
            return
        if line.endswith("Traceback (most recent call last):") and len(line) < 200:
            self._traceback = len(raw) - len(raw.lstrip(" |+"))
            return
        if line.startswith(("@@ ", "diff --git ")):
            self._diff = True
        lower = line.lower()
        for hint in self._hints:
            if hint in lower:
                break
        else:
            return
        if lower.startswith(("during handling of the above", "the above exception was the direct")):
            self._chained = True
            return
        if raw[0] in "+-" and not raw.startswith(("--- FAIL: ", "-bash: ")):
            return  # a diff
        if self._diff and raw[0] == " ":
            return
        if line.startswith("Sorry: "):  # compileall
            line = line[7:]
            lower = line.lower()
        prefix = _WORKSPACE.match(line)
        if prefix and prefix.end() < len(line):
            line = line[prefix.end() :].strip()
            lower = line.lower()
        if lower in _OWN_PRINTS or lower.startswith(("stderr | ", "stdout | ")):
            self._skip_block(at)
            return
        if self._special(at, raw, line, lower):
            return
        data = self._data
        if _is_wrapper(lower, data):
            return
        if line[0] == "│":
            line = line[1:].strip()
            lower = line.lower()
        if line.endswith(":"):
            line = self._continued(at, line)
            lower = line.lower()
        stamped = _STAMP.match(line)
        if stamped:
            line = line[stamped.end() :]
            lower = line.lower()
        if _is_error(line, lower, data):
            line = with_details(self._lines, at, line)
            self._add(_kind(line, lower), line)
            if "rror: expect(" in line or lower.endswith("equal:"):
                self._with_diff(at)
                self._expect_at = at

    def _add(self, kind: int, line: str) -> None:
        if kind == _ERROR and line.endswith(":"):
            kind = _MARK  # a heading alone is the same for many errors
        self.found.append((kind, line))

    def _in_traceback(self, raw: str) -> bool:
        """Whether the line is part of an open traceback; its last line is the exception."""
        body = raw.lstrip(" |+")
        indent = len(raw) - len(body)
        if not body or indent > self._traceback or body.startswith(('File "', "^", "~")):
            return True
        self._traceback = -1
        name = _EXCEPTION.match(body)
        if not name or body.endswith("Traceback (most recent call last):"):
            return False
        body = body.rstrip()
        if _is_stop(body):
            return True
        if self._chained and self._last_traceback >= 0:
            self.found[self._last_traceback] = (_DETAIL, self.found[self._last_traceback][1])
        self._chained = False
        self._last_traceback = len(self.found)
        at = self._next - 1
        self._add(_ERROR, self._continued(at, body) if body.endswith(":") else with_details(self._lines, at, body))
        return True

    def _pytest_line(self, at: int, raw: str) -> None:
        """A line that pytest marks with E: the first of a run is the exception, the others explain it."""
        body = raw[1:].strip()
        if body and not _is_stop(body):
            if not self._in_e:
                self._e_place = body.startswith('File "')  # of an error of syntax; its message is further down
                if not self._e_place:
                    self._add(_ERROR, self._continued(at, body) if body.endswith(":") else body)
            elif self._e_place and _exception_name(body):
                self._add(_ERROR, with_details(self._lines, at, body))
                self._e_place = False
        self._in_e = True

    def _skip_block(self, at: int) -> None:
        """What a test printed itself, up to the next empty line."""
        while self._next < len(self._lines) and self._next < at + 200 and self._lines[self._next].strip():
            self._next += 1

    def _continued(self, at: int, line: str) -> str:
        """A heading that ends in a colon, with the message on one of the next lines."""
        values = values_of(self._lines, at, line)
        if values:
            return line + " " + values
        for raw in self._lines[at + 1 : at + 4]:
            following = raw.strip()
            if raw.startswith("E "):
                following = raw[1:].strip()
            if following and not following.startswith(("+ actual", "at ", "File ", "^", "|", "-->", "{")):
                return line + " " + following if following[0] not in "+-" else line
            if following:
                break
        return line

    def _with_diff(self, at: int) -> None:
        """The first line expected and the first received, where they are shown as a diff."""
        begun = False
        seen = ""
        for raw in self._lines[at + 1 : at + 30]:
            line = raw.strip()
            if line.startswith(("- Expected", "+ Expected", "+ actual - ", "+ expected - ", "- Snapshot")):
                begun = True
            elif line.startswith(("> ", "at ", "●", "❯", "code:")):
                return
            elif begun and line[:1] in ("+", "-") and line[:1] != seen and not line.startswith("+ Received"):
                self.found.append((_DETAIL, line))
                if seen:
                    return
                seen = line[0]

    def _special(self, at: int, raw: str, line: str, lower: str) -> bool:
        """Lines that mean something only with those around them, or in one runner's output."""
        if line.startswith(("FAILED ", "ERROR ")) and ("::" in line or ".py" in line):
            reason = line.partition(" - ")[2]
            if reason and not _is_stop(reason):
                self._reasons.append(reason)
            return True
        if line.startswith(("FAIL: ", "ERROR: ")) and line.endswith(")") and " (" in line and "." in line:
            return True  # unittest's heading
        if line.startswith("--- FAIL: "):
            self._add(_MARK, line)
            return True
        if line[0] == "_" and line.endswith("___") and " ERROR collecting " in line:
            following = self._continued(at, "").strip()
            if following and not following.startswith(("Traceback", "/", "___", "ImportError while")):
                self._add(_MARK, following)
            return True
        if line.startswith("#   Failed test"):
            self._add(_ERROR, of_perl(self._lines, at))
            return True
        if " *** FAILED ***" in line and line.startswith(("[info] - ", "- ")):
            self._add(_ERROR, of_scalatest(self._lines, at))
            return True
        if '" is not exported by "' in line and line[-1] not in ",;":
            self._add(_ERROR, line)
            return True
        if lower == "error during build:":
            self._add(_ERROR, self._continued(at, line))
            self._next = at + 2
            return True
        if line.startswith("Undefined symbols for architecture ") and line.endswith(":"):
            self._add(_ERROR, self._continued(at, line).rstrip(":"))
            return True
        if line.startswith("[XPASS(strict)]"):
            self._add(_ERROR, line)
            return True
        if line.startswith("thread '") and " panicked at " in line:
            if line.endswith(":"):
                line = self._continued(at, line)
                self._next = at + 2
            self._add(_ERROR, with_details(self._lines, at, line))
            return True
        if line in ("error: |-", "error: |", "error: >-"):
            following = self._lines[at + 1].strip() if at + 1 < len(self._lines) else ""
            if following:
                if following.endswith(":"):
                    following = self._continued(at + 1, following)
                self._add(_ERROR, following)
                self._with_diff(at + 1)
                self._expect_at = at
                self._next = at + 2
            return True
        if line.startswith("expect("):
            if line[-1] not in ";{(,":
                self._add(_ERROR, line)
                self._with_diff(at)
                self._expect_at = at
            return True
        if lower.startswith(("error: expect(", "assert.", "failure/error: ")):
            self._expect_at = at
            return False
        if line[-1] in ",;":
            return False  # a property in source code
        if lower.startswith(_EXPECTED):
            if at - self._expect_at <= 12:
                self._add(_DETAIL, line)
            elif any(near.strip().lower().startswith(_RECEIVED) for near in self._lines[at + 1 : at + 3]):
                self._add(_ERROR, line)
                self._expect_at = at
            return True
        if lower.startswith(_RECEIVED):
            if at - self._expect_at <= 12:
                self._add(_DETAIL, line)
            return True
        if lower.startswith(("npm error", "npm err!")):
            if not _is_wrapper(lower, self._data) and len(line) > 14:
                close = at - self._in_npm <= 2
                self._add(_DETAIL if close else _ERROR, line)
                self._in_npm = at
            elif self._in_npm >= 0:
                self._in_npm = at
            return True
        if self._go_tests and _GO_TEST_PLACE.match(line):
            self._add(_ERROR, line)
            return True
        if line.endswith("rror:") and (_ERROR_HEADING.match(line) or line == "Warning, treated as error:"):
            joined = self._continued(at, line)
            if joined is not line:
                self._add(_ERROR, joined)
            return True
        place = _PYTHON_PLACE.match(line)
        if place:
            rest = line[place.end() :]
            if ": " in rest and _exception_name(rest):
                self._add(_ERROR, rest)
                return True
        return False


def _kind(line: str, lower: str) -> int:
    if lower.startswith("ld: symbol(s) not found"):
        return _MARK
    return _ASIDE if _misses_command(line, lower) else _ERROR


def _is_stop(body: str) -> bool:
    """A program stopped by the person or by itself is no error."""
    return body.startswith(("KeyboardInterrupt", "SystemExit", "asyncio.exceptions.CancelledError"))


def _is_wrapper(lower: str, data: _Data) -> bool:
    if lower.startswith(data.wrapper_starts) or lower in data.wrapper_lines:
        return True
    if lower.startswith(("npm error code ", "npm err! code ")) and lower.rpartition(" ")[2].isdigit():
        return True  # the status of the script that it ran
    return any(phrase in lower for phrase in data.wrapper_contains)


def _exception_name(line: str) -> str:
    """The exception's name where the line is `pkg.SomeError: message` or only `SomeError`; else empty."""
    match = _EXCEPTION.match(line)
    if not match:
        return ""
    name = match.group(1)
    last = name
    for mark in "./\\:":
        last = last.rpartition(mark)[2]
    if not last[:1].isupper():
        return ""
    if name.endswith(_ENDS):
        return name
    if last[1:] == last[1:].lower() or ": " not in line:
        return ""
    if name.endswith(_ENDS_OF_TWO_WORDS):
        return name
    if "." in name and last.startswith(("Invalid", "Unknown", "Unsupported", "Missing", "Bad")):
        return name
    return ""


def _is_error(line: str, lower: str, data: _Data) -> bool:
    first = line[0]
    known = lower.startswith(data.starts)
    if not known:
        if first in "✓✔√#>*|•●$\"'{}" or lower.startswith(data.no_error_starts) or _CODE.match(line):
            return False
    elif lower.endswith("exiting with code 0"):
        return False
    if lower.startswith(("error:", "fatal:")) and not any(map(str.isalpha, line.partition(":")[2])):
        return False  # a count, not a message
    at = lower.find("error")
    if at and _LEVEL.search(line[:at] if 0 < at < 80 else line[:60]):
        return False
    if known:
        return True
    if first in "zb-/(s." and (shell := _SHELL.match(line)):
        return line[shell.end() - 1] != "`"  # the line that bash quotes after an error of syntax
    tail = lower.partition(" (os error ")[0] if lower.endswith(")") else lower
    if tail.endswith(data.shell_endings) and ": " in line and len(line) < 500 and line[0] != "[":
        return True
    if first == "e" and _KOTLIN.match(line):
        return True
    if at >= 0:
        match = _DIAGNOSTIC.search(line)
        if match:
            before = line[: match.start()]
            if not before:
                return not (first == "e" and line[-1] in ",;{([")  # a property in source code
            if _TOOL.match(before) or (len(before) < 300 and _PLACE.search(before)):
                return True
    if _exception_name(line):
        return line[-1] not in ",;{"
    if first == "[" and _BUILD_TOOL.match(line):
        return True
    if ".go:" in line and _GO_PLACE.match(line):
        return True
    if first.isdigit() and _LINT.match(line):
        return True
    if _LINT_CODE.match(line) or (line[-1] == ")" and _RUBY.match(line)):
        return True
    if "undefined reference to" in line or "multiple definition of" in line:
        return True
    if " line " in line and _PERL.match(line):
        return True
    if line.endswith("failed.") and ": Assertion `" in line:
        return True
    if first == "E" and _SQL.match(line):
        return True
    return _is_environment(line, lower, data)


# ----------------------------------------------------------------------------------------- environment errors

_SH_NOT_FOUND = pattern(r"(?:\S+: )?(?:line )?\d+: (\S+): (?:command )?not found$")
_ZSH_NOT_FOUND = pattern(r"(?:\(eval\)|-?zsh)(?::\d+)?: command not found: \S")
_ENV = pattern(r"(?:/usr/bin/)?env: .{1,200}: No such file or directory$")
_CD = pattern(
    r"(?:\S+: )?(?:line \d+: |\d+: |\(eval\):)?cd:(?:\d+:)? .{1,300}"
    r"|(?:\S+:)?cd:\d+: no such file or directory: "
)
_SPAWN = pattern(r"(?:^|[:,] )(?:posix_)?spawn '?[^\s'`]+'?(?: E[A-Z]{3,10})?")
_MODULE = pattern(r"\S*python[\d.]*(?:\.exe)?: No module named \S+")
_DENIED = pattern(r"(?:-?bash|sh|zsh|/bin/\w+|dash|ksh|fish)(?:: line \d+|: \d+)?: .{1,200}: Permission denied$")


def environment_error(output: str) -> str | None:
    """The normalised text where the program was never started, or its folder is missing; else None.

    Names are kept: two missing programs are two errors.
    """
    line = environment_line(output)
    return normalise_error(line) if line is not None else None


def environment_line(output: str) -> str | None:
    """The line itself that says so, as it stands there."""
    data = _data()
    for raw in clean_lines(output):
        line = raw.strip()
        if 8 <= len(line) <= 500 and _is_environment(line, line.lower(), data):
            return line
    return None


def misses_command(line: str) -> bool:
    """Whether a line is a shell's word that it knows no such command."""
    return _misses_command(line, line.lower())


def _misses_command(line: str, lower: str) -> bool:
    return "not found" in lower and bool(
        lower.endswith(": command not found") or _ZSH_NOT_FOUND.match(line) or _SH_NOT_FOUND.match(line)
    )


def _is_environment(line: str, lower: str, data: _Data) -> bool:
    if lower.startswith(data.environment_starts) or lower in data.environment_lines:
        return True
    if _misses_command(line, lower):
        return True
    if "o such file or directory" in line:
        if "env: " in line[:15] and _ENV.match(line):
            return True
        if "cd:" in line[:80] and _CD.match(line):
            return True
        if "bad interpreter" in line or line.startswith("fatal: cannot change to "):
            return True
    if "ENOENT" in line and "spawn" in line and _SPAWN.search(line):
        return True
    if "No module named" in line and _MODULE.match(line):
        return True
    if "is not recognized as an internal or external command" in line:
        return True
    if "is not recognized as the name of a" in line or "is not recognized as a name of a" in line:
        return True
    if line.endswith("Permission denied") and _DENIED.match(line):
        return True
    return lower.startswith("mcp") and ("not connected" in lower or "connection closed" in lower)
