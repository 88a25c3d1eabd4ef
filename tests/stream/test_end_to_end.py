"""The real SDKs of four providers against a scripted model: the loop is cut, the model is asked again, history holds."""

from __future__ import annotations

from typing import Any

import pytest

from stream.paths import KEY, PATHS, Path, gemini_client
from stream.servers import GOOD, LOOP, SHORT_LOOP, Model
from unspin.stream import LoopTripped, StreamConfig
from unspin.stream.wrappers import watch_gemini

GOOD_TEXT = "".join(text for _, text in GOOD)
every_path = pytest.mark.parametrize("path", PATHS, ids=[f"{path.wire}: {path.name}" for path in PATHS])
ONE_OF_EACH = [next(path for path in PATHS if path.wire == wire) for wire in dict.fromkeys(p.wire for p in PATHS)]
each_wire = pytest.mark.parametrize("path", ONE_OF_EACH, ids=[path.wire for path in ONE_OF_EACH])


@pytest.fixture(autouse=True)
def no_proxy_and_no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the SDKs to the loopback interface and away from the person's account."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    assert KEY


def roles(messages: list[Any]) -> list[str]:
    return [message["role"] for message in messages]


def text_of(message: dict[str, Any]) -> str:
    held = message.get("parts", message.get("content"))
    return held if isinstance(held, str) else "".join(block.get("text", "") for block in held)


@every_path
def test_the_loop_is_cut_and_the_retry_succeeds(path: Path) -> None:
    with Model(path.wire, LOOP, GOOD) as model:
        outcome = path.turn(model.url, path.first())
    assert (outcome.stop_reason, outcome.result) == ("done", GOOD_TEXT)
    assert model.cut == 1, "the client has closed the stream"
    assert model.sent < 0.9 * len(LOOP) * 100
    assert [trip.channel for trip in outcome.trips] == ["content"]
    assert outcome.trips[0].unit == '"I\'ll send it now. Let me send it."'
    assert len(model.requests) == 2


@every_path
def test_what_is_persisted_alternates_roles_and_holds_no_looped_text(path: Path) -> None:
    with Model(path.wire, SHORT_LOOP, SHORT_LOOP, GOOD) as model:
        first = path.first()
        outcome = path.turn(model.url, first)
    assert outcome.result == GOOD_TEXT
    assert first == path.first(), "the caller's messages are as they were"
    ours = "model" if path.wire == "gemini" else "assistant"
    for messages in (outcome.messages, path.asked(model.requests[1]), path.asked(model.requests[2])):
        assert roles(messages) == ["user", ours, "user"]
        assert text_of(messages[-1]).startswith("All of them.")
        assert text_of(messages[-1]).count("Unspin: loop (your last answer was cut off: the content repeated") == 1
        assert "".join(map(text_of, messages)).count("I'll send it now.") == 1, "quoted once, in the nudge"
    assert "Unspin" not in text_of(path.asked(model.requests[0])[-1])


@every_path
def test_the_retry_bound_holds(path: Path) -> None:
    with Model(path.wire, SHORT_LOOP) as model:
        outcome = path.turn(model.url, path.first())
    assert (outcome.stop_reason, outcome.result) == ("loop", None)
    assert len(model.requests) == 3
    assert len(outcome.trips) == 3


@every_path
def test_an_honest_stream_is_read_whole_and_asked_once(path: Path) -> None:
    with Model(path.wire, GOOD) as model:
        outcome = path.turn(model.url, path.first())
    assert (outcome.stop_reason, outcome.result, outcome.trips) == ("done", GOOD_TEXT, [])
    assert len(model.requests) == 1
    assert outcome.messages == path.first()


@every_path
def test_with_a_callback_the_stream_ends_there(path: Path) -> None:
    trips: list[Any] = []
    with Model(path.wire, SHORT_LOOP) as model:
        if (
            "final" in path.name
            or (path.wire, path.name.partition(",")[0]) == ("openai-responses", "helper")
            or (path.name == "helper, async" and path.wire == "openai-chat")
        ):
            with pytest.raises(LoopTripped):  # there is no final answer of a loop
                path.once(model.url, path.first(), on_trip=trips.append)
        else:
            text = path.once(model.url, path.first(), on_trip=trips.append)
            assert len(text) < 400
    assert [trip.channel for trip in trips] == ["content"]


