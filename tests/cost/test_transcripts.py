"""Files to messages: each message counts once, whatever the client repeats and whatever is broken."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cost.conftest import Folder, line, text
from unspin.cost import transcripts
from unspin.cost.files import find, folders, of_session
from unspin.cost.transcripts import Reading


def outputs(folder: Folder) -> list[int]:
    return [each.usage.output for each in folder.read()]


# -- one message, many lines -----------------------------------------------------------


def test_the_lines_of_one_message_count_once_with_the_most_output(folder: Folder) -> None:
    folder.write("a.jsonl", line(output=1), line(output=7), line(output=300))
    assert outputs(folder) == [300]


def test_a_line_that_comes_late_with_less_output_takes_nothing_away(folder: Folder) -> None:
    folder.write("a.jsonl", line(output=300), line(output=1))
    assert outputs(folder) == [300]


def test_a_message_has_ended_where_any_of_its_best_lines_says_so(folder: Folder) -> None:
    folder.write("a.jsonl", line(output=5, stop=None), line(output=5), line(output=5, stop=None))
    folder.write("b.jsonl", line("msg_2", output=1, stop=None), line("msg_2", output=5, stop="tool_use"))
    folder.write("c.jsonl", line("msg_3", output=1, stop=None))
    assert [each.ended for each in folder.read()] == [True, True, False]


def test_the_time_of_a_message_is_that_of_its_first_line(folder: Folder) -> None:
    folder.write(
        "a.jsonl",
        line(output=1, timestamp="2026-05-04T23:59:59.000Z"),
        line(output=9, timestamp="2026-05-05T00:00:09.000Z"),
    )
    assert [each.when for each in folder.read()] == ["2026-05-04T23:59:59.000Z"]


def test_other_messages_and_other_requests_count(folder: Folder) -> None:
    folder.write("a.jsonl", line("msg_1", "req_1"), line("msg_2", "req_2"), line("msg_2", "req_3"))
    assert len(outputs(folder)) == 3


def test_without_a_request_id_the_clients_own_reference_tells_requests_apart(folder: Folder) -> None:
    folder.write("a.jsonl", line(request=None, requestRef="x"), line(request=None, requestRef="x"))
    folder.write("b.jsonl", line(request=None, requestRef="x"), line(request=None, requestRef="y"))
    assert len(outputs(folder)) == 2


def test_an_id_without_any_request_that_begins_anew_in_another_session_is_another_message(folder: Folder) -> None:
    folder.write("a.jsonl", line(request=None), line(request=None))
    folder.write("b.jsonl", line(request=None, timestamp="2026-05-05T12:00:00.000Z"))
    folder.write("c.jsonl", line(request=None))  # a copy of the first
    assert len(outputs(folder)) == 2


def test_messages_without_an_id_count_once_for_each_time_and_usage(folder: Folder) -> None:
    nameless = line()
    del nameless["message"]["id"]
    folder.write("a.jsonl", nameless, nameless, {**nameless, "timestamp": "2026-05-04T12:00:01.000Z"})
    folder.write("b.jsonl", nameless)
    assert len(outputs(folder)) == 2


def test_lines_that_the_client_made_itself_cost_nothing(folder: Folder) -> None:
    folder.write("a.jsonl", line(model="<synthetic>"), line("msg_2"))
    assert [each.model for each in folder.read()] == ["claude-opus-4-5"]


# -- classes of tokens -----------------------------------------------------------------


def test_cache_writes_for_an_hour_are_told_from_the_others(folder: Folder) -> None:
    split = {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 700}
    folder.write(
        "a.jsonl",
        line(usage={"cache_read_input_tokens": 5, "cache_creation_input_tokens": 1000, "cache_creation": split}),
    )
    (used,) = (each.usage for each in folder.read())
    assert (used.input, used.cache_read, used.cache_write, used.cache_write_1h) == (10, 5, 300, 700)


def test_cache_writes_that_are_not_told_apart_are_the_short_ones(folder: Folder) -> None:
    folder.write("a.jsonl", line(usage={"cache_creation_input_tokens": 1000}))
    (used,) = (each.usage for each in folder.read())
    assert (used.cache_write, used.cache_write_1h) == (1000, 0)


def test_a_split_that_claims_more_than_the_whole_adds_nothing(folder: Folder) -> None:
    folder.write(
        "a.jsonl",
        line(usage={"cache_creation_input_tokens": 10, "cache_creation": {"ephemeral_1h_input_tokens": 10**9}}),
    )
    (used,) = (each.usage for each in folder.read())
    assert (used.cache_write, used.cache_write_1h) == (0, 10)


def test_searches_and_fast_mode_are_read(folder: Folder) -> None:
    folder.write("a.jsonl", line(usage={"server_tool_use": {"web_search_requests": 3}, "speed": "fast"}))
    (used,) = (each.usage for each in folder.read())
    assert (used.web_searches, used.fast) == (3, True)


# -- forks, resumed sessions, side questions -------------------------------------------


def test_a_fork_counts_what_it_adds_and_its_parent_keeps_the_rest(folder: Folder) -> None:
    folder.write("parent.jsonl", line("msg_1", "req_1"), line("msg_2", "req_2"))
    folder.write(
        "fork.jsonl",
        line("msg_1", "req_1", forkedFrom={"sessionId": "parent"}),
        line("msg_2", "req_2", forkedFrom={"sessionId": "parent"}),
        line("msg_3", "req_3"),
    )
    assert sorted((each.session, each.usage.output) for each in folder.read()) == [
        ("fork", 100),
        ("parent", 100),
        ("parent", 100),
    ]


def test_what_a_fork_has_from_a_parent_that_is_gone_is_still_the_parents(folder: Folder) -> None:
    folder.write("fork.jsonl", line(forkedFrom={"sessionId": "parent"}), line("msg_2"))
    assert sorted(each.session for each in folder.read()) == ["fork", "parent"]


def test_the_session_that_sent_the_request_is_named_first(folder: Folder) -> None:
    folder.write("b.jsonl", line(requestSessionId="a", forkedFrom={"sessionId": "parent"}))
    assert [each.session for each in folder.read()] == ["a"]


def test_history_copied_by_an_older_client_belongs_to_the_file_that_was_begun_first(folder: Folder) -> None:
    begin = {"type": "user", "timestamp": "2026-05-04T11:00:00.000Z"}
    later = {"type": "queue-operation", "timestamp": "2026-05-06T11:00:00.000Z"}
    folder.write("a-resumed.jsonl", later, line(), line("msg_2"))
    folder.write("b-first.jsonl", begin, line())
    assert sorted((each.session, each.usage.output) for each in folder.read()) == [("a-resumed", 100), ("b-first", 100)]


def test_of_copies_begun_at_the_same_time_the_file_that_was_left_first_has_the_messages(folder: Folder) -> None:
    old, new = folder.write("z-old.jsonl", line()), folder.write("a-new.jsonl", line(), line("msg_2"))
    os.utime(old, (1000, 1000))
    os.utime(new, (2000, 2000))
    assert [each.session for each in folder.read()] == ["z-old", "a-new"]


def test_a_side_question_that_replays_the_conversation_adds_only_its_own_answer(folder: Folder) -> None:
    folder.write("a.jsonl", line("msg_1", "req_1", isSidechain=False))
    folder.write(
        "a/subagents/agent-aside.jsonl",
        line("msg_1", "req_other", isSidechain=True),
        line("msg_9", "req_9", isSidechain=True),
    )
    assert len(outputs(folder)) == 2


# -- subagents -------------------------------------------------------------------------


def test_subagents_count_for_the_session_that_started_them(folder: Folder) -> None:
    folder.write("a.jsonl", line())
    folder.write("a/subagents/agent-1.jsonl", line("msg_2", isSidechain=True))
    folder.write("a/subagents/workflows/w1/agent-2.jsonl", line("msg_3", isSidechain=True))
    folder.write("agent-3.jsonl", line("msg_4", isSidechain=True, sessionId="a"))
    found = folder.read()
    assert {(each.session, each.project) for each in found} == {("a", "-shop")}
    assert sorted(each.subagent for each in found) == [False, True, True, True]


def progress(message: str, output: int = 1) -> dict[str, Any]:
    inner = {**line(message, f"req_{message}", output), "timestamp": "2026-05-04T12:00:05.000Z"}
    return {
        "type": "progress",
        "timestamp": "2026-05-04T12:00:06.000Z",
        "sessionId": "a",
        "cwd": "/shop",
        "data": {"type": "agent_progress", "message": inner, "agentId": "1"},
    }


def test_a_subagent_that_is_told_of_in_the_parents_progress_lines_alone_counts(folder: Folder) -> None:
    folder.write("a.jsonl", line(), progress("msg_2"), progress("msg_2"))
    found = folder.read()
    assert [(each.subagent, each.session, each.when[17:19]) for each in found] == [
        (False, "a", "00"),
        (True, "a", "05"),
    ]


def test_a_subagent_with_a_file_and_progress_lines_counts_once(folder: Folder) -> None:
    folder.write("a.jsonl", line(), progress("msg_2"))
    folder.write("a/subagents/agent-1.jsonl", line("msg_2", "req_msg_2", isSidechain=True))
    assert len(outputs(folder)) == 2


def test_other_progress_lines_are_no_messages_and_no_faults(folder: Folder) -> None:
    odd = [
        {"type": "progress", "data": each} for each in ('"output_tokens"', {"message": "x"}, {"output_tokens": 1}, None)
    ]
    odd += [{"type": "progress", "data": {"message": {"type": "user", "message": {"usage": {"output_tokens": 1}}}}}]
    folder.write("a.jsonl", *odd, line())
    reading, found = folder.reading()
    assert (len(found), reading.skipped) == (1, 0)


# -- broken and hostile ----------------------------------------------------------------


def test_broken_lines_are_skipped_and_counted(folder: Folder) -> None:
    whole = text(line("msg_2"))
    strange = [line(usage={"output_tokens": each}) for each in ("12", -5, 1.5, 10**30, [], {})]
    folder.write("a.jsonl", whole[:-20], "{", "", "null", "[]", '"output_tokens"', *strange, whole, whole[:-1])
    reading, found = folder.reading()
    assert [each.usage.output for each in found] == [100]
    assert reading.skipped == len(strange) + 2 + 1  # the two that are cut off, and the string


def test_lines_of_no_interest_are_not_faults(folder: Folder) -> None:
    folder.write(
        "a.jsonl",
        {"type": "user", "toolUseResult": {"usage": {"output_tokens": 9000}}, "message": {"content": "x"}},
        {"type": "cost-state", "usage": {"output_tokens": 9000}},
        {"type": "user", "message": "x", "output_tokens": 1},
        {"type": "of another time", "message": {"usage": {"output_tokens": 9000}}},
        line(),
    )
    reading, found = folder.reading()
    assert (len(found), reading.skipped) == (1, 0)


def test_texts_and_arguments_that_look_like_usage_are_none(folder: Folder) -> None:
    fake = {"usage": {"output_tokens": 9999999}, "id": "msg_fake", "model": "claude-opus-4-1", "type": "assistant"}
    hostile = line()
    hostile["message"]["content"] = [
        {"type": "text", "text": json.dumps({"message": fake}) + '\n"usage":{"output_tokens":9999999}'},
        {"type": "tool_use", "name": "x", "input": {"message": fake, **fake}},
    ]
    folder.write("a.jsonl", hostile)
    assert [(each.model, each.usage.output) for each in folder.read()] == [("claude-opus-4-5", 100)]


@pytest.mark.parametrize(
    "content",
    ['"\\ud800"', '"\\u0000\\u001b[31m"', "[" * 100_000 + "]" * 100_000, '"' + "x" * 2_000_000 + '"', "1e999", '"é😀"'],
    ids=["half a character", "control characters", "deep", "long", "infinite", "wide"],
)
def test_whatever_a_message_says_its_usage_is_read_or_its_line_is_counted_as_skipped(
    folder: Folder, content: str
) -> None:
    odd = text(line()).replace('"content":[]', f'"content":{content}')
    folder.write("a.jsonl", odd, line("msg_2"))
    reading, found = folder.reading()
    assert len(found) + reading.skipped == 2
    assert found[-1].usage.output == 100


def test_half_a_character_costs_no_message(folder: Folder) -> None:
    odd = text(line()).replace('"content":[]', '"content":[{"type":"text","text":"\\ud83d"}]')
    folder.write("a.jsonl", odd)
    reading, found = folder.reading()
    assert ([each.usage.output for each in found], reading.skipped) == ([100], 0)


def test_messages_that_stand_on_one_line_count_each(folder: Folder) -> None:
    """Two processes wrote at once: the second object stands on the line of the first."""
    first, second = text(line("msg_1", output=1)), text(line("msg_2", output=2))
    folder.write("a.jsonl", first + '{"type":"summary","summary":"x"}' + second, first + second[:-9])
    reading, found = folder.reading()
    assert ([each.usage.output for each in found], reading.skipped) == ([1, 2], 1)


def test_bytes_that_are_no_text_do_no_harm(folder: Folder) -> None:
    path = folder.write("a.jsonl", line())
    path.write_bytes(
        b'\xff\xfe"output_tokens"\n\x00\x00\n' + path.read_bytes() + b'{"type":"assistant","x":"\xff","output_tokens"'
    )
    reading, found = folder.reading()
    assert (len(found), reading.skipped) == (1, 2)


def test_lines_longer_than_a_block_are_read_and_ones_longer_than_anything_sensible_are_skipped(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "_BLOCK", 1 << 10)
    monkeypatch.setattr(transcripts, "_LONGEST", 16 << 10)
    long, huge = line("msg_long"), line("msg_huge")
    long["message"]["content"] = "x" * 9000
    huge["message"]["content"] = "x" * 200_000
    folder.write("a.jsonl", line("msg_1"), long, huge, line("msg_2"), long, huge, line("msg_3"))
    folder.write("b.jsonl", huge)
    reading, found = folder.reading()
    assert (len(found), reading.skipped) == (4, 3)


@pytest.mark.parametrize("block", [600, 601, 640, 777, 1024])
def test_where_blocks_end_makes_no_difference(folder: Folder, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    lines = [line(f"msg_{number}", output=number) for number in range(1, 60)]
    path = folder.write("a.jsonl", *lines)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # the last line has no end yet
    monkeypatch.setattr(transcripts, "_BLOCK", block)
    assert outputs(folder) == list(range(1, 60))


def test_memory_does_not_grow_with_the_length_of_a_file(folder: Folder) -> None:
    filler = {"type": "user", "message": {"content": "x" * 100_000}}
    path = folder.write("a.jsonl", *[filler] * 300, line())
    tracemalloc.start()
    assert outputs(folder) == [100]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 30_000_000 and peak < 3_000_000


# -- files -----------------------------------------------------------------------------


def test_compressed_transcripts_are_read(folder: Folder) -> None:
    path = folder.write("a.jsonl", line())
    (path.parent / "b.jsonl.gz").write_bytes(gzip.compress(path.read_bytes().replace(b"msg_1", b"msg_2")))
    assert sorted(each.session for each in folder.read()) == ["a", "b"]


def test_files_that_cannot_be_read_are_named_and_the_others_are_read(folder: Folder) -> None:
    folder.write("a.jsonl", line())
    folder.write("no.jsonl.gz", "this is not gzip")
    cut = folder.write("cut.jsonl.gz", "")
    cut.write_bytes(gzip.compress(text(line("msg_2")).encode())[:-9])
    reading, found = folder.reading()
    assert [each.session for each in found] == ["a"]
    assert sorted(os.path.basename(path) for path, _ in reading.unread) == ["cut.jsonl.gz", "no.jsonl.gz"]


def test_other_files_are_left_alone(folder: Folder) -> None:
    folder.write("a.jsonl", line())
    folder.write("a/tool-results/x.txt", line("msg_2"))
    folder.write("a.json", line("msg_3"))
    (folder.root / "projects" / "-shop" / "dir.jsonl").mkdir()
    os.mkfifo(folder.root / "projects" / "-shop" / "pipe.jsonl")
    os.symlink("nowhere", folder.root / "projects" / "-shop" / "gone.jsonl")
    assert len(outputs(folder)) == 1


def test_a_named_file_counts_once_though_its_folder_is_named_too(folder: Folder) -> None:
    path = folder.write("a.jsonl", line())
    assert len(find([str(folder.root), str(path), str(path)])) == 1


def test_the_folder_of_the_client_is_the_one_that_is_set_else_those_below_home(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (".claude/projects", ".config/claude/projects", "other/projects"):
        (own_home / each).mkdir(parents=True)
    assert folders() == [str(own_home / ".claude/projects"), str(own_home / ".config/claude/projects")]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(own_home / "other"))
    assert folders() == [str(own_home / "other/projects")]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(own_home / "none"))
    assert folders() == []


def test_files_of_one_session_are_its_own_and_its_subagents(folder: Folder) -> None:
    path = folder.write("a.jsonl", line())
    folder.write("a/subagents/agent-1.jsonl", line("msg_2"))
    folder.write("b.jsonl", line("msg_3"))
    assert len(of_session(str(path))) == 2
    assert of_session(str(path.parent / "gone.jsonl")) == []


def test_a_reading_goes_on_where_it_was(folder: Folder) -> None:
    first = folder.write("a.jsonl", line())
    second = folder.write("b.jsonl", line(), line("msg_2"))
    reading = Reading()
    assert len(list(reading.messages(find([str(first)])))) == 1
    assert len(list(reading.messages(find([str(second)])))) == 1
