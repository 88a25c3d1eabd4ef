"""When two errors are the same one, and when two outputs are: texts without their volatile parts.

Takes text, gives text. Knows nothing of commands, exit statuses or agents.
Everything is linear in its input and raises on no text: patterns have no nested quantifiers, are anchored or
begin with a rare character, and run on candidates only.
"""

from unspin.facts.patterns import DOTALL, MULTILINE, pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Final

MAX_LINE: "Final" = 2_000
"""Characters of a line that are looked at."""
MAX_FOUND: "Final" = 2_000
"""Errors of one output that are counted; reading ends there."""
MAX_HALF: "Final" = 100_000
"""Characters at the head and at the tail of an output that are looked at; the middle is left out."""

# --------------------------------------------------------------------------------------------------- reading

_ANSI = pattern(
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
    """The lines of an output as a reader sees them: no ANSI, progress lines in their last state, capped.

    Not to be changed: of the output asked about last they are kept, since all is asked of one after another.
    """
    if not _last or _last[0][0] != output:
        _last[:] = [(output, _cleaned(output))]
    return _last[0][1]


_last: "list[tuple[str, list[str]]]" = []


def both_ends(output: str) -> str:
    """The two ends of an output that is longer than twice ``MAX_HALF`` characters, else all of it."""
    return output if len(output) <= 2 * MAX_HALF else output[:MAX_HALF] + "\n" + output[-MAX_HALF:]


def _cleaned(output: str) -> list[str]:
    output = strip_ansi(both_ends(output))
    lines = output.split("\n")
    if "\r" not in output and "Z " not in output and "##[error]" not in output:
        return [line[:MAX_LINE] for line in lines] if len(output) > MAX_LINE else lines
    for i, line in enumerate(lines):
        if "\r" in line:
            line = _last_state(line)
            lines[i] = line
        if "Z " in line:
            prefix = _CI_LOG.match(line)
            if prefix:
                line = lines[i] = line[prefix.end() :]
        if line.startswith("##[error]"):
            line = lines[i] = line[9:]
        if len(line) > MAX_LINE:
            lines[i] = line[:MAX_LINE]
    return lines


_CI_LOG = pattern(
    r"[^\t]{1,200}\t[^\t]{1,200}\t\ufeff?\d{4}-\d\d-\d\dT[\d:.]{8,20}Z ?"
    r"|\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z "
)  # job, step and time of a log of GitHub


def _last_state(line: str) -> str:
    """What a terminal shows after a line that was overwritten with carriage returns."""
    line = line.rstrip("\r")
    return line[line.rfind("\r") + 1 :]


# ----------------------------------------------------------------------------- the identity of an error text

_TOKEN = r"<(?:n|hex|id|uuid|time|tmp|colour|long)>"
# A word may hold tokens, so that what was normalised once is cut into the same words again.
_WORD = pattern(r"(?:[^\s'\"`()\[\]{},;=|<>“”‘’«»!?*&^$…]|" + _TOKEN + ")+")
_UUID = pattern(r"(?<![0-9a-zA-Z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-zA-Z])")
_DATE = pattern(
    r"(?<![\w.])\d{4}[-/]\d\d[-/]\d\d"
    r"(?:[T_ ]\d\d:?\d\d(?::?\d\d)?(?:[.,]\d{1,9})?(?: ?UTC|Z| ?[+-]\d\d:?\d\d)?)?(?!\w)"
)
_CLOCK = pattern(r"(?<![\w.:])\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[AP]M)?(?![\w:])")
_DURATION = pattern(
    r"(?<![\w.])\d{1,12}(?:\.\d{1,9})? ?"
    r"(?:ns|µs|μs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?|hrs?|milliseconds?|microseconds?)(?![\w])"
)
_COMMAS = pattern(r"(?<![\w.])\d{1,15}(?:,\d{1,15})+(?:\.\d{1,15})?(?!\w)")  # 1,234 and (12,5)
_SEGMENT = pattern(_TOKEN + r"|[^\W_]+|[\W_]", DOTALL)
_NUMBER = pattern(r"(?<![\w>.])(?<![A-Za-z]-)[+-]?\d[\d_]*(?:\.\d+)*(?:[eE][+-]?\d+)?(?!\w)")
_HEX = pattern(r"(?<![0-9A-Za-z])0[xX][0-9a-fA-F]+")
_TEMP_ROOT = pattern(
    r"^(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/]+/[^/]+/[TC])/|[/\\](?:Temp|TEMP|temp|tmp)[/\\]"
)
_TEMP_FILE = pattern(r"(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/:]+/[^/:]+/[TC])/[^:]+:?$")
_TEMP_NAME = pattern(r"^(?:tmp[a-z0-9_]{8}|tmp\.[A-Za-z0-9]{6,12}|tmp-?[A-Za-z0-9]{6,12}|tmp[-_]\d+[-_A-Za-z0-9]*)$")
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


_DIGIT = pattern(r"\d")


def _normalise_match(match: "re.Match[str]") -> str:
    word = match.group()
    if ("/" in word or "\\" in word) and _is_place(match):
        place = _place(word)
        if place and len(place) <= 200:
            return place
    if word.startswith("/") and _is_temporary_object(match):
        return "<tmp>"
    if len(word) > 200:
        word = word.rpartition("/")[2]
        if len(word) > 200:
            return "<long>"
    for _ in range(3):  # what is left of a path can be a path again
        before, word = word, _normalise_word(word)
        if word == before:
            break
    return word if len(word) <= 200 else "<long>"


_BEFORE_PLACE = pattern(r"(?:\[?(?:ERROR|Error|error)\]?:? (?:in )?|e: |vet: |error during build: )?$")
_AFTER_PLACE = pattern(r" ?[(\[](?:\d|<n>)")
_LINE_OF_PLACE = pattern(r"[^:]:\[?(?:\d|<n>)")
_ROOT = pattern(r"(?:/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/]+/[^/]+/[TC])/|/(?:home|Users)/[^/]+/|/root/|/+")
_KEPT = 3  # components of an absolute path that say where something is


def _is_place(match: "re.Match[str]") -> bool:
    """Tell whether a path is the place of the error: at the beginning with its line, or after an arrow.

    Of a place the folders count: an error that moves from `a/index.ts` to `b/index.ts` is another one.
    """
    text, start = match.string, match.start()
    if text.endswith(("--> ", " panicked at "), 0, start):
        return True
    if text.endswith(" at ", 0, start) and text.startswith(" line ", match.end()):
        return True
    if start > 24 or not _BEFORE_PLACE.match(text[:start]):
        return False
    if text.endswith(" in ", 0, start):
        return True
    return bool(_LINE_OF_PLACE.search(match.group(), 1) or _AFTER_PLACE.match(text, match.end()))


def _place(word: str) -> str:
    """A place with its folders inside the project; empty where the word is a URL."""
    if "://" in word:
        scheme, _, word = word.partition("://")
        if scheme != "file":
            return ""
    if _is_windows_path(word):
        word = word.replace("\\", "/")
    drive = word[1:3] == ":/" and word[0].isalpha()
    if drive:
        word = word[2:]
    path, mark, line = word.partition(":")
    root = _ROOT.match(path)
    folders = [part for part in path[root.end() if root else 0 :].split("/") if part not in ("", ".", "..")]
    if not folders:
        return ""
    last = folders.pop()
    if root:
        while folders and (_TEMP_NAME.match(folders[0]) or folders[0].startswith("pytest-")):
            del folders[0]
        folders = folders[max(len(folders) - _KEPT + 1, 0) :]
    folders = [part if _is_token(part) else _without_volatile(part) for part in folders]
    return "/".join([*folders, _normalise_word(last + mark + line)])


def _is_token(part: str) -> bool:
    return part[0] == "<" and part[-1] == ">"


def _is_temporary_object(match: "re.Match[str]") -> bool:
    """Tell whether a word is a file in a temporary folder that the error is about, not the place of the error.

    A place (`/tmp/work/a.py:12`, `/tmp/work/a.ts(12,5)`) and a name in quotes tell one error from another.
    """
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    return (
        _TEMP_FILE.match(match.group()) is not None
        and before not in ("'", '"', "`", "“", "‘")
        and after not in ("(", "[")
    )


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

_OUT_HASH = pattern(r"(?<![0-9a-zA-Z_.])(?=[0-9a-f]{0,63}[a-f])(?=[0-9a-f]{0,63}\d)[0-9a-f]{7,64}(?![0-9a-zA-Z_])")
_OUT_HEX = pattern(r"(?<![0-9a-zA-Z])0x[0-9a-fA-F]{6,16}(?![0-9a-zA-Z])")
_OUT_DURATION = pattern(
    r"(?<![\w.])(?:\d{1,4}(?:m|min|h) ?)?\d{1,12}(?:\.\d{1,9})?"
    r"(?:(?:ns|µs|μs|us|ms|s|sec|secs)| (?:ns|µs|μs|us|ms|s|secs?|seconds?|minutes?|milliseconds?))(?!\w)"
)
_OUT_PID = pattern(r"(?<![\w])((?:pid|PID|Pid|process|Process)[ =:#]{1,3}|\(node:)\d{2,10}(?![\w.])")
_OUT_TOOL_PID = pattern(r"^(==|--)\d{2,10}(?:==|--) ", MULTILINE)
_OUT_LOG_PID = pattern(r"^((?:<time>)?[\w. :-]{0,40})\[\d{3,10}\]", MULTILINE)
_OUT_PORT = pattern(r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{2,5}(?!\d)")
_OUT_TEMP = pattern(
    r"(/private)?/(?:tmp|var/tmp|dev/shm|var/folders/[^/\s]{1,20}/[^/\s]{1,60}/[TC])/"
    r"(pytest-of-[A-Za-z0-9_.-]{1,60}/pytest-\d{1,9}|[A-Za-z0-9_.+-]{1,120})"
)
_OUT_PLACE = pattern(r"(\.[A-Za-z]{1,6}):\d{1,9}(?::\d{1,9})?(?![\w.])")
_OUT_PLACE_PAREN = pattern(r"(\.[A-Za-z]{1,6})(?:\(\d{1,9}(?:,\d{1,9})?\)|:\[\d{1,9},\d{1,9}\])")
_OUT_LINE = pattern(r"(?<![A-Za-z])([Ll]ines? |[Cc]ol(?:umn)? )\d{1,9}(?![\w.])")
_OUT_GUTTER = pattern(r"^([ >]{0,8})\d{1,7}( {1,2}[|│])", MULTILINE)
_OUT_BLANKS = pattern(r"\n{3,}")
_BAR = pattern(r"[█▉▊▋▌▍▎▏━╸╺]|\[[#=>.\- ]{5,}\]|it/s|[kMG]i?B/s| ETA ")
_MAX_JSON: "Final" = 20_000


def normalise_output(text: str) -> str:
    """The identity of a whole output: what changes by itself is taken out, counts and values stay.

    "12 failed" is not "8 failed" and "score 0.71" not "score 0.73", but two runs that differ in times,
    durations, addresses, temporary names, ports, process ids or line marks are the same. Percentages go where
    the line is a progress bar. One JSON document has its keys sorted.
    """
    text = strip_ansi(both_ends(text))
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