@each_wire
@pytest.mark.parametrize("channel", ["reasoning", "arguments"])
def test_reasoning_and_tool_arguments_are_watched_more_loosely(path: Path, channel: str) -> None:
    if (path.wire, channel) == ("gemini", "arguments"):
        looped = [(channel, "I'll send it now. Let me send it.\n" * 200)]  # its calls come whole
    else:
        looped = [(channel, "I'll send it now. Let me send it.\n")] * 200
    with Model(path.wire, looped) as model, pytest.raises(LoopTripped) as tripped:
        path.once(model.url, path.first())
    assert tripped.value.trip.channel == {"arguments": "tool arguments"}.get(channel, channel)
    assert 500 < tripped.value.trip.chars < 1_200
    with Model(path.wire, looped[:14]) as model:
        path.once(model.url, path.first(), config=StreamConfig(reasoning=False, tool_arguments=False))


@pytest.mark.parametrize("wire", [path.wire for path in ONE_OF_EACH])
def test_an_answer_without_a_stream_is_left_alone(wire: str) -> None:
    path = next(each for each in ONE_OF_EACH if each.wire == wire)
    with Model(wire, GOOD) as model:
        client = path.watch(path.client(model.url))
        text = {
            "openai-chat": lambda: client.chat.completions.create(model="m", messages=[]).choices[0].message.content,
            "openai-responses": lambda: client.responses.create(model="m", input="x").output_text,
            "anthropic": lambda: client.messages.create(model="m", max_tokens=9, messages=[]).content[0].text,
            "bedrock": lambda: client.converse(modelId="m", messages=path.first())["output"]["message"]["content"][0][
                "text"
            ],
            "gemini": lambda: client.models.generate_content(model="m", contents="x").text,
        }[wire]()
    assert text.count("I'll send it now.") == 50


def test_a_chat_of_gemini_keeps_no_looped_answer() -> None:
    with Model("gemini", SHORT_LOOP, GOOD) as model:
        client = watch_gemini(gemini_client(model.url))
        chat = client.chats.create(model="m")
        with pytest.raises(LoopTripped):
            list(chat.send_message_stream("How many?"))
        assert chat.get_history() == []
        assert "".join(chunk.text or "" for chunk in chat.send_message_stream("How many?")) == GOOD_TEXT
        texts = [(content.role, content.parts[0].text) for content in chat.get_history()]
        assert texts == [("user", "How many?"), *(("model", text) for _, text in GOOD)]


def test_several_answers_are_several_texts() -> None:
    from unspin.stream.wrappers.openai import chat_pieces

    chunk = {"choices": [{"index": number, "delta": {"content": "Yes."}} for number in range(2)]}
    assert list(chat_pieces(chunk)) == [(0, "content", "Yes.", None), (1, "content", "Yes.", None)]


def test_a_wrapped_client_passes_for_what_it_wraps() -> None:
    import openai

    with Model("openai-chat", SHORT_LOOP) as model:
        client = PATHS[0].watch(PATHS[0].client(model.url))
        assert isinstance(client, openai.OpenAI)
        stream = client.with_options(timeout=5).chat.completions.create(model="m", messages=[], stream=True)
        assert isinstance(stream, openai.Stream)
        with pytest.raises(LoopTripped):
            list(stream)


def test_every_call_of_openai_that_can_stream_is_watched() -> None:
    """By its older name, of a response in the background, and asked for with what is true and is not ``True``."""
    from types import SimpleNamespace as Space

    from openai import NOT_GIVEN, omit

    from unspin.stream.wrappers import watch_openai

    def chat(**named: Any) -> Any:
        delta = {"content": "I'll send it now, as I said.\n"}
        return [{"choices": [{"index": 0, "delta": delta}]}] * 99 if named.get("stream") else "whole"

    def response(*_: Any, **named: Any) -> Any:
        event = {"type": "response.output_text.delta", "delta": "I'll send it now, as I said.\n"}
        return [event] * 99 if named.get("stream") else "whole"

    completions = Space(create=chat, stream=lambda **named: chat(stream=True))
    client = watch_openai(
        Space(
            chat=Space(completions=completions),
            beta=Space(chat=Space(completions=completions), threads="theirs"),
            responses=Space(create=response, retrieve=response, stream=lambda **named: response(stream=True)),
        )
    )
    for call in (
        client.chat.completions.create,
        client.beta.chat.completions.create,
        client.responses.create,
        client.responses.retrieve,
    ):
        for yes in (True, 1):
            with pytest.raises(LoopTripped):
                list(call(stream=yes))
        for no in (False, None, NOT_GIVEN, omit):
            assert call(stream=no) == "whole"
        assert call() == "whole"
    with pytest.raises(LoopTripped):
        list(client.beta.chat.completions.stream())
    assert client.beta.threads == "theirs"
