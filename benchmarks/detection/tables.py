"""The tables of the benchmark of detection."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from detection import peers, plain
from detection.corpora import CORPORA, LOOPS, NAMES, Run, read_sessions, repetitions, resolved, runs, verdicts
from unspin.scan.statistics import interval, median

SEED = 20_251
FIVE = ("failing_edits", "recurring_error", "repeated_action", "unchanged_result", "oscillation")
OTHERS = ("tampering", "bloat", "rot")
GOOD_CORPUS = "mini_gemini3_swebv"
#: What a rule said of each session: numbers of calls.
Said = list[list[int]]


def run(report: Any, folder: Path, *, quick: bool = False) -> None:
    report.title("9. Detection")
    if not CORPORA.is_dir():
        report.note("Left out: no recorded sessions lie beside the project (../shared/corpora).")
        report.table("Detection", ["what"], [["left out: no recorded sessions"]])
        return
    sessions = [each for name in NAMES for each in runs(name, limit=6 if quick else 100_000)]
    _rates(report, sessions)
    rules = _rules(report, sessions, folder, quick=quick)
    _beside(report, sessions, rules)
    _false_stops(report, sessions, rules)
    _repetitions(report, sessions, rules)
    _by_hand(report, sessions, rules)


# -- what unspin notices ---------------------------------------------------------------


def _rates(report: Any, sessions: Sequence[Run]) -> None:
    rows = []
    for name in NAMES:
        here = [each for each in sessions if each.corpus == name]
        calls = sum(len(each.calls) for each in here)
        row: list[Any] = [name, len(here), calls]
        for rule in (*LOOPS, *OTHERS):
            lines = [line.said for each in here for line in each.lines if line.rule == rule]
            row.append(f"{_per(sum(lines), calls)} + {_per(len(lines) - sum(lines), calls)}" if lines else "-")
        rows.append(row)
    report.table(
        "Detections for 1,000 tool calls: said + logged only",
        ["corpus", "sessions", "calls", *LOOPS, *OTHERS],
        rows,
    )


def _per(count: int, calls: int) -> str:
    return f"{count * 1000 / calls:.2f}" if count and calls else "0"


# -- beside others ---------------------------------------------------------------------


def _rules(report: Any, sessions: Sequence[Run], folder: Path, *, quick: bool) -> dict[str, Said | str]:
    """Return what each rule said of each session; a text where that is not known."""
    rules: dict[str, Said | str] = {
        "unspin, five rules": [_said(each, FIVE) for each in sessions],
        "unspin, all loop rules": [_said(each, LOOPS) for each in sessions],
        "unspin, logged too": [_said(each, LOOPS, logged=True) for each in sessions],
    }
    budget = _budget(sessions, _said_all(rules, "unspin, all loop rules"))
    rules[f"run length, {budget} calls"] = [plain.longer_than(each, budget) for each in sessions]
    rules["3 identical calls running"] = [plain.identical(each) for each in sessions]
    rules["plain rules (candidates)"] = [[number for _, number, _ in plain.candidates(each)] for each in sessions]
    if quick:
        report.note("Other guards are left out with --quick: they are installed from PyPI, which needs the network.")
        return rules
    calls = folder / "calls.jsonl"
    peers.write(sessions, calls)
    for peer in peers.PEERS:
        interpreter, why = peers.install(peer)
        for name, adapter in peer.adapters:
            row = f"{name} {peer.version}"
            if interpreter is None:
                rules[row] = why
            elif adapter == "loopbrake":
                rules[row] = _loopbrake(interpreter, sessions, folder)
            else:
                rules[row] = peers.said(interpreter, adapter, calls, folder)
    return rules


def _said(each: Run, rules: Sequence[str], *, logged: bool = False) -> list[int]:
    return [line.number for line in each.lines if line.rule in rules and (line.said or logged)]


def _said_all(rules: dict[str, Said | str], name: str) -> Said:
    known = rules[name]
    assert not isinstance(known, str)
    return known


def _good(sessions: Sequence[Run]) -> dict[int, bool]:
    """Return, by its place, whether a run of the corpus with outcomes ended well."""
    known = resolved()
    return {at: known[each.file] for at, each in enumerate(sessions) if each.file in known}


def _budget(sessions: Sequence[Run], ours: Said) -> int:
    """Return the least budget of calls that stops no more of the runs that ended well than our rules speak in."""
    good = [at for at, well in _good(sessions).items() if well]
    lengths = sorted((len(sessions[at].main) for at in good), reverse=True)
    allowed = sum(bool(ours[at]) for at in good)
    return lengths[allowed] if allowed < len(lengths) else 0


def _loopbrake(interpreter: Path, sessions: Sequence[Run], folder: Path) -> Said | str:
    """It learns its line from runs that ended well: from one half of them for the other, and from all for the rest."""
    import json

    good = [at for at, well in _good(sessions).items() if well]
    random.Random(SEED).shuffle(good)
    halves = good[::2], good[1::2]
    part = {at: number for number, half in enumerate(halves) for at in half}
    lengths = [[len(sessions[at].main) for at in half] for half in halves]
    calls = folder / "calls-loopbrake.jsonl"
    with calls.open("w", encoding="utf-8") as file:
        for at, each in enumerate(sessions):
            learnt = lengths[1 - part[at]] if at in part else lengths[0] + lengths[1]
            steps = [
                {"number": call.number, "label": call.label, "output": "", "failed": call.failed} for call in each.main
            ]
            if each.corpus != GOOD_CORPUS:
                steps = []  # nothing to learn from there: it only watches
            print(json.dumps({"key": at, "lengths": learnt, "calls": steps}), file=file)
    return peers.said(interpreter, "loopbrake", calls, folder)


def _beside(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str]) -> None:
    places = {name: [at for at, each in enumerate(sessions) if each.corpus == name] for name in NAMES}
    calls = {name: sum(len(sessions[at].main) for at in here) for name, here in places.items()}
    rows = []
    for rule, said in rules.items():
        if isinstance(said, str):
            rows.append([rule, *[said if name == NAMES[0] else "" for name in NAMES]])
            continue
        cells = []
        for name, here in places.items():
            lines, spoken = sum(len(said[at]) for at in here), sum(bool(said[at]) for at in here)
            cells.append(f"{_per(lines, calls[name])} ({spoken})" if lines else "0")
        rows.append([rule, *cells])
    report.table("Lines for 1,000 tool calls (sessions with a line)", ["rule", *NAMES], rows)


def _false_stops(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str]) -> None:
    good = _good(sessions)
    well, badly = [at for at in good if good[at]], [at for at in good if not good[at]]
    rows = []
    for rule, said in rules.items():
        if isinstance(said, str):
            rows.append([rule, said, "", "", "", ""])
            continue
        stopped = [at for at in well if said[at]]
        caught = [at for at in badly if said[at]]
        lead = median([len(sessions[at].main) - said[at][0] for at in caught])
        rows.append(
            [
                rule,
                f"{len(stopped)} of {len(well)}",
                _share(len(stopped), len(well)),
                f"{len(caught)} of {len(badly)}",
                _share(len(caught), len(badly)),
                "-" if lead is None else f"{lead:.0f}",
            ]
        )
    report.table(
        f"{GOOD_CORPUS}: runs with a line, by how they ended (95 % Clopper-Pearson)",
        ["rule", "ended well", "interval", "did not", "interval ", "median calls left"],
        rows,
    )


def _share(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = interval(count, of)
    return f"{count / of:.1%} ({low:.1%} - {high:.1%})"


# -- labels of others ------------------------------------------------------------------


def _repetitions(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str]) -> None:
    labels = repetitions()
    places = [at for at, each in enumerate(sessions) if each.file in labels]
    loops = [at for at in places if labels[sessions[at].file] is not None]
    rows = []
    for rule, said in rules.items():
        if isinstance(said, str) or rule.startswith("loopbrake"):
            continue
        spoken = [at for at in places if said[at]]
        right = [at for at in loops if said[at]]
        leads = [len(sessions[at].main) - said[at][0] for at in right]
        rows.append(
            [
                rule,
                f"{len(right)} of {len(spoken)}",
                f"{len(right)} of {len(loops)}",
                _middle(leads),
            ]
        )
    report.table(
        f"RepairAgent, {len(places)} runs labelled pair by pair: the same action three times running, as people saw it",
        ["rule", "runs with a line that have it", "of those that have it", "median calls left"],
        rows,
    )
    read = read_sessions()
    places = [at for at, each in enumerate(sessions) if each.file in read]
    rows = []
    for rule, said in rules.items():
        if isinstance(said, str) or rule.startswith("loopbrake"):
            continue
        by = {
            label: [at for at in places if read[sessions[at].file] == label] for label in ("loop", "borderline", "ok")
        }
        cells = [f"{sum(bool(said[at]) for at in here)} of {len(here)}" for here in by.values()]
        rows.append([rule, *cells])
    report.table("Claude Code, sessions read before: with a line", ["rule", "loop", "borderline", "ok"], rows)


def _middle(values: Sequence[int]) -> str:
    found = median(values)
    return "-" if found is None else f"{found:.0f}"


# -- what was read for this benchmark --------------------------------------------------


def _by_hand(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str]) -> None:
    checked = verdicts()
    known = {(each.file, line.identity): line for each in sessions for line in each.lines}
    now = [row for row in checked if (row["file"], row["identity"]) in known]
    rows = []
    chosen: dict[str, list[dict[str, str]]] = {rule: [row for row in now if row["rule"] == rule] for rule in LOOPS}
    for name, said in (("all of them, said", True), ("all of them, logged only", False)):
        chosen[name] = [row for row in now if known[row["file"], row["identity"]].said == said]
    for corpus in NAMES:
        chosen[f"said in {corpus}"] = [row for row in chosen["all of them, said"] if row["corpus"] == corpus]
    for name, part in chosen.items():
        if part:
            rows.append([name, *_counts(part)])
    rows.append(["no longer noticed", *_counts([row for row in checked if row not in now])])
    report.table(
        "Read by hand (hand_checked.tsv); precision counts a borderline case as false (95 % Clopper-Pearson)",
        ["rule", "read", "true", "borderline", "false", "precision", "interval"],
        rows,
    )
    said_now = chosen["all of them, said"]
    if said_now:
        report.aim(
            "detection: share of the lines read that are true",
            sum(row["verdict"] == "true" for row in said_now) / len(said_now),
            0.9,
            at_least=True,
        )
    _recall(report, sessions, rules, checked)


def _counts(rows: Sequence[dict[str, str]]) -> list[Any]:
    by = [sum(row["verdict"] == verdict for row in rows) for verdict in ("true", "borderline", "false")]
    if not rows:
        return [0, *by, "-", "-"]
    low, high = interval(by[0], len(rows))
    return [len(rows), *by, f"{by[0] / len(rows):.1%}", f"{low:.1%} - {high:.1%}"]


def _recall(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str], checked: list[dict[str, str]]) -> None:
    """Of the runs in which somebody read a loop, found by one of our rules or by a plain one, who says so?"""
    rows_read = [row for row in [*checked, *verdicts("missed.tsv")] if row.get("rule") not in OTHERS]
    loops = {row["file"] for row in rows_read if row["verdict"] == "true"}
    honest = {row["file"] for row in rows_read if row["verdict"] == "false"} - loops
    honest -= {row["file"] for row in rows_read if row["verdict"] == "borderline"}
    bad = [at for at, each in enumerate(sessions) if each.file in loops]
    good = [at for at, each in enumerate(sessions) if each.file in honest]
    rows = []
    for rule, said in rules.items():
        if isinstance(said, str) or rule.startswith("loopbrake"):
            continue
        found = [at for at in bad if said[at]]
        wrong = [at for at in good if said[at]]
        leads = [len(sessions[at].main) - said[at][0] for at in found]
        rows.append(
            [
                rule,
                f"{len(found)} of {len(bad)}",
                _share(len(found), len(bad)),
                f"{len(wrong)} of {len(good)}",
                _middle(leads),
            ]
        )
    report.table(
        "Sessions read by hand: those with a loop that get a line (hand_checked.tsv and missed.tsv)",
        ["rule", "with a loop", "interval", "read and honest", "median calls left"],
        rows,
    )
    _aims(report, sessions, rules, bad)


def _aims(report: Any, sessions: Sequence[Run], rules: dict[str, Said | str], loops: Sequence[int]) -> None:
    """Lines where nobody read a loop, beside unwedge; loops that only it finds; lines in runs that ended well."""
    ours = _said_all(rules, "unspin, all loop rules")
    five = _said_all(rules, "unspin, five rules")
    well = [at for at, good in _good(sessions).items() if good]
    if well and loops:
        spoken = [at for at in well if five[at]]
        report.aim(
            "detection: share of runs that ended well with a line of the five rules", len(spoken) / len(well), 0.02
        )
        wrong = [at for at in spoken if at not in loops]
        report.aim("detection: the same without those in which a loop was read", len(wrong) / len(well), 0.02)
    theirs = next((said for name, said in rules.items() if name.startswith("unwedge")), "")
    if isinstance(theirs, str):
        return
    rows, more = [], 0
    for name in NAMES:
        here = [at for at, each in enumerate(sessions) if each.corpus == name and at not in loops]
        lines = [sum(len(said[at]) for at in here) for said in (ours, theirs)]
        spoken_in = [sum(bool(said[at]) for at in here) for said in (ours, theirs)]
        rows.append([name, len(here), lines[0], spoken_in[0], lines[1], spoken_in[1]])
        more += lines[0] > lines[1] or (lines[0] == lines[1] > 0)
    report.table(
        "Sessions in which nobody read a loop: lines of unspin and of unwedge",
        ["corpus", "sessions", "unspin: lines", "sessions with one", "unwedge: lines", "sessions with one "],
        rows,
    )
    report.aim("detection: corpora with no fewer lines than unwedge on sessions without a loop", more, 0)
    missed = [at for at in loops if theirs[at] and not ours[at]]
    report.aim("detection: loops read that unwedge finds and unspin does not", len(missed), 0)
