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
        "environment_starts",
        "shell_endings",
        "starts",
        "wrapper_contains",
        "wrapper_starts",
    )

    def __init__(self) -> None:
        import json

        with open(__file__.rpartition("errors.py")[0] + "errors.json", encoding="utf-8") as file:
            lists = json.load(file)
        self.wrapper_starts: tuple[str, ...] = tuple(lists["wrapper_starts"])
        self.wrapper_contains: tuple[str, ...] = tuple(lists["wrapper_contains"])
        self.shell_endings: tuple[str, ...] = tuple(lists["shell_endings"])
        self.starts: tuple[str, ...] = tuple(lists["starts"])
        self.environment_starts: tuple[str, ...] = tuple(lists["environment_starts"])


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
_THOUSANDS = re.compile(r"(?:<n>,)+<n>")
_SEGMENT = re.compile(_TOKEN + r"|[^\W_]+|[\W_]", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w>.])[+-]?\d[\d_]*(?:\.\d+)*(?:[eE][+-]?\d+)?(?!\w)")
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
    if line.count("-") >= 4:
        line = _UUID.sub("<uuid>", line)
    if _has_digit(line):
        line = _DATE.sub("<time>", line)
        if ":" in line:
            line = _CLOCK.sub("<time>", line)
        line = _DURATION.sub("<time>", line)
    line = _WORD.sub(_normalise_match, line)
    line = _THOUSANDS.sub("<n>", line)
    if len(line) > MAX_LINE:
        line = line[: MAX_LINE + 1].rpartition(" ")[0]
    return line


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None


_DIGIT = re.compile(r"\d")


