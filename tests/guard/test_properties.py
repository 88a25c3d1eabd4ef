"""What holds of the guard whatever happens, in whatever order."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from unspin import Guard, events
from unspin.guard import BLOCK, HALT, NUDGE, Settings

FILES = ("/p/src/a.py", "/p/src/b.py", "/p/tests/test_a.py")
ERRORS = ("TypeError: bad 'x'", "ValueError: worse 'y'", "KeyError: 'z'", "no error line here")
COMMANDS = (
    "pytest",
    "npm run build",
    "mypy src",
    "python main.py",
    "pytest | tail",
    "cat a.py",
    "sleep 1",
    "ruff check",
)

ROUNDS = 40


def outputs(error: str, failing: int) -> str:
    tests = "\n".join(f"FAILED tests/test_a.py::test_{number} - {error}" for number in range(failing))
    return f"E   {error}\n{tests}\n"


edits = st.builds(
    lambda file, old, new, refused: events.edit(file, old, new, refused=refused, output="not found" if refused else ""),
    st.sampled_from(FILES),
    st.sampled_from(["assert f() == 1", "x = 1"]),
    st.sampled_from(["assert f() == 2", "x = 2", "x = 3"]),
    st.booleans(),
)
runs = st.builds(
    lambda command, error, failing, status: events.shell(
        command, outputs(error, failing) if status else "all is well", status, cwd="/p"
    ),
    st.sampled_from(COMMANDS),
    st.sampled_from(ERRORS),
    st.integers(0, 2),
    st.sampled_from([0, 1, 1, 1, 2, 130]),
)
writes = st.builds(lambda file: events.shell(f"sed -i 's/a/b/' {file}", cwd="/p"), st.sampled_from(FILES))


def answered() -> events.ToolResult:
    return events.ToolResult(events.ToolCall("Ask", action=events.ASK), "yes")


calls = st.one_of(edits, runs, runs, writes)
moments: Any = st.one_of(
    st.lists(calls, min_size=1, max_size=4).map(lambda batch: ("round", batch)),
    st.lists(calls, min_size=1, max_size=1).map(lambda batch: ("round", batch)),
    # a loop, so that something happens: an edit and a failing check
    st.sampled_from(FILES).map(lambda file: ("spin", file)),
    st.sampled_from(FILES).map(lambda file: ("spin", file)),
    st.sampled_from(FILES).map(lambda file: ("before", file)),
    st.booleans().map(lambda person: ("message", person)),
    st.just(("answer", None)),
    st.just(("compaction", None)),
    st.integers(1, 900_000).map(lambda tokens: ("context", tokens)),
    st.lists(calls, min_size=1, max_size=2).map(lambda batch: ("subagent", batch)),
)
histories = st.lists(moments, max_size=ROUNDS)


def unfold(history: list[tuple[str, Any]]) -> list[events.Event]:
    """The events of a history: new ones each time, for guards may write in them."""
    found: list[events.Event] = []
    for kind, what in history:
        if kind in ("round", "subagent"):
            agent = "sub" if kind == "subagent" else ""
            for position, each in enumerate(what):
                call = each.call
                again = events.ToolCall(
                    call.tool,
                    call.arguments,
                    action=call.action,
                    label=call.label,
                    command=call.command,
                    edits=call.edits,
                    cwd=call.cwd,
                    agent=agent,
                )
                found.append(
                    events.ToolResult(
                        again,
                        each.output,
                        failed=each.failed,
                        exit_code=each.exit_code,
                        refused=each.refused,
                        position=position,
                    )
                )
            found.append(events.RoundEnd(agent))
        elif kind == "spin":
            found += [events.edit(what, "x", str(len(found))), events.RoundEnd()]
            found += [events.shell("pytest", outputs(ERRORS[0], 1), 1, cwd="/p"), events.RoundEnd()]
        elif kind == "before":
            found.append(events.ToolCall("edit", action=events.EDIT, edits=[events.Edit(what)]))
        elif kind == "message":
            found.append(events.Message("go on", by_person=what))
        elif kind == "answer":
            found += [answered(), events.RoundEnd()]
        elif kind == "compaction":
            found += [events.Compaction(done=False), events.Compaction(done=True), events.Opportunity()]
        else:
            found.append(events.ContextSize(what))
    return found


def answers(guard: Guard, history: list[events.Event]) -> list[Any]:
    return [[each.as_mapping() for each in guard.observe(event)] for event in history]


@settings(max_examples=150)
@given(histories)
def test_a_guard_restored_after_every_event_answers_as_one_that_was_not(history: list[Any]) -> None:
    whole = answers(Guard(project="/p"), unfold(history))
    state = None
    restored = []
    for event in unfold(history):
        guard = Guard(project="/p", state=json.loads(json.dumps(state)) if state else None)
        restored.append([each.as_mapping() for each in guard.observe(event)])
        state = guard.state
    assert restored == whole


@settings(max_examples=150)
@given(histories)
def test_no_block_without_a_nudge_before_it_and_none_after_the_person_spoke(history: list[Any]) -> None:
    guard = Guard(project="/p")
    told: set[str] = set()
    for event in unfold(history):
        responses = guard.observe(event)
        spoke = (isinstance(event, events.Message) and event.by_person) or (
            isinstance(event, events.ToolResult) and event.call.action == events.ASK
        )
        if spoke:
            told.clear()
        for response in responses:
            if response.kind == NUDGE:
                told.add(response.identity)
            if response.kind in (BLOCK, HALT):
                assert response.identity in told
                assert isinstance(event, events.ToolCall)


@settings(max_examples=150)
@given(histories)
def test_no_line_twice_for_one_identity_and_one_line_at_most_a_round(history: list[Any]) -> None:
    guard = Guard(project="/p")
    said: list[str] = []
    for event in unfold(history):
        nudges = [each for each in guard.observe(event) if each.kind == NUDGE]
        assert len(nudges) <= 1
        said += [each.identity for each in nudges]
        assert all("\n" not in each.message for each in nudges)
    assert len(said) == len(set(said))


@settings(max_examples=150)
@given(histories, st.randoms(use_true_random=False))
def test_the_order_in_which_a_rounds_results_arrive_makes_no_difference(history: list[Any], random: Any) -> None:
    in_order, shuffled, batch = unfold(history), [], []
    for event in unfold(history):
        if isinstance(event, events.ToolResult):
            batch.append(event)
            continue
        random.shuffle(batch)
        shuffled += [*batch, event]
        batch = []
    one = [each for answer in answers(Guard(project="/p"), in_order) for each in answer]
    other = [each for answer in answers(Guard(project="/p"), [*shuffled, *batch]) for each in answer]
    assert one == other


@settings(max_examples=60)
@given(histories, st.sampled_from(["observe", "nudge"]))
def test_lesser_modes_never_refuse_and_observe_says_nothing(history: list[Any], mode: str) -> None:
    guard = Guard(Settings({"mode": mode}), project="/p")
    for event in unfold(history):
        for response in guard.observe(event):
            assert response.kind not in (BLOCK, HALT)
            assert mode != "observe" or response.kind != NUDGE


@settings(max_examples=60)
@given(histories)
def test_every_detection_says_what_it_counted(history: list[Any]) -> None:
    guard = Guard(project="/p")
    for event in unfold(history):
        for response in guard.observe(event):
            assert response.evidence
            for each in response.evidence:
                assert set(each) == {"event_index", "tool", "file", "excerpt"}
                assert 0 <= each["event_index"] <= response.event_index
