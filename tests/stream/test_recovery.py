"""Where the nudge goes, in the message shapes of five protocols: pure, roles alternate, pairs and blocks are kept."""

from __future__ import annotations

import asyncio
import copy
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unspin.stream import LoopTripped, Trip
from unspin.stream.recovery import Recovery, apply_loop_recovery_nudge, ask_again, ask_again_async, nudge

TRIP = Trip("content", '"I will send it."', 8, 200, 10, "talk")
OTHER = Trip("reasoning", '"Wait."', 40, 500, 0, "talk")
LINE = nudge(TRIP)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
IMAGE_URL = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}


def nudged(messages: list[Any], trip: Trip = TRIP, **options: Any) -> list[Any]:
    """Nudge, and see that the caller's messages are as they were."""
    kept = copy.deepcopy(messages)
    result = apply_loop_recovery_nudge(messages, trip, **options)
    assert messages == kept
    assert result is not messages
    return result


def test_the_line_says_what_was_seen_and_what_to_do() -> None:
    assert LINE == (
        'Unspin: loop (your last answer was cut off: the content repeated "I will send it." 8 times). It was discarded. '
        "Do not write that again. Go on with the task from here in other words; if it is done, say so in one sentence. "
        "If you cannot go on, say what is missing."
    )


CASES: dict[str, tuple[list[Any], Any]] = {
    "openai chat, user": ([{"role": "user", "content": "Go."}], {"role": "user", "content": f"Go.\n\n{LINE}"}),
    "openai chat, user with an image": (
        [{"role": "user", "content": [{"type": "text", "text": "Go."}, IMAGE_URL]}],
        {"role": "user", "content": [{"type": "text", "text": "Go."}, IMAGE_URL, {"type": "text", "text": LINE}]},
    ),
    "openai chat, tool": (
        [{"role": "tool", "tool_call_id": "c1", "content": "12"}],
        {"role": "tool", "tool_call_id": "c1", "content": f"12\n\n{LINE}"},
    ),
    "openai responses, user": (
        [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}],
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "Go."}, {"type": "input_text", "text": LINE}],
        },
    ),
    "openai responses, result of a tool": (
        [
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "12"},
        ],
        {"type": "function_call_output", "call_id": "c1", "output": f"12\n\n{LINE}"},
    ),
    "anthropic, user with an image": (
        [{"role": "user", "content": [IMAGE]}],
        {"role": "user", "content": [IMAGE, {"type": "text", "text": LINE}]},
    ),
    "anthropic, result of a tool": (
        [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "12"}]}],
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "12"},
                {"type": "text", "text": LINE},
            ],
        },
    ),
    "bedrock, user": (
        [{"role": "user", "content": [{"text": "Go."}]}],
        {"role": "user", "content": [{"text": "Go."}, {"text": LINE}]},
    ),
    "bedrock, result of a tool": (
        [{"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "12"}]}}]}],
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "12"}]}}, {"text": LINE}],
        },
    ),
    "gemini, user with an image": (
        [{"role": "user", "parts": [{"inlineData": {"data": "iVBO"}}, {"text": "Go."}]}],
        {"role": "user", "parts": [{"inlineData": {"data": "iVBO"}}, {"text": "Go."}, {"text": LINE}]},
    ),
    "gemini, result of a function": (
        [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"n": 12}}}]}],
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"n": 12}}}, {"text": LINE}]},
    ),
}
AFTER_ASSISTANT: dict[str, tuple[list[Any], Any]] = {
    "openai chat": (
        [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "Well."}],
        {"role": "user", "content": LINE},
    ),
    "openai chat, system alone": ([{"role": "system", "content": "Be brief."}], {"role": "user", "content": LINE}),
    "openai responses": (
        [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]}],
        {"role": "user", "content": LINE},
    ),
    "anthropic": (
        [{"role": "assistant", "content": [{"type": "text", "text": "Well."}]}],
        {"role": "user", "content": LINE},
    ),
    "bedrock": (
        [{"role": "assistant", "content": [{"text": "Well."}]}],
        {"role": "user", "content": [{"text": LINE}]},
    ),
    "gemini": ([{"role": "model", "parts": [{"text": "Well."}]}], {"role": "user", "parts": [{"text": LINE}]}),
}
OPEN_CALLS: dict[str, Any] = {
    "openai chat": {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    "openai responses": {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
    "bedrock": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
    "gemini": {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
}


@pytest.mark.parametrize("case", CASES)
def test_the_trailing_user_or_tool_message_gets_it(case: str) -> None:
    messages, wanted = CASES[case]
    assert nudged(messages) == [*messages[:-1], wanted]


@pytest.mark.parametrize("case", AFTER_ASSISTANT)
def test_after_an_assistant_message_it_is_a_turn_of_its_own(case: str) -> None:
    messages, wanted = AFTER_ASSISTANT[case]
    assert nudged(messages) == [*messages, wanted]


@pytest.mark.parametrize("case", [*CASES, *AFTER_ASSISTANT])
def test_twice_in_a_turn_does_not_pile_up(case: str) -> None:
    messages, _ = {**CASES, **AFTER_ASSISTANT}[case]
    once = nudged(messages)
    assert nudged(once) == once
    again = nudged(once, OTHER)
    assert len(again) == len(once)
    assert str(again).count("Unspin: loop (") == 1
    assert "the reasoning repeated" in str(again)


@pytest.mark.parametrize("case", OPEN_CALLS)
def test_calls_without_results_are_not_parted_from_them(case: str) -> None:
    messages = [OPEN_CALLS[case]]
    assert nudged(messages) == messages


def test_texts_alone_are_the_users() -> None:
    assert apply_loop_recovery_nudge("Go.", TRIP) == [f"Go.\n\n{LINE}"]
    assert apply_loop_recovery_nudge("Go.", TRIP, shape="openai-responses") == [
        {"role": "user", "content": f"Go.\n\n{LINE}"}
    ]
    assert nudged(["Go.", "Now."]) == ["Go.", f"Now.\n\n{LINE}"]


def test_the_shape_is_told_where_the_messages_do_not() -> None:
    assert nudged([], shape="bedrock") == [{"role": "user", "content": [{"text": LINE}]}]
    assert nudged([{"role": "user", "content": []}], shape="bedrock") == [{"role": "user", "content": [{"text": LINE}]}]
    with pytest.raises(ValueError, match="shape is 'cohere'; expected one of openai-chat, "):
        nudged([], shape="cohere")


def test_objects_of_an_sdk_are_copied_too() -> None:
    from google.genai import types

    content = types.Content(role="user", parts=[types.Part(text="Go.")])
    (made,) = apply_loop_recovery_nudge([content], TRIP)
    assert [part.text for part in made.parts] == ["Go.", LINE]
    assert [part.text for part in content.parts or []] == ["Go."]


ROLES = {"user": "user", "assistant": "assistant", "tool": "tool"}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=20), st.booleans()), max_size=5),
    st.sampled_from(["openai-chat", "anthropic", "bedrock", "gemini"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_roles_alternate_after_any_number_of_nudges(
    turns: list[tuple[str, bool]], shape: str, ends_with_user: bool, times: int
) -> None:
    ours = "model" if shape == "gemini" else "assistant"

    def message(role: str, text: str) -> dict[str, Any]:
        if shape == "gemini":
            return {"role": role, "parts": [{"text": text}]}
        return {"role": role, "content": [{"text": text}] if shape == "bedrock" else text}

    messages: list[Any] = []
    for text, _ in turns:
        messages += [message("user", text), message(ours, text)]
    if ends_with_user:
        messages.append(message("user", "Go."))
    for _ in range(times):
        messages = nudged(messages, shape=shape)
    roles = [each["role"] for each in messages]
    assert roles[-1] == "user"
    assert all(one != two for one, two in itertools.pairwise(roles))
    assert str(messages).count("Unspin: loop (") == 1


def test_the_bound_holds_and_says_why() -> None:
    recovery, messages = Recovery(), [{"role": "user", "content": "Go."}]
    assert recovery.next(messages, TRIP) is not None
    assert recovery.next(messages, TRIP) is not None
    assert recovery.stop_reason is None
    assert recovery.next(messages, TRIP) is None
    assert (recovery.stop_reason, len(recovery.trips)) == ("loop", 3)
    for given_value in (-1, True, 1.5):
        with pytest.raises(ValueError, match=r"max_retries is .*; expected a whole number of 0 or more"):
            Recovery(given_value)  # type: ignore[arg-type]


def test_no_retry_is_a_bound_too() -> None:
    asked = []

    def ask(messages: list[Any]) -> str:
        asked.append(messages)
        raise LoopTripped(TRIP)

    outcome = ask_again(ask, [{"role": "user", "content": "Go."}], max_retries=0)
    assert (outcome.stop_reason, outcome.result, len(asked)) == ("loop", None, 1)
    assert outcome.messages == [{"role": "user", "content": "Go."}]


def test_other_exceptions_are_the_callers() -> None:
    def ask(messages: list[Any]) -> str:
        raise TimeoutError

    async def ask_later(messages: list[Any]) -> str:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        ask_again(ask, [])
    with pytest.raises(TimeoutError):
        asyncio.run(ask_again_async(ask_later, []))


def test_gemini_contents_without_a_role_are_the_users() -> None:
    messages = [{"parts": [{"text": "Go."}]}]
    once = nudged(messages)
    assert once == [{"parts": [{"text": "Go."}, {"text": LINE}]}]
    assert nudged(once) == once


def test_a_providers_own_tools_are_answered_in_place() -> None:
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    asked = {"role": "user", "content": "Go."}
    done = [asked, {"role": "assistant", "content": [call, found, {"type": "text", "text": "Found."}]}]
    assert nudged(done) == [*done, {"role": "user", "content": LINE}]
    waiting = [asked, {"role": "assistant", "content": [call]}]
    assert nudged(waiting) == waiting


@pytest.mark.parametrize("kind", ["computer_call", "local_shell_call", "shell_call", "apply_patch_call"])
def test_responses_calls_of_any_kind_wait_for_their_results(kind: str) -> None:
    messages = [{"role": "user", "content": "Go."}, {"type": kind, "call_id": "c1"}]
    assert nudged(messages) == messages


def test_responses_approvals_wait_too_and_what_openai_ran_does_not() -> None:
    asked = {"role": "user", "content": "Go."}
    waiting = [asked, {"type": "mcp_approval_request", "id": "m1"}]
    assert nudged(waiting) == waiting
    done = [asked, {"type": "web_search_call", "id": "w1", "status": "completed"}]
    assert nudged(done) == [*done, {"role": "user", "content": LINE}]


@pytest.mark.parametrize(
    ("kind", "output"),
    [
        ("shell_call_output", [{"stdout": "12", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]),
        ("local_shell_call_output", '{"stdout": "12"}'),
        ("computer_call_output", {"type": "computer_screenshot", "image_url": "https://example.com/a.png"}),
    ],
)
def test_responses_results_with_a_form_of_their_own_keep_it(kind: str, output: Any) -> None:
    messages = [{"type": kind, "call_id": "c1", "output": output}]
    once = nudged(messages)
    assert once == [*messages, {"role": "user", "content": LINE}]
    assert nudged(once) == once
