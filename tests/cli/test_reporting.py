"""``unspin report`` and ``unspin replay``: which session is meant, what is written where, and what is said to mistakes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from driver import Client
from scan import logs
from unspin.paths import state_folder
from unspin.scan.report import MARK
from unspin.store import Store

ID = "3eb2d320-0000-4000-8000-000000000001"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with a loop, in the folder that the person stands in."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return logs.write(folder / "run.jsonl", [logs.began(), logs.said("Fix a.py.", 1), *logs.loop(4)])


def transcript(home: Path, session: str = ID, project: str = "-shop", text: str = "Fix it.") -> Path:
    """A transcript of Claude Code in the person's own folder of them."""
    folder = home / ".claude" / "projects" / project
    folder.mkdir(parents=True, exist_ok=True)
    line = {
        "type": "user", "sessionId": session, "uuid": "u1", "parentUuid": None, "cwd": "/shop",
        "timestamp": "2026-05-06T12:00:00.000Z", "message": {"role": "user", "content": text},
    }  # fmt: skip
    path = folder / f"{session}.jsonl"
    path.write_text(json.dumps(line) + "\n")
    return path


def sessions_in(page: str) -> list[dict[str, Any]]:
    parts = page.split('<script type="application/json" data-kind="session">')[1:]
    return [json.loads(part.partition("</script>")[0]) for part in parts]


# -- where to --------------------------------------------------------------------------


def test_the_page_is_written_into_this_folder_and_told_on_stderr(log: Path, unspin: Any) -> None:
    result = unspin("report", "run.jsonl")
    assert result.stdout == "" and "1 session, 0.1 MB, written to report.html" in result.stderr
    assert Path("report.html").read_text().startswith(MARK)


def test_a_page_of_ours_is_written_over_and_no_other_file(log: Path, unspin: Any) -> None:
    unspin("report", "run.jsonl")
    unspin("report", "run.jsonl")
    Path("report.html").write_text("my own work")
    result = unspin("report", "run.jsonl", status=1)
    assert result.stderr == (
        "unspin: report.html is there and no report of unspin's: name another file with -o, or give --force.\n"
    )
    assert Path("report.html").read_text() == "my own work"
    unspin("report", "run.jsonl", "--force")
    assert Path("report.html").read_text().startswith(MARK)


def test_the_transcript_itself_is_never_written_over(log: Path, unspin: Any) -> None:
    before = log.read_bytes()
    unspin("report", "run.jsonl", "-o", "run.jsonl", status=1)
    assert log.read_bytes() == before


def test_a_dash_is_stdout(log: Path, unspin: Any) -> None:
    result = unspin("report", "run.jsonl", "-o", "-")
    assert result.stdout.startswith(MARK) and result.stdout.endswith("</html>\n")
    assert not Path("report.html").exists()


def test_nothing_is_left_behind_beside_the_page(log: Path, unspin: Any) -> None:
    unspin("report", "run.jsonl", "-o", "page.html")
    assert sorted(each.name for each in Path().iterdir()) == ["page.html", "run.jsonl"]
    assert Path("page.html").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("output", "says"),
    [("gone/page.html", "there is no folder gone: make it"), (".", ". is a folder: name a file to write the page to")],
)
def test_a_place_that_cannot_be_written_is_told(log: Path, unspin: Any, output: str, says: str) -> None:
    assert says in unspin("report", "run.jsonl", "-o", output, status=1).stderr


# -- what of ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["report", "replay"])
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"\n  \n", "empty file"),
        (b"a shopping list\n", "file of no known format; unspin reads"),
        (b'{"event": "session", "session": "a"}\n', "a session in which nothing happened"),
        (b'{"event": "message", "text": 5}\n', "a session in which nothing happened (line 1: "),
        (gzip.compress(b'{"event": "message"}\n' * 999, mtime=0)[:14], "compression"),
    ],
    ids=["empty", "blank", "unknown", "only begun", "only broken", "cut off"],
)
def test_a_file_without_a_session_is_told_in_one_line(
    log: Path, unspin: Any, command: str, content: bytes, says: str
) -> None:
    Path("bad.jsonl").write_bytes(content)
    result = unspin(command, "bad.jsonl", status=1)
    assert result.stderr.startswith("unspin: bad.jsonl: ") and result.stderr.count("\n") == 1
    assert says in result.stderr
    assert not Path("report.html").exists()


@pytest.mark.parametrize("command", ["report", "replay"])
def test_of_a_file_whose_compression_breaks_off_what_is_there_is_shown(log: Path, unspin: Any, command: str) -> None:
    Path("cut.jsonl").write_bytes(gzip.compress(b'{"event": "message"}\n' * 999, mtime=0)[:-8])
    assert "ends in the midst of its compression; the rest was read" in unspin(command, "cut.jsonl").stderr


