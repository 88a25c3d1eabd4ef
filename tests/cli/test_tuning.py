"""unspin tune: what it shows, what it gives to scripts, and what it says where it cannot."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest


def run(path: Path, loops: int = 0, steps: int = 10, how: str = "") -> None:
    """Write a run: honest steps, then edits of one file that are each followed by the same failure."""
    lines: list[dict[str, Any]] = [{"event": "session", "session": path.stem, "cwd": "/shop"}]
    for number in range(steps):
        lines += [
            {"event": "usage", "model": "m", "input_tokens": 1000, "cost": 0.01},
            {"event": "tool", "command": f"sed -n {number}p a", "output": f"line {number}", "exit_code": 0},
            {"event": "round_end"},
        ]
    for number in range(loops):
        lines += [
            {"event": "tool", "edits": [{"path": "/shop/a.py", "old": "x", "new": str(number)}]},
            {"event": "round_end"},
            {"event": "usage", "model": "m", "input_tokens": 1000, "cost": 0.01},
            {"event": "tool", "command": "pytest", "output": "E   TypeError: no", "exit_code": 1},
            {"event": "round_end"},
        ]
    lines += [{"event": "end", "how": how}] if how else []
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eighty good runs and twelve bad ones; good.txt names the good."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for number in range(80):
        run(folder / f"good-{number:03}.jsonl", steps=8 + number % 9)
    for number in range(12):
        run(folder / f"bad-{number:03}.jsonl", loops=5, steps=number)
    (tmp_path / "good.txt").write_text("".join(f"good-{number:03}\n" for number in range(80)))
    monkeypatch.chdir(tmp_path)
    return folder


def document(unspin: Any, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(unspin("tune", *arguments, "--json").stdout)
    return found


def test_settings_are_proposed_that_the_runs_show_to_be_safe(runs: Path, unspin: Any) -> None:
    output = unspin("tune", "runs", "--good", "good.txt", "--max-false-stops", "5%").output
    assert "80 good, 12 bad, 0 not known (by your file)" in output
    assert "failing_edits 3, recurring_error 3, rejected_edits 3" in output and "[loop]" not in output  # as it is
    flat = " ".join(output.split())
    assert "would have spoken in 0 of 80 good runs (4.5 % at most, with 97.5 % confidence)" in flat
    assert "spoken in 12 of 12 bad runs (74 % to 100 %)" in flat
    assert "Clopper-Pearson" in output and "DeLong" in output
    assert max(map(len, output.splitlines())) <= 80


def test_the_snippet_is_a_settings_file(runs: Path, unspin: Any, tmp_path: Path) -> None:
    found = document(unspin, "runs", "--good", "good.txt", "--max-false-stops", "0.05")
    assert found["proposal"]["decided"] and found["max_false_stops"] == 0.05
    (tmp_path / "unspin.toml").write_text(found["proposal"]["toml"] + "\n")
    again = document(unspin, "runs", "--good", "good.txt", "--max-false-stops", "0.05")
    assert tomllib.loads(found["proposal"]["toml"])["loop"] == {
        rule["key"].partition(".")[2]: rule["now"] for rule in again["rules"] if rule["said"]
    }
    assert again["proposal"]["same_as_now"]


def test_too_few_runs_decide_nothing(runs: Path, unspin: Any) -> None:
    flat = " ".join(unspin("tune", "runs", "--good", "good.txt").output.split())
    assert "The data cannot decide: to show a false-stop rate of at most 1 % takes 368 good runs" in flat
    assert "[loop]" not in flat


def test_the_figures_of_each_threshold(runs: Path, unspin: Any) -> None:
    found = document(unspin, "runs", "--good", "good.txt")
    (rule,) = [each for each in found["rules"] if each["rule"] == "failing_edits"]
    rows = {each["threshold"]: each for each in rule["thresholds"]}
    assert [rows[at]["bad"]["fired"] for at in (2, 3, 5, 6)] == [12, 12, 12, 0]
    assert rows[3]["good"] == {"fired": 0, "of": 80, "rate": 0.0, "low": 0.0, "high": rows[3]["good"]["high"]}
    assert rows[3]["saved"] == {"runs": 12, "steps": 48, "tokens": 24000, "dollars": 0.24, "unpriced": 0}
    assert rows[3]["step_budget"]["steps"] == 16 and rows[3]["step_budget"]["bad"]["fired"] == 5


def test_runs_count_as_what_they_say_of_themselves(tmp_path: Path, unspin: Any) -> None:
    run(tmp_path / "a.jsonl", how="Submitted")
    run(tmp_path / "b.jsonl", loops=3, how="LimitsExceeded")
    run(tmp_path / "c.jsonl")
    output = unspin("tune", str(tmp_path)).output
    assert "1 good, 1 bad, 1 not known (by what they say of their own end: handed in" in " ".join(output.split())


def test_where_nothing_is_known_it_says_so_and_shows_what_fires(tmp_path: Path, unspin: Any) -> None:
    run(tmp_path / "a.jsonl", loops=4)
    output = " ".join(unspin("tune", str(tmp_path)).output.split())
    assert "1 not known (nothing says how they ended)" in output
    assert "no run is known to have ended well. Name those that did with --good FILE." in output
    assert "failing_edits 2 1 (" in output
    found = document(unspin, str(tmp_path))
    assert found["now"]["saved_of"] == "unknown" and found["now"]["saved"]["runs"] == 1
    assert found["now"]["good"]["rate"] is None and not found["proposal"]["decided"]


def test_names_of_no_run_are_told(runs: Path, unspin: Any) -> None:
    Path("good.txt").write_text("good-001\nnobody\n")
    result = unspin("tune", "runs", "--good", "good.txt")
    assert "nobody" in result.stderr and "1 good, 91 bad" in result.stdout


@pytest.mark.parametrize("rate", ["0", "-1%", "100%", "1", "nan", "inf", "few", "%"])
def test_a_rate_that_is_none_is_bad_usage(runs: Path, unspin: Any, rate: str) -> None:
    result = unspin("tune", "runs", "--max-false-stops", rate, status=2)
    assert "expected a share above 0 and below 1, such as 1% or 0.01" in " ".join(result.output.split())


def test_bad_usage_says_what_is_wrong(runs: Path, unspin: Any) -> None:
    assert "PATH" in unspin("tune", status=2).output
    assert "no such file" in unspin("tune", "nowhere", status=2).output
    assert "No such file" in unspin("tune", "runs", "--good", "nowhere.txt", status=2).output
    Path("bad.tsv").write_text("a\tb\nc\td\n")
    assert "no column" in " ".join(unspin("tune", "runs", "--good", "bad.tsv", status=2).output.split())


def test_where_nothing_can_be_read_the_status_is_1(tmp_path: Path, unspin: Any) -> None:
    (tmp_path / "a.jsonl").write_text("no transcript\n")
    assert "no run was read" in unspin("tune", str(tmp_path), status=1).stderr
    assert json.loads(unspin("tune", str(tmp_path), "--json", status=1).stdout)["runs"]["good"] == 0


def test_what_could_not_be_read_is_told_and_the_rest_counts(runs: Path, unspin: Any) -> None:
    with (runs / "good-001.jsonl").open("a") as file:
        file.write("{half\n")
    result = unspin("tune", "runs", "--good", "good.txt")
    assert "good-001.jsonl" in result.stderr and "80 good" in result.stdout
    assert len(json.loads(unspin("tune", "runs", "--json").stdout)["errors"]) == 1


def test_control_characters_of_names_do_not_reach_the_terminal(runs: Path, unspin: Any) -> None:
    Path("good.txt").write_text("good-001\nx\x1b[31mred\n")
    result = unspin("tune", "runs", "--good", "good.txt")
    assert "\x1b" not in result.output


@pytest.mark.corpora
def test_on_recorded_runs_it_says_that_run_length_does_no_worse(shared: Path, unspin: Any) -> None:
    """An honest answer: of these runs the bad ones are longer, and hardly any of them loops."""
    corpora = shared / "corpora"
    table = corpora / "labels" / "mini_gemini3_swebv_resolved.tsv"
    found = document(unspin, str(corpora / "mini_gemini3_swebv"), "--good", str(table))
    assert (found["runs"]["good"], found["runs"]["bad"]) == (99, 39)
    assert not found["proposal"]["decided"]
    assert not any("better than run length does (" in text for text in found["verdicts"])


def test_the_example_in_the_docs_is_what_the_command_prints(runs: Path, unspin: Any) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tune.md").read_text("utf-8")
    shown = page.partition("$ unspin tune runs --good good.txt --max-false-stops 5%\n")[2].partition("\n```")[0]
    assert unspin("tune", "runs", "--good", "good.txt", "--max-false-stops", "5%").stdout.rstrip() == shown


def test_the_fields_of_json_are_on_the_page(runs: Path, unspin: Any) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "tune.md").read_text("utf-8")
    found = document(unspin, "runs", "--good", "good.txt")
    listed = [
        line.split("`")[1] for line in page.partition("\n## What --json gives\n")[2].splitlines() if line[:3] == "| `"
    ]
    assert listed == list(found)
    missing = {
        key
        for each in (*found["rules"], found["now"], found["proposal"], found["runs"])
        for key in each
        if f"`{key}`" not in page
    }
    assert missing == set()


def test_labels_of_other_runs_are_no_labels(runs: Path, unspin: Any) -> None:
    Path("other.txt").write_text("other-1\nother-2\n")
    output = unspin("tune", "runs", "--good", "other.txt", status=2).output
    assert "none of its names is one of these runs, such as other-1" in " ".join(output.split())
