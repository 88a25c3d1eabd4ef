"""Which thresholds fit a person's own runs: how often each rule fires in good and bad ones, how early, what it saves.

Knows runs that were measured (``runs``) and which of them ended well (``labels``), and
reads nothing itself. A line in a run that ended well counts as a false stop, whatever the
run was doing then.

Settings are proposed along a path that is fixed before the good runs are looked at: from
all rules off over strict thresholds down to those in force, and below them where more bad
runs are caught. A step down is taken while the upper limit of the false-stop rate of all
settings together stays below what is asked; a rule whose step is not stays where it is
(``statistics.level`` says how sure it has to be). Beside it stands plain run length: a
step budget that stops as many good runs.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from unspin.guard import Settings
from unspin.guard.settings import KEYS
from unspin.scan import statistics
from unspin.scan.labels import BAD, GOOD, NOWHERE
from unspin.scan.runs import thresholds, tuned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from unspin.scan.runs import Run

    #: Rule: its threshold, ``None`` where it says nothing.
    Choice: TypeAlias = dict[str, int | None]

INTERVAL = "Clopper-Pearson, 95 %"
FEWEST = 10  # runs of each kind below which scores are not compared: DeLong's interval needs some
ALL = "all rules"

_PLAIN = 0.005  # a smaller difference between two areas is none


class Sample:
    """Runs, told apart by how they ended."""

    def __init__(self, runs: Sequence[Run], labels: Sequence[str]):
        pairs = list(zip(runs, labels, strict=True))
        self.good = [run for run, label in pairs if label == GOOD]
        self.bad = [run for run, label in pairs if label == BAD]
        self.unknown = [run for run, label in pairs if label not in (GOOD, BAD)]


def tune(sample: Sample, settings: Settings, most: float, *, origin: str = NOWHERE) -> dict[str, Any]:
    """Return all that can be said, as plain data. ``most`` is the false-stop rate that is allowed, a share.

    ``origin`` says where the labels came from.
    """
    now = in_force(settings)
    found = {
        "runs": _of_runs(sample, origin),
        "max_false_stops": most,
        "interval": INTERVAL,
        "rules": [_of_rule(sample, each, settings, now) for each in tuned()],
        "now": _of_choice(sample, now),
        "proposal": propose(sample, settings, most),
        "scores": scores(sample, now),
    }
    found["verdicts"] = _verdicts(sample, found, most)
    return found


def in_force(settings: Settings) -> Choice:
    """Return the thresholds at which rules about loops speak: ``None`` for those that are off or only logged."""
    return {
        each.rule: None if each.rule in settings["log_only"] else settings[each.switch()] or None for each in tuned()
    }


# -- what a choice of thresholds does --------------------------------------------------


def fires(run: Run, choice: Choice) -> int | None:
    """Return how many steps were done when the first line came, ``None`` where none did."""
    came = [
        run.first[rule][threshold]
        for rule, threshold in choice.items()
        if threshold is not None and threshold in run.first.get(rule, {})
    ]
    return min(came, default=None)


def budget_like(good: Sequence[Run], stopped: int) -> int | None:
    """Return the smallest step budget that stops at most so many good runs; ``None`` where any would do."""
    lengths = sorted((run.steps for run in good), reverse=True)
    return lengths[stopped] if stopped < len(lengths) else None


def _of_choice(sample: Sample, choice: Choice) -> dict[str, Any]:
    """Return what a choice does in good and in bad runs, and what a step budget does that stops as many good ones.

    How early it is and what is saved is told of the bad runs; where none is known to be bad, of those of which
    nothing is known (``saved_of``).
    """
    good = [step for run in sample.good if (step := fires(run, choice)) is not None]
    looked_at = sample.bad or sample.unknown
    ends = [(run, step) for run in looked_at if (step := fires(run, choice)) is not None]
    budget = budget_like(sample.good, len(good))
    over = [(run, budget) for run in looked_at if budget is not None and run.steps > budget]
    return {
        "thresholds": choice,
        "good": _share(len(good), len(sample.good)),
        "bad": _share(sum(fires(run, choice) is not None for run in sample.bad), len(sample.bad)),
        "unknown": _share(sum(fires(run, choice) is not None for run in sample.unknown), len(sample.unknown)),
        "saved_of": "bad" if sample.bad else "unknown",
        "early": statistics.median([step / run.steps for run, step in ends]),
        "saved": _saved(ends),
        "step_budget": {
            "steps": budget,
            "good": _share(sum(budget is not None and run.steps > budget for run in sample.good), len(sample.good)),
            "bad": _share(sum(budget is not None and run.steps > budget for run in sample.bad), len(sample.bad)),
            "early": statistics.median([step / run.steps for run, step in over]),
            "saved": _saved(over),
        },
    }


def _saved(ends: Sequence[tuple[Run, int]]) -> dict[str, Any]:
    """Return what runs used after a step, all together; dollars as far as they are known."""
    priced = [run.total_dollars - run.dollars[step] for run, step in ends if run.total_dollars is not None]
    return {
        "runs": len(ends),
        "steps": sum(run.steps - step for run, step in ends),
        "tokens": sum(max(run.total_tokens - run.tokens[step], 0) for run, step in ends),
        "dollars": round(sum(max(each, 0.0) for each in priced), 6),
        "unpriced": len(ends) - len(priced),
    }


def _share(count: int, of: int) -> dict[str, Any]:
    low, high = statistics.interval(count, of) if of else (0.0, 1.0)
    return {"fired": count, "of": of, "rate": count / of if of else None, "low": low, "high": high}


def _of_runs(sample: Sample, origin: str) -> dict[str, Any]:
    kinds = {"good": sample.good, "bad": sample.bad, "unknown": sample.unknown}
    return {
        "labels": origin,
        **{name: len(runs) for name, runs in kinds.items()},
        "median_steps": {name: statistics.median([run.steps for run in runs]) for name, runs in kinds.items()},
    }


def _of_rule(sample: Sample, rule: Any, settings: Settings, now: Choice) -> dict[str, Any]:
    key = rule.switch()
    return {
        "rule": rule.rule,
        "key": key,
        "default": KEYS[key][1],
        "now": settings[key],
        "said": now[rule.rule] is not None,
        "thresholds": [
            {"threshold": each, **_of_choice(sample, {rule.rule: each})} for each in thresholds(rule, settings)
        ],
    }


# -- what is proposed ------------------------------------------------------------------


def path(sample: Sample, settings: Settings) -> list[tuple[str, int]]:
    """Return the steps down: which rule goes to which threshold, in order. The good runs have no say in it.

    Rules that are off or only logged stay so. Thresholds go down side by side, by their distance
    from those in force.
    """
    now = in_force(settings)
    steps = []
    for place, rule in enumerate(tuned()):
        start = now[rule.rule]
        if start is None:
            continue
        caught = -1
        for threshold in reversed(thresholds(rule, settings)):
            more = sum(threshold in run.first.get(rule.rule, {}) for run in sample.bad)
            if threshold >= start or more > caught:
                steps.append((start - threshold, place, rule.rule, threshold))
            caught = max(more, caught)
    return [(rule, threshold) for _, _, rule, threshold in sorted(steps)]


def propose(sample: Sample, settings: Settings, most: float) -> dict[str, Any]:
    """Return the loosest settings on the path whose false-stop rate is shown to be at most ``most``."""
    way = path(sample, settings)
    good = len(sample.good)
    choice: Choice = dict.fromkeys(in_force(settings))
    setbacks: list[dict[str, Any]] = []
    tail = statistics.TAIL
    for rule, threshold in way:
        if any(each["rule"] == rule for each in setbacks):
            continue
        trial = {**choice, rule: threshold}
        count = sum(fires(run, trial) is not None for run in sample.good)
        asked = statistics.level(len(setbacks), len(way))
        if statistics.shows(count, good, most, asked):
            choice, tail = trial, asked
        else:
            limit = statistics.upper(count, good, asked)
            setbacks.append({"rule": rule, "threshold": threshold, "fired": count, "upper": limit})
    decided = any(each is not None for each in choice.values())
    found = _of_choice(sample, choice)
    return {
        "decided": decided,
        **found,
        "same_as_now": choice == in_force(settings),
        "upper": statistics.upper(found["good"]["fired"], good, tail),
        "confidence": 1 - tail,
        "setbacks": setbacks,
        "toml": toml(choice, settings) if decided else "",
        "needed_good_runs": statistics.needed(most),
        "needed_to_go_on": statistics.needed(most, statistics.level(1, len(way)), found["good"]["fired"]) if way else 0,
    }


def toml(choice: Choice, settings: Settings) -> str:
    """Return a choice as a settings file has it."""
    keys = {each.rule: each.switch() for each in tuned()}
    before = in_force(settings)
    silent = [rule for rule, threshold in choice.items() if threshold is None and before[rule] is not None]
    logged = [*settings["log_only"], *silent]
    quoted = ", ".join(f'"{each}"' for each in logged)
    lines = [f"log_only = [{quoted}]"] if silent else []
    table = ""
    for rule, threshold in choice.items():
        if threshold is None:
            continue
        name, _, key = keys[rule].rpartition(".")
        if name != table:
            lines.append(f"[{name}]")
            table = name
        lines.append(f"{key} = {threshold}")
    return "\n".join(lines)


# -- rules beside run length -----------------------------------------------------------


def scores(sample: Sample, now: Choice) -> dict[str, Any]:
    """Return how well the highest count of each rule tells bad runs from good ones, beside their length.

    Areas under the ROC curve: 0.5 is chance, 1 tells them apart wholly. ``ALL`` is the highest count
    of the rules that speak, as a multiple of their thresholds.
    """
    enough = min(len(sample.good), len(sample.bad)) >= FEWEST
    rows = [_score(sample, each.rule, {each.rule: 1}) for each in tuned()]
    rows.append(_score(sample, ALL, now))
    length: dict[str, Any] = {"auroc": None, "interval": None}
    if sample.good and sample.bad:
        bad, good = ([float(run.steps) for run in runs] for runs in (sample.bad, sample.good))
        length = {
            "auroc": statistics.auroc(bad, good),
            "interval": statistics.auroc_interval(bad, good) if enough else None,
        }
    return {"method": "DeLong, 95 %", "enough_runs": enough, "run_length": length, "rules": rows}


def _multiple(run: Run, choice: Choice) -> float:
    """Return the highest count of a run, in thresholds."""
    return max((run.score.get(rule, 0) / each for rule, each in choice.items() if each is not None), default=0.0)


def _score(sample: Sample, name: str, choice: Choice) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rule": name,
        "auroc": None,
        "interval": None,
        "minus_run_length": None,
        "minus_run_length_interval": None,
    }
    if not sample.good or not sample.bad:
        return found
    bad, good = ([(_multiple(run, choice), float(run.steps)) for run in runs] for runs in (sample.bad, sample.good))
    found["auroc"] = statistics.auroc([each[0] for each in bad], [each[0] for each in good])
    found["minus_run_length"], interval = statistics.auroc_difference(bad, good)
    if min(len(bad), len(good)) >= FEWEST:
        found["interval"] = statistics.auroc_interval([each[0] for each in bad], [each[0] for each in good])
        found["minus_run_length_interval"] = interval
    return found


# -- in words --------------------------------------------------------------------------


def percent(share: float) -> str:
    """Return a share as people read it, never rounded to nothing or to all."""
    value = share * 100
    if 0 < value < 0.01:
        return "under 0.01 %"
    if 99.99 < value < 100:
        return "over 99.99 %"
    digits = 2 if value < 0.1 or 99.9 < value < 100 else 1 if value < 10 or value > 90 else 0
    return f"{f'{value:.{digits}f}'.rstrip('0').rstrip('.') if digits else f'{value:.0f}'} %"


def _verdicts(sample: Sample, found: dict[str, Any], most: float) -> list[str]:
    return [_of_proposal(sample, found, most), *_of_benefit(sample, found), _of_length(sample, found)]


def _of_proposal(sample: Sample, found: dict[str, Any], most: float) -> str:
    good, proposal, now = len(sample.good), found["proposal"], found["now"]["good"]
    if not good:
        return "The data cannot decide: no run is known to have ended well. Name those that did with --good FILE."
    if not any(each is not None for each in found["now"]["thresholds"].values()):
        return "No rule about loops speaks with these settings: there is nothing to propose."
    if proposal["decided"]:
        shown = f"{percent(proposal['upper'])} at most, with {percent(proposal['confidence'])} confidence"
        what = "The settings in force" if proposal["same_as_now"] else "The proposed settings"
        text = f"{what} would have spoken in {proposal['good']['fired']} of {good} good runs ({shown})."
        if proposal["setbacks"] and not _is_below(proposal["setbacks"][0], found):
            text += f" {_held(proposal, good)}"
        return text
    text = (
        f"The data cannot decide: to show a false-stop rate of at most {percent(most)} takes "
        f"{proposal['needed_good_runs']:,} good runs without one, and these are {good:,}."
    )
    more = statistics.needed_at(now["fired"] / good, most)
    if more is None:
        return f"{text} The settings in force spoke in {now['fired']} of them, which is more than that already."
    if now["fired"]:
        return f"{text} At the rate of the settings in force ({now['fired']} of {good}) about {more:,} would do."
    return f"{text} The settings in force spoke in none of them."


def _held(proposal: dict[str, Any], good: int) -> str:
    """Say what kept the thresholds from going down further, and how many runs it would take."""
    first = proposal["setbacks"][0]
    text = f"They are no lower because with {first['rule']} at {first['threshold']} it would have been {first['fired']}"
    text += f" ({percent(first['upper'])} at most)."
    left = proposal["needed_to_go_on"]
    return f"{text} For the other rules to go down all the same takes {left:,} good runs." if left > good else text


def _is_below(setback: dict[str, Any], found: dict[str, Any]) -> bool:
    now = found["now"]["thresholds"][setback["rule"]]
    return now is not None and setback["threshold"] < now


def _of_benefit(sample: Sample, found: dict[str, Any]) -> list[str]:
    if not sample.bad:
        return ["No run is known to have ended badly: what the rules would have saved cannot be told."]
    which = found["proposal"] if found["proposal"]["decided"] else found["now"]
    name = "They" if found["proposal"]["decided"] else "The settings in force"
    return [
        f"{name} would have spoken in {_caught(which)}; {_beside(which['step_budget'], which['good']['fired'])}."
        if any(each is not None for each in which["thresholds"].values())
        else "Nothing would have been said in a bad run."
    ]


def _caught(which: dict[str, Any]) -> str:
    bad = which["bad"]
    text = f"{bad['fired']} of {bad['of']} bad runs ({percent(bad['low'])} to {percent(bad['high'])})"
    if bad["fired"]:
        text += f", after {percent(which['early'])} of their steps, {which['saved']['steps']:,} steps before their end"
    return text


def _beside(budget: dict[str, Any], good: int) -> str:
    if budget["steps"] is None:
        return "a step budget that stops as many good runs stops all"
    bad = budget["bad"]
    text = f"a budget of {budget['steps']} steps, which stops {good if good else 'no'} good run{'s' * (good != 1)}"
    if budget["good"]["fired"] != good:
        text = f"a budget of {budget['steps']} steps, which stops {budget['good']['fired']} good runs"
    return f"{text}, would have stopped {bad['fired']} and saved {budget['saved']['steps']:,}"


def _of_length(sample: Sample, found: dict[str, Any]) -> str:
    score = next(each for each in found["scores"]["rules"] if each["rule"] == ALL)
    if not found["scores"]["enough_runs"]:
        return (
            "Rules and run length cannot be compared: that takes "
            f"{FEWEST} good and {FEWEST} bad runs at the least, and these are {len(sample.good)} and {len(sample.bad)}."
        )
    interval, difference = score["minus_run_length_interval"], score["minus_run_length"]
    areas = f"AUROC {score['auroc']:.2f} against {found['scores']['run_length']['auroc']:.2f}"
    if interval is None:
        return f"Rules and run length as such ({areas}): these runs leave no spread to make an interval of."
    low, high = interval
    span = f"{areas}; difference {difference:+.2f}, 95 % {low:+.2f} to {high:+.2f}"
    if low > 0:
        return f"The rules tell bad runs from good ones better than run length does ({span})."
    if high < 0:
        return f"Run length tells bad runs from good ones better than the rules do ({span})."
    text = f"Whether the rules tell bad runs from good ones better than run length the data cannot decide ({span})."
    if abs(difference) > _PLAIN:
        times = ceil(((high - low) / 2 / difference) ** 2)
        text += f" If the difference is as it seems, {max(times, 2):,} times as many runs would."
    return text
