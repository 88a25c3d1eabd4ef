"""Errors in the output of commands: which lines are errors, and when two of them are the same one.

Takes text, gives text. Knows nothing of commands, exit statuses or agents: whether a result failed is told
elsewhere, and here only what it says. Three kinds of answers:

- the identity of one error text (`normalise_error`) and of a whole output (`normalise_output`);
- the lines that are error messages (`error_lines`, `primary_error`, `count_errors`);
- whether the program could not be started at all (`environment_error`).

A line has to be recognised as an error. Banners, wrappers ("exited with code 1") and lines that only mention
the word are none, and where nothing is recognised there is no identity: a wrong identity makes a false alarm.

Everything is linear in its input and raises on no text: patterns have no nested quantifiers, are anchored or
begin with a rare character, and run on candidate lines only.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_LINE: "Final" = 2_000
"""Characters of a line that are looked at."""
MAX_FOUND: "Final" = 2_000
"""Errors of one output that are counted; reading ends there."""
MAX_HALF: "Final" = 100_000
"""Characters at the head and at the tail of an output that are looked at; the middle is left out."""

# --------------------------------------------------------------------------------------------------- reading

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[()#][0-9A-Za-z]|\x1b[=>78cDEHMNOZ]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)


def strip_ansi(text: str) -> str:
    """`text` without terminal escape sequences, and without what is left of broken ones."""
    if "\x1b" not in text and "\x9b" not in text:
        return text
    return _ANSI.sub("", text).replace("\x1b", "").replace("\x9b", "")


def clean_lines(output: str) -> list[str]:
    """The lines of an output as a reader sees them: no ANSI, progress lines in their last state, capped."""
    if len(output) > 2 * MAX_HALF:
        output = output[:MAX_HALF] + "\n" + output[-MAX_HALF:]
    lines = strip_ansi(output).split("\n")
    for i, line in enumerate(lines):
        if "\r" in line:
            line = _last_state(line)
            lines[i] = line
        if len(line) > MAX_LINE:
            lines[i] = line[:MAX_LINE]
    return lines


def _last_state(line: str) -> str:
    """What a terminal shows after a line that was overwritten with carriage returns."""
    line = line.rstrip("\r")
    return line[line.rfind("\r") + 1 :]


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
        import json

        with open(__file__.rpartition("errors.py")[0] + "errors.json", encoding="utf-8") as file:
            lists = json.load(file)
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


# ----------------------------------------------------------------------------- the identity of an error text

_TOKEN = r"<(?:n|hex|id|uuid|time|tmp|colour|long)>"
# A word may hold tokens, so that what was normalised once is cut into the same words again.
_WORD = re.compile(r"(?:[^\s'\"`()\[\]{},;=|<>“”‘’«»!?*&^$…]|" + _TOKEN + ")+")
_UUID = re.compile(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-zA-Z])")
_DATE = re.compile(
    r"(?<![\w.])\d{4}[-/]\d\d[-/]\d\d"
    r"(?:[T_ ]\d\d:?\d\d(?::?\d\d)?(?:[.,]\d{1,9})?(?: ?UTC|Z| ?[+-]\d\d:?\d\d)?)?(?!\w)"
)
_CLOCK = re.compile(r"(?<![\w.:])\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AP]M)?(?![\w:])")
_DURATION = re.compile(
    r"(?<![\w.])\d{1,12}(?:\.\d{1,9})? ?"
    r"(?:ns|µs|μs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|milliseconds?|microseconds?)(?![\w])"
)
_COMMAS = re.compile(r"(?<![\w.])\d{1,15}(?:,\d{1,15})+(?:\.\d{1,15})?(?!\w)")  # 1,234 and (12,5)
_SEGMENT = re.compile(_TOKEN + r"|[^\W_]+|[\W_]", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w>.])(?<![A-Za-z]-)[+-]?\d[\d_]*(?:\.\d+)*(?:[eE][+-]?\d+)?(?!\w)")
_HEX = re.compile(r"(?<![0-9A-Za-z])0[xX][0-9a-fA-F]+")
_TEMP_ROOT = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/]+/[^/]+/[TC])/|[/\\](?:Temp|TEMP|temp|tmp)[/\\]"
)
_TEMP_NAME = re.compile(
    r"^(?:tmp[a-z0-9_]{8}|tmp\.[A-Za-z0-9]{6,12}|tmp-?[A-Za-z0-9]{6,12}|tmp[-_]\d+[-_A-Za-z0-9]*)$"
)
_VOLATILE_PREFIXES = (
    "thread",
    "worker",
    "pool",
    "port",
    "pid",
    "process",
    "run",
    "job",
    "attempt",
    "line",
    "try",
)


def normalise_error(line: str) -> str:
    """The identity of an error text: volatile parts become fixed tokens, names stay.

    Volatile are numbers, addresses, times, durations, ids, hashes, colours, temporary names, and the folders
    of paths. Digits that are part of a name stay (`utf8`, `test_2`, `TS2339`), and so do names in quotes:
    from `no attribute 'srcdir'` to `no attribute 'events'` is progress, from line 12 to line 14 is none.

    >>> normalise_error("/home/a/x.py:12: TypeError: 'b' takes 2 arguments, 3 given at 0x7f00aa11")
    "x.py:<n>: TypeError: 'b' takes <n> arguments, <n> given at <hex>"
    """
    line = " ".join(strip_ansi(line[: 4 * MAX_LINE])[:MAX_LINE].split())
    for _ in range(3):  # without its folders, a path can be a unit or a name that is volatile itself
        before, line = line, _normalise_once(line)
        if line == before:
            break
    if len(line) > MAX_LINE:
        line = line[: MAX_LINE + 1].rpartition(" ")[0] or line[:MAX_LINE]
    return line


def _normalise_once(line: str) -> str:
    if line.count("-") >= 4:
        line = _UUID.sub("<uuid>", line)
    if _has_digit(line):
        line = _DATE.sub("<time>", line)
        if ":" in line:
            line = _CLOCK.sub("<time>", line)
        line = _DURATION.sub("<time>", line)
        if "," in line:
            line = _COMMAS.sub("<n>", line)
    return _WORD.sub(_normalise_match, line)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


_DIGIT = re.compile(r"\d")


def _normalise_match(match: "re.Match[str]") -> str:
    word = match.group()
    if len(word) > 200:
        word = word.rpartition("/")[2]
        if len(word) > 200:
            return "<long>"
    for _ in range(3):  # what is left of a path can be a path again
        before, word = word, _normalise_word(word)
        if word == before:
            break
    return word if len(word) <= 200 else "<long>"


def _normalise_word(word: str) -> str:
    if word.isalpha():
        return word
    if "://" in word:
        scheme, _, rest = word.partition("://")
        if not scheme.endswith("file"):
            return _without_volatile(word)
        word = "/" + rest
    if "/" in word or "\\" in word:
        word = _last_component(word)
        if "<tmp>" in word:
            return word
    if word.startswith("tmp") and _has_digit(word) and len(word) == 11 and _TEMP_NAME.match(word):
        return "<tmp>"
    return _without_volatile(word)


def _last_component(word: str) -> str:
    """The last part of a path; `<tmp>` for a random temporary name."""
    path = word
    if "\\" in path and _is_windows_path(path):
        path = path.replace("\\", "/")
    if "/" not in path or path.startswith("@"):
        return word
    kept = path.rstrip("/")
    if not kept:
        return word
    head, _, last = kept.rpartition("/")
    if head.startswith("@"):
        return last
    if _TEMP_ROOT.search(kept):
        stem, dot, extension = last.partition(".")
        parent = head.rpartition("/")[2]
        if (
            _TEMP_NAME.match(stem)
            or _TEMP_NAME.match(last)
            or parent.startswith(("pytest-of-", "pytest-"))
            or last.startswith("pytest-of-")
            or _looks_random(stem)
        ):
            tail = dot + extension if extension and not _TEMP_NAME.match(last) else ""
            return "<tmp>" + _without_volatile(tail)
    return last


def _is_windows_path(path: str) -> bool:
    if path[1:3] == ":\\" or path.startswith(("\\\\", ".\\", "..\\")):
        return True
    last = path.rpartition("\\")[2].partition(":")[0]
    stem, dot, extension = last.rpartition(".")
    return bool(stem and dot) and 0 < len(extension) <= 5 and extension.isalnum()


def _looks_random(stem: str) -> bool:
    """`build-x7F3a2`: a name as mkdtemp gives it, 6 or more characters of mixed kinds after a mark."""
    tail = stem.replace("_", "-").replace(".", "-").rpartition("-")[2]
    if len(tail) < 6 or not tail.isalnum():
        return False
    return _transitions(tail) >= 2 or (tail != tail.lower() and tail[1:] != tail[1:].lower())


def _without_volatile(word: str) -> str:
    """A word's numbers and ids as tokens; digits that belong to a name stay."""
    if not _has_digit(word):
        return word
    if "0x" in word or "0X" in word:
        word = _HEX.sub("<hex>", word)
    if word.startswith("#") and len(word.rstrip(":.")) in (4, 5, 7, 9) and _is_hex(word[1:].rstrip(":.")):
        return "<colour>"
    word = _NUMBER.sub("<n>", word)
    if not _has_digit(word):
        return word
    parts = _SEGMENT.findall(word)
    for i, part in enumerate(parts):
        if part[0] == "<" or part.isalpha() or not _has_digit(part):
            continue
        before = parts[i - 1] if i else ""
        if _is_id(part) or (before == "@" and len(part) >= 5 and _is_hex(part)):
            parts[i] = "<id>"
        elif before == "_" or not part[0].isdigit():
            continue  # test_2, utf8, TS2339: the digits belong to the name
        elif before == "-" and i > 1 and len(part) <= 2 and part.isdigit() and parts[i - 2][-1].isalpha():
            if parts[i - 2].lower().endswith(_VOLATILE_PREFIXES):
                parts[i] = "<n>"  # UTF-8 and gpt-4 are names, worker-3 is not
        else:
            digits = 0
            while digits < len(part) and part[digits].isdigit():
                digits += 1
            parts[i] = "<n>" + part[digits:]
    return "".join(parts)


