"""What the commands show people: short, plain, laid out for the terminal, no control character of anybody else's."""

from __future__ import annotations

import os
import re
import textwrap
import time
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from unspin.detect import LOOP_RULES

_LABEL = 10  # columns of the labels of a report
_COLOURS = {"nudge": "yellow", "block": "red", "halt": "red", "release": "green", "rollback": "green", "none": "dim"}
_STATES = {"ok": "green", "note": "yellow", "wrong": "red"}


# -- words -----------------------------------------------------------------------------


def clean(text: str) -> str:
    """Return foreign text fit for a terminal: one line, nothing that moves, hides or colours."""
    return "".join(each if each.isprintable() else " " if each.isspace() else "?" for each in text)


def tilde(path: str) -> str:
    """Return a path as people write it, the home folder as ``~``."""
    home = os.path.expanduser("~")
    if os.path.isabs(home) and home != os.sep and (path == home or path.startswith(home.rstrip(os.sep) + os.sep)):
        path = f"~{path[len(home.rstrip(os.sep)) :]}"
    return clean(path)


def number(count: int, word: str, many: str = "") -> str:
    """Return a count with its word: ``1 nudge``, ``2,000 nudges``."""
    return f"{count:,} {word if count == 1 else many or f'{word}s'}"


def spent(tokens: int, dollars: float | None) -> str:
    """Return what was used, as far as it is known; ``dollars`` is ``None`` where tokens have no known price."""
    parts = [f"{tokens:,} tokens"] if tokens else []
    if dollars is None:
        parts.append("price unknown")
    elif tokens or round(dollars, 6):
        parts.append(f"${dollars:,.2f}")
    return ", ".join(parts)


def ago(then: float) -> str:
    """Return how long ago a moment was."""
    seconds = max(0, int(time.time() - then))
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"


def moment(then: float) -> str:
    """Return the time of an entry: of today the hour alone."""
    return _time(then, "%H:%M" if _time(then, "%x") == _time(time.time(), "%x") else "%d %b %H:%M")


def _time(then: float, form: str) -> str:
    try:
        return time.strftime(form, time.localtime(then))
    except (OverflowError, ValueError, OSError):
        return "?"


def value(given: Any) -> str:
    """Return a setting's value as it is written in TOML."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, str):
        return '"' + given.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(map(value, given))}]"
    if isinstance(given, dict):
        return "{" + ", ".join(f"{key} = {value(each)}" for key, each in given.items()) + "}"
    return str(given)


# -- lines -----------------------------------------------------------------------------


class Paper(Console):
    """A console whose reader may go away: that ends the command as it does elsewhere (``app``), not in a failure."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Page:
    """Where lines go: as wide as the terminal, 80 columns where there is none."""

    def __init__(self) -> None:
        self._console = Paper(highlight=False, soft_wrap=True)
        self.width = max(30, self._console.width)

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print one line as it is, of texts and (text, style) pairs."""
        text = Text.assemble(*((clean(part), "") if isinstance(part, str) else part for part in parts))
        text.rstrip()
        self._console.print(text)

    def hang(self, label: str, text: str, *, indent: int = _LABEL, style: str = "", label_style: str = "") -> None:
        """Print a label and a text that is wrapped beside it."""
        lines = textwrap.wrap(clean(text), max(20, self.width - indent), break_long_words=False, break_on_hyphens=False)
        for at, each in enumerate(lines or [""]):
            lead = label if at == 0 else ""
            self.line((clean(lead).ljust(indent), label_style), (each, style))


def fit(text: str, width: int) -> str:
    """Return text cut to a width, the end left out."""
    return text if cell_len(text) <= width else set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def fit_end(text: str, width: int) -> str:
    """Return text cut to a width, the beginning left out: a file's name stands at its end."""
    if cell_len(text) <= width:
        return str(text)
    while text and cell_len(text) > width - 1:
        text = text[1:]
    return f"…{text}"


def _pad(text: str, width: int) -> str:
    return set_cell_size(text, width)


# -- status ----------------------------------------------------------------------------


def surroundings(page: Page, report: dict[str, Any]) -> None:
    """Print what is true without a session: wrong settings, the folder, and whether the hooks are in."""
    for each in report["settings_problems"]:
        page.hang("settings", _with_tilde(each), style="red")
    page.hang("project", tilde(report["project"]), style="bold")
    for each in report["hooks"]:
        name = f"{each['agent']}: " if len(report["hooks"]) > 1 else ""
        places = list(map(tilde, each["files"]))
        if each["plugin"]:
            places.append("the plugin beside it is silent" if places else f"as a plugin, in {tilde(each['plugin'])}")
        files = f" ({', '.join(places)})" if places else ""
        if each["state"] == "installed":
            page.hang("hooks", f"{name}installed{files}")
        elif each["state"] == "broken":
            page.hang("hooks", f"{name}broken: {_with_tilde(each['problem'])}", style="red")
        else:
            problem = f" ({_with_tilde(each['problem'])})" if each["problem"] else ""
            page.hang("hooks", f"{name}not installed: unspin install {each['agent']}{problem}", style="yellow")


