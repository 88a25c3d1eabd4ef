"""How much repetition is too much: what repeats decides.

A sentence in the first person that stands eight times running is a loop; eight equal lines
of a log are not, nor a thousand zeros. The limits were chosen by reading what repeats in
degenerate texts and in some thirty thousand honest ones; all of them stand in docs/stream.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_DATA: dict[str, Any] = json.loads((Path(__file__).parent / "words.json").read_text("utf-8"))
TALKING: Final = frozenset(_DATA["talk"])
_SENTENCE: Final = frozenset(_DATA["sentence"])
_FILLER: Final = frozenset(_DATA["filler"])


def _any_of(texts: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)))


_TALK_ANYWHERE = _any_of(_DATA["talk_anywhere"])
_SENTENCE_ANYWHERE = _any_of(_DATA["sentence_anywhere"])
_TURNS = _any_of(_DATA["turns"])
_WORD = re.compile(r"(?<![\w/.\\-])[^\W\d_]+(?:['’][^\W\d_]+)?(?![\w/\\(-])")
_LETTERS = re.compile(r"[^\W\d_]")
_IDEOGRAPHS = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]")
_LETTERS_RUN = re.compile(r"[^\W\d_]+")
_SYMBOL = re.compile(r"[{}()\[\];=<>|\\/+$&^%@~#_]")
#: What a machine writes: a path, a name of code, a long number or hash.
_MACHINE = re.compile(
    r"[\w.-]{2}[/\\][\w.-]{2}|\w::\w|\d{4}|\b(?=[a-f]*\d)[0-9a-f]{7,}\b"
    r"|\w\.(?:py|js|ts|go|rs|java|c|h|cpp|rb|php|md|json)\b"
)
#: What only a machine writes: a time, a colour, the level of a log line.
_STAMP = re.compile(
    r"\x1b\[|\d:\d\d|\b(?:WARN|WARNING|ERROR|INFO|DEBUG|TRACE|FATAL|\w+Warning)\b"
    r"|(?:^|\n)\W{0,16}(?:warning|error|info|debug|note|hint)\W{0,16}:"
)
#: Rows of data: keys, tags, attributes, values between commas.
_TABLE = re.compile(r"[\"']\s*:|</?\w|\w=[\"']|INSERT INTO|[\w\"'][,;\t|][\w\"'].*[\w\"'][,;\t|][\w\"']")
_BLOB = re.compile(r"[A-Za-z0-9+/=]+\Z")
_WORDLIKE = re.compile(r"[A-Z]?[a-z]+\Z")

TALK, SENTENCE, WORDS, LINES, CODE, NUMBERS, SYMBOLS, RUN, DRIFT = (
    "talk",
    "sentence",
    "words",
    "lines",
    "code",
    "numbers",
    "symbols",
    "run",
    "drift",
)

#: From this length of the unit on, so many repeats are too many; the first that fits. Beside it, characters.
_TALK_REPEATS = ((1_000, 3), (250, 4), (60, 5), (30, 6), (16, 8), (0, 32))
_TALK_CHARS = 176
_TURNS_CHARS = 240  # marks of a chat's template
_SENTENCE_REPEATS = ((1_000, 4), (400, 5), (150, 6), (60, 8), (0, 12))
_SENTENCE_CHARS = 500
_LINES_REPEATS = ((400, 8), (150, 12), (60, 20), (0, 32))
_LINES_CHARS = 1_200
_CODE_REPEATS = ((200, 12), (0, 24))
_CODE_CHARS = 2_400
_TABLE_LIMIT = (24, 6_000)
_MACHINE_REPEATS = ((400, 16), (0, 32))
_PAGE, _PAGE_REPEATS = 1_000, 8  # from this length of the unit on, lines and code of any kind
_MACHINE_CHARS = 8_000

#: The others: repeats and characters, both of which have to be reached.
_WORDS_LIMIT = (20, 480)
_SPELLED_LIMIT = (20, 900)  # words between symbols
_LABELS_LIMIT = (32, 1_600)  # one word a line: a column of a table
_BLOB_LIMIT = (24, 3_000)
_NUMBERS_LIMIT = (24, 8_000)
_ROWS_LIMIT = (24, 16_000)
_SYMBOLS_LIMIT = (20, 1_000)
_GRID_LIMIT = (20, 2_500)
_BLANK_LIMIT = (20, 4_000)

#: Runs of one character.
_RUNS: dict[str, int] = {".": 4_000, " ": 4_000, **dict.fromkeys("-=_*#~+─━═·•–—^\t\u3000", 2_000), "\n": 400}
_RUN_OF_LETTERS = 3_000
_RUN_IN_BASE64 = 8_000  # zeros are a run of As there
_RUN_OF_OTHERS = 400

BEFORE = 32  # characters before a loop that tell what it is part of
_SHORT = 64  # characters of a unit in which a mark may be cut by where the unit begins


class Measure:
    """How loosely a channel is judged: repeats and characters are multiplied by ``factor``."""

    __slots__ = ("drift", "expected", "factor")

    def __init__(self, factor: float = 1.0, *, drift: bool = True, expected: int = 0):
        self.factor = factor
        self.drift = drift
        self.expected = expected  # characters of repetition that were asked for


def limits(unit: str, fenced: bool, measure: Measure, before: str = "") -> tuple[str, int, int]:
    """Return the kind of a unit, and the repeats and characters from which on it is too much.

    ``before`` are the ``BEFORE`` characters before the loop.
    """
    kind, (repeats, chars) = _limits(unit, fenced)
    if kind == RUN and unit[0] == "A" and _goes_on_from_base64(before):
        chars = _RUN_IN_BASE64
    if kind in (LINES, CODE) and len(unit) >= _PAGE:
        repeats = min(repeats, _PAGE_REPEATS)
    factor = measure.factor
    return kind, round(repeats * factor), max(round(chars * factor), measure.expected)


def _goes_on_from_base64(before: str) -> bool:
    return len(before) == BEFORE and _BLOB.match(before) is not None and not _WORDLIKE.match(before)


def whole(unit: str) -> str:
    """Return a unit turned so that it begins with a line, or else with a word: where a loop was met is chance."""
    unit = _closed(unit)
    for mark in ("\n", " "):
        at = unit.rfind(mark)
        if at >= 0:
            return unit[at + 1 :] + unit[: at + 1]
    return unit


def talk_of(text: str) -> tuple[int, int]:
    """Count the talking words of a text, and those that make sentences."""
    words = _WORD.findall(text)
    talk = words.count("I") + len(_TALK_ANYWHERE.findall(text))  # a small i is a variable
    words = list(map(str.lower, words))
    talk += sum(map(TALKING.__contains__, words))
    return talk, sum(map(_SENTENCE.__contains__, words)) + len(_SENTENCE_ANYWHERE.findall(text))


def talks_anywhere(text: str) -> int:
    """Count the talking words of a text in a script without spaces."""
    return len(_TALK_ANYWHERE.findall(text))


def is_language(text: str) -> bool:
    """Tell whether a text is written language: letters and few symbols; a counter in each sentence is left out."""
    bare = "".join(text.split())
    letters, digits = len(_LETTERS.findall(bare)), sum(map(bare.count, "0123456789"))
    said = len(bare) - digits
    return letters >= 0.72 * said and digits <= 0.3 * len(bare) and len(_SYMBOL.findall(bare)) <= 0.06 * said


def _limits(unit: str, fenced: bool) -> tuple[str, tuple[int, int]]:
    if len(set(unit)) == 1:
        return RUN, (1, _run(unit[0]))
    raw = len(unit)
    unit = whole(_unescaped(unit) if "\\" in unit else unit)
    if len(set(unit)) == 1:  # of an escape
        return RUN, (1, _run(unit[0]) * raw // len(unit))
    size, lines = len(unit), "\n" in unit
    bare = "".join(unit.split())
    letters = len(_LETTERS.findall(bare))
    spelled = _LETTERS_RUN.findall(unit.lower())
    if _TURNS.search(2 * unit if size < _SHORT else unit):
        return TALK, (_least(_TALK_REPEATS, size), _TURNS_CHARS)
    if all(word in _FILLER or (len(word) < 2 and not _IDEOGRAPHS.match(word)) for word in spelled):
        if not bare:
            repeats, chars = _BLANK_LIMIT
            return SYMBOLS, (repeats, min(chars, size * _RUNS["\n"] // unit.count("\n")) if lines else chars)
        if not letters and not any(map(str.isdigit, bare)):
            return SYMBOLS, _GRID_LIMIT if lines else _SYMBOLS_LIMIT
        return NUMBERS, _ROWS_LIMIT if lines else _NUMBERS_LIMIT
    stamped = _STAMP.search(unit) is not None
    machine = stamped or _MACHINE.search(unit) is not None
    symbols = len(_SYMBOL.findall(bare)) / len(bare)
    talk, function = talk_of(unit)
    language = letters >= 0.5 * len(bare) and symbols <= 0.2 and not stamped
    if language and talk and (not machine or (talk >= 2 and function >= 3)):
        times = 2 if fenced else 1
        weight = size + 2 * len(_IDEOGRAPHS.findall(unit))  # one says as much as three letters
        return TALK, (times * _least(_TALK_REPEATS, weight), times * _TALK_CHARS)
    flows = language and function >= 3 and function >= 0.2 * len(spelled) and letters >= 0.7 * len(bare)
    if flows and symbols <= 0.06 and (not machine or function >= 6):
        return SENTENCE, (_least(_SENTENCE_REPEATS, size), _SENTENCE_CHARS)
    if machine and size >= 24:
        return CODE, (_least(_MACHINE_REPEATS, size), _MACHINE_CHARS)
    numbered = lines and function < 2 and sum(map(str.isdigit, bare)) > 0.1 * len(bare)
    if numbered or _TABLE.search(unit):
        return CODE, _TABLE_LIMIT
    if not lines:
        if _BLOB.match(unit) and not _WORDLIKE.match(_from_capital(unit)):
            return NUMBERS, _BLOB_LIMIT
        return WORDS, _WORDS_LIMIT if symbols <= 0.2 else _SPELLED_LIMIT
    if symbols > 0.1:
        return CODE, (_least(_CODE_REPEATS, size), _CODE_CHARS)
    if len(spelled) == 1:
        return LINES, _LABELS_LIMIT
    return LINES, (_least(_LINES_REPEATS, size), _LINES_CHARS)


def _closed(unit: str) -> str:
    """Return a unit turned by one character where it ends amid an escape."""
    slashes = len(unit) - len(unit.rstrip("\\"))
    return unit[-1] + unit[:-1] if slashes % 2 and slashes < len(unit) else unit


def _unescaped(unit: str) -> str:
    """Return a unit of JSON's text as what it stands for, as far as it matters here."""
    return _closed(unit).replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _from_capital(unit: str) -> str:
    """Return a unit turned so that it begins with its capital, if it has one."""
    at = next((at for at, char in enumerate(unit) if char.isupper()), 0)
    return unit[at:] + unit[:at]


def _least(table: tuple[tuple[int, int], ...], size: int) -> int:
    return next(repeats for least, repeats in table if size >= least)


def _run(char: str) -> int:
    if char.isascii() and char.isalnum():
        return _RUN_OF_LETTERS
    return _RUNS.get(char, _RUN_OF_OTHERS)
