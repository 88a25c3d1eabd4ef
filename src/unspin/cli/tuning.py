"""The command that measures thresholds on the person's own runs: tune. It reads transcripts and changes nothing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.cells import cell_len

from unspin import config, cost
from unspin.cli import common, show
from unspin.cli.scanning import FORMAT
from unspin.guard import Settings
from unspin.scan import labels, tuning
from unspin.scan.formats import find, without_parts
from unspin.scan.runs import Measured, Run, each_of
from unspin.scan.source import Source, SourceError

_SHOWN = 5  # files, names of one kind that are told
_SMALL = 4 << 20  # bytes that are read sooner than processes start


class _Rate(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A share: 1%, 0.5 %, 0.01."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = value.strip()
        try:
            rate = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            rate = 0.0
        if not 0 < rate < 1:
            self.fail(f"{show.clean(value)}: expected a share above 0 and below 1, such as 1% or 0.01", param, ctx)
        return rate


@click.command(
    epilog=common.examples(
        "unspin tune ~/.claude/projects",
        "unspin tune runs/ --good resolved.txt",
        "unspin tune runs/ --good results.tsv --max-false-stops 5%",
    )
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--good", metavar="FILE", help="The runs that ended well: one path or session a line, or a table.")
@click.option(
    "--max-false-stops", "most", type=_Rate(), default="1%", show_default=True, help="Of good runs, how many at most."
)
@FORMAT
@click.option("--jobs", type=click.IntRange(min=1), help="Processes (default: as many as there are cores).")
@common.JSON
def tune(paths: tuple[str, ...], good: str | None, most: float, format: str, jobs: int | None, as_json: bool) -> None:
    """Measure the thresholds of the loop rules on your own runs, and propose settings.

    For each rule and threshold: in how many good and bad runs it fires, how early, what would have been saved,
    beside a plain step budget. Settings are proposed only if the runs show that their rate of false stops is low
    enough. A table needs a column resolved or label; without --good, runs count as what they say of their own end.
    """
    sources = _sources(paths)
    told = _labels(good) if good else None
    settings = config.find(common.here()).settings
    runs, notes = _measure(sources, settings, format, jobs)
    strange: list[str] = []
    origin = labels.BY_FILE
    if told is not None:
        labelled, strange = labels.by_file(runs, told)
        if runs and len(strange) == len(told.values):
            name = show.clean(strange[0][:100])
            raise click.BadParameter(
                f"none of its names is one of these runs, such as {name}: a session's id, a path or a file's name.",
                param_hint="--good",
            )
    else:
        labelled = labels.by_themselves(runs)
        origin = labels.BY_THEMSELVES if any(labelled) else labels.NOWHERE
    found = tuning.tune(tuning.Sample(runs, labelled), settings, most, origin=origin)
    found["runs"] |= {"without_steps": notes["without_steps"], "names_of_no_run": strange}
    found["errors"] = notes["errors"]
    if as_json:
        click.echo(json.dumps(found))
    else:
        _show(found)
    _tell(notes["errors"], strange)
    if not runs:
        raise common.Problem("no run was read: none of these files is a transcript with a step of the agent.")


# -- what is meant ---------------------------------------------------------------------


def _sources(paths: tuple[str, ...]) -> list[Source]:
    try:
        return without_parts(find(paths))
    except SourceError as error:
        raise click.BadParameter(str(error), param_hint="PATH") from None


def _labels(path: str) -> labels.Labels:
    try:
        return labels.read(path)
    except (OSError, labels.LabelError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise click.BadParameter(f"{show.clean(path)}: {show.clean(said)}", param_hint="--good") from None


def _measure(
    sources: list[Source], settings: Settings, format: str, jobs: int | None
) -> tuple[list[Run], dict[str, Any]]:
    try:
        prices = cost.known_prices()
    except cost.PriceError as error:
        raise common.Problem(str(error)) from None
    if jobs is None and sum(each.size() for each in sources if not each.remote) < _SMALL:
        jobs = 1
    jobs = min(jobs or os.cpu_count() or 1, len(sources))
    runs: list[Run] = []
    notes: dict[str, Any] = {"without_steps": 0, "errors": []}
    for measured in _progress(each_of(sources, settings, prices=prices, format=format, jobs=jobs), len(sources)):
        runs += measured.runs
        notes["without_steps"] += measured.without_steps
        notes["errors"] += measured.errors
    return runs, notes


def _progress(found: Iterator[Measured], total: int) -> Iterator[Measured]:
    if not sys.stderr.isatty():
        yield from found
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        for each in found:
            yield each
            bar.advance(task)


# -- what is said ----------------------------------------------------------------------


def _show(found: dict[str, Any]) -> None:
    page = show.Page()
    _runs(page, found["runs"])
    if not any(found["runs"][each] for each in ("good", "bad", "unknown")):
        return
    page.line("")
    _table(page, _rows(found))
    page.line(("* in force now. Higher thresholds than those shown fired in no run.", "dim"))
    of = {"bad": "bad runs", "unknown": "runs"}[found["now"]["saved_of"]]
    page.line((f"saved: what {of} did and used after the line (~: as far as prices are known)", "dim"))
    page.line("")
    _choice(page, "now", found["now"])
    proposal = found["proposal"]
    if proposal["decided"] and not proposal["same_as_now"]:
        _choice(page, "proposed", proposal)
        page.line("")
        for line in proposal["toml"].splitlines():
            page.line(("    " + line, "bold"))
    page.line("")
    for text in found["verdicts"]:
        page.hang("", text, indent=0)
    page.line("")
    page.line((f"Intervals of shares: {found['interval']}; of scores: {found['scores']['method']}.", "dim"))


def _runs(page: show.Page, runs: dict[str, Any]) -> None:
    origin = {
        labels.BY_FILE: "by your file",
        labels.BY_THEMSELVES: "by what they say of their own end: handed in is not yet right",
        labels.NOWHERE: "nothing says how they ended",
    }[runs["labels"]]
    counts = f"{runs['good']:,} good, {runs['bad']:,} bad, {runs['unknown']:,} not known ({origin})"
    page.hang("runs", counts)
    lengths = [f"{name} {each:g}" for name, each in runs["median_steps"].items() if each is not None]
    if lengths:
        page.hang("steps", f"median: {', '.join(lengths)}".replace("unknown", "not known"))
    if runs["without_steps"]:
        page.hang("left out", f"{show.number(runs['without_steps'], 'session')} without a step of the main agent")


def _rows(found: dict[str, Any]) -> list[list[str]]:
    kinds = [name for name in ("good", "bad", "unknown") if found["runs"][name]]
    heads = {"good": "good runs", "bad": "bad runs", "unknown": "not known"}
    saved = bool(found["runs"]["bad"] or found["runs"]["unknown"])
    rows = [["rule", "", *(heads[each] for each in kinds), *(["early", "saved: steps", "tokens", "cost"] * saved)]]
    for rule in found["rules"]:
        shown = [each for each in rule["thresholds"] if any(each[kind]["fired"] for kind in kinds)]
        if not shown:
            shown = [each for each in rule["thresholds"] if each["threshold"] == (rule["now"] or rule["default"])]
        name = rule["rule"]
        for each in shown:
            mark = "*" if rule["said"] and each["threshold"] == rule["now"] else " "
            cells = [name, f"{each['threshold']}{mark}", *(_fraction(each[kind]) for kind in kinds)]
            rows.append(cells + _figures(each) * saved)
            name = "" if rule["said"] else "  (only logged)" if rule["now"] else "  (off)"
        if not rule["said"] and len(shown) == 1:
            rows.append([name, *[""] * (len(rows[0]) - 1)])
    return rows


def _fraction(share: dict[str, Any]) -> str:
    return f"{share['fired']} ({_span(share)})" if share["of"] else "-"


def _span(share: dict[str, Any]) -> str:
    low, high = (tuning.percent(share[each]).removesuffix(" %") for each in ("low", "high"))
    return f"{low}-{high} %"


def _figures(row: dict[str, Any]) -> list[str]:
    saved = row["saved"]
    if not saved["runs"]:
        return ["-", "-", "-", "-"]
    tokens = f"{saved['tokens']:,}" if saved["tokens"] else "-"
    money = f"${saved['dollars']:,.2f}" if saved["dollars"] else "-"
    return [tuning.percent(row["early"]), f"{saved['steps']:,}", tokens, money + "~" * bool(saved["unpriced"])]


def _choice(page: show.Page, label: str, which: dict[str, Any]) -> None:
    spoken = ", ".join(f"{rule} {each}" for rule, each in which["thresholds"].items() if each is not None)
    page.hang(label, spoken or "no rule about loops speaks", label_style="bold")
    for name, kind in (("good", "good"), ("bad", "bad"), ("other", "unknown")):
        share, budget = which[kind], which["step_budget"]
        if not share["of"] or not spoken:
            continue
        text = f"speaks in {share['fired']} of {share['of']:,} {name} runs ({_span(share)})"
        if budget["steps"] is not None and kind in budget:
            text += f"; a budget of {budget['steps']} steps stops {budget[kind]['fired']}"
        page.hang("", text)


def _table(page: show.Page, rows: list[list[str]]) -> None:
    """Print rows, names from the left, figures from the right; where it is narrow, without some figures."""
    columns = list(range(len(rows[0])))
    columns = [at for at in columns if at < 2 or any(row[at] not in ("-", "") for row in rows[1:])]
    for head in ("tokens", "cost", "early", "not known"):
        if sum(max(cell_len(row[at]) for row in rows) + 2 for at in columns) - 2 <= page.width:
            break
        if head in rows[0] and rows[0].index(head) in columns:
            columns.remove(rows[0].index(head))
    widths = {at: max(cell_len(row[at]) for row in rows) for at in columns}
    for number, row in enumerate(rows):
        cells = [" " * (widths[at] - cell_len(row[at])) + row[at] for at in columns[1:]]
        text = "  ".join([row[0] + " " * (widths[0] - cell_len(row[0])), *cells])
        page.line((text, "dim" if not number else ""))


def _tell(errors: list[dict[str, Any]], strange: list[str]) -> None:
    by_path: dict[str, list[dict[str, Any]]] = {}
    for each in errors:
        by_path.setdefault(each["path"], []).append(each)
    for path, found in list(by_path.items())[:_SHOWN]:
        line = f", line {found[0]['line']}" if found[0]["line"] else ""
        more = f" (and {len(found) - 1} more in this file)" if len(found) > 1 else ""
        common.warn(f"{show.tilde(path)}{line}: {found[0]['error'].removeprefix(f'{path}: ')}{more}")
    if len(by_path) > _SHOWN:
        common.warn(f"and {len(by_path) - _SHOWN} more files with something that could not be read; see --json")
    if strange:
        more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
        common.warn(f"--good names what is no run here, or not one alone: {', '.join(strange[:_SHOWN])}{more}")