@pytest.mark.parametrize("command", ["report", "replay"])
@pytest.mark.parametrize("given", ["gone.jsonl", "./gone", "gone/run.traj", "no such thing"])
def test_a_file_that_is_not_there_is_told(log: Path, unspin: Any, command: str, given: str) -> None:
    result = unspin(command, given, status=1)
    assert result.stderr == f"unspin: {given}: no such file or folder\n"


def test_a_broken_line_is_told_and_the_rest_is_shown(log: Path, unspin: Any) -> None:
    log.write_text(log.read_text() + "{\n")
    result = unspin("report", "run.jsonl")
    assert "the rest was read" in result.stderr and "line" in result.stderr
    assert sessions_in(Path("report.html").read_text())[0]["problems"] == 1
    assert "the rest was read" in unspin("replay", "run.jsonl").stderr


def test_a_session_is_found_by_its_id_or_how_it_begins(log: Path, own_home: Path, unspin: Any) -> None:
    transcript(own_home, text="Group the thousands.")
    for given in (ID, "3eb2d320"):
        unspin("report", given)
        (session,) = sessions_in(Path("report.html").read_text())
        assert (session["id"], session["first"]) == (ID, "Group the thousands.")
    assert "Group the thousands." in unspin("replay", "3eb2").stdout


def test_an_id_that_is_not_known_or_not_enough_is_told(log: Path, own_home: Path, unspin: Any) -> None:
    transcript(own_home)
    transcript(own_home, "3eb2d320-0000-4000-8000-000000000002")
    assert "2 sessions begin with 3eb2" in unspin("report", "3eb2", status=1).stderr
    assert "ffff: no such file, and no session begins so" in unspin("report", "ffff", status=1).stderr


def test_without_a_path_it_is_this_folders_newest_session(
    tmp_path: Path, own_home: Path, unspin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = Client(tmp_path)
    agent.store.close()
    agent.store = Store(state_folder())
    agent.round(agent.bash("ls", "a.py"))
    monkeypatch.chdir(agent.project)
    session = agent.store.sessions()[0].id
    assert f"the transcript of session {session} is not" in unspin("report", status=1).stderr
    transcript(own_home, session, text="Of this folder.")
    unspin("report")
    assert sessions_in(Path("report.html").read_text())[0]["first"] == "Of this folder."


def test_of_a_folder_the_newest_sessions_with_detections_are_taken(log: Path, unspin: Any) -> None:
    folder = Path("many")
    folder.mkdir()
    for number in range(4):
        lines = [{**line, "time": f"2026-06-0{number + 1}T10:00:00Z"} for line in logs.loop(3)]
        logs.write(folder / f"{number}.jsonl", [logs.began(f"run-{number}"), *lines])
    logs.write(folder / "quiet.jsonl", [logs.began("quiet"), logs.said("x", 1)])
    (folder / "notes.md").write_text("no transcript\n")
    result = unspin("report", "many", "--last", "3")
    assert "3 sessions" in result.stderr
    page = Path("report.html").read_text()
    assert [each["id"] for each in sessions_in(page)] == ["run-3", "run-2", "run-1"]
    assert '"left_out":1' in page
    unspin("report", "many/*.jsonl")
    assert len(sessions_in(Path("report.html").read_text())) == 4


def test_a_folder_in_which_nothing_was_noticed_is_told(log: Path, unspin: Any) -> None:
    folder = Path("many")
    folder.mkdir()
    logs.write(folder / "quiet.jsonl", [logs.began("quiet"), logs.said("x", 1)])
    assert "nothing was noticed in the sessions of many" in unspin("report", "many", status=1).stderr
    assert not Path("report.html").exists()


def test_the_settings_of_this_folder_hold(log: Path, unspin: Any) -> None:
    Path("unspin.toml").write_text("[loop]\nfailing_edits = false\nrepeated_errors = false\n")
    unspin("report", "run.jsonl")
    assert sessions_in(Path("report.html").read_text())[0]["found"] == []


def test_a_replay_is_of_one_file(log: Path, unspin: Any) -> None:
    assert ". is more than one file: name the one to replay" in unspin("replay", ".", status=1).stderr


def test_a_replay_tells_the_money_where_the_log_tells_no_tokens(log: Path, unspin: Any) -> None:
    logs.write(log, [logs.began(), *logs.paid_loop()])
    said = " ".join(unspin("replay", "run.jsonl").output.split())
    assert "tokens" not in said and ", $" in said.partition("the session: ")[2].partition("first line")[0]
    assert ", $" in said.partition("used after it: ")[2]