def _is_hex(text: str) -> bool:
    return bool(text) and not text.strip("0123456789abcdefABCDEF")


def _is_id(part: str) -> bool:
    """A git hash, a digest, a random base-62 id: what no one would call a name."""
    if len(part) < 7 or not part.isascii():
        return False
    if part.isdigit():
        return False
    lower = part == part.lower()
    if not part.strip("0123456789abcdef") and lower:
        return True
    if len(part) >= 12 and _is_hex(part):
        return True
    if len(part) < 8:
        return False
    changes = _transitions(part)
    return changes >= 4 or (len(part) >= 16 and changes >= 3)


def _transitions(part: str) -> int:
    """How often a letter follows a digit or a digit a letter."""
    changes = 0
    previous = part[0].isdigit()
    for char in part[1:]:
        digit = char.isdigit()
        if digit is not previous:
            changes += 1
            previous = digit
    return changes


# ---------------------------------------------------------------------------- the identity of a whole output

_OUT_HASH = re.compile(
    r"(?<![0-9a-zA-Z_.])(?=[0-9a-f]{0,63}[a-f])(?=[0-9a-f]{0,63}\d)[0-9a-f]{7,64}(?![0-9a-zA-Z_])"
)
_OUT_HEX = re.compile(r"(?<![0-9a-zA-Z])0x[0-9a-fA-F]{6,16}(?![0-9a-zA-Z])")
_OUT_DURATION = re.compile(
    r"(?<![\w.])(?:\d{1,4}(?:m|min|h) ?)?\d{1,12}(?:\.\d{1,9})?"
    r"(?:(?:ns|µs|μs|us|ms|s|sec|secs)| (?:ns|µs|μs|us|ms|s|secs?|seconds?|minutes?|milliseconds?))(?!\w)"
)
_OUT_PID = re.compile(r"(?<![\w])((?:pid|PID|Pid|process|Process)[ =:#]{1,3}|\(node:)\d{2,10}(?![\w.])")
_OUT_TOOL_PID = re.compile(r"^(==|--)\d{2,10}(?:==|--) ", re.MULTILINE)
_OUT_LOG_PID = re.compile(r"^((?:<time>)?[\w. :-]{0,40})\[\d{3,10}\]", re.MULTILINE)
_OUT_PORT = re.compile(r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{2,5}(?!\d)")
_OUT_TEMP = re.compile(
    r"(/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/\s]{1,20}/[^/\s]{1,60}/[TC])/"
    r"(pytest-of-[A-Za-z0-9_.-]{1,60}/pytest-\d{1,9}|[A-Za-z0-9_.+-]{1,120})"
)
_OUT_PLACE = re.compile(r"(\.[A-Za-z]{1,6}):\d{1,9}(?::\d{1,9})?(?![\w.])")
_OUT_PLACE_PAREN = re.compile(r"(\.[A-Za-z]{1,6})(?:\(\d{1,9}(?:,\d{1,9})?\)|:\[\d{1,9},\d{1,9}\])")
_OUT_LINE = re.compile(r"(?<![A-Za-z])([Ll]ines? |[Cc]ol(?:umn)? )\d{1,9}(?![\w.])")
_OUT_GUTTER = re.compile(r"^([ >]{0,8})\d{1,7}( {1,2}[|│])", re.MULTILINE)
_OUT_BLANKS = re.compile(r"\n{3,}")
_BAR = re.compile(r"[█▉▊▋▌▍▎▏━╸╺]|\[[#=>.\- ]{5,}\]|it/s|[kMG]i?B/s| ETA ")
_MAX_JSON: "Final" = 20_000


def normalise_output(text: str) -> str:
    """The identity of a whole output: what changes by itself is taken out, counts and values stay.

    "12 failed" is not "8 failed" and "score 0.71" not "score 0.73", but two runs that differ in times,
    durations, addresses, temporary names, ports, process ids or line marks are the same. Percentages go where
    the line is a progress bar. One JSON document has its keys sorted.
    """
    if len(text) > 2 * MAX_HALF:
        text = text[:MAX_HALF] + "\n" + text[-MAX_HALF:]
    text = strip_ansi(text)
    if len(text) < _MAX_JSON:
        text = _sorted_json(text)
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if "\r" in line:
            line = _last_state(line)
        line = line.rstrip()
        if "%" in line and len(line) <= MAX_LINE and _BAR.search(line):
            line = "<progress>"
        lines[i] = line
    numbered = [i for i, line in enumerate(lines) if _has_digit(line)]
    if numbered:
        changed = _without_volatile_parts("\n".join([lines[i] for i in numbered])).split("\n")
        for i, line in zip(numbered, changed, strict=True):
            lines[i] = line
    text = "\n".join(lines)
    if "/T/" in text or "tmp/" in text or "/shm/" in text:
        text = _OUT_TEMP.sub(_normalise_temp, text)
    return _OUT_BLANKS.sub("\n\n", text).strip("\n")


def _without_volatile_parts(text: str) -> str:
    """Lines with their volatile parts as tokens; no pattern here reaches over the end of a line."""
    lower = text.lower()
    if "-" in text:
        text = _UUID.sub("<uuid>", text)
    if "-" in text or "/" in text:
        text = _DATE.sub("<time>", text)
    if ":" in text:
        text = _CLOCK.sub("<time>", text)
        text = _OUT_PORT.sub(r"\1:<port>", text)
    text = _OUT_DURATION.sub("<time>", text)
    if "0x" in lower:
        text = _OUT_HEX.sub("<hex>", text)
    if "tmp/" in text or "/T/" in text or "/shm/" in text:
        text = _OUT_TEMP.sub(_normalise_temp, text)
    text = _OUT_HASH.sub("<id>", text)
    if "pid" in lower or "process" in lower or "(node:" in lower:
        text = _OUT_PID.sub(r"\1<pid>", text)
    if "==" in text or "--" in text:
        text = _OUT_TOOL_PID.sub(r"\1<pid>\1 ", text)
    if "[" in text:
        text = _OUT_LOG_PID.sub(r"\1[<pid>]", text)
    text = _OUT_PLACE.sub(r"\1:<n>", text)
    text = _OUT_PLACE_PAREN.sub(r"\1:<n>", text)
    if "line" in lower or "col" in lower:
        text = _OUT_LINE.sub(r"\1<n>", text)
    if "|" in text or "│" in text:
        text = _OUT_GUTTER.sub(r"\1<n>\2", text)
    return text


def _sorted_json(text: str) -> str:
    inner = text.strip()
    if not inner or inner[0] + inner[-1] not in ("{}", "[]"):
        return text
    import json

    try:
        return json.dumps(json.loads(inner), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return text


def _normalise_temp(match: "re.Match[str]") -> str:
    whole, name = match.group(), match.group(2)
    root = whole[: len(whole) - len(name)]
    stem, dot, extension = name.partition(".")
    if name.startswith("pytest-of-") or _TEMP_NAME.match(name):
        return root + "<tmp>"
    if _TEMP_NAME.match(stem) or _looks_random(stem):
        return root + "<tmp>" + dot + extension
    return whole


# ---------------------------------------------------------------------------------------------- error lines

_ERROR, _DETAIL, _MARK = 0, 1, 2  # an error; more about the last one; only the name of what failed

_EXCEPTION = re.compile(
    r"((?:[A-Za-z_][\w$]*(?:::|[./\\]))*[A-Za-z_][\w$]*)"  # a.b.SomeError
    r"(?: \[[A-Za-z0-9_]+\])?(?: \(\w[\w ]{0,40}\))?(?: ?:(?: |$)|$)"  # [ERR_CODE], (0 sub-exceptions), colon
)
_ENDS = ("Error", "Exception", "Failure", "Fault", "Panic", "StopIteration", "ImproperlyConfigured", "Abort")
_ENDS_OF_TWO_WORDS = (
    "Expired", "NotFound", "DoesNotExist", "Unavailable", "Invalid", "Timeout", "Denied", "Exceeded",
    "Interrupt", "Refused", "NotSupported", "Conflict", "Failed", "Required", "Disconnect", "Unauthorized",
    "Forbidden",
)  # fmt: skip
_DIAGNOSTIC = re.compile(
    r"(?:fatal )?error(?: ?\[[\w:/ -]{1,40}\]| [A-Z]{1,8}-?\d{1,6})?: {0,3}\S", re.IGNORECASE
)
_TOOL = re.compile(r"[\w.+/@-]{1,80} ?: $")
_PLACE = re.compile(r"(?::\d+|\(\d+(?:,\d+){0,3}\)|:\[\d+,\d+\]|, line \d+)(?::\d+)?(?: ?[:-]|) ?$")
_SHELL = re.compile(
    r"(?:-?(?:/usr)?(?:/bin/)?(?:bash|zsh|sh|dash|ksh|fish)|\(eval\)|-c|[\w./-]{1,100}\.sh)"
    r"(?:: -c)?(?::? ?(?:line )?\d+)?: \S"
)
_GO_PLACE = re.compile(r"(?:vet: )?[^\s:]+\.go:\d+:\d+: \S")
_GO_TEST_PLACE = re.compile(r"[^\s:]+_test\.go:\d+: \S")
_PYTHON_PLACE = re.compile(r"\S+\.pyx?:\d+: (?=[A-Z])")
_LINT = re.compile(r"\d+:\d+ +error +\S")
_LINT_CODE = re.compile(r"[^\s:]+:\d+:\d+: [A-Z]{1,5}\d{2,5} \S")
_KOTLIN = re.compile(r"e: (?:file://)?\S+?:\d+:\d+:? \S|e: \S+: \(\d+, \d+\): \S")
_BUILD_TOOL = re.compile(r"\[(?:ERROR|error)\] \S+?(?::\[\d+,\d+\]|:\d+(?::\d+)?:) \S")
_SQL = re.compile(r"ERROR \d{3,5} \(\w{2,8}\)(?: at line \d+)?: \S")
_RUBY = re.compile(r"\S+:\d+:in .*\([A-Z][\w:]*(?:Error|Exception)\)$")
_LEVEL = re.compile(
    r"(?<![A-Za-z])(?:INFO|DEBUG|TRACE|NOTICE|VERBOSE|WARN|WARNING)(?![A-Za-z])"
    r"|\[(?:info|debug|trace|notice|warn|warning)\]|level\"?[=:] ?\"?(?:info|debug|trace|warn)"
    r"|^(?:info|debug|warn|warning)\b|: warning\b|Warning:|npm (?:warn|notice)"
)
_CODE = re.compile(
    r"(?:raise|throw|return|except|catch|try|if|elif|else|for|while|with|assert|import|from|def|class|const|let|"
    r"var|print|println!|console\.\w+|logger\.\w+|log\.\w+|func|function|fn|await|yield|export|case|"
    r"public|private|pub|async|new|expect)\b ?[\w(\"'`{]"
)
_CI_LOG = re.compile(r"[^\t]{1,100}\t[^\t]{1,100}\t\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ?")
_WORKSPACE = re.compile(
    r"@?[\w./-]{1,80}[ :](?:build|test|typecheck|check|lint|compile|dev|start)[\w:-]{0,20}: "
    r"|[\w.-]{0,60}[A-Za-z][\w.-]{0,20} {1,20}\| "
)
_ERROR_HEADING = re.compile(r"(?:[A-Z]\w* ){0,3}[Ee]rror:$")
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
    "console.", "stderr |", "stdout |",
)  # fmt: skip


def error_lines(output: str, limit: int = 20) -> list[str]:
    """The recognised error lines of an output, stripped, in order of appearance; at most `limit`.

    A message that stands on the line after its heading (`panicked at src/x.rs:2:5:`) is joined to it.
    """
    found = _Scan(clean_lines(output)).found
    shown = [text for kind, text in found if kind != _MARK] or [text for _, text in found]
    return shown[: max(limit, 0)]


def primary_error(output: str) -> str | None:
    """The error that stands for the failure, or None where no line is recognised as one.

    The last exception of the first Python traceback (with its chain), the first `E` line of pytest, the first
    diagnostic of a compiler; for a failed `expect()` its line with what was expected and received.
    """
    found = _Scan(clean_lines(output)).found
    for i, (kind, text) in enumerate(found):
        if kind != _ERROR:
            continue
        if text.startswith(_JOINED):
            for detail_kind, detail in found[i + 1 : i + 3]:
                if detail_kind != _DETAIL:
                    break
                text += " | " + detail
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


def count_errors(output: str) -> int:
    """How many errors an output reports, so that a set that shrinks can be seen."""
    found = _Scan(clean_lines(output)).found
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
        self._in_npm = 0  # lines of npm's report so far
        self._expect_at = -100
        self._go_tests = any(line.startswith("--- FAIL: ") for line in lines)
        self._diff = False
        while self._next < len(lines) and len(self.found) < MAX_FOUND:
            at = self._next
            self._next += 1
            self._line(at, lines[at])
        if self._reasons and not any(kind == _ERROR for kind, _ in self.found):
            self.found.extend((_ERROR, reason) for reason in self._reasons)

    def _line(self, at: int, raw: str) -> None:
        if "Z " in raw and raw.count("\t") >= 2:
            prefix = _CI_LOG.match(raw)
            if prefix:
                raw = raw[prefix.end() :].removeprefix("##[error]")
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
        for hint in _HINTS:
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
        if _is_error(line, lower, data):
            if line.endswith("cannot find symbol"):
                line = self._with_symbol(at, line)
            self._add(_ERROR, line)
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
        self._add(_ERROR, self._continued(self._next - 1, body) if body.endswith(":") else body)
        return True

    def _pytest_line(self, at: int, raw: str) -> None:
        """A line that pytest marks with E: the first of a run is the exception, the others explain it."""
        body = raw[1:].strip()
        if body and not _is_stop(body):
            if not self._in_e:
                self._e_place = body.startswith(
                    'File "'
                )  # of an error of syntax; its message is further down
                if not self._e_place:
                    self._add(_ERROR, self._continued(at, body) if body.endswith(":") else body)
            elif self._e_place and _exception_name(body):
                self._add(_ERROR, body)
                self._e_place = False
        self._in_e = True

    def _skip_block(self, at: int) -> None:
        """What a test printed itself, up to the next empty line."""
        while self._next < len(self._lines) and self._next < at + 200 and self._lines[self._next].strip():
            self._next += 1

    def _continued(self, at: int, line: str) -> str:
        """A heading that ends in a colon, with the message on one of the next lines."""
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

    def _with_symbol(self, at: int, line: str) -> str:
        """javac names the symbol that it cannot find some lines further down."""
        for raw in self._lines[at + 1 : at + 5]:
            _, mark, symbol = raw.partition("symbol: ")
            if mark:
                return line + ": " + symbol.strip()
        return line

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
        if line.startswith("[XPASS(strict)]"):
            self._add(_ERROR, line)
            return True
        if line.startswith("thread '") and " panicked at " in line:
            if line.endswith(":"):
                line = self._continued(at, line)
                self._next = at + 2
            self._add(_ERROR, line)
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
                close = at - self._in_npm <= 2 and self._in_npm > 0
                self._add(_DETAIL if close else _ERROR, line)
                self._in_npm = at
            elif self._in_npm:
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


def _is_stop(body: str) -> bool:
    """A program stopped by the person or by itself is no error."""
    return body.startswith(("KeyboardInterrupt", "SystemExit", "asyncio.exceptions.CancelledError"))


def _is_wrapper(lower: str, data: _Data) -> bool:
    if lower.startswith(data.wrapper_starts) or lower in data.wrapper_lines:
        return True
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
    if line.endswith("failed.") and ": Assertion `" in line:
        return True
    if first == "E" and _SQL.match(line):
        return True
    return _is_environment(line, lower, data)


# ----------------------------------------------------------------------------------------- environment errors

_SH_NOT_FOUND = re.compile(r"(?:\S+: )?(?:line )?\d+: (\S+): (?:command )?not found$")
_ZSH_NOT_FOUND = re.compile(r"(?:\(eval\)|-?zsh)(?::\d+)?: command not found: \S")
_ENV = re.compile(r"(?:/usr/bin/)?env: .{1,200}: No such file or directory$")
_CD = re.compile(
    r"(?:\S+: )?(?:line \d+: |\d+: |\(eval\):)?cd:(?:\d+:)? .{1,300}"
    r"|(?:\S+:)?cd:\d+: no such file or directory: "
)
_SPAWN = re.compile(r"(?:^|[:,] )(?:posix_)?spawn '?[^\s'`]+'?(?: E[A-Z]{3,10})?")
_MODULE = re.compile(r"\S*python[\d.]*(?:\.exe)?: No module named \S+")
_DENIED = re.compile(
    r"(?:-?bash|sh|zsh|/bin/\w+|dash|ksh|fish)(?:: line \d+|: \d+)?: .{1,200}: Permission denied$"
)


def environment_error(output: str) -> str | None:
    """The normalised text where the program was never started, or its folder is missing; else None.

    Names are kept: two missing programs are two errors.
    """
    data = _data()
    for raw in clean_lines(output):
        line = raw.strip()
        if 8 <= len(line) <= 500 and _is_environment(line, line.lower(), data):
            return normalise_error(line)
    return None


def _is_environment(line: str, lower: str, data: _Data) -> bool:
    if lower.startswith(data.environment_starts) or lower in data.environment_lines:
        return True
    if "not found" in lower and (
        lower.endswith(": command not found") or _ZSH_NOT_FOUND.match(line) or _SH_NOT_FOUND.match(line)
    ):
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