def _normalise_match(match: "re.Match[str]") -> str:
    word = match.group()
    if len(word) > 200:
        word = word.rpartition("/")[2]
        if len(word) > 200:
            return "<long>"
    normal = _normalise_word(word)
    return normal if len(normal) <= 200 else "<long>"


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
_OUT_PID = re.compile(r"(?<![\w])((?:pid|PID|Pid|process|Process)[ =:#]{1,3}|\(node:|==)\d{2,10}(?![\w.])")
_OUT_LOG_PID = re.compile(r"^((?:<time>)?[\w. :-]{0,40})\[\d{3,10}\]", re.MULTILINE)
_OUT_PORT = re.compile(r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{2,5}(?!\d)")
_OUT_TEMP = re.compile(
    r"(/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/\s]{1,20}/[^/\s]{1,60}/[TC])/"
    r"(pytest-of-[\w.-]{1,60}/pytest-\d{1,9}|[\w.+-]{1,120})"
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
    text = "\n".join(lines)
    if _has_digit(text):
        if "-" in text:
            text = _UUID.sub("<uuid>", text)
        text = _DATE.sub("<time>", text)
        text = _CLOCK.sub("<time>", text)
        text = _OUT_DURATION.sub("<time>", text)
        text = _OUT_HEX.sub("<hex>", text)
        text = _OUT_PORT.sub(r"\1:<port>", text)
        text = _OUT_TEMP.sub(_normalise_temp, text)
        text = _OUT_HASH.sub("<id>", text)
        text = _OUT_PID.sub(r"\1<pid>", text)
        text = _OUT_LOG_PID.sub(r"\1[<pid>]", text)
        text = _OUT_PLACE.sub(r"\1:<n>", text)
        text = _OUT_PLACE_PAREN.sub(r"\1:<n>", text)
        text = _OUT_LINE.sub(r"\1<n>", text)
        text = _OUT_GUTTER.sub(r"\1<n>\2", text)
    elif "/T/" in text or "tmp/" in text:
        text = _OUT_TEMP.sub(_normalise_temp, text)
    return _OUT_BLANKS.sub("\n\n", text).strip("\n")


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


# ----------------------------------------------------------------------------------------------- error lines

_ERROR, _DETAIL, _MARK = 0, 1, 2  # an error; more about the last one; only the name of what failed

_EXCEPTION = re.compile(
    r"(?:[A-Za-z_][\w$]*[.:\\/]{1,2})*[A-Za-z_][\w$]*"
    r"(?: \[[A-Za-z0-9_]+\])?(?: \(\w[\w ]*\))?(?::(?: |$)|$)"
)
_ENDS = (
    "Error", "Exception", "Failure", "Fault", "Expired", "NotFound", "DoesNotExist", "Unavailable", "Invalid",
    "Timeout", "Denied", "Exceeded", "Abort", "Interrupt", "ImproperlyConfigured", "StopIteration", "Refused",
    "NotSupported", "Panic", "Conflict", "Failed",
)  # fmt: skip
_DIAGNOSTIC = re.compile(
    r"(?:fatal )?error(?: ?\[[\w:/ -]{1,40}\]| [A-Z]{1,8}-?\d{1,6})?: ?\S", re.IGNORECASE
)
_TOOL = re.compile(r"[\w.+/@-]{1,80}: $")
_PLACE = re.compile(r"(?::\d+|\(\d+(?:,\d+){0,3}\)|:\[\d+,\d+\]|, line \d+)(?::\d+)?(?: ?[:-]|) ?$")
_GO_PLACE = re.compile(r"(?:vet: )?[^\s:]+\.go:\d+:\d+: \S")
_GO_TEST_PLACE = re.compile(r"[^\s:]+_test\.go:\d+: \S")
_LINT = re.compile(r"\d+:\d+ +error +\S")
_LINT_CODE = re.compile(r"[^\s:]+:\d+:\d+: [A-Z]{1,5}\d{2,5} \S")
_KOTLIN = re.compile(r"e: (?:file://)?\S+?:\d+:\d+:? \S|e: \S+: \(\d+, \d+\): \S")
_RUBY = re.compile(r"\S+:\d+:in .*\([A-Z][\w:]*(?:Error|Exception)\)$")
_LEVEL = re.compile(
    r"(?<![A-Za-z])(?:INFO|DEBUG|TRACE|NOTICE|VERBOSE|WARN|WARNING)(?![A-Za-z])"
    r"|\[(?:info|debug|trace|notice|warn|warning)\]|level\"?[=:] ?\"?(?:info|debug|trace|warn)"
    r"|^(?:info|debug|warn|warning)\b|: warning\b|Warning:"
)
_CODE = re.compile(
    r"(?:raise|throw|return|except|catch|try|if|elif|for|while|with|assert|import|from|def|class|const|let|var|"
    r"print|println!|console\.\w+|logger\.\w+|log\.\w+|func|fn|expect|await|yield|export|case) ?[\w(\"'`{]"
)
_HINTS = (
    "error", "exception", "fail", "fatal", "panic", "not found", "no such file", "undefined", "fault",
    "cannot", "denied", "expected", "received", "assert", "uncaught", "abort", "not a directory", "unbound",
    "not connected", "connection", "refused", "what():", ".go:", "err_", "err!", "** (", "e  ", "e: ",
    "is a directory", "bad ", "unexpected", "invalid", "curl: (", "multiple definition", "couldn't",
    "could not", "no matches", "(eval):", "no matching", "no test", "what went wrong", "sqlstate",
    "not recognized", "instruction", "read-only", "no space", "timeout", "expired", "conflict",
    "stopiteration", "doesnotexist", "unavailable", "exceeded", "no rule", "exists", "timed out",
    "not permitted", "improperly", "interrupt", "binary file", "parameter not", "too many", "busy",
)  # fmt: skip


def error_lines(output: str, limit: int = 20) -> list[str]:
    """The recognised error lines of an output, stripped, in order of appearance; at most `limit`."""
    return [text for _, text in _scan(output)[: max(limit, 0)]]


def primary_error(output: str) -> str | None:
    """The error that stands for the failure, or None where no line is recognised as one.

    The last exception of the first Python traceback (with its chain), the first `E` line of pytest, the first
    diagnostic of a compiler; for a failed `expect()` its line with what was expected and received.
    """
    found = _scan(output)
    for i, (kind, text) in enumerate(found):
        if kind != _ERROR:
            continue
        if text.startswith("expect("):
            for detail_kind, detail in found[i + 1 : i + 3]:
                if detail_kind != _DETAIL:
                    break
                text += " | " + detail
        return text
    for kind, text in found:
        if kind == _MARK:
            return text
    return None


def count_errors(output: str) -> int:
    """How many errors an output reports, so that a set that shrinks can be seen."""
    found = _scan(output)
    errors = sum(kind == _ERROR for kind, _ in found)
    return errors or sum(kind == _MARK for kind, _ in found)


def _scan(output: str) -> list[tuple[int, str]]:
    """Every recognised line with its kind."""
    data = _data()
    lines = clean_lines(output)
    found: list[tuple[int, str]] = []
    reasons: list[str] = []  # of pytest's short summary; used only where nothing else says more
    traceback = -1  # the indent of an open Python traceback
    chained = False
    last_traceback = -1  # index in `found` of the last traceback's exception
    in_e = False
    expect_at = -10
    go_test = "--- FAIL: " in output
    diff = False
    skip_to = -1
    for i, raw in enumerate(lines):
        if i <= skip_to:
            continue
        if traceback >= 0:
            body = raw.lstrip(" |+")
            indent = len(raw) - len(body)
            if not body or indent > traceback or body.startswith(("File ", "^", "~")):
                continue
            was, traceback = traceback, -1
            if not body.startswith("Traceback (most recent"):
                name = _EXCEPTION.match(body)
                if name and indent <= was:
                    if _is_stop(body):
                        continue
                    if chained and last_traceback >= 0:
                        found[last_traceback] = (_DETAIL, found[last_traceback][1])
                    chained = False
                    last_traceback = len(found)
                    found.append((_ERROR, body.rstrip()))
                    continue
        line = raw.strip()
        if len(line) < 4:
            in_e = False
            continue
        if line.startswith("Traceback (most recent call last)") or (
            line.endswith("Traceback (most recent call last):") and len(line) < 120
        ):
            traceback = len(raw) - len(raw.lstrip(" |+"))
            continue
        if line.startswith(("@@ ", "diff --git ")):
            diff = True
        lower = line.lower()
        for hint in _HINTS:
            if hint in lower:
                break
        else:
            in_e = False
            if lower.startswith(("during handling of", "the above exc")):
                chained = True
            continue
        if lower.startswith(("during handling of the above", "the above exception was the direct")):
            chained = True
            continue
        if raw.startswith("E  "):
            body = line[1:].lstrip()
            if not in_e and body and not _is_stop(body):
                found.append((_ERROR, body))
            in_e = True
            continue
        in_e = False
        if raw[0] in "+-" and not raw.startswith(("--- FAIL: ", "-bash: ")):
            continue
        if lower.startswith(data.wrapper_starts) or _is_wrapper(lower, data):
            continue
        if line.startswith(("FAIL: ", "ERROR: ")) and line.endswith(")") and "." in line:
            continue  # unittest's heading
        if line.startswith(("FAILED ", "ERROR ")) and ("::" in line or ".py" in line):
            reason = line.partition(" - ")[2]
            if reason and not _is_stop(reason):
                reasons.append(reason)
            continue
        if line.startswith("--- FAIL: "):
            found.append((_MARK, line))
            continue
        if line.startswith("thread '") and " panicked at " in line:
            following = lines[i + 1].strip() if i + 1 < len(lines) else ""
            if line.endswith(":") and following:
                line += " " + following
                skip_to = i + 1
            found.append((_ERROR, line))
            continue
        if line in ("error: |-", "error: |", "error: >-"):
            following = lines[i + 1].strip() if i + 1 < len(lines) else ""
            if following:
                found.append((_ERROR, following))
                skip_to = i + 1
            continue
        if line.startswith(("Expected: ", "Received: ", "Expected substring: ", "Received string: ")):
            found.append((_DETAIL if i - expect_at <= 8 else _ERROR, line))
            expect_at = max(expect_at, i - 4)
            continue
        if line.startswith("expect(") and ("received" in line or "expected" in line):
            found.append((_ERROR, line))
            expect_at = i
            continue
        if go_test and _GO_TEST_PLACE.match(line):
            found.append((_ERROR, line))
            continue
        if diff and raw[0] == " " and not line.startswith("error"):
            continue
        if _is_error(line, lower, data):
            found.append((_ERROR, line))
    if reasons and not any(kind == _ERROR for kind, _ in found):
        found.extend((_ERROR, reason) for reason in reasons)
    return found


def _is_stop(body: str) -> bool:
    """A program stopped by the person or by itself is no error."""
    return body.startswith(("KeyboardInterrupt", "SystemExit", "asyncio.exceptions.CancelledError"))


def _is_wrapper(lower: str, data: _Data) -> bool:
    for phrase in data.wrapper_contains:
        if phrase in lower:
            return True
    return lower.startswith(("make: ***", "make[", "gmake: ***", "ninja: build stopped", "found "))


def _is_error(line: str, lower: str, data: _Data) -> bool:
    first = line[0]
    if first in "✓✔√#>*|│•●$\"'{}" and not lower.startswith(data.starts):
        return False
    if lower.startswith(
        ("ok ", "pass", "(pass)", "test ", "tests ", "<", "http://", "https://", "- ", "// ")
    ):
        return False
    if _LEVEL.search(line[:80]):
        return False
    if _CODE.match(line):
        return False
    if lower.startswith(data.starts):
        return True
    if lower.endswith(data.shell_endings) and ": " in line:
        return True
    if first == "e" and _KOTLIN.match(line):
        return True
    if "error" in lower or "Exception" in line:
        match = _DIAGNOSTIC.search(line)
        if match:
            before = line[: match.start()]
            if not before or _TOOL.match(before) or (len(before) < 300 and _PLACE.search(before)):
                return True
            if before.startswith("[ERROR] ") and _PLACE.search(before):
                return True
    match = _EXCEPTION.match(line)
    if match:
        name = (
            match.group().partition(":")[0].partition(" ")[0] if "::" not in match.group() else match.group()
        )
        name = name.rstrip(": ")
        if name.endswith(_ENDS) and name[0] != "_" and any(c.isupper() for c in name):
            return True
    if line.startswith("[ERROR] ") and _PLACE.search(line.partition("] ")[2].partition("] ")[0] + "] "[:1]):
        return True
    if ".go:" in line and _GO_PLACE.match(line):
        return True
    if first.isdigit() and _LINT.match(line):
        return True
    if _LINT_CODE.match(line) or _RUBY.match(line):
        return True
    if "undefined reference to" in line or "multiple definition of" in line:
        return True
    if line.startswith(("npm error ", "npm ERR! ")):
        return True
    if line.startswith("what():") or (line.endswith("failed.") and ": Assertion `" in line):
        return True
    return line.startswith(("ERROR: ", "FATAL ", "FATAL: ", "ERROR:  ", "Error - "))


# ---------------------------------------------------------------------------------------- environment errors

_SH_NOT_FOUND = re.compile(r"(?:\S+: )?(?:line )?\d+: (\S+): (?:command )?not found$")
_EVAL = re.compile(r"\(eval\):\d+: command not found: \S")
_ENV = re.compile(r"env: .{1,200}: No such file or directory$")
_CD = re.compile(
    r"(?:\S+: )?(?:line \d+: |\d+: |\(eval\):)?cd:(?:\d+:)? .{1,300}"
    r"|(?:\S+:)?cd:\d+: no such file or directory: "
)
_SPAWN = re.compile(r"(?:posix_)?spawn '?\S+'?")
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
        if len(line) < 8 or len(line) > 500:
            continue
        lower = line.lower()
        if _is_environment(line, lower, data):
            return normalise_error(line)
    return None


def _is_environment(line: str, lower: str, data: _Data) -> bool:
    if lower.startswith(data.environment_starts):
        return True
    if "not found" in lower:
        if (
            lower.endswith(": command not found")
            or _EVAL.match(line)
            or "zsh: command not found: " in line[:60]
        ):
            return True
        if _SH_NOT_FOUND.match(line):
            return True
    if "o such file or directory" in line:
        if line.startswith("env: ") and _ENV.match(line):
            return True
        if "cd:" in line[:80] and _CD.match(line):
            return True
        if "bad interpreter" in line:
            return True
    if "ENOENT" in line and "spawn" in line and _SPAWN.search(line):
        return True
    if "No module named" in line and _MODULE.match(line):
        return True
    if (
        "is not recognized as an internal or external command" in line
        or "is not recognized as the name of a" in line
    ):
        return True
    if line.endswith("Permission denied") and _DENIED.match(line):
        return True
    return lower.startswith("mcp") and ("not connected" in lower or "connection closed" in lower)
