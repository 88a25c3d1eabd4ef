"""unspin scan and show, as people and scripts type them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner, Result

from unspin.cli.app import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def loop(session: str = "run-7") -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"event": "session", "session": session, "cwd": "/shop", "time": "2026-11-30T10:00:00Z"}
    ]
    for number in range(3):
        lines += [
            {"event": "tool", "edits": [{"path": "/shop/=a.py", "old": "x", "new": str(number)}]},
            {"event": "round_end"},
            {"event": "tool", "command": "pytest", "output": "E   TypeError: no", "exit_code": 1},
            {"event": "round_end"},
        ]
    lines.append({"event": "usage", "model": "x", "input_tokens": 1000, "output_tokens": 1, "cost": 0.25})
    return lines


def text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "logs"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.jsonl").write_text(text(loop()))
    with gzip.open(folder / "deep" / "two.jsonl.gz", "wt") as file:
        file.write(text(loop("run-8")))
    (folder / "three.jsonl.zst").write_bytes(zstandard.compress(text(loop("run-9")).encode()))
    (folder / "quiet.jsonl").write_text(text([{"event": "message", "text": "hello"}]))
    (folder / "other.json").write_text('{"some": "thing"}')
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_folder(logs: Path) -> None:
    result = run("scan", logs)
    assert result.exit_code == 0, result.output
    assert result.output.count("failing_edits 1") == 3
    assert "4 sessions in 5 files, 18 tool calls" in result.output
    assert "1 file of no known format skipped" in result.output
    assert "3,003 tokens, $0.75" in result.output


def test_one_document(logs: Path) -> None:
    result = run("scan", logs / "one.jsonl", "--json")
    document = json.loads(result.stdout)
    assert set(document) == {"summary", "detections", "errors"}
    assert document["errors"] == [] and document["summary"]["tool_calls"] == 6
    first = document["detections"][0]
    assert first["rule"] == "failing_edits" and first["session"] == "run-7" and first["event_index"] == 5
    assert first["count"] == 3 and first["path"] == str(logs / "one.jsonl") and first["evidence"]
    assert first["message"].startswith("Unspin: loop (3 failing edits on")
    rules = document["summary"]["rules"]
    assert rules["failing_edits"]["per_1000_calls"] == round(1000 / 6, 3)
    assert rules["failing_edits"]["tokens_after"] == 1001


def test_lines_and_rows(logs: Path) -> None:
    rows = [json.loads(line) for line in run("scan", logs, "--jsonl").stdout.splitlines()]
    needed = {"path", "session", "rule", "identity", "count", "event_index", "message", "evidence"}
    assert len(rows) == 6 and all(needed <= set(row) for row in rows)
    table = list(csv.DictReader(io.StringIO(run("scan", logs, "--csv").stdout)))
    assert [row["rule"] for row in table] == [row["rule"] for row in rows]
    assert not any(cell.startswith(("=", "@")) for row in table for cell in row.values())


def test_patterns_and_rules(logs: Path) -> None:
    assert "2 sessions in 2 files" in run("scan", f"{logs}/*e.jsonl*").output
    assert "recurring_error" not in run("scan", logs, "--rule", "failing_edits").output


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--fail-on", "failing_edits"], 1),
        (["--fail-on", "rot"], 0),
        (["--fail-on", "failing_edits", "--rule", "rot"], 0),
        (["--fail-on", "nonsense"], 2),
        (["--since", "yesterday-ish"], 2),
        (["--since", "2000-01-01"], 0),
        (["--json", "--fail-on", "recurring_error"], 1),
    ],
)
def test_exit_statuses(logs: Path, arguments: list[str], status: int) -> None:
    result = run("scan", logs, *arguments)
    assert result.exit_code == status and "Traceback" not in result.output


def test_what_cannot_be_read_is_reported_and_the_rest_is_read(logs: Path) -> None:
    (logs / "broken.jsonl").write_text(text(loop("run-10")[:3]) + "{nonsense\n" + text(loop("run-10")[3:]))
    (logs / "cut.jsonl.gz").write_bytes(gzip.compress(text(loop("run-11") * 500).encode())[:-20])
    result = run("scan", logs, "missing.jsonl", "--json")
    assert result.exit_code == 3
    document = json.loads(result.stdout)
    errors = {Path(each["path"]).name: each for each in document["errors"]}
    assert errors["broken.jsonl"]["line"] == 4 and "no JSON" in errors["broken.jsonl"]["error"]
    assert "in the midst" in errors["cut.jsonl.gz"]["error"]
    assert "no such file" in errors["missing.jsonl"]["error"]
    assert "run-10" in {each["session"] for each in document["detections"]}
    told = run("scan", logs, "missing.jsonl")
    assert told.exit_code == 3 and "broken.jsonl, line 4" in told.output


def test_a_rule_that_is_off_here_is_off_in_the_scan(logs: Path) -> None:
    (logs.parent / "unspin.toml").write_text("[loop]\nfailing_edits = false\n")
    assert "failing_edits" not in run("scan", logs).output


def test_a_file_that_is_named_twice_is_scanned_once(logs: Path) -> None:
    one = logs / "one.jsonl"
    found = json.loads(run("scan", logs, one, logs / "deep", logs / "*.jsonl", one, "--json").output)
    assert (found["summary"]["files"], found["summary"]["sessions"]) == (5, 4)


def test_where_all_that_was_named_is_of_no_known_format_nothing_could_be_read(logs: Path) -> None:
    result = run("scan", logs / "other.json", "--json")
    assert result.exit_code == 3
    (error,) = json.loads(result.output)["errors"]
    assert error["path"].endswith("other.json") and error["error"].startswith("file of no known format; unspin reads")
    (logs / "nothing.jsonl").touch()
    assert run("scan", logs / "nothing.jsonl").exit_code == 0


def test_one_of_no_known_format_among_others_is_passed_by_and_counted(logs: Path) -> None:
    for given in ([logs], sorted(logs.glob("*.json*"))):  # as the shell expands a pattern
        result = run("scan", *given)
        assert result.exit_code == 0 and "1 file of no known format skipped" in result.output


@pytest.mark.parametrize("name", ["run-7", "transcript.txt", "run.bak", "LICENSE.gz"])
def test_a_folder_is_searched_by_content(logs: Path, name: str) -> None:
    lines = text(loop()).encode()
    (logs / "deep" / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    for other, content in (("setup.py", "# comment"), ("x.yaml", "[1]"), ("picture", "\0\1"), ("cut.gz", "\x1f\x8b")):
        (logs / "deep" / other).write_text(content, encoding="latin-1")
    (logs / "deep" / "dangling").symlink_to("nowhere")
    found = json.loads(run("scan", logs / "deep", "--json").output)
    assert (found["summary"]["files"], found["summary"]["sessions"], found["errors"]) == (2, 2, [])


def test_a_format_that_is_none_of_the_file_s_is_asked_about(logs: Path) -> None:
    result = run("scan", logs / "one.jsonl", "--format", "codex")
    assert "nothing was found in what was read as codex. Is it another format?" in result.output


def test_a_pipe_is_told_to_be_none_of_what_is_read(logs: Path) -> None:
    os.mkfifo(logs / "pipe")
    result = run("scan", logs / "pipe")
    assert result.exit_code == 3 and "a pipe, which cannot be read from its beginning again" in result.output


def test_sessions_are_named_by_as_much_of_their_ids_as_tells_them_apart(logs: Path) -> None:
    for number in (1, 2):
        (logs / f"task{number}.jsonl").write_text(text(loop(f"django__django-1{number}")))
    result = run("scan", logs / "task1.jsonl", logs / "task2.jsonl")
    assert "  django__django-11  " in result.output and "  django__django-12  " in result.output


def test_a_name_that_is_shown_means_one_session_of_all_that_were_scanned(logs: Path) -> None:
    (logs / "quiet.jsonl").write_text(text([{"event": "session", "session": "django__django-12"}]))
    (logs / "task.jsonl").write_text(text(loop("django__django-11")))
    name = run("scan", logs / "task.jsonl", logs / "quiet.jsonl").output.split()[1]
    assert run("show", name, logs / "task.jsonl", logs / "quiet.jsonl").exit_code == 0


def test_where_no_session_was_found_it_is_not_said_that_nothing_was_noticed(logs: Path) -> None:
    (logs / "notes").mkdir()
    (logs / "notes" / "a.txt").write_text("no transcript")
    said = run("scan", logs / "notes").output
    assert "No session was found." in said and "noticed" not in said
    assert "Nothing was noticed." in run("scan", logs / "quiet.jsonl").output


def test_what_no_transcript_tells_of_has_no_price(logs: Path) -> None:
    (logs / "bare.jsonl").write_text(text(loop("bare")[:-1]))
    assert "$" not in run("scan", logs / "bare.jsonl").output + run("show", logs / "bare.jsonl").output
    spent = {"event": "usage", "model": "x", "input_tokens": 0, "output_tokens": 0, "cost": 0.5}
    (logs / "paid.jsonl").write_text(text([*loop("paid")[:-1], spent]))
    said = run("scan", logs / "paid.jsonl").output
    assert "6 calls      $0.50" in said and "6 tool calls, $0.50" in said
    assert "  $0.50\n" in said.partition("used after the first")[2], "all of it was used after the line"


@pytest.mark.parametrize("command", ["scan", "show", "tune"])
def test_the_help_fits_into_a_terminal(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = run(command, "--help").output
    assert max(map(len, said.splitlines())) <= 80
    assert "specstory" in said and (command == "tune" or "oscillation" in said)


def test_names_do_not_grow_with_ids_that_begin_alike_for_long(logs: Path) -> None:
    for number in (1, 2):
        (logs / f"task{number}.jsonl").write_text(text(loop(f"{'x' * 150}{number}")))
    result = run("scan", logs / "task1.jsonl", logs / "task2.jsonl")
    assert "x" * 100 in result.output and "x" * 101 not in result.output


def test_the_rules_of_a_session_are_told_whole(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    result = run("scan", logs / "one.jsonl")
    assert "failing_edits 1, recurring_error 1" in result.output and "…" not in result.output
    assert max(map(len, result.output.splitlines()[:2])) <= 60


def test_the_evidence_of_a_session_anywhere(logs: Path) -> None:
    assert "Evidence: unspin show run-7 logs/one.jsonl" in run("scan", "logs/one.jsonl").output
    assert "Evidence: unspin show SESSION logs" in run("scan", "logs").output
    shown = run("show", "run-8", logs)
    assert shown.exit_code == 0 and "run-8" in shown.output and "run-7" not in shown.output
    assert "TypeError: no" in shown.output
    many = run("show", "run", logs)
    assert many.exit_code == 1 and "3 sessions begin with run" in many.output
    assert "no session there begins with other" in run("show", "other", logs).output


def test_events_are_those_that_an_index_counts(logs: Path) -> None:
    found = json.loads(run("scan", logs / "one.jsonl", "--json").output)
    assert found["summary"]["events"] == 6 and max(each["event_index"] for each in found["detections"]) == 5


def test_one_session_with_its_evidence(logs: Path) -> None:
    result = run("show", logs / "one.jsonl")
    assert result.exit_code == 0 and "run-7" in result.output
    assert "    1  " not in result.output.splitlines()[0]
    assert "E   TypeError" in result.output or "TypeError: no" in result.output
    assert run("show", "nothing-like-it").exit_code == 1
    assert run("show", "/no/such/file").exit_code == 1


def test_a_file_that_holds_no_session_is_told_of(logs: Path) -> None:
    (logs / "empty.jsonl").touch()
    (logs / "nothing").mkdir()
    for name, why in [
        ("empty.jsonl", "empty file"),
        ("other.json", "file of no known format"),
        ("nothing", "no file that could be a transcript"),
    ]:
        result = run("show", logs / name)
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.endswith(f"{name}: {why}\n")


def test_a_detection_without_a_time_is_not_of_1970(logs: Path) -> None:
    (logs / "rot.jsonl").write_text(
        text([{"event": "tests_run", "run": "n", "turn": turn, "failing_tests": ["a"]} for turn in (1, 2)])
    )
    result = run("show", logs / "rot.jsonl")
    assert "?  logged  rot" in result.output and "1970" not in result.output


def test_a_session_cannot_write_to_the_terminal(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = loop("\x1b[31m\u202ex")
    lines[0]["time"] = "\x1b[32m\u202e"
    (logs / "one.jsonl").write_text(text(lines))
    for arguments in (("scan", "--all"), ("show",)):
        output = CliRunner().invoke(app, [*arguments, str(logs / "one.jsonl")], color=True).output
        assert "?[31m?x" in output
        assert "\u202e" not in output and "\x1b[31m" not in output and "\x1b[32m" not in output


def test_many_processes_give_the_same(logs: Path) -> None:
    assert run("scan", logs, "--jsonl", "--jobs", "2").stdout == run("scan", logs, "--jsonl", "--jobs", "1").stdout


def test_where_a_budget_would_have_stopped_each_run(logs: Path) -> None:
    document = json.loads(run("scan", logs / "one.jsonl", "--json", "--steps", "4").stdout)
    (stop,) = document["summary"]["runs"]
    assert (stop["session"], stop["reason"], stop["completed_steps"]) == ("run-7", "step budget", 4)
    assert stop["next_step"]
    assert "step budget after 4 steps" in run("scan", logs / "one.jsonl", "--steps", "4").output
    (free,) = json.loads(run("scan", logs / "one.jsonl", "--json").stdout)["summary"]["runs"]
    assert free["completed_steps"] == 6 and free["reason"] in ("done", "loop")
    for wrong in ("0", "-1", "nan", "inf"):
        assert run("scan", logs / "one.jsonl", "--steps", wrong).exit_code == 2


@pytest.mark.parametrize("command", ["scan", "show", "replay"])
def test_who_has_seen_enough_of_it_is_no_finding(logs: Path, command: str) -> None:
    started = [sys.executable, "-m", "unspin", command, str(logs / "one.jsonl")]
    with subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_interrupt_is_no_finding(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("unspin.cli.scanning.each_of", interrupted)
    result = run("scan", logs)
    assert result.exit_code == 130 and "interrupted" in result.output


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_a_subagents_file_counts_once_with_its_session(tmp_path: Path, end: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[end]
    session = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"

    def asked(uuid: str, **more: Any) -> bytes:
        call = {"type": "tool_use", "id": f"t-{uuid}", "name": "Read", "input": {"file_path": "/a"}}
        common = {"sessionId": session, "uuid": uuid, "parentUuid": None, "cwd": "/", "timestamp": "2026-01-01", **more}
        result = {"type": "tool_result", "tool_use_id": f"t-{uuid}", "content": "x"}
        said = {"type": "assistant", "message": {"id": uuid, "role": "assistant", "content": [call]}}
        back = {"type": "user", "message": {"role": "user", "content": [result]}}
        return "".join(json.dumps({**each, **common}) + "\n" for each in (said, back)).encode()

    (tmp_path / session / "subagents").mkdir(parents=True)
    (tmp_path / f"{session}.jsonl{end}").write_bytes(pack(asked("1")))
    (tmp_path / session / "subagents" / f"agent-x.jsonl{end}").write_bytes(pack(asked("2", isSidechain=True)))
    sums = json.loads(run("scan", tmp_path, "--json").output)["summary"]
    assert (sums["files"], sums["sessions"], sums["tool_calls"], sums["events"]) == (1, 1, 2, 1)
