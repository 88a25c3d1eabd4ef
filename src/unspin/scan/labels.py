"""Which runs ended well: by a file of the person's, else by what the runs say of themselves."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable

from unspin.scan import ends
from unspin.scan.runs import Run, stem

GOOD, BAD, UNKNOWN = "good", "bad", ""

#: Where labels came from.
BY_FILE, BY_THEMSELVES, NOWHERE = "file", "the runs' own words", "nowhere"

_VALUE_COLUMNS = ("resolved", "label", "good", "outcome", "result", "status", "passed", "success")
_NAME_COLUMNS = ("session", "session_id", "instance_id", "file", "path", "id", "run", "name")
_GOOD_WORDS = frozenset(
    ("true", "1", "yes", "y", "ok", "good", "resolved", "passed", "pass", "success", "solved", "well")
)
_BAD_WORDS = frozenset(
    ("false", "0", "no", "n", "bad", "unresolved", "failed", "fail", "failure", "error", "unsolved", "loop", "stuck")
)
_LARGEST = 64 << 20  # bytes


class LabelError(Exception):
    """A file of labels that cannot be used; the text says what is expected."""

    for_people = True


class Labels:
    """What a file says: names of runs with ``GOOD``, ``BAD`` or, where it says neither, ``UNKNOWN``.

    A plain list names the runs that ended well: all others did not (``rest``). A table says it
    of each run; of those that it does not name nothing is known.
    """

    def __init__(self, values: dict[str, str], rest: str):
        self.values = values
        self.rest = rest


def parse(text: str) -> Labels:
    """Read a list (one path or session a line) or a table with a column such as ``resolved`` or ``label``.

    Either may be JSON: a list of names, or an object of names and what became of each. Raises ``LabelError`` for a
    table without such a column and for a file that names nothing.
    """
    if text.lstrip("\ufeff \t\r\n").startswith(("[", "{")):
        return _of_json(text)
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise LabelError("it names no run: one path or session id a line is expected, or a table")
    head = lines[0]
    separator = "\t" if "\t" in head else ","
    names = [each.strip().lower() for each in next(csv.reader([head], delimiter=separator))]
    column = next((names.index(each) for each in _VALUE_COLUMNS if each in names), None)
    if column is None or len(names) < 2:
        if separator == "\t" and len(names) > 1:
            shown = ", ".join(_VALUE_COLUMNS[:3])
            raise LabelError(f"a table whose first line names no column {shown} ...; it names {', '.join(names)[:120]}")
        return Labels({line.strip(): GOOD for line in lines}, BAD)
    name = next((names.index(each) for each in _NAME_COLUMNS if each in names and names.index(each) != column), None)
    name = name if name is not None else int(column == 0)
    values: dict[str, str] = {}
    for row in csv.reader(lines[1:], delimiter=separator):
        if len(row) <= max(name, column) or not row[name].strip():
            continue
        value = _meant(row[column])
        key = row[name].strip()
        values[key] = value if values.get(key, value) == value else UNKNOWN  # it says both
    if not values:
        raise LabelError("a table without a row")
    return Labels(values, UNKNOWN)


def _meant(word: str) -> str:
    word = word.strip().lower()
    return GOOD if word in _GOOD_WORDS else BAD if word in _BAD_WORDS else UNKNOWN


def _of_json(text: str) -> Labels:
    try:
        found = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        raise LabelError("no JSON, though it begins like it") from None
    if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
        return Labels(dict.fromkeys(found, GOOD), BAD)
    if isinstance(found, dict) and found and all(isinstance(each, (str, int)) for each in found.values()):
        return Labels({name: _meant(str(each)) for name, each in found.items()}, UNKNOWN)
    raise LabelError('JSON such as ["run-1", "run-2"] or {"run-1": true, "run-2": false} is expected')


def read(path: str) -> Labels:
    """Read a file of labels. Raises ``LabelError``, and ``OSError`` where it cannot be opened."""
    with open(path, "rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise LabelError(f"larger than {_LARGEST >> 20} MB")
    try:
        return parse(data.decode("utf-8"))
    except (UnicodeDecodeError, csv.Error):
        raise LabelError("no text: one path or session id a line is expected, or a table") from None


def by_file(runs: list[Run], labels: Labels) -> tuple[list[str], list[str]]:
    """Return what each run is, and the names in the file that are no run's, or those of runs in several files.

    A name is a session's id or a path; a file's name alone, with or without the ends that say its
    format, where no other file has it.
    """
    sure: dict[str, set[int]] = {}
    likely: dict[str, set[int]] = {}
    for at, run in enumerate(runs):
        base = os.path.basename(run.path)
        for key in (run.session, run.path, os.path.realpath(run.path)):
            sure.setdefault(key, set()).add(at)
        for key in {base, stem(base)}:
            likely.setdefault(key, set()).add(at)
    found = [labels.rest] * len(runs)
    strange = []
    for name, value in labels.values.items():
        base = os.path.basename(name)
        named = sure.get(name) or sure.get(os.path.realpath(os.path.expanduser(name)))
        if not named:
            named = likely.get(base) or likely.get(stem(base)) or set()
            if len({runs[at].path for at in named}) > 1:
                named = set()
        if not named:
            strange.append(name)
        for at in named:
            found[at] = value
    return found, strange


def by_themselves(runs: Iterable[Run]) -> list[str]:
    """Return what each run says of its own end: that it handed in its work, or that it did not get there."""
    read = {ends.WELL: GOOD, ends.LIMIT: BAD, ends.STUCK: BAD, ends.ERROR: BAD}
    return [read.get(ends.read(run.how)[0], UNKNOWN) for run in runs]
