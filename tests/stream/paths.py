"""Every way to read a stream of the real SDKs: how a client is made, asked, and what its messages look like."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from unspin.stream.recovery import Outcome, ask_again, ask_again_async
from unspin.stream.wrappers import watch_anthropic, watch_bedrock, watch_gemini, watch_openai

KEY = "none-needed"


class Path:
    """One streaming path: ``turn`` does a whole turn with retries, ``once`` reads one stream with a plain client."""

    def __init__(
        self,
        wire: str,
        name: str,
        client: Callable[[str], Any],
        watch: Callable[..., Any],
        ask: Callable[[Any, list[Any]], Any],
        *,
        is_async: bool = False,
    ):
        self.wire, self.name = wire, name
        self.client, self.watch, self.ask = client, watch, ask
        self.is_async = is_async

    def once(self, url: str, messages: list[Any], **options: Any) -> Any:
        """Read one watched stream to its end."""
        if self.is_async:

            async def read() -> Any:
                return await self.ask(self.watch(self.client(url), **options), messages)

            return asyncio.run(read())
        return self.ask(self.watch(self.client(url), **options), messages)

    def turn(self, url: str, messages: list[Any], **options: Any) -> Outcome:
        if self.is_async:

            async def whole() -> Outcome:
                client = self.watch(self.client(url))
                return await ask_again_async(lambda now: self.ask(client, now), messages, **options)

            return asyncio.run(whole())
        client = self.watch(self.client(url))
        return ask_again(lambda now: self.ask(client, now), messages, **options)

    def first(self) -> list[Any]:
        """Return the messages of a turn that begins: a question, an answer, a question."""
        texts = [("user", "How many?"), ("assistant", "Which ones?"), ("user", "All of them.")]
        if self.wire == "gemini":
            return [{"role": {"assistant": "model"}.get(role, role), "parts": [{"text": text}]} for role, text in texts]
        if self.wire == "bedrock":
            return [{"role": role, "content": [{"text": text}]} for role, text in texts]
        return [{"role": role, "content": text} for role, text in texts]

    def asked(self, request: dict[str, Any]) -> list[Any]:
        """Return the messages that a request held."""
        names = {"gemini": "contents", "openai-responses": "input"}
        held: list[Any] = request[names.get(self.wire, "messages")]
        return held


def openai_client(url: str) -> Any:
    import openai

    return openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)


def openai_async(url: str) -> Any:
    import openai

    return openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)


def anthropic_client(url: str) -> Any:
    import anthropic

    return anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0)


def anthropic_async(url: str) -> Any:
    import anthropic

    return anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0)


def bedrock_client(url: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key=KEY,
        config=Config(retries={"max_attempts": 1}),
    )


def gemini_client(url: str) -> Any:
    from google import genai

    return genai.Client(api_key=KEY, http_options={"base_url": url})


# -- how each is asked; each returns the text of the answer ----------------------------------


def chat_create(client: Any, messages: list[Any]) -> str:
    stream = client.chat.completions.create(model="m", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


async def chat_create_async(client: Any, messages: list[Any]) -> str:
    stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def chat_helper(client: Any, messages: list[Any]) -> str:
    with client.chat.completions.stream(model="m", messages=messages) as stream:
        return "".join(event.delta for event in stream if event.type == "content.delta")


def chat_final(client: Any, messages: list[Any]) -> str:
    with client.chat.completions.stream(model="m", messages=messages) as stream:
        return str(stream.get_final_completion().choices[0].message.content)


async def chat_helper_async(client: Any, messages: list[Any]) -> str:
    async with client.chat.completions.stream(model="m", messages=messages) as stream:
        return str((await stream.get_final_completion()).choices[0].message.content)


def responses_create(client: Any, messages: list[Any]) -> str:
    stream = client.responses.create(model="m", input=messages, stream=True)
    return "".join(event.delta for event in stream if event.type == "response.output_text.delta")


async def responses_create_async(client: Any, messages: list[Any]) -> str:
    stream = await client.responses.create(model="m", input=messages, stream=True)
    return "".join([event.delta async for event in stream if event.type == "response.output_text.delta"])


def responses_helper(client: Any, messages: list[Any]) -> str:
    with client.responses.stream(model="m", input=messages) as stream:
        for _ in stream:
            pass
        return str(stream.get_final_response().output_text)


async def responses_helper_async(client: Any, messages: list[Any]) -> str:
    async with client.responses.stream(model="m", input=messages) as stream:
        return str((await stream.get_final_response()).output_text)


def messages_create(client: Any, messages: list[Any]) -> str:
    stream = client.messages.create(model="m", max_tokens=9, messages=messages, stream=True)
    return "".join(e.delta.text for e in stream if e.type == "content_block_delta" and e.delta.type == "text_delta")


async def messages_create_async(client: Any, messages: list[Any]) -> str:
    stream = await client.messages.create(model="m", max_tokens=9, messages=messages, stream=True)
    texts = [e.delta.text async for e in stream if e.type == "content_block_delta" and e.delta.type == "text_delta"]
    return "".join(texts)


def messages_text(client: Any, messages: list[Any]) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:
        return "".join(stream.text_stream)


def messages_final(client: Any, messages: list[Any]) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:
        return str(stream.get_final_text())


async def messages_text_async(client: Any, messages: list[Any]) -> str:
    async with client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:
        return "".join([text async for text in stream.text_stream])


async def messages_final_async(client: Any, messages: list[Any]) -> str:
    async with client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:
        return str(await stream.get_final_text())


def beta_create(client: Any, messages: list[Any]) -> str:
    stream = client.beta.messages.create(model="m", max_tokens=9, messages=messages, stream=True)
    return "".join(e.delta.text for e in stream if e.type == "content_block_delta" and e.delta.type == "text_delta")


def converse(client: Any, messages: list[Any]) -> str:
    stream = client.converse_stream(modelId="m", messages=messages)["stream"]
    deltas = [event["contentBlockDelta"]["delta"] for event in stream if "contentBlockDelta" in event]
    return "".join(delta.get("text", "") for delta in deltas)


async def converse_async(client: Any, messages: list[Any]) -> str:
    return await asyncio.to_thread(converse, client, messages)


def generate(client: Any, messages: list[Any]) -> str:
    stream = client.models.generate_content_stream(model="m", contents=messages)
    return "".join(chunk.text or "" for chunk in stream)


async def generate_async(client: Any, messages: list[Any]) -> str:
    stream = await client.aio.models.generate_content_stream(model="m", contents=messages)
    return "".join([chunk.text or "" async for chunk in stream])


PATHS = [
    Path("openai-chat", "create", openai_client, watch_openai, chat_create),
    Path("openai-chat", "create, async", openai_async, watch_openai, chat_create_async, is_async=True),
    Path("openai-chat", "helper", openai_client, watch_openai, chat_helper),
    Path("openai-chat", "helper, final", openai_client, watch_openai, chat_final),
    Path("openai-chat", "helper, async", openai_async, watch_openai, chat_helper_async, is_async=True),
    Path("openai-responses", "create", openai_client, watch_openai, responses_create),
    Path("openai-responses", "create, async", openai_async, watch_openai, responses_create_async, is_async=True),
    Path("openai-responses", "helper", openai_client, watch_openai, responses_helper),
    Path("openai-responses", "helper, async", openai_async, watch_openai, responses_helper_async, is_async=True),
    Path("anthropic", "create", anthropic_client, watch_anthropic, messages_create),
    Path("anthropic", "create, async", anthropic_async, watch_anthropic, messages_create_async, is_async=True),
    Path("anthropic", "helper", anthropic_client, watch_anthropic, messages_text),
    Path("anthropic", "helper, final", anthropic_client, watch_anthropic, messages_final),
    Path("anthropic", "helper, async", anthropic_async, watch_anthropic, messages_text_async, is_async=True),
    Path("anthropic", "helper, final, async", anthropic_async, watch_anthropic, messages_final_async, is_async=True),
    Path("anthropic", "beta", anthropic_client, watch_anthropic, beta_create),
    Path("bedrock", "converse_stream", bedrock_client, watch_bedrock, converse),
    Path("bedrock", "converse_stream in a thread", bedrock_client, watch_bedrock, converse_async, is_async=True),
    Path("gemini", "generate", gemini_client, watch_gemini, generate),
    Path("gemini", "generate, async", gemini_client, watch_gemini, generate_async, is_async=True),
]
