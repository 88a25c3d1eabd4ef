"""Thresholds measured on recorded runs: the statistics, the labels, what is proposed and what is not."""

from __future__ import annotations

import json
import math
import random
import tomllib
from array import array
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limited
from hypothesis import strategies as st

from unspin.guard import Settings
from unspin.scan import labels, statistics, tuning
from unspin.scan.labels import BAD, GOOD, UNKNOWN, LabelError
from unspin.scan.runs import Run, each_of, measure, stem, thresholds, tuned
from unspin.scan.scanning import scan
from unspin.scan.source import Source, find

# -- shares ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [  # from tables of the exact binomial interval, 95 %
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (2, 20, 0.0123, 0.3170),
        (8, 20, 0.1912, 0.6395),
        (3, 99, 0.0063, 0.0860),
        (50, 100, 0.3983, 0.6017),
        (1, 1000, 0.000025, 0.005559),
    ],
)
def test_the_exact_interval_of_a_share(count: int, of: int, low: float, high: float) -> None:
    found = statistics.interval(count, of)
    assert found == pytest.approx((low, high), abs=6e-5)


@limited(deadline=None)
@given(st.integers(1, 60).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_its_limits_are_the_rates_at_which_the_binomial_tails_are_a_fortieth(case: tuple[int, int]) -> None:
    count, of = case
    low, high = statistics.interval(count, of)

    def at_most(k: int, p: float) -> float:
        return math.fsum(math.comb(of, i) * p**i * (1 - p) ** (of - i) for i in range(k + 1))

    assert low <= count / of <= high
    if count < of:
        assert at_most(count, high) == pytest.approx(0.025, rel=1e-6)
    if count:
        assert 1 - at_most(count - 1, low) == pytest.approx(0.025, rel=1e-6)


def test_how_many_runs_it_takes() -> None:
    assert statistics.needed(0.01) == 368  # the smallest n with 0.99 ** n <= 0.025
    assert 0.99**368 <= 0.025 < 0.99**367
    assert statistics.needed(0.05) == 72
    assert statistics.upper(1, statistics.needed(0.05, count=1)) <= 0.05
    assert statistics.needed_at(0.02, 0.01) is None and statistics.needed_at(0.01, 0.01) is None
    assert statistics.needed_at(0.0, 0.01) == 368
    more = statistics.needed_at(0.005, 0.01)
    assert more is not None and 368 < more < 5000 and statistics.upper(round(0.005 * more), more) <= 0.01


def test_thousands_of_runs_cost_no_time() -> None:
    low, high = statistics.interval(50_000, 100_000)
    assert (low, high) == pytest.approx((0.4969, 0.5031), abs=1e-4)


@limited(deadline=None)
@given(st.integers(1, 60), st.integers(0, 8))
def test_the_tails_of_all_tests_on_a_path_stay_below_a_twentieth(length: int, most: int) -> None:
    """However a path turns: the number of ways to have had so many setbacks, times the tail of each."""
    total = sum(
        math.comb(length, setbacks) * statistics.level(setbacks, length) for setbacks in range(min(most, length) + 1)
    )
    assert total < 2 * statistics.TAIL + 1e-12


# -- scores ----------------------------------------------------------------------------

_SCORES = st.lists(st.integers(0, 6), min_size=2, max_size=12)


@limited(deadline=None)
@given(_SCORES, _SCORES)
def test_the_area_is_the_share_of_pairs_in_the_right_order(bad: list[int], good: list[int]) -> None:
    pairs = [Fraction(1) if one > two else Fraction(1, 2) if one == two else Fraction(0) for one in bad for two in good]
    assert statistics.auroc(bad, good) == pytest.approx(float(sum(pairs) / len(pairs)))


def test_delongs_interval_by_hand() -> None:
    bad, good = [3, 5, 6, 7], [1, 2, 4, 5]
    # placements of the bad: 2/4, 3.5/4, 1, 1; of the good: 1, 1, 3/4, 2.5/4
    above, below = [0.5, 0.875, 1, 1], [1, 1, 0.75, 0.625]
    mean = sum(above) / 4
    variance = sum((each - mean) ** 2 for each in above) / 3 / 4 + sum((each - mean) ** 2 for each in below) / 3 / 4
    assert statistics.auroc(bad, good) == mean == 0.84375
    found = statistics.auroc_interval(bad, good)
    assert found == pytest.approx((mean - 1.959964 * math.sqrt(variance), 1.0))


def test_scores_without_spread_have_no_interval() -> None:
    assert statistics.auroc_interval([5, 6], [1, 2]) is None
    assert statistics.auroc_interval([5], [1, 6]) is None
    assert statistics.auroc_difference([(1, 1), (2, 2)], [(0, 0), (3, 3)]) == (0.0, None)


def test_two_scores_of_the_same_runs_are_compared_in_pairs() -> None:
    """Scores that go together: the interval of their difference is narrower than those of two sets of runs."""
    random.seed(7)
    bad = [(luck + 1.2, luck + 1) for luck in (random.gauss(0, 1) for _ in range(80))]
    good = [(luck, luck) for luck in (random.gauss(0, 1) for _ in range(80))]
    middle, paired = statistics.auroc_difference(bad, good)
    one = statistics.auroc_interval([each[0] for each in bad], [each[0] for each in good])
    assert paired is not None and one is not None
    assert middle > 0 and paired[0] > 0 and paired[1] - paired[0] < (one[1] - one[0]) / 3


def test_median() -> None:
    assert [statistics.median(each) for each in ([], [3], [3, 1], [5, 1, 3])] == [None, 3, 2, 3]


# -- runs ------------------------------------------------------------------------------


def log(path: Path, *lines: dict[str, Any]) -> Source:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Source(str(path))


def used(tokens: int = 100, cost: float = 1.0) -> dict[str, Any]:
    return {"event": "usage", "model": "m", "input_tokens": tokens, "cost": cost}


def attempts(count: int, error: str = "no") -> list[dict[str, Any]]:
    """Edits of one file, each followed by the same failure: two steps each."""
    lines = []
    for number in range(count):
        lines += [
            used(),
            {"event": "tool", "edits": [{"path": "/shop/a.py", "old": "x", "new": f"{error}{number}"}]},
            {"event": "round_end"},
            used(),
            {"event": "tool", "command": "pytest", "output": f"E   TypeError: {error}", "exit_code": 1},
            {"event": "round_end"},
        ]
    return lines


def work(steps: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number in range(steps):
        call = {"event": "tool", "command": f"sed -n {number}p a.txt", "output": f"line {number}", "exit_code": 0}
        lines += [used(), call, {"event": "round_end"}]
    return lines


def begun(session: str) -> dict[str, Any]:
    return {"event": "session", "session": session, "cwd": "/shop"}


def test_one_pass_tells_when_a_rule_fires_at_every_threshold(tmp_path: Path) -> None:
    (run,) = measure(log(tmp_path / "a.jsonl", begun("s"), *attempts(5), *work(4)), Settings()).runs
    assert run.steps == 14 and run.total_tokens == 1400 and run.total_dollars == 14
    assert run.first["failing_edits"] == {2: 4, 3: 6, 4: 8, 5: 10}
    assert run.score["failing_edits"] == 5
    assert list(run.tokens)[:4] == [0, 100, 200, 300] and run.dollars[6] == 6


def test_what_is_measured_is_what_a_scan_with_that_threshold_finds(tmp_path: Path) -> None:
    """Exact, for every rule and threshold: also the rules whose memory depends on the threshold."""
    call = {"event": "tool", "command": "ls", "output": "a", "exit_code": 0}
    other = {"event": "tool", "command": "pwd", "output": "/", "exit_code": 0}
    turns = [line for _ in range(5) for each in (call, other, call) for line in (each, {"event": "round_end"})]
    refused = [
        line
        for number in range(6)
        for line in (
            {"event": "tool", "edits": [{"path": "/shop/b.py", "old": str(number), "new": "y"}], "refused": "tool"},
            {"event": "round_end"},
        )
    ]
    source = log(
        tmp_path / "a.jsonl", begun("s"), *attempts(4), *turns, {"event": "message"}, *refused, *attempts(9, "yes")
    )
    (run,) = measure(source, Settings()).runs
    seen = set()
    for rule in tuned():
        for threshold in thresholds(rule, Settings()):
            (session,) = scan(source, Settings({rule.switch(): threshold})).sessions
            fired = any(
                each.rule == rule.rule
                and each.count >= threshold - (rule.rule == "repeated_action")
                and not (rule.rule == "failing_edits" and each.count < threshold)
                for each in session.found
            )
            assert fired == (threshold in run.first.get(rule.rule, {})), (rule.rule, threshold)
            seen.add((rule.rule, fired))
    assert {(each, True) for each in ("failing_edits", "rejected_edits", "repeated_action", "recurring_error")} <= seen


@pytest.mark.corpora
def test_what_is_measured_is_what_a_scan_finds_in_recorded_runs(shared: Path) -> None:
    for folder in ("mini_gemini3_swebv", "swe_agent_demos"):
        for source in list(find([str(shared / "corpora" / folder)]))[::6]:
            found = {each.session: each for each in measure(source, Settings()).runs}
            for session in scan(source, Settings()).sessions:
                fired = {each.rule for each in session.found} & {each.rule for each in tuned()}
                run = found[session.session]
                now = {each.rule: Settings()[each.switch()] for each in tuned()}
                at = {rule for rule, threshold in now.items() if threshold in run.first.get(rule, {})}
                quiet = {each.rule for each in session.found if each.count < now.get(each.rule, 0)}
                assert at - quiet == fired - quiet, source.path


@pytest.mark.corpora
def test_a_rule_that_fires_at_a_threshold_fires_at_every_lower_one(shared: Path) -> None:
    """What the proposal's confidence stands on: sets of runs that are told contain each other."""
    for folder in ("mini_gemini3_swebv", "llm_agents_study"):
        for source in list(find([str(shared / "corpora" / folder / "*.gz")]))[::3]:
            for run in measure(source, Settings()).runs:
                nested(run)


def nested(run: Run) -> None:
    for rule in tuned():
        fired = run.first.get(rule.rule, {})
        steps = [fired.get(each, math.inf) for each in thresholds(rule, Settings())]
        assert steps == sorted(steps), (run.path, rule.rule)


@given(st.lists(st.sampled_from("abcxy"), min_size=6, max_size=60))
@limited(max_examples=60, deadline=None)
def test_thresholds_are_nested_whatever_the_agent_does(
    tmp_path_factory: pytest.TempPathFactory, actions: list[str]
) -> None:
    lines = [begun("s")]
    for each in actions:
        if each in "xy":
            lines.append({"event": "tool", "edits": [{"path": f"/shop/{each}.py", "old": "1", "new": "2"}]})
        else:
            failed = {"output": f"E   TypeError: {each}", "exit_code": 1}
            lines.append({"event": "tool", "command": f"pytest {each}", **failed})
        lines.append({"event": "round_end"})
    for run in measure(log(tmp_path_factory.mktemp("run") / "a.jsonl", *lines), Settings()).runs:
        nested(run)


def test_files_may_be_measured_in_any_number_of_processes(tmp_path: Path) -> None:
    sources = [log(tmp_path / f"{at}.jsonl", begun(f"s{at}"), *attempts(at + 1)) for at in range(5)]
    assert list(each_of(sources, Settings(), jobs=2)) == list(each_of(sources, Settings(), jobs=1))


def test_the_thresholds_are_around_the_default_and_hold_the_one_that_is_set() -> None:
    by_rule = {each.rule: each for each in tuned()}
    assert thresholds(by_rule["failing_edits"], Settings()) == [2, 3, 4, 5, 6, 8, 10]
    assert thresholds(by_rule["failing_edits"], Settings({"loop.failing_edits": 20}))[-1] == 20
    assert thresholds(by_rule["repeated_action"], Settings()) == [3, 4, 5, 6, 8, 10]
    assert 3 in thresholds(by_rule["failing_edits"], Settings({"loop.failing_edits": False}))


# -- labels ----------------------------------------------------------------------------


def plain(path: str, session: str = "", how: str = "") -> Run:
    return Run(path, session or stem(path.rpartition("/")[2]), how, steps=1)


def test_a_list_names_the_runs_that_ended_well_and_the_others_did_not() -> None:
    runs = [plain("/r/one.jsonl", "id-1"), plain("/r/two.traj.json.gz"), plain("/r/three.json")]
    found, strange = labels.by_file(runs, labels.parse("# resolved\nid-1\n\ntwo\nfour.json\n"))
    assert found == [GOOD, GOOD, BAD] and strange == ["four.json"]


def test_a_table_says_it_of_each_run_and_nothing_of_the_others() -> None:
    runs = [plain(f"/r/{name}.traj.json.gz") for name in "abcd"]
    table = "corpus\tfile\tlabel\tkind\nx\ta.traj.json\tok\t\nx\tb.traj.json\tloop\t\nx\tc.traj.json\tborderline\t\n"
    assert labels.by_file(runs, labels.parse(table)) == ([GOOD, BAD, UNKNOWN, UNKNOWN], [])
    resolved = labels.parse("instance_id,resolved\na,True\nb,False\nb,True\n")
    assert labels.by_file(runs, resolved)[0] == [GOOD, UNKNOWN, UNKNOWN, UNKNOWN]


def test_both_may_be_json() -> None:
    runs = [plain(f"/r/{name}.traj.json.gz") for name in "abc"]
    assert labels.by_file(runs, labels.parse('["a", "b"]')) == ([GOOD, GOOD, BAD], [])
    assert labels.by_file(runs, labels.parse('\n{"a": true, "b": "loop", "d": 1}')) == ([GOOD, BAD, UNKNOWN], ["d"])


def test_a_name_that_could_be_several_runs_is_none() -> None:
    runs = [plain("/r/a/traj.json", "s1"), plain("/r/b/traj.json", "s2")]
    assert labels.by_file(runs, labels.parse("traj.json\n")) == ([BAD, BAD], ["traj.json"])
    assert labels.by_file(runs, labels.parse("/r/b/traj.json\n")) == ([BAD, GOOD], [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no run"),
        ("a\tb\n1\t2\n", "no column resolved, label, good"),
        ("id,resolved\n", "without a row"),
        ('["a",', "no JSON"),
        ("[1]", "is expected"),
        ('{"a": {}}', "is expected"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_is_expected(text: str, says: str) -> None:
    with pytest.raises(LabelError, match=says):
        labels.parse(text)


def test_without_a_file_runs_are_what_they_say_of_themselves() -> None:
    hows = ["Submitted", "LimitsExceeded", "submitted (exit_cost)", "", "interrupted by the user"]
    assert labels.by_themselves([plain("/a", "a", how) for how in hows]) == [GOOD, BAD, BAD, UNKNOWN, UNKNOWN]


# -- what is proposed ------------------------------------------------------------------


_THRESHOLDS = {each.rule: thresholds(each, Settings()) for each in tuned()}


def made(steps: int, **counts: int) -> Run:
    """A run of so many steps in which a rule's count rises by one with every second step."""
    run = Run(f"/r/{random.random()}", "s", steps=steps)
    run.tokens = array("q", range(0, 100 * steps + 1, 100))
    run.dollars = array("d", [0.5 * each for each in range(steps + 1)])
    run.total_tokens, run.total_dollars = 100 * steps, 0.5 * steps
    for rule in tuned():
        top = counts.get(rule.rule, 0)
        fired = {each: 2 * each for each in _THRESHOLDS[rule.rule] if each <= top}
        if fired:
            run.first[rule.rule] = fired
            run.score[rule.rule] = top
    return run


def sample(good: Sequence[Run], bad: Sequence[Run] = (), unknown: Sequence[Run] = ()) -> tuning.Sample:
    return tuning.Sample([*good, *bad, *unknown], [GOOD] * len(good) + [BAD] * len(bad) + [UNKNOWN] * len(unknown))


def tuned_on(good: Sequence[Run], bad: Sequence[Run] = (), most: float = 0.01, **settings: Any) -> dict[str, Any]:
    values = {key.replace("_dot_", "."): value for key, value in settings.items()}
    return tuning.tune(sample(good, bad), Settings(values), most)


def test_too_few_good_runs_decide_nothing_and_it_says_how_many_would() -> None:
    found = tuned_on([made(20)] * 367)
    assert not found["proposal"]["decided"] and found["proposal"]["toml"] == ""
    assert found["verdicts"][0].startswith("The data cannot decide") and "takes 368 good runs" in found["verdicts"][0]
    assert "none of them" in found["verdicts"][0]


def test_enough_quiet_good_runs_keep_the_settings_in_force() -> None:
    proposal = tuned_on([made(20)] * 368)["proposal"]
    assert proposal["decided"] and proposal["same_as_now"] and proposal["setbacks"] == []
    assert proposal["upper"] <= 0.01 and proposal["confidence"] == 0.975


def test_a_threshold_goes_below_the_one_in_force_only_where_that_catches_more() -> None:
    good = [made(20)] * 400
    found = tuned_on(good, [made(40, failing_edits=2)] * 5 + [made(40, rejected_edits=9)] * 5)["proposal"]
    assert found["thresholds"]["failing_edits"] == 2
    assert found["thresholds"]["rejected_edits"] == 3  # the lower one catches the same
    assert found["bad"]["fired"] == 10 and found["good"]["fired"] == 0


def test_a_rule_that_speaks_in_good_runs_stays_where_it_does_not() -> None:
    good = [made(20)] * 1500 + [made(20, repeated_action=4)] * 60
    found = tuned_on(good, [made(60, failing_edits=6)] * 20)
    proposal = found["proposal"]
    assert proposal["thresholds"]["repeated_action"] == 5
    assert proposal["thresholds"]["failing_edits"] == 3 and proposal["good"]["fired"] == 0
    assert [each["rule"] for each in proposal["setbacks"]] == ["repeated_action"]
    assert proposal["confidence"] > 0.999 and proposal["upper"] <= 0.01  # it has turned, and asks for more proof
    assert "no lower because with repeated_action at 4 it would have been 60" in found["verdicts"][0]
    assert tomllib.loads(proposal["toml"])["loop"] == {
        "failing_edits": 3, "repeated_errors": 3, "rejected_edits": 3, "repeated_actions": 5, "unchanged_results": 5,
    }  # fmt: skip


def test_after_a_setback_few_runs_decide_no_more() -> None:
    good = [made(20)] * 395 + [made(20, repeated_action=4)] * 20
    found = tuned_on(good, [made(60, failing_edits=6)] * 20)
    assert found["proposal"]["thresholds"]["failing_edits"] == 4
    assert "takes 775 good runs" in found["verdicts"][0]


def test_a_rule_that_always_speaks_is_only_logged_and_the_snippet_is_accepted() -> None:
    good = [made(20, failing_edits=50)] * 60 + [made(20)] * 2000
    proposal = tuned_on(good)["proposal"]
    assert proposal["thresholds"]["failing_edits"] is None
    read = tomllib.loads(proposal["toml"])
    assert read["log_only"] == ["oscillation", "failing_edits"]
    settings = Settings.from_mapping(read)
    assert tuning.in_force(settings) == proposal["thresholds"]


def test_rules_that_are_off_or_logged_only_stay_so() -> None:
    proposal = tuned_on([made(20)] * 400, loop_dot_failing_edits=False)["proposal"]
    assert proposal["thresholds"]["failing_edits"] is None and proposal["thresholds"]["oscillation"] is None
    assert "log_only" not in proposal["toml"]
    nothing = {each.switch().replace(".", "_dot_"): False for each in tuned()}
    assert "No rule about loops speaks" in tuned_on([made(20)] * 400, **nothing)["verdicts"][0]


def test_more_false_stops_than_are_allowed_cannot_be_made_good_by_more_runs() -> None:
    found = tuned_on([made(20)] * 60 + [made(20, failing_edits=50)] * 6)
    assert "more than that already" in found["verdicts"][0]


def test_proposals_are_false_in_fewer_than_one_of_twenty_samples() -> None:
    """Runs drawn from known rates, with rules whose thresholds sit about the limit: how often is a claim untrue?"""
    chance = random.Random(5)
    most, samples, false, claims = 0.1, 150, 0, 0
    settings = Settings()
    for _ in range(samples):
        good = []
        for _ in range(100):
            counts = {}
            for rule in tuned():
                draw = chance.random()
                # 2 % of runs of each rule come to 4, 4 % to 3: all five at 3 are above the limit, at 4 about on it
                counts[rule.rule] = 4 if draw < 0.02 else 3 if draw < 0.04 else 0
            good.append(made(20, **counts))
        proposal = tuning.propose(sample(good), settings, most)
        rates = {
            rule: 0.0 if at is None or at > 4 else 0.02 if at == 4 else 0.04
            for rule, at in proposal["thresholds"].items()
        }
        # unchanged_result starts at 5 and never fires here
        rates["unchanged_result"] = 0.0
        quiet = math.prod(1 - each for each in rates.values())
        claims += proposal["decided"]
        false += proposal["decided"] and 1 - quiet > most
    assert claims > samples / 2 and false / samples <= 0.05


def test_what_is_saved_is_what_bad_runs_used_after_the_line() -> None:
    now = tuned_on([made(20)] * 3, [made(50, failing_edits=5), made(30, failing_edits=3), made(90)])["now"]
    assert now["bad"]["fired"] == 2 and now["bad"]["of"] == 3
    assert now["saved"] == {"runs": 2, "steps": 44 + 24, "tokens": 6800, "dollars": 34.0, "unpriced": 0}
    assert now["early"] == pytest.approx((6 / 50 + 6 / 30) / 2)


def test_the_step_budget_stops_no_more_good_runs_than_the_rules() -> None:
    good = [made(10), made(20), made(30), made(40, failing_edits=3)]
    now = tuned_on(good, [made(25), made(35), made(100)])["now"]
    assert now["step_budget"]["steps"] == 30 and now["step_budget"]["good"]["fired"] == 1
    assert now["step_budget"]["bad"]["fired"] == 2 and now["step_budget"]["saved"]["steps"] == 75
    assert tuning.budget_like([], 0) is None and tuning.budget_like(good, 4) is None


def test_rules_beside_run_length() -> None:
    chance = random.Random(3)
    lengths = [chance.randrange(20, 80) for _ in range(60)]
    good = [made(each, failing_edits=each % 2) for each in lengths]
    loops = [made(each, failing_edits=3 + each % 4) for each in lengths]
    assert tuned_on(good, loops)["verdicts"][-1].startswith("The rules tell bad runs from good ones better")
    longer = [made(each + 40) for each in lengths]
    assert tuned_on(good, longer)["verdicts"][-1].startswith("Run length tells bad runs from good ones better")
    wholly = tuned_on(good, [made(each + 100) for each in lengths])["verdicts"][-1]
    assert wholly.endswith("(AUROC 0.50 against 1.00): these runs leave no spread to make an interval of.")
    mixed = [made(each + chance.randrange(-9, 9), failing_edits=3 * (each % 9 == 0)) for each in lengths]
    text = tuned_on(good, mixed)["verdicts"][-1]
    assert "the data cannot decide" in text and "times as many runs would" in text
    few = tuned_on(good[:9], loops)
    assert "10 good and 10 bad runs at the least, and these are 9 and 60" in few["verdicts"][-1]
    assert few["scores"]["rules"][0]["auroc"] is not None and few["scores"]["rules"][0]["interval"] is None


def test_the_same_runs_give_the_same_answer_in_any_order() -> None:
    good = [made(10 + each, recurring_error=each % 5) for each in range(40)]
    bad = [made(50 + each, failing_edits=each % 7) for each in range(15)]
    assert tuned_on(good, bad, 0.1) == tuned_on(good[::-1], bad[::-1], 0.1)


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0 %"), (1, "100 %"), (0.5, "50 %"), (0.012, "1.2 %"), (0.01, "1 %"), (0.975, "97.5 %"), (0.0006, "0.06 %"),
     (1e-9, "under 0.01 %"), (0.99996, "over 99.99 %"), (0.9996, "99.96 %"), (0.998, "99.8 %")],
)  # fmt: skip
def test_shares_are_never_rounded_to_nothing_or_to_all(share: float, words: str) -> None:
    assert tuning.percent(share) == words