def status(page: Page, report: dict[str, Any], mode_origin: str) -> None:
    """Print a session's state."""
    page.hang("session", f"{report['session']}  {report['agent']}, last event {ago(report['updated'])}")
    page.hang("mode", f"{report['mode']} ({mode_origin})")
    if report["refusing"]:
        files = ", ".join(report["refusing"])
        page.hang("refusing", f"edits of {files} (your next message ends it, or: unspin release)", style="red")
    for each in report["streaks"]:
        about = f" on {each['about']}" if each["about"] else ""
        page.hang("streak", f"{each['rule']} {each['count']} of {each['threshold']}{about}")
    for rule, file in by_file([(each["rule"], each["file"]) for each in report["muted"]]):
        page.hang("muted", f"{rule} {f'on {file}' if file else 'everywhere'}")
    counts = ", ".join(f"{rule} {count}" for rule, count in report["detections"].items()) or "nothing"
    page.hang("noticed", counts)
    said = f"{number(report['nudges'], 'nudge')}, {number(report['blocks'], 'refusal')}"
    released = f"; released {ago(report['released'])}" if report["released"] else ""
    page.hang("said", said + released)


def records(page: Page, report: dict[str, Any]) -> None:
    """Print what was recorded here besides sessions: checks and faults."""
    for each in report["checks"]:
        page.hang("check", f"{outcome(each['kind'], each['status'])}  {each['command']}  {ago(each['time'])}")
    if report["faults"]:
        page.hang("faults", f"{report['faults']} in the last week, see: unspin doctor", style="yellow")


def by_file(muted: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return muted (rule, file) pairs, those of a file on which all loop rules are muted as one."""
    full = {file for _, file in muted if {rule for rule, about in muted if about == file} >= LOOP_RULES}
    rest = [(rule, file) for rule, file in muted if file not in full or rule not in LOOP_RULES]
    return [*rest, *(("all loop rules", file) for file in sorted(full))]


def mutes(page: Page, muted: list[tuple[str, str]]) -> None:
    """Print what is muted, one a line."""
    for rule, file in by_file(muted):
        page.hang(rule, file or "everywhere", indent=18)


def outcome(kind: str, status: int) -> str:
    """Return what a recorded check says."""
    if status == 0:
        return f"{kind}: passed"
    # 124 is the status of `timeout`; from there on come signals and programs that could not be started
    return f"{kind}: {'failed' if status < 124 else 'unknown'} ({status})"


def sessions(page: Page, rows: list[dict[str, Any]], length: int) -> None:
    """Print sessions, one a line: id, folder, agent, last event, mode."""
    columns = [[row["session"][:length], row["agent"], ago(row["updated"]), row["mode"]] for row in rows]
    taken = sum(max(cell_len(row[at]) for row in columns) + 2 for at in range(4))
    folders = [fit_end(tilde(row["project"]), max(12, page.width - taken)) for row in rows]
    _table(page, [[first, folder, *rest] for (first, *rest), folder in zip(columns, folders, strict=True)])


def _table(page: Page, rows: list[list[str]]) -> None:
    widths = [max(cell_len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        page.line("  ".join(_pad(clean(cell), width) for cell, width in zip(row, widths, strict=True)))


def _with_tilde(text: str) -> str:
    home = os.path.expanduser("~").rstrip(os.sep)
    return text.replace(f"{home}{os.sep}", f"~{os.sep}") if os.path.isabs(home) else text


# -- the log ---------------------------------------------------------------------------


def log(page: Page, entries: list[dict[str, Any]], length: int) -> None:
    """Print the log, one line an entry: time, response, rule, file, cause. ``length``: of the ids, 0 for none."""
    if not entries:
        page.line("Nothing was noticed.")
        return
    rows = []
    for entry, times in _repeats(entries):
        response = f"{_response(entry)} x{times}" if times > 1 else _response(entry)
        session = [clean(entry["session"][:length])] if length else []
        rows.append(([moment(entry["time"]), *session], response, entry))
    lead = [max(len(cells[at]) for cells, _, _ in rows) for at in range(len(rows[0][0]))]
    responses = max(len(response) for _, response, _ in rows)
    rules = max(len(entry["rule"]) for _, _, entry in rows)
    left = page.width - sum(lead) - responses - rules - 2 * (len(lead) + 2)
    longest = max(cell_len(clean(entry["file"])) for _, _, entry in rows)
    files = min(longest, max(10, min(left // 2, left - 22)))
    for cells, response, entry in rows:
        start = "  ".join(_pad(cell, width) for cell, width in zip(cells, lead, strict=True))
        file = f"{_pad(fit_end(clean(entry['file']), files), files)}  " if longest else ""
        rest = f"  {_pad(entry['rule'], rules)}  {file}"
        room = max(0, left - cell_len(file))
        page.line(
            f"{start}  ",
            (_pad(response, responses), _COLOURS.get(entry["response"], "")),
            rest,
            fit(clean(cause(entry)), room) if room > 3 else "",
        )


def log_fully(page: Page, entries: list[dict[str, Any]], length: int) -> None:
    """Print the log with whole lines and the evidence they stand on."""
    if not entries:
        page.line("Nothing was noticed.")
    for at, entry in enumerate(entries):
        if at:
            page.line("")
        when, response = _time(entry["time"], "%d %b %Y %H:%M:%S"), _response(entry)
        rest = "".join(f"  {each}" for each in (entry["rule"], entry["session"][:length]) if each)
        page.line(f"{when}  ", (response, _COLOURS.get(entry["response"], "")), rest)
        if entry["file"]:
            page.line(f"  {entry['file']}")
        page.hang("", entry["message"], indent=2)
        for seen in entry["evidence"]:
            file = f"{seen['file']}  " if seen["file"] and seen["file"] not in seen["excerpt"] else ""
            page.hang(
                f"  {seen['event_index']:>5}  ", f"{seen['tool']}  {file}{seen['excerpt']}", indent=9, style="dim"
            )


def _response(entry: dict[str, Any]) -> str:
    return "logged" if entry["response"] == "none" else str(entry["response"])


def _repeats(entries: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int]]:
    """Return entries with how often each came running: the same refusal is one line."""
    found: list[tuple[dict[str, Any], int]] = []
    for entry in entries:
        if found and entry["response"] in ("block", "halt", "release", "rollback"):
            last, times = found[-1]
            if all(entry[key] == last[key] for key in ("session", "identity", "response", "message")):
                found[-1] = (last, times + 1)
                continue
        found.append((entry, 1))
    return found


_SENTENCE = re.compile(r'(?:"[^"]*"|[^".?]|[.?](?!\s|$))*')
_LOOP = re.compile(r'loop \(((?:"[^"]*"|[^")]|\)(?!\. ))*)\)\. ')
_REFUSED = re.compile(r'edit of "[^"]*" refused: ([^"]*?)(?:, and |\. )')


def cause(entry: dict[str, Any]) -> str:
    """Return the short cause of an entry: what its line says, without what stands in other columns."""
    text = entry["message"].removeprefix("Unspin: ")
    loop, refused = _LOOP.match(text), _REFUSED.match(text)
    if refused:
        return refused[1]
    said = loop[1] if loop else _SENTENCE.match(text)[0]  # type: ignore[index]
    own = f'"{entry["file"]}"'
    if entry["response"] == "rollback":
        return str(text)
    if entry["response"] == "release":
        return said.partition(": ")[0].removeprefix("released ")
    about = [each for each in re.findall(r'"[^"]*"', said) if each != own]
    if loop and about:  # the rule's name says the rest
        return f"{entry['count']}x {', '.join(each[1:-1] for each in about)}"
    if entry["file"]:
        said = re.sub(rf"^{re.escape(own)} | (?:on|of) {re.escape(own)}", "", said)
    return said.partition("; ")[0] if loop else said


# -- the doctor ------------------------------------------------------------------------


def finding(page: Page, found: dict[str, str]) -> None:
    """Print one finding of the doctor."""
    about = f"{found['state']:<7}{found['about']}"
    page.hang(about, _with_tilde(found["text"]), indent=23, label_style=_STATES[found["state"]])
    if found["remedy"]:
        page.hang("", found["remedy"], indent=23, style="bold")


# -- settings --------------------------------------------------------------------------


def setting(page: Page, given: dict[str, Any]) -> None:
    """Print one setting with its value, and where it comes from."""
    line = f"{given['key']} = {value(given['value'])}"
    if given["origin"] == "default":
        page.line((clean(line), "dim"))
        return
    origin = f"({given['words']}; default {value(given['default'])})"
    if cell_len(f"{line}  {origin}") <= page.width:
        page.line(f"{line}  ", (clean(origin), "dim"))
    else:
        page.line(line)
        page.hang("", origin, indent=4, style="dim")
